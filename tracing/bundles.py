"""Bundles: runs as a file that loses nothing, to be sent, kept in a repository, and read in again anywhere.

What is exported depends on the content of the runs alone, never on the rows of a store, so the same runs give the same
bytes wherever they are; what is imported is checked line by line, and all or nothing stays. A copy by git or an
editor may change line ends to those of Windows, put a byte-order mark before all, drop the last line end or add empty
lines at the end: that is read as if it had not happened. See `bundle_lines` for the lines.
"""

import contextlib
import itertools
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tracing.bundling.export import export_lines as export_lines
from tracing.errors import StoreError, TraceError
from tracing.file import PATIENT_BUSY_MS, memory_store, open_writing
from tracing.store import Store
from tracing.whole_file import reason, whole_file

if TYPE_CHECKING:
    from tracing.bundling.importing import Imported


class BadBundle(TraceError):
    """A bundle that was cut, changed or made by something else; nothing of it was imported."""

    def __init__(self, name: str, line: int, reason: str, advice: str) -> None:
        super().__init__(f"{name}, line {line}: {reason}; nothing was imported, {advice}")
        self.name = name
        self.line = line
        """From 1."""
        self.reason = reason


def export(store: Store, run_ids: Iterable[str], path: Path) -> int:
    """Writes a bundle of these runs, whole or not at all, and gives their number. Raises as `export_lines`."""
    runs = 0
    with store.tuples() as connection, whole_file(path) as write:
        for line in export_lines(connection, run_ids):
            runs += line.startswith('{"run":')
            write(line.encode())
    return runs


def import_lines(
    lines: Iterable[str | bytes], connection: sqlite3.Connection, name: str, *, now_ns: Callable[[], int] = time.time_ns
) -> "Imported":
    """Imports a bundle in one transaction; `name` is what messages call it. The connection is in autocommit mode.
    Raises BadBundle."""
    from tracing.bundling.importing import Importer
    from tracing.bundling.reading import Refused

    importer = Importer(connection, now_ns())
    usual, connection.row_factory = connection.row_factory, None
    connection.execute("begin immediate")
    try:
        for line in lines:
            importer.take(_encoded(line))
        imported = importer.close()
        connection.execute("commit")
    except Refused as refused:
        raise BadBundle(name, importer.reader.number, str(refused), refused.advice) from None
    finally:
        if connection.in_transaction:
            connection.execute("rollback")
        connection.row_factory = usual
    return imported


def import_into(store_path: Path, source: Path, *, now_ns: Callable[[], int] = time.time_ns) -> "Imported":
    """Imports a bundle, or all runs of another store, into a store, which is made where there is none.

    Raises BadBundle; StoreError for a store or a file that cannot be used.
    """
    with _lines_of(source) as lines:
        return import_stream(store_path, lines, str(source), now_ns=now_ns)


def import_stream(
    store_path: Path, lines: Iterable[str | bytes], name: str, *, now_ns: Callable[[], int] = time.time_ns
) -> "Imported":
    """As `import_into`, for lines that come from somewhere else, e.g. a pipe."""
    from tracing.bundling.reading import Refused, check_header

    coming = iter(lines)
    first = next(coming, b"")
    try:  # what is no bundle makes no store
        check_header(_encoded(first))
    except Refused as refused:
        raise BadBundle(name, 1, str(refused), refused.advice) from None
    try:
        with contextlib.closing(open_writing(store_path)) as connection:
            connection.execute(f"pragma busy_timeout={PATIENT_BUSY_MS}")
            return import_lines(itertools.chain((first,), coming), connection, name, now_ns=now_ns)
    except sqlite3.Error as error:
        raise StoreError(f"cannot write the store {store_path} ({error}): nothing was imported, try again") from error


def open_bundle(path: str | Path) -> Store:
    """A bundle as a store to be read, in memory. Raises BadBundle, and StoreError for a file that cannot be read."""
    connection = memory_store()
    try:
        with _lines_of(Path(path)) as lines:
            import_lines(lines, connection, str(path))
        connection.execute("pragma query_only=1")
    except BaseException:
        connection.close()
        raise
    return Store.over(connection, Path(path))


@contextlib.contextmanager
def _lines_of(source: Path) -> Iterator[Iterable[str | bytes]]:
    """The lines of a bundle, or of another store as a bundle."""
    if _is_store(source):
        with Store(source) as store, store.tuples() as connection:
            yield export_lines(connection, [run_id for (run_id,) in connection.execute("select run_id from run")])
        return
    try:
        file = source.open("rb")
    except (OSError, ValueError) as error:
        raise _unreadable(source, error) from error
    with file:
        yield file


def _is_store(path: Path) -> bool:
    """Whether a file is SQLite's. SQLite itself looks: to open and close the file would end the locks that a recorder
    of this process may hold on it."""
    try:
        if not path.is_file() or path.stat().st_size == 0:
            return False
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error
    with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?immutable=1", uri=True)) as connection:
        try:
            connection.execute("pragma schema_version").fetchone()
        except sqlite3.OperationalError:
            return False  # it cannot be opened: whoever reads it says why
        except sqlite3.DatabaseError as error:
            return "not a database" not in str(error)
    return True


def _unreadable(path: Path, error: OSError | ValueError) -> StoreError:
    return StoreError(f"cannot read {path} ({reason(error)}): give the path of a bundle or a store")


def _encoded(line: str | bytes) -> bytes:
    return line.encode("utf-8", "surrogatepass") if isinstance(line, str) else line
