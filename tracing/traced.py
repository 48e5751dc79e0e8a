"""The traced ports: each delegates everything to the port it wraps, and tells the run's trace of it."""

from agent.messages import ToolCall
from agent.ports import FirstToken, Model, ModelInfo, Retried, Tell, TextDelta, Tools
from agent.values import Observation, Request, Response, ToolSchema
from tracing import logs
from tracing.run_trace import RunTrace


class TracedModel:
    def __init__(self, model: Model, trace: RunTrace) -> None:
        self._model = model
        self._trace = trace

    @property
    def info(self) -> ModelInfo:
        return self._model.info

    async def respond(self, request: Request, tell: Tell) -> Response:
        trace = self._trace
        call = trace.asked(request, self._model.info)

        def overhear(what: TextDelta | FirstToken | Retried) -> None:
            trace.heard(call, what)
            tell(what)

        try:
            with call:
                response = (await self._model.respond(request, overhear)).checked()
        except BaseException as error:
            trace.ask_failed(call, error)
            raise
        trace.answered(call, request, response)
        return response


class TracedTools:
    def __init__(self, tools: Tools, trace: RunTrace) -> None:
        self._tools = tools
        self._trace = trace

    @property
    def schemas(self) -> tuple[ToolSchema, ...]:
        return self._tools.schemas

    async def call(self, tool_call: ToolCall) -> Observation:
        logs.hear()
        call = self._trace.called(tool_call)
        try:
            with call:
                observation = await self._tools.call(tool_call)
        except BaseException as error:
            self._trace.call_failed(call, tool_call, error)
            raise
        self._trace.returned(call, tool_call, observation)
        return observation
