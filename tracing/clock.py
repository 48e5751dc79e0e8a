"""Time, as something that is passed in: wall time for when, monotonic time for how long."""

import time
from typing import Protocol


class Clock(Protocol):
    def wall_ns(self) -> int:
        """Nanoseconds since 1970-01-01 UTC; may jump when the machine's clock is set."""
        ...

    def monotonic_ns(self) -> int:
        """Nanoseconds since some moment; never goes back."""
        ...


class SystemClock:
    def __init__(self) -> None:
        self.wall_ns = time.time_ns
        self.monotonic_ns = time.monotonic_ns


class FixedClock:
    """A clock that goes on by `tick_ns` each time it is asked for wall time: the same run, the same times."""

    def __init__(self, start_ns: int = 1_767_225_600_000_000_000, tick_ns: int = 1_000_000) -> None:
        self._now = start_ns
        self._tick = tick_ns

    def wall_ns(self) -> int:
        self._now += self._tick
        return self._now

    def monotonic_ns(self) -> int:
        return self._now
