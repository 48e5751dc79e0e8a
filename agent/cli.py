"""The `agent` command: runs from the command line. The one place where the loop and the recorder are put together.

stdout is the answer, stderr is what happens on the way. Exit codes: 0 answered, 1 the model failed, 2 usage or a store
that cannot be used, 3 stopped without an answer, 130 Ctrl-C, 143 SIGTERM.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agent.command_line import Commands, run
from agent.options import Options, agent_for, metadata_of, options_for, usage_error
from agent.reporting import DEFAULT_DB, step_lines, width_of
from agent.terminal import json_text, visible
from agent.turn import EXIT_TERMINATED, Turn

if TYPE_CHECKING:
    from agent.messages import Message
    from agent.values import Step
    from tracing.recorder import Recorder


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
        if redact and options.session and redact.for_run()(options.session) is not options.session:
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
