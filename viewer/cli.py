"""The `viewer` command: thin commands that read, call a view, and print.

stdout is data, stderr is words. Exit codes: 0 fine, 1 it failed (no such run, not a trace store), 2 usage.
"""

from typing import TYPE_CHECKING, Any

import click

from agent.command_line import Commands, run
from agent.terminal import json_text, visible
from tracing.reference import parse_reference
from viewer.commands.bundles import check, export, import_
from viewer.commands.cost import cost
from viewer.commands.diff import diff
from viewer.commands.forking import fork, script
from viewer.commands.prices import prices
from viewer.commands.replaying import replay
from viewer.commands.testing import test
from viewer.objects import list_of, listed, plain, shown
from viewer.options import (
    db_option,
    failure,
    filter_of,
    filter_options,
    find_run,
    json_option,
    opened,
    tz_option,
    where,
)

if TYPE_CHECKING:
    from tracing.store import Store


@click.group(cls=Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="playhead", prog_name="viewer")
@db_option
@click.pass_context
def cli(context: click.Context, db: str | None) -> None:
    """Look at recorded runs. RUN is a run id or the beginning of one, last, last~2 or last-error."""
    context.obj = db
    if context.invoked_subcommand is None:
        context.invoke(list_runs)


@cli.command("list")
@db_option
@click.option("--agent", metavar="NAME", help="Runs of this agent.")
@click.option("--model", metavar="NAME", help="Runs of this model, asked for or answering.")
@filter_options
@click.option("-n", "count", type=click.IntRange(1), default=50, show_default=True, help="Runs to show.")
@click.option("--all", "all_", is_flag=True, help="Show all.")
@click.option(
    "--sort",
    type=click.Choice(["time", "turns", "cost", "tokens", "steps", "duration"]),
    help="[default: time, the newest first; with --session turns, in order]",
)
@click.option("--content", is_flag=True, help="With --json: the questions and answers too.")
@tz_option
@json_option
@click.pass_context
def list_runs(
    context: click.Context, /, count: int = 50, all_: bool = False, sort: str | None = None, content: bool = False,
    as_json: bool = False, tz: str | None = None, db: str | None = None, **filters: Any,
) -> None:  # fmt: skip
    """Show the newest runs."""
    if sort is None:
        sort = "time" if filters.get("session") is None else "turns"
    with opened(context, db) as store:
        rows, total = store.runs(filter_of(tz=tz, **filters), sort=sort, limit=None if all_ else count)
        if as_json:
            click.echo(json_text(list_of([listed(row, content) for row in rows], total)))
            return
        from viewer.render import Screen
        from viewer.screens import show_list
        from viewer.times import zone

        command = f"viewer show {store.short(rows[0]['run_id'])}{where(context, db)}" if rows else ""
        show_list(Screen(), store, rows, total, zone(tz), command)
        if not rows and store.count() == 0:
            click.echo('viewer: record one with: agent ask "your question"', err=True)


@cli.command()
@db_option
@click.argument("run", metavar="[RUN[:STEP[.CALL]]]", default="last")
@click.option("--messages", is_flag=True, help="The conversation.")
@click.option("--events", is_flag=True, help="The log events.")
@click.option("--full", is_flag=True, help="Shorten nothing, and show what was cut off tool results.")
@tz_option
@json_option
@click.pass_context
def show(
    context: click.Context, run: str, messages: bool, events: bool, full: bool, tz: str | None, as_json: bool,
    db: str | None,
) -> None:  # fmt: skip
    """Show one run: its steps, calls and results in time, then its answer."""
    with opened(context, db) as store:
        from viewer.trees import check_place, next_commands, read_tree

        reference, run_id = find_run(store, run)
        tree = read_tree(store, run_id)
        check_place(tree, reference)
        said = store.conversation(run_id) if messages else None
        history = store.history(run_id) if messages else []
        log = store.events(run_id) if events else None
        following = next_commands(tree, reference, where(context, db))
        if as_json:
            click.echo(json_text(shown(tree, reference, said, log, following)))
            return
        from viewer.render import Screen
        from viewer.screens import show_events, show_messages, show_run
        from viewer.times import zone

        screen = Screen()
        if said is not None:
            show_messages(screen, history)
        if log is not None:
            show_events(screen, log, zone(tz))
        if said is None and log is None:
            show_run(screen, tree, zone(tz), full=full, step=reference.step, call=reference.call)
        screen.line()
        screen.line((f"next: {following[0]}", "next"))


