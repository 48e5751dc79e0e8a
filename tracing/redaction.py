"""Secrets are taken out of every text before it is stored.

A secret becomes `[redacted:KIND#N]`, and the same secret the same marker throughout a run, so that a record still says
where one value went. The marker tells nothing of the value, not even its length, and is never redacted itself.

A default pattern is a well-known beginning and a shape, never a word such as "password" beside a value: a record that
lost half of its prose is no record. It takes no quote, and no backslash without what that escapes, so that JSON stays
JSON. Almost every text holds no secret, and is told so by hints: what stands in a text that is worth a pattern's time.
"""

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from agent.canonical import encodable

VERSION = 1
MAX_CUTS = 1000
"""Cut results that a policy remembers."""
MAX_PASSES = 8
"""A marker uncovers what its secret hid from a pattern beside it; only odd own patterns need more than two looks."""

_MARKER = re.compile(r"\[redacted:[a-z][a-z0-9_]{0,30}#([0-9]{1,15})\]")
_KIND = re.compile(r"[a-z][a-z0-9_]{0,30}")
_ESCAPE = re.compile(r'\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt])')


def _word(prefixes: str, body: str) -> str:
    """One of `prefixes` and `body`, where a word begins: no "risk-free", no "my-sk-". An escape is no word.

    A prefix begins with two plain letters, to which `re` runs, and which it finds before it looks behind. The body takes
    all that cannot stand before a word, so that a long run is looked at only once.
    """
    begins = r"(?:(?<![\w-]..)|(?<=\\[bfnrt]..)|(?<=\\u[0-9a-fA-F]{4}..)|(?<=%[0-9A-F]{2}..))"
    return "|".join(f"{prefix[:2]}{begins}{prefix[2:]}{body}" for prefix in prefixes.split())


_REAL = r"(?![\w-]{0,99}(?:x{6}|X{6}))"  # no sk-xxxxxxxxxxxxxxxxxxxx
_DIGIT = r"(?=[\w%-]{0,99}[0-9])"  # for where hyphens may join words
_UNDERSCORED = "|".join((
    _word(
        "do[opr]_v1 gh[pousr](?:_[0-9]+)? glsa gsk hf lin_api lsv2_(?:pt|sk) npm ntn r8 rk_(?:live|prod|test) sbp "
        "shp(?:at|ca|pa|ss) sk_(?:live|prod|test) whsec",
        rf"_{_REAL}[A-Za-z0-9]{{24,}}[\w-]*(?:\.eyJ[\w-]+\.[\w-]+)?",
    ),
    _word("dckr github", rf"_pat_{_REAL}{_DIGIT}[\w-]{{22,}}"),
))  # fmt: skip
_HYPHENATED = "|".join((
    _word("sk", rf"-(?:admin|ant|lf|or|proj|svcacct)-{_REAL}{_DIGIT}[\w-]{{16,}}"),
    _word("sk", rf"-(?:[a-z][a-z0-9]{{0,9}}-){{0,2}}{_REAL}(?=[A-Za-z]{{0,99}}[0-9])[A-Za-z0-9]{{20,}}[\w-]*"),
    _word(
        "GOCSPX gl(?:agent|cbt|dt|ft|imt|oas|pat|ptt|rt|soat) nvapi tskey tvly xapp xox[a-z]",
        rf"-{_REAL}{_DIGIT}[\w%-]{{16,}}(?:\.[0-9a-z]{{2}}\.[0-9a-z]{{7,9}})?",
    ),
    _word("csk fc pplx pul xai xkeysib", rf"-{_REAL}(?=[A-Za-z]{{0,99}}[0-9])[A-Za-z0-9]{{32,}}[\w-]*"),
    _word("pypi", rf"-{_DIGIT}[\w-]{{50,}}"),
))  # fmt: skip
_GOOGLE_OR_AWS = _word("AIza", r"[\w-]{30,}") + "|" + _word("AKIA ASIA", r"[A-Z0-9]{16}(?![A-Za-z0-9])")
_NAMED = r"[^\w+/]{1,10}(?P<secret>(?:[A-Za-z0-9+/]|\\/|\\u002[bB]){40})(?![A-Za-z0-9+/=])"  # a secret key of AWS
_SENDGRID = _word("SG", r"\.[\w-]{16,}\.[\w-]{16,}")
_JWT = _word("eyJ", r"[\w-]{8,}(?:\.eyJ[\w-]{8,}(?:\.[\w-]+)?|(?:\.[\w-]*){4})")
# Up to the last @ before a slash, because a password may hold one that nobody encoded. A template is no password.
_LOGIN = (
    r""":(?://|\\/\\/)[^\s:/"'`<>\\]*:(?!\$?\{[\w.]*\}@|\*+@)(?P<secret>(?:[^\s/"'`<>\\]|\\\\|\\u[0-9a-fA-F]{4})+)@"""
)
_BEARER = (
    r"\b[Bb]earer +(?=[A-Za-z._~+/-]*(?:[0-9]|[a-z][A-Z]))"
    r"(?P<secret>(?:[\w.~+/=-]|\\/|\\u002[bB]){15,}[\w~+/=-])"
)
# Without its end a key goes on to the end of the text, the next quote or bracket. 32 such characters are no prose.
_PEM = r"""(?:[^"'`\[\\-]|-(?!----)|\\++(?!["'`]))"""
_PRIVATE_KEY = (
    rf"-----BEGIN [A-Z0-9 ]{{0,40}}PRIVATE KEY(?: BLOCK)?-----(?={_PEM}{{0,400}}?[A-Za-z0-9+/=]{{32}})"
    rf"{_PEM}*+(?:-----END [A-Z0-9 ]{{0,40}}PRIVATE KEY(?: BLOCK)?-----)?"
)

