"""The commands that go on from a recorded run: fork, live from one of its steps, and script, its model as a file.

`fork` is a run, with the exit codes of `agent ask`.
"""

import sys
from contextlib import redirect_stdout
from dataclasses import replace as changed
from pathlib import Path
from typing import TYPE_CHECKING

import click

from viewer.commands.running import EXIT_USAGE, asked_model, write_file
from viewer.options import agent_option, db_option, failure, find_run, find_whole_run, json_option, opened, path_of

if TYPE_CHECKING:
    from agent.agents import Agent
    from tracing.recording import Recording


@click.command()
@db_option
@click.argument("run", metavar="[RUN[:N]]", default="last")
@click.option(
    "--at",
    type=click.IntRange(1),
    metavar="N",
    help="The first step that is live. [default: the one after the last --set-result]",
)
@agent_option
@click.option("--model", metavar="SPEC", help="The model that goes on. [default: the agent's]")
@click.option("--system", metavar="TEXT|@FILE", help="Replaces the recorded system prompt.")
@click.option(
    "--set-result",
    "results",
    multiple=True,
    metavar="CALL=TEXT|@FILE",
    help="Replaces what a call gave, e.g. 2.1=@page.md. May be repeated.",
)
@click.option("--max-steps", type=click.IntRange(1), help="Model calls at the most, those of the record included.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="A tag for the new run; may be repeated.")
@click.option("--quiet", is_flag=True, help="Print the answer and nothing else.")
@json_option
@click.pass_context
def fork(
    context: click.Context, run: str, at: int | None, agent_name: str | None, model: str | None, system: str | None,
    results: tuple[str, ...], max_steps: int | None, tags: tuple[str, ...], quiet: bool, as_json: bool,
    db: str | None,
) -> None:  # fmt: skip
    """Run again from step N on, live: the steps before it are taken from the record, and none of their tools is run.

    Who goes on is your agent, with its model, tools, settings and limits; what was said stays, the system prompt too.
    """
    from agent.cli import recorder_for
    from agent.loading import LoadError, text_or_file
    from agent.options import Options
    from agent.turn import Turn
    from tracing.forking import CannotFork, check_fork
    from tracing.forking import fork as forked

    try:
        texts = {_call(one): text_or_file(one.partition("=")[2]) for one in results}
        prompt = None if system is None else text_or_file(system)
    except LoadError as error:
        raise failure(str(error), EXIT_USAGE) from error
    path = path_of(context, db)
    with opened(context, db) as store:
        reference, run_id = find_run(store, run)
        recording = store.recording(run_id)
    at = reference.step if at is None else at
    if at is None:
        if not texts:
            raise failure("say where to fork: --at N, the first step that is live", EXIT_USAGE)
        at = max(step for step, _ in texts) + 1
    with redirect_stdout(sys.stderr):
        agent, source = _forker(agent_name, recording)
    if (asked := asked_model(model)) is not None:
        agent = changed(agent, model=asked)
    if max_steps is not None:
        agent = changed(agent, limits=changed(agent.limits, max_steps=max_steps))
    try:
        check_fork(recording, agent, at, texts)
    except CannotFork as error:
        raise failure(str(error)) from error
    # As the parent was recorded, or the steps that they share would differ.
    no_redact = "limits" in recording.attrs and "redaction" not in recording.attrs
    options = Options(db=path, json=as_json, quiet=quiet, source=source, no_redact=no_redact)
    with recorder_for(options) as recorder:
        turn = Turn(recorder, agent, options, {})
        turn.introduce(_notes(recording, agent, prompt))
        turn.say(f"fork of {run_id[:8]}: {at - 1} step{'s' if at != 2 else ''} from the record, live from step {at} on")
        work = forked(
            recording, agent, at, recorder, system=prompt, results=texts, on_step=turn.on_step, tell=turn.tell,
            tags=tags, source=source,
        )  # fmt: skip
        sys.exit(turn.perform(work))


@click.command()
@db_option
@click.argument("run", metavar="[RUN]", default="last")
@click.option("-o", "output", metavar="FILE", help="Where to write it. [default: stdout]")
@click.option("--force", is_flag=True, help="Overwrite the file.")
@click.pass_context
def script(context: click.Context, run: str, output: str | None, force: bool, db: str | None) -> None:
    """Write the model's answers as a script, for `--model script:FILE` and ScriptedModel.load."""
    from tracing.scripts import script_text

    with opened(context, db) as store:
        run_id = find_whole_run(store, run)
        text = script_text(store.recording(run_id))
        short = store.short(run_id)
    if output in (None, "-"):
        click.echo(text, nl=False)
        return
    write_file(Path(str(output)), text, force=force)
    lines = text.count("\n")
    click.echo(f"viewer: {lines} response{'s' if lines != 1 else ''} of run {short} in {output}", err=True)


def _forker(name: str | None, recording: "Recording") -> "tuple[Agent, str]":
    """The agent that goes on after a fork: the one that is named, the project's if it is that of the run, or the one
    that the record names."""
    from viewer.project import BadProject, choose_agent, load

    try:
        chosen = choose_agent(name)
        if chosen is not None and chosen.for_run(recording.agent) is None:
            chosen = None
        if chosen is None and (source := recording.source):
            chosen = load(source)
    except BadProject as error:
        raise failure(str(error), EXIT_USAGE) from error
    if chosen is None:
        raise failure("nobody is there to go on: give --agent MODULE:ATTR", EXIT_USAGE)
    return chosen.agent, chosen.name


def _notes(recording: "Recording", agent: "Agent", prompt: str | None) -> list[str]:
    if prompt is None and agent.system != recording.system and agent.system is not None:
        return ["the recorded system prompt is kept, though the agent has another one; --system @FILE replaces it"]
    return []


def _call(text: str) -> tuple[int, int]:
    step, dot, call = text.partition("=")[0].partition(".")
    if not (dot and "=" in text and step.isdecimal() and call.isdecimal()) or len(step + call) > 12:
        raise failure(f"--set-result takes CALL=TEXT or CALL=@FILE, e.g. 2.1=@page.md, not {text!r}", EXIT_USAGE)
    return int(step), int(call)
