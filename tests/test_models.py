"""Models: callables of every shape, odd messages, and scripts; what comes in is read, what goes back is valid."""

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pydantic
import pytest

from agent import Agent, Message, ModelError, Response, ScriptedModel, Toolbox, ToolCall, Usage, run_sync, tool
from agent.errors import ScriptError
from agent.models.wire import to_response


@tool("Add two numbers.")
def add(a: int, b: int) -> int:
    return a + b


TOOLS = Toolbox([add])
CALL = {"id": "x", "type": "function", "function": {"name": "add", "arguments": '{"a":1,"b":2}'}}


TOOL_USE = {"type": "tool_use", "id": "x", "name": "add", "input": {"a": 1, "b": 2}}


class SdkFunction(pydantic.BaseModel):
    name: str
    arguments: str


class SdkCall(pydantic.BaseModel):
    id: str
    function: SdkFunction


class SdkMessage(pydantic.BaseModel):
    role: str = "assistant"
    content: str | None = None
    tool_calls: list[SdkCall] | None = None
    audio: None = None


class NamedMessage(NamedTuple):
    content: str | None
    tool_calls: list[Any]


@dataclasses.dataclass(slots=True)
class SlottedRefusal:
    content: None = None
    refusal: str = "I cannot"


class RefusalByProperty:
    content = None

    @property
    def refusal(self) -> str:
        return "I cannot"


def once(answer: Any) -> Any:
    """A model that answers once, then says done."""
    left = iter([answer, "done"])
    return lambda messages: next(left)


@pytest.mark.parametrize(
    "message",
    [
        {"content": None, "tool_calls": [CALL]},
        SdkMessage(tool_calls=[SdkCall(id="x", function=SdkFunction(name="add", arguments='{"a":1,"b":2}'))]),
        SimpleNamespace(
            content=None,
            tool_calls=[SimpleNamespace(id="x", function=SimpleNamespace(name="add", arguments='{"a":1,"b":2}'))],
        ),
        {"tool_calls": {"by index": CALL}.values()},
        SimpleNamespace(content=None, tool_calls=(call for call in [CALL])),
        {"tool_calls": iter([{**CALL, "function": {"name": "add", "arguments": {"b": 2, "a": 1}}}])},
        {"choices": [{"message": {"content": None, "tool_calls": [CALL]}, "finish_reason": "tool_calls"}]},
        SimpleNamespace(
            choices=[SimpleNamespace(message={"tool_calls": [CALL]}, finish_reason="stop")], usage=None, model="m"
        ),
        Message(role="assistant", tool_calls=(ToolCall("x", "add", '{"a":1,"b":2}'),)),
        NamedMessage(None, [CALL]),
    ],
)
def test_a_message_of_any_usual_shape_is_read(message: Any) -> None:
    result = run_sync(Agent(model=once(message), tools=TOOLS), "q")
    assert [(one.role, one.content, one.tool_call_id) for one in result.messages[2:]] == [
        ("tool", "3", "x"),
        ("assistant", "done", None),
    ]


def test_usage_may_come_beside_the_message_or_with_the_completion() -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}
    beside = run_sync(Agent(model=lambda messages: ("a", usage)), "q").stats
    completion = {"choices": [{"message": {"content": "a"}}], "usage": usage}
    within = run_sync(Agent(model=lambda messages: completion), "q").stats
    told = run_sync(Agent(model=lambda messages: {"content": "a", "usage": usage, "finish_reason": "stop"}), "q")
    assert beside == within == told.stats
    assert (told.finish, told.messages[-1]) == ("stop", Message(role="assistant", content="a"))
    assert beside.usage == Usage(input=10, output=2, cached=4)


def by_position(messages: Any, tool_schemas: Any) -> Any:
    return tool_schemas[0]["function"]["name"]


def by_default(messages: Any, tools: Any = None) -> Any:
    return tools[0]["function"]["name"]


def by_name(messages: Any, *, tools: Any) -> Any:
    return tools[0]["function"]["name"]


async def by_async(messages: Any, tools: Any) -> Any:
    return tools[0]["function"]["name"]


def not_at_all(messages: Any, temperature: float = 0) -> Any:
    return f"add at {temperature}"


class ByCall:
    async def __call__(self, messages: Any, tools: Any) -> Any:
        return tools[0]["function"]["name"]


