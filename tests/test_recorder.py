"""The record: every fact once, in the right order, under the right parent, whatever happens around it."""

import asyncio
import json
import os
import random
import sqlite3
import threading
import warnings
from pathlib import Path
from typing import Any

import pytest
import structlog

from agent import Agent, Limits, Message, ModelError, ScriptedModel, Toolbox, ToolCall, tool
from agent.ports import ModelInfo, Tell
from agent.values import Request, Response
from tracing import CountingIds, FixedClock, Recorder, RecorderWarning, Store, StoreError
from tracing.checking import check
from tracing.facts import Logged


@tool("Add two numbers.")
def add(a: int, b: int) -> int:
    return a + b


@tool("Shout.")
async def shout(text: str) -> str:
    return text.upper()


TOOLS = Toolbox([add, shout])
BOTH: dict[str, Any] = {
    "tool_calls": [
        {"name": "add", "arguments": {"a": 3, "b": 4}, "id": "x"},
        {"name": "shout", "arguments": {"text": "hello"}, "id": "y"},
    ],
    "usage": {"prompt_tokens": 9, "completion_tokens": 5},
    "finish_reason": "tool_calls",
}


def rows(path: Path, query: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def change(path: Path, statements: str) -> None:
    connection = sqlite3.connect(path)
    connection.executescript(statements)
    connection.close()


def script(*responses: Any, **fields: Any) -> Agent:
    return Agent(model=ScriptedModel(responses), tools=fields.pop("tools", TOOLS), **fields)


def test_a_run_reads_back_whole(tmp_path: Path) -> None:
    with Recorder(tmp_path / "t.db", clock=FixedClock(), ids=CountingIds()) as recorder:
        result = recorder.run_sync(
            script(BOTH, "7 HELLO", name="sums", system="Be brief.", settings={"temperature": 0}),
            "add 3 and 4, then uppercase hello",
            session="s1",
            tags=["b", "a"],
            metadata={"user": "ada"},
            version="1.2",
        )
    with Store(tmp_path / "t.db") as store:
        run = store.run(result.run_id or "")
        request = store.request(run["run_id"], 2)
    assert {key: run[key] for key in ("status", "question", "answer", "steps", "tool_calls", "session", "version")} == {
        "status": "answered",
        "question": "add 3 and 4, then uppercase hello",
        "answer": "7 HELLO",
        "steps": 2,
        "tool_calls": 2,
        "session": "s1",
        "version": "1.2",
    }
    assert (json.loads(run["tags"]), json.loads(run["metadata"])) == (["a", "b"], {"user": "ada"})
    assert (run["input_tokens"], run["unreported_calls"], run["cost_usd"]) == (9, 1, 0.0)
    assert list(request.messages) == [message.to_dict() for message in result.messages[:-1]]
    assert [tool["function"]["name"] for tool in request.tools] == ["add", "shout"]
    assert request.settings == {"temperature": 0}


def test_calls_keep_their_ids_and_order_when_they_finish_in_the_other(tmp_path: Path) -> None:
    first_may_end = asyncio.Event()

    @tool
    async def slow(text: str) -> str:
        await first_may_end.wait()
        return f"slow {text}"

    @tool
    async def fast(text: str) -> str:
        first_may_end.set()
        return f"fast {text}"

    async def model(messages: list[Any]) -> dict[str, Any]:
        if messages[-1]["role"] == "tool":
            return {"content": "done"}
        calls = [("one", "slow", '{"text":"a"}'), ("two", "fast", '{"text":"b"}')]
        function = [{"id": id_, "function": {"name": name, "arguments": text}} for id_, name, text in calls]
        return {"content": None, "tool_calls": function}

    with Recorder(tmp_path / "t.db") as recorder:
        result = recorder.run_sync(Agent(model=model, tools=Toolbox([slow, fast])), "q")
    assert [(message.tool_call_id, message.content) for message in result.messages[2:4]] == [
        ("one", "slow a"),
        ("two", "fast b"),
    ]
    query = "select call, call_id, tool, result from tool_calls order by call"
    assert rows(tmp_path / "t.db", query) == [(1, "one", "slow", "slow a"), (2, "two", "fast", "fast b")]
    ended = "select json_extract(fields,'$.tool') from log_events where event='tool.answered'"
    assert rows(tmp_path / "t.db", ended) == [("fast",), ("slow",)]


def test_events_come_in_the_order_in_which_things_happened(tmp_path: Path) -> None:
    with Recorder(tmp_path / "t.db", clock=FixedClock()) as recorder:
        recorder.run_sync(script({"tool_calls": BOTH["tool_calls"][:1]}, "7"), "q")
    found = rows(tmp_path / "t.db", "select event, step, fields from log_events")
    assert [event for event, _, _ in found] == [
        "run.started", "model.asked", "model.answered", "tool.called", "tool.answered", "model.asked",
        "model.answered", "run.finished",
    ]  # fmt: skip
    assert json.loads(found[4][2]) == {
        "step": 1,
        "tool": "add",
        "arguments": '{"a":3,"b":4}',
        "result_chars": 1,
        "truncated": False,
        "error": None,
        "duration_ms": 1.0,
    }


def test_every_span_hangs_under_the_run_and_a_nested_run_under_its_tool_call(tmp_path: Path) -> None:
    with Recorder(tmp_path / "t.db") as recorder:

        @tool
        def delegate(question: str) -> str:
            return recorder.run_sync(script("inner answer", name="inner"), question).answer or ""

        asked = {"tool_calls": [{"name": "delegate", "arguments": {"question": "why?"}}]}
        outer = recorder.run_sync(script(asked, "outer answer", name="outer", tools=Toolbox([delegate])), "q")
        with Store(tmp_path / "t.db") as store:
            spans = {span["name"]: span for span in store.connection.execute("select * from spans order by started_at")}
            (child,) = store.children(outer.run_id or "")
    assert spans["chat scripted"]["parent_id"] in (
        spans["invoke_agent outer"]["span_id"], spans["invoke_agent inner"]["span_id"]
    )  # fmt: skip
    assert spans["execute_tool delegate"]["parent_id"] == spans["invoke_agent outer"]["span_id"]
    assert spans["invoke_agent inner"]["parent_id"] == spans["execute_tool delegate"]["span_id"]
    assert len({span["trace_id"] for span in spans.values()}) == 1
    assert (child["agent"], child["parent_run"]) == ("inner", outer.run_id)


def test_many_runs_in_one_loop_and_in_threads_stay_apart(tmp_path: Path) -> None:
    @tool
    def echo(text: str) -> str:
        return text

    def agent(name: str) -> Agent:
        asked = {"tool_calls": [{"name": "echo", "arguments": {"text": f"{name}.{number}"}} for number in range(3)]}
        return Agent(name=name, model=ScriptedModel([asked, asked, f"bye {name}"]), tools=Toolbox([echo]))

    with Recorder(tmp_path / "t.db") as recorder:

        async def together() -> None:
            await asyncio.gather(*(recorder.run(agent(f"loop{number}"), "q") for number in range(10)))

        threads = [
            threading.Thread(target=lambda number=number: recorder.run_sync(agent(f"thread{number}"), "q"))
            for number in range(5)
        ]
        for thread in threads:
            thread.start()
        asyncio.run(together())
        for thread in threads:
            thread.join()
    query = (
        "select r.agent, count(*), sum(t.result like r.agent || '.%'), r.answer from runs r join tool_calls t "
        "using(run_id) group by r.run_id order by 1"
    )
    names = sorted([f"loop{number}" for number in range(10)] + [f"thread{number}" for number in range(5)])
    assert rows(tmp_path / "t.db", query) == [(name, 6, 6, f"bye {name}") for name in names]


def test_what_was_said_before_is_stored_once(tmp_path: Path) -> None:
    with Recorder(tmp_path / "t.db") as recorder:
        first = recorder.run_sync(script(BOTH, "7 HELLO", system="s"), "q")
        recorder.run_sync(script(BOTH, "again"), "q2", history=first.messages)
    (count, distinct) = rows(tmp_path / "t.db", "select count(*), count(distinct hash) from message")[0]
    assert count == distinct == len(first.messages) + 1 + 4
    assert rows(tmp_path / "t.db", "select count(*) from body where text='HELLO'") == [(1,)]


def test_a_history_that_comes_from_elsewhere_is_stored_once_too(tmp_path: Path) -> None:
    with Recorder(tmp_path / "t.db") as recorder:
        said = recorder.run_sync(script(BOTH, "7 HELLO", system="s"), "q").messages
    for question in ("q2", "q3"):
        with Recorder(tmp_path / "t.db") as recorder:  # it remembers nothing of the ones before
            said = recorder.run_sync(script(BOTH, question.upper()), question, history=said).messages
    assert rows(tmp_path / "t.db", "select count(*), count(distinct hash) from message") == [(len(said), len(said))]
    whole = "select run_id, count(*) from conversation group by run_id order by 2"
    assert [count for _, count in rows(tmp_path / "t.db", whole)] == [6, 11, 16]


def test_a_run_that_is_made_again_is_stored_once(tmp_path: Path) -> None:
    for _ in range(3):
        with Recorder(tmp_path / "t.db") as recorder:
            result = recorder.run_sync(script(BOTH, "7 HELLO", system="s"), "q")
    assert rows(tmp_path / "t.db", "select count(*) from body where text='HELLO'") == [(1,)]
    count = rows(tmp_path / "t.db", "select role, count(*) from message group by 1 order by 1")
    assert count == [("assistant", 2), ("system", 1), ("tool", 2), ("user", 1)]
    with Store(tmp_path / "t.db") as store:
        assert [one for one in check(store, hashes=True) if one.is_fault] == []
        for run in store.runs()[0]:
            assert store.recording(run["run_id"]).messages == result.messages


def test_a_turn_that_ended_at_a_limit_is_stored_once_in_its_session(tmp_path: Path) -> None:
    said: tuple[Message, ...] | None = None
    for question in "abcd":
        with Recorder(tmp_path / "t.db") as recorder:
            agent = script(BOTH, limits=Limits(max_steps=1))
            said = recorder.run_sync(agent, question, history=said, session="s").messages
    assert said is not None
    assert rows(tmp_path / "t.db", "select count(*), count(distinct hash) from message") == [(len(said), len(said))]


def test_the_end_of_a_call_that_cannot_be_written_leaves_what_was_said(tmp_path: Path) -> None:
    class Odd:
        info = ModelInfo(name="odd", provider="p\0\ud800")

        async def respond(self, request: Request, tell: Tell) -> Response:
            if request.step > 1:
                return Response(message=Message(role="assistant", content="done"))
            call = ToolCall("c1", "add", '{"a": 3, "b": 4}', step=1)
            message = Message(role="assistant", tool_calls=(call,))
            return Response(message=message, calls=(call,), finish=5)  # type: ignore[arg-type]

    with pytest.warns(RecorderWarning, match="1 record was lost"):
        with (
            Recorder(tmp_path / "t.db") as recorder,
            pytest.warns(RecorderWarning, match="one record cannot be written"),
        ):
            result = recorder.run_sync(Agent(model=Odd(), tools=TOOLS), "q")
    assert rows(tmp_path / "t.db", "select status, steps, answer from runs") == [("answered", 2, "done")]
    assert rows(tmp_path / "t.db", "select count(*) from conversation") == [(len(result.messages),)]
    assert rows(tmp_path / "t.db", "select provider from model_calls") == [("p\N{SYMBOL FOR NULL}\ufffd",)] * 2
    with Store(tmp_path / "t.db") as store:
        assert [one for one in check(store, hashes=True) if one.is_fault] == []


@pytest.mark.parametrize("usage", [None, {"input": 1}, 5])
def test_an_answer_with_a_usage_that_is_none_ends_the_run_as_failed(tmp_path: Path, usage: Any) -> None:
    class Odd:
        info = ModelInfo(name="odd", provider="odd")

        async def respond(self, request: Request, tell: Tell) -> Response:
            return Response(message=Message(role="assistant", content="done"), usage=usage)

    with Recorder(tmp_path / "t.db") as recorder, pytest.raises(ModelError, match="must be a Usage"):
        recorder.run_sync(Agent(model=Odd()), "q")
    assert rows(tmp_path / "t.db", "select status, error is null from runs") == [("failed", 0)]
    assert rows(tmp_path / "t.db", "select duration_ms is null from model_calls") == [(0,)]


def test_an_interrupt_as_a_transaction_begins_leaves_none_open(tmp_path: Path) -> None:
    class Interrupted(sqlite3.Connection):
        def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
            cursor = super().execute(sql, *values)
            if sql == "begin immediate" and interrupts:
                interrupts.pop()
                raise KeyboardInterrupt
            return cursor

    interrupts = [1]
    with Recorder(tmp_path / "t.db", strict=True) as recorder:
        recorder.run_sync(script("one"), "q")
        assert recorder._instruments is not None
        writer = recorder._instruments.writer
        assert writer._rows is not None
        writer._rows.connection.close()
        writer._rows.connection = sqlite3.connect(tmp_path / "t.db", factory=Interrupted, isolation_level=None)
        line = Logged(None, None, None, 1, "info", "a line", "{}")
        with pytest.raises(KeyboardInterrupt):
            writer.write([line])
        recorder.run_sync(script("two"), "q")
    assert rows(tmp_path / "t.db", "select answer from runs order by started_at") == [("one",), ("two",)]
    assert rows(tmp_path / "t.db", "select event from log_events where event='a line'") == [("a line",)]


def test_a_log_that_listens_hears_of_a_request_when_it_is_in_the_file(tmp_path: Path) -> None:
    seen: list[Any] = []

    def log(level: str, name: str, fields: Any) -> None:
        if name == "model.asked":
            seen.append(rows(tmp_path / "t.db", "select count(*) from model_calls")[0][0])

    with Recorder(tmp_path / "t.db", log=log) as recorder:
        recorder.run_sync(script(BOTH, "7 HELLO"), "q")
    assert seen == [1, 2]


@pytest.mark.parametrize("remembered", [0, 1, 3])
def test_what_the_writer_forgets_it_finds_again(
    tmp_path: Path, remembered: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracing.rows._REMEMBERED", remembered)
    with Recorder(tmp_path / "t.db", strict=True) as recorder:
        result = recorder.run_sync(script(BOTH, BOTH, BOTH, "7 HELLO", system="s"), "q")
    with Store(tmp_path / "t.db") as store:
        assert [one for one in check(store, hashes=True) if one.is_fault] == []
        assert store.recording().messages == result.messages
    count = len(result.messages)
    assert rows(tmp_path / "t.db", "select count(*), count(distinct hash) from message") == [(count, count)]


def test_a_word_of_ours_behind_a_result_does_not_store_the_result_twice(tmp_path: Path) -> None:
    @tool
    def page(number: int) -> str:
        return "x" * 2000

    ask = {"tool_calls": [{"name": "page", "arguments": {"number": 1}}]}
    with Recorder(tmp_path / "t.db") as recorder:
        result = recorder.run_sync(script(ask, ask, ask, "done", tools=Toolbox([page])), "q")
    with Store(tmp_path / "t.db") as store:
        third = store.tool_calls(result.run_id or "")[2]
    assert (len(third["result"]) > 2000, third["result_chars"], third["whole"]) == (True, 2000, None)
    assert rows(tmp_path / "t.db", "select count(*) from body where text like 'xxx%'") == [(2,)]


def test_a_snapshot_is_recorded_not_a_reference(tmp_path: Path) -> None:
    history = [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}]

    def model(messages: list[Any]) -> str:
        messages.append({"role": "user", "content": "tampered"})
        history.append({"role": "user", "content": "late"})
        return "three"

    with Recorder(tmp_path / "t.db") as recorder:
        recorder.run_sync(Agent(model=model), "q", history=history)
    said = rows(tmp_path / "t.db", "select content from conversation order by position")
    assert said == [("one",), ("two",), ("q",), ("three",)]


def test_a_failed_run_is_recorded_with_what_failed(tmp_path: Path) -> None:
    with Recorder(tmp_path / "t.db") as recorder, pytest.raises(ModelError) as caught:
        recorder.run_sync(script(BOTH, ConnectionError("no route")), "q")
    run = rows(tmp_path / "t.db", "select run_id, status, stop, error, steps, tool_calls from runs")
    assert run == [(caught.value.result.run_id, "failed", "failed", "ConnectionError: no route", 1, 2)]
    calls = rows(tmp_path / "t.db", "select step, error from model_calls order by step")
    assert calls == [(1, None), (2, "ConnectionError: no route")]


def test_an_exception_of_the_host_closes_the_record(tmp_path: Path) -> None:
    def stop(step: Any) -> None:
        raise ZeroDivisionError("host")

    with Recorder(tmp_path / "t.db") as recorder, pytest.raises(ZeroDivisionError):
        recorder.run_sync(script(BOTH, "never"), "q", on_step=stop)
    assert rows(tmp_path / "t.db", "select stop, error from runs") == [("failed", "ZeroDivisionError: host")]


def test_a_cancelled_run_and_its_open_call_are_closed_as_cancelled(tmp_path: Path) -> None:
    started = asyncio.Event()

    async def hang() -> None:
        started.set()
        await asyncio.sleep(60)

    async def main(recorder: Recorder) -> None:
        asked = {"tool_calls": [{"name": "hang", "arguments": {}}]}
        task = asyncio.create_task(recorder.run(script(asked, tools=Toolbox([hang])), "q"))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with Recorder(tmp_path / "t.db") as recorder:
        asyncio.run(main(recorder))
    assert rows(tmp_path / "t.db", "select status, stop, error from runs") == [("cancelled", "cancelled", None)]
    assert rows(tmp_path / "t.db", "select error, result from tool_calls") == [("cancelled", None)]


def test_declined_calls_are_recorded_as_not_run(tmp_path: Path) -> None:
    spent = {**BOTH, "usage": {"input": 90, "output": 20}}
    with Recorder(tmp_path / "t.db") as recorder:
        recorder.run_sync(script(spent, limits=Limits(max_tokens=100)), "q")
    assert rows(tmp_path / "t.db", "select tool, error, result from tool_calls order by call") == [
        ("add", "not_run", "Error: not run: the run stopped at its token limit."),
        ("shout", "not_run", "Error: not run: the run stopped at its token limit."),
    ]
    assert rows(tmp_path / "t.db", "select stop, tool_calls from runs") == [("token_limit", 2)]


def test_what_unicode_cannot_hold_is_recorded_and_read_back_exactly(tmp_path: Path) -> None:
    odd = "a\udc00b\0c"

    @tool
    def give(text: str) -> str:
        return odd

    asked = {"content": odd, "tool_calls": [{"name": "give", "arguments": '{"text":"\\ud83d"}'}]}
    with Recorder(tmp_path / "t.db") as recorder:
        result = recorder.run_sync(script(asked, odd, tools=Toolbox([give])), odd)
    with Store(tmp_path / "t.db") as store:
        messages = store.request(result.run_id or "", 2).messages
        (call,) = store.tool_calls(result.run_id or "")
    sendable = "a\ufffdb\0c"
    assert [message["content"] for message in messages] == [sendable] * 3
    assert (call["result"], call["whole"], call["arguments"]) == (sendable, odd, '{"text":"\\ud83d"}')
    assert rows(tmp_path / "t.db", "select result, result_chars from tool_calls") == [("a\ufffdb\u2400c", 5)]


def test_extra_fields_of_a_provider_are_kept_and_sent_back(tmp_path: Path) -> None:
    seen: list[Any] = []

    def model(messages: list[Any]) -> dict[str, Any]:
        seen.append(messages)
        first = {"content": "", "reasoning_content": "hmm", "tool_calls": BOTH["tool_calls"][:1]}
        calls = [{"id": "x", "type": "function", "function": {"name": "add", "arguments": '{"a":1,"b":1}'}}]
        return {**first, "tool_calls": calls} if len(seen) == 1 else {"content": "2", "tool_calls": []}

    with Recorder(tmp_path / "t.db") as recorder:
        result = recorder.run_sync(Agent(model=model, tools=TOOLS), "q")
    assert seen[1][1]["reasoning_content"] == "hmm"
    assert "tool_calls" not in result.messages[-1].to_dict()
    assert result.messages[-1] == Message(role="assistant", content="2")


def test_the_providers_message_is_kept_where_the_history_differs(tmp_path: Path) -> None:
    broken = {"content": None, "tool_calls": [{"id": None, "function": {"name": "add", "arguments": '{"a": 1,'}}]}
    with Recorder(tmp_path / "t.db") as recorder:
        result = recorder.run_sync(Agent(model=_answers(broken, "sorry"), tools=TOOLS), "q")
    sent = result.messages[1].tool_calls[0]
    assert (sent.id, sent.arguments) == ("call_1_0", "{}")
    assert rows(tmp_path / "t.db", "select arguments, error from tool_calls") == [('{"a": 1,', "bad_arguments")]
    (raw,) = rows(tmp_path / "t.db", "select b.text from span s join body b on b.id=s.raw")[0]
    assert json.loads(raw) == broken


def _answers(*responses: Any) -> Any:
    left = iter(responses)
    return lambda messages: next(left)


def test_ids_stay_unique_when_a_program_seeds_its_random_numbers(tmp_path: Path) -> None:
    with Recorder(tmp_path / "t.db") as recorder:
        for _ in range(3):
            random.seed(1)
            recorder.run_sync(script("a"), "q")
    (ids,) = rows(tmp_path / "t.db", "select count(distinct span_id) + count(distinct trace_id) from spans")[0]
    assert ids == 6 + 3


def test_a_users_own_log_lines_stand_under_the_call_that_wrote_them(tmp_path: Path) -> None:
    @tool
    def look(text: str) -> str:
        structlog.get_logger().warning("looking", text=text, request="r7")
        return "seen"

    asked = {"tool_calls": [{"name": "look", "arguments": {"text": "a"}}]}
    with structlog.testing.capture_logs(), Recorder(tmp_path / "t.db") as recorder:
        with structlog.contextvars.bound_contextvars(user="ada"):
            recorder.run_sync(script(asked, "done", tools=Toolbox([look])), "q")
    query = "select e.level, e.event, e.fields, t.tool from log_events e join tool_calls t using(span_id) where event='looking'"
    ((level, event, fields, name),) = rows(tmp_path / "t.db", query)
    assert (level, event, name) == ("warning", "looking", "look")
    assert json.loads(fields) == {"user": "ada", "text": "a", "request": "r7"}
    ((started,),) = rows(tmp_path / "t.db", "select fields from log_events where event='run.started'")
    assert json.loads(started)["user"] == "ada"


@pytest.mark.parametrize("what", ["folder", "text", "other database", "newer"])
def test_a_store_that_cannot_be_used_is_one_warning_and_the_agent_answers(tmp_path: Path, what: str) -> None:
    path = tmp_path / "t.db"
    if what == "folder":
        path.mkdir()
    elif what == "text":
        path.write_text("not a database, but somebody's notes\n" * 9)
    elif what == "other database":
        change(path, "create table mine(x); insert into mine values(1)")
    else:
        Recorder(path).close()
        change(path, "pragma user_version=99")
    before = path.read_bytes() if path.is_file() else b""
    with pytest.warns(RecorderWarning, match="runs are not recorded") as caught:
        recorder = Recorder(path)
    with recorder:
        result = recorder.run_sync(script(BOTH, "7 HELLO"), "q")
    assert (result.answer, result.run_id, len(caught)) == ("7 HELLO", None, 1)
    assert (path.read_bytes() if path.is_file() else b"") == before
    with pytest.raises(StoreError):
        Recorder(path, strict=True)


def test_a_busy_file_delays_nothing_and_loses_nothing(tmp_path: Path) -> None:
    with Recorder(tmp_path / "t.db") as recorder:
        blocker = sqlite3.connect(tmp_path / "t.db", isolation_level=None)
        blocker.execute("begin immediate")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = recorder.run_sync(script(BOTH, "7 HELLO"), "q")
        assert rows(tmp_path / "t.db", "select count(*) from runs") == [(0,)]
        blocker.execute("rollback")
        blocker.close()
    assert rows(tmp_path / "t.db", "select run_id, status, tool_calls from runs") == [(result.run_id, "answered", 2)]


@pytest.mark.parametrize("how", ["removed", "replaced"])
def test_a_store_that_goes_away_is_told_and_recording_goes_on_in_a_new_file(tmp_path: Path, how: str) -> None:
    path = tmp_path / "t.db"
    with Recorder(path) as recorder:
        recorder.run_sync(script("lost"), "q")
        for file in tmp_path.iterdir():
            file.unlink()
        if how == "replaced":
            Recorder(path).close()
        with pytest.warns(RecorderWarning, match="was removed or replaced: what it held is gone"):
            recorder.run_sync(script("kept"), "q")
    assert rows(path, "select answer from runs") == [("kept",)]


def test_a_fact_that_cannot_be_written_takes_no_other_with_it(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "t.db")
    change(
        tmp_path / "t.db",
        "create trigger no before insert on span when new.name='shout' begin select raise(abort, 'refused'); end",
    )
    with pytest.warns(RecorderWarning, match="one record cannot be written"):
        result = recorder.run_sync(script(BOTH, "7 HELLO"), "q")
    with pytest.warns(RecorderWarning, match="1 record was lost"):
        recorder.close()
    assert result.answer == "7 HELLO"
    assert rows(tmp_path / "t.db", "select tool, result from tool_calls") == [("add", "7")]
    assert rows(tmp_path / "t.db", "select status from runs") == [("answered",)]
    assert rows(tmp_path / "t.db", "select event from log_events where level='warning'") == [("recorder.degraded",)]


def test_warnings_that_are_errors_do_not_end_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tmp_path.joinpath("t.db").mkdir()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with Recorder(tmp_path / "t.db") as recorder:
            assert recorder.run_sync(script("fine"), "q").answer == "fine"
    assert "playhead: runs are not recorded" in capsys.readouterr().err


def test_the_log_hears_what_the_store_derives(tmp_path: Path) -> None:
    heard: list[tuple[str, str, Any]] = []
    with Recorder(tmp_path / "t.db", log=lambda *event: heard.append(event)) as recorder:
        with structlog.contextvars.bound_contextvars(user="ada"):
            recorder.run_sync(script(BOTH, "7", tools=Toolbox([add])), "q", session="s1")
            with pytest.raises(ModelError):
                recorder.run_sync(script(ConnectionError("no route")), "q")
    ids = ("run_id", "span_id", "trace_id")
    stored = rows(tmp_path / "t.db", "select level, event, fields, run_id, span_id from log_events")
    assert [(level, name, run_id, span_id) for level, name, _, run_id, span_id in stored] == [
        (level, name, fields["run_id"], fields["span_id"]) for level, name, fields in heard
    ]
    assert [json.loads(fields) for _, _, fields, _, _ in stored] == [
        {key: value for key, value in fields.items() if key not in ids} for _, _, fields in heard
    ]


def test_a_tool_that_changes_the_folder_does_not_change_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()

    @tool("Go elsewhere.")
    def go(to: str) -> str:
        os.chdir(to)
        return "there"

    with Recorder("t.db", strict=True) as recorder:
        for number in range(3):
            call = {"tool_calls": [{"name": "go", "arguments": {"to": str(tmp_path / "sub")}}]}
            recorder.run_sync(Agent(model=ScriptedModel([call, "x"]), tools=Toolbox([go])), f"q{number}")
    with Store(tmp_path / "t.db") as store:
        assert store.count() == 3
    assert list((tmp_path / "sub").iterdir()) == []
