"""Real failures of agent loops, one row each (sections A to F, and what a real server does), run end to end and recorded.

The ids are those of the list from which the rows come: A3 is the third row of its section on arguments.
"""

import asyncio
import dataclasses
import datetime
import enum
import functools
import itertools
import json
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import pytest

from agent import Agent, Limits, ModelError, Result, Toolbox, ToolDefinitionError, run_sync, tool
from agent.models.openai_model import OpenAIModel
from agent.models.retrying import Retries
from tests.model_server import KEY, Reply, call, completion, delta, model_server
from tests.validator import validate
from tracing import Recorder, Store

QUICK = Retries(first_wait=0.001, longest_wait=0.002)
HMM = {"reasoning_content": "hmm", "vendor": {"odd": [1, None]}}


@tool("Search the documents.")
def search_docs(q: str) -> str:
    return f"found {q}"


@tool("Say when.")
def now() -> str:
    return "noon"


@tool("Add one.")
def count(n: int, mode: Literal["fast", "slow"] = "slow") -> str:
    return f"{n + 1} {mode}"


@tool("Fail.")
def fail() -> None:
    raise ValueError("too hot")


TOOLS = Toolbox([search_docs, now, count, fail])


@dataclasses.dataclass
class Played:
    """A run that is over: what the model was sent, how it ended, what the store says."""

    requests: list[list[dict[str, Any]]]
    result: Result
    error: ModelError | None
    run: dict[str, Any]
    model_calls: list[dict[str, Any]]
    tool_calls: list[dict[str, Any]]
    events: list[dict[str, Any]]
    asked: list[list[dict[str, Any]]]
    """The requests as the store has them, one for each step."""

    @property
    def observations(self) -> list[str]:
        return [str(message.content) for message in self.result.messages if message.role == "tool"]

    def recorded(self, *columns: str) -> list[tuple[Any, ...]]:
        return [tuple(row[column] for column in columns) for row in self.tool_calls]


def hearing(messages: list[Any]) -> Callable[[list[Any]], str]:
    """A model that keeps what it was sent."""

    def model(sent: list[Any]) -> str:
        messages.extend(sent)
        return "fine"

    return model


def played(path: Path, model: Any, requests: list[Any], *, tools: Any = TOOLS, max_steps: int = 4) -> Played:
    error = None
    with Recorder(path / "t.db", strict=True) as recorder:
        agent = Agent(model=model, tools=tools, limits=Limits(max_steps=max_steps))
        try:
            result = recorder.run_sync(agent, "q")
        except ModelError as failure:
            error, result = failure, failure.result
    for messages in requests:
        validate(messages)
    second: list[Any] = []  # the next turn of the conversation is valid as well
    run_sync(Agent(model=hearing(second)), "and then?", history=result.messages)
    validate(second)
    with Store(path / "t.db") as store:
        run_id = store.find("last")
        model_calls = store.model_calls(run_id)
        return Played(
            requests,
            result,
            error,
            store.run(run_id),
            model_calls,
            store.tool_calls(run_id),
            store.events(run_id),
            [list(store.request(run_id, row["step"]).messages) for row in model_calls],
        )


def play(path: Path, *answers: Any, **options: Any) -> Played:
    """Runs a callable model that gives these answers, and then says done."""
    requests: list[Any] = []

    async def model(messages: list[dict[str, Any]]) -> Any:
        requests.append(messages)
        return answers[len(requests) - 1] if len(requests) <= len(answers) else "done"

    one = played(path, model, requests, **options)
    assert one.asked == requests
    return one


def serve(path: Path, *replies: Any, stream: bool = False, timeout: float = 60.0, **options: Any) -> Played:
    """Runs an OpenAIModel against a server that gives these replies, the last one for ever."""
    with model_server(replies) as server:
        model = OpenAIModel("m", base_url=server.url, api_key=KEY, stream=stream, retries=QUICK, timeout=timeout)
        requests: list[Any] = []
        one = played(path, model, requests, **options)
        one.requests = [request["messages"] for request in server.requests]
    for messages in one.requests:
        validate(messages)
    assert one.asked == [messages for messages, _ in itertools.groupby(one.requests)]  # attempts ask the same
    assert not any(KEY.encode() in file.read_bytes() for file in path.iterdir())
    return one


def calling(name: Any, arguments: Any, call_id: Any = "x") -> dict[str, Any]:
    return {"content": None, "tool_calls": [{"id": call_id, "function": {"name": name, "arguments": arguments}}]}


def with_finish(message: dict[str, Any], finish: Any, usage: Any = None) -> dict[str, Any]:
    return {"choices": [{"message": message, "finish_reason": finish}], "usage": usage}


# A. Arguments of a tool call

BAD, FINE = "bad_arguments", None


