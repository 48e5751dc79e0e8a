"""A recorded run as a script: a file that a person can read and edit, and that says the same again."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agent import Agent, Limits, Message, ScriptedModel, ToolCall, Usage, run_sync
from agent.values import Response
from tests.model_server import completion, model_server
from tests.replays import as_dicts, read, record, recorded, replayed, said
from tests.runs import SURROGATES, TOOLS, UNSAFE, answer, calls, unsafe_in
from tests.test_openai_model import model as over_http
from tests.test_properties import ANSWERS, ODD_TEXT, TWO_CALLS, USUAL, Answer
from tests.test_properties import TOOLS as ODD_TOOLS
from tracing import Recorder, Recording, replay
from tracing.scripts import script_of, script_text

RAISED = st.sampled_from(
    [ValueError("x"), RuntimeError(""), KeyError("a\0b\ud83d"), SystemExit(3), OSError(2, "no: x")]
)
FLAT = {"tool_calls": [{"id": "x", "name": "give", "arguments": '{"which": 1}'}]}
"""A call in a form that no server of chat completions takes, and the short form of a script looks like."""
NAMES_OF_OURS = {"content": "done", "usage": {"input": 7}, "finish_reason": "odd", "model": "odd", "error": "odd: no"}


def again(recorder: Recorder, db: Path, model: ScriptedModel, first: Recording, agent: Agent) -> Recording:
    changed = Agent(model=model, tools=agent.tools, system=agent.system, limits=agent.limits)
    history = first.earlier(agent.system)
    return read(db, recorded(recorder, changed, first.question, history=history))


def facts(recording: Recording) -> Any:
    """All that a run came to, without what names a file or a time."""
    called = [(call.name, call.arguments, call.observation) for step in recording.steps for call in step.calls]
    ended = (recording.stop, recording.error, recording.answer, recording.totals)
    return as_dicts(recording.messages), called, ended


def test_the_script_of_any_run_runs_to_the_same_record_and_gives_the_same_script(tmp_path: Path) -> None:
    db, file = tmp_path / "t.db", tmp_path / "s.jsonl"

    @given(
        st.lists(ANSWERS | RAISED.map(lambda error: Answer(error, {})), max_size=3),
        ODD_TEXT,
        st.none() | ODD_TEXT,
        st.lists(USUAL, max_size=3),
    )
    @example([Answer({"tool_calls": TWO_CALLS}, {})], "q", None, [])
    @example([Answer(FLAT, {})], "q", None, [])
    @example([Answer(NAMES_OF_OURS, {})], "q", None, [])
    @example([Answer({**FLAT, **NAMES_OF_OURS}, {})], "q", None, [])
    @settings(max_examples=120)
    def check(answers: list[Answer], question: str, system: str | None, history: list[dict[str, Any]]) -> None:
        left = list(answers)

        async def model(_: list[dict[str, Any]]) -> Any:
            returned = left.pop(0).returned if left else "done"
            if isinstance(returned, BaseException):
                raise returned
            return returned

        agent = Agent(model=model, tools=ODD_TOOLS, system=system, limits=Limits(max_steps=3))
        first = read(db, recorded(recorder, agent, question, history=history))
        text = script_text(first)
        file.write_text(text, encoding="utf-8")
        for script in (ScriptedModel.load(file), ScriptedModel.from_run(first)):
            second = again(recorder, db, script, first, agent)
            assert (script_text(second), facts(second)) == (text, facts(first))

    with Recorder(db, strict=True) as recorder:
        check()


def test_a_script_is_safe_to_print_and_says_the_same(tmp_path: Path) -> None:
    said_ = "".join(sorted(UNSAFE - SURROGATES)) + "\ud83d"
    record(
        tmp_path / "t.db", Agent(model=ScriptedModel([calls(("grep_docs", {"keyword": said_})), said_]), tools=TOOLS)
    )
    recording = read(tmp_path / "t.db")
    text = script_text(recording)
    assert not unsafe_in(text)
    assert [json.loads(line) for line in text.splitlines()] == list(script_of(recording))


def script(tmp_path: Path, *responses: Any) -> list[str]:
    record(tmp_path / "t.db", Agent(model=ScriptedModel(responses), tools=TOOLS))
    return script_text(read(tmp_path / "t.db")).split("\n")[:-1]


def test_a_script_is_one_short_line_per_response(tmp_path: Path) -> None:
    read_doc = calls(("read_doc", {"path": "a\u2028.md", "start": 1}), content="I look.")
    broken = {"tool_calls": [{"id": "x", "function": {"name": "no such!", "arguments": '{"path": "a'}}]}
    lines = script(tmp_path, read_doc, broken, answer("Done.", input=7, cached=3))
    assert [json.loads(line) for line in lines] == [
        {
            "content": "I look.",
            "tool_calls": [{"name": "read_doc", "arguments": {"path": "a\u2028.md", "start": 1}}],
            "finish_reason": "tool_calls",
            "usage": {"input": 100, "output": 20},
        },
        broken,
        {"content": "Done.", "finish_reason": "stop", "usage": {"input": 7, "cached": 3}},
    ]


def test_a_failed_call_is_the_last_line_and_fails_again_with_the_same_words(tmp_path: Path) -> None:
    lines = script(tmp_path, calls(("read_doc", {"path": "a"})), ConnectionError("no: route"))
    assert json.loads(lines[1]) == {"error": "ConnectionError: no: route"}
    first = read(tmp_path / "t.db")
    record(tmp_path / "t.db", Agent(model=ScriptedModel.from_run(first), tools=TOOLS))
    assert facts(read(tmp_path / "t.db")) == facts(first)


def test_a_script_ends_where_the_run_was_cancelled(tmp_path: Path) -> None:
    lines = script(tmp_path, calls(("read_doc", {"path": "a"})), asyncio.CancelledError())
    assert [list(json.loads(line)) for line in lines] == [["content", "tool_calls", "finish_reason", "usage"]]


def test_ids_and_arguments_stay_where_the_short_form_would_not_be_the_same(tmp_path: Path) -> None:
    odd = ['{"a": 1}', '{"a":1,"a":2}', '{"a":1e999}', "", "null", '{"a":"\\ud83d"}', '{"b":1,"a":2}', '{"a":1.0}']
    wanted = [{"id": f"x{at}", "name": "read_doc", "arguments": text} for at, text in enumerate(odd)]
    (line, *_) = script(tmp_path, {"tool_calls": wanted}, "done")
    message = json.loads(line)
    kept = [one.get("function", one)["arguments"] for one in message["tool_calls"]]
    assert [one if isinstance(one, str) else json.dumps(one, separators=(",", ":")) for one in kept] == odd
    assert [one["id"] for one in message["tool_calls"]] == [f"x{at}" for at in range(len(odd))]


def test_a_response_of_a_models_own_is_told_whole(tmp_path: Path) -> None:
    """Arguments that the model sent, and others that may be sent back."""
    usage = Usage(input=5, output=4, cached=3, reasoning=2, cache_write=1)
    response = Response(
        message=Message(role="assistant", content="c", tool_calls=(ToolCall("x", "read_doc", '{"path":"a"}'),)),
        calls=(ToolCall("x", "read_doc", "{'path': 'a'}", step=1),),
        usage=usage,
        finish="odd",
        model="m-1",
    )
    record(tmp_path / "t.db", Agent(model=ScriptedModel([response, "done"]), tools=TOOLS))
    first = read(tmp_path / "t.db")
    (line, _) = script_of(first)
    assert (line["usage"], line["finish_reason"], line["model"]) == (
        {"input": 5, "output": 4, "cached": 3, "reasoning": 2, "cache_write": 1}, "odd", "m-1",
    )  # fmt: skip
    record(tmp_path / "t.db", Agent(model=ScriptedModel.from_run(first), tools=TOOLS))
    second = read(tmp_path / "t.db")
    assert [call.arguments for step in second.steps for call in step.calls] == ["{'path': 'a'}"]
    assert script_text(second) == script_text(first)


def test_a_person_may_edit_the_file(tmp_path: Path) -> None:
    lines = script(tmp_path, calls(("read_doc", {"path": "a"})), answer("Done."))
    file = tmp_path / "edited.jsonl"
    file.write_text("\n".join(["\ufeff// The run of Tuesday.", "", lines[0].replace('"a"', '"b"'), '"Other."', ""]))
    result = run_sync(Agent(model=ScriptedModel.load(file), tools=TOOLS), "q")
    assert [message.content for message in result.messages] == ["q", None, "the text of b", "Other."]


def test_a_result_is_a_script_as_well(tmp_path: Path) -> None:
    model = ScriptedModel([calls(("read_doc", {"path": "a"})), answer("Done.")])
    history = [{"role": "user", "content": "before"}, {"role": "assistant", "content": "yes"}]
    result = run_sync(Agent(model=model, tools=TOOLS), "q", history=history)
    same = ScriptedModel.from_run(result)
    repeated = run_sync(Agent(model=same, tools=TOOLS), "q", history=history)
    assert as_dicts(repeated.messages) == as_dicts(result.messages)
    same.assert_complete()
    with pytest.raises(TypeError, match="not of str"):
        ScriptedModel.from_run("last")


def test_a_run_over_http_is_a_script_that_replays_against_its_own_record(tmp_path: Path) -> None:
    db = tmp_path / "t.db"
    wanted = [{"id": "", "type": "function", "function": {"name": "read_doc", "arguments": "{'path': 'a'}"}}]
    replies = [completion("", wanted), completion("Done.", [], "stop", service_tier="flex")]
    with model_server(replies) as server:
        record(db, Agent(model=over_http(server.url), tools=TOOLS))
    first = read(db)
    scripted = ScriptedModel(first.responses, name=first.model)
    assert said(replay(first, Agent(model=scripted, tools=TOOLS), model=scripted)) == "exact"
    assert said(replayed(db, Agent(model=scripted, tools=TOOLS), tools="live")) == "exact"
