"""One question on the command line: a recorded run, what is printed on the way, and the exit code."""

import asyncio
import contextlib
import signal
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import click

from agent.command_line import tell
from agent.options import Options
from agent.reporting import next_command, result_as_json, spent, step_lines, why, width_of
from agent.terminal import json_text, visible

if TYPE_CHECKING:
    from agent.agents import Agent
    from agent.messages import Message
    from agent.ports import FirstToken, Retried, Tell, TextDelta
    from agent.values import Result, Step

T = TypeVar("T")

EXIT_FAILED, EXIT_STOPPED, EXIT_INTERRUPTED, EXIT_TERMINATED = 1, 3, 130, 143


class Records(Protocol):
    """What runs an agent and records it."""

    @property
    def last(self) -> Any:
        """The trace of the last run that began, None before the first."""

    @property
    def run(self) -> "Callable[..., Coroutine[Any, Any, Result]]": ...


class Turn:
    """One question after the other, each a recorded run: what is printed on the way, and the exit code."""

    def __init__(self, recorder: Records, agent: "Agent", options: Options, metadata: Mapping[str, str]) -> None:
        self.messages: Sequence[Message | Mapping[str, Any]] = ()
        """The history after the last turn."""
        self.is_demo = False
        """All goes to stdout then, and nothing that differs from run to run is printed."""
        self.on_step = self._say_step
        self._recorder, self._agent, self._options, self._metadata = recorder, agent, options, metadata
        self._live = None if options.json or not sys.stdout.isatty() else LiveText()

    @property
    def tell(self) -> "Tell":
        """What is to hear of a streamed answer."""
        from agent.ports import unheard

        return unheard if self._live is None else self._live.hear

    def say(self, text: str) -> None:
        if self._options.quiet:
            return
        if self.is_demo:
            click.echo(visible(text))
        else:
            tell(visible(text))

    def introduce(self, notes: Sequence[str]) -> None:
        from agent.models.calling import as_model

        self.say(f"model: {as_model(self._agent.model).info.name}")
        for note in notes:
            tell(visible(f"agent: note: {note}"))

    def take(self, question: str, history: "Sequence[Message | Mapping[str, Any]]", session: str | None) -> int:
        """Runs one question and returns the exit code."""
        options = self._options
        self.messages = history
        return self.perform(
            self._recorder.run(
                self._agent,
                question,
                history=history,
                session=session,
                tags=options.tags,
                metadata=self._metadata,
                source=options.source,
                on_step=self.on_step,
                tell=self.tell,
            )
        )

    def perform(self, work: "Coroutine[Any, Any, Result]") -> int:
        """Waits for a run, prints what came of it, and returns the exit code."""
        from agent.errors import ModelError, described
        from agent.sync import run_loop
        from agent.values import Result

        options, failure = self._options, None
        interrupt = _Interrupt()
        try:
            # stdout is the answer: what a tool prints goes where the steps go.
            with contextlib.nullcontext() if self.is_demo else contextlib.redirect_stdout(sys.stderr):
                result = run_loop(interrupt.watch(work))
        except ModelError as error:
            result, failure = error.result, str(error)
        except (KeyboardInterrupt, asyncio.CancelledError):
            if (trace := self._recorder.last) is not None:
                if options.json:
                    cancelled = Result(
                        answer=None, stop="cancelled", stats=trace.totals, messages=(), run_id=trace.run_id
                    )
                    click.echo(json_text(result_as_json(cancelled, None, options.db)))
                self.say(f"\n{interrupt.name} after {spent(trace.totals)}")
                self.say(f"see it: {next_command(trace.run_id, options.db)}")
            return interrupt.exit_code
        except BrokenPipeError:
            raise
        except BaseException as error:  # what a user's own tools port or observer raises
            if (trace := self._recorder.last) is None:
                raise
            failure = f"the run failed: {described(error)}"
            result = Result(answer=None, stop="failed", stats=trace.totals, messages=(), run_id=trace.run_id)
        self.messages = result.messages or self.messages
        self._print(result, failure)
        return {"answered": 0, "failed": EXIT_FAILED}.get(result.stop, EXIT_STOPPED)

    def _print(self, result: "Result", failure: str | None) -> None:
        options = self._options
        if options.json:
            click.echo(json_text(result_as_json(result, failure, options.db)))
        elif self._live is not None and self._live.has_shown(result.answer):
            click.echo()
        elif result.answer is not None:
            click.echo(("\nanswer:\n" if self.is_demo else "") + visible(result.answer))
        if failure is not None:
            tell(f"agent: {visible(failure)}")
        elif options.json:
            pass
        elif result.answer is None:
            tell(f"agent: no answer: stopped by {visible(why(result))}")
        elif result.finish == "length":
            tell("agent: note: the answer was cut at the model's output limit")
        self.say(f"\n{result.stop} after {spent(result.stats)}")
        self.say(f"see it: {next_command('last' if self.is_demo else result.run_id or 'last', options.db)}")

    def _say_step(self, step: "Step") -> None:
        if self._live is not None and step.response.calls:
            self._live.end_line()
        for line in step_lines(step, width_of(sys.stderr, 300)):
            self.say(line)


class LiveText:
    """An answer's text on the terminal while it is streamed."""

    def __init__(self) -> None:
        self._out = sys.stdout
        self._shown = ""

    def hear(self, what: "TextDelta | FirstToken | Retried") -> None:
        text = getattr(what, "text", "")
        self._shown += text
        if text:
            click.echo(visible(text), file=self._out, nl=False)

    def end_line(self) -> None:
        """What was shown was said before a call, and is not the answer."""
        if self._shown:
            click.echo(file=self._out)
        self._shown = ""

    def has_shown(self, answer: str | None) -> bool:
        shown, self._shown = self._shown, ""
        return bool(answer) and shown == answer


class _Interrupt:
    """Ctrl-C or SIGTERM while a run goes on: both cancel it, so that its record is closed."""

    def __init__(self) -> None:
        self.name, self.exit_code = "interrupted", EXIT_INTERRUPTED

    async def watch(self, work: Coroutine[Any, Any, T]) -> T:
        from agent.sync import is_cancelled

        task = asyncio.current_task()
        assert task is not None

        def terminate() -> None:
            self.name, self.exit_code = "terminated", EXIT_TERMINATED
            task.cancel()

        with contextlib.suppress(NotImplementedError):  # Windows has no such handlers
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, terminate)
        try:
            return await work
        except asyncio.CancelledError as error:
            if is_cancelled():
                raise
            raise RuntimeError("a model or a tool cancelled itself") from error