@pytest.mark.parametrize(
    ("name", "arguments", "error", "said", "raw"),
    [
        pytest.param("now", "", FINE, "noon", "", id="A1-empty"),
        pytest.param("now", "  ", FINE, "noon", "  ", id="A1-blank"),
        pytest.param("search_docs", "", BAD, "q is required", "", id="A1-required"),
        pytest.param("now", "null", FINE, "noon", "null", id="A2-null"),
        pytest.param("search_docs", "null", BAD, "q is required", "null", id="A2-null-required"),
        pytest.param("search_docs", "[1]", BAD, "must be a JSON object, not a list", "[1]", id="A2-list"),
        pytest.param("search_docs", '"x"', BAD, "must be a JSON object, not a string", '"x"', id="A2-string"),
        pytest.param("search_docs", "7", BAD, "must be a JSON object, not an integer", "7", id="A2-number"),
        pytest.param("search_docs", "true", BAD, "must be a JSON object, not true or false", "true", id="A2-bool"),
        pytest.param("now", '{"q": "a",}', BAD, "now was not run", '{"q": "a",}', id="A3-comma"),
        pytest.param("now", "{q: 1}", BAD, "not valid JSON", "{q: 1}", id="A3-bare"),
        pytest.param("now", '{"q": "a', BAD, "not valid JSON", '{"q": "a', id="A3-cut"),
        pytest.param("search_docs", '{"q":"a"} Done!', BAD, "Extra data", '{"q":"a"} Done!', id="A4-text"),
        pytest.param("search_docs", '{"q":"a"}{"q":"b"}', BAD, "Extra data", '{"q":"a"}{"q":"b"}', id="A4-two"),
        pytest.param("search_docs", "{'q': 'a'}", BAD, "not valid JSON", "{'q': 'a'}", id="A4-quotes"),
        pytest.param("search_docs", {"q": "a"}, FINE, "found a", '{"q":"a"}', id="A5-object"),
        pytest.param("now", None, FINE, "noon", "", id="A5-null"),
        pytest.param("search_docs", None, BAD, "q is required", "", id="A5-null-required"),
        pytest.param("search_docs", '{"q":"\\ud83d"}', FINE, "found \ufffd", '{"q":"\\ud83d"}', id="A9-escape"),
        pytest.param("search_docs", '{"q":"a\udc00b"}', FINE, "found a\ufffdb", '{"q":"a\ufffdb"}', id="A9-raw"),
        pytest.param("count", '{"n": 2.0}', FINE, "3 slow", '{"n": 2.0}', id="A11-whole"),
        pytest.param("count", '{"n": "2"}', FINE, "3 slow", '{"n": "2"}', id="A11-text"),
        pytest.param("count", '{"n": true}', BAD, "n must be an integer; it was true or false", '{"n": true}', id="A11-bool"),
        pytest.param(
            "count", '{"n": 1, "mode": "FAST"}', BAD, '"fast", "slow"', '{"n": 1, "mode": "FAST"}', id="A11-literal"
        ),
    ],
)  # fmt: skip
def test_arguments_are_taken_where_they_are_plain_and_refused_with_the_reason_where_not(
    tmp_path: Path, name: str, arguments: Any, error: str | None, said: str, raw: str
) -> None:
    one = play(tmp_path, calling(name, arguments))
    assert (one.result.stop, one.result.answer, len(one.requests)) == ("answered", "done", 2)
    assert said in one.observations[0]
    assert one.requests[1][-1] == {"role": "tool", "tool_call_id": "x", "content": one.observations[0]}
    assert one.recorded("tool", "arguments", "error", "result") == [(name, raw, error, one.observations[0])]
    # The same call in the pieces of a stream has the same end.
    if isinstance(arguments, str) and arguments.isascii():
        pieces = [
            delta(tool_calls=[{"index": 0, "id": "x", "function": {"name": name, "arguments": arguments[:3]}}]),
            delta(tool_calls=[{"index": 0, "function": {"arguments": arguments[3:]}}]),
            delta("tool_calls"),
        ]
        tmp_path.joinpath("streamed").mkdir()
        same = serve(
            tmp_path / "streamed", Reply(events=pieces), Reply(events=[delta("stop", content="done")]), stream=True
        )
        assert same.observations == one.observations
        assert same.recorded("arguments", "error") == one.recorded("arguments", "error")


def test_a_function_without_a_key_for_its_arguments_is_called_without_any(tmp_path: Path) -> None:  # A5
    one = play(tmp_path, {"tool_calls": [{"id": "x", "function": {"name": "now"}}]})
    assert one.recorded("arguments", "error", "result") == [("", None, "noon")]


