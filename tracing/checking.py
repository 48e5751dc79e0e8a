"""Whether a store still holds what was written: its file, its references, and with hashes every text, message and seal.

Outside of what hashes can tell are, on purpose: what becomes known later or is of this store only (a call's cost and
price, when a run was imported, which process wrote it, meta), row ids, and the flat columns of what has no seal: a
run that was never closed, a span that never ended, and all of a store from before there were seals. Of a run that has
a seal, its log lines, tags and ended spans must have theirs too. That a row is gone is told where something names it,
or where a run's numbers of spans have a gap.
"""

import contextlib
import functools
import hashlib
import itertools
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

from tracing.chain import hash_of
from tracing.check_places import Places, at
from tracing.file import memory_store
from tracing.forks import RANGE_BITS
from tracing.process import is_alive
from tracing.rows import readable
from tracing.seal import broken, digest, span_digest
from tracing.store import SHORT, Store

_REFERENCES = {
    "message": {"parent": "message", "body": "body"},
    "run": {
        "process": "process", "question": "body", "start_tip": "message", "tip": "message", "settings": "body",
        "tools": "body", "answer": "body",
    },
    "span": {
        "run": "run", "request_tip": "message", "response": "message", "settings": "body", "tools": "body",
        "raw": "body", "result": "body", "whole": "body",
    },
    "event": {"run": "run"},
}  # fmt: skip
_SCHEMA = "select type, name, sql from sqlite_schema order by type, name"
_RUNS = "select id, run_id, seal, end_ns, redacted from run order by start_ns, id"
_BODIES = "select id, hash, cast(text as blob), raw, gone from body"
_MESSAGES = (
    "select m.id, m.hash, p.hash, p.depth, m.depth, m.role, b.hash, m.envelope from message m "
    "left join message p on p.id=m.parent left join body b on b.id=m.body"
)
_FOREIGN = "select n, step, end_ns, seal from span where run=? and kind not in (1,2) order by n"
_NUMBERED = f"select max(n) & {2**RANGE_BITS - 1}, count(*) from span where run=? group by n >> {RANGE_BITS}"  # noqa: S608
"""The highest number and how many there are, of the process that runs and of each that it forked."""
_SEALED_CALLS = "select n, step, idx from span where run=? and kind<3 and seal is not null"
_EVENTS = (
    "select e.id, e.seal, r.run_id, r.seal is not null, lower(hex(e.span_id)), e.span_id is null, e.step, e.time_ns, "
    "e.level, e.name, e.fields from event e left join run r on r.id=e.run order by e.run, e.time_ns, e.id"
)
_ANNOTATIONS = (
    "select a.id, a.run_id, a.step, a.idx, a.time_ns, a.kind, a.name, a.value, a.seal, r.seal is not null "
    "from annotation a left join run r on r.run_id=a.run_id order by a.run_id, a.id"
)


@dataclass(frozen=True, slots=True)
class Finding:
    place: str
    """`run 3f2a91bc:2.1` (a call), `run 3f2a91bc message 4`, or what else it is about."""
    what: str
    is_fault: bool = True
    """Else it is only said: a run that was never closed."""


@dataclass(frozen=True, slots=True)
class Looked:
    """How much there was to look at."""

    runs: int
    texts: int
    messages: int


def check(store: Store, *, hashes: bool) -> list[Finding]:
    """What is not as it was written; `hashes` looks at every text, message and seal. Raises StoreError for a store that
    cannot be read at all."""
    with store.tuples() as connection, _any_bytes(connection):
        checking = _Checking(connection)
        try:
            looks = [
                checking.file("integrity_check" if hashes else "quick_check"),
                checking.schema(),
                checking.references(),
            ]
            if hashes:
                looks += [
                    checking.texts(),
                    checking.messages(),
                    checking.runs(),
                    checking.lines(),
                    checking.notes(),
                ]
            return list(itertools.chain.from_iterable(map(_as_far_as_it_goes, (*looks, checking.open_runs()))))
        except sqlite3.DatabaseError as error:
            return [Finding("the file", str(error))]


def _as_far_as_it_goes(findings: Iterator[Finding]) -> Iterator[Finding]:
    """A page that is damaged gives values of any type: then the look ends there, and says so."""
    try:
        yield from findings
    except (sqlite3.DatabaseError, TypeError, ValueError, AttributeError) as error:
        yield Finding("the file", f"is damaged, and cannot be looked through ({error})")


def looked_at(store: Store) -> Looked:
    """Zeros for what cannot be counted."""
    with store.tuples() as connection:
        query = "select (select count(*) from run), (select count(*) from body), (select count(*) from message)"
        try:
            return Looked(*connection.execute(query).fetchone())
        except (sqlite3.DatabaseError, TypeError):
            return Looked(0, 0, 0)


@contextlib.contextmanager
def _any_bytes(connection: sqlite3.Connection) -> Iterator[None]:
    """Text that is no UTF-8 must neither stop the look nor be taken for what a reader shows in its place."""
    usual = connection.text_factory
    connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
    try:
        yield
    finally:
        connection.text_factory = usual


