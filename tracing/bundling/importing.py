"""A bundle becomes rows of a store: each text and message is held against its hash, and all that a line names must have
come before it."""

import base64
import binascii
import hashlib
import math
import sqlite3
from collections.abc import Iterator
from typing import Any, NamedTuple

from tracing.bundling import lines as bundle_lines
from tracing.bundling.lines import ANNOTATION, BODIES, EVENT, LATER, MESSAGES, PROCESS, RUN, SPAN, Fields, values
from tracing.bundling.reading import HASHED, Reader, Refused
from tracing.chain import hash_of
from tracing.rows import readable


def _insert(table: str, columns: tuple[str, ...], rest: str = "") -> str:
    return f"insert into {table}({','.join(columns)}) values({','.join('?' * len(columns))}){rest}"


# A text that a prune took comes back with a bundle that has it.
_BODY = _insert("body", ("hash", "text", "raw", "gone"), " on conflict(hash) do update set "
                "text=excluded.text, raw=excluded.raw, gone=null where body.gone is not null and excluded.gone is null")  # fmt: skip
_MESSAGE = _insert("message", ("hash", "parent", "depth", "role", "body", "envelope"), " on conflict(hash) do nothing")
_RUN = _insert("run", (*RUN, "process", "imported_ns"))
_SPAN = _insert("span", ("run", *SPAN))
_EVENT = _insert("event", ("run", *EVENT))
_ANNOTATION = _insert("annotation", ANNOTATION)
_PROCESS = _insert("process", PROCESS)
_SAME_PROCESS = f"select id from process where {' and '.join(f'{name} is ?' for name in PROCESS)}"  # noqa: S608
_SAME_EVENT = f"select 1 from event where run=? and {' and '.join(f'{name} is ?' for name in EVENT)}"  # noqa: S608
_SAME_ANNOTATION = f"select {','.join(ANNOTATION)} from annotation where id=?"  # noqa: S608
_IS_OBJECT = "select json_valid(?1) and case when json_valid(?1) then json_type(?1)='object' end"


class Imported(NamedTuple):
    """Numbers of runs."""

    new: int
    known: int
    """Those that were there already, the same."""


class _Current(NamedTuple):
    """The run whose lines come now."""

    run_id: str
    row: int
    known: Iterator[tuple[str, Fields]] | None
    """What the store has of it, where it was there already, without what is late."""
    is_older: bool = False
    """Whether the bundle has it as it was before it ended."""
    end_ns: int | None = None


