"""What was changed, in the agent or in the record, is named: what, where, and at which step."""

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent import Agent, Limits, Result, ScriptedModel, Toolbox, tool
from tests.replays import Broken, changed, connected, named, only, record, recorded, replayed, rows, said
from tests.runs import SAMPLE, SpreadIds, answer, calls, recording
from tracing import Divergence, replay
from tracing.record_reader import read_recording

# In the agent


def tools_of(description: str = "Add.", text: str = "the first", default: int = 0, name: str = "add") -> Toolbox:
    def add(a: int, b: int = default) -> int:
        return a + b

    def sub(a: int) -> int:
        return -a

    add.__name__ = name
    return Toolbox([tool(description, a=text)(add), tool("Negate.")(sub)])


ADDS = [calls(("add", {"a": number})) for number in (1, 2, 3)]
BASE = Agent(
    name="sums",
    model=ScriptedModel([*ADDS, answer("6")]),
    tools=tools_of(),
    system="Add up.",
    settings={"temperature": 0, "extra": {"seed": 1}},
    limits=Limits(max_steps=5, max_tokens=9999),
)


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("base") / "t.db"
    record(path, replace(BASE, model=ScriptedModel([*ADDS, answer("6")])), "Sum?")
    return path


def tools(where: str, expected: str | None, actual: str | None) -> Divergence:
    return Divergence(code="tools", step=1, where=f"tools.{where}", expected=expected, actual=actual)


def setting(where: str, expected: str | None, actual: str | None) -> Divergence:
    return Divergence(code="settings", step=1, where=f"settings.{where}", expected=expected, actual=actual)


