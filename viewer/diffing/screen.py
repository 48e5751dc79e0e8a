"""The screen of `viewer diff`: what differs first, then what is the same in one line and what is not in full.

As in a unified diff, - is A and + is B; ~ is a thing of both that differs, = one that does not. Where a text is shortened
the screen says so.
"""

from collections.abc import Sequence
from datetime import tzinfo
from itertools import groupby

from agent.terminal import one_line
from tracing.reader import Row
from tracing.recording import RecordedCall
from viewer.diffing.lines import MARKS, DiffLines
from viewer.diffing.runs import RunDiff
from viewer.diffing.steps import SIDES, CallChange, Pair, Side, StepChange, result_of, spoken
from viewer.diffing.words import (
    arrow,
    count,
    faults_of,
    figures,
    more_or_less,
    origin_of,
    relative,
    said_of,
    stretch,
    time,
    tokens_differ,
    what_of_result,
)
from viewer.render import NARROWEST, Part, Screen, money, number
from viewer.replays import place_of
from viewer.times import local

STEPS, STEPS_ALONE = 20, 5
"""Steps that are shown: that differ, and that only one run has."""


def show_run_diff(
    screen: Screen, change: RunDiff, runs: Pair[Row], short: Pair[str], where: tzinfo, *, full: bool
) -> None:
    _RunDiffScreen(screen, change, full=full).show(runs, short, where)


