"""The lines of a bundle, read and held against all that the file itself can tell: shape, checks, order, sum.

The order finds a line that was moved or doubled where it stands, not only at the end by the sum of all bytes.
"""

import hashlib
import json
import re
from typing import Any

from tracing.bundling import lines as bundle_lines
from tracing.bundling.lines import Fields
from tracing.bundling.shapes import what_is_wrong, without_nulls

HASHED = ("body", "message")
OF_RUN = ("run", "span", "event", "annotation")
_PLACE = {"span": "n", "event": "time_ns", "annotation": "id"}
_BOM = b"\xef\xbb\xbf"
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
"""What a lone surrogate is written with."""

ANEW = "export it anew where it came from"


class Refused(Exception):
    """A line is not what a bundle may hold."""

    def __init__(self, reason: str, advice: str = ANEW) -> None:
        super().__init__(reason)
        self.advice = advice
        """What to do next."""


class Reader:
    """Takes the lines of one bundle, one after the other."""

    def __init__(self) -> None:
        self.number = 0
        """Of the line that was taken last, from 1."""
        self._has_ended = False
        self._lines = self._runs = 0
        """Before the end line."""
        self._sum = hashlib.sha256()
        self._last: tuple[int, str] | None = None
        """Start and id of the last run."""
        self._place: tuple[int, Any] | None = None
        """Where in its run the last line was; None outside of one."""

    def take(self, line: bytes) -> tuple[str, Fields] | None:
        """The next line, which may end as those of Windows do, as its kind and its fields without nulls; None for
        the first one and what only looks like a line. Raises Refused."""
        self.number += 1
        line = _bare(line)
        if self._has_ended:
            if line:
                raise Refused("something follows after the end of the bundle")
            return None
        if self._lines == 0:
            check_header(line)
            self._count(line.removeprefix(_BOM))
            return None
        if line.startswith(b'{"end":'):
            self._end(line)
            return "end", {}
        found = self._parsed(line)
        self._count(line)
        return found

    def close(self) -> None:
        """After the last line. Raises Refused for a bundle without its end."""
        if not self._has_ended:
            self.number += 1
            raise Refused("the bundle ends before its end line: it was cut")

    def _count(self, line: bytes) -> None:
        self._lines += 1
        self._sum.update(line + b"\n")

    def _end(self, line: bytes) -> None:
        if line != bundle_lines.end(self._lines, self._runs, self._sum.hexdigest()).encode():
            raise Refused("the lines before the end are not those that were exported: their number or sha256 differs")
        self._has_ended = True

    def _parsed(self, line: bytes) -> tuple[str, Fields]:
        try:
            text = line.decode()
            value = json.loads(text)
        except (ValueError, RecursionError):
            raise Refused("it is no JSON in UTF-8, or was cut") from None
        if not isinstance(value, dict):
            raise Refused("it must be a JSON object")
        kind = next(iter(value), "")
        if kind in HASHED and len(value) == 1:
            fields = _shaped(kind, value[kind], text)
            self._place = None
        elif kind in OF_RUN and set(value) == {kind, "check"}:
            fields = _shaped(kind, value[kind], text)
            if bundle_lines.with_check(f"{text[: -bundle_lines.CHECK_SIZE - 1]}}}") != text:
                raise Refused(f"the {kind} does not match its check")
            self._in_order(kind, fields)
        else:
            raise Refused("it is none of: body, message, run, span, event, annotation, end")
        return kind, fields

    def _in_order(self, kind: str, fields: Fields) -> None:
        if kind == "run":
            place = (fields["start_ns"], fields["run_id"])
            if self._last is not None and place <= self._last:
                raise Refused("the run is out of its order, or came before")
            self._last, self._place = place, (0, 0)
            self._runs += 1
            return
        if self._last is None or self._place is None or fields["run_id"] != self._last[1]:
            raise Refused(f"the {kind} does not stand behind its run")
        here = (OF_RUN.index(kind), fields[_PLACE[kind]])
        if here < self._place or (here == self._place and kind != "event"):  # two log lines may have one moment
            raise Refused(f"the {kind} is out of its order, or came before")
        self._place = here


def check_header(line: bytes) -> None:
    """Raises Refused for what is not the first line of a bundle that we can read."""
    line = _bare(line).removeprefix(_BOM)
    if line == bundle_lines.header().encode():
        return
    try:
        value = json.loads(line.decode())
        version = value["version"] if value["playhead"] == "bundle" else None
    except (ValueError, RecursionError, TypeError, KeyError):
        version = None
    if isinstance(version, int) and version > bundle_lines.VERSION:
        raise Refused(
            f"the bundle has version {version}, and this one knows {bundle_lines.VERSION}", "upgrade Playhead"
        )
    raise Refused("it is not the first line of a bundle", "give a file that viewer export wrote, or a store")


def _bare(line: bytes) -> bytes:
    """A line without its end, which git may have changed."""
    return line[:-2] if line.endswith(b"\r\n") else line.removesuffix(b"\n")


def _shaped(kind: str, fields: Any, text: str) -> Fields:
    wrong = what_is_wrong(kind, fields)
    if wrong is not None:
        raise Refused(wrong)
    if kind != "body" and _SURROGATE.search(text):
        try:
            json.dumps(fields, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise Refused(f"the {kind} has a lone surrogate, which only a body may have") from None
    return without_nulls(fields)
