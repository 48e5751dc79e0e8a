"""The documentation agent: tools that list, search and read any folder of Markdown, and its system prompt.

Nothing outside the folder can be read: a path is taken only if it names one of the documents that `list_docs` counts,
and those are regular files whose real place is inside the folder.
"""

import difflib
import os
import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agent.function_tool import tool
from agent.phrases import clipped, folded
from agent.toolbox import Toolbox

SYSTEM_PROMPT = """\
You answer questions about the documents of one folder. Look before you answer: search them with grep_docs for the \
words that the documents are likely to use, in the documents' language, and read the lines around the best hits with \
read_doc. Rely on what you read, not on what you remember. Give the answer first, then name the file and the lines \
that it relies on, like `advanced/timeouts.md:12-20`. If the documents do not say, say so, and name what you searched \
for. Answer in the language of the question."""

MAX_HITS = 20
MAX_LINES = 80

_SUFFIXES = (".md", ".markdown")
_LICENCES = {f"{name}{suffix}" for name in ("LICENSE", "LICENCE") for suffix in _SUFFIXES}
_UNSHOWABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_NUMBERS = re.compile(r"^(\d+): ", re.MULTILINE)
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}#{1,6}\s+(.*?)(\s+#+)?\s*$")


class DocsError(Exception):
    """The folder cannot serve as documentation; the text says what to do."""


class Docs:
    """A folder of Markdown. Raises DocsError where there is none, or nothing in it to read."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        try:
            os.listdir(self.folder)
        except (OSError, ValueError) as error:
            known = {FileNotFoundError: "does not exist", NotADirectoryError: "is not a folder"}
            what = next((text for kind, text in known.items() if isinstance(error, kind)), f"cannot be read ({error})")
            raise DocsError(f"the docs folder {folder} {what}: give --docs a folder with Markdown files") from error
        self._root = self.folder.resolve()
        paths = self.paths()
        self.faults = [fault for path in paths if (fault := self._fault(path)) is not None]
        """Documents that cannot be read as they are, one sentence each."""
        if not paths:
            but = next((f" but {name}" for name in sorted(_LICENCES) if (self._root / name).is_file()), "")
            raise DocsError(
                f"the docs folder {folder} has no Markdown files (*.md){but}: give --docs a folder that has"
            )

    def paths(self) -> list[str]:
        """The documents, as sorted paths with `/`, without what is hidden and the folder's own LICENSE.md."""
        found = []
        for place, folders, files in os.walk(self._root):
            folders[:] = [name for name in folders if not name.startswith(".")]
            found += [
                Path(place, name).relative_to(self._root).as_posix()
                for name in files
                if name.lower().endswith(_SUFFIXES)
                and not name.startswith(".")
                and not (name in _LICENCES and Path(place) == self._root)
                and self._inside(Path(place, name))
            ]
        return sorted(found)

    def lines(self, path: str) -> list[str]:
        """The lines of a document. Raises FileNotFoundError with a sentence for a path that is none, and OSError."""
        known = self.paths()
        wanted = path
        if wanted not in known:  # as it stands first: a name may hold spaces or a backslash
            usual = os.path.normpath(path.strip().replace("\\", "/")) if path.strip() else ""
            same = _comparable(usual)
            wanted = next((name for name in known if _comparable(name) == same), usual)
        if wanted not in known:
            near = [name for name in known if Path(name).name == Path(wanted).name]
            near = near or difflib.get_close_matches(wanted, known, n=3, cutoff=0.5)
            hint = f" Did you mean {' or '.join(map(shown_path, near))}?" if near else ""
            raise FileNotFoundError(f"there is no document {path!r}.{hint} list_docs() names them all.")
        return self.read(wanted)

    def read(self, known: str) -> list[str]:
        """The lines of one of `paths()`. Raises OSError."""
        text = (self._root / known).read_bytes().decode("utf-8-sig", "replace")
        lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        return lines[:-1] if lines[-1] == "" else lines

    def _inside(self, path: Path) -> bool:
        try:
            return path.resolve().is_relative_to(self._root) and path.is_file()
        except (OSError, RuntimeError):
            return False

    def _fault(self, path: str) -> str | None:
        try:
            (self._root / path).read_bytes().decode("utf-8")
        except UnicodeDecodeError as error:
            return f"{shown_path(path)} is not UTF-8 (byte {error.start}): what cannot be read shows as \ufffd; convert it to UTF-8"
        except OSError as error:
            return f"{shown_path(path)} cannot be read ({error.strerror}): it is passed over; check its permissions"
        return None


def _comparable(path: str) -> str:
    return unicodedata.normalize("NFC", shown_path(path))


def shown_path(path: str) -> str:
    """A path as it is listed: on one line, with U+FFFD for what cannot be shown."""
    return _UNSHOWABLE.sub("\ufffd", path)


