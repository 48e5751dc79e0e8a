"""The telling words of a question, and how surely a text has one of them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from agent.models.keyword_english import (
    OTHER_STOP_WORDS,
    PHRASAL_VERBS,
    STOP_WORDS,
    is_light,
    is_loose,
    singular,
    stem,
    synonyms,
)

MAX_TERMS = 10
MAX_PHRASES = 4
MAX_CHARS = 40
"""Of one search word: a longer one is no word of a document."""

EXACT, WORD, LOOSE, LIGHT = 1.6, 1.0, 0.7, 0.2
"""What a name like max_size or HTTP/2, a word, a word with many synonyms and a word of every question tell."""

_TOKEN = re.compile(r"\w[\w./:@-]*\w|\w")
_EITHER = re.compile(r"(?<=[a-z])/(?=[a-z])")
_PIECE = re.compile(r"[A-Z]{2,}(?=v\d)|[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|\d+|[^\W\d_]+")
_CAMEL = re.compile(r"[a-z\d][A-Z]|[A-Z]{2,}[a-z]{2}")
_QUANTITY = re.compile(
    r"\bhow (many|much|long|often|big|large|high|old|far|soon)\b|\bat (most|least)\b|\b(\w\w+est|maximum|minimum|"
    r"limit|default|number of)\b",
    re.IGNORECASE,
)
_SEPARATORS = re.compile(r"[\s_/.\-]+")


@dataclass(frozen=True, slots=True)
class Term:
    """Something to look for."""

    text: str
    """As the question has it, folded."""
    keyword: str
    """What to search for: found inside every form of the word."""
    stems: tuple[str, ...]
    """Of its pieces; one for a plain word."""
    weight: float

    @property
    def compound(self) -> bool:
        return len(self.stems) > 1

    @property
    def telling(self) -> bool:
        """Whether documents about it must have the very word."""
        return self.weight >= WORD

    @property
    def light(self) -> bool:
        return self.weight <= LIGHT


@dataclass(frozen=True, slots=True)
class Query:
    terms: tuple[Term, ...]
    phrases: tuple[str, ...]
    """Neighbouring telling words, as the question has them."""
    quantity: bool = False
    """Whether it asks for a number."""


@dataclass(frozen=True, slots=True)
class Words:
    """A text, prepared for `presence`."""

    stems: frozenset[str]
    joined: frozenset[str]
    """Of neighbouring words written as one: user name, username."""
    squeezed: str
    """Folded and without separators, so that max-size, max_size and `max size` are the same."""


@lru_cache(maxsize=20_000)
def words(text: str) -> Words:
    pieces = _PIECE.findall(text)
    joined = {stem(one + other) for one, other in pairwise(pieces)}
    return Words(frozenset(map(stem, pieces)), frozenset(joined), _squeeze(text))


def presence(term: Term, text: Words) -> float:
    """How surely `text` has the term: 1 for the word in any form, less for a part, a short form or a synonym."""
    if term.compound:
        if _squeeze(term.keyword) in text.squeezed:
            return 1.0
        return 0.3 if text.stems.issuperset(term.stems) else 0.0
    wanted = term.stems[0]
    if wanted in text.stems:
        return 1.0
    if wanted in text.joined:
        return 0.8
    if not text.stems.isdisjoint(synonyms(term.text)):
        return 0.6
    return 0.5 if any(_shortened(wanted, one) for one in text.stems) else 0.0


def query(question: str) -> Query:
    """The telling words of a question, the most telling kept when there are too many, in the question's order."""
    tokens = _tokens(question)
    stop_words = _stop_words(tokens)
    terms: dict[str, Term] = {}
    for token in tokens:
        if (term := _term(token, stop_words)) is not None:
            terms.setdefault(" ".join(term.stems), term)
    ranked = sorted(terms.values(), key=lambda term: (-term.weight, -len(term.text)))
    kept = set(ranked[:MAX_TERMS])
    return Query(
        terms=tuple(term for term in terms.values() if term in kept),
        phrases=_phrases(tokens, kept),
        quantity=_QUANTITY.search(question) is not None,
    )


