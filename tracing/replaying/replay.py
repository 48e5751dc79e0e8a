"""Replay: the same loop once more, with the record in the place of the world, and held against the record.

With an agent, the record supplies only the question and the answers; system prompt, schemas, settings and limits are the
agent's, so what was changed in them is found. Without one they come from the record too, which proves the loop and the
record, and the report says so. Nothing is written, no model and no tool is called, unless live ones are asked for.
"""

import asyncio
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from agent.agents import Agent
from agent.canonical import encodable
from agent.errors import ModelError, ReplayedError, described
from agent.history import opening
from agent.limits import Limits
from agent.loop import proceed
from agent.messages import Message
from agent.models.calling import as_model
from agent.ports import Model, Tools
from agent.sync import complete
from agent.values import Result
from tracing.recording import Recording
from tracing.redaction import Redaction
from tracing.replaying.ignoring import Ignore
from tracing.replaying.live import LiveTools, OtherModel, RecordedResults
from tracing.replaying.ports import ReplayModel, ReplayTools, budget_of
from tracing.replaying.referee import Referee
from tracing.replaying.report import Diverged, Divergence, RecordEnds, Report

if TYPE_CHECKING:
    from tracing.instruments import Origin
    from tracing.recorder import Recorder

Which = Literal["recorded", "live"]


def replay(
    run: "Recording | str",
    agent: Agent | None = None,
    *,
    db: str | Path | None = None,
    tools: Which = "recorded",
    times: int = 1,
    model: Model | Callable[..., Any] | None = None,
    ignore: Sequence[str] = (),
    redact: Redaction | None = None,
    keep: "Recorder | None" = None,
) -> Report:
    """Runs a recorded run again and says whether it is the same.

    `run` is a `Recording`, a bundle's path (`*.jsonl`), or a run of the store `db` (`last`, a run id; default:
    `$PLAYHEAD_DB`, else `traces.db`). With `agent`, its prompt, schemas, settings and limits are checked. `tools="live"`
    runs the agent's tools, `times` times, against the recorded results. `model` is asked in the place of the recorded
    answers, with the recorded results. `ignore` are patterns, see `tracing.replaying.ignoring`. `keep` records the
    replay, as a run of the kind "replay". `redact` has the patterns of your own that the run was redacted with. Raises
    NoSuchRun and StoreError for a run that is not there, BadPattern for a bad `ignore`, and ValueError where live tools
    are asked for without an agent. Works inside a running event loop too.
    """
    recording = run if isinstance(run, Recording) else find_recording(run, db)
    return complete(
        replay_async(recording, agent, tools=tools, times=times, model=model, ignore=ignore, redact=redact, keep=keep)
    )


async def replay_async(
    recording: Recording,
    agent: Agent | None = None,
    *,
    tools: Which = "recorded",
    times: int = 1,
    model: Model | Callable[..., Any] | None = None,
    ignore: Sequence[str] = (),
    redact: Redaction | None = None,
    keep: "Recorder | None" = None,
) -> Report:
    """As `replay`, for async code."""
    if tools == "live" and agent is None:
        raise ValueError("live tools need an agent: give the agent that has them")
    if tools == "live" and model is not None:
        raise ValueError("another model is asked with the recorded results: leave out the live tools, or the model")
    patterns = Ignore(ignore)
    try:
        attempt = _Attempt(recording, agent, patterns, tools, times, model, redact)
    except ValueError as error:  # of the recorded redaction
        return Report(run_id=recording.run_id, outcome="not_replayable", reason=str(error), redacted=recording.redacted)
    return await attempt.report(keep)


def find_recording(run: str, db: str | Path | None = None) -> Recording:
    """A run of a bundle's file, or of a store."""
    from tracing.store import Store

    if run.endswith(".jsonl"):
        from tracing.bundles import open_bundle

        with open_bundle(run) as store:
            return store.recording()
    with Store(db or os.environ.get("PLAYHEAD_DB") or "traces.db") as store:
        return store.recording(run)


