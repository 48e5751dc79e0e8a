"""Two recorded runs step by step, number by number: what was asked anew, what was said, called and returned.

Each difference is told once, where it came in. A result belongs to the step that called; that all later steps read
another history because of it is no news. A provider makes up new call ids each time, so a call is known by its place.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Any, Generic, Literal, TypeVar

from agent.messages import Message
from agent.terminal import call_text
from tracing.reader import Row
from tracing.recording import RecordedCall, RecordedStep, Recording
from tracing.replaying.differences import of_settings, of_tools
from tracing.replaying.report import Divergence
from viewer.trees import build_tree

T_co = TypeVar("T_co", covariant=True)
Side = Literal["a", "b"]
_Placed = tuple[int, Message]
"""A message and its position in the history, from 1."""
SIDES: tuple[Side, Side] = ("a", "b")
Part = Literal["system", "history", "question"]
"""Of what was asked."""
CallKind = Literal["same", "only_a", "only_b", "arguments", "result"]


@dataclass(frozen=True, slots=True)
class Pair(Generic[T_co]):
    """The same thing of both runs."""

    a: T_co
    b: T_co

    @property
    def differs(self) -> bool:
        return self.a != self.b


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """All that is read of a run: its record, and its rows of the views."""

    recording: Recording
    run: Row
    model_calls: Sequence[Row]
    tool_calls: Sequence[Row]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Unknown is None."""

    input: int | None
    output: int | None
    duration: float | None
    """In milliseconds; of a step, until its last call returned."""
    cost: float | None
    is_partial: bool = False
    """Whether the tokens are a lower bound."""
    is_partly_priced: bool = False
    """Whether the cost is a lower bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageChange:
    """A message of the request that only one run has, or that is another one."""

    part: Part
    role: str
    position: Pair[int | None]
    """From 1, in the history."""
    text: Pair[str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallChange:
    """Two calls that stand against each other. `arguments`: other ones; `result`: the same call came to something
    else."""

    kind: CallKind
    call: Pair[RecordedCall | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepChange:
    """One step of both runs, or of the only one that has it. Everything that is no difference is an equal pair."""

    number: int
    only: Side | None = None
    messages: tuple[MessageChange, ...] = ()
    """Of the request, as far as they are new at this step."""
    tools: tuple[Divergence, ...] = ()
    settings: tuple[Divergence, ...] = ()
    text: Pair[str | None]
    """What the model said beside its calls."""
    finish: Pair[str | None]
    error: Pair[str | None]
    ended: Pair[bool]
    model: Pair[str | None]
    """Who answered, as the provider names it; no difference of its own."""
    calls: tuple[CallChange, ...] = ()
    figures: Pair[Figures | None]

    @property
    def differs(self) -> bool:
        pairs = self.text.differs or self.finish.differs or self.error.differs or self.ended.differs
        asked = self.messages or self.tools or self.settings
        return bool(self.only or asked or pairs or any(one.kind != "same" for one in self.calls))


def steps_of(a: Recorded, b: Recorded) -> Iterator[StepChange]:
    sides = _Walk(a), _Walk(b)
    numbers = sorted({*sides[0].steps, *sides[1].steps} or {1})
    tools, settings = Pair("", ""), Pair("", "")
    for number in numbers:
        one, other = (side.steps.get(number) for side in sides)
        asked = [side.asked(number) for side in sides]
        is_asked = number == numbers[0] or (one is not None and other is not None)
        tools_before, settings_before = tools, settings
        if is_asked:
            tools = Pair(*(side.tools(number) for side in sides))
            settings = Pair(*(side.settings(number) for side in sides))
        yield StepChange(
            number=number,
            only=None if (one is None) == (other is None) else "a" if other is None else "b",
            messages=tuple((_opening if number == numbers[0] else _messages)(*asked)) if is_asked else (),
            tools=tuple(_differences(of_tools, "tools", tools, tools_before, number)),
            settings=tuple(_differences(of_settings, "settings", settings, settings_before, number)),
            text=Pair(_said(one), _said(other)),
            finish=Pair(_finish(one), _finish(other)),
            error=Pair(one.error if one else None, other.error if other else None),
            ended=Pair(one is not None and one.ended, other is not None and other.ended),
            model=Pair(*(step.response.model if step and step.response else None for step in (one, other))),
            calls=tuple(_calls(_wanted(one), _wanted(other))),
            figures=Pair(*(side.figures.get(number) for side in sides)),
        )


class _Walk:
    """One run, step by step, with what is new at each."""

    def __init__(self, run: Recorded) -> None:
        self.recording = run.recording
        self.steps = {step.number: step for step in run.recording.steps}
        before: RecordedStep | None = None
        self._before: dict[int, RecordedStep | None] = {}
        for number, step in self.steps.items():
            self._before[number], before = before, step
        tree = build_tree(run.run, "", run.model_calls, run.tool_calls, {}, ())
        self.figures = {}
        for step_of in tree.steps:
            ends = [timing.end for timing in (step_of.timing, *(call.timing for call in step_of.calls))]
            known = [end for end in ends if end is not None]
            self.figures[step_of.number] = Figures(
                input=step_of.row["input_tokens"],
                output=step_of.row["output_tokens"],
                duration=round(max(known) - step_of.timing.start, 3) if len(known) == len(ends) else None,
                cost=step_of.row["cost_usd"],
            )

    def asked(self, number: int) -> list[_Placed]:
        """The messages that the request of a step added to what was known: the opening at the first one, and after it
        what is not a result of the step before."""
        step = self.steps.get(number)
        before = self._before.get(number)
        messages = self.recording.messages
        if step is None:
            known, end = 0, self.recording.opening if not self.steps else 0
        else:
            known, end = 0 if before is None else before.length + 1, step.length
        new = list(enumerate(messages[known:end], known + 1))
        if before is None:
            return new
        results = [None if call.observation is None else call.observation.shown for call in before.calls]
        pairs = zip(new, results, strict=False)
        kept = [place for place, result in pairs if place[1].role != "tool" or place[1].content != result]
        return kept + new[len(results) :]

    def tools(self, number: int) -> str:
        return self.steps[number].tools if number in self.steps else self.recording.tools

    def settings(self, number: int) -> str:
        return self.steps[number].settings if number in self.steps else self.recording.settings


def _opening(a: Sequence[_Placed], b: Sequence[_Placed]) -> Iterator[MessageChange]:
    """The question, which comes last, stands against the question, however much was said before it."""
    yield from _messages(a[:-1], b[:-1])
    yield from (replace(change, part="question") for change in _messages(a[-1:], b[-1:]))


def _messages(a: Sequence[_Placed], b: Sequence[_Placed]) -> Iterator[MessageChange]:
    keys = [_keys([message for _, message in side]) for side in (a, b)]
    for at, other_at in _aligned(*keys):
        one = None if at is None else a[at]
        other = None if other_at is None else b[other_at]
        some = one or other
        if some is None or (at is not None and other_at is not None and keys[0][at] == keys[1][other_at]):
            continue
        yield MessageChange(
            part="system" if some[0] == 1 and some[1].role == "system" else "history",
            role=some[1].role,
            position=Pair(one and one[0], other and other[0]),
            text=Pair(one and _text(one[1]), other and _text(other[1])),
        )


def _differences(
    of: Callable[[str, str, int], list[Divergence]],
    what: Literal["tools", "settings"],
    texts: Pair[str],
    before: Pair[str],
    number: int,
) -> list[Divergence]:
    """None where they are those of the step before: that is told there."""
    if not texts.differs or texts == before:
        return []
    try:
        return of(texts.a, texts.b, number)
    except (ValueError, TypeError, AttributeError):  # a record that was changed may hold anything
        return [Divergence(code=what, step=number, where=what, expected=texts.a, actual=texts.b)]


def _calls(a: Sequence[RecordedCall], b: Sequence[RecordedCall]) -> Iterator[CallChange]:
    keys = [[(call.name, call.arguments) for call in side] for side in (a, b)]
    for at, other_at in _aligned(*keys):
        one = None if at is None else a[at]
        other = None if other_at is None else b[other_at]
        kind: CallKind
        if one is None or other is None:
            kind = "only_b" if one is None else "only_a"
        elif one.arguments != other.arguments:
            kind = "arguments"
        else:
            kind = "same" if _outcome(one) == _outcome(other) else "result"
        yield CallChange(kind=kind, call=Pair(one, other))


def _aligned(a: Sequence[tuple[Any, ...]], b: Sequence[tuple[Any, ...]]) -> Iterator[tuple[int | None, int | None]]:
    """What stands against what, by equal keys first, and where these differ by their first item alone."""
    same = next((at for at, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    yield from zip(range(same), range(same))
    rest = a[same:], b[same:]
    for kind, start, end, other_start, other_end in SequenceMatcher(None, *rest, autojunk=False).get_opcodes():
        if kind == "equal":
            yield from zip(range(same + start, same + end), range(same + other_start, same + other_end))
            continue
        kinds = [key[0] for key in rest[0][start:end]], [key[0] for key in rest[1][other_start:other_end]]
        for inner, i, j, k, m in SequenceMatcher(None, *kinds, autojunk=False).get_opcodes():
            here, there = (
                range(same + start + i, same + start + j),
                range(same + other_start + k, same + other_start + m),
            )
            if inner == "equal":
                yield from zip(here, there)
            else:
                yield from ((at, None) for at in here)
                yield from ((None, at) for at in there)


def _keys(messages: Sequence[Message]) -> list[tuple[Any, ...]]:
    """What a message is, without the ids of calls: a result is known by the place of its call. A text that is missing
    says what an empty one does."""
    keys: list[tuple[Any, ...]] = []
    places: dict[str, int] = {}
    for message in messages:
        if message.tool_calls:
            places = {call.id: index for index, call in enumerate(message.tool_calls)}
        calls = tuple((call.name, call.arguments) for call in message.tool_calls)
        keys.append(
            (message.role, message.content or None, calls, places.get(message.tool_call_id or ""), message.extra)
        )
    return keys


def _text(message: Message) -> str:
    """A message as text that can be laid beside another one, without the ids of its calls."""
    calls = [f"→ {call.name}({call.arguments})" for call in message.tool_calls]
    return "\n".join([_words(message)] * bool(message.content or message.extra) + calls)


def _words(message: Message) -> str:
    return "\n".join(text for text in (message.content, message.extra) if text)


def _said(step: RecordedStep | None) -> str | None:
    """None for nothing at all."""
    return None if step is None or step.response is None else _words(step.response.message) or None


def _finish(step: RecordedStep | None) -> str | None:
    return None if step is None or step.response is None else step.response.finish


def _wanted(step: RecordedStep | None) -> list[RecordedCall]:
    """The calls of a step, also those that the run did not live to begin."""
    if step is None:
        return []
    begun = {call.index: call for call in step.calls}
    asked = () if step.response is None else step.response.calls
    for call in asked:
        never = RecordedCall(
            index=call.index, id=call.id, name=call.name, arguments=call.arguments, observation=None, error=None,
            ended=False,
        )  # fmt: skip
        begun.setdefault(call.index, never)
    return [begun[index] for index in sorted(begun)]


def _outcome(call: RecordedCall) -> tuple[Any, ...]:
    return call.observation, call.error, call.ended


def spoken(call: RecordedCall) -> str:
    return call_text(call.name, call.arguments)


def result_of(call: RecordedCall | None) -> str | None:
    """What a call came to, in words where it gave nothing; None where it never returned."""
    if call is None:
        return None
    return call.error if call.observation is None else call.observation.shown
