"""What is said of a replay: for a terminal, for a failing test, and as JSON."""

from collections.abc import Iterator, Sequence
from typing import Any

from agent.terminal import one_line
from tracing.replaying.report import Divergence, Report
from viewer.diffing.texts import text_diff

Part = tuple[str, str]
Line = tuple[Part, ...]

STYLE = {"exact": "answered", "diverged": "failed", "not_replayable": "stopped"}
AROUND = 120
"""Characters of a long line that are shown on either side of the first one that differs."""

_SAID = {
    "record": "the record is not what was written: {where}",
    "model": "the model is not the recorded one",
    "system": "the system prompt is not the recorded one",
    "history": "what was said before the question is not as recorded ({where})",
    "question": "the question is not the recorded one",
    "tools": "{where} is not as recorded",
    "settings": "{where} is not as recorded",
    "limits": "{where} is not as recorded, and it mattered here",
    "response": "{where} is not as recorded",
    "observation": "{where} is not as recorded",
    "tool": "another tool is called",
    "arguments": "{where} is called with other arguments",
    "not_recorded": "nothing like it is recorded: {actual}",
    "unused": "the run ends here, but {expected}",
    "stop": "it ends in another way",
    "error": "it fails with another error",
    "answer": "the answer is not the recorded one",
    "totals": "the total of {where} is not as recorded",
}


def headline(report: Report, short: str) -> Line:
    style = STYLE[report.outcome]
    words = report.outcome.replace("_", " ")
    return ((words, style), (f"  run {short}: {_sentence(report)}", ""))


def _sentence(report: Report) -> str:
    if report.outcome == "exact":
        return f"{_count(report.steps, 'step')} and {_count(report.calls, 'tool call')} are the same, and so is the end"
    if report.first is not None:
        return f"{place_of(report.first)}{said_of(report.first)}"
    return report.reason or "no reason is known"


def place_of(one: Divergence) -> str:
    return f"at {one.place}, " if one.place else ""


def said_of(one: Divergence) -> str:
    return _SAID[one.code].format(
        where=one.where or "it", expected=one.expected, actual=one_line(one.actual or "", 300)
    )


def lines_of(report: Report, short: str, *, full: bool = False) -> Iterator[Line]:
    """A whole report. With `full`, long texts are not shortened."""
    yield headline(report, short)
    for number, one in enumerate(report.divergences):
        if number:
            yield ((f"also {place_of(one)}{said_of(one)}", "failed"),)
        for mark, text in difference(one.expected, one.actual, full=full) if _has_texts(one) else ():
            style = {"-": "failed", "+": "answered"}.get(mark, "dim")
            yield ((f"  {mark} {text}", style),)
    if report.divergences and (report.unused_steps or report.unused_calls):
        unused = f"{_count(report.unused_steps, 'recorded step')} and {_count(report.unused_calls, 'recorded call')}"
        yield ((f"  left unused: {unused}", "dim"),)
    if report.nearest is not None:
        yield ((f"  the nearest recorded request is that of step {report.nearest}", "dim"),)
    for one in report.unstable:
        yield ((f"  differs between two runs of now: {one.place} {one.where}", "cut"),)
    for name, what in (
        ("compared", report.compared),
        ("taken from the record", report.taken),
        ("not compared", report.ignored),
        ("note", report.notes),
    ):
        if what:
            yield ((f"  {name}: {', '.join(what)}", "dim"),)


def text_of(report: Report, short: str) -> str:
    """A whole report as plain text."""
    return "\n".join("".join(words for words, _ in line) for line in lines_of(report, short))


def difference(expected: str | None, actual: str | None, *, full: bool = False) -> Iterator[tuple[str, str]]:
    """The lines that differ, as (`-`, `+`, `@` or a space, text), with two lines around them."""
    for line in text_diff(expected, actual):
        shown = line if full else line.around(2 * AROUND)
        yield shown.mark, shown.text


def _has_texts(one: Divergence) -> bool:
    return one.code not in ("record", "not_recorded", "unused") and not (one.expected is None and one.actual is None)


def as_json(report: Report, following: Sequence[str]) -> dict[str, Any]:
    return {
        "schema": 1,
        "run_id": report.run_id,
        "outcome": report.outcome,
        "reason": report.reason,
        "divergences": [_divergence(one) for one in report.divergences],
        "steps": report.steps,
        "calls": report.calls,
        "unused_steps": report.unused_steps,
        "unused_calls": report.unused_calls,
        "nearest": report.nearest,
        "compared": list(report.compared),
        "taken": list(report.taken),
        "ignored": list(report.ignored),
        "notes": list(report.notes),
        "redacted": report.redacted,
        "unstable": [_divergence(one) for one in report.unstable],
        "answer": report.answer,
        "kept": report.kept,
        "next": list(following),
    }


def _divergence(one: Divergence) -> dict[str, Any]:
    return {
        "code": one.code,
        "step": one.step,
        "call": one.call,
        "where": one.where,
        "expected": one.expected,
        "actual": one.actual,
        "diff": [f"{mark}{text}" for mark, text in difference(one.expected, one.actual, full=True)],
    }


def _count(value: int, noun: str) -> str:
    return f"{value:,} {noun}{'s' if value != 1 else ''}"
