"""The three ports through which the loop touches the world.

Real, scripted, replayed and traced implementations of the same protocol compose by wrapping; so the loop holds no
tracing code, no clock, no randomness and no environment.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from agent.messages import ToolCall
from agent.values import Observation, Request, Response, Stop, ToolSchema, Totals


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInfo:
    """What is known of a model before it is called."""

    name: str
    provider: str
    """As OpenTelemetry's `gen_ai.provider.name`; "playhead" for the models of this package."""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer's text, while it is streamed."""

    text: str


@dataclass(frozen=True, slots=True)
class FirstToken:
    """The first piece of an answer has come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retried:
    """An attempt failed and the model will try again."""

    attempt: int
    """The attempt that failed, from 1."""
    error: str


Tell = Callable[[TextDelta | FirstToken | Retried], None]
"""How streaming and retries are heard without a second loop."""


class Model(Protocol):
    @property
    def info(self) -> ModelInfo: ...

    async def respond(self, request: Request, tell: Tell) -> Response: ...


class Tools(Protocol):
    @property
    def schemas(self) -> tuple[ToolSchema, ...]: ...

    async def call(self, call: ToolCall) -> Observation:
        """Answers every call, failures included; raises only what must end the run."""
        ...


class Budget(Protocol):
    def stop(self, totals: Totals) -> Stop | None:
        """The limit that is reached, or None; asked before each request and before the calls of an answer."""
        ...


def unheard(_: TextDelta | FirstToken | Retried) -> None:
    """A `Tell` that nobody listens to."""
