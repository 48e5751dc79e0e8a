"""A user's own log lines inside a run, into the record.

A processor of ours stands before the last one of structlog's chain (the renderer), so what is recorded is what the
program's own processors made of a line. It is put in place in the list itself, as `structlog.testing.capture_logs`
does, so that loggers which exist already are heard too, and it does nothing outside of a run.
"""

import threading
from collections.abc import MutableMapping
from typing import Any

import structlog

from tracing.place import here

_DROPPED = ("event", "level", "timestamp", "exc_info", "stack_info")
_installing = threading.Lock()


def record_line(logger: Any, method: str, line: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A structlog processor: records the line under the run and the call in which it was logged."""
    place = here.get()
    if place is not None:
        bound = structlog.contextvars.get_contextvars()
        fields = {**bound, **{key: value for key, value in line.items() if key not in _DROPPED}}
        level = str(line.get("level", method))
        place.trace.logged(level, str(line.get("event", "")), fields, place)
    return line


def hear() -> None:
    """Puts `record_line` into structlog's current chain, once."""
    with _installing:
        processors = structlog.get_config()["processors"]
        if isinstance(processors, list) and record_line not in processors:
            processors.insert(max(len(processors) - 1, 0), record_line)
