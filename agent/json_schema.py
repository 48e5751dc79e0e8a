"""JSON Schemas of tool arguments: one normal form, and words for what they allow.

What pydantic says of a type changes from release to release, so schemas are normalised: no titles, no keyword that
says nothing. A pydantic upgrade must not look like a changed tool. Error texts are our own (which parameter, why, what
is allowed): the library's quote the value, and a value may be a secret.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, get_args

from agent.arguments import json_kind
from agent.schemas.references import pointed

_MAX_DEPTH = 5
"""Levels of a schema that are put into words; it may refer to itself."""
ANY = "any value"
_KINDS = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "object": "an object",
    "array": "a list",
    "null": "null",
}
_BOUNDS = {
    "minimum": "at least",
    "exclusiveMinimum": "more than",
    "maximum": "at most",
    "exclusiveMaximum": "less than",
    "multipleOf": "that is a multiple of",
    "minLength": "of length at least",
    "maxLength": "of length at most",
    "pattern": "that matches",
}


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
    if "default" in out and not _is_sendable(out["default"], out.get("type")):
        del out["default"]
    if "const" in out:
        out.pop("enum", None)
    elif isinstance(out.get("enum"), list) and len(out["enum"]) == 1:
        out["const"] = out.pop("enum")[0]
    if list(out.get("allOf", ())) and len(out["allOf"]) == 1 and "$ref" in out["allOf"][0]:
        out.update(out.pop("allOf")[0])
    return out


def _is_sendable(default: Any, kind: Any) -> bool:
    """Whether a default is JSON, and one that its own type takes: that of an unannotated `n=1` is a string."""
    try:
        json.dumps(default, allow_nan=False)
    except ValueError:
        return False
    return kind != "string" or isinstance(default, str)


def refusal(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> str | None:
    """Why arguments are refused before pydantic sees them, or None.

    Python takes True for 1, and no model means that; and a parameter or field that there is not was meant for
    something else. An object is closed where its schema says `additionalProperties: false`.
    """
    return _unmeant(schema, arguments, schema, ())


def _unmeant(schema: Any, value: Any, root: Mapping[str, Any], path: tuple[Any, ...]) -> str | None:
    schema = _resolved(schema, root)
    if branches := schema.get("anyOf") or schema.get("oneOf"):
        # Only the branches that are of the value's kind have a say, and one that takes it is enough.
        found = [_unmeant(branch, value, root, path) for branch in branches if _concerns(branch, value, root)]
        return found[0] if found and all(found) else None
    if isinstance(value, bool):
        listed = schema.get("enum", [schema["const"]] if "const" in schema else [])
        number = schema.get("type") in ("integer", "number") or (
            value in listed and not any(value is one for one in listed)
        )
        return f"{dotted(path)} must be {describe(schema, root)}; it was true or false" if number else None
    if isinstance(value, dict):
        inner, rest = schema.get("properties", {}), schema.get("additionalProperties")
        if rest is False and (unknown := [key for key in value if key not in inner]):
            return no_parameter(path, unknown[0], inner)
        items = [(key, item, inner.get(key, rest)) for key, item in value.items()]
    elif isinstance(value, list):
        first = schema.get("prefixItems", [])
        items = [
            (position, item, first[position] if position < len(first) else schema.get("items"))
            for position, item in enumerate(value)
        ]
    else:
        return None
    reasons = (_unmeant(item_schema, item, root, (*path, key)) for key, item, item_schema in items)
    return next((reason for reason in reasons if reason), None)


def _concerns(schema: Any, value: Any, root: Mapping[str, Any]) -> bool:
    schema = _resolved(schema, root)
    kinds = {bool: ("boolean", "integer", "number"), dict: ("object",), list: ("array",)}.get(type(value), ())
    if schema.get("type") not in (None, *kinds):
        return False
    fixed = {key: inner["const"] for key, inner in schema.get("properties", {}).items() if "const" in inner}
    return all(value.get(key, said) == said for key, said in fixed.items()) if isinstance(value, dict) else True


def no_parameter(path: tuple[Any, ...], name: str, named: Iterable[str]) -> str:
    listed = ", ".join(named) or "none"
    if path:
        return f"{dotted(path)} has no field {name} (its fields are: {listed})"
    return f"there is no parameter {name} (the parameters are: {listed})"


def reasons(errors: list[Any], schema: Mapping[str, Any]) -> str:
    """One clause for each parameter that is wrong, from pydantic's errors."""
    from pydantic_core.core_schema import ErrorType

    known = {*get_args(ErrorType)} - {"value_error", "assertion_error", "string_unicode"}
    clauses: dict[str, str] = {}
    for error in errors:
        path = tuple(error["loc"])
        top = str(path[0]) if path else ""
        whole = schema["properties"].get(top)
        leaf = whole if len(path) == 1 else _leaf(schema, path)
        allowed, was = describe(whole if leaf is None else leaf, schema), json_kind(error["input"])
        if error["type"] == "missing":
            clause = f"{dotted(path)} is required"
        elif error["type"] not in known or (leaf is not None and _says_the_same(allowed, was)):
            clause = f"{dotted(path)} must be {allowed}, and one that the tool's own check accepts"
        elif len(path) == 1:
            clause = f"{top} must be {allowed}; it was {was}"
        elif _is_choice(whole):
            clause = f"{top} must be {describe(whole, schema)}"
        elif leaf is not None:
            clause = f"{dotted(path)} must be {allowed}; it was {was}"
        else:
            clause = f"{dotted(path)} is not valid ({error['type'].replace('_', ' ')})"
        clauses.setdefault(top, clause)
    return "; ".join(clauses.values())


