"""A bundle becomes rows of a store, line by line.

Each line is refused unless its shape, its hash or check, its place and all that it names are right. The order of the
lines is part of that: it finds a line that was moved or doubled where it stands, not only at the end by the sum of all
bytes.
"""

import base64
import binascii
import hashlib
import json
import re
import sqlite3
from collections.abc import Iterator
from typing import Any, NamedTuple

from tracing import bundle_lines
from tracing.bundle_lines import ANNOTATION, BODIES, EVENT, LATER, MESSAGES, PROCESS, RUN, SPAN, Fields, values
from tracing.bundle_shapes import what_is_wrong, without_nulls
from tracing.chain import hash_of
from tracing.rows import readable

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
"""What a lone surrogate is written with."""
_BOM = b"\xef\xbb\xbf"
_ORDER = ("run", "span", "event", "annotation")
_HASHED = ("body", "message")


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


class Refused(Exception):
    """A line is not what a bundle may hold; the text says why."""


class Imported(NamedTuple):
    """Numbers of runs."""

    new: int
    known: int
    """Those that were there already, the same."""


class _Current:
    """The run whose lines come now."""

    def __init__(self, run_id: str, row: int, known: Iterator[tuple[str, Fields]] | None) -> None:
        self.run_id = run_id
        self.row = row
        self.known = known
        """What the store has of it, where it was there already."""
        self.place: tuple[int, Any] = (0, 0)


