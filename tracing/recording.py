"""A recorded run as one value: all that a replay, a fork or a script needs of it. `tracing.record_reader` makes it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from agent.messages import Message
from agent.values import Observation, Response, Totals, Usage


class Fault(NamedTuple):
    """A place of the record that is not what was written."""

    step: int | None
    call: int | None
    """From 1."""
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCall:
    index: int
    """The call's place in its message, from 0."""
    id: str
    name: str
    arguments: str
    """The model's raw text, as the store can hold it."""
    observation: Observation | None
    """None where the call has not returned."""
    error: str | None
    """Of a call that ended without an observation: why."""
    ended: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedStep:
    number: int
    tip: bytes
    """The hash of the history that was sent."""
    length: int
    """Its messages."""
    tools: str
    """The schemas, as canonical JSON."""
    settings: str
    model: str
    response: Response | None
    usage: Usage
    """What the call used, failed attempts included."""
    error: str | None
    """Of a model call that failed."""
    ended: bool
    calls: tuple[RecordedCall, ...]


@dataclass(frozen=True, kw_only=True)
class Recording:
    run_id: str
    agent: str
    model: str
    session: str | None
    started_at: str
    question: str
    messages: tuple[Message, ...]
    """The whole history, as far as it is recorded."""
    opening: int
    """How many of them the run began with; the last of these is the question."""
    tools: str
    settings: str
    steps: tuple[RecordedStep, ...]
    stop: str | None
    """None where the run was not closed: it still runs, or its process is gone."""
    error: str | None
    answer: str | None
    totals: Totals
    """As they were recorded at the end."""
    tip: bytes | None
    """The hash of the history at the end."""
    attrs: Mapping[str, Any]
    """`limits`, `system` (whether the agent had a prompt), `source`, `redaction`, `metadata`, `version`, `bound`."""
    redacted: int | None
    """Secrets that were taken out; None for a record that does not say."""
    faults: tuple[Fault, ...]
    pruned: str | None
    """What of the record a prune has taken."""
    is_imported: bool

    @property
    def source(self) -> str | None:
        """How a command can load the agent again. A run that came from elsewhere names no module of this machine."""
        source = self.attrs.get("source")
        if not isinstance(source, str):
            return None
        return source if not self.is_imported or source.startswith(("docs:", "demo:")) else None

    @property
    def has_system(self) -> bool | None:
        """Whether the leading system message was the agent's own; None for a record that does not say."""
        if "limits" not in self.attrs:
            return None
        return bool(self.attrs.get("system"))

    def earlier(self, system: str | None) -> tuple[Message, ...]:
        """What was said before the question, for an agent with this system prompt, which takes the place of a leading
        one. The recorded agent's own prompt is left out where the new one has none."""
        before = self.messages[: max(self.opening - 1, 0)]
        return before[1:] if self.has_system and system is None else before

    @property
    def system(self) -> str | None:
        """The system prompt that the run began with."""
        first = self.messages[0] if self.messages else None
        return first.content if first is not None and first.role == "system" else None

    @cached_property
    def responses(self) -> tuple[Any, ...]:
        """What the model said, step by step, in the form of a script (see `ScriptedModel`)."""
        from tracing.scripts import script_of

        return tuple(script_of(self))