class _RunDiffScreen:
    def __init__(self, screen: Screen, change: RunDiff, *, full: bool) -> None:
        self.screen, self.change, self.full = screen, change, full
        self.lines = DiffLines(screen, full=full)

    def show(self, runs: Pair[Row], short: Pair[str], where: tzinfo) -> None:
        self._headline(short)
        endings = [run["status"] if run["status"] != "stopped" else run["stop"] for run in (runs.a, runs.b)]
        sides = (("-", "A", runs.a, short.a, endings[0]), ("+", "B", runs.b, short.b, endings[1]))
        for mark, name, run, run_id, ended in sides:
            said = f"  {local(run['started_at'], where)}  {run['agent']} · {run['model']}{origin_of(run)}"
            parts: list[Part] = [(f"{mark} {name} {run_id}", MARKS[mark])]
            parts.append((f"  {ended:{max(map(len, endings))}}", run["status"]))
            self.screen.line(*parts, (said, "dim"), shorten=True)
        self._notes()
        self._steps()
        self._end()
        self._totals()
        if self.lines.is_shortened:
            self.screen.line(("… stands where something is shortened; --full shows all", "dim"))

    def _headline(self, short: Pair[str]) -> None:
        first, runs = self.change.first, f"  runs {short.a} and {short.b}: "
        if first is None:
            totals = self.change.totals.a
            self.screen.line(
                ("same", "answered"), (f"{runs}{count(totals.steps, 'step')}, {count(totals.calls, 'call')}", "")
            )
        else:
            self.screen.line(("differ", "failed"), (f"{runs}{place_of(first)}{said_of(first, self.change)}", ""))

    def _notes(self) -> None:
        change = self.change
        labels = [("~", "model", change.model)] if change.model.differs else []
        for mark, name, pair in (*labels, *((" ", *label) for label in change.labels)):
            half = max((self.lines.room(len(name) + 8, 200)) // 2, NARROWEST)
            self.lines.line(mark, f"{name} {one_line(pair.a, half)} → {one_line(pair.b, half)}")
        if change.hashes_from is not None:
            self.lines.line(
                " ", f"the hashes differ from step {change.hashes_from} on: other call ids, or an empty text"
            )
        if change.same and (said := tokens_differ(change.totals.a.figures, change.totals.b.figures)):
            self.screen.line((f"    {said}", "cut"))
        for name, faults in (("A", change.faults.a), ("B", change.faults.b)):
            if faults:
                self.screen.line((f"    the record of {name} is not what was written: {faults_of(faults)}", "error"))

    # Step by step

    def _steps(self) -> None:
        steps = {step.number: step for step in self.change.steps}
        ends = dict(self.change.identical)
        shown = {True: 0, False: 0}
        for start in sorted([*ends, *steps]):
            if start in ends:
                self.screen.line()
                self.screen.line((f"{stretch(start, ends[start])} identical", "dim"))
                continue
            is_alone = steps[start].only is not None
            shown[is_alone] += 1
            if not self.full and shown[is_alone] > (STEPS_ALONE if is_alone else STEPS):
                self._rest([step for number, step in steps.items() if number >= start])
                return
            self.screen.line()
            self._step(steps[start])

    def _rest(self, steps: Sequence[StepChange]) -> None:
        self.screen.line()
        for only, group in groupby(steps, lambda step: step.only):
            numbers = [step.number for step in group]
            verb = "differs" if len(numbers) == 1 else "differ"
            if only is not None:
                verb = f"{'is' if len(numbers) == 1 else 'are'} only in {only.upper()}"
            self.lines.more(f"… {count(len(numbers), 'more step')} {verb}, from step {numbers[0]} on", indent="")

    def _step(self, step: StepChange) -> None:
        only = "" if step.only is None else f"  only in {step.only.upper()}"
        self.screen.line((f"step {step.number}", "head"), (only, MARKS["-" if step.only == "a" else "+"]))
        for message in step.messages:
            places = [str(at) for at in (message.position.a, message.position.b) if at is not None]
            self.lines.texts(f"message {arrow(*places)}, {message.role}", message.text)
        for one in (*step.tools, *step.settings):
            self.lines.texts(one.where, Pair(one.expected, one.actual))
        if step.only is None:
            self._answer(step)
        else:
            if self._is_answer(step, step.only):
                self.lines.line(" ", "the answer: see the end")
            else:
                self.lines.alone("said", getattr(step.text, step.only))
            self.lines.alone("error", getattr(step.error, step.only))
        self._calls(step)
        if step.figures.a is None and step.figures.b is None:
            return
        answered_by = ""
        if step.only is None and step.model.differs and step.model.a and step.model.b:
            answered_by = f"   answered by {arrow(step.model.a, step.model.b)}"
        self.screen.line((f"  {figures(step.figures)}{answered_by}", "dim"))

    def _answer(self, step: StepChange) -> None:
        if step.ended.differs:
            self.lines.line("~", f"answered only in {'A' if step.ended.a else 'B'}")
        if step.text.differs:
            said = Pair(*(None if self._is_answer(step, side) else getattr(step.text, side) for side in SIDES))
            if (step.text.a, step.text.b) == (self.change.answer.a, self.change.answer.b):
                self.lines.line("~", "the answer: see the end")
            else:
                self.lines.texts("said", said)
                for mark, side in zip("-+", SIDES, strict=True):
                    if self._is_answer(step, side):
                        self.lines.line(mark, "the answer: see the end", f"  only in {side.upper()}")
        self.lines.texts("error", step.error)
        has_calls = Pair(*(any(getattr(one.call, side) is not None for one in step.calls) for side in SIDES))
        if step.finish.differs and not (step.ended.differs or step.error.differs or has_calls.differs):
            self.lines.line("~", f"finish reason {step.finish.a or 'none'} → {step.finish.b or 'none'}")

    def _is_answer(self, step: StepChange, side: Side) -> bool:
        answer = getattr(self.change.answer, side)
        has_calls = any(getattr(one.call, side) is not None for one in step.calls)
        return answer is not None and not has_calls and getattr(step.text, side) == answer

    def _calls(self, step: StepChange) -> None:
        for is_same, group in groupby(step.calls, lambda one: one.kind == "same"):
            changes = list(group)
            if is_same and len(changes) > 2 and not self.full:
                places = [f"{step.number}.{one.call.a.index + 1}" for one in changes if one.call.a is not None]
                self.lines.line("=", f"{places[0]} to {places[-1]} the same")
                continue
            for one in changes:
                self._call(step, one)

    def _call(self, step: StepChange, change: CallChange) -> None:
        one, other = change.call.a, change.call.b
        places = [f"{step.number}.{call.index + 1}" for call in (one, other) if call is not None]
        place = arrow(*places)
        if one is None or other is None:
            mark, side = ("-", "A") if other is None else ("+", "B")
            only = "" if step.only is not None else f"  only in {side}"
            for call in (one, other):
                if call is not None:
                    self.lines.line(mark, f"{place} {spoken(call)}", only)
                    self._result(call)
        elif change.kind == "same":
            self.lines.line("=", f"{place} {spoken(one)}")
        elif change.kind == "arguments":
            self.lines.line("~", f"{place} {one.name}", "  other arguments")
            self.lines.diff(one.arguments, other.arguments)
            if result_of(one) != result_of(other):
                self.screen.line(("    and another result", "dim"))
                self.lines.diff(result_of(one), result_of(other))
        else:
            self.lines.line("~", f"{place} {spoken(one)}", f"  {what_of_result(one, other)}")
            self.lines.diff(result_of(one), result_of(other))

    def _result(self, call: RecordedCall) -> None:
        result = result_of(call)
        if result is None:
            self.screen.line(("      → never returned", "error"))
            return
        style = "error" if call.observation is None or call.observation.error is not None else "dim"
        if self.full:
            self.screen.text(result, style, indent="      ")
            return
        self.screen.line(("      → ", "dim"), (self.lines.short(result, 8, 200), style))

    # The end

    def _end(self) -> None:
        change = self.change
        self.screen.line()
        if change.same:
            return
        is_told = any((step.error.a, step.error.b) == (change.error.a, change.error.b) for step in change.steps)
        error = Pair(None, None) if is_told else change.error
        self.lines.texts("answer", change.answer, indent="")
        if not change.answer.differs and change.answer.a is not None:
            self.lines.line("=", "answer", "  the same in both", indent="")
        if change.stop.differs:
            endings = ((change.stop.a, change.status.a), (change.stop.b, change.status.b))
            self.lines.line("~", f"stop {arrow(*(stop or status for stop, status in endings))}", indent="")
        self.lines.texts("error", error, indent="")
        if change.answer != Pair(None, None) or change.stop.differs or error.differs:
            self.screen.line()

    def _totals(self) -> None:
        a, b = self.change.totals.a, self.change.totals.b
        one, other = a.figures, b.figures
        rows = [("steps", number(a.steps), number(b.steps), more_or_less(a.steps, b.steps)),
                ("calls", number(a.calls), number(b.calls), more_or_less(a.calls, b.calls))]  # fmt: skip
        for name in ("input", "output"):
            before, after = getattr(one, name), getattr(other, name)
            cells = (number(before, at_least=one.is_partial), number(after, at_least=other.is_partial))
            rows.append((f"tokens {name.removesuffix('put')}", *cells, more_or_less(before, after)))
        rows.append(("time", time(one.duration), time(other.duration), relative(one.duration, other.duration)))
        costs = (money(one.cost, at_least=one.is_partly_priced), money(other.cost, at_least=other.is_partly_priced))
        rows.append(("cost", *costs, relative(one.cost, other.cost)))
        table: list[list[Part]] = [[(name, "dim"), (x, ""), (y, ""), (more, "dim")] for name, x, y, more in rows]
        columns = 4 if any(more for *_, more in rows) else 3
        self.screen.table(["total", "A", "B", ""][:columns], [row[:columns] for row in table], frozenset({1, 2}))
