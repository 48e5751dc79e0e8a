"""What differs between two recorded runs: the first thing that does, then step by step.

Two runs are the same where what they were asked, said, called, got and ended with is. Ids, times, tokens and cost tell
how a run went and not what it was; they are shown beside it, so a kept replay of a run is the same run. Equal hashes prove
two histories equal; different ones are looked into, because with a provider's new call ids every hash is another.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from tracing.reader import Row
from tracing.recording import Fault, Recording
from tracing.replaying.report import Code, Divergence
from viewer.diffing.steps import SIDES, Figures, Pair, Recorded, Side, StepChange, result_of, spoken, steps_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    steps: int
    calls: int
    figures: Figures


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDiff:
    run_id: Pair[str]
    first: Divergence | None
    """The first difference in the order of events; None for two runs that are the same."""
    model: Pair[str]
    labels: tuple[tuple[str, Pair[str]], ...]
    """What else differs of how they were run, and makes no difference: the agent's name, its version, its limits."""
    hashes_from: int | None
    """The step from which on the hashes of two runs that are the same differ: by the ids of calls, or because one has
    an empty text where the other has none."""
    identical: tuple[tuple[int, int], ...]
    """The first and last step of each stretch that is the same."""
    steps: tuple[StepChange, ...]
    """Those that are not."""
    stop: Pair[str | None]
    error: Pair[str | None]
    answer: Pair[str | None]
    status: Pair[str]
    totals: Pair[Totals]
    faults: Pair[tuple[Fault, ...]]

    @property
    def same(self) -> bool:
        return self.first is None


def diff_runs(a: Recorded, b: Recorded) -> RunDiff:
    one, other = a.recording, b.recording
    steps = list(steps_of(a, b))
    stop, error = Pair(one.stop, other.stop), Pair(one.error, other.error)
    answer, model = Pair(one.answer, other.answer), Pair(one.model, other.model)
    first = _first(steps, [("stop", stop), ("error", error), ("answer", answer), ("model", model)])
    hashes_from = None if first is not None else _hashes_from(one, other)
    return RunDiff(
        run_id=Pair(one.run_id, other.run_id),
        first=first,
        model=model,
        labels=tuple(_labels(a, b)),
        hashes_from=hashes_from,
        identical=tuple(_stretches(steps)),
        steps=tuple(step for step in steps if step.differs),
        stop=stop,
        error=error,
        answer=answer,
        status=Pair(a.run["status"], b.run["status"]),
        totals=Pair(_totals(a.run), _totals(b.run)),
        faults=Pair(one.faults, other.faults),
    )


# The first difference


def _first(steps: Sequence[StepChange], at_the_end: Sequence[tuple[Code, Pair[str | None]]]) -> Divergence | None:
    for step in steps:
        if step.differs:
            return _first_of(step)
    for code, pair in at_the_end:
        if pair.differs:
            return Divergence(code=code, step=None, expected=pair.a, actual=pair.b)
    return None


def _first_of(step: StepChange) -> Divergence:
    number = step.number
    if step.messages:
        return _of_request(step)
    for found in (step.tools, step.settings):
        if found:
            return found[0]
    if step.only is not None:
        if step.only == "a":
            return Divergence(code="unused", step=number, expected=_summary(step, "a"))
        return Divergence(code="not_recorded", step=number, actual=_summary(step, "b"))
    if step.error.differs:
        return Divergence(code="error", step=number, expected=step.error.a, actual=step.error.b)
    if step.ended.differs:
        expected, actual = (_summary(step, side) if getattr(step.ended, side) else None for side in SIDES)
        return Divergence(code="response", step=number, where="the answer", expected=expected, actual=actual)
    return _of_call(step) or _of_answer(step) or _of_result(step)


def _of_request(step: StepChange) -> Divergence:
    change = step.messages[0]
    position = change.position.b if change.position.a is None else change.position.a
    return Divergence(
        code=change.part,
        step=step.number,
        where=f"message {position}, {change.role}",
        expected=change.text.a,
        actual=change.text.b,
    )


def _of_call(step: StepChange) -> Divergence | None:
    for at, change in enumerate(step.calls):
        one, other = change.call.a, change.call.b
        some = one or other
        if change.kind in ("same", "result") or some is None:
            continue
        number = some.index + 1
        if change.kind == "arguments" and one is not None and other is not None:
            return Divergence(
                code="arguments", step=step.number, call=number, where=one.name, expected=one.arguments,
                actual=other.arguments,
            )  # fmt: skip
        rest = step.calls[at + 1 :]
        instead = next((later.call.b for later in rest if later.kind == "only_b" and one is not None), None)
        other = other or (instead if instead is not None and instead.index == some.index else None)
        return Divergence(
            code="tool",
            step=step.number,
            call=number,
            expected=spoken(one) if one else None,
            actual=spoken(other) if other else None,
        )
    return None


def _of_answer(step: StepChange) -> Divergence | None:
    for pair, where in ((step.text, "what the model said"), (step.finish, "the finish reason")):
        if pair.differs:
            return Divergence(code="response", step=step.number, where=where, expected=pair.a, actual=pair.b)
    return None


def _of_result(step: StepChange) -> Divergence:
    change = next(one for one in step.calls if one.kind == "result")
    one, other = change.call.a, change.call.b
    assert one is not None
    return Divergence(
        code="observation",
        step=step.number,
        call=one.index + 1,
        where=spoken(one),
        expected=result_of(one),
        actual=result_of(other),
    )


def _hashes_from(a: Recording, b: Recording) -> int | None:
    pairs = zip(a.steps, b.steps, strict=False)
    found = next((one.number for one, other in pairs if one.tip != other.tip), None)
    return len(a.steps) or None if found is None and a.tip != b.tip else found


def _summary(step: StepChange, side: Side) -> str:
    calls = [getattr(one.call, side) for one in step.calls]
    spoken_calls = [spoken(call) for call in calls if call is not None]
    words: str | None = getattr(step.error, side) or getattr(step.text, side)
    return ", ".join(spoken_calls) or words or ""


# How the runs went


def _stretches(steps: Sequence[StepChange]) -> Iterator[tuple[int, int]]:
    shared = [step for step in steps if step.figures.a is not None or step.figures.b is not None or step.differs]
    for is_other, stretch in groupby(shared, lambda step: step.differs):
        numbers = [step.number for step in stretch]
        if not is_other:
            yield numbers[0], numbers[-1]


def _labels(a: Recorded, b: Recorded) -> Iterator[tuple[str, Pair[str]]]:
    one, other = a.recording, b.recording
    pairs = [("agent", one.agent, other.agent), ("version", a.run["version"], b.run["version"])]
    limits, other_limits = one.attrs.get("limits"), other.attrs.get("limits")
    # A replay stops where the record did, whatever its limits.
    if limits is not None and other_limits is not None and "replay" not in (a.run["kind"], b.run["kind"]):
        names = dict.fromkeys([*limits, *other_limits])
        pairs += [(f"limits.{name}", limits.get(name), other_limits.get(name)) for name in names]
    for name, before, after in pairs:
        if before != after:
            yield name, Pair(*("none" if value is None else str(value) for value in (before, after)))


def _totals(run: Row) -> Totals:
    figures = Figures(
        input=run["input_tokens"],
        output=run["output_tokens"],
        duration=run["duration_ms"],
        cost=run["cost_usd"],
        is_partial=bool(run["unreported_calls"]),
        is_partly_priced=bool(run["unpriced_calls"]),
    )
    return Totals(steps=run["steps"], calls=run["tool_calls"], figures=figures)
