"""The loop: who decides, when it ends, and that the history is valid at every step."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agent import (
    Agent,
    Limits,
    Message,
    ModelError,
    Response,
    Result,
    ScriptedModel,
    ScriptExhausted,
    Step,
    Toolbox,
    ToolCall,
    Totals,
    Usage,
    run,
    run_sync,
    tool,
)
from agent.loop import Act, Ask, Decline, End, Progress, next_move
from tracing import Recorder

CALL = ToolCall("c1", "add", '{"a":1,"b":2}')
ASKED = (Message(role="user", content="q"),)


def answer(**fields: Any) -> Response:
    return Response(message=Message(role="assistant", content=fields.pop("content", None)), **fields)


@tool("Add two numbers.")
def add(a: int, b: int) -> int:
    return a + b


def script(*responses: Any, **fields: Any) -> Agent:
    return Agent(model=ScriptedModel(responses), tools=Toolbox([add]), **fields)


def calls(*arguments: dict[str, Any]) -> dict[str, Any]:
    return {"tool_calls": [{"name": "add", "arguments": one} for one in arguments]}


@pytest.mark.parametrize(
    ("progress", "limit", "move"),
    [
        (Progress(messages=ASKED), None, Ask(1)),
        (Progress(messages=ASKED, totals=Totals(steps=2), last=answer(calls=(CALL,))), None, Ask(3)),
        (Progress(messages=ASKED, last=answer(calls=(CALL,)), pending=True), None, Act((CALL,))),
        (Progress(messages=ASKED, last=answer(calls=(CALL,)), pending=True), "max_steps", Act((CALL,))),
        (Progress(messages=ASKED, last=answer(content="42")), None, End("answered", "42")),
        (Progress(messages=ASKED, last=answer(content="42")), "max_steps", End("answered", "42")),
        (Progress(messages=ASKED, last=answer(content="42", finish="tool_calls")), None, End("answered", "42")),
        (Progress(messages=ASKED, last=answer(finish="content_filter")), None, End("content_filter", None)),
        (Progress(messages=ASKED, last=answer(content="", finish="length")), None, End("output_limit", None)),
        (Progress(messages=ASKED, last=answer(content="4", finish="length")), None, End("answered", "4")),
        (Progress(messages=ASKED, last=answer(calls=(CALL,))), "max_steps", End("max_steps")),
        (Progress(messages=ASKED), "time_limit", End("time_limit")),
    ],
)
def test_the_next_move_follows_from_history_and_limit(progress: Progress, limit: Any, move: Any) -> None:
    assert next_move(progress, limit) == move


@pytest.mark.parametrize(("limit", "finish"), [("token_limit", "tool_calls"), (None, "length")])
def test_calls_that_will_not_be_run_are_declined_so_that_the_history_stays_valid(limit: Any, finish: str) -> None:
    move = next_move(Progress(messages=ASKED, last=answer(calls=(CALL,), finish=finish), pending=True), limit)
    assert isinstance(move, Decline)
    assert move.calls == (CALL,)


def test_calls_are_answered_in_order_and_the_answer_ends_the_run() -> None:
    result = run_sync(script(calls({"a": 1, "b": 2}, {"a": 3, "b": 4}), "3 and 7"), "add", history=None)
    assert [(message.role, message.content, message.tool_call_id) for message in result.messages] == [
        ("user", "add", None),
        ("assistant", None, None),
        ("tool", "3", "call_1_0"),
        ("tool", "7", "call_1_1"),
        ("assistant", "3 and 7", None),
    ]
    assert (result.answer, result.stop) == ("3 and 7", "answered")
    assert result.stats == Totals(steps=2, tool_calls=2, usage=Usage(), unreported=2)


def test_at_max_steps_the_last_calls_are_still_run_and_there_is_no_answer() -> None:
    endless = [calls({"a": 1, "b": 1})] * 9
    result = run_sync(script(*endless, limits=Limits(max_steps=2)), "loop for ever")
    assert (result.answer, result.stop, result.stats.steps, result.stats.tool_calls) == (None, "max_steps", 2, 2)
    assert result.messages[-1] == Message(role="tool", content="2", tool_call_id="call_2_0")


def test_eight_steps_are_the_limit_unless_told_otherwise() -> None:
    assert run_sync(script(*[calls({"a": 1, "b": 1})] * 20), "loop").stats.steps == 8


def test_a_token_limit_answers_the_pending_calls_without_running_them() -> None:
    spendthrift = {**calls({"a": 1, "b": 1}), "usage": {"input": 90, "output": 20}}
    result = run_sync(script(spendthrift, "never asked", limits=Limits(max_tokens=100)), "spend")
    assert result.stop == "token_limit"
    assert result.messages[-1].content == "Error: not run: the run stopped at its token limit."


def test_a_time_limit_ends_the_run_before_the_next_request() -> None:
    assert run_sync(script("too late", limits=Limits(max_seconds=0)), "hurry").stop == "time_limit"


def test_a_cut_answer_runs_no_calls_and_the_model_is_told() -> None:
    cut = {**calls({"a": 1}), "finish_reason": "length"}
    result = run_sync(script(cut, "sorry"), "q")
    assert "cut at the output limit" in str(result.messages[2].content)
    assert result.answer == "sorry"


def test_totals_add_what_is_known_and_count_what_is_not() -> None:
    first = {**calls({"a": 1, "b": 1}), "usage": {"prompt_tokens": 10, "completion_tokens": 2}}
    stats = run_sync(script(first, {"content": "done", "usage": None}), "q").stats
    assert stats == Totals(steps=2, tool_calls=1, usage=Usage(input=10, output=2), unreported=1)


def test_a_failing_model_raises_with_the_run_so_far_and_its_cause() -> None:
    with pytest.raises(ModelError, match="step 2: ConnectionError: no route") as caught:
        run_sync(script(calls({"a": 1, "b": 2}), ConnectionError("no route")), "q")
    assert isinstance(caught.value.__cause__, ConnectionError)
    assert (caught.value.result.stop, len(caught.value.result.messages)) == ("failed", 3)


def test_an_exhausted_script_says_which_step_asked_for_more() -> None:
    with pytest.raises(ModelError) as caught:
        run_sync(script(calls({"a": 1, "b": 2})), "q")
    cause = caught.value.__cause__
    assert isinstance(cause, ScriptExhausted)
    assert (cause.step, str(cause)) == (2, "the script has 1 response, and step 2 asked for one more")


def test_a_refusal_is_its_own_stop_and_no_answer() -> None:
    result = run_sync(script({"content": None, "refusal": "I cannot"}), "q")
    assert (result.stop, result.answer, result.messages[-1].extra) == ("refused", None, '{"refusal":"I cannot"}')


def test_a_system_prompt_replaces_that_of_the_history_and_history_goes_on() -> None:
    history: list[Any] = [
        {"role": "system", "content": "old"}, {"role": "user", "content": "hi"}, Message(role="assistant", content="hello")
    ]  # fmt: skip
    result = run_sync(script("again", system="new"), "more", history=history)
    assert [message.content for message in result.messages] == ["new", "hi", "hello", "more", "again"]
    assert history[0] == {"role": "system", "content": "old"}


def test_a_history_without_roles_is_refused() -> None:
    with pytest.raises(ValueError, match="a message needs a role"):
        run_sync(script("x"), "q", history=[{"content": "who said this?"}])


def test_each_step_is_told_once_with_its_observations() -> None:
    steps: list[Step] = []
    run_sync(script(calls({"a": 1, "b": 2}), "3"), "q", on_step=steps.append)
    assert [(step.number, [one.shown for one in step.observations], step.totals.tool_calls) for step in steps] == [
        (1, ["3"], 1), (2, [], 1)
    ]  # fmt: skip


def test_an_observer_that_would_never_be_awaited_is_refused(tmp_path: Path) -> None:
    async def on_step(step: Step) -> None:
        raise AssertionError

    with Recorder(tmp_path / "t.db") as recorder:
        for run_one in (run_sync, recorder.run_sync):
            with pytest.raises(TypeError, match="on_step must be a plain function"):
                run_one(script("x"), "q", on_step=on_step)
    assert recorder.last is None


def test_max_parallel_bounds_how_many_calls_run_at_the_same_time() -> None:
    running, most = 0, 0

    @tool
    async def work(a: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001)
        running -= 1
        return a

    asked = {"tool_calls": [{"name": "work", "arguments": {"a": number}} for number in range(9)]}
    for allowed in (1, 3):
        most = 0
        agent = Agent(model=ScriptedModel([asked, "done"]), tools=Toolbox([work]), limits=Limits(max_parallel=allowed))
        result = run_sync(agent, "q")
        assert most == allowed
        assert [message.content for message in result.messages[2:11]] == [str(number) for number in range(9)]


def test_a_tool_may_use_more_threads_than_there_are_at_a_time_and_hears_what_they_raise() -> None:
    @tool
    async def spread(count: int) -> Any:
        return await asyncio.gather(*(asyncio.to_thread(pow, 2, number) for number in range(count)))

    @tool
    async def divide(by: int) -> float:
        return await asyncio.to_thread(lambda: 1 / by)

    asked = {
        "tool_calls": [{"name": "spread", "arguments": {"count": 100}}, {"name": "divide", "arguments": {"by": 0}}]
    }
    result = run_sync(Agent(model=ScriptedModel([asked, "done"]), tools=Toolbox([spread, divide])), "q")
    assert [message.content for message in result.messages[2:4]] == [
        f"[{','.join(str(2**number) for number in range(100))}]",
        "Error: divide raised ZeroDivisionError: division by zero",
    ]


def test_it_runs_inside_a_running_event_loop_too() -> None:
    async def notebook() -> Result:
        return run_sync(script(calls({"a": 1, "b": 2}), "3"), "q")

    assert asyncio.run(notebook()).answer == "3"


def test_a_cancelled_run_lets_the_cancellation_through() -> None:
    async def hang(messages: list[Any]) -> str:
        await asyncio.sleep(60)
        return "never"

    async def main() -> None:
        task = asyncio.create_task(run(Agent(model=hang), "q"))
        await asyncio.sleep(0.01)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(main())


def test_a_model_that_raises_a_cancellation_of_its_own_has_failed() -> None:
    async def lost(messages: list[Any]) -> str:
        raise asyncio.CancelledError

    with pytest.raises(ModelError, match="the model's function raised CancelledError, and nobody cancelled the run"):
        run_sync(Agent(model=lost), "q")


@pytest.mark.parametrize("value", [0, True, 2.0, "3", None])
@pytest.mark.parametrize("field", ["max_steps", "max_parallel"])
def test_limits_below_one_are_refused(field: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"{field} must be a whole number of at least 1"):
        Limits(**{field: value})


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("max_tokens", -1, "max_tokens must be a whole number from 0 on, or None, not -1"),
        ("max_tokens", True, "max_tokens must be a whole number from 0 on, or None, not True"),
        ("max_tokens", "9", "max_tokens must be a whole number from 0 on, or None, not '9'"),
        ("max_seconds", "5", "max_seconds must be a number of seconds from 0 on, not '5'"),
        ("max_seconds", float("nan"), "max_seconds must be a number of seconds from 0 on, not nan"),
        ("max_seconds", -1, "max_seconds must be a number of seconds from 0 on, not -1"),
    ],
)
def test_limits_that_could_not_be_kept_to_are_refused(field: str, value: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Limits(**{field: value})


@pytest.mark.parametrize(
    ("history", "kind"),
    [("abc", "str"), ({"role": "user", "content": "hi"}, "dict"), (run_sync(script("x"), "q"), "Result")],
)
def test_a_history_that_is_no_list_is_refused_with_what_to_give(history: Any, kind: str) -> None:
    with pytest.raises(TypeError, match=f"a history must be a list of messages, not a {kind}: give the messages of a"):
        run_sync(script("x"), "q", history=history)
