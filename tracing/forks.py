"""Forks: whoever holds a connection closes it before, and both sides open their own after.

SQLite's library would believe in the child that it holds the parent's locks, which a fork does not inherit; another
process would then delete the write-ahead log under it, and its runs would be lost without a word.
"""

import os
import threading
import weakref
from typing import Protocol


class Forked(Protocol):
    def before_fork(self) -> None: ...
    def after_fork(self, *, in_child: bool) -> None: ...


_watched: "weakref.WeakSet[Forked]" = weakref.WeakSet()
_forking: list[Forked] = []
_registering = threading.Lock()
_registered: list[bool] = []


def watch(one: Forked) -> None:
    """Tells `one` of each fork from now on."""
    _watched.add(one)
    with _registering:
        if not _registered and hasattr(os, "register_at_fork"):
            os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after_in_child)
            _registered.append(True)


def _before() -> None:
    _forking[:] = _watched
    for one in _forking:
        one.before_fork()


def _after() -> None:
    for one in _forking:
        one.after_fork(in_child=False)
    _forking.clear()


def _after_in_child() -> None:
    for one in _forking:
        one.after_fork(in_child=True)
    _forking.clear()
