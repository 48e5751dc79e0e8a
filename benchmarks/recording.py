"""What recording costs: CPU per step and bytes per step, against raw `sqlite3` floors.

The run: a scripted model and a tool that gives 3,000 new characters at each step; the same run without a recorder is
subtracted. A floor inserts the same text once per step through raw `sqlite3`, committed at once:

    bare     into a table without any index, in a loop of its own
    by hand  the same, but from the run's `on_step`: where a program would do it
    once     from `on_step`, into a table that holds each text once, by its SHA-256, as a store must
    twice    a row for each call, written when it begins and when it ends, in a transaction before each model call and
             each tool call; the text beside it. No hash, no index: the least that is durable at these two points
    rows     the store's own statements into its own tables and indexes, in the same two transactions, in a loop of its own:
             what a step costs SQLite, without anything that makes a record of it
    default  bare, with a connection as `sqlite3.connect` gives it (the others: WAL and synchronous=NORMAL, as a store)

    uv run python benchmarks/recording.py
"""

import argparse
import asyncio
import hashlib
import random
import sqlite3
import string
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from agent import Agent, Limits, ScriptedModel, Toolbox, ToolCall, run, tool
from agent.models.calling import as_model
from agent.ports import Tell
from agent.values import Observation, Request, Response, Step
from tracing import Recorder, rows
from tracing.file import open_writing

CHARS = 3000
WAL = (
    "pragma page_size=4096",
    "pragma auto_vacuum=incremental",
    "pragma journal_mode=wal",
    "pragma synchronous=normal",
)
PLAIN = "create table result(id integer primary key, text text)"
UNIQUE = "create table result(id integer primary key, hash blob not null unique, text text not null) strict"


def texts(count: int) -> list[str]:
    rng = random.Random(7)
    return ["".join(rng.choices(string.ascii_letters + "     ", k=CHARS)) for _ in range(count)]


def measure(folder: Path, lines: list[str]) -> dict[str, float]:
    """The seconds and bytes of one round."""
    found: dict[str, float] = {}
    for name, pragmas in {"bare": WAL, "default": ()}.items():
        connection = _floor(folder / f"{name}.db", pragmas, PLAIN)
        found[name] = _insert_all(connection, lines)
        found[f"{name} bytes"] = _size(connection, folder / f"{name}.db")
    found["with on_step"] = _timed(_running(lambda _: None), lines)
    for name, table, insert in (("by hand", PLAIN, _insert), ("once", UNIQUE, _insert_once)):
        connection = _floor(folder / f"{name}.db", WAL, table)
        found[name] = _timed(_running(_keeping(connection, insert)), lines)
        connection.close()
    found["twice"] = _timed(partial(_run_twice, _floor(folder / "twice.db", WAL, PLAIN)), lines)
    found["rows"] = _insert_rows(open_writing(folder / "rows.db"), lines)
    for name, model in (("script", _script), ("callable", _callable)):
        path = folder / f"{name}.db"
        with Recorder(path) as recorder:
            asyncio.run(recorder.run(_agent(lines[:2], model), "warm up"))
            before = _size(sqlite3.connect(path), path)
            found[f"recorded {name}"] = _timed(partial(recorder.run, question="read everything"), lines, model)
        found[f"{name} bytes"] = _size(sqlite3.connect(path), path) - before
        found[name] = _timed(_running(None), lines, model)
    return found


def _running(on_step: Callable[[Step], None] | None) -> Callable[[Agent], Awaitable[object]]:
    return partial(run, question="read everything", on_step=on_step)


def _keeping(
    connection: sqlite3.Connection, insert: Callable[[sqlite3.Connection, str], None]
) -> Callable[[Step], None]:
    def keep(step: Step) -> None:
        for observation in step.observations:
            insert(connection, observation.shown)

    return keep


