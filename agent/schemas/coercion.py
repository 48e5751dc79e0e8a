"""What models write for a number: `"2"` and `2.0` become the integer that is meant, where the schema takes no text.

A value goes through its schema once: what was made of it is kept for the next branch that asks, and a value in which
nothing changes stays the same object, so that a tree of unions takes no longer than it is large.
"""

import re
from collections.abc import Mapping
from typing import Any

from agent.schemas.references import pointed
from agent.schemas.validation import Validation

_INTEGER = re.compile(r"[-+]?[0-9]+")
_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[-+]?[0-9]+)?", re.IGNORECASE)
_KINDS = {bool: "boolean", int: "integer", float: "number", str: "string"}


def coerced(value: Any, validation: Validation) -> Any:
    """The value as its schema means it; what does not fit stays as it is, for the validation to refuse."""
    return _Coercion(validation).under(validation.schema, value)


class _Coercion:
    def __init__(self, validation: Validation) -> None:
        self._validation = validation
        self._made: dict[tuple[int, int], tuple[Any, Any]] = {}

    def under(self, schema: Any, value: Any) -> Any:
        if not isinstance(schema, dict):
            return value
        place = (id(schema), id(value))
        if place not in self._made:
            self._made[place] = (value, self._under(schema, value))
        return self._made[place][1]

    def _under(self, schema: dict[str, Any], value: Any) -> Any:
        value = self._inside(schema, value)
        if "$ref" in schema:
            value = self.under(pointed(self._validation.schema, schema["$ref"]), value)
        for part in schema.get("allOf", ()):
            value = self.under(part, value)
        for key in ("anyOf", "oneOf"):
            value = self._chosen(schema.get(key, ()), value)
        for key, part in schema.get("dependentSchemas", {}).items():
            if isinstance(value, dict) and key in value:
                value = self.under(part, value)
        if "if" in schema:
            then = "then" if self._validation.takes(value, schema["if"]) else "else"
            value = self.under(schema.get(then), value)
        return value

    def _chosen(self, branches: Any, value: Any) -> Any:
        """What the first branch that takes it makes of the value; one that takes it as it is goes first."""
        for branch in sorted(branches, key=lambda one: not self._validation.takes(value, one)):
            made = self.under(branch, value)
            if self._validation.takes(made, branch):
                return made
        return value

    def _inside(self, schema: dict[str, Any], value: Any) -> Any:
        if isinstance(value, dict):
            fields = {key: self._through(_for_key(schema, key), item) for key, item in value.items()}
            return fields if any(fields[key] is not value[key] for key in value) else value
        if isinstance(value, list):
            first, rest = schema.get("prefixItems", ()), schema.get("items")
            items = [self.under(first[n] if n < len(first) else rest, item) for n, item in enumerate(value)]
            return items if any(new is not old for new, old in zip(items, value)) else value
        return _scalar(value, _kinds(schema))

    def _through(self, schemas: list[Any], value: Any) -> Any:
        for schema in schemas:
            value = self.under(schema, value)
        return value


def _for_key(schema: Mapping[str, Any], key: str) -> list[Any]:
    named = [inner for name, inner in schema.get("properties", {}).items() if name == key]
    matched = [inner for pattern, inner in schema.get("patternProperties", {}).items() if re.search(pattern, key)]
    return named + matched or [schema.get("additionalProperties")]


def _kinds(schema: Mapping[str, Any]) -> set[str]:
    """The types that a schema names, or those of the values that it lists."""
    if "type" in schema:
        kinds = schema["type"]
        return {kinds} if isinstance(kinds, str) else set(kinds)
    listed = schema.get("enum", [schema["const"]] if "const" in schema else [])
    return {_KINDS.get(type(one), "") for one in listed}


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
