"""Prices model calls while they are recorded: once, at the price of their time, and never on the agent's way.

What costs nothing is known at once, and the rest as soon as the price list is loaded: a thread does that while the
first answer is awaited, and fills in the cost of the calls that ended before. What is not priced when the recorder
closes is left as it is, not tried, for `viewer prices apply`.
"""

import os
import queue
import threading
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import NamedTuple

from agent.errors import described
from agent.pricing import FREE, NOT_CHARGED, OURS, REPLAYED, PriceBook, Priced, is_loaded
from agent.values import Charge, Usage
from tracing import facts
from tracing.errors import warn
from tracing.facts import Fact

CLOSE_SECONDS = 3.0
"""How long a recorder that is closed waits for what is still to be priced."""


class Ended(NamedTuple):
    """A model call that has ended."""

    run_id: str
    number: int
    model: str
    response_model: str | None
    provider: str
    when_ns: int
    usage: Usage | None
    """None where there was no answer."""
    tier: str | None
    charges: tuple[Charge, ...]
    replayed: bool = False


class Pricer:
    def __init__(self, prices: PriceBook, write: Callable[[Iterable[Fact]], None]) -> None:
        self._prices, self._write = prices, write
        self._thread: threading.Thread | None = None
        self._pid = 0
        self._warned = False
        self._waiting: queue.SimpleQueue[Ended | None] = queue.SimpleQueue()
        self._lock = threading.Lock()

    def expect(self, model: str, provider: str) -> None:
        """A call begins whose price will be asked for: what is needed for that is loaded meanwhile."""
        if provider != OURS and (self._thread is None or self._pid != os.getpid()):
            self._begin(model, provider)

    def price(self, call: Ended) -> Priced | None:
        """What a call cost, as far as that can be told at once; None for one that is to be added."""
        if call.replayed:
            return REPLAYED
        if call.provider == OURS:
            return FREE
        if call.usage is None and not call.charges:
            return NOT_CHARGED
        try:
            return self._price(call) if is_loaded() else None
        except Exception as error:  # noqa: BLE001 - a price that cannot be found must not end the run
            self._trouble(error)
            return None

    def add(self, call: Ended) -> None:
        """A call that is priced later."""
        self.expect(call.model, call.provider)
        self._waiting.put(call)

    def close(self) -> None:
        """Waits for what is to be priced, but not long."""
        thread = self._thread
        if thread is not None and self._pid == os.getpid():
            self._waiting.put(None)
            thread.join(CLOSE_SECONDS)
            self._thread = None
            self._waiting = queue.SimpleQueue()  # one that comes too late finds that nobody waits

    def _begin(self, model: str, provider: str) -> None:
        with self._lock:
            if self._thread is not None and self._pid == os.getpid():
                return
            if self._pid != os.getpid():  # a forked child has neither the thread nor what that was at
                self._waiting = queue.SimpleQueue()
            self._pid = os.getpid()
            self._thread = threading.Thread(
                target=self._work, args=(self._waiting, model, provider), name="playhead-prices", daemon=True
            )
            self._thread.start()

    def _work(self, waiting: "queue.SimpleQueue[Ended | None]", model: str, provider: str) -> None:
        try:
            # Own prices need no list, which takes long to load.
            self._price(Ended("", 0, model, None, provider, time.time_ns(), Usage(input=1, output=1), None, ()))
        except Exception as error:  # noqa: BLE001 - the same
            self._trouble(error)
        while (call := waiting.get()) is not None:
            try:
                priced = self._price(call)
            except Exception as error:  # noqa: BLE001 - the same
                self._trouble(error)
                continue
            if waiting is not self._waiting:
                return  # the recorder was closed meanwhile: it does not wait for ever
            self._write([facts.Priced(call.run_id, call.number, priced.cost, priced.price)])

    def _trouble(self, error: Exception) -> None:
        if not self._warned:
            self._warned = True
            warn(f"calls are not priced ({described(error)}): viewer prices apply does it later")

    def _price(self, call: Ended) -> Priced:
        return self._prices.price_call(
            model=call.model,
            response_model=call.response_model,
            provider=call.provider,
            when=datetime.fromtimestamp(call.when_ns / 1e9, UTC),
            usage=call.usage,
            tier=call.tier,
            charges=call.charges,
        )
