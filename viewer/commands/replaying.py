"""The command that runs recorded runs again.

Exit codes of `replay`: 0 exact, 3 diverged, 4 not replayable; of several runs 3 before 4, and 1 where none matched.
"""

import shlex
import sys
from contextlib import ExitStack, redirect_stdout
from typing import TYPE_CHECKING, Any

import click

from agent.command_line import outcome
from agent.terminal import json_text, one_line
from viewer.commands.running import (
    EXIT_DIVERGED,
    EXIT_NOT_REPLAYABLE,
    EXIT_USAGE,
    asked_model,
    chosen_agent,
    project_redaction,
)
from viewer.options import (
    agent_option,
    db_option,
    failure,
    filter_of,
    filter_options,
    find_whole_run,
    json_option,
    opened,
    path_of,
    tz_option,
    where,
)

if TYPE_CHECKING:
    from tracing.reader import Row
    from tracing.recorder import Recorder
    from tracing.replaying.report import Report
    from tracing.store import Store


@click.command()
@db_option
@click.argument("runs", metavar="[RUN]...", nargs=-1)
@agent_option
@click.option(
    "--tools",
    type=click.Choice(["recorded", "live"]),
    default="recorded",
    show_default=True,
    help="live: run the agent's tools, with all that they do, and hold their results against the record.",
)
@click.option(
    "--times",
    type=click.IntRange(1),
    default=1,
    help="With live tools: run each so often, and name those that give different results.",
)
@click.option("--model", metavar="SPEC", help="Ask this model, with the recorded results of the tools.")
@click.option(
    "--ignore",
    multiple=True,
    metavar="PATTERN",
    help="What is not compared: 'system:/Today is .*/', result:clock, 'result:clock:/PATTERN/'. May be repeated.",
)
@click.option("--keep", is_flag=True, help="Record the replay, as a run of the kind replay.")
@click.option("--full", is_flag=True, help="Shorten nothing.")
@click.option("--of-agent", "agent", metavar="NAME", help="Runs of the agent with this name.")
@click.option("--of-model", metavar="NAME", help="Runs of this model.")
@filter_options
@tz_option
@json_option
@click.pass_context
def replay(
    context: click.Context, /, runs: tuple[str, ...], agent_name: str | None, tools: Any, times: int, model: str | None,
    ignore: tuple[str, ...], keep: bool, full: bool, of_model: str | None, tz: str | None, as_json: bool, db: str | None,
    **filters: Any,
) -> None:  # fmt: skip
    """Run recorded runs again, offline, and say whether they are the same, or where they first differ.

    Without RUN, the last one, or all that the filters find. With an agent, its prompt, schemas, settings and limits are
    held against the record; without, these are taken from it.
    """
    from tracing.replaying.ignoring import BadPattern
    from tracing.replaying.replay import replay as replayed

    with redirect_stdout(sys.stderr):  # stdout is data: what an agent's module prints is words
        chosen, policy = chosen_agent(agent_name), project_redaction()
    if tools == "live" and chosen is None:
        raise failure("live tools are those of an agent: give --agent MODULE:ATTR", EXIT_USAGE)
    if tools == "live" and model is not None:
        raise failure(
            "another model is asked with the recorded results: leave out --tools live, or --model", EXIT_USAGE
        )
    if times > 1 and tools != "live":
        raise failure("--times is for live tools: add --tools live", EXIT_USAGE)
    given = {**filters, "model": of_model}
    with opened(context, db) as store, ExitStack() as stack:
        found = _chosen(store, runs, given, tz)
        keeper = stack.enter_context(_keeper(path_of(context, db))) if keep else None
        asked = asked_model(model)
        reports: list[tuple[Report, Row]] = []
        try:
            for row in found:
                recording = store.recording(row["run_id"])
                agent = None if chosen is None else chosen.for_run(recording.agent)
                if tools == "live" and agent is None:
                    raise failure(f"run {row['run_id'][:8]} is of another agent: give --agent MODULE:ATTR", EXIT_USAGE)
                with redirect_stdout(sys.stderr):
                    report = replayed(
                        recording,
                        agent,
                        tools=tools,
                        times=times,
                        model=asked,
                        ignore=ignore,
                        redact=policy,
                        keep=keeper,
                    )
                reports.append((report, row))
        except BadPattern as error:
            raise failure(str(error), EXIT_USAGE) from error
        ends = {report.outcome for report, _ in reports}
        outcome(EXIT_DIVERGED if "diverged" in ends else EXIT_NOT_REPLAYABLE if "not_replayable" in ends else 0)
        again = _again(agent_name, tools, times, model, ignore)
        place = where(context, db)
        _print(
            store, reports, is_one=not _is_batch(runs, given), as_json=as_json, full=full, again=again,
            agent=agent_name, where_=place,
        )  # fmt: skip


