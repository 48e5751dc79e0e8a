"""What model calls cost and used, summed by what was asked, where, and when.

The index `call_time` holds all that is summed, one model after the other, each in the order of time. So the calls of
one model in one stretch of time lie side by side, and the stretches can be of any length: the days of any time zone,
cut at the nanosecond. A sum needs neither rows of the table nor sorting (a million calls by day and model: 0.35 s of CPU,
1.1 s where SQLite groups by an expression).

Not every call is money that was spent here. The *kind* of a call is
- `import` in a run that came from another store, whose spending it is,
- `replay` where the answer was taken from a record: in a replay, and in the first steps of a fork,
- `fork` for the other calls of a fork,
- `live` for all others, also for those of a replay that asked a model.

Runs with calls of other kinds than live are few. They are read call by call, and what the index says of them is taken
off its sums; so all kinds together are all calls, whatever is asked for.

Sums are Python's integers: SQLite refuses a sum beyond 64 bits, and then adds up halves of 32 bits instead.
"""

import json
import sqlite3
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import add, sub
from typing import Any, NamedTuple, Self

from agent.canonical import encodable

KINDS = ("live", "fork", "replay", "import")

FEW = 1000
"""Runs that are wanted by name, up to this many, are read call by call."""


class Sums(NamedTuple):
    """Of some calls: how many there are, of how many each figure is unknown, and the sums of what is known."""

    calls: int = 0
    unreported: int = 0
    """Calls of which input or output is unknown."""
    fresh_unknown: int = 0
    cached_unknown: int = 0
    cache_write_unknown: int = 0
    reasoning_unknown: int = 0
    unpriced: int = 0
    input: int = 0
    """All that was read, cached or not."""
    fresh: int = 0
    """Input that was reported neither as read from a cache nor as written; unknown for a call with less input than that."""
    cached: int = 0
    cache_write: int = 0
    output: int = 0
    reasoning: int = 0
    """Inside `output`."""
    cost: int = 0
    """Nano-dollars."""

    def plus(self, other: Self) -> "Sums":
        return Sums(*map(add, self, other))

    def less(self, other: Self) -> "Sums":
        return Sums(*map(sub, self, other))


class Series(NamedTuple):
    """Calls that were asked of the same."""

    model: str | None
    response_model: str | None
    provider: str | None

    @property
    def name(self) -> str | None:
        """The model that answered, or that was asked where the answer does not say."""
        return self.response_model if self.response_model is not None else self.model


class SpendingRun(NamedTuple):
    run_id: str
    agent: str
    session: str | None
    tags: str
    """A JSON array."""


class Spent(NamedTuple):
    """Some calls that have all of this in common."""

    stretch: int
    """Which stretch of time: the position of its first edge."""
    series: Series
    run: SpendingRun | None
    """None where runs are not told apart."""
    kind: str
    sums: Sums


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which calls; None and empty mean any."""

    model: str | None = None
    """Asked for, or answering."""
    agent: str | None = None
    session: str | None = None
    tags: tuple[str, ...] = ()
    """All of them."""

    @property
    def of_runs(self) -> bool:
        return bool(self.agent is not None or self.session is not None or self.tags)


ANY = Wanted()

_CALL = "s.kind=1 and s.end_ns is not null"
_SERIES = (
    f"from span s indexed by call_time where {_CALL} and s.model is ? and s.response_model is ? and s.provider is ?"
)
_STRETCH = f"{_SERIES} and s.start_ns>=? and s.start_ns<?"
_APART = "(r.kind<>'live' or r.imported_ns is not null)"
_KIND = (
    "case when r.imported_ns is not null or r.kind='import' then 'import' when r.kind='live' then 'live' "
    "when s.price='replayed' or r.kind='replay' and s.price is null then 'replay' "
    "when r.kind='fork' then 'fork' else 'live' end"
)
_TAGS = (
    "(select json_group_array(value) from (select distinct value from annotation n "
    "where n.run_id=r.run_id and n.kind='tag' order by value))"
)
_NO_TAGS = "'[]'"
_OLD = "ifnull(s.cached,0)+ifnull(s.cache_write,0)"
_FRESH = f"case when s.inp>={_OLD} then s.inp-({_OLD}) end"
_FIGURES = ("s.inp", _FRESH, "s.cached", "s.cache_write", "s.out", "s.reasoning", "s.cost")  # in the order of Sums
_UNKNOWN = (
    "s.inp is null or s.out is null",
    f"(s.inp>={_OLD}) is not true",
    *(f"s.{name} is null" for name in ("cached", "cache_write", "reasoning", "cost")),
)
_COUNTED = ", ".join(["count(*)", *(f"count(*) filter (where {clause})" for clause in _UNKNOWN), ""])
# Counting what is null is faster than counting what is not, 0.31 against 0.36 s a million.
_SUMMED = _COUNTED + ", ".join(f"sum({figure})" for figure in _FIGURES)
_QUICK = _SUMMED.replace(f"sum({_FRESH})", "sum(s.inp)-ifnull(sum(s.cached),0)-ifnull(sum(s.cache_write),0)")
"""Without a look at each call's fresh tokens: right where those of all calls are known, and a third faster."""
_HALVED = _COUNTED + ", ".join(f"sum(({figure})>>32), sum(({figure})&4294967295)" for figure in _FIGURES)
_FRESH_UNKNOWN = Sums._fields.index("fresh_unknown") - len(Sums._fields)