@pytest.mark.parametrize(
    ("model", "answer"),
    [
        (by_position, "add"),
        (by_default, "add"),
        (by_name, "add"),
        (by_async, "add"),
        (ByCall(), "add"),
        (not_at_all, "add at 0"),
    ],
)
def test_a_function_gets_the_schemas_where_it_takes_them(model: Any, answer: str) -> None:
    assert run_sync(Agent(model=model, tools=TOOLS), "q").answer == answer


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"error": {"message": "busy", "code": 502}}, "the provider answered with an error: busy"),
        ({"choices": None, "error": {"message": "busy"}}, "the provider answered with an error: busy"),
        ({"choices": []}, "the completion has no choices"),
        (
            {"choices": [{"message": {"content": ""}, "finish_reason": "error", "error": {"message": "overloaded"}}]},
            "the provider answered with an error: overloaded",
        ),
        ({}, "the model's answer holds no message"),
        (7, "a model must return a message with content or tool_calls, not int"),
        (None, "a model must return a message with content or tool_calls, not NoneType"),
        (("a", None, "b"), r"a model must return a message or \(message, usage\), not a tuple of 3"),
        ({"tool_calls": CALL}, "the tool_calls of a message must be a list, not an object"),
        ({"tool_calls": "add"}, "the tool_calls of a message must be a list, not a string"),
        ({"tool_calls": 7}, "the tool_calls of a message must be a list, not an integer"),
        (
            {"content": None, "function_call": {"name": "add", "arguments": "{}"}},
            "asked for a function_call, the old form",
        ),
        (
            {"type": "message", "role": "assistant", "content": [TOOL_USE], "stop_reason": "tool_use"},
            "the model asked for a tool_use, Anthropic's form of a call: return it as one of the message's tool_calls",
        ),
        (
            SimpleNamespace(content=[SimpleNamespace(type="text", text="I add."), SimpleNamespace(**TOOL_USE)]),
            "a tool_use",
        ),
        ({"tool_calls": SdkFunction(name="add", arguments="{}")}, "a message must be a list, not an object"),
    ],
)
def test_what_is_no_answer_is_a_failure_not_an_empty_success(answer: Any, said: str) -> None:
    with pytest.raises(ModelError, match=said):
        run_sync(Agent(model=lambda messages: answer), "q")


def test_a_model_that_raises_anything_fails_the_run() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    for error, said in ((Mute(), "Mute$"), (SystemExit(0), "SystemExit: 0")):
        with pytest.raises(ModelError, match=said):
            run_sync(Agent(model=ScriptedModel([error])), "q")


@pytest.mark.parametrize(
    ("ids", "sent"),
    [
        (["a", "b"], ["a", "b"]),
        ([None, ""], ["call_3_0", "call_3_1"]),
        (["f", "f"], ["f", "call_3_1"]),
        (["call_3_1", None], ["call_3_1", "call_3_1_"]),
        ([7, {"odd": 1}], ["7", "{'odd': 1}"]),
    ],
)
def test_every_call_goes_back_with_an_id_of_its_own(ids: list[Any], sent: list[str]) -> None:
    message = {"tool_calls": [{**CALL, "id": one} for one in ids]}
    response = to_response(message, step=3)
    assert [call.id for call in response.message.tool_calls] == sent
    assert [call.id for call in response.calls] == sent


@pytest.mark.parametrize(
    ("arguments", "sent", "raw"),
    [
        ('{"a": 1}', '{"a": 1}', '{"a": 1}'),
        ("", "{}", ""),
        (None, "{}", ""),
        ("null", "{}", "null"),
        ('{"a": 1', "{}", '{"a": 1'),
        ('{"a": NaN}', "{}", '{"a": NaN}'),
        ({"b": 1, "a": 2}, '{"b":1,"a":2}', '{"b":1,"a":2}'),
        ('{"a": "x\ny"}', '{"a":"x\\ny"}', '{"a": "x\ny"}'),
        ('{"a": "\ud83d"}', '{"a": "\\ud83d"}', '{"a": "\ud83d"}'),
    ],
)
def test_what_goes_back_is_valid_json_and_the_call_keeps_the_raw_text(arguments: Any, sent: str, raw: str) -> None:
    response = to_response({"tool_calls": [{"id": "x", "function": {"name": "f", "arguments": arguments}}]}, step=1)
    assert (response.message.tool_calls[0].arguments, response.calls[0].arguments) == (sent, raw)
    assert (response.raw is None) == (sent == raw)