def test_a_result_that_utf8_cannot_hold_is_sent_and_recorded(tmp_path: Path) -> None:  # A9
    @tool
    def give() -> str:
        return "a\udc00b"

    one = play(tmp_path, calling("give", ""), tools=Toolbox([give]))
    assert one.observations == ["a\ufffdb"]
    assert one.recorded("result", "whole") == [("a\ufffdb", "a\udc00b")]


# B. Names and ids

TWO = [call("search_docs", '{"q":"a"}', "f"), call("search_docs", '{"q":"b"}', "f")]


@pytest.mark.parametrize("name", ["serch_docs", "", None], ids=["B12-unknown", "B12-empty", "B12-null"])
def test_a_name_that_is_no_tool_is_answered_with_those_there_are(tmp_path: Path, name: str | None) -> None:
    one = play(tmp_path, calling(name, "{}"))
    assert one.result.stop == "answered"
    assert one.observations[0].endswith("The tools are: search_docs, now, count, fail.")
    assert one.recorded("tool", "error") == [(name or "", "unknown_tool")]


class Nameless:
    def __call__(self, q: str) -> str:
        return q


def named(name: str) -> Callable[..., str]:
    def same(q: str) -> str:
        return q

    same.__name__ = name
    return same


@pytest.mark.parametrize(
    ("function", "said"),
    [
        pytest.param(named("my tool!"), "'my tool!' cannot be a tool's name", id="B13-blank"),
        pytest.param(named("a.b"), "'a.b' cannot be a tool's name", id="B13-dot"),
        pytest.param(named(""), "'' cannot be a tool's name", id="B13-empty"),
        pytest.param(named("a" * 65), "cannot be a tool's name: use 1 to 64 letters", id="B13-long"),
        pytest.param(lambda q: q, "a lambda has no name", id="B13-lambda"),
        pytest.param(functools.partial(search_docs.function, q="a"), "a partial has no name", id="B13-partial"),
        pytest.param(Nameless(), "a Nameless has no name", id="B13-object"),
    ],
)
def test_a_name_that_a_provider_would_refuse_is_refused_at_once(function: Any, said: str) -> None:
    with pytest.raises(ToolDefinitionError, match=said):
        Toolbox([function])


def test_two_calls_with_one_id_are_two_executions_two_results_and_two_records(tmp_path: Path) -> None:  # B15
    one = play(tmp_path, {"content": None, "tool_calls": TWO})
    ids = [made["id"] for made in one.requests[1][1]["tool_calls"]]
    assert len(set(ids)) == 2
    assert one.recorded("call_id", "result") == [(ids[0], "found a"), (ids[1], "found b")]
    assert [message["tool_call_id"] for message in one.requests[1][2:]] == ids


@pytest.mark.parametrize("call_id", [None, "", ...], ids=["B17-null", "B17-empty", "B17-missing"])
def test_an_id_that_is_not_there_is_made_up_for_both_messages(tmp_path: Path, call_id: Any) -> None:
    message = calling("now", "", call_id)
    if call_id is ...:
        del message["tool_calls"][0]["id"]
    one = play(tmp_path, message)
    assert one.requests[1][1]["tool_calls"][0]["id"] == one.requests[1][2]["tool_call_id"] == "call_1_0"
    assert one.recorded("call_id", "result") == [("call_1_0", "noon")]


def test_a_call_that_raises_leaves_the_others_answered(tmp_path: Path) -> None:  # B20
    one = play(tmp_path, {"tool_calls": [call("fail", "", "a"), call("now", "", "b")]})
    assert one.observations == ["Error: fail raised ValueError: too hot", "noon"]
    assert one.recorded("call_id", "error") == [("a", "ValueError"), ("b", None)]


def test_a_run_that_stopped_at_its_steps_can_be_continued(tmp_path: Path) -> None:  # B20
    message = {"tool_calls": [call("fail", "", "a"), call("now", "", "b")]}
    one = play(tmp_path, message, max_steps=1)
    assert (one.result.stop, one.run["status"], one.run["stop"]) == ("max_steps", "stopped", "max_steps")
    assert one.recorded("call_id", "error") == [("a", "ValueError"), ("b", None)]


