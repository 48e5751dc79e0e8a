"""One run as a tree: its steps, their calls, and when each happened within the run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tracing.errors import NoSuchRun
from tracing.reader import Row
from tracing.reference import Reference
from tracing.store import Store


@dataclass(frozen=True, slots=True)
class Timing:
    """When something happened, in milliseconds since the run began; `end` is None while it is open."""

    start: float
    end: float | None


@dataclass(frozen=True, slots=True)
class Call:
    row: Row
    """As the `tool_calls` view, with `whole`."""
    timing: Timing
    children: tuple[Row, ...]
    """Runs that the tool started, as the `runs` view."""


@dataclass(frozen=True, slots=True)
class Step:
    number: int
    row: Row
    """As the `model_calls` view."""
    timing: Timing
    message: Mapping[str, Any] | None
    """The model's answer; None where there was none."""
    calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class Tree:
    run: Row
    """As the `runs` view, with `alive`."""
    short: str
    steps: tuple[Step, ...]
    length: float
    """Milliseconds that the time bars stand for."""


def read_tree(store: Store, run_id: str) -> Tree:
    run = store.run(run_id)
    children = store.children(run_id)
    return build_tree(
        run, store.short(run_id), store.model_calls(run_id), store.tool_calls(run_id), store.answers(run_id), children
    )


def build_tree(
    run: Row,
    short: str,
    model_calls: Sequence[Row],
    tool_calls: Sequence[Row],
    answers: Mapping[int, Row],
    children: Sequence[Row],
) -> Tree:
    begin = run["started_at"]
    steps = []
    calls_of: dict[int, list[Row]] = {}
    for call in tool_calls:
        calls_of.setdefault(call["step"], []).append(call)
    for row in model_calls:
        calls = tuple(
            Call(call, _timing(call, begin), tuple(child for child in children if child["span_id"] == call["span_id"]))
            for call in calls_of.get(row["step"], ())
        )
        steps.append(Step(row["step"], row, _timing(row, begin), answers.get(row["step"]), calls))
    timings = [timing for step in steps for timing in (step.timing, *(call.timing for call in step.calls))]
    ends = [timing.end if timing.end is not None else timing.start for timing in timings]
    return Tree(run, short, tuple(steps), max([run["duration_ms"] or 0.0, *ends, 0.001]))


def check_place(tree: Tree, reference: Reference) -> None:
    """Raises NoSuchRun for a step or call that the run has not."""
    if reference.step is None:
        return
    step = next((one for one in tree.steps if one.number == reference.step), None)
    if step is None:
        raise NoSuchRun(f"run {tree.short} has no step {reference.step}: it has {len(tree.steps)}")
    if reference.call is not None and not any(one.row["call"] == reference.call for one in step.calls):
        raise NoSuchRun(
            f"step {reference.step} of run {tree.short} has no call {reference.call}: it has {len(step.calls)}"
        )


def next_commands(tree: Tree, reference: Reference, where: str) -> list[str]:
    """The commands that are most useful after a run was shown, the best first."""
    if not tree.steps:
        return [f"viewer show {tree.short} --events{where}"]
    cut = [call for step in tree.steps for call in step.calls if call.row["truncated"]]
    last = f"viewer context {tree.short}:{tree.steps[-1].number}{where}"
    commands = [last, f"viewer show {tree.short} --full{where}", f"viewer show {tree.short} --events{where}"]
    if reference.step is None and cut:
        first = cut[0].row
        commands.insert(0, f"viewer show {tree.short}:{first['step']}.{first['call']} --full{where}")
    if reference.step is not None:
        commands.insert(0, f"viewer context {tree.short}:{reference.step}{where}")
    return list(dict.fromkeys(commands))


def _timing(row: Row, begin: str) -> Timing:
    """From the wall clock, which places a call, and the monotonic one, which says how long it took."""
    start = max((_seconds(row["started_at"]) - _seconds(begin)) * 1000, 0.0)
    return Timing(start, None if row["duration_ms"] is None else start + row["duration_ms"])


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
