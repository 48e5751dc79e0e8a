"""How secrets look: the default kinds of `tracing.redaction`, each a well-known beginning and a shape.

Before each group of patterns stand a sign and a hint: what must be in a text for them to be worth their time.
"""

import re
from collections.abc import Callable


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
Group = tuple[str, Hint, Rules]
"""What is looked for in a text, each only where the one before was found: a sign, a hint, secrets."""


def _search(pattern: str) -> Hint:
    return re.compile(pattern, re.ASCII).search


def _rules(*rules: tuple[str, str]) -> Rules:
    return tuple((kind, re.compile(pattern, re.ASCII)) for kind, pattern in rules)


# One letter and then a group: `re` runs to the letter, 1 us for 3,000 characters. `in` takes 2 us for a short word, but
# next to nothing for one letter, and a pattern that begins with one of several letters takes 20 us.
DEFAULTS: tuple[Group, ...] = (
    (
        "_",
        _search(r"_(?:[A-Za-z0-9]{16}|pat_|access_key|ACCESS_KEY)"),
        _rules(("api_key", _UNDERSCORED), ("api_key", rf"_(?:access_key|ACCESS_KEY){_NAMED}")),
    ),
    (
        "-",
        _search(r"-(?:(?<=\w-)[\w%-]{16}|----BEGIN|access-key)"),
        _rules(("api_key", _HYPHENATED), ("private_key", _PRIVATE_KEY), ("api_key", rf"-(?:access-key){_NAMED}")),
    ),
    (
        "A",
        _search(r"A(?:Iza|[KS]IA|ccessKey)"),
        _rules(("api_key", _GOOGLE_OR_AWS), ("api_key", rf"A(?:ccessKey){_NAMED}")),
    ),
    ("S", _search(r"S(?:G\.[\w-]{16})"), _rules(("api_key", _SENDGRID))),
    ("J", _search(r"J(?<=eyJ)[\w-]{8}"), _rules(("jwt", _JWT))),
    ("@", _search(r"""@(?<=[^\s/"'`<>]@)"""), _rules(("password", _LOGIN))),
    ("earer ", bool, _rules(("bearer", _BEARER))),
)
