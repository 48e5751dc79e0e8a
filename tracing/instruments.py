"""What a run is recorded with: what all runs of a recorder share, and what a caller says of one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tracing.clock import Clock
from tracing.events import Log
from tracing.ids import Ids
from tracing.pricer import Pricer
from tracing.redaction import Redaction
from tracing.spans import Spans
from tracing.writer import Writer


@dataclass(frozen=True, slots=True)
class Instruments:
    """What all runs of a recorder share."""

    writer: Writer
    clock: Clock
    ids: Ids
    spans: Spans
    log: Log | None
    redaction: Redaction | None
    pricer: Pricer


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a run comes from, when it is not simply live."""

    kind: str = "live"
    parent_run: str | None = None
    fork_step: int | None = None
    """The first step that was not taken from the parent's record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """What a caller says of a run."""

    session: str | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] | None = None
    version: str | None = None
    source: str | None = None
    """How a command can load the agent again: `module:attribute`, or `docs:DIR`."""
