"""What is written down, as flat values: one kind for each thing that happens in a run.

A fact names runs by id, spans by their number in the run, and texts by hash, never by a row of the file; so it can
wait in memory while the file is busy, and be written later as it is.
"""

from typing import NamedTuple

from tracing.chain import Body, Link


class RunStarted(NamedTuple):
    run_id: str
    trace_id: bytes
    span_id: bytes
    parent_span: bytes | None
    parent_run: str | None
    fork_step: int | None
    kind: str
    session: str | None
    agent: str
    model: str
    start_ns: int
    question: Body
    tip: bytes | None
    settings: Body
    tools: Body
    attrs: str | None
    tags: tuple[str, ...]


class RunEnded(NamedTuple):
    run_id: str
    end_ns: int
    duration_ns: int
    stop: str
    error: str | None
    answer: Body | None
    tip: bytes | None
    steps: int
    tool_calls: int
    input: int | None
    output: int | None
    cached: int | None
    reasoning: int | None
    unreported: int
    redacted: int | None


class Asked(NamedTuple):
    run_id: str
    number: int
    span_id: bytes
    parent_id: bytes
    step: int
    start_ns: int
    model: str
    provider: str
    tip: bytes
    settings: Body
    tools: Body


class Answered(NamedTuple):
    """A model call ended; with `error`, without an answer."""

    run_id: str
    number: int
    end_ns: int
    duration_ns: int
    error: str | None
    response_model: str | None
    finish: str | None
    input: int | None
    output: int | None
    cached: int | None
    cache_write: int | None
    reasoning: int | None
    response: bytes | None
    raw: Body | None
    attempts: int
    first_token_ns: int | None
    tier: str | None
    attrs: str | None
    cost: int | None
    price: str | None


class Priced(NamedTuple):
    """What a model call cost was found out, or why it cannot be."""

    run_id: str
    number: int
    cost: int | None
    price: str


class Called(NamedTuple):
    run_id: str
    number: int
    span_id: bytes
    parent_id: bytes
    step: int
    idx: int
    start_ns: int
    tool: str
    call_id: str
    arguments: str


class Returned(NamedTuple):
    """A tool call ended; without `shown`, because it was abandoned."""

    run_id: str
    number: int
    end_ns: int
    duration_ns: int
    error: str | None
    shown: Body | None
    whole: Body | None
    chars: int | None
    truncated: bool


class SpanStarted(NamedTuple):
    """A span of another library began under a run."""

    run_id: str
    number: int
    span_id: bytes
    parent_id: bytes | None
    step: int | None
    start_ns: int
    name: str


class SpanEnded(NamedTuple):
    run_id: str
    number: int
    end_ns: int
    duration_ns: int
    error: str | None
    attrs: str | None


class Logged(NamedTuple):
    """A line was logged within a run, or about the recorder itself."""

    run_id: str | None
    span_id: bytes | None
    step: int | None
    time_ns: int
    level: str
    name: str
    fields: str


Fact = RunStarted | RunEnded | Link | Asked | Answered | Priced | Called | Returned | SpanStarted | SpanEnded | Logged
"""A link tells that a message was added to a history."""
