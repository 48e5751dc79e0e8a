"""`viewer cost`: sums that add up, days as a clock on the wall shows them, and nothing unknown that looks like nothing."""

import csv
import io
import os
import sqlite3
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

import pytest
from click.testing import Result
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agent.command_line import Commands
from tests.runs import UNSAFE, answer, invoke, recording, strict_json
from tests.spent_calls import SECOND, Call, Run, kind_of, make, run_id, sums_of, write
from tracing.file import memory_store
from tracing.spending import Sums, spending
from viewer.commands.cost import cost
from viewer.costing.calendars import UNITS, edges, local_zone, stretches
from viewer.costing.costs import OF_RUNS, Figure, Report, exact_usd, report_of, usd
from viewer.costing.screen import show_chart, show_costs
from viewer.render import Screen

VIEWER = Commands(name="viewer", commands={"cost": cost})
PARIS = ZoneInfo("Europe/Paris")


def ns(text: str, where: tzinfo = UTC) -> int:
    when = datetime.fromisoformat(text)
    when = when if when.tzinfo else when.replace(tzinfo=where)
    return (when - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1) * 1000


def told(*arguments: str, db: Path) -> Result:
    return invoke("cost", *arguments, db=db, command=VIEWER)


def printed(*arguments: str, db: Path) -> str:
    result = told(*arguments, db=db)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout


def as_json(*arguments: str, db: Path) -> Any:
    return strict_json(printed(*arguments, "--json", db=db))


# Sums and calendars, for any calls, any zone, any range


@pytest.fixture(scope="module")
def store() -> Iterator[sqlite3.Connection]:
    with closing(memory_store()) as connection:
        yield connection


CHANGES = [ns(text) for text in (
    "2026-03-29T01:00", "2026-10-25T01:00", "2026-11-01T06:00", "2026-04-04T15:00",  # Paris, New York, Lord Howe
    "2011-12-30T10:00", "1987-10-25T02:31", "1911-03-10T23:51", "2026-02-15T22:00",  # Apia, St. John's, Paris, Casablanca
)]  # fmt: skip
AWAY = st.one_of(
    st.integers(-500, 500).map(lambda steps: steps * 450 * SECOND),
    st.integers(-(10**10), 10**10),
    st.integers(-(10**16), 10**16),
)
"""From the change of a clock: some steps of half a quarter of an hour, seconds, months."""
AMOUNTS = st.none() | st.integers(0, 10**15)
CALLS = st.builds(
    Call, start_ns=AWAY, cost=AMOUNTS, price=st.sampled_from([None, "own", "replayed"]), input=AMOUNTS, output=AMOUNTS,
    cached=AMOUNTS, cache_write=AMOUNTS, reasoning=AMOUNTS, model=st.sampled_from(["a", "b"]),
    response_model=st.sampled_from([None, "a", "a-2026"]), provider=st.sampled_from([None, "p"]),
    is_open=st.sampled_from([False, False, False, True]),
)  # fmt: skip
RUNS = st.builds(
    Run, calls=st.lists(CALLS, max_size=5).map(tuple), kind=st.sampled_from(["live", "fork", "replay"]),
    is_imported=st.sampled_from([False, False, True]), agent=st.sampled_from(["docs", "writer"]),
    session=st.sampled_from([None, "s1", "s2"]), tags=st.lists(st.sampled_from(["x", "y"]), max_size=2).map(tuple),
)  # fmt: skip
ZONES = st.sampled_from(sorted(available_timezones())).map(ZoneInfo)
GROUPS: dict[str, Callable[[datetime, int, Run, Call], str | None]] = {
    "hour": lambda when, number, run, call: _hour(when),
    "day": lambda when, number, run, call: f"{when:%Y-%m-%d}",
    "week": lambda when, number, run, call: f"{when:%G-W%V}",
    "month": lambda when, number, run, call: f"{when:%Y-%m}",
    "model": lambda when, number, run, call: call.model if call.response_model is None else call.response_model,
    "provider": lambda when, number, run, call: call.provider,
    "agent": lambda when, number, run, call: run.agent,
    "session": lambda when, number, run, call: run.session,
    "run": lambda when, number, run, call: run_id(number),
    "kind": lambda when, number, run, call: kind_of(run, call),
}


