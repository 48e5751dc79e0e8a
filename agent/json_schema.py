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
    out.pop("additionalProperties", None)
    out.setdefault("properties", {})
    return out


def _normal(schema: Any) -> Any:
    """A schema without what says nothing: titles, a true `additionalProperties`, an enum beside its const."""
    if not isinstance(schema, dict):
        return schema
    out: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "title" or (key == "additionalProperties" and value is True):
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


def bool_for_number(schema: Any, value: Any, defs: Mapping[str, Any], path: tuple[Any, ...] = ()) -> tuple[Any, ...]:
    """Where true or false stands for a number, the path to it: Python takes True for 1, and no model means that."""
    if not isinstance(schema, Mapping):
        return ()
    if "$ref" in schema:
        return bool_for_number(defs.get(schema["$ref"].rpartition("/")[2]), value, defs, path)
    if branches := schema.get("anyOf") or schema.get("oneOf"):
        found = [bool_for_number(branch, value, defs, path) for branch in branches]
        fits = any(branch.get("type") == "boolean" for branch in branches if isinstance(branch, Mapping))
        return () if isinstance(value, bool) and fits else next((place for place in found if place), ())
    if isinstance(value, bool):
        return path if schema.get("type") in ("integer", "number") else ()
    if isinstance(value, dict):
        inner = schema.get("properties", {})
        rest = schema.get("additionalProperties")
        items = [(key, item, inner.get(key, rest)) for key, item in value.items()]
    elif isinstance(value, list):
        items = [(position, item, schema.get("items")) for position, item in enumerate(value)]
    else:
        return ()
    for key, item, item_schema in items:
        if place := bool_for_number(item_schema, item, defs, (*path, key)):
            return place
    return ()


def reasons(errors: list[Any], schema: dict[str, Any]) -> str:
    """One clause for each parameter that is wrong."""
    reasons: dict[str, str] = {}
    for error in errors:
        path = tuple(error["loc"])
        top = str(path[0]) if path else ""
        if error["type"] == "missing":
            reason = f"{_dotted(path)} is required"
        elif error["type"] == "extra_forbidden" and len(path) == 1:
            allowed = ", ".join(schema["properties"]) or "none"
            reason = f"there is no parameter {top} (the parameters are: {allowed})"
        elif len(path) == 1:
            reason = must_be(path, schema, error["input"])
        elif _is_choice(schema["properties"].get(top)):
            reason = f"{top} must be {describe(schema['properties'][top], schema)}"
        else:
            reason = f"{_dotted(path)} is not valid ({error['type'].replace('_', ' ')})"
        reasons.setdefault(top, reason)
    return "; ".join(reasons.values())


def must_be(path: tuple[Any, ...], schema: dict[str, Any], value: Any) -> str:
    inner: Any = schema
    for key in path:
        inner = _resolved(inner, schema)
        inner = inner.get("properties", {}).get(key) if isinstance(key, str) else inner.get("items")
        if inner is None:
            return f"{_dotted(path)} is not valid: it was {json_kind(value)}"
    return f"{_dotted(path)} must be {describe(inner, schema)}; it was {json_kind(value)}"


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
    return " ".join([text, *bounds])


def _resolved(schema: Any, root: Mapping[str, Any]) -> Any:
    while isinstance(schema, Mapping) and "$ref" in schema:
        schema = root.get("$defs", {}).get(schema["$ref"].rpartition("/")[2])
    return schema if isinstance(schema, Mapping) else {}


def _is_choice(schema: Any) -> bool:
    return isinstance(schema, Mapping) and ("anyOf" in schema or "oneOf" in schema)


def _dotted(path: tuple[Any, ...]) -> str:
    return ".".join(str(part) for part in path)
