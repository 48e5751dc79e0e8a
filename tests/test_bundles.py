"""Bundles: nothing is lost on the way out and in again, and what was cut or changed is refused whole."""

import asyncio
import contextlib
import functools
import hashlib
import json
import re
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent import Agent, ScriptedModel
from tests.runs import SpreadIds, answer, calls, invoke, record_interrupted, record_sample, recording, strict_json
from tests.varied_runs import ODD, TOOLS, commands, leaving, record_varied
from tracing import CountingIds, Recorder, Store, StoreError, open_store
from tracing.bundles import BadBundle, export, export_lines, import_into, import_lines, open_bundle
from tracing.bundling import lines as bundle_lines
from tracing.bundling.shapes import Annotation, Body, Event, Message, Run, Span
from tracing.checking import check
from tracing.file import memory_store
from tracing.forking import fork

TABLES = ("body", "message", "process", "run", "span", "event", "annotation")


@pytest.fixture(scope="module")
def varied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    db = tmp_path_factory.mktemp("varied") / "traces.db"
    record_varied(db)
    record_interrupted(db)
    return db


@pytest.fixture(scope="module")
def bundle(varied: Path) -> bytes:
    return exported(varied)


def exported(db: Path | Store, *run_ids: str) -> bytes:
    with contextlib.ExitStack() as stack:
        store = stack.enter_context(Store(db)) if isinstance(db, Path) else db
        connection = stack.enter_context(store.tuples())
        ids = run_ids or [row[0] for row in connection.execute("select run_id from run")]
        return "".join(export_lines(connection, ids)).encode()


@contextlib.contextmanager
def imported(*bundles: bytes) -> Iterator[sqlite3.Connection]:
    with closing(memory_store()) as connection:
        for one in bundles:
            import_lines(one.splitlines(keepends=True), connection, "runs.jsonl")
        yield connection


def counts(connection: sqlite3.Connection) -> list[int]:
    return [connection.execute(f"select count(*) from {table}").fetchone()[0] for table in TABLES]


@functools.cache
def empty() -> sqlite3.Connection:
    return memory_store()


def refused(bundle: bytes | list[bytes]) -> BadBundle:
    """Why a bundle is refused; nothing of it stays."""
    lines = bundle if isinstance(bundle, list) else re.findall(rb"[^\n]*\n|[^\n]+$", bundle)
    with pytest.raises(BadBundle) as caught:
        import_lines(lines, empty(), "runs.jsonl")
    assert counts(empty()) == [0] * len(TABLES)
    assert not empty().in_transaction
    assert str(caught.value).startswith(f"runs.jsonl, line {caught.value.line}: {caught.value.reason}; ")
    return caught.value


def sealed(lines: list[bytes]) -> list[bytes]:
    """A bundle whose end fits its lines again."""
    lines = lines[:-1]
    total = hashlib.sha256(b"".join(lines)).hexdigest()
    end = {"lines": len(lines), "runs": sum(line.startswith(b'{"run":') for line in lines), "sha256": total}
    return [*lines, json.dumps({"end": end}, separators=(",", ":")).encode() + b"\n"]


def forged(bundle: bytes, kind: str, change: Callable[[dict[str, Any]], object]) -> list[bytes]:
    """The bundle as one would make it who knows how: the first line of a kind is changed, and all sums fit."""
    lines = bundle.splitlines(keepends=True)
    at = next(at for at, line in enumerate(lines) if line.startswith(f'{{"{kind}":'.encode()))
    value = json.loads(lines[at])
    change(value[kind])
    value.pop("check", None)
    text = json.dumps(value, separators=(",", ":"))
    if kind not in ("body", "message"):
        text = f'{text[:-1]},"check":"{hashlib.sha256(text.encode()).hexdigest()[:16]}"}}'
    lines[at] = text.encode() + b"\n"
    return sealed(lines)


# There and back


