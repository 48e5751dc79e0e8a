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
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

MAX_DEPTH = 100
MAX_DIGITS = 4000

_SURROGATE = re.compile("[\ud800-\udfff]")
_dump = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False).encode


def to_text(value: Any) -> str:
    """The canonical JSON text of `value`; never raises, whatever the value.

    Dataclasses and pydantic models are taken as objects, enums as their value, bytes as UTF-8 with `\\xNN` for the
    rest, sets as sorted lists, NaN and the infinities as the strings "NaN", "Infinity", "-Infinity". Anything else
    is its `str`. What is nested deeper than 100 levels or contains itself is replaced by a string that says so.
    """
    try:
        text = _dump(value)
    except (TypeError, ValueError, RecursionError):
        text = _dump(to_plain(value))
    return _escaped(text)


def to_json(value: Any) -> str:
    """As `to_text`, with the keys in the order they have: for text that is kept as a text, not compared by value."""
    return _escaped(json.dumps(to_plain(value), ensure_ascii=False, separators=(",", ":")))


def to_plain(value: Any, _above: tuple[int, ...] = ()) -> Any:
    """`value` as dicts with string keys, lists, strings, numbers, booleans and None; see `to_text`."""
    match value:
        case None | bool():
            return value
        case Enum():
            return to_plain(value.value, _above)
        case str():
            return str(value)
        case int():
            return int(value) if abs(value) < 10**MAX_DIGITS else f"an integer of {value.bit_length()} bits"
        case float():
            return _plain_float(value)
        case bytes() | bytearray() | memoryview():
            return bytes(value).decode("utf-8", "backslashreplace")
    # The ancestors, not all that was seen: a list that holds one dict twice is no cycle.
    if id(value) in _above:
        return "<contains itself>"
    if len(_above) >= MAX_DEPTH:
        return f"<nested deeper than {MAX_DEPTH} levels>"
    above = (*_above, id(value))
    match value:
        case Mapping():
            return {_key(key): to_plain(item, above) for key, item in value.items()}
        case list() | tuple():
            return [to_plain(item, above) for item in value]
        case set() | frozenset():
            return sorted((to_plain(item, above) for item in value), key=_dump)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return {field.name: to_plain(getattr(value, field.name, None), above) for field in fields}
    if callable(dump := getattr(value, "model_dump", None)) and not isinstance(value, type):
        return _attempt(value, lambda: to_plain(dump(), above))
    if isinstance(value, Iterable) and hasattr(value, "__next__"):
        return _attempt(value, lambda: [to_plain(item, above) for item in value])
    return _attempt(value, lambda: str(value))


def _attempt(value: Any, convert: Any) -> Any:
    try:
        return convert()
    except Exception as error:  # noqa: BLE001 - a user's __str__ or generator may raise anything
        return f"<{type(value).__name__} that cannot be shown: {type(error).__name__}>"


def _plain_float(value: float) -> float | str:
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    return float(value)


def _key(key: Any) -> str:
    plain = to_plain(key)
    return plain if isinstance(plain, str) else _dump(plain)


def _escaped(text: str) -> str:
    return text if text.isascii() else _SURROGATE.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match.group()):04x}"
