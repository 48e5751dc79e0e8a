"""Ids of runs, traces and spans, as something that is passed in."""

import os
from typing import Protocol


class Ids(Protocol):
    def new(self, size: int) -> bytes:
        """`size` bytes, never all zero (OpenTelemetry's invalid id)."""
        ...


class RandomIds:
    """From the operating system: a program that seeds `random` would otherwise repeat its ids."""

    def new(self, size: int) -> bytes:
        made = os.urandom(size)
        return made if any(made) else self.new(size)


class CountingIds:
    """1, 2, 3 and so on."""

    def __init__(self) -> None:
        self._last = 0

    def new(self, size: int) -> bytes:
        self._last += 1
        return self._last.to_bytes(size, "big")
