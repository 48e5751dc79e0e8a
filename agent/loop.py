"""The loop: ask the model, run the tools it asked for, give back the results, until it answers or a limit is hit.

`next_move` decides, and is pure; `run` performs. There is one loop: a traced run, a replay, a fork and a stream are
this same code with other ports.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from agent.agents import Agent
from agent.errors import ModelError, described
from agent.history import opening
from agent.messages import Message, ToolCall
from agent.metering import metered
from agent.models.calling import as_model, is_async
from agent.ports import Budget, Tell, Tools, unheard
from agent.values import Observation, Request, Response, Result, Step, Stop, Totals

if TYPE_CHECKING:
    from agent.pricing import PriceBook


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask the model; it will be this step."""

    step: int


@dataclass(frozen=True, slots=True)
class Act:
    """Run these calls."""

    calls: tuple[ToolCall, ...]


@dataclass(frozen=True, slots=True)
class Decline:
    """Answer these calls without running them, so that the history stays valid."""

    calls: tuple[ToolCall, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class End:
    stop: Stop
    answer: str | None = None


Move = Ask | Act | Decline | End


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where a run stands: the history, and the answer whose calls are pending."""

    messages: tuple[Message, ...]
    totals: Totals = Totals()
    last: Response | None = None
    """The newest answer."""
    pending: bool = False
    """Whether the calls of `last` have yet to be answered."""
    streak: ToolCall | None = None
    """The newest call, which knows how often it was made in a row."""


def next_move(progress: Progress, limit: Stop | None) -> Move:
    """What to do next, given the limit that is reached, if any. Pure.

    What the message holds decides, not the finish reason: calls are run whatever it says, with one exception: calls
    of an answer that was cut at the output limit ("length") may be cut themselves and are not run.
    """
    last = progress.last
    if last is not None and progress.pending:
        if limit not in (None, "max_steps"):
            return Decline(last.calls, f"not run: the run stopped at its {str(limit).replace('_', ' ')}")
        if last.finish == "length":
            return Decline(last.calls, "not run: your answer was cut at the output limit; ask for less at once")
        return Act(last.calls)
    if last is not None and not last.calls:
        return End(*_ending(last))
    return Ask(progress.totals.steps + 1) if limit is None else End(limit)


async def run(
    agent: Agent,
    question: str,
    *,
    history: Sequence[Message | Mapping[str, Any]] | None = None,
    budget: Budget | None = None,
    on_step: Callable[[Step], None] | None = None,
    tell: Tell = unheard,
) -> Result:
    """Runs `agent` on `question` until it answers or a limit is hit.

    `history` is what was said before (`Result.messages` of an earlier run, or chat-completions dicts). `on_step` is
    called after each step. Limits and refusals are values of `Result.stop`. Raises `ModelError` when the model or
    its provider failed, ValueError for a malformed history, TypeError for an async `on_step`, and lets CancelledError and
    KeyboardInterrupt through.
    """
    return await proceed(agent, opening(agent.system, history, question), budget=budget, on_step=on_step, tell=tell)


async def proceed(
    agent: Agent,
    messages: tuple[Message, ...],
    *,
    budget: Budget | None = None,
    on_step: Callable[[Step], None] | None = None,
    tell: Tell = unheard,
    prices: "PriceBook | None" = None,
) -> Result:
    """As `run`, from a whole history whose last message the model has yet to answer. `prices` are for a limit of cost;
    None: those of `PriceBook.configured`."""
    check_observer(on_step)
    model, tools = as_model(agent.model), agent.tools
    if budget is None:
        model, budget = await metered(model, agent.limits, prices)
    progress = Progress(messages=messages)
    while True:
        match next_move(progress, budget.stop(progress.totals)):
            case Ask(step):
                request = Request(step=step, messages=progress.messages, tools=tools.schemas, settings=agent.settings)
                try:
                    response = (await model.respond(request, tell)).checked()
                except (Exception, SystemExit) as error:
                    text = f"the model failed at step {step}: {described(error)}"
                    raise ModelError(text, _result(progress, End("failed"))) from error
                progress = _answered(progress, response)
                if on_step is not None and not response.calls:
                    on_step(Step(number=step, response=response, observations=(), totals=progress.totals))
            case Act(calls):
                progress = _observed(progress, await _act(tools, calls, agent.limits.max_parallel), on_step)
            case Decline(calls, reason):
                text = f"Error: {reason}."
                declined = Observation(shown=text, whole=text, error="not_run")
                progress = _observed(progress, (declined,) * len(calls), on_step)
            case End() as end:
                return _result(progress, end)


def check_observer(on_step: Callable[[Step], None] | None) -> None:
    """Raises TypeError for an `on_step` that would never be awaited."""
    if on_step is not None and is_async(on_step):
        raise TypeError("on_step must be a plain function: an async one would be called and never awaited")


async def _act(tools: Tools, calls: tuple[ToolCall, ...], max_parallel: int) -> tuple[Observation, ...]:
    """Runs the calls of one message, at most `max_parallel` at a time; the order of the results is the calls'."""
    if len(calls) == 1 or max_parallel == 1:
        return tuple([await tools.call(call) for call in calls])
    gate = asyncio.Semaphore(max_parallel)

    async def one(call: ToolCall) -> Observation:
        async with gate:
            try:
                return await tools.call(call)
            except (KeyboardInterrupt, SystemExit) as error:
                raise _Ended from error

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(call)) for call in calls]
    except BaseExceptionGroup as errors:
        first = errors.exceptions[0]
        raise (first.__cause__ or first) if isinstance(first, _Ended) else first from errors
    return tuple(task.result() for task in tasks)