class _Attempt:
    """One replay."""

    def __init__(
        self,
        recording: Recording,
        agent: Agent | None,
        ignore: Ignore,
        tools: Which,
        times: int,
        model: Model | Callable[..., Any] | None,
        redact: Redaction | None,
    ) -> None:
        self.recording, self.agent, self.ignore = recording, agent, ignore
        self.referee = Referee(recording, ignore, None if agent is None else agent.limits, redact)
        self.live: LiveTools | None = None
        self.compared, self.taken = _scope(agent, tools, model)
        schemas = None if agent is None else agent.tools
        self.tools: Tools
        if tools == "live" and agent is not None:
            self.tools = self.live = LiveTools(self.referee, agent.tools, times)
        elif model is not None:
            self.tools = RecordedResults(self.referee, schemas)
        else:
            self.tools = ReplayTools(self.referee, schemas)
        self.model: Model = ReplayModel(self.referee) if model is None else OtherModel(self.referee, as_model(model))
        self.is_other = model is not None

    async def report(self, keep: "Recorder | None") -> Report:
        recording = self.recording
        if recording.faults:
            fault = recording.faults[0]
            return self._report(Divergence(code="record", step=fault.step, call=fault.call, where=fault.what))
        if recording.pruned is not None:
            return self._report(reason=recording.pruned)
        if not recording.messages:
            return self._report(reason="the record holds no question")
        asked = recording.messages[recording.opening - 1].content if recording.opening else None
        if encodable(recording.question) != asked:
            return self._report(Divergence(code="question", step=1, expected=asked, actual=recording.question))
        if self.agent is not None and not self.is_other:
            name = as_model(self.agent.model).info.name
            if name != recording.model:
                return self._report(
                    Divergence(code="model", step=1, where="model", expected=recording.model, actual=name)
                )
        try:
            result = await self._perform(keep)
            found = self.referee.ended(result.stop, None, result) if recording.stop is not None else []
            answer = result.answer
        except (Diverged, RecordEnds) as end:
            return self._ended_early(end, keep)
        except ModelError as error:
            cause = error.__cause__
            if isinstance(cause, Diverged | RecordEnds):
                return self._ended_early(cause, keep)
            found = self.referee.ended("failed", described(cause or error), error.result)
            answer = None
        except ReplayedError as error:
            found, answer = self.referee.ended("failed", described(error), None), None
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not self.referee.is_cancelling or (task is not None and task.cancelling()):
                raise
            found, answer = self.referee.ended("cancelled", None, None), None
        if recording.stop is None:
            reason = f"the record ends after step {self.referee.steps}: the run was never closed"
            return self._report(reason=reason, keep=keep)
        if isinstance(self.model, OtherModel) and self.model.difference is not None:
            self.referee.found.append(self.model.difference)
        unstable = [] if self.live is None else self.live.unstable
        return self._report(*(self.referee.found or found or unstable), answer=answer, keep=keep)

    async def _perform(self, keep: "Recorder | None") -> Result:
        agent, budget = self._agent(), budget_of(self.referee)
        if self.agent is None:
            first = self.recording.messages[: self.recording.opening]
            history: Sequence[Message] = first[:-1]
        else:
            history = self.recording.earlier(agent.system)
            first = opening(agent.system, history, self.recording.question)
        self.referee.opened(first, agent.settings, self.tools.schemas)
        if keep is None:
            return await proceed(agent, first, budget=budget)
        return await keep.run(
            agent,
            self.recording.question,
            history=history,
            budget=budget,
            origin=self._origin(),
        )

    def _origin(self) -> "Origin":
        from tracing.instruments import Origin

        return Origin("replay", self.recording.run_id)

    def _agent(self) -> Agent:
        recording = self.recording
        if self.agent is not None:
            return replace(self.agent, model=self.model, tools=self.tools)
        return Agent(
            name=recording.agent,
            model=self.model,
            tools=self.tools,
            settings=json.loads(recording.settings),
            limits=_recorded_limits(recording),
        )

    def _ended_early(self, end: Diverged | RecordEnds, keep: "Recorder | None") -> Report:
        if isinstance(end, Diverged):
            return self._report(*self.referee.found, *end.divergences, keep=keep)
        if self.referee.found:
            return self._report(*self.referee.found, keep=keep)
        reason = str(end)
        if self.recording.stop is None:
            reason += "; the run was not closed: its process was killed, or it still runs"
        return self._report(reason=reason, keep=keep)

    def _report(
        self,
        *found: Divergence,
        reason: str | None = None,
        answer: str | None = None,
        keep: "Recorder | None" = None,
    ) -> Report:
        referee, live = self.referee, self.live
        notes = []
        if live is not None and live.redacted_calls:
            notes.append(f"{live.redacted_calls} live calls had markers in the place of secrets")
        unstable = () if live is None else tuple(live.unstable)
        unused_steps, unused_calls = referee.unused()
        return Report(
            run_id=self.recording.run_id,
            outcome="diverged" if found else "not_replayable" if reason is not None else "exact",
            divergences=tuple(found),
            reason=None if found else reason,
            steps=referee.steps,
            calls=referee.calls,
            unused_steps=unused_steps,
            unused_calls=unused_calls,
            nearest=referee.nearest,
            compared=self.compared,
            taken=self.taken,
            ignored=self.ignore.specs,
            unstable=unstable,
            redacted=self.recording.redacted,
            notes=tuple(notes),
            answer=answer,
            kept=None if keep is None or keep.last is None else keep.last.run_id,
        )


def _scope(agent: Agent | None, tools: Which, model: object) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What a replay compares, and what it takes from the record."""
    compared = ["loop", "requests", "responses", "calls", "stop", "answer", "totals"]
    taken = ["question"]
    (compared if agent is not None else taken).extend(["prompt", "schemas", "settings", "limits"])
    (compared if tools == "live" else taken).append("observations")
    (compared if model is not None else taken).append("answers of the model")
    return tuple(compared), tuple(taken)


def _recorded_limits(recording: Recording) -> Limits:
    """The limit of parallel calls alone: the stops come from the record."""
    limits = recording.attrs.get("limits") or {}
    return Limits(max_parallel=limits.get("max_parallel", Limits().max_parallel))
