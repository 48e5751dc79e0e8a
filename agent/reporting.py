"""What a command line says of a run: steps, totals, why there is no answer, what to do next."""

import os
import shlex
from collections.abc import Iterator
from typing import Any, TextIO

from agent.observing import shown_chars
from agent.terminal import call_text, one_line
from agent.values import Result, Step, Totals

DEFAULT_DB = "traces.db"
_SHORTEST = 12
"""Characters that a narrow terminal leaves to a call, and to its result."""


def step_lines(step: Step, width: int) -> Iterator[str]:
    """`[step N] tool(arguments) → first words of the result`, one for each call, in about `width` characters."""
    for call, observation in zip(step.response.calls, step.observations, strict=True):
        mark = "✗ " if observation.error is not None else ""
        sizes = f"{shown_chars(observation.shown):,} of {len(observation.whole):,}"
        cut = f" [cut: {sizes} characters]" if observation.truncated else ""
        place = f"[step {step.number}] "
        room = width - len(f"{place} → {mark}{cut}")
        called = one_line(call_text(call.name, call.arguments), max(room * 2 // 3, _SHORTEST))
        yield f"{place}{called} → {mark}{one_line(observation.shown, max(room - len(called), _SHORTEST))}{cut}"


def width_of(stream: TextIO, otherwise: int) -> int:
    """Characters of a row of the terminal that `stream` is; `otherwise` where it is none."""
    if not stream.isatty():
        return otherwise
    given = os.environ.get("COLUMNS", "")
    return int(given if given.isdecimal() else 0) or os.get_terminal_size(stream.fileno()).columns or otherwise


def spent(totals: Totals) -> str:
    usage = totals.usage
    tokens = "tokens unknown"
    if usage.input is not None or usage.output is not None:
        bound = "at least " if totals.unreported else ""
        tokens = f"{bound}{_number(usage.input)} tokens in, {_number(usage.output)} out"
    return f"{_count(totals.steps, 'step')}, {_count(totals.tool_calls, 'tool call')}, {tokens}"


def why(result: Result) -> str:
    """The limit, or whatever else, that left a run without an answer."""
    reasons = {
        "max_steps": f"max_steps, the limit of {_count(result.stats.steps, 'step')}; allow more with --max-steps",
        "token_limit": "max_tokens, the limit of tokens",
        "time_limit": "max_seconds, the limit of time",
        "cost_limit": "max_cost_usd, the limit of cost; allow more with --max-cost",
        "refused": f"the model, which refused: {result.messages[-1].refusal}",
        "content_filter": "the provider's content filter",
        "output_limit": "the model's output limit, used up before the answer began; allow it more",
    }
    return reasons.get(result.stop, result.stop)


def next_command(run: str, db: str) -> str:
    """The command that shows a run, by its id or as `last`."""
    return f"viewer show {run[:8]}{store_option(db)}"


def store_option(db: str) -> str:
    """What a command needs to find this store, "" where it would find it anyway."""
    default = os.environ.get("PLAYHEAD_DB") or DEFAULT_DB
    return "" if db == default else f" --db {shlex.quote(db)}"


def result_as_json(result: Result, error: str | None, db: str) -> dict[str, Any]:
    stats = result.stats
    return {
        "schema": 1,
        "run_id": result.run_id,
        "answer": result.answer,
        "stop": result.stop,
        "finish_reason": result.finish,
        "error": error,
        "steps": stats.steps,
        "tool_calls": stats.tool_calls,
        "input_tokens": stats.usage.input,
        "output_tokens": stats.usage.output,
        "cached_tokens": stats.usage.cached,
        "reasoning_tokens": stats.usage.reasoning,
        "unreported_calls": stats.unreported,
        "db": os.path.abspath(db),
        "next": [next_command(result.run_id or "last", db)],
    }


def _count(value: int, noun: str) -> str:
    return f"{value} {noun}{'s' if value != 1 else ''}"


def _number(value: int | None) -> str:
    return "unknown" if value is None else f"{value:,}"
