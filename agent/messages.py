"""Messages as chat completions have them, frozen.

A message is a snapshot: no list or dict that somebody else holds can change it later. Fields that a provider adds
(`reasoning_content`, `refusal`, a content that is a list of parts; in a call `extra_content`) are kept as JSON text in
`extra` and go back as they came: some servers refuse a history that has lost them.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent.canonical import column_text, encodable, to_json


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call that a model asked for."""

    id: str
    name: str
    arguments: str
    """The model's raw text: JSON if all is well, anything otherwise."""
    step: int = field(default=0, compare=False)
    """The step whose answer asked for the call, from 1; 0 where it is not known."""
    index: int = field(default=0, compare=False)
    """The call's place within its message, from 0."""
    repeats: int = field(default=1, compare=False)
    """How often this very call was made in a row, this time included."""
    extra: str = ""
    """Further fields, as the JSON text of an object, those of its function under "function"; "" for none."""

    def to_dict(self) -> dict[str, Any]:
        """The chat completions form, made anew at each call."""
        extra = json.loads(self.extra) if self.extra else {}
        function = {"name": self.name, "arguments": self.arguments, **extra.pop("function", {})}
        return {"id": self.id, "type": "function", "function": function, **extra}


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    role: str
    content: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    """Of a message of role "tool": the call that it answers."""
    extra: str = ""
    """Further fields, as the JSON text of an object; "" for none."""

    @property
    def refusal(self) -> str | None:
        """The provider's text of a refusal."""
        fields = json.loads(self.extra) if self.extra else {}
        parts = fields.get("content") or ()
        refusal = fields.get("refusal") or "".join(str(part.get("refusal") or "") for part in parts)
        return str(refusal) if refusal else None

    def to_dict(self) -> dict[str, Any]:
        """The chat completions form, made anew at each call."""
        message: dict[str, Any] = {"role": self.role}
        if self.tool_call_id is not None:
            message["tool_call_id"] = self.tool_call_id
        message["content"] = self.content
        if self.tool_calls:
            message["tool_calls"] = [call.to_dict() for call in self.tool_calls]
        if self.extra:
            message.update(json.loads(self.extra))
        return message

    @classmethod
    def from_dict(cls, message: Mapping[str, Any]) -> "Message":
        """Reads the chat completions form. Raises ValueError for a message without a role."""
        role = message.get("role") if isinstance(message, Mapping) else None
        if not isinstance(role, str) or not role:
            raise ValueError("a message needs a role: system, user, assistant or tool")
        calls = message.get("tool_calls") or ()
        if not isinstance(calls, list | tuple):
            raise ValueError("the tool_calls of a message must be a list")
        answers = message.get("tool_call_id")
        extra = _but(message, "role", "content", "tool_calls", "tool_call_id")
        content = message.get("content")
        if content is not None and not isinstance(content, str):
            if _are_parts(content):
                extra["content"] = content
                content = _text_of_parts(content)
            else:
                content = column_text(content) if content or isinstance(content, int | float) else None
        return cls(
            role=encodable(role),
            content=None if content is None else encodable(content),
            tool_calls=tuple(_call(call, index) for index, call in enumerate(calls)),
            tool_call_id=None if answers is None else encodable(str(answers)),
            extra=column_text(extra) if extra else "",
        )


def as_message(message: Message | Mapping[str, Any]) -> Message:
    return message if isinstance(message, Message) else Message.from_dict(message)


def further_fields(call: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a call in the chat completions form that `ToolCall` has no own field for, as its `extra` has them."""
    extra = _but(call, "id", "type", "index", "function")
    function = call.get("function")
    if isinstance(function, Mapping) and (inner := _but(function, "name", "arguments")):
        extra["function"] = inner
    return extra


def extra_of(call: Mapping[str, Any]) -> str:
    """The `further_fields` as text."""
    extra = further_fields(call)
    return column_text(extra) if extra else ""


def _but(fields: Mapping[str, Any], *known: str) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if key not in known and value is not None}


def _call(call: ToolCall | Mapping[str, Any], index: int) -> ToolCall:
    if isinstance(call, ToolCall):
        return call
    if not isinstance(call, Mapping):
        raise ValueError("a tool call in a history must be an object with an id and a function")
    function = call.get("function") or {}
    if not isinstance(function, Mapping):
        raise ValueError("the function of a tool call in a history must be an object with a name and arguments")
    arguments = function.get("arguments")
    return ToolCall(
        str(call.get("id") or ""),
        str(function.get("name") or ""),
        arguments if isinstance(arguments, str) else to_json({} if arguments is None else arguments),
        index=index,
        extra=extra_of(call),
    )


def _are_parts(content: Any) -> bool:
    return (
        isinstance(content, list | tuple)
        and bool(content)
        and all(
            isinstance(part, Mapping)
            and isinstance(part.get("type"), str)
            and (part["type"] != "text" or isinstance(part.get("text"), str))
            for part in content
        )
    )


def _text_of_parts(content: Any) -> str | None:
    if not isinstance(content, Sequence):
        return None
    texts = [part["text"] for part in content if isinstance(part, Mapping) and isinstance(part.get("text"), str)]
    return "".join(texts) or None
