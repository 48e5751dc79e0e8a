"""A fork: a new run that takes its first steps from the record of another, and lives from there.

What was said stays as it was said, the system prompt included, unless it is replaced; who goes on is the agent, with its
own model, tools, settings and limits. The steps that are taken from the record are served in their place without a
question, and no tool of theirs is run again. The forked run is recorded whole, and shares the stored history.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agent.agents import Agent
from agent.canonical import encodable
from agent.limits import Meter
from agent.messages import ToolCall
from agent.models.calling import as_model
from agent.ports import Model, Tell, Tools
from agent.values import Observation, Request, Response, Result, Step, Totals, Usage
from tracing.errors import TraceError
from tracing.instruments import Origin
from tracing.recording import RecordedCall, RecordedStep, Recording

if TYPE_CHECKING:
    from tracing.recorder import Recorder

Place = tuple[int, int]
"""A step and a call of it, both from 1."""


class CannotFork(TraceError):
    """The run cannot be forked there; the text says where it can."""


class ForkedModel:
    """Serves the recorded responses, and asks the model from there on."""

    def __init__(self, served: Mapping[int, RecordedStep], model: Model) -> None:
        self._served, self._model = served, model
        self.info = model.info

    async def respond(self, request: Request, tell: Tell) -> Response:
        step = self._served.get(request.step)
        if step is None:
            return await self._model.respond(request, tell)
        assert step.response is not None
        return step.response


class ForkedTools:
    """Gives the recorded results of the steps that are taken from the record, and runs the tools from there on."""

    def __init__(self, served: Mapping[Place, Observation], at: int, tools: Tools) -> None:
        self._served, self._at, self._tools = served, at, tools
        self.schemas = tools.schemas

    async def call(self, call: ToolCall) -> Observation:
        if call.step >= self._at:
            return await self._tools.call(call)
        return self._served[call.step, call.index + 1]


def check_fork(recording: Recording, agent: Agent, at: int, results: Mapping[Place, str]) -> None:
    """Raises CannotFork where `fork` would."""
    served = _served(recording, at)
    _observations(recording, served, results)
    usage = sum((step.response.usage for step in served.values() if step.response is not None), Usage())
    limits = replace(agent.limits, max_seconds=None, max_cost_usd=None)
    if served and (stop := Meter(limits).stop(Totals(steps=at - 1, usage=usage))) is not None:
        raise CannotFork(
            f"the agent's own limit ({stop}) ends the run before step {at}: allow it more, or fork earlier"
        )


async def fork(
    recording: Recording,
    agent: Agent,
    at: int,
    recorder: "Recorder",
    *,
    system: str | None = None,
    results: Mapping[Place, str] | None = None,
    on_step: Callable[[Step], None] | None = None,
    **labels: Any,
) -> Result:
    """Runs `agent` from step `at` on, the steps before it taken from the record.

    `system` replaces the recorded system prompt; `results` replaces what calls of the recorded steps gave, by (step,
    call): the model reads exactly these texts. `labels` are those of `Recorder.run`; a fork is no turn of its parent's session. Raises CannotFork, and what a run
    raises.
    """
    check_fork(recording, agent, at, results or {})
    served = _served(recording, at)
    observations = _observations(recording, served, results or {})
    own = recording.system if recording.has_system is not False else None
    agent = replace(
        agent,
        system=own if system is None else system,
        model=ForkedModel(served, as_model(agent.model)),
        tools=ForkedTools(observations, at, agent.tools),
    )
    history = recording.messages[: recording.opening - 1]  # a leading prompt is replaced by the agent's
    return await recorder.run(
        agent,
        recording.question,
        history=history,
        on_step=on_step,
        origin=Origin("fork", recording.run_id, at),
        **labels,
    )


def _served(recording: Recording, at: int) -> dict[int, RecordedStep]:
    steps = {step.number: step for step in recording.steps}
    if recording.faults:
        fault = recording.faults[0]
        raise CannotFork(
            f"the record of this run was changed after it was written ({fault.what}): see viewer check --hashes"
        )
    whole = 0
    while (step := steps.get(whole + 1)) is not None and _is_whole(step):
        whole += 1
        if step.response is not None and not step.response.calls:
            whole -= 1  # the run answered there: nothing can follow
            break
    if not 1 <= at <= whole + 1:
        has = "only at step 1" if whole == 0 else f"at the steps 1 to {whole + 1}"
        raise CannotFork(f"the run cannot be forked at step {at}, but {has}")
    return {number: steps[number] for number in range(1, at)}


def _is_whole(step: RecordedStep) -> bool:
    response = step.response
    return (
        response is not None
        and len(step.calls) == len(response.calls)
        and all(call.observation is not None for call in step.calls)
    )


def _observations(
    recording: Recording, served: Mapping[int, RecordedStep], results: Mapping[Place, str]
) -> dict[Place, Observation]:
    known: dict[Place, RecordedCall] = {
        (step.number, call.index + 1): call for step in served.values() for call in step.calls
    }
    for step, call in results:
        if (step, call) not in known:
            raise CannotFork(
                f"{step}.{call} is no call of the steps that are taken from the record, so its result cannot be set: "
                f"fork after it, or set one of {', '.join(f'{one}.{two}' for one, two in known) or 'none'}"
            )
    observations = {place: call.observation for place, call in known.items() if call.observation is not None}
    for place, text in results.items():
        observations[place] = Observation(shown=encodable(text), whole=text)
    return observations
