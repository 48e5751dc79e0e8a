"""A function as a tool: the `@tool` decorator and the value it makes."""

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, overload

from agent.errors import ToolDefinitionError
from agent.observing import MAX_CHARS
from agent.schemas.hand_written import from_schema
from agent.signature import Signature, annotated_texts, read_signature
from agent.values import ToolSchema

TIMEOUT = 300.0
"""Seconds that a tool has, unless told otherwise."""

MAX_NAME = 64
_NAME = re.compile(rf"[a-zA-Z0-9_-]{{1,{MAX_NAME}}}")


@dataclass(frozen=True, kw_only=True)
class FunctionTool:
    """A function, its schema, and its options. Calling it calls the function."""

    function: Callable[..., Any]
    schema: ToolSchema
    signature: Signature
    timeout: float | None = TIMEOUT
    """Seconds after which the model is told that there was no answer; None for no limit."""
    max_chars: int = MAX_CHARS
    """What the model gets to read of one result."""
    read_on: Callable[[Mapping[str, Any], str, str], str | None] | None = None
    """From the arguments, what is shown of a cut result and the whole of it to the call that reads on, or None."""

    @property
    def __name__(self) -> str:
        return self.schema.name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> "FunctionTool":
        if instance is None:
            return self
        raise ToolDefinitionError(
            f"{self.schema.name} is a method: make the tool from the bound method, tool(object.{self.schema.name})"
        )


@overload
def tool(description: Callable[..., Any], /) -> FunctionTool: ...
@overload
def tool(description: str | None = None, /, **texts: str) -> Callable[[Callable[..., Any]], FunctionTool]: ...
def tool(description: Any = None, /, **texts: str) -> Any:
    """Makes a function a tool: `@tool("What it does.", keyword="what to give")`, or bare `@tool`.

    The description and the parameters' texts are for the model; those that are not given come from the docstring
    (its first part, and its `Args:`) and from `Annotated[..., "text"]`. Raises ToolDefinitionError for a function
    that a model could never call, or whose name a provider would refuse.
    """
    if callable(description):
        return make_tool(description)
    return functools.partial(make_tool, description=description, texts=texts)


def make_tool(
    function: Callable[..., Any], *, description: str | None = None, texts: Mapping[str, str] | None = None
) -> FunctionTool:
    if isinstance(function, FunctionTool):
        return function
    if inspect.isclass(function):
        raise ToolDefinitionError(f"the class {function.__name__} is no tool: make one of a function or a bound method")
    name = checked_name(getattr(function, "__name__", None), function)
    said, parameters = _from_docstring(function)
    signature = read_signature(function, {**parameters, **annotated_texts(function), **(texts or {})}, set(texts or ()))
    schema = ToolSchema(name=name, description=description or said, parameters=signature.parameters)
    return FunctionTool(function=function, schema=schema, signature=signature)


def tool_from_schema(definition: Mapping[str, Any], function: Any) -> FunctionTool:
    """A hand-written definition, in the chat-completions form, Anthropic's or MCP's, and the function that does it.

    Raises ToolDefinitionError for what is no definition, and for what could not be sent.
    """
    parts = parts_of(definition)
    name = checked_name(parts.get("name"), function)
    if not callable(function):
        raise ToolDefinitionError(f"what is given for the tool {name} is a {type(function).__name__}: give a function")
    if unknown := parts.keys() - {"name", "description", "parameters", "input_schema", "inputSchema", "strict", "type"}:
        raise ToolDefinitionError(
            f"the definition of the tool {name} has {sorted(map(str, unknown))[0]!r}, which cannot be sent: leave it out"
        )
    given = (parts[key] for key in ("parameters", "input_schema", "inputSchema") if parts.get(key))
    parameters = next(given, {"type": "object", "properties": {}})
    signature = from_schema(name, parameters, function)
    schema = ToolSchema(
        name=name,
        description=str(parts.get("description") or ""),
        parameters=signature.parameters,
        strict=parts.get("strict"),
    )
    return FunctionTool(function=function, schema=schema, signature=signature)


def parts_of(definition: Any) -> Mapping[str, Any]:
    """Name, description and schema of a hand-written definition. Raises ToolDefinitionError."""
    parts = definition.get("function", definition) if isinstance(definition, Mapping) else definition
    if not isinstance(parts, Mapping):
        raise ToolDefinitionError(
            f"a tool's definition must be a dict with name, description and parameters, not a {type(parts).__name__}"
        )
    return parts


def checked_name(name: Any, function: Any) -> str:
    """The name if every provider takes it (letters, digits, _ and -, at most 64). Raises ToolDefinitionError."""
    if not isinstance(name, str) or name == "<lambda>":
        kind = "a lambda" if name == "<lambda>" else f"a {type(function).__name__}"
        raise ToolDefinitionError(f"{kind} has no name that a model could call: wrap it in a def with a name")
    if not _NAME.fullmatch(name):
        raise ToolDefinitionError(f"{name!r} cannot be a tool's name: use 1 to 64 letters, digits, _ and -")
    return name


def _from_docstring(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    text = inspect.getdoc(function)
    if not text or not inspect.isroutine(function):
        return "", {}
    from docstring_parser import parse

    parsed = parse(text)
    said = "\n\n".join(part for part in (parsed.short_description, parsed.long_description) if part)
    return said, {param.arg_name: param.description for param in parsed.params if param.description}
