"""From a function's signature to the JSON Schema that the model sees, and from arguments to the call.

pydantic does the validation; `json_schema` says what is allowed in a form that no pydantic release changes, and why
arguments were refused.
"""

import inspect
import sys
import typing
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Optional, Union

from agent.errors import ToolDefinitionError
from agent.json_schema import bool_for_number, must_be, normal, reasons

_EMPTY = inspect.Parameter.empty


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
    annotations = {}
    for parameter in signature.parameters.values():
        annotation = hints.get(parameter.name, str)
        annotations[parameter.name] = Optional[annotation] if parameter.default is None else annotation  # noqa: UP045
    return _build(name, signature, annotations, texts)


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
        inspect.Parameter(
            property_name, inspect.Parameter.KEYWORD_ONLY, default=_EMPTY if property_name in required else None
        )
        for property_name in properties
    ]
    annotations = {property_name: _annotation(schema) for property_name, schema in properties.items()}
    built = _build(name, inspect.Signature(fields), annotations, {})
    return Signature(dict(parameters), built.bind)


def _build(
    name: str, signature: inspect.Signature, annotations: Mapping[str, Any], texts: Mapping[str, str]
) -> Signature:
    from pydantic import ConfigDict, Field, ValidationError, create_model
    from pydantic.errors import PydanticUserError

    fields: dict[str, Any] = {}
    for position, parameter in enumerate(signature.parameters.values()):
        options: dict[str, Any] = {} if parameter.default is _EMPTY else {"default": parameter.default}
        if parameter.name in texts:
            options["description"] = texts[parameter.name]
        # A neutral field name and the real one as alias: pydantic reserves names that a parameter may have.
        fields[f"p{position}"] = (annotations[parameter.name], Field(alias=parameter.name, **options))
    try:
        model = create_model("Arguments", __config__=ConfigDict(extra="forbid"), **fields)
        schema = normal(_json_schema(model))
    except (PydanticUserError, NameError, TypeError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise ToolDefinitionError(f"the tool {name} has a parameter without a JSON form: {reason}") from error
    parameters = list(signature.parameters.values())

    def bind(arguments: dict[str, Any]) -> Bound | Rejected:
        if path := bool_for_number(schema, arguments, schema.get("$defs", {})):
            return Rejected(must_be(path, schema, True))
        try:
            validated = model.model_validate(arguments)
        except ValidationError as error:
            return Rejected(reasons(error.errors(include_url=False, include_context=False), schema))
        given = {parameters[int(field[1:])].name: getattr(validated, field) for field in validated.model_fields_set}
        first = [parameter for parameter in parameters if parameter.kind is parameter.POSITIONAL_ONLY]
        positional = tuple(given.pop(parameter.name, parameter.default) for parameter in first)
        return Bound(positional, given)

    return Signature(schema, bind)


def _hints(function: Callable[..., Any], name: str) -> dict[str, Any]:
    """The annotations, resolved; names of an enclosing function are looked for in the frames that called us."""
    target = function if inspect.isroutine(function) else type(function).__call__
    frame = sys._getframe(1)
    while frame.f_globals.get("__name__", "").partition(".")[0] == "agent" and frame.f_back is not None:
        frame = frame.f_back
    try:
        return typing.get_type_hints(target, localns=dict(frame.f_locals), include_extras=True)
    except NameError as error:
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
    plain = {"string": str, "integer": int, "number": float, "boolean": bool, "object": dict, "null": None}
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
