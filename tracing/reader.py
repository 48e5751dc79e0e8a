"""A store opened for reading, which stays right while others write it."""

import contextlib
import os
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tracing.errors import StoreError
from tracing.file import identity, log_of, open_reading

Row = dict[str, Any]


class Reader:
    """Rows of a store as dicts by column. Use it as a context manager."""

    def __init__(self, path: str | Path) -> None:
        """Raises StoreError for a file that is no trace store."""
        self.path = Path(path)
        self._open()
        self.path = Path(os.path.abspath(path))  # a tool may change the folder

    @classmethod
    def over(cls, connection: sqlite3.Connection, path: str | Path = ":memory:") -> Self:
        """A store that is no file of its own; messages call it `path`, and the connection is closed with it."""
        store = cls.__new__(cls)
        store.path = Path(path)
        store._seen = None  # it cannot change behind our back
        store._take(connection)
        return store

    def _open(self) -> None:
        self._seen: tuple[Any, ...] | None = _signature(self.path)
        self._take(open_reading(self.path))

    def _take(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.connection.row_factory = _as_dict
        self.connection.create_function("casefold", 1, lambda text: str(text or "").casefold(), deterministic=True)

    def _has_changed(self) -> bool:
        return self._seen is not None and _signature(self.path) != self._seen

    def close(self) -> None:
        self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @contextlib.contextmanager
    def tuples(self) -> Iterator[sqlite3.Connection]:
        """The connection, giving rows as tuples, within one look at the store."""
        self.rows("select 1")  # opened anew, if need be
        self.connection.row_factory = None
        try:
            self.connection.execute("begin")
            yield self.connection
        except sqlite3.DatabaseError as error:
            raise StoreError(f"cannot read the store {self.path} ({error})") from error
        finally:
            if self.connection.in_transaction:
                self.connection.execute("rollback")
            self.connection.row_factory = _as_dict

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[Row]:
        # A store that nobody had open is read as one that does not change; when somebody writes it, it is opened anew,
        # and what was read in the moment of the change may be torn.
        for last in (False, True):
            if self._has_changed():
                self.connection.close()
                self._open()
            try:
                return self.connection.execute(query, values).fetchall()
            except sqlite3.DatabaseError as error:
                if last or not self._has_changed():
                    raise StoreError(f"cannot read the store {self.path} ({error})") from error
        raise AssertionError

    def value(self, query: str, values: Sequence[Any] = ()) -> Any:
        return next(iter(self.rows(query, values)[0].values()))


def _signature(path: Path) -> tuple[Any, ...]:
    """What changes when a store is written, or its writer comes or goes."""
    size = path.stat() if path.exists() else None
    return (identity(path), size and size.st_mtime_ns, size and size.st_size, log_of(path).exists())


def _as_dict(cursor: sqlite3.Cursor, row: tuple[Any, ...]) -> Row:
    return {column[0]: value for column, value in zip(cursor.description, row, strict=True)}
