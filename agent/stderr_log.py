"""JSON log events on stderr, through structlog, so that a service's bound fields come along."""

import sys
from collections.abc import Callable, Mapping
from typing import Any

import structlog

from agent.canonical import to_plain
from agent.terminal import json_line, visible


def log_to_stderr(kind: str) -> Callable[[str, str, Mapping[str, Any]], None] | None:
    """A function that logs one event (level, name, fields) as `json` or for the `console`; None for `off`.

    A user's own lines inside a tool go to stderr too, in each case: stdout is the answer.
    """
    processors = structlog.processors
    chain: list[Any] = [
        structlog.contextvars.merge_contextvars,
        processors.add_log_level,
        processors.TimeStamper(fmt="iso", utc=True),
    ]
    if kind == "json":
        chain += [processors.dict_tracebacks, _json_line]
    else:
        chain.append(_visible_line)
        chain.append(structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty()))
    factory = structlog.PrintLoggerFactory(file=sys.stderr)
    if not structlog.is_configured():
        structlog.configure(processors=list(chain), logger_factory=factory)
    if kind == "off":
        return None
    ours = structlog.wrap_logger(factory(), processors=list(chain), wrapper_class=structlog.BoundLogger)

    def log(level: str, name: str, fields: Mapping[str, Any]) -> None:
        # A bound field of the user's may have a name that the event itself needs.
        safe = {f"{key}_" if key in ("event", "level", "timestamp") else key: value for key, value in fields.items()}
        getattr(ours, level)(name, **safe)

    return log


def _json_line(logger: Any, method: str, line: Any) -> str:
    first = {key: line.pop(key) for key in ("timestamp", "level", "event")}
    return json_line(to_plain({**first, **line}))


def _visible_line(logger: Any, method: str, line: Any) -> Any:
    return {visible(str(key)): visible(value) if isinstance(value, str) else value for key, value in line.items()}
