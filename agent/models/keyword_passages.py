"""From what was found and read to the few passages that answer, or to the finding that none does.

A word says the more the rarer it is in the documents; a word that the question has and the documents lack says most.
A passage is worth what its words say, counting also those of its heading, its neighbours and its document's name. The
best one must have a fair share of the question's weight: else the documents do not answer it.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from agent.models.keyword_blocks import Block, Span, prose, sections_of
from agent.models.keyword_notes import NOT_FOUND, Notes
from agent.models.keyword_terms import Query, Term, Words, other_forms, presence, words

# Set on tests/questions.py: moving one figure by about a third changed at most two of the first 55 answers.
MAX_PASSAGES = 5
MAX_LINES = 12
"""Of one passage."""
GROW_LINES = 9
"""How far a shorter one is completed with its neighbours."""
MAX_ALL_LINES = 36
ENOUGH = 0.5
"""The share of the question's weight that the best passage must have."""
CLOSE = 0.6
"""The share of the best passage's score that the others must have."""
LEAST = 0.6
"""The weight below which a question is too vague to be answered by a share of it."""
MISSING_LOOSE = 0.3
"""What is left of the weight of a word with many synonyms when no document has it."""
IN_HEADING, IN_NEIGHBOUR, IN_NAME = 1.1, 0.7, 0.7
"""What a word counts there, compared with one in the passage itself."""
CODE = 0.8
"""What code is worth, compared with prose."""
NAME, PHRASE, ONE_LINE, NUMBER = 0.25, 0.3, 0.3, 0.3
"""Added for words in the document's name, a phrase of the question, words in one line, a number that is asked for."""

_NUMBER = re.compile(r"\d|\b(one|two|three|four|five|six|seven|eight|nine|ten|twelve|hundred)\b", re.IGNORECASE)

Weights = Mapping[Term, float]


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


def best_passages(query: Query, notes: Notes) -> list[Passage]:
    """The passages to cite, best first; none where the documents do not answer."""
    found = _passages(query, notes, weights_of(query, notes))
    ranked = sorted(found, key=lambda one: (-one.score, one.path, one.core.start))
    if all(passage.cover < ENOUGH for passage in ranked[:MAX_PASSAGES]):
        return []
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


def weights_of(query: Query, notes: Notes) -> dict[Term, float]:
    """What each term says, from nearly 0 for one that is everywhere to its own weight."""
    total = max(200, sum(document.lines for document in notes.documents.values()))
    return {term: _weight(term, hits(term, notes), total) for term in query.terms}


def hits(term: Term, notes: Notes) -> int:
    """About how many lines have the term, in any form that was searched for."""
    counts = (hits_of(term, keyword, notes) for keyword in (term.keyword, *other_forms(term)))
    return next((count for count in counts if count), 0)


def hits_of(term: Term, keyword: str, notes: Notes) -> int:
    """About how many lines have the term, as far as the search for `keyword` tells.

    A search looks inside words, so the shown hits tell which share of all really has the term.
    """
    found = notes.searched.get(keyword, NOT_FOUND)
    true = sum(presence(term, words(prose([hit.text]))) > 0 for hit in found.hits)
    if not true:
        return sum(found.more.values())  # the shown ones are the first by path, and may be no sample
    return math.ceil(found.count * true / len(found.hits))


def name_words(path: str, notes: Notes) -> Words:
    """The words of a document's path and title."""
    document = notes.documents.get(path)
    return words(f"{path.rsplit('.', 1)[0]} {document.title if document else ''}")


def _weight(term: Term, count: int, total: int) -> float:
    if not count and not term.telling:
        return MISSING_LOOSE * term.weight
    return term.weight * math.log(1 + total / (1 + count)) / math.log(1 + total)


def _passages(query: Query, notes: Notes, weights: Weights) -> Iterator[Passage]:
    whole = max(sum(weights.values()), LEAST)
    for path, lines in notes.lines.items():
        name = name_words(path, notes)
        for section in sections_of(lines):
            heading = section[0].lines[0] if section[0].kind == "heading" else ""
            for at, block in enumerate(section):
                if block.kind == "heading":
                    continue
                shares = _shares(weights, block, heading, section[max(0, at - 1) : at + 2], name)
                cover = sum(weights[term] * min(share, 1.0) for term, share in shares.items()) / whole
                score = sum(weights[term] * share for term, share in shares.items())
                score += _bonus(query, block, heading, name, weights)
                score *= CODE if block.kind == "code" else 1.0
                if query.quantity and block.kind == "text" and _NUMBER.search(prose(block.lines)):
                    score += NUMBER * cover
                core = _best_lines(block, weights)
                yield Passage(path, core, _completed(section, core), score, cover)


def _shares(weights: Weights, block: Block, heading: str, near: Sequence[Block], name: Words) -> dict[Term, float]:
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


def _bonus(query: Query, block: Block, heading: str, name: Words, weights: Weights) -> float:
    """For words that stand together, as a phrase of the question or in one line, and for a document about them."""
    text = " ".join((heading, *block.lines)).casefold()
    phrases = sum(phrase in text for phrase in query.phrases)
    line = max(_held(words(prose([line])), weights) for line in (heading, *block.lines))
    return PHRASE * phrases + ONE_LINE * line + NAME * _held(name, weights)


def _held(text: Words, weights: Weights) -> float:
    return sum(weight * presence(term, text) for term, weight in weights.items())


def _best_lines(block: Block, weights: Weights) -> Span:
    """The whole block, or the best lines of a long one."""
    if len(block.lines) <= MAX_LINES:
        return block.span
    held = [_held(words(prose([line])), weights) for line in block.lines]
    sums = [sum(held[at : at + GROW_LINES]) for at in range(len(held) - GROW_LINES + 1)]
    start = block.start + sums.index(max(sums))
    return Span(start, start + GROW_LINES - 1)


def _completed(section: Sequence[Block], core: Span) -> Span:
    """The core with its whole section if that is short, else with as much of it as fits: first its heading, then
    what follows, then what comes before."""
    whole = section[0].span.with_all(section[-1].span)
    if len(whole) <= MAX_LINES:
        return whole
    span = core
    before = [block for block in section if block.span.end < core.start]
    after = [block for block in section if block.start > core.end]
    while before or after:
        if before and before[-1].kind == "heading" and len(span) < MAX_LINES - 1:
            span = span.with_all(before.pop().span)
        elif after and _fits(span, after[0]):
            span = span.with_all(after.pop(0).span)
        elif before and _fits(span, before[-1]):
            span = span.with_all(before.pop().span)
        else:
            break
    return span


def _fits(span: Span, block: Block) -> bool:
    """A list is what the paragraph before it announces, so it may be longer."""
    announced = block.is_list and block.start > span.end
    return len(span.with_all(block.span)) <= (MAX_LINES if announced else GROW_LINES)


def _joined(passages: Sequence[Passage]) -> list[Passage]:
    """Neighbours as one passage, at the place of the better one, where that is not too long."""
    joined: list[Passage] = []
    for passage in passages:
        for at, other in enumerate(joined):
            both = other.span.with_all(passage.span)
            gap = len(both) - len(other.span) - len(passage.span)
            if other.path == passage.path and gap <= 1 and len(both) <= MAX_LINES:
                joined[at] = replace(other, span=both)
                break
        else:
            joined.append(passage)
    return joined
