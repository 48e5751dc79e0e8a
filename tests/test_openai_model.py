"""Real HTTP against a local OpenAI-compatible server: plain, streamed, retried, broken; and the key goes nowhere else."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from agent import Agent, Message, ModelError, Response, ScriptedModel, Toolbox, Usage, run_sync, tool
from agent.models.openai_model import OpenAIModel
from agent.models.retrying import Retries
from agent.ports import FirstToken, Retried, TextDelta
from agent.values import Request
from tests.model_server import KEY, Reply, call, completion, delta, model_server
from tests.processes import rows
from tracing import Recorder, open_store, replay
from tracing.scripts import script_text

QUICK = Retries(first_wait=0.001, longest_wait=0.002)


@tool("Add two numbers.")
def add(a: int, b: int) -> int:
    return a + b


TOOLS = Toolbox([add])
ADD = call("add", '{"a": 3, "b": 4}')


def model(url: str, **options: Any) -> OpenAIModel:
    return OpenAIModel("m", base_url=url, api_key=KEY, **{"retries": QUICK, **options})


def asked(one: OpenAIModel, told: list[Any] | None = None) -> Response:
    request = Request(step=1, messages=(Message(role="user", content="q"),))
    return asyncio.run(one.respond(request, (told if told is not None else []).append))


def test_a_run_over_http_is_recorded_whole_and_the_key_is_nowhere(tmp_path: Path) -> None:
    with model_server([completion(None, [ADD]), completion("7")]) as server, Recorder(tmp_path / "t.db") as recorder:
        agent = Agent(model=model(server.url, extra_body={"thinking": False}), tools=TOOLS, settings={"temperature": 0})
        result = recorder.run_sync(agent, "What is 3 + 4?")
    assert (result.answer, result.stats.usage) == ("7", Usage(input=200, output=80, cached=128))
    assert server.keys == [f"Bearer {KEY}"] * 2
    assert server.requests[1] == {
        "model": "m",
        "messages": [
            {"role": "user", "content": "What is 3 + 4?"},
            {"role": "assistant", "content": None, "tool_calls": [ADD]},
            {"role": "tool", "tool_call_id": "x", "content": "7"},
        ],
        "tools": [schema.to_dict() for schema in TOOLS.schemas],
        "temperature": 0,
        "thinking": False,
    }
    found = rows(tmp_path / "t.db", "select model, response_model, provider, retries, cached_tokens from model_calls")
    assert found == [("m", "m-2026", "openai", 0, 64)] * 2
    assert not any(KEY.encode() in path.read_bytes() for path in tmp_path.iterdir())


STREAM = [
    delta(role="assistant", content=None),
    delta(content="se"),
    delta(content="ven"),
    {"model": "m-2026", "choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 2}},
    delta("stop"),
    {"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 3}},
]


def test_a_streamed_answer_is_told_as_it_comes_and_usage_is_the_last_one() -> None:
    told: list[Any] = []
    with model_server([Reply(events=STREAM)]) as server:
        response = asked(model(server.url, stream=True), told)
    assert told == [FirstToken(), TextDelta("se"), TextDelta("ven")]
    assert response.message == Message(role="assistant", content="seven")
    assert (response.usage, response.finish, response.model) == (Usage(input=10, output=3), "stop", "m-2026")
    assert server.requests[0]["stream_options"] == {"include_usage": True}


def tool_piece(**fields: Any) -> dict[str, Any]:
    return delta(tool_calls=[fields])


@pytest.mark.parametrize(
    "pieces",
    [
        [tool_piece(index=0, id="x", function={"name": "add", "arguments": '{"a": 3, "b": 4}'})],
        [
            tool_piece(index=0, id="x", type="function", function={"name": "add", "arguments": '{"a"'}),
            tool_piece(index=0, function={"arguments": ": 3, "}),
            tool_piece(index=0, function={"arguments": '"b": 4}'}),
        ],
        [
            tool_piece(id="x", function={"name": "add", "arguments": '{"a": 3, '}),
            tool_piece(function={"arguments": '"b": 4}'}),
        ],
        [
            tool_piece(index=0, function={"arguments": '{"a": 3, '}),
            tool_piece(index=0, id="x", function={"name": "add", "arguments": '"b": 4}'}),
        ],
        [
            tool_piece(index=1, id="x", function={"name": "add", "arguments": '{"a": 3, '}),
            tool_piece(index=1, id="x", function={"name": "add", "arguments": '"b": 4}'}),
        ],
        [
            tool_piece(index=0, id="x", function={"name": "a"}),
            tool_piece(index=0, function={"name": "dd", "arguments": '{"a": 3, "b": 4}'}),
        ],
        [{"choices": []}, tool_piece(index=0, id="x", function={"name": "add", "arguments": '{"a": 3, "b": 4}'}),
         {"choices": [{"index": 0, "finish_reason": None}]}, {"choices": [{"delta": None}]}],
    ],
)  # fmt: skip
def test_any_way_of_cutting_a_call_into_pieces_gives_the_same_call(pieces: list[Any]) -> None:
    with model_server([Reply(events=[*pieces, delta("tool_calls")])]) as server:
        response = asked(model(server.url, stream=True))
    (only,) = response.calls
    assert (only.id, only.name, only.arguments) == ("x", "add", '{"a": 3, "b": 4}')


SIGNED = {**call("add", '{"a": 3, "b": 4}', ""), "extra_content": {"google": {"thought_signature": "abc"}}}
"""Google answers 400 to a history that has lost the signature."""
SIGNED["function"]["strict"] = True


@pytest.mark.parametrize("call_id", ["", "x"])
@pytest.mark.parametrize("events", [
    None,
    [tool_piece(index=0, **SIGNED)],
    [
        tool_piece(index=0, id="", extra_content=None, function={"name": "add", "arguments": ""}),
        tool_piece(index=0, function={"arguments": '{"a": 3, ', "strict": False}),
        tool_piece(index=0, function={"arguments": '"b": 4}', "strict": True}),
        tool_piece(index=0, extra_content=SIGNED["extra_content"]),
    ],
])  # fmt: skip
def test_further_fields_of_a_call_go_back_as_they_came_and_are_recorded(
    tmp_path: Path, events: list[Any] | None, call_id: str
) -> None:
    if events is None:
        first: Any = completion(None, [{**SIGNED, "id": call_id}])
    else:
        first = Reply(events=[*events, *([tool_piece(index=0, id=call_id)] if call_id else []), delta("tool_calls")])
    db, sent = tmp_path / "t.db", {**SIGNED, "id": call_id or "call_1_0"}
    with model_server([first, completion("7"), completion("8")]) as server, Recorder(db) as recorder:
        agent = Agent(model=model(server.url, stream=events is not None), tools=TOOLS)
        result = recorder.run_sync(agent, "q", session="s")
        with open_store(db) as store:
            recording = store.recording("last")
        run_sync(agent, "and now?", history=recording.messages)
    assert [request["messages"][1]["tool_calls"] for request in server.requests[1:]] == [[sent]] * 2
    assert recording.messages == result.messages
    assert replay(recording, agent).outcome == "exact"
    (tmp_path / "s.jsonl").write_text(script_text(recording))
    for script in (ScriptedModel.load(tmp_path / "s.jsonl"), ScriptedModel.from_run(result)):
        assert run_sync(Agent(model=script, tools=TOOLS), "q").messages == result.messages


def test_two_calls_without_indexes_are_told_apart_by_their_ids() -> None:
    pieces = [
        tool_piece(id="x", function={"name": "add", "arguments": "{}"}),
        tool_piece(id="y", function={"name": "add", "arguments": "{"}),
        tool_piece(function={"arguments": "}"}),
    ]
    with model_server([Reply(events=[*pieces, delta("tool_calls")])]) as server:
        response = asked(model(server.url, stream=True))
    assert [(one.id, one.name, one.arguments) for one in response.calls] == [("x", "add", "{}"), ("y", "add", "{}")]


def test_a_server_that_does_not_stream_when_asked_is_understood() -> None:
    with model_server([completion("plain")]) as server:
        assert asked(model(server.url, stream=True)).message.content == "plain"


OVERLOADED = {"message": {"content": ""}, "finish_reason": "error", "error": {"code": 502, "message": "overloaded"}}
BUSY = Reply({"error": {"message": f"busy, {KEY}", "code": 429}}, status=429, headers={"retry-after": "0"})


@pytest.mark.parametrize(
    ("faults", "said"),
    [
        ([BUSY, BUSY], ["status 429: busy, [api key]"] * 2),
        ([Reply({"error": {"message": "loading"}}, status=503)], ["status 503: loading"]),
        ([Reply(b"<html>Bad gateway</html>", status=502)], ["status 502: <html>Bad gateway</html>"]),
        ([Reply({"error": {"message": "busy", "code": 502}})], ["the provider answered with an error: busy"]),
        ([Reply(b"")], ["the answer is empty"]),
        ([Reply(b"<html>hello</html>")], ["the answer is not JSON: '<html>hello</html>'"]),
        ([Reply({"choices": []})], ["the completion has no choices"]),
        ([Reply({"choices": None, "error": {"message": "no"}})], ["the provider answered with an error: no"]),
        ([Reply({"choices": [OVERLOADED]})], ["the provider answered with an error: overloaded"]),
        ([completion("", finish="error")], ["the provider answered with an error: it did not say which"]),
    ],
)
def test_what_may_pass_is_tried_again_and_each_attempt_is_told(faults: list[Reply], said: list[str]) -> None:
    told: list[Any] = []
    with model_server([*faults, completion("at last")]) as server:
        assert asked(model(server.url), told).message.content == "at last"
    assert told == [Retried(attempt=number, error=text) for number, text in enumerate(said, 1)]


@pytest.mark.parametrize(
    ("events", "said"),
    [
        (Reply(events=[delta(content="hal")], cut=True), "the stream ended before the answer did"),
        (Reply(events=[delta(content="hal")], done=False), "the stream ended before the answer did"),
        (Reply(events=[delta(content="hal"), "{broken"]), "the stream holds a line that is not JSON"),
        (Reply(events=[delta(content="hal"), {"error": {"message": "overloaded"}}]), "an error: overloaded"),
        (Reply(events=[delta(content="hal"), {"choices": [OVERLOADED]}]), "an error: overloaded"),
        (Reply(events=[delta(content="hal"), delta("error")]), "an error: it did not say which"),
        (Reply(events=[delta(tool_calls=ADD)]), "the tool_calls of a message must be a list, not an object"),
    ],
)
def test_a_stream_that_breaks_off_is_tried_again(events: Reply, said: str) -> None:
    told: list[Any] = []
    with model_server([events, Reply(events=[delta(content="half"), delta("stop")])]) as server:
        assert asked(model(server.url, stream=True), told).message.content == "half"
    (retried,) = [one for one in told if isinstance(one, Retried)]
    assert said in retried.error


def test_a_server_that_fails_for_ever_fails_the_run_after_its_attempts(tmp_path: Path) -> None:
    with model_server([Reply({"error": {"message": "down"}}, status=500)]) as server:
        with Recorder(tmp_path / "t.db") as recorder, pytest.raises(ModelError, match="status 500: down"):
            recorder.run_sync(Agent(model=model(server.url)), "q")
    assert len(server.requests) == 4
    assert rows(tmp_path / "t.db", "select retries, error from model_calls") == [(3, "Failed: status 500: down")]
    retried = rows(tmp_path / "t.db", "select fields from log_events where event='model.retried'")
    assert [json.loads(fields)["attempt"] for (fields,) in retried] == [1, 2, 3]


@pytest.mark.parametrize("status", [400, 401, 404, 422])
def test_what_will_not_pass_is_not_tried_again(status: int) -> None:
    fault = Reply({"error": {"code": status, "message": f"no, {KEY}", "type": "x"}}, status=status)
    with model_server([fault]) as server, pytest.raises(ModelError, match=rf"status {status}: no, \[api key\]"):
        run_sync(Agent(model=model(server.url)), "q")
    assert len(server.requests) == 1


def test_a_hanging_server_is_given_up_after_the_timeout_and_after_the_deadline() -> None:
    told: list[Any] = []
    with model_server([Reply(completion(), hang=30), completion("second")]) as server:
        assert asked(model(server.url, timeout=0.2), told).message.content == "second"
    assert told == [Retried(attempt=1, error=f"no answer from {server.url} within 0.2 seconds")]
    with model_server([Reply(completion(), hang=30)]) as server:
        with pytest.raises(ModelError, match=r"no answer within 0\.3 seconds"):
            run_sync(Agent(model=model(server.url, retries=Retries(deadline=0.3))), "q")


def test_a_server_that_is_not_there_is_said_so() -> None:
    with model_server([completion()]) as server:
        pass
    with pytest.raises(ModelError, match=f"cannot reach {server.url}"):
        run_sync(Agent(model=model(server.url)), "q")


def test_the_same_model_serves_several_event_loops_and_many_runs_at_once() -> None:
    with model_server([completion("done")]) as server:
        one = Agent(model=model(server.url))

        async def together() -> list[Any]:
            from agent import run

            return await asyncio.gather(*(run(one, "q") for _ in range(20)))

        assert [result.answer for result in asyncio.run(together())] == ["done"] * 20
        assert run_sync(one, "q").answer == "done"


def test_no_other_key_and_no_organisation_of_the_environment_goes_to_the_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_BASE_URL"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/stray" if name.endswith("URL") else "stray-secret")
    with model_server([completion()]) as server:
        asked(model(server.url))
    assert "stray" not in json.dumps(server.headers)


def test_a_model_that_no_server_is_configured_for_can_be_replayed_but_not_asked(tmp_path: Path) -> None:
    recorded = Agent(model=ScriptedModel(["Four."], name="gpt-4o"), system="Be brief.")
    with Recorder(tmp_path / "t.db") as recorder:
        recorder.run_sync(recorded, "How many?")
    agent = Agent(model=OpenAIModel("openai:gpt-4o"), system="Be brief.")
    assert replay("last", agent, db=tmp_path / "t.db").is_exact
    with pytest.raises(ModelError, match="no key for OpenAI: set OPENAI_API_KEY"):
        run_sync(agent, "How many?")
