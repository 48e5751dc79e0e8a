"""Replays in which one side is live, replays of runs over HTTP and of runs with secrets, and replays in a running loop."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent import Agent, Limits, ScriptedModel, Toolbox, ToolCall, tool
from agent.ports import Tell, unheard
from agent.values import Observation, Request, Response
from tests.model_server import Reply, call, completion, delta, model_server
from tests.replays import connected, only, read, record, recorded, replayed, rows, said
from tests.runs import answer, calls
from tests.test_openai_model import model as over_http
from tracing import Divergence, Recorder, Redaction, Store, replay
from tracing.replaying.ignoring import BadPattern, Ignore
from tracing.replaying.ports import ReplayModel, ReplayTools
from tracing.replaying.referee import Referee
from tracing.replaying.replay import replay_async
from tracing.replaying.report import Diverged
from tracing.seal import seal_of

# Live tools


class Counter:
    """A tool that gives another result each time."""

    def __init__(self, error: Exception | None = None) -> None:
        self.made, self.error = 0, error

    def tools(self) -> Toolbox:
        @tool("Count.")
        async def count(word: str = "") -> str:
            self.made += 1
            if self.error is not None and self.made > 2:
                raise self.error
            return f"{word} at {self.made}"

        return Toolbox([count])


COUNTS = (calls(("count", {}), ("count", {"word": "a"})), answer("x"))


def counting(error: Exception | None = None, script: Sequence[Any] = COUNTS) -> Agent:
    return Agent(model=ScriptedModel(script), tools=Counter(error).tools())


def drift(call: int, where: str, expected: str, actual: str) -> Divergence:
    return Divergence(code="observation", step=1, call=call, where=where, expected=expected, actual=actual)


@pytest.mark.parametrize(
    ("error", "second"),
    [(None, "a at 4"), (RuntimeError("gone"), "[RuntimeError] Error: count raised RuntimeError: gone")],
)
def test_drift_of_live_tools_is_named_with_each_call(tmp_path: Path, error: Exception | None, second: str) -> None:
    agent = counting(error)
    record(tmp_path / "t.db", agent)
    first = second.replace("a at 4", " at 3")
    assert replayed(tmp_path / "t.db", agent, tools="live").divergences == (
        drift(1, "count({})", " at 1", first),
        drift(2, 'count({"word":"a"})', "a at 2", second),
    )


def test_live_tools_that_end_the_run_are_told_as_drift(tmp_path: Path) -> None:
    agent = counting()
    record(tmp_path / "t.db", agent)

    class Gone:
        schemas = agent.tools.schemas

        async def call(self, call: ToolCall) -> Observation:
            raise ConnectionError("gone")

    report = replayed(tmp_path / "t.db", replace(agent, tools=Gone()), tools="live")
    assert [(one.code, one.step, one.call) for one in report.divergences] == [
        ("observation", 1, 1),
        ("observation", 1, 2),
    ]
    assert all("ConnectionError" in str(one.actual) and "gone" in str(one.actual) for one in report.divergences)


def test_a_tool_that_differs_from_itself_is_told_when_it_runs_twice(tmp_path: Path) -> None:
    agent = counting(script=(calls(("count", {})), answer("x")))
    record(tmp_path / "t.db", agent)
    report = replayed(tmp_path / "t.db", agent, tools="live", times=2)
    assert report.unstable == (drift(1, "count({})", " at 2", " at 3"),)
    report = replayed(tmp_path / "t.db", agent, tools="live", times=2, ignore=["result:count"])
    assert (said(report), report.unstable, report.ignored) == ("exact", (), ("result:count",))


@pytest.mark.parametrize("pattern", ["result:count", r"result:count:/\d+/", r"result:/\d+/"])
def test_drift_that_was_declared_volatile_is_none(tmp_path: Path, pattern: str) -> None:
    agent = counting()
    record(tmp_path / "t.db", agent)
    report = replayed(tmp_path / "t.db", agent, tools="live", ignore=[pattern])
    assert (said(report), report.ignored) == ("exact", (pattern,))


@pytest.mark.parametrize("pattern", ["result:other", r"result:other:/\d+/", "result:/x/", "system"])
def test_drift_of_something_else_is_told_all_the_same(tmp_path: Path, pattern: str) -> None:
    agent = counting()
    record(tmp_path / "t.db", agent)
    assert len(replayed(tmp_path / "t.db", agent, tools="live", ignore=[pattern]).divergences) == 2


@pytest.mark.parametrize(
    "pattern", ["", "result", "results:x", "tools", "question", "answer", "system:/(/", "system:count"]
)
def test_a_pattern_that_says_nothing_is_refused(tmp_path: Path, pattern: str) -> None:
    record(tmp_path / "t.db", counting())
    with pytest.raises(BadPattern):
        replayed(tmp_path / "t.db", ignore=[pattern])


def test_live_tools_need_an_agent_and_no_other_model(tmp_path: Path) -> None:
    record(tmp_path / "t.db", counting())
    with pytest.raises(ValueError, match="need an agent"):
        replayed(tmp_path / "t.db", tools="live")
    with pytest.raises(ValueError, match="leave out"):
        replayed(tmp_path / "t.db", counting(), tools="live", model=ScriptedModel([]))


# Another model

SECOND = calls(("count", {}))


def other(db: Path, *script: Any, name: str = "scripted") -> Any:
    counter = Counter()
    report = replayed(db, Agent(model=ScriptedModel([]), tools=counter.tools()), model=ScriptedModel(script, name=name))
    assert counter.made == 0
    return report


def test_the_same_model_once_more_is_exact_and_another_name_is_not(tmp_path: Path) -> None:
    db = tmp_path / "t.db"
    record(db, counting(script=(SECOND, SECOND, answer("x"))))
    assert said(other(db, SECOND, SECOND, answer("x"))) == "exact"
    assert only(other(db, SECOND, SECOND, answer("x"), name="new")) == Divergence(
        code="model", step=1, where="model", expected="scripted", actual="new"
    )


def test_another_answer_is_told_with_both_texts(tmp_path: Path) -> None:
    record(tmp_path / "t.db", counting())
    assert only(other(tmp_path / "t.db", COUNTS[0], answer("y"))) == Divergence(
        code="response", step=2, where="the model's answer", expected="x", actual="y"
    )


def test_a_call_that_was_never_recorded_is_a_divergence_and_no_guess(tmp_path: Path) -> None:
    record(tmp_path / "t.db", counting())
    report = other(tmp_path / "t.db", calls(("count", {"word": "new"})), answer("x"))
    assert (report.outcome, report.divergences[-1]) == (
        "diverged",
        Divergence(code="not_recorded", step=1, call=1, where="the call", actual='count({"word":"new"})'),
    )


def test_a_call_made_twice_is_served_in_turn_also_in_another_order(tmp_path: Path) -> None:
    db = tmp_path / "t.db"
    record(db, counting(script=(SECOND, calls(("count", {"word": "a"})), SECOND, answer("x"))))
    asked: list[list[str | None]] = []

    class Asked(ScriptedModel):
        async def respond(self, request: Request, tell: Tell) -> Response:
            asked.append([message.content for message in request.messages if message.role == "tool"])
            return await super().respond(request, tell)

    report = replayed(db, model=Asked([COUNTS[0], SECOND, answer("x")]))
    assert report.outcome == "diverged"
    assert asked == [[], [" at 1", "a at 2"], [" at 1", "a at 2", " at 3"]]


@pytest.mark.parametrize("is_async", [False, True])
def test_another_model_may_be_any_callable(tmp_path: Path, is_async: bool) -> None:
    async def model(messages: list[dict[str, Any]]) -> str:
        return "y"

    record(tmp_path / "t.db", counting())
    report = replayed(tmp_path / "t.db", model=model if is_async else lambda messages: "y")
    assert [(one.code, one.actual) for one in report.divergences] == [
        ("response", "y"),
        ("model", "model" if is_async else "<lambda>"),
    ]


# Nothing live by itself


def test_replayed_ports_refuse_what_is_not_recorded_and_never_ask_a_live_one(tmp_path: Path) -> None:
    record(tmp_path / "t.db", counting())
    referee = Referee(read(tmp_path / "t.db"), Ignore(), None)
    agent = counting()
    schemas: Any = agent.tools.schemas
    model, tools = ReplayModel(referee), ReplayTools(referee, schemas)
    for unknown in (ToolCall("x", "count", "{}", step=9), ToolCall("x", "count", "{}", step=1, index=7)):
        with pytest.raises(Diverged):
            asyncio.run(tools.call(unknown))
    for changed in (ToolCall("x", "other", "{}", step=1), ToolCall("x", "count", '{"word":""}', step=1)):
        with pytest.raises(Diverged):
            asyncio.run(tools.call(changed))
    with pytest.raises(Diverged):
        asyncio.run(model.respond(Request(step=3, messages=()), unheard))


def test_replay_works_inside_a_running_event_loop(tmp_path: Path) -> None:
    record(tmp_path / "t.db", counting())

    async def inside() -> list[Any]:
        task = asyncio.current_task()
        reports = [replay("last", db=tmp_path / "t.db"), replay(read(tmp_path / "t.db"), counting())]
        assert task is not None and not task.cancelling()
        return [said(report) for report in reports]

    assert asyncio.run(inside()) == ["exact", "exact"]


def test_a_replay_can_be_cancelled_also_that_of_a_cancelled_run(tmp_path: Path) -> None:
    record(tmp_path / "t.db", counting(script=[asyncio.CancelledError()]))
    recording = read(tmp_path / "t.db")

    async def cancel() -> bool:
        task = asyncio.create_task(replay_async(recording, tools="live", agent=counting()))
        task.cancel()
        (outcome,) = await asyncio.gather(task, return_exceptions=True)
        return isinstance(outcome, asyncio.CancelledError)

    assert asyncio.run(cancel())
    assert said(replay(recording)) == "exact"


def test_a_kept_replay_is_a_run_of_its_own_and_replays_exactly_itself(tmp_path: Path) -> None:
    record(tmp_path / "t.db", counting())
    with Recorder(tmp_path / "kept.db", strict=True) as recorder:
        report = replay(read(tmp_path / "t.db"), counting(), keep=recorder)
    assert said(report) == "exact"
    assert rows(tmp_path / "kept.db", "select run_id, kind, answer from runs") == [(report.kept, "replay", "x")]
    assert rows(tmp_path / "kept.db", "select distinct price from model_calls") == [("replayed",)]
    assert said(replayed(tmp_path / "kept.db")) == said(replayed(tmp_path / "kept.db", counting())) == "exact"
    assert read(tmp_path / "kept.db").tip == read(tmp_path / "t.db").tip


# Over HTTP


@pytest.mark.parametrize("stream", [False, True])
def test_a_run_over_http_replays_exactly_with_the_server_gone(tmp_path: Path, stream: bool) -> None:
    odd = call("count", "{'word': 'a'}", "")
    pieces = [
        delta(tool_calls=[{"index": 0, "id": "", "function": {"name": "count", "arguments": "{'word':"}}]),
        delta(tool_calls=[{"index": 0, "function": {"arguments": " 'a'}"}}]),
        delta("tool_calls"),
    ]
    last = [
        delta(content="do"),
        delta("stop", content="ne"),
        {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}},
    ]
    plain = [completion("", [odd]), completion("done")]
    with model_server([Reply(events=pieces), Reply(events=last)] if stream else plain) as server:
        agent = replace(counting(), model=over_http(server.url, stream=stream), settings={"temperature": 0})
        record(tmp_path / "t.db", agent)
    recording = read(tmp_path / "t.db")
    assert (recording.answer, recording.model, len(recording.steps)) == ("done", "m", 2)
    assert [call.arguments for step in recording.steps for call in step.calls] == ["{'word': 'a'}"]
    assert said(replay(recording)) == said(replay(recording, agent)) == "exact"
    assert only(replay(recording, replace(agent, settings={"temperature": 1}))).where == "settings.temperature"


def test_a_provider_error_over_http_replays_exactly(tmp_path: Path) -> None:
    with model_server(
        [Reply({"error": {"code": 400, "message": "no \u2028 such", "type": "x"}}, status=400)]
    ) as server:
        agent = replace(counting(), model=over_http(server.url))
        record(tmp_path / "t.db", agent)
    assert said(replayed(tmp_path / "t.db")) == said(replayed(tmp_path / "t.db", agent)) == "exact"


# Secrets

SECRET, OTHER = "sk-abcdefghij0123456789ABCDEFG", "sk-zyxwvutsrq0123456789ABCDEFG"


def secretive(**fields: Any) -> Agent:
    @tool("Read with " + OTHER)
    async def leak(path: str = OTHER) -> str:
        return "x" * 2985 + f" {SECRET}\n" + "y" * 500 + f" {OTHER}"

    message = {**calls(("leak", {"path": SECRET})), "content": SECRET, "reasoning_content": f"{OTHER}, {SECRET}"}
    broken = {
        "tool_calls": [
            {"name": "leak", "arguments": f"{{'path': '{SECRET}'}}"},
            {"name": "no such!", "arguments": SECRET},
        ]
    }
    script = [message, broken, ConnectionError(f"refused {SECRET}")]
    return Agent(
        **{
            "model": ScriptedModel(script),
            "tools": Toolbox([leak]),
            "system": f"Never say {OTHER}.",
            "settings": {"user": SECRET},
            **fields,
        }
    )


def test_a_run_full_of_secrets_is_without_them_and_replays_exactly(tmp_path: Path) -> None:
    history = [{"role": "user", "content": f"before {SECRET}"}, {"role": "assistant", "content": OTHER}]
    labels: dict[str, Any] = {"session": SECRET, "tags": [OTHER], "metadata": {"key": SECRET}}
    record(tmp_path / "t.db", secretive(), f"What is {SECRET}?", history=history, **labels)
    found = [one for one in (SECRET, OTHER) for path in tmp_path.iterdir() if one.encode() in path.read_bytes()]
    assert found == []
    assert said(replayed(tmp_path / "t.db")) == said(replayed(tmp_path / "t.db", secretive())) == "exact"
    changed = secretive(system=f"Never tell {OTHER}.")
    assert only(replayed(tmp_path / "t.db", changed)).expected == "Never say [redacted:api_key#2]."
    assert only(replayed(tmp_path / "t.db", changed)).actual == "Never tell [redacted:api_key#2]."
    rows_of = rows(tmp_path / "t.db", "select redacted from run")
    assert replayed(tmp_path / "t.db").redacted == rows_of[0][0] == 2


def test_a_secret_in_a_calls_further_fields_is_taken_out(tmp_path: Path) -> None:
    call = {"id": "x", "function": {"name": "count", "arguments": '{"word":"a"}', "note": SECRET}, "seen": [SECRET]}
    agent = Agent(model=ScriptedModel([{"tool_calls": [call]}, "done"]), tools=Counter().tools())
    record(tmp_path / "t.db", agent)
    assert not any(SECRET.encode() in path.read_bytes() for path in tmp_path.iterdir())
    (kept,) = read(tmp_path / "t.db").messages[1].tool_calls
    assert kept.extra == '{"function":{"note":"[redacted:api_key#1]"},"seen":["[redacted:api_key#1]"]}'
    assert said(replayed(tmp_path / "t.db")) == said(replayed(tmp_path / "t.db", agent)) == "exact"


OWN = {
    "to the end of the text": "token=.*",
    "with the quotes around it": r'"[^"]*token=[^"]*"',
    "the words themselves": "token=abc",
}


@pytest.mark.parametrize("how", OWN)
def test_patterns_of_ones_own_that_take_what_is_around_a_secret_leave_the_record_whole(
    tmp_path: Path, how: str
) -> None:
    message = {**calls(("count", {"word": "token=abc"})), "reasoning_content": "a token=abc"}
    agent = Agent(
        model=ScriptedModel(
            [message, {"tool_calls": [{"name": "count", "arguments": "{token=abc"}]}, answer("token=abc")]
        ),
        tools=Counter().tools(),
        system="With token=abc",
        settings={"a": "token=abc", "b": 1},
        limits=Limits(max_steps=8),
    )
    policy = Redaction({"token": OWN[how]})
    with Recorder(tmp_path / "t.db", strict=True, redact=policy) as recorder:
        recorded(recorder, agent, "Use token=abc", metadata={"m": "token=abc", "n": 1})
    assert said(replayed(tmp_path / "t.db")) == said(replayed(tmp_path / "t.db", agent, redact=policy)) == "exact"
    reason = "it was redacted with patterns of your own, which are needed: token (redact=, or [tool.playhead.redact])"
    assert said(replayed(tmp_path / "t.db", agent)) == ("not_replayable", reason, ())
    with Store(tmp_path / "t.db") as store:
        assert len(store.runs()[0]) == 1
        assert json.loads(store.run(store.find("last"))["metadata"])["n"] == 1


def test_a_record_of_a_later_redaction_is_not_replayable_and_says_why(tmp_path: Path) -> None:
    record(tmp_path / "t.db", counting())
    with connected(tmp_path / "t.db") as connection:
        connection.execute("update run set attrs=json_set(attrs, '$.redaction.version', 99)")
        connection.execute("update run set seal=?", (seal_of(connection, 1),))
    report = replayed(tmp_path / "t.db")
    assert report.outcome == "not_replayable", said(report)
    assert "use the version that wrote it" in str(report.reason)


def test_a_secret_with_half_a_character_is_one_secret_in_the_question_and_in_what_is_sent(tmp_path: Path) -> None:
    record(tmp_path / "t.db", counting(), "http://ada:se\ud83dcret@h/")
    assert said(replayed(tmp_path / "t.db")) == said(replayed(tmp_path / "t.db", counting())) == "exact"


@pytest.mark.parametrize("call_id", [None, "", "x"])
def test_a_secret_in_arguments_with_white_space_and_escapes_replays_exactly(
    tmp_path: Path, call_id: str | None
) -> None:
    texts = [f'{{"word": "{SECRET}"}}', f'{{"word": "\\u0061 {SECRET}\\n"}}', f'{{"word": "{SECRET}']
    wanted = [{"id": call_id, "function": {"name": "count", "arguments": text}} for text in texts]
    record(tmp_path / "t.db", counting(script=({"tool_calls": wanted}, "x")))
    assert SECRET.encode() not in b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert said(replayed(tmp_path / "t.db")) == said(replayed(tmp_path / "t.db", counting())) == "exact"


def test_a_secret_that_only_its_key_tells_is_stored_nowhere(tmp_path: Path) -> None:
    secret = {"secret_access_key": "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEYab"}
    agent = replace(counting(script=(calls(("count", secret)), "x")), settings=secret)
    record(tmp_path / "t.db", agent, metadata=secret)
    assert b"wJalrXUtn" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert said(replayed(tmp_path / "t.db")) == said(replayed(tmp_path / "t.db", agent)) == "exact"
