"""What the commands share: their options, and the store, the run and the filter that these ask for."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from math import isnan
from typing import TYPE_CHECKING, Any

import click

from agent.command_line import Failure
from agent.reporting import DEFAULT_DB, store_option
from tracing.errors import TraceError
from tracing.reference import Reference, parse_reference

if TYPE_CHECKING:
    from tracing.filters import Filter
    from tracing.store import Store

STATUSES = ("running", "answered", "stopped", "failed", "cancelled", "interrupted")
STOPS = (
    "answered", "max_steps", "token_limit", "cost_limit", "time_limit", "refused", "content_filter", "output_limit",
    "failed", "cancelled",
)  # fmt: skip

Command = Callable[..., Any]


def failure(text: str, exit_code: int = 1) -> Failure:
    return Failure(text, "viewer", exit_code)


def db_option(command: Command) -> Command:
    return click.option("--db", metavar="PATH", help="The store. [env: PLAYHEAD_DB; default: traces.db]")(command)


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
tz_option = click.option("--tz", metavar="ZONE", help="Time zone, e.g. Europe/Paris. [default: local]")
agent_option = click.option(
    "--agent",
    "agent_name",
    metavar="MODULE:ATTR",
    help="Your agent, importable from the current folder; none for none. [default: agent of [tool.playhead] in "
    "pyproject.toml, for the runs of that agent]",
)

_FILTERS = (
    click.option("--status", multiple=True, type=click.Choice(STATUSES)),
    click.option("--stop", multiple=True, type=click.Choice(STOPS)),
    click.option("--tool", metavar="NAME", help="Runs that called this tool."),
    click.option("--tag", "tags", multiple=True, metavar="TAG", help="May be repeated: all of them."),
    click.option("--meta", "metadata", multiple=True, metavar="K=V"),
    click.option("--session", metavar="ID", help="The turns of this conversation."),
    click.option("--error", is_flag=True, help="Runs in which something went wrong."),
    click.option("--since", metavar="TIME", help="90m, 2h, 7d, today, yesterday, 2026-11-24, 2026-11-24T14:00"),
    click.option("--until", metavar="TIME", help="The same; not included."),
    click.option("--min-cost", type=float, metavar="USD", help="Runs that cost at least this."),
    click.option("--min-steps", type=int, metavar="N", help="Runs of at least so many steps."),
    click.option("-q", "text", metavar="TEXT", help="In the question or the answer."),
)


def filter_options(command: Command) -> Command:
    """The filters of `list`, for every command that takes many runs, but for those by agent and model."""
    for option in reversed(_FILTERS):
        command = option(command)
    return command


@contextmanager
def opened(context: click.Context, db: str | None) -> "Iterator[Store]":
    """The store of a command; what goes wrong with it is one sentence and exit code 1."""
    from tracing.store import Store
    from viewer.times import BadTime

    try:
        with Store(path_of(context, db)) as store:
            yield store
    except TraceError as error:
        raise failure(str(error)) from error
    except BadTime as error:
        raise click.UsageError(str(error)) from error


def path_of(context: click.Context, db: str | None) -> str:
    group = context.find_root().obj
    return db or (group if isinstance(group, str) else None) or os.environ.get("PLAYHEAD_DB") or DEFAULT_DB


def where(context: click.Context, db: str | None) -> str:
    """The option that a next command needs to find the same store."""
    return store_option(path_of(context, db))


def find_run(store: "Store", text: str) -> tuple[Reference, str]:
    reference = parse_reference(text)
    return reference, store.find(reference.run)


def find_whole_run(store: "Store", text: str) -> str:
    """The id of a run, for a command that takes no step of it. Raises Failure for one."""
    reference, run_id = find_run(store, text)
    if reference.step is not None:
        raise failure(f"{text!r} names a step; give the run: {reference.run}", 2)
    return run_id


def filter_of(*, tz: str | None = None, **given: Any) -> "Filter":
    from tracing.filters import Filter
    from viewer.times import moment, zone

    pairs = {}
    for pair in given.get("metadata") or ():
        key, equals, value = pair.partition("=")
        if not equals:
            raise click.UsageError(f"--meta takes KEY=VALUE, not {pair!r}")
        pairs[key] = value
    if isnan(given.get("min_cost") or 0):
        raise click.UsageError("--min-cost takes an amount of dollars, e.g. 0.05, not 'nan'")
    now, where = datetime.now(UTC), zone(tz)
    kept: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    for name in ("since", "until"):
        if name in kept:
            kept[name] = moment(kept[name], now, where)
    return Filter(**{**kept, "metadata": pairs})
