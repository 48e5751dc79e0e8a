"""A phrase in a line of text: whether it stands there, and the part of the line around it."""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from itertools import accumulate

MAX_HIT_CHARS = 100

_CLUSTERS = re.compile(r"\s+|\S[\u0300-\u036f]*")
"""Blanks, or a character with the accents that follow it."""


def folded(text: str) -> str:
    """Text as it is compared: upper and lower case, kinds of blanks, and forms of one character alike."""
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def clipped(line: str, needle: str) -> str:
    """At most 100 characters of a line, with the folded `needle` that stands in it among them."""
    if len(line) <= MAX_HIT_CHARS:
        return line
    # A very long line is narrowed to where the hit is before its characters are counted.
    words = r"\s+".join(re.escape(word) for word in needle.split())
    if len(line) > 10 * MAX_HIT_CHARS and (hit := re.search(words, line, re.IGNORECASE)):
        start = max(hit.start() - MAX_HIT_CHARS, 0)
        inner = line[start : hit.end() + 2 * MAX_HIT_CHARS]
        text = clipped(inner, needle)
        return text if text.startswith("…") or not start else "…" + text[1:]
    # Folding can make two characters of one and one of two, so the place of the hit is counted in what it folds.
    clusters = list(_CLUSTERS.finditer(line))
    texts = [" " if cluster[0].isspace() else folded(cluster[0]) for cluster in clusters]
    ends = list(accumulate(map(len, texts)))
    folded_at = max("".join(texts).find(needle), 0)
    at = clusters[bisect_right(ends, folded_at)].start()
    end = clusters[min(bisect_left(ends, folded_at + len(needle)), len(ends) - 1)].end()
    start = 0
    if end > MAX_HIT_CHARS - 1:
        start = max(0, min(at - 20, len(line) - MAX_HIT_CHARS), end + 1 - MAX_HIT_CHARS)
        start = min(start, at - 1) if at else 0
    left, right = ("…" if start else ""), ("…" if start + MAX_HIT_CHARS < len(line) else "")
    return left + line[start + len(left) : start + MAX_HIT_CHARS - len(right)] + right