def _floor(path: Path, pragmas: tuple[str, ...], table: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    for pragma in pragmas:
        connection.execute(pragma)
    connection.execute(table)
    return connection


def _insert_all(connection: sqlite3.Connection, lines: list[str]) -> float:
    start = time.process_time()
    for line in lines:
        _insert(connection, line)
    return time.process_time() - start


def _insert(connection: sqlite3.Connection, text: str) -> None:
    connection.execute("insert into result(text) values(?)", (text,))


def _insert_once(connection: sqlite3.Connection, text: str) -> None:
    digest = hashlib.sha256(text.encode()).digest()
    connection.execute("insert into result(hash, text) values(?, ?) on conflict(hash) do nothing", (digest, text))


def _insert_rows(connection: sqlite3.Connection, lines: list[str]) -> float:
    """As `tracing.rows` writes a step: the request with what the tool gave before it, the answer with the tool's call."""
    execute, run = connection.execute, 1
    hashes = [hashlib.sha256(line.encode()).digest() for line in lines]
    said = [hashlib.sha256(one + kind).digest() for one in hashes for kind in (b"asked", b"told")]
    parent = None
    start = time.process_time()
    for step, line in enumerate(lines):
        now, own = time.time_ns(), said[step][:8]
        execute("begin immediate")
        if step:
            body = execute(rows._BODY, (hashes[step], line, None)).lastrowid
            told = (said[2 * step - 1], parent, 2 * step, "tool", body, '{"tool_call_id":"call_1"}')
            parent = execute(rows._MESSAGE, told).lastrowid
            execute(rows._TOOL_END, (now, 5000, None, body, None, CHARS, False, run, 2 * step))
        execute(rows._CHAT, (run, 2 * step + 1, own, own, step, now, "scripted", "playhead", parent, 1, 1))
        execute("commit")
        execute("begin immediate")
        envelope = f'{{"tool_calls":[{{"function":{{"arguments":"page-{step}","name":"read_page"}},"id":"call_1"}}]}}'
        parent = execute(rows._MESSAGE, (said[2 * step], parent, 2 * step + 1, "assistant", None, envelope)).lastrowid
        ended = (
            now,
            5000,
            None,
            None,
            "tool_calls",
            900,
            20,
            None,
            None,
            None,
            parent,
            None,
            1,
            None,
            None,
            None,
            0,
            "free",
        )
        execute(rows._CHAT_END, (*ended, run, 2 * step + 1))
        execute(rows._TOOL, (run, 2 * step + 2, own, own, step, 0, now, "read_page", "call_1", f"page-{step}"))
        execute("commit")
    spent = time.process_time() - start
    connection.close()
    return spent


class _Twice:
    """The model and the tools of an agent, with the floor of that name before each of their calls."""

    def __init__(self, agent: Agent, connection: sqlite3.Connection) -> None:
        self._model, self._tools = as_model(agent.model), agent.tools
        self.info, self.schemas = self._model.info, agent.tools.schemas
        self._execute, self._last = connection.execute, 0
        self._execute("create table call(id integer primary key, start int, end int, step int, name text, words text)")

    async def respond(self, request: Request, tell: Tell) -> Response:
        text = request.messages[-1].content if request.step > 1 else None
        self._begin(request.step, "chat", text)
        return await self._model.respond(request, tell)

    async def call(self, call: ToolCall) -> Observation:
        self._begin(call.step, call.name, None, call.arguments)
        return await self._tools.call(call)

    def _begin(self, step: int, name: str, text: str | None, words: str | None = None) -> None:
        now = time.time_ns()
        self._execute("begin immediate")
        if text is not None:
            self._execute("insert into result(text) values(?)", (text,))
        self._execute("update call set end=? where id=?", (now, self._last))
        values = (now, step, name, words)
        self._last = self._execute("insert into call(start, step, name, words) values(?,?,?,?)", values).lastrowid or 0
        self._execute("commit")


async def _run_twice(connection: sqlite3.Connection, agent: Agent) -> None:
    both = _Twice(agent, connection)
    await run(replace(agent, model=both, tools=both), "read everything")
    connection.close()


def _script(count: int) -> Any:
    return ScriptedModel([*_answers(count), "done"])


def _callable(count: int) -> Any:
    answers = iter([*_answers(count), {"role": "assistant", "content": "done"}])

    async def model(messages: list[Any]) -> Any:
        return next(answers)

    return model


def _answers(count: int) -> Iterator[dict[str, Any]]:
    usage = {"prompt_tokens": 900, "completion_tokens": 20}
    for page in range(count):
        function = {"name": "read_page", "arguments": f'{{"path":"guide/page-{page}.md"}}'}
        call = {"id": f"call_{page}", "type": "function", "function": function}
        yield {"role": "assistant", "content": None, "tool_calls": [call], "usage": usage}


def _agent(lines: list[str], model: Callable[[int], Any]) -> Agent:
    waiting = iter(lines)

    @tool("Read the next page.", path="which")
    async def read_page(path: str) -> str:
        return next(waiting)

    return Agent(model=model(len(lines)), tools=Toolbox([read_page]), limits=Limits(max_steps=len(lines) + 1))


def _timed(
    perform: Callable[[Agent], Awaitable[object]], lines: list[str], model: Callable[[int], Any] = _script
) -> float:
    agent = _agent(lines, model)

    async def measured() -> float:
        start = time.process_time()
        await perform(agent)
        return time.process_time() - start

    return asyncio.run(measured())


def _size(connection: sqlite3.Connection, path: Path) -> int:
    connection.execute("pragma wal_checkpoint(truncate)")
    connection.close()
    return path.stat().st_size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=9, help="the best of this many is reported")
    rounds = parser.parse_args().rounds
    for steps in (20, 100, 200, 400):
        lines = texts(steps)
        measured = []
        for _ in range(rounds):
            with tempfile.TemporaryDirectory() as folder:
                measured.append(measure(Path(folder), lines))
        best = {name: min(one[name] for one in measured) / steps for name in measured[0]}
        for name in ("by hand", "once"):
            best[name] -= best["with on_step"]
        best["twice"] -= best["script"]
        recorded, other = (best[f"recorded {name}"] - best[name] for name in ("script", "callable"))
        print(f"\n{steps} steps: {recorded * 1e6:.0f} us a step; with any callable as the model {other * 1e6:.0f} us")
        for name in ("bare", "by hand", "once", "twice", "rows", "default"):
            print(f"  floor, {name:8} {best[name] * 1e6:6.1f} us, ratio {recorded / best[name]:5.1f}")
        size, floor = best["script bytes"], best["bare bytes"]
        print(f"  {size:.0f} B a step, ratio to the bare floor {size / floor:.2f}")


if __name__ == "__main__":
    main()
