"""What calls cost, summed by the index alone: exactly, whatever lies in the store."""

import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.spent_calls import Call, Run, kind_of, run_id, sums_of, tags_json, write
from tracing.file import memory_store
from tracing.spending import ALL_QUERY, FEW, Series, SpendingRun, Sums, Wanted, extent, spending


@pytest.fixture(scope="module")
def store() -> Iterator[sqlite3.Connection]:
    with closing(memory_store()) as connection:
        yield connection


AMOUNTS = st.none() | st.integers(0, 10**15) | st.integers(0, 3)
NAMES = st.sampled_from(["a", "a-mini", "", "b"])
CALLS = st.builds(
    Call,
    start_ns=st.integers(0, 40) | st.integers(0, 40) | st.integers(-(2**62), 2**62),
    cost=AMOUNTS | st.integers(2**62, 2**63 - 1),
    price=st.sampled_from([None, "own", "none:unknown-model", "replayed", "free"]),
    input=AMOUNTS | st.integers(2**62, 2**63 - 1),
    output=AMOUNTS,
    cached=AMOUNTS,
    cache_write=AMOUNTS,
    reasoning=AMOUNTS,
    model=NAMES,
    response_model=st.none() | NAMES,
    provider=st.none() | NAMES,
    is_open=st.booleans(),
)
RUNS = st.builds(
    Run,
    calls=st.lists(CALLS, max_size=6).map(tuple),
    kind=st.sampled_from(["live", "live", "fork", "replay"]),
    is_imported=st.sampled_from([False, False, True]),
    agent=NAMES,
    session=st.none() | NAMES,
    tags=st.lists(NAMES, max_size=2).map(tuple),
)
EDGES = st.lists(st.integers(-5, 45) | st.integers(-(2**62), 2**62), max_size=8, unique=True).map(sorted)
WANTED = st.builds(
    Wanted, model=st.none() | NAMES, agent=st.none() | NAMES, session=st.none() | NAMES,
    tags=st.lists(NAMES, max_size=1).map(tuple),
)  # fmt: skip


def expected(runs: list[Run], edges: list[int], wanted: Wanted, *, by_run: bool) -> dict[Any, Sums]:
    """The plain way: each call is looked at."""
    found: dict[tuple[int, Series, SpendingRun | None, str], list[Call]] = defaultdict(list)
    for number, run in enumerate(runs, 1):
        if wanted.agent not in (None, run.agent) or wanted.session not in (None, run.session):
            continue
        if not set(wanted.tags) <= set(run.tags):
            continue
        for call in run.calls:
            series = Series(call.model, call.response_model, call.provider)
            if call.is_open or wanted.model not in (None, call.model, call.response_model):
                continue
            for at, (edge, after) in enumerate(pairwise(edges)):
                if edge <= call.start_ns < after:
                    told = SpendingRun(run_id(number), run.agent, run.session, tags_json(run)) if by_run else None
                    found[at, series, told, kind_of(run, call)].append(call)
    return {key: sums_of(calls) for key, calls in found.items()}


@settings(max_examples=150)
@given(st.lists(RUNS, max_size=5), EDGES, WANTED, st.booleans(), st.booleans())
def test_all_calls_are_summed_once_and_exactly(
    store: sqlite3.Connection, runs: list[Run], edges: list[int], wanted: Wanted, by_run: bool, few: bool
) -> None:
    write(store, runs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tracing.spending.FEW", FEW if few else -1)
        parts = list(spending(store, edges, wanted, by_run=by_run, tags=True))
    found: dict[Any, Sums] = defaultdict(Sums)
    for *key, sums in parts:
        found[tuple(key)] = found[tuple(key)].plus(sums)
    assert found == expected(runs, edges, wanted, by_run=by_run or wanted.of_runs)


def test_a_sum_beyond_64_bits_is_exact(store: sqlite3.Connection) -> None:
    calls = tuple(Call(start_ns=at, cost=2**63 - 1 - at, input=2**63 - 1, output=at) for at in range(9))
    write(store, [Run(calls=calls), Run(calls=calls, kind="fork")])
    parts = {part.kind: part.sums for part in spending(store, [0, 100])}
    assert parts == {"live": sums_of(calls), "fork": sums_of(calls)}
    assert parts["live"].cost > 2**65


@pytest.mark.parametrize("query", [ALL_QUERY, f"{ALL_QUERY} group by s.run"])
def test_the_index_is_all_that_is_read(store: sqlite3.Connection, query: str) -> None:
    for aggregates in ("count(*), sum(s.cost), sum(s.inp), sum(s.reasoning), count(s.cache_write)", "min(s.start_ns)"):
        plan = store.execute(f"explain query plan {query.format(aggregates)}", ("m", None, "p", 0, 9)).fetchall()
        assert (
            "SEARCH s USING COVERING INDEX call_time (model=? AND response_model=? AND provider=? AND start_ns>?"
            in (plan[0][3])
        )


def test_without_an_edge_or_a_call_there_is_nothing(store: sqlite3.Connection) -> None:
    write(store, [Run(calls=(Call(start_ns=5, is_open=True),))])
    assert extent(store) is None
    assert list(spending(store, [0, 10])) == []
    write(store, [Run(calls=(Call(start_ns=5), Call(start_ns=-3, model="b")))])
    assert extent(store) == (-3, 5)
    assert list(spending(store, [])) == list(spending(store, [0])) == list(spending(store, [6, 7])) == []


def test_a_call_on_an_edge_belongs_to_what_comes_after(store: sqlite3.Connection) -> None:
    write(store, [Run(calls=tuple(Call(start_ns=at, cost=at) for at in (9, 10, 11, 19, 20)))])
    parts = {part.stretch: part.sums.cost for part in spending(store, [0, 10, 20])}
    assert parts == {0: 9, 1: 40}


def test_sums_are_added_and_taken_off() -> None:
    one, other = sums_of([Call(start_ns=0, cost=3)]), sums_of([Call(start_ns=0)])
    assert one.plus(other) == sums_of([Call(start_ns=0, cost=3), Call(start_ns=0)])
    assert one.plus(other).less(other) == one
    assert one.less(one) == Sums()
