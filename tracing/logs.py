"""A user's own log lines inside a run, into the record.

A processor of ours stands before the last one of structlog's chain (the renderer), so what is recorded is what the
program's own processors made of a line. It is put in place in the list itself, as `structlog.testing.capture_logs`
does, so that loggers which exist already are heard too, and it does nothing outside of a run. A chain that is set up
within a run is heard from the next call on.
"""

import threading
from collections.abc import Mapping
from typing import Any, TypeVar

import structlog

from agent.canonical import to_plain
from agent.errors import described
from tracing.errors import warn
from tracing.place import Place, here

_DROPPED = ("event", "level", "timestamp", "exc_info", "stack_info")
_NAMES = ("event", "msg", "message")
"""Where a chain may have put what a line says."""
_installing = threading.Lock()

Line = TypeVar("Line")


def record_line(logger: Any, method: str, line: Line) -> Line:
    """A structlog processor: records the line under the run and the call in which it was logged, and never raises."""
    place = here.get()
    if place is not None:
        try:
            _record(place, method, line)
        except Exception as error:  # noqa: BLE001 - no fault of the record may reach the agent
            warn(f"a log line of run {place.trace.run_id[:8]} was not recorded: {described(error)}")
    return line


def _record(place: Place, method: str, line: Any) -> None:
    if not isinstance(line, Mapping):
        line = {"event": line}  # a text, or what else the chain has made of it already
    fields = {**structlog.contextvars.get_contextvars(), **{key: line[key] for key in line if key not in _DROPPED}}
    name = to_plain(next((line[key] for key in _NAMES if key in line), ""))
    place.trace.logged(str(line.get("level", method)), str(name), fields, place)


def hear() -> None:
    """Puts `record_line` into structlog's current chain, once."""
    with _installing:
        processors = structlog.get_config()["processors"]
        if record_line in processors:
            return
        if not isinstance(processors, list):
            processors = list(processors)
            structlog.configure(processors=processors)
        processors.insert(max(len(processors) - 1, 0), record_line)
