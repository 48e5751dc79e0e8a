"""The real tools: functions by name, behind the `Tools` port.

Everything that decides what the model sees of a tool is here: validation, error texts, cutting. Every failure becomes
an observation that tells the model what to do next; only what must end the run is raised (KeyboardInterrupt, a
cancelled task).
"""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

from agent.arguments import Unusable, parse
from agent.errors import ToolDefinitionError, described
from agent.function_tool import MAX_NAME, TIMEOUT, FunctionTool, make_tool, parts_of, tool_from_schema
from agent.json_schema import describe
from agent.messages import ToolCall
from agent.observing import MAX_CHARS, Unfinished, as_text, observe
from agent.signature import Bound, Rejected
from agent.sync import in_thread, is_cancelled
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
        if isinstance(tools, str) or not isinstance(tools, Iterable):
            raise ToolDefinitionError("a Toolbox is made from a list of tools: write Toolbox([tool])")
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
        """Hand-written tool definitions (the chat-completions form, or Anthropic's) and the plain functions by name.

        Raises ToolDefinitionError for what is no definition, for a schema that cannot be kept to, and where the
        definitions and the functions do not fit each other.
        """
        if isinstance(definitions, str | Mapping) or not isinstance(definitions, Iterable):
            raise ToolDefinitionError("the definitions must be a list of dicts: write from_schemas([definition], ...)")
        if not isinstance(functions, Mapping):
            raise ToolDefinitionError(
                'the functions must be a dict by name: write from_schemas(..., {"name": function})'
            )
        tools = []
        for definition in definitions:
            name = parts_of(definition).get("name")
            if not isinstance(name, str) or name not in functions:
                raise ToolDefinitionError(f"there is no function for the tool {name!r}: give one under its name")
            tools.append(tool_from_schema(definition, functions[name]))
        if extra := functions.keys() - {made.schema.name for made in tools}:
            raise ToolDefinitionError(
                f"there is no definition for the function {sorted(map(str, extra))[0]!r}: give its schema"
            )
        return cls(tools)

    def with_options(
        self,
        name: str,
        *,
        timeout: float | None = TIMEOUT,
        max_chars: int = MAX_CHARS,
        read_on: Callable[[Mapping[str, Any], str, str], str | None] | None = None,
    ) -> "Toolbox":
        """The same tools, with these options for one of them; see `FunctionTool`. Raises ToolDefinitionError."""
        if name not in self._tools:
            raise ToolDefinitionError(f"there is no tool {name!r} to set options for; there are: {self._names()}")
        if type(max_chars) is not int or max_chars < MIN_CHARS:
            raise ToolDefinitionError(f"max_chars of {name} must be at least {MIN_CHARS}, as an int, not {max_chars!r}")
        if timeout is not None and not (type(timeout) in (int, float) and timeout > 0):  # NaN is not more than 0
            raise ToolDefinitionError(
                f"timeout of {name} must be more than 0 seconds, or None for no limit, not {timeout!r}"
            )
        if read_on is not None and not callable(read_on):
            raise ToolDefinitionError(f"read_on of {name} must be a function of (arguments, shown, whole), or None")
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
            name = call.name if len(call.name) <= MAX_NAME else call.name[:MAX_NAME] + "…"
            return _failed("unknown_tool", f"there is no tool {name!r}. The tools are: {self._names()}.")
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
            if is_cancelled():
                raise
            return _raised(call.name, error)  # the tool's own doing, not a cancelled run
        except (KeyboardInterrupt, GeneratorExit):  # the user's wish, or the run itself is closed
            raise
        except _Stopped as error:
            return _raised(call.name, error.__cause__ or error)
        except BaseException as error:  # noqa: BLE001 - whatever a tool raises, the model is told
            return _raised(call.name, error)
        read_on = None if made.read_on is None else partial(made.read_on, arguments)
        return observe(value, made.max_chars, read_on)

    def _names(self) -> str:
        return ", ".join(self._tools) or "none"


class _Stopped(Exception):
    """A tool raised what a coroutine cannot pass on as it is, which is the cause of this."""


async def _perform(function: Callable[..., Any], bound: Bound) -> Any:
    make = partial(function, *bound.positional, **bound.named)
    in_place = inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)
    value = make() if in_place else await in_thread(partial(_in_its_thread, make))
    while True:  # what is awaited may be something to read out, and the other way round
        if inspect.isawaitable(value):
            value = await value
        elif isinstance(value, AsyncIterator):
            value = await _read_out(value)
        elif isinstance(value, Iterator):
            value = await in_thread(partial(_in_its_thread, partial(iter, value)))
        else:
            return value


def _in_its_thread(make: Callable[[], Any]) -> Any:
    """What a function that is not async returns, read out and made a text here: it may take long, or never end."""
    try:
        value = make()
        if inspect.isawaitable(value) or isinstance(value, AsyncIterator):
            return value
        value = _bounded(list(islice(value, MAX_ITEMS + 1))) if isinstance(value, Iterator) else value
        return value if isinstance(value, Unfinished) else as_text(value)
    except (StopIteration, GeneratorExit) as error:  # they mean something else to the coroutine that waits
        raise _Stopped from error


async def _read_out(value: AsyncIterator[Any]) -> Any:
    items = []
    try:
        async for item in value:
            items.append(item)
            if len(items) > MAX_ITEMS:
                break
            await asyncio.sleep(0)  # a generator that never waits would leave its timeout no turn
    finally:
        if inspect.isasyncgen(value):
            await value.aclose()
    return _bounded(items)


def _bounded(items: list[Any]) -> Any:
    return items if len(items) <= MAX_ITEMS else Unfinished(items[:MAX_ITEMS])


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
