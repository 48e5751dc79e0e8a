"""The screen of `viewer diff`: what differs first, then what is the same in one line and what is not in full.

As in a unified diff, - is A and + is B; ~ is a thing of both that differs, = one that does not. Where a text is shortened
the screen says so.
"""

from collections.abc import Iterator, Sequence
from datetime import tzinfo
from itertools import groupby

from agent.terminal import one_line
from tracing.reader import Row
from tracing.recording import RecordedCall
from viewer.diffing.runs import RunDiff
from viewer.diffing.steps import SIDES, CallChange, Pair, Side, StepChange, result_of, spoken
from viewer.diffing.texts import TextLine, text_diff, wrapped
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
from viewer.render import Part, Screen, money, number
from viewer.replays import place_of
from viewer.times import local

LINES = 12
"""Of one difference that are shown."""
ALONE = 4
"""Lines of what only one run has that are shown."""
STEPS, STEPS_ALONE = 20, 5
"""Steps that are shown: that differ, and that only one run has."""
ROWS = 3
"""Of a terminal that one long line takes."""
NARROWEST = 24
"""Cells that a text gets at least."""
MARKS = {"-": "failed", "+": "answered", "~": "stopped", "=": "dim", "@": "dim", " ": "dim"}


def show_run_diff(
    screen: Screen, change: RunDiff, runs: Pair[Row], short: Pair[str], where: tzinfo, *, full: bool
) -> None:
    _RunDiffScreen(screen, change, full=full).show(runs, short, where)