class Importer:
    """Takes the lines of one bundle, inside a transaction of its owner. The connection gives rows as tuples."""

    def __init__(self, connection: sqlite3.Connection, now_ns: int) -> None:
        self._connection = connection
        self._now_ns = now_ns
        self._bodies: dict[bytes, int] = {}
        self._messages: dict[bytes, tuple[int, int]] = {}
        """Row id and depth by hash."""
        self._sum = hashlib.sha256()
        self.number = 0
        """Of the line that was taken last, from 1."""
        self._lines = 0
        """Before the end line."""
        self._new = self._known = 0
        self._last: tuple[int, str] | None = None
        self._current: _Current | None = None
        self._ended = False

    def take(self, line: bytes) -> None:
        """The next line; it may end as a line of Windows does. Raises Refused."""
        self.number += 1
        line = _bare(line)
        if self._ended:
            if line:
                raise Refused("something follows after the end of the bundle")
        elif self._lines == 0:
            check_header(line)
            self._count(line.removeprefix(_BOM))
        elif line.startswith(b'{"end":'):
            self._end(line)
        else:
            self._take(line)
            self._count(line)

    def close(self) -> Imported:
        """After the last line. Raises Refused for a bundle without its end."""
        if not self._ended:
            self.number += 1
            raise Refused("the bundle ends before its end line: it was cut")
        return Imported(self._new, self._known)

    def _count(self, line: bytes) -> None:
        self._lines += 1
        self._sum.update(line + b"\n")

    def _end(self, line: bytes) -> None:
        self._complete()
        expected = bundle_lines.end(self._lines, self._new + self._known, self._sum.hexdigest())
        if line != expected.encode():
            raise Refused("the lines before the end are not those that were exported: their number or sha256 differs")
        self._ended = True

    def _take(self, line: bytes) -> None:
        try:
            text = line.decode()
            value = json.loads(text)
        except (ValueError, RecursionError):
            raise Refused("it is no JSON in UTF-8, or was cut") from None
        if not isinstance(value, dict):
            raise Refused("it must be a JSON object")
        kind = next(iter(value), "")
        if kind in _HASHED and len(value) == 1:
            fields = self._shaped(kind, value[kind], text)
            self._complete()
            self._body(fields) if kind == "body" else self._message(fields)
        elif kind in _ORDER and set(value) == {kind, "check"}:
            fields = self._shaped(kind, value[kind], text)
            if bundle_lines.with_check(f"{text[: -bundle_lines.CHECK_SIZE - 1]}}}") != text:
                raise Refused(f"the {kind} does not match its check")
            self._fact(kind, fields)
        else:
            raise Refused("it is none of: body, message, run, span, event, annotation, end")

    def _shaped(self, kind: str, fields: Any, text: str) -> Fields:
        wrong = what_is_wrong(kind, fields)
        if wrong is not None:
            raise Refused(wrong)
        if kind != "body" and _SURROGATE.search(text):
            try:
                json.dumps(fields, ensure_ascii=False).encode()
            except UnicodeEncodeError:
                raise Refused(f"the {kind} has a lone surrogate, which only a body may have") from None
        return without_nulls(fields)

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
        self._bodies[digest] = self._row("body", _BODY, (digest, text, raw, 1 if "gone" in fields else None))

    def _message(self, fields: Fields) -> None:
        digest = bytes.fromhex(fields["hash"])
        if digest in self._messages:
            raise Refused("this message came before")
        parent, depth = None, 0
        above, body = fields.get("parent"), fields.get("body")
        if above is not None:
            parent, depth = self._messages.get(bytes.fromhex(above), (None, 0))
            if parent is None:
                raise Refused("message.parent names a message that no line before has")
            depth += 1
        row = None if body is None else self._body_row("message", "body", body)
        made = hash_of(
            above and bytes.fromhex(above), fields["role"], body and bytes.fromhex(body), fields.get("envelope")
        )
        if made != digest or fields["depth"] != depth:
            raise Refused("the message is not what its hash names")
        self._object("message", "envelope", fields)
        columns = (digest, parent, depth, fields["role"], row, fields.get("envelope"))
        self._messages[digest] = (self._row("message", _MESSAGE, columns), depth)

    def _row(self, table: str, statement: str, columns: tuple[Any, ...]) -> int:
        cursor = self._connection.execute(statement, columns)
        if cursor.rowcount == 1 and cursor.lastrowid and table != "body":
            return cursor.lastrowid
        (row,) = self._connection.execute(f"select id from {table} where hash=?", columns[:1]).fetchone()  # noqa: S608
        return int(row)

    def _body_row(self, kind: str, name: str, digest: str) -> int:
        row = self._bodies.get(bytes.fromhex(digest))
        if row is None:
            raise Refused(f"{kind}.{name} names a text that no line before has")
        return row

    def _object(self, kind: str, name: str, fields: Fields) -> None:
        """Views read these columns with SQLite's functions, and one that is no JSON would fail them for every run."""
        if (text := fields.get(name)) is None:
            return
        query = "select json_valid(?1) and case when json_valid(?1) then json_type(?1)='object' end"
        if self._connection.execute(query, (text,)).fetchone() != (1,):
            raise Refused(f"{kind}.{name} must be a JSON object")

    # Runs and what is theirs

    def _fact(self, kind: str, fields: Fields) -> None:
        if kind == "run":
            self._complete()
            self._object("run", "attrs", fields)
            self._begin(fields)
            return
        current = self._current
        if current is None or fields["run_id"] != current.run_id:
            raise Refused(f"the {kind} does not stand behind its run")
        place = {"span": lambda: fields["n"], "event": lambda: fields["time_ns"], "annotation": lambda: fields["id"]}
        here = (_ORDER.index(kind), place[kind]())
        if here < current.place or (here == current.place and kind != "event"):
            raise Refused(f"the {kind} is out of its order, or came before")
        current.place = here
        self._object(kind, {"span": "attrs", "event": "fields"}.get(kind, ""), fields)
        if kind == "annotation":
            self._annotation(fields)
        elif current.known is not None:
            self._compare(kind, fields)
        elif kind == "span":
            self._connection.execute(_SPAN, (current.row, *self._columns("span", SPAN, fields)))
        else:
            self._connection.execute(_EVENT, (current.row, *values(EVENT, fields)))

    def _begin(self, fields: Fields) -> None:
        run_id, position = fields["run_id"], (fields["start_ns"], fields["run_id"])
        if self._last is not None and position <= self._last:
            raise Refused("the run is out of its order, or came before")
        self._last = position
        columns = self._columns("run", RUN, fields)
        found = self._connection.execute("select id from run where run_id=?", (run_id,)).fetchone()
        if found is not None:
            self._known += 1
            self._current = _Current(run_id, found[0], bundle_lines.facts(self._connection, found[0]))
            self._compare("run", fields)
            return
        self._new += 1
        process = values(PROCESS, fields["process"])
        same = self._connection.execute(_SAME_PROCESS, process).fetchone()
        process_row = self._connection.execute(_PROCESS, process).lastrowid if same is None else same[0]
        row = self._connection.execute(_RUN, (*columns, process_row, self._now_ns)).lastrowid
        assert row is not None
        self._current = _Current(run_id, row, None)

    def _columns(self, kind: str, names: tuple[str, ...], fields: Fields) -> list[Any]:
        rows = dict(zip(names, values(names, fields), strict=True))
        for name in names:
            if name not in fields:
                continue
            if name in BODIES:
                rows[name] = self._body_row(kind, name, fields[name])
            elif name in MESSAGES:
                found = self._messages.get(bytes.fromhex(fields[name]))
                if found is None:
                    raise Refused(f"{kind}.{name} names a message that no line before has")
                rows[name] = found[0]
        return list(rows.values())

    def _compare(self, kind: str, fields: Fields) -> None:
        assert self._current is not None
        assert self._current.known is not None
        there = next(self._current.known, None)
        if there is None or there[0] != kind or _lasting(there[1]) != _lasting(fields):
            raise _another(self._current.run_id)

    def _complete(self) -> None:
        """No more lines come of the current run."""
        if self._current is not None and self._current.known is not None and next(self._current.known, None):
            raise _another(self._current.run_id)
        self._current = None

    def _annotation(self, fields: Fields) -> None:
        query = f"select {','.join(ANNOTATION)} from annotation where id=?"  # noqa: S608
        columns = tuple(values(ANNOTATION, fields))
        there = self._connection.execute(query, (fields["id"],)).fetchone()
        if there is None:
            self._connection.execute(_ANNOTATION, columns)
        elif there != columns:
            raise Refused(f"the store has another annotation of this id at run {fields['run_id'][:8]}")


