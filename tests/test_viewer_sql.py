"""`viewer sql`: rows of the stable views, which say the same as the screens, and never a write."""

import json
import re
import shlex
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.runs import (
    answer,
    as_json,
    calls,
    invoke,
    on_terminal,
    plain,
    printed,
    record_interrupted,
    record_sample,
    recording,
)


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    db = tmp_path_factory.mktemp("sql") / "traces.db"
    record_sample(db)
    return db


def rows(query: str, db: Path) -> list[dict[str, Any]]:
    return list(as_json("sql", query, db=db)["rows"])


def test_rows_are_a_table_and_their_number_goes_to_stderr(db: Path) -> None:
    result = invoke("sql", "select tool, result_chars, truncated, error from tool_calls", db=db)
    assert [line.rstrip() for line in result.stdout.splitlines()] == [
        "tool       result_chars  truncated  error",
        "read_doc           4610          1",
        "grep_docs            49          0  OSError",
        "grep_docs            15          0",
    ]
    assert (result.exit_code, result.stderr) == (0, "3 rows\n")


def test_on_a_terminal_the_columns_beyond_its_edge_are_named(db: Path) -> None:
    query = "select 'a' one, printf('%30s', 'x') two, null three, 'b' four union all select 'c', '', null, null"
    lines = on_terminal("sql", query, db=db, columns=36).splitlines()
    assert [plain(line) for line in lines] == [
        "one  two                             three  four"[:35] + "…",
        "a    " + " " * 29 + "x…",
        "c",
        "viewer: beyond the edge: three, four; a pipe or --json shows all",
        "2 rows",
    ]
    assert plain(on_terminal("sql", query, db=db, columns=80)).splitlines()[-1] == "2 rows"


def test_no_rows_print_nothing(db: Path) -> None:
    result = invoke("sql", "select * from runs where 0", db=db)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "0 rows\n")


def test_json_has_every_value_of_a_row(db: Path) -> None:
    told = as_json("sql", "select 1 a, null b, 'x' c, 2.5 d, x'00ff' e, 9e999 f, -9e999 g, 2 a", db=db)
    assert list(told) == ["schema", "as_of", "total", "count", "rows"]
    assert (told["total"], told["count"]) == (1, 1)
    assert told["rows"] == [
        {"a": 1, "b": None, "c": "x", "d": 2.5, "e": "00ff", "f": "inf", "g": "-inf", "a_2": 2},
    ]  # fmt: skip


def test_text_that_is_no_unicode_is_replaced(db: Path) -> None:
    assert rows("select cast(x'61ff' as text) a", db) == [{"a": "a\ufffd"}]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("select * from nowhere", "no such table: nowhere"),
        ("selec 1", 'near "selec": syntax error'),
        ("select 1; select 2", "one"),
        ("", "write one SELECT"),
        ("/* only a comment */", "write one SELECT"),
        ("select \udcff", ""),
        ("select json('{')", "malformed JSON"),
        ("pragma query_only=0", "write one SELECT"),
        ("insert into meta values('a', 1)", ""),
        ("insert into meta values('a', 1) returning key", "readonly database"),
        ("delete from run", ""),
        ("update run set agent='x'", ""),
        ("drop table run", ""),
        ("drop view runs", ""),
        ("create table t(x)", ""),
        ("vacuum into 'copy.db'", ""),
        ("attach 'new.db' as new", ""),
        ("pragma user_version=7", ""),
        ("pragma journal_mode=delete", ""),
        ("begin immediate", ""),
    ],
)
def test_what_cannot_be_asked_is_one_sentence_and_changes_nothing(
    tmp_path: Path, db: Path, monkeypatch: pytest.MonkeyPatch, query: str, words: str
) -> None:
    (tmp_path / "t.db").write_bytes(db.read_bytes())
    monkeypatch.chdir(tmp_path)
    result = invoke("sql", query, db=tmp_path / "t.db")
    if query != "pragma journal_mode=delete":  # which only tells the mode
        assert (result.exit_code, result.stdout) == (1, "")
        assert re.fullmatch(r"viewer: the query [^\n]*\n", result.stderr)
        assert words in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["t.db"]
    assert (tmp_path / "t.db").read_bytes() == db.read_bytes()


def test_a_query_without_text_is_wrong_usage(db: Path) -> None:
    assert invoke("sql", db=db).exit_code == 2


