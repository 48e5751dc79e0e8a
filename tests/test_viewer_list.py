"""`viewer list`: which runs, in which order, how many of how many; and what every command says of a bad store."""

import re
import shlex
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.runs import SpreadIds, answer, as_json, calls, in_shell, invoke, on_terminal, plain, printed, recording


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    db = tmp_path_factory.mktemp("list") / "traces.db"
    grep = calls(("grep_docs", {"keyword": "x"}))
    with recording(db, ids=SpreadIds()) as tape:
        tape.run("How many\nTIMEOUTS?", grep, answer("four"), tags=["good"], session="s1", metadata={"user": "ada"})
        tape.run("Is it up?", RuntimeError("provider down"), model="m2", version="1.0")
        tape.run("Again?", grep, grep, max_steps=2, tags=["good", "slow"])
        tape.run("Write.", {"content": "done"}, name="writer")
    with closing(sqlite3.connect(db)) as connection, connection:
        connection.execute("update span set cost=3000000 where kind=1 and run=1")
    return db


def shorts(db: Path) -> list[str]:
    return [row["run_id"][:8] for row in as_json("list", db=db)["rows"]]


def questions(db: Path, *arguments: str) -> list[str]:
    return [row["question"] for row in as_json("list", "--content", *arguments, db=db)["rows"]]


ALL = ["Write.", "Again?", "Is it up?", "How many\nTIMEOUTS?"]


def test_the_list_shows_the_newest_runs_first_in_columns_and_what_to_do_next(db: Path) -> None:
    wrote, again, up, many = shorts(db)
    assert [line.rstrip() for line in printed("list", "--tz", "UTC", db=db).splitlines()] == [
        "run       started              status     steps  calls  tokens in / out    time  agent · model        cost  question",
        f"{wrote}  2026-01-01 00:00:00  answered       1      0            ? / ?  4.0 ms  writer · scripted   $0.00  Write.",
        f"{again}  2026-01-01 00:00:00  max_steps      2      2         200 / 40   10 ms  docs · scripted     $0.00  Again?",
        f"{up}  2026-01-01 00:00:00  failed         0      0            ? / ?  4.0 ms  docs · m2           $0.00  Is it up?",
        f"{many}  2026-01-01 00:00:00  answered       2      1         300 / 50  8.0 ms  docs · scripted    $0.006  How many TIMEOUTS?",
        f"next: viewer show {wrote}",
    ]


def test_viewer_alone_shows_the_list(db: Path) -> None:
    assert printed(db=db) == printed("list", db=db)


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ("", ALL),
        ("--status failed --status stopped", ["Again?", "Is it up?"]),
        ("--stop max_steps", ["Again?"]),
        ("--agent writer", ["Write."]),
        ("--tool grep_docs", ["Again?", "How many\nTIMEOUTS?"]),
        ("--model m2", ["Is it up?"]),
        ("--tag good", ["Again?", "How many\nTIMEOUTS?"]),
        ("--tag good --tag slow", ["Again?"]),
        ("--meta user=ada", ["How many\nTIMEOUTS?"]),
        ("--session s1", ["How many\nTIMEOUTS?"]),
        ("--error", ["Is it up?"]),
        ("--since 2026-01-01 --until 2026-01-02 --tz UTC", ALL),
        ("--since 2026-01-01T01:00 --tz UTC", []),
        ("--since 2026-01-01T00:00:00.010 --until 2026-01-01T00:00:00.014 --tz UTC", ["Is it up?"]),
        ("--until 2026-01-01 --tz UTC", []),
        ("--since 1h", []),
        ("--min-cost 0.003", ["How many\nTIMEOUTS?"]),
        ("--min-steps 2", ["Again?", "How many\nTIMEOUTS?"]),
        ("-q timeouts", ["How many\nTIMEOUTS?"]),
        ("-n 2", ALL[:2]),
        ("-n 1 --all", ALL),
        ("-n 99999999999999999999", ALL),
        ("--sort steps --min-steps 2", ["Again?", "How many\nTIMEOUTS?"]),
        ("--sort tokens -n 1", ["How many\nTIMEOUTS?"]),
        ("--sort cost -n 1", ["How many\nTIMEOUTS?"]),
        ("--sort duration -n 1", ["Again?"]),
    ],
)  # fmt: skip
def test_each_option_chooses_runs(db: Path, arguments: str, found: list[str]) -> None:
    assert sorted(questions(db, *arguments.split())) == sorted(found)
    if "--sort" not in arguments or "-n" in arguments:
        assert questions(db, *arguments.split()) == found


def test_a_list_says_when_it_is_not_all(db: Path) -> None:
    assert "2 of 4 runs; -n N shows more, --all shows all\n" in printed("list", "-n", "2", db=db)
    assert " of 4 runs" not in printed("list", "-n", "4", db=db)
    told = as_json("list", "-n", "2", "--tag", "good", db=db)
    assert (told["total"], told["count"]) == (2, 2)
    told = as_json("list", "-n", "3", db=db)
    assert (told["total"], told["count"], len(told["rows"])) == (4, 3, 3)