class _Ended(Exception):
    """A call raised what ends a program, the cause of this; as it is, it would tear the event loop from its tasks."""


def _answered(progress: Progress, response: Response) -> Progress:
    usage, totals = response.usage, progress.totals
    spent = response.spent
    calls, streak = _counted(response.calls, progress.streak)
    return Progress(
        messages=(*progress.messages, response.message),
        totals=replace(
            totals,
            steps=totals.steps + 1,
            usage=totals.usage + spent,
            unreported=totals.unreported + (usage.input is None or usage.output is None),
        ),
        last=replace(response, calls=calls),
        pending=bool(calls),
        streak=streak,
    )


def _counted(calls: tuple[ToolCall, ...], streak: ToolCall | None) -> tuple[tuple[ToolCall, ...], ToolCall | None]:
    """The calls, each with how often it was made in a row."""
    counted = []
    for call in calls:
        is_same = streak is not None and (call.name, call.arguments) == (streak.name, streak.arguments)
        streak = replace(call, repeats=streak.repeats + 1) if is_same and streak is not None else call
        counted.append(streak)
    return tuple(counted), streak


def _observed(
    progress: Progress, observations: tuple[Observation, ...], on_step: Callable[[Step], None] | None
) -> Progress:
    last, totals = progress.last, progress.totals
    assert last is not None
    answers = tuple(
        Message(role="tool", tool_call_id=sent.id, content=observation.shown)
        for sent, observation in zip(last.message.tool_calls, observations, strict=True)
    )
    totals = replace(totals, tool_calls=totals.tool_calls + len(observations))
    if on_step is not None:
        on_step(Step(number=totals.steps, response=last, observations=observations, totals=totals))
    return Progress(messages=progress.messages + answers, totals=totals, last=last, streak=progress.streak)


def _ending(last: Response) -> tuple[Stop, str | None]:
    if last.finish == "content_filter":
        return "content_filter", last.message.content or None
    if not last.message.content and last.message.refusal:
        return "refused", None
    if not last.message.content and last.finish == "length":
        return "output_limit", None
    return "answered", last.message.content or ""


def _result(progress: Progress, end: End) -> Result:
    finish = None if progress.last is None else progress.last.finish
    return Result(answer=end.answer, stop=end.stop, stats=progress.totals, messages=progress.messages, finish=finish)