def test_a_run_that_was_cancelled_between_two_calls_can_be_continued(tmp_path: Path) -> None:  # B20
    begun = threading.Event()

    @tool
    async def hang() -> None:
        begun.set()
        await asyncio.sleep(60)

    async def model(messages: list[Any]) -> Any:
        return {"content": None, "tool_calls": [call("now", "", "a"), call("hang", "", "b")]}

    async def main(recorder: Recorder) -> None:
        task = asyncio.create_task(recorder.run(Agent(model=model, tools=Toolbox([now, hang])), "q"))
        assert await asyncio.to_thread(begun.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with Recorder(tmp_path / "t.db") as recorder:
        asyncio.run(main(recorder))
    with Store(tmp_path / "t.db") as store:
        history = store.history(store.find("last"))
    second: list[Any] = []
    run_sync(Agent(model=hearing(second)), "go on", history=history)
    validate(second)
    assert [message["role"] for message in second] == ["user", "assistant", "tool", "tool", "user"]


# C. finish_reason and message shape


@pytest.mark.parametrize("finish", ["stop", None, "eos"], ids=["C21-stop", "C21-null", "C21-eos"])
def test_a_call_is_run_whatever_the_finish_reason_says(tmp_path: Path, finish: str | None) -> None:
    one = play(tmp_path, with_finish(calling("now", ""), finish))
    assert (one.observations, one.result.answer) == (["noon"], "done")
    assert one.model_calls[0]["finish_reason"] == finish


@pytest.mark.parametrize("calls", [None, []], ids=["C22-null", "C22-list"])
def test_an_empty_message_that_says_it_makes_calls_ends_the_run(tmp_path: Path, calls: Any) -> None:
    one = play(tmp_path, with_finish({"content": "", "tool_calls": calls}, "tool_calls"))
    assert (one.result.stop, one.result.answer, len(one.requests)) == ("answered", "", 1)


def test_a_call_that_was_cut_at_the_output_limit_is_not_run(tmp_path: Path) -> None:  # C23
    one = play(tmp_path, with_finish(calling("now", '{"pa'), "length"))
    assert "cut at the output limit" in one.observations[0]
    assert one.recorded("arguments", "error", "result") == [('{"pa', "not_run", one.observations[0])]
    assert one.model_calls[0]["finish_reason"] == "length"
    assert one.result.answer == "done"


def test_a_model_that_is_cut_each_time_is_ended_by_the_steps(tmp_path: Path) -> None:  # C23
    one = play(tmp_path, *[with_finish(calling("now", '{"pa'), "length")] * 9)
    assert (one.result.stop, one.run["steps"], one.run["tool_calls"]) == ("max_steps", 4, 4)


@pytest.mark.parametrize("arguments", ['{"q": "a', '{"q": a}'], ids=["C25-cut", "C25-bad"])
def test_bad_json_is_called_bad_json_unless_the_answer_was_cut(tmp_path: Path, arguments: str) -> None:
    one = play(tmp_path, with_finish(calling("search_docs", arguments), "tool_calls"))
    assert "not valid JSON" in one.observations[0]
    assert "output limit" not in one.observations[0]
    assert one.recorded("error") == [("bad_arguments",)]


@pytest.mark.parametrize(
    ("message", "finish", "stop", "refusal"),
    [
        pytest.param({"content": None}, "content_filter", "content_filter", None, id="C26-filter"),
        pytest.param({"content": None, "refusal": "I cannot"}, "stop", "refused", "I cannot", id="C26-refusal"),
    ],
)
def test_a_refusal_and_a_filter_are_ends_of_their_own(
    tmp_path: Path, message: dict[str, Any], finish: str, stop: str, refusal: str | None
) -> None:
    one = play(tmp_path, with_finish(message, finish))
    assert (one.result.stop, one.result.answer, len(one.requests)) == (stop, None, 1)
    assert (one.run["status"], one.run["stop"], one.run["answer"]) == ("stopped", stop, None)
    assert one.result.messages[-1].refusal == refusal


@pytest.mark.parametrize("calls", [[], None], ids=["C27-list", "C27-null"])
def test_no_calls_beside_a_text_are_the_answer_and_are_not_sent_back(tmp_path: Path, calls: Any) -> None:
    one = play(tmp_path, {"content": "hi", "tool_calls": calls})
    assert (one.result.stop, one.result.answer) == ("answered", "hi")
    assert one.result.messages[-1].to_dict() == {"role": "assistant", "content": "hi"}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        pytest.param({"error": {"message": "busy", "code": 502}}, "answered with an error: busy", id="C29-error"),
        pytest.param({"choices": None}, "the completion has no choices", id="C29-null"),
        pytest.param({"choices": []}, "the completion has no choices", id="C29-none"),
    ],
)
def test_an_error_with_status_200_is_the_providers_and_is_tried_again(tmp_path: Path, body: Any, said: str) -> None:
    one = serve(tmp_path, Reply(body), completion("at last"))
    assert (one.result.answer, one.model_calls[0]["retries"], one.model_calls[0]["error"]) == ("at last", 1, None)
    (retried,) = [json.loads(event["fields"]) for event in one.events if event["event"] == "model.retried"]
    assert said in retried["error"]
    tmp_path.joinpath("for ever").mkdir()
    lost = serve(tmp_path / "for ever", Reply(body))
    assert lost.error is not None
    assert (lost.run["status"], len(lost.requests)) == ("failed", 4)
    assert said in lost.run["error"]
    assert said in lost.model_calls[0]["error"]