Hint = Callable[[str], object]
Rules = tuple[tuple[str, re.Pattern[str]], ...]
"""Kinds, and how their secrets look."""


def _search(pattern: str) -> Hint:
    return re.compile(pattern, re.ASCII).search


def _rules(*rules: tuple[str, str]) -> Rules:
    return tuple((kind, re.compile(pattern, re.ASCII)) for kind, pattern in rules)


_EYJ = _search(r"J(?<=eyJ)[\w-]{8}")
_UNENCLOSED_AT = _search(r"""@(?<=[^\s/"'`<>]@)""")
# One letter and then a group: `re` runs to the letter, 1 us for 3,000 characters. `in` takes 2 us for a short word, but
# next to nothing for one letter, and a pattern that begins with one of several letters takes 20 us.
_DEFAULTS: tuple[tuple[Hint, Rules], ...] = (
    (
        _search(r"_(?:[A-Za-z0-9]{16}|pat_|access_key|ACCESS_KEY)"),
        _rules(("api_key", _UNDERSCORED), ("api_key", rf"_(?:access_key|ACCESS_KEY){_NAMED}")),
    ),
    (
        _search(r"-(?:(?<=\w-)[\w%-]{16}|----BEGIN|access-key)"),
        _rules(("api_key", _HYPHENATED), ("private_key", _PRIVATE_KEY), ("api_key", rf"-(?:access-key){_NAMED}")),
    ),
    (_search(r"A(?:Iza|[KS]IA|ccessKey)"), _rules(("api_key", _GOOGLE_OR_AWS), ("api_key", rf"A(?:ccessKey){_NAMED}"))),
    (_search(r"S(?:G\.[\w-]{16})"), _rules(("api_key", _SENDGRID))),
    (lambda text: "J" in text and _EYJ(text), _rules(("jwt", _JWT))),
    (lambda text: "@" in text and _UNENCLOSED_AT(text), _rules(("password", _LOGIN))),
    (lambda text: "earer " in text, _rules(("bearer", _BEARER))),
)


class Span(NamedTuple):
    """Where a secret stands, or as much of it as was not cut off."""

    start: int
    end: int
    kind: str
    secret: str


