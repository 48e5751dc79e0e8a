"""What `viewer diff --json` prints: plain objects, from a `RunDiff`."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from tracing.recording import RecordedCall
from tracing.replaying.report import Divergence
from viewer.diffing.runs import RunDiff, Totals
from viewer.diffing.steps import SIDES, CallChange, Figures, Pair, StepChange, result_of
from viewer.replays import difference


def as_json(change: RunDiff, following: Sequence[str]) -> dict[str, Any]:
    return {
        "schema": 1,
        "a": change.run_id.a,
        "b": change.run_id.b,
        "same": change.same,
        "first": None if change.first is None else _divergence(change.first),
        "model": _pair(change.model),
        "labels": {name: _pair(pair) for name, pair in change.labels},
        "hashes_from": change.hashes_from,
        "identical": [list(stretch) for stretch in change.identical],
        "steps": [_step(step) for step in change.steps],
        "answer": _texts(change.answer),
        "stop": _pair(change.stop),
        "error": _pair(change.error),
        "status": _pair(change.status),
        "totals": {"a": _totals(change.totals.a), "b": _totals(change.totals.b)},
        "faults": {side: [fault._asdict() for fault in getattr(change.faults, side)] for side in SIDES},
        "next": list(following),
    }


def _step(step: StepChange) -> dict[str, Any]:
    return {
        "step": step.number,
        "only": step.only,
        "messages": [
            {"role": one.role, "position": _pair(one.position), "text": _texts(one.text)} for one in step.messages
        ],
        "tools": [_divergence(one) for one in step.tools],
        "settings": [_divergence(one) for one in step.settings],
        "text": _texts(step.text),
        "finish_reason": _pair(step.finish),
        "error": _pair(step.error),
        "ended": _pair(step.ended),
        "response_model": _pair(step.model),
        "calls": [_call_change(one) for one in step.calls],
        "figures": {"a": _figures(step.figures.a), "b": _figures(step.figures.b)},
    }


def _call_change(change: CallChange) -> dict[str, Any]:
    one, other = change.call.a, change.call.b
    return {
        "kind": change.kind,
        "a": _call(one),
        "b": _call(other),
        "arguments_diff": _diff(one.arguments, other.arguments) if one and other else [],
        "result_diff": _diff(result_of(one), result_of(other)),
    }


def _call(call: RecordedCall | None) -> dict[str, Any] | None:
    """With the names of the `tool_calls` view."""
    if call is None:
        return None
    seen = call.observation
    return {
        "call": call.index + 1,
        "tool": call.name,
        "arguments": call.arguments,
        "result": None if seen is None else seen.shown,
        "result_chars": None if seen is None else len(seen.whole),
        "truncated": seen is not None and seen.truncated,
        "error": call.error if seen is None else seen.error,
        "ended": call.ended,
    }


def _totals(totals: Totals) -> dict[str, Any]:
    return {"steps": totals.steps, "tool_calls": totals.calls, **(_figures(totals.figures) or {})}


def _figures(figures: Figures | None) -> dict[str, Any] | None:
    """With the names of the `runs` view."""
    if figures is None:
        return None
    return {
        "input_tokens": figures.input,
        "output_tokens": figures.output,
        "duration_ms": figures.duration,
        "cost_usd": figures.cost,
    }


def _texts(pair: Pair[str | None]) -> dict[str, Any]:
    return {**_pair(pair), "diff": _diff(pair.a, pair.b)}


def _diff(before: str | None, after: str | None) -> list[str]:
    return [f"{mark}{text}" for mark, text in difference(before, after, full=True)]


def _pair(pair: Pair[Any]) -> dict[str, Any]:
    return {"a": pair.a, "b": pair.b}


def _divergence(one: Divergence) -> dict[str, Any]:
    return asdict(one)