def test_a_bundle_has_the_same_bytes_after_any_detour(varied: Path, bundle: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(bundle)
    assert import_into(tmp_path / "b.db", tmp_path / "a.jsonl") == (5, 0)
    assert exported(tmp_path / "b.db") == bundle
    assert import_into(tmp_path / "c.db", tmp_path / "b.db") == (5, 0)
    with Store(tmp_path / "c.db") as store:
        assert export(store, [row["run_id"] for row in store.runs()[0]], tmp_path / "c.jsonl") == 5
        assert [one for one in check(store, hashes=True) if one.is_fault] == []
    assert (tmp_path / "c.jsonl").read_bytes() == bundle
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "b.db", "c.db", "c.jsonl"]


def test_every_view_says_the_same_of_an_imported_run(varied: Path, bundle: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(bundle)
    with Store(varied) as store, open_bundle(tmp_path / "a.jsonl") as copy:
        for run_id in (row["run_id"] for row in store.runs()[0]):
            assert copy.run(run_id) == {**store.run(run_id), "kind": "import"}
            assert copy.recording(run_id) == replace(store.recording(run_id), is_imported=True)
            for name in ("model_calls", "tool_calls", "spans", "events", "conversation", "history", "answers"):
                assert getattr(copy, name)(run_id) == getattr(store, name)(run_id), name
        assert copy.find("last") == store.find("last")
        assert copy.path == tmp_path / "a.jsonl"
        with pytest.raises(StoreError, match="readonly"):
            copy.rows("delete from run")


@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4), (4, 3, 2, 1, 0), (2, 4, 0, 1, 3)])
def test_the_bytes_do_not_depend_on_the_order_of_the_rows(varied: Path, bundle: bytes, order: tuple[int, ...]) -> None:
    with Store(varied) as store:
        ids = [row["run_id"] for row in store.runs()[0]]
    with imported(*(exported(varied, ids[at]) for at in order)) as connection:
        assert exported(Store.over(connection)) == bundle


TEXT = st.text(st.characters(exclude_categories=[]), max_size=6) | st.sampled_from(sorted(ODD))
STEP = st.lists(TEXT, min_size=1, max_size=3).map(lambda texts: leaving(*texts)) | TEXT.map(
    lambda text: calls(("leave", {"text": text, "more": text}), content=text)
)


