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
    _script(db, "views.sql")
    db.execute("insert into meta(key, value) values('epoch', 1)")
    db.execute("pragma user_version=1")


def migrate(connection: sqlite3.Connection) -> None:
    """Brings the file to `tracing.file.VERSION`."""
    migrations.apply(Database(connection))


def _script(db: Database, name: str) -> None:
    """Runs a file of statements one by one: `executescript` would commit the migration's transaction."""
    statement = ""
    for line in (files("tracing") / name).read_text(encoding="utf-8").splitlines(keepends=True):
        statement += line.partition("--")[0]
        if sqlite3.complete_statement(statement):
            db.execute(statement)
            statement = ""
