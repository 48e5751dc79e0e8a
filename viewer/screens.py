"""The screens: one function per command, from a view to lines."""

import json
from collections.abc import Mapping, Sequence
from datetime import tzinfo
from typing import Any

from agent.messages import Message
from agent.observing import kept_of, shown_chars
from agent.terminal import call_text, one_line, visible
from tracing.reader import Row
from tracing.store import Request, Store
from viewer.contexts import ContextDiff, Cut
from viewer.render import BAR, Part, Screen, bar, duration, fitted, money, number
from viewer.times import local
from viewer.trees import Call, Step, Timing, Tree

ORIGINS = {"fork": "fork of", "replay": "replay of"}
"""What a run is to its parent; without a word here, the parent's tool started it."""


def show_list(screen: Screen, store: Store, rows: Sequence[Row], total: int, where: tzinfo, next_command: str) -> None:
    if not rows:
        screen.line(("no runs" if total == 0 else f"none of {total} runs shown", ""))
        return
    table: list[dict[str, Part]] = []
    narrow = screen.width is not None and screen.width < 120
    costs = any(row["cost_usd"] for row in rows)
    for row in rows:
        partial = bool(row["unreported_calls"])
        tokens = " / ".join(number(row[key], at_least=partial) for key in ("input_tokens", "output_tokens"))
        started = local(row["started_at"], where)
        cells: dict[str, Part] = {
            "run": (store.short(row["run_id"]), "head"),
            "started": (started[5:16] if narrow else started, "dim"),
            "status": (row["status"] if row["status"] != "stopped" else row["stop"], row["status"]),
            "steps": (number(row["steps"]), ""),
            "calls": (number(row["tool_calls"]), ""),
            "tokens in / out": (tokens, ""),
            "time": ("" if row["duration_ms"] is None else duration(row["duration_ms"]), ""),
            "agent · model": (f"{row['agent']} · {row['model']}{_origin(row)}", "dim"),
            "cost": (money(row["cost_usd"], at_least=bool(row["unpriced_calls"])), ""),
            "question": (one_line(row["question"], 500), ""),
        }
        if narrow:
            del cells["tokens in / out"], cells["agent · model"]
            cells["question"] = (f"{_origin(row)} {cells['question'][0]}".strip(), "")
        if not costs:
            del cells["cost"]
        table.append(cells)
    heads = list(table[0])
    right = frozenset(
        heads.index(head) for head in ("steps", "calls", "tokens in / out", "time", "cost") if head in heads
    )
    screen.table(heads, [list(cells.values()) for cells in table], right)
    if len(rows) < total:
        screen.line((f"{len(rows)} of {total:,} runs; -n N shows more, --all shows all", "dim"))
    screen.line((f"next: {next_command}", "next"))


def _origin(row: Row) -> str:
    """The run that this one was forked from, or whose tool it is."""
    if not row["parent_run"]:
        return ""
    return f" ← {row['parent_run'][:8]}" + (f"@{row['fork_step']}" if row["fork_step"] else "")


def show_run(screen: Screen, tree: Tree, where: tzinfo, *, full: bool, step: int | None, call: int | None) -> None:
    _head(screen, tree, where, full=full)
    for one in tree.steps:
        if step is None or one.number == step:
            _step(screen, tree, one, full=full, call=call, detailed=step is not None)
    run = tree.run
    if step is None:
        screen.line()
        if run["answer"] is not None:
            screen.line(("answer", "head"))
            screen.prose(run["answer"], indent="  ")
        else:
            screen.line((_no_answer(tree), run["status"]))


def _head(screen: Screen, tree: Tree, where: tzinfo, *, full: bool) -> None:
    run = tree.run
    parts: list[Part] = [(f"run {tree.short}", "head"), ("  ", ""), (run["status"], run["status"])]
    if run["status"] == "stopped":
        parts.append((f" ({run['stop']})", "stopped"))
    parts.append((f"  {run['agent']} · {run['model']}  {local(run['started_at'], where)}  {_length(run)}", ""))
    screen.line(*parts, shorten=True)
    tokens = f"{_tokens(tree, 'input_tokens')} tokens in, {_tokens(tree, 'output_tokens')} out"
    if run["cached_tokens"]:
        tokens += f", {_tokens(tree, 'cached_tokens')} cached"
    calls = [call for one in tree.steps for call in one.calls]
    counts = f"{_counted(tree.steps, 'step')}, {_counted(calls, 'tool call')}"
    screen.line((f"  {counts}, {tokens}, {_cost(tree)}", "dim"))
    labels = [
        f"{name} {value}"
        for name, value in (
            (ORIGINS.get("fork" if run["fork_step"] else run["kind"], "part of run"), run["parent_run"] and _origin(run).removeprefix(" ← ")),
            ("session", run["session"]), ("tags", ", ".join(json.loads(run["tags"]))), ("version", run["version"]),
            ("secrets taken out:", run["redacted"]),
            ("metadata", run["metadata"] if run["metadata"] != "{}" else None),
        )
        if value
    ]  # fmt: skip
    if labels:
        screen.line(("  " + "   ".join(labels), "dim"), shorten=True)
    screen.line((f"  run id {run['run_id']}", "dim"))
    screen.line()
    _lines(screen, ("question ", "head"), run["question"] if full else one_line(run["question"], 400), indent="  ")
    screen.line()


