"""What `--json` prints: plain objects, from rows and trees."""

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tracing.reference import Reference

if TYPE_CHECKING:
    from tracing.reader import Row
    from viewer.trees import Tree

CONTENT = ("question", "answer")
"""Columns of a run that hold what was said."""


def listed(row: "Row", content: bool) -> "Row":
    listed = {key: value for key, value in row.items() if content or key not in CONTENT}
    return {**listed, "tags": json.loads(row["tags"]), "metadata": json.loads(row["metadata"])}


def list_of(rows: "list[Row]", total: int) -> dict[str, Any]:
    """The envelope of every list."""
    as_of = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return {"schema": 1, "as_of": as_of, "total": total, "count": len(rows), "rows": rows}


def shown(
    tree: "Tree", reference: Reference, said: "list[Row] | None", log: "list[Row] | None", following: list[str]
) -> dict[str, Any]:
    run = listed(tree.run, True)
    steps = [
        {
            **step.row,
            "message": step.message,
            "tool_calls": [
                {**call.row, "runs": [child["run_id"] for child in call.children]}
                for call in step.calls
                if reference.call is None or call.row["call"] == reference.call
            ],
        }
        for step in tree.steps
        if reference.step is None or step.number == reference.step
    ]
    more: dict[str, Any] = {}
    if said is not None:
        more["messages"] = [with_calls(row) for row in said]
    if log is not None:
        more["events"] = [{**row, "fields": json.loads(row["fields"])} for row in log]
    return {"schema": 1, "run": run, "steps": steps, **more, "next": following}


def with_calls(row: "Row") -> "Row":
    return {**row, "tool_calls": json.loads(row["tool_calls"]) if row["tool_calls"] else None}


def plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    return value
