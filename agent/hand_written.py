"""Hand-written JSON Schemas: what is refused when a tool is made, and what is refused of a call.

The library jsonschema validates, so that each keyword means what the standard says; a keyword that it does not honour
is refused at once. One rule is ours: at the top, a parameter that the schema does not name is refused unless the schema
itself allows more, because it was meant for something else.
"""

import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from agent.arguments import json_kind
from agent.errors import ToolDefinitionError
from agent.json_schema import ANY, describe, dotted, no_parameter, pointed
from agent.signature import Bound, Rejected, Signature

_SAYS_NOTHING = {"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "format",
                 "contentEncoding", "contentMediaType", "$comment", "$schema"}  # fmt: skip
"""Keywords that tell the model something, and hold nothing to."""
_ONE = {"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedItems",
        "unevaluatedProperties"}  # fmt: skip
_SEVERAL = {"allOf", "anyOf", "oneOf", "prefixItems"}
_NAMED = {"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"}
_IN_WORDS = {"type", "enum", "const", "anyOf", "oneOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
             "multipleOf", "minLength", "maxLength", "pattern", "minItems", "maxItems", "uniqueItems"}  # fmt: skip
"""The keywords that `describe` has words for."""
_OTHERS = {"$ref", "required", "minProperties", "maxProperties", "minContains", "maxContains", "dependentRequired"}
_KEYWORDS = _SAYS_NOTHING | _ONE | _SEVERAL | _NAMED | _IN_WORDS | _OTHERS
_INTEGER = re.compile(r"[-+]?\d+")
_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?(e[-+]?\d+)?", re.IGNORECASE)


def from_schema(name: str, parameters: Any, function: Callable[..., Any]) -> Signature:
    """A hand-written schema of an arguments object and the plain function that takes its properties.

    Raises ToolDefinitionError for what is no JSON Schema, for a keyword that cannot be kept to, and where the schema
    and the function do not fit each other.
    """
    from jsonschema import Draft202012Validator

    schema = _checked(name, parameters)
    more = schema.get("additionalProperties", "patternProperties" in schema) is not False
    _check_function(name, schema, function, more)
    validator = Draft202012Validator(schema if more else {**schema, "additionalProperties": False})

    def bind(arguments: dict[str, Any]) -> Bound | Rejected:
        given = _coerced(arguments, schema, validator)
        clauses: dict[str, str] = {}
        for error in validator.iter_errors(given):
            for path, clause in _clauses(error, schema):
                clauses.setdefault(str(path[0]) if path else "", clause)
        return Rejected("; ".join(clauses.values())) if clauses else Bound((), given)

    return Signature(schema, bind)


