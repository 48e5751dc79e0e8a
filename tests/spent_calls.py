"""Model calls written straight into a store, as no scripted model could make them: any time, any cost, any unknown."""

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tracing.file import open_writing
from tracing.spending import Sums

SECOND = 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    start_ns: int
    cost: int | None = None
    price: str | None = "own"
    input: int | None = 100
    output: int | None = 10
    cached: int | None = 0
    cache_write: int | None = 0
    reasoning: int | None = 0
    model: str = "m"
    response_model: str | None = None
    provider: str | None = "p"
    is_open: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    calls: tuple[Call, ...]
    kind: str = "live"
    is_imported: bool = False
    agent: str = "docs"
    session: str | None = None
    tags: tuple[str, ...] = ()


def run_id(number: int) -> str:
    return f"{number:032x}"


def kind_of(run: Run, call: Call) -> str:
    """By the words of the documentation, not by the code's."""
    if run.is_imported:
        return "import"
    if run.kind == "live":
        return "live"
    if call.price == "replayed" or (run.kind == "replay" and call.price is None):
        return "replay"
    return "fork" if run.kind == "fork" else "live"


def fresh_of(call: Call) -> int | None:
    rest = None if call.input is None else call.input - (call.cached or 0) - (call.cache_write or 0)
    return None if rest is None or rest < 0 else rest


def sums_of(calls: Sequence[Call]) -> Sums:
    """The sums of some calls, added up the plain way."""
    return Sums(
        calls=len(calls),
        unreported=sum(call.input is None or call.output is None for call in calls),
        fresh_unknown=sum(fresh_of(call) is None for call in calls),
        cached_unknown=sum(call.cached is None for call in calls),
        cache_write_unknown=sum(call.cache_write is None for call in calls),
        reasoning_unknown=sum(call.reasoning is None for call in calls),
        unpriced=sum(call.cost is None for call in calls),
        input=sum(call.input or 0 for call in calls),
        fresh=sum(fresh_of(call) or 0 for call in calls),
        cached=sum(call.cached or 0 for call in calls),
        cache_write=sum(call.cache_write or 0 for call in calls),
        output=sum(call.output or 0 for call in calls),
        reasoning=sum(call.reasoning or 0 for call in calls),
        cost=sum(call.cost or 0 for call in calls),
    )


def write(connection: sqlite3.Connection, runs: Sequence[Run]) -> None:
    """The runs, numbered from 1, instead of all that the store held."""
    connection.execute("begin")
    for table in ("annotation", "span", "run", "body", "process"):
        connection.execute(f"delete from {table}")
    connection.execute("insert into process(id,host,pid,born,started_ns,ended_ns) values(1,'here',1,'',0,1)")
    connection.execute("insert into body(id,hash,text) values(1,x'00','How many?')")
    for number, run in enumerate(runs, 1):
        start = min((call.start_ns for call in run.calls), default=0)
        connection.execute(
            "insert into run(id,run_id,trace_id,span_id,kind,session,agent,model,process,start_ns,end_ns,question,settings,"
            "tools,stop,imported_ns) values(?,?,x'00',x'00',?,?,?,'m',1,?,?,1,1,1,'answered',?)",
            (number, run_id(number), run.kind, run.session, run.agent, start, start, 5 if run.is_imported else None),
        )
        for at, tag in enumerate(run.tags):
            tagged = (f"{number}-{at}", run_id(number), tag)
            connection.execute("insert into annotation(id,run_id,time_ns,kind,value) values(?,?,0,'tag',?)", tagged)
        for at, call in enumerate(run.calls, 1):
            connection.execute(
                "insert into span(run,n,span_id,kind,step,start_ns,end_ns,name,model,response_model,provider,inp,out,cached,"
                "cache_write,reasoning,cost,price) values(?,?,x'00',1,?,?,?,'chat',?,?,?,?,?,?,?,?,?,?)",
                (
                    number, at, at, call.start_ns, None if call.is_open else call.start_ns, call.model,
                    call.response_model, call.provider, call.input, call.output, call.cached, call.cache_write,
                    call.reasoning, call.cost, call.price,
                ),
            )  # fmt: skip
    connection.execute("commit")


def make(path: Path, *runs: Run) -> Path:
    with closing(open_writing(path)) as connection:
        write(connection, runs)
    return path


def tags_json(run: Run) -> str:
    return json.dumps(sorted(set(run.tags)), separators=(",", ":"), ensure_ascii=False)
