"""The replayed ports: the record in the place of the model, the tools and the limits.

A recorded call is found by its place, never searched for, and what does not match is a divergence; nothing here ever
makes a live call.
"""

import asyncio
import contextlib
import json
from dataclasses import replace
from typing import Any, NoReturn

from agent.errors import replayed_error
from agent.limits import Meter
from agent.messages import ToolCall
from agent.ports import Budget, ModelInfo, Tell, Tools
from agent.values import Observation, Request, Response, Stop, ToolSchema, Totals
from tracing.recording import RecordedCall, Recording
from tracing.replaying.referee import Referee

CANCELLED = "cancelled"


class ReplayModel:
    def __init__(self, referee: Referee) -> None:
        self._referee = referee
        self.info = ModelInfo(name=referee.recording.model, provider="playhead")

    async def respond(self, request: Request, tell: Tell) -> Response:
        """The recorded response. Raises Diverged, RecordEnds, and what the recorded call raised."""
        step = self._referee.asked(request)
        if step.response is None:
            self._referee.charged(step.usage)
            _fail(self._referee, step.error or CANCELLED)
        self._referee.answered(request, step.response)
        return step.response


class ReplayTools:
    def __init__(self, referee: Referee, tools: Tools | None) -> None:
        """`tools` are those whose schemas are shown to the model, None for the recorded ones."""
        self._referee = referee
        self._shown: Tools = RecordedSchemas(referee) if tools is None else tools

    @property
    def schemas(self) -> tuple[ToolSchema, ...]:
        return self._shown.schemas

    async def call(self, call: ToolCall) -> Observation:
        """The recorded observation. Raises Diverged, RecordEnds, and what the recorded call raised."""
        recorded = self._referee.called(call)
        if self._referee.is_beside_the_end(call, recorded):
            # It failed while it was cancelled, because of the call that ended the run.
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
        return served(self._referee, recorded)


class RecordedSchemas:
    """The tools as they were shown to the model, step by step: they may change while a run goes on."""

    def __init__(self, referee: Referee) -> None:
        self._referee = referee
        self._text = ""
        self._schemas: tuple[ToolSchema, ...] = ()

    @property
    def schemas(self) -> tuple[ToolSchema, ...]:
        text = self._referee.next_tools
        if text != self._text:
            self._text, self._schemas = text, tuple(map(_schema, json.loads(text)))
        return self._schemas

    async def call(self, call: ToolCall) -> Observation:
        raise NotImplementedError


class ReplayBudget:
    """The recorded stops. Time, cost and a caller's own budget are inputs of a replay; steps and tokens are limited by
    the agent, if there is one. A run that was cancelled, or broken off by its caller, between two calls ends in the same
    place."""

    def __init__(self, referee: Referee, own: Budget | None) -> None:
        recording = referee.recording
        self._referee, self._own = referee, own
        last = recording.steps[-1].response if recording.steps else None
        is_stopped = recording.error is None and recording.stop != CANCELLED and (last is None or bool(last.calls))
        self._stop = recording.stop if is_stopped else None
        if own is not None and referee.is_own_stop:
            self._stop = None
        self._steps = sum(step.response is not None for step in recording.steps)
        self._calls = _calls_before(recording)
        is_broken_off = recording.stop == CANCELLED or (recording.stop == "failed" and recording.error is not None)
        self._breaks_off = is_broken_off and not _has_failure(recording)

    def stop(self, totals: Totals) -> Stop | None:
        recording = self._referee.recording
        if totals.steps >= self._steps and totals.tool_calls >= self._calls:
            if self._breaks_off:
                _fail(self._referee, recording.error or CANCELLED)
            if self._stop is not None:
                return self._stop  # type: ignore[return-value]  # a stop is a text, in a record
        return None if self._own is None else self._own.stop(totals)


def budget_of(referee: Referee) -> ReplayBudget:
    limits = referee.limits
    own = None if limits is None else Meter(replace(limits, max_seconds=None, max_cost_usd=None))
    return ReplayBudget(referee, own)


def _schema(definition: Any) -> ToolSchema:
    function = definition.get("function", definition)
    return ToolSchema(
        name=function.get("name", ""),
        description=function.get("description", ""),
        parameters=function.get("parameters", {}),
        strict=function.get("strict"),
    )


def served(referee: Referee, call: RecordedCall) -> Observation:
    if call.observation is None:
        _fail(referee, call.error or CANCELLED)
    return call.observation


def _fail(referee: Referee, error: str) -> NoReturn:
    if error == CANCELLED:
        referee.is_cancelling = True
        raise asyncio.CancelledError
    raise replayed_error(error)


def _has_failure(recording: Recording) -> bool:
    """Whether a call of the run failed, or never returned, and so ended it."""
    return any(
        step.response is None or any(call.observation is None for call in step.calls) for step in recording.steps
    )


def _calls_before(recording: Recording) -> int:
    """The tool calls that were made when the run stopped: those of the last answer were perhaps only declined."""
    calls = [call for step in recording.steps for call in step.calls if call.observation is not None]
    last = recording.steps[-1].calls if recording.steps else ()
    reason = f"not run: the run stopped at its {str(recording.stop).replace('_', ' ')}"
    declined = [
        call
        for call in last
        if call.observation is not None and call.observation.error == "not_run" and reason in call.observation.shown
    ]
    return len(calls) - (len(last) if declined and len(declined) == len(last) else 0)