class Importer:
    """Takes the lines of one bundle, inside a transaction of its owner. The connection gives rows as tuples."""

    def __init__(self, connection: sqlite3.Connection, now_ns: int) -> None:
        self.reader = Reader()
        self._connection = connection
        self._now_ns = now_ns
        self._bodies: dict[bytes, int] = {}
        self._messages: dict[bytes, tuple[int, int]] = {}
        """Row id and depth by hash."""
        self._new = self._known = 0
        self._current: _Current | None = None

    def take(self, line: bytes) -> None:
        """The next line. Raises Refused."""
        found = self.reader.take(line)
        if found is None:
            return
        kind, fields = found
        if kind in (*HASHED, "run", "end"):
            self._complete()
        match kind:
            case "body":
                self._body(fields)
            case "message":
                self._message(fields)
            case "run":
                self._run(fields)
            case "span" | "event":
                self._fact(kind, fields)
            case "annotation":
                self._annotation(fields)

    def close(self) -> Imported:
        """After the last line. Raises Refused."""
        self.reader.close()
        return Imported(self._new, self._known)

    # Texts and messages

    def _body(self, fields: Fields) -> None:
        digest = bytes.fromhex(fields["hash"])
        if digest in self._bodies:
            raise Refused("this text came before")
        if len({"text", "base64", "gone"} & set(fields)) != 1:
            raise Refused("the body must have one of: text, base64, gone")
        text, raw = "", None
        if "gone" not in fields:
            exact = _exact(fields)
            if hashlib.sha256(exact).digest() != digest:
                raise Refused("the text is not what its hash names")
            text, raw = readable(exact.decode("utf-8", "surrogatepass"))
        self._connection.execute(_BODY, (digest, text, raw, 1 if "gone" in fields else None))
        self._bodies[digest] = self._row_of("body", digest)

    def _message(self, fields: Fields) -> None:
        digest = bytes.fromhex(fields["hash"])
        if digest in self._messages:
            raise Refused("this message came before")
        above, body = _digest(fields, "parent"), _digest(fields, "body")
        parent, depth = (None, -1) if above is None else self._messages.get(above, (None, -1))
        if above is not None and parent is None:
            raise Refused("message.parent names a message that no line before has")
        row = None if body is None else self._body_row("message", "body", fields)
        role, envelope = fields["role"], fields.get("envelope")
        if hash_of(above, role, body, envelope) != digest or fields["depth"] != depth + 1:
            raise Refused("the message is not what its hash names")
        self._object("message", "envelope", fields)
        self._connection.execute(_MESSAGE, (digest, parent, depth + 1, role, row, envelope))
        self._messages[digest] = self._row_of("message", digest), depth + 1

    def _row_of(self, table: str, digest: bytes) -> int:
        (row,) = self._connection.execute(f"select id from {table} where hash=?", (digest,)).fetchone()  # noqa: S608
        return int(row)

    def _body_row(self, kind: str, name: str, fields: Fields) -> int:
        row = self._bodies.get(bytes.fromhex(fields[name]))
        if row is None:
            raise Refused(f"{kind}.{name} names a text that no line before has")
        return row

    def _message_row(self, kind: str, name: str, fields: Fields) -> int:
        row, _ = self._messages.get(bytes.fromhex(fields[name]), (None, 0))
        if row is None:
            raise Refused(f"{kind}.{name} names a message that no line before has")
        return row

    def _object(self, kind: str, name: str, fields: Fields) -> None:
        """Views read these columns with SQLite's functions, and one that is no JSON would fail them for every run."""
        if name in fields and self._connection.execute(_IS_OBJECT, (fields[name],)).fetchone() != (1,):
            raise Refused(f"{kind}.{name} must be a JSON object")

    # Runs and what is theirs

    def _run(self, fields: Fields) -> None:
        self._object("run", "attrs", fields)
        columns = self._columns("run", RUN, fields)
        found = self._connection.execute("select id from run where run_id=?", (fields["run_id"],)).fetchone()
        if found is not None and self._was_open(found[0], fields):
            found = None
        if found is not None:
            self._known += 1
            is_older = "end_ns" not in fields and self._is_ended(found[0])
            end_ns = fields.get("end_ns")
            facts = [one for one in bundle_lines.facts(self._connection, found[0]) if not _is_late(*one, end_ns)]
            self._current = _Current(fields["run_id"], found[0], iter(facts), is_older, end_ns)
            self._compare(self._current, "run", fields)
            return
        self._new += 1
        process = values(PROCESS, fields["process"])
        same = self._connection.execute(_SAME_PROCESS, process).fetchone()
        process_row = self._connection.execute(_PROCESS, process).lastrowid if same is None else same[0]
        row = self._connection.execute(_RUN, (*columns, process_row, self._now_ns)).lastrowid
        assert row is not None
        self._current = _Current(fields["run_id"], row, None)

    def _was_open(self, row: int, fields: Fields) -> bool:
        """A run that was imported while it went on is taken anew once it has ended."""
        (imported,) = self._connection.execute("select imported_ns from run where id=?", (row,)).fetchone()
        if imported is None or "end_ns" not in fields or self._is_ended(row):
            return False
        for table in ("span", "event"):
            self._connection.execute(f"delete from {table} where run=?", (row,))  # noqa: S608
        self._connection.execute("delete from run where id=?", (row,))
        return True

    def _is_ended(self, row: int) -> bool:
        return self._connection.execute("select end_ns from run where id=?", (row,)).fetchone()[0] is not None

    def _fact(self, kind: str, fields: Fields) -> None:
        current = self._current
        assert current is not None  # the reader saw its run
        if current.known is None:
            self._insert(current.row, kind, fields)
        elif not current.is_older and _is_late(kind, fields, current.end_ns):
            self._add(current.row, kind, fields)
        else:
            self._compare(current, kind, fields)

    def _insert(self, row: int, kind: str, fields: Fields) -> None:
        if kind == "span":
            self._object("span", "attrs", fields)
            self._connection.execute(_SPAN, (row, *self._columns("span", SPAN, fields)))
        else:
            self._object("event", "fields", fields)
            self._connection.execute(_EVENT, (row, *values(EVENT, fields)))

    def _add(self, row: int, kind: str, fields: Fields) -> None:
        """What is late comes into the store where that has not got it, and stays where only that has it."""
        if kind == "event":
            there = self._connection.execute(_SAME_EVENT, (row, *values(EVENT, fields))).fetchone()
        else:
            span = (row, fields["n"])
            there = self._connection.execute("select end_ns from span where run=? and n=?", span).fetchone()
            if there == (None,) and "end_ns" in fields:
                self._connection.execute("delete from span where run=? and n=?", span)
                there = None
        if there is None:
            self._insert(row, kind, fields)

    def _columns(self, kind: str, names: tuple[str, ...], fields: Fields) -> list[Any]:
        """The columns of a row, with row ids for hashes."""
        columns = dict(zip(names, values(names, fields), strict=True))
        for name in BODIES & fields.keys():
            columns[name] = self._body_row(kind, name, fields)
        for name in MESSAGES & fields.keys():
            columns[name] = self._message_row(kind, name, fields)
        return list(columns.values())

    def _compare(self, current: _Current, kind: str, fields: Fields) -> None:
        assert current.known is not None
        if current.is_older:  # the bundle was made before the run ended, and the store has the whole of it
            return
        there = next(current.known, None)
        if there is None or there[0] != kind or _lasting(there[1]) != _lasting(fields):
            raise _another(current.run_id)

    def _complete(self) -> None:
        """No more lines come of the current run."""
        current, self._current = self._current, None
        if current is not None and current.known is not None and not current.is_older and next(current.known, None):
            raise _another(current.run_id)

    def _annotation(self, fields: Fields) -> None:
        columns = tuple(values(ANNOTATION, fields))
        there = self._connection.execute(_SAME_ANNOTATION, (fields["id"],)).fetchone()
        if there is None:
            self._connection.execute(_ANNOTATION, columns)
        elif there != columns:
            raise Refused(f"the store has another annotation of this id at run {fields['run_id'][:8]}", _ELSEWHERE)


_FOREIGN = 3
_ELSEWHERE = "import it into another store with --db"


def _exact(fields: Fields) -> bytes:
    if "text" in fields:
        return bytes(fields["text"].encode("utf-8", "surrogatepass"))
    try:
        exact = base64.b64decode(fields["base64"], validate=True)
        exact.decode("utf-8", "surrogatepass")
    except (binascii.Error, ValueError):
        raise Refused("body.base64 is no text in base64") from None
    return exact


def _digest(fields: Fields, name: str) -> bytes | None:
    return bytes.fromhex(fields[name]) if name in fields else None


def _is_late(kind: str, fields: Fields, end_ns: int | None) -> bool:
    """Whether a log line or a span of another library is not in the run as it ended: a program may go on."""
    if end_ns is None:
        return False
    if kind == "event":
        return bool(fields["time_ns"] > end_ns)
    return kind == "span" and fields["kind"] == _FOREIGN and fields.get("end_ns", math.inf) > end_ns


def _lasting(fields: Fields) -> Fields:
    return {name: value for name, value in fields.items() if name not in LATER}


def _another(run_id: str) -> Refused:
    return Refused(f"the store has another run {run_id[:8]} with other content", _ELSEWHERE)