def other_forms(term: Term) -> tuple[str, ...]:
    """What else to search for when the keyword had no hits."""
    if term.compound:
        parts = [part for part in _SEPARATORS.split(term.text) if part]
        forms = ["".join(parts), "-".join(parts), "_".join(parts), " ".join(parts)]
        forms += [piece for piece in term.stems if len(piece) > 3]
    else:
        forms = [term.text] if not term.text.startswith(term.keyword) else []
        forms += [term.stems[0][:5]] if len(term.stems[0]) > 5 else []
        forms += sorted(word for word in synonyms(term.text) if len(word) > 3)
    return tuple(dict.fromkeys(form for form in forms if form != term.keyword))[:3]


def _stop_words(tokens: Sequence[str]) -> frozenset[str]:
    """English ones; where a question has none of them, those of its neighbours too."""
    is_english = any(token.casefold() in STOP_WORDS for token in tokens)
    return STOP_WORDS if is_english else STOP_WORDS | OTHER_STOP_WORDS


def _term(token: str, stop_words: frozenset[str]) -> Term | None:
    text = token.casefold()
    pieces = _PIECE.findall(token)
    if (
        len(token) < 2
        or len(token) > MAX_CHARS
        or not pieces
        or all(piece.casefold() in stop_words for piece in pieces)
    ):
        return None
    stems = tuple(stem(piece) for piece in pieces)
    if len(stems) > 1:
        weight = EXACT if _is_name(token) else LOOSE if text.endswith(("ed", "ing")) else WORD
        return Term(text, _last_part(text), stems, weight)
    weight = LIGHT if is_light(text) else LOOSE if is_loose(text) else WORD
    inflected = text.endswith(("ing", "ed")) and text.startswith(stems[0])
    return Term(text, stems[0] if len(stems[0]) > 3 or inflected else singular(text), stems, weight)


def _last_part(text: str) -> str:
    """Of a dotted name what the documents are likely to have, whatever they call the thing before the dot."""
    last = text.rsplit(".", 1)[-1]
    return last if len(last) > 4 and not last.isdigit() else text


def _is_name(token: str) -> bool:
    return any(sign in token for sign in "_./:@") or _CAMEL.search(token) is not None or any(map(str.isdigit, token))


def _tokens(question: str) -> list[str]:
    tokens = [token.strip("./:@-_") for token in _TOKEN.findall(_EITHER.sub(" ", question))]
    for at, token in enumerate(tokens):
        for later in tokens[at + 1 : at + 5]:
            meant = PHRASAL_VERBS.get((token.casefold(), later.casefold()))
            tokens[at] = meant or tokens[at]
    return tokens


def _phrases(tokens: list[str], kept: set[Term]) -> tuple[str, ...]:
    """Pairs of telling words that are next to each other, or with one short word between them."""
    telling = {term.text for term in kept}
    found: list[str] = []
    for at in range(len(tokens)):
        for length in (2, 3):
            run = [word.casefold() for word in tokens[at : at + length]]
            if len(run) < length or run[0] not in telling or run[-1] not in telling:
                continue
            if length == 3 and (run[1] not in STOP_WORDS or len(run[1]) > 3):
                continue
            found.append(" ".join([*run[:-1], singular(run[-1])]))
    return tuple(dict.fromkeys(found))[:MAX_PHRASES]


def _squeeze(text: str) -> str:
    return _SEPARATORS.sub("", text.casefold())


def _shortened(one: str, other: str) -> bool:
    """Whether one is a short form of the other: config, configuration."""
    short, long = sorted((one, other), key=len)
    return len(short) >= 5 and len(short) >= 0.4 * len(long) and long.startswith(short)
