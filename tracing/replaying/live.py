"""Replays in which one side is live: the agent's own tools against the recorded results, or another model with them.

They go on after a difference, because what is asked for is all of them, and so they end with the first one named and
the others beside it. The recorded answer of a model is only good for the recorded history; so tools that drifted are
told, and the model goes on from what was recorded.
"""

from collections import defaultdict, deque

from agent.errors import described
from agent.messages import ToolCall
from agent.ports import Model, ModelInfo, Tell, Tools
from agent.values import Observation, Request, Response, ToolSchema
from tracing.cleaning import clean_json
from tracing.recording import RecordedCall
from tracing.replaying.differences import text_of
from tracing.replaying.ports import RecordedSchemas, served
from tracing.replaying.referee import Referee
from tracing.replaying.report import Diverged, Divergence, RecordEnds


class LiveTools:
    """Runs the agent's tools, `times` times each, and tells what is not as recorded."""

    def __init__(self, referee: Referee, tools: Tools, times: int) -> None:
        self._referee, self._tools, self._times = referee, tools, times
        self.unstable: list[Divergence] = []
        """Calls whose tool gave two different results now."""
        self.redacted_calls = 0
        """Calls that were made with markers in the place of secrets."""

    @property
    def schemas(self) -> tuple[ToolSchema, ...]:
        return self._tools.schemas

    async def _now(self, call: ToolCall) -> Observation:
        try:
            return await self._tools.call(call)
        except Exception as error:  # noqa: BLE001 - what would end a run is a result that differs, here
            text = described(error)
            return Observation(shown=text, whole=text, error=type(error).__name__)

    async def call(self, call: ToolCall) -> Observation:
        referee = self._referee
        recorded = served(referee, referee.called(call))
        self.redacted_calls += "[redacted:" in call.arguments
        first = await self._now(call)
        if (drift := referee.drift(call, recorded, first)) is not None:
            referee.found.append(drift)
        for _ in range(self._times - 1):
            again = await self._now(call)
            if (change := referee.drift(call, first, again)) is not None:
                self.unstable.append(change)
                break
        return recorded


class OtherModel:
    """Asks another model than the recorded one. Until it first says something else, its requests are compared too."""

    def __init__(self, referee: Referee, model: Model) -> None:
        self._referee, self._model = referee, model
        self.info: ModelInfo = model.info
        self._steps = {step.number: step for step in referee.recording.steps}
        self._is_same = True
        recorded = referee.recording.model
        self.difference = (
            None
            if model.info.name == recorded
            else Divergence(code="model", step=1, where="model", expected=recorded, actual=model.info.name)
        )
        """Another name is another model, whatever it says; told last, behind what it said."""

    async def respond(self, request: Request, tell: Tell) -> Response:
        referee = self._referee
        recorded = None
        if self._is_same:
            try:
                recorded = referee.asked(request)
            except Diverged as divergence:
                referee.found.extend(divergence.divergences)
                self._is_same = False
            except RecordEnds:
                self._is_same = False
        try:
            response = await self._model.respond(request, tell)
        except Exception as error:
            if recorded is not None and recorded.error is None:
                self._tell(request.step, "an answer", described(error))
            raise
        if recorded is not None:
            referee.answered(request, response)
            before = "" if recorded.response is None else text_of(recorded.response.message)
            after = text_of(response.message)
            if referee.clean(after) != before:
                self._tell(request.step, before, referee.clean(after))
        return response

    def _tell(self, step: int, expected: str, actual: str) -> None:
        self._is_same = False
        self._referee.found.append(
            Divergence(code="response", step=step, where="the model's answer", expected=expected, actual=actual)
        )


class RecordedResults:
    """The recorded results for another model: by the tool and its arguments, each as often as it was recorded.

    A call that was never recorded is a divergence, not a guess, and ends the replay.
    """

    def __init__(self, referee: Referee, tools: Tools | None) -> None:
        self._shown: Tools = RecordedSchemas(referee) if tools is None else tools
        self._referee = referee
        self._left: defaultdict[tuple[str, str], deque[RecordedCall]] = defaultdict(deque)
        for step in referee.recording.steps:
            for call in step.calls:
                if call.observation is not None:
                    self._left[call.name, call.arguments].append(call)

    @property
    def schemas(self) -> tuple[ToolSchema, ...]:
        return self._shown.schemas

    async def call(self, call: ToolCall) -> Observation:
        arguments = clean_json(call.arguments, self._referee.clean)
        left = self._left.get((call.name, arguments))
        if not left:
            actual = f"{call.name}({arguments})"
            raise Diverged(
                Divergence(code="not_recorded", step=call.step, call=call.index + 1, where="the call", actual=actual)
            )
        self._referee.calls += 1
        # The last one answers once more: a model may ask twice for what was asked for once.
        return served(self._referee, left.popleft() if len(left) > 1 else left[0])
