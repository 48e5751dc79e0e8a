"""`viewer cost`: what was spent, by time, model, run and whatever else tells calls apart.

Exit codes: 0, or 3 where `--fail-over` finds that too much was spent.
"""

import re
import shlex
from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta, tzinfo
from typing import TYPE_CHECKING, Any

import click

from agent.command_line import outcome, tell
from agent.terminal import json_text
from viewer.options import db_option, failure, json_option, opened, tz_option, where

if TYPE_CHECKING:
    from decimal import Decimal

    from tracing.store import Store
    from viewer.costing.calendars import Key
    from viewer.costing.costs import Report, Row

EXIT_USAGE, EXIT_OVER = 2, 3
DAYS = 30
_SECOND = 10**9
_MOST_BARS = 400
"""A chart of more than this leaves out what lies before and after all calls."""
_HOURS = {"hour": 1, "day": 24, "week": 168, "month": 744}
_EXACT = re.compile(r'("cost_usd": )"(-?\d+\.\d+)"')


@click.command()
@db_option
@click.option(
    "--by",
    default="day",
    show_default=True,
    metavar="GROUP,...",
    help="hour, day, week, month, model, provider, agent, session, tag, run, kind; several nest in their order.",
)
@click.option("--since", metavar="TIME", help="90m, 2h, 7d, today, yesterday, 2026-11-24. [default: 30 days]")
@click.option("--until", metavar="TIME", help="The same; not included.")
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    type=click.Choice(["live", "fork", "replay", "import"]),
    help="May be repeated. [default: live and fork, what was spent here]",
)
@click.option("--agent", metavar="NAME", help="Runs of this agent.")
@click.option("--model", metavar="NAME", help="Calls of this model, asked for or answering.")
@click.option("--session", metavar="ID", help="The turns of this conversation.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="May be repeated: all of them.")
@click.option("-n", "count", type=click.IntRange(1), help="Rows to show. [default: all]")
@click.option("--chart", is_flag=True, help="Draw bars.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@click.option("--fail-over", "limit", metavar="USD", help="Exit with 3 if more than this was spent.")
@click.option("--strict", is_flag=True, help="With --fail-over: also if calls without a price may hide it.")
@tz_option
@json_option
@click.pass_context
def cost(
    context: click.Context, by: str, since: str | None, until: str | None, kinds: tuple[str, ...], agent: str | None,
    model: str | None, session: str | None, tags: tuple[str, ...], count: int | None, chart: bool, as_csv: bool,
    limit: str | None, strict: bool, tz: str | None, as_json: bool, db: str | None,
) -> None:  # fmt: skip
    """Show what the model calls cost: known prices added up exactly, each call at the price it was recorded with.

    ≥ marks a sum of which a part is unknown. What was imported was spent elsewhere, and what was replayed cost nothing:
    both stand beside the total.
    """
    groups = _groups(by)
    most = None if limit is None else _amount(limit)
    if strict and most is None:
        raise failure("--strict is about a limit: add --fail-over USD", EXIT_USAGE)
    if as_csv and as_json:
        raise failure("--csv and --json are two forms of the same: give one of them", EXIT_USAGE)
    with opened(context, db) as store:
        from tracing.spending import KINDS, Wanted, extent, spending, unended
        from viewer.costing.calendars import UNITS, edges, stretches
        from viewer.costing.costs import OF_RUNS, SPENT_HERE, report_of, verdict

        zone = _zone(tz)
        begin, end = _range(since, until, zone)
        units = [unit for unit in UNITS if unit in groups]
        wanted = Wanted(model=model, agent=agent, session=session, tags=tags)
        with store.tuples() as connection:
            found = extent(connection)
            first, last = found or (0, -1)
            now = int(datetime.now(UTC).timestamp()) * _SECOND
            to = max(now, last, begin) + 1 if end is None else end
            cut = stretches(max(begin, first), min(to, last + 1), zone, units)
            spent = spending(connection, edges(cut), wanted, by_run=bool(OF_RUNS & set(groups)), tags="tag" in groups)
            chosen = kinds or (KINDS if "kind" in groups else SPENT_HERE)
            never_ended = unended(connection, begin, to)
            report = report_of(groups, [one.keys for one in cut], spent, chosen)
        judged = None if most is None else verdict(report.total, most, strict=strict)
        outcome(EXIT_OVER if judged and (judged.fails or (strict and never_ended)) else 0)
        rows = report.rows[:count]
        names = {"agent": agent, "model": model, "session": session}
        filters = [(name, value) for name, value in names.items() if value is not None] + [("tag", tag) for tag in tags]
        day = str(_datetime(begin).astimezone(zone).date())
        following = _next(store, report, since or day, until, tz, filters) + where(context, db)
        if as_csv:
            from viewer.costing.costs import csv_text

            click.echo(csv_text(report, rows), nl=False)
        elif as_json:
            told = _as_object(report, rows, (begin, to), zone, following)
            click.echo(_EXACT.sub(r"\1\2", json_text(told)))
        else:
            drawn = begin if since is not None else max(begin, first)
            bars = _bars(zone, units, groups, (drawn, to), (first, last)) if chart and rows else None
            title = f"cost by {', '.join(groups)}: {_period(begin, to, zone, is_open=end is None)}, {zone}"
            named = (*filters, *(("kind", kind) for kind in kinds))
            title += "".join(f", {name} {value}" if value else f', {name} ""' for name, value in named)
            _print(store, report, rows, bars, title, following)
            if found is not None and not cut:
                dates = [str(_datetime(edge).astimezone(zone).date()) for edge in found]
                tell(f"viewer: the calls of this store are from {dates[0]} to {dates[1]}: add --since {dates[0]}")
    if never_ended:
        tell(f"viewer: {never_ended} call{'s' if never_ended != 1 else ''} never ended, or not yet: in no sum")
    if judged and judged.words:
        tell(f"viewer: {judged.words}")


def _groups(by: str) -> list[str]:
    from viewer.costing.costs import GROUPS

    groups = list(dict.fromkeys(one.strip() for one in by.split(",")))
    for group in groups:
        if group not in GROUPS:
            raise failure(f"--by takes {', '.join(GROUPS)}, one or several with commas, not {group!r}", EXIT_USAGE)
    return groups


def _amount(text: str) -> "Decimal":
    from decimal import Decimal, InvalidOperation

    try:
        amount = Decimal(text.removeprefix("$"))
    except InvalidOperation:
        amount = Decimal("nan")
    if not amount.is_finite() or amount < 0 or abs(amount.adjusted()) > 20:
        raise failure(f"--fail-over takes an amount of dollars, e.g. 25 or 0.50, not {text!r}", EXIT_USAGE)
    return amount


def _zone(name: str | None) -> tzinfo:
    from viewer.costing.calendars import local_zone
    from viewer.times import BadTime, zone

    if name is None:
        return local_zone()
    try:
        return zone(name)
    except BadTime as error:
        from difflib import get_close_matches
        from zoneinfo import available_timezones

        close = get_close_matches(name, sorted(available_timezones()), 3, 0.7)
        text = f"there is no time zone {name!r}: did you mean {' or '.join(close)}?"
        raise failure(text if close else str(error), EXIT_USAGE) from error


def _range(since: str | None, until: str | None, zone: tzinfo) -> tuple[int, int | None]:
    """Nanoseconds, the end not included and None for none; by default 30 whole days, the last one that of the end."""
    from viewer.times import BadTime, moment

    now = datetime.now(UTC)
    end = None if until is None else _nanoseconds(moment(until, now, zone))
    try:
        if since is None:
            last = (now if end is None else _datetime(end - 1)).astimezone(zone).date()
            begin = datetime.combine(last - timedelta(days=DAYS - 1), time.min, zone).astimezone(UTC).isoformat()
        else:
            begin = moment(since, now, zone)
        start = _nanoseconds(begin)
        for edge in (start, end or start):
            _datetime(edge).astimezone(zone)  # as it will be shown
    except OverflowError as error:
        raise BadTime(
            f"the range is not within the years 1 to 9999 of {zone}: give other --since and --until"
        ) from error
    if end is not None and start >= end:
        raise BadTime(f"nothing is between --since {since} and --until {until}: the second must be the later one")
    return start, end


def _nanoseconds(text: str) -> int:
    return (datetime.fromisoformat(text) - _datetime(0)) // timedelta(microseconds=1) * 1000


def _datetime(nanoseconds: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=nanoseconds // 1000)


def _period(begin: int, end: int, zone: tzinfo, *, is_open: bool) -> str:
    """Whole days as dates, the last one included; else the moments. What is open ends with the day of the last call."""
    from viewer.times import clock

    first, last = (_datetime(edge).astimezone(zone) for edge in (begin, end))
    if first.time() == time.min and (is_open or last.time() == time.min):
        return f"{first.date()} to {_datetime(end - 1).astimezone(zone).date()}"
    return f"{clock(first)} to {clock(last)}"


def _next(
    store: "Store", report: "Report", since: str, until: str | None, tz: str | None, filters: list[tuple[str, str]]
) -> str:
    """The dearest run, or the command that lists the dearest ones."""
    if "run" in report.by and report.rows:
        run = report.rows[0].keys[report.by.index("run")].label
        return f"viewer show {store.short(str(run))}"
    options = [*filters, ("since", since), *((name, value) for name, value in (("until", until), ("tz", tz)) if value)]
    return f"viewer list --sort cost{''.join(f' --{name} {shlex.quote(value)}' for name, value in options)}"


def _as_object(
    report: "Report", rows: "Sequence[Row]", period: tuple[int, int], zone: tzinfo, following: str
) -> dict[str, Any]:
    from viewer.costing.costs import as_object, row_as_object
    from viewer.objects import list_of
    from viewer.times import iso

    return {
        **list_of([row_as_object(report.by, row) for row in rows], len(report.rows)),
        "sum": as_object(report.total),
        "apart": {kind: as_object(sums) for kind, sums in report.apart.items()},
        "by": list(report.by),
        "since": iso(_datetime(period[0])),
        "until": iso(_datetime(period[1])),
        "tz": str(zone),
        "next": [following],
    }


def _bars(
    zone: tzinfo, units: list[str], groups: list[str], period: tuple[int, int], called: tuple[int, int]
) -> "list[Key]":
    """The times that a chart has a bar for, whether there are calls or not."""
    from viewer.costing.calendars import stretches

    if groups[0] not in units:
        return []
    begin, end = period
    if end - begin > _MOST_BARS * _HOURS[groups[0]] * 3600 * _SECOND:
        begin, end = max(begin, called[0]), min(end, called[1] + 1)
    return list(dict.fromkeys(one.keys[0] for one in stretches(begin, end, zone, groups[:1])))


def _print(
    store: "Store", report: "Report", rows: "Sequence[Row]", bars: "list[Key] | None", title: str, following: str
) -> None:
    from viewer.costing.screen import notes_of, show_chart, show_costs
    from viewer.render import Screen

    screen = Screen()

    def name(group: str, label: str) -> str:
        return store.short(label) if group == "run" else label

    if not rows:
        screen.line((title, "head"))
        screen.line(("no model calls", ""))
    elif bars is None:
        show_costs(screen, report, rows, title, name)
    else:
        show_chart(screen, report, rows, bars, title, name)
    for note in notes_of(report, rows):
        screen.line((note, "dim"))
    if rows:
        screen.line((f"next: {following}", "next"))