def _counted(found: Sequence[Step | Call], noun: str) -> str:
    """How many are shown; the record's own numbers are of those that came to an end."""
    left = sum(one.timing.end is None for one in found)
    return _count(len(found), noun) + (f" ({left} open)" if left else "")


def _tokens(tree: Tree, name: str) -> str:
    answered = [step.row[name] for step in tree.steps if step.message is not None]
    return number(tree.run[name], at_least=None in answered)


def _cost(tree: Tree) -> str:
    run, prices = tree.run, {step.row["price"] for step in tree.steps}
    if prices and prices <= {"free", "replayed"}:
        return "cost nothing" if prices == {"free"} else "taken from a record: cost nothing"
    cost = money(run["cost_usd"], at_least=bool(run["unpriced_calls"]))
    return f"cost {'unknown' if cost == '?' else cost}"


def _step(screen: Screen, tree: Tree, step: Step, *, full: bool, call: int | None, detailed: bool) -> None:
    row = step.row
    finish = row["finish_reason"] or ""
    if row["error"] is not None:
        said: Part = (f"✗ {row['error']}", "error")
    elif step.timing.end is None:
        said = ("open: no answer was recorded" if tree.run["alive"] is False else "waiting for the answer", "running")
    else:
        words = _count(len(step.calls), "call") if step.calls else "answer"
        words += "" if finish in ("", "stop", "tool_calls") else f" ({finish})"
        words += f", tokens {number(row['input_tokens'])} in, {number(row['output_tokens'])} out"
        if row["price"] == "replayed":
            words += ", from the record"
        elif row["cost_usd"]:
            words += f", {money(row['cost_usd'])}"
        said = (words, "")
    model = row["response_model"] or row["model"]
    _row(screen, tree, (f"step {step.number}  {model}: ", "head"), said, step.timing, row["duration_ms"])
    text = None if step.message is None else Message.from_dict(step.message).content  # of a content of parts, its text
    if text and step.calls:
        if full or detailed:
            _lines(screen, ("│  ", "dim"), text, indent="│  ")
        else:
            screen.line(("│  ", "dim"), (one_line(text, 200), ""), shorten=True)
    shown = [one for one in step.calls if call is None or one.row["call"] == call]
    for position, one in enumerate(shown):
        _call(screen, tree, one, last=position == len(shown) - 1, full=full, detailed=detailed)


def _call(screen: Screen, tree: Tree, call: Call, *, last: bool, full: bool, detailed: bool) -> None:
    row = call.row
    branch, below = ("└─ ", "   ") if last else ("├─ ", "│  ")
    label = f"{branch}{row['step']}.{row['call']} {'✗ ' if row['error'] else ''}"
    said = (call_text(row["tool"], row["arguments"]), "error" if row["error"] else "")
    _row(screen, tree, (label, ""), said, call.timing, row["duration_ms"])
    size: Part = ("", "")
    if row["truncated"]:
        size = (f"✂ cut: {shown_chars(row['result']):,} of {row['result_chars']:,} chars  ", "cut")
    elif row["result_chars"] is not None:
        size = (f"{row['result_chars']:,} chars  ", "dim")
    if full or detailed:
        _lines(screen, (f"{below}  arguments  ", "dim"), row["arguments"], indent=f"{below}  ", style="dim")
    if row["result"] is None:
        gone = tree.run["alive"] is False
        reason = row["error"] or ("open when the process ended" if gone else "running")
        screen.line((f"{below}  → ", "dim"), (reason, "error" if gone or row["error"] else "running"))
    elif full or detailed:
        screen.line((f"{below}  result  ", "dim"), size)
        screen.text(row["result"], "error" if row["error"] else "", indent=f"{below}  ")
        if full and row["whole"] is not None and row["truncated"]:
            seen = shown_chars(row["result"])
            screen.line(
                (
                    f"{below}  ── from here on ({row['result_chars'] - seen:,} characters) the model did not see it ──",
                    "cut",
                )
            )
            screen.text(row["whole"][len(kept_of(row["result"])) :].removeprefix("\n"), indent=f"{below}  ")
    else:
        first = (one_line(row["result"], 300), "error" if row["error"] else "dim")
        screen.line((f"{below}  → ", "dim"), size, first, shorten=True)
    for child in call.children:
        screen.line(
            (
                f"{below}  ⤷ run {child['run_id'][:8]}  {child['status']}  {child['agent']} · {child['model']}",
                child["status"],
            )
        )


def _lines(screen: Screen, label: Part, words: str, *, indent: str, style: str = "") -> None:
    """A text with all of its lines, the first of them beside its label."""
    first, _, rest = visible(words).partition("\n")
    screen.line(label, (first, style))
    if rest:
        screen.text(rest, style, indent=indent)


