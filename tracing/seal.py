"""Seals: a few bytes of hash over what a row holds, so that a row that was changed later is found and named.

Texts and messages are named by their own hash; a seal does the same for the flat facts of a run and its calls. It is
made when a run ends: a version, then the run's row (8 bytes) and each model and tool call (4 bytes each, in their order), with
hashes in the place of row ids, so that it holds in any file. What may be added later (the price, tags) is outside of
it. A log line, a tag and a span of another library have a seal of their own.
"""

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

VERSION = b"\x01"
"""The first byte of a run's seal; another version is another list of what is sealed."""
RUN_BYTES, SPAN_BYTES = 8, 4

_SPAN = (
    "s.n, hex(s.span_id), hex(s.parent_id), s.kind, s.step, s.idx, s.start_ns, s.end_ns, s.duration_ns, s.name, s.error, "
    "s.model, s.response_model, s.provider, s.finish, s.inp, s.out, s.cached, s.cache_write, s.reasoning, "
    "hex(q.hash), hex(a.hash), hex(e.hash), hex(t.hash), hex(p.hash), s.attempts, s.first_token_ns, s.call_id, "
    "s.arguments, hex(b.hash), hex(w.hash), s.chars, s.truncated, s.attrs, s.tier"
)
_SPANS = (
    f"select {_SPAN} from span s left join message q on q.id=s.request_tip left join message a on a.id=s.response "  # noqa: S608
    "left join body e on e.id=s.settings left join body t on t.id=s.tools left join body p on p.id=s.raw "
    "left join body b on b.id=s.result left join body w on w.id=s.whole where s.run=? and {} order by s.n"
)
_CALLS, _ONE = _SPANS.format("s.kind<3"), _SPANS.format("s.n=?")
_RUN = (
    "select r.run_id, hex(r.trace_id), hex(r.span_id), hex(r.parent_span), r.parent_run, r.fork_step, r.kind, r.session, "
    "r.agent, r.model, r.start_ns, r.end_ns, r.duration_ns, hex(q.hash), hex(f.hash), hex(l.hash), hex(e.hash), "
    "hex(t.hash), hex(a.hash), r.stop, r.error, r.steps, r.tool_calls, r.inp, r.out, r.cached, r.reasoning, "
    "r.unreported, r.redacted, r.attrs from run r left join body q on q.id=r.question "
    "left join message f on f.id=r.start_tip left join message l on l.id=r.tip left join body e on e.id=r.settings "
    "left join body t on t.id=r.tools left join body a on a.id=r.answer where r.id=?"
)

_encode = json.JSONEncoder(separators=(",", ":")).encode


def digest(values: Iterable[Any], size: int = SPAN_BYTES) -> bytes:
    return hashlib.sha256(_encode(list(values)).encode()).digest()[:size]


def seal_of(connection: sqlite3.Connection, run: int) -> bytes:
    """The seal of the run with this row id, as its rows are now. The connection gives rows as tuples."""
    return VERSION + run_digest(connection, run) + b"".join(digest(row) for row in connection.execute(_CALLS, (run,)))


def run_digest(connection: sqlite3.Connection, run: int) -> bytes:
    return digest(connection.execute(_RUN, (run,)).fetchone(), RUN_BYTES)


def span_digest(connection: sqlite3.Connection, run: int, number: int) -> bytes:
    """The seal of one span, for a span of another library."""
    ((run_id,),) = connection.execute("select run_id from run where id=?", (run,)).fetchall()
    return digest((run_id, *connection.execute(_ONE, (run, number)).fetchone()))


def broken(seal: bytes, connection: sqlite3.Connection, run: int) -> list[tuple[int | None, int | None]]:
    """The places of a run that are not what was sealed: (step, call) with call from 1, None for none; (None, None) for
    the run itself."""
    rows: Sequence[Any] = connection.execute(_CALLS, (run,)).fetchall()
    found: list[tuple[int | None, int | None]] = []
    head = len(VERSION) + RUN_BYTES
    is_whole = len(seal) == head + SPAN_BYTES * len(rows)
    if VERSION + run_digest(connection, run) != seal[:head] or not is_whole:
        found.append((None, None))
    if not is_whole:
        return found  # a row more or less: whose seal is whose is not known
    for at, row in enumerate(rows):
        start = head + SPAN_BYTES * at
        if digest(row) != seal[start : start + SPAN_BYTES]:
            step, idx = row[4], row[5]
            found.append((step, None if idx is None else idx + 1))
    return found
