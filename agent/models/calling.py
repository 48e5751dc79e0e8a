"""Any callable as a model: how people first try a loop."""

import asyncio
import copy
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from agent.models.wire import first_choice, message_and_usage, read, to_response, told_apart
from agent.ports import Model, ModelInfo, Tell
from agent.sync import in_thread, is_cancelled
from agent.values import Request, Response

_NAMES = ("tools", "tool_schemas", "functions", "schemas")


def as_model(model: Model | Callable[..., Any]) -> Model:
    """`model` itself if it is one, else the callable wrapped. Raises TypeError for anything else."""
    if hasattr(model, "respond") and hasattr(model, "info"):
        return model
    if callable(model):
        return CallableModel(model)
    raise TypeError(f"an agent's model must be a Model or a callable over messages, not {type(model).__name__}")


class CallableModel:
    """A function `(messages)` or `(messages, tool_schemas)` over chat-completions dicts, sync or async.

    It returns a message (a dict, an SDK object, anything with `content` and `tool_calls`, or a plain string), a
    `(message, usage)` pair, or a whole chat completion; a dict may hold `usage` and `finish_reason` beside the message.
    A sync function runs in a thread of its own. It gets copies: what it does to its arguments changes no history.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        name = getattr(function, "__name__", type(function).__name__)
        self.info = ModelInfo(name=name, provider="custom")  # whom it asks, and for how much, nobody knows
        self._function = function
        self._schemas_as = _schemas_as(function)

    async def respond(self, request: Request, tell: Tell) -> Response:
        arguments: list[Any] = [[message.to_dict() for message in request.messages]]
        named = {}
        if self._schemas_as is not None:
            schemas = [copy.deepcopy(schema.to_dict()) for schema in request.tools]
            if self._schemas_as:
                named[self._schemas_as] = schemas
            else:
                arguments.append(schemas)
        message, usage = message_and_usage(await self._ask(arguments, named))
        if isinstance(message, Response):
            return message
        finish = model = tier = None
        if hasattr(message, "choices") or (isinstance(message, dict) and "choices" in message):
            completion = message
            usage, model = read(completion, "usage") if usage is None else usage, read(completion, "model")
            tier = read(completion, "service_tier")
            message, finish = first_choice(completion)
        elif isinstance(message, Mapping):
            message, usage, finish, model, tier = told_apart(message, usage)
        return to_response(message, step=request.step, usage=usage, finish=finish, model=model, tier=tier)

    async def _ask(self, arguments: list[Any], named: dict[str, Any]) -> Any:
        def ask() -> Any:
            try:
                return self._function(*arguments, **named)
            except StopIteration as error:  # it cannot pass through a coroutine as it is
                raise RuntimeError("the model's function raised StopIteration: it has no answer left") from error

        try:
            answer = ask() if is_async(self._function) else await in_thread(ask)
            return await answer if inspect.isawaitable(answer) else answer
        except asyncio.CancelledError as error:
            if is_cancelled():
                raise
            raise RuntimeError("the model's function raised CancelledError, and nobody cancelled the run") from error


def _schemas_as(function: Callable[..., Any]) -> str | None:
    """How the function takes the tool schemas: as its second argument (""), by this name, or not at all (None).

    A second parameter with a default is taken for them only by its name: `temperature=0` is something else.
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None
    for position, parameter in enumerate(parameters):
        is_positional = parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        if parameter.kind is parameter.VAR_POSITIONAL:
            return ""
        if is_positional and position == 1 and (parameter.default is parameter.empty or parameter.name in _NAMES):
            return ""
        if parameter.name in _NAMES and parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            return parameter.name
    return None


def is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004
    )
