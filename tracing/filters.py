"""Which runs: a filter as a value, and as the SQL that finds them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agent.canonical import encodable

LARGEST = 2**62  # what SQLite's integers hold, with room to add


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which runs; None and empty mean any. Times are UTC ISO 8601 text as in `runs.started_at`."""

    status: tuple[str, ...] = ()
    stop: tuple[str, ...] = ()
    agent: str | None = None
    tool: str | None = None
    model: str | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    session: str | None = None
    error: bool = False
    since: str | None = None
    until: str | None = None
    min_cost: float | None = None
    min_steps: int | None = None
    text: str | None = None


SORTS = {
    "time": "started_at desc",
    "turns": "started_at",
    "cost": "cost_usd desc nulls last",
    "tokens": "coalesce(input_tokens, 0) + coalesce(output_tokens, 0) desc",
    "steps": "steps desc",
    "duration": "duration_ms desc nulls last",
}


def where(wanted: Filter) -> tuple[str, list[Any]]:
    """A where clause over the `runs` view, "" for all, and its values.

    Whether an open run still runs is not known to SQL: both "running" and "interrupted" find it.
    """
    clauses: list[str] = []
    values: list[Any] = []

    def add(clause: str, *given: Any) -> None:
        clauses.append(clause)
        values.extend(_bindable(value) for value in given)

    if wanted.status:
        stored = {"running" if one == "interrupted" else one for one in wanted.status} | set(wanted.status)
        add(f"status in ({','.join('?' * len(stored))})", *sorted(stored))
    if wanted.stop:
        add(f"stop in ({','.join('?' * len(wanted.stop))})", *wanted.stop)
    for column in ("agent", "session"):
        if (value := getattr(wanted, column)) is not None:
            add(f"{column} = ?", value)
    if wanted.model is not None:
        add(
            "(model = ? or run_id in (select r.run_id from span s join run r on r.id=s.run where s.kind=1 "
            "and s.response_model = ?))",
            wanted.model,
            wanted.model,
        )
    if wanted.tool is not None:
        add(
            "run_id in (select r.run_id from span s join run r on r.id=s.run where s.kind=2 and s.name = ?)",
            wanted.tool,
        )
    for tag in wanted.tags:
        add("run_id in (select run_id from annotation where kind='tag' and value = ?)", tag)
    for key, value in wanted.metadata.items():
        text = "case m.type when 'true' then 'true' when 'false' then 'false' when 'null' then 'null' else cast(m.value as text) end"
        add(f"exists (select 1 from json_each(metadata) m where m.key = ? and {text} = ?)", key, value)  # noqa: S608
    if wanted.error:
        add(
            "(error is not null or run_id in (select r.run_id from span s join run r on r.id=s.run "
            "where s.error is not null))"
        )
    if wanted.since is not None:
        add("started_at >= ?", wanted.since)
    if wanted.until is not None:
        add("started_at < ?", wanted.until)
    if wanted.min_cost is not None:
        add("cost_usd >= ?", wanted.min_cost)
    if wanted.min_steps is not None:
        add("steps >= ?", wanted.min_steps)
    if wanted.text is not None:
        add(
            "(instr(casefold(question), casefold(?)) or instr(casefold(answer), casefold(?)))",
            wanted.text,
            wanted.text,
        )
    return ("where " + " and ".join(clauses)) if clauses else "", values


def _bindable(value: Any) -> Any:
    """What a command line can give and SQLite cannot take: bytes that are no UTF-8, and large numbers."""
    if isinstance(value, str):
        return encodable(value)
    return max(min(value, LARGEST), -LARGEST) if isinstance(value, int) else value
