"""From a model's raw argument text to a dict, or to the reason why not.

The rule is lenient where the meaning is plain and strict where a guess could do harm. Empty text and `null` mean no
arguments; a raw newline inside a string and a byte order mark are taken as meant. Everything else that is not the
JSON of one object (cut, followed by more text, with single quotes, with a key twice, with NaN, an object inside a
string) is refused with a reason, and the tool does not run.
"""

import json
from typing import Any

from agent.canonical import MAX_DEPTH


class Unusable(ValueError):
    """Arguments that cannot be used; the text is the reason, and quotes no value."""


def parse(raw: str) -> dict[str, Any]:
    """The arguments as a dict. Raises Unusable."""
    text = raw.removeprefix("\ufeff").strip()
    if text in ("", "null"):
        return {}
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise Unusable(f"they are not valid JSON ({error.msg}, at character {error.pos + 1})") from None
    except RecursionError:
        raise Unusable(f"they are nested deeper than {MAX_DEPTH} levels") from None
    except Unusable:
        raise
    except ValueError:
        raise Unusable("they hold a number with too many digits") from None
    if not isinstance(value, dict):
        inside = "; send the object itself, not a string that holds it" if isinstance(value, str) else ""
        raise Unusable(f"they must be a JSON object, not {json_kind(value)}{inside}")
    if _depth(value) > MAX_DEPTH:
        raise Unusable(f"they are nested deeper than {MAX_DEPTH} levels")
    return value


def json_kind(value: Any) -> str:
    """What a JSON value is, in words, without the value."""
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int():
            return "an integer"
        case float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "a list"
    return "an object"


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise Unusable("a key stands in them twice")
    return value


def _no_constant(name: str) -> None:
    raise Unusable(f"{name} is not JSON")


def _float(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise Unusable("they hold a number that is too large")
    return value


def _depth(value: Any) -> int:
    """Levels of nesting, counted without recursion."""
    level, depth = [value], 0
    while level:
        depth += 1
        level = [
            item
            for outer in level
            if isinstance(outer, dict | list)
            for item in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(item, dict | list)
        ]
    return depth


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_no_constant, parse_float=_float, strict=False)