CHANGED: dict[str, tuple[dict[str, Any], Divergence]] = {
    "one character of the prompt": (
        {"system": "Add up!"},
        Divergence(code="system", step=1, where="message 1, system", expected="Add up.", actual="Add up!"),
    ),
    "no prompt": (
        {"system": None},
        Divergence(code="system", step=1, where="message 1, system", expected="Add up.", actual=None),
    ),
    "a tool's description": (
        {"tools": tools_of(description="Add!")},
        tools("add.description", "Add.", "Add!"),
    ),
    "a parameter's description": (
        {"tools": tools_of(text="the First")},
        tools("add.parameters.properties.a.description", "the first", "the First"),
    ),
    "a parameter's default": (
        {"tools": tools_of(default=1)},
        tools("add.parameters.properties.b.default", "0", "1"),
    ),
    "the order of the tools": (
        {"tools": Toolbox(list(reversed([*tools_of()._tools.values()])))},
        Divergence(code="tools", step=1, where="tools, their order", expected="add, sub", actual="sub, add"),
    ),
    "a default's type": ({"tools": tools_of(default=False)}, tools("add.parameters.properties.b.default", "0", "false")),
    "a setting": ({"settings": {"temperature": 1, "extra": {"seed": 1}}}, setting("temperature", "0", "1")),
    "a setting's type": ({"settings": {"temperature": 0.0, "extra": {"seed": 1}}}, setting("temperature", "0", "0.0")),
    "a setting within another": ({"settings": {"temperature": 0, "extra": {"seed": 2}}}, setting("extra.seed", "1", "2")),
    "a setting left out": ({"settings": {"temperature": 0}}, setting("extra", '{"seed":1}', None)),
    "the model": (
        {"model": ScriptedModel([], name="other")},
        Divergence(code="model", step=1, where="model", expected="scripted", actual="other"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", CHANGED)
def test_what_was_changed_in_the_agent_is_named_and_nothing_else(db: Path, what: str) -> None:
    change, divergence = CHANGED[what]
    assert only(replayed(db, replace(BASE, **change))) == divergence


def test_a_tool_with_another_name_is_told_as_one_gone_and_one_new(db: Path) -> None:
    report = replayed(db, replace(BASE, tools=tools_of(name="plus")))
    assert [(one.code, one.step, one.where) for one in report.divergences] == [
        ("tools", 1, "tools.add"),
        ("tools", 1, "tools.plus"),
    ]
    gone, new = report.divergences
    assert (gone.actual, new.expected) == (None, None)


def test_everything_that_differs_in_a_request_is_told(db: Path) -> None:
    agent = replace(BASE, system="Sub.", settings={"temperature": 0}, tools=tools_of(description="Add!"))
    assert [one.where for one in replayed(db, agent).divergences] == [
        "message 1, system", "tools.add.description", "settings.extra",
    ]  # fmt: skip


def test_a_prompt_where_there_was_none_is_told_as_new(tmp_path: Path) -> None:
    record(tmp_path / "t.db", Agent(model=ScriptedModel(["x"])))
    agent = Agent(model=ScriptedModel([]), system="New.")
    assert only(replayed(tmp_path / "t.db", agent)) == Divergence(
        code="system", step=1, where="message 1, system", expected=None, actual="New."
    )


LIMITED: dict[str, tuple[dict[str, Any], dict[str, Any], tuple[Any, ...]]] = {
    "max_steps 3 to 2": ({"max_steps": 3}, {"max_steps": 2}, (3, "max_steps", "3", "2")),
    "max_steps 2 to 3": ({"max_steps": 2}, {"max_steps": 3}, (3, "max_steps", "2", "3")),
    "max_steps 8 to 2": ({}, {"max_steps": 2}, (3, "max_steps", "8", "2")),
    "max_tokens 360 to 240": ({"max_tokens": 360}, {"max_tokens": 240}, (3, "max_tokens", "360", "240")),
    "max_tokens 240 to 360": ({"max_tokens": 240}, {"max_tokens": 360}, (2, "max_tokens", "240", "360")),
    "max_tokens left out": ({"max_tokens": 240}, {}, (2, "max_tokens", "240", None)),
    "max_tokens new": ({}, {"max_tokens": 240}, (3, "max_tokens", None, "240")),
    "max_tokens left out before max_steps": (
        {"max_tokens": 240, "max_steps": 2}, {"max_steps": 2}, (2, "max_tokens", "240", None),
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", LIMITED)
def test_a_limit_that_matters_is_named_with_the_step(tmp_path: Path, what: str) -> None:
    before, after, (step, name, expected, actual) = LIMITED[what]
    script = [*ADDS, answer("6")]
    agent = replace(BASE, model=ScriptedModel(script), limits=Limits(**before))
    record(tmp_path / "t.db", agent, "Sum?")
    assert only(replayed(tmp_path / "t.db", replace(agent, limits=Limits(**after)))) == Divergence(
        code="limits", step=step, where=f"limits.{name}", expected=expected, actual=actual
    )


@pytest.mark.parametrize(
    "limits", [{"max_steps": 4}, {"max_steps": 99}, {"max_tokens": 10_000}, {"max_seconds": 1e-9}, {"max_parallel": 1}]
)
def test_a_limit_that_did_not_matter_is_exact(db: Path, limits: dict[str, Any]) -> None:
    assert said(replayed(db, replace(BASE, limits=Limits(**limits)))) == "exact"


@pytest.mark.parametrize("change", [{"name": "renamed"}, {"model": ScriptedModel([])}])
def test_what_no_model_can_see_is_exact(db: Path, change: dict[str, Any]) -> None:
    assert said(replayed(db, replace(BASE, **change))) == "exact"


IGNORED: dict[str, dict[str, Any]] = {
    "system": {"system": "Other."},
    "system:/[.!]$/": {"system": "Add up!"},
    r"tools:/Add\W/": {"tools": tools_of(description="Add!")},
}


@pytest.mark.parametrize("pattern", IGNORED)
def test_what_is_declared_volatile_is_not_compared_and_the_report_says_so(db: Path, pattern: str) -> None:
    agent = replace(BASE, **IGNORED[pattern])
    report = replayed(db, agent, ignore=[pattern])
    assert (said(report), report.ignored) == ("exact", (pattern,))
    assert replayed(db, replace(agent, settings={}), ignore=[pattern]).first == setting("extra", '{"seed":1}', None)


# In the record


def at(run: str, where: str) -> str:
    return f"where run=(select id from run where run_id like '{run}%') and {where}"


def boom(step: Any) -> None:
    raise Broken


def varied(path: Path) -> list[str]:
    """Runs that have something in every column."""
    full = {"input": 10, "output": 5, "cached": 3, "reasoning": 2, "cache_write": 1}
    parts = {"role": "assistant", "content": [{"type": "text", "text": "parts"}], "name": "n"}
    read = calls(("read_doc", {"path": "a\0b"}))
    odd = [
        {"name": "read_doc", "arguments": "{broken"},
        {"id": "", "name": "no such!", "arguments": "{}"},
    ]
    with recording(path, ids=SpreadIds()) as tape:
        inner = Agent(name="inner", model=ScriptedModel([answer("in")]))

        @tool("Ask another.")
        async def ask(q: str) -> str:
            result: Result = await tape.recorder.run(inner, q)
            return str(result.answer)

        labels: dict[str, Any] = {"tags": ["good"], "session": "s1", "metadata": {"a": 1}, "version": "v1"}
        tape.run("How many?", *SAMPLE, system="Look first.", **labels)
        odd_run = [
            {**read, "usage": full, "model": "m-2"},
            {"tool_calls": odd, "finish_reason": "length"},
            answer("\ud83d"),
        ]
        tape.run("raw \ud83d \0", *odd_run, history=[{"role": "user", "content": "before"}, parts])
        tape.run("fails", read, ValueError("no"))
        tape.run("refused", {"content": None, "refusal": "no"})
        recorded(tape.recorder, replace(BASE, limits=Limits(max_tokens=10), model=ScriptedModel([ADDS[0]])), "tokens")
        recorded(tape.recorder, replace(BASE, model=ScriptedModel([ADDS[1]])), "broken off", on_step=boom)
        recorded(tape.recorder, Agent(model=ScriptedModel([calls(("ask", {"q": "x"})), "out"]), tools=Toolbox([ask])))
        recorded(tape.recorder, replace(BASE, model=ScriptedModel(["x"])), "sk-abcdefghij0123456789ABCDEFG")
    return [run_id for (run_id,) in rows(path, "select run_id from run order by id")]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("varied") / "t.db"
    assert [said(replayed(path, run=run)) for run in varied(path)] == ["exact"] * 9
    return path


OUTSIDE = {
    "body": {"id"},
    "message": {"id"},
    "run": {"id", "process", "imported_ns"},
    "span": {"cost", "price", "seal"},  # the seal is that of another library's span
}
"""What a replay does not look at, and may be added or changed later."""

ID_OF = {"span": "run=? and n=?"}


def a_bit_of_all(
    connection: sqlite3.Connection, table: str, column: str, kind: str
) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Updates that change one cell of the column a little, in a few of its rows, and in each text."""
    key = "run, n" if table == "span" else "id"
    only = "where kind<3" if table == "span" else ""
    where = ID_OF.get(table, "id=?")
    found = connection.execute(f"select {column}, {key} from {table} {only}").fetchall()
    filled, empty = ([row for row in found if (row[0] is None) is is_null] for is_null in (False, True))
    few = found if table == "body" else [*filled[:2], *filled[-2:], *empty[:1], *empty[-1:]]
    for old, *row in few:
        for new in changes(old, kind):
            yield f"update {table} set {column}=? where {where}", (new, *row)


def changes(old: Any, kind: str) -> list[Any]:
    match old:
        case None:
            return [{"INT": 1, "INTEGER": 1, "TEXT": "x", "BLOB": b"\xff"}[kind]]
        case int():
            return [old + 1, old + 1000, None]
        case bytes():
            return [old[:-1] + bytes([old[-1] ^ 1]) if old else b"x", None]
        case _:
            return [old[:-1] + chr(ord(old[-1]) ^ 1) if old else "x", old + " ", None]


@pytest.mark.parametrize("table", OUTSIDE)
def test_no_cell_of_the_record_can_be_changed_without_a_replay_that_tells(store: Path, table: str) -> None:
    runs = [run_id for (run_id,) in rows(store, "select run_id from run order by id")]
    failed, unseen, tried = [], [], 0
    with connected(store) as connection:
        connection.isolation_level = None
        columns = connection.execute(f"select name, upper(type) from pragma_table_info('{table}')").fetchall()
        for column, kind in columns:
            for statement, values in (
                a_bit_of_all(connection, table, column, kind) if column not in OUTSIDE[table] else ()
            ):
                connection.execute("begin")
                try:
                    connection.execute(statement, values)
                    tried += 1
                    if all(is_exact(connection, run) for run in runs):
                        unseen.append((column, *values))
                except sqlite3.IntegrityError:
                    pass  # the file itself refuses it
                except Exception as error:  # every change must be told as one
                    failed.append((column, *values, repr(error)))
                finally:
                    connection.execute("rollback")
    assert (unseen, failed) == ([], [])
    assert tried > len(columns)


def is_exact(connection: sqlite3.Connection, run: str) -> bool:
    found = connection.execute("select run_id from run where run_id=?", (run,)).fetchone()
    return found is not None and replay(read_recording(connection, run)).is_exact


SAMPLED = "How many?"
RESULT = "(select id from body where text='a.md:1: timeout')"
OTHER_BODY = "(select id from body where text='Look first.')"
OTHER_MESSAGE = "(select id from message where role='system')"
SPAN = f"where run=(select r.id from run r join body b on b.id=r.question where b.text='{SAMPLED}') and n="
RUN = f"where id=(select r.id from run r join body b on b.id=r.question where b.text='{SAMPLED}')"
ANSWER = "Four kinds: connect, read, write, pool (a.md:1)."
MESSAGE = "where depth=%d and id in (select id from message where id<=8)"

IN_THE_RECORD: dict[str, tuple[str, tuple[int | None, int | None]]] = {
    "a tool's result": ("update body set text=text||'.' where text='a.md:1: timeout'", (2, 1)),
    "the whole of a cut result": ("update body set text=text||'.' where length(text)>4000", (1, 1)),
    "the text of a response": (f"update body set text='Five kinds.' where text='{ANSWER}'", (3, None)),
    "a question": (f"update body set text='How few?' where text='{SAMPLED}'", (1, None)),
    "a system prompt": ("update body set text='Look last.' where text='Look first.'", (1, None)),
    "the tools": ("update body set text=replace(text,'Search','search') where text like '%Search the documents%'", (1, None)),
    "an argument": (f"update span set arguments=replace(arguments,'timeout','timeouts') {SPAN}5", (2, 1)),
    "a call's name": (f"update span set name='read_doc' {SPAN}5", (2, 1)),
    "a call's error": (f"update span set error=null {SPAN}3", (1, 2)),
    "truncated": (f"update span set truncated=0 {SPAN}2", (1, 1)),
    "a result that is another row's": (f"update span set result={OTHER_BODY} {SPAN}5", (2, 1)),
    "an envelope": ("update message set envelope=replace(envelope,'timeout','timeouts') where envelope like '%timeout%'", (2, None)),
    "an input count": (f"update span set inp=inp+1 {SPAN}4", (2, None)),
    "a finish reason": (f"update span set finish='length' {SPAN}1", (1, None)),
    "a request's tip": (f"update span set request_tip={OTHER_MESSAGE} {SPAN}4", (2, None)),
    "a response's message": (f"update span set response={OTHER_MESSAGE} {SPAN}4", (2, None)),
    "a message less": ("delete from message where body=(select id from body where text='a.md:1: timeout')", (3, None)),
    "a call less": (f"delete from span {SPAN}5", (2, 1)),
    "a model call less": (f"delete from span {SPAN}4", (2, None)),
    "a call more": (
        f"insert into span(run,n,span_id,kind,step,idx,start_ns,end_ns,name,call_id,arguments) select run,99,span_id,"
        f"kind,step,1,start_ns,end_ns,name,call_id,arguments from span {SPAN}5", (2, 2)),
    "the stop": (f"update run set stop='max_steps' {RUN}", (None, None)),
    "the answer": (f"update run set answer={OTHER_BODY} {RUN}", (None, None)),
    "an error": (f"update run set error='none' {RUN}", (None, None)),
    "the steps": (f"update run set steps=4 {RUN}", (None, None)),
    "the tool calls": (f"update run set tool_calls=4 {RUN}", (None, None)),
    "the seal": (f"update run set seal=null {RUN}", (None, None)),
}  # fmt: skip


@pytest.mark.parametrize("what", IN_THE_RECORD)
def test_what_was_changed_in_the_record_is_named_with_its_step(store: Path, tmp_path: Path, what: str) -> None:
    statement, (step, call) = IN_THE_RECORD[what]
    (run,) = rows(store, f"select run_id from run {RUN}")[0]
    report = replayed(changed(store, statement, into=tmp_path), run=run)
    assert named(report)[:3] == ("record", step, call), report.divergences