def _checked(name: str, parameters: Any) -> dict[str, Any]:
    """A copy of the schema as JSON has it."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    try:
        schema = json.loads(json.dumps(parameters, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise ToolDefinitionError(f"the schema of the tool {name} is no JSON: {error}") from error
    if not isinstance(schema, dict) or schema.get("type", "object") != "object" or "$ref" in schema:
        raise ToolDefinitionError(f"the schema of the tool {name} must be that of an object, with its properties")
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        place = dotted(tuple(error.absolute_path)) or "its top"
        raise ToolDefinitionError(
            f"the schema of the tool {name} is no JSON Schema (2020-12) at {place}: {error.message}"
        ) from error
    for inner in _within(schema):
        _check_keywords(name, inner, schema)
    return schema


def _check_keywords(name: str, schema: dict[str, Any], root: dict[str, Any]) -> None:
    if unknown := [key for key in schema if key not in _KEYWORDS]:
        raise ToolDefinitionError(
            f"the schema of the tool {name} has {unknown[0]!r}, which cannot be kept to: leave it out"
        )
    target, seen = schema, []
    while isinstance(target, dict) and "$ref" in target:
        reference = target["$ref"]
        if reference in seen:
            raise ToolDefinitionError(
                f"the schema of the tool {name} refers to {reference!r}, which only refers to itself: give its type"
            )
        seen.append(reference)
        target = pointed(root, reference)
    if not isinstance(target, dict | bool):
        raise ToolDefinitionError(
            f"the schema of the tool {name} refers to {seen[-1]!r}, which is not in it: put it into $defs"
        )


def _within(schema: Any) -> Iterator[dict[str, Any]]:
    """The schema and all schemas inside it."""
    if not isinstance(schema, dict):
        return
    yield schema
    inner = [schema[key] for key in _ONE if key in schema]
    inner += [one for key in _SEVERAL for one in schema.get(key, ())]
    inner += [one for key in _NAMED for one in schema.get(key, {}).values()]
    for one in inner:
        yield from _within(one)


def _check_function(name: str, schema: Mapping[str, Any], function: Callable[..., Any], more: bool) -> None:
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not more and (missing := [key for key in required if key not in properties]):
        raise ToolDefinitionError(f"the schema of the tool {name} requires {missing[0]!r}: give it in its properties")
    listed = ", ".join(properties) or "none"
    try:
        actual = inspect.signature(function)
        actual.bind(**dict.fromkeys(properties))
        actual.bind(**dict.fromkeys(required))
    except (TypeError, ValueError) as error:
        raise ToolDefinitionError(
            f"the function of the tool {name} does not take its schema's parameters ({listed}): {error}"
        ) from error
    if more and not any(parameter.kind is parameter.VAR_KEYWORD for parameter in actual.parameters.values()):
        raise ToolDefinitionError(
            f"the schema of the tool {name} allows more than its properties ({listed}): give its function **kwargs, "
            "or leave additionalProperties out"
        )


def _coerced(value: Any, schema: Any, validator: Any) -> Any:
    """The value with `"2"` and `2.0` as the integer that is meant, where the schema takes no text there."""
    if not isinstance(schema, dict):
        return value
    if "$ref" in schema:
        value = _coerced(value, pointed(validator.schema, schema["$ref"]), validator)
    for branch in schema.get("allOf", ()):
        value = _coerced(value, branch, validator)
    for key in ("anyOf", "oneOf"):
        branches = [branch for branch in schema.get(key, ()) if not validator.evolve(schema=branch).is_valid(value)]
        if schema.get(key) and len(branches) == len(schema[key]):  # none takes it as it is
            tried = (_coerced(value, branch, validator) for branch in branches)
            fits = (one for branch, one in zip(branches, tried) if validator.evolve(schema=branch).is_valid(one))
            value = next(fits, value)
    if isinstance(value, dict):
        named, rest = schema.get("properties", {}), schema.get("additionalProperties")
        return {key: _coerced(item, named.get(key, rest), validator) for key, item in value.items()}
    if isinstance(value, list):
        first, rest = schema.get("prefixItems", ()), schema.get("items")
        return [
            _coerced(item, first[place] if place < len(first) else rest, validator) for place, item in enumerate(value)
        ]
    kinds = schema.get("type", ())
    return _scalar(value, {kinds} if isinstance(kinds, str) else set(kinds))


def _scalar(value: Any, kinds: set[str]) -> Any:
    if isinstance(value, str) and kinds & {"integer", "number", "boolean"} and "string" not in kinds:
        text = value.strip()
        if "boolean" in kinds and text in ("true", "false"):
            return text == "true"
        if kinds & {"integer", "number"} and _NUMBER.fullmatch(text):
            try:
                number: Any = int(text) if _INTEGER.fullmatch(text) else float(text)
            except ValueError:  # more digits than Python reads
                return value
            value = number if abs(number) != float("inf") else value
    if isinstance(value, float) and value.is_integer() and "integer" in kinds and "number" not in kinds:
        return int(value)
    return value


def _clauses(error: Any, root: Mapping[str, Any]) -> Iterator[tuple[tuple[Any, ...], str]]:
    """For a validation error, the path and the clause of each parameter that is wrong; none quotes a value."""
    path, keyword, value = tuple(error.absolute_path), error.validator, error.instance
    if keyword == "required":
        for key in error.validator_value:
            if key not in value:
                yield (*path, key), f"{dotted((*path, key))} is required"
    elif keyword == "additionalProperties" and error.validator_value is False:
        named, patterns = error.schema.get("properties", {}), error.schema.get("patternProperties", ())
        for key in value:
            if key not in named and not any(re.search(pattern, key) for pattern in patterns):
                yield (*path, key), no_parameter(path, key, named)
    else:
        allowed = describe({key: item for key, item in error.schema.items() if key != "$ref"}, root)
        if keyword in _IN_WORDS and ANY not in allowed:
            yield path, f"{dotted(path) or 'the arguments'} must be {allowed}; it was {json_kind(value)}"
        else:
            rule = json.dumps({keyword: error.validator_value}, ensure_ascii=False)
            yield path, f"{dotted(path) or 'the arguments'} must keep to {rule}"
