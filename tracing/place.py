"""Where in which run the code is that runs right now: for nested runs, a user's log lines, and libraries' spans."""

from contextvars import ContextVar
from typing import TYPE_CHECKING

from opentelemetry import context as otel_context
from opentelemetry import trace as otel
from opentelemetry.trace import Span

if TYPE_CHECKING:
    from tracing.run_trace import RunTrace


class Place:
    """A run, or one of its calls. A block of it makes it the one where the code is, for OpenTelemetry too."""

    __slots__ = ("_attached", "_token", "span", "span_id", "step", "trace")

    def __init__(self, trace: "RunTrace", span: Span, span_id: bytes, step: int | None) -> None:
        self.trace, self.span, self.span_id, self.step = trace, span, span_id, step

    def __enter__(self) -> None:
        self._token = here.set(self)
        self._attached = otel_context.attach(otel.set_span_in_context(self.span))

    def __exit__(self, *_: object) -> None:
        try:
            here.reset(self._token)
        except ValueError:  # a coroutine that nobody awaits is closed from a context that is not its own
            return
        otel_context.detach(self._attached)


here: ContextVar[Place | None] = ContextVar("playhead_place", default=None)


class OpenCall(Place):
    """A model or tool call that has begun."""

    __slots__ = ("at_ns", "attempts", "first_token_ns", "name", "number", "provider", "start_ns")

    step: int

    def __init__(
        self, trace: "RunTrace", span: Span, span_id: bytes, step: int, number: int, name: str, provider: str,
        at_ns: int, start_ns: int,
    ) -> None:  # fmt: skip
        """`at_ns` is the wall clock's, `start_ns` monotonic; `provider` is that of a model call."""
        self.trace, self.span, self.span_id, self.step = trace, span, span_id, step
        self.number, self.name, self.provider, self.at_ns, self.start_ns = number, name, provider, at_ns, start_ns
        self.attempts = 1
        self.first_token_ns: int | None = None