def _hour(when: datetime) -> str:
    seconds = (when.utcoffset() or timedelta()) // timedelta(seconds=1)
    hours, rest = divmod(abs(seconds), 3600)
    odd = f":{rest % 60:02}" if rest % 60 else ""
    return f"{when:%Y-%m-%dT%H:00}{'-' if seconds < 0 else '+'}{hours:02}:{rest // 60:02}{odd}"


def reported(
    store: sqlite3.Connection, by: Sequence[str], begin: int, end: int, where: tzinfo, kinds: Sequence[str]
) -> Report:
    cut = stretches(begin, end, where, [unit for unit in UNITS if unit in by])
    parts = spending(store, edges(cut), by_run=bool(OF_RUNS & set(by)), tags="tag" in by)
    return report_of(by, [one.keys for one in cut], parts, kinds)


AROUND = Run(calls=tuple(Call(start_ns=450 * SECOND * step, cost=abs(step)) for step in range(-200, 200)))


def _added(sums: Sequence[Sums]) -> Sums:
    total = Sums()
    for one in sums:
        total = total.plus(one)
    return total


@settings(max_examples=150)
@given(
    st.lists(RUNS, max_size=4), ZONES, st.sampled_from(CHANGES), AWAY, AWAY,
    st.lists(st.sampled_from(sorted(GROUPS)), min_size=1, max_size=3, unique=True),
)  # fmt: skip
@example([AROUND], PARIS, CHANGES[1], -(10**14), 10**14, ["hour"])
@example([AROUND], ZoneInfo("America/St_Johns"), CHANGES[5], -(10**14), 10**14, ["day", "model"])
@example([AROUND], ZoneInfo("Pacific/Apia"), CHANGES[4], -(10**14), 10**14, ["week", "hour"])
@example([AROUND], PARIS, CHANGES[6], -(10**14), 10**14, ["month", "hour", "day"])
def test_rows_are_what_a_clock_on_the_wall_says_and_add_up_to_the_total(
    store: sqlite3.Connection, runs: list[Run], where: ZoneInfo, change: int, one: int, other: int, by: list[str]
) -> None:
    begin, end = change + min(one, other), change + max(one, other)
    runs = [
        replace(run, calls=tuple(replace(call, start_ns=change + call.start_ns) for call in run.calls)) for run in runs
    ]
    write(store, runs)
    rows: dict[tuple[str | None, ...], list[Call]] = defaultdict(list)
    calls: dict[str, list[Call]] = defaultdict(list)
    for number, run in enumerate(runs, 1):
        for call in run.calls:
            if not call.is_open and begin <= call.start_ns < end:
                kind = kind_of(run, call)
                calls[kind].append(call)
                when = datetime.fromtimestamp(call.start_ns // SECOND, UTC).astimezone(where)
                if kind in ("live", "fork"):
                    rows[tuple(GROUPS[name](when, number, run, call) for name in by)].append(call)
    report = reported(store, by, begin, end, where, ("live", "fork"))
    assert {tuple(key.label for key in row.keys): row.sums for row in report.rows} == {
        keys: sums_of(some) for keys, some in rows.items()
    }
    assert _added([row.sums for row in report.rows]) == report.total == sums_of([*calls["live"], *calls["fork"]])
    assert report.apart == {kind: sums_of(calls[kind]) for kind in ("replay", "import") if calls[kind]}
    everything = reported(store, ["kind", *by], begin, end, where, ("live", "fork", "replay", "import"))
    assert _added([row.sums for row in everything.rows]) == everything.total
    assert everything.total == sums_of([call for some in calls.values() for call in some])


@given(
    ZONES,
    st.builds(int.__add__, st.sampled_from(CHANGES), AWAY),
    st.integers(0, 3 * 366 * 86_400 * SECOND),
    st.lists(st.sampled_from(UNITS), unique=True),
)
def test_stretches_follow_each_other_without_a_gap(where: ZoneInfo, begin: int, size: int, units: list[str]) -> None:
    cut = stretches(begin, begin + size, where, units)
    assert edges(cut) == sorted(set(edges(cut)))
    assert [one.end_ns for one in cut[:-1]] == [one.start_ns for one in cut[1:]]
    assert (not cut and not size) or (cut[0].start_ns, cut[-1].end_ns) == (begin, begin + size)


@pytest.mark.parametrize(
    ("zone", "day", "hours"),
    [("Europe/Paris", "2026-03-29", 23), ("Europe/Paris", "2026-10-25", 25), ("Europe/Paris", "2026-10-26", 24),
     ("America/New_York", "2026-11-01", 25), ("Australia/Lord_Howe", "2026-04-05", 24.5), ("Asia/Kathmandu", "2026-04-05", 24),
     ("Pacific/Apia", "2011-12-30", 0), ("UTC", "2026-03-29", 24)],
)  # fmt: skip
def test_a_day_has_as_many_hours_as_the_clock_lets_it(zone: str, day: str, hours: float) -> None:
    cut = stretches(ns(day) - 3 * 86_400 * SECOND, ns(day) + 3 * 86_400 * SECOND, ZoneInfo(zone), ["day", "hour"])
    hour_long = [one.end_ns - one.start_ns for one in cut if one.keys[0].label == day]
    assert sum(hour_long) == hours * 3600 * SECOND
    assert len(hour_long) == -(-hours // 1)


def test_the_hour_that_comes_twice_is_two_hours(tmp_path: Path) -> None:
    early, late = ns("2026-10-25T00:30Z"), ns("2026-10-25T01:30Z")
    db = make(tmp_path / "t.db", Run(calls=(Call(start_ns=early, cost=1), Call(start_ns=late, cost=2))))
    rows = as_json("--by", "hour", "--since", "2026-10-25", "--tz", "Europe/Paris", db=db)["rows"]
    assert [(row["hour"], row["cost_nano"]) for row in rows] == [
        ("2026-10-25T02:00+02:00", 1), ("2026-10-25T02:00+01:00", 2),
    ]  # fmt: skip


LOCAL = "from viewer.costing.calendars import *; [print(one.keys[0].label) for one in stretches(%d, %d, local_zone(), ['hour'])]"


def test_the_local_zone_knows_its_changes_whatever_it_is_called() -> None:
    code = LOCAL % (ns("2026-10-24T23:00"), ns("2026-10-25T03:00"))
    for name in ("Europe/Paris", ":Europe/Paris", "CET-1CEST,M3.5.0,M10.5.0/3"):
        done = subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "TZ": name}, capture_output=True, text=True, check=True
        )
        hours = [f"2026-10-25T0{hour}:00+0{offset}:00" for hour, offset in ((1, 2), (2, 2), (2, 1), (3, 1))]
        assert done.stdout.split() == hours
    assert datetime.now(local_zone()).utcoffset() == datetime.now().astimezone().utcoffset()