def test_fields_that_a_provider_adds_go_back_unchanged(tmp_path: Path) -> None:  # C31
    one = play(tmp_path, {**calling("now", ""), **HMM})
    assert {key: one.requests[1][1][key] for key in HMM} == HMM
    assert one.observations == ["noon"]


def test_the_same_call_at_every_turn_is_told_and_ended_by_the_steps(tmp_path: Path) -> None:  # C32
    one = play(tmp_path, *[calling("now", "{}")] * 9)
    assert (one.result.stop, one.run["stop"], one.run["steps"]) == ("max_steps", "max_steps", 4)
    assert one.recorded("step", "tool", "arguments") == [(step, "now", "{}") for step in range(1, 5)]
    assert ["in a row" in text for text in one.observations] == [False, False, True, True]


# D. Usage

GROWING = [
    {"model": "m", "choices": [{"delta": {"content": text}}], "usage": {"prompt_tokens": 9, "completion_tokens": used}}
    for used, text in enumerate("abc", 1)
]
FINISHED = [delta("stop")]
KNOWN = {"prompt_tokens": 9, "completion_tokens": 3}


@pytest.mark.parametrize(
    ("reply", "stream", "tokens", "unreported"),
    [
        pytest.param(completion("abc", usage=None), False, (None, None, None, None), 1, id="D33-null"),
        pytest.param(
            {"choices": [{"message": {"content": "abc"}}]}, False, (None, None, None, None), 1, id="D33-missing"
        ),
        pytest.param(Reply(events=[delta(content="abc"), *FINISHED]), True, (None,) * 4, 1, id="D33-stream"),
        pytest.param(
            completion("abc", usage={**KNOWN, "prompt_tokens_details": None}), False, (9, 3, None, None), 0, id="D34-null"
        ),
        pytest.param(completion("abc", usage=KNOWN), False, (9, 3, None, None), 0, id="D34-missing"),
        pytest.param(
            completion("abc", usage={**KNOWN, "completion_tokens_details": None, "prompt_tokens_details": {}}),
            False, (9, 3, None, None), 0, id="D34-empty",
        ),
        pytest.param(Reply(events=[*GROWING, *FINISHED]), True, (9, 3, None, None), 0, id="D37"),
    ],
)  # fmt: skip
def test_usage_is_what_the_provider_said_and_unknown_where_it_did_not(
    tmp_path: Path, reply: Any, stream: bool, tokens: tuple[int | None, ...], unreported: int
) -> None:
    one = serve(tmp_path, reply, stream=stream)
    columns = ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens")
    assert (one.result.answer, one.result.stats.unreported) == ("abc", unreported)
    assert tuple(one.run[column] for column in columns) == tokens
    assert [tuple(row[column] for column in columns) for row in one.model_calls] == [tokens]
    assert (one.run["unreported_calls"], one.run["cost_usd"]) == (unreported, None)


# E. Streaming


def piece(**fields: Any) -> dict[str, Any]:
    return delta(tool_calls=[fields])


def function(name: str | None, arguments: str | None) -> dict[str, Any]:
    return {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}


@pytest.mark.parametrize(
    ("pieces", "called"),
    [
        pytest.param(
            [piece(id="c1", function=function("count", '{"n"')), piece(function=function(None, ": 1}"))],
            [("c1", '{"n": 1}')], id="E38-one",
        ),
        pytest.param(
            [
                piece(id="c1", function=function("count", '{"n": 1')), piece(function=function(None, "}")),
                piece(id="c2", function=function("count", '{"n": 2')), piece(function=function(None, "}")),
            ],
            [("c1", '{"n": 1}'), ("c2", '{"n": 2}')], id="E38-two",
        ),
        pytest.param(
            [
                delta(tool_calls=[{"function": function("count", '{"n": 1}')}, {"function": function("count", '{"n": 2}')}])
            ],
            [("call_1_0", '{"n": 1}'), ("call_1_1", '{"n": 2}')], id="E38-two-whole-in-one-delta",
        ),
        pytest.param(
            [piece(index=0, id="c1", function=function("count", '{"n"')), piece(index=1, id="c1", function=function(None, ": 1}"))],
            [("c1", '{"n": 1}')], id="E38-jumping",
        ),
        pytest.param(
            [piece(index=0, function=function(None, '{"n": ')), piece(index=0, id="c1", function=function("count", "1}"))],
            [("c1", '{"n": 1}')], id="E40",
        ),
        pytest.param(
            [
                piece(index=0, id="c1", function=function("count", '{"n": ')),
                piece(index=0, id="c1", function=function("count", "1")),
                piece(index=0, id="c1", function=function("count", "}")),
            ],
            [("c1", '{"n": 1}')], id="E41",
        ),
        pytest.param(
            [
                {"choices": []}, piece(index=0, id="c1", function=function("count", '{"n": 1}')),
                {"choices": [{"index": 0, "finish_reason": None}]}, {"choices": [{"delta": None}]},
            ],
            [("c1", '{"n": 1}')], id="E43",
        ),
    ],
)  # fmt: skip
def test_a_streamed_call_is_put_together_however_it_was_cut(
    tmp_path: Path, pieces: list[Any], called: list[tuple[str, str]]
) -> None:
    events = [*pieces, delta("tool_calls")]
    one = serve(tmp_path, Reply(events=events), Reply(events=[delta("stop", content="done")]), stream=True)
    assert (one.result.stop, one.result.answer) == ("answered", "done")
    assert one.recorded("tool", "call_id", "arguments", "error") == [("count", *came, None) for came in called]
    assert one.observations == [f"{number + 1} slow" for number in range(1, len(called) + 1)]
    assert one.model_calls[0]["first_token_ms"] is not None