def _bare(line: bytes) -> bytes:
    """A line without its end, which git may have changed."""
    return line[:-2] if line.endswith(b"\r\n") else line.removesuffix(b"\n")


def check_header(line: bytes) -> None:
    """Raises Refused for what is not the first line of a bundle that we can read."""
    line = _bare(line).removeprefix(_BOM)
    if line == bundle_lines.header().encode():
        return
    try:
        value = json.loads(line.decode())
        version = value["version"] if value["playhead"] == "bundle" else None
    except (ValueError, RecursionError, TypeError, KeyError):
        version = None
    if isinstance(version, int) and version > bundle_lines.VERSION:
        raise Refused(
            f"the bundle has version {version}, and this Playhead knows {bundle_lines.VERSION}: upgrade Playhead"
        )
    raise Refused("it is not the first line of a bundle")


def _exact(fields: Fields) -> bytes:
    if "text" in fields:
        return bytes(fields["text"].encode("utf-8", "surrogatepass"))
    try:
        exact = base64.b64decode(fields["base64"], validate=True)
        exact.decode("utf-8", "surrogatepass")
    except (binascii.Error, ValueError):
        raise Refused("body.base64 is no text in base64") from None
    return exact


def _lasting(fields: Fields) -> Fields:
    return {name: value for name, value in fields.items() if name not in LATER}


def _another(run_id: str) -> Refused:
    return Refused(f"the store has another run {run_id[:8]} with other content")
