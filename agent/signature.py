"""From a function's signature to the JSON Schema that the model sees, and from arguments to the call.

pydantic does the validation; `json_schema` says what is allowed in a form that no pydantic release changes, and why
arguments were refused.
"""

import inspect
import json
import sys
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from types import FrameType
from typing import Annotated, Any, Optional

from agent.errors import ToolDefinitionError
from agent.json_schema import normal, reasons, refusal

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
    a model could never call: `*args`, `**kwargs`, a method without its object, a type without a JSON form, a name that
    cannot be resolved.
    """
    from pydantic.fields import FieldInfo

    name = getattr(function, "__name__", "tool")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise ToolDefinitionError(f"the tool {name} has no signature that can be read: wrap it in a def") from error
    if inspect.isfunction(function) and next(iter(signature.parameters), None) == "self":
        raise ToolDefinitionError(f"{name} is a method: make the tool from the bound method, tool(object.{name})")
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
        annotation, default = _read_out(hints.get(parameter.name, str)), parameter.default
        said = default if isinstance(default, FieldInfo) else None
        if default is None or (said is not None and said.default is None):
            annotation = Optional[annotation]  # noqa: UP045 - it may be a string or a form that has no |
        if said is not None:  # it says what the parameter is, as it does in Annotated
            annotation, default = Annotated[annotation, said], _EMPTY
        positional = parameter.kind is parameter.POSITIONAL_ONLY
        fields.append(_Field(parameter.name, annotation, default, positional))
    return _build(name, fields, texts)


def _read_out(annotation: Any) -> Any:
    """pydantic looks at the items of an `Iterable` only when the tool reads them."""
    if typing.get_origin(annotation) is Iterable:
        return list[typing.get_args(annotation)]  # type: ignore[misc]
    return annotation


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    annotation: Any
    default: Any
    positional: bool = False


def _build(name: str, fields: Sequence[_Field], texts: Mapping[str, str]) -> Signature:
    from pydantic import Field, ValidationError, create_model
    from pydantic_core import SchemaError

    definitions: dict[str, Any] = {}
    for position, field in enumerate(fields):
        options: dict[str, Any] = {} if field.default is _EMPTY else {"default": field.default}
        if field.name in texts:
            options["description"] = texts[field.name]
        # A neutral name and the real one as alias: pydantic reserves names that a parameter may have.
        definitions[f"p{position}"] = (field.annotation, Field(alias=field.name, **options))
    try:
        model = create_model("Arguments", __config__={"allow_inf_nan": False}, **definitions)
        strict = _json_schema(model)
        schema = normal(strict)
        json.dumps(schema, allow_nan=False)
    except SchemaError as error:
        reason = str(error).splitlines()[-1].removeprefix("error: ")
        raise ToolDefinitionError(f"the tool {name} has a parameter whose rule cannot be kept to: {reason}") from error
    except Exception as error:  # a user's own type may raise anything
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise ToolDefinitionError(f"the tool {name} has a parameter without a JSON form: {reason}") from error
    # A default that stands in a Field is not the function's own: the call must give it.
    given_always = {
        place
        for place, field in zip(definitions, fields)
        if field.default is _EMPTY and not model.model_fields[place].is_required()
    }

    def bind(arguments: dict[str, Any]) -> Bound | Rejected:
        if reason := refusal(arguments, strict):
            return Rejected(reason)
        try:
            validated = model.model_validate(arguments)
        except ValidationError as error:
            return Rejected(reasons(error.errors(include_url=False, include_context=False), schema))
        places = validated.model_fields_set | given_always
        given = {fields[int(place[1:])].name: getattr(validated, place) for place in places}
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


def _json_schema(model: Any) -> dict[str, Any]:
    """The schema of a model, where each object takes the fields that it names and no others, unless its own class says
    what becomes of others. Raises ValueError for a listed value that no call could give."""
    from pydantic.json_schema import GenerateJsonSchema

    class Closed(GenerateJsonSchema):
        def emit_warning(self, kind: Any, detail: str) -> None:
            """A default without a JSON form is left out, and that is all there is to say."""

        def model_schema(self, schema: Any) -> Any:
            return _closed(super().model_schema(schema), schema)

        def dataclass_schema(self, schema: Any) -> Any:
            return _closed(super().dataclass_schema(schema), schema)

        def typed_dict_schema(self, schema: Any) -> Any:
            return _closed(super().typed_dict_schema(schema), schema)

        def field_is_present(self, field: Any) -> bool:
            return super().field_is_present(field) and field.get("init") is not False  # a dataclass sets it itself

        def enum_schema(self, schema: Any) -> Any:
            _check_listed(schema, [(member, member.value) for member in schema["members"]])
            return super().enum_schema(schema)

        def literal_schema(self, schema: Any) -> Any:
            _check_listed(schema, [(value, value) for value in schema["expected"]])
            return super().literal_schema(schema)

    return dict(model.model_json_schema(by_alias=True, schema_generator=Closed))


def _closed(made: dict[str, Any], core: Mapping[str, Any]) -> dict[str, Any]:
    cls = core.get("cls")
    config = getattr(cls, "model_config", None) or getattr(cls, "__pydantic_config__", None) or {}
    validators = getattr(getattr(cls, "__pydantic_decorators__", None), "model_validators", {}).values()
    is_open = (
        "properties" not in made
        or config.keys() & {"extra", "populate_by_name", "validate_by_name"}
        or any(one.info.mode in ("before", "wrap") for one in validators)  # it may read what no field names
        or any(isinstance(field.get("validation_alias"), list) for field in _fields(core))  # one of several names
    )
    return made if is_open else {**made, "additionalProperties": False}


def _fields(core: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    while core["type"] not in ("model-fields", "dataclass-args", "typed-dict") and "schema" in core:
        core = core["schema"]  # a model's own validators stand around its fields
    fields = core.get("fields", [])
    return list(fields.values() if isinstance(fields, Mapping) else fields)


def _check_listed(core: Any, values: list[tuple[Any, Any]]) -> None:
    from pydantic_core import SchemaValidator, to_jsonable_python

    taken = SchemaValidator(core)
    for shown, value in values:
        if not taken.isinstance_python(to_jsonable_python(value)):
            raise ValueError(f"nothing that JSON has is taken for {shown!r}; list plain values in its place")


def annotated_texts(function: Callable[..., Any]) -> dict[str, str]:
    """The texts that stand in `Annotated[..., "text"]`."""
    texts = {}
    for name, hint in _hints(function, getattr(function, "__name__", "tool")).items():
        if typing.get_origin(hint) is Annotated:
            strings = [part for part in typing.get_args(hint)[1:] if isinstance(part, str)]
            if strings:
                texts[name] = strings[0]
    return texts
