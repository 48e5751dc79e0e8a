"""Secrets are taken out of every text before it is stored.

A secret becomes `[redacted:KIND#N]`, and the same secret the same marker throughout a run, so that a record still says
where one value went. The marker tells nothing of the value, not even its length, and is never redacted itself.

A default pattern is a well-known beginning and a shape, never a word such as "password" beside a value: a record that
lost half of its prose is no record. It takes no quote, and no backslash without what that escapes, so that JSON stays
JSON. Almost every text holds no secret, and is told so by hints: what stands in a text that is worth a pattern's time.
"""

import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from agent.canonical import encodable
from tracing.secret_kinds import DEFAULTS, Group

VERSION = 2
"""2: also numbers and keys of JSON."""
MAX_CUTS = 1000
"""Cut results that a policy remembers."""
MAX_PASSES = 8
"""A marker uncovers what its secret hid from a pattern beside it; only odd own patterns need more than two looks."""

MARKER = re.compile(r"\[redacted:[a-z][a-z0-9_]{0,30}#([0-9]{1,15})\]")
_KIND = re.compile(r"[a-z][a-z0-9_]{0,30}")
_ESCAPE = re.compile(r'\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt])')


class Span(NamedTuple):
    """Where a secret stands, or as much of it as was not cut off."""

    start: int
    end: int
    kind: str
    secret: str


class Redaction:
    """A policy: which kinds of secrets are taken out."""

    def __init__(self, patterns: Mapping[str, str] | None = None, *, defaults: bool = True) -> None:
        """`patterns` are own ones by kind; a group named "secret" says which part of a match is the secret. Raises
        ValueError."""
        self.version = VERSION
        """Of the rules; a record is replayed with those that it was made with."""
        self._patterns = dict(patterns or {})
        self._defaults = defaults
        own = tuple((kind, _compiled(kind, pattern)) for kind, pattern in self._patterns.items())
        self._groups: tuple[Group, ...] = (("", bool, own),) * bool(own) + DEFAULTS * defaults
        self.cuts: dict[str, tuple[Span, ...]] = {}
        """The secrets in a text that only the whole of it told."""
        self._lock = threading.Lock()  # the cuts, which all runs of a recorder share

    def for_run(self) -> "Redactor":
        return Redactor(self)

    def to_plain(self) -> dict[str, Any]:
        """What a record says of the policy. Own patterns by their kinds only: one may be the secret itself."""
        own = {"kinds": sorted(self._patterns)} if self._patterns else {}
        return {"version": self.version, **own, **({} if self._defaults else {"defaults": False})}

    @classmethod
    def from_plain(cls, value: Mapping[str, Any], own: "Redaction | None" = None) -> "Redaction":
        """The policy that a record was made with; `own` has the patterns of its own kinds. Raises ValueError, which says
        what is missing."""
        if not isinstance(value, Mapping):
            raise ValueError("a redaction must be an object")
        version, kinds, defaults = value.get("version"), value.get("kinds", []), value.get("defaults", True)
        if version not in (1, VERSION):
            raise ValueError(f"a redaction of version {version!r} cannot be read: use the version that wrote it")
        if not isinstance(kinds, list) or not isinstance(defaults, bool):
            raise ValueError("a redaction needs a list of kinds, and true or false for defaults")
        known = {} if own is None else own._patterns
        if missing := [str(kind) for kind in kinds if kind not in known]:
            raise ValueError(
                f"it was redacted with patterns of your own, which are needed: {', '.join(missing)} (redact=, or [tool.playhead.redact])"
            )
        policy = cls({kind: known[kind] for kind in kinds}, defaults=defaults)
        policy.version = version
        return policy

    def find(self, text: str) -> list[Span]:
        """The secrets in `text`, kind by kind; they may overlap."""
        found: list[Span] = []
        for sign, hint, rules in self._groups:
            if sign in text and hint(text):
                for kind, pattern in rules:
                    found += [Span(start, end, kind, text[start:end]) for start, end in _found(pattern, text)]
        return found

    def remember(self, shown: str, cut: tuple[Span, ...]) -> None:
        with self._lock:
            self.cuts[shown] = cut
            if len(self.cuts) > MAX_CUTS:
                del self.cuts[next(iter(self.cuts))]


