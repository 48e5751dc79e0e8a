"""A model without a key and without a network: it works the documentation tools as a person would with grep.

It takes the telling words of the question, searches for all of them at once, reads around the best hits and answers
with the passages, or says that it found nothing and what it searched for. It is no language model and says so. It is
deterministic and keeps no state: each answer is a function of the request.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from agent.canonical import to_text
from agent.messages import Message, ToolCall
from agent.models.keyword_notes import Notes, take_notes
from agent.models.keyword_passages import Passage, best_cover, best_passages, hits, name_words, prose, rarities
from agent.models.keyword_terms import Query, Term, other_forms, presence, query, words
from agent.ports import ModelInfo, Tell
from agent.values import Request, Response, Usage

NEEDED = ("grep_docs", "read_doc")
MAX_STEPS = 6
MAX_READS = 7
AGAIN = 0.85
"""What a further place in a document is worth, compared with the same in one that was not read."""
PLENTY = 0.8
"""The share of the question's weight at which one passage is surely enough."""
BEFORE, AFTER = 10, 44
"""Lines read around a hit."""
NOTE = (
    "This is a keyword search, not a language model: it looks for the words of the question as they stand, so ask in "
    "the language of the documents."
)

Wanted = tuple[str, Mapping[str, Any]]


class KeywordModel:
    """Answers from the tools `grep_docs` and `read_doc`, whatever the folder of documents."""

    info = ModelInfo(name="keyword", provider="playhead")

    async def respond(self, request: Request, tell: Tell) -> Response:
        notes = take_notes(request.messages)
        asked = query(notes.question)
        tools = {tool.name for tool in request.tools}
        if not tools.issuperset(NEEDED):
            return _response(request, content=_no_tools(tools))
        calls = _next_calls(asked, notes, tools)
        if calls and notes.steps < MAX_STEPS:
            return _response(request, calls=calls)
        return _response(request, content=_answer(asked, notes))


def _next_calls(asked: Query, notes: Notes, tools: set[str]) -> list[Wanted]:
    """Search, search for other forms of what was not found, read, read more where that is not enough.

    Each round is asked for once, whatever came of it, and the two second rounds exclude each other: so a run has at
    most four steps.
    """
    searches = [term.keyword for term in asked.terms] + list(asked.phrases)
    others = [form for term in asked.terms if not hits(term, notes) for form in other_forms(term)]
    first: list[Wanted] = [("grep_docs", {"keyword": keyword}) for keyword in dict.fromkeys(searches)]
    second: list[Wanted] = [("grep_docs", {"keyword": keyword}) for keyword in dict.fromkeys(others)]
    if first and "list_docs" in tools:
        first.insert(0, ("list_docs", {}))
    for wanted in (first, second):
        if wanted and not _was_asked(wanted, notes):
            return wanted
    reads = _reads(asked, notes)
    nearest, next_ones = reads[:MAX_READS], reads[MAX_READS:]
    if not _was_asked(nearest, notes):
        return nearest
    if not second and not _was_asked(next_ones, notes) and best_cover(asked, notes) < PLENTY:
        return next_ones
    return []


def _was_asked(calls: Iterable[Wanted], notes: Notes) -> bool:
    return any((name, to_text(arguments)) in notes.asked for name, arguments in calls)


def _reads(asked: Query, notes: Notes) -> list[Wanted]:
    """The places around which most of the question's words were found, best first, for two rounds."""
    places = _places(asked, notes)
    wanted: list[Wanted] = []
    covered: set[tuple[str, int]] = set()
    times: Counter[str] = Counter()
    while places and len(wanted) < 2 * MAX_READS:
        path, line = min(places, key=lambda place: (-places[place] * AGAIN ** times[place[0]], place))
        start, end = max(1, line - BEFORE), line + AFTER
        wanted.append(("read_doc", {"path": path, "start": start, "end": end}))
        times[path] += 1
        covered.update((path, number) for number in range(start, end - 5))
        places = {place: score for place, score in places.items() if place not in covered}
    return wanted


