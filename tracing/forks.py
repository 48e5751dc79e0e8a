"""Forks: whoever holds a connection closes it before, and both sides open their own after.

SQLite's library would believe in the child that it holds the parent's locks, which a fork does not inherit; another
process would then delete the write-ahead log under it, and its runs would be lost without a word.
"""

import itertools
import os
import threading
import weakref
from typing import Protocol


class Forked(Protocol):
    def before_fork(self) -> None: ...
    def after_fork(self, *, in_child: bool) -> None: ...


_watched: "weakref.WeakSet[Forked]" = weakref.WeakSet()
_forking = threading.RLock()
"""One fork at a time: two threads that fork would each wait for what the other holds."""
_held: list[list[Forked]] = []
_registered: list[bool] = []

RANGE_BITS = 32
"""Of the numbers of one process."""


class Numbers:
    """Counts from 1; a forked child goes on in a range of its own, because what it counts stands beside its parent's."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)  # its next() is one step also between threads
        watch(self)

    def new(self) -> int:
        return next(self._numbers)

    def before_fork(self) -> None:
        pass

    def after_fork(self, *, in_child: bool) -> None:
        if in_child:
            self._numbers = itertools.count((os.getpid() << RANGE_BITS) + 1)


def watch(one: Forked) -> None:
    """Tells `one` of each fork from now on."""
    with _forking:
        _watched.add(one)
        if not _registered and hasattr(os, "register_at_fork"):
            os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after_in_child)
            _registered.append(True)


def _before() -> None:
    _forking.acquire()
    held: list[Forked] = []
    _held.append(held)
    for one in list(_watched):
        one.before_fork()
        held.append(one)


def _after(*, in_child: bool = False) -> None:
    for one in _held.pop():
        one.after_fork(in_child=in_child)
    _forking.release()


def _after_in_child() -> None:
    _after(in_child=True)