@cli.command()
@db_option
@click.argument("run", metavar="[RUN:STEP]", default="last")
@click.option(
    "--diff", metavar="STEP2", help="What changed from this step to that one: a step, e.g. --diff 2, or RUN:STEP."
)
@json_option
@click.pass_context
def context(context: click.Context, run: str, diff: str | None, as_json: bool, db: str | None) -> None:
    """Show exactly what the model read before a step (by default the last one)."""
    from viewer import contexts

    with opened(context, db) as store:
        reference, run_id = find_run(store, run)
        step = _last_step(store, run_id) if reference.step is None else reference.step
        request = store.request(run_id, step)
        cut = contexts.cuts(request.messages, store.tool_calls(run_id))
        place = f"{store.short(run_id)}:{step}"
        if diff is None:
            count = len(request.messages)
            size = f"{count} message{'s' if count != 1 else ''}"
            title = f"what the model read before step {step} of run {store.short(run_id)}: {size}"
            command = f"viewer show {place}{where(context, db)}"
            if as_json:
                found = {"schema": 1, "run_id": run_id, "step": step, "messages": request.messages, "hashes": request.hashes,
                         "cut": {position + 1: {"shown": one.shown, "whole": one.whole} for position, one in cut.items()},
                         "tools": request.tools, "settings": request.settings, "next": [command]}  # fmt: skip
                click.echo(json_text(found))
                return
            from viewer.render import Screen
            from viewer.screens import show_context

            screen = Screen()
            show_context(screen, request, cut, title)
            screen.line((f"next: {command}", "next"))
            return
        second = parse_reference(f"{run_id}:{diff}" if diff.isdecimal() else diff)
        other_id = store.find(second.run)
        other_step = _last_step(store, other_id) if second.step is None else second.step
        other = store.request(other_id, other_step)
        other_place = f"{store.short(other_id)}:{other_step}"
        change = contexts.diff(request, other, contexts.cuts(other.messages, store.tool_calls(other_id)))
        command = f"viewer context {other_place}{where(context, db)}"
        if as_json:
            found = {"schema": 1, "from": place, "to": other_place, **contexts.diff_as_json(change), "next": [command]}
            click.echo(json_text(found))
            return
        from viewer.render import Screen
        from viewer.screens import show_diff

        screen = Screen()
        show_diff(screen, change, f"from what the model read before {place} to what it read before {other_place}")
        screen.line((f"next: {command}", "next"))


@cli.command()
@db_option
@click.argument("query", metavar='"SELECT ..."')
@json_option
@click.pass_context
def sql(context: click.Context, query: str, as_json: bool, db: str | None) -> None:
    """Ask the store in SQL, reading only. Views: runs, model_calls, tool_calls, log_events, spans, conversation."""
    import sqlite3

    with opened(context, db) as store:
        from sqlite_utils import Database

        try:
            store.connection.row_factory = None
            rows = [
                {key: plain(value) for key, value in row.items()} for row in Database(store.connection).query(query)
            ]
        except sqlite3.Error as error:
            raise failure(f"the query failed: {error}") from error
        except ValueError as error:
            raise failure("the query gives no rows: write one SELECT") from error
        if as_json:
            click.echo(json_text(list_of(rows, len(rows))))
            return
        from viewer.render import Screen

        if rows:
            right = frozenset(at for at, value in enumerate(rows[0].values()) if isinstance(value, int | float))
            table = [[("" if value is None else str(value), "") for value in row.values()] for row in rows]
            if beyond := Screen().table(list(rows[0]), table, right):
                names = visible(", ".join(beyond)).replace("\n", " ")
                click.echo(f"viewer: beyond the edge: {names}; a pipe or --json shows all", err=True)
        click.echo(f"{len(rows)} row{'s' if len(rows) != 1 else ''}", err=True)


for command in (diff, replay, fork, script, test, export, import_, check, cost, prices):
    cli.add_command(command)


def _last_step(store: "Store", run_id: str) -> int:
    return max((row["step"] for row in store.model_calls(run_id)), default=1)


def main() -> None:
    run(cli, "viewer")