class _RunDiffScreen:
    def __init__(self, screen: Screen, change: RunDiff, *, full: bool) -> None:
        self.screen, self.change, self.full = screen, change, full
        self.is_shortened = False

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
        if self.is_shortened:
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
            half = max((self._room(len(name) + 8, 200)) // 2, NARROWEST)
            self._line(mark, f"{name} {one_line(pair.a, half)} → {one_line(pair.b, half)}")
        if change.hashes_from is not None:
            self._line(" ", f"the hashes differ from step {change.hashes_from} on: other call ids, or an empty text")
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
            self._more(f"… {count(len(numbers), 'more step')} {verb}, from step {numbers[0]} on", indent="")

    def _step(self, step: StepChange) -> None:
        only = "" if step.only is None else f"  only in {step.only.upper()}"
        self.screen.line((f"step {step.number}", "head"), (only, MARKS["-" if step.only == "a" else "+"]))
        for message in step.messages:
            places = [str(at) for at in (message.position.a, message.position.b) if at is not None]
            self._texts(f"message {arrow(*places)}, {message.role}", message.text)
        for one in (*step.tools, *step.settings):
            self._texts(one.where, Pair(one.expected, one.actual))
        if step.only is None:
            self._answer(step)
        else:
            if self._is_answer(step, step.only):
                self._line(" ", "the answer: see the end")
            else:
                self._alone("said", getattr(step.text, step.only))
            self._alone("error", getattr(step.error, step.only))
        self._calls(step)
        if step.figures.a is None and step.figures.b is None:
            return
        answered_by = ""
        if step.only is None and step.model.differs:
            answered_by = f"   answered by {arrow(step.model.a or '?', step.model.b or '?')}"
        self.screen.line((f"  {figures(step.figures)}{answered_by}", "dim"))

    def _answer(self, step: StepChange) -> None:
        if step.ended.differs:
            self._line("~", f"answered only in {'A' if step.ended.a else 'B'}")
        if step.text.differs:
            said = Pair(*(None if self._is_answer(step, side) else getattr(step.text, side) for side in SIDES))
            if (step.text.a, step.text.b) == (self.change.answer.a, self.change.answer.b):
                self._line("~", "the answer: see the end")
            else:
                self._texts("said", said)
                for mark, side in zip("-+", SIDES, strict=True):
                    if self._is_answer(step, side):
                        self._line(mark, "the answer: see the end", f"  only in {side.upper()}")
        self._texts("error", step.error)
        has_calls = Pair(*(any(getattr(one.call, side) is not None for one in step.calls) for side in SIDES))
        if step.finish.differs and not (step.ended.differs or step.error.differs or has_calls.differs):
            self._line("~", f"finish reason {step.finish.a or 'none'} → {step.finish.b or 'none'}")

    def _is_answer(self, step: StepChange, side: Side) -> bool:
        answer = getattr(self.change.answer, side)
        has_calls = any(getattr(one.call, side) is not None for one in step.calls)
        return answer is not None and not has_calls and getattr(step.text, side) == answer

    def _calls(self, step: StepChange) -> None:
        for is_same, group in groupby(step.calls, lambda one: one.kind == "same"):
            changes = list(group)
            if is_same and len(changes) > 2 and not self.full:
                places = [f"{step.number}.{one.call.a.index + 1}" for one in changes if one.call.a is not None]
                self._line("=", f"{places[0]} to {places[-1]} the same")
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
                    self._line(mark, f"{place} {spoken(call)}", only)
                    self._result(call)
        elif change.kind == "same":
            self._line("=", f"{place} {spoken(one)}")
        elif change.kind == "arguments":
            self._line("~", f"{place} {one.name}", "  other arguments")
            self._diff(one.arguments, other.arguments)
            if result_of(one) != result_of(other):
                self.screen.line(("    and another result", "dim"))
                self._diff(result_of(one), result_of(other))
        else:
            self._line("~", f"{place} {spoken(one)}", f"  {what_of_result(one, other)}")
            self._diff(result_of(one), result_of(other))

    def _result(self, call: RecordedCall) -> None:
        result = result_of(call)
        if result is None:
            self.screen.line(("      → never returned", "error"))
            return
        style = "error" if call.observation is None or call.observation.error is not None else "dim"
        if self.full:
            self.screen.text(result, style, indent="      ")
            return
        line = one_line(result, self._room(8, 200))
        self.is_shortened |= _is_cut(line, result)
        self.screen.line(("      → ", "dim"), (line, style))

    # The end

    def _end(self) -> None:
        change = self.change
        self.screen.line()
        if change.same:
            return
        is_told = any((step.error.a, step.error.b) == (change.error.a, change.error.b) for step in change.steps)
        error = Pair(None, None) if is_told else change.error
        self._texts("answer", change.answer, indent="")
        if not change.answer.differs and change.answer.a is not None:
            self._line("=", "answer", "  the same in both", indent="")
        if change.stop.differs:
            endings = ((change.stop.a, change.status.a), (change.stop.b, change.status.b))
            self._line("~", f"stop {arrow(*(stop or status for stop, status in endings))}", indent="")
        self._texts("error", error, indent="")
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

    # Lines

    def _line(self, mark: str, words: str, more: str = "", indent: str = "  ") -> None:
        """One thing that differs, or not; where the words are too long, what follows them is still seen."""
        line = words if self.full else one_line(words, self._room(len(indent) + 2 + len(more), 240))
        self.is_shortened |= _is_cut(line, words)
        style = MARKS[mark] if mark in "+-= " else ""
        self.screen.line((f"{indent}{mark} ", MARKS[mark]), (line, style), (more, "dim"))

    def _texts(self, name: str, pair: Pair[str | None], indent: str = "  ") -> None:
        if not pair.differs:
            return
        if pair.a is None or pair.b is None:
            mark, side = ("-", "A") if pair.b is None else ("+", "B")
            self._line(mark, name, f"  only in {side}", indent)
        else:
            self._line("~", name, indent=indent)
        self._diff(pair.a, pair.b, indent + "    ")

    def _alone(self, name: str, text: str | None) -> None:
        """A text of a step that only one run has."""
        if text:
            self.screen.line((f"    {name}", "dim"))
            self._lines([TextLine(" ", line) for line in text.split("\n")], "    ", limit=ALONE)

    def _diff(self, before: str | None, after: str | None, indent: str = "      ") -> None:
        self._lines(text_diff(before, after), indent, limit=ALONE if None in (before, after) else LINES)

    def _lines(self, lines: Sequence[TextLine], indent: str, limit: int) -> None:
        if self.full or len(lines) <= limit + 1:  # one line more is not worth a line about it
            limit = len(lines)
        for line in _first_lines(lines, limit):
            self._text_line(line, indent)
        if limit < len(lines):
            self._more(f"… {count(len(lines) - limit, 'more line')}", indent)

    def _text_line(self, line: TextLine, indent: str) -> None:
        room = self._room(len(indent) + 2, 120)
        # What both have is there to find one's way: one row is enough.
        size = room if line.mark == " " else 2 * room if self.screen.width is None else ROWS * (room - 1)
        short = line if self.full else line.around(size)
        self.is_shortened |= short is not line
        first: Part = (f"{indent}{line.mark} ", MARKS[line.mark])
        parts = list(_parts(short))
        if self.screen.width is None or self.full:
            self.screen.line(first, *parts)
            return
        for row in wrapped(parts, room):
            self.screen.line(first, *row)
            first = (" " * (len(indent) + 2), "")

    def _room(self, taken: int, otherwise: int) -> int:
        """The cells of a line that are left; in a pipe nothing is cut to a width, and what is long has another end."""
        return otherwise if self.screen.width is None else max(self.screen.width - taken, NARROWEST)

    def _more(self, words: str, indent: str) -> None:
        self.screen.line((f"{indent}{words}; --full shows all", "dim"))


def _is_cut(line: str, words: str) -> bool:
    return line.endswith("…") and not words.endswith(line[-8:])


def _first_lines(lines: Sequence[TextLine], limit: int) -> Sequence[TextLine]:
    """The first ones; of a long change, as many of what was as of what is."""
    if limit >= len(lines):
        return lines
    new = next((at for at, line in enumerate(lines) if line.mark == "+"), 0)
    if new <= limit // 2:
        return lines[:limit]
    later = lines[new : new + limit // 2]
    return [*lines[: limit - len(later)], *later]


def _parts(line: TextLine) -> Iterator[Part]:
    """What differs in the colour of its mark; a line of both is dim."""
    at, plain = 0, "dim" if line.mark in " @" else ""
    for start, end in line.changed:
        yield line.text[at:start], plain
        yield line.text[start:end], MARKS[line.mark]
        at = end
    yield line.text[at:], plain
