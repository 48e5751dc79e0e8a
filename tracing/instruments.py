"""What a run is recorded with: what all runs of a recorder share, and what a caller says of one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tracing.clock import Clock
from tracing.events import Log
from tracing.ids import Ids
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """What a caller says of a run."""

    session: str | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] | None = None
    version: str | None = None