@settings(max_examples=25)
@given(st.lists(st.tuples(TEXT, st.lists(STEP, max_size=3), TEXT, st.lists(TEXT, max_size=2)), min_size=1, max_size=3))
def test_whatever_was_recorded_comes_back_the_same(scripts: list[tuple[str, list[Any], str, list[str]]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        db = Path(folder, "a.db")
        with recording(db, ids=SpreadIds()) as tape:
            for question, steps, last, tags in scripts:
                tape.run(question, *steps, answer(last), tools=TOOLS, tags=tags, metadata={"question": question})
        first = exported(db)
        with imported(first) as connection:
            store = Store.over(connection)
            assert exported(store) == first
            assert check(store, hashes=True) == []


def test_a_text_goes_as_text_where_json_carries_it(bundle: bytes) -> None:
    bodies = [json.loads(line)["body"] for line in bundle.splitlines() if line.startswith(b'{"body":')]
    exact = ODD["pair"].encode("utf-8", "surrogatepass")
    (pair,) = (body for body in bodies if body["hash"] == hashlib.sha256(exact).hexdigest())
    assert set(pair) == {"hash", "base64"}
    assert {ODD["half"], ODD["nul"], ODD["lines"], ODD["empty"], ODD["long"]} <= {body.get("text") for body in bodies}
    assert sum("base64" in body for body in bodies) == 1


def test_a_run_that_was_killed_stays_open(varied: Path, bundle: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(bundle)
    with open_bundle(tmp_path / "a.jsonl") as store:
        rows = {row["agent"]: (row["status"], row["stop"], row["alive"]) for row in store.runs()[0]}
    assert rows["mortal"] == ("interrupted", None, False)


def test_a_file_that_git_or_an_editor_has_touched_is_the_same(bundle: bytes) -> None:
    windows = b"\xef\xbb\xbf" + bundle.replace(b"\n", b"\r\n") + b"\r\n\r\n"
    for touched in (windows, bundle.removesuffix(b"\n"), bundle + b"\n\n"):
        with closing(memory_store()) as connection:
            import_lines(touched.splitlines(keepends=True), connection, "runs.jsonl")
            assert exported(Store.over(connection)) == bundle
    with closing(memory_store()) as connection:
        assert import_lines(bundle.decode().split("\n"), connection, "a list of texts") == (5, 0)


def test_a_bundle_carries_every_column_of_a_store() -> None:
    with closing(memory_store()) as connection:
        columns = {table: {name for (name,) in connection.execute(f"select name from pragma_table_info('{table}')")}
                   for table in TABLES}  # fmt: skip
    assert columns == {
        "body": {"id", *Body.model_fields} - {"base64"} | {"raw"},
        "message": {"id", *Message.model_fields},
        "process": {"id", *bundle_lines.PROCESS},
        "run": {"id", "process", "imported_ns", *bundle_lines.RUN},
        "span": {"run", *bundle_lines.SPAN},
        "event": {"id", "run", *bundle_lines.EVENT},
        "annotation": {*bundle_lines.ANNOTATION},
    }
    assert set(Run.model_fields) == {"process", *bundle_lines.RUN}
    assert set(Span.model_fields) == {"run_id", *bundle_lines.SPAN}
    assert set(Event.model_fields) == {"run_id", *bundle_lines.EVENT}
    assert set(Annotation.model_fields) == {*bundle_lines.ANNOTATION}


# What is refused


def test_a_bundle_that_was_cut_is_refused_wherever_it_was(bundle: bytes) -> None:
    lines = bundle.splitlines(keepends=True)
    for count in range(1, len(lines)):
        assert refused(lines[:count]).line == count + 1
    for at in range(1, len(bundle) - 1, 101):
        error = refused(bundle[:at])
        assert error.line in (bundle[:at].count(b"\n") + 1, bundle[:at].count(b"\n") + 2)
    assert "before its end" in refused(lines[:-1]).reason
    assert "first line" in refused(b"\n").reason


def test_a_changed_byte_is_refused_wherever_it_is(bundle: bytes) -> None:
    for at in range(0, len(bundle), 67):
        changed = bundle[:at] + bytes([bundle[at] ^ (1, 0x20, 0x80)[at % 3]]) + bundle[at + 1 :]
        assert bundle[:at].count(b"\n") + 1 <= refused(changed).line
    for byte in b"\r \0}":
        refused(bundle[:-1] + bytes([byte]))


def test_a_line_that_is_moved_doubled_or_lost_is_refused_where_it_is(bundle: bytes) -> None:
    lines = bundle.splitlines(keepends=True)
    for at in range(1, len(lines) - 1):
        before, line, following, after = lines[:at], lines[at], lines[at + 1], lines[at + 2 :]
        if b'"event"' not in line:  # a program may well log the same line twice
            assert refused(sealed([*before, line, line, following, *after])).line == at + 2
        refused([*before, line, line, following, *after])
        refused([*before, following, *after])
        if line != following:
            refused([*before, following, line, *after])


@pytest.mark.parametrize(
    ("garbage", "reason"),
    [
        (b"", "no JSON"),
        (b"\xff\xfe", "no JSON"),
        (b"{", "no JSON"),
        (b"[" * 100_000, "no JSON"),
        (b"9" * 5000, "no JSON"),
        (b"[]", "must be a JSON object"),
        (b"{}", "none of: body"),
        (b'{"run":{}}', "none of: body"),
        (b'{"run":[],"check":""}', "run must be an object"),
        (b'{"body":{"hash":7}}', "body.hash must be a text"),
        (b'{"body":{"hash":"x"}}', "body.hash must be hexadecimal digits, as many as it has"),
        (b'{"body":{"hash":"' + b"0" * 64 + b'","sk-secret":1}}', "the body has a field that is not known"),
        (b'{"body":{"hash":"' + b"0" * 64 + b'"}}', "must have one of: text, base64, gone"),
        (b'{"body":{"hash":"' + b"0" * 64 + b'","text":"x"}}', "not what its hash names"),
        (b'{"body":{"hash":"' + b"0" * 64 + b'","base64":"?"}}', "no text in base64"),
        (b'{"message":{"hash":"' + b"0" * 64 + b'","depth":0,"role":"\\ud83d"}}', "the message has a lone surrogate, which only a body may have"),
    ],
)  # fmt: skip
def test_garbage_is_refused_with_its_line(bundle: bytes, garbage: bytes, reason: str) -> None:
    lines = bundle.splitlines(keepends=True)
    error = refused([*lines[:5], garbage + b"\n", *lines[5:]])
    assert error.line == 6
    assert reason in error.reason
    assert "secret" not in str(error)


@pytest.mark.parametrize(
    ("kind", "change", "reason"),
    [
        ("run", lambda run: run.update(question="0" * 64), "run.question names a text that no line before has"),
        ("run", lambda run: run.update(tip="0" * 64), "run.tip names a message that no line before has"),
        ("run", lambda run: run.update(attrs="{"), "run.attrs must be a JSON object"),
        ("run", lambda run: run.update(attrs="[]"), "run.attrs must be a JSON object"),
        ("run", lambda run: run.update(start_ns=2**63), "run.start_ns is out of its range"),
        ("run", lambda run: run.update(start_ns=1.0), "run.start_ns must be an integer"),
        ("run", lambda run: run.update(steps=True), "run.steps must be an integer"),
        ("run", lambda run: run.update(run_id="last"), "run.run_id must be hexadecimal"),
        ("run", lambda run: run["process"].pop("host"), "run.process.host is missing"),
        ("span", lambda span: span.update(result="0" * 64), "span.result names a text that no line before has"),
        ("span", lambda span: span.update(run_id="0" * 32), "does not stand behind its run"),
        ("span", lambda span: span.update(kind=4), "span.kind is out of its range"),
        ("event", lambda event: event.update(fields="NaN"), "event.fields must be a JSON object"),
        ("annotation", lambda note: note.pop("kind"), "annotation.kind is missing"),
        ("message", lambda message: message.update(depth=3), "not what its hash names"),
        ("message", lambda message: message.update(parent="0" * 64), "message.parent names a message"),
        ("message", lambda message: message.update(body="0" * 64), "message.body names a text"),
    ],
)
def test_a_bundle_is_refused_also_where_all_its_sums_fit(
    bundle: bytes, kind: str, change: Callable[[dict[str, Any]], object], reason: str
) -> None:
    assert reason in refused(forged(bundle, kind, change)).reason


def test_an_unknown_version_and_other_files_are_named(tmp_path: Path, bundle: bytes) -> None:
    assert str(refused(bundle.replace(b'"version":1', b'"version":2', 1))).endswith(
        "this one knows 1; nothing was imported, upgrade Playhead"
    )
    (tmp_path / "a.txt").write_text("hello\n")
    (tmp_path / "empty.jsonl").touch()
    with closing(sqlite3.connect(tmp_path / "other.db")) as other:
        other.execute("create table t(a)")
    for name in ("a.txt", "empty.jsonl", "other.db", ".", "none.jsonl", "a\0b"):
        with pytest.raises((BadBundle, StoreError)):
            import_into(tmp_path / "new.db", tmp_path / name)
    assert not (tmp_path / "new.db").exists()
    with pytest.raises(StoreError, match="cannot read .*none.jsonl .No such file"):
        open_bundle(tmp_path / "none.jsonl")


# Into a store that holds something


def test_a_run_that_is_there_already_stays_as_it_is(varied: Path, bundle: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(bundle)
    db = tmp_path / "b.db"
    assert import_into(db, tmp_path / "a.jsonl", now_ns=lambda: 7) == (5, 0)
    with closing(sqlite3.connect(db)) as connection, connection:
        assert connection.execute("select distinct imported_ns, kind from run").fetchall() == [(7, "live")]
        prices = connection.execute("select cost, price, run, n from span").fetchall()
        connection.execute("update span set cost=5, price='x' where kind=1")
        (one,) = connection.execute("select id from annotation limit 1").fetchone()
        connection.execute("delete from annotation where id=?", (one,))
    assert import_into(db, tmp_path / "a.jsonl", now_ns=lambda: 8) == (0, 5)
    assert import_into(db, varied) == (0, 5)
    assert import_into(db, db) == (0, 5)
    with closing(sqlite3.connect(db)) as connection:
        assert connection.execute("select distinct imported_ns from run").fetchall() == [(7,)]
        assert connection.execute("select count(*) from span where cost=5").fetchone()[0] > 0
        assert connection.execute("select count(*) from annotation where id=?", (one,)).fetchone() == (1,)
        connection.executemany("update span set cost=?, price=? where run=? and n=?", prices)
        connection.commit()
    assert exported(db) == bundle


@pytest.mark.parametrize(
    "change",
    ["update run set error='x'", "update span set arguments='{}' where kind=2", "delete from span where kind=3",
     "delete from event", "insert into event(run,time_ns,level,name,fields) select id, 1, 'info', 'x', '{}' from run"],
)  # fmt: skip
def test_another_run_of_the_same_id_is_refused(bundle: bytes, change: str) -> None:
    with imported(bundle) as connection:
        connection.execute(change)
        before = connection.serialize()
        with pytest.raises(BadBundle, match=r"the store has another run [0-9a-f]{8} with other content"):
            import_lines(bundle.splitlines(keepends=True), connection, "runs.jsonl")
        assert connection.serialize() == before


LATE = (
    "insert into event(run,time_ns,level,name,fields) select id, end_ns+1, 'info', 'late', '{}' from run where end_ns is not null;"
    "insert into span(run,n,span_id,kind,start_ns,end_ns,name) select id, 1000, x'0102030405060708', 3, end_ns, end_ns+5, 'late' "
    "from run where end_ns is not null"
)
OPEN = (
    "insert into span(run,n,span_id,kind,start_ns,name) select id, 1000, x'0102030405060708', 3, end_ns, 'late' from run "
    "where end_ns is not null"
)


@pytest.mark.parametrize("first", ["nothing", "an open span", "all of it"])
def test_what_a_program_added_to_a_run_after_its_end_is_taken_in_later(bundle: bytes, first: str) -> None:
    with imported(bundle) as connection:
        if first == "an open span":
            connection.executescript(OPEN)
        early = exported(Store.over(connection))
    with imported(bundle) as connection:
        connection.executescript(LATE)
        late = exported(Store.over(connection))
    bundles = (late, early) if first == "all of it" else (early, late)
    with imported(*bundles, late) as connection:
        assert exported(Store.over(connection)) == late


def test_another_annotation_of_the_same_id_is_refused(bundle: bytes) -> None:
    with imported(bundle) as connection:
        connection.execute("update annotation set value='other'")
        with pytest.raises(BadBundle, match=r"the store has another annotation of this id at run"):
            import_lines(bundle.splitlines(keepends=True), connection, "runs.jsonl")


def test_a_bad_bundle_leaves_a_store_as_it_was(bundle: bytes, tmp_path: Path) -> None:
    db, bad = tmp_path / "a.db", tmp_path / "bad.jsonl"
    record_sample(db)
    before = db.read_bytes()
    bad.write_bytes(bundle.replace(b"I look.", b"I leap."))
    with pytest.raises(
        BadBundle, match=r"bad.jsonl, line \d+: the text is not what its hash names; nothing was imported"
    ):
        import_into(db, bad)
    assert db.read_bytes() == before


def test_a_recorder_goes_on_in_a_store_that_was_imported(bundle: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(bundle)
    import_into(tmp_path / "b.db", tmp_path / "a.jsonl")
    with recording(tmp_path / "b.db", ids=CountingIds()) as tape:
        first = tape.run("What is there?", leaving("plain"), answer("A result."), tools=TOOLS)
        assert import_into(tmp_path / "b.db", tmp_path / "a.jsonl") == (0, 5)
        assert import_into(tmp_path / "c.db", tmp_path / "b.db") == (6, 0)
        second = tape.run("What is there?", leaving("half"), answer("A result."), tools=TOOLS)
    with Store(tmp_path / "b.db") as store:
        assert {store.run(run_id)["kind"] for run_id in (first, second)} == {"live"}
        assert [one for one in check(store, hashes=True) if one.is_fault] == []


def test_two_processes_import_at_once(bundle: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(bundle)
    code = (
        "import sys; from pathlib import Path; from tracing.bundles import import_into\n"
        "print(*import_into(Path(sys.argv[1]), Path(sys.argv[2])))"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "b.db"), str(tmp_path / "a.jsonl")]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert sorted(one.communicate(timeout=60)[0] for one in both) == ["0 5\n", "5 0\n"]
    assert exported(tmp_path / "b.db") == bundle


# A store that is damaged


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("update body set text=text||'x', raw=null", "one of its texts is not what was hashed"),
        ("update message set parent=(select max(id) from message)", "one of its messages is not what was hashed"),
        ("delete from body where id=1", "one of its texts is missing"),
        ("delete from message where depth=1", "one of its messages is missing"),
        ("delete from process", "the process that wrote it is missing"),
    ],
)
def test_what_is_damaged_is_not_exported(bundle: bytes, tmp_path: Path, change: str, reason: str) -> None:
    with imported(bundle) as connection:
        connection.execute(change)
        store = Store.over(connection)
        with pytest.raises(
            StoreError, match=rf"run [0-9a-f]{{8}} cannot be exported: {reason} \(see: viewer check --hashes\)"
        ):
            export(store, [row["run_id"] for row in store.rows("select run_id from run")], tmp_path / "a.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_a_text_that_a_prune_took_travels_as_gone_and_may_come_back(bundle: bytes) -> None:
    with imported(bundle) as connection:
        connection.execute("update body set text='', raw=null, gone=1 where id in (select whole from span)")
        pruned = exported(Store.over(connection))
        assert pruned.count(b'"gone":true') == 3
        with imported(pruned) as copy:
            assert exported(Store.over(copy)) == pruned
        import_lines(bundle.splitlines(keepends=True), connection, "runs.jsonl")
        assert exported(Store.over(connection)) == bundle


# The commands


def test_runs_are_exported_and_imported_by_command(varied: Path, tmp_path: Path) -> None:
    file = str(tmp_path / "runs.jsonl")
    said = invoke("export", "last", "last~1", "last", "-o", file, db=varied, command=commands)
    assert (said.exit_code, said.stdout) == (0, "")
    assert re.fullmatch(r"exported 2 runs, \d[\d.]* kB\n", said.stderr)
    again = invoke("export", "-o", file, db=varied, command=commands)
    assert (again.exit_code, again.stderr) == (
        1,
        f"viewer: {file} is there already: give another file, or --force to replace it\n",
    )
    assert invoke("export", "-o", file, "--force", db=varied, command=commands).exit_code == 0
    new = tmp_path / "new.db"
    said = invoke("import", file, db=new, command=commands)
    assert (said.exit_code, said.stdout) == (0, "imported 1 run\nnext: viewer list\n")
    invoke("export", "--all", "-o", file, "--force", db=varied, command=commands)
    assert invoke("import", file, db=new, command=commands).stdout.startswith("imported 4 runs, 1 was there already\n")
    known = invoke("import", file, "--json", db=new, command=commands)
    assert strict_json(known.stdout) == {"schema": 1, "new": 0, "known": 5, "next": ["viewer list"]}
    assert exported(new) == Path(file).read_bytes()


def test_a_bundle_goes_through_a_pipe(varied: Path, bundle: bytes, tmp_path: Path) -> None:
    said = invoke("export", "--all", db=varied, command=commands)
    assert (said.exit_code, said.stdout_bytes) == (0, bundle)
    assert re.fullmatch(r"exported 5 runs, \d[\d.]* kB\n", said.stderr)


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (("export", "last:2"), 2, "'last:2' names a step; give the run: last"),
        (("export", "ffff"), 1, "there is no run ffff"),
        (("export", "last", "--all"), 2, "give runs, or --all, not both"),
        (("export", "-o", "nowhere/a.jsonl"), 1, "cannot write nowhere/a.jsonl (No such file or directory)"),
        (("export", "-o", "."), 1, ". is a folder: give the path of a file"),
        (("import", "nothing.jsonl"), 1, "cannot read nothing.jsonl (No such file or directory)"),
        (("import", "pyproject.toml"), 1, "pyproject.toml, line 1: it is not the first line of a bundle"),
        (("import",), 2, "Missing argument 'FILE'"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(varied: Path, arguments: tuple[str, ...], code: int, text: str) -> None:
    said = invoke(*arguments, db=varied, command=commands)
    assert (said.exit_code, said.stdout) == (code, "")
    assert text in said.stderr
    assert "Traceback" not in said.stderr


def test_the_store_is_never_replaced_by_its_bundle(varied: Path) -> None:
    said = invoke("export", "-o", str(varied), "--force", db=varied, command=commands)
    assert (said.exit_code, said.stderr) == (1, f"viewer: {varied} is the store itself: give another file\n")


def test_a_run_that_was_imported_while_it_went_on_is_taken_anew_when_it_has_ended(tmp_path: Path) -> None:
    with recording(tmp_path / "a.db", ids=SpreadIds()) as tape:
        run_id = tape.run("q", calls(("read_doc", {"path": "a"})), answer("x"))
    with Store(tmp_path / "a.db") as store:
        export(store, [run_id], tmp_path / "whole.jsonl")
    connection = sqlite3.connect(tmp_path / "a.db")
    connection.execute("update run set end_ns=null, stop=null, answer=null, tip=null, seal=null, redacted=null")
    connection.execute("delete from span where n=(select max(n) from span)")
    connection.commit()
    connection.close()
    with Store(tmp_path / "a.db") as store:
        export(store, [run_id], tmp_path / "open.jsonl")
    for name, found in (("open", (1, 0)), ("open", (0, 1)), ("whole", (1, 0)), ("whole", (0, 1)), ("open", (0, 1))):
        imported = import_into(tmp_path / "b.db", tmp_path / f"{name}.jsonl")
        assert (imported.new, imported.known) == found, name
    with Store(tmp_path / "b.db") as store:
        assert (store.run(run_id)["status"], store.run(run_id)["answer"]) == ("answered", "x")
        assert check(store, hashes=True) == []
        export(store, [run_id], tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


def test_an_imported_run_names_no_module_of_this_machine(tmp_path: Path) -> None:
    with recording(tmp_path / "a.db", ids=SpreadIds()) as tape:
        ids = [tape.run("q", answer("x"), source=source) for source in ("deploy:app", "docs:")]
    with Store(tmp_path / "a.db") as store:
        assert [store.recording(run_id).source for run_id in ids] == ["deploy:app", "docs:"]
        export(store, ids, tmp_path / "a.jsonl")
    with open_bundle(tmp_path / "a.jsonl") as store:
        assert [store.recording(run_id).source for run_id in ids] == [None, "docs:"]


def test_a_bundle_that_is_there_already_adds_nothing(bundle: bytes) -> None:
    with imported(bundle) as connection:
        counted = [connection.execute(f"select count(*) from {table}").fetchone() for table in TABLES]
        import_lines(bundle.splitlines(keepends=True), connection, "again.jsonl")
        assert [connection.execute(f"select count(*) from {table}").fetchone() for table in TABLES] == counted


def test_runs_that_said_the_same_have_it_once_in_a_bundle(tmp_path: Path) -> None:
    with recording(tmp_path / "t.db") as tape:
        for _ in range(3):
            tape.run("What?", calls(("read_doc", {"path": "a.md"})), answer("That."))
    bundle = exported(tmp_path / "t.db")
    kinds = [next(iter(json.loads(line))) for line in bundle.splitlines()]
    assert (kinds.count("run"), kinds.count("message")) == (3, 4)
    with imported(bundle) as connection:
        assert exported(Store.over(connection)) == bundle
        assert check(Store.over(connection), hashes=True) == []
        assert connection.execute("select 1 from message").fetchall() == [{"1": 1}] * 4


def test_what_was_imported_before_is_shared_by_what_goes_on_from_it(tmp_path: Path) -> None:
    record_interrupted(tmp_path / "t.db")
    bundle = exported(tmp_path / "t.db")
    with open_store(tmp_path / "t.db") as store:
        recorded = store.recording()
    agent = Agent(name="docs", model=ScriptedModel([answer("Done.")] * 2), tools=TOOLS)
    with Recorder(tmp_path / "t.db") as recorder:
        forked = asyncio.run(fork(recorded, agent, 2, recorder))
    with imported(bundle, exported(tmp_path / "t.db", forked.run_id or "")) as connection:
        assert connection.execute("select count(*)-count(distinct hash) from message").fetchone() == (0,)
        assert [one for one in check(Store.over(connection), hashes=True) if one.is_fault] == []
