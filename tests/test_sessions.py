"""Conversations: turns of one session share what is stored, go on after any end, and are shown in order."""

import json
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from agent import Agent, Limits, Message, ModelError, OpenAIModel, ScriptedModel, Toolbox, ToolCall, run_sync, tool
from agent.cli import cli as agent_cli
from agent.history import UNANSWERED, answered_history
from tests.model_server import KEY, Reply, call, completion, delta, model_server
from tests.processes import finish, rows, spawn, start, wait_for_row
from tests.readme_session import on_terminal
from tracing import Recorder
from viewer.cli import cli as viewer_cli


@tool("Add two numbers.")
def add(a: int, b: int) -> int:
    return a + b


ASK: dict[str, Any] = {"tool_calls": [{"name": "add", "arguments": {"a": 1, "b": 2}}]}


def test_three_turns_over_two_processes_store_each_message_once_and_show_as_one_conversation(tmp_path: Path) -> None:
    script = tmp_path / "s.jsonl"
    script.write_text('{"tool_calls": [{"name": "count_lines", "arguments": {"path": "index.md"}}]}\n"one"\n')
    command = [
        sys.executable,
        "-m",
        "agent",
        "ask",
        "first",
        "--session",
        "s1",
        "--model",
        f"script:{script}",
        "--quiet",
    ]
    assert finish(spawn(command, tmp_path))[:2] == (0, "one\n")
    for question, answer in (("second", "two"), ("third", "three")):
        script.write_text(json.dumps(answer))
        command[4] = question
        assert finish(spawn(command, tmp_path))[:2] == (0, f"{answer}\n")
    said = rows(tmp_path / "traces.db", "select role, content from conversation where run_id=(select run_id from runs "
                "order by started_at desc limit 1) order by position")  # fmt: skip
    assert [(role, content) for role, content in said if role in ("user", "assistant")] == [
        ("user", "first"), ("assistant", None), ("assistant", "one"), ("user", "second"), ("assistant", "two"),
        ("user", "third"), ("assistant", "three"),
    ]  # fmt: skip
    stored = rows(tmp_path / "traces.db", "select count(*), count(distinct hash), max(depth)+1 from message")
    assert stored == [(9, 9, 9)]
    listed = CliRunner().invoke(
        viewer_cli, ["list", "--db", str(tmp_path / "traces.db"), "--session", "s1", "--json", "--content"]
    )
    assert [row["question"] for row in json.loads(listed.stdout)["rows"]] == ["first", "second", "third"]


def test_a_chat_goes_on_through_failures_and_limits_with_all_that_was_said(tmp_path: Path) -> None:
    tmp_path.joinpath("mine.py").write_text(
        """
from agent import Agent, Limits, ScriptedModel, Toolbox, tool
@tool
def add(a: int, b: int) -> int:
    return a + b
ask = {"tool_calls": [{"name": "add", "arguments": {"a": 1, "b": 2}}]}
seen = []
class Model(ScriptedModel):
    async def respond(self, request, tell):
        print("HEARD", [message.content for message in request.messages if message.role == "user"])
        return await super().respond(request, tell)
bot = Agent(model=Model([ask, ask, RuntimeError("down"), "better"]), tools=Toolbox([add]), limits=Limits(max_steps=2))
"""
    )
    tmp_path.joinpath("in.txt").write_text("one\n\ntwo\nthree\n")
    command = ["bash", "-c", f"'{sys.executable}' -m agent chat --agent mine:bot --session c1 < in.txt"]
    code, out, err = finish(spawn(command, tmp_path))
    assert (code, out) == (0, "better\n")
    assert "stopped by max_steps" in err
    assert "RuntimeError: down" in err
    assert "HEARD ['one', 'two', 'three']" in err
    found = rows(tmp_path / "traces.db", "select session, question, stop from runs order by started_at")
    assert found == [("c1", "one", "max_steps"), ("c1", "two", "failed"), ("c1", "three", "answered")]


