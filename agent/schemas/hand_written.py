"""Hand-written JSON Schemas: what is refused when a tool is made, and what is refused of a call.

The library jsonschema validates, so that each keyword means what the standard says. One rule is ours: at the top, a
parameter that the schema does not name is refused unless the schema itself allows more, because it was meant for
something else.
"""

import copy
import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from agent.arguments import json_kind
from agent.errors import ToolDefinitionError
from agent.json_schema import ANY, describe, dotted, no_parameter
from agent.schemas.coercion import coerced
from agent.schemas.keywords import IN_WORDS, checked
from agent.schemas.references import named, within
from agent.schemas.validation import Validation
from agent.signature import Bound, Rejected, Signature


def from_schema(name: str, parameters: Any, function: Callable[..., Any]) -> Signature:
    """A hand-written schema of an arguments object and the plain function that takes its properties.

    Raises ToolDefinitionError for what is no JSON Schema, for a keyword that cannot be kept to, and where the schema
    and the function do not fit each other.
    """
    schema = checked(name, parameters)
    more = schema.get("additionalProperties", "patternProperties" in schema) is not False
    _check_function(name, schema, function, more)
    validation = Validation(_held(schema, more))

    def bind(arguments: dict[str, Any]) -> Bound | Rejected:
        clauses: dict[str, str] = {}
        try:
            given = coerced(arguments, validation)
            for error in validation.errors(given):
                for path, clause in _clauses(error, schema):
                    clauses.setdefault(str(path[0]) if path else "", clause)
        finally:
            validation.forget()
        return Rejected("; ".join(clauses.values())) if clauses else Bound((), given)

    return Signature(schema, bind)


def _held(schema: dict[str, Any], more: bool) -> dict[str, Any]:
    """What a call is held to: a `$schema` would make what is under it another draft, and in an object that takes no
    more, `unevaluatedProperties` would say the same fault again."""
    held = copy.deepcopy(schema)
    for inner in list(within(held)):
        inner.pop("$schema", None)
    if not more:
        held.pop("unevaluatedProperties", None)
        held["additionalProperties"] = False  # which does not see what a part of the schema names
        held["properties"] = {**dict.fromkeys(named(schema, schema), True), **held.get("properties", {})}
    return held


def _check_function(name: str, schema: Mapping[str, Any], function: Callable[..., Any], more: bool) -> None:
    properties, required = named(schema, schema), schema.get("required", [])
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


def _clauses(error: Any, root: Mapping[str, Any]) -> Iterator[tuple[tuple[Any, ...], str]]:
    """For a validation error, the path and the clause of each parameter that is wrong; none quotes a value."""
    path, keyword, value = tuple(error.absolute_path), error.validator, error.instance
    where = dotted(path) or "the arguments"
    if keyword == "required":
        for key in error.validator_value:
            if key not in value:
                yield (*path, key), f"{dotted((*path, key))} is required"
    elif keyword == "additionalProperties" and error.validator_value is False:
        known, patterns = error.schema.get("properties", {}), error.schema.get("patternProperties", ())
        for key in value:
            if key not in known and not any(re.search(pattern, key) for pattern in patterns):
                yield (*path, key), no_parameter(path, key, known)
    elif keyword == "properties":
        yield path, f"{where} must be left out"
    elif keyword is None:
        yield path, f"the schema allows no such value for {where}"  # a part of it is `false`
    else:
        allowed = describe({key: item for key, item in error.schema.items() if key != "$ref"}, root)
        if keyword in IN_WORDS and ANY not in allowed:
            yield path, f"{where} must be {allowed}; it was {json_kind(value)}"
        else:
            rule = json.dumps({keyword: error.validator_value}, ensure_ascii=False)
            yield path, f"{where} must keep to {rule}"
