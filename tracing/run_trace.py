"""One run as it happens: its facts go to the writer, its spans to OpenTelemetry, its events to the log.

The loop knows nothing of it: `TracedModel` and `TracedTools` tell it when a call begins and ends, the recorder when
the run does.
"""

import asyncio
import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from structlog.contextvars import get_contextvars

from agent.agents import Agent
from agent.canonical import column_text, to_text
from agent.errors import ModelError, described
from agent.limits import as_plain as limits_as_plain
from agent.messages import Message, ToolCall
from agent.ports import FirstToken, ModelInfo, Retried, TextDelta
from agent.values import (
    Charge,
    Observation,
    Request,
    Response,
    Result,
    Stop,
    Totals,
    Usage,
    charged,
)
from tracing import events, facts, genai
from tracing.chain import Body, Link
from tracing.errors import warn
from tracing.events import Event
from tracing.forks import Numbers
from tracing.instruments import Instruments, Labels, Origin
from tracing.place import OpenCall, Place, here
from tracing.pricer import Ended
from tracing.spans import CLIENT, caller_span, span_id, trace_id
from tracing.texts import Texts

CANCELLING = (asyncio.CancelledError, KeyboardInterrupt, GeneratorExit)
"""What ends a run from outside."""


class RunTrace:
    def __init__(
        self,
        instruments: Instruments,
        agent: Agent,
        model: ModelInfo,
        question: str,
        opening: tuple[Message, ...],
        labels: Labels,
        origin: Origin = Origin(),
    ) -> None:
        """Begins the run: its row is written before anything else happens."""
        self._write, self._clock = instruments.writer.write, instruments.clock
        self._spans, self._log, self._pricer = instruments.spans, instruments.log, instruments.pricer
        self.run_id = instruments.ids.new(16).hex()
        self._usages: list[Usage] = []
        self._charged = Usage()  # for model calls that failed
        self._returned = 0
        redaction = instruments.redaction
        self._texts = Texts(redaction)
        self._clean = self._texts.clean
        self._numbers = Numbers()
        self._unrun: dict[int, ToolCall] = {}
        self._calls = 0
        """Of the last answer."""
        self._lingers = not instruments.spans.is_heard
        self._start_ns = self._clock.monotonic_ns()
        # In the order in which a replay looks at them, because secrets are numbered as they come: settings, tools,
        # then what is said.
        self._settings = self._texts.settings(agent.settings)
        tools = self._texts.tools(agent.tools.schemas)
        said = self._texts.extend(opening)
        self._bound = get_contextvars()

        above = here.get()
        now = self._clock.wall_ns()
        self._span, self.span_id = self._spans.start(
            f"invoke_agent {agent.name}",
            caller := caller_span(),
            now,
            lambda: genai.agent_attributes(agent.name, model.name, labels.session, self.run_id),
        )
        self.trace_id = trace_id(self._span)
        told = {
            "metadata": labels.metadata,
            "version": labels.version,
            "bound": self._bound,
            "source": labels.source,
        }
        attrs: dict[str, Any] = {key: self._texts.plain(value) for key, value in told.items() if value}
        attrs["limits"] = limits_as_plain(agent.limits)
        attrs["system"] = agent.system is not None
        attrs["redaction"] = redaction and redaction.to_plain()
        if above is not None and caller is not None and span_id(caller) != above.span_id:
            attrs["under"] = above.span_id.hex()  # the call whose tool started this run within a span of its own
        attrs = {key: value for key, value in attrs.items() if value}
        parent_run = origin.parent_run or (None if above is None else above.trace.run_id)
        started = facts.RunStarted(
            self.run_id,
            self.trace_id,
            self.span_id,
            None if caller is None else span_id(caller),
            parent_run,
            origin.fork_step,
            origin.kind,
            labels.session and self._clean(labels.session),
            agent.name,
            model.name,
            now,
            self._texts.body(question),
            self._texts.tip,
            self._settings,
            tools,
            column_text(attrs),
            tuple(map(self._clean, labels.tags)),
        )
        self._write((*said, started))
        self._tell(events.run_started(agent.name, model.name, started.session, started.kind))

    @property
    def totals(self) -> Totals:
        """What the run has used so far."""
        return Totals(
            steps=len(self._usages),
            tool_calls=self._returned,
            usage=sum(self._usages, self._charged),
            unreported=sum(usage.input is None or usage.output is None for usage in self._usages),
        )

    @contextlib.contextmanager
    def current(self) -> Iterator[None]:
        """Makes the run the place where the code is; the run ends with the block, however that ends."""
        with Place(self, self._span, self.span_id, None):
            try:
                yield
            except BaseException as error:
                self._failed(error)
                raise

    # Model calls

    def asked(self, request: Request, model: ModelInfo) -> OpenCall:
        if self._unrun:
            self._declined(request.messages)
        said = self._texts.extend(request.messages)
        now = self._clock.wall_ns()
        span, own = self._spans.start(
            f"chat {model.name}", self._span, now, lambda: genai.request_attributes(model), CLIENT
        )
        call = OpenCall(
            self, span, own, request.step, self._numbers.new(), model.name, model.provider, now, self._clock.monotonic_ns()
        )  # fmt: skip
        tip = self._texts.tip
        assert tip is not None
        asked = facts.Asked(
            self.run_id, call.number, own, self.span_id, request.step, now, model.name, model.provider,
            tip, self._settings, self._texts.tools(request.tools),
        )  # fmt: skip
        self._write((*said, asked))
        self._pricer.expect(model.name, model.provider)
        if self._log is not None:
            self._tell(events.model_asked(request.step, model.name, len(request.messages)), call)
        return call

    def answered(self, call: OpenCall, request: Request, response: Response) -> None:
        said = self._texts.extend((*request.messages, response.message))
        spent = response.spent
        self._usages.append(spent)
        self._calls = len(response.calls)
        self._unrun = {tool_call.index: tool_call for tool_call in response.calls}
        raw = self._texts.raw(response)
        cost = Ended(
            self.run_id, call.number, call.name, response.model, call.provider, call.at_ns, response.usage,
            response.tier, response.charges, response.replayed,
        )  # fmt: skip
        self._end_ask(call, None, spent, cost, response, raw, said)

    def ask_failed(self, call: OpenCall, error: BaseException) -> None:
        # A model that tells what its attempts were charged for; any other one may have spent anything.
        charges: tuple[Charge, ...] | None = getattr(error, "charges", None)
        spent = charged(charges or ())
        self._charged += spent
        usage = Usage() if charges is None else None
        cost = Ended(
            self.run_id, call.number, call.name, None, call.provider, call.at_ns, usage, None, charges or ()
        )  # fmt: skip
        self._end_ask(call, error, spent, cost)

    def _end_ask(
        self, call: OpenCall, error: BaseException | None, spent: Usage, cost: Ended, response: Response | None = None,
        raw: Body | None = None, said: Sequence[Link] = (),
    ) -> None:  # fmt: skip
        end_ns, duration_ns = self._clock.wall_ns(), self._clock.monotonic_ns() - call.start_ns
        priced = self._pricer.price(cost)
        answered = facts.Answered(
            self.run_id, call.number, end_ns, duration_ns,
            None if error is None else self._clean(_said(error)), cost.response_model,
            None if response is None else response.finish,
            spent.input, spent.output, spent.cached, spent.cache_write, spent.reasoning,
            None if response is None else self._texts.tip, raw, call.attempts, call.first_token_ns, cost.tier,
            to_text({"charges": cost.charges}) if cost.charges else None,
            None if priced is None else priced.cost, None if priced is None else priced.price,
        )  # fmt: skip
        # What follows at once, the one tool call or the run's end, makes it durable; where several calls follow, each in
        # a task of its own, other tasks of the program may run before.
        self._write((*said, answered), linger=self._lingers and response is not None and self._calls <= 1)
        if priced is None:
            self._pricer.add(cost)
        if self._log is not None:
            self._tell(events.model_answered(call.step, call.name, answered, response), call)
        kind = None if error is None else type(error).__name__
        self._spans.end(
            call.span, end_ns, kind, lambda: {} if response is None else genai.response_attributes(response)
        )

    def heard(self, call: OpenCall, what: TextDelta | FirstToken | Retried) -> None:
        """What a model tells while it answers."""
        if isinstance(what, FirstToken) and call.first_token_ns is None:
            call.first_token_ns = self._clock.monotonic_ns() - call.start_ns
        elif isinstance(what, Retried):
            call.attempts += 1
            fields = {"step": call.step, "attempt": what.attempt, "error": self._clean(what.error)}
            self._line("warning", "model.retried", column_text(fields), call)
            self._tell(events.Event("warning", "model.retried", fields), call)

    # Tool calls

    def called(self, tool_call: ToolCall) -> OpenCall:
        tool_call = self._texts.call(tool_call)
        now = self._clock.wall_ns()
        span, own = self._spans.start(
            f"execute_tool {tool_call.name}", self._span, now, lambda: genai.tool_attributes(tool_call)
        )
        call = OpenCall(
            self, span, own, tool_call.step, self._numbers.new(), tool_call.name, "", now, self._clock.monotonic_ns()
        )
        self._unrun.pop(tool_call.index, None)
        called = facts.Called(
            self.run_id, call.number, own, self.span_id, tool_call.step, tool_call.index, now,
            tool_call.name, tool_call.id, tool_call.arguments,
        )  # fmt: skip
        self._write((called,))
        if self._log is not None:
            self._tell(events.tool_called(tool_call), call)
        return call

    def returned(self, call: OpenCall, tool_call: ToolCall, observation: Observation) -> None:
        self._returned += 1
        shown, whole = self._texts.result(tool_call, observation)
        chars = len(observation.whole)
        ended = facts.Returned(
            self.run_id, call.number, self._clock.wall_ns(), self._clock.monotonic_ns() - call.start_ns, observation.error, shown, whole,
            chars, observation.truncated,
        )  # fmt: skip
        # A call alone is followed at once by the next request or the run's end.
        self._write((ended,), linger=self._lingers and self._calls == 1)
        if self._log is not None:
            self._tell(events.tool_answered(self._texts.call(tool_call), ended), call)
        self._spans.end(call.span, ended.end_ns, observation.error, dict)

    def call_failed(self, call: OpenCall, tool_call: ToolCall, error: BaseException) -> None:
        ended = facts.Returned(
            self.run_id, call.number, self._clock.wall_ns(), self._clock.monotonic_ns() - call.start_ns, self._clean(_said(error)), None, None, None, False
        )  # fmt: skip
        self._write((ended,))
        if self._log is not None:
            self._tell(events.tool_answered(self._texts.call(tool_call), ended), call)
        self._spans.end(call.span, ended.end_ns, type(error).__name__, dict)

    def _declined(self, messages: tuple[Message, ...]) -> None:
        """Records the calls that the loop answered without running them; its answers are the last messages."""
        for index, tool_call in list(self._unrun.items()):
            text = messages[index - self._calls].content or ""
            self.returned(self.called(tool_call), tool_call, Observation(shown=text, whole=text, error="not_run"))

    # Lines and spans of others

    def logged(self, level: str, name: str, fields: Mapping[str, Any], place: Place) -> None:
        """A line that was logged within the run."""
        self._line(level, self._clean(name), self._texts.column(fields), place)

    def _line(self, level: str, name: str, fields: str, place: Place) -> None:
        line = facts.Logged(self.run_id, place.span_id, place.step, self._clock.wall_ns(), level, name, fields)
        self._write((line,))

    def span_started(self, name: str, span: bytes, parent: bytes | None, step: int | None, start_ns: int) -> int:
        number = self._numbers.new()
        self._write((facts.SpanStarted(self.run_id, number, span, parent, step, start_ns, self._clean(name)),))
        return number

    def span_ended(
        self,
        number: int,
        start_ns: int,
        end_ns: int,
        error: str | None,
        attributes: Mapping[str, Any],
        events: Sequence[tuple[str, int, Mapping[str, Any]]] = (),
    ) -> None:
        """A span of another library ended; `events` are the names, times and attributes of what happened in it."""
        found = self._texts.plain(attributes)
        if events:
            found["events"] = [
                {"name": self._clean(name), "time_ns": at, "attributes": self._texts.plain(fields)}
                for name, at, fields in events
            ]
        attrs = column_text(found) if found else None
        error = error and self._clean(error)
        self._write((facts.SpanEnded(self.run_id, number, end_ns, end_ns - start_ns, error, attrs),))

    # The end

    def finished(self, result: Result) -> None:
        self._declined(result.messages)
        said = self._texts.extend(result.messages)
        answer = None if result.answer is None else self._texts.body(result.answer)
        self._end(said, result.stop, None, answer, result.stats)

    def _failed(self, error: BaseException) -> None:
        cancelled = isinstance(error, CANCELLING)
        said: list[Link] = []
        # Another run's error may come through a tool or `on_step`: its history is not this one's.
        if isinstance(error, ModelError) and self._texts.goes_on(error.result.messages):
            said = self._texts.extend(error.result.messages)
            error = error.__cause__ or error
        self._end(
            said,
            "cancelled" if cancelled else "failed",
            None if cancelled else self._clean(described(error)),
            None,
            self.totals,
        )

    def _end(self, said: Sequence[Link], stop: Stop, error: str | None, answer: Body | None, totals: Totals) -> None:
        usage, now = totals.usage, self._clock.wall_ns()
        duration = self._clock.monotonic_ns() - self._start_ns
        ended = facts.RunEnded(
            self.run_id, now, duration, stop, error, answer, self._texts.tip, totals.steps, totals.tool_calls,
            usage.input, usage.output, usage.cached, usage.reasoning, totals.unreported,
            self._texts.redacted,
        )  # fmt: skip
        self._write((*said, ended))
        self._tell(events.run_finished(stop, totals, error, duration))
        self._spans.end(self._span, now, error, lambda: {genai.STOP: stop})

    # Helpers

    def _tell(self, event: Event, call: OpenCall | None = None) -> None:
        if self._log is None:
            return
        span = self.span_id if call is None else call.span_id
        ids = {"run_id": self.run_id, "trace_id": self.trace_id.hex(), "span_id": span.hex()}
        try:
            self._log(event.level, event.name, {**self._bound, **ids, **event.fields})
        except Exception as error:  # noqa: BLE001 - a log that fails must not end the run
            self._log = None
            warn(f"log events of run {self.run_id[:8]} are no longer told: {described(error)}")


def _said(error: BaseException) -> str:
    return "cancelled" if isinstance(error, CANCELLING) else described(error)
