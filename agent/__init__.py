"""The agent loop and its values.

Importing this package does nothing but define names: each one is loaded when it is first used (PEP 562), so a
program pays for pydantic or openai only where it really builds a tool or asks a model.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agent.agents import Agent as Agent
    from agent.errors import AgentError as AgentError
    from agent.errors import ModelError as ModelError
    from agent.errors import ScriptExhausted as ScriptExhausted
    from agent.errors import ToolDefinitionError as ToolDefinitionError
    from agent.function_tool import tool as tool
    from agent.limits import Limits as Limits
    from agent.loop import run as run
    from agent.messages import Message as Message
    from agent.messages import ToolCall as ToolCall
    from agent.models.keyword import KeywordModel as KeywordModel
    from agent.models.openai_model import OpenAIModel as OpenAIModel
    from agent.models.retrying import Retries as Retries
    from agent.models.scripted import ScriptedModel as ScriptedModel
    from agent.ports import Budget as Budget
    from agent.ports import Model as Model
    from agent.ports import ModelInfo as ModelInfo
    from agent.ports import Tools as Tools
    from agent.sync import run_sync as run_sync
    from agent.toolbox import Toolbox as Toolbox
    from agent.values import Observation as Observation
    from agent.values import Request as Request
    from agent.values import Response as Response
    from agent.values import Result as Result
    from agent.values import Step as Step
    from agent.values import Totals as Totals
    from agent.values import Usage as Usage

_HOMES = {
    "Agent": "agent.agents",
    "AgentError": "agent.errors",
    "Budget": "agent.ports",
    "KeywordModel": "agent.models.keyword",
    "Limits": "agent.limits",
    "Message": "agent.messages",
    "Model": "agent.ports",
    "ModelError": "agent.errors",
    "ModelInfo": "agent.ports",
    "Observation": "agent.values",
    "OpenAIModel": "agent.models.openai_model",
    "Request": "agent.values",
    "Response": "agent.values",
    "Result": "agent.values",
    "Retries": "agent.models.retrying",
    "ScriptExhausted": "agent.errors",
    "ScriptedModel": "agent.models.scripted",
    "Step": "agent.values",
    "ToolCall": "agent.messages",
    "ToolDefinitionError": "agent.errors",
    "Toolbox": "agent.toolbox",
    "Tools": "agent.ports",
    "Totals": "agent.values",
    "Usage": "agent.values",
    "run": "agent.loop",
    "run_sync": "agent.sync",
    "tool": "agent.function_tool",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'agent' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(home), name)
    return value


def __dir__() -> list[str]:
    return __all__
