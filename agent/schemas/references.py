"""Where schemas stand inside a JSON Schema, and what a reference inside it points to."""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

ONE = {"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedItems",
       "unevaluatedProperties"}  # fmt: skip
SEVERAL = {"allOf", "anyOf", "oneOf", "prefixItems"}
NAMED = {"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"}
_SAME_VALUE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas")


def within(schema: Any) -> Iterator[dict[str, Any]]:
    """The schema and all schemas inside it."""
    if isinstance(schema, dict):
        yield schema
        for key in schema:
            for inner in _under(schema, key):
                yield from within(inner)


def _under(schema: Mapping[str, Any], key: str) -> list[Any]:
    """The schemas that stand directly under a keyword."""
    if key in ONE:
        return [schema[key]]
    if key in SEVERAL:
        return list(schema[key])
    return list(schema[key].values()) if key in NAMED else []


def pointed(root: Any, reference: str) -> Any:
    """What a reference inside a schema (`#/$defs/Order`, `#anchor`) points to; None where it points to nothing."""
    start, *parts = unquote(reference).split("/")
    if start == "#":
        found = root
    else:
        found = next((one for one in within(root) if "$anchor" in one and f"#{one['$anchor']}" == start), None)
    for part in parts:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list):
            found = found[int(key)] if key.isdecimal() and int(key) < len(found) else None
        else:
            found = found.get(key) if isinstance(found, Mapping) else None
    return found


def named(schema: Any, root: Mapping[str, Any]) -> dict[str, None]:
    """The properties that a schema names, and those that parts of it name for the same value, in their order."""
    if not isinstance(schema, Mapping):
        return {}
    found = dict.fromkeys(schema.get("properties", ()))
    parts = [one for key in _SAME_VALUE if key in schema and key != "not" for one in _under(schema, key)]
    for part in [*parts, pointed(root, schema["$ref"])] if "$ref" in schema else parts:
        found |= named(part, root)
    return found


def circle(root: Mapping[str, Any]) -> str | None:
    """A reference by which a schema holds a value to that schema again, and so never comes to an end; or None."""
    done: set[int] = set()

    def closing(schema: Any, above: frozenset[int]) -> str | None:
        if not isinstance(schema, dict) or id(schema) in done:
            return None
        above |= {id(schema)}
        inner = [one for key in _SAME_VALUE if key in schema for one in _under(schema, key)]
        if "$ref" in schema:
            target = pointed(root, schema["$ref"])
            if id(target) in above:
                return str(schema["$ref"])
            inner.append(target)
        found = next((reference for one in inner if (reference := closing(one, above))), None)
        done.add(id(schema))
        return found

    return next((reference for schema in within(root) if (reference := closing(schema, frozenset()))), None)
