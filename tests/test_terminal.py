"""The sanitiser: whatever a model or a tool said, nothing that acts on a terminal reaches it."""

import json
import unicodedata
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent.terminal import call_text, json_text, one_line, visible
from tests.runs import SURROGATES, UNSAFE, strict_json, unsafe_in

ANY_TEXT = st.text(st.one_of(st.characters(exclude_categories=()), st.sampled_from(sorted(UNSAFE))))
"""Any text at all, rich in what is unsafe."""
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=12,
)


def replaced(value: Any) -> Any:
    """`value` with U+FFFD for each lone surrogate."""
    if isinstance(value, str):
        return "".join("\ufffd" if character in SURROGATES else character for character in value)
    if isinstance(value, list):
        return [replaced(item) for item in value]
    if isinstance(value, dict):
        return {replaced(key): replaced(item) for key, item in value.items()}
    return value


def surrogates_in(value: Any) -> int:
    return sum(character in SURROGATES for character in json.dumps(value, ensure_ascii=False))


@pytest.mark.parametrize("character", sorted(UNSAFE - SURROGATES), ids=lambda character: f"{ord(character):x}")
def test_each_unsafe_character_becomes_something_that_can_be_seen(character: str) -> None:
    shown = visible(f"a{character}b")
    assert not unsafe_in(shown)
    assert shown[0] + shown[-1] == "ab"
    assert all(unicodedata.category(one)[0] in "LNPS" for one in shown[1:-1])
    assert len(shown) > 2


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J", "␛[2J"),
        ("\x00\x07\x08\r\x0b\x0c", "␀␇␈␍␋␌"),
        ("a\r\nb\tc\n", "a\nb\tc\n"),
        ("\x7f\x9b31m", "␡\\x9b31m"),
        ("\u202egnp", "\\u202egnp"),
        ("a\ud83eb", "a\ufffdb"),
        ("日本 ❤️ 👩‍👩‍👧 é", "日本 ❤️ 👩‍👩‍👧 é"),
        ("[red]x[/red] :smile:", "[red]x[/red] :smile:"),
    ],
)
def test_what_is_unsafe_is_shown_and_what_is_safe_stays(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(ANY_TEXT)
def test_no_text_becomes_unsafe_and_what_is_visible_stays_as_it_is(text: str) -> None:
    shown = visible(text)
    assert not unsafe_in(shown)
    assert visible(shown) == shown
    shown.encode()


@given(ANY_TEXT, st.integers(2, 40))
@example("\x9b" * 100, 20)
@example(" " * 1000 + "end", 20)
def test_one_line_is_one_line_of_that_size_and_safe(text: str, size: int) -> None:
    line = one_line(text, size)
    assert len(line) <= size
    assert not unsafe_in(line)
    assert not set(line) & {"\n", "\t"}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\n\n  b\tc ", "a b c"),
        ("1234567890", "1234567890"),
        ("12345678901", "123456789…"),
        ("12345678 01", "12345678…"),
        ("", ""),
    ],
)
def test_one_line_joins_lines_and_marks_what_it_leaves_out(text: str, line: str) -> None:
    assert one_line(text, 10) == line


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ('{"path": "a.md", "start": 3}', 'read_doc(path="a.md", start=3)'),
        ('{"a": [1, null, true], "b": "é\\n"}', 'read_doc(a=[1, null, true], b="é\\n")'),
        ("{}", "read_doc()"),
        ("", "read_doc()"),
        ('{"path": ', 'read_doc({"path": )'),
        ("[1]", "read_doc([1])"),
        ('{"a": "\\u001b[2J\\u202e"}', 'read_doc(a="\\u001b[2J\\u202e")'),
        ('{"a": "\\ud83e"}', 'read_doc(a="\ufffd")'),
        ('{"a": ' + "9" * 5000 + "}", 'read_doc({"a": ' + "9" * 5000 + "})"),
    ],
)
def test_a_call_reads_as_one_would_write_it(arguments: str, shown: str) -> None:
    assert call_text("read_doc", arguments) == shown


@given(ANY_TEXT, ANY_TEXT | PLAIN.map(json.dumps) | st.dictionaries(ANY_TEXT, PLAIN, max_size=3).map(json.dumps))
def test_no_call_is_unsafe_to_print(name: str, arguments: str) -> None:
    assert not unsafe_in(call_text(name, arguments))


@pytest.mark.parametrize("depths", [[100, 100_000], range(850, 1010)], ids=["far", "near the limit of recursion"])
def test_a_call_with_deeply_nested_arguments_can_be_shown(depths: Iterable[int]) -> None:
    for depth in depths:
        assert call_text("f", '{"a": ' * depth + "1" + "}" * depth).startswith("f(")
        assert call_text("f", '{"a": ' + "[" * depth + "]" * depth + "}").startswith("f(")


@given(PLAIN)
@example({"a\ud800": "\ud83e\udd84"})
def test_json_is_strict_and_safe_and_gives_the_value_back(value: Any) -> None:
    text = json_text({"value": value})
    assert not unsafe_in(text)
    back = strict_json(text)
    count = back.pop("replaced", 0)
    assert back == {"value": replaced(value)}
    assert count == surrogates_in(value)


def test_json_without_anything_to_replace_does_not_speak_of_it() -> None:
    assert json.loads(json_text({"a": "é\x9b"})) == {"a": "é\x9b"}
    assert json_text({"a": "é\x9b\u202e\x1b"}) == '{\n  "a": "é\\u009b\\u202e\\u001b"\n}'
    assert json_text([]) == "[]"
