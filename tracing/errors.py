"""The errors of this package:

    TraceError
    ├── StoreError     a file that is no trace store, or cannot be read or written
    │   └── StoreBusy  one that somebody else is writing just now
    └── NoSuchRun      a reference that names no run or step, or several

A text is one sentence that says what to do next. Trouble while a run is recorded raises none of them: it is a
`RecorderWarning`, and the run goes on.
"""

import agent.errors


class TraceError(Exception):
    """Base of all errors of this package."""


class StoreError(TraceError):
    """A file cannot be used as a trace store."""


class StoreBusy(StoreError):
    """Somebody else writes the file, for longer than was waited."""


class NoSuchRun(TraceError):
    """A reference names nothing, or more than one thing."""


class RecorderWarning(UserWarning):
    """Something is not recorded; the agent's answer is not affected."""


def warn(text: str) -> None:
    """One warning; see `agent.errors.warn`."""
    agent.errors.warn(text, RecorderWarning)