def test_json_holds_metadata_and_content_only_when_asked(db: Path) -> None:
    told = as_json("list", "--tag", "slow", db=db)
    assert list(told) == ["schema", "as_of", "total", "count", "rows"]
    assert abs((datetime.now(UTC) - datetime.fromisoformat(told["as_of"])).total_seconds()) < 60
    (row,) = told["rows"]
    assert re.fullmatch("[0-9a-f]{32}", row["run_id"])
    assert row == {
        "run_id": row["run_id"], "session": None, "parent_run": None, "fork_step": None,
        "kind": "live", "agent": "docs", "model": "scripted", "status": "stopped", "stop": "max_steps", "error": None,
        "steps": 2, "tool_calls": 2, "input_tokens": 200, "output_tokens": 40, "cached_tokens": None,
        "reasoning_tokens": None, "cost_usd": 0.0, "unpriced_calls": 0, "started_at": "2026-01-01T00:00:00.014000Z",
        "ended_at": "2026-01-01T00:00:00.023000Z", "duration_ms": 10.0, "tags": ["good", "slow"], "metadata": {},
        "version": None, "unreported_calls": 0, "redacted": 0, "alive": False,
    }  # fmt: skip
    (with_content,) = as_json("list", "--tag", "slow", "--content", db=db)["rows"]
    assert with_content == {**row, "question": "Again?", "answer": None}


def test_what_a_view_cannot_hold_is_exact_in_list_as_in_show(tmp_path: Path) -> None:
    with recording(tmp_path / "t.db") as tape:
        tape.run("plain", answer("a"), version="2")
        tape.run("a\ud83d\0b", answer("c\0"), version="1\0x")
    told = as_json("list", "--content", db=tmp_path / "t.db")
    odd, usual = told["rows"]
    assert (odd["question"], odd["answer"], odd["version"]) == ("a\ufffd\0b", "c\0", "1\0x")
    assert (usual["question"], usual["answer"], usual["version"]) == ("plain", "a", "2")
    assert told["replaced"] == 1
    assert as_json("show", db=tmp_path / "t.db")["run"] == odd
    assert "replaced" not in as_json("list", db=tmp_path / "t.db")
    assert "version 1␀x" in printed("show", db=tmp_path / "t.db")


def test_the_store_is_named_by_option_or_environment_and_the_next_command_finds_it(
    db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = tmp_path / "my traces.db"
    odd.write_bytes(db.read_bytes())
    for arguments in (["--db", str(odd), "list"], ["list", "--db", str(odd)], ["--db", str(odd)]):
        following = invoke(*arguments).stdout.splitlines()[-1].removeprefix("next: viewer ")
        assert invoke(*shlex.split(following)).exit_code == 0
    monkeypatch.chdir(tmp_path)
    odd.rename(tmp_path / "traces.db")
    assert invoke("list").stdout.splitlines()[-1] == f"next: viewer show {shorts(db)[0]}"


def test_a_store_without_runs_says_how_to_record_one_and_a_filter_without_hits_does_not(
    db: Path, tmp_path: Path
) -> None:
    with recording(tmp_path / "empty.db"):
        pass
    result = invoke("list", db=tmp_path / "empty.db")
    assert (result.exit_code, result.stdout) == (0, "no runs\n")
    assert result.stderr == 'viewer: record one with: agent ask "your question"\n'
    result = invoke("list", "--tag", "none", db=db)
    assert result.exit_code == 0
    assert "record one" not in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [["--status", "odd"], ["--since", "soon"], ["--until", "soon"], ["--tz", "Nowhere"], ["-n", "0"], ["--meta", "user"],
     ["--sort", "odd"], ["--odd"], ["odd"], ["--min-steps", "x"], ["--min-cost", "nan"], ["--since", "9" * 5000 + "h"]],
)  # fmt: skip
def test_wrong_usage_is_told_with_exit_code_2(db: Path, arguments: list[str]) -> None:
    result = invoke("list", *arguments, db=db)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Usage: " in result.stderr


@pytest.mark.parametrize("command", [["list"], ["show"], ["context"], ["sql", "select 1"], []])
def test_a_file_that_is_no_store_is_one_sentence_with_exit_code_1_and_nothing_is_made(
    tmp_path: Path, command: list[str]
) -> None:
    (tmp_path / "text.db").write_text("no database, " * 20)
    with closing(sqlite3.connect(tmp_path / "other.db")) as other, other:
        other.execute("create table t(x)")
    with closing(sqlite3.connect(tmp_path / "newer.db")) as newer, newer:
        newer.execute("create table t(x)")
        newer.execute("pragma application_id=1886151033")
        newer.execute("pragma user_version=99")
    (tmp_path / "cut.db").write_bytes((tmp_path / "newer.db").read_bytes()[:50])
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    said = {"text.db": "is not a trace store", "other.db": "not a trace store", "newer.db": "newer Playhead",
            "cut.db": "is not a trace store", "missing.db": "there is no store", ".": "is a folder",
            "no/such.db": "there is no store"}  # fmt: skip
    for name, words in said.items():
        result = invoke(*command, db=tmp_path / name)
        assert (result.exit_code, result.stdout) == (1, "")
        assert result.stderr.startswith("viewer: ")
        assert words in result.stderr
        assert result.stderr.count("\n") == 1
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def bytes_of(**options: Any) -> str:
    return in_shell("VIEWER list --tz UTC", **options).stdout


