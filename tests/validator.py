"""What a strict server asks of a chat-completions history, as one function; the tests' own, and no code of the product."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

ROLES = ("system", "developer", "user", "assistant", "tool")


def validate(messages: Sequence[Mapping[str, Any]]) -> None:
    """Raises AssertionError, with a sentence, for a history that a strict server would refuse."""
    assert messages, "A history must hold a message."
    waiting: list[str] = []
    for place, message in enumerate(messages):
        role = message.get("role")
        assert role in ROLES, f"Message {place} has the role {role!r}, which no server knows."
        if role == "tool":
            _answer(place, message, waiting)
            continue
        assert not waiting, f"Message {place} ({role}) comes before the call {waiting[0]!r} was answered."
        assert "tool_call_id" not in message, f"Message {place} ({role}) answers a call, and is no tool message."
        if "tool_calls" in message:
            assert role == "assistant", f"Message {place} ({role}) makes calls, and is no assistant message."
            waiting = _calls(place, message["tool_calls"])
        _content(place, message, may_be_null=bool(waiting))
    assert not waiting, f"The history ends before the call {waiting[0]!r} was answered."
    try:
        json.dumps(messages, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise AssertionError(f"The history cannot be sent as JSON in UTF-8: {error}.") from error


def _answer(place: int, message: Mapping[str, Any], waiting: list[str]) -> None:
    answers = message.get("tool_call_id")
    assert isinstance(answers, str) and answers, f"Message {place} (tool) says of no call that it answers it."
    assert waiting, f"Message {place} answers {answers!r}, but no call before it waits for an answer."
    assert answers == waiting[0], f"Message {place} answers {answers!r}, where {waiting[0]!r} is next."
    del waiting[0]
    _content(place, message, may_be_null=False)


def _calls(place: int, calls: Any) -> list[str]:
    assert isinstance(calls, list) and calls, f"Message {place} has tool_calls that are no list of calls: {calls!r}."
    ids: list[str] = []
    for call in calls:
        assert isinstance(call, Mapping), f"Message {place} has a call that is no object: {call!r}."
        call_id, function = call.get("id"), call.get("function")
        assert isinstance(call_id, str) and call_id, f"Message {place} has a call without an id."
        assert call_id not in ids, f"Message {place} has two calls with the id {call_id!r}."
        ids.append(call_id)
        assert call.get("type") == "function", f"The call {call_id!r} has the type {call.get('type')!r}."
        assert isinstance(function, Mapping), f"The call {call_id!r} calls no function."
        name, arguments = function.get("name"), function.get("arguments")
        assert isinstance(name, str) and name, f"The call {call_id!r} has no name."
        assert isinstance(arguments, str), f"The call {call_id!r} has arguments that are no text: {arguments!r}."
        try:
            value = json.loads(arguments, parse_constant=_refuse, object_pairs_hook=_object)
        except (ValueError, RecursionError) as error:
            raise AssertionError(f"The call {call_id!r} has arguments that are not JSON: {error}.") from error
        assert isinstance(value, dict), f"The call {call_id!r} has arguments that are no object: {arguments!r}."
    return ids


def _content(place: int, message: Mapping[str, Any], *, may_be_null: bool) -> None:
    content = message.get("content")
    if content is None:
        assert may_be_null, f"Message {place} ({message['role']}) has no content, and makes no calls."
    elif not isinstance(content, str):
        assert isinstance(content, list) and content, f"Message {place} has a content of another kind: {content!r}."
        for part in content:
            is_part = isinstance(part, Mapping) and isinstance(part.get("type"), str)
            assert is_part, f"Message {place} has a content with a part that is none: {part!r}."
            assert part["type"] != "text" or isinstance(part.get("text"), str), (
                f"Message {place} has a part without text."
            )


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a key stands in them twice")
    return value


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")
