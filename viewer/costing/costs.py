"""A cost report: from sums to rows and a total, and what of it is told to programs.

Money is whole nano-dollars from the record to the screen, so rows add up to the total exactly. What is not known stays
visible: a sum of which a part is unknown is a lower bound and marked with ≥, and one of which nothing is known is `?`,
never 0. A run with several tags stands in the row of each; the total counts it once.
"""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from agent.terminal import visible
from tracing.spending import KINDS, SpendingRun, Spent, Sums
from viewer.amounts import NANO, dollars
from viewer.costing.calendars import UNITS, Key

GROUPS = (*UNITS, "model", "provider", "agent", "session", "tag", "run", "kind")
OF_RUNS = frozenset({"agent", "session", "tag", "run"})
"""The groups for which runs are told apart."""
SPENT_HERE = ("live", "fork")

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""With these a cell begins that a spreadsheet would work out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    keys: tuple[Key, ...]
    sums: Sums


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    by: tuple[str, ...]
    rows: tuple[Row, ...]
    total: Sums
    """Of the calls, each once."""
    apart: Mapping[str, Sums]
    """The calls of the kinds that are not in the total, where there are any."""
    repeated: bool
    """Whether a call stands in more than one row, so that the rows add up to more than the total."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A sum over calls, of which the figure of some is unknown."""

    name: str
    value: int
    unknown: int
    calls: int

    @property
    def is_unknown(self) -> bool:
        return self.calls > 0 and self.unknown == self.calls and self.value == 0

    @property
    def is_bound(self) -> bool:
        return self.unknown > 0 and not self.is_unknown


def figures(sums: Sums) -> dict[str, Figure]:
    """Tokens and cost, by name."""
    given = (
        ("input_tokens", sums.input, sums.unreported),
        ("fresh_tokens", sums.fresh, sums.fresh_unknown),
        ("cached_tokens", sums.cached, sums.cached_unknown),
        ("cache_write_tokens", sums.cache_write, sums.cache_write_unknown),
        ("output_tokens", sums.output, sums.unreported),
        ("reasoning_tokens", sums.reasoning, sums.reasoning_unknown),
        ("cost_usd", sums.cost, sums.unpriced),
    )
    return {name: Figure(name=name, value=value, unknown=unknown, calls=sums.calls) for name, value, unknown in given}


def report_of(
    by: Sequence[str], times: Sequence[Sequence[Key]], spent: Iterable[Spent], kinds: Sequence[str] = SPENT_HERE
) -> Report:
    """`times` has, for each stretch of time, the keys of the units in `by`, in the order of `UNITS`."""
    units = [unit for unit in UNITS if unit in by]
    found: dict[tuple[Key, ...], Sums] = {}
    apart: dict[str, Sums] = {}
    total, repeated = Sums(), False
    for one in spent:
        if one.kind not in kinds:
            apart[one.kind] = apart.get(one.kind, Sums()).plus(one.sums)
            continue
        total = total.plus(one.sums)
        keys = list(_keys(by, dict(zip(units, times[one.stretch], strict=True)), one))
        repeated = repeated or len(keys) > 1
        for key in keys:
            found[key] = found.get(key, Sums()).plus(one.sums)
    return Report(
        by=tuple(by),
        rows=tuple(Row(keys=keys, sums=found[keys]) for keys in _sorted(by, found)),
        total=total,
        apart={kind: apart[kind] for kind in KINDS if kind in apart},
        repeated=repeated,
    )


def _keys(by: Sequence[str], times: Mapping[str, Key], one: Spent) -> Iterable[tuple[Key, ...]]:
    """The rows in which some calls stand: one, or with tags one for each."""
    tags = json.loads(one.run.tags) or [None] if "tag" in by and one.run is not None else [None]
    for tag in tags:
        yield tuple(times[name] if name in times else _named(_name(name, one, tag)) for name in by)


