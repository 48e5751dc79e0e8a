"""Prices of recorded calls: which are not known, and filling them in later.

A price that stands is never changed: an old total must not move because a list did. Only a call that was not tried
yet, or (`again`) was tried in vain, gets one, at the price of its own time. The calls are priced outside of any
transaction and written in short ones, so that a run that is being recorded meanwhile hardly waits.
"""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from agent.pricing import Explained, PriceBook, Priced
from agent.rates import Rates
from agent.values import Charge, Usage, charged

BATCH = 500
"""Calls of one transaction."""
NOT_TRIED, NO_USAGE = "not tried", "none:no-usage"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_RATES = ("input", "cached", "cache_write", "output", "reasoning", "call")

_UNPRICED = """
select coalesce(response_model, model) model, case when response_model <> model then model end asked_as, provider, tier,
  count(*) calls, sum(inp) filter (where inp < 1000000000000) input_tokens, sum(out) filter (where out < 1000000000000) output_tokens,
  strftime('%Y-%m-%dT%H:%M:%SZ', min(start_ns)/1000000000, 'unixepoch') since, coalesce(price, 'not tried') reason
from span where kind=1 and end_ns is not null and cost is null
group by 1, 2, 3, 4, 9 order by calls desc, model, provider, reason
"""
_OPEN = {False: "price is null", True: "cost is null and (price is null or price like 'none:%')"}
_CALLS = (
    "select run, n, model, response_model, provider, tier, start_ns, inp, out, cached, cache_write, reasoning, attrs, response, price "
    "from span where kind=1 and end_ns is not null and {} and (run, n) > (?, ?) order by run, n limit ?"
)
_SET = "update span set cost=?, price=? where run=? and n=? and cost is null and price is ?"


@dataclass(slots=True)
class Applied:
    """What came of pricing the calls of a store."""

    priced: int = 0
    cost: int = 0
    """Nano-dollars of the calls that were priced."""
    not_priced: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """How many calls have no price, by reason, model and provider."""


def unpriced(connection: sqlite3.Connection) -> list[dict[str, Any]]:
    """The models whose calls have no price, those with most calls first. The connection gives rows as dicts."""
    return list(connection.execute(_UNPRICED))


def apply(connection: sqlite3.Connection, book: PriceBook, *, again: bool) -> Iterator[Applied]:
    """Prices what has no price; gives the sums so far after each transaction. Raises sqlite3.OperationalError where
    somebody else writes for longer than the connection is patient. It gives rows as tuples."""
    sums = Applied()
    query = _CALLS.format(_OPEN[again])
    at = (-1, -1)
    while rows := connection.execute(query, (*at, BATCH)).fetchall():
        at = rows[-1][:2]
        found = [(row, _priced(book, row)) for row in rows]
        connection.execute("begin immediate")
        try:
            kept = [connection.execute(_SET, (new.cost, new.price, *row[:2], row[-1])).rowcount for row, new in found]
            connection.execute("commit")
        except BaseException:
            connection.execute("rollback")
            raise
        for (row, new), count in zip(found, kept, strict=True):
            if new.cost is None:
                sums.not_priced[(new.price, row[3] or row[2] or "", row[4] or "")] += count
            else:
                sums.priced += count
                sums.cost += count * new.cost
        yield sums
    yield sums


def in_vain(connection: sqlite3.Connection) -> int:
    """How many calls only `again` would price. The connection gives rows as tuples."""
    query = "select count(*) from span where kind=1 and end_ns is not null and cost is null and price like 'none:%'"
    return int(connection.execute(query).fetchone()[0])


def _priced(book: PriceBook, row: tuple[Any, ...]) -> Priced:
    (
        _,
        _,
        model,
        response_model,
        provider,
        tier,
        start_ns,
        inp,
        out,
        cached,
        cache_write,
        reasoning,
        attrs,
        response,
        _,
    ) = row
    charges = tuple(
        Charge(**{**one, "usage": None if one["usage"] is None else Usage(**one["usage"])})
        for one in json.loads(attrs or "{}").get("charges", ())
    )
    spent = Usage(input=inp, output=out, cached=cached, cache_write=cache_write, reasoning=reasoning)
    own = _less(spent, charged(charges))
    return book.price_call(
        model=model,
        response_model=response_model,
        provider=provider,
        when=_EPOCH + timedelta(microseconds=start_ns // 1000),
        usage=None if response is None and charges else own,
        tier=tier,
        charges=charges,
    )


def _less(spent: Usage, more: Usage) -> Usage:
    """What an answer used by itself, of what its call used in all."""
    fields = {
        name: None if (whole := getattr(spent, name)) is None else whole - (getattr(more, name) or 0)
        for name in ("input", "output", "cached", "cache_write", "reasoning")
    }
    return Usage(**fields)


def applied_as_json(applied: Applied) -> dict[str, Any]:
    rows = [
        {"reason": reason, "model": model or None, "provider": provider or None, "calls": calls}
        for (reason, model, provider), calls in applied.not_priced.most_common()
    ]
    return {"schema": 1, "priced": applied.priced, "cost_usd": applied.cost / 1e9, "not_priced": rows}


def explained_as_json(found: Explained) -> dict[str, Any]:
    return {
        "schema": 1,
        "model": found.name,
        "provider": found.provider,
        "on": found.when.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "price": found.price,
        "known": not found.price.startswith("none:"),
        "why": found.why,
        "usd_per_million_tokens": [{"calls": one.calls or "all others", **_numbers(one.rates)} for one in found.rates],
        "valid": found.valid,
        "remarks": found.remarks,
        "tried": list(found.tried),
    }


def _numbers(rates: Rates) -> Mapping[str, float | None]:
    """The rates by bucket; `call` is US dollars for each call."""
    return {key: None if (rate := getattr(rates, key)) is None else float(rate) for key in _RATES}
