"""The errors of this package, one tree:

    AgentError
    ├── ModelError            the model or its provider failed; carries the result so far
    ├── ScriptExhausted       a scripted model was asked for more than it holds
    ├── ScriptError           a script is malformed, or holds answers that nobody asked for
    ├── ReplayedError         what a recorded model or tool raised, raised again
    └── ToolDefinitionError   a tool that could never be called, or has a bad or double name

Stopping is a value (`Result.stop`); only failures raise. What the model should see is an observation.
"""

import sys
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent.values import Result


class AgentError(Exception):
    """Base of all errors of this package."""


class ModelError(AgentError):
    """The model or its provider failed, so the run has no answer.

    `result` is the run up to there (`result.stop` is "failed"), with the whole history; `__cause__` is what the
    model raised.
    """

    def __init__(self, text: str, result: "Result") -> None:
        super().__init__(text)
        self.result = result


class ScriptError(AgentError):
    """A script cannot be read, or was not used up."""


class ScriptExhausted(AgentError):
    """A scripted model was asked for one response more than it holds; `step` is the step that asked."""

    def __init__(self, text: str, step: int) -> None:
        super().__init__(text)
        self.step = step


class ToolDefinitionError(AgentError, ValueError):
    """A function cannot be a tool; the text says what to change."""


class ReplayedError(AgentError):
    """A recorded failure, raised again; its type has the name of the recorded one."""


def replayed_error(text: str) -> ReplayedError:
    """The error whose `described` form is `text`: `Type: words`."""
    kind, colon, words = text.partition(": ")
    if not kind.isidentifier():
        kind, colon, words = ReplayedError.__name__, ": ", text
    made: ReplayedError = type(kind, (ReplayedError,), {"__module__": __name__})(*([words] if colon else []))
    return made


def described(error: BaseException) -> str:
    """`Type: text` of an error, whatever its `str` does."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - an error's own str may raise
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """A warning that ends no run: where warnings are errors, it goes to stderr."""
    try:
        warnings.warn(f"playhead: {text}", category, stacklevel=3)
    except category:
        print(f"playhead: {text}", file=sys.stderr)  # noqa: T201
