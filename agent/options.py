"""The options of the `agent` command, and the agent and labels that they ask for."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from agent.command_line import Failure
from agent.reporting import DEFAULT_DB

if TYPE_CHECKING:
    from agent.agents import Agent
    from agent.ports import Model

EXIT_USAGE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the options of a command say."""

    db: str
    model: str | None = None
    real: bool = False
    no_stream: bool = False
    extra_body: str | None = None
    session: str | None = None
    docs: str | None = None
    agent: str | None = None
    max_steps: int | None = None
    max_cost: float | None = None
    prices: str | None = None
    system: str | None = None
    tags: tuple[str, ...] = ()
    metadata: tuple[str, ...] = ()
    json: bool = False
    quiet: bool = False
    log: str = "off"
    no_redact: bool = False
    source: str | None = None

    def __post_init__(self) -> None:
        """Raises Failure for an option that is empty, as by a variable of a shell that is not set."""
        for name in ("docs", "session", "prices"):
            if getattr(self, name) == "":
                raise usage_error(f"--{name} is empty: give it a value, or leave it out")


def usage_error(text: str) -> Failure:
    """A usage error, or a store that cannot be used."""
    return Failure(text, "agent", EXIT_USAGE)


def options_for(*, run: bool = True, agent: bool = True) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The options that commands share."""
    chosen: list[Callable[..., Any]] = [click.option("--json", is_flag=True, help="Print one JSON object.")]
    if agent:
        chosen += [
            click.option(
                "--docs", metavar="DIR", help="A folder of Markdown to search. [default: the httpx documents]"
            ),
            click.option(
                "--agent", metavar="MODULE:ATTR", help="An Agent of your own; the current folder is importable."
            ),
        ]
    if run:
        chosen += [
            click.option("--db", metavar="PATH", envvar="PLAYHEAD_DB", default=DEFAULT_DB, show_default=True,
                         help="Where runs are recorded. [env: PLAYHEAD_DB]"),
            click.option("--session", metavar="ID", help="The conversation that this goes on with."),
            click.option("--tag", "tags", metavar="TAG", multiple=True, help="A tag for the run; may be repeated."),
            click.option("--meta", "metadata", metavar="K=V", multiple=True, help="Metadata; may be repeated."),
            click.option("--no-redact", is_flag=True, help="Record secrets as they are said."),
            click.option("--quiet", is_flag=True, help="Print the answer and nothing else."),
            click.option("--log", type=click.Choice(["json", "console", "off"]), default="off", show_default=True,
                         help="Log events to stderr."),
        ]  # fmt: skip
    if run and agent:
        chosen += [
            click.option("--model", metavar="SPEC", help="keyword, script:FILE (JSON Lines, see README), openai:NAME, or "
                         "NAME of the server of LLM_BASE_URL. [default: $LLM_MODEL, else keyword]"),
            click.option("--real", is_flag=True, help="The model of LLM_MODEL, LLM_BASE_URL, LLM_API_KEY."),
            click.option("--no-stream", is_flag=True, help="Ask for the answer in one piece."),
            click.option("--extra-body", metavar="JSON", help="Sent with each request. [env: LLM_EXTRA_BODY]"),
            click.option("--max-steps", type=click.IntRange(1), help="Model calls at the most. [default: 8]"),
            click.option("--max-cost", type=click.FloatRange(min=0), metavar="USD", help="Stop before the next request once "
                         "the run has cost this much."),
            click.option("--prices", metavar="FILE", help="Prices of your own (TOML, see README). [env: PLAYHEAD_PRICES]"),
            click.option("--system", metavar="TEXT|@FILE", help="The system prompt."),
        ]  # fmt: skip

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        for option in reversed(chosen):
            command = option(command)
        return command

    return decorate


def agent_for(options: Options) -> "tuple[Agent, Sequence[str], str]":
    """The agent that the options ask for, what is to be said of its documents, and how it can be loaded again. Raises
    Failure."""
    from agent.errors import AgentError
    from agent.loading import DOCS, LoadError, docs_agent, load_agent, text_or_file

    notes: Sequence[str] = ()
    try:
        model = _model(options)
        if options.agent is not None:
            if options.docs is not None:
                raise LoadError("--docs goes with the documentation agent: leave it out, or leave out --agent")
            agent = load_agent(options.agent)
            if model is not None:
                agent = replace(agent, model=model)
        else:
            agent, notes = docs_agent(options.docs, model)
        if options.system is not None:
            agent = replace(agent, system=text_or_file(options.system))
        if options.max_steps is not None:
            agent = replace(agent, limits=replace(agent.limits, max_steps=options.max_steps))
        if options.max_cost is not None:
            agent = replace(agent, limits=replace(agent.limits, max_cost_usd=options.max_cost))
    except (LoadError, AgentError, ValueError) as error:
        raise usage_error(str(error)) from error
    return agent, notes, options.agent or f"{DOCS}{options.docs or ''}"


def _model(options: Options) -> "Model | None":
    """The model that the options or the environment ask for; None for the agent's own. A key is never spent by
    accident: keys alone ask for nothing. Raises LoadError."""
    from agent.loading import LoadError, load_model

    if options.real and options.model is not None:
        raise LoadError("--real is the model of LLM_MODEL: leave it out, or leave out --model")
    from_environment = options.agent is None and os.environ.get("LLM_MODEL")
    is_ours = options.model is not None and (options.model == "keyword" or options.model.startswith("script:"))
    is_asked_for = options.real or options.model is not None or from_environment
    if options.extra_body is not None and (is_ours or not is_asked_for):
        raise LoadError("--extra-body goes to a server: name a model of one with --model, or leave it out")
    if not is_asked_for:
        return None
    return load_model(options.model, options.extra_body, stream=not options.no_stream)


def metadata_of(options: Options) -> dict[str, str]:
    metadata = {}
    for pair in options.metadata:
        key, equals, value = pair.partition("=")
        if not key or not equals:
            raise usage_error(f"--meta takes KEY=VALUE, not {pair!r}")
        if key in metadata:
            raise usage_error(f"--meta has the key {key!r} twice: give it once")
        metadata[key] = value
    return metadata
