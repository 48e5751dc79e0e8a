"""The `agent` command: one run from the command line. The one place where the loop and the recorder are put together.

stdout is the answer, stderr is what happens on the way. Exit codes: 0 answered, 1 the model failed, 2 usage or a store
that cannot be used, 3 stopped without an answer, 130 Ctrl-C, 143 SIGTERM.
"""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from agent.terminal import call_text, json_text, one_line, visible

if TYPE_CHECKING:
    from agent.agents import Agent
    from agent.values import Result, Step, Totals
    from tracing.recorder import Recorder
    from tracing.run_trace import Log

EXIT_FAILED, EXIT_USAGE, EXIT_STOPPED, EXIT_INTERRUPTED, EXIT_TERMINATED = 1, 2, 3, 130, 143

DEFAULT_DB = "traces.db"


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


class Failure(click.ClickException):
    """One sentence on stderr, and an exit code."""

    def __init__(self, text: str, code: int) -> None:
        super().__init__(visible(text))
        self.exit_code = code

    def show(self, file: Any = None) -> None:
        click.echo(f"agent: {self.message}", err=True)


def _options(*, run: bool) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The options that commands share."""
    docs = click.option("--docs", metavar="DIR", help="A folder of Markdown to search. [default: the httpx documents]")
    as_json = click.option("--json", is_flag=True, help="Print one JSON object.")
    agent = click.option("--agent", metavar="MODULE:ATTR", help="An Agent of your own; the current folder is importable.")
    chosen = [docs, agent, as_json]
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


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="playhead", prog_name="agent")
def cli() -> None:
    """Ask a question of documents; every step is recorded and can be seen with `viewer`."""


@cli.command()
@click.argument("question")
@_options(run=True)
def ask(question: str, **given: Any) -> None:
    """Answer QUESTION (`-` reads it from stdin)."""
    if question == "-":
        question = click.get_text_stream("stdin", encoding="utf-8", errors="replace").read()
    if not question.strip():
        raise Failure("the question is empty: write it as one argument, or - to read it from stdin", EXIT_USAGE)
    options = Options(**given)
    sys.exit(_ask(_agent(options), question.strip(), options))


@cli.command()
@_options(run=True)
def demo(**given: Any) -> None:
    """A scripted run that shows what happens when a model gets things wrong."""
    from agent.demo import QUESTION, SITUATIONS, demo_model

    options = Options(**given)
    agent = replace(_agent(options), name="demo", model=demo_model())
    steps = iter(SITUATIONS)

    def on_step(step: "Step") -> None:
        if (situation := next(steps, None)) is not None:
            click.echo(f"\n{situation}:")
        _print_step(step, err=False, size=500)

    if not options.json:
        click.echo(f"question: {QUESTION}")
    sys.exit(_ask(agent, QUESTION, options, on_step=None if options.json else on_step))


@cli.command()
@_options(run=False)
def tools(docs: str | None, agent: str | None, json: bool) -> None:
    """Show the system prompt and the tools' schemas, as sent to the model."""
    chosen = _agent(Options(db=DEFAULT_DB, docs=docs, agent=agent))
    schemas = [schema.to_dict() for schema in chosen.tools.schemas]
    if json:
        click.echo(json_text({"schema": 1, "agent": chosen.name, "system": chosen.system, "tools": schemas}))
        return
    click.echo(visible(f"system prompt of {chosen.name}:\n\n{chosen.system or '(none)'}\n\ntools, as sent to the model:\n"))
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
                name="docs", model=load_model(options.model or "keyword"), tools=docs_toolbox(docs), system=SYSTEM_PROMPT
            )
        if options.system is not None:
            agent = replace(agent, system=text_or_file(options.system))
        if options.max_steps is not None:
            agent = replace(agent, limits=replace(agent.limits, max_steps=options.max_steps))
    except (LoadError, DocsError, AgentError) as error:
        raise Failure(str(error), EXIT_USAGE) from error
    return agent


def _ask(agent: "Agent", question: str, options: Options, on_step: "Callable[[Step], None] | None" = None) -> int:
    """Runs and records one question, prints what there is to print, and returns the exit code."""
    from agent.errors import ModelError
    from agent.models.calling import as_model
    from tracing.errors import StoreError
    from tracing.recorder import Recorder

    metadata = _metadata(options.metadata)
    demo = on_step is not None
    say = (lambda text: None) if options.quiet else lambda text: click.echo(visible(text), err=not demo)
    try:
        recorder = Recorder(options.db, log=_log(options.log), strict=True)
    except StoreError as error:
        raise Failure(str(error), EXIT_USAGE) from error
    if not demo:
        say(f"model: {as_model(agent.model).info.name}")
        on_step = None if options.quiet else lambda step: _print_step(step, err=True)
    elif options.quiet:
        on_step = None
    terminated = False

    async def perform() -> "Result":
        nonlocal terminated

        def terminate() -> None:
            nonlocal terminated
            terminated = True
            task.cancel()

        task = asyncio.current_task()
        assert task is not None
        with contextlib.suppress(NotImplementedError):  # Windows has no such handlers
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, terminate)
        return await recorder.run(agent, question, tags=options.tags, metadata=metadata, on_step=on_step)

    with recorder:
        try:
            result = asyncio.run(perform())
        except ModelError as error:
            result, failure = error.result, str(error)
        except (KeyboardInterrupt, asyncio.CancelledError):
            totals, run_id = _last(recorder)
            say(f"\n{'terminated' if terminated else 'interrupted'} after {_spent(totals)}")
            say(_next(run_id, options.db))
            return EXIT_TERMINATED if terminated else EXIT_INTERRUPTED
        else:
            failure = None
    _print_result(result, failure, options, say, demo=demo)
    return {"answered": 0, "failed": EXIT_FAILED}.get(result.stop, EXIT_STOPPED)


