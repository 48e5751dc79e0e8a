"""From what was found and read to the few passages that answer, or to the finding that none does.

A word says the more the rarer it is in the documents; a word that the question has and the documents lack says most.
A passage is worth what its words say, counting also those of its heading, its neighbours and its document's name, at
less. The best one must have a fair share of the question's weight: else the documents do not answer it.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from agent.models.keyword_notes import Found, Notes
from agent.models.keyword_terms import Query, Term, Words, other_forms, presence, words

MAX_PASSAGES = 5
MAX_LINES = 12
"""Of one passage; a shorter one grows with its section up to GROW_LINES."""
GROW_LINES = 9
MAX_ALL_LINES = 36
ENOUGH = 0.5
"""The share of the question's weight that the best passage must have."""
CLOSE = 0.6
"""The share of the best passage's score that the others must have."""

MISSING_LOOSE = 0.3
"""What is left of the weight of a word with synonyms that no document has."""
IN_HEADING, IN_NEIGHBOUR, IN_NAME = 1.1, 0.5, 0.7
"""What a word counts there, compared with one in the passage itself."""
CODE = 0.8
"""What code is worth, compared with prose."""
NAME, PHRASE, ONE_LINE, NUMBER = 0.25, 0.3, 0.3, 0.3
LEAST = 0.6

_HEADING = re.compile(r"#{1,6}\s")
_NUMBER = re.compile(r"\d|\b(one|two|three|four|five|six|seven|eight|nine|ten|twelve|hundred)\b", re.IGNORECASE)
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


@dataclass(frozen=True, slots=True)
class Passage:
    path: str
    core: Span
    """The lines that were found."""
    span: Span
    """The lines to cite: the core and what explains it."""
    score: float
    cover: float
    """The share of the question's weight that it has."""


@dataclass(frozen=True, slots=True)
class Block:
    """Lines that belong together: a paragraph, a list, or a piece of code."""

    start: int
    lines: tuple[str, ...]
    kind: str
    section: int
    """The line of its heading; 0 above the first."""

    @property
    def end(self) -> int:
        return self.start + len(self.lines) - 1


def rarities(query: Query, notes: Notes) -> dict[Term, float]:
    """What each term says, from nearly 0 to its weight."""
    total = max(200, sum(document.lines for document in notes.documents.values()))
    return {term: _weight(term, hits(term, notes), total) for term in query.terms}


def hits(term: Term, notes: Notes) -> int:
    """About how many lines have the term, in any form that was searched for."""
    for keyword in (term.keyword, *other_forms(term)):
        found = notes.searched.get(keyword)
        if found is not None and (count := _true_hits(term, found)):
            return count
    return 0


def best_cover(query: Query, notes: Notes) -> float:
    """The share of the question's weight that one of the best passages has."""
    return max((passage.cover for passage in _ranked(query, notes)[:MAX_PASSAGES]), default=0.0)


def best_passages(query: Query, notes: Notes) -> list[Passage]:
    """The passages to cite, best first; none where the documents do not answer."""
    if best_cover(query, notes) < ENOUGH:
        return []
    ranked = _ranked(query, notes)
    chosen: list[Passage] = []
    room = MAX_ALL_LINES
    for passage in ranked:
        if len(chosen) == MAX_PASSAGES or passage.score < CLOSE * ranked[0].score:
            break
        taken = [other.span for other in chosen if other.path == passage.path]
        for span in (passage.span, passage.core):
            if len(span) <= room and not any(span.meets(other) for other in taken):
                chosen.append(replace(passage, span=span))
                room -= len(span)
                break
    return _joined(chosen)


def _joined(passages: Sequence[Passage]) -> list[Passage]:
    """Neighbours as one passage, at the place of the better one, where that is not too long."""
    joined: list[Passage] = []
    for passage in passages:
        for at, other in enumerate(joined):
            both = Span(min(other.span.start, passage.span.start), max(other.span.end, passage.span.end))
            gap = len(both) - len(other.span) - len(passage.span)
            if other.path == passage.path and gap <= 1 and len(both) <= MAX_LINES:
                joined[at] = replace(other, span=both)
                break
        else:
            joined.append(passage)
    return joined


def _ranked(query: Query, notes: Notes) -> list[Passage]:
    passages = _passages(query, notes, rarities(query, notes))
    return sorted(passages, key=lambda one: (-one.score, one.path, one.core.start))


def name_words(path: str, notes: Notes) -> Words:
    document = notes.documents.get(path)
    return words(f"{path.rsplit('.', 1)[0]} {document.title if document else ''}")


def _weight(term: Term, count: int, total: int) -> float:
    if not count and not term.telling:
        return MISSING_LOOSE * term.weight
    return term.weight * math.log(1 + total / (1 + count)) / math.log(1 + total)


def _true_hits(term: Term, found: Found) -> int:
    if not found.hits:
        return found.count
    true = sum(presence(term, words(prose([hit.text]))) > 0 for hit in found.hits)
    if not true and found.more:
        return sum(found.more.values())  # the shown ones are no sample: they are the first by path
    return math.ceil(found.count * true / len(found.hits))


