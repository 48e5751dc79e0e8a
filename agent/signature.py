"""From a function's signature to the JSON Schema that the model sees, and from arguments to the call.

pydantic does the validation; `json_schema` says what is allowed in a form that no pydantic release changes, and why
arguments were refused.
"""

import copy
import inspect
import sys
import typing
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from types import FrameType
from typing import Annotated, Any, Literal, Optional, Union

from agent.errors import ToolDefinitionError
from agent.json_schema import normal, reasons, refusal

_EMPTY = inspect.Parameter.empty
_BOUNDS = {
    "minimum": "ge", "exclusiveMinimum": "gt", "maximum": "le", "exclusiveMaximum": "lt",
    "minLength": "min_length", "maxLength": "max_length", "pattern": "pattern",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rejected:
    """Arguments that do not fit; the text says which, why, and what is allowed."""

    reason: str


@dataclass(frozen=True, slots=True)
class Bound:
    """Arguments that fit, as real instances of what the function's annotations say."""

    positional: tuple[Any, ...]
    named: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Signature:
    """What a function takes."""

    parameters: dict[str, Any]
    """JSON Schema of the arguments object."""
    bind: Callable[[dict[str, Any]], Bound | Rejected]
    """Validates arguments; what the model left out is left to the function's own defaults."""


def read_signature(function: Callable[..., Any], texts: Mapping[str, str], meant: Set[str] = frozenset()) -> Signature:
    """The signature of `function`, with `texts` as the descriptions of its parameters; those in `meant` must be some.

    An unannotated parameter is a string; a default makes it optional. Raises ToolDefinitionError for a function that
    a model could never call: `*args`, `**kwargs`, a type without a JSON form, a name that cannot be resolved.
    """
    name = getattr(function, "__name__", "tool")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise ToolDefinitionError(f"the tool {name} has no signature that can be read: wrap it in a def") from error
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            star = "*" if parameter.kind is parameter.VAR_POSITIONAL else "**"
            raise ToolDefinitionError(
                f"the tool {name} takes {star}{parameter.name}, which has no JSON form: name its parameters"
            )
    if unknown := meant - signature.parameters.keys():
        listed = ", ".join(sorted(unknown))
        raise ToolDefinitionError(f"the tool {name} has no parameter {listed}: its texts must name its parameters")
    hints = _hints(function, name)
    fields = []
    for parameter in signature.parameters.values():
        annotation = hints.get(parameter.name, str)
        if parameter.default is None:
            annotation = Optional[annotation]  # noqa: UP045 - it may be a string or a form that has no |
        positional = parameter.kind is parameter.POSITIONAL_ONLY
        fields.append(_Field(parameter.name, annotation, parameter.default, positional))
    return _build(name, fields, texts)


def from_schema(name: str, parameters: Mapping[str, Any], function: Callable[..., Any]) -> Signature:
    """A hand-written JSON Schema and the plain function that takes its properties.

    Raises ToolDefinitionError where the two do not fit each other.
    """
    properties = parameters.get("properties") or {}
    required = set(parameters.get("required") or ())
    try:
        actual = inspect.signature(function)
        actual.bind(**dict.fromkeys(properties))
        actual.bind(**dict.fromkeys(required))
    except (TypeError, ValueError) as error:
        listed = ", ".join(properties) or "none"
        raise ToolDefinitionError(
            f"the function of the tool {name} does not take its schema's parameters ({listed}): {error}"
        ) from error
    fields = [
        _Field(key, _annotation(schema), _EMPTY if key in required else None) for key, schema in properties.items()
    ]
    return Signature(copy.deepcopy(dict(parameters)), _build(name, fields, {}).bind)


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    annotation: Any
    default: Any
    positional: bool = False


def _build(name: str, fields: Sequence[_Field], texts: Mapping[str, str]) -> Signature:
    from pydantic import Field, ValidationError, create_model
    from pydantic.errors import PydanticUserError

    definitions: dict[str, Any] = {}
    for position, field in enumerate(fields):
        options: dict[str, Any] = {} if field.default is _EMPTY else {"default": field.default}
        if field.name in texts:
            options["description"] = texts[field.name]
        # A neutral name and the real one as alias: pydantic reserves names that a parameter may have.
        definitions[f"p{position}"] = (field.annotation, Field(alias=field.name, **options))
    try:
        model = create_model("Arguments", **definitions)
        schema = normal(_json_schema(model))
    except (PydanticUserError, NameError, TypeError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise ToolDefinitionError(f"the tool {name} has a parameter without a JSON form: {reason}") from error

    def bind(arguments: dict[str, Any]) -> Bound | Rejected:
        if reason := refusal(arguments, schema):
            return Rejected(reason)
        try:
            validated = model.model_validate(arguments)
        except ValidationError as error:
            return Rejected(reasons(error.errors(include_url=False, include_context=False), schema))
        given = {fields[int(place[1:])].name: getattr(validated, place) for place in validated.model_fields_set}
        positional = tuple(given.pop(field.name, field.default) for field in fields if field.positional)
        return Bound(positional, given)

    return Signature(schema, bind)


def _hints(function: Callable[..., Any], name: str) -> dict[str, Any]:
    """The annotations, resolved; names of an enclosing function are found in the frames that are running it."""
    target = function if inspect.isroutine(function) else type(function).__call__
    home = getattr(inspect.unwrap(function), "__globals__", None)
    local: dict[str, Any] = {}
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_globals is home and frame.f_locals is not home:
            local = {**frame.f_locals, **local}
        frame = frame.f_back
    try:
        return typing.get_type_hints(target, localns=local, include_extras=True)
    except Exception as error:  # an annotation may be any text
        raise ToolDefinitionError(f"the tool {name} has an annotation that cannot be resolved: {error}") from error


def _annotation(schema: Any) -> Any:
    """The Python type of a hand-written property, as far as it says one; Any for the rest."""
    if not isinstance(schema, Mapping):
        return Any
    if isinstance(values := schema.get("enum"), list) and all(isinstance(value, str | int | bool) for value in values):
        return Literal[tuple(values)] if values else Any
    for key in ("anyOf", "oneOf"):
        if isinstance(branches := schema.get(key), list) and branches:
            return Union[tuple(_annotation(branch) for branch in branches)]  # noqa: UP007
    kind = schema.get("type")
    if isinstance(kind, list):
        return Union[tuple(_annotation({**schema, "type": one}) for one in kind)] if kind else Any  # noqa: UP007
    if kind == "array":
        return list[_annotation(schema.get("items"))]  # type: ignore[misc]
    bounds = {ours: schema[theirs] for theirs, ours in _BOUNDS.items() if theirs in schema}
    if bounds and kind in ("string", "integer", "number"):
        from pydantic import Field

        return Annotated[_annotation({"type": kind}), Field(**bounds)]
    plain = {"string": str, "integer": int, "number": int | float, "boolean": bool, "object": dict, "null": None}
    return plain.get(str(kind), Any)


def _json_schema(model: Any) -> dict[str, Any]:
    from pydantic.json_schema import GenerateJsonSchema

    class Quiet(GenerateJsonSchema):
        def emit_warning(self, kind: Any, detail: str) -> None:
            """A default without a JSON form is left out, and that is all there is to say."""

    return dict(model.model_json_schema(by_alias=True, schema_generator=Quiet))


def annotated_texts(function: Callable[..., Any]) -> dict[str, str]:
    """The texts that stand in `Annotated[..., "text"]`."""
    texts = {}
    for name, hint in _hints(function, getattr(function, "__name__", "tool")).items():
        if typing.get_origin(hint) is Annotated:
            strings = [part for part in typing.get_args(hint)[1:] if isinstance(part, str)]
            if strings:
                texts[name] = strings[0]
    return texts
