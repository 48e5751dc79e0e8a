"""What was said before: the history that a run starts with is always one that a strict server takes."""

from collections.abc import Mapping, Sequence
from typing import Any

from agent.canonical import encodable
from agent.messages import Message, as_message

UNANSWERED = "Error: not run: the run was interrupted."


def opening(
    system: str | None, history: Sequence[Message | Mapping[str, Any]] | None, question: str
) -> tuple[Message, ...]:
    """The history that a run starts with, the question last. Raises ValueError for a malformed history."""
    earlier = answered_history([as_message(message) for message in history or ()])
    if system is not None:
        if earlier and earlier[0].role == "system":
            del earlier[0]
        earlier.insert(0, Message(role="system", content=encodable(system)))
    return (*earlier, Message(role="user", content=encodable(question)))


def answered_history(messages: Sequence[Message]) -> list[Message]:
    """A history in which every call has exactly one answer: an earlier run may have been killed before it gave them,
    and no server takes the history without."""
    whole: list[Message] = []
    waiting: dict[str, None] = {}

    def settle() -> None:
        whole.extend(Message(role="tool", tool_call_id=call_id, content=UNANSWERED) for call_id in waiting)
        waiting.clear()

    for message in messages:
        if message.role == "tool":
            if message.tool_call_id not in waiting:
                continue  # an answer to no call, or a second one
            del waiting[message.tool_call_id]
        else:
            settle()
            waiting.update(dict.fromkeys(call.id for call in message.tool_calls))
        whole.append(message)
    settle()
    return whole