def without(row: dict[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in names}


def decoded(row: dict[str, Any], *names: str) -> dict[str, Any]:
    return {key: json.loads(value) if key in names and value else value for key, value in row.items()}


def test_the_views_say_what_list_show_and_context_say(db: Path) -> None:
    (run,) = rows("select * from runs", db)
    told = as_json("show", "--messages", "--events", db=db)
    assert without(told["run"], "alive") == decoded(run, "tags", "metadata")
    assert as_json("list", "--content", db=db)["rows"] == [told["run"]]
    assert [without(step, "message", "tool_calls") for step in told["steps"]] == rows("select * from model_calls", db)
    asked = [without(call, "whole", "runs") for step in told["steps"] for call in step["tool_calls"]]
    assert asked == rows("select * from tool_calls order by step, call", db)
    assert told["events"] == [decoded(row, "fields") for row in rows("select * from log_events", db)]
    conversation = [decoded(row, "tool_calls") for row in rows("select * from conversation order by position", db)]
    assert told["messages"] == conversation

    context = as_json("context", db=db)
    assert context["hashes"] == [row["hash"] for row in conversation[:7]]
    assert [(one["role"], one["content"]) for one in context["messages"]] == [
        (row["role"], row["content"]) for row in conversation[:7]
    ]


def test_the_sums_of_a_run_are_those_of_its_calls(db: Path) -> None:
    query = "select count(*) steps, sum(input_tokens) input_tokens, sum(output_tokens) output_tokens from model_calls"
    (run,) = as_json("list", db=db)["rows"]
    assert rows(query, db) == [{name: run[name] for name in ("steps", "input_tokens", "output_tokens")}]
    assert rows("select count(*) n from tool_calls", db) == [{"n": run["tool_calls"]}]


def test_every_span_lies_under_the_run_and_has_the_kind_of_its_call(db: Path) -> None:
    spans = rows("select * from spans order by started_at, span_id", db)
    (root,) = [row for row in spans if row["parent_id"] is None]
    assert {row["parent_id"] for row in spans if row is not root} == {root["span_id"]}
    assert len({row["trace_id"] for row in spans}) == 1
    assert [(row["name"], row["step"], row["status"]) for row in spans] == [
        ("invoke_agent docs", None, "ok"), ("chat scripted", 1, "ok"), ("execute_tool read_doc", 1, "ok"),
        ("execute_tool grep_docs", 1, "error"), ("chat scripted", 2, "ok"), ("execute_tool grep_docs", 2, "ok"),
        ("chat scripted", 3, "ok"),
    ]  # fmt: skip


COLUMNS = {
    "runs": "run_id session parent_run fork_step kind agent model question answer status stop error steps tool_calls "
    "input_tokens output_tokens cached_tokens reasoning_tokens cost_usd unpriced_calls started_at ended_at duration_ms "
    "tags metadata version",
    "model_calls": "run_id step span_id model response_model provider finish_reason input_tokens output_tokens "
    "cached_tokens reasoning_tokens cost_usd price retries error request_tip started_at duration_ms first_token_ms",
    "tool_calls": "run_id step call span_id call_id tool arguments result result_chars truncated error started_at "
    "duration_ms",
    "log_events": "run_id span_id step time level event fields",
    "spans": "run_id span_id parent_id trace_id name step started_at ended_at duration_ms status attributes",
    "conversation": "run_id position role content tool_calls hash",
}
"""The contract."""


@pytest.mark.parametrize("view", COLUMNS)
def test_each_view_has_the_columns_that_users_rely_on(db: Path, view: str) -> None:
    found = list(rows(f"select * from {view} limit 1", db)[0])
    assert found[: len(COLUMNS[view].split())] == COLUMNS[view].split()


@contextmanager
def nothing_changes(folder: Path, but: str = "") -> Iterator[None]:
    def state() -> dict[str, tuple[bytes, int]]:
        return {
            path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir() if path.name != but
        }

    before = state()
    yield
    assert state() == before


READERS = ["list", "list --all --json", "show", "show --full --messages --events", "context", "context last --diff 1",
           "sql 'select * from runs'", "show nope", "sql 'drop table run'"]  # fmt: skip


def test_reading_changes_no_file_and_makes_none(tmp_path: Path) -> None:
    record_sample(tmp_path / "t.db")
    with nothing_changes(tmp_path):
        for command in READERS:
            invoke(*shlex.split(command), db=tmp_path / "t.db")
    assert [path.name for path in tmp_path.iterdir()] == ["t.db"]


def test_reading_what_a_killed_process_left_changes_no_file_and_makes_none(tmp_path: Path) -> None:
    record_interrupted(tmp_path / "t.db")
    assert (tmp_path / "t.db-wal").stat().st_size > 0
    with nothing_changes(tmp_path):
        for command in READERS:
            invoke(*shlex.split(command), db=tmp_path / "t.db")


def test_reading_beside_an_open_writer_sees_what_is_written_and_changes_no_data(tmp_path: Path) -> None:
    with recording(tmp_path / "t.db") as tape:
        tape.run("q", calls(("grep_docs", {"keyword": "x"})), answer("a"))
        with nothing_changes(tmp_path, but="t.db-shm"):  # SQLite's table of locks, which readers share with the writer
            assert [row["answer"] for row in rows("select answer from runs", tmp_path / "t.db")] == ["a"]
            printed("show", db=tmp_path / "t.db")


AS_NOBODY = """
import codecs, os, sys
from viewer.cli import cli
codecs.lookup("ascii")
for path in sys.argv[1:]:  # the first one only loads all modules, which nobody might not be allowed to read
    cli(["show", "--db", path], standalone_mode=False)
    os.getuid() or os.setuid(65534)  # root could write anywhere
"""


def test_what_a_killed_process_left_in_a_folder_that_cannot_be_written_can_be_read(db: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        record_interrupted(folder / "t.db")
        (folder / "t.db-shm").unlink()
        folder.chmod(0o555)
        command = [sys.executable, "-c", AS_NOBODY, str(db), str(folder / "t.db")]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
        folder.chmod(0o700)
        assert (done.returncode, done.stderr) == (0, "")
        assert 'die(word="now")' in done.stdout
        assert [path.name for path in sorted(folder.iterdir())] == ["t.db", "t.db-wal"]


def test_a_damaged_store_is_one_sentence(tmp_path: Path, db: Path) -> None:
    damaged = bytearray(db.read_bytes())
    damaged[100:] = b"\xa5" * (len(damaged) - 100)
    (tmp_path / "t.db").write_bytes(damaged)
    for command in (["list"], ["show"], ["sql", "select * from runs"]):
        result = invoke(*command, db=tmp_path / "t.db")
        assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (1, "", 1)
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection, pytest.raises(sqlite3.DatabaseError):
        connection.execute("select * from run")
