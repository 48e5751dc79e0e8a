"""Attributes of OpenTelemetry's GenAI conventions (semantic-conventions-genai 0.1.0).

Names of our own, because the published constants are frozen at an older state. `gen_ai.usage.*` stands on chat spans
only: on the run's span too, backends would count it twice. None is for what is not known, and is not set.
"""

from typing import Any

from agent.messages import ToolCall
from agent.ports import ModelInfo
from agent.values import Response

SCHEMA_URL = "https://opentelemetry.io/schemas/1.44.0"
ERROR_TYPE = "error.type"
STOP = "playhead.stop"

Attributes = dict[str, Any]


def agent_attributes(agent: str, model: str, session: str | None, run_id: str) -> Attributes:
    return {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": agent,
        "gen_ai.request.model": model,
        "gen_ai.conversation.id": session,
        "playhead.run.id": run_id,
    }


def request_attributes(model: ModelInfo) -> Attributes:
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": model.provider,
        "gen_ai.request.model": model.name,
    }


def response_attributes(response: Response) -> Attributes:
    usage = response.spent
    return {
        "gen_ai.response.model": response.model,
        "gen_ai.response.finish_reasons": None if response.finish is None else [response.finish],
        "gen_ai.usage.input_tokens": usage.input,
        "gen_ai.usage.output_tokens": usage.output,
        "gen_ai.usage.cache_read.input_tokens": usage.cached,
        "gen_ai.usage.cache_write.input_tokens": usage.cache_write,
        "gen_ai.usage.reasoning.output_tokens": usage.reasoning,
    }


def tool_attributes(call: ToolCall) -> Attributes:
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": call.name,
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": call.id,
    }
