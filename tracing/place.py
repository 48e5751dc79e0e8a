"""Where in which run the code is that runs right now: for nested runs, a user's log lines, and libraries' spans."""

from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple

from opentelemetry import context as otel_context
from opentelemetry import trace as otel
from opentelemetry.trace import Span

if TYPE_CHECKING:
    from tracing.run_trace import RunTrace


class Place(NamedTuple):
    trace: "RunTrace"
    span: bytes
    """The run's span, or that of the call."""
    step: int | None


here: ContextVar[Place | None] = ContextVar("playhead_place", default=None)


class Inside:
    """Makes a place the one where the code is, for OpenTelemetry too, while the block runs."""

    __slots__ = ("_otel", "_place", "_span", "_token")

    def __init__(self, place: Place, span: Span) -> None:
        self._place, self._span = place, span

    def __enter__(self) -> None:
        self._token = here.set(self._place)
        self._otel = otel_context.attach(otel.set_span_in_context(self._span))

    def __exit__(self, *_: object) -> None:
        otel_context.detach(self._otel)
        here.reset(self._token)


class OpenCall:
    """A model or tool call that has begun."""

    __slots__ = (
        "at_ns", "attempts", "first_token_ns", "name", "number", "place", "provider", "span", "start_ns", "step"
    )  # fmt: skip

    def __init__(
        self, number: int, span: Span, place: Place, start_ns: int, step: int, name: str, provider: str, at_ns: int
    ) -> None:
        """`start_ns` is monotonic, `at_ns` the wall clock's; `provider` is that of a model call."""
        self.number, self.span, self.place, self.start_ns = number, span, place, start_ns
        self.step, self.name, self.provider, self.at_ns = step, name, provider, at_ns
        self.attempts = 1
        self.first_token_ns: int | None = None