_LAST_NS = 2**63 - 1
"""The last moment, of April 2262, that SQLite's integers hold."""

ALL_QUERY = f"select {{}} {_STRETCH}"
"""The sums of one series in one stretch of time; EXPLAIN QUERY PLAN tells that an index is all that it reads."""


def extent(connection: sqlite3.Connection) -> tuple[int, int] | None:
    """When the first and the last call of the store began. The connection gives rows as tuples."""
    found = [
        connection.execute(f"select {end}(s.start_ns) {_SERIES}", series).fetchone()[0]
        for series in _all_series(connection)
        for end in ("min", "max")  # each alone is one look at the index; both at once would read all of it
    ]
    return (min(found), max(found)) if found else None


def spending(
    connection: sqlite3.Connection, edges: Sequence[int], wanted: Wanted = ANY, *, by_run: bool = False,
    tags: bool = False,
) -> Iterator[Spent]:  # fmt: skip
    """All calls that are wanted and began within the edges, in parts that lie each between two edges, in one series and
    of one kind, and with `by_run` in one run. `edges` ascend. The connection gives rows as tuples."""
    if len(edges) < 2:
        return
    by_run = by_run or wanted.of_runs
    few = _few(connection, wanted)
    if few is not None:
        each = _one_by_one(connection, edges, wanted, "r.id in (select value from json_each(?))", (few,), by_run, tags)
        yield from (Spent(*key, sums) for key, sums in each.items())
        return
    apart = _one_by_one(connection, edges, wanted, _APART, (), by_run, tags)
    yield from (Spent(*key, sums) for key, sums in apart.items())
    gone: dict[tuple[int, Series], Sums] = {}
    for (stretch, series, _, _), sums in apart.items():
        gone[stretch, series] = gone.get((stretch, series), Sums()).plus(sums)
    for series in _all_series(connection):
        if wanted.model is not None and wanted.model not in (series.model, series.response_model):
            continue
        if by_run:
            yield from _live_by_run(connection, edges, series, wanted, tags=tags)
            continue
        for stretch, rows in _stretches(connection, edges, series, ALL_QUERY, ()):
            sums = Sums(*rows[0]).less(gone.get((stretch, series), Sums()))
            if sums.calls:
                yield Spent(stretch, series, None, "live", sums)


def _live_by_run(
    connection: sqlite3.Connection, edges: Sequence[int], series: Series, wanted: Wanted, *, tags: bool
) -> Iterator[Spent]:
    clause, values = _of_runs(wanted)
    inner = f"select s.run, {{}} {_STRETCH} group by s.run"
    query = (
        f"select r.run_id, r.agent, r.session, {_TAGS if tags else _NO_TAGS}, g.* from ({inner}) g "  # noqa: S608
        f"join run r on r.id=g.run where not {_APART}{clause}"
    )
    for stretch, rows in _stretches(connection, edges, series, query, values):
        for *run, _, sums in ((*row[:5], row[5:]) for row in rows):
            yield Spent(stretch, series, SpendingRun(*run), "live", Sums(*sums))


def _few(connection: sqlite3.Connection, wanted: Wanted) -> str | None:
    """The row ids of the runs that are wanted, as JSON; None for all runs, and where it is faster to ask the index."""
    if not wanted.of_runs:
        return None
    clause, values = _of_runs(wanted)
    found = connection.execute(f"select r.id from run r where 1{clause} limit {FEW + 1}", values).fetchall()  # noqa: S608
    return json.dumps([run for (run,) in found]) if len(found) <= FEW else None


