"""The writer: facts become durable at once, and never get in the way.

A transaction is short, and waits 50 ms at most for somebody else's; then its facts stay in memory, bounded and
counted, and are written with the next ones or by a timer. One connection per process, one lock. A fork closes the
connection first, and both sides open their own. Trouble is told once as a warning, and at the end by how many facts
were lost, if any; it never reaches the agent's answer.
"""

import asyncio
import contextlib
import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Iterable
from pathlib import Path

from agent.canonical import to_text
from tracing import forks
from tracing.clock import Clock
from tracing.errors import StoreBusy, StoreError, warn
from tracing.facts import Fact, Logged
from tracing.file import PATIENT_BUSY_MS, identity, open_writing
from tracing.rows import Rows

MAX_PENDING = 20_000
"""Facts that wait in memory at the most; the newest beyond that are lost, and counted."""
RETRY_SECONDS = 0.2
LINGER_SECONDS = 0.02
"""How long a fact that is expected to ride with the next one waits for it."""


class Writer:
    def __init__(self, path: Path, clock: Clock) -> None:
        """Opens the store. Raises StoreError."""
        self.path = path
        self.lost = 0
        """Facts that were given up."""
        self._clock = clock
        self._warned = False
        self._pending: deque[Fact] = deque()
        self._rows: Rows | None = None
        self._lock = threading.RLock()
        self._timer: threading.Timer | None = None
        self._lingering_until = 0.0
        self._file = (0, 0)
        try:
            with self._lock:
                self._open(patient=True)
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"cannot write the store {path} ({error}): give another path") from error
        self.path = Path(os.path.abspath(path))  # a tool may change the folder
        forks.watch(self)

    def write(self, facts: Iterable[Fact], *, linger: bool = False) -> None:
        """Makes facts durable, with those that wait, in order. Never raises, never waits long.

        With `linger`, in a running event loop, they wait for the facts that follow at once: a transaction costs more
        than a fact. Should none follow, they are written by the loop's next idle moment after `LINGER_SECONDS`.
        """
        with self._lock:
            self._pending.extend(facts)
            if linger:
                self._linger()
            else:
                self._flush()

    def flush(self) -> None:
        """Writes what waits."""
        self.write(())

    def close(self) -> None:
        """Writes what waits, patiently, says what is lost, and closes the connection."""
        with self._lock:
            if self._pending:
                with contextlib.suppress(StoreError, sqlite3.Error, OSError):
                    self._open(patient=True)
            if self._rows is not None:
                self._rows.connection.execute(f"pragma busy_timeout={PATIENT_BUSY_MS}")
            self._flush()
            self.lost += len(self._pending)
            self._pending.clear()
            if self._rows is not None:
                with contextlib.suppress(sqlite3.Error):  # the end of the process is told by its absence as well
                    self._rows.process_ended(self._clock.wall_ns())
                self._rows.connection.close()
                self._rows = None
            if self._timer is not None:
                self._timer.cancel()
        if self.lost:
            warn(f"{self.lost} record{'s were' if self.lost != 1 else ' was'} lost: {self.path} could not be written")

    def check_file(self) -> None:
        """Tells when the file that is written is no longer the one at the path, and goes on in a new one."""
        with self._lock, contextlib.suppress(OSError):
            if self._rows is not None and identity(self.path) != self._file:
                self._trouble(
                    f"{self.path} was removed or replaced: what it held is gone, recording goes on in a new file"
                )
                self._rows.connection.close()
                self._rows = None

    def before_fork(self) -> None:
        self._lock.acquire()
        self._flush()
        if self._rows is not None:
            self._rows.connection.close()
            self._rows = None

    def after_fork(self, *, in_child: bool) -> None:
        if in_child:
            self._pending.clear()  # they are the parent's to write
            self._timer, self._lingering_until = None, 0.0
        self._lock.release()

    def _open(self, *, patient: bool = False) -> Rows:
        if self._rows is None:
            connection = open_writing(self.path, patient=patient)
            try:
                rows = Rows(connection)
                rows.process_started(self._clock.wall_ns())
            except BaseException:
                connection.close()
                raise
            self._rows, self._file = rows, identity(self.path)
        return self._rows

    def _flush(self) -> None:
        if not self._pending:
            return
        try:
            rows = self._rows or self._open()
            self._transact(rows, self._pending)
            self._pending.clear()
        except sqlite3.OperationalError as error:
            self._wait(error)
        except Exception as error:  # noqa: BLE001 - no fault of the record may reach the agent
            if self._rows is None:
                self._wait(error)
            else:
                self._one_by_one(self._rows)

    def _transact(self, rows: Rows, facts: Iterable[Fact]) -> None:
        execute, write = rows.connection.execute, rows.write
        try:
            execute("begin immediate")
            for fact in facts:
                write[type(fact)](fact)
            execute("commit")
        except BaseException:
            rows.rolled_back()
            if rows.connection.in_transaction:
                execute("rollback")
            raise
        rows.committed()

    def _one_by_one(self, rows: Rows) -> None:
        """One fact that cannot be written must not take the others with it."""
        while self._pending:
            try:
                self._transact(rows, (self._pending[0],))
            except sqlite3.OperationalError as error:
                return self._wait(error)
            except Exception as error:  # noqa: BLE001 - the same
                self.lost += 1
                self._trouble(f"one record cannot be written ({type(error).__name__}: {error})")
            self._pending.popleft()
        return None

    def _wait(self, error: Exception) -> None:
        is_busy = isinstance(error, sqlite3.OperationalError) and "locked" in str(error)
        if not (is_busy or isinstance(error, StoreBusy)):
            self._trouble(f"{self.path} cannot be written ({error}): what happens is kept and tried again")
        while len(self._pending) > MAX_PENDING:
            self._pending.pop()
            self.lost += 1
        self._retry_later()

    def _linger(self) -> None:
        # By time and not by a flag: an event loop may end before its timers come due.
        now = time.monotonic()
        if now >= self._lingering_until:
            self._lingering_until = now + LINGER_SECONDS
            asyncio.get_running_loop().call_later(LINGER_SECONDS, self.flush)

    def _retry_later(self) -> None:
        if self._timer is None or not self._timer.is_alive() or self._timer is threading.current_thread():
            self._timer = threading.Timer(RETRY_SECONDS, self.flush)
            self._timer.daemon = True
            self._timer.start()

    def _trouble(self, text: str) -> None:
        if self._warned:
            return
        self._warned = True
        fields = to_text({"reason": text})
        self._pending.append(Logged(None, None, None, self._clock.wall_ns(), "warning", "recorder.degraded", fields))
        warn(text)
