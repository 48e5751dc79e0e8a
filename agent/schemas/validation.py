"""The validator of hand-written schemas: jsonschema's, but for four keywords.

jsonschema collects the errors of all branches of a union, which in a tree of unions takes exponential time; here each
value is held to each branch once. A step is compared as the decimal that was written, as 19.99 is no multiple of 0.01
in binary. And a property whose schema is `false` is named.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any


class Validation:
    """One schema, and what is known of the values of the calls that are being held to it."""

    def __init__(self, schema: dict[str, Any]) -> None:
        from jsonschema import Draft202012Validator, ValidationError
        from jsonschema.validators import extend

        self.schema = schema
        self._error = ValidationError
        # A value is kept beside what is known of it, so that its id stays its own.
        self._known: dict[tuple[int, int], tuple[Any, bool]] = {}
        ours: dict[str, Any] = {
            "anyOf": self._any_of,
            "oneOf": self._one_of,
            "multipleOf": self._multiple_of,
            "properties": self._properties,
        }
        self._validator = extend(Draft202012Validator, ours)(schema)  # type: ignore[no-untyped-call]

    def errors(self, value: Any) -> Iterator[Any]:
        """jsonschema's errors, without those inside a union."""
        return iter(self._validator.iter_errors(value))

    def takes(self, value: Any, schema: Any) -> bool:
        """Whether a value is valid under this schema, or one inside it."""
        place = (id(schema), id(value))
        known = self._known.get(place)
        if known is None:
            known = self._known[place] = (value, self._validator.evolve(schema=schema).is_valid(value))
        return known[1]

    def forget(self) -> None:
        """A call has been read: its values are not kept."""
        self._known.clear()

    def _any_of(self, validator: Any, branches: Any, value: Any, schema: Any) -> Iterator[Any]:
        if not any(self.takes(value, branch) for branch in branches):
            yield self._error("no branch takes it")

    def _one_of(self, validator: Any, branches: Any, value: Any, schema: Any) -> Iterator[Any]:
        if sum(self.takes(value, branch) for branch in branches) != 1:
            yield self._error("not exactly one branch takes it")

    def _multiple_of(self, validator: Any, step: Any, value: Any, schema: Any) -> Iterator[Any]:
        if validator.is_type(value, "number") and Fraction(str(value)) % Fraction(str(step)):
            yield self._error("no multiple")

    def _properties(self, validator: Any, properties: Any, value: Any, schema: Any) -> Iterator[Any]:
        for key, inner in properties.items():
            if not isinstance(value, dict) or key not in value:
                continue
            if inner is False:
                yield self._error("never allowed", path=[key])
            else:
                yield from validator.descend(value[key], inner, path=key, schema_path=key)
