"""Which hand-written schemas can be kept to.

A keyword that JSON Schema (2020-12) does not know says something to the model and holds nothing to, so it is passed on.
What is refused is one that means something elsewhere (another draft, OpenAPI), or is a known one misspelt: the writer
counts on it.
"""

import difflib
import json
import re
from typing import Any

from agent.errors import ToolDefinitionError
from agent.json_schema import dotted
from agent.schemas.references import NAMED, ONE, SEVERAL, circle, pointed, within

_SAYS_NOTHING = {"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "format",
                 "contentEncoding", "contentMediaType", "contentSchema", "$comment", "$schema", "$anchor",
                 "$vocabulary", "$dynamicAnchor"}  # fmt: skip
"""Keywords that tell the model something, and hold nothing to."""
IN_WORDS = {"type", "enum", "const", "anyOf", "oneOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
            "multipleOf", "minLength", "maxLength", "pattern", "minItems", "maxItems", "uniqueItems"}  # fmt: skip
"""The keywords that `describe` has words for."""
_OTHERS = {"$ref", "required", "minProperties", "maxProperties", "minContains", "maxContains", "dependentRequired"}
_HELD = ONE | SEVERAL | NAMED | IN_WORDS | _OTHERS
_ELSEWHERE = {"nullable", "dependencies", "additionalItems", "$dynamicRef", "$recursiveRef"}
_SPELT = {key.lower(): key for key in sorted(_HELD)}
_CLOSE = 0.85
"""How like a known keyword a misspelt one is: `minimun` is (0.857), the `tsType` of a generator is not (0.8)."""


def checked(name: str, parameters: Any) -> dict[str, Any]:
    """A copy of a tool's schema as JSON has it. Raises ToolDefinitionError for one that cannot be kept to."""
    try:
        schema = json.loads(json.dumps(parameters, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise ToolDefinitionError(f"the schema of the tool {name} is no JSON: {error}") from error
    if isinstance(schema, dict) and isinstance(target := pointed(schema, schema.get("$ref", "#")), dict):
        schema = {**target, **{key: value for key, value in schema.items() if key != "$ref"}}  # as pydantic has it
    if not isinstance(schema, dict) or schema.get("type", "object") != "object" or "$ref" in schema:
        raise ToolDefinitionError(f"the schema of the tool {name} must be that of an object, with its properties")
    _check_form(name, schema)
    for inner in within(schema):
        _check_keywords(name, inner, is_top=inner is schema)
    _check_references(name, schema)
    return schema


def _check_form(name: str, schema: dict[str, Any]) -> None:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        place = dotted(tuple(error.absolute_path)) or "its top"
        reason = error.message
        if error.validator_value == "regex":
            reason = f"Python's re cannot read the pattern {error.instance!r} ({_unreadable(str(error.instance))})"
        raise ToolDefinitionError(
            f"the schema of the tool {name} is no JSON Schema (2020-12) at {place}: {reason}"
        ) from error
    except RecursionError as error:
        raise ToolDefinitionError(
            f"the schema of the tool {name} is nested too deeply to be kept to: put parts of it into $defs"
        ) from error
    except OverflowError as error:  # a pattern's own
        raise ToolDefinitionError(f"the schema of the tool {name} cannot be kept to: {error}") from error


def _unreadable(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        return str(error)
    return "it is no regular expression"


def _check_keywords(name: str, schema: dict[str, Any], *, is_top: bool) -> None:
    for key in schema:
        # Below the top an $id would change what the references beside it mean.
        if key in _ELSEWHERE or (key == "$id" and not is_top):
            raise ToolDefinitionError(
                f"the schema of the tool {name} has {key!r}, which cannot be kept to: leave it out"
            )
        if key in _HELD | _SAYS_NOTHING or key.startswith("x-"):
            continue
        if close := [one for one in difflib.get_close_matches(key.lower(), _SPELT, 1, _CLOSE) if _is_slip(key, one)]:
            raise ToolDefinitionError(
                f"the schema of the tool {name} has {key!r}, which is no keyword: did you mean {_SPELT[close[0]]!r}?"
            )


def _is_slip(key: str, spelt: str) -> bool:
    """Whether a key is a slip of the pen: no shorter word (`note`, `cost`), and no word with an ending of its own."""
    one = key.lower()
    is_longer = one.startswith(spelt) or spelt.startswith(one)
    return one == spelt or (len(one) > 5 and abs(len(one) - len(spelt)) < 2 and not is_longer)


def _check_references(name: str, root: dict[str, Any]) -> None:
    schemas = list(within(root))
    known = {id(schema) for schema in schemas}
    for reference in (schema["$ref"] for schema in schemas if "$ref" in schema):
        target = pointed(root, reference)
        if id(target) not in known and not isinstance(target, bool):
            raise ToolDefinitionError(
                f"the schema of the tool {name} refers to {reference!r}, which is not in it: put it into $defs"
            )
    if reference := circle(root):
        raise ToolDefinitionError(
            f"the schema of the tool {name} refers to {reference!r}, which only refers to itself: give its type"
        )