def _row(screen: Screen, tree: Tree, label: Part, said: Part, timing: Timing, took: float | None) -> None:
    """A label and what was said, then, in a column of their own, a time bar and how long it took."""
    width = screen.width or 140
    size = BAR if width >= 110 else BAR // 2
    words = fitted(said[0], max(width - size - 11 - len(label[0]), 8), shorten=screen.width is not None)
    drawn = bar(timing.start, timing.end, tree.length, size)
    screen.line(label, (words, said[1]), (f" {drawn}", "bar"), (f" {duration(took):>8}", ""), shorten=True)


def _no_answer(tree: Tree) -> str:
    run = tree.run
    if run["status"] == "running":
        return (
            "no answer yet: the run is going on"
            if run["alive"]
            else "no answer yet: running, as far as can be seen from this machine"
        )
    if run["status"] == "interrupted":
        return "no answer: the process ended in the middle of the run"
    refusals = [step.message.get("refusal") for step in tree.steps if step.message is not None]
    if run["stop"] == "refused" and refusals and refusals[-1]:
        return f"no answer: the model refused: {refusals[-1]}"
    if run["status"] == "cancelled":
        return "no answer: cancelled"
    reason = run["error"] or run["stop"]
    return f"no answer: {run['status']}: {reason}"


def show_messages(screen: Screen, rows: Sequence[Mapping[str, Any]], cut: Mapping[int, Cut] | None = None) -> None:
    for position, row in enumerate(rows):
        name = f"  answers {row['tool_call_id']}" if row.get("tool_call_id") else ""
        screen.line((f"[{position + 1}] {row['role']}", "head"), (name, "dim"))
        if row.get("content"):
            screen.text(str(row["content"]), indent="  ")
        for call in row.get("tool_calls") or ():
            function = call.get("function") or {}
            screen.line(
                (f"  → {call_text(str(function.get('name')), str(function.get('arguments')))}", ""),
                (f"  {call.get('id')}", "dim"),
            )
        known = {"role", "content", "tool_calls", "tool_call_id", "position", "hash", "run_id"}
        for key in row.keys() - known:
            screen.line((f"  {key}: {row[key]}", "dim"))
        if cut and (note := cut.get(position)):
            screen.line((f"  ✂ the model saw {note.shown:,} of {note.whole:,} characters", "cut"))


def show_context(screen: Screen, request: Request, cut: Mapping[int, Cut], title: str) -> None:
    screen.line((title, "head"))
    screen.line()
    show_messages(screen, request.messages, cut)
    screen.line()
    names = ", ".join(tool.get("function", {}).get("name", "?") for tool in request.tools) or "none"
    screen.line((f"tools: {names}", "dim"))
    screen.line((f"settings: {json.dumps(request.settings, ensure_ascii=False)}", "dim"))


def show_diff(screen: Screen, change: ContextDiff, title: str) -> None:
    screen.line((title, "head"))
    if change.same:
        same = "message 1 is" if change.same == 1 else f"messages 1 to {change.same} are"
        screen.line((f"{same} the same", "dim"))
    marks = {"added": ("+ ", "answered"), "dropped": ("- ", "failed"), "changed": ("~ ", "stopped")}
    for one in change.changes:
        mark, style = marks[one.kind]
        screen.line()
        screen.line((f"{mark}[{one.position}] {one.message['role']} {one.kind}", style))
        if one.before is not None:
            screen.text(_message_text(one.before), "failed", indent="  - ")
        screen.text(
            _message_text(one.message),
            "failed" if one.kind == "dropped" else "",
            indent="  - " if one.kind == "dropped" else "  + ",
        )
        if one.cut is not None:
            screen.line((f"  ✂ cut: the model saw {one.cut.shown:,} of {one.cut.whole:,} characters", "cut"))
    if not change.changes:
        screen.line(("no message differs", ""))
    for changed, what in ((change.tools_changed, "tools"), (change.settings_changed, "settings")):
        if changed:
            screen.line((f"~ the {what} differ", "stopped"))


def show_events(screen: Screen, rows: Sequence[Row], where: tzinfo) -> None:
    for row in rows:
        style = "error" if row["level"] == "error" else "cut" if row["level"] == "warning" else "dim"
        clock = local(row["time"], where)[11:] + row["time"][19:23]
        screen.line(
            (clock, "dim"), (f"  {row['level']:7}", style), (f"  {row['event']:14}  ", "head"), (row["fields"], "")
        )


def _message_text(message: Mapping[str, Any]) -> str:
    calls = [
        "→ "
        + call_text(str((call.get("function") or {}).get("name")), str((call.get("function") or {}).get("arguments")))
        for call in message.get("tool_calls") or ()
    ]
    return "\n".join([str(message["content"])] * bool(message.get("content")) + calls)


def _length(run: Row) -> str:
    return duration(run["duration_ms"]) if run["duration_ms"] is not None else ""


def _count(value: int | None, noun: str) -> str:
    return f"{number(value)} {noun}{'s' if value != 1 else ''}"