# What a report says


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Calls of two days and models; one unpriced, one imported, one replayed, one before the fork and one after."""
    day, next_day = ns("2026-11-02T10:00"), ns("2026-11-04T23:30")
    return make(
        tmp_path_factory.mktemp("cost") / "traces.db",
        Run(calls=(Call(start_ns=day, cost=1_500_000_000, input=1000, cached=400, output=50, reasoning=20),
                   Call(start_ns=day + 1, cost=42_000, model="b", response_model="b-2026", cached=None, reasoning=None)),
            session="s1", tags=("good", "=1+1")),
        Run(calls=(Call(start_ns=next_day, cost=2_000_000_000), Call(start_ns=next_day + 1, model="c", input=None)),
            agent="writer", tags=("good",)),
        Run(calls=(Call(start_ns=next_day, cost=0, price="replayed"), Call(start_ns=next_day, cost=500_000_000)), kind="fork"),
        Run(calls=(Call(start_ns=day, cost=7_000_000_000),), is_imported=True),
        Run(calls=(Call(start_ns=day, cost=0, price="replayed"),), kind="replay"),
    )  # fmt: skip


RANGE = ("--since", "2026-11-01", "--until", "2026-11-06", "--tz", "UTC")
NEXT = "next: viewer list --sort cost --since 2026-11-01 --until 2026-11-06 --tz UTC"
NOTES = [
    "without a price: 1 of 5 calls; ≥ marks what is a lower bound (see: viewer prices)",
    "without a count of tokens: 1 of 5 calls",
    "imported, not in the total: 1 call, $7.00",
    "replayed, not in the total: 2 calls, $0.00",
    NEXT,
]


def test_a_table_by_day_and_model_with_the_total_and_what_is_not_in_it(db: Path) -> None:
    assert printed("--by", "day,model", *RANGE, db=db).splitlines() == [
        "cost by day, model: 2026-11-01 to 2026-11-05, UTC",
        "day         model   calls  fresh  cached  output  reasoning       cost  unpriced",
        "2026-11-02  m           1    600     400      50         20      $1.50         0",
        "2026-11-02  b-2026      1    100       ?      10          ?  $0.000042         0",
        "2026-11-04  m           2    200       0      20          0      $2.50         0",
        "2026-11-04  c           1      ?       0     ≥10          0          ?         1",
        "total                   5   ≥900    ≥400     ≥90        ≥20     ≥$4.00         1",
        *NOTES,
    ]


def test_names_come_dearest_first_and_nest_in_the_order_of_by(db: Path) -> None:
    rows = as_json("--by", "model,day", *RANGE, db=db)["rows"]
    assert [(row["model"], row["day"], row["cost_usd"]) for row in rows] == [
        ("m", "2026-11-02", 1.5), ("m", "2026-11-04", 2.5), ("b-2026", "2026-11-02", 0.000042), ("c", "2026-11-04", None),
    ]  # fmt: skip


def test_by_kind_all_calls_are_in_the_total(db: Path) -> None:
    found = as_json("--by", "kind", *RANGE, db=db)
    assert [(row["kind"], row["calls"], row["cost_nano"]) for row in found["rows"]] == [
        ("import", 1, 7_000_000_000), ("live", 4, 3_500_042_000), ("fork", 1, 500_000_000), ("replay", 2, 0),
    ]  # fmt: skip
    assert (found["sum"]["calls"], found["sum"]["cost_nano"], found["apart"]) == (8, 11_000_042_000, {})


@pytest.mark.parametrize(
    ("arguments", "nano"),
    [
        ("--kind import", 7_000_000_000),
        ("--kind fork", 500_000_000),
        ("--kind fork --kind import", 7_500_000_000),
        ("--agent writer", 2_000_000_000),
        ("--model b", 42_000),
        ("--model b-2026", 42_000),
        ("--session s1", 1_500_042_000),
        ("--tag good", 3_500_042_000),
        ("--tag good --tag =1+1", 1_500_042_000),
        ("--tag good --agent writer --model m", 2_000_000_000),
        ("--tag none", 0),
        ("--since 2026-11-04 --tz Asia/Tokyo", 2_500_000_000),
        ("--until 2026-11-05 --tz Asia/Tokyo", 1_500_042_000),
    ],
)
def test_a_filter_takes_some_calls(db: Path, arguments: str, nano: int) -> None:
    for by in ("day", "run", "tag"):
        assert as_json("--by", by, *RANGE, *arguments.split(), db=db)["sum"]["cost_nano"] == nano


def test_a_run_with_two_tags_is_in_both_rows_and_once_in_the_total(db: Path) -> None:
    lines = printed("--by", "tag", *RANGE, db=db).splitlines()
    assert [line.split()[0] for line in lines[2:6]] == ["good", "=1+1", "(no", "total"]
    assert "a run with several tags is in the row of each: the total is that of the calls, not of the rows" in lines
    found = as_json("--by", "tag", *RANGE, db=db)
    assert [(row["tag"], row["calls"], row["cost_nano"]) for row in found["rows"]] == [
        ("good", 4, 3_500_042_000), ("=1+1", 2, 1_500_042_000), (None, 1, 500_000_000),
    ]  # fmt: skip
    assert (found["sum"]["calls"], found["sum"]["cost_nano"]) == (5, 4_000_042_000)


def test_a_row_of_json_holds_exact_numbers_and_says_which_are_lower_bounds(db: Path) -> None:
    found = as_json("--by", "day", *RANGE, db=db)
    assert found["rows"][1] == {
        "day": "2026-11-04", "calls": 3, "input_tokens": 200, "fresh_tokens": 200, "cached_tokens": 0,
        "cache_write_tokens": 0, "output_tokens": 30, "reasoning_tokens": 0, "cost_usd": 2.5, "cost_nano": 2_500_000_000,
        "unpriced_calls": 1, "unreported_calls": 1, "at_least": ["input_tokens", "fresh_tokens", "output_tokens", "cost_usd"],
    }  # fmt: skip
    assert {key: value for key, value in found.items() if key not in ("as_of", "rows", "sum", "apart")} == {
        "schema": 1, "total": 2, "count": 2, "by": ["day"], "since": "2026-11-01T00:00:00.000000Z",
        "until": "2026-11-06T00:00:00.000000Z", "tz": "UTC", "next": [NEXT.removeprefix("next: ")],
    }  # fmt: skip
    assert {kind: sums["cost_nano"] for kind, sums in found["apart"].items()} == {"replay": 0, "import": 7_000_000_000}


@given(st.integers(0, 10**24))
@example(123_456_789_012_345_678_901)
@example(10)
def test_dollars_are_all_digits_of_the_nano_dollars(nano: int) -> None:
    assert Decimal(exact_usd(nano)) * 10**9 == Decimal(nano) or nano >= 10**28
    assert "e" not in exact_usd(nano)


def test_json_holds_a_large_cost_without_a_rounding(tmp_path: Path) -> None:
    calls = tuple(Call(start_ns=at, cost=2**63 - 1) for at in range(3))
    text = printed("--since", "1970-01-01", "--tz", "UTC", "--json", db=make(tmp_path / "t.db", Run(calls=calls)))
    assert '"cost_usd": 27670116110.564327421,' in text
    assert strict_json(text)["sum"]["cost_nano"] == 3 * (2**63 - 1)


@pytest.mark.parametrize(
    ("nano", "unknown", "shown"),
    [
        (0, 0, "$0.00"), (0, 1, "≥$0.00"), (0, 2, "?"), (1, 0, "$0.000000001"), (42_000, 0, "$0.000042"), (5_000_000, 0, "$0.005"),
        (12_345_678, 0, "$0.01235"), (123_456_789, 0, "$0.1235"), (999_999_999, 0, "$1.00"), (995_000_000, 1, "≥$0.995"),
        (1_234_567_890_123, 0, "$1,234.57"), (1_005_000_000, 0, "$1.01"), (1_009_999_999, 1, "≥$1.00"), (10, 0, "$0.00000001"),
    ],
)  # fmt: skip
def test_an_amount_is_shown_with_as_many_digits_as_tell_it(nano: int, unknown: int, shown: str) -> None:
    assert usd(Figure(name="cost_usd", value=nano, unknown=unknown, calls=2)) == shown


def test_csv_is_read_back_as_it_is_and_begins_no_formula(db: Path) -> None:
    text = told("--by", "tag,model", *RANGE, "--csv", db=db).stdout_bytes.decode()
    assert text.count("\r\n") == text.count("\n") == 7
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    found = as_json("--by", "tag,model", *RANGE, db=db)["rows"]
    assert [row["tag"] for row in rows] == ["good", "good", "good", "'=1+1", "'=1+1", ""]
    for row, one in zip(rows, found, strict=True):
        assert row["at_least"].split() == one["at_least"]
        for name in one.keys() - {"tag", "model", "at_least"}:
            assert (Decimal(row[name]) if row[name] else None) == (
                None if one[name] is None else Decimal(str(one[name]))
            )


@pytest.mark.parametrize(
    "name", ["=cmd()", "+1", "-1", "@x", "\t=1", '"quoted", with\nlines', "\x1b[2J\u202e", "\ud83d", ""]
)
def test_no_name_breaks_a_form(tmp_path: Path, name: str) -> None:
    stored = name.encode("utf-8", "replace").decode()
    db = make(tmp_path / "t.db", Run(calls=(Call(start_ns=0, cost=1, model=stored),), agent=stored, tags=(stored,)))
    arguments = ("--by", "model,agent,tag", "--since", "1970-01-01", "--tz", "UTC")
    assert [row["model"] for row in as_json(*arguments, db=db)["rows"]] == [stored]
    ((*names, _), ) = [row[:4] for row in list(csv.reader(io.StringIO(printed(*arguments, "--csv", db=db), newline="")))[1:]]  # fmt: skip
    assert not any(one.startswith(("=", "+", "-", "@", "\t", "\r")) for one in names)
    for form in ([], ["--chart"], ["--csv"], ["--json"]):
        assert not set(printed(*arguments, *form, db=db)) & (UNSAFE - {"\r"})


def test_a_list_that_is_not_all_says_so(db: Path) -> None:
    lines = printed("--by", "model", "-n", "1", *RANGE, db=db).splitlines()
    assert lines[2].startswith("m ")
    assert lines[3].startswith("total")
    assert "1 of 3 rows; without -n all are shown" in lines
    found = as_json("--by", "model", "-n", "1", *RANGE, db=db)
    assert (found["total"], found["count"], found["sum"]["calls"]) == (3, 1, 5)


@pytest.mark.parametrize(
    ("read", "cached", "line", "total"),
    [
        (60, 100, "odd 1 ? 100 10 0 $0.00", "total 2 ≥100 ≥100 20 0 $0.00"),
        (None, 40, "odd 1 ? 40 ≥10 0 $0.00", "total 2 ≥100 ≥40 ≥20 0 $0.00"),
    ],
)
def test_what_is_fresh_is_unknown_for_a_call_with_less_input_than_was_cached(
    tmp_path: Path, read: int | None, cached: int, line: str, total: str
) -> None:
    calls = Call(start_ns=0, cost=0, cached=None), Call(start_ns=1, cost=0, model="odd", input=read, cached=cached)
    db = make(tmp_path / "t.db", Run(calls=calls))
    lines = printed("--by", "model", "--since", "1970-01-01", "--tz", "UTC", db=db).splitlines()
    assert [one.split() for one in lines[3:5]] == [line.split(), total.split()]
    sums = as_json("--by", "model", "--since", "1970-01-01", "--tz", "UTC", db=db)["sum"]
    assert (sums["fresh_tokens"], "fresh_tokens" in sums["at_least"]) == (100, True)


def test_an_empty_name_is_a_filter_like_any_other(tmp_path: Path) -> None:
    runs = Run(calls=(Call(start_ns=0, cost=1),), session=""), Run(calls=(Call(start_ns=1, cost=2),), session="s")
    db = make(tmp_path / "t.db", *runs)
    lines = printed(
        "--session", "", "--since", "1970-01-01", "--until", "1970-01-02", "--tz", "UTC", db=db
    ).splitlines()
    assert lines[0] == 'cost by day: 1970-01-01 to 1970-01-01, UTC, session ""'
    assert lines[-1].startswith("next: viewer list --sort cost --session '' --since 1970-01-01 ")
    assert lines[3].split() == ["total", "1", "100", "0", "10", "0", "$0.000000001"]


def test_by_run_the_next_command_shows_the_dearest(db: Path) -> None:
    lines = printed("--by", "run", *RANGE, db=db).splitlines()
    assert lines[-1] == f"next: viewer show {lines[2].split()[0]}"
    assert run_id(2).startswith(lines[2].split()[0])


# The range


def test_without_a_range_it_is_the_last_thirty_days_of_the_zone(tmp_path: Path) -> None:
    now = datetime.now(PARIS)
    day = now.date() - timedelta(days=29)
    first = ns(day.isoformat(), PARIS)
    db = make(
        tmp_path / "t.db", Run(calls=tuple(Call(start_ns=at, cost=1) for at in (first - 1, first, ns(now.isoformat()))))
    )
    lines = printed("--tz", "Europe/Paris", db=db).splitlines()
    assert lines[0] == f"cost by day: {day} to {datetime.now(PARIS).date()}, Europe/Paris"
    assert [line.split()[0] for line in lines[2:-1]] == [str(day), str(now.date()), "total"]
    assert lines[-1] == f"next: viewer list --sort cost --since {day} --tz Europe/Paris"


def test_an_empty_range_says_so_and_where_the_calls_are(db: Path) -> None:
    result = told("--since", "2027-01-01", "--until", "2027-02-01", "--tz", "UTC", db=db)
    assert (result.exit_code, result.stdout) == (0, "cost by day: 2027-01-01 to 2027-01-31, UTC\nno model calls\n")
    assert (
        result.stderr == "viewer: the calls of this store are from 2026-11-02 to 2026-11-04: add --since 2026-11-02\n"
    )
    for form in ("--json", "--csv", "--chart"):
        assert told("--since", "2027-01-01", form, db=db).exit_code == 0


def test_a_store_without_calls_is_an_empty_report(tmp_path: Path) -> None:
    db = make(tmp_path / "t.db", Run(calls=(Call(start_ns=0, is_open=True),)))
    assert printed("--since", "1970-01-01", "--until", "1970-01-02", "--tz", "UTC", db=db).splitlines() == [
        "cost by day: 1970-01-01 to 1970-01-01, UTC", "no model calls",
    ]  # fmt: skip
    assert as_json("--chart", db=db)["sum"]["cost_usd"] == 0


def test_moments_that_are_no_whole_days_are_told_as_moments(db: Path) -> None:
    head = printed("--since", "2026-11-02T09:30", "--until", "2026-11-04", "--tz", "UTC", "--agent", "docs", db=db)
    assert head.splitlines()[0] == "cost by day: 2026-11-02 09:30 to 2026-11-04 00:00, UTC, agent docs"


@pytest.mark.parametrize("form", ["", "--chart", "--json", "--csv"])
@pytest.mark.parametrize(
    ("arguments", "calls"),
    [("--since 0001-01-01", 5), ("--since 200000d", 5), ("--since 0001-01-01 --until 9999-12-31", 5),
     ("--until 9999-12-31", 0), ("--until 2300-01-01", 0), ("--until 0001-02-01", 0), ("--since 9999-12-31", 0),
     ("--since 9999-12-31T23:59:59.999999", 0)],
)  # fmt: skip
def test_a_range_may_begin_and_end_beyond_the_times_that_a_store_can_hold(
    db: Path, arguments: str, calls: int, form: str
) -> None:
    assert told("--tz", "UTC", *arguments.split(), *form.split(), db=db).exit_code == 0
    assert as_json("--tz", "UTC", *arguments.split(), db=db)["sum"]["calls"] == calls


# Charts


def test_a_chart_has_an_empty_bar_for_a_day_without_calls(db: Path) -> None:
    lines = printed("--chart", *RANGE, db=db).splitlines()
    assert lines[1:7] == [
        f"2026-11-01  {'·' * 80}",
        f"2026-11-02  {'█' * 48}{'·' * 32}   $1.50",
        f"2026-11-03  {'·' * 80}",
        f"2026-11-04  {'█' * 80}  ≥$2.50",
        f"2026-11-05  {'·' * 80}",
        f"total       {' ' * 80}  ≥$4.00",
    ]
    assert lines[7:] == NOTES


@pytest.mark.parametrize("columns", [40, 80, 140])
@pytest.mark.parametrize("by", ["day", "day,model", "agent", "run,hour,kind", "day,agent,session,model"])
def test_table_and_chart_keep_to_the_width_and_never_lose_the_cost(
    store: sqlite3.Connection, capsys: pytest.CaptureFixture[str], columns: int, by: str
) -> None:
    day = ns("2026-11-02T10:00")
    calls = tuple(
        Call(start_ns=day + at * 3600 * SECOND, cost=10**13 - at, input=10**9, model="a-long-name-of-a-model")
        for at in range(40)
    )
    write(store, [Run(calls=calls, agent="日本語のエージェント" * 3, session="s" * 99), Run(calls=calls[:3])])
    groups = by.split(",")
    report = reported(store, groups, day, day + 86_400 * SECOND * 3, UTC, ("live",))
    screen = Screen()
    screen.width = columns
    show_costs(screen, report, report.rows, "title", lambda group, label: label[:8])
    table = capsys.readouterr().out.splitlines()
    times = (
        [one.keys[0] for one in stretches(day, day + 86_400 * SECOND * 3, UTC, groups[:1])]
        if groups[0] == "day"
        else []
    )
    show_chart(screen, report, report.rows, times, "title", lambda group, label: label[:8])
    chart = capsys.readouterr().out.splitlines()
    for line in (*table, *chart):
        if not line.startswith("not shown for want of width: ") and (columns > 40 or len(groups) < 4):
            assert sum(1 + (one > "\u2fff") for one in line) <= columns
    assert all("$" in line for line in table[2 : 3 + len(report.rows)])
    assert len(chart) == 2 + len(report.rows) + ("day" in groups and 1)


def test_a_chart_of_a_long_range_begins_with_the_first_call(tmp_path: Path) -> None:
    db = make(
        tmp_path / "t.db", Run(calls=(Call(start_ns=ns("2026-11-02"), cost=1), Call(start_ns=ns("2026-11-05"), cost=2)))
    )
    lines = printed("--chart", "--since", "1970-01-01", "--tz", "UTC", db=db).splitlines()
    assert [line.split()[0] for line in lines[1:6]] == [*(f"2026-11-0{day}" for day in (2, 3, 4, 5)), "total"]


def test_a_chart_without_a_beginning_begins_with_the_first_call(tmp_path: Path) -> None:
    calls = tuple(Call(start_ns=ns(f"2026-11-0{day}"), cost=1) for day in (2, 4))
    db = make(tmp_path / "t.db", Run(calls=calls))
    until = ("--until", "2026-11-06", "--tz", "UTC")
    lines = printed("--chart", *until, db=db).splitlines()
    assert [line.split()[0] for line in lines[1:6]] == [*(f"2026-11-0{day}" for day in (2, 3, 4, 5)), "total"]
    lines = printed("--chart", "--since", "2026-11-01", *until, db=db).splitlines()
    assert lines[1].split()[0] == "2026-11-01"


# Limits and wrong usage


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ("--fail-over 3.99", 3, "≥$4.00 is over the limit of $3.99"),
        ("--fail-over 4.000042", 0, "within the limit of $4.000042 as far as is known: 1 of 5 calls without a price"),
        ("--fail-over 4.000041999", 3, "≥$4.00 is over the limit of $4.000041999"),
        ("--fail-over 100 --strict", 3, "within the limit of $100 as far as is known: 1 of 5 calls without a price"),
        ("--fail-over 100 --model c", 0, "within the limit of $100 as far as is known: 1 of 1 call without a price"),
        ("--fail-over 1e2 --strict --model m", 0, ""),
        ("--fail-over 4 --model m", 0, ""),
        ("--fail-over 0 --kind replay", 0, ""),
        ("--fail-over $0 --kind import", 3, "$7.00 is over the limit of $0"),
    ],
)
def test_more_than_the_limit_is_exit_code_3(db: Path, arguments: str, code: int, said: str) -> None:
    for form in ([], ["--json"], ["--csv"], ["--chart"]):
        result = told(*RANGE, *arguments.split(), *form, db=db)
        assert result.exit_code == code
        assert result.stdout
        assert result.stderr.startswith(f"viewer: {said}") if said else result.stderr == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            "--by dya",
            "--by takes hour, day, week, month, model, provider, agent, session, tag, run, kind, one or several",
        ),
        ("--by day,", "not ''"),
        ("--tz Europe/Pariss", "there is no time zone 'Europe/Pariss': did you mean Europe/Paris"),
        ("--tz Nowhere", "there is no time zone 'Nowhere': write one like Europe/Paris or UTC"),
        ("--fail-over much", "--fail-over takes an amount of dollars, e.g. 25 or 0.50, not 'much'"),
        ("--fail-over nan", "--fail-over takes an amount"),
        ("--fail-over -1", "--fail-over takes an amount"),
        ("--fail-over 1e999999", "--fail-over takes an amount"),
        ("--strict", "--strict is about a limit: add --fail-over USD"),
        ("--json --csv", "two forms of the same"),
        ("--since soon", "'soon' is no time"),
        ("--since 2026-11-05 --until 2026-11-01", "nothing is between --since 2026-11-05 and --until 2026-11-01"),
        ("--since 2026-11-05 --until 2026-11-05", "the second must be the later one"),
        ("--until 0001-01-01 --tz UTC", "the range is not within the years 1 to 9999 of UTC: give other"),
        ("--since 9999-12-31T20:00Z --tz Asia/Tokyo", "the range is not within the years 1 to 9999 of Asia/Tokyo"),
        ("--kind odd", "'odd' is not one of"),
        ("-n 0", "0 is not in the range"),
    ],
)
def test_wrong_usage_is_told_with_exit_code_2(db: Path, arguments: str, said: str) -> None:
    result = told(*arguments.split(), db=db)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr


def test_a_missing_store_is_one_sentence_with_exit_code_1(tmp_path: Path) -> None:
    result = told(db=tmp_path / "none.db")
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (1, "", 1)


PROCESS = """
import sys
from viewer.cli import cli, main
from viewer.commands.cost import cost
cli.add_command(cost)
sys.argv = ["viewer", "cost", *sys.argv[1:]]
try:
    main()
