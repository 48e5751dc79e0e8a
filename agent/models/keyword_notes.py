"""What a run's history says: what was searched for and found, and what was read.

The model keeps no state, so at each step it reads its own earlier calls and their results back from the messages.
What is no such call or no such result (an error, another tool, broken arguments) is passed over.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent.arguments import Unusable, parse
from agent.canonical import to_text
from agent.messages import Message

_HIT = re.compile(r"(.+?):(\d+): (.*)")
_MORE = re.compile(r"\.\.\. and (\d+) more hits: (.*)")
_COUNT = re.compile(r"(.+?) (\d+)(?:, |$)")
_NUMBERED = re.compile(r"(\d+): ?(.*)")
_ENTRY = re.compile(r"(.+?) \((\d+) lines?\)(?:: (.*))?")


@dataclass(frozen=True, slots=True)
class Hit:
    path: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Found:
    """What one search gave."""

    hits: tuple[Hit, ...]
    more: Mapping[str, int] = field(default_factory=dict)
    """Hits by path that are only counted."""

    @property
    def count(self) -> int:
        return len(self.hits) + sum(self.more.values())

    @property
    def paths(self) -> frozenset[str]:
        return frozenset(hit.path for hit in self.hits) | self.more.keys()

    def within(self, path: str) -> int:
        return sum(hit.path == path for hit in self.hits) + self.more.get(path, 0)


NOT_FOUND = Found(())


@dataclass(frozen=True, slots=True)
class Document:
    lines: int
    title: str


@dataclass(frozen=True, slots=True)
class Notes:
    question: str
    searched: Mapping[str, Found]
    """By keyword, the searches that were answered."""
    documents: Mapping[str, Document]
    lines: Mapping[str, Mapping[int, str]]
    """The lines that were read, by path and number."""
    asked: frozenset[tuple[str, str]]
    """Tool and arguments, as canonical text, of every call, answered or not."""
    errors: tuple[str, ...]


def take_notes(messages: Sequence[Message]) -> Notes:
    """The last user message is the question, and what follows is the run; earlier turns do not count."""
    start = max((at for at, message in enumerate(messages) if message.role == "user"), default=-1)
    run = messages[start + 1 :] if start >= 0 else ()
    searched: dict[str, Found] = {}
    documents: dict[str, Document] = {}
    lines: dict[str, dict[int, str]] = {}
    asked: set[tuple[str, str]] = set()
    errors: list[str] = []
    for name, arguments, result in _answered_calls(run):
        subject = str(arguments.get("keyword") or arguments.get("path") or "")
        asked.add((name, to_text(arguments)))
        if result is None:
            continue
        if result.startswith("Error: "):
            errors.append(result)
        elif name == "grep_docs":
            searched[subject] = _found(result)
        elif name == "read_doc":
            lines.setdefault(subject, {}).update(_lines(result))
        elif name == "list_docs":
            documents.update(_documents(result))
    return Notes(
        question=(messages[start].content or "") if start >= 0 else "",
        searched=searched,
        documents=documents,
        lines=lines,
        asked=frozenset(asked),
        errors=tuple(errors),
    )


def _answered_calls(run: Sequence[Message]) -> Iterator[tuple[str, Mapping[str, Any], str | None]]:
    """Tool, arguments and result; call ids are only unique within one message."""
    for at, message in enumerate(run):
        results: dict[str | None, str] = {}
        for answer in run[at + 1 :]:
            if answer.role != "tool":
                break
            results.setdefault(answer.tool_call_id, answer.content or "")
        for call in message.tool_calls:
            try:
                arguments = parse(call.arguments)
            except Unusable:
                arguments = {}
            yield call.name, arguments, results.get(call.id)


def _found(result: str) -> Found:
    hits: list[Hit] = []
    more: dict[str, int] = {}
    for line in result.split("\n"):
        if (rest := _MORE.fullmatch(line)) is not None:
            more.update({path: int(count) for path, count in _COUNT.findall(rest[2])})
        elif (hit := _HIT.fullmatch(line)) is not None:
            hits.append(Hit(hit[1], int(hit[2]), hit[3]))
    return Found(tuple(hits), more)


def _lines(result: str) -> dict[int, str]:
    found = [match for line in result.split("\n") if (match := _NUMBERED.fullmatch(line)) is not None]
    if "\n[cut: " in result and len(found) > 1:
        found.pop()  # it may be cut itself
    return {int(match[1]): match[2] for match in found}


def _documents(result: str) -> dict[str, Document]:
    entries = [match for line in result.split("\n") if (match := _ENTRY.fullmatch(line)) is not None]
    return {match[1]: Document(int(match[2]), match[3] or "") for match in entries}
