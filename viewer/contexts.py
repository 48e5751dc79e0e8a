"""What a model read before a step, and what changed between two steps."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent.observing import shown_chars
from tracing.reader import Row
from tracing.store import Request


@dataclass(frozen=True, slots=True)
class Cut:
    """A tool result that the model did not see whole, in characters."""

    shown: int
    whole: int


@dataclass(frozen=True, slots=True)
class Change:
    """`kind` is added, dropped or changed; positions count from 1 in the context that holds the message."""

    kind: str
    position: int
    message: Row
    before: Row | None = None
    """Of a changed message: what stood there before."""
    cut: Cut | None = None


@dataclass(frozen=True, slots=True)
class ContextDiff:
    same: int
    """Messages at the beginning that both contexts share."""
    changes: tuple[Change, ...]
    tools_changed: bool
    settings_changed: bool


def cuts(messages: Sequence[Row], tool_calls: Sequence[Row]) -> dict[int, Cut]:
    """The tool results among `messages` that were cut, by position from 0."""
    known = {
        (call["call_id"], call["result"]): Cut(shown_chars(call["result"]), call["result_chars"])
        for call in tool_calls
        if call["truncated"] and call["result"] is not None
    }
    found = {}
    for position, message in enumerate(messages):
        content = message.get("content")
        cut = known.get((message.get("tool_call_id"), content)) if isinstance(content, str) else None
        if message["role"] == "tool" and cut is not None:
            found[position] = cut
    return found


def diff(before: Request, after: Request, cut: Mapping[int, Cut]) -> ContextDiff:
    """What `after` has that `before` has not, and the other way round; `cut` are the cuts of `after`.

    A common beginning is known by one hash; the rest is aligned by role and content.
    """
    same = 0
    for one, other in zip(before.hashes, after.hashes, strict=False):
        if one != other:
            break
        same += 1
    old, new = before.messages[same:], after.messages[same:]
    changes: list[Change] = []
    matcher = difflib.SequenceMatcher(None, [repr(row) for row in old], [repr(row) for row in new], autojunk=False)
    for kind, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        if kind == "equal":
            continue
        pairs = min(old_to - old_from, new_to - new_from)
        for offset in range(max(old_to - old_from, new_to - new_from)):
            at_old, at_new = old_from + offset, new_from + offset
            if offset < pairs and old[at_old]["role"] == new[at_new]["role"]:
                change = Change("changed", same + at_new + 1, new[at_new], old[at_old], cut.get(same + at_new))
                changes.append(change)
                continue
            if at_old < old_to:
                changes.append(Change("dropped", same + at_old + 1, old[at_old]))
            if at_new < new_to:
                changes.append(Change("added", same + at_new + 1, new[at_new], None, cut.get(same + at_new)))
    return ContextDiff(same, tuple(changes), before.tools != after.tools, before.settings != after.settings)


def diff_as_json(change: ContextDiff) -> dict[str, Any]:
    return {
        "same": change.same,
        "changes": [
            {
                "kind": one.kind,
                "position": one.position,
                "message": one.message,
                "before": one.before,
                "cut": None if one.cut is None else {"shown": one.cut.shown, "whole": one.cut.whole},
            }
            for one in change.changes
        ],
        "tools_changed": change.tools_changed,
        "settings_changed": change.settings_changed,
    }