class _Checking:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._places = Places(connection)

    def file(self, pragma: str) -> Iterator[Finding]:
        for (text,) in self._connection.execute(f"pragma {pragma}"):
            if text != "ok":
                yield Finding("the file", text)

    def schema(self) -> Iterator[Finding]:
        here = {(kind, name): sql for kind, name, sql in self._connection.execute(_SCHEMA)}
        for kind, name, sql in _usual_schema():
            if here.pop((kind, name), None) != sql:
                yield Finding(f"the {kind} {name}", "is not defined as it was made")
        for kind, name in here:
            yield Finding(f"the {kind} {name}", "is none of ours", is_fault=False)

    def references(self) -> Iterator[Finding]:
        for table, columns in _REFERENCES.items():
            place = "run, n" if table == "span" else "id, 0"
            for column, other in columns.items():
                query = (
                    f"select {place} from {table} where {column} is not null "  # noqa: S608
                    f"and not exists (select 1 from {other} o where o.id={table}.{column})"
                )
                for first, second in self._connection.execute(query).fetchall():
                    yield Finding(
                        self._places.of(table, first, second), f"its {column} names a {other} that is not there"
                    )
        query = "select id, run_id from annotation where run_id not in (select run_id from run)"
        for id_, run_id in self._connection.execute(query):
            yield Finding(f"annotation {id_}", f"its run {run_id[:SHORT]} is not there")

    def open_runs(self) -> Iterator[Finding]:
        query = (
            "select r.id, p.host, p.pid, p.born, p.ended_ns from run r join process p on p.id=r.process "
            "where r.end_ns is null order by r.start_ns, r.id"
        )
        for run, host, pid, born, ended in self._connection.execute(query).fetchall():
            if ended is not None or is_alive(host, pid, born) is False:
                yield Finding(self._places.of("run", run), "was never closed, and its process is gone", is_fault=False)

    def texts(self) -> Iterator[Finding]:
        for row, hash_, text, raw, gone in self._connection.execute(_BODIES):
            what = _wrong_text(hash_, text, raw, gone)
            if what is not None:
                place, named = self._places.of_body(row)
                yield Finding(place, f"{named} {what}")

    def messages(self) -> Iterator[Finding]:
        for row, hash_, parent, above, depth, role, body, envelope in self._connection.execute(_MESSAGES):
            if hash_of(parent, role, body, envelope) != hash_ or envelope == "":  # which is hashed as none is
                yield Finding(self._places.of("message", row), "is not what was hashed")
            elif depth != (0 if above is None else above + 1):
                yield Finding(self._places.of("message", row), "does not stand where its history has it")

    def runs(self) -> Iterator[Finding]:
        for run, _, seal, end_ns, redacted in self._connection.execute(_RUNS).fetchall():
            place = self._places.of("run", run)
            if seal is not None:
                for step, call in broken(seal, self._connection, run):
                    what = (
                        "its row is"
                        if step is None
                        else "the row of the model call is"
                        if call is None
                        else "the row of the call is"
                    )
                    yield Finding(at(place, step, call), f"{what} not what was sealed at the end of the run")
                for last, count in self._connection.execute(_NUMBERED, (run,)):
                    if last != count:
                        yield Finding(place, f"of its spans, numbered to {last}, there are {count}")
            elif end_ns is not None and redacted is not None:
                yield Finding(place, "has lost its seal")
            for number, step, idx in self._connection.execute(_SEALED_CALLS, (run,)):
                call = None if idx is None else idx + 1
                yield Finding(at(place, step, call), f"span {number} has a seal of its own, which only others have")
            for number, step, ended, span_seal in self._connection.execute(_FOREIGN, (run,)).fetchall():
                if span_seal is None:
                    if seal is not None and ended is not None:
                        yield Finding(at(place, step), f"span {number} has lost its seal")
                elif span_seal != span_digest(self._connection, run, number):
                    yield Finding(at(place, step), f"span {number} is not what was sealed")

    def lines(self) -> Iterator[Finding]:
        for row, seal, run_id, is_sealed, span, no_span, *line in self._connection.execute(_EVENTS):
            place = f"log line {row}" if run_id is None else f"{at(f'run {run_id[:SHORT]}', line[0])} log line {row}"
            if seal is None:
                if is_sealed:
                    yield Finding(place, "has lost its seal")
            elif seal != digest((run_id, None if no_span else span, *line)):
                yield Finding(place, "is not what was sealed")

    def notes(self) -> Iterator[Finding]:
        for *note, seal, is_sealed in self._connection.execute(_ANNOTATIONS):
            place = f"run {note[1][:SHORT]} annotation {note[0]}"
            if seal is None:
                if is_sealed:
                    yield Finding(place, "has lost its seal")
            elif seal != digest(note):
                yield Finding(place, "is not what was sealed")


@functools.cache
def _usual_schema() -> tuple[tuple[str, str, str | None], ...]:
    with contextlib.closing(memory_store()) as fresh:
        return tuple(fresh.execute(_SCHEMA).fetchall())


def _wrong_text(hash_: bytes, text: bytes, raw: bytes | None, gone: int | None) -> str | None:
    if gone is not None:
        return None if (gone, text, raw) == (1, b"", None) and hash_ != _EMPTY else "is marked as gone, and is there"
    whole = text if raw is None else raw
    if not isinstance(whole, bytes) or hashlib.sha256(whole).digest() != hash_:
        return "is not what was hashed"
    if raw is not None:
        shown, exact = readable(raw.decode("utf-8", "surrogatepass"))  # its hash says that it can be read
        if (shown.encode(), exact) != (text, raw):
            return "is not what its exact bytes are shown as"
    return None


_EMPTY = hashlib.sha256(b"").digest()
