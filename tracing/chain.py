"""A history as a chain of hashes, like commits over blobs.

    body hash    = sha256(text as UTF-8, lone surrogates passed through)
    message hash = sha256("pm1", parent hash, body hash, envelope, role: each on a line, hashes in hexadecimal)

The envelope holds what is not plain text: tool calls, the id of the call that is answered, a provider's extra fields.
So a document that is read in a thousand runs is stored once, two requests are equal if and only if their tips are,
and a fork or the next turn of a conversation shares its prefix.
"""

import hashlib
import json
from dataclasses import replace
from json.encoder import encode_basestring as _quoted
from typing import NamedTuple

from agent.canonical import escaped, plain_text
from agent.messages import Message, ToolCall, extra_of
from tracing.cleaning import Clean, cleaned

VERSION = "pm1"


class Body(NamedTuple):
    """A text and its hash."""

    hash: bytes
    text: str


class Link(NamedTuple):
    """One message in its place in a history."""

    hash: bytes
    parent: bytes | None
    depth: int
    """0 for the first message of a history."""
    role: str
    body: Body | None
    envelope: str | None


def body_of(text: str) -> Body:
    return Body(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest(), text)


def link(parent: Link | None, message: Message, known: Body | None = None) -> Link:
    """`message` as what follows `parent`; `known` may be the body of its content already."""
    if message.content is None:
        body = None
    else:
        body = known if known is not None and known.text is message.content else body_of(message.content)
    envelope = envelope_of(message)
    parent_hash = None if parent is None else parent.hash
    digest = hash_of(parent_hash, message.role, None if body is None else body.hash, envelope)
    return Link(digest, parent_hash, 0 if parent is None else parent.depth + 1, message.role, body, envelope)


def hash_of(parent: bytes | None, role: str, body: bytes | None, envelope: str | None) -> bytes:
    # No line can run into the next: hashes and canonical JSON hold no line end, and the role comes last.
    text = f"{VERSION}\n{parent.hex() if parent else ''}\n{body.hex() if body else ''}\n{envelope or ''}\n{role}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def message_of(role: str, content: str | None, envelope: str | None) -> Message:
    """The message that a link was made of: `envelope_of` read backwards. Raises ValueError for no envelope."""
    fields = json.loads(envelope) if envelope else {}
    if not isinstance(fields, dict):
        raise ValueError("an envelope must be an object")
    calls = tuple(
        ToolCall(call["id"], call["function"]["name"], call["function"]["arguments"], index=index, extra=extra_of(call))
        for index, call in enumerate(fields.pop("tool_calls", ()))
    )
    answers = fields.pop("tool_call_id", None)
    extra = plain_text(fields) if fields else ""
    return Message(role=role, content=content, tool_calls=calls, tool_call_id=answers, extra=extra)


def envelope_of(message: Message) -> str | None:
    """Canonical JSON of what a message holds beside its role and text; None for nothing."""
    # The two kinds that every step has, written out: as an object, through the encoder, they took 8 us of a step.
    if not message.extra and len(message.tool_calls) <= 1:
        if not message.tool_calls:
            answers = message.tool_call_id
            return None if answers is None else escaped(f'{{"tool_call_id":{_quoted(answers)}}}')
        call = message.tool_calls[0]
        if message.tool_call_id is None and not call.extra:
            function = f'{{"arguments":{_quoted(call.arguments)},"name":{_quoted(call.name)}}}'
            return escaped(f'{{"tool_calls":[{{"function":{function},"id":{_quoted(call.id)},"type":"function"}}]}}')
    return _envelope(message)


def _envelope(message: Message) -> str:
    envelope = message.to_dict()
    del envelope["role"]
    if envelope["content"] == message.content:  # else a content of parts, which only the envelope holds whole
        del envelope["content"]
    return plain_text(envelope)


class Chain:
    """The chain of one run. It remembers its last history, so that a step hashes only what is new."""

    def __init__(self, clean: Clean | None = None) -> None:
        """`clean` makes each text what is stored of it, e.g. without its secrets."""
        self._clean = clean
        self._known: dict[str | None, tuple[str, Body]] = {}
        self._messages: tuple[Message, ...] = ()
        self.tip: Link | None = None

    def extend(self, messages: tuple[Message, ...]) -> list[Link]:
        """Makes `messages` the history, and returns the links that are new.

        Histories are tuples of frozen messages that only grow, so the last known one standing where it stood means
        that all before it is the same; anything else is a new chain.
        """
        known = len(self._messages)
        if known > len(messages) or (known and messages[known - 1] is not self._messages[-1]):
            known, self.tip = 0, None
        new = []
        for message in messages[known:]:
            text, body = self._known.get(message.tool_call_id, (None, None))
            if text is not None and text is message.content and not message.tool_calls and not message.extra:
                assert body is not None
                if body.text is not text:
                    message = replace(message, content=body.text)
            else:
                body = None
                if self._clean is not None:
                    message = cleaned(message, self._clean)
            self.tip = link(self.tip, message, body)
            new.append(self.tip)
        self._messages = messages
        self._known.clear()
        return new

    def goes_on(self, messages: tuple[Message, ...]) -> bool:
        """Whether these are the messages of this chain's history, perhaps with more."""
        return not self._messages or messages[: len(self._messages)] == self._messages

    def expect(self, tool_call_id: str, text: str, body: Body) -> None:
        """Says what is stored of a text that is about to be said, so that a long result is looked through once."""
        self._known[tool_call_id] = (text, body)
