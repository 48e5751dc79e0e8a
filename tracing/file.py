"""The file of a store: opened for writing, made where there is none, or opened for reading.

Making and migrating happen under an operating-system lock of the folder: without it, 8 processes that open a new file
together fail in 52 of 120 tries. A reader writes nothing and makes no file.
"""

import contextlib
import os
import sqlite3
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tracing.errors import StoreBusy, StoreError

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]

APPLICATION_ID = 0x706C6179  # "play": tells a trace store from any other SQLite file
VERSION = 3

HOT_BUSY_MS = 50  # an event loop never waits longer than this for somebody else's write
PATIENT_BUSY_MS = 10_000

_TRIES = 4

MAX_COPY = 256 * 2**20
"""Bytes of a store that is copied to be read."""


def open_writing(path: Path, *, patient: bool = True) -> sqlite3.Connection:
    """A connection in autocommit mode with the hot path's busy timeout; to open it waits for somebody else's write,
    `patient` or not. Raises StoreError with what to do, its kind StoreBusy where that was too short."""
    if not _exists(path):
        if not path.parent.is_dir():
            raise StoreError(f"the folder of {path} does not exist: make it, or give another path for the store")
    else:
        if not os.access(path, os.W_OK):
            raise StoreError(f"cannot write the store {path}: check its permissions, or give another path")
        with contextlib.closing(_look(path)) as found:
            _refuse_foreign(found, path)
    connection: sqlite3.Connection | None = None
    try:
        connection = _connect(path)
        connection.execute(f"pragma busy_timeout={PATIENT_BUSY_MS if patient else HOT_BUSY_MS}")
        if not _is_ready(connection):
            with _locked(path.parent):
                if not _is_ready(connection):
                    _make(connection)
        connection.execute("pragma synchronous=normal")
        connection.execute("begin immediate")  # a file that cannot be written is told now, not at the first run
        connection.execute("update meta set value=value where key='epoch'")
        connection.execute("rollback")
        connection.execute(f"pragma busy_timeout={HOT_BUSY_MS}")
    except (sqlite3.Error, OSError, StoreError) as error:
        if connection is not None:
            connection.close()
        if isinstance(error, StoreError):
            raise
        if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
            raise StoreBusy(
                f"somebody else writes the store {path} for too long: try again, or give another path"
            ) from error
        raise StoreError(
            f"cannot write the store {path} ({error}): check its permissions, or give another path"
        ) from error
    return connection


def open_reading(path: Path) -> sqlite3.Connection:
    """A connection that can only read. Raises StoreError for a file that is no trace store."""
    if not _exists(path):
        raise StoreError(f'there is no store {path}: record a run first (agent ask "..."), or give its path with --db')
    connection = _look(path)
    try:
        version = _refuse_foreign(connection, path)
        if version == 0:
            raise StoreError(f"{path} is empty, and no trace store yet: record a run into it, or give another path")
        if version < VERSION:
            connection = _newer_copy(connection, path)
        connection.execute("pragma query_only=1")
    except StoreError:
        connection.close()
        raise
    return connection


def _look(path: Path) -> sqlite3.Connection:
    """A connection that reads and neither makes nor changes a file.

    The file itself is never opened while this process may hold locks on it: closing it would end them.
    """
    for _ in range(_TRIES):  # between the look and the reading a writer may have come or gone
        with contextlib.suppress(FileNotFoundError, sqlite3.DatabaseError):
            return _looked(path)
        time.sleep(0.01)
    try:
        return _looked(path)
    except sqlite3.OperationalError as error:
        raise StoreError(f"cannot read {path} ({error}): check its permissions, or give another path") from error
    except FileNotFoundError as error:
        raise StoreError(f"{path} comes and goes while it is read: try again") from error
    except sqlite3.DatabaseError as error:
        raise _not_a_store(path, error) from error


def _looked(path: Path) -> sqlite3.Connection:
    connection = _read_copy(path) if _is_left(path) else _read(path, _mode(path))
    try:
        connection.execute("pragma schema_version").fetchone()
        connection.execute("select count(*) from sqlite_schema").fetchone()
    except UnicodeDecodeError as error:  # SQLite quotes a damaged schema, and Python cannot read the quote
        connection.close()
        raise sqlite3.DatabaseError("malformed database schema") from error
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _exists(path: Path) -> bool:
    """Whether there is a file at the path. Raises StoreError for what can be none."""
    if str(path) == ":memory:":
        raise StoreError("a store is a file: give a path, e.g. traces.db")
    try:
        status = path.stat()
    except FileNotFoundError:
        return False
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "the system does not take such a path"
        raise StoreError(f"cannot use {path} as a store ({reason}): give another path") from error
    if stat.S_ISDIR(status.st_mode):
        raise StoreError(f"{path} is a folder, not a store: give the path of a file, e.g. {path / 'traces.db'}")
    if not stat.S_ISREG(status.st_mode):
        raise StoreError(f"{path} is no regular file: give another path")
    return True


