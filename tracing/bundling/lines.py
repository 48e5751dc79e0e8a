"""The lines of a bundle: how what a run holds is written down outside of a store.

One JSON object per line, named by its kind. Row ids never leave a store, so texts and messages are named by their
hash, which is also how they are checked; the other lines carry a `check`, and the last line, `end`, a sha256 of all
bytes before it. Null is left out. What a column holds stands as it is, bytes in hexadecimal, times in nanoseconds.

    {"playhead":"bundle","version":1}
    {"body":{"hash":…,"text":…}}            "base64" in the place of "text" where JSON text could not carry it exactly;
                                            "gone":true where a prune took it
    {"message":{"hash":…,"parent":…,"depth":…,"role":…,"body":…,"envelope":…}}
    {"run":{…,"process":{…}},"check":…}     then its {"span":…}, {"event":…} and {"annotation":…} lines
    {"end":{"lines":…,"runs":…,"sha256":…}}

The order follows from the content: runs by their start, before each the texts and messages that it needs and that no
earlier run had, each before what names it; spans by number, log lines by time, annotations by id.
"""

import base64
import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any

from agent.canonical import escaped

VERSION = 1

Fields = dict[str, Any]

PROCESS = ("host", "pid", "born", "started_ns", "ended_ns")
RUN = (
    "run_id", "trace_id", "span_id", "parent_span", "parent_run", "fork_step", "kind", "session", "agent", "model",
    "start_ns", "end_ns", "duration_ns", "question", "start_tip", "tip", "settings", "tools", "answer", "stop", "error",
    "steps", "tool_calls", "inp", "out", "cached", "reasoning", "unreported", "redacted", "attrs", "seal",
)  # fmt: skip
SPAN = (
    "n", "span_id", "parent_id", "kind", "step", "idx", "start_ns", "end_ns", "duration_ns", "name", "error", "model",
    "response_model", "provider", "finish", "inp", "out", "cached", "cache_write", "reasoning", "request_tip",
    "response", "settings", "tools", "raw", "attempts", "first_token_ns", "tier", "cost", "price", "call_id", "arguments",
    "result", "whole", "chars", "truncated", "attrs", "seal",
)  # fmt: skip
EVENT = ("span_id", "step", "time_ns", "level", "name", "fields", "seal")
ANNOTATION = ("id", "run_id", "step", "idx", "time_ns", "kind", "name", "value", "seal")

BODIES = frozenset({"question", "settings", "tools", "answer", "raw", "result", "whole"})
"""Columns of a run or span that name a text."""
MESSAGES = frozenset({"start_tip", "tip", "request_tip", "response"})
"""Those that name a message."""
BYTES = frozenset({"trace_id", "span_id", "parent_span", "parent_id", "seal"})

LATER = frozenset({"cost", "price", "process"})
"""What may become known after a run ended, and does not make it another run."""


def _columns(alias: str, names: tuple[str, ...]) -> str:
    hashes = {**dict.fromkeys(BODIES, "body"), **dict.fromkeys(MESSAGES, "message")}
    return ",".join(
        f"(select hash from {hashes[name]} where id={alias}.{name})" if name in hashes else f"{alias}.{name}"  # noqa: S608
        for name in names
    )


_RUN = f"select {_columns('r', RUN)},{_columns('p', PROCESS)} from run r left join process p on p.id=r.process where r.id=?"  # noqa: S608
_SPANS = f"select {_columns('s', SPAN)} from span s where s.run=? order by s.n"  # noqa: S608
_EVENTS = f"select {_columns('e', EVENT)} from event e where e.run=? order by e.time_ns, e.id"  # noqa: S608
_ANNOTATIONS = f"select {_columns('a', ANNOTATION)} from annotation a where a.run_id=? order by a.id"  # noqa: S608


def header() -> str:
    return f'{{"playhead":"bundle","version":{VERSION}}}'


def end(lines: int, runs: int, sha256: str) -> str:
    return _text({"end": {"lines": lines, "runs": runs, "sha256": sha256}})


def hashed(kind: str, fields: Fields) -> str:
    """The line of a text or a message."""
    return _text({kind: fields})


def checked(kind: str, fields: Fields) -> str:
    """The line of anything else."""
    return with_check(_text({kind: fields}))


def with_check(text: str) -> str:
    """The object `text` with the check of its bytes as its last field."""
    return f'{text[:-1]},"check":"{hashlib.sha256(text.encode()).hexdigest()[:16]}"}}'


CHECK_SIZE = len(with_check("{}")) - 2
"""Characters that a check adds."""


def said(text: str) -> Fields:
    """A text as the fields that carry it exactly. Two lone surrogates side by side, escaped, would be read as one
    character."""
    if text.isascii() or json.loads(_text(text)) == text:
        return {"text": text}
    return {"base64": base64.b64encode(text.encode("utf-8", "surrogatepass")).decode()}


def facts(connection: sqlite3.Connection, run: int) -> Iterator[tuple[str, Fields]]:
    """A run, its spans and its log lines, as the kinds and fields of their lines."""
    row = connection.execute(_RUN, (run,)).fetchone()
    run_fields = _fields(RUN, row[: len(RUN)])
    of_run = {"run_id": run_fields["run_id"]}
    yield "run", {**run_fields, "process": _fields(PROCESS, row[len(RUN) :])}
    for row in connection.execute(_SPANS, (run,)):
        yield "span", {**of_run, **_fields(SPAN, row)}
    for row in connection.execute(_EVENTS, (run,)):
        yield "event", {**of_run, **_fields(EVENT, row)}


def annotations(connection: sqlite3.Connection, run_id: str) -> Iterator[Fields]:
    for row in connection.execute(_ANNOTATIONS, (run_id,)):
        yield _fields(ANNOTATION, row)


def _fields(names: tuple[str, ...], row: tuple[Any, ...]) -> Fields:
    return {
        name: value.hex() if isinstance(value, bytes) else value
        for name, value in zip(names, row, strict=True)
        if value is not None
    }


def values(names: tuple[str, ...], fields: Mapping[str, Any]) -> list[Any]:
    """The columns of a row without references, from the fields of its line."""
    return [bytes.fromhex(fields[name]) if name in BYTES and name in fields else fields.get(name) for name in names]


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def _text(value: Any) -> str:
    return escaped(_encode(value))
