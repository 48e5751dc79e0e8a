"""From what a provider or a user's function returns to a `Response`.

A message may be a chat-completions dict, an SDK object or anything with `content` and `tool_calls`. What goes into
the history must be valid for a strict server: every call has an id of its own within the message (a made-up one is
`call_{step}_{index}`), a name, and arguments that are JSON of an object. Where the provider's message was otherwise,
`Response.raw` keeps it as it came, and the call that is executed has the raw arguments.
"""

import dataclasses
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agent.arguments import Unusable, json_kind, parse
from agent.canonical import encodable, escaped, to_json, to_text
from agent.messages import Message, ToolCall, extra_of
from agent.values import Response, Usage


def to_response(
    message: Any,
    *,
    step: int,
    usage: Any = None,
    finish: str | None = None,
    model: str | None = None,
    tier: Any = None,
) -> Response:
    """Reads one answer; `usage` is a `Usage`, a chat-completions usage, or None. Raises TypeError for no message."""
    came = _as_dict(message)
    sent, calls, differs = _sent(came, step)
    raw = None
    if differs:
        # Read once more from what is kept of it: a replay has nothing else, and must read the same.
        if came.get("tool_calls"):
            came = {**came, "tool_calls": [_as_dict_call(call) for call in came["tool_calls"]]}
        raw = to_json(came)
        sent, calls, _ = _sent(json.loads(raw), step)
    return Response(
        message=sent,
        calls=calls,
        usage=to_usage(usage),
        finish=None if finish is None else str(finish),
        model=None if model is None else str(model),
        tier=tier if isinstance(tier, str) else None,
        raw=raw,
    )


def raw_calls(raw: str, step: int) -> tuple[ToolCall, ...]:
    """The calls of a `Response.raw`, as they were executed. Raises ValueError for what is none."""
    came = json.loads(raw)
    if not isinstance(came, dict):
        raise ValueError("a message must be an object")
    return _sent(came, step)[1]


def _sent(came: Mapping[str, Any], step: int) -> tuple[Message, tuple[ToolCall, ...], bool]:
    """The message as it goes into the history, its calls with the raw arguments, and whether that is not all that
    came."""
    calls = [_raw_call(call, step, index) for index, call in enumerate(came.get("tool_calls") or ())]
    taken = {call.id for call in calls}
    seen: set[str] = set()
    sent_calls, raw_calls = [], []
    for call in calls:
        call_id = encodable(call.id)
        if not call_id or call_id in seen:
            call_id = _made_up(step, call.index, taken)
        seen.add(call_id)
        taken.add(call_id)
        name, arguments = sendable_name(call.name), sendable(call.arguments)
        raw_calls.append(dataclasses.replace(call, id=call_id))
        sent_calls.append(dataclasses.replace(call, id=call_id, name=name, arguments=arguments))
    plain = Message.from_dict({**came, "role": "assistant", "tool_calls": None})
    content = came.get("content")
    # A strict server takes null only beside calls.
    text = plain.content if sent_calls or plain.content is not None else ""
    sent = Message(role="assistant", content=text, tool_calls=tuple(sent_calls), extra=plain.extra)
    differs = sent_calls != calls or (content is not None and content != sent.to_dict()["content"])
    return sent, tuple(raw_calls), differs


def _made_up(step: int, index: int, taken: set[str]) -> str:
    made = f"call_{step}_{index}"
    while made in taken:
        made += "_"
    return made