def _passages(query: Query, notes: Notes, weights: Mapping[Term, float]) -> Iterator[Passage]:
    whole = max(sum(weights.values()), LEAST)
    for path, lines in notes.lines.items():
        name = name_words(path, notes)
        for run in _runs(lines):
            blocks = _blocks(run, lines)
            for at, block in enumerate(blocks):
                if block.kind == "heading":
                    continue
                heading = lines.get(block.section, "")
                near = [other for other in blocks[max(0, at - 1) : at + 2] if other.section == block.section]
                shares = _shares(weights, block, heading, near, name)
                score = sum(weights[term] * share for term, share in shares.items())
                score += NAME * sum(weight * presence(term, name) for term, weight in weights.items())
                score += _together(query, block, heading, weights)
                score *= CODE if block.kind == "code" else 1.0
                cover = sum(weights[term] * min(share, 1.0) for term, share in shares.items()) / whole
                if query.quantity and block.kind == "text" and _NUMBER.search(prose(block.lines)):
                    score += NUMBER * cover
                core = _best_lines(block, weights)
                yield Passage(path, core, _grown(blocks, at, core), score, cover)


def _shares(
    weights: Mapping[Term, float], block: Block, heading: str, near: Sequence[Block], name: Words
) -> dict[Term, float]:
    """How much of each term the block has: in itself, in its heading, beside it, in its document's name."""
    inside, above = words(prose(block.lines)), words(heading)
    around = words(prose(line for other in near for line in other.lines))
    return {
        term: max(
            presence(term, inside),
            IN_HEADING * presence(term, above),
            IN_NEIGHBOUR * presence(term, around),
            IN_NAME * presence(term, name),
        )
        for term in weights
    }


def _together(query: Query, block: Block, heading: str, weights: Mapping[Term, float]) -> float:
    """What is added for words that stand together: as a phrase of the question, or in one line."""
    text = " ".join((heading, *block.lines)).casefold()
    phrases = sum(PHRASE for phrase in query.phrases if phrase in text)
    line = max(_line_score(line, weights) for line in (heading, *block.lines))
    return phrases + ONE_LINE * line


def _line_score(line: str, weights: Mapping[Term, float]) -> float:
    text = words(prose([line]))
    return sum(weight * presence(term, text) for term, weight in weights.items())


def prose(lines: Iterable[str]) -> str:
    """Without the lines that only say in which language a piece of code is."""
    return "\n".join(line for line in lines if not _FENCE.match(line))


def _grown(blocks: Sequence[Block], at: int, core: Span) -> Span:
    """The core with its whole section if that is short, else with as much of it as fits."""
    block = blocks[at]
    section = [other for other in blocks if other.section == block.section]
    if section[-1].end - section[0].start < MAX_LINES:
        return Span(section[0].start, section[-1].end)
    if core != Span(block.start, block.end):
        return core
    start, end = core.start, core.end
    before = [other for other in section if other.end < start]
    after = [other for other in section if other.start > end]
    while before or after:
        if before and before[-1].kind == "heading" and start - before[-1].start <= 2:
            start = before.pop().start
        elif after and after[0].end - start < (MAX_LINES if _LIST.match(after[0].lines[0]) else GROW_LINES):
            end = after.pop(0).end
        elif before and end - before[-1].start < GROW_LINES:
            start = before.pop().start
        else:
            break
    return Span(start, end)


def _best_lines(block: Block, weights: Mapping[Term, float]) -> Span:
    """The whole block, or the best lines of a long one."""
    if len(block.lines) <= MAX_LINES:
        return Span(block.start, block.end)
    scores = [_line_score(line, weights) for line in block.lines]
    sums = [sum(scores[at : at + GROW_LINES]) for at in range(len(scores) - GROW_LINES + 1)]
    start = block.start + max(range(len(sums)), key=lambda at: (sums[at], -at))
    return Span(start, start + GROW_LINES - 1)


def _runs(lines: Mapping[int, str]) -> Iterator[list[int]]:
    run: list[int] = []
    for number in sorted(lines):
        if run and number != run[-1] + 1:
            yield run
            run = []
        run.append(number)
    if run:
        yield run


def _blocks(run: Sequence[int], lines: Mapping[int, str]) -> list[Block]:
    blocks: list[Block] = []
    pending: list[int] = []
    section, code = 0, _starts_in_code(run, lines)

    def close(kind: str) -> None:
        if pending:
            blocks.append(Block(pending[0], tuple(lines[number] for number in pending), kind, section))
            pending.clear()

    for number in run:
        line = lines[number]
        if _FENCE.match(line):
            if code:
                pending.append(number)
                close("code")
            else:
                close("text")
                pending.append(number)
            code = not code
        elif code:
            pending.append(number)
        elif _HEADING.match(line):
            close("text")
            section = number
            pending.append(number)
            close("heading")
        elif not line.strip():
            close("text")
        else:
            pending.append(number)
    close("code" if code else "text")
    return blocks


def _starts_in_code(run: Sequence[int], lines: Mapping[int, str]) -> bool:
    """A run may start inside a piece of code: then its first fence is a bare one and the next opens another."""
    fences = [match[2].strip() for number in run if (match := _FENCE.match(lines[number])) is not None]
    return len(fences) > 1 and not fences[0] and bool(fences[1])