def _is_batch(runs: tuple[str, ...], given: dict[str, Any]) -> bool:
    return len(runs) > 1 or (not runs and _is_filtered(given))


def _is_filtered(given: dict[str, Any]) -> bool:
    return any(value not in (None, (), False) or (value == 0 and value is not False) for value in given.values())


def _chosen(store: "Store", runs: tuple[str, ...], given: dict[str, Any], tz: str | None) -> "list[Row]":
    """The runs that are named, or that the filters find, the oldest first. Raises Failure for none."""
    if runs and _is_filtered(given):
        raise failure("give runs, or filters that find them, not both", EXIT_USAGE)
    if runs or not _is_filtered(given):
        ids = dict.fromkeys(find_whole_run(store, run) for run in runs or ("last",))
        return [store.run(run_id) for run_id in ids]
    rows, _ = store.runs(filter_of(tz=tz, **given))
    if not rows:
        raise failure("no run matches: see viewer list with the same filters")
    return rows[::-1]


def _keeper(path: str) -> "Recorder":
    from tracing.errors import StoreError
    from tracing.recorder import Recorder

    try:
        return Recorder(path, strict=True)
    except StoreError as error:
        raise failure(str(error)) from error


def _print(
    store: "Store", reports: "list[tuple[Report, Row]]", *, is_one: bool, as_json: bool, full: bool, again: str,
    agent: str | None, where_: str,
) -> None:  # fmt: skip
    from viewer.replays import as_json as report_as_json

    following = [_following(report, store.short(report.run_id), agent, where_) for report, _ in reports]
    if as_json:
        objects = [report_as_json(report, next_) for (report, _), next_ in zip(reports, following, strict=True)]
        click.echo(json_text(objects[0] if is_one else _summary(objects)))
        return
    from viewer.render import Screen
    from viewer.replays import lines_of

    screen = Screen()
    if is_one:
        report = reports[0][0]
        for line in lines_of(report, store.short(report.run_id), full=full):
            screen.line(*line)
        if report.kept is not None:
            screen.line((f"  kept as run {report.kept[:8]}", "dim"))
        screen.line((f"next: {following[0][0]}", "next"))
        return
    _table(screen, store, reports)
    order = ("diverged", "not_replayable", "exact")
    worst = min(range(len(reports)), key=lambda at: order.index(reports[at][0].outcome))
    report, best = reports[worst][0], following[worst][0]
    command = best if report.is_exact else f"viewer replay {store.short(report.run_id)}{again}{where_}"
    screen.line((f"next: {command}", "next"))


def _table(screen: Any, store: "Store", reports: "list[tuple[Report, Row]]") -> None:
    from viewer.replays import STYLE, place_of, said_of

    rows = []
    for report, row in reports:
        first = report.first
        what = report.reason or ("" if first is None else f"{place_of(first)}{said_of(first)}")
        code = "" if first is None else f"{first.code}@{first.step or 'end'}"
        rows.append(
            [
                (store.short(report.run_id), "head"),
                (report.outcome.replace("_", " "), STYLE[report.outcome]),
                (code, ""),
                (one_line(what, 70), ""),
                (one_line(row["question"], 200), "dim"),
            ]
        )
    screen.table(["run", "outcome", "differs", "what", "question"], rows)
    counts = {outcome: sum(report.outcome == outcome for report, _ in reports) for outcome in STYLE}
    said = ", ".join(f"{count} {outcome.replace('_', ' ')}" for outcome, count in counts.items() if count)
    screen.line((f"{len(reports)} run{'s' if len(reports) != 1 else ''}: {said}", ""))


def _summary(objects: list[dict[str, Any]]) -> dict[str, Any]:
    from viewer.objects import list_of

    return list_of(objects, len(objects))


def _following(report: "Report", short: str, agent: str | None, where_: str) -> list[str]:
    if report.outcome == "exact" and not report.ignored:
        option = "" if agent is None else f" --agent {shlex.quote(agent)}"
        return [f"viewer test {short} -o tests{option}{where_}", f"viewer show {short}{where_}"]
    if report.first is not None and report.first.code == "record":
        return [f"viewer check --hashes{where_}", f"viewer show {short}{where_}"]
    if report.first is not None and report.first.step is not None and report.steps:
        return [f"viewer context {short}:{report.first.step}{where_}", f"viewer show {short}{where_}"]
    return [f"viewer show {short}{where_}"]


def _again(agent: str | None, tools: str, times: int, model: str | None, ignore: tuple[str, ...]) -> str:
    """The options of a replay, as they were given."""
    given = [
        *(("--agent", agent) if agent is not None else ()),
        *(("--tools", tools) if tools != "recorded" else ()),
        *(("--times", str(times)) if times > 1 else ()),
        *(("--model", model) if model is not None else ()),
        *(word for pattern in ignore for word in ("--ignore", pattern)),
    ]
    return "".join(f" {shlex.quote(word)}" for word in given)
