"""`viewer prices`: which price a model gets and why, which models have none, and filling prices in.

`apply` is the one thing in the viewer that writes to the store of its own accord; it adds a price to calls that have
none, and changes nothing else.
"""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agent.terminal import json_text
from viewer.options import db_option, failure, json_option, opened, path_of, tz_option, where

if TYPE_CHECKING:
    from agent.pricing import Explained, PriceBook
    from viewer.costing.prices import Applied

EXIT_USAGE = 2


@click.command()
@db_option
@click.argument("name", metavar="[MODEL | apply]", required=False)
@click.option("--name", "named", metavar="MODEL", help="A model, also one that is called apply.")
@click.option("--on", metavar="TIME", help="The price of a day, e.g. 2026-03-01. [default: now]")
@click.option("--provider", metavar="NAME", help="Who serves the model, e.g. openai, azure, groq.")
@click.option("--prices", "prices_file", metavar="FILE", help="Your own prices. [env: PLAYHEAD_PRICES]")
@click.option("--again", is_flag=True, help="With apply: also the calls that were tried in vain, as with --prices.")
@tz_option
@json_option
@click.pass_context
def prices(
    context: click.Context, name: str | None, named: str | None, on: str | None, provider: str | None,
    prices_file: str | None, again: bool, tz: str | None, as_json: bool, db: str | None,
) -> None:  # fmt: skip
    """Show which price a MODEL gets, and why; without one, the models whose recorded calls have no price.

    With apply, these calls are priced now, at the prices of their time. A price that a call has is never changed.
    """
    from agent.pricing import BadPrices, PriceBook

    if name is not None and named is not None:
        raise failure("give the model once: as MODEL, or with --name", EXIT_USAGE)
    is_apply, model = name == "apply", named if name is None else name
    if again and not is_apply:
        raise failure("--again is for apply: write viewer prices apply --again", EXIT_USAGE)
    if (on or provider) and (is_apply or model is None):
        raise failure("--on and --provider are for a model: write viewer prices MODEL", EXIT_USAGE)
    try:
        book = PriceBook.configured(prices_file)
    except BadPrices as error:
        raise failure(str(error), EXIT_USAGE) from error
    if is_apply:
        # With prices of one's own, what was tried in vain before is what they are for.
        _apply(context, db, book, again=again or prices_file is not None, as_json=as_json)
    elif model is None:
        _unpriced(context, db, tz=tz, as_json=as_json)
    else:
        _explain(book.explain(model, _moment(on, tz), provider), as_json=as_json)


def _moment(on: str | None, tz: str | None) -> datetime:
    from viewer.times import BadTime, moment, zone

    now = datetime.now(UTC)
    try:
        return now if on is None else datetime.fromisoformat(moment(on, now, zone(tz)))
    except BadTime as error:
        raise click.UsageError(str(error)) from error


def _explain(found: "Explained", *, as_json: bool) -> None:
    from agent.pricing import VARIABLE

    is_known = not found.price.startswith("none:")
    following = (
        ["viewer prices"]
        if is_known
        else [f'write a [[price]] for model = "{found.name}" into a file, and set {VARIABLE}']
    )
    if as_json:
        from viewer.costing.prices import explained_as_json

        click.echo(json_text({**explained_as_json(found), "next": following}))
        return
    from viewer.render import Part, Screen
    from viewer.times import clock

    screen = Screen()
    at = f" at {found.provider}" if found.provider else ""
    screen.line((found.name, "head"), (f"{at}, {clock(found.when)} UTC", "dim"))
    screen.line(
        ("  price  ", "dim"), (found.price if is_known else f"unknown ({found.price})", "" if is_known else "cut")
    )
    screen.line(("  why    ", "dim"), (found.why, ""))
    if found.valid is not None:
        screen.line(("  valid  ", "dim"), (found.valid, ""))
    if found.rates:
        screen.line()
        heads = ["USD per million tokens", "input", "cached", "cache write", "output", "reasoning", "per call"]
        rows: list[list[Part]] = []
        for one in found.rates:
            rates = one.rates
            cells = (
                _shown(rates.input, "no price"), _shown(rates.cached, "as input"), _shown(rates.cache_write, "as input"),
                _shown(rates.output, "no price"), _shown(rates.reasoning, "as output"), _shown(rates.call or None, "-"),
            )  # fmt: skip
            rows.append([(one.calls or ("all" if len(found.rates) == 1 else "all others"), "head"), *cells])
        screen.table(heads, rows, frozenset(range(1, len(heads))))
    if found.remarks:
        screen.line()
        screen.text(found.remarks, "dim")
    if found.tried:
        screen.line()
        screen.line(("looked for in vain: ", "dim"), (", ".join(found.tried), "dim"))
    screen.line((f"next: {following[0]}", "next"))


