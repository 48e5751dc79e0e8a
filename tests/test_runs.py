"""The recorded runs of `data/runs` replay exactly, in this version and in every later one."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.make_runs import KINDS, RUNS, SECRET
from tracing import Recording, replay
from tracing.bundles import open_bundle
from tracing.checking import check
from tracing.record_reader import read_recording

FILES = sorted(RUNS.glob("*.jsonl"))


def recordings(path: Path) -> list[Recording]:
    with open_bundle(path) as store:
        return [store.recording(row["run_id"]) for row in store.runs()[0]]


def test_every_behaviour_of_the_loop_has_its_runs() -> None:
    assert {path.stem for path in FILES} >= {kind.__name__ for kind in KINDS}
    stops = {one.stop for path in FILES for one in recordings(path)}
    assert stops == {
        "answered", "max_steps", "token_limit", "cost_limit", "time_limit", "refused", "content_filter", "output_limit",
        "failed", "cancelled",
    }  # fmt: skip


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_kept_run_replays_exactly(path: Path) -> None:
    for recording in recordings(path):
        report = replay(recording)
        assert (report.outcome, report.divergences, report.reason) == ("exact", (), None), recording.question
        assert report.steps == len(recording.steps)
        assert (report.unused_steps, report.unused_calls) == (0, 0)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_kept_run_is_as_it_was_written(path: Path) -> None:
    with open_bundle(path) as store:
        assert check(store, hashes=True) == []


def test_the_secret_of_the_redacted_run_is_nowhere() -> None:
    text = (RUNS / "redacted.jsonl").read_text(encoding="utf-8")
    assert SECRET not in text
    assert SECRET[:10] not in text
    (recording,) = recordings(RUNS / "redacted.jsonl")
    assert recording.question == "What does the log of [redacted:api_key#1] say?"
    (call,) = recording.steps[0].calls
    assert call.arguments == '{"token":"[redacted:api_key#1]"}'
    assert call.observation is not None
    assert call.observation.truncated
    assert call.observation.shown.splitlines()[-2].endswith("entry [redacted:api_key#1]")
    assert "[redacted:api_key#1] and more" in call.observation.whole


OUTSIDE = {
    "body": {"id"},
    "message": {"id"},
    "run": {"id", "process", "imported_ns"},
    "span": {"cost", "price", "seal"},
}
"""What a replay does not look at, and may be added or changed later."""
SHARE = 2
"""Each file takes one column of so many, so that every column is changed in several files."""


def another(old: Any) -> Any:
    match old:
        case int():
            return old + 1
        case bytes():
            return bytes([old[0] ^ 1, *old[1:]])
        case _:
            return f"{old}x"


@pytest.mark.parametrize("number", range(len(FILES)), ids=lambda number: FILES[number].stem)
def test_no_cell_of_a_kept_run_can_be_changed_without_a_replay_that_tells(number: int) -> None:
    with open_bundle(FILES[number]) as store, store.tuples() as connection:
        connection.execute("commit")
        connection.execute("pragma query_only=0")
        runs = [run for (run,) in connection.execute("select run_id from run order by id").fetchall()]
        for table, outside in OUTSIDE.items():
            columns = [name for (name,) in connection.execute(f"select name from pragma_table_info('{table}')")]
            for at, column in enumerate(columns):
                if column in outside or (at + number) % SHARE:
                    continue
                key, only = ("run=? and n=?", "where kind<3 and") if table == "span" else ("id=? and ?=0", "where")
                place = "run, n" if table == "span" else "id, 0"
                query = (
                    f"select {column}, {place} from {table} {only} {column} is not null order by 3 desc, 2 desc limit 1"
                )
                for old, *row in connection.execute(query).fetchall():
                    connection.execute("begin")
                    connection.execute(f"update {table} set {column}=? where {key}", (another(old), *row))
                    assert not all(is_exact(connection, run) for run in runs), (table, column, row)
                    connection.execute("rollback")


def is_exact(connection: sqlite3.Connection, run: str) -> bool:
    found = connection.execute("select 1 from run where run_id=?", (run,)).fetchone()
    return found is not None and replay(read_recording(connection, run)).is_exact
