"""The shape of each line of a bundle, as pydantic models: what a stranger's file must be before any of it is stored.

Nothing is converted and no field may be unknown. Why a line is refused is told in our own words, by its field: the
library's text would quote the value, which may be a secret.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from tracing.bundling.lines import Fields

Hash = Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]
Hex = Annotated[str, StringConstraints(pattern="^(?:[0-9a-f]{2})*$")]
RunId = Annotated[str, StringConstraints(pattern="^[0-9a-f]{32}$")]
Int = Annotated[int, Field(ge=-(2**63), lt=2**63)]


class _Shape(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Body(_Shape):
    hash: Hash
    text: str | None = None
    base64: str | None = None
    gone: Literal[True] | None = None


class Message(_Shape):
    hash: Hash
    parent: Hash | None = None
    depth: Annotated[int, Field(ge=0, lt=2**63)]
    role: str
    body: Hash | None = None
    envelope: str | None = None


class Process(_Shape):
    host: str
    pid: Int
    born: str
    started_ns: Int
    ended_ns: Int | None = None


class Run(_Shape):
    run_id: RunId
    trace_id: Hex
    span_id: Hex
    parent_span: Hex | None = None
    parent_run: str | None = None
    fork_step: Int | None = None
    kind: str
    session: str | None = None
    agent: str
    model: str
    start_ns: Int
    end_ns: Int | None = None
    duration_ns: Int | None = None
    question: Hash
    start_tip: Hash | None = None
    tip: Hash | None = None
    settings: Hash
    tools: Hash
    answer: Hash | None = None
    stop: str | None = None
    error: str | None = None
    steps: Int | None = None
    tool_calls: Int | None = None
    inp: Int | None = None
    out: Int | None = None
    cached: Int | None = None
    reasoning: Int | None = None
    unreported: Int | None = None
    redacted: Int | None = None
    attrs: str | None = None
    seal: Hex | None = None
    process: Process


class Span(_Shape):
    run_id: RunId
    n: Int
    span_id: Hex
    parent_id: Hex | None = None
    kind: Annotated[int, Field(ge=1, le=3)]
    step: Int | None = None
    idx: Int | None = None
    start_ns: Int
    end_ns: Int | None = None
    duration_ns: Int | None = None
    name: str
    error: str | None = None
    model: str | None = None
    response_model: str | None = None
    provider: str | None = None
    finish: str | None = None
    inp: Int | None = None
    out: Int | None = None
    cached: Int | None = None
    cache_write: Int | None = None
    reasoning: Int | None = None
    request_tip: Hash | None = None
    response: Hash | None = None
    settings: Hash | None = None
    tools: Hash | None = None
    raw: Hash | None = None
    attempts: Int | None = None
    first_token_ns: Int | None = None
    tier: str | None = None
    cost: Int | None = None
    price: str | None = None
    call_id: str | None = None
    arguments: str | None = None
    result: Hash | None = None
    whole: Hash | None = None
    chars: Int | None = None
    truncated: Int | None = None
    attrs: str | None = None
    seal: Hex | None = None


class Event(_Shape):
    run_id: RunId
    span_id: Hex | None = None
    step: Int | None = None
    time_ns: Int
    level: str
    name: str
    fields: str
    seal: Hex | None = None


class Annotation(_Shape):
    id: str
    run_id: RunId
    step: Int | None = None
    idx: Int | None = None
    time_ns: Int
    kind: str
    name: str | None = None
    value: str | None = None
    seal: Hex | None = None


_SHAPES: dict[str, type[_Shape]] = {
    "body": Body, "message": Message, "run": Run, "span": Span, "event": Event, "annotation": Annotation
}  # fmt: skip
_REASONS = {
    "missing": "is missing",
    "string_type": "must be a text",
    "string_pattern_mismatch": "must be hexadecimal digits, as many as it has",
    "int_type": "must be an integer",
    "greater_than_equal": "is out of its range",
    "less_than": "is out of its range",
    "less_than_equal": "is out of its range",
    "model_type": "must be an object",
}


def what_is_wrong(kind: str, fields: Any) -> str | None:
    """Why `fields` are not those of a line of this kind; None where they are."""
    try:
        _SHAPES[kind].model_validate(fields)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        if first["type"] == "extra_forbidden":
            return f"the {kind} has a field that is not known"
        place = ".".join((kind, *map(str, first["loc"])))
        return f"{place} {_REASONS.get(first['type'], 'is not valid')}"
    return None


def without_nulls(fields: Fields) -> Fields:
    return {name: value for name, value in fields.items() if value is not None}
