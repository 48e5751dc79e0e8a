"""An agent is one frozen value: what a user writes once, what a run is recorded with, what a replay checks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agent.limits import Limits
from agent.messages import ToolCall
from agent.ports import Model, Tools
from agent.values import Observation, ToolSchema


class NoTools:
    """The tools of an agent that has none."""

    schemas: tuple[ToolSchema, ...] = ()

    async def call(self, call: ToolCall) -> Observation:
        text = f"Error: there is no tool {call.name!r}: no tools are available. Answer without them."
        return Observation(shown=text, whole=text, error="unknown_tool")


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    name: str = "agent"
    model: Model | Callable[..., Any]
    """A model, or any callable over chat-completions messages: `(messages)` or `(messages, tool_schemas)`, sync or
    async, that returns a message or `(message, usage)`."""
    tools: Tools = field(default_factory=NoTools)
    system: str | None = None
    """The system message; it replaces a leading system message of a history."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Passed to the model with each request, e.g. `{"temperature": 0}`."""
    limits: Limits = Limits()

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not (self.system is None or isinstance(self.system, str)):
            raise TypeError("an agent's name must be a text, and its system prompt a text or None")
        if not (hasattr(self.tools, "schemas") and callable(getattr(self.tools, "call", None))):
            raise TypeError(
                f"an agent's tools must be a Toolbox, not {type(self.tools).__name__}: write Toolbox([...])"
            )
        if not (callable(self.model) or hasattr(self.model, "respond")):
            raise TypeError(f"an agent's model must be a Model or a callable, not {type(self.model).__name__}")
        if not (callable(self.model) or hasattr(self.model, "info")):
            raise TypeError(
                f"a model must have info, a ModelInfo, beside respond: give {type(self.model).__name__} one"
            )
        if not isinstance(self.limits, Limits):
            raise TypeError(
                f"an agent's limits must be Limits, not {type(self.limits).__name__}: write Limits(max_steps=8)"
            )
        if not isinstance(self.settings, Mapping):
            raise TypeError(f"an agent's settings must be a dict, not {type(self.settings).__name__}")
