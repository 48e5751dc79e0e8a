"""The parts of a Markdown document, as far as it was read: headings, paragraphs and lists, pieces of code."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

_HEADING = re.compile(r"#{1,6}\s")
_LIST = re.compile(r"\s*([-*+]|\d+[.)]|\|)\s")
_FENCE = re.compile(r"\s*(```|~~~)(.*)")


@dataclass(frozen=True, slots=True)
class Span:
    """Lines, both ends counted."""

    start: int
    end: int

    def __len__(self) -> int:
        return self.end - self.start + 1

    def meets(self, other: "Span") -> bool:
        return self.start <= other.end and other.start <= self.end

    def with_all(self, other: "Span") -> "Span":
        return Span(min(self.start, other.start), max(self.end, other.end))


@dataclass(frozen=True, slots=True)
class Block:
    """Lines that belong together."""

    kind: Literal["heading", "text", "code"]
    start: int
    lines: tuple[str, ...]
    section: int
    """The line of its heading; 0 above the first."""

    @property
    def span(self) -> Span:
        return Span(self.start, self.start + len(self.lines) - 1)

    @property
    def is_list(self) -> bool:
        """Also a table."""
        return self.kind == "text" and _LIST.match(self.lines[0]) is not None


def prose(lines: Iterable[str]) -> str:
    """Without the lines that only say in which language a piece of code is."""
    return "\n".join(line for line in lines if not _FENCE.match(line))


def sections_of(lines: Mapping[int, str]) -> Iterator[list[Block]]:
    """The blocks of each section, heading first; a gap in the lines starts a new one."""
    for run in _runs(lines):
        section: list[Block] = []
        for block in _blocks(run, lines):
            if section and block.section != section[0].section:
                yield section
                section = []
            section.append(block)
        yield section


def _runs(lines: Mapping[int, str]) -> Iterator[list[int]]:
    run: list[int] = []
    for number in sorted(lines):
        if run and number != run[-1] + 1:
            yield run
            run = []
        run.append(number)
    if run:
        yield run


def _blocks(run: Sequence[int], lines: Mapping[int, str]) -> Iterator[Block]:
    pending: list[int] = []
    section, in_code = 0, _starts_in_code(run, lines)

    def closed(kind: Literal["heading", "text", "code"]) -> Iterator[Block]:
        if pending:
            yield Block(kind, pending[0], tuple(lines[number] for number in pending), section)
            pending.clear()

    for number in run:
        line = lines[number]
        if _FENCE.match(line):
            if not in_code:
                yield from closed("text")
            pending.append(number)
            if in_code:
                yield from closed("code")
            in_code = not in_code
        elif in_code:
            pending.append(number)
        elif _HEADING.match(line):
            yield from closed("text")
            section = number
            pending.append(number)
            yield from closed("heading")
        elif line.strip():
            pending.append(number)
        else:
            yield from closed("text")
    yield from closed("code" if in_code else "text")


def _starts_in_code(run: Sequence[int], lines: Mapping[int, str]) -> bool:
    """What was read may start inside a piece of code: then its first fence is a bare one and the next opens another."""
    languages = [match[2].strip() for number in run if (match := _FENCE.match(lines[number])) is not None]
    return len(languages) > 1 and not languages[0] and bool(languages[1])