finally:
    print("LOADED", *sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
"""


def test_costs_are_the_stored_ones_and_no_price_list_is_loaded(db: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROCESS, "--by", "day", *RANGE, "--csv"], capture_output=True, encoding="utf-8",
        env={**os.environ, "PLAYHEAD_DB": str(db)}, check=True,
    )  # fmt: skip
    assert done.stdout.replace("\n\n", "\n") == printed("--by", "day", *RANGE, "--csv", db=db).replace("\r\n", "\n")
    loaded = set(done.stderr.rpartition("LOADED")[2].split())
    assert not loaded & {"pydantic", "opentelemetry", "openai", "genai_prices", "sqlite_utils", "rich"}


def test_a_call_that_was_open_when_its_process_was_killed_is_in_no_sum_and_that_is_said(tmp_path: Path) -> None:
    with recording(tmp_path / "t.db") as tape:
        tape.run("q", answer("x"))
    connection = sqlite3.connect(tmp_path / "t.db")
    connection.execute("update run set end_ns=null, stop=null, seal=null")
    connection.execute("update span set end_ns=null, cost=null, price=null where kind=1")
    connection.commit()
    connection.close()
    result = invoke("cost", "--since", "2025-12-01", "--fail-over", "1", "--strict", db=tmp_path / "t.db")
    assert result.exit_code == 3
    assert "1 call never ended, or not yet: in no sum" in result.stderr
