"""What is stored of a text, a document or a message: without its secrets, and a document stays one."""

import contextlib
import json
import re
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

from agent.canonical import column_text, to_json
from agent.messages import Message
from tracing.redaction import MARKER

Clean = Callable[[str], str]
"""Makes of a text what is stored of it; gives the very same object where that is all of it."""

_BARE = re.compile(rf'"(?:[^"\\]|\\.)*"|(?P<bare>[\w.+-]*{MARKER.pattern}[\w.+-]*)')
"""A string, or a marker that stands where a number was."""


def clean_json(text: str, clean: Clean) -> str:
    """JSON text as `clean` makes it, where that leaves the document as it is but for its strings, and for the numbers
    that are secrets, which become strings. Where a pattern takes more than that (a quote, the rest of the text), value by
    value, and written anew. What is no JSON is cleaned as a text. The very same object where nothing changes.

    A policy of version 1 (`clean.numbers` is False) knew secrets in strings only; its records are replayed with it."""
    found = clean(text)
    if found is text:
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return found
    numbers = getattr(clean, "numbers", True)
    if (like := _like(found, value, numbers)) is not None:
        return like
    anew = to_json(_clean_values(value, clean, numbers))
    like = _like(clean(anew), value, numbers)  # a secret may be told by the key beside it
    return anew if like is None else like


def clean_plain(value: Any, clean: Clean) -> Any:
    """A value as `agent.canonical` makes it plain, without its secrets."""
    return json.loads(clean_json(column_text(value), clean))


def clean_raw(text: str, clean: Clean) -> str:
    """A provider's message as JSON text, value by value: its arguments must come out as they do by themselves, and
    within a document a secret is written with other escapes."""
    if clean(text) is text:
        return text
    try:
        return to_json(_clean_values(json.loads(text), clean, getattr(clean, "numbers", True)))
    except (ValueError, RecursionError):
        return clean(text)


def cleaned(message: Message, clean: Clean) -> Message:
    """`message` with each text as `clean` makes it; ids and names stay. The very same object where nothing changes."""
    content = None if message.content is None else clean(message.content)
    extra = clean_json(message.extra, clean) if message.extra else ""
    calls = message.tool_calls
    for at, call in enumerate(calls):
        arguments = clean_json(call.arguments, clean)
        more = clean_json(call.extra, clean) if call.extra else ""
        if (arguments, more) != (call.arguments, call.extra):
            calls = (*calls[:at], replace(call, arguments=arguments, extra=more), *calls[at + 1 :])
    if content is message.content and extra == message.extra and calls is message.tool_calls:
        return message
    return replace(message, content=content, extra=extra, tool_calls=calls)


def _like(text: str, value: Any, numbers: bool) -> str | None:
    """`text`, where it is a document like `value` but for secrets; with a marker that stands bare as a string."""
    for one in (text, _BARE.sub(_quoted, text)) if numbers else (text,):
        with contextlib.suppress(ValueError, RecursionError):
            if _is_like(json.loads(one), value, numbers):
                return one
    return None


def _is_like(one: Any, value: Any, numbers: bool) -> bool:
    if isinstance(value, dict):
        return isinstance(one, dict) and _are_like(one.values(), value.values(), numbers)
    if isinstance(value, list):
        return isinstance(one, list) and _are_like(one, value, numbers)
    if isinstance(one, str):
        return isinstance(value, str) or (numbers and _is_number(value) and MARKER.search(one) is not None)
    return type(one) is type(value) and bool(one == value)


def _are_like(ones: Collection[Any], values: Collection[Any], numbers: bool) -> bool:
    return len(ones) == len(values) and all(_is_like(*pair, numbers) for pair in zip(ones, values, strict=True))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _quoted(match: re.Match[str]) -> str:
    return match[0] if match["bare"] is None else f'"{match[0]}"'


def _clean_values(value: Any, clean: Clean, numbers: bool) -> Any:
    if isinstance(value, str):
        return clean_json(value, clean)  # arguments are a document within one
    if isinstance(value, list):
        return [_clean_values(item, clean, numbers) for item in value]
    if isinstance(value, dict):
        if not numbers:
            return {key: _clean_values(item, clean, numbers) for key, item in value.items()}
        inner = ((clean(key), _clean_values(item, clean, numbers)) for key, item in value.items())
        return {key: _clean_beside(key, item, clean) if _is_number(item) else item for key, item in inner}
    if not (numbers and _is_number(value)):
        return value
    text = to_json(value)
    found = clean(text)
    return value if found is text else found


def _clean_beside(key: str, number: Any, clean: Clean) -> Any:
    """A pattern may take the key with the number; then a marker stands for the number."""
    pair = {key: number}
    text = to_json(pair)
    found = clean(text)
    if found is text:
        return number
    like = _like(found, pair, numbers=True)
    if like is None:
        return "".join(marker[0] for marker in MARKER.finditer(found))
    return next(iter(json.loads(like).values()))