def _says_the_same(allowed: str, was: str) -> bool:
    return allowed == was or (allowed, was) == (_KINDS["number"], _KINDS["integer"])


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


def describe(schema: Any, root: Mapping[str, Any], depth: int = 0) -> str:
    """What a schema allows, in words: `an integer`, `one of "fast", "slow"`, `a list, each item a string`."""
    schema = _resolved(schema, root)
    if depth > _MAX_DEPTH:
        return "what its schema allows"
    if "const" in schema:
        return _value(schema["const"])
    if "enum" in schema:
        return "one of " + ", ".join(_value(value) for value in schema["enum"])
    branches = schema.get("anyOf") or schema.get("oneOf") or ()
    alternatives = " or ".join(describe(branch, root, depth + 1) for branch in branches)
    together = " and ".join(describe(part, root, depth + 1) for part in schema.get("allOf", ()))
    parts = [part for part in (" ".join(_bounds(schema)), alternatives, together) if part]
    return " ".join(parts if parts and "type" not in schema else [_kind(schema, root, depth), *parts])


def _kind(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> str:
    kind = schema.get("type")
    if isinstance(kind, list):
        return " or ".join(_kind({**schema, "type": one}, root, depth) for one in kind)
    if kind == "array" and schema.get("items"):
        return f"a list, each item {describe(schema['items'], root, depth + 1)}"
    if kind == "object" and schema.get("properties"):
        return "an object with " + ", ".join(schema["properties"])
    text = _KINDS.get(str(kind), ANY)
    return f"{text} in the format {schema['format']}" if kind == "string" and "format" in schema else text


def _bounds(schema: Mapping[str, Any]) -> list[str]:
    least, most = schema.get("minItems"), schema.get("maxItems")
    if least is not None and least == most:
        items = [f"of exactly {least} item{'s' if least != 1 else ''}"]
    else:
        items = [f"with {word} {n} item{'s' if n != 1 else ''}"
                 for word, n in (("at least", least), ("at most", most)) if n is not None]  # fmt: skip
    unique = ["without the same item twice"] if schema.get("uniqueItems") else []
    return [f"{word} {schema[key]}" for key, word in _BOUNDS.items() if key in schema] + items + unique


def _value(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _resolved(schema: Any, root: Mapping[str, Any]) -> Any:
    for _ in range(_MAX_DEPTH):
        if isinstance(schema, dict) and "$ref" in schema:
            schema = pointed(root, schema["$ref"])
    return schema if isinstance(schema, dict) else {}


def _is_choice(schema: Any) -> bool:
    return isinstance(schema, Mapping) and ("anyOf" in schema or "oneOf" in schema)


def dotted(path: tuple[Any, ...]) -> str:
    return ".".join(str(part) for part in path)
