"""Reading the corpus: which files there are, and which blocks of code stand in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

CORPUS = Path(__file__).resolve().parents[2] / "data" / "httpx-docs"
NAMES = tuple(sorted(path.relative_to(CORPUS).as_posix() for path in CORPUS.rglob("*.md")))

_FENCE = re.compile(r"^```(\w*)\s*$")
_NOT_RUN = re.compile(r"^<!-- not run: (.+) -->$")


@dataclass(frozen=True)
class Block:
    """A fenced block of code: `line` is the number of its first line of code in the file."""

    language: str
    line: int
    source: str
    not_run_because: str | None


def text_of(name: str) -> str:
    """The text of one document of the corpus."""
    return (CORPUS / name).read_text(encoding="utf-8")


def blocks_in(text: str) -> list[Block]:
    """All the fenced blocks of a document, in order."""
    blocks: list[Block] = []
    language: str | None = None
    reason: str | None = None
    start = 0
    lines = text.splitlines()
    for number, line in enumerate(lines, start=1):
        fence = _FENCE.match(line)
        if fence and language is None:
            language, start = fence[1], number + 1
            marked = _NOT_RUN.match(lines[number - 2]) if number > 1 else None
            reason = marked[1] if marked else None
        elif fence and language is not None:
            source = "\n".join(lines[start - 1 : number - 1]) + "\n"
            blocks.append(Block(language, start, source, reason))
            language = None
    if language is not None:
        raise ValueError(f"the block that starts at line {start} has no end")
    return blocks
