"""What a cost report takes: `viewer cost` as a whole process, on a million calls of a year.

The store is made by raw inserts: 100,000 runs of ten calls each, five models, prices for 90 % of the calls. Each command
is run several times; wall clock and CPU time (user and system, of all its threads) are printed, the best of each, because
a machine that does other things too makes the others slower, and never faster. The total is held against the raw sum.

    uv run python benchmarks/costs.py
"""

import argparse
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from tracing.file import open_writing

RUNS, CALLS = 100_000, 10
MODELS = ("gpt-5.1-2026-03-01", "gpt-5.1-mini", "deepseek-flash", "claude-sonnet-5", "gemini-3-flash")
AGENTS = ("support", "search", "writer")
YEAR_NS = 365 * 86_400 * 10**9
COMMANDS = (
    ("cost", "--by", "day,model", "--since", "365d"),
    ("cost", "--by", "day,model", "--since", "365d", "--tz", "Asia/Kathmandu"),
    ("cost", "--by", "month", "--since", "365d"),
    ("cost", "--by", "day"),
    ("cost", "--by", "agent", "--since", "365d"),
)


def make(path: Path, runs: int = RUNS) -> None:
    """A store of `runs` runs that end now, spread over the last year."""
    connection = open_writing(path)
    connection.execute("pragma synchronous=off")
    connection.execute("pragma cache_size=-200000")
    connection.execute("begin")
    connection.execute("insert into process(host,pid,born,started_ns,ended_ns) values('bench',1,'',0,1)")
    connection.execute("insert into body(hash,text) values(x'00','How long is a timeout?')")
    connection.executemany(
        "insert into run(id,run_id,trace_id,span_id,kind,session,agent,model,process,start_ns,end_ns,question,settings,"
        "tools,stop) values(?,?,?,?,'live',?,?,?,1,?,?,1,1,1,'answered')",
        _runs(runs),
    )
    connection.executemany(
        "insert into span(run,n,span_id,kind,step,start_ns,end_ns,duration_ns,name,model,response_model,provider,finish,"
        "inp,out,cached,cache_write,reasoning,attempts,cost,price) "
        "values(?,?,?,1,?,?,?,900000000,'chat',?,?,'openai','stop',?,?,?,?,?,1,?,?)",
        _calls(runs),
    )
    connection.execute("commit")
    connection.execute("pragma wal_checkpoint(truncate)")
    connection.close()


def _start(run: int, runs: int) -> int:
    return time.time_ns() - YEAR_NS + 3600 * 10**9 + run * ((YEAR_NS - 7200 * 10**9) // runs)


def _runs(runs: int) -> Iterator[tuple[Any, ...]]:
    rng = random.Random(7)
    for run in range(1, runs + 1):
        start, ids = _start(run, runs), rng.randbytes(16)
        session, agent, model = f"s{run // 3}", rng.choice(AGENTS), rng.choice(MODELS)
        yield run, ids.hex(), ids, ids[:8], session, agent, model, start, start + 20 * 10**9


def _calls(runs: int) -> Iterator[tuple[Any, ...]]:
    rng = random.Random(11)
    for run in range(1, runs + 1):
        model, start = rng.choice(MODELS), _start(run, runs)
        for step in range(1, CALLS + 1):
            begin = start + step * 10**9 + rng.randrange(10**9)
            read, written = rng.randrange(400, 30_000), rng.randrange(5, 2_000)
            cached = rng.randrange(read) if rng.random() < 0.7 else 0
            cost = (read - cached) * 250 + cached * 25 + written * 2_000
            known = rng.random() < 0.9
            yield (
                run, step, step.to_bytes(8), step, begin, begin + 900_000_000, model, model, read, written, cached, None,
                written // 3, cost if known else None, "genai-prices 2026-11-01" if known else "none:unknown-model",
            )  # fmt: skip


def measured(path: Path, command: tuple[str, ...], rounds: int) -> tuple[float, float, str]:
    """The least wall and CPU seconds of so many runs of the whole process, and what it printed."""
    walls, spent, printed = [], [], ""
    for _ in range(rounds):
        before, start = os.times(), time.perf_counter()
        done = subprocess.run(  # noqa: S603 - our own command
            [sys.executable, "-m", "viewer", *command, "--db", str(path)], capture_output=True, text=True, check=True
        )
        walls.append(time.perf_counter() - start)
        after = os.times()
        spent.append(after.children_user + after.children_system - before.children_user - before.children_system)
        printed = done.stdout
    return min(walls), min(spent), printed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5, help="the best of this many is reported")
    parser.add_argument("--db", type=Path, help="keep the store here, or use the one that is there")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = given.db or Path(folder, "traces.db")
        if not path.exists():
            start = time.perf_counter()
            make(path)
            print(f"made {path.stat().st_size / 1e6:,.0f} MB in {time.perf_counter() - start:.0f} s")
        print("wall s  CPU s  command")
        for command in COMMANDS:
            wall, spent, _ = measured(path, command, given.rounds)
            print(f"{wall:6.2f}  {spent:5.2f}  viewer {' '.join(command)}")
        _, _, text = measured(path, (*COMMANDS[0], "--json"), 1)
        told = json.loads(text)
        since = round(datetime.fromisoformat(told["since"]).timestamp() * 1e6) * 1000
        query = "select count(*), sum(cost) from span where kind=1 and end_ns is not null and start_ns>=?"
        calls, cost = sqlite3.connect(path).execute(query, (since,)).fetchone()
        assert (calls, cost) == (told["sum"]["calls"], told["sum"]["cost_nano"]), "not the raw sum"
        print(f"total of {calls:,} calls: {cost:,} nano-dollars, equal to the raw sum")


if __name__ == "__main__":
    main()
