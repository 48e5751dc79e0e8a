"""What differs between a recorded request or result and one of now, named exactly. Pure."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from agent.canonical import plain_text
from agent.messages import Message
from tracing.chain import envelope_of
from tracing.replaying.report import Code, Divergence


def of_messages(
    recorded: tuple[Message, ...], now: tuple[Message, ...], same: int, opening: int, step: int
) -> Divergence | None:
    """The first message, from position `same` on, that is not the same; `opening` is how many the run began with."""
    for position in range(same, max(len(recorded), len(now))):
        before = recorded[position] if position < len(recorded) else None
        after = now[position] if position < len(now) else None
        if before is not None and after is not None and _is_same(before, after):
            continue
        if position == 0 and (gone := _prompt_alone(before, after)) is not None:
            before, after = gone
        one = before or after
        assert one is not None
        return Divergence(
            code=_code(position, one.role, opening),
            step=step,
            where=f"message {position + 1}, {one.role}",
            expected=None if before is None else text_of(before),
            actual=None if after is None else text_of(after),
        )
    return None


def _prompt_alone(before: Message | None, after: Message | None) -> tuple[Message | None, Message | None] | None:
    """A system prompt that only one of the two histories begins with is gone, or new: no other message stands for it."""
    roles = [None if one is None else one.role for one in (before, after)]
    if roles.count("system") != 1:
        return None
    return (before, None) if roles[0] == "system" else (None, after)


def _code(position: int, role: str, opening: int) -> Code:
    if position == 0 and role == "system":
        return "system"
    if position < opening:
        return "question" if position == opening - 1 else "history"
    return "observation" if role == "tool" else "response"


def _is_same(one: Message, other: Message) -> bool:
    return (one.role, one.content) == (other.role, other.content) and envelope_of(one) == envelope_of(other)


def text_of(message: Message) -> str:
    """A message as text that can be laid beside another one."""
    calls = [f"→ {call.name}({call.arguments})  {call.id}" for call in message.tool_calls]
    extra = [text for text in (*(call.extra for call in message.tool_calls), message.extra) if text]
    return "\n".join([*([message.content] if message.content is not None else []), *calls, *extra])


def of_tools(recorded: str, now: str, step: int) -> list[Divergence]:
    """The schemas that differ, each with the path to what does."""
    before, after = _tools(recorded), _tools(now)
    found = []
    for name in dict.fromkeys([*before, *after]):
        where = f"tools.{name}"
        if name not in after:
            found.append(Divergence(code="tools", step=step, where=where, expected=plain_text(before[name])))
        elif name not in before:
            found.append(Divergence(code="tools", step=step, where=where, actual=plain_text(after[name])))
        else:
            found += _leaves(before[name], after[name], where, "tools", step)
    if not found and recorded != now:
        order = (", ".join(before), ", ".join(after))
        found.append(
            Divergence(code="tools", step=step, where="tools, their order", expected=order[0], actual=order[1])
        )
    return found


def of_settings(recorded: str, now: str, step: int) -> list[Divergence]:
    return list(_leaves(json.loads(recorded), json.loads(now), "settings", "settings", step))


def of_limits(
    recorded: Mapping[str, Any] | None, now: Mapping[str, Any], names: tuple[str, ...], step: int
) -> Divergence:
    """The limit that let a run of now go on, or stop, where the recorded one did not."""
    changed = [name for name in names if recorded is None or recorded.get(name) != now.get(name)]
    name = (changed or names)[0]
    return Divergence(
        code="limits",
        step=step,
        where=f"limits.{name}",
        expected=_limit(recorded, name),
        actual=_limit(now, name),
    )


def _limit(limits: Mapping[str, Any] | None, name: str) -> str | None:
    return "unknown" if limits is None else None if name not in limits else str(limits[name])


def _tools(text: str) -> dict[str, Any]:
    schemas = [schema.get("function", schema) for schema in json.loads(text)]
    return {str(schema.get("name")): schema for schema in schemas}


def _leaves(before: Any, after: Any, where: str, code: Code, step: int) -> Iterator[Divergence]:
    if plain_text(before) == plain_text(after):  # not by ==: to a model 0, 0.0 and false are three things
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys([*before, *after]):
            if key not in after:
                yield Divergence(code=code, step=step, where=f"{where}.{key}", expected=_shown(before[key]))
            elif key not in before:
                yield Divergence(code=code, step=step, where=f"{where}.{key}", actual=_shown(after[key]))
            else:
                yield from _leaves(before[key], after[key], f"{where}.{key}", code, step)
        return
    yield Divergence(code=code, step=step, where=where, expected=_shown(before), actual=_shown(after))


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else plain_text(value)
