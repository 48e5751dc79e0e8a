"""Whether a store is as it was written: whatever is changed in whatever column of whatever row is found and named."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.runs import invoke, record_interrupted, strict_json
from tests.varied_runs import commands, record_varied
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


def test_a_store_as_it_was_written_has_no_findings(varied: Path) -> None:
    with Store(varied) as store:
        assert check(store, hashes=False) == check(store, hashes=True) == []
        assert looked_at(store).runs == 4
        assert store.runs()[1] == 4  # and it can be read on


@pytest.mark.parametrize(
    ("change", "place", "what"),
    [
        ("update body set text='x' where id in (select result from span where step=1 and idx=1)",
         "run {0}:1.2", "the result is not what was hashed"),
        ("update body set text='x' where id in (select whole from span where step=2)",
         "run {0}:2.1", "the whole result is not what was hashed"),
        ("update body set text='x', raw=x'61' where text='Look first.'", "run {0} message 1", "its text is not what was hashed"),
        ("update body set text='x' where id=(select tools from run limit 1)", "run {0}", "the text of its tools is not what was hashed"),
        ("update body set text=replace(text, 'side', 'hide') where text like 'two%'",
         "run {1}:1.1", "the whole result is not what its exact bytes are shown as"),
        ("update body set text=cast(x'61ff' as text) where text='a result'", "run {0}:1.1", "the result is not what was hashed"),
        ("update body set gone=1 where text='a result'", "run {0}:1.1", "the result is marked as gone, and is there"),
        ("update message set role='tool' where role='system'", "run {0} message 1", "is not what was hashed"),
        ("update message set depth=9 where role='system'", "run {0} message 1", "does not stand where its history has it"),
        ("update run set model='gpt' where id=1", "run {0}", "its row is not what was sealed at the end of the run"),
        ("update span set inp=1 where run=1 and n=1", "run {0}:1", "the row of the model call is not what was sealed at the end of the run"),
        ("update span set call_id=call_id||char(0)||'x' where run=1 and kind=2 and step=2", "run {0}:2.1", "the row of the call is not what was sealed at the end of the run"),
        ("update message set envelope='' where role='user'", "run {0} message 2", "is not what was hashed"),
        ("update run set agent=agent||char(0) where id=1", "run {0}", "its row is not what was sealed at the end of the run"),
        ("update span set chars=1 where run=1 and kind=2 and step=2", "run {0}:2.1", "the row of the call is not what was sealed at the end of the run"),
        ("update span set name='x' where run=1 and kind=3 and end_ns=9 and step=2", "run {0}:2", r"span \d+ is not what was sealed"),
        ("update event set level='info' where run=1 and step=2", "run {0}:2 log line", "is not what was sealed"),
        ("update annotation set value='bad' where value='good'", "run {0} annotation", "is not what was sealed"),
        ("update annotation set kind='note' where value='good'", "run {0} annotation", "is not what was sealed"),
        ("update run set seal=null where id=1", "run {0}", "has lost its seal"),
        ("update span set seal=null where run=1", "run {0}:1", "has lost its seal"),
        ("update event set seal=null where run=1", "run {0}:1", "has lost its seal"),
        ("update annotation set seal=null", "run {0} annotation", "has lost its seal"),
        ("update span set run=2, n=n+1000 where run=1 and kind=3 and end_ns is null and step=1", "run {0}", r"of its spans, numbered to \d+, there are \d+"),
        ("delete from body where text='a result'", "run {0}:1.1", "its result names a body that is not there"),
        ("delete from message where role='system'", "run {0} message 2", "its parent names a message that is not there"),
        ("delete from process", "run {0}", "its process names a process that is not there"),
    ],
)  # fmt: skip
def test_a_finding_says_where_and_what(memory: sqlite3.Connection, change: str, place: str, what: str) -> None:
    names = [run_id[:8] for (run_id,) in rows_of(memory, "select run_id from run order by id")]
    assert memory.execute(change).rowcount > 0
    found = [f"{one.place}: {one.what}" for one in check(Store.over(memory), hashes=True)]
    wanted = re.escape(place.format(*names)) + r".*: ?.*" + what
    assert any(re.fullmatch(wanted, one) for one in found), found
    if "names a" in what:
        assert found[0] in [f"{one.place}: {one.what}" for one in check(Store.over(memory), hashes=False)]


def test_what_was_written_before_there_were_seals_is_no_finding(memory: sqlite3.Connection) -> None:
    memory.execute("update run set seal=null, redacted=null")
    for table in ("span", "event", "annotation"):
        memory.execute(f"update {table} set seal=null")
    assert check(Store.over(memory), hashes=True) == []


def test_a_run_whose_process_is_gone_is_told_and_is_no_fault(tmp_path: Path) -> None:
    record_interrupted(tmp_path / "a.db")
    with Store(tmp_path / "a.db") as store:
        run = f"run {store.find('last')[:8]}"
        for hashes in (False, True):
            assert check(store, hashes=hashes) == [
                Finding(run, "was never closed, and its process is gone", is_fault=False)
            ]
        assert looked_at(store) == Looked(
            1, *(store.value(f"select count(*) from {name}") for name in ("body", "message"))
        )


def test_a_chain_that_runs_in_a_circle_ends(memory: sqlite3.Connection) -> None:
    memory.execute("update message set parent=(select max(id) from message)")
    assert len(check(Store.over(memory), hashes=True)) > 10


def test_a_damaged_file_is_a_finding(varied: Path, tmp_path: Path) -> None:
    db = tmp_path / "a.db"
    content = bytearray(varied.read_bytes())
    with closing(sqlite3.connect(varied)) as connection:
        (page,) = connection.execute("select rootpage from sqlite_schema where name='event'").fetchone()
    content[(page - 1) * 4096 : (page - 1) * 4096 + 512] = bytes(512)
    db.write_bytes(content)
    with Store(db) as store:
        for hashes in (False, True):
            assert check(store, hashes=hashes)[0].place == "the file"


def test_the_command_says_what_it_looked_at(varied: Path, tmp_path: Path) -> None:
    said = invoke("check", db=varied, command=commands)
    assert re.fullmatch(r"4 runs, \d+ texts, \d+ messages: nothing is missing \(with --hashes, .*\)\n", said.stdout)
    said = invoke("check", "--hashes", db=varied, command=commands)
    assert (said.exit_code, said.stderr) == (0, "")
    assert re.fullmatch(r"4 runs, \d+ texts, \d+ messages: all as they were written\n", said.stdout)
    bad = tmp_path / "bad.db"
    bad.write_bytes(varied.read_bytes())
    with closing(sqlite3.connect(bad)) as connection, connection:
        connection.execute("update run set model='\x1b[2J' where id=1")
    said = invoke("check", "--hashes", db=bad, command=commands)
    assert said.exit_code == 1
    first, last = said.stdout.splitlines()
    assert re.fullmatch(r"run [0-9a-f]{8}: its row is not what was sealed at the end of the run", first)
    assert last.endswith("messages: 1 thing is not as it was written")
    found = strict_json(invoke("check", "--hashes", "--json", db=bad, command=commands).stdout)
    assert (found["schema"], found["faults"], found["runs"], found["hashes"]) == (1, 1, 4, True)
    assert found["rows"] == [{"place": first[:12], "what": first[14:], "is_fault": True}]
    assert invoke("check", db=tmp_path / "none.db", command=commands).exit_code == 1
