"""The words of `viewer diff`: half a sentence for the first difference, and figures of two runs side by side."""

from collections.abc import Sequence

from agent.terminal import one_line
from tracing.reader import Row
from tracing.recording import Fault, RecordedCall
from tracing.replaying.report import Divergence
from viewer.diffing.runs import RunDiff
from viewer.diffing.steps import Figures, Pair, Side
from viewer.render import duration, money, number

_SAID = {
    "model": "the models differ",
    "system": "the system prompts differ",
    "history": "what was said before the question differs ({where})",
    "question": "the questions differ",
    "tools": "{where} differs",
    "settings": "{where} differs",
    "response": "{where} differs",
    "observation": "{where} has another result",
    "arguments": "{where} is called with other arguments",
    "error": "the errors differ",
    "answer": "the answers differ",
}
_ENDINGS = {
    "answered": "answered",
    "failed": "failed",
    "refused": "was refused",
    "content_filter": "was filtered",
    "output_limit": "was cut before it answered",
    "cancelled": "was cancelled",
}


def said_of(one: Divergence, change: RunDiff) -> str:
    """The first difference as half a sentence."""
    where = one_line(one.where, 80)
    only = "B" if one.expected is None else "A" if one.actual is None else None
    match one.code:
        case "unused":
            return f"only A goes on, B {ending(change, 'b')}"
        case "not_recorded":
            return f"only B goes on, A {ending(change, 'a')}"
        case "stop":
            return f"A {ending(change, 'a')}, B {ending(change, 'b')}"
        case "tool":
            calls = [
                f"{side} calls {one_line(text, 80)}" for side, text in (("A", one.expected), ("B", one.actual)) if text
            ]
            return " and ".join(calls) if only is None else f"only {calls[0]}"
        case "observation" if only is not None:
            return f"{where} returned only in {only}"
        case "response" if only is not None and one.where == "the answer":
            return f"the model answered only in {only}"
        case "response" if only is not None:
            return f"{where} is there only in {only}"
        case "error" if only is not None:
            return f"only {only} has an error: {one_line(one.expected or one.actual or '', 80)}"
    return _SAID[one.code].format(where=where)


def ending(change: RunDiff, side: Side) -> str:
    stop, status = getattr(change.stop, side), getattr(change.status, side)
    if stop is None:
        return "is still running" if status == "running" else "was interrupted"
    return _ENDINGS.get(stop, f"stopped ({stop})")


def what_of_result(one: RecordedCall, other: RecordedCall) -> str:
    before, after = one.observation, other.observation
    if before is None or after is None:
        return f"returned only in {'B' if before is None else 'A'}" if before is not after else "another end"
    if before.shown != after.shown:
        return "another result"
    if before.error != after.error:
        return f"error {before.error or 'none'} → {after.error or 'none'}"
    return "another result, but only in what the model did not see"


def figures(pair: Pair[Figures | None]) -> str:
    """`tokens 100 → 120 in, 20 out   time 14 ms → 9.0 ms   cost ?`; of one run where the other has no such step."""
    sides = [one for one in (pair.a, pair.b) if one is not None]
    costs = arrow(*(money(one.cost) for one in sides))
    return f"{_tokens(sides)}   time {arrow(*(time(one.duration) for one in sides))}   cost {costs}"


def tokens_differ(a: Figures, b: Figures) -> str:
    """A note for two runs that are the same in all but this; "" where they are the same in this too."""
    return "" if (a.input, a.output) == (b.input, b.output) else f"but for the {_tokens([a, b])}"


def _tokens(sides: Sequence[Figures]) -> str:
    into, out = (
        arrow(*(number(value, at_least=one.is_partial) for value, one in values))
        for values in ([(one.input, one) for one in sides], [(one.output, one) for one in sides])
    )
    return f"tokens {into} in, {out} out"


def arrow(*values: str) -> str:
    """What was and what is; once where it is the same."""
    return " → ".join(dict.fromkeys(values))


def time(milliseconds: float | None) -> str:
    return "?" if milliseconds is None else duration(milliseconds)


def more_or_less(a: int | None, b: int | None) -> str:
    return "" if a is None or b is None or a == b else f"{b - a:+,}"


def relative(a: float | None, b: float | None) -> str:
    """`+20%`, or `×14` for a multiple."""
    if not a or b is None or a == b:
        return ""
    if b >= 10 * a:
        return f"×{b / a:,.0f}"
    percent = round((b - a) / a * 100)
    return f"{percent:+}%" if percent else ""


def faults_of(faults: Sequence[Fault]) -> str:
    first = faults[0]
    place = Divergence(code="record", step=first.step, call=first.call).place
    more = f", and {len(faults) - 1} more" if len(faults) > 1 else ""
    return f"{f'at {place}, ' if place else ''}{first.what}{more} (see: viewer check)"


def origin_of(run: Row) -> str:
    """The run that this one is a fork or a replay of."""
    if not run["parent_run"] or run["kind"] == "live":
        return ""
    return f"  {run['kind']} of {run['parent_run'][:8]}" + (f"@{run['fork_step']}" if run["fork_step"] else "")


def stretch(first: int, last: int) -> str:
    return f"step {first}" if first == last else f"steps {first} to {last}"


def count(value: int, noun: str) -> str:
    return f"{value:,} {noun}{'s' if value != 1 else ''}"