def _name(group: str, one: Spent, tag: str | None) -> str | None:
    if group == "model":
        return one.series.name
    if group == "provider":
        return one.series.provider
    if group == "kind":
        return one.kind
    if group == "tag":
        return tag
    run: SpendingRun | None = one.run
    assert run is not None
    return {"run": run.run_id, "agent": run.agent, "session": run.session}[group]


def _named(name: str | None) -> Key:
    return Key(name or "", name)


def _sorted(by: Sequence[str], found: Mapping[tuple[Key, ...], Sums]) -> list[tuple[Key, ...]]:
    """In the nesting of `by`: times in their order, all else by what it cost, the dearest first."""
    weights: dict[tuple[Key, ...], tuple[int, int]] = {}
    for keys, sums in found.items():
        for size in range(1, len(keys) + 1):
            cost, calls = weights.get(keys[:size], (0, 0))
            weights[keys[:size]] = cost + sums.cost, calls + sums.calls

    def place(keys: tuple[Key, ...]) -> list[Any]:
        order: list[Any] = []
        for at, (name, key) in enumerate(zip(by, keys, strict=True)):
            cost, calls = weights[keys[: at + 1]]
            order.append(key.order if name in UNITS else (-cost, -calls, key.order, key.label is None))
        return order

    return sorted(found, key=place)


# What is shown of a figure


def tokens(figure: Figure) -> str:
    return "?" if figure.is_unknown else f"{'≥' if figure.is_bound else ''}{figure.value:,}"


def usd(figure: Figure) -> str:
    return "?" if figure.is_unknown else dollars(figure.value, at_least=figure.is_bound)


def exact_usd(nano: int) -> str:
    """The amount in dollars, all digits of it, as JSON and CSV have it."""
    whole, part = divmod(abs(nano), NANO)
    return f"{'-' if nano < 0 else ''}{whole}.{f'{part:09}'.rstrip('0') or '0'}"


# What programs get


def as_object(sums: Sums) -> dict[str, Any]:
    """Plain values; `cost_usd` is the text of an exact number. `at_least` names the sums that are lower bounds."""
    known = figures(sums)
    told: dict[str, Any] = {"calls": sums.calls}
    told |= {name: None if figure.is_unknown else figure.value for name, figure in known.items()}
    cost = told.pop("cost_usd")
    return {
        **told,
        "cost_usd": None if cost is None else exact_usd(cost),
        "cost_nano": cost,
        "unpriced_calls": sums.unpriced,
        "unreported_calls": sums.unreported,
        "at_least": [name for name, figure in known.items() if figure.is_bound],
    }


def row_as_object(by: Sequence[str], row: Row) -> dict[str, Any]:
    return {**{name: key.label for name, key in zip(by, row.keys, strict=True)}, **as_object(row.sums)}


def csv_text(report: Report, rows: Sequence[Row]) -> str:
    """RFC 4180, one line for each row; what is unknown is empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow([*report.by, *(name for name in as_object(Sums()))])
    for row in rows:
        told = as_object(row.sums)
        told["at_least"] = " ".join(told["at_least"])
        writer.writerow([*(_cell(key.label) for key in row.keys), *told.values()])
    return out.getvalue()


def _cell(label: str | None) -> str:
    text = visible(label or "")
    return f"'{text}" if text.startswith(_FORMULA) else text


# What a limit says


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    fails: bool
    words: str
    """"" where there is nothing to say."""


def verdict(total: Sums, limit: Decimal, *, strict: bool) -> Verdict:
    """Whether more was spent than `limit` dollars."""
    known = figures(total)["cost_usd"]
    if Decimal(exact_usd(total.cost)) > limit:
        return Verdict(fails=True, words=f"{usd(known)} is over the limit of ${limit:f}")
    if not total.unpriced:
        return Verdict(fails=False, words="")
    left = f"{total.unpriced:,} of {total.calls:,} call{'s' if total.calls != 1 else ''}"
    words = f"within the limit of ${limit:f} as far as is known: {left} without a price (see: viewer prices)"
    return Verdict(fails=strict, words=words)
