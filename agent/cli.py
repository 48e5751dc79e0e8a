"""The `agent` command: one run from the command line. The one place where the loop and the recorder are put together.

stdout is the answer, stderr is what happens on the way. Exit codes: 0 answered, 1 the model failed, 2 usage or a store
that cannot be used, 3 stopped without an answer, 130 Ctrl-C, 143 SIGTERM.
"""

import asyncio
import contextlib
import signal
import sys
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import click

from agent.command_line import Commands, Failure, run
from agent.reporting import DEFAULT_DB, next_command, result_as_json, spent, step_lines, why
from agent.terminal import json_text, visible

if TYPE_CHECKING:
    from agent.agents import Agent
    from agent.values import Step

T = TypeVar("T")

EXIT_FAILED, EXIT_USAGE, EXIT_STOPPED, EXIT_INTERRUPTED, EXIT_TERMINATED = 1, 2, 3, 130, 143


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the options of a command say."""

    db: str
    model: str | None = None
    docs: str | None = None
    agent: str | None = None
    max_steps: int | None = None
    system: str | None = None
    tags: tuple[str, ...] = ()
    metadata: tuple[str, ...] = ()
    json: bool = False
    quiet: bool = False
    log: str = "off"


def _failure(text: str) -> Failure:
    """A usage error, or a store that cannot be used."""
    return Failure(text, "agent", EXIT_USAGE)


def _options(*, run: bool) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The options that commands share."""
    docs = click.option("--docs", metavar="DIR", help="A folder of Markdown to search. [default: the httpx documents]")
    as_json = click.option("--json", is_flag=True, help="Print one JSON object.")
    agent = click.option(
        "--agent", metavar="MODULE:ATTR", help="An Agent of your own; the current folder is importable."
    )
    chosen: list[Callable[..., Any]] = [docs, agent, as_json]
    if run:
        chosen += [
            click.option("--db", metavar="PATH", envvar="PLAYHEAD_DB", default=DEFAULT_DB, show_default=True,
                         help="Where runs are recorded. [env: PLAYHEAD_DB]"),
            click.option("--model", metavar="SPEC", help="keyword, or script:FILE. [default: keyword]"),
            click.option("--max-steps", type=click.IntRange(1), help="Model calls at the most. [default: 8]"),
            click.option("--system", metavar="TEXT|@FILE", help="The system prompt."),
            click.option("--tag", "tags", metavar="TAG", multiple=True, help="A tag for the run; may be repeated."),
            click.option("--meta", "metadata", metavar="K=V", multiple=True, help="Metadata; may be repeated."),
            click.option("--quiet", is_flag=True, help="Print the answer and nothing else."),
            click.option("--log", type=click.Choice(["json", "console", "off"]), default="off", show_default=True,
                         help="Log events to stderr."),
        ]  # fmt: skip

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        for option in reversed(chosen):
            command = option(command)
        return command

    return decorate


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="playhead", prog_name="agent")
def cli() -> None:
    """Ask a question of documents; every step is recorded and can be seen with `viewer`."""


@cli.command()
@click.argument("question")
@_options(run=True)
def ask(question: str, **given: Any) -> None:
    """Answer QUESTION (`-` reads it from stdin)."""
    if question == "-":
        if sys.stdin is None:
            raise _failure("stdin is closed: write the question as an argument")
        question = sys.stdin.buffer.read().decode("utf-8", "replace")
    if not question.strip():
        raise _failure("the question is empty: write it as one argument, or - to read it from stdin")
    options = Options(**given)
    sys.exit(_ask(_agent(options), question.strip(), options))


@cli.command()
@_options(run=True)
def demo(**given: Any) -> None:
    """A scripted run that shows what happens when a model gets things wrong."""
    from agent.demo import QUESTION, SITUATIONS, demo_model

    options = Options(**given)
    agent = replace(_agent(options), name="demo", model=demo_model())
    situations = iter(SITUATIONS)

    def on_step(step: "Step") -> None:
        if (situation := next(situations, None)) is not None:
            click.echo(f"\n{situation}:")
        for line in step_lines(step, size=500):
            click.echo(line)

    if options.json or options.quiet:
        sys.exit(_ask(agent, QUESTION, options))
    click.echo(f"question: {QUESTION}")
    sys.exit(_ask(agent, QUESTION, options, on_step=on_step))


@cli.command()
@_options(run=False)
def tools(docs: str | None, agent: str | None, json: bool) -> None:
    """Show the system prompt and the tools' schemas, as sent to the model."""
    chosen = _agent(Options(db=DEFAULT_DB, docs=docs, agent=agent))
    schemas = [schema.to_dict() for schema in chosen.tools.schemas]
    if json:
        click.echo(json_text({"schema": 1, "agent": chosen.name, "system": chosen.system, "tools": schemas}))
        return
    click.echo(
        visible(f"system prompt of {chosen.name}:\n\n{chosen.system or '(none)'}\n\ntools, as sent to the model:\n")
    )
    click.echo(json_text(schemas))


