"""Which failures are tried again, and when: our own policy, so that each attempt is a recorded fact."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TypeVar

from agent.errors import described
from agent.ports import Retried, Tell
from agent.values import Charge

T = TypeVar("T")

RETRIED_STATUS = frozenset({408, 409, 429})
"""And every status from 500 on."""


class Failed(Exception):
    """One attempt failed. `status` is that of the response, None where there was none; `wait` what the server asked
    for, in seconds; `charge` what it may be charged for all the same; the text holds no key."""

    def __init__(
        self,
        text: str,
        *,
        status: int | None = None,
        wait: float | None = None,
        again: bool = True,
        charge: Charge | None = None,
    ) -> None:
        super().__init__(text)
        self.charge = charge
        self.status = status
        self.wait = wait
        self.again = again if status is None else status in RETRIED_STATUS or status >= 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    attempts: int = 4
    """In all, the first included."""
    first_wait: float = 0.5
    """Seconds; doubled from attempt to attempt, up to `longest_wait`, less up to a quarter of it at random."""
    longest_wait: float = 8.0
    deadline: float | None = 600.0
    """Seconds for all attempts and waits together; None for no limit."""

    def wait(self, attempt: int, asked: float | None, jitter: float) -> float:
        """Seconds to wait after `attempt` failed; `jitter` is from 0 to 1. What the server asked for counts, up to a
        minute."""
        if asked is not None and 0 <= asked <= 60:
            return asked
        return float(min(self.first_wait * 2 ** (attempt - 1), self.longest_wait) * (1 - jitter / 4))


async def attempted(
    perform: Callable[[], Awaitable[T]],
    retries: Retries,
    tell: Tell,
    *,
    monotonic: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    jitter: Callable[[], float] = random.random,
) -> T:
    """`perform()`, tried again as `retries` says; each failed attempt that will be is told. Raises the last Failed."""
    until = None if retries.deadline is None else monotonic() + retries.deadline
    attempt = 1
    while True:
        try:
            async with asyncio.timeout(None if until is None else max(until - monotonic(), 0)) as limit:
                return await perform()
        except TimeoutError as error:
            if limit.expired():
                raise Failed(
                    f"no answer within {retries.deadline:g} seconds, in {attempt} attempts", again=False
                ) from error
            raise
        except Failed as error:
            wait = retries.wait(attempt, error.wait, jitter())
            out_of_time = until is not None and monotonic() + wait >= until
            if not error.again or attempt >= retries.attempts or out_of_time:
                raise
            tell(Retried(attempt=attempt, error=described(error).partition(": ")[2]))
            await sleep(wait)
            attempt += 1


def retry_after(value: str | None, now: float) -> float | None:
    """Seconds of a `retry-after` header: a number, or a date (RFC 9110, 10.2.3); None for anything else."""
    if not value:
        return None
    try:
        return float(value)
    except ValueError:
        pass
    try:
        return max(parsedate_to_datetime(value).timestamp() - now, 0.0)
    except (TypeError, ValueError):
        return None