def docs_toolbox(docs: Docs) -> Toolbox:
    """The four tools over `docs`."""

    @tool("List all documents with the number of their lines and their titles.")
    def list_docs() -> str:
        return "\n".join(_entry(docs, path) for path in docs.paths())

    @tool(
        "Search all documents for a word or phrase, upper and lower case alike. Returns `path:line: text`, at most "
        f"{MAX_HITS} hits.",
        keyword="the word or phrase to look for, in the documents' language, e.g. timeout",
    )
    def grep_docs(keyword: str) -> str:
        return _grep(docs, keyword)

    @tool(
        f"Read lines of one document, numbered, at most {MAX_LINES} at once.",
        path="the document, as list_docs and grep_docs name it, e.g. guide/install.md",
        start="the first line to read, from 1",
        end=f"the last line to read; {MAX_LINES} lines from the start if left out",
    )
    def read_doc(path: str, start: int = 1, end: int | None = None) -> str:
        return _read(docs, path, start, start + MAX_LINES - 1 if end is None else end)

    @tool("Count the lines of one document.", path="the document, as list_docs and grep_docs name it")
    def count_lines(path: str) -> str:
        count = len(docs.lines(path))
        return f"{path} has {count} line{'s' if count != 1 else ''}."

    tools = Toolbox([list_docs, grep_docs, read_doc, count_lines])
    return tools.with_options("list_docs", read_on=_search_on).with_options("read_doc", read_on=_read_on)


def _entry(docs: Docs, path: str) -> str:
    try:
        lines = docs.read(path)
    except OSError as error:
        return f"{shown_path(path)} (cannot be read: {error.strerror})"
    title = _title(lines)
    return f"{shown_path(path)} ({len(lines)} line{'s' if len(lines) != 1 else ''}){': ' + title if title else ''}"


def _title(lines: list[str]) -> str:
    """The first heading that is not inside a code block."""
    fence = ""
    for line in lines:
        if match := _FENCE.match(line):
            fence = "" if fence and match[1].startswith(fence) else fence or match[1]
        elif not fence and (heading := _HEADING.match(line)) and heading[1]:
            return heading[1]
    return ""


def _grep(docs: Docs, keyword: str) -> str:
    wanted = " ".join(keyword.split())
    if not wanted:
        return "Nothing to look for: give one word that the documents are likely to use, e.g. timeout."
    needle = folded(wanted)
    hits: list[str] = []
    more: dict[str, int] = {}
    paths = docs.paths()
    for path in paths:
        try:
            lines = docs.read(path)
        except OSError:
            continue
        for number, line in enumerate(lines, 1):
            if needle not in folded(line):
                continue
            if len(hits) < MAX_HITS:
                hits.append(f"{shown_path(path)}:{number}: {clipped(line.strip(), needle)}")
            else:
                more[path] = more.get(path, 0) + 1
    if not hits:
        return (
            f"No hits for {wanted!r} in {len(paths)} documents. Try a single word, a shorter form of it, or "
            "another word for it; list_docs() names the documents."
        )
    if more:
        places = ", ".join(f"{shown_path(path)} {count}" for path, count in more.items())
        hits.append(f"... and {sum(more.values())} more hits: {places}")
    return "\n".join(hits)


def _read(docs: Docs, path: str, start: int, end: int) -> str:
    lines = docs.lines(path)
    path = shown_path(path)
    count = len(lines)
    if count == 0:
        return f"{path} is empty."
    if start < 1 or start > count or end < start:
        return f"There is no such range: {path} has lines 1 to {count}; give a start from 1 to {count} and an end not before it."
    last = min(end, count, start + MAX_LINES - 1)
    text = "\n".join(f"{number}: {lines[number - 1]}" for number in range(start, last + 1))
    if last < min(end, count):
        text += (
            f"\n[lines {start} to {last} of {count}, at most {MAX_LINES} at once; read on with {_call(path, last + 1)}]"
        )
    elif last < count:
        text += f"\n[lines {start} to {last} of {count}; read on with {_call(path, last + 1)}]"
    return text


def _read_on(arguments: Mapping[str, Any], shown: str, whole: str) -> str:
    """The first line that was not shown whole; of a line that is longer than a result the rest is passed over."""
    path, numbers = str(arguments.get("path")), [int(number) for number in _NUMBERS.findall(shown)]
    if not numbers:
        return _call(path, int(arguments.get("start", 1)))
    if whole.startswith(shown + "\n"):
        return _call(path, numbers[-1] + 1)
    if len(numbers) > 1:
        return _call(path, numbers[-1])
    rest = f"grep_docs for the rest of line {numbers[0]}"
    goes_on = "\n" in whole[len(shown) :]
    return f"{rest}, and past it read on with {_call(path, numbers[0] + 1)}" if goes_on else rest


def _search_on(arguments: Mapping[str, Any], shown: str, whole: str) -> str:
    return f"grep_docs, which searches all {len(whole.splitlines())} documents"


def _call(path: str, start: int) -> str:
    return f"read_doc({path!r}, start={start})"
