"""Running the loop from code that is not async, and functions that are not async from the loop.

A thread of its own, with the caller's context copied, is the one way that works everywhere: inside a running event
loop (Jupyter), and for a function that never returns, because a daemon thread does not keep the process alive.
What a tool leaves behind in `asyncio.to_thread` holds up neither the end of a run nor that of the process.
"""

import asyncio
import contextlib
import contextvars
import functools
import os
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Generic, TypeVar

from agent.agents import Agent
from agent.values import Result

T = TypeVar("T")

_BEGIN_SECONDS = 5.0
"""How long an interrupted caller waits for a thread that may never have been started."""


def run_sync(agent: Agent, question: str, **options: Any) -> Result:
    """As `run`, for code that is not async; works inside a running event loop too."""
    from agent.loop import run

    return complete(run(agent, question, **options))


def complete(work: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine to its end and returns its result."""
    if not _in_loop():
        return run_loop(work)
    outcome = _Outcome[T]()
    context = contextvars.copy_context()
    started: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[T]]] = []

    async def watched() -> T:
        task = asyncio.current_task()
        assert task is not None
        started.append((asyncio.get_running_loop(), task))
        if interrupted.is_set():
            task.cancel()
        return await work

    interrupted = threading.Event()
    ended = threading.Event()  # not the thread's own join: interrupted once, it takes the thread for ended

    begun = threading.Event()

    def perform() -> None:
        begun.set()
        outcome.run(lambda: context.run(run_loop, watched()))
        ended.set()

    try:
        threading.Thread(target=perform, name="playhead-run", daemon=True).start()  # it waits for the thread, too
        ended.wait()
    except KeyboardInterrupt:
        interrupted.set()
        for loop, task in started:  # the run ends as cancelled, and its record is closed, before the interrupt goes on
            loop.call_soon_threadsafe(task.cancel)
        if begun.wait(_BEGIN_SECONDS):
            ended.wait()
        raise
    return outcome.get()


def run_loop(work: Coroutine[Any, Any, T]) -> T:
    """As `asyncio.run`, which would wait at its end for the threads of `asyncio.to_thread`."""
    with asyncio.Runner() as runner:
        runner.get_loop().set_default_executor(_Threads())
        return runner.run(work)


def _in_loop() -> bool:
    """Whether an event loop is running in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def is_cancelled() -> bool:
    """Whether the current task was cancelled; else a CancelledError is the doing of the code that was called."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


async def in_thread(function: Callable[[], T]) -> T:
    """Awaits `function()`, run in a thread of its own with the context copied; a cancelled wait abandons it."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()
    outcome = _Outcome[T]()
    context = contextvars.copy_context()

    def arrived() -> None:
        if not done.done():
            done.set_result(None)

    def work() -> None:
        outcome.run(lambda: context.run(function))
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(arrived)

    threading.Thread(target=work, name="playhead-tool", daemon=True).start()
    await done
    return outcome.get()


class _Threads(ThreadPoolExecutor):
    """Daemon threads, no more at a time than the usual executor has, which nobody waits for."""

    def __init__(self) -> None:
        super().__init__()
        self._jobs: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self._room = min(32, (os.cpu_count() or 1) + 4)
        self._lock = threading.Lock()

    def submit(self, function: Callable[..., T], /, *args: Any, **named: Any) -> Future[T]:
        future: Future[T] = Future()
        with self._lock:
            self._jobs.append((future, functools.partial(function, *args, **named)))
            if self._room:
                self._room -= 1
                threading.Thread(target=self._work, name="playhead-worker", daemon=True).start()
        return future

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._jobs:
                    self._room += 1
                    return
                future, job = self._jobs.popleft()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(job())
            except BaseException as error:  # noqa: BLE001 - the waiting side decides
                future.set_exception(error)


class _Outcome(Generic[T]):
    """What a thread came to, carried over as a value: a Future would refuse StopIteration."""

    def run(self, function: Callable[[], T]) -> None:
        self._value: T | None = None
        self._error: BaseException | None = None
        try:
            self._value = function()
        except BaseException as error:  # noqa: BLE001 - SystemExit and KeyboardInterrupt too: the waiting side decides
            self._error = error

    def get(self) -> T:
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]
