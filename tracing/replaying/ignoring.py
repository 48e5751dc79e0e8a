"""Declared volatile parts: what a replay does not compare.

    system:/Today is .*/          what the pattern matches in the system prompt
    result:clock                  the whole results of the tool `clock`
    result:clock:/\\d\\d:\\d\\d/      what the pattern matches in them
    result:/req-[0-9a-f]+/        in the results of all tools
    tools:/v\\d+\\.\\d+/             in the tools' schemas
    arguments:/.../               in the arguments of the calls (with other models and live tools)
    answer:/.../                  in the model's answers
    question:/.../                in what the user said

Both sides are compared without it; nothing else changes.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent.messages import Message

_SPEC = re.compile(
    r"(?P<what>system|question|result|tools|arguments|answer)(?::(?P<tool>[A-Za-z0-9_-]+))?(?::/(?P<pattern>.*)/)?",
    re.DOTALL,
)
IGNORED = "[ignored]"


class BadPattern(ValueError):
    """An --ignore that says nothing; the text says how to write one."""


@dataclass(frozen=True, slots=True)
class _Rule:
    what: str
    tool: str | None
    pattern: re.Pattern[str] | None


class Ignore:
    def __init__(self, specs: Sequence[str] = ()) -> None:
        """Raises BadPattern."""
        self.specs = tuple(specs)
        self._rules = tuple(_rule(spec) for spec in specs)

    def __bool__(self) -> bool:
        return bool(self._rules)

    def text(self, what: str, text: str, tool: str | None = None) -> str:
        for rule in self._rules:
            if rule.what == what and rule.tool in (None, tool):
                text = IGNORED if rule.pattern is None else rule.pattern.sub(IGNORED, text)
        return text

    def message(self, message: Message, tools: dict[str, str]) -> Message:
        """`message` without what is ignored; `tools` are the names of the tools by the id of a call."""
        if message.content is None and not message.tool_calls:
            return message
        what = {"system": "system", "user": "question", "tool": "result", "assistant": "answer"}.get(message.role)
        content = message.content
        if what is not None and content is not None:
            content = self.text(what, content, tools.get(message.tool_call_id or ""))
        calls = tuple(
            replace(call, arguments=self.text("arguments", call.arguments, call.name)) for call in message.tool_calls
        )
        return replace(message, content=content, tool_calls=calls)


def _rule(spec: str) -> _Rule:
    match = _SPEC.fullmatch(spec)
    if match is None or (match["tool"] and match["what"] not in ("result", "arguments")):
        raise BadPattern(
            f"{spec!r} says not what to ignore: write system:/PATTERN/, result:TOOL, result:TOOL:/PATTERN/, "
            "or question, tools, arguments or answer with a :/PATTERN/"
        )
    if match["pattern"] is None and not match["tool"] and match["what"] != "system":
        raise BadPattern(f"{spec!r} would ignore every {match['what']}: name a tool, or give a /PATTERN/")
    try:
        pattern = None if match["pattern"] is None else re.compile(match["pattern"])
    except (re.error, OverflowError, RecursionError) as error:
        raise BadPattern(f"the pattern of {spec!r} is no regular expression: {error}") from error
    return _Rule(match["what"], match["tool"], pattern)
