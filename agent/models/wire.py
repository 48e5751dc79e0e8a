"""From what a provider or a user's function returns to a `Response`.

A message may be a chat-completions dict, an SDK object or anything with `content` and `tool_calls`. What goes into
the history must be valid for a strict server: every call has an id of its own within the message (a made-up one is
`call_{step}_{index}`), a name, and arguments that are JSON of an object. Where the provider's message was otherwise,
`Response.raw` keeps it as it came, and the call that is executed has the raw arguments.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agent.arguments import Unusable, parse
from agent.canonical import to_json, to_text
from agent.messages import Message, ToolCall
from agent.values import Response, Usage


def to_response(
    message: Any, *, step: int, usage: Any = None, finish: str | None = None, model: str | None = None
) -> Response:
    """Reads one answer; `usage` is a `Usage`, a chat-completions usage, or None. Raises TypeError for no message."""
    came = _as_dict(message)
    sent_calls, raw_calls = [], []
    taken: set[str] = set()
    for index, call in enumerate(came.pop("tool_calls", None) or ()):
        raw = _raw_call(call, step, index)
        name, arguments = raw.name or "unnamed", sendable(raw.arguments)
        call_id = raw.id if raw.id and raw.id not in taken else f"call_{step}_{index}"
        taken.add(call_id)
        sent_calls.append(ToolCall(call_id, name, arguments, step=step, index=index))
        raw_calls.append(ToolCall(call_id, raw.name, raw.arguments, step=step, index=index))
        if (raw.id, raw.name, raw.arguments) != (call_id, name, arguments):
            came["tool_calls"] = None
    differs = "tool_calls" in came
    came.pop("tool_calls", None)
    came["role"] = "assistant"
    plain = Message.from_dict(came)
    sent = Message(role="assistant", content=plain.content, tool_calls=tuple(sent_calls), extra=plain.extra)
    raw_text = to_text(_as_dict(message)) if differs else None
    return Response(
        message=sent, calls=tuple(raw_calls), usage=to_usage(usage), finish=finish, model=model, raw=raw_text
    )


def sendable(arguments: str) -> str:
    """The arguments as they may be sent back: as they came if they are strict JSON of an object, else as `parse`
    understood them, else "{}".

    A strict server answers 500 to a history that holds a model's broken arguments, and the run would be dead.
    """
    try:
        if isinstance(json.loads(arguments, parse_constant=_refuse), dict):
            return arguments
    except (ValueError, RecursionError):
        pass
    try:
        return to_text(parse(arguments))
    except Unusable:
        return "{}"


def to_usage(usage: Any) -> Usage:
    """A chat-completions usage (dict or object) or a `Usage`; what is missing or no count is None."""
    if isinstance(usage, Usage):
        return usage
    prompt, completion = read(usage, "prompt_tokens_details"), read(usage, "completion_tokens_details")
    return Usage(
        input=_count(read(usage, "prompt_tokens")),
        output=_count(read(usage, "completion_tokens")),
        cached=_count(read(prompt, "cached_tokens")),
        reasoning=_count(read(completion, "reasoning_tokens")),
        cache_write=_count(read(prompt, "cache_write_tokens")),
    )


def _as_dict(message: Any) -> dict[str, Any]:
    match message:
        case Mapping():
            return {str(key): value for key, value in message.items()}
        case Message():
            return message.to_dict()
        case str():
            return {"content": message}
    if callable(dump := getattr(message, "model_dump", None)):
        return dict(dump(exclude_none=True, warnings=False))
    if not hasattr(message, "content"):
        raise TypeError(f"a model must return a message with content or tool_calls, not {type(message).__name__}")
    return {"content": message.content, "tool_calls": getattr(message, "tool_calls", None)}


def _raw_call(call: Any, step: int, index: int) -> ToolCall:
    if isinstance(call, ToolCall):
        return call
    function = read(call, "function")
    arguments = read(function, "arguments")
    if not isinstance(arguments, str):
        arguments = "" if arguments is None else to_json(arguments)
    return ToolCall(str(read(call, "id") or ""), str(read(function, "name") or ""), arguments, step=step, index=index)


def read(thing: Any, name: str) -> Any:
    """A field of a dict or of an object; None where it has none."""
    return thing.get(name) if isinstance(thing, dict | Mapping) else getattr(thing, name, None)


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def first_choice(completion: Any) -> tuple[Any, str | None]:
    """The message and the finish reason of a whole chat completion. Raises ValueError where it has no choice."""
    choices = read(completion, "choices")
    if not isinstance(choices, Sequence) or not choices:
        raise ValueError("the completion has no choices")
    return read(choices[0], "message"), read(choices[0], "finish_reason")
