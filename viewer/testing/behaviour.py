"""What an agent did in a run, in the terms that a test asks about."""

import json
from dataclasses import dataclass
from math import isfinite
from typing import Any

from agent.values import Result, Step
from tracing.rows import readable

MAX_DEPTH = 40


@dataclass(frozen=True, slots=True)
class Behaviour:
    calls: list[tuple[str, Any]]
    """The tools that were called, in order, each with its arguments: an object, or the raw text where that is none."""
    errors: list[tuple[str, str]]
    """The calls that failed, each with the kind of failure."""
    stop: str
    answer: str | None
    result: Result

    def says(self, text: str) -> bool:
        """Whether the answer holds this text, whatever its case and white space."""
        return _loose(text) in _loose(self.answer or "")


def behaviour_of(result: Result, steps: list[Step]) -> Behaviour:
    pairs = [pair for step in steps for pair in zip(step.response.calls, step.observations, strict=False)]
    return Behaviour(
        calls=[(readable(call.name)[0], plain_arguments(call.arguments)) for call, _ in pairs],
        errors=[(readable(call.name)[0], seen.error) for call, seen in pairs if seen.error is not None],
        stop=result.stop,
        answer=result.answer,
        result=result,
    )


def plain_arguments(arguments: str) -> Any:
    """The arguments as an object; their raw text where they are none, or none that Python could write down."""
    try:
        value = json.loads(arguments, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return arguments
    return value if isinstance(value, dict) and _is_writable(value, MAX_DEPTH) else arguments


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _is_writable(value: Any, depth: int) -> bool:
    if isinstance(value, float):
        return isfinite(value)
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return depth > 0 and all(_is_writable(item, depth - 1) for item in items)


def _loose(text: str) -> str:
    return " ".join(text.casefold().split())
