"""The `agent` command: runs from the command line. The one place where the loop and the recorder are put together.

stdout is the answer, stderr is what happens on the way. Exit codes: 0 answered, 1 the model failed, 2 usage or a store
that cannot be used, 3 stopped without an answer, 130 Ctrl-C, 143 SIGTERM.
"""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from agent.command_line import Commands, run, tell
from agent.options import Options, agent_for, metadata_of, options_for, usage_error
from agent.reporting import DEFAULT_DB, next_command, result_as_json, spent, step_lines, why, width_of
from agent.terminal import json_text, visible

if TYPE_CHECKING:
    from agent.agents import Agent
    from agent.messages import Message
    from agent.ports import FirstToken, Retried, Tell, TextDelta
    from agent.values import Result, Step
    from tracing.recorder import Recorder

T = TypeVar("T")

EXIT_FAILED, EXIT_STOPPED, EXIT_INTERRUPTED, EXIT_TERMINATED = 1, 3, 130, 143


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="playhead", prog_name="agent")
def cli() -> None:
    """Ask a question of documents; every step is recorded and can be seen with `viewer`."""


@cli.command()
@click.argument("question")
@options_for()
def ask(question: str, **given: Any) -> None:
    """Answer QUESTION (`-` reads it from stdin)."""
    if question == "-":
        if sys.stdin is None:
            raise usage_error("stdin is closed: write the question as an argument")
        question = sys.stdin.buffer.read().decode("utf-8", "replace")
    if not question.strip():
        raise usage_error("the question is empty: write it as one argument, or - to read it from stdin")
    options = Options(**given)
    (agent, notes, source), metadata = agent_for(options), metadata_of(options)
    options = replace(options, source=source)
    with recorder_for(options) as recorder:
        history = _history(options)
        turn = Turn(recorder, agent, options, metadata)
        turn.introduce(notes)
        sys.exit(turn.take(question.strip(), history, options.session))


@cli.command()
@options_for()
def chat(**given: Any) -> None:
    """Ask one question after the other, read from stdin line by line; an empty stdin ends it."""
    options = Options(**given)
    (agent, notes, source), metadata = agent_for(options), metadata_of(options)
    options = replace(options, source=source)
    with recorder_for(options) as recorder:
        history: Sequence[Message | Mapping[str, Any]] = _history(options)
        session = options.session or f"chat-{os.urandom(4).hex()}"
        turn = Turn(recorder, agent, options, metadata)
        turn.introduce(notes)
        turn.say(f"session: {session}")
        code = 0
        while (question := _next_question(options)) is not None:
            if not question.strip():
                continue
            code = turn.take(question.strip(), history, session)
            if code == EXIT_TERMINATED:
                break
            history = turn.messages
        sys.exit(code)


@cli.command()
@options_for(agent=False)
def demo(**given: Any) -> None:
    """A scripted run that shows what happens when a model gets things wrong."""
    from agent.demo import QUESTION, SITUATIONS
    from agent.loading import DEMO, load_agent

    options = Options(**given, source=DEMO)
    agent = load_agent(DEMO)
    situations = iter(SITUATIONS)

    def on_step(step: "Step") -> None:
        if (situation := next(situations, None)) is not None:
            click.echo(f"\n{situation}:")
        for line in step_lines(step, width_of(sys.stdout, 600)):
            click.echo(line)

    with recorder_for(options) as recorder:
        turn = Turn(recorder, agent, options, metadata_of(options))
        if options.json or options.quiet:
            sys.exit(turn.take(QUESTION, (), options.session))
        click.echo(f"question: {QUESTION}")
        turn.is_demo, turn.on_step = True, on_step
        sys.exit(turn.take(QUESTION, (), options.session))


@cli.command()
@options_for(run=False)
def tools(docs: str | None, agent: str | None, json: bool) -> None:
    """Show the system prompt and the tools' schemas, as sent to the model."""
    chosen, _, _ = agent_for(Options(db=DEFAULT_DB, docs=docs, agent=agent))
    schemas = [schema.to_dict() for schema in chosen.tools.schemas]
    if json:
        click.echo(json_text({"schema": 1, "agent": chosen.name, "system": chosen.system, "tools": schemas}))
        return
    click.echo(
        visible(f"system prompt of {chosen.name}:\n\n{chosen.system or '(none)'}\n\ntools, as sent to the model:\n")
    )
    click.echo(json_text(schemas))


class Turn:
    """One question after the other, each a recorded run: what is printed on the way, and the exit code."""

    def __init__(self, recorder: "Recorder", agent: "Agent", options: Options, metadata: Mapping[str, str]) -> None:
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


def recorder_for(options: Options) -> "Recorder":
    """The recorder that the options ask for. Raises Failure."""
    from agent.pricing import BadPrices, PriceBook
    from agent.project import ProjectError, project_of
    from agent.stderr_log import log_to_stderr
    from tracing.errors import StoreError
    from tracing.recorder import Recorder
    from tracing.redaction import Redaction

    try:
        prices, log = PriceBook.configured(options.prices), log_to_stderr(options.log)
        redact = not options.no_redact and Redaction(project_of(Path.cwd()).redact)
        if redact and options.session and redact.for_run().text(options.session) is not options.session:
            raise usage_error(
                "--session holds what is redacted, so its turns could not be found again: give another id"
            )
        return Recorder(options.db, log=log, redact=redact, prices=prices, strict=True)
    except (StoreError, BadPrices, ProjectError, ValueError) as error:
        raise usage_error(str(error)) from error


def _history(options: Options) -> Sequence[Mapping[str, Any]]:
    """What was said before in the session that the options name."""
    if options.session is None:
        return ()
    from tracing.filters import Filter
    from tracing.store import Store

    with Store(options.db) as store:
        rows, _ = store.runs(Filter(session=options.session), limit=1)
        return store.history(rows[0]["run_id"]) if rows else ()


def _next_question(options: Options) -> str | None:
    """The next line of stdin; None at its end."""
    if sys.stdin is None:
        return None
    if sys.stdin.isatty() and not options.quiet:
        click.echo("\n> ", err=True, nl=False)
    line = sys.stdin.buffer.readline().decode("utf-8", "replace")
    return line or None


def main() -> None:
    run(cli, "agent")