def sendable_name(name: str) -> str:
    """A tool's name as it may be sent back: servers refuse other characters, in a history too."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:64] or "unnamed"


def sendable(arguments: str) -> str:
    """The arguments as they may be sent back: as they came if they are strict JSON of an object, else as `parse`
    understood them, else "{}".

    A strict server answers 500 to a history that holds a model's broken arguments, and the run would be dead.
    """
    try:
        if isinstance(json.loads(arguments, parse_constant=_refuse, object_pairs_hook=_object), dict):
            return escaped(arguments)
    except (ValueError, RecursionError):
        pass
    try:
        return to_text(parse(arguments))
    except Unusable:
        return "{}"


def to_usage(usage: Any) -> Usage:
    """A chat-completions usage (dict or object), or a `Usage` (or a dict of its fields); what is missing or no count
    is None."""
    is_chat = not isinstance(usage, Mapping) or usage.keys() & {"prompt_tokens", "completion_tokens"}
    if isinstance(usage, Usage) or not is_chat:
        return Usage(**{field.name: _count(read(usage, field.name)) for field in dataclasses.fields(Usage)})
    prompt, completion = read(usage, "prompt_tokens_details"), read(usage, "completion_tokens_details")
    into, out = _count(read(usage, "prompt_tokens")), _count(read(usage, "completion_tokens"))
    reasoning, total = _count(read(completion, "reasoning_tokens")), _count(read(usage, "total_tokens"))
    if into is not None and out is not None and total is not None and total > into + out:
        out = total - into  # some count what was thought beside the completion; all that is no input is output
    return Usage(
        input=into,
        output=out,
        # As OpenAI has it, then as DeepSeek, Moonshot and LiteLLM do.
        cached=_first(
            read(prompt, "cached_tokens"), read(usage, "prompt_cache_hit_tokens"), read(usage, "cached_tokens")
        ),
        reasoning=reasoning,
        cache_write=_first(read(prompt, "cache_write_tokens"), read(prompt, "cache_creation_tokens")),
    )


def _first(*values: Any) -> int | None:
    return next((count for value in values if (count := _count(value)) is not None), None)


def _as_dict(message: Any) -> dict[str, Any]:
    match message:
        case Mapping():
            fields = _fields(message)
        case Message():
            fields = message.to_dict()
        case str():
            fields = {"content": message}
        case _ if callable(getattr(message, "model_dump", None)):
            fields = _fields(message)
        case _ if hasattr(message, "content") or hasattr(message, "tool_calls"):
            fields = {**_fields(message), "content": getattr(message, "content", None)}
            fields["tool_calls"] = getattr(message, "tool_calls", None)
            # A property, or a field in a slot, stands in no __dict__.
            told = {name: getattr(message, name, None) for name in ("refusal", "function_call")}
            fields |= {name: value for name, value in told.items() if value is not None}
        case _:
            kind = type(message).__name__
            raise TypeError(f"a model must return a message with content or tool_calls, not {kind}")
    if not fields.keys() & {"content", "tool_calls", "refusal"} and fields.get("role") != "assistant":
        raise ValueError(_no_message(fields))
    calls = calls_of(fields)
    if calls:
        fields["tool_calls"] = calls
    elif any(read(part, "type") == "tool_use" for part in _parts(fields.get("content"))):
        raise ValueError(
            "the model asked for a tool_use, Anthropic's form of a call: return it as one of the message's tool_calls"
        )
    if fields.get("function_call") and not calls:
        raise ValueError(
            "the model asked for a function_call, the old form of a call: use a server that sends tool_calls"
        )
    return fields


def calls_of(message: Mapping[str, Any]) -> list[Any]:
    """The tool calls of a message, as they came. Raises ValueError where they cannot be listed, and for one object."""
    calls = message.get("tool_calls") or ()
    is_one = isinstance(calls, str | bytes | Mapping) or hasattr(calls, "model_dump")
    if is_one or not isinstance(calls, Iterable):
        raise ValueError(f"the tool_calls of a message must be a list, not {json_kind(calls)}")
    return list(calls)


def _parts(content: Any) -> Sequence[Any]:
    return content if isinstance(content, list | tuple) else ()


def told_apart(told: Mapping[str, Any], usage: Any) -> tuple[dict[str, Any], Any, Any, Any, Any]:
    """The message, usage, finish reason, model and tier of a dict that holds them all; `usage` where it holds none."""
    message = dict(told)
    beside = (("usage", usage), ("finish_reason", None), ("model", None), ("service_tier", None))
    usage, finish, model, tier = (message.pop(key, default) for key, default in beside)
    return message, usage, finish, model, tier


def message_and_usage(answer: Any) -> tuple[Any, Any]:
    """What a model returned: a message, or a pair of it and its usage. A message may be a tuple itself."""
    is_message = hasattr(answer, "content") or hasattr(answer, "tool_calls")
    if is_message or not isinstance(answer, tuple):
        return answer, None
    if len(answer) != 2:
        raise ValueError(f"a model must return a message or (message, usage), not a tuple of {len(answer)}")
    return answer


def _no_message(fields: Mapping[str, Any]) -> str:
    """An error body in the place of a message is the provider's error, not an empty answer."""
    error = fields.get("error")
    said = error.get("message") if isinstance(error, Mapping) else error
    return f"the provider answered with an error: {said}" if error else "the model's answer holds no message"


def _raw_call(call: Any, step: int, index: int) -> ToolCall:
    call = _as_dict_call(call)
    function = call.get("function")
    arguments = read(function, "arguments")
    if not isinstance(arguments, str):
        arguments = "" if arguments is None else to_json(arguments)
    call_id, name = str(call.get("id") or ""), str(read(function, "name") or "")
    return ToolCall(call_id, name, arguments, step=step, index=index, extra=extra_of(call))


def _as_dict_call(call: Any) -> Mapping[str, Any]:
    """A call of whatever kind in the chat-completions form, its fields as they came."""
    if isinstance(call, ToolCall):
        return call.to_dict()
    function = read(call, "function")
    if isinstance(call, Mapping) and (function is None or isinstance(function, Mapping)):
        return call
    named = {"name": read(function, "name"), "arguments": read(function, "arguments")}
    return {**_fields(call), "id": read(call, "id"), "function": {**_fields(function), **named}}


def _fields(thing: Any) -> dict[str, Any]:
    """The fields of a dict, of a pydantic model, or of an object that shows them."""
    if isinstance(thing, Mapping):
        return {str(key): value for key, value in thing.items()}
    if callable(dump := getattr(thing, "model_dump", None)):
        return dict(dump(exclude_none=True, warnings=False))
    return {key: value for key, value in getattr(thing, "__dict__", {}).items() if not key.startswith("_")}


def read(thing: Any, name: str) -> Any:
    """A field of a dict or of an object; None where it has none."""
    return thing.get(name) if isinstance(thing, dict | Mapping) else getattr(thing, name, None)


def _count(value: Any) -> int | None:
    """A count of tokens, or None for what is none: SQLite's integers end at 2**63, and no model has used as many."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63 else None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a key stands in it twice")
    return value


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def first_choice(completion: Any) -> tuple[Any, str | None]:
    """The message and the finish reason of a whole chat completion. Raises ValueError where it has none, or an error."""
    if error := error_in(completion):
        raise ValueError(_no_message({"error": error}))
    choice = _choice(completion)
    if choice is None:
        raise ValueError("the completion has no choices")
    return read(choice, "message"), read(choice, "finish_reason")


def error_in(completion: Any) -> Any:
    """The provider's error in a completion, in its choice (as OpenRouter has it) or in a piece of a stream."""
    choice = _choice(completion)
    unsaid = "it did not say which" if read(choice, "finish_reason") == "error" else None
    return read(completion, "error") or read(choice, "error") or unsaid


def _choice(completion: Any) -> Any:
    choices = read(completion, "choices")
    return choices[0] if isinstance(choices, Sequence) and choices else None
