"""A model without a key and without a network: it works the documentation tools as a person would with grep.

It takes the telling words of the question, searches for all of them at once, reads around the best hits and answers
with the passages, or says that it found nothing and what it searched for. It is no language model and says so. It is
deterministic and keeps no state: each answer is a function of the request.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from agent.canonical import to_json, to_text
from agent.messages import Message, ToolCall
from agent.models.keyword_blocks import prose
from agent.models.keyword_notes import Notes, take_notes
from agent.models.keyword_passages import Passage, Weights, best_passages, hits, hits_of, name_words, weights_of
from agent.models.keyword_terms import Query, other_forms, presence, query, words
from agent.ports import ModelInfo, Tell
from agent.values import Request, Response, Usage

NEEDED = ("grep_docs", "read_doc")
MAX_SECOND_SEARCHES = 8
MAX_READS = 7
"""Of one step."""
BEFORE, AFTER = 10, 69
"""Lines read around a hit: as many as the tool gives at once."""
SURELY_READ = 50
"""How many of them a result has room for before it is cut."""
AGAIN = 0.85
"""What a further place in a document is worth, compared with the same in one that is not read yet."""
NOTE = (
    "This is a keyword search, not a language model: it only finds words, so ask with words that the documents use, "
    "in their language."
)

Wanted = tuple[str, Mapping[str, Any]]
Place = tuple[str, int]


class KeywordModel:
    """Answers from the tools `grep_docs` and `read_doc`, whatever the documents."""

    info = ModelInfo(name="keyword", provider="playhead")

    async def respond(self, request: Request, tell: Tell) -> Response:
        tools = {tool.name for tool in request.tools}
        if not tools.issuperset(NEEDED):
            return _response(request, content=_no_tools(tools))
        notes = take_notes(request.messages)
        asked = query(notes.question)
        if calls := _next_calls(asked, notes, tools):
            return _response(request, calls=calls)
        return _response(request, content=_answer(asked, notes))


def _next_calls(asked: Query, notes: Notes, tools: set[str]) -> list[Wanted]:
    """Search, search for other forms of what was not found, read, read on where that is not enough.

    Each round is asked for once, whatever came of it, so a run ends after at most five steps; most take three.
    """
    first = _searches([term.keyword for term in asked.terms] + list(asked.phrases))
    if first and "list_docs" in tools:
        first.insert(0, ("list_docs", {}))
    if not _was_asked(first, notes):
        return first
    unseen = [term for term in asked.terms if not hits_of(term, term.keyword, notes)]
    second = _searches(form for term in unseen for form in other_forms(term))[:MAX_SECOND_SEARCHES]
    if second and not _was_asked(second, notes):
        return second
    reads = _reads(asked, notes)
    nearest, further = reads[:MAX_READS], reads[MAX_READS:]
    if not _was_asked(nearest, notes):
        return nearest
    if not _was_asked(further, notes) and all(hits(term, notes) for term in asked.terms):
        return [] if best_passages(asked, notes) else further
    return []


def _searches(keywords: Iterable[str]) -> list[Wanted]:
    return [("grep_docs", {"keyword": keyword}) for keyword in dict.fromkeys(keywords)]


def _was_asked(calls: Iterable[Wanted], notes: Notes) -> bool:
    return any((name, to_text(arguments)) in notes.asked for name, arguments in calls)


def _reads(asked: Query, notes: Notes) -> list[Wanted]:
    """The surroundings of the places that promise most, best first, for two rounds."""
    places = _places(asked, notes)
    wanted: list[Wanted] = []
    times: Counter[str] = Counter()
    while places and len(wanted) < 2 * MAX_READS:
        path, line = min(places, key=lambda place: (-places[place] * AGAIN ** times[place[0]], place))
        start, end = max(1, line - BEFORE), line + AFTER
        if (document := notes.documents.get(path)) is not None:
            end = min(end, document.lines)
        wanted.append(("read_doc", {"path": path, "start": start, "end": end}))
        times[path] += 1
        read = range(start, start + SURELY_READ)
        places = {place: worth for place, worth in places.items() if place[0] != path or place[1] not in read}
    return wanted


def _places(asked: Query, notes: Notes) -> dict[Place, float]:
    """What each line with a hit promises, and the first line of each document with hits."""
    weights = weights_of(asked, notes)
    texts: dict[str, dict[int, str]] = {}
    for found in notes.searched.values():
        for path in found.paths:
            texts.setdefault(path, {})
        for hit in found.hits:
            texts[hit.path][hit.line] = prose([hit.text])
    places: dict[Place, float] = {}
    for path, lines in texts.items():
        promise = _promise(path, notes, weights)
        places[path, 1] = promise
        for line, text in lines.items():
            near = words("\n".join(lines.get(other, "") for other in range(line - 4, line + 5)))
            worth = promise + sum(
                weight * max(presence(term, words(text)), 0.7 * presence(term, near))
                for term, weight in weights.items()
            )
            places[path, line] = worth * (1.2 if text.startswith("#") else 1.0)
    return places


def _promise(path: str, notes: Notes, weights: Weights) -> float:
    """What a document promises by its name and by how often it has the words, those included that are only counted."""
    name = name_words(path, notes)
    named = sum(weight * presence(term, name) for term, weight in weights.items())
    held = 0.0
    for term, weight in weights.items():
        if (found := notes.searched.get(term.keyword)) is not None:
            held += weight * min(1.0, 0.2 * math.log2(1 + found.within(path)))
    return 0.6 * named + 0.5 * held


def _answer(asked: Query, notes: Notes) -> str:
    if not asked.terms:
        return f"I found no word in the question to search the documents for. {NOTE}"
    if not notes.searched:
        return f"I could not search the documents. {_first_error(notes)}\n{NOTE}"
    passages = best_passages(asked, notes)
    told = [term for term in asked.terms if not term.light] or asked.terms
    found = [term.text for term in told if hits(term, notes)]
    missing = [term.text for term in told if not hits(term, notes)]
    if not passages:
        return _nothing(missing, notes)
    nothing = f", and found nothing for {_quoted(missing)}" if missing else ""
    first = f"I searched the documents for {_quoted(found)}{nothing}. The best place is {_place(passages[0])}:"
    return "\n\n".join([first, *(_cited(passage, notes) for passage in passages), NOTE])


def _nothing(missing: list[str], notes: Notes) -> str:
    about = f" about {_quoted(missing)}" if missing else ""
    weak = "" if missing else " that answers this: no passage has enough of the question's words"
    lines = [f"I found nothing{about} in the documents{weak}.", f"I searched for: {_quoted(notes.searched)}."]
    if notes.errors:
        lines.append(_first_error(notes))
    return "\n".join([*lines, "", NOTE])


def _first_error(notes: Notes) -> str:
    return f"The first call that failed said: {notes.errors[0].splitlines()[0][:200]}" if notes.errors else ""


def _no_tools(tools: set[str]) -> str:
    have = f"only {', '.join(sorted(tools))}" if tools else "none"
    return f"I can only search documents, with the tools {' and '.join(NEEDED)}, and here I have {have}. {NOTE}"


def _cited(passage: Passage, notes: Notes) -> str:
    lines = notes.lines[passage.path]
    texts = (lines[number] for number in range(passage.span.start, passage.span.end + 1))
    return "\n".join([_place(passage), *(f"  {text}" if text else "" for text in texts)])


def _place(passage: Passage) -> str:
    start, end = passage.span.start, passage.span.end
    return f"{passage.path}:{start}-{end}" if end > start else f"{passage.path}:{start}"


def _quoted(texts: Iterable[str]) -> str:
    return ", ".join(f'"{text}"' for text in texts)


def _response(request: Request, *, content: str | None = None, calls: Iterable[Wanted] = ()) -> Response:
    made = tuple(
        ToolCall(f"call_{request.step}_{index}", name, to_json(arguments), step=request.step, index=index)
        for index, (name, arguments) in enumerate(calls)
    )
    message = Message(role="assistant", content=content, tool_calls=made)
    return Response(
        message=message,
        calls=made,
        usage=Usage(
            input=sum(_words(said) for said in request.messages), output=_words(message), cached=0, reasoning=0
        ),
        finish="tool_calls" if made else "stop",
        model="keyword",
    )


def _words(message: Message) -> int:
    """This model's tokens: words between white space."""
    return len((message.content or "").split()) + sum(
        len(f"{call.name} {call.arguments}".split()) for call in message.tool_calls
    )