class Redactor:
    """Redacts the texts of one run; the same secret gets the same marker throughout the run."""

    def __init__(self, policy: Redaction) -> None:
        self._policy = policy
        self._plain = ""
        """The last text that had no secret."""
        self._markers: dict[str, str] = {}
        self._highest = 0
        self._lock = threading.Lock()  # the numbers: tools in threads are recorded too

    @property
    def count(self) -> int:
        """Distinct secrets that were replaced so far."""
        return len(self._markers)

    @property
    def numbers(self) -> bool:
        """Whether a number in JSON may be a secret; see `tracing.cleaning`."""
        return self._policy.version > 1

    def __call__(self, text: str) -> str:
        """`text` without its secrets, and the very same object where it has none."""
        cut = self._policy.cuts.get(text, ()) if self._policy.cuts else ()
        if text is self._plain and not cut:
            return text
        if "#" in text and "[redacted:" in text:
            with self._lock:
                self._highest = max([self._highest, *(int(marker[1]) for marker in MARKER.finditer(text))])
        for _ in range(MAX_PASSES):
            found = self._policy.find(text)
            if not found and not cut:
                self._plain = text
                break
            with self._lock:
                text = "".join(self._parts(text, _merged(text, [*cut, *found])))
            cut = ()
        return text

    def cut(self, shown: str, whole: str) -> tuple[str, str]:
        """A result as the model saw it, and whole. A secret that the cut went through is known from the whole, and
        what stands of it in `shown` gets its marker: now, and wherever this `shown` is redacted later."""
        redacted = self(whole)
        if shown is whole:
            return redacted, redacted
        if redacted is whole or shown == whole:
            return self(shown), redacted
        source = encodable(whole)  # what `shown` is the beginning of
        ends = (at for at, (one, other) in enumerate(zip(shown, source)) if one != other)
        cut = tuple(_clipped(self._policy.find(source), shown, next(ends, min(len(shown), len(source)))))
        if cut:
            self._policy.remember(shown, cut)
        return self(shown), redacted

    def _parts(self, text: str, spans: Iterable[Span]) -> Iterator[str]:
        end = 0
        for span in spans:
            secret = encodable(span.secret)  # what is sent of it is the same secret
            if secret not in self._markers:
                self._highest += 1
                self._markers[secret] = f"[redacted:{span.kind}#{self._highest}]"
            yield text[end : span.start]
            yield self._markers[secret]
            end = span.end
        yield text[end:]


def _compiled(kind: str, pattern: str) -> re.Pattern[str]:
    if not _KIND.fullmatch(kind):
        raise ValueError(
            f"{kind!r} cannot name a kind of secrets: give up to 31 of a-z, 0-9 and _, a letter first, as in customer_id"
        )
    try:
        compiled = re.compile(pattern)
    except (re.error, TypeError, OverflowError, RecursionError) as error:
        raise ValueError(f"the pattern for {kind} is no regular expression ({error}): correct {pattern!r}") from error
    if compiled.search(""):
        raise ValueError(f"the pattern for {kind} matches the empty text: make {pattern!r} ask for a character")
    return compiled


def _found(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    """Where secrets stand, between markers; with no escape split in two, and no white space at the end."""
    group = "secret" if "secret" in pattern.groupindex else 0
    at = 0
    for marker in [*MARKER.finditer(text), None]:
        for match in pattern.finditer(text, at, marker.start() if marker else len(text)):
            start, end = match.span(group) if match.start(group) >= 0 else match.span()
            start = _escape(text, start)[1]
            end = _trimmed(text, start, _escape(text, end)[0])
            if start < end:
                yield start, end
        at = marker.end() if marker else at


def _escape(text: str, at: int) -> tuple[int, int]:
    """The escape that `at` stands in the middle of; `at` twice where there is none.

    A backslash that is itself escaped counts too: in JSON within JSON it makes an escape.
    """
    begin = text.rfind("\\", max(at - 5, 0), at)
    escape = _ESCAPE.match(text, begin) if begin >= 0 else None
    return escape.span() if escape and escape.end() > at else (at, at)


def _trimmed(text: str, start: int, end: int) -> int:
    return start + len(text[start:end].rstrip())


def _clipped(spans: Iterable[Span], shown: str, common: int) -> Iterator[Span]:
    """What stands of `spans` in the first `common` characters; the line end before the note about a cut is not theirs."""
    for span in spans:
        end = _trimmed(shown, span.start, min(span.end, common))
        if span.start < end:
            yield span._replace(end=end)


def _merged(text: str, spans: Iterable[Span]) -> list[Span]:
    """`spans` in order, those that overlap as one: of the kind that begins first, is longest, or was given first."""
    merged: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if not merged or span.start >= merged[-1].end:
            merged.append(span)
        elif span.end > merged[-1].end:
            last = merged[-1]
            merged[-1] = Span(last.start, span.end, last.kind, text[last.start : span.end])
    return merged
