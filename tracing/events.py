"""The JSON log events of the loop, as they are logged while a run goes on.

In the store they are derived (`log_events` in views.sql), so the two must have the same fields; a test holds that.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from agent.messages import ToolCall
from agent.values import Response, Totals
from tracing.facts import Answered, Returned

Log = Callable[[str, str, Mapping[str, Any]], None]
"""Hears each event: level, name, fields."""


class Event(NamedTuple):
    level: str
    name: str
    fields: dict[str, Any]


def run_started(agent: str, model: str, session: str | None, kind: str) -> Event:
    return Event("info", "run.started", {"agent": agent, "model": model, "session": session, "kind": kind})


def model_asked(step: int, model: str, messages: int) -> Event:
    return Event("info", "model.asked", {"step": step, "model": model, "messages": messages})


def model_answered(step: int, model: str, fact: Answered, response: Response | None) -> Event:
    fields = {
        "step": step,
        "model": fact.response_model or model,
        "finish_reason": fact.finish,
        "input_tokens": fact.input,
        "output_tokens": fact.output,
        "tool_calls": 0 if response is None else len(response.calls),
        "error": fact.error,
        "duration_ms": fact.duration_ns / 1e6,
    }
    if fact.error is None:
        return Event("info", "model.answered", fields)
    return Event("error", "model.failed", fields)


def tool_called(call: ToolCall) -> Event:
    return Event("info", "tool.called", {"step": call.step, "tool": call.name, "arguments": call.arguments})


def tool_answered(call: ToolCall, fact: Returned) -> Event:
    fields = {
        "step": call.step,
        "tool": call.name,
        "arguments": call.arguments,
        "result_chars": fact.chars,
        "truncated": fact.truncated,
        "error": fact.error,
        "duration_ms": fact.duration_ns / 1e6,
    }
    return Event("info" if fact.error is None else "warning", "tool.answered", fields)


def run_finished(stop: str, totals: Totals, error: str | None, duration_ns: int) -> Event:
    fields = {
        "stop": stop,
        "steps": totals.steps,
        "tool_calls": totals.tool_calls,
        "input_tokens": totals.usage.input,
        "output_tokens": totals.usage.output,
        "error": error,
        "duration_ms": duration_ns / 1e6,
    }
    return Event("error" if stop == "failed" else "info", "run.finished", fields)
