"""JSON Schemas of tool arguments: one normal form, and words for what they allow.

What pydantic says of a type changes from release to release, so schemas are normalised: no titles, no keyword that
says nothing. A pydantic upgrade must not look like a changed tool. Error texts are our own (which parameter, why, what
is allowed): the library's quote the value, and a value may be a secret.
"""

from collections.abc import Mapping
from typing import Any

from agent.arguments import json_kind


def normal(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an arguments object in its normal form."""
    out = dict(_normal(schema))
    out.setdefault("properties", {})
    return out


def _normal(schema: Any) -> Any:
    """A schema without what says nothing, or is said by some releases only: titles, a plain `additionalProperties`, an
    enum beside its const."""
    if not isinstance(schema, dict):
        return schema
    out: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "title" or (key == "additionalProperties" and isinstance(value, bool)):
            continue
        if key in ("properties", "$defs"):
            out[key] = {name: _normal(inner) for name, inner in value.items()}
        elif key in ("items", "additionalProperties", "not"):
            out[key] = _normal(value)
        elif key in ("anyOf", "oneOf", "allOf", "prefixItems"):
            out[key] = [_normal(inner) for inner in value]
        elif key == "required":
            out[key] = sorted(value)
        else:
            out[key] = value
    if "const" in out:
        out.pop("enum", None)
    elif isinstance(out.get("enum"), list) and len(out["enum"]) == 1:
        out["const"] = out.pop("enum")[0]
    if list(out.get("allOf", ())) and len(out["allOf"]) == 1 and "$ref" in out["allOf"][0]:
        out.update(out.pop("allOf")[0])
    return out


def refusal(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> str | None:
    """Why arguments are refused before pydantic sees them, or None.

    Python takes True for 1, and no model means that; and a parameter that there is not was meant for something else.
    """
    properties = schema["properties"]
    unknown = [name for name in arguments if name not in properties]
    if unknown:
        return f"there is no parameter {unknown[0]} (the parameters are: {', '.join(properties) or 'none'})"
    return _bool_for_number(schema, arguments, schema, ())


def _bool_for_number(schema: Any, value: Any, root: Mapping[str, Any], path: tuple[Any, ...]) -> str | None:
    schema = _resolved(schema, root)
    if branches := schema.get("anyOf") or schema.get("oneOf"):
        if isinstance(value, bool) and any(_resolved(branch, root).get("type") == "boolean" for branch in branches):
            return None
        found = (_bool_for_number(branch, value, root, path) for branch in branches)
        return next((reason for reason in found if reason), None)
    if isinstance(value, bool):
        number = schema.get("type") in ("integer", "number")
        return f"{_dotted(path)} must be {describe(schema, root)}; it was true or false" if number else None
    if isinstance(value, dict):
        inner, rest = schema.get("properties", {}), schema.get("additionalProperties")
        items = [(key, item, inner.get(key, rest)) for key, item in value.items()]
    elif isinstance(value, list):
        first = schema.get("prefixItems", [])
        items = [
            (position, item, first[position] if position < len(first) else schema.get("items"))
            for position, item in enumerate(value)
        ]
    else:
        return None
    reasons = (_bool_for_number(item_schema, item, root, (*path, key)) for key, item, item_schema in items)
    return next((reason for reason in reasons if reason), None)


def reasons(errors: list[Any], schema: Mapping[str, Any]) -> str:
    """One clause for each parameter that is wrong, from pydantic's errors."""
    clauses: dict[str, str] = {}
    for error in errors:
        path = tuple(error["loc"])
        top = str(path[0]) if path else ""
        allowed = describe(schema["properties"].get(top), schema)
        if error["type"] == "missing":
            clause = f"{_dotted(path)} is required"
        elif len(path) == 1:
            clause = f"{top} must be {allowed}; it was {json_kind(error['input'])}"
        elif _is_choice(schema["properties"].get(top)):
            clause = f"{top} must be {allowed}"
        elif (leaf := _leaf(schema, path)) is not None:
            clause = f"{_dotted(path)} must be {describe(leaf, schema)}; it was {json_kind(error['input'])}"
        else:
            clause = f"{_dotted(path)} is not valid ({error['type'].replace('_', ' ')})"
        clauses.setdefault(top, clause)
    return "; ".join(clauses.values())


def _leaf(schema: Mapping[str, Any], path: tuple[Any, ...]) -> Any:
    """The schema at a path through objects and lists; None where it leads elsewhere."""
    inner: Any = schema
    for key in path:
        inner = _resolved(inner, schema)
        if isinstance(key, int):
            first = inner.get("prefixItems", [])
            inner = first[key] if key < len(first) else inner.get("items")
        else:
            inner = inner.get("properties", {}).get(key, inner.get("additionalProperties"))
        if not isinstance(inner, Mapping):
            return None
    return inner


def describe(schema: Any, root: Mapping[str, Any]) -> str:
    """What a schema allows, in words: `an integer`, `one of "fast", "slow"`, `a list of strings`."""
    schema = _resolved(schema, root)
    if "const" in schema:
        return f'"{schema["const"]}"' if isinstance(schema["const"], str) else str(schema["const"])
    if "enum" in schema:
        return "one of " + ", ".join(f'"{value}"' if isinstance(value, str) else str(value) for value in schema["enum"])
    if branches := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(describe(branch, root) for branch in branches)
    kind = schema.get("type")
    bounds = [
        f"{word} {schema[key]}"
        for key, word in (
            ("minimum", "at least"),
            ("exclusiveMinimum", "more than"),
            ("maximum", "at most"),
            ("exclusiveMaximum", "less than"),
            ("minLength", "of length at least"),
            ("maxLength", "of length at most"),
            ("minItems", "with at least"),
            ("maxItems", "with at most"),
            ("pattern", "that matches"),
        )
        if key in schema
    ]
    if kind == "array":
        text = f"a list, each item {describe(schema['items'], root)}" if schema.get("items") else "a list"
    elif kind == "object" and schema.get("properties"):
        text = "an object with " + ", ".join(schema["properties"])
    else:
        words = {
            "string": "a string",
            "integer": "an integer",
            "number": "a number",
            "boolean": "true or false",
            "object": "an object",
            "null": "null",
        }
        text = words.get(str(kind), "of another kind")
        if kind == "string" and "format" in schema:
            text += f" in the format {schema['format']}"
    return " ".join([text, *bounds])


def _resolved(schema: Any, root: Mapping[str, Any]) -> Any:
    while isinstance(schema, dict) and "$ref" in schema:
        schema = root.get("$defs", {}).get(schema["$ref"].rpartition("/")[2])
    return schema if isinstance(schema, dict) else {}


def _is_choice(schema: Any) -> bool:
    return isinstance(schema, Mapping) and ("anyOf" in schema or "oneOf" in schema)


def _dotted(path: tuple[Any, ...]) -> str:
    return ".".join(str(part) for part in path)
