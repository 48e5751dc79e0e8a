"""The one sanitiser: what a model or a tool said, made safe to print.

No control character but tab and line end reaches a terminal, no bidirectional override, no invisible tag character,
no lone surrogate; each is shown as something visible instead. JSON keeps the values and escapes the characters.
"""

import json
import re
from typing import Any

_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_UNSAFE = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029{_BIDI}\ufff9-\ufffb\U000e0000-\U000e007f\ud800-\udfff]")
_UNSAFE_JSON = re.compile(f"[\x7f-\x9f\u2028\u2029{_BIDI}\ufff9-\ufffb\U000e0000-\U000e007f]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def visible(text: str) -> str:
    """`text` with everything that could act on a terminal made visible; a line end of two characters becomes one."""
    return _UNSAFE.sub(_shown, text.replace("\r\n", "\n"))


def one_line(text: str, size: int) -> str:
    """The first words of `text` on one line, at most `size` characters, with … where there is more."""
    line = " ".join(visible(text[: 4 * size + 4]).split())
    return line if len(line) <= size and len(text) <= 4 * size + 4 else line[: size - 1].rstrip() + "…"


def call_text(name: str, arguments: str) -> str:
    """A tool call as one would write it: `read_doc(path="a.md", start=3)`; the raw text where it is no JSON object."""
    try:
        pairs = json.loads(arguments or "{}").items()
        inner = ", ".join(f"{key}={json.dumps(item, ensure_ascii=False)}" for key, item in pairs)
    except (AttributeError, ValueError, RecursionError):
        inner = arguments
    return visible(f"{name}({inner})").replace("\n", "\N{SYMBOL FOR LINE FEED}")


def json_text(value: Any) -> str:
    """JSON that a strict parser takes, with what could act on a terminal escaped. `value` has plain types only.

    What Unicode cannot hold becomes U+FFFD, and "replaced" in the object says how often, if at all.
    """
    text = json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False)
    text, replaced = _SURROGATE.subn("\ufffd", text)
    if replaced and isinstance(value, dict):
        text = text.replace("{", f'{{\n  "replaced": {replaced},', 1)
    return harmless_json(text)


def json_line(value: Any) -> str:
    """As `json_text`, on one line."""
    text = _SURROGATE.sub("\ufffd", json.dumps(value, ensure_ascii=False, allow_nan=False))
    return harmless_json(text)


def harmless_json(text: str) -> str:
    """JSON text that stands for the same, with what could act on a terminal escaped."""
    return _UNSAFE_JSON.sub(_escaped, text)


def _shown(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\N{SYMBOL FOR DELETE}"
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def _escaped(match: re.Match[str]) -> str:
    units = match.group().encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
