"""The file of a store: opened for writing, made where there is none, or opened for reading.

Making and migrating happen under an operating-system lock of the folder: without it, 8 processes that open a new file
together fail in 52 of 120 tries. A reader writes nothing and makes no file.
"""

import contextlib
import os
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tracing.errors import StoreError

APPLICATION_ID = 0x706C6179  # "play": tells a trace store from any other SQLite file
VERSION = 1

HOT_BUSY_MS = 50  # an event loop never waits longer than this for somebody else's write
PATIENT_BUSY_MS = 10_000

_HEADER = b"SQLite format 3\x00"


def open_writing(path: Path) -> sqlite3.Connection:
    """A connection in autocommit mode with the hot path's busy timeout. Raises StoreError with what to do."""
    check(path)
    if not path.parent.is_dir():
        raise StoreError(f"the folder of {path} does not exist: make it, or give another path for the store")
    try:
        connection = _connect(path)
        if not _is_ready(connection):
            with _locked(path.parent):
                if not _is_ready(connection):
                    _make(connection)
        connection.execute("pragma synchronous=normal")
        connection.execute("begin immediate")  # a file that cannot be written is told now, not at the first run
        connection.execute("commit")
        connection.execute(f"pragma busy_timeout={HOT_BUSY_MS}")
    except (sqlite3.Error, OSError) as error:
        raise StoreError(
            f"cannot write the store {path} ({error}): check its permissions, or give another path"
        ) from error
    return connection


def open_reading(path: Path) -> sqlite3.Connection:
    """A connection that can only read. Raises StoreError for a file that is no trace store."""
    if not path.exists():
        raise StoreError(f'there is no store {path}: record a run first (agent ask "..."), or give its path with --db')
    check(path)
    connection = None
    try:
        connection = _read(path, _mode(path))
        connection.execute("select count(*) from sqlite_schema").fetchone()
    except sqlite3.OperationalError as error:
        if connection is not None:
            connection.close()
        if _mode(path) != "mode=ro":
            raise StoreError(f"cannot read the store {path} ({error}): check its permissions") from error
        connection = _read_copy(path)  # a folder that cannot be written, where the log needs a file beside it
    except sqlite3.DatabaseError as error:
        raise StoreError(f"the store {path} is damaged ({error}): restore it from a copy") from error
    if connection.execute("pragma user_version").fetchone() == (0,):
        connection.close()
        raise StoreError(f"{path} is empty, and no trace store yet: record a run into it, or give another path")
    connection.execute("pragma query_only=1")
    return connection


def check(path: Path) -> None:
    """Raises StoreError, with what to do, for a path that holds anything but a trace store of a known version."""
    if path.is_dir():
        raise StoreError(f"{path} is a folder, not a store: give the path of a file, e.g. {path / 'traces.db'}")
    try:
        with open(path, "rb") as file:
            head = file.read(100)
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreError(
            f"cannot read {path} ({error.strerror}): check its permissions, or give another path"
        ) from error
    if not head:
        return
    if len(head) < 100 or not head.startswith(_HEADER):
        raise StoreError(f"{path} is not a trace store, and is left as it is: give another path")
    try:
        with contextlib.closing(_read(path, _mode(path))) as connection:
            (application,) = connection.execute("pragma application_id").fetchone()
            (version,) = connection.execute("pragma user_version").fetchone()
            (tables,) = connection.execute("select count(*) from sqlite_schema").fetchone()
    except sqlite3.OperationalError:
        return  # busy, or in need of a file beside it: opening it will tell
    except sqlite3.DatabaseError as error:
        raise StoreError(f"{path} is damaged, and is left as it is ({error}): restore it from a copy") from error
    if application != APPLICATION_ID and (application, tables) != (0, 0):  # that would be one just being made
        raise StoreError(f"{path} is an SQLite file but not a trace store, and is left as it is: give another path")
    if version > VERSION:
        raise StoreError(
            f"{path} was written by a newer Playhead (schema {version}, this one knows {VERSION}): upgrade Playhead"
        )


def _mode(path: Path) -> str:
    """How to read without making a file: SQLite would make the two files of its write-ahead log, unless told that
    nothing changes; and while a writer has the store open, they are there."""
    wal = path.with_name(path.name + "-wal")
    return "mode=ro" if wal.exists() and wal.stat().st_size > 0 else "immutable=1"


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(
        path, isolation_level=None, check_same_thread=False, timeout=PATIENT_BUSY_MS / 1000, cached_statements=64
    )


def _read(path: Path, mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, isolation_level=None)
    connection.text_factory = lambda data: data.decode("utf-8", "replace")
    return connection


def _read_copy(path: Path) -> sqlite3.Connection:
    """The store and its log, copied into memory by way of a folder of our own."""
    with tempfile.TemporaryDirectory(prefix="playhead-") as folder:
        copy = Path(folder, "store.db")
        try:
            copy.write_bytes(path.read_bytes())
            copy.with_name("store.db-wal").write_bytes(path.with_name(path.name + "-wal").read_bytes())
            memory = sqlite3.connect(":memory:", isolation_level=None)
            with contextlib.closing(_connect(copy)) as source:
                source.backup(memory)
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"cannot read the store {path} ({error}): check its permissions") from error
    memory.text_factory = lambda data: data.decode("utf-8", "replace")
    return memory


def _is_ready(connection: sqlite3.Connection) -> bool:
    (version,) = connection.execute("pragma user_version").fetchone()
    if version > VERSION:
        raise StoreError(f"the store was written by a newer Playhead (schema {version}): upgrade Playhead")
    (mode,) = connection.execute("pragma journal_mode").fetchone()
    return bool(version == VERSION and mode == "wal")


def _make(connection: sqlite3.Connection) -> None:
    from tracing.migrations import migrate

    connection.execute("pragma page_size=4096")
    connection.execute("pragma auto_vacuum=incremental")
    connection.execute("pragma journal_mode=wal")
    migrate(connection)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    try:
        import fcntl
    except ImportError:  # Windows: SQLite's own locks, with their patience, are all there is
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
