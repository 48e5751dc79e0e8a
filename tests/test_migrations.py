"""Stores of an older schema: read as they are, brought up to date by the next run."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlite_utils import Database

from tests.runs import answer, recording
from tests.varied_runs import record_varied
from tracing import open_store, replay
from tracing.checking import check
from tracing.file import APPLICATION_ID
from tracing.migrations import migrations

with closing(sqlite3.connect(":memory:")) as empty:
    STEPS = [step.name for step in migrations.pending(Database(empty))]
VIEWS = ("runs", "model_calls", "tool_calls", "spans", "log_events", "conversation")


def older(path: Path, version: int) -> Path:
    """The varied runs, as a store of this schema holds them."""
    new = path.with_name("new.db")
    record_varied(new)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for pragma in (
            "page_size=4096",
            "auto_vacuum=incremental",
            f"application_id={APPLICATION_ID}",
            "journal_mode=wal",
        ):
            connection.execute(f"pragma {pragma}")
        migrations.apply(Database(connection), stop_before=STEPS[version])
        connection.execute(f"pragma user_version={version}")
        connection.execute("attach ? as new", (str(new),))
        for table in ("body", "message", "process", "run", "span", "event", "annotation"):
            columns = ",".join(row[1] for row in connection.execute(f"pragma main.table_info({table})"))
            connection.execute(f"insert into {table}({columns}) select {columns} from new.{table}")
    return path


def facts(path: Path) -> dict[str, list[Any]]:
    """All that the stable views say; how much was redacted is not known of a run from before there was redaction."""
    with open_store(path) as store, store.tuples() as connection:
        found = {view: connection.execute(f"select * from {view}").fetchall() for view in VIEWS}
        assert [column[0] for column in connection.execute("select * from runs").description][-1] == "redacted"
    found["runs"] = [row[:-1] for row in found["runs"]]
    return {view: sorted(found[view], key=repr) for view in VIEWS}


def sound(path: Path) -> None:
    """Asserts that nothing of a store is amiss, and that its runs replay."""
    with open_store(path) as store:
        assert [one for one in check(store, hashes=True) if one.is_fault] == []
        for run in store.runs()[0]:
            assert replay(store.recording(run["run_id"])).outcome == "exact"


@pytest.mark.parametrize("version", range(1, len(STEPS)))
def test_an_older_store_is_read_as_it_is_and_brought_up_to_date_by_the_next_run(tmp_path: Path, version: int) -> None:
    path = older(tmp_path / "old.db", version)
    before, said = path.read_bytes(), facts(tmp_path / "new.db")
    assert facts(path) == said
    sound(path)
    assert path.read_bytes() == before
    with recording(path) as tape:
        run_id = tape.run("One more?", answer("Yes."))
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("pragma user_version").fetchone() == (len(STEPS),)
    now = facts(path)
    assert {view: [row for row in rows if row[0] != run_id] for view, rows in now.items()} == said
    assert [row[0] for row in now["runs"]].count(run_id) == 1
    sound(path)


def test_a_users_own_view_stays(tmp_path: Path) -> None:
    path = older(tmp_path / "old.db", len(STEPS) - 1)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute('create view "my own" as select count(*) from message join runs')
    sound(path)
    with recording(path) as tape:
        tape.run("One more?", answer("Yes."))
    with closing(sqlite3.connect(path)) as connection:
        ((count,),) = connection.execute('select * from "my own"').fetchall()
    assert count > 0
