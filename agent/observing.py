"""From what a tool returned to what the model reads.

A string is passed on as it is. None, numbers, booleans, lists, dicts, dataclasses and pydantic models
become canonical JSON (None is `null`, not nothing), bytes are read as UTF-8 with `\\xNN` for what is not, and
anything else is its `str`. A long result is cut for the model, never for the record.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agent.canonical import encodable, plain_text, to_plain
from agent.values import Observation

MAX_CHARS = 3000
"""What the model gets to read of one result, the line about the cut included."""


_CUT = "\n[cut: the first "
ReadOn = Callable[[str, str], str | None]
"""From what is shown of a result and the whole of it to the call that reads on; None where there is none."""


@dataclass(frozen=True, slots=True)
class Unfinished:
    """The first items of a result that has more."""

    items: list[Any]


def observe(value: Any, max_chars: int = MAX_CHARS, read_on: ReadOn | None = None) -> Observation:
    whole = as_text(value)
    sendable = encodable(whole)
    shown = cut(sendable, max_chars, read_on)
    return Observation(shown=shown, whole=whole, truncated=shown is not sendable or isinstance(value, Unfinished))


def as_text(value: Any) -> str:
    if type(value) is str:
        return value
    if isinstance(value, Unfinished):  # the note comes first, where no cut takes it away
        note = f"[the first {len(value.items):,} items; there are more, which were not asked for: ask for less]"
        return f"{note}\n{as_text(value.items)}"
    plain = to_plain(value)
    return plain if isinstance(plain, str) else plain_text(plain)


def cut(whole: str, max_chars: int, read_on: ReadOn | None = None) -> str:
    """`whole` if it fits, else its beginning, cut after a line where one ends in the second half of it, and a last
    line that says how long the whole was and, with `read_on`, how to read on. At most `max_chars` in all."""
    if len(whole) <= max_chars:
        return whole
    # The note is longest where the most is shown, so a note for `max_chars` tells how much room there is.
    room = max_chars - len(_note(max_chars, whole, read_on, whole[:max_chars])) - 1
    kept = whole[: max(room, 0)]
    line_end = kept.rfind("\n")
    if line_end > len(kept) // 2:
        kept = kept[:line_end]
    return f"{kept}\n{_note(len(kept), whole, read_on, kept)}"[:max_chars]


def shown_chars(shown: str) -> int:
    """How much of the whole the model saw of a result that was cut, as the line about the cut says: what is kept of it may
    be longer or shorter, because secrets were taken out."""
    kept, cut_off, told = shown.rpartition(_CUT)
    count = told.partition(" ")[0].replace(",", "")
    return int(count) if cut_off and count.isdecimal() else len(kept or shown)


def kept_of(shown: str) -> str:
    """A result that was cut, without the line about the cut."""
    kept, cut_off, _ = shown.rpartition(_CUT)
    return kept if cut_off else shown


def _note(shown: int, whole: str, read_on: ReadOn | None, kept: str) -> str:
    hint = _hint(read_on, kept, whole) if read_on is not None else None
    more = f"; read on with {encodable(hint)}" if hint else ""
    return f"{_CUT[1:]}{shown:,} of {len(whole):,} characters{more}]"


def _hint(read_on: ReadOn, kept: str, whole: str) -> str | None:
    try:
        hint = read_on(kept, whole)
    except Exception:  # noqa: BLE001 - it is a user's own, and the result is worth more than its hint
        return None
    return hint if isinstance(hint, str) else None