def _refuse_foreign(connection: sqlite3.Connection, path: Path) -> int:
    """The schema version of a store, 0 for one that is just being made. Raises StoreError for anything else."""
    try:
        (application,) = connection.execute("pragma application_id").fetchone()
        (version,) = connection.execute("pragma user_version").fetchone()
        (tables,) = connection.execute("select count(*) from sqlite_schema").fetchone()
    except sqlite3.OperationalError as error:
        raise StoreError(f"cannot read {path} ({error}): try again, or give another path") from error
    except sqlite3.DatabaseError as error:
        raise _not_a_store(path, error) from error
    if application != APPLICATION_ID and (application, tables) != (0, 0):
        raise StoreError(f"{path} is an SQLite file but not a trace store, and is left as it is: give another path")
    if version > VERSION:
        raise StoreError(
            f"{path} was written by a newer Playhead (schema {version}, this one knows {VERSION}): upgrade Playhead"
        )
    return int(version)


def _not_a_store(path: Path, error: sqlite3.Error) -> StoreError:
    if "not a database" in str(error):
        return StoreError(f"{path} is not a trace store, and is left as it is: give another path")
    return StoreError(f"{path} is damaged, or is not a trace store ({error}), and is left as it is: give another path")


def identity(path: Path) -> tuple[int, int]:
    """Which file a path names right now: device and inode, (0, 0) for none. Raises OSError where it cannot be seen."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return 0, 0
    return status.st_dev, status.st_ino


def _mode(path: Path) -> str:
    """How to read without making a file: SQLite would make the two files of its write-ahead log, unless told that
    nothing changes; and while somebody has the store open, they are there."""
    return "mode=ro" if _is_open(path) or _has_log(path) else "immutable=1"


def log_of(path: Path) -> Path:
    """The write-ahead log of a store: beside the file itself, where the path is a link to it."""
    return Path(os.path.realpath(path) + "-wal")


def _has_log(path: Path) -> bool:
    log = log_of(path)
    return log.exists() and log.stat().st_size > 0


def _is_left(path: Path) -> bool:
    """Whether a process that is gone left a log behind. SQLite would read it by way of a third file, which it makes
    or changes; so what is left, up to a size, is read from a copy."""
    return _has_log(path) and path.stat().st_size <= MAX_COPY and _is_open(path) is False


def _is_open(path: Path) -> bool | None:
    """Whether a process, this one included, has the store open: each holds a shared lock on the file as long as it
    has. None where the system does not tell."""
    try:
        locks = Path("/proc/locks").read_text(encoding="ascii")
    except OSError:
        return None
    device, inode = identity(path)
    mine = f"{os.major(device):02x}:{os.minor(device):02x}:{inode}"
    return any(mine in line.split() for line in locks.splitlines())


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(
        path, isolation_level=None, check_same_thread=False, timeout=PATIENT_BUSY_MS / 1000, cached_statements=64
    )


def _read(path: Path, mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, isolation_level=None)
    connection.text_factory = _readable
    return connection


def _read_copy(path: Path) -> sqlite3.Connection:
    """The store and its log, copied into memory by way of a folder of our own. Raises FileNotFoundError when the log
    goes away meanwhile."""
    with tempfile.TemporaryDirectory(prefix="playhead-") as folder:
        copy = Path(folder, "store.db")
        copy.write_bytes(path.read_bytes())
        copy.with_name("store.db-wal").write_bytes(log_of(path).read_bytes())
        memory = sqlite3.connect(":memory:", isolation_level=None)
        try:
            with contextlib.closing(_connect(copy)) as source:
                source.backup(memory)
        except sqlite3.Error:
            memory.close()
            raise
    memory.text_factory = _readable
    return memory


def _newer_copy(older: sqlite3.Connection, path: Path) -> sqlite3.Connection:
    """A store of an older schema, as it would be after its migration: in memory, because a reader changes no file."""
    from tracing.migrations import migrate

    if path.stat().st_size > MAX_COPY:
        raise StoreError(f"{path} is of an older schema and large: record one run into it, which brings it up to date")
    memory = sqlite3.connect(":memory:", isolation_level=None)
    older.backup(memory)
    older.close()
    migrate(memory)
    memory.text_factory = _readable
    return memory


def memory_store() -> sqlite3.Connection:
    """An empty store in memory."""
    from tracing.migrations import migrate

    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    migrate(connection)
    connection.text_factory = _readable
    return connection


def _readable(data: bytes) -> str:
    return data.decode("utf-8", "replace")


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
    connection.execute(f"pragma application_id={APPLICATION_ID}")  # first: nobody may take it for somebody else's
    connection.execute("pragma journal_mode=wal")
    migrate(connection)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    if fcntl is None:  # Windows: SQLite's own locks, with their patience, are all there is
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