class Redaction:
    """A policy: which kinds of secrets are taken out."""

    def __init__(self, patterns: Mapping[str, str] | None = None, *, defaults: bool = True) -> None:
        """`patterns` are own ones by kind; a group named "secret" says which part of a match is the secret. What they
        take of the JSON around a secret is lost. Raises ValueError."""
        self._patterns = dict(patterns or {})
        self._defaults = defaults
        own = tuple((kind, _compiled(kind, pattern)) for kind, pattern in self._patterns.items())
        self._groups = (((lambda _: True), own),) * bool(own) + _DEFAULTS * defaults
        self._cuts: dict[str, tuple[Span, ...]] = {}
        self._lock = threading.Lock()  # the cuts, which all runs of a recorder share

    def for_run(self) -> "Redactor":
        return Redactor(self)

    def to_plain(self) -> dict[str, Any]:
        own = {"patterns": dict(self._patterns)} if self._patterns else {}
        return {"version": VERSION, **own, **({} if self._defaults else {"defaults": False})}

    @classmethod
    def from_plain(cls, value: Mapping[str, Any]) -> "Redaction":
        """Raises ValueError."""
        version, patterns, defaults = value.get("version"), value.get("patterns", {}), value.get("defaults", True)
        if version != VERSION:
            raise ValueError(f"a redaction of version {version!r} cannot be read: use the version that wrote it")
        if not isinstance(patterns, Mapping) or not isinstance(defaults, bool):
            raise ValueError("a redaction needs an object of patterns by kind, and true or false for defaults")
        return cls(patterns, defaults=defaults)

    def find(self, text: str) -> list[Span]:
        """The secrets in `text`, kind by kind; they may overlap."""
        found: list[Span] = []
        for hint, rules in self._groups:
            if hint(text):
                for kind, pattern in rules:
                    found += [Span(start, end, kind, text[start:end]) for start, end in _found(pattern, text)]
        return found

    def remember(self, shown: str, cut: tuple[Span, ...]) -> None:
        with self._lock:
            self._cuts[shown] = cut
            if len(self._cuts) > MAX_CUTS:
                del self._cuts[next(iter(self._cuts))]

    def remembered(self, text: str) -> tuple[Span, ...]:
        """The secrets in a text that only the whole of it told."""
        return self._cuts.get(text, ()) if self._cuts else ()


class Redactor:
    """Redacts the texts of one run; the same secret gets the same marker throughout the run."""

    def __init__(self, policy: Redaction) -> None:
        self._policy = policy
        self._markers: dict[str, str] = {}
        self._highest = 0
        self._lock = threading.Lock()  # the numbers: tools in threads are recorded too

    @property
    def count(self) -> int:
        """Distinct secrets that were replaced so far."""
        return len(self._markers)

    def text(self, text: str) -> str:
        """`text` without its secrets, and the very same object where it has none."""
        cut = self._policy.remembered(text)
        if "#" in text and "[redacted:" in text:
            with self._lock:
                self._highest = max([self._highest, *(int(marker[1]) for marker in _MARKER.finditer(text))])
        for _ in range(MAX_PASSES):
            found = self._policy.find(text)
            if not found and not cut:
                break
            with self._lock:
                text = "".join(self._parts(text, _merged(text, [*cut, *found])))
            cut = ()
        return text

    def cut(self, shown: str, whole: str) -> tuple[str, str]:
        """A result as the model saw it, and whole. A secret that the cut went through is known from the whole, and
        what stands of it in `shown` gets its marker: now, and wherever this `shown` is redacted later."""
        redacted = self.text(whole)
        if redacted is whole or shown == whole:
            return self.text(shown), redacted
        source = encodable(whole)  # what `shown` is the beginning of
        ends = (at for at, (one, other) in enumerate(zip(shown, source)) if one != other)
        cut = tuple(_clipped(self._policy.find(source), shown, next(ends, min(len(shown), len(source)))))
        if cut:
            self._policy.remember(shown, cut)
        return self.text(shown), redacted

    def _parts(self, text: str, spans: Iterable[Span]) -> Iterator[str]:
        end = 0
        for span in spans:
            if span.secret not in self._markers:
                self._highest += 1
                self._markers[span.secret] = f"[redacted:{span.kind}#{self._highest}]"
            yield text[end : span.start]
            yield self._markers[span.secret]
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
    for marker in [*_MARKER.finditer(text), None]:
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