def _shown(rate: Any, without: str) -> "tuple[str, str]":
    return (without, "dim") if rate is None else (f"{rate.normalize():f}", "")


def _unpriced(context: click.Context, db: str | None, *, tz: str | None, as_json: bool) -> None:
    from viewer.costing.prices import NO_USAGE, NOT_TRIED, unpriced
    from viewer.objects import list_of

    with opened(context, db) as store:
        rows = unpriced(store.connection)
        if as_json:
            click.echo(json_text(list_of(rows, len(rows))))
            return
        from viewer.render import Part, Screen, number
        from viewer.times import local, zone

        screen, zone_ = Screen(), zone(tz)
        if not rows:
            screen.line(("every recorded call has a price", ""))
            screen.line((f"next: viewer list --sort cost{where(context, db)}", "next"))
            return
        heads = ["model", "provider", "tier", "calls", "tokens in / out", "since", "why"]
        table: list[list[Part]] = []
        for row in rows:
            asked = f" (asked: {row['asked_as']})" if row["asked_as"] else ""
            tokens = f"{number(row['input_tokens'])} / {number(row['output_tokens'])}"
            table.append(
                [
                    (f"{row['model']}{asked}", "head"), (row["provider"] or "", ""), (row["tier"] or "", ""),
                    (number(row["calls"]), ""), (tokens, ""), (local(row["since"], zone_), "dim"), (row["reason"], "cut"),
                ]
            )  # fmt: skip
        screen.table(heads, table, frozenset({3, 4}))
        reasons = {row["reason"] for row in rows}
        again = "" if NOT_TRIED in reasons else " --again"
        # What has no usage will never have a price.
        command = "viewer list --sort cost" if reasons == {NO_USAGE} else f"viewer prices apply{again}"
        screen.line((f"next: {command}{where(context, db)}", "next"))


def _apply(context: click.Context, db: str | None, book: "PriceBook", *, again: bool, as_json: bool) -> None:
    from tracing.errors import StoreError
    from tracing.file import PATIENT_BUSY_MS, open_reading, open_writing
    from viewer.costing.prices import Applied, applied_as_json, apply, in_vain

    path = Path(path_of(context, db))
    done = Applied()
    try:
        open_reading(path).close()  # what is not there is not made
        with closing(open_writing(path)) as connection:
            connection.execute(f"pragma busy_timeout={PATIENT_BUSY_MS}")
            connection.text_factory = lambda data: data.decode("utf-8", "replace")
            for done in apply(connection, book, again=again):  # noqa: B007 - the last sums count
                pass
            left = in_vain(connection)
    except StoreError as error:
        raise failure(str(error)) from error
    except sqlite3.Error as error:
        raise failure(
            f"stopped after {done.priced} calls were priced ({error}): write viewer prices apply once more"
        ) from error
    is_idle = not done.priced and not done.not_priced
    command = "viewer list --sort cost"
    if is_idle and left:
        command = "viewer prices apply --again"
    elif done.not_priced:
        command = "viewer prices"
    following = [command + where(context, db)]
    if as_json:
        click.echo(json_text({**applied_as_json(done), "next": following}))
        return
    from viewer.render import Screen

    screen = Screen()
    for text in [_idle(left)] if is_idle else _sums(done):
        screen.line((text, ""))
    screen.line((f"next: {following[0]}", "next"))


def _idle(left: int) -> str:
    if not left:
        return "every recorded call has a price"
    return f"no new call: {left:,} {'was' if left == 1 else 'were'} tried in vain, which --again tries anew"


def _sums(done: "Applied") -> list[str]:
    from viewer.render import money

    missing = done.not_priced.total()
    lines = [f"{done.priced:,} call{'s' if done.priced != 1 else ''} priced, {money(done.cost / 1e9)} in all"]
    if missing:
        lines.append(f"{missing:,} without a price:")
    for (reason, model, provider), count in done.not_priced.most_common():
        lines.append(f"  {count:,}  {reason}  {model}{f' at {provider}' if provider else ''}")
    return lines
