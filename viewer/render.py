"""The one place that knows rich, and the terminal: colours, widths, bars.

Everything passes the sanitiser on its way out. On a terminal lines are cut to its width where a screen shortens;
in a pipe nothing is cut and nothing is coloured (`NO_COLOR` and `FORCE_COLOR` as usual).
"""

import os
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from agent.reporting import width_of
from agent.terminal import visible
from viewer.amounts import NANO, dollars

_PADDED = 40
BAR = 24
"""Cells of a time bar."""
NARROWEST = 24
"""Cells that a text gets at least."""

STYLES = {
    "answered": "green",
    "running": "cyan",
    "stopped": "yellow",
    "failed": "red",
    "cancelled": "magenta",
    "interrupted": "red",
    "error": "red",
    "cut": "yellow",
    "dim": "dim",
    "head": "bold",
    "bar": "cyan",
    "next": "cyan",
    "": "",
}

Part = tuple[str, str]
"""A text and the name of its style."""


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """rich would exit with 1; a reader that goes away is no error, and the command line knows."""
        raise BrokenPipeError


class Screen:
    """Prints lines to stdout."""

    def __init__(self) -> None:
        colours = _wants_colours()
        # Without a colour system rich writes no escape at all; with `no_color` it would still write bold and dim.
        self._console = _Console(
            file=sys.stdout,
            force_terminal=colours,
            color_system="standard" if colours else None,
            highlight=False,
            markup=False,
            emoji=False,
            soft_wrap=True,
        )
        self.width: int | None = width_of(sys.stdout, 80) if sys.stdout.isatty() else None
        """Cells of a line; None where nothing is cut."""

    def line(self, *parts: Part, shorten: bool = False) -> None:
        """One line; with `shorten`, cut to the terminal's width."""
        text = Text(no_wrap=True)
        for words, style in parts:
            text.append(visible(words).replace("\n", " "), style=STYLES[style])
        if shorten and self.width is not None:
            text.truncate(self.width, overflow="ellipsis")
        self._console.print(text, soft_wrap=True)

    def text(self, words: str, style: str = "", indent: str = "") -> None:
        """Lines of text, wrapped by the terminal alone; in one piece, because a text may have millions of lines."""
        lines = indent + visible(words).replace("\n", "\n" + indent)
        if style and self._console.color_system is not None:
            self._console.print(Text(lines, style=STYLES[style]), soft_wrap=True)
        else:
            self._console.file.write(lines + "\n")

    def prose(self, words: str, indent: str = "") -> None:
        """Lines of text, on a terminal wrapped between words, and a line's rows as far in as the line."""
        if self.width is None:
            self.text(words, indent=indent)
            return
        for line in visible(words).replace("\t", "    ").split("\n"):
            inner = line.lstrip(" ")
            further = min(len(line) - len(inner), max(self.width - len(indent) - NARROWEST, 0))
            before = indent + " " * further if inner else ""
            for row in wrapped([(inner, "")], max(self.width - len(before), NARROWEST)):
                self.line((f"{before}{''.join(words for words, _ in row)}".rstrip(), ""))

    def table(
        self, heads: Sequence[str], rows: Sequence[Sequence[Part]], right: frozenset[int] = frozenset()
    ) -> list[str]:
        """Columns as wide as what they hold; the last one is shortened on a terminal. The heads of those that do not fit
        before its edge."""
        cells = [[_flat(words) for words, _ in row] for row in rows]
        widths = [max(map(cell_len, column)) for column in zip(heads, *cells, strict=True)]
        if self.width is None:
            widths = [min(width, _PADDED) for width in widths]  # in a pipe nothing is cut, and little is padded
        for row, styles in [(list(heads), ["dim"] * len(heads))] + [
            (cells[number], [style for _, style in row]) for number, row in enumerate(rows)
        ]:
            parts = []
            last = max((column for column, words in enumerate(row) if words), default=0)  # no blanks at a line's end
            for column, (words, style) in enumerate(zip(row[: last + 1], styles, strict=False)):
                gap = "" if column == last else "  "
                room = " " * max(widths[column] - cell_len(words), 0)
                padded = room + words if column in right else words if column == last else words + room
                parts.append((padded + gap, style))
            self.line(*parts, shorten=True)
        if self.width is None:
            return []
        ends = [sum(widths[:column]) + 2 * column + width for column, width in enumerate(widths)]
        ends[-1] -= widths[-1] - 1  # shortened, it needs one cell
        return [head for head, end in zip(heads, ends, strict=True) if end > self.width]