@pytest.mark.parametrize(
    ("usage", "read"),
    [
        (None, Usage()),
        ({}, Usage()),
        ({"prompt_tokens": None, "completion_tokens": 3, "prompt_tokens_details": None}, Usage(output=3)),
        ({"prompt_tokens": 1.5, "completion_tokens": "7"}, Usage()),
        ({"prompt_tokens": -1, "completion_tokens": True}, Usage()),
        ({"prompt_tokens": 2**70, "completion_tokens": float("nan")}, Usage()),
        (Usage(input="x", output=2), Usage(output=2)),  # type: ignore[arg-type]
        (SimpleNamespace(prompt_tokens=5), Usage(input=5)),
    ],
)
def test_a_count_that_is_none_is_unknown(usage: Any, read: Usage) -> None:
    assert to_response({"content": "a"}, step=1, usage=usage).usage == read


def test_extra_fields_are_kept_and_a_finish_reason_is_text() -> None:
    response = to_response({"content": "a", "reasoning_content": "hmm", "tool_calls": []}, step=1, finish=5)  # type: ignore[arg-type]
    assert response.finish == "5"
    assert response.message.to_dict() == {"role": "assistant", "content": "a", "reasoning_content": "hmm"}


@pytest.mark.parametrize(
    "message",
    [
        SimpleNamespace(content=None, refusal="I cannot"),
        SlottedRefusal(),
        RefusalByProperty(),
        {"content": [{"type": "refusal", "refusal": "I cannot"}]},
    ],
)
def test_a_refusal_is_one_wherever_it_stands(message: Any) -> None:
    result = run_sync(Agent(model=lambda messages: message), "q")
    assert (result.stop, result.messages[-1].refusal) == ("refused", "I cannot")


def test_a_script_is_used_up_or_says_what_is_left() -> None:
    model = ScriptedModel(["one", "two"])
    run_sync(Agent(model=model), "q")
    with pytest.raises(ScriptError, match="1 of the script's 2 responses were never asked for"):
        model.assert_complete()
    run_sync(Agent(model=model), "q")
    model.assert_complete()


def test_a_script_takes_responses_as_they_are() -> None:
    response = Response(message=Message(role="assistant", content="as it is"), usage=Usage(input=1), finish="stop")
    result = run_sync(Agent(model=ScriptedModel([response])), "q")
    assert (result.answer, result.stats.usage) == ("as it is", Usage(input=1))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", r"s\.jsonl, line 1: not JSON"),
        ('"ok"\n7\n', r"s\.jsonl, line 2: a response is a string or an object"),
        (
            '{"tool_calls": {"name": "add"}}',
            r"s\.jsonl, line 1: the tool_calls of a message must be a list, not an object",
        ),
        (
            '{"tool_calls": [{"name": "add", "args": {}}]}',
            "line 1: a short tool call has a name and arguments, not 'args'",
        ),
    ],
)
def test_a_malformed_script_is_refused_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(text)
    with pytest.raises(ScriptError, match=said):
        ScriptedModel.load(path)


@pytest.mark.parametrize(("responses", "kind"), [("hello", "str"), ({"content": "hello"}, "dict")])
def test_one_response_is_no_script(responses: Any, kind: str) -> None:
    with pytest.raises(TypeError, match=f"a script is a list of responses, not a {kind}"):
        ScriptedModel(responses)


def test_a_function_that_has_run_out_of_answers_fails_the_run_with_a_sentence() -> None:
    left = iter(())
    with pytest.raises(ModelError, match="the model's function raised StopIteration: it has no answer left"):
        run_sync(Agent(model=lambda messages: next(left)), "q")


@pytest.mark.parametrize(("content", "answer"), [(0, "0"), (False, "false"), (1.5, "1.5"), ([], ""), ({}, "")])
def test_a_content_that_is_no_text_is_written_as_json(content: Any, answer: str) -> None:
    assert run_sync(Agent(model=lambda messages: {"content": content}), "q").answer == answer


def test_values_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Message(role="user").role = "system"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"tools": [add]}, "write Toolbox"),
        ({"model": "gpt-9"}, "must be a Model or a callable, not str"),
        ({"model": SimpleNamespace(respond=add)}, "a model must have info, a ModelInfo, beside respond"),
        ({"limits": {"max_steps": 3}}, "limits must be Limits, not dict: write Limits"),
        ({"limits": None}, "limits must be Limits, not NoneType"),
        ({"settings": None}, "settings must be a dict, not NoneType"),
    ],
)
def test_an_agent_that_could_not_run_is_refused_when_it_is_made(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(TypeError, match=said):
        Agent(**{"model": ScriptedModel([]), **fields})
