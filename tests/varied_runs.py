"""A store of runs of many kinds, small: for the tests that take them elsewhere and look whether they are whole."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from agent import Toolbox, tool
from agent.command_line import Commands
from tests.runs import SpreadIds, answer, calls, recording
from tracing import FixedClock
from tracing.place import here
from viewer.commands.bundles import check, export, import_

ODD = {
    "plain": "a result",
    "half": "a lone \ud83d half",
    "pair": "two halves \ud83d\ude00 side by side",
    "nul": "a\0b",
    "lines": "one\r\ntwo\u2028three\x85four",
    "empty": "",
    "long": "a line of text\n" * 300,
}


@tool("Leave a log line and a span of another library, and give a text.")
async def leave(text: str) -> str:
    place = here.get()
    assert place is not None
    for _ in range(2):  # in one moment, so that only their order tells them apart
        place.trace.logged("warning", "left", {"text": text, "n": 1.5}, place)
    number = place.trace.span_started("GET /", b"\1" * 8, place.span_id, place.step, 5)
    place.trace.span_ended(number, 5, 9, "refused" if text == "nul" else None, {"http.status": 200})
    place.trace.span_started("never ends", b"\2" * 8, None, place.step, 6)
    return ODD.get(text, text)


TOOLS = Toolbox([leave])


def leaving(*texts: str) -> dict[str, Any]:
    return calls(*(("leave", {"text": text}) for text in texts), content="I look.")


def record_varied(db: Path, *, ids: Any = None) -> list[str]:
    """The ids of the runs: two calls side by side and tags, odd texts, a turn of the same conversation, a failure."""
    with recording(db, ids=ids or SpreadIds(), clock=FixedClock()) as tape:
        return [
            tape.run("What is there?", leaving("plain", "half"), leaving("long"), answer("A \ud83d result."), tools=TOOLS,
                     system="Look first.", tags=["good", "né"], session="s1", metadata={"user": "ada"}, version="1.2"),
            tape.run("And\0 there?", leaving("pair", "nul", "lines"), answer(""), tools=TOOLS, session="s1"),
            tape.run("What is there?", leaving("empty"), answer("Nothing."), tools=TOOLS, history=turns()),
            tape.run("Is it up?", leaving("plain"), RuntimeError("provider down"), tools=TOOLS, tags=["bad"]),
        ]  # fmt: skip


def turns() -> Sequence[Any]:
    return [
        {"role": "user", "content": "Hello?"},
        {"role": "assistant", "content": [{"type": "text", "text": "Yes."}], "reasoning_content": "Greet."},
    ]


@click.group(cls=Commands)
def commands() -> None:
    """The commands that the tests of bundles are about."""


for command in (export, import_, check):
    commands.add_command(command)
