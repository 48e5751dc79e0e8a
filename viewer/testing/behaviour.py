"""What an agent did in a run, in the terms that a test asks about."""

import json
from dataclasses import dataclass
from typing import Any

from agent.values import Result, Step


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
        calls=[(call.name, _plain(call.arguments)) for call, _ in pairs],
        errors=[(call.name, seen.error) for call, seen in pairs if seen.error is not None],
        stop=result.stop,
        answer=result.answer,
        result=result,
    )


def _plain(arguments: str) -> Any:
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
    return value if isinstance(value, dict) else arguments


def _loose(text: str) -> str:
    return " ".join(text.casefold().split())
