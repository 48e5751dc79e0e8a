"""`viewer diff A B`: two recorded runs beside each other. Exit code 0 where they are the same, 3 where they differ."""

from typing import TYPE_CHECKING

import click

from agent.command_line import outcome
from agent.terminal import json_text
from viewer.options import db_option, failure, find_run, json_option, opened, tz_option, where

if TYPE_CHECKING:
    from tracing.reference import Reference
    from tracing.store import Store
    from viewer.diffing.runs import RunDiff
    from viewer.diffing.steps import Recorded

EXIT_DIFFERENT = 3


@click.command()
@db_option
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option("--full", is_flag=True, help="Shorten nothing.")
@tz_option
@json_option
@click.pass_context
def diff(
    context: click.Context, a: str, b: str, full: bool, tz: str | None, as_json: bool, db: str | None
) -> None:  # fmt: skip
    """Show where run B first differs from run A, then what differs step by step.

    Two runs are the same if what they were asked, said, called and got is; time, tokens and cost are shown, and do not
    count. Exit code 0: the same, 3: different.
    """
    with opened(context, db) as store:
        from viewer.diffing.runs import diff_runs
        from viewer.diffing.steps import Pair

        one, other = (_recorded(store, *find_run(store, text)) for text in (a, b))
        change = diff_runs(one, other)
        outcome(0 if change.same else EXIT_DIFFERENT)
        short = Pair(*(store.short(run.recording.run_id) for run in (one, other)))
        following = [f"{command}{where(context, db)}" for command in next_commands(change, short.a, short.b)]
        if as_json:
            from viewer.diffing.objects import as_json as object_of

            click.echo(json_text(object_of(change, following)))
        else:
            from viewer.diffing.screen import show_run_diff
            from viewer.render import Screen
            from viewer.times import zone

            screen = Screen()
            show_run_diff(screen, change, Pair(one.run, other.run), short, zone(tz), full=full)
            screen.line((f"next: {following[0]}", "next"))


def next_commands(change: "RunDiff", a: str, b: str) -> list[str]:
    """Where to look at the first difference, the best first."""
    first = change.first
    if first is None or first.step is None:
        return [f"viewer show {a}", f"viewer show {b}"]
    step = next((one for one in change.steps if one.number == first.step), None)
    if first.code in ("system", "history", "question", "tools", "settings") and step is not None and step.only is None:
        both = step.figures.a is not None and step.figures.b is not None
        if both:
            return [f"viewer context {a}:{first.step} --diff {b}:{first.step}", f"viewer show {a}", f"viewer show {b}"]
    if step is None or (step.figures.a is None and step.figures.b is None):
        return [f"viewer show {a}", f"viewer show {b}"]
    places = {run: f"{run}:{first.step}" for run, there in ((a, step.figures.a), (b, step.figures.b)) if there}
    if first.code == "observation" and first.call is not None:
        change_of = next((one for one in step.calls if one.kind == "result"), None)
        if change_of is not None and change_of.call.a is not None and change_of.call.b is not None:
            calls = {a: change_of.call.a.index + 1, b: change_of.call.b.index + 1}
            places = {run: f"{place}.{calls[run]}" for run, place in places.items()}
    return [f"viewer show {place}" for place in places.values()]


def _recorded(store: "Store", reference: "Reference", run_id: str) -> "Recorded":
    from viewer.diffing.steps import Recorded

    if reference.step is not None:
        raise failure(f"a diff is of whole runs: give {reference.run} without a step", 2)
    return Recorded(
        recording=store.recording(run_id),
        run=store.run(run_id),
        model_calls=store.model_calls(run_id),
        tool_calls=store.tool_calls(run_id),
    )
