"""The real tools: functions by name, behind the `Tools` port.

Everything that decides what the model sees of a tool is here: validation, error texts, cutting. Every failure becomes
an observation that tells the model what to do next; only what must end the run is raised (KeyboardInterrupt, a
cancelled task).
"""

import asyncio
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from agent.arguments import Unusable, parse
from agent.errors import ToolDefinitionError, described
from agent.function_tool import TIMEOUT, FunctionTool, make_tool, tool_from_schema
from agent.json_schema import describe
from agent.messages import ToolCall
from agent.observing import MAX_CHARS, as_text, observe
from agent.signature import Bound, Rejected
from agent.sync import in_thread
from agent.values import Observation, ToolSchema

REPEATS = 3
"""From the third identical call in a row on, the model is told."""
MAX_ITEMS = 10_000
"""Items of a generator that a tool returns; the rest is not asked for."""
MIN_CHARS = 200  # less would leave no room for the line that says what was cut


class Toolbox:
    """Tools made by `@tool`, or plain functions. Immutable: `with_options` returns a new one.

    Sync functions run in a thread of their own with the context copied, async ones in place.
    """

    def __init__(self, tools: Iterable[Callable[..., Any]] = ()) -> None:
        self._tools: dict[str, FunctionTool] = {}
        for one in tools:
            made = make_tool(one)
            if made.schema.name in self._tools:
                raise ToolDefinitionError(f"two tools are named {made.schema.name!r}: rename one")
            self._tools[made.schema.name] = made
        self.schemas: tuple[ToolSchema, ...] = tuple(made.schema for made in self._tools.values())

    @classmethod
    def from_schemas(
        cls, definitions: Iterable[Mapping[str, Any]], functions: Mapping[str, Callable[..., Any]]
    ) -> "Toolbox":
        """Hand-written chat-completions tool definitions, and the plain functions by name."""
        tools = []
        for definition in definitions:
            name = definition.get("function", definition).get("name")
            if name not in functions:
                raise ToolDefinitionError(f"there is no function for the tool {name!r}: give one under its name")
            tools.append(tool_from_schema(definition, functions[name]))
        if extra := functions.keys() - {made.schema.name for made in tools}:
            raise ToolDefinitionError(f"there is no definition for the function {sorted(extra)[0]!r}: give its schema")
        return cls(tools)

    def with_options(
        self,
        name: str,
        *,
        timeout: float | None = TIMEOUT,
        max_chars: int = MAX_CHARS,
        read_on: Callable[[Mapping[str, Any], str, str], str] | None = None,
    ) -> "Toolbox":
        """The same tools, with these options for one of them; see `FunctionTool`. Raises ToolDefinitionError."""
        if name not in self._tools:
            raise ToolDefinitionError(f"there is no tool {name!r} to set options for; there are: {self._names()}")
        if max_chars < MIN_CHARS:
            raise ToolDefinitionError(f"max_chars of {name} must be at least {MIN_CHARS}, not {max_chars}")
        if timeout is not None and timeout <= 0:
            raise ToolDefinitionError(f"timeout of {name} must be more than 0 seconds, not {timeout}")
        changed = replace(self._tools[name], timeout=timeout, max_chars=max_chars, read_on=read_on)
        return Toolbox([changed if made.schema.name == name else made for made in self._tools.values()])

    async def call(self, call: ToolCall) -> Observation:
        observation = await self._call(call)
        if call.repeats < REPEATS:
            return observation
        note = f"\n[this very call was made {call.repeats} times in a row: answer now, or call something else]"
        return replace(observation, shown=observation.shown + note)

    async def _call(self, call: ToolCall) -> Observation:
        made = self._tools.get(call.name)
        if made is None:
            return _failed("unknown_tool", f"there is no tool {call.name!r}. The tools are: {self._names()}.")
        try:
            arguments = parse(call.arguments)
        except Unusable as error:
            return _failed(
                "bad_arguments", f"{call.name} was not run, because of its arguments: {error}. {_usage(made)}"
            )
        try:
            bound = made.signature.bind(arguments)
        except Exception as error:  # noqa: BLE001 - a user's own type may raise anything while it is made
            bound = Rejected(f"its arguments do not make what it takes ({type(error).__name__})")
        if isinstance(bound, Rejected):
            return _failed("bad_arguments", f"{call.name} was not run: {bound.reason}. {_usage(made)}")
        try:
            async with asyncio.timeout(made.timeout) as limit:
                value = await _perform(made.function, bound)
        except TimeoutError as error:
            if not limit.expired():
                return _raised(call.name, error)
            return _failed(
                "timeout",
                f"{call.name} gave no answer within {made.timeout:g} seconds. Ask for less, or go on without it.",
            )
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            return _raised(call.name, error)  # the tool's own doing, not a cancelled run
        except _Stopped as error:
            return _raised(call.name, error.__cause__ or error)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a tool raises, the model is told
            return _raised(call.name, error)
        read_on = made.read_on
        return observe(
            value, made.max_chars, None if read_on is None else lambda shown, whole: read_on(arguments, shown, whole)
        )

    def _names(self) -> str:
        return ", ".join(self._tools) or "none"


class _Stopped(Exception):
    """A tool raised StopIteration, which is the cause of this."""


async def _perform(function: Callable[..., Any], bound: Bound) -> Any:
    if inspect.iscoroutinefunction(function):
        return await function(*bound.positional, **bound.named)
    if inspect.isasyncgenfunction(function):
        made = function(*bound.positional, **bound.named)
        return [item async for item in made]

    def perform() -> Any:
        try:
            value = function(*bound.positional, **bound.named)
            # Read out and made a text here, in the tool's own thread and time: it may take long, or never end.
            items = list(islice(value, MAX_ITEMS)) if isinstance(value, Iterator) else value
            return items if inspect.isawaitable(items) else as_text(items)
        except StopIteration as error:  # it cannot pass through a coroutine as it is
            raise _Stopped from error

    value = await in_thread(perform)
    return await value if inspect.isawaitable(value) else value


def _usage(made: FunctionTool) -> str:
    parameters = made.schema.parameters
    required = parameters.get("required", ())
    parts = [
        f"{name} ({describe(schema, parameters)}{', required' if name in required else ''})"
        for name, schema in parameters.get("properties", {}).items()
    ]
    return f"Its parameters: {'; '.join(parts) or 'none'}. Correct the call and try again."


def _failed(kind: str, text: str) -> Observation:
    return replace(observe(f"Error: {text}"), error=kind)


def _raised(name: str, error: BaseException) -> Observation:
    kind, _, said = described(error).partition(": ")
    return replace(
        observe(f"Error: {name} raised {kind}: {said}" if said else f"Error: {name} raised {kind}."), error=kind
    )
