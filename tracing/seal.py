"""Seals: a few bytes of hash over what a row holds, so that a row that was changed later is found and named.

Texts and messages are named by their own hash; a seal does the same for the flat facts of a run and its calls. It is
made when a run ends: a version, then the run's row (8 bytes) and each model and tool call (4 bytes each, in their order), with
hashes in the place of row ids, so that it holds in any file. What may be added later (the price, tags) is outside of
it. A log line, a tag and a span of another library have a seal of their own.
"""

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

RUN_BYTES, SPAN_BYTES = 8, 4

_SPAN = (
    "s.n, hex(s.span_id), hex(s.parent_id), s.kind, s.step, s.idx, s.start_ns, s.end_ns, s.duration_ns, s.name, s.error, "
    "s.model, s.response_model, s.provider, s.finish, s.inp, s.out, s.cached, s.cache_write, s.reasoning, "
    "hex(q.hash), hex(a.hash), hex(e.hash), hex(t.hash), hex(p.hash), s.attempts, s.first_token_ns, s.call_id, "
    "s.arguments, hex(b.hash), hex(w.hash), s.chars, s.truncated, s.attrs, s.tier"
)
_OF_SPAN = (
    "from span s left join message q on q.id=s.request_tip left join message a on a.id=s.response "
    "left join body e on e.id=s.settings left join body t on t.id=s.tools left join body p on p.id=s.raw "
    "left join body b on b.id=s.result left join body w on w.id=s.whole where s.run=? and "
)
_RUN = (
    "r.run_id, hex(r.trace_id), hex(r.span_id), hex(r.parent_span), r.parent_run, r.fork_step, r.kind, r.session, "
    "r.agent, r.model, r.start_ns, r.end_ns, r.duration_ns, hex(q.hash), hex(f.hash), hex(l.hash), hex(e.hash), "
    "hex(t.hash), hex(a.hash), r.stop, r.error, r.steps, r.tool_calls, r.inp, r.out, r.cached, r.reasoning, "
    "r.unreported, r.redacted, r.attrs"
)
_OF_RUN = (
    "from run r left join body q on q.id=r.question "
    "left join message f on f.id=r.start_tip left join message l on l.id=r.tip left join body e on e.id=r.settings "
    "left join body t on t.id=r.tools left join body a on a.id=r.answer where r.id=?"
)
_ONE = f"select {_SPAN} {_OF_SPAN} s.n=?"


class _Version(NamedTuple):
    """What is sealed, and as which text."""

    byte: bytes
    """The first byte of a run's seal."""
    run: str
    calls: str
    """Queries for rows of which the first columns are `step, idx`."""
    text: Callable[[Sequence[Any]], str]
    """The text of the rest of a row."""


def _json(values: Sequence[Any]) -> str:
    return json.dumps(values, separators=(",", ":"))


def _literals(columns: str) -> str:
    """The columns as one text, each as an SQL literal, made by SQLite: half the work of a JSON list made here."""
    return f"printf('{','.join(['%Q'] * len(columns.split(', ')))}', {columns})"


def _without_nul(values: Sequence[Any]) -> str:
    """A literal ends at a NUL, which no column has that we wrote."""
    text, *columns = values
    return "" if any("\0" in value for value in columns if isinstance(value, str)) else str(text)


def _run_query(columns: str) -> str:
    return f"select null, null, {columns} {_OF_RUN}"


def _calls_query(columns: str) -> str:
    return f"select s.step, s.idx, {columns} {_OF_SPAN} s.kind<3 order by s.n"


_RUN_TEXT, _CALL_TEXT = _literals(_RUN), _literals(_SPAN)
_NEWEST = b"\x02"
_SEALED_RUN, _SEALED_CALLS = _run_query(_RUN_TEXT), _calls_query(_CALL_TEXT)
_VERSIONS = {
    version.byte: version
    for version in (
        _Version(b"\x01", _run_query(_RUN), _calls_query(_SPAN), _json),
        _Version(_NEWEST, _run_query(f"{_RUN_TEXT}, {_RUN}"), _calls_query(f"{_CALL_TEXT}, {_SPAN}"), _without_nul),
    )
}


def digest(values: Iterable[Any], size: int = SPAN_BYTES) -> bytes:
    return _hash(_json(list(values)), size)


def seal_of(connection: sqlite3.Connection, run: int) -> bytes:
    """The seal of the run with this row id, as its rows are now. The connection gives rows as tuples."""
    _, _, text = connection.execute(_SEALED_RUN, (run,)).fetchone()
    calls = connection.execute(_SEALED_CALLS, (run,))
    return b"".join([_NEWEST, _hash(text, RUN_BYTES), *(_hash(text, SPAN_BYTES) for _, _, text in calls)])


def span_digest(connection: sqlite3.Connection, run: int, number: int) -> bytes:
    """The seal of one span, for a span of another library."""
    ((run_id,),) = connection.execute("select run_id from run where id=?", (run,)).fetchall()
    return digest((run_id, *connection.execute(_ONE, (run, number)).fetchone()))


def broken(seal: bytes, connection: sqlite3.Connection, run: int) -> list[tuple[int | None, int | None]]:
    """The places of a run that are not what was sealed: (step, call) with call from 1, None for none; (None, None) for
    the run itself."""
    version = _VERSIONS.get(seal[:1])
    if version is None:
        return [(None, None)]
    rows = connection.execute(version.calls, (run,)).fetchall()
    found: list[tuple[int | None, int | None]] = []
    head = 1 + RUN_BYTES
    is_whole = len(seal) == head + SPAN_BYTES * len(rows)
    if _run_seal(version, connection, run) != seal[:head] or not is_whole:
        found.append((None, None))
    if not is_whole:
        return found  # a row more or less: whose seal is whose is not known
    for at, (step, idx, *row) in enumerate(rows):
        start = head + SPAN_BYTES * at
        if _hash(version.text(row), SPAN_BYTES) != seal[start : start + SPAN_BYTES]:
            found.append((step, None if idx is None else idx + 1))
    return found


def _run_seal(version: _Version, connection: sqlite3.Connection, run: int) -> bytes:
    _, _, *row = connection.execute(version.run, (run,)).fetchone()
    return version.byte + _hash(version.text(row), RUN_BYTES)


def _hash(text: str, size: int) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:size]