def _agent(options: Options) -> "Agent":
    """The agent that the options ask for. Raises Failure."""
    from agent.docs import SYSTEM_PROMPT, Docs, DocsError, docs_toolbox
    from agent.errors import AgentError
    from agent.loading import LoadError, embedded_docs, load_agent, load_model, text_or_file

    try:
        if options.agent is not None:
            if options.docs is not None:
                raise LoadError("--docs goes with the documentation agent: leave it out, or leave out --agent")
            agent = load_agent(options.agent)
            if options.model is not None:
                agent = replace(agent, model=load_model(options.model))
        else:
            from agent.agents import Agent

            docs = Docs(options.docs if options.docs is not None else embedded_docs())
            for fault in docs.faults:
                click.echo(visible(f"agent: note: {fault}"), err=True)
            agent = Agent(
                name="docs",
                model=load_model(options.model or "keyword"),
                tools=docs_toolbox(docs),
                system=SYSTEM_PROMPT,
            )
        if options.system is not None:
            agent = replace(agent, system=text_or_file(options.system))
        if options.max_steps is not None:
            agent = replace(agent, limits=replace(agent.limits, max_steps=options.max_steps))
    except (LoadError, DocsError, AgentError) as error:
        raise _failure(str(error)) from error
    return agent


def _ask(agent: "Agent", question: str, options: Options, on_step: "Callable[[Step], None] | None" = None) -> int:
    """Runs and records one question, prints what there is to print, and returns the exit code.

    With `on_step`, the demo's, all goes to stdout, and nothing that differs from run to run is printed.
    """
    from agent.errors import ModelError
    from agent.models.calling import as_model
    from agent.stderr_log import log_to_stderr
    from tracing.errors import StoreError
    from tracing.recorder import Recorder

    demo = on_step is not None
    metadata = _metadata(options.metadata)

    def say(text: str) -> None:
        if not options.quiet:
            click.echo(visible(text), err=not demo)

    def say_step(step: "Step") -> None:
        for line in step_lines(step):
            say(line)

    try:
        recorder = Recorder(options.db, log=log_to_stderr(options.log), strict=True)
    except StoreError as error:
        raise _failure(str(error)) from error
    if not demo:
        say(f"model: {as_model(agent.model).info.name}")
    interrupt = _Interrupt()
    work = recorder.run(agent, question, tags=options.tags, metadata=metadata, on_step=on_step or say_step)
    failure: str | None = None
    with recorder:
        try:
            # stdout is the answer: what a tool prints goes where the steps go.
            with contextlib.nullcontext() if demo else contextlib.redirect_stdout(sys.stderr):
                result = asyncio.run(interrupt.watch(work))
        except ModelError as error:
            result, failure = error.result, str(error)
        except (KeyboardInterrupt, asyncio.CancelledError):
            if (trace := recorder.last) is not None:
                say(f"\n{interrupt.name} after {spent(trace.totals)}")
                say(f"see it: {next_command(trace.run_id, options.db)}")
            return interrupt.exit_code
    if options.json:
        click.echo(json_text(result_as_json(result, failure, options.db)))
    elif result.answer is not None:
        click.echo(("\nanswer:\n" if demo else "") + visible(result.answer))
    if failure is not None:
        click.echo(f"agent: {visible(failure)}", err=True)
    elif result.answer is None and not options.json:
        click.echo(f"agent: no answer: stopped by {why(result)}", err=True)
    say(f"\n{result.stop} after {spent(result.stats)}")
    say(f"see it: {next_command('last' if demo else result.run_id or 'last', options.db)}")
    return {"answered": 0, "failed": EXIT_FAILED}.get(result.stop, EXIT_STOPPED)


class _Interrupt:
    """Ctrl-C or SIGTERM while a run goes on: both cancel it, so that its record is closed."""

    def __init__(self) -> None:
        self.name, self.exit_code = "interrupted", EXIT_INTERRUPTED

    async def watch(self, work: Coroutine[Any, Any, T]) -> T:
        task = asyncio.current_task()
        assert task is not None

        def terminate() -> None:
            self.name, self.exit_code = "terminated", EXIT_TERMINATED
            task.cancel()

        with contextlib.suppress(NotImplementedError):  # Windows has no such handlers
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, terminate)
        return await work


def _metadata(pairs: tuple[str, ...]) -> dict[str, str]:
    metadata = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not key or not equals:
            raise _failure(f"--meta takes KEY=VALUE, not {pair!r}")
        metadata[key] = value
    return metadata


def main() -> None:
    run(cli, "agent")