# F. Tools


class Awkward:
    def __str__(self) -> str:
        raise RuntimeError("no")


def returning(value: Any) -> Callable[[], Any]:
    def act() -> Any:
        return value

    return act


def raising(error: BaseException) -> Callable[[], Any]:
    def act() -> Any:
        raise error

    return act


HUGE = "a line of text\n" * 350_000


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        pytest.param({"b": 1, "a": None}, '{"a":null,"b":1}', id="F45-dict"),
        pytest.param(None, "null", id="F45-none"),
        pytest.param(b"\xff\x00", "\\xff\x00", id="F45-bytes"),
        pytest.param({3, 1}, "[1,3]", id="F45-set"),
        pytest.param(Path("a/b"), "a/b", id="F45-path"),
        pytest.param(datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC), "2026-01-02 00:00:00+00:00", id="F45-time"),
        pytest.param(Awkward(), "<Awkward that cannot be shown: RuntimeError>", id="F45-mute"),
    ],
)
def test_whatever_a_tool_returns_is_a_text_for_the_model_and_the_record(tmp_path: Path, value: Any, shown: str) -> None:
    one = play(tmp_path, calling("act", ""), tools=Toolbox([returning(value)]))
    assert one.observations == [shown]
    assert one.recorded("result", "error", "truncated") == [(shown, None, 0)]


def test_a_huge_result_is_cut_for_the_model_and_kept_whole_in_the_record(tmp_path: Path) -> None:  # F45
    one = play(tmp_path, calling("act", ""), tools=Toolbox([returning(HUGE)]))
    assert len(one.observations[0]) <= 3000
    assert one.observations[0].endswith(f"of {len(HUGE):,} characters]")
    assert one.recorded("truncated", "result_chars", "whole") == [(1, len(HUGE), HUGE)]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        pytest.param(SystemExit(3), "SystemExit", id="F47-exit"),
        pytest.param(MemoryError(), "MemoryError", id="F47-memory"),
    ],
)
def test_what_a_tool_raises_is_told_to_the_model(tmp_path: Path, error: BaseException, kind: str) -> None:
    one = play(tmp_path, calling("act", ""), tools=Toolbox([raising(error)]))
    assert f"act raised {kind}" in one.observations[0]
    assert (one.result.answer, one.recorded("error")) == ("done", [(kind,)])


def test_a_keyboard_interrupt_in_a_tool_goes_on_when_the_record_is_closed(tmp_path: Path) -> None:  # F47
    async def model(messages: list[Any]) -> Any:
        return calling("act", "")

    with Recorder(tmp_path / "t.db") as recorder, pytest.raises(KeyboardInterrupt):
        recorder.run_sync(Agent(model=model, tools=Toolbox([raising(KeyboardInterrupt())])), "q")
    assert statuses(tmp_path) == ("cancelled", [("act", "cancelled")])


def statuses(path: Path) -> tuple[str, list[tuple[str, str | None]]]:
    with Store(path / "t.db") as store:
        run_id = store.find("last")
        calls = store.tool_calls(run_id)
        assert all(row["duration_ms"] is not None for row in (*calls, *store.model_calls(run_id)))
        return store.run(run_id)["status"], [(row["tool"], row["error"]) for row in calls]


