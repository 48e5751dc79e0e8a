"""OpenTelemetry spans: for ids, for context, and for export where somebody listens.

The record does not depend on the SDK's switches. Without a listener a span is only its context, so that the spans of
a tool's own libraries nest under it; with one, a provider of our own makes real spans: always sampled, no limit that
drops attributes in silence, our ids.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.trace import NonRecordingSpan, Span, SpanContext, SpanKind, TraceFlags

from agent.errors import described
from tracing.errors import warn
from tracing.genai import ERROR_TYPE, SCHEMA_URL
from tracing.ids import Ids

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import SpanProcessor, TracerProvider

_SAMPLED = TraceFlags(TraceFlags.SAMPLED)
INTERNAL, CLIENT = SpanKind.INTERNAL, SpanKind.CLIENT


class Spans:
    def __init__(self, ids: Ids, listeners: "Sequence[SpanProcessor]" = ()) -> None:
        self._ids = ids
        self._warned = False
        self._provider: TracerProvider | None = None
        self._tracer: trace.Tracer | None = None
        if listeners:
            self._provider = _provider(ids, listeners)
            self._tracer = self._provider.get_tracer("playhead", schema_url=SCHEMA_URL)

    @property
    def is_heard(self) -> bool:
        """Whether somebody listens: code that is not ours, which runs as spans begin and end."""
        return self._tracer is not None

    def start(
        self,
        name: str,
        parent: Span | None,
        start_ns: int,
        attributes: Callable[[], Mapping[str, Any]],
        kind: SpanKind = INTERNAL,
    ) -> tuple[Span, bytes]:
        """A span under `parent` (None: a new trace), and its id. `attributes` is asked only where somebody listens."""
        if self._tracer is not None and (span := self._real(name, parent, start_ns, attributes, kind)) is not None:
            return span, span_id(span)
        # No listener, or OTEL_SDK_DISABLED: the ids are ours all the same.
        trace = int.from_bytes(self._ids.new(16), "big") if parent is None else parent.get_span_context().trace_id
        own = self._ids.new(8)
        return NonRecordingSpan(SpanContext(trace, int.from_bytes(own, "big"), False, _SAMPLED)), own

    def _real(
        self,
        name: str,
        parent: Span | None,
        start_ns: int,
        attributes: Callable[[], Mapping[str, Any]],
        kind: SpanKind,
    ) -> Span | None:
        assert self._tracer is not None
        try:
            above = (
                otel_context.Context() if parent is None else trace.set_span_in_context(parent, otel_context.Context())
            )
            given = {key: value for key, value in attributes().items() if value is not None}
            span = self._tracer.start_span(name, above, kind, given, start_time=start_ns)
        except Exception as error:  # noqa: BLE001 - a listener that fails must not end the run
            self._trouble(error)
            return None
        return span if span.is_recording() else None  # disabled, the SDK gives back the parent's context

    def end(self, span: Span, end_ns: int, error: str | None, attributes: Callable[[], Mapping[str, Any]]) -> None:
        if self._tracer is None or not span.is_recording():
            return
        try:
            span.set_attributes({key: value for key, value in attributes().items() if value is not None})
            if error is not None:
                span.set_attribute(ERROR_TYPE, error.partition(":")[0])
                span.set_status(trace.Status(trace.StatusCode.ERROR, error))
            span.end(end_ns)
        except Exception as trouble:  # noqa: BLE001 - the same
            self._trouble(trouble)

    def close(self) -> None:
        if self._provider is not None:
            try:
                self._provider.shutdown()
            except Exception as error:  # noqa: BLE001 - the same
                self._trouble(error)

    def _trouble(self, error: Exception) -> None:
        if not self._warned:
            self._warned = True
            warn(f"a span processor failed, and may miss spans: {described(error)}")


def span_id(span: Span) -> bytes:
    return span.get_span_context().span_id.to_bytes(8, "big")


def trace_id(span: Span) -> bytes:
    return span.get_span_context().trace_id.to_bytes(16, "big")


def caller_span() -> Span | None:
    """The span in which the program is right now, if it is in one."""
    span = trace.get_current_span()
    return span if span.get_span_context().is_valid else None


def _provider(ids: Ids, listeners: "Sequence[SpanProcessor]") -> "TracerProvider":
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import SpanLimits, TracerProvider
    from opentelemetry.sdk.trace.id_generator import IdGenerator
    from opentelemetry.sdk.trace.sampling import ALWAYS_ON

    class OurIds(IdGenerator):
        def generate_span_id(self) -> int:
            return int.from_bytes(ids.new(8), "big")

        def generate_trace_id(self) -> int:
            return int.from_bytes(ids.new(16), "big")

    provider = TracerProvider(
        sampler=ALWAYS_ON,
        resource=Resource.create({"service.name": "playhead"}),
        shutdown_on_exit=False,
        id_generator=OurIds(),
        span_limits=SpanLimits(max_span_attributes=1024, max_events=SpanLimits.UNSET, max_links=SpanLimits.UNSET),
    )
    for listener in listeners:
        provider.add_span_processor(listener)
    return provider
