"""A recorded run as a script: what the model said, step by step, as JSON Lines that a person can edit.

`ScriptedModel` makes the same responses of it again. Where the provider's message differed from what went into the
history, the script has it as it came.
"""

import dataclasses
import json
from collections.abc import Iterator
from typing import Any

from agent.canonical import to_json
from agent.messages import ToolCall
from agent.terminal import harmless_json
from agent.values import Response
from tracing.recording import Recording


def script_of(recording: Recording) -> Iterator[dict[str, Any]]:
    """The responses, in the form that `ScriptedModel` takes; a failed call is `{"error": ...}`. The script ends where
    the run was cancelled or broke off."""
    for step in recording.steps:
        if step.response is not None:
            yield _response(step.response, step.number)
        elif step.error is not None and step.error != "cancelled":
            yield {"error": step.error}


def script_text(recording: Recording) -> str:
    """The script as a file's text: one response per line, exact and safe to print."""
    return "".join(f"{harmless_json(to_json(response))}\n" for response in script_of(recording))


def _response(response: Response, step: int) -> dict[str, Any]:
    if response.raw is not None:
        message = json.loads(response.raw)
        for call in message.get("tool_calls") or ():
            if isinstance(call, dict):
                call.setdefault("function", None)  # or it would be taken for the short form
    else:
        message = response.message.to_dict()
        del message["role"]
        if calls := response.message.tool_calls:
            message["tool_calls"] = [_call(call, step, index) for index, call in enumerate(calls)]
    usage = {name: count for name, count in dataclasses.asdict(response.usage).items() if count is not None}
    more = {"finish_reason": response.finish, "model": response.model, "service_tier": response.tier, "usage": usage}
    if message.keys() & {*more, "error", "choices"}:
        return _completion(message, response)
    return {**message, **{key: value for key, value in more.items() if value}}


def _completion(message: dict[str, Any], response: Response) -> dict[str, Any]:
    """The form of a server, for a message that has fields of its own by the names that a script uses."""
    usage = response.usage
    counts = {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cached, "cache_write_tokens": usage.cache_write},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }
    choice = {"message": message, "finish_reason": response.finish}
    return {"choices": [choice], "model": response.model, "service_tier": response.tier, "usage": counts}


def _call(call: ToolCall, step: int, index: int) -> dict[str, Any]:
    """The short form of a call, where it stands for exactly the same: the id left out if it was made up, the arguments
    as an object if their text comes out as it was. With further fields, which the short form has no place for, in
    full."""
    if call.extra:
        return call.to_dict()
    short: dict[str, Any] = {} if call.id == f"call_{step}_{index}" else {"id": call.id}
    try:
        arguments = json.loads(call.arguments)
        is_same = isinstance(arguments, dict) and to_json(arguments) == call.arguments
    except (ValueError, RecursionError):
        arguments, is_same = None, False
    return {**short, "name": call.name, "arguments": arguments if is_same else call.arguments}
