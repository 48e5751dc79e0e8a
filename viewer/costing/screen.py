"""The cost report on a terminal: a table or bars, the total, and what is to be known about it.

Lines are made here and printed in one piece, because a report may have thousands. Where a terminal is too narrow, counts
of tokens are left out, never the cost.
"""

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from agent.terminal import one_line
from tracing.spending import Sums
from viewer.costing.calendars import Key
from viewer.costing.costs import Report, Row, figures, tokens, usd
from viewer.render import Screen, bar, fitted

_TOKENS = {
    "fresh": "fresh_tokens",
    "cached": "cached_tokens",
    "written": "cache_write_tokens",
    "output": "output_tokens",
    "reasoning": "reasoning_tokens",
}
_DROPPED = ("reasoning", "written", "cached", "fresh", "output", "calls")
"""What a narrow terminal leaves out, in this order."""
_LONGEST = 40
"""Cells of a name in a column; in a pipe what is longer stands out of it, uncut."""
_SHORTEST = 8
"""Cells that a narrow terminal leaves to a name."""
_PIPE = 100
"""Cells of a chart that is not on a terminal."""

Name = Callable[[str, str], str]
"""How something is called on the screen, by its group and label."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    head: str
    cells: list[str]
    """The last one is the total's."""
    is_key: bool = False


def show_costs(screen: Screen, report: Report, rows: Sequence[Row], title: str, name: Name) -> None:
    """The table of `rows`, which may be fewer than all of the report."""
    screen.line((title, "head"))
    columns, dropped = _fitting(screen.width, _columns(report, rows, name))
    head, *lines, total = _lines(columns, cut=screen.width is not None)
    screen.line((head, "dim"))
    if lines:
        screen.text("\n".join(lines))
    screen.line((total, "head"))
    if dropped:
        screen.line((f"not shown for want of width: {', '.join(dropped)}; a pipe or --json has all", "dim"))


def show_chart(
    screen: Screen, report: Report, rows: Sequence[Row], times: Sequence[Key], title: str, name: Name
) -> None:
    """A bar for each row, and an empty one for each of `times` that has no row."""
    screen.line((title, "head"))
    known = {row.keys[0] for row in rows}
    none = [Row(keys=(key,), sums=Sums()) for key in times if key not in known]
    rows = sorted([*rows, *none], key=lambda row: row.keys[0].order) if times else rows
    labels = ["  ".join(_names(report.by, row.keys, name)) for row in rows]
    costs = [usd(figures(row.sums)["cost_usd"]) if row.sums.calls else "" for row in rows]
    total = usd(figures(report.total)["cost_usd"])
    wide = max(map(_size, [*labels, "total"]))
    money = max(map(len, [*costs, total]))
    width = screen.width or _PIPE
    wide = min(wide, max(width - money - 16, 8)) if screen.width is not None else min(wide, _LONGEST)
    size = max(width - wide - money - 4, 8)
    most = max((row.sums.cost for row in rows), default=0)
    for label, cost, row in zip(labels, costs, rows, strict=True):
        drawn = bar(0, row.sums.cost, most, size) if row.sums.cost > 0 else "·" * size
        shown = fitted(label, wide, shorten=screen.width is not None)
        screen.line((shown, ""), (f"  {drawn}", "bar"), (f"  {cost:>{money}}".rstrip(), ""), shorten=True)
    screen.line((f"{'total':{wide}}  {'':{size}}  {total:>{money}}", "head"), shorten=True)


def notes_of(report: Report, rows: Sequence[Row]) -> list[str]:
    """What is to be known about the numbers."""
    notes = []
    if len(rows) < len(report.rows):
        notes.append(f"{len(rows):,} of {len(report.rows):,} rows; without -n all are shown")
    if report.repeated:
        notes.append("a run with several tags is in the row of each: the total is that of the calls, not of the rows")
    if unpriced := report.total.unpriced:
        notes.append(
            f"without a price: {unpriced:,} of {_calls(report.total.calls)}; ≥ marks what is a lower bound "
            "(see: viewer prices)"
        )
    if unreported := report.total.unreported:
        notes.append(f"without a count of tokens: {unreported:,} of {_calls(report.total.calls)}")
    for kind, words in (("import", "imported"), ("replay", "replayed")):
        if kind in report.apart:
            sums = report.apart[kind]
            notes.append(f"{words}, not in the total: {_calls(sums.calls)}, {usd(figures(sums)['cost_usd'])}")
    return notes


def _columns(report: Report, rows: Sequence[Row], name: Name) -> list[Column]:
    sums = [*(row.sums for row in rows), report.total]
    keys = [_names(report.by, row.keys, name) for row in rows]
    columns = [
        Column(head=group, cells=[*(key[at] for key in keys), "total" if at == 0 else ""], is_key=True)
        for at, group in enumerate(report.by)
    ]
    known = [figures(one) for one in sums]
    columns.append(Column(head="calls", cells=[f"{one.calls:,}" for one in sums]))
    for head, figure in _TOKENS.items():
        if head != "written" or report.total.cache_write:
            columns.append(Column(head=head, cells=[tokens(one[figure]) for one in known]))
    columns.append(Column(head="cost", cells=[usd(one["cost_usd"]) for one in known]))
    if report.total.unpriced:
        columns.append(Column(head="unpriced", cells=[f"{one.unpriced:,}" for one in sums]))
    return columns


def _names(by: Sequence[str], keys: Sequence[Key], name: Name) -> list[str]:
    return [
        f"(no {group})" if key.label is None else one_line(name(group, key.label), 200) or '""'
        for group, key in zip(by, keys, strict=False)
    ]


def _fitting(width: int | None, columns: list[Column]) -> tuple[list[Column], list[str]]:
    """The columns that a terminal has room for, and the heads of those left out."""
    dropped = []
    for head in _DROPPED:
        if width is None or sum(_wide(column) + 2 for column in columns) - 2 <= width:
            break
        if any(column.head == head and not column.is_key for column in columns):
            columns = [column for column in columns if column.head != head or column.is_key]
            dropped.append(head)
    over = 0 if width is None else sum(_wide(column) + 2 for column in columns) - 2 - width
    for key in sorted((column for column in columns if column.is_key), key=_wide, reverse=True):
        if over > 0:
            wide = _wide(key)
            size = max(wide - over, _SHORTEST)
            over -= wide - size
            cut = replace(key, cells=[fitted(cell, size, shorten=True) for cell in key.cells])
            columns = [cut if column is key else column for column in columns]
    return columns, dropped


def _lines(columns: Sequence[Column], *, cut: bool) -> list[str]:
    padded = []
    for column in columns:
        wide = _wide(column)
        cells = [column.head, *column.cells]
        padded.append(
            [fitted(cell, wide, shorten=cut) for cell in cells]
            if column.is_key
            else [" " * (wide - len(cell)) + cell for cell in cells]
        )
    return ["  ".join(line) for line in zip(*padded, strict=True)]


def _wide(column: Column) -> int:
    wide = max(map(_size, [column.head, *column.cells]))
    return min(wide, _LONGEST) if column.is_key else wide


def _size(text: str) -> int:
    """Cells of a line."""
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(one) in "WF" else not unicodedata.combining(one) for one in text)


def _calls(count: int) -> str:
    return f"{count:,} call{'s' if count != 1 else ''}"
