"""`viewer test`: a recorded run becomes a test and its recording."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from viewer.commands.running import EXIT_DIVERGED, EXIT_NOT_REPLAYABLE, EXIT_USAGE, write_file
from viewer.options import agent_option, db_option, failure, find_whole_run, opened

if TYPE_CHECKING:
    from tracing.recording import Recording
    from viewer.project import Chosen


@click.command("test")
@db_option
@click.argument("run", metavar="[RUN]", default="last")
@click.option("-o", "output", metavar="DIR", default="tests", show_default=True, help="The folder to write to.")
@agent_option
@click.option(
    "--form",
    type=click.Choice(["exact", "behaviour"]),
    default="exact",
    show_default=True,
    help="exact: the agent must replay the run exactly; behaviour: its tools must take the same calls, and with model='live' its own model must make them and say the same.",
)
@click.option("--name", metavar="NAME", help="The test's name. [default: from the question]")
@click.option("--force", is_flag=True, help="Overwrite the files.")
@click.pass_context
def test(
    context: click.Context, run: str, output: str, agent_name: str | None, form: str, name: str | None, force: bool,
    db: str | None,
) -> None:  # fmt: skip
    """Make a run a pytest test, with its recording beside it; it needs no key and no network."""
    from tracing.portable import portable
    from viewer.testing.authoring import behaviour_test, exact_test, name_of

    with opened(context, db) as store:
        run_id = find_whole_run(store, run)
        recording = store.recording(run_id)
        chosen = _agent(recording, agent_name)
        if form == "behaviour" and chosen is None:
            raise failure("a behaviour needs an agent: give --agent MODULE:ATTR", EXIT_USAGE)
        if form == "behaviour" and recording.stop == "cancelled":
            raise failure("a cancelled run has no behaviour to test: use the form exact", EXIT_USAGE)
        text = portable(store, run_id)
    name = _name(name) if name is not None else name_of(recording)
    folder = Path(output)
    test_file, file = folder / f"test_{name}.py", folder / f"{name}.jsonl"
    agent = None if chosen is None else chosen.name
    code = (
        behaviour_test(recording, name, file, str(agent))
        if form == "behaviour"
        else exact_test(recording, name, file, agent)
    )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise failure(f"cannot make the folder {folder} ({error.strerror}): give another one with -o") from error
    for path in (test_file, file):
        if path.exists() and not force:
            raise failure(f"{path} is there already: give another --name, or --force")
    write_file(file, text, force=force)
    write_file(test_file, code, force=force)
    click.echo(test_file)
    click.echo(file)
    click.echo(f"next: pytest {output}", err=True)


def _agent(recording: "Recording", name: str | None) -> "Chosen | None":
    """The agent that the test is about, which must replay the run exactly. Raises Failure where a chosen one does not;
    one that only the record names is left out then, and that is said."""
    from tracing.replaying.replay import replay
    from viewer.project import BadProject, choose_agent, load, redaction
    from viewer.replays import text_of

    try:
        chosen, policy = choose_agent(name), redaction()
        if chosen is not None and chosen.for_run(recording.agent) is None:
            chosen = None
    except BadProject as error:
        raise failure(str(error), EXIT_USAGE) from error
    report = replay(recording, None if chosen is None else chosen.agent, redact=policy)
    if not report.is_exact:
        click.echo(text_of(report, recording.run_id[:8]), err=True)
        click.echo("viewer: no test is written: it would fail from the start", err=True)
        sys.exit(EXIT_DIVERGED if report.outcome == "diverged" else EXIT_NOT_REPLAYABLE)
    if chosen is not None:
        return chosen
    source = recording.source
    try:
        named = load(source) if source else None
    except BadProject:
        named = None
    if named is not None and replay(recording, named.agent, redact=policy).is_exact:
        return named
    click.echo(
        "viewer: no agent is given, so the test takes prompt, schemas and settings from the record; "
        "give --agent MODULE:ATTR to test yours",
        err=True,
    )
    return None


def _name(name: str) -> str:
    if not name.isidentifier():
        raise failure(f"--name must be letters, digits and _, not {name!r}", EXIT_USAGE)
    return name.removeprefix("test_")
