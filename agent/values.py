"""The values that pass between the loop and its ports.

All are frozen. A number that is not known is None and stays None in every sum that it would have changed: a total
that lacks a part says so (`Totals.unreported`), it never counts the part as zero.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from agent.messages import Message, ToolCall

Stop = Literal[
    "answered",
    "max_steps",
    "token_limit",
    "cost_limit",
    "time_limit",
    "refused",
    "content_filter",
    "output_limit",
    "failed",
    "cancelled",
]
"""How a run ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens; None where the provider did not say."""

    input: int | None = None
    """All input tokens, the cached ones included."""
    output: int | None = None
    """All output tokens, the reasoning ones included."""
    cached: int | None = None
    reasoning: int | None = None
    cache_write: int | None = None

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            input=_add(self.input, other.input),
            output=_add(self.output, other.output),
            cached=_add(self.cached, other.cached),
            reasoning=_add(self.reasoning, other.reasoning),
            cache_write=_add(self.cache_write, other.cache_write),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """What a run has used so far."""

    steps: int = 0
    """Model calls that were answered."""
    tool_calls: int = 0
    usage: Usage = Usage()
    unreported: int = 0
    """Answers whose input or output tokens are not known; with any, `usage` is a lower bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSchema:
    """A tool as the model sees it."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """JSON Schema of the arguments object."""
    strict: bool | None = None
    """Whether the provider is asked to keep to the schema; None leaves it to the provider."""

    def to_dict(self) -> dict[str, Any]:
        """The chat completions form."""
        function: dict[str, Any] = {
            "name": self.name,
            "description": self.description,
            "parameters": self.parameters,
        }
        if self.strict is not None:
            function["strict"] = self.strict
        return {"type": "function", "function": function}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What the model is asked at one step."""

    step: int
    messages: tuple[Message, ...]
    tools: tuple[ToolSchema, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """An attempt that failed, and may be charged all the same."""

    usage: Usage | None
    """None where nobody said how much."""
    model: str | None = None
    tier: str | None = None


def charged(charges: tuple[Charge, ...]) -> Usage:
    """What is known of the usage of failed attempts."""
    return sum((charge.usage for charge in charges if charge.usage is not None), Usage())


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """What the model answered."""

    message: Message
    """The answer as it goes into the history: always valid to send back."""
    calls: tuple[ToolCall, ...] = ()
    """The calls that the message asks for, with the model's raw arguments, the step and the index."""
    usage: Usage = Usage()
    finish: str | None = None
    """The provider's finish reason, as it came."""
    model: str | None = None
    """The model that answered, as the provider names it; None where it did not say."""
    tier: str | None = None
    """The provider's service tier, as it came."""
    raw: str | None = None
    """The provider's message as JSON text, only where it differs from `message`."""
    charges: tuple[Charge, ...] = ()
    """Attempts that failed before; their usage is not in `usage`."""
    replayed: bool = False
    """Taken from a record: nobody was asked, and nothing was spent."""

    @property
    def spent(self) -> Usage:
        """What the call used in all, as far as it is known."""
        return self.usage + charged(self.charges) if self.charges else self.usage

    def checked(self) -> "Response":
        """This response, if a run can go on from it. Raises ValueError."""
        if len(self.calls) != len(self.message.tool_calls):
            raise ValueError("the calls of a response are not those of its message")
        if not isinstance(self.usage, Usage):
            raise ValueError("the usage of a response must be a Usage: Usage() where it is not known")
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What came of a tool call."""

    shown: str
    """What the model gets to read."""
    whole: str
    """What the tool returned, uncut."""
    truncated: bool = False
    error: str | None = None
    """None for success, else the kind of failure: "unknown_tool", "bad_arguments", "timeout", "not_run", or the type
    of the exception. The sentence for the model is in `shown`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One finished step, as `on_step` hears of it."""

    number: int
    response: Response
    observations: tuple[Observation, ...]
    """One for each of `response.calls`, in the same order."""
    totals: Totals


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """How a run ended."""

    answer: str | None
    """None when it stopped without one."""
    stop: Stop
    stats: Totals
    messages: tuple[Message, ...]
    """The whole history, to pass on as `history=` of the next turn."""
    finish: str | None = None
    """The finish reason of the last answer, as it came: "length" for one that was cut at the model's output limit."""
    run_id: str | None = None
    """32 hexadecimal digits when the run was recorded."""


def _add(one: int | None, other: int | None) -> int | None:
    if one is None or other is None:
        return one if other is None else other
    return one + other