def _one_by_one(
    connection: sqlite3.Connection, edges: Sequence[int], wanted: Wanted, which: str, values: Sequence[str],
    by_run: bool, tags: bool,
) -> dict[tuple[int, Series, SpendingRun | None, str], Sums]:  # fmt: skip
    """The calls of the runs for which the condition holds, each looked at itself."""
    clause, more = _of_runs(wanted)
    query = (
        "select s.start_ns, s.model, s.response_model, s.provider, r.run_id, r.agent, r.session, "  # noqa: S608
        f"{_TAGS if tags else _NO_TAGS}, {_KIND}, {', '.join(_FIGURES)} "
        f"from run r cross join span s on s.run=r.id where {which} and {_CALL} and s.start_ns>=? and s.start_ns<?{clause}"
    )
    found: dict[tuple[int, Series, SpendingRun | None, str], Sums] = {}
    for (
        start,
        model,
        response,
        provider,
        *run,
        kind,
        read,
        fresh,
        cached,
        cache_write,
        written,
        reasoning,
        cost,
    ) in connection.execute(query, (*values, edges[0], edges[-1], *more)):
        if wanted.model is not None and wanted.model not in (model, response):
            continue
        one = Sums(
            1, read is None or written is None, fresh is None, cached is None, cache_write is None, reasoning is None,
            cost is None, read or 0, fresh or 0, cached or 0, cache_write or 0, written or 0, reasoning or 0, cost or 0,
        )  # fmt: skip
        series = Series(model, response, provider)
        key = (bisect_right(edges, start) - 1, series, SpendingRun(*run) if by_run else None, kind)
        found[key] = found.get(key, Sums()).plus(one)
    return found


def _of_runs(wanted: Wanted) -> tuple[str, list[str]]:
    clauses = {"r.agent=?": wanted.agent, "r.session=?": wanted.session}
    given = [(clause, value) for clause, value in clauses.items() if value is not None]
    tagged = "r.run_id in (select run_id from annotation where kind='tag' and value=?)"
    given += [(tagged, tag) for tag in wanted.tags]
    return "".join(f" and {clause}" for clause, _ in given), [encodable(value) for _, value in given]


def _stretches(
    connection: sqlite3.Connection, edges: Sequence[int], series: Series, query: str, values: Sequence[Any]
) -> Iterator[tuple[int, list[tuple[Any, ...]]]]:
    """The stretches in which the series has calls, and the rows of the query there. Those without are passed over."""
    later = f"select min(s.start_ns) {_STRETCH}"
    at, empty = 0, True
    while at < len(edges) - 1:
        if empty:
            (start,) = connection.execute(later, (*series, edges[at], edges[-1])).fetchone()
            if start is None:
                return
            at = bisect_right(edges, start) - 1
        rows = _summed(connection, query, (*series, edges[at], edges[at + 1], *values))
        # Without a group SQLite gives one row for no call at all.
        empty = not rows or (len(rows) == 1 and rows[0][-len(Sums._fields)] == 0)
        if not empty:
            yield at, rows
        at += 1


def _summed(connection: sqlite3.Connection, query: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    """The rows of the query, which end with the fields of Sums."""
    figures = len(_FIGURES)
    try:
        rows = connection.execute(query.format(_QUICK), values).fetchall()
        if any(row[_FRESH_UNKNOWN] for row in rows):
            rows = connection.execute(query.format(_SUMMED), values).fetchall()
    except sqlite3.OperationalError as error:
        if "overflow" not in str(error):
            raise
        halved = connection.execute(query.format(_HALVED), values).fetchall()
        return [
            (*row[: -2 * figures], *(((row[at] or 0) << 32) + (row[at + 1] or 0) for at in range(-2 * figures, 0, 2)))
            for row in halved
        ]
    return [(*row[:-figures], *(value or 0 for value in row[-figures:])) for row in rows]


def _all_series(connection: sqlite3.Connection) -> list[Series]:
    """What was asked, in the order of the index, each found by one look at it."""
    names = ("model", "response_model", "provider")
    found: list[tuple[str | None, ...]] = [()]
    for size, name in enumerate(names):
        fixed = "".join(f" and s.{one} is ?" for one in names[:size])
        begin = f"from span s indexed by call_time where {_CALL}{fixed}"
        found = [(*prefix, value) for prefix in found for value in _values(connection, begin, f"s.{name}", prefix)]
    return [Series(*one) for one in found]


def _values(
    connection: sqlite3.Connection, begin: str, column: str, prefix: tuple[str | None, ...]
) -> Iterator[str | None]:
    if connection.execute(f"select 1 {begin} and {column} is null limit 1", prefix).fetchone():
        yield None
    query, last = f"select min({column}) {begin} and {column}>=?", ""
    while (value := connection.execute(query, (*prefix, last)).fetchone()[0]) is not None:
        yield value
        query, last = f"select min({column}) {begin} and {column}>?", value


def unended(connection: sqlite3.Connection, begin_ns: int, end_ns: int) -> int:
    """Model calls that have begun in this time and have no end: those of killed runs, and those that are under way."""
    query = (
        "select count(*) from run r join span s on s.run=r.id where r.end_ns is null and s.kind=1 and s.end_ns is null "
        "and s.start_ns>=? and s.start_ns<?"
    )
    held = [max(min(edge, _LAST_NS), ~_LAST_NS) for edge in (begin_ns, end_ns)]
    return int(connection.execute(query, held).fetchone()[0])
