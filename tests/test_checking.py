"""Whether a store is as it was written: whatever is changed in whatever column of whatever row is found and named."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.runs import record_interrupted
from tests.varied_runs import record_varied
from tracing import Store
from tracing.checking import Finding, Looked, check, looked_at

OUTSIDE = {"run": {"imported_ns"}, "span": {"cost", "price"}, "event": {"id"}}
"""Columns that may change: they are filled in later, or are of this store only."""


@pytest.fixture(scope="module")
def varied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    db = tmp_path_factory.mktemp("varied") / "traces.db"
    record_varied(db)
    return db


@pytest.fixture
def memory(varied: Path) -> Iterator[sqlite3.Connection]:
    """A copy of the store, in memory."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        with closing(sqlite3.connect(varied)) as source:
            source.backup(connection)
        yield connection


def rows_of(connection: sqlite3.Connection, query: str, *values: Any) -> list[tuple[Any, ...]]:
    cursor = connection.cursor()
    cursor.row_factory = None
    return cursor.execute(query, values).fetchall()


def changed(column: str, value: Any, kind: str) -> Any:
    match value:
        case int():
            return value + (1000 if column in ("id", "run", "n") else 1)
        case bytes() if value:
            return bytes([value[0] ^ 1]) + value[1:]
        case str() if column == "id":
            return value + "x"
        case str() if value:
            return value[:-1] + chr(ord(value[-1]) ^ 1)
    return {"TEXT": "x", "BLOB": b"x"}.get(kind, 1)


@pytest.mark.parametrize("table", ["body", "message", "run", "span", "event", "annotation"])
def test_a_change_in_any_column_of_any_row_is_found_and_named(memory: sqlite3.Connection, table: str) -> None:
    store = Store.over(memory)
    assert check(store, hashes=True) == []
    names = {row: f"run {run_id[:8]}" for row, run_id in rows_of(memory, "select id, run_id from run")}
    columns = rows_of(memory, f"select name, type from pragma_table_info('{table}')")
    key = ("run", "n") if table == "span" else ("id",)
    tried = 0
    for row in rows_of(memory, f"select {', '.join(name for name, _ in columns)} from {table}"):
        was = dict(zip((name for name, _ in columns), row, strict=True))
        never_ended = table == "span" and was["kind"] == 3 and was["end_ns"] is None
        for column, kind in columns:
            if column in OUTSIDE.get(table, ()) or (never_ended and column not in key):
                continue
            new = changed(column, was[column], kind)
            set_cell(memory, table, column, new, {name: was[name] for name in key})
            found = [finding for finding in check(store, hashes=True) if finding.is_fault]
            set_cell(memory, table, column, was[column], {name: new if name == column else was[name] for name in key})
            of_run = "" if column == "run" else names.get(was["id"] if table == "run" else was.get("run", 0), "")
            assert any(of_run in finding.place for finding in found), (column, was, found)
            tried += 1
    assert tried > 20
    assert check(store, hashes=True) == []


def set_cell(connection: sqlite3.Connection, table: str, column: str, value: Any, key: dict[str, Any]) -> None:
    where = " and ".join(f"{name}=?" for name in key)
    assert connection.execute(f"update {table} set {column}=? where {where}", (value, *key.values())).rowcount == 1