def _places(asked: Query, notes: Notes) -> dict[tuple[str, int], float]:
    """What each line with a hit promises, and the first line of each document with hits."""
    weights = rarities(asked, notes)
    texts: dict[str, dict[int, str]] = {}
    for found in notes.searched.values():
        for path in found.paths:
            texts.setdefault(path, {})
        for hit in found.hits:
            texts[hit.path][hit.line] = prose([hit.text])
    scores: dict[tuple[str, int], float] = {}
    for path, lines in texts.items():
        base = _promise(path, notes, weights)
        scores[(path, 1)] = base
        for line, text in lines.items():
            near = words("\n".join(lines.get(other, "") for other in range(line - 4, line + 5)))
            score = base + sum(
                weight * max(presence(term, words(text)), 0.7 * presence(term, near))
                for term, weight in weights.items()
            )
            scores[(path, line)] = score * (1.2 if text.startswith("#") else 1.0)
    return scores


def _promise(path: str, notes: Notes, weights: Mapping[Term, float]) -> float:
    """What a document promises by its name and by how often it has the words."""
    name = name_words(path, notes)
    named = sum(weight * presence(term, name) for term, weight in weights.items())
    held = 0.0
    for term, weight in weights.items():
        found = notes.searched.get(term.keyword)
        count = found.within(path) if found is not None else 0
        held += weight * min(1.0, 0.2 * math.log2(1 + count))
    return 0.6 * named + 0.5 * held


def _answer(asked: Query, notes: Notes) -> str:
    if not asked.terms:
        return f"I found no word in the question to search the documents for. {NOTE}"
    passages = best_passages(asked, notes)
    if not passages:
        return _nothing(asked, notes)
    found = [term.text for term in asked.terms if hits(term, notes)]
    missing = [term.text for term in asked.terms if not hits(term, notes)]
    nothing = f", and found nothing for {_quoted(missing)}" if missing else ""
    first = f"I searched the documents for {_quoted(found)}{nothing}. The best place is {_place(passages[0])}:"
    return "\n\n".join([first, *(_cited(passage, notes) for passage in passages), NOTE])


def _nothing(asked: Query, notes: Notes) -> str:
    missing = [term.text for term in asked.terms if not hits(term, notes)]
    lines = [
        f"I found nothing about {_quoted(missing)} in the documents."
        if missing
        else "I found nothing in the documents that answers this: no passage has enough of the question's words.",
        f"I searched for: {_quoted(notes.searched) or 'nothing that was answered'}.",
    ]
    if notes.errors:
        lines.append(f"Some calls failed, the first with: {notes.errors[0].splitlines()[0][:200]}")
    return "\n".join([*lines, NOTE])


def _no_tools(tools: set[str]) -> str:
    have = f"only {', '.join(sorted(tools))}" if tools else "none"
    return f"I can only search documents, with the tools {' and '.join(NEEDED)}, and here I have {have}. {NOTE}"


def _cited(passage: Passage, notes: Notes) -> str:
    lines = notes.lines[passage.path]
    texts = (lines.get(number, "") for number in range(passage.span.start, passage.span.end + 1))
    return "\n".join([_place(passage), *(f"  {text}" if text else "" for text in texts)])


def _place(passage: Passage) -> str:
    start, end = passage.span.start, passage.span.end
    return f"{passage.path}:{start}-{end}" if end > start else f"{passage.path}:{start}"


def _quoted(texts: Iterable[str]) -> str:
    return ", ".join(f'"{text}"' for text in texts)


def _response(request: Request, *, content: str | None = None, calls: Iterable[Wanted] = ()) -> Response:
    made = tuple(
        ToolCall(f"call_{request.step}_{index}", name, to_text(arguments), step=request.step, index=index)
        for index, (name, arguments) in enumerate(calls)
    )
    said = [content or "", *(f"{call.name} {call.arguments}" for call in made)]
    return Response(
        message=Message(role="assistant", content=content, tool_calls=made),
        calls=made,
        usage=Usage(input=_count(request.messages), output=_words(said), cached=0, reasoning=0),
        finish="tool_calls" if made else "stop",
        model="keyword",
    )


def _count(messages: Iterable[Message]) -> int:
    return sum(
        _words([message.content or "", *(call.arguments for call in message.tool_calls)]) for message in messages
    )


def _words(texts: Iterable[str]) -> int:
    return sum(len(text.split()) for text in texts)
