"""The replayed ports: the record in the place of the model, the tools and the limits.

A recorded call is found by its place, never searched for, and what does not match is a divergence; nothing here ever
makes a live call.
"""

import asyncio
from dataclasses import replace
from typing import NoReturn

from agent.errors import replayed_error
from agent.limits import Meter
from agent.messages import ToolCall
from agent.ports import Budget, ModelInfo, Tell
from agent.values import Observation, Request, Response, Stop, ToolSchema, Totals
from tracing.recording import RecordedCall, Recording
from tracing.replaying.referee import LIMITS, Referee

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
    def __init__(self, referee: Referee, schemas: tuple[ToolSchema, ...]) -> None:
        self._referee = referee
        self.schemas = schemas

    async def call(self, call: ToolCall) -> Observation:
        """The recorded observation. Raises Diverged, RecordEnds, and what the recorded call raised."""
        return served(self._referee, self._referee.called(call))


class ReplayBudget:
    """The recorded stops. Time and cost are an input of a replay; steps and tokens are those of the agent, if there is
    one. A run that was cancelled, or broken off by its caller, between two calls ends in the same place."""

    def __init__(self, referee: Referee, own: Budget | None) -> None:
        recording = referee.recording
        self._referee, self._own = referee, own
        self._stop = recording.stop if recording.stop in LIMITS else None
        if own is not None and self._stop in ("max_steps", "token_limit"):
            self._stop = None
        self._steps = sum(step.response is not None for step in recording.steps)
        self._calls = _calls_before(recording)
        self._breaks_off = recording.stop in (CANCELLED, "failed") and not _has_failure(recording)

    def stop(self, totals: Totals) -> Stop | None:
        recording = self._referee.recording
        if totals.steps >= self._steps and totals.tool_calls >= self._calls:
            if self._breaks_off:
                _fail(self._referee, recording.error or CANCELLED)
            if self._stop is not None:
                return self._stop  # type: ignore[return-value]  # one of LIMITS, whose keys are stops
        return None if self._own is None else self._own.stop(totals)


def budget_of(referee: Referee) -> ReplayBudget:
    limits = referee.limits
    own = None if limits is None else Meter(replace(limits, max_seconds=None, max_cost_usd=None))
    return ReplayBudget(referee, own)


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
    declined = [call for call in last if call.observation is not None and reason in call.observation.shown]
    return len(calls) - (len(last) if declined and len(declined) == len(last) else 0)