def _flat(words: str) -> str:
    """On one line, without tabs, whose width only a terminal knows."""
    return visible(words).replace("\n", " ").replace("\t", " ")


def _wants_colours() -> bool:
    """On a terminal that has colours, unless `NO_COLOR` says no; elsewhere only where `FORCE_COLOR` says so."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM", "") not in ("", "dumb", "unknown")


def fitted(words: str, size: int, *, shorten: bool) -> str:
    """`words` on one line in `size` cells; what is longer is cut with …, or left as it is."""
    words = _flat(words)
    if cell_len(words) > size and shorten:
        words = set_cell_size(words, size - 1).rstrip() + "…"
    return words + " " * (size - cell_len(words))


def wrapped(parts: Sequence[tuple[str, str]], width: int) -> Iterator[list[tuple[str, str]]]:
    """Rows of at most `width` cells, broken after a blank where there is one in the second half of a row. Each part has
    a style beside its text."""
    flat = [(visible(words).replace("\n", " ").replace("\t", "    "), style) for words, style in parts]
    chars = [(char, style) for words, style in flat for char in words]
    at = 0
    while at < len(chars) or at == 0:
        end, cells = at, 0
        while end < len(chars) and cells + cell_len(chars[end][0]) <= width:
            cells += cell_len(chars[end][0])
            end += 1
        if end < len(chars):
            blanks = (place for place in range(end - 1, (at + end) // 2, -1) if chars[place][0] == " ")
            end = next(blanks, end - 1) + 1
        end = max(end, at + 1)
        row = groupby(chars[at:end], lambda pair: pair[1])
        yield [("".join(char for char, _ in group), style) for style, group in row]
        at = end


def bar(start: float, end: float | None, length: float, size: int = BAR) -> str:
    """When something happened within `length`, drawn in `size` cells: halves of a cell, and an arrow while open."""
    halves = size * 2
    first = min(int(start / length * halves), halves - 1)
    last = halves if end is None else max(min(round(end / length * halves), halves), first + 1)
    cells = []
    for cell in range(size):
        left = first <= cell * 2 < last
        right = first <= cell * 2 + 1 < last
        cells.append("█" if left and right else "▌" if left else "▐" if right else "·")
    if end is None:
        cells[-1] = "▶"
    return "".join(cells)


def duration(milliseconds: float | None) -> str:
    """`0.4 ms`, `12 ms`, `1.2 s`, `3 min 20 s`; "open" for None."""
    if milliseconds is None:
        return "open"
    if milliseconds < 10:
        return f"{milliseconds:.1f} ms"
    if milliseconds < 1000:
        return f"{milliseconds:.0f} ms"
    if milliseconds < 60_000:
        return f"{milliseconds / 1000:.1f} s"
    minutes, seconds = divmod(round(milliseconds / 1000), 60)
    return f"{minutes} min {seconds} s"


def number(value: int | None, *, at_least: bool = False) -> str:
    """`1,234`, `?` for unknown, with ≥ for a lower bound."""
    return "?" if value is None else f"{'≥' if at_least else ''}{value:,}"


def money(value: float | None, *, at_least: bool = False) -> str:
    """Dollars; `?` for unknown, and for a lower bound of nothing."""
    return "?" if value is None or (at_least and not value) else dollars(round(value * NANO), at_least=at_least)
