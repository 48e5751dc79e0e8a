"""Spans of a tool's own libraries (HTTP clients, databases), stored under the run they belong to."""

import contextlib
import sys
import threading
from typing import TYPE_CHECKING, Any

from tracing.place import Place, here

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import ReadableSpan, Span

_installing = threading.Lock()


class ForeignSpans:
    """An OpenTelemetry span processor. It never raises: an exception in `on_start` would reach the program."""

    def __init__(self) -> None:
        self._open: dict[int, tuple[Place, int]] = {}

    def on_start(self, span: "Span", parent_context: "Context | None" = None) -> None:
        place = here.get()
        context = span.get_span_context()
        if place is None or context is None or context.trace_id.to_bytes(16, "big") != place.trace.trace_id:
            return
        with contextlib.suppress(Exception):
            parent = span.parent and span.parent.span_id.to_bytes(8, "big")
            own = context.span_id.to_bytes(8, "big")
            number = place.trace.span_started(span.name, own, parent, place.step, span.start_time or 0)
            self._open[context.span_id] = (place, number)

    def on_end(self, span: "ReadableSpan") -> None:
        context = span.get_span_context()
        place, number = self._open.pop(context.span_id, (None, 0)) if context is not None else (None, 0)
        if place is None:
            return
        with contextlib.suppress(Exception):
            failed = span.status.status_code.name == "ERROR"
            error = (span.status.description or "error") if failed else None
            start, end = span.start_time or 0, span.end_time or 0
            events = [(one.name, one.timestamp, dict(one.attributes or {})) for one in span.events]
            place.trace.span_ended(number, start, end, error, dict(span.attributes or {}), events)

    def _on_ending(self, span: "Span") -> None:
        """The SDK calls this of every processor."""

    def shutdown(self) -> None:
        self._open.clear()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return True


def hear() -> None:
    """Listens to the program's own tracer provider, if it has one; each provider once."""
    sdk: Any = sys.modules.get("opentelemetry.sdk.trace")
    if sdk is None:
        return  # nobody makes real spans
    from opentelemetry import trace

    provider = trace.get_tracer_provider()
    if isinstance(provider, sdk.TracerProvider):
        with _installing:
            if not hasattr(provider, "_playhead_hears"):
                provider._playhead_hears = True
                provider.add_span_processor(ForeignSpans())
