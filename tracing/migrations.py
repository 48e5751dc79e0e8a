"""The schema's steps, numbered; each is one transaction of sqlite-utils' migrations.

A step that has shipped is never changed: a later one changes what it made.
"""

import sqlite3
from importlib.resources import files

from sqlite_utils import Database, Migrations

migrations = Migrations("playhead")


@migrations()
def m001_first(db: Database) -> None:
    _script(db, "schema.sql")
    db.execute("insert into meta(key, value) values('epoch', 1)")


@migrations()
def m002_seals(db: Database) -> None:
    """`seal`: see tracing/seal.py. `redacted`: secrets that were taken out, null for a run before redaction.
    `imported_ns`: when the run came from another store."""
    db.execute("alter table run add column seal blob")
    db.execute("alter table run add column redacted int")
    db.execute("alter table run add column imported_ns int")
    db.execute("alter table span add column seal blob")
    db.execute("alter table event add column seal blob")
    db.execute("alter table annotation add column seal blob")
    db.execute("pragma user_version=2")


@migrations()
def m003_costs(db: Database) -> None:
    """`tier`: the provider's service tier, as it came. By `call_time` the cost of a million calls is summed without
    looking at a row of them: what they were asked of and when, then what is added up. It has columns only, and `kind`
    and `end_ns` too, because SQLite 3.40 looks at the row where an index holds an expression, or lacks a column of its
    own condition. `run_apart`: the runs of which not every call is money that was spent here."""
    db.execute("alter table span add column tier text")
    db.execute(
        "create index call_time on span(model, response_model, provider, start_ns, kind, end_ns, cost, inp, out, cached, "
        "cache_write, reasoning) where kind=1 and end_ns is not null"
    )
    db.execute("create index run_apart on run(id) where kind<>'live' or imported_ns is not null")
    db.execute("create index call_unpriced on span(run) where kind=1 and end_ns is not null and price is null")
    _views(db)
    db.execute("pragma user_version=3")


def migrate(connection: sqlite3.Connection) -> None:
    """Brings the file to `tracing.file.VERSION`."""
    migrations.apply(Database(connection))


def _views(db: Database) -> None:
    """The views as they are now: they hold nothing, so the newest step makes them all anew."""
    for name in ("runs", "model_calls", "tool_calls", "spans", "log_events", "conversation"):
        db.execute(f"drop view if exists {name}")  # a user's own views stay
    _script(db, "views.sql")


def _script(db: Database, name: str) -> None:
    """Runs a file of statements one by one: `executescript` would commit the migration's transaction."""
    statement = ""
    for line in (files("tracing") / name).read_text(encoding="utf-8").splitlines(keepends=True):
        statement += line.partition("--")[0]
        if sqlite3.complete_statement(statement):
            db.execute(statement)
            statement = ""
