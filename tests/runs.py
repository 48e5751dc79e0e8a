"""Sample runs for the tests of the reading side: recorded for real, with scripted models and a clock that is fixed."""

import asyncio
import fcntl
import hashlib
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from click.testing import CliRunner, Result

from agent import Agent, Limits, ModelError, ScriptedModel, Toolbox, tool
from tracing import CountingIds, FixedClock, Recorder
from tracing.ids import Ids
from viewer.cli import cli

LONG = "\n".join(f"{number}: " + "timeout " * 9 for number in range(1, 61))
"""More than the 3,000 characters that a model gets to read."""


@tool("Read a document.")
async def read_doc(path: str) -> str:
    await asyncio.sleep(0)
    return LONG if path == "long.md" else f"the text of {path}"


@tool("Search the documents.")
async def grep_docs(keyword: str) -> str:
    await asyncio.sleep(0)
    if keyword == "broken":
        raise OSError("the disk is gone")
    return f"a.md:1: {keyword}"


TOOLS = Toolbox([read_doc, grep_docs])


BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
SURROGATES = frozenset(map(chr, range(0xD800, 0xE000)))
UNSAFE = (
    {chr(code) for code in (*range(0x20), *range(0x7F, 0xA0), *range(0xE0000, 0xE0080))}
    | set(BIDI + "\u2028\u2029")
    | SURROGATES
) - {"\t", "\n"}
"""Control characters, bidirectional marks, tag characters, surrogates: nothing of it may reach a terminal."""

HOSTILE = "\x1b]0;pwn\x07\x1b[2J[red]x[/red][/][/tmp/x][link=http://e]y :smile: \u202egnp\x9b31m\r\x7f"
"""What acts on a terminal, and what rich takes as markup."""


def unsafe_in(text: str) -> set[str]:
    return set(text) & UNSAFE


class SpreadIds:
    """As CountingIds, but told apart by their first digits, as random ones are."""

    def __init__(self) -> None:
        self._counting = CountingIds()

    def new(self, size: int) -> bytes:
        return hashlib.sha256(self._counting.new(4)).digest()[:size]


class Tape:
    """Records one run after the other into one store."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    def run(
        self,
        question: str,
        *responses: Any,
        name: str = "docs",
        model: str = "scripted",
        tools: Any = TOOLS,
        system: str | None = None,
        max_steps: int = 8,
        history: Sequence[Any] | None = None,
        **labels: Any,
    ) -> str:
        """The id of the recorded run; a response that is an exception makes it fail."""
        agent = Agent(
            name=name,
            model=ScriptedModel(responses, name=model),
            tools=tools,
            system=system,
            limits=Limits(max_steps=max_steps),
        )
        try:
            run_id = self.recorder.run_sync(agent, question, history=history, **labels).run_id
        except ModelError as error:
            run_id = error.result.run_id
        assert run_id is not None
        return str(run_id)


@contextmanager
def recording(db: Path, *, ids: Ids | None = None, clock: FixedClock | None = None) -> Iterator[Tape]:
    """Runs get the ids 000…1, 000…2 and so on unless `ids` says otherwise; time goes on by 1 ms at each event."""
    with Recorder(db, clock=clock or FixedClock(), ids=ids or CountingIds(), strict=True) as recorder:
        yield Tape(recorder)


def calls(*wanted: tuple[str, dict[str, Any]], content: str | None = None) -> dict[str, Any]:
    """A model's message that asks for tools."""
    return {
        "content": content,
        "tool_calls": [{"name": name, "arguments": arguments} for name, arguments in wanted],
        "finish_reason": "tool_calls",
        "usage": {"input": 100, "output": 20},
    }


def answer(text: str, **usage: int) -> dict[str, Any]:
    return {"content": text, "finish_reason": "stop", "usage": usage or {"input": 200, "output": 30}}


SAMPLE = (
    calls(("read_doc", {"path": "long.md"}), ("grep_docs", {"keyword": "broken"}), content="I look."),
    calls(("grep_docs", {"keyword": "timeout"})),
    answer("Four kinds: connect, read, write, pool (a.md:1)."),
)
"""Two calls side by side, one cut and one failed, then a third, then an answer."""


def record_sample(db: Path) -> str:
    with recording(db, ids=SpreadIds()) as tape:
        return tape.run("How many kinds of timeout?", *SAMPLE, system="Look first.", tags=["good"], session="s1")


INTERRUPTED = """
import os, sys
from agent import Agent, ScriptedModel, Toolbox
from tracing import Recorder

def look(word):
    return "seen " + word

def die(word):
    os._exit(0)

script = [{"tool_calls": [{"name": "look", "arguments": {"word": "first"}}], "usage": {"input": 5, "output": 2}},
          {"tool_calls": [{"name": "die", "arguments": {"word": "now"}}], "usage": {"input": 9, "output": 4}}]
agent = Agent(name="mortal", model=ScriptedModel(script), tools=Toolbox([look, die]))
Recorder(sys.argv[1], strict=True).run_sync(agent, "Will you live?")
"""


def record_interrupted(db: Path) -> None:
    """A run whose process ends, without any farewell, inside the tool of its second step."""
    subprocess.run([sys.executable, "-c", INTERRUPTED, str(db)], check=True, timeout=60)


def invoke(*arguments: str, db: Path | None = None, command: click.Group = cli) -> Result:
    """A command line in this process, not on a terminal, with stdout and stderr apart; what it raises is raised."""
    env = {} if db is None else {"PLAYHEAD_DB": str(db)}
    return CliRunner().invoke(command, list(arguments), env=env, catch_exceptions=False)


def printed(*arguments: str, db: Path) -> str:
    """stdout of a command that succeeds and has nothing to say beside it."""
    result = invoke(*arguments, db=db)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout


def as_json(*arguments: str, db: Path) -> Any:
    """What a command prints with --json, read by a strict parser."""
    return strict_json(printed(*arguments, "--json", db=db))


def strict_json(text: str) -> Any:
    """Raises ValueError for what is no JSON of RFC 8259, or cannot be sent as UTF-8."""
    text.encode()

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


def _environment(db: Path, env: dict[str, str]) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    return {**kept, "TERM": "xterm-256color", "PLAYHEAD_DB": str(db), "PYTHONUTF8": "1", **env}


def in_shell(command: str, db: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """A shell command line, with `VIEWER` for the viewer."""
    line = command.replace("VIEWER", f"'{sys.executable}' -m viewer")
    return subprocess.run(
        ["bash", "-c", line],
        env=_environment(db, env),
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


def on_terminal(*arguments: str, db: Path, columns: int = 80, **env: str) -> str:
    """All that the viewer prints on a terminal of that width, stderr too."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    command = [sys.executable, "-m", "viewer", *arguments]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=_environment(db, env)) as process:
        os.close(theirs)
        came = b""
        while chunk := _read(ours):
            came += chunk
    os.close(ours)
    assert process.returncode == 0, came
    return came.decode().replace("\r\n", "\n")


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65_536)
    except OSError:  # Linux's way to say that the terminal has no other end any more
        return b""


def plain(text: str) -> str:
    """`text` without the viewer's own colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)
