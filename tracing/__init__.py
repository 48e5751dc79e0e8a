"""Recording runs, and reading the record.

Importing this package does nothing but define names; each is loaded when it is first used (PEP 562).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tracing.clock import FixedClock as FixedClock
    from tracing.clock import SystemClock as SystemClock
    from tracing.errors import NoSuchRun as NoSuchRun
    from tracing.errors import RecorderWarning as RecorderWarning
    from tracing.errors import StoreError as StoreError
    from tracing.forking import fork as fork
    from tracing.ids import CountingIds as CountingIds
    from tracing.ids import RandomIds as RandomIds
    from tracing.recorder import Recorder as Recorder
    from tracing.recording import Recording as Recording
    from tracing.redaction import Redaction as Redaction
    from tracing.replaying.replay import replay as replay
    from tracing.replaying.report import Divergence as Divergence
    from tracing.replaying.report import Report as Report
    from tracing.store import Store as Store
    from tracing.store import open_store as open_store

_HOMES = {
    "CountingIds": "tracing.ids",
    "Divergence": "tracing.replaying.report",
    "FixedClock": "tracing.clock",
    "NoSuchRun": "tracing.errors",
    "RandomIds": "tracing.ids",
    "Recorder": "tracing.recorder",
    "RecorderWarning": "tracing.errors",
    "Recording": "tracing.recording",
    "Redaction": "tracing.redaction",
    "Report": "tracing.replaying.report",
    "Store": "tracing.store",
    "StoreError": "tracing.errors",
    "SystemClock": "tracing.clock",
    "fork": "tracing.forking",
    "open_store": "tracing.store",
    "replay": "tracing.replaying.replay",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'tracing' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(home), name)
    return value


def __dir__() -> list[str]:
    return __all__
