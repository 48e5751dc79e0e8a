"""The lines of `viewer diff`: a mark, what it is about, and a text that is shortened where it is long."""

from collections.abc import Iterator, Sequence

from agent.terminal import one_line
from viewer.diffing.steps import Pair
from viewer.diffing.texts import TextLine, text_diff
from viewer.diffing.words import count
from viewer.render import NARROWEST, Part, Screen, wrapped

LINES = 12
"""Of one difference that are shown."""
ALONE = 4
"""Lines of what only one run has that are shown."""
ROWS = 3
"""Of a terminal that one long line takes."""
MARKS = {"-": "failed", "+": "answered", "~": "stopped", "=": "dim", "@": "dim", " ": "dim"}


class DiffLines:
    def __init__(self, screen: Screen, *, full: bool) -> None:
        self.screen, self.full = screen, full
        self.is_shortened = False
        """Whether anything was, so that the screen can say so."""

    def line(self, mark: str, words: str, more: str = "", indent: str = "  ") -> None:
        """One thing that differs, or not; where the words are too long, what follows them is still seen."""
        line = self.short(words, len(indent) + 2 + len(more), 240)
        style = MARKS[mark] if mark in "+-= " else ""
        self.screen.line((f"{indent}{mark} ", MARKS[mark]), (line, style), (more, "dim"))

    def texts(self, name: str, pair: Pair[str | None], indent: str = "  ") -> None:
        if not pair.differs:
            return
        if pair.a is None or pair.b is None:
            mark, side = ("-", "A") if pair.b is None else ("+", "B")
            self.line(mark, name, f"  only in {side}", indent)
        else:
            self.line("~", name, indent=indent)
        self.diff(pair.a, pair.b, indent + "    ")

    def alone(self, name: str, text: str | None) -> None:
        """A text of a step that only one run has."""
        if text:
            self.screen.line((f"    {name}", "dim"))
            self._lines([TextLine(" ", line) for line in text.split("\n")], "    ", limit=ALONE)

    def diff(self, before: str | None, after: str | None, indent: str = "      ") -> None:
        self._lines(text_diff(before, after), indent, limit=ALONE if None in (before, after) else LINES)

    def short(self, words: str, taken: int, otherwise: int) -> str:
        """`words` in the room of one line, or with `full` as they are."""
        line = words if self.full else one_line(words, self.room(taken, otherwise))
        self.is_shortened |= line.endswith("…") and not words.endswith(line[-8:])
        return line

    def room(self, taken: int, otherwise: int) -> int:
        """The cells of a line that are left; in a pipe nothing is cut to a width, and what is long has another end."""
        return otherwise if self.screen.width is None else max(self.screen.width - taken, NARROWEST)

    def more(self, words: str, indent: str) -> None:
        self.screen.line((f"{indent}{words}; --full shows all", "dim"))

    def _lines(self, lines: Sequence[TextLine], indent: str, limit: int) -> None:
        if self.full or len(lines) <= limit + 1:  # one line more is not worth a line about it
            limit = len(lines)
        for line in _first_lines(lines, limit):
            self._text_line(line, indent)
        if limit < len(lines):
            self.more(f"… {count(len(lines) - limit, 'more line')}", indent)

    def _text_line(self, line: TextLine, indent: str) -> None:
        room = self.room(len(indent) + 2, 120)
        # What both have is there to find one's way: one row is enough.
        size = room if line.mark == " " else 2 * room if self.screen.width is None else ROWS * (room - 1)
        short = line if self.full else line.around(size)
        self.is_shortened |= short is not line
        first: Part = (f"{indent}{line.mark} ", MARKS[line.mark])
        parts = list(_parts(short))
        if self.screen.width is None or self.full:
            self.screen.line(first, *parts)
            return
        for row in wrapped(parts, room):
            self.screen.line(first, *row)
            first = (" " * (len(indent) + 2), "")


def _first_lines(lines: Sequence[TextLine], limit: int) -> Sequence[TextLine]:
    """The first ones; of a long change, as many of what was as of what is."""
    if limit >= len(lines):
        return lines
    new = next((at for at, line in enumerate(lines) if line.mark == "+"), 0)
    if new <= limit // 2:
        return lines[:limit]
    later = lines[new : new + limit // 2]
    return [*lines[: limit - len(later)], *later]


def _parts(line: TextLine) -> Iterator[Part]:
    """What differs in the colour of its mark; a line of both is dim."""
    at, plain = 0, "dim" if line.mark in " @" else ""
    for start, end in line.changed:
        yield line.text[at:start], plain
        yield line.text[start:end], MARKS[line.mark]
        at = end
    yield line.text[at:], plain
