"""Reading a store: which run is meant, which runs there are, and how far they have come."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agent import Toolbox, tool
from tests.runs import SpreadIds, answer, calls, record_interrupted, recording
from tracing import CountingIds, FixedClock, NoSuchRun, Store, StoreError, open_store
from tracing.filters import Filter

MINUTE = 60_000_000_000


class TwinIds:
    """Ids that share their first ten digits."""

    def __init__(self) -> None:
        self._spread = SpreadIds()

    def new(self, size: int) -> bytes:
        return (bytes.fromhex("abcdef0123") + self._spread.new(16))[:size]


def record_four(db: Path) -> dict[str, str]:
    """Runs by id: one that found something, one that failed, one that ran out of steps, one of another agent."""
    grep, broken = calls(("grep_docs", {"keyword": "x"})), calls(("grep_docs", {"keyword": "broken"}))
    with recording(db, clock=FixedClock(tick_ns=MINUTE)) as tape:
        names = {
            tape.run("How many TIMEOUTS?", grep, answer("four"), tags=["good", "red[/]"], session="s1",
                     metadata={"user": "ada", "n": 7, "a.b": 'q"x', "on": True, "z": None, 'k"y': "é"}): "found",
            tape.run("Is it up?", RuntimeError("provider down"), model="m2", tags=["good"], session="s1"): "failed",
            tape.run("Again?", broken, calls(("read_doc", {"path": "a"})), max_steps=2, metadata={"user": "bob"}): "spent",
            tape.run("Write.", {**answer("timeouts", input=900), "model": "m1-2026"}, name="writer", model="m1"): "wrote",
        }  # fmt: skip
    with closing(sqlite3.connect(db)) as connection, connection:  # cost is nobody's yet
        connection.execute("update span set cost=3000000 where kind=1 and run=1")
        connection.execute("update span set cost=1000000 where kind=1 and run=4")
    return names


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, dict[str, str]]]:
    db = tmp_path_factory.mktemp("four") / "traces.db"
    names = record_four(db)
    with open_store(db) as store:
        yield store, names


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({}, "wrote spent failed found"),
        ({"status": ("answered",)}, "wrote found"),
        ({"status": ("failed", "stopped")}, "spent failed"),
        ({"status": ("running", "interrupted", "failed")}, "failed"),
        ({"stop": ("max_steps", "failed")}, "spent failed"),
        ({"agent": "writer"}, "wrote"),
        ({"tool": "grep_docs"}, "spent found"),
        ({"tool": "read_doc"}, "spent"),
        ({"model": "m2"}, "failed"),
        ({"model": "m1-2026"}, "wrote"),
        ({"model": "m1"}, "wrote"),
        ({"tags": ("good",)}, "failed found"),
        ({"tags": ("good", "red[/]")}, "found"),
        ({"metadata": {"user": "ada"}}, "found"),
        ({"metadata": {"n": "7"}}, "found"),
        ({"metadata": {"a.b": 'q"x'}}, "found"),
        ({"metadata": {"on": "true"}}, "found"),
        ({"metadata": {'k"y': "é"}}, "found"),
        ({"metadata": {"user": "ada", "n": "8"}}, ""),
        ({"metadata": {"z": "null"}}, "found"),
        ({"metadata": {"z": ""}}, ""),
        ({"metadata": {'"': "x"}}, ""),
        ({"session": "s1"}, "failed found"),
        ({"error": True}, "spent failed"),
        ({"min_steps": 2}, "spent found"),
        ({"min_steps": 10**30}, ""),
        ({"min_cost": 0.002}, "found"),
        ({"min_cost": 0.001}, "wrote found"),
        ({"text": "timeouts"}, "wrote found"),
        ({"text": "HOW many"}, "found"),
        ({"text": "%"}, ""),
        ({"text": "\udcff"}, ""),
        ({"agent": "docs", "session": "s1", "stop": ("failed",)}, "failed"),
    ],
)
def test_each_filter_finds_its_runs(four: tuple[Store, dict[str, str]], wanted: dict[str, Any], found: str) -> None:
    store, names = four
    rows, total = store.runs(Filter(**wanted))
    assert " ".join(names[row["run_id"]] for row in rows) == found
    assert total == len(rows)


def test_since_is_included_and_until_is_not(four: tuple[Store, dict[str, str]]) -> None:
    store, names = four
    started = {names[row["run_id"]]: row["started_at"] for row in store.runs()[0]}
    rows, _ = store.runs(Filter(since=started["failed"], until=started["wrote"]))
    assert [names[row["run_id"]] for row in rows] == ["spent", "failed"]


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("time", "wrote spent failed found"),
        ("cost", "found wrote"),
        ("tokens", "wrote found spent failed"),
        ("duration", "spent found"),
    ],
)
def test_runs_are_sorted_largest_first(four: tuple[Store, dict[str, str]], sort: str, order: str) -> None:
    store, names = four
    found = [names[row["run_id"]] for row in store.runs(sort=sort)[0]]
    assert len(found) == 4
    assert " ".join(found).startswith(order)


def test_sorted_by_steps_and_limited_the_total_still_counts_all(four: tuple[Store, dict[str, str]]) -> None:
    store, _ = four
    rows, total = store.runs(sort="steps", limit=3)
    assert ([row["steps"] for row in rows], total) == ([2, 2, 1], 4)
    assert (len(store.runs(limit=10**30)[0]), len(store.runs(limit=1)[0])) == (4, 1)


def test_a_run_is_found_by_its_place_its_id_or_the_beginning_of_it(four: tuple[Store, dict[str, str]]) -> None:
    store, names = four
    failed, spent = (run_id for run_id, name in names.items() if name in ("failed", "spent"))
    assert names[store.find("last")] == names[store.find("last~0")] == names[store.find("last~")] == "wrote"
    assert names[store.find("last~3")] == "found"
    assert store.find("last-error") == spent
    assert store.find(failed) == store.find(failed.upper()) == failed


@pytest.mark.parametrize(
    ("reference", "text"),
    [
        ("last~4", "there is no run last~4: the store holds 4 runs"),
        ("last~" + "9" * 20, f"there is no run last~{'9' * 20}: the store holds 4 runs"),
        ("last~x", "'last~x' names no run: write last, last~1, last~2 and so on"),
        ("nope", "'nope' names no run: give a run id, the beginning of one, or last (see: viewer list)"),
        ("", "'' names no run: give a run id, the beginning of one, or last (see: viewer list)"),
        ("abc", "there is no run abc (see: viewer list)"),
        ("0" * 33, f"there is no run {'0' * 33} (see: viewer list)"),
    ],
)
def test_a_reference_that_names_no_run_says_so(four: tuple[Store, dict[str, str]], reference: str, text: str) -> None:
    with pytest.raises(NoSuchRun) as error:
        four[0].find(reference)
    assert str(error.value) == text


def test_a_short_id_has_8_digits_or_as_many_as_name_one_run(tmp_path: Path) -> None:
    for ids, size in ((SpreadIds(), 8), (TwinIds(), 11), (CountingIds(), 32)):
        db = tmp_path / f"{size}.db"
        with recording(db, ids=ids) as tape:
            one, two = tape.run("a", "b"), tape.run("c", "d")
        with open_store(db) as store:
            short = store.short(one)
            assert (len(short), store.find(short)) == (size, one)
            assert store.find(store.short(two)) == two


def test_a_beginning_of_several_runs_names_them(tmp_path: Path) -> None:
    with recording(tmp_path / "t.db", ids=TwinIds()) as tape:
        runs = sorted(tape.run("a", "b") for _ in range(2))
    with open_store(tmp_path / "t.db") as store, pytest.raises(NoSuchRun) as error:
        store.find("abcdef01")
    shorts = ", ".join(run_id[:11] for run_id in runs)
    assert str(error.value) == f"abcdef01 is the beginning of 2 runs: give more digits ({shorts})"


def test_a_store_without_runs_or_without_errors_says_so(tmp_path: Path) -> None:
    with recording(tmp_path / "t.db") as tape:
        with open_store(tmp_path / "t.db") as store, pytest.raises(NoSuchRun, match="the store holds 0 runs"):
            store.find("last")
        tape.run("a", "b")
    with open_store(tmp_path / "t.db") as store, pytest.raises(NoSuchRun, match="there is no last-error"):
        store.find("last-error")


def test_a_run_is_running_while_its_tool_runs(tmp_path: Path) -> None:
    seen = []

    @tool("Look at the record of this very run.")
    async def look() -> str:
        with open_store(tmp_path / "t.db") as store:
            row = store.run(store.find("last"))
            assert store.runs(Filter(status=("running",)))[1] == 1
            with pytest.raises(NoSuchRun):
                store.find("last-error")
        seen.append((row["status"], row["stop"], row["alive"], row["steps"], row["input_tokens"], row["ended_at"]))
        return "ok"

    with recording(tmp_path / "t.db") as tape:
        tape.run("q", calls(("look", {})), answer("a"), tools=Toolbox([look]))
    assert seen == [("running", None, True, 1, 100, None)]


def test_a_run_whose_process_is_gone_is_interrupted_and_an_error(tmp_path: Path) -> None:
    db = tmp_path / "t.db"
    record_interrupted(db)
    with open_store(db) as store:
        row = store.run(store.find("last-error"))
        assert store.runs(Filter(status=("interrupted",)))[0] == [row]
        assert store.runs(Filter(status=("running",))) == ([], 0)
        done, pending = store.tool_calls(row["run_id"])
    told = ("status", "stop", "alive", "steps", "tool_calls", "input_tokens", "output_tokens", "answer", "ended_at")
    assert [row[key] for key in told] == ["interrupted", None, False, 2, 1, 14, 6, None, None]
    assert (done["result"], pending["arguments"], pending["result"]) == ("seen first", '{"word":"now"}', None)


@pytest.mark.parametrize(
    ("change", "status", "alive"),
    [
        ("host='elsewhere'", "running", None),
        ("born='another boot/'||substr(born,instr(born,'/')+1)", "interrupted", False),
        ("born=replace(born,'pid:[','pid:[1')", "running", None),
        ("ended_ns=1", "interrupted", False),
    ],
)
def test_nothing_is_judged_of_processes_that_cannot_be_seen(
    tmp_path: Path, change: str, status: str, alive: bool | None
) -> None:
    db = tmp_path / "t.db"
    record_interrupted(db)
    with closing(sqlite3.connect(db)) as connection, connection:
        connection.execute(f"update process set {change}")
    with open_store(db) as store:
        row = store.run(store.find("last"))
    assert (row["status"], row["alive"]) == (status, alive)


def test_a_file_that_is_no_store_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("no database, " * 20)
    with closing(sqlite3.connect(tmp_path / "other.db")) as other, other:
        other.execute("create table t(x)")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for name in ("text.db", "other.db", "missing.db", "."):
        with pytest.raises(StoreError):
            open_store(tmp_path / name)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
