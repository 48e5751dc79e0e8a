"""The recorder runs an agent and writes down what happens; the agent answers all the same when that fails."""

import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from agent.agents import Agent
from agent.errors import ModelError
from agent.history import opening
from agent.loop import check_observer, proceed
from agent.messages import Message
from agent.models.calling import as_model
from agent.ports import Budget, Tell, unheard
from agent.pricing import BadPrices, PriceBook
from agent.sync import complete
from agent.values import Result, Step
from tracing import foreign, logs
from tracing.clock import Clock, SystemClock
from tracing.errors import StoreError, warn
from tracing.events import Log
from tracing.ids import Ids, RandomIds
from tracing.instruments import Instruments, Labels, Origin
from tracing.pricer import Pricer
from tracing.redaction import Redaction
from tracing.run_trace import RunTrace
from tracing.spans import Spans
from tracing.traced import TracedModel, TracedTools
from tracing.writer import Writer

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import SpanProcessor


class Recorder:
    """Records runs into one SQLite file.

    A file that cannot be used is told once, as a `RecorderWarning`, and runs go on unrecorded (their `run_id` is
    None). `span_processors` get the run's OpenTelemetry spans, e.g. to export them; `log` hears each JSON log event.
    Use it as a context manager, sync or async; one recorder serves any number of runs, threads and event loops.
    """

    def __init__(
        self,
        path: str | Path = "traces.db",
        *,
        clock: Clock | None = None,
        ids: Ids | None = None,
        span_processors: "Sequence[SpanProcessor]" = (),
        log: Log | None = None,
        redact: bool | Redaction = True,
        prices: PriceBook | None = None,
        strict: bool = False,
    ) -> None:
        """Secrets are taken out of every text before it is stored; `redact` may be a `Redaction` with patterns of your
        own, or False. `prices` are for calls that cost money (None: those of `PriceBook.configured`). With `strict`, raises StoreError instead of a warning for a file that cannot be used."""
        self.path = Path(path)
        clock, ids = clock or SystemClock(), ids or RandomIds()
        self._spans = Spans(ids, span_processors)
        self._prices = _configured_prices() if prices is None else prices
        self._instruments: Instruments | None = None
        self.last: RunTrace | None = None
        """The run that was started last, also while it runs."""
        try:
            writer = Writer(self.path, clock)
        except StoreError as error:
            if strict:
                raise
            warn(f"runs are not recorded: {error}")
            return
        redaction = redact if isinstance(redact, Redaction) else Redaction() if redact else None
        pricer = Pricer(self._prices, writer.write)
        self._instruments = Instruments(writer, clock, ids, self._spans, log, redaction, pricer)
        self._close = weakref.finalize(self, _close, pricer, writer)  # at exit too, should nobody close it

    async def run(
        self,
        agent: Agent,
        question: str,
        *,
        history: Sequence[Message | Mapping[str, Any]] | None = None,
        session: str | None = None,
        tags: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        version: str | None = None,
        on_step: Callable[[Step], None] | None = None,
        tell: Tell = unheard,
        budget: Budget | None = None,
        source: str | None = None,
        origin: Origin = Origin(),
    ) -> Result:
        """As `agent.run`, recorded. `session` names a conversation, `tags` and `metadata` are for finding the run
        again, `version` is that of your program, `source` (`module:attribute`) says where a command finds the agent; `origin`
        is for runs that come from a record. Raises what `agent.run` raises, and TypeError for metadata that is no
        mapping."""
        check_observer(on_step)
        first = opening(agent.system, history, question)
        if self._instruments is None:
            return await proceed(agent, first, on_step=on_step, tell=tell, budget=budget, prices=self._prices)
        self._instruments.writer.check_file()
        logs.hear()
        foreign.hear()
        model = as_model(agent.model)
        if session is not None and self._hides(str(session)):
            warn(
                "the session's name holds what is redacted, so its turns cannot be told from others': give another one"
            )
        labels = Labels(
            session=None if session is None else str(session),
            tags=(tags,) if isinstance(tags, str) else tuple(str(tag) for tag in tags),
            metadata=None if metadata is None else dict(metadata),
            version=version,
            source=source,
        )
        trace = self.last = RunTrace(self._instruments, agent, model.info, question, first, labels, origin)
        traced = replace(agent, model=TracedModel(model, trace), tools=TracedTools(agent.tools, trace))
        with trace.current():
            try:
                result = await proceed(
                    traced, first, on_step=self._durable(on_step), tell=tell, budget=budget, prices=self._prices
                )
            except ModelError as error:
                error.result = replace(error.result, run_id=trace.run_id)
                raise
            trace.finished(result)
        self._instruments.writer.check_file()
        return replace(result, run_id=trace.run_id)

    def _hides(self, session: str) -> bool:
        redaction = None if self._instruments is None else self._instruments.redaction
        return redaction is not None and redaction.for_run()(session) is not session

    def run_sync(self, agent: Agent, question: str, **options: Any) -> Result:
        """As `run`, for code that is not async; works inside a running event loop too."""
        return complete(self.run(agent, question, **options))

    def flush(self) -> None:
        """Writes what waits for what follows it."""
        if self._instruments is not None:
            self._instruments.writer.flush()

    def close(self) -> None:
        """Writes what waits, tells what is lost, and ends the span processors."""
        self._spans.close()
        if self._instruments is not None:
            self._instruments.writer.check_file()
            self._close()

    def _durable(self, on_step: Callable[[Step], None] | None) -> Callable[[Step], None] | None:
        """The user's `on_step` may take long, so what it hears of is written first."""
        if on_step is None or self._instruments is None:
            return None
        writer = self._instruments.writer

        def heard(step: Step) -> None:
            writer.flush()
            on_step(step)

        return heard

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()


def _configured_prices() -> PriceBook:
    """A file of prices that cannot be read is no reason not to run."""
    try:
        return PriceBook.configured()
    except BadPrices as error:
        warn(f"calls are priced without your own prices: {error}")
        return PriceBook()


def _close(pricer: Pricer, writer: Writer) -> None:
    pricer.close()
    writer.close()
