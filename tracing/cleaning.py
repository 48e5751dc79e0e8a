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
    """JSON text with each string in it as `clean` makes it, also where a pattern takes more than the string, and where
    the string has escapes; what is no JSON is cleaned as a text. The very same object where nothing changes."""
    cleaned_text = clean(text)
    if cleaned_text is text:
        return text
    try:
        value = json.loads(text)
        found = _clean_strings(value, clean)
    except (ValueError, RecursionError):
        return cleaned_text
    return text if found == value else to_json(found)


def cleaned(message: Message, clean: Clean) -> Message:
    """`message` with each text as `clean` makes it; ids and names stay. The very same object where nothing changes."""
    content = None if message.content is None else clean(message.content)
    extra = clean_json(message.extra, clean) if message.extra else ""
    calls = message.tool_calls
    if calls:
        arguments = [clean_json(call.arguments, clean) for call in calls]
        if any(new is not call.arguments for new, call in zip(arguments, calls, strict=True)):
            calls = tuple(replace(call, arguments=new) for new, call in zip(arguments, calls, strict=True))
    if content is message.content and extra == message.extra and calls is message.tool_calls:
        return message
    return replace(message, content=content, extra=extra, tool_calls=calls)


def _clean_strings(value: Any, clean: Clean) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {key: _clean_strings(item, clean) for key, item in value.items()}
    return [_clean_strings(item, clean) for item in value] if isinstance(value, list) else value
