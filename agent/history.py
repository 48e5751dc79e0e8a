"""What was said before: the history that a run starts with is always one that a strict server takes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agent.canonical import encodable
from agent.messages import Message, ToolCall, as_message
from agent.models.wire import sendable, sendable_name

ROLES = ("system", "developer", "user", "assistant", "tool")
UNANSWERED = "Error: not run: the run was interrupted."


def opening(
    system: str | None, history: Sequence[Message | Mapping[str, Any]] | None, question: str
) -> tuple[Message, ...]:
    """The history that a run starts with, the question last. Raises ValueError for a malformed history, TypeError for
    one that is no list, and for a question that is no text."""
    if history is not None and (isinstance(history, str | Mapping) or not isinstance(history, Iterable)):
        raise TypeError(
            f"a history must be a list of messages, not a {type(history).__name__}: give the messages of a Result, or dicts"
        )
    if not isinstance(question, str):
        raise TypeError(f"a question must be a text, not {type(question).__name__}")
    earlier = answered_history([as_message(message) for message in history or ()])
    if system is not None:
        if earlier and earlier[0].role == "system":
            del earlier[0]
        earlier.insert(0, Message(role="system", content=encodable(system)))
    return (*earlier, Message(role="user", content=encodable(question)))


def answered_history(messages: Sequence[Message]) -> list[Message]:
    """A history in which every call has exactly one answer, in the order of the calls, and is valid to send: an
    earlier run may have been killed before it gave them, and no server takes the history without."""
    whole: list[Message] = []
    waiting: list[tuple[str, str]] = []
    answers: dict[str, list[Message]] = {}

    def settle() -> None:
        for came, sent in waiting:
            left = answers.get(came)
            answer = left.pop(0) if left else Message(role="tool", content=UNANSWERED)
            whole.append(replace(answer, tool_call_id=sent, content=answer.content or ""))
        waiting.clear()
        answers.clear()

    for message in messages:
        if message.role not in ROLES:
            raise ValueError(f"a message's role must be one of {', '.join(ROLES)}, not {message.role!r}")
        if message.role == "tool":
            # Taken by the call it answers; one to no call, or a second one, is left out.
            answers.setdefault(message.tool_call_id or "", []).append(message)
            continue
        settle()
        calls = message.tool_calls if message.role == "assistant" else ()
        sent: list[ToolCall] = []
        for call in calls:
            call_id = encodable(call.id) or f"call_0_{call.index}"
            while call_id in {one.id for one in sent}:
                call_id += "_"
            arguments = sendable(call.arguments)
            sent.append(replace(call, id=call_id, name=sendable_name(call.name), arguments=arguments))
            waiting.append((encodable(call.id), call_id))
        content = message.content if sent or message.content is not None else ""
        if (tuple(sent), content, None) != (message.tool_calls, message.content, message.tool_call_id):
            message = replace(message, tool_calls=tuple(sent), content=content, tool_call_id=None)
        whole.append(message)
    settle()
    return whole