def test_a_session_goes_on_after_a_killed_run_with_every_call_answered(tmp_path: Path) -> None:
    body = """
with Recorder("traces.db") as recorder:
    recorder.run_sync(agent("quick", "die"), "first", session="s1")
"""
    finish(start(tmp_path, body))
    script = tmp_path / "s.jsonl"
    script.write_text('"second answer"')
    arguments = ["ask", "second", "--session", "s1", "--model", f"script:{script}", "--db", str(tmp_path / "traces.db")]
    assert CliRunner().invoke(agent_cli, arguments).exit_code == 0
    said = rows(tmp_path / "traces.db", "select role, content from conversation where run_id=(select run_id from runs "
                "order by started_at desc limit 1) and role != 'system' order by position")  # fmt: skip
    assert said == [
        ("user", "first"), ("assistant", None), ("tool", "ababab"), ("assistant", None), ("tool", UNANSWERED),
        ("user", "second"), ("assistant", "second answer"),
    ]  # fmt: skip


def test_an_open_history_is_closed_and_stray_answers_are_left_out() -> None:
    asked = Message(role="assistant", tool_calls=(ToolCall("a", "add", "{}"), ToolCall("b", "add", "{}")))
    given = Message(role="tool", tool_call_id="b", content="2")
    stray = Message(role="tool", tool_call_id="z", content="?")
    user = Message(role="user", content="q")
    unanswered = Message(role="tool", tool_call_id="a", content=UNANSWERED)
    assert answered_history([stray, user, asked, given, given, user]) == [user, asked, unanswered, given, user]
    assert answered_history([asked]) == [asked, unanswered, Message(role="tool", tool_call_id="b", content=UNANSWERED)]


def test_a_history_that_the_caller_compacted_is_a_new_chain_and_works(tmp_path: Path) -> None:
    agent = Agent(model=ScriptedModel([ASK, "3", "short", "again"]), tools=Toolbox([add]))
    with Recorder(tmp_path / "t.db") as recorder:
        first = recorder.run_sync(agent, "q")
        compacted = [Message(role="user", content="Earlier: 1+2 is 3."), first.messages[-1]]
        second = recorder.run_sync(agent, "and now?", history=compacted)
        assert recorder.run_sync(agent, "more", history=second.messages).answer == "again"
    assert [message.content for message in second.messages] == ["Earlier: 1+2 is 3.", "3", "and now?", "short"]


def test_after_a_failed_run_its_messages_go_on(tmp_path: Path) -> None:
    agent = Agent(model=ScriptedModel([ASK, ConnectionError("down"), "fine"]), tools=Toolbox([add]))
    try:
        run_sync(agent, "q")
    except ModelError as error:
        history = error.result.messages
    result = run_sync(agent, "again", history=history)
    assert [message.role for message in result.messages] == ["user", "assistant", "tool", "user", "assistant"]


def test_the_third_identical_call_in_a_row_is_told_to_the_model() -> None:
    other = {"tool_calls": [{"name": "add", "arguments": {"a": 2, "b": 2}}]}
    agent = Agent(model=ScriptedModel([ASK, ASK, other, ASK, ASK, ASK, ASK, "ok"]), tools=Toolbox([add]))
    shown = [one.content for one in run_sync(agent, "q").messages if one.role == "tool"]
    note = "3\n[this very call was made {} times in a row: answer now, or call something else]"
    assert shown == ["3", "3", "4", "3", "3", note.format(3), note.format(4)]


def test_a_token_limit_that_cannot_be_kept_to_is_told_once(recwarn: Any) -> None:
    agent = Agent(model=ScriptedModel([ASK, ASK, "3"]), tools=Toolbox([add]), limits=Limits(max_tokens=1000))
    assert run_sync(agent, "q").answer == "3"
    assert [str(one.message) for one in recwarn] == [
        "playhead: max_tokens cannot be kept to: the model does not say how many tokens it used"
    ]


def env(url: str) -> dict[str, str]:
    return {"LLM_BASE_URL": url, "LLM_API_KEY": KEY, "LLM_MODEL": "m"}


def test_ask_uses_the_configured_server_and_leaves_the_key_nowhere(tmp_path: Path) -> None:
    events = [delta(content="to "), delta(content="you"), delta("stop")]
    with model_server([Reply(events=events)]) as server:
        command = [sys.executable, "-m", "agent", "ask", "hello", "--log", "json", "--extra-body", '{"top_k": 1}']
        code, out, err = finish(spawn(command, tmp_path, **env(server.url)))
    assert (code, out) == (0, "to you\n")
    assert (server.requests[0]["stream"], server.requests[0]["top_k"]) == (True, 1)
    assert server.keys == [f"Bearer {KEY}"]
    assert KEY not in err
    assert not any(KEY.encode() in path.read_bytes() for path in tmp_path.iterdir())
    ((first,),) = rows(tmp_path / "traces.db", "select first_token_ms from model_calls")
    assert first > 0