@pytest.mark.parametrize("where", ["model", "async", "sync"], ids=["F48-model", "F48-async", "F48-sync"])
def test_a_cancelled_task_ends_the_run_as_cancelled(tmp_path: Path, where: str) -> None:
    begun, over = threading.Event(), threading.Event()

    @tool
    async def hang_async() -> None:
        begun.set()
        await asyncio.sleep(60)

    @tool
    def hang_sync() -> None:
        begun.set()
        over.wait(60)

    async def model(messages: list[Any]) -> Any:
        if where == "model":
            begun.set()
            await asyncio.sleep(60)
        return calling(f"hang_{where}", "")

    async def main(recorder: Recorder) -> None:
        agent = Agent(model=model, tools=Toolbox([hang_async, hang_sync]))
        task = asyncio.create_task(recorder.run(agent, "q"))
        assert await asyncio.to_thread(begun.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with Recorder(tmp_path / "t.db") as recorder:
        asyncio.run(main(recorder))
    over.set()
    assert statuses(tmp_path) == ("cancelled", [] if where == "model" else [(f"hang_{where}", "cancelled")])


@pytest.mark.parametrize("name", ["hang", "hang_elsewhere"])
def test_a_tool_that_never_returns_is_given_up_and_holds_nothing_up(tmp_path: Path, name: str) -> None:  # F49
    over = threading.Event()

    @tool
    def hang() -> None:
        over.wait(60)

    @tool
    async def hang_elsewhere() -> None:
        await asyncio.to_thread(over.wait, 60)

    started = time.monotonic()
    one = play(tmp_path, calling(name, ""), tools=Toolbox([hang, hang_elsewhere]).with_options(name, timeout=0.05))
    assert time.monotonic() - started < 5
    assert all(thread.daemon for thread in threading.enumerate() if thread.name.startswith("playhead-"))
    over.set()
    assert f"{name} gave no answer within 0.05 seconds" in one.observations[0]
    assert (one.result.answer, one.recorded("error")) == ("done", [("timeout",)])


def test_a_sync_run_inside_a_running_loop_works_with_an_async_tool(tmp_path: Path) -> None:  # F51
    @tool
    async def shout(text: str) -> str:
        await asyncio.sleep(0)
        return text.upper()

    async def notebook() -> Played:
        return play(tmp_path, calling("shout", '{"text": "a"}'), tools=Toolbox([shout]))

    one = asyncio.run(notebook())
    assert (one.observations, one.result.answer) == (["A"], "done")


def test_parameters_that_are_positional_only_can_be_called(tmp_path: Path) -> None:  # F52
    def divide(a: int, /, b: int) -> float:
        return a / b

    one = play(tmp_path, calling("divide", '{"a": 6, "b": 3}'), tools=Toolbox([divide]))
    assert one.observations == ["2.0"]


def test_a_function_that_takes_anything_is_refused_when_it_is_made_a_tool() -> None:  # F52
    def positional(*args: int) -> None:
        """Takes anything."""

    def keywords(**kw: int) -> None:
        """Takes anything."""

    for one, star in ((positional, r"\*args"), (keywords, r"\*\*kw")):
        with pytest.raises(ToolDefinitionError, match=f"takes {star}, which has no JSON form"):
            Toolbox([one])


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Point:
    x: int


@pytest.mark.parametrize(
    ("arguments", "observation", "error"),
    [
        pytest.param(
            {"colour": "red", "point": {"x": 1}, "points": [{"x": 2}]}, "Colour.RED 1 [Point(x=2)] None", None,
            id="F53-good",
        ),
        pytest.param({"colour": "blue", "point": {"x": 1}, "points": []}, '"red"', "bad_arguments", id="F53-enum"),
        pytest.param({"colour": "red", "point": {"x": "one"}, "points": []}, "integer", "bad_arguments", id="F53-field"),
        pytest.param({"colour": "red", "point": {"x": 1}, "points": [{}]}, "points", "bad_arguments", id="F53-item"),
    ],
)  # fmt: skip
def test_a_function_gets_real_instances_or_is_not_run(
    tmp_path: Path, arguments: Any, observation: str, error: str | None
) -> None:
    runs: list[Any] = []

    def draw(colour: Colour, point: Point, points: list[Point], size: int | None = None) -> str:
        runs.append(point)
        return f"{colour} {point.x} {points} {size}"

    one = play(tmp_path, calling("draw", json.dumps(arguments)), tools=Toolbox([draw]))
    assert observation in one.observations[0]
    assert one.recorded("error") == [(error,)]
    assert len(runs) == (error is None)


def test_the_texts_of_a_docstring_reach_the_schema_and_nothing_else_does() -> None:  # F55
    def read(path: str, mode: str = "fast") -> str:
        """Read a file.
        Args:
            path: where it is
            mode: one of: fast, slow
        """
        return path + mode

    (schema,) = Toolbox([read]).schemas
    assert schema.description == "Read a file."
    assert {name: one["description"] for name, one in schema.parameters["properties"].items()} == {
        "path": "where it is",
        "mode": "one of: fast, slow",
    }


# What a real OpenAI-compatible server does

LONG_ID = "Xk2" * 10 + "Zz"
EXTRA: dict[str, Any] = {"timings": {"prompt_ms": 1.5}, "system_fingerprint": "b9999"}
END = Reply(events=[delta("stop", content="done")])
OVERFLOW = {
    "error": {"code": 400, "message": "the request exceeds the context size", "type": "exceed_context_size_error"}
}


@pytest.mark.parametrize(
    ("replies", "stream", "recorded"),
    [
        pytest.param(
            [completion("", [call("count", '{"')], "length"), completion("done")], False,
            [("count", "x", '{"', "not_run")], id="cut-by-max-tokens",
        ),
        pytest.param(
            [completion("", [call("count", '{"n":1}', LONG_ID)], **EXTRA), completion("done", **EXTRA)], False,
            [("count", LONG_ID, '{"n":1}', None)], id="empty-content-long-id-extra-keys",
        ),
        pytest.param(
            [
                Reply(events=[
                    delta(role="assistant", content=None),
                    piece(index=0, id=LONG_ID, type="function", function=function("count", "{")),
                    piece(index=0, function=function(None, '"n":')), piece(index=0, function=function(None, "1}")),
                    delta("tool_calls"),
                    {"choices": [], "usage": {**KNOWN, "prompt_tokens_details": {"cached_tokens": 4}}, **EXTRA},
                ]),
                END,
            ],
            True, [("count", LONG_ID, '{"n":1}', None)], id="streamed-call",
        ),
        pytest.param(
            [completion("", [call("count", '{"n": 1')]), completion("done")], False,
            [("count", "x", '{"n": 1', "bad_arguments")], id="malformed-arguments-are-not-echoed",
        ),
        pytest.param(
            [completion("", [call("count", '{"n": 1, "verbose": true}')]), completion("done")], False,
            [("count", "x", '{"n": 1, "verbose": true}', "bad_arguments")], id="invented-argument",
        ),
    ],
)  # fmt: skip
def test_a_real_servers_answers_are_understood_and_recorded_raw(
    tmp_path: Path, replies: Sequence[Any], stream: bool, recorded: list[Any]
) -> None:
    one = serve(tmp_path, *replies, stream=stream)
    assert (one.result.stop, one.result.answer, len(one.requests)) == ("answered", "done", 2)
    assert one.recorded("tool", "call_id", "arguments", "error") == recorded
    assert [(row["model"], row["response_model"]) for row in one.model_calls] == [("m", "m-2026")] * 2
    if stream:
        assert (one.model_calls[0]["input_tokens"], one.model_calls[0]["cached_tokens"]) == (9, 4)


@pytest.mark.parametrize(
    ("reply", "said", "requests"),
    [
        pytest.param(Reply(OVERFLOW, status=400), "status 400: the request exceeds the context", 1, id="context-overflow"),
        pytest.param(Reply({"error": {"code": 404, "message": "no such path"}}, status=404), "status 404", 1, id="path"),
        pytest.param(Reply({"error": {"code": 503, "message": "Loading model"}}, status=503), "Loading model", 4, id="loading"),
        pytest.param(
            Reply({"error": {"code": 500, "message": "Failed to parse tool call arguments as JSON"}}, status=500),
            "Failed to parse tool call arguments", 4, id="parse-error",
        ),
    ],
)  # fmt: skip
def test_a_real_servers_errors_fail_the_run_with_its_words(
    tmp_path: Path, reply: Reply, said: str, requests: int
) -> None:
    one = serve(tmp_path, reply)
    assert one.error is not None
    assert said in str(one.error)
    assert (one.run["status"], one.run["steps"], len(one.requests)) == ("failed", 0, requests)
    assert said in one.run["error"]
    assert [row["retries"] for row in one.model_calls] == [requests - 1]


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        pytest.param(Reply(events=[delta(content="hal")], cut=True), "stream", id="killed-in-mid-stream"),
        pytest.param(Reply(completion(), hang=30), "within 0.3 seconds", id="client-timeout"),
    ],
)
def test_a_real_server_that_dies_or_hangs_is_asked_again(tmp_path: Path, fault: Reply, said: str) -> None:
    one = serve(tmp_path, fault, END, stream=True, timeout=0.3)
    assert (one.result.answer, one.model_calls[0]["retries"]) == ("done", 1)
    (retried,) = [json.loads(event["fields"]) for event in one.events if event["event"] == "model.retried"]
    assert said in retried["error"]


def test_json_in_the_content_of_a_small_model_is_its_answer(tmp_path: Path) -> None:
    text = '{"name": "count", "arguments": {"n": 1}}'
    one = serve(tmp_path, completion(text))
    assert (one.result.answer, one.tool_calls, len(one.requests)) == (text, [], 1)


def test_a_small_model_that_repeats_one_call_is_ended_by_the_steps(tmp_path: Path) -> None:
    one = serve(tmp_path, completion("", [call("now", "{}")]))
    assert (one.result.stop, len(one.requests)) == ("max_steps", 4)
    assert "4 times in a row" in one.observations[-1]
