"""The chain of hashes: equal histories and only those have equal tips, and each message is hashed once."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agent import Message, ToolCall
from agent.canonical import plain_text
from tracing.chain import Chain, Link, envelope_of, link, message_of

TEXT = st.text(st.characters(), max_size=5)
CALL_EXTRA = st.sampled_from(["", '{"extra_content":{"a":1}}', '{"function":{"strict":true},"x":"y"}'])
CALLS = st.lists(st.builds(ToolCall, TEXT, TEXT, TEXT, extra=CALL_EXTRA), max_size=2).map(tuple)
EXTRA = st.sampled_from(["", '{"refusal":"no"}'])
MESSAGES = st.builds(
    Message,
    role=st.sampled_from(["user", "assistant", "tool"]),
    content=st.none() | TEXT,
    tool_calls=CALLS,
    tool_call_id=st.none() | TEXT,
    extra=EXTRA,
)


def tip(*messages: Message) -> bytes:
    found: Link | None = None
    for message in messages:
        found = link(found, message)
    assert found is not None
    return found.hash


@given(MESSAGES)
def test_an_envelope_is_canonical_json_of_all_but_role_and_text(message: Message) -> None:
    whole = {key: value for key, value in message.to_dict().items() if key not in ("role", "content")}
    envelope = envelope_of(message)
    assert envelope == (plain_text(whole) if whole else None)
    assert json.loads(envelope or "{}") == json.loads(json.dumps(whole))
    assert message_of(message.role, message.content, envelope) == message


@given(st.lists(MESSAGES, min_size=1, max_size=3), st.lists(MESSAGES, min_size=1, max_size=3))
def test_two_histories_have_one_tip_if_and_only_if_they_are_equal(one: list[Message], other: list[Message]) -> None:
    def said(messages: list[Message]) -> list[dict[str, Any]]:
        return [message.to_dict() for message in messages]

    assert (tip(*one) == tip(*other)) == (said(one) == said(other))


def test_no_field_can_pass_for_another() -> None:
    variants = [
        Message(role="user", content="a"),
        Message(role="a", content="user"),
        Message(role="user", content=""),
        Message(role="user", content=None),
        Message(role="tool", content="a", tool_call_id="b"),
        Message(role="tool", content="b", tool_call_id="a"),
        Message(role="assistant", tool_calls=(ToolCall("a", "b", "c"),)),
        Message(role="assistant", tool_calls=(ToolCall("a", "c", "b"),)),
    ]
    assert len({tip(message) for message in variants}) == len(variants)
    assert tip(variants[0], variants[1]) != tip(variants[1], variants[0])


def test_extending_a_history_hashes_only_what_is_new() -> None:
    messages = tuple(Message(role="user", content=str(number)) for number in range(4))
    chain = Chain()
    assert [one.depth for one in chain.extend(messages[:2])] == [0, 1]
    assert [one.depth for one in chain.extend(messages)] == [2, 3]
    assert chain.extend(messages) == []
    assert chain.tip is not None
    assert chain.tip.hash == tip(*messages)


def test_another_history_begins_a_new_chain() -> None:
    one, two, three = (Message(role="user", content=text) for text in "abc")
    chain = Chain()
    chain.extend((one, two))
    for messages in ((one, three), (three,), (one, two, three)):
        chain.extend(messages)
        assert chain.tip is not None
        assert chain.tip.hash == tip(*messages)