def test_keys_alone_spend_nothing_and_a_model_without_a_server_says_what_to_set(tmp_path: Path) -> None:
    keys = {"LLM_API_KEY": KEY, "OPENAI_API_KEY": KEY}
    _, _, err = finish(spawn([sys.executable, "-m", "agent", "ask", "pool timeout"], tmp_path, **keys))
    assert err.startswith("model: keyword\n")
    command = [sys.executable, "-m", "agent", "ask", "q", "--model", "gpt-9"]
    code, _, err = finish(spawn(command, tmp_path, OPENAI_API_KEY=KEY))
    assert (code, "no server is configured for 'gpt-9'" in err) == (2, True)
    code, _, err = finish(spawn([*command[:5], "--real", "--model", "x"], tmp_path))
    assert (code, "--real is the model of LLM_MODEL" in err) == (2, True)


def test_an_answer_is_shown_on_a_terminal_as_it_comes_and_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    piece = {"index": 0, "id": "x", "function": {"name": "list_docs", "arguments": "{}"}}
    first = Reply(events=[delta(content="Let me \x1b[2Jlook."), delta(tool_calls=[piece]), delta("tool_calls")])
    second = Reply(events=[delta(content="Two "), delta(content="words."), delta("stop")])
    with model_server([first, second]) as server:
        for name, value in env(server.url).items():
            monkeypatch.setenv(name, value)
        printed = on_terminal([sys.executable, "-m", "agent", "ask", "q", "--quiet"], tmp_path)
    assert printed == "Let me \N{SYMBOL FOR ESCAPE}[2Jlook.\nTwo words.\n"


@pytest.mark.parametrize(
    ("number", "code", "word"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]
)
def test_a_signal_during_a_stream_closes_the_record(
    tmp_path: Path, number: signal.Signals, code: int, word: str
) -> None:
    events = [delta(content="to "), 30.0, delta("stop")]
    with model_server([Reply(events=events)]) as server:
        process = spawn([sys.executable, "-m", "agent", "ask", "hello"], tmp_path, **env(server.url))
        wait_for_row(tmp_path / "traces.db", "select 1 from model_calls")
        while not server.requests:
            time.sleep(0.01)
        process.send_signal(number)
        returned, out, err = finish(process)
    assert (returned, out) == (code, "")
    assert f"{word} after 0 steps" in err
    assert "Traceback" not in err
    assert rows(tmp_path / "traces.db", "select status from runs") == [("cancelled",)]
    assert rows(tmp_path / "traces.db", "select error from model_calls") == [("cancelled",)]


def test_a_task_cancelled_during_a_stream_ends_its_process_and_is_recorded_as_cancelled(tmp_path: Path) -> None:
    events = [delta(content="to "), 30.0, delta("stop")]
    with model_server([Reply(events=events)]) as server:
        body = f"""
from agent import OpenAIModel
heard = []
async def main():
    model = OpenAIModel("m", base_url={server.url!r}, api_key="k", stream=True)
    with Recorder("t.db") as recorder:
        task = asyncio.create_task(recorder.run(Agent(model=model), "q", tell=heard.append))
        while len(heard) < 2:
            await asyncio.sleep(0.01)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            print("cancelled after", heard[1].text)
asyncio.run(main())
"""
        assert finish(start(tmp_path, body), seconds=20) == (0, "cancelled after to \n", "")
    assert rows(tmp_path / "t.db", "select status from runs") == [("cancelled",)]
    assert rows(tmp_path / "t.db", "select error from model_calls") == [("cancelled",)]


def test_two_calls_of_one_answer_over_http_are_run_and_answered_in_order(tmp_path: Path) -> None:
    both = [call("add", '{"a": 1, "b": 2}', "x"), call("add", '{"a": 3, "b": 4}', "y")]
    with model_server([completion(None, both), completion("3 and 7")]) as server:
        model = OpenAIModel("m", base_url=server.url, api_key=KEY)
        with Recorder(tmp_path / "t.db") as recorder:
            recorder.run_sync(Agent(model=model, tools=Toolbox([add])), "q")
    assert [(one["tool_call_id"], one["content"]) for one in server.requests[1]["messages"][2:]] == [
        ("x", "3"), ("y", "7")
    ]  # fmt: skip
    found = rows(tmp_path / "t.db", "select call, call_id, result from tool_calls")
    assert found == [(1, "x", "3"), (2, "y", "7")]
