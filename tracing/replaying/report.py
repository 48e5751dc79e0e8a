"""What a replay comes to: exact, diverged or not replayable, and where."""

from dataclasses import dataclass
from typing import Literal

Outcome = Literal["exact", "diverged", "not_replayable"]

Code = Literal[
    "record",
    "model",
    "system",
    "history",
    "question",
    "tools",
    "settings",
    "limits",
    "response",
    "observation",
    "tool",
    "arguments",
    "not_recorded",
    "unused",
    "stop",
    "error",
    "answer",
    "totals",
]
"""What differs. `record`: the record itself is not what was written. `not_recorded`: a step or call that the record has
not. `unused`: a recorded step or call that nobody asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Divergence:
    code: Code
    step: int | None
    """The step at which it shows; None for the run as a whole."""
    call: int | None = None
    """From 1."""
    where: str = ""
    """What exactly, as a path: `tools.grep_docs.description`, `settings.temperature`, `limits.max_steps`."""
    expected: str | None = None
    """What is recorded; None for nothing."""
    actual: str | None = None

    @property
    def place(self) -> str:
        """`step 3`, `3.2`, or "" for the run."""
        if self.step is None:
            return ""
        return f"step {self.step}" if self.call is None else f"{self.step}.{self.call}"


@dataclass(frozen=True, kw_only=True)
class Report:
    """How a replay went. `divergences` are what differs at the first place that does, and in a replay with live tools or
    another model all that was found."""

    run_id: str
    outcome: Outcome
    divergences: tuple[Divergence, ...] = ()
    reason: str | None = None
    """Why it is not replayable."""
    steps: int = 0
    """Model calls that were compared."""
    calls: int = 0
    """Tool calls that were compared."""
    unused_steps: int = 0
    unused_calls: int = 0
    nearest: int | None = None
    """After a divergence in the history: the recorded step whose question is the nearest."""
    compared: tuple[str, ...] = ()
    taken: tuple[str, ...] = ()
    """What was taken from the record, and so was not compared."""
    ignored: tuple[str, ...] = ()
    """Patterns whose matches were not compared."""
    unstable: tuple[Divergence, ...] = ()
    """Calls of live tools that differ between two runs of their own."""
    redacted: int | None = None
    """Secrets that were taken out of the record."""
    notes: tuple[str, ...] = ()
    """What is to be known beside the outcome."""
    answer: str | None = None
    """The replay's answer."""
    kept: str | None = None
    """The run id under which the replay was kept."""

    @property
    def is_exact(self) -> bool:
        return self.outcome == "exact"

    @property
    def first(self) -> Divergence | None:
        return self.divergences[0] if self.divergences else None


class Diverged(Exception):
    """The replay is not what was recorded."""

    def __init__(self, *divergences: Divergence) -> None:
        super().__init__(", ".join(f"{one.code} at {one.place or 'the end'}" for one in divergences))
        self.divergences = divergences


class RecordEnds(Exception):
    """The record goes no further: the run's process ended, or a part of it was lost."""
