"""Limits: how far a run may go.

Both ends of a run are needed, the model's own answer and a limit, because a model can repeat one call for ever and
each step costs money. `Limits` is a value; `Meter` is the budget that counts one run against it.
"""

import dataclasses
import time
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from agent.errors import warn
from agent.values import Stop, Totals


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    max_steps: int = 8
    """Model calls. The tool calls of the last step are still executed, then the run stops."""
    max_seconds: float | None = None
    """Wall time, looked at before each request and before the calls of an answer."""
    max_tokens: int | None = None
    """Input and output tokens together, as far as they are known."""
    max_cost_usd: float | None = None
    """Dollars, 0 for none at all; see `agent.metering`. A model without a price cannot be limited, which is told at the start."""
    max_parallel: int = 8
    """Calls of one message that run at the same time; 1 runs them one by one, in order."""

    def __post_init__(self) -> None:
        for name in ("max_steps", "max_parallel"):
            if not _is_count(value := getattr(self, name)) or value < 1:
                raise ValueError(f"{name} must be a whole number of at least 1, not {value!r}")
        if self.max_tokens is not None and (not _is_count(self.max_tokens) or self.max_tokens < 0):
            raise ValueError(f"max_tokens must be a whole number from 0 on, or None, not {self.max_tokens!r}")
        for name, unit in (("max_seconds", "seconds"), ("max_cost_usd", "dollars")):
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, _amount(name, unit, value))


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _amount(name: str, unit: str, value: object) -> float:
    is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    try:
        amount = float(value) if is_number else -1.0  # type: ignore[arg-type]
    except (OverflowError, ValueError):
        amount = -1.0
    if not 0 <= amount < float("inf"):
        raise ValueError(f"{name} must be a number of {unit} from 0 on, not {value!r}")
    return amount


def as_plain(limits: Limits) -> dict[str, int | float]:
    """The limits that are set, by name."""
    return {name: value for name, value in dataclasses.asdict(limits).items() if value is not None}


class Meter:
    """The budget of one run; its time starts when it is made."""

    def __init__(
        self,
        limits: Limits,
        monotonic: Callable[[], float] = time.monotonic,
        spent: Callable[[], int] = lambda: 0,
    ) -> None:
        """`spent` says what the run has cost so far, in nano-dollars."""
        self._limits = limits
        self._spent = spent
        self._monotonic = monotonic
        self._start = monotonic()
        self._warned = False

    def stop(self, totals: Totals) -> Stop | None:
        limits = self._limits
        if limits.max_tokens is not None:
            used = (totals.usage.input or 0) + (totals.usage.output or 0)
            if used >= limits.max_tokens:
                return "token_limit"
            if totals.unreported and not self._warned:
                self._warned = True
                warn("max_tokens cannot be kept to: the model does not say how many tokens it used")
        if limits.max_cost_usd is not None and self._spent() >= limits.max_cost_usd * 1e9:
            return "cost_limit"
        if limits.max_seconds is not None and self._monotonic() - self._start >= limits.max_seconds:
            return "time_limit"
        return "max_steps" if totals.steps >= limits.max_steps else None
