"""What is stored of a text, a document or a message: without its secrets, and a document stays one."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from agent.canonical import to_json
from agent.messages import Message

Clean = Callable[[str], str]
"""Makes of a text what is stored of it; gives the very same object where that is all of it."""


def clean_json(text: str, clean: Clean) -> str:
    """JSON text as `clean` makes it, where that leaves the document as it is but for its strings. Where a pattern takes
    more than that (a quote, the rest of the text), string by string, and written anew. What is no JSON is cleaned as a
    text. The very same object where nothing changes."""
    found = clean(text)
    if found is text:
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return found
    if _is_like(found, value):
        return found
    anew = to_json(_clean_strings(value, clean))
    found = clean(anew)  # a secret may be told by the key beside it
    return found if _is_like(found, value) else anew


def clean_raw(text: str, clean: Clean) -> str:
    """A provider's message as JSON text, string by string: its arguments must come out as they do by themselves, and
    within a document a secret is written with other escapes."""
    if clean(text) is text:
        return text
    try:
        return to_json(_clean_strings(json.loads(text), clean))
    except (ValueError, RecursionError):
        return clean(text)


def cleaned(message: Message, clean: Clean) -> Message:
    """`message` with each text as `clean` makes it; ids and names stay. The very same object where nothing changes."""
    content = None if message.content is None else clean(message.content)
    extra = clean_json(message.extra, clean) if message.extra else ""
    calls = message.tool_calls
    for at, call in enumerate(calls):
        arguments = clean_json(call.arguments, clean)
        if arguments is not call.arguments:
            calls = (*calls[:at], replace(call, arguments=arguments), *calls[at + 1 :])
    if content is message.content and extra == message.extra and calls is message.tool_calls:
        return message
    return replace(message, content=content, extra=extra, tool_calls=calls)


def _is_like(text: str, value: Any) -> bool:
    """Whether `text` is a document like `value`, whatever its strings."""
    try:
        return bool(_shape(json.loads(text)) == _shape(value))
    except (ValueError, RecursionError):
        return False


def _shape(value: Any) -> Any:
    if isinstance(value, dict):
        return ["an object", *map(_shape, value.values())]
    if isinstance(value, list):
        return ["a list", *map(_shape, value)]
    return "a text" if isinstance(value, str) else [value]


def _clean_strings(value: Any, clean: Clean) -> Any:
    if isinstance(value, str):
        return clean_json(value, clean)  # arguments are a document within one
    if isinstance(value, dict):
        return {key: _clean_strings(item, clean) for key, item in value.items()}
    return [_clean_strings(item, clean) for item in value] if isinstance(value, list) else value
