"""What recording costs: CPU per step and bytes per step, against a raw `sqlite3` floor.

The floor inserts the same new text once per step, committed at once (WAL, synchronous=NORMAL). The recorded run is the
same loop with a scripted model and a tool that returns 3,000 new characters; its unrecorded twin is subtracted, so
what is left is the recording. Prints one line for each number of steps.

    uv run python benchmarks/recording.py
"""

import argparse
import asyncio
import random
import sqlite3
import string
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from agent import Agent, Limits, ScriptedModel, Toolbox, run, tool
from tracing import Recorder

CHARS = 3000


def texts(count: int) -> list[str]:
    rng = random.Random(7)
    return ["".join(rng.choices(string.ascii_letters + "     ", k=CHARS)) for _ in range(count)]


def floor(folder: Path, lines: list[str]) -> tuple[float, int]:
    path = folder / "floor.db"
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("pragma page_size=4096")
    connection.execute("pragma journal_mode=wal")
    connection.execute("pragma synchronous=normal")
    connection.execute("create table result(id integer primary key, step int, text text)")
    start = time.process_time()
    for step, line in enumerate(lines):
        connection.execute("insert into result(step, text) values(?, ?)", (step, line))
    spent = time.process_time() - start
    return spent, _size(connection, path)


def recorded(folder: Path, lines: list[str]) -> tuple[float, int]:
    path = folder / "recorded.db"
    with Recorder(path) as recorder:
        asyncio.run(recorder.run(_agent(lines[:2]), "warm up"))
        before = _size(sqlite3.connect(path), path)
        spent = _timed(lambda agent: recorder.run(agent, "read everything"), lines)
    return spent, _size(sqlite3.connect(path), path) - before


def unrecorded(lines: list[str]) -> float:
    return _timed(lambda agent: run(agent, "read everything"), lines)


def _agent(lines: list[str]) -> Agent:
    waiting = iter(lines)

    @tool("Read the next page.", path="which")
    async def read_page(path: str) -> str:
        return next(waiting)

    calls = [{"name": "read_page", "arguments": f'{{"path":"guide/page-{page}.md"}}'} for page in range(len(lines))]
    usage = {"prompt_tokens": 900, "completion_tokens": 20}
    script = [{"content": None, "tool_calls": [call], "usage": usage} for call in calls]
    return Agent(
        model=ScriptedModel([*script, "done"]), tools=Toolbox([read_page]), limits=Limits(max_steps=len(lines) + 1)
    )


def _timed(perform: Callable[[Agent], object], lines: list[str]) -> float:
    agent = _agent(lines)

    async def measured() -> float:
        start = time.process_time()
        await perform(agent)  # type: ignore[misc]
        return time.process_time() - start

    return asyncio.run(measured())


def _size(connection: sqlite3.Connection, path: Path) -> int:
    connection.execute("pragma wal_checkpoint(truncate)")
    connection.close()
    return path.stat().st_size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=7, help="the best of this many is reported")
    rounds = parser.parse_args().rounds
    print("steps  floor us  recording us  ratio  floor B  recording B  ratio")
    for steps in (20, 100, 200, 400):
        lines = texts(steps)
        figures = []
        for _ in range(rounds):
            with tempfile.TemporaryDirectory() as folder:
                low, low_bytes = floor(Path(folder), lines)
                high, high_bytes = recorded(Path(folder), lines)
                figures.append((low, high - unrecorded(lines), low_bytes, high_bytes))
        low, high = (min(column) / steps * 1e6 for column in list(zip(*figures, strict=True))[:2])
        low_bytes, high_bytes = (min(column) / steps for column in list(zip(*figures, strict=True))[2:])
        print(
            f"{steps:5}  {low:8.1f}  {high:12.1f}  {high / low:5.2f}  {low_bytes:7.0f}  {high_bytes:11.0f}"
            f"  {high_bytes / low_bytes:5.2f}"
        )


if __name__ == "__main__":
    main()