def _print_result(
    result: "Result", failure: str | None, options: Options, say: Callable[[str], None], *, demo: bool
) -> None:
    if options.json:
        click.echo(json_text(_as_json(result, failure, options.db)))
    elif result.answer is not None:
        click.echo(("\nanswer:\n" if demo else "") + visible(result.answer))
    if failure is not None:
        click.echo(f"agent: {visible(failure)}", err=True)
    elif result.answer is None and not options.json:
        click.echo(f"agent: no answer: stopped by {_why(result)}", err=True)
    say(f"\n{result.stop} after {_spent(result.stats)}")
    say(_next("last" if demo else result.run_id, options.db))


def _why(result: "Result") -> str:
    steps = result.stats.steps
    reasons = {
        "max_steps": f"max_steps, the limit of {steps} step{'s' if steps != 1 else ''}; allow more with --max-steps",
        "token_limit": "max_tokens, the limit of tokens",
        "time_limit": "max_seconds, the limit of time",
        "refused": "the model, which refused",
        "content_filter": "the provider's content filter",
    }
    return reasons.get(result.stop, result.stop)


def _as_json(result: "Result", failure: str | None, db: str) -> dict[str, Any]:
    stats = result.stats
    return {
        "schema": 1,
        "run_id": result.run_id,
        "answer": result.answer,
        "stop": result.stop,
        "error": failure,
        "steps": stats.steps,
        "tool_calls": stats.tool_calls,
        "input_tokens": stats.usage.input,
        "output_tokens": stats.usage.output,
        "cached_tokens": stats.usage.cached,
        "reasoning_tokens": stats.usage.reasoning,
        "unreported_calls": stats.unreported,
        "db": os.path.abspath(db),
        "next": [_next_command(result.run_id, db)],
    }


def _print_step(step: "Step", *, err: bool, size: int = 100) -> None:
    for call, observation in zip(step.response.calls, step.observations, strict=True):
        mark = "✗ " if observation.error is not None else ""
        cut = f" [cut: {len(observation.whole):,} characters]" if observation.truncated else ""
        text = call_text(call.name, call.arguments)
        click.echo(f"[step {step.number}] {one_line(text, 200)} → {mark}{one_line(observation.shown, size)}{cut}", err=err)


def _spent(totals: "Totals | None") -> str:
    if totals is None:
        return "nothing"
    usage = totals.usage
    bound = "at least " if totals.unreported and (usage.input, usage.output) != (None, None) else ""
    tokens = "tokens unknown"
    if usage.input is not None or usage.output is not None:
        tokens = f"{bound}{_count(usage.input)} tokens in, {_count(usage.output)} out"
    return (
        f"{totals.steps} step{'s' if totals.steps != 1 else ''}, "
        f"{totals.tool_calls} tool call{'s' if totals.tool_calls != 1 else ''}, {tokens}"
    )


def _count(number: int | None) -> str:
    return "unknown" if number is None else f"{number:,}"


def _last(recorder: "Recorder") -> "tuple[Totals | None, str | None]":
    trace = recorder.last
    return (None, None) if trace is None else (trace.totals, trace.run_id)


def _next(run_id: str | None, db: str) -> str:
    return f"see it: {_next_command(run_id, db)}"


def _next_command(run_id: str | None, db: str) -> str:
    where = "" if db == DEFAULT_DB or os.environ.get("PLAYHEAD_DB") == db else f" --db {db}"
    return f"viewer show {'last' if run_id is None else run_id[:8]}{where}"


def _metadata(pairs: tuple[str, ...]) -> dict[str, str]:
    metadata = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not key or not equals:
            raise Failure(f"--meta takes KEY=VALUE, not {pair!r}", EXIT_USAGE)
        metadata[key] = value
    return metadata


def _log(kind: str) -> "Log | None":
    """Our events, and a user's own lines, to stderr as `--log` says; without it a user's lines go there all the same,
    because stdout is the answer."""
    import structlog

    processors = structlog.processors
    chain: list[Any] = [
        structlog.contextvars.merge_contextvars,
        processors.add_log_level,
        processors.TimeStamper(fmt="iso", utc=True),
    ]
    if kind == "json":
        chain += [processors.dict_tracebacks, _json_line]
    else:
        chain.append(structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty()))
    logger = structlog.PrintLoggerFactory(file=sys.stderr)
    if not structlog.is_configured():
        structlog.configure(processors=list(chain), logger_factory=logger)
    if kind == "off":
        return None
    ours = structlog.wrap_logger(logger(), processors=list(chain), wrapper_class=structlog.BoundLogger)

    def log(level: str, name: str, fields: Any) -> None:
        getattr(ours, level)(name, **{f"{key}_" if key in ("event", "level") else key: value for key, value in fields.items()})

    return log


def _json_line(logger: Any, method: str, line: Any) -> str:
    from agent.canonical import to_text

    return to_text(line)


def main() -> None:
    try:
        cli(prog_name="agent")
    except BrokenPipeError:
        # The reader is gone; Python's own flush at exit would complain about it once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