def test_colour_is_for_terminals_and_changes_nothing_but_colour(db: Path) -> None:
    piped = bytes_of(db=db)
    assert piped == printed("list", "--tz", "UTC", db=db)
    for env in ({"NO_COLOR": "1"}, {"NO_COLOR": ""}, {"TERM": "dumb"}, {"COLUMNS": "20"}):
        assert bytes_of(db=db, **env) == piped
    forced = bytes_of(db=db, FORCE_COLOR="1")
    assert forced != piped
    assert plain(forced) == piped


def test_a_terminal_has_colour_unless_it_is_dumb_or_no_colour_is_wanted(db: Path) -> None:
    assert "\x1b[" in on_terminal("list", db=db)
    assert "\x1b[" in on_terminal("list", db=db, NO_COLOR="")
    assert "\x1b" not in on_terminal("list", db=db, NO_COLOR="1")
    assert "\x1b" not in on_terminal("list", db=db, TERM="dumb")


def test_on_a_narrow_terminal_the_list_keeps_to_its_width(db: Path) -> None:
    for columns in (60, 80, 100, 140):
        lines = plain(on_terminal("list", db=db, columns=columns)).splitlines()
        assert max(map(len, lines)) <= columns
        assert lines[-1] == f"next: viewer show {shorts(db)[0]}"


PRINTERS = ["show --full", "show --json", "context", "list", "sql 'select * from conversation'"]


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that prints more than a pipe holds."""
    big = tmp_path_factory.mktemp("big") / "traces.db"
    with recording(big) as tape:
        tape.run("q " * 50_000, calls(("grep_docs", {"keyword": "x" * 100_000})), answer("long " * 50_000))
    return big


@pytest.mark.parametrize("env", [{}, {"PYTHONUNBUFFERED": "1"}], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize("command", PRINTERS)
def test_a_reader_that_leaves_early_is_met_with_silence(big: Path, command: str, env: dict[str, str]) -> None:
    for reader, lines in (("head -1", 1), ("true", 0)):
        done = in_shell(f"VIEWER {command} | {reader}", big, **env)
        assert (done.stdout.count("\n"), done.stderr) == (lines, "")


@pytest.mark.parametrize("command", PRINTERS)
def test_a_reader_that_leaves_early_is_no_error(big: Path, command: str) -> None:
    assert in_shell(f"VIEWER {command} | head -c 100; exit ${{PIPESTATUS[0]}}", big).returncode == 0


@pytest.fixture(scope="module")
def spoiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs that differ, one of which is not as it was written; each call cost a dollar."""
    path = tmp_path_factory.mktemp("spoiled") / "traces.db"
    with recording(path) as tape:
        tape.run("one", answer("x"))
        tape.run("two", answer("y " * 50_000))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("update span set cost=1000000000, price='own'")
        connection.execute("update body set text='z' where text='x'")
    return path


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("cost --since 2025-01-01 --fail-over 0.001", 3),
        ("cost --since 2025-01-01 --fail-over 9 --json", 0),
        ("diff last last~1", 3),
        ("diff last last --json", 0),
        ("replay last last~1", 3),
        ("check --hashes", 1),
    ],
)
def test_a_reader_that_leaves_early_does_not_make_a_verdict_fine(spoiled: Path, command: str, code: int) -> None:
    for reader in ("true", "head -c 1", "cat"):
        done = in_shell(f"VIEWER {command} | {reader} > /dev/null; exit ${{PIPESTATUS[0]}}", spoiled)
        assert (done.returncode, "Traceback" in done.stderr) == (code, False)


def test_in_a_pipe_nothing_is_cut_to_a_width(big: Path) -> None:
    assert f'grep_docs(keyword="{"x" * 100_000}")' in in_shell("VIEWER show", big, COLUMNS="40").stdout


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_what_the_encoding_of_stdout_cannot_hold_is_no_traceback(big: Path, encoding: str) -> None:
    for command in ("list", "show", "show --json"):
        done = in_shell(f"VIEWER {command} > /dev/null", big, PYTHONIOENCODING=encoding, PYTHONUTF8="0")
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
def test_a_full_disk_is_one_sentence_with_exit_code_1(big: Path) -> None:
    done = in_shell("VIEWER show > /dev/full", big)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
