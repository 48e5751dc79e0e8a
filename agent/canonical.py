"""The one rule by which a value becomes JSON text.

Everything that is hashed, stored or shown to a model as data goes through here, so two equal values always give the
same text: string keys in sorted order, no white space, no ASCII escapes, no NaN (which is no JSON). What Unicode
cannot hold as text, a lone surrogate, is written as its JSON escape; so the text is always encodable, and reading it
back gives the value that went in. Depth and the digits of an integer are bounded, because Python's own limits would
otherwise end a run from inside a log call.
"""

import dataclasses
import json
import re
import threading
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, TypeVar

MAX_DEPTH = 100
MAX_DIGITS = 4000
_TOO_LARGE = 10**MAX_DIGITS  # made once: it takes longer than all else about an integer

T = TypeVar("T")

_stack = threading.local()
_SURROGATE = re.compile("[\ud800-\udfff]")
_sorted = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False).encode
_unsorted = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def to_text(value: Any) -> str:
    """The canonical JSON text of `value`; never raises, whatever the value.

    Dataclasses and pydantic models are taken as objects, enums as their value, bytes as UTF-8 with `\\xNN` for the
    rest, sets as sorted lists, NaN and the infinities as the strings "NaN", "Infinity", "-Infinity". Anything else
    is its `str`. What is nested deeper than 100 levels, contains itself or raises when it is looked at is replaced by
    a string that says so.
    """
    return plain_text(to_plain(value))


def to_json(value: Any) -> str:
    """As `to_text`, with the keys in the order they have: for text that is kept as a text, not compared by value."""
    return _on_a_fresh_stack(lambda: escaped(_unsorted(to_plain(value))))


def column_text(value: Any) -> str:
    """As `to_text`, with U+FFFD for what Unicode cannot hold: SQLite's JSON functions would make of the escape a text
    that no reader can decode, and fail the whole query."""
    return _on_a_fresh_stack(lambda: encodable(_sorted(to_plain(value))))


def encodable(text: str) -> str:
    """`text` with U+FFFD for each lone surrogate, which no server could be sent."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def plain_text(value: Any) -> str:
    """As `to_text`, for a value that is plain already: its keys are strings, its numbers finite, its depth bounded."""
    return _on_a_fresh_stack(lambda: escaped(_sorted(value)))


def to_plain(value: Any) -> Any:
    """`value` as dicts with string keys, lists, strings, numbers, booleans and None; see `to_text`."""
    return _on_a_fresh_stack(lambda: _plain(value, ()))


def _plain(value: Any, above: tuple[int, ...]) -> Any:
    kind = type(value)
    if kind is str or kind is bool or value is None or (kind is int and -_TOO_LARGE < value < _TOO_LARGE):
        return value
    # The ancestors, not all that was seen: a list that holds one dict twice is no cycle.
    if id(value) in above:
        return "<contains itself>"
    try:
        return _converted(value, above)
    except (Exception, SystemExit) as error:
        if isinstance(error, RecursionError) and not getattr(_stack, "is_fresh", False):
            raise
        return f"<{kind.__name__} that cannot be shown: {type(error).__name__}>"


def _converted(value: Any, above: tuple[int, ...]) -> Any:
    match value:
        case Enum():
            return _plain(value.value, above)
        case str():
            return str(value)
        case bool():
            return bool(value)
        case int():
            return int(value) if -_TOO_LARGE < value < _TOO_LARGE else f"an integer of {int(value).bit_length()} bits"
        case float():
            return _finite(value)
        case bytes() | bytearray() | memoryview():
            return bytes(value).decode("utf-8", "backslashreplace")
    is_object = dataclasses.is_dataclass(value) and not isinstance(value, type)
    dump = None if isinstance(value, type) else getattr(value, "model_dump", None)
    is_list = isinstance(value, list | tuple | set | frozenset)
    if not (is_object or callable(dump) or is_list or isinstance(value, Mapping)):
        return str(value)
    if len(above) >= MAX_DEPTH:
        return f"<nested deeper than {MAX_DEPTH} levels>"
    above = (*above, id(value))
    if is_object:
        return {field.name: _plain(getattr(value, field.name, None), above) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        # Where two keys have one text (1 and "1"), the one that is a text counts, in whatever order they stand.
        texts = {key for key in value if isinstance(key, str)}
        named = ((key, _key(key), item) for key, item in value.items())
        return {name: _plain(item, above) for key, name, item in named if key in texts or name not in texts}
    if callable(dump):
        return _plain(dump(), above)
    items = [_plain(item, above) for item in value]
    return sorted(items, key=_sorted) if isinstance(value, set | frozenset) else items


def _on_a_fresh_stack(make: Callable[[], T]) -> T:
    """`make()`; where the caller is so deep in its own stack that there is no room, on that of a new thread, because
    the text must not depend on who asks."""
    try:
        return make()
    except RecursionError:
        pass
    made: list[T] = []

    def run() -> None:
        _stack.is_fresh = True
        made.append(make())

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return made[0]


def _finite(value: float) -> float | str:
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    return float(value)


def _key(key: Any) -> str:
    plain = _plain(key, ())
    return plain if isinstance(plain, str) else _sorted(plain)


def escaped(text: str) -> str:
    """JSON text with each lone surrogate as its JSON escape."""
    return text if text.isascii() else _SURROGATE.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match.group()):04x}"
