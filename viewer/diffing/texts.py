"""The difference of two texts, as lines: what a person must see to know what changed.

What is marked is the words of a line that differ, because a model's paragraph is one line of a thousand characters. Two
lines that would look the same on a screen (a blank at the end, another Unicode form) are written with escapes.
"""

import json
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

from agent.terminal import visible

AROUND = 2
"""Lines that are shown before and after what differs."""

_WORD = re.compile(r"\w+|\s+|.", re.DOTALL)
_WORDS, _MARKED = 4000, 50
"""Words of a line, and lines in a row, that are looked at one by one: without an end it took half a minute for a text of
a megabyte."""


@dataclass(frozen=True, slots=True)
class TextLine:
    mark: str
    """`-` and `+` as in a unified diff, a space for a line of both, `@` for a gap."""
    text: str
    changed: tuple[tuple[int, int], ...] = ()
    """The parts of it that differ, as from and to."""

    def around(self, size: int) -> "TextLine":
        """At most `size` characters of it, with … where there is more: its beginning, unless nothing there differs."""
        if len(self.text) <= size:
            return self
        start = self.changed[0][0] if self.changed else 0
        first = 0 if start < size // 2 else min(start - size // 4, len(self.text) - size + 1)
        if first and (blank := self.text.find(" ", first - 1, min(first + 16, start))) > 0:
            first = blank + 1
        last = first + size - 1 - bool(first)
        head, tail = "…" if first else "", "…" if last < len(self.text) else ""
        shift = len(head) - first
        kept = [(max(i, first) + shift, min(j, last) + shift) for i, j in self.changed if i < last and j > first]
        return TextLine(self.mark, f"{head}{self.text[first:last]}{tail}", tuple(kept))


def text_diff(before: str | None, after: str | None) -> list[TextLine]:
    """The lines that differ, each with the parts of it that do, and the lines around them; none for equal texts. None
    is no text at all."""
    if before == after:
        return []
    a, b = _lines(before), _lines(after)
    found: list[TextLine] = []
    for group in SequenceMatcher(None, a, b).get_grouped_opcodes(AROUND):
        if found or group[0][1] > 0:
            found.append(TextLine("@", f"line {group[0][1] + 1}"))
        for kind, i, j, k, m in group:
            if kind == "equal":
                found += [TextLine(" ", line) for line in a[i:j]]
            else:
                found += _changed(a[i:j], b[k:m])
    return found


def _lines(text: str | None) -> list[str]:
    return [] if text is None else text.split("\n")


def _changed(before: list[str], after: list[str]) -> Iterator[TextLine]:
    pairs = [_marked(one, other) for one, other in zip(before[:_MARKED], after, strict=False)]
    yield from (one for one, _ in pairs)
    yield from (_whole("-", line) for line in before[len(pairs) :])
    yield from (other for _, other in pairs)
    yield from (_whole("+", line) for line in after[len(pairs) :])


def _whole(mark: str, line: str) -> TextLine:
    return TextLine(mark, line, ((0, len(line)),) if line else ())


def _marked(one: str, other: str) -> tuple[TextLine, TextLine]:
    """Two lines that stand against each other, the words marked that differ."""
    if one != other and _look(one) == _look(other):
        one, other = (json.dumps(line) for line in (one, other))
    words, others = _WORD.findall(one), _WORD.findall(other)
    blocks = _same_words(words, others)
    same = sum(len(word) for at, _, size in blocks for word in words[at : at + size])
    if same < min(len(one), len(other)) // 3:  # they have little in common: no part of them stands out
        return _whole("-", one), _whole("+", other)
    here = _between(words, [(at, size) for at, _, size in blocks])
    there = _between(others, [(at, size) for _, at, size in blocks])
    return TextLine("-", one, here), TextLine("+", other, there)


def _same_words(a: list[str], b: list[str]) -> list[tuple[int, int, int]]:
    """The blocks that are the same, as where in `a`, where in `b`, and how many; blanks alone are none."""
    shortest = min(len(a), len(b))
    head = next((at for at in range(shortest) if a[at] != b[at]), shortest)
    tail = next((at for at in range(shortest - head) if a[-1 - at] != b[-1 - at]), shortest - head)
    rest = a[head : len(a) - tail], b[head : len(b) - tail]
    blocks = [(0, 0, head), (len(a) - tail, len(b) - tail, tail)]
    if max(map(len, rest)) <= _WORDS:
        found = SequenceMatcher(None, *rest, autojunk=False).get_matching_blocks()
        inner = [(head + block.a, head + block.b, block.size) for block in found]
        blocks[1:1] = [block for block in inner if "".join(a[block[0] : block[0] + block[2]]).strip()]
    return blocks


def _between(words: list[str], same: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """The places in the text of what stands between the blocks that are the same."""
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word))
    edges = [0, *(edge for at, size in same for edge in (starts[at], starts[at + size])), starts[-1]]
    return tuple((start, end) for start, end in zip(edges[::2], edges[1::2], strict=True) if start < end)


def _look(text: str) -> str:
    """What of a line can be seen."""
    shown = "".join(char for char in visible(text) if unicodedata.category(char) != "Cf")
    return " ".join(unicodedata.normalize("NFC", shown).split())
