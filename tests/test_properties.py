"""Whatever a model, a stream or a caller's history holds: the loop ends, every request is valid, the record is whole."""

import asyncio
import dataclasses
import json
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agent import Agent, Limits, ModelError, Result, Toolbox, ToolCall, run_sync, tool
from agent.canonical import to_json
from agent.models.accumulate import Accumulator
from tests.validator import validate
from tracing import Recorder, Store

MAX_STEPS = 3
LARGEST = 2**63 - 1


class Mute:
    def __str__(self) -> str:
        raise RuntimeError("no")


ODD: tuple[Any, ...] = (
    None, "", "a\udc00b\0c", b"\xff\x00", {"b": float("nan")}, {1, "a"}, Mute(), "long " * 900, 10**5000, [[]],
)  # fmt: skip


@tool("Give something odd.")
async def give(which: int = 0) -> Any:
    return ODD[which % len(ODD)]


@tool("Fail.")
async def fail(text: str = "") -> Any:
    raise {"": ValueError, "exit": SystemExit, "stop": StopAsyncIteration, "cancel": asyncio.CancelledError}.get(
        text, KeyError
    )(text)


@tool("Fail in a thread.")
def fall(a: int) -> Any:
    raise SystemExit(a)


TOOLS = Toolbox([give, fail, fall])

TEXT = st.text(st.characters(exclude_categories=[]), max_size=8)
"""Any text, lone surrogates and NUL included."""
ODD_TEXT = st.sampled_from(["", " ", "a", "\ud83d", "a\0b", "\x1b[2J", "日本"]) | TEXT
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ODD_TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(ODD_TEXT, inner, max_size=2),
    max_leaves=4,
)
BROKEN = (
    "", "  ", "null", "{}", '{"which": 1}', '{"which": "2"}', '{"which": 3', '{"text": "exit"}', '{"text": "cancel"}',
    '{"text": "stop"}', '{"a": 1}', '{"a": 1}{"a": 2}', '{"a": 1} Done!', '{"a": 1, "a": 2}', '{"a": NaN}',
    '{"a": 1e999}', '{"a": "x\ny"}', '{"a": "\ud83d"}', '{"a": "\\ud83d"}', "{'a': 1}", "[1]", '"{}"', "7", "\ufeff{}",
    "[" * 2000, '{"a":' * 150 + "1" + "}" * 150, '{"a": ' + "9" * 5000 + "}", "\0", '{"a": "\0"}',
)  # fmt: skip
ARGUMENTS = st.sampled_from(BROKEN) | ODD_TEXT | JSON.map(to_json) | JSON
NAMES = st.sampled_from(["give", "fail", "fall", "gvie", "", None, 7, "a b"]) | ODD_TEXT | JSON
IDS = (
    st.sampled_from(["x", "x", "y", "", None, 7, "7", 0, "call_1_0", "call_1_1", "\ud83d", "\ufffd", "\0"])
    | TEXT
    | JSON
)
FUNCTIONS = st.fixed_dictionaries({}, optional={"name": NAMES, "arguments": ARGUMENTS})
CALLS: st.SearchStrategy[Any] = (
    st.fixed_dictionaries(
        {"function": FUNCTIONS},
        optional={"id": IDS, "type": st.sampled_from(["function", "custom", None]), "index": JSON},
    )
    | st.builds(
        ToolCall,
        st.sampled_from(["x", "", "\ud83d"]),
        st.sampled_from(["give", "", "\ud83d"]),
        st.sampled_from([one for one in BROKEN if isinstance(one, str)]),
    )
    | st.fixed_dictionaries({}, optional={"id": IDS, "function": JSON})
    | st.sampled_from([None, "give", {}])
)
PARTS = st.lists(
    st.fixed_dictionaries({"type": st.just("text"), "text": ODD_TEXT})
    | st.just({"type": "image_url", "image_url": {"url": "http://127.0.0.1/a.png"}}),
    min_size=1,
    max_size=2,
)
CONTENTS = st.none() | ODD_TEXT | PARTS | st.sampled_from([7, True, {"a": 1}, [], [None], ["a"], {}, [{"text": 7}]])
EXTRAS = st.dictionaries(
    st.sampled_from(["refusal", "reasoning_content", "role", "tool_call_id", "name", "audio", "annotations"])
    | ODD_TEXT,
    JSON,
    max_size=2,
)
MESSAGES = st.builds(
    lambda extra, known: {**extra, **known},
    EXTRAS,
    st.fixed_dictionaries(
        {"content": CONTENTS},
        optional={"tool_calls": st.lists(CALLS, min_size=1, max_size=3) | st.none() | st.just([])},
    ),
)
COUNTS: st.SearchStrategy[Any] = st.integers(-1, 999) | st.sampled_from(
    [None, "7", 1.5, True, float("nan"), LARGEST + 1, []]
)
USAGES = (
    st.none()
    | JSON
    | st.fixed_dictionaries(
        {},
        optional={
            "prompt_tokens": COUNTS,
            "completion_tokens": COUNTS,
            "prompt_tokens_details": st.none() | st.fixed_dictionaries({"cached_tokens": COUNTS}),
            "completion_tokens_details": st.none() | JSON,
        },
    )
)
FINISHES = st.sampled_from(["stop", "tool_calls", "length", "content_filter", "eos", "", None, 7, "\ud83d"]) | JSON


@dataclasses.dataclass(frozen=True)
class Answer:
    """What a model returns, and the message within it."""

    returned: Any
    message: Any


def completed(message: Any, finish: Any, usage: Any, model: Any) -> Answer:
    choice = {"message": message, "finish_reason": finish}
    return Answer({"choices": [choice], "usage": usage, "model": model}, message)


ANSWERS = (
    st.builds(completed, MESSAGES, FINISHES, USAGES, JSON)
    | st.builds(lambda message, usage: Answer((message, usage), message), MESSAGES, USAGES)
    | MESSAGES.map(lambda message: Answer(message, message))
    | st.sampled_from(
        ["", "done", None, 7, {}, {"choices": []}, {"choices": None}, {"error": {"message": "busy"}}, []]
    ).map(lambda other: Answer(other, {}))
)
TWO_CALLS = [ToolCall("x", "give", "{}"), ToolCall("y", "give", "{}")]


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as path:
        yield Path(path)


def storable(text: str) -> str:
    """What a column shows of a text: the rule for what SQLite cannot hold."""
    return "".join(
        "\ufffd" if "\ud800" <= one <= "\udfff" else "\N{SYMBOL FOR NULL}" if one == "\0" else one for one in text
    )


def raw_arguments(message: Any) -> list[str]:
    """The arguments of each call of a model's message, as text, by the rule of what is recorded."""
    raw = []
    for call in (message.get("tool_calls") if isinstance(message, dict) else None) or ():
        if isinstance(call, ToolCall):
            raw.append(call.arguments)
            continue
        function = call.get("function") if isinstance(call, dict) else None
        arguments = function.get("arguments") if isinstance(function, dict) else None
        raw.append(arguments if isinstance(arguments, str) else "" if arguments is None else to_json(arguments))
    return raw


def ended(agent: Agent, recorder: Recorder, question: str) -> Result:
    """How the run ended; a failure of the model is the only thing that it may raise."""
    try:
        return recorder.run_sync(agent, question)
    except ModelError as error:
        return error.result


@given(st.lists(ANSWERS, max_size=MAX_STEPS), ODD_TEXT)
@example([Answer({"tool_calls": TWO_CALLS}, {"tool_calls": TWO_CALLS})], "q")
@example([completed({"content": "", "tool_calls": TWO_CALLS}, "length", None, None)], "q")
@example([completed({"content": 7, "tool_calls": TWO_CALLS}, "stop", None, None)], "q")
def test_any_messages_of_a_model_end_in_a_whole_record_and_every_request_is_valid(
    answers: list[Answer], question: str
) -> None:
    seen: list[list[dict[str, Any]]] = []

    async def model(messages: list[dict[str, Any]]) -> Any:
        seen.append(messages)
        return answers[len(seen) - 1].returned if len(seen) <= len(answers) else {"content": "done"}

    with folder() as path:
        with Recorder(path / "t.db", strict=True) as recorder:
            agent = Agent(model=model, tools=TOOLS, limits=Limits(max_steps=MAX_STEPS))
            result = ended(agent, recorder, question)
        assert len(seen) <= MAX_STEPS
        for messages in seen:
            validate(messages)
        with Store(path / "t.db") as store:
            run_id = store.find("last")
            assert result.run_id == run_id
            run = store.run(run_id)
            asked = [list(store.request(run_id, step).messages) for step in range(1, len(seen) + 1)]
            model_calls, tool_calls = store.model_calls(run_id), store.tool_calls(run_id)
            history = store.history(run_id)
    assert asked == seen
    assert history == [message.to_dict() for message in result.messages]
    assert [call["step"] for call in model_calls] == list(range(1, len(seen) + 1))
    given_back = [raw_arguments(answer.message) for answer in answers[: result.stats.steps]]
    assert [(call["step"], call["call"], call["arguments"]) for call in tool_calls] == [
        (step, number, storable(arguments))
        for step, raw in enumerate(given_back, 1)
        for number, arguments in enumerate(raw, 1)
    ]
    assert all(call["duration_ms"] is not None for call in (*model_calls, *tool_calls))
    stats = result.stats
    assert (run["stop"], run["steps"], run["tool_calls"]) == (result.stop, stats.steps, stats.tool_calls)
    assert (run["input_tokens"], run["output_tokens"]) == (stats.usage.input, stats.usage.output)
    assert (run["cached_tokens"], run["unreported_calls"]) == (stats.usage.cached, stats.unreported)
    # The next turn of the conversation is valid as well.
    run_sync(Agent(model=validating), "and then?", history=result.messages)


async def validating(messages: list[dict[str, Any]]) -> str:
    validate(messages)
    return "done"


# Streams


@dataclasses.dataclass(frozen=True)
class Wanted:
    """A call that a stream is to bring."""

    id: str | None
    name: str
    arguments: str


STYLES = ("indexed", "from one", "first only", "no index", "no index, mixed", "jumping", "all zero")
MIXED = ("indexed", "from one", "no index, mixed")
"""Where each piece says to which call it belongs: the calls may be mixed, and a name may come in pieces."""
WITH_IDS_EVERYWHERE = ("no index, mixed", "jumping")


def pieces_of(draw: st.DrawFn, text: str) -> list[str]:
    """A text in one or more pieces, some of them empty."""
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=3)))
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def call_pieces(draw: st.DrawFn, wanted: Wanted, number: int, style: str) -> list[dict[str, Any]]:
    arguments = pieces_of(draw, wanted.arguments)
    size = len(arguments)
    pieces: list[dict[str, Any]] = [{"function": {"arguments": text}} for text in arguments]
    early = style not in MIXED[:2]  # without an index of its own, a call is told from the one before by its id
    if wanted.id is not None:
        first = 0 if early else draw(st.integers(0, size - 1))
        everywhere = style in WITH_IDS_EVERYWHERE or draw(st.booleans())
        for place in range(first, size) if everywhere else (first,):
            pieces[place]["id"] = wanted.id
    # A jumping index beside a name and a known id could as well be a second call with the same id.
    is_jumping = style == "jumping"
    named = 0 if is_jumping else draw(st.integers(0, size - 1))
    half = len(wanted.name) // 2
    if style in MIXED and named + 1 < size and half and draw(st.booleans()):
        pieces[named]["function"]["name"], pieces[named + 1]["function"]["name"] = (
            wanted.name[:half],
            wanted.name[half:],
        )
    else:
        for place in range(named, size) if not is_jumping and draw(st.booleans()) else (named,):
            pieces[place]["function"]["name"] = wanted.name
    for place, piece in enumerate(pieces):
        match style:
            case "indexed" | "first only" if style == "indexed" or place == 0:
                piece["index"] = number
            case "from one":
                piece["index"] = number + 1
            case "jumping":
                piece["index"] = 10 * number + place
            case "all zero":
                piece["index"] = 0
    return pieces


def shuffled_together(draw: st.DrawFn, queues: list[list[Any]]) -> list[Any]:
    """All items, those of one queue in their order."""
    queues = [list(queue) for queue in queues if queue]
    together = []
    while queues:
        queue = queues[draw(st.integers(0, len(queues) - 1))]
        together.append(queue.pop(0))
        queues = [one for one in queues if one]
    return together


EMPTY: tuple[Any, ...] = (
    {}, {"choices": []}, {"choices": None}, {"choices": [{"delta": {}}]}, {"choices": [{"delta": None}]},
    {"choices": [{"index": 0, "finish_reason": None}]}, {"choices": [{"delta": {"role": "assistant", "content": None}}]},
    {"choices": [{"delta": {"tool_calls": None}}]}, {"choices": [{"delta": {"tool_calls": []}}]}, None,
)  # fmt: skip


@st.composite
def streams(draw: st.DrawFn) -> tuple[dict[str, Any], list[Any]]:
    """A message, and chunks that bring it."""
    style = draw(st.sampled_from(STYLES))
    calls = draw(
        st.lists(
            st.builds(
                Wanted, st.sampled_from(["a", "b", "call_1", "x" * 32]), st.sampled_from(["add", "read_doc"]), TEXT
            ),
            max_size=3,
            unique_by=lambda call: call.id,
        )
    )
    needs_no_id = style in MIXED[:2] or (style == "no index" and len(calls) == 1)
    if needs_no_id and draw(st.booleans()):
        calls = [dataclasses.replace(call, id=None) for call in calls]
    message: dict[str, Any] = {"content": None}
    queues: list[list[Any]] = []
    for key in ("content", "reasoning_content", "refusal"):
        text = draw(st.none() | TEXT)
        if text is not None:
            message[key] = text
            queues.append([{"choices": [{"delta": {key: piece}}]} for piece in pieces_of(draw, text)])
    parts = [call_pieces(draw, call, number, style) for number, call in enumerate(calls)]
    in_order = shuffled_together(draw, parts) if style in MIXED else [piece for part in parts for piece in part]
    queues.append([{"choices": [{"delta": {"tool_calls": [piece]}}]} for piece in in_order])
    if calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in calls
        ]
    chunks = shuffled_together(draw, [*queues, draw(st.lists(st.sampled_from(EMPTY), max_size=3))])
    if draw(st.booleans()):
        chunks = [{**chunk, "usage": {"prompt_tokens": 9, "completion_tokens": number}} for number, chunk in
                  enumerate(chunks) if chunk is not None]  # fmt: skip
    ending = [{"choices": [{"delta": {}, "finish_reason": "stop"}]}]
    return message, [*chunks, *ending, {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 99}}]


@given(streams())
@settings(max_examples=300)
def test_any_way_of_cutting_a_message_into_chunks_gives_the_same_message(
    stream: tuple[dict[str, Any], list[Any]],
) -> None:
    message, chunks = stream
    answer = Accumulator()
    told = "".join([answer.add(chunk) for chunk in chunks])
    got = answer.message()
    # Mixed calls stand in the order in which they began.
    calls = got.pop("tool_calls", [])
    wanted = message.pop("tool_calls", [])
    assert got == message
    assert sorted(calls, key=json.dumps) == sorted(wanted, key=json.dumps)
    assert told == (message["content"] or "")
    assert (answer.finish, answer.usage) == ("stop", {"prompt_tokens": 9, "completion_tokens": 99})


# Histories


def plain_call(call_id: str, arguments: str = "{}") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": "give", "arguments": arguments}}


USUAL = (
    st.sampled_from(["system", "user", "assistant"]).flatmap(
        lambda role: st.fixed_dictionaries({"role": st.just(role), "content": ODD_TEXT})
    )
    | st.lists(st.sampled_from(["x", "y", "z"]), min_size=1, max_size=3, unique=True).map(
        lambda ids: {"role": "assistant", "content": None, "tool_calls": [plain_call(one) for one in ids]}
    )
    | st.sampled_from(["x", "y", "z", "w"]).map(
        lambda one: {"role": "tool", "tool_call_id": one, "content": f"of {one}"}
    )
)


@given(st.lists(USUAL, max_size=8), st.none() | ODD_TEXT, ODD_TEXT)
@example([{"role": "assistant", "content": None, "tool_calls": [plain_call("x"), plain_call("y")]},
          {"role": "tool", "tool_call_id": "y", "content": "b"}, {"role": "tool", "tool_call_id": "x", "content": "a"}],
         None, "q")  # fmt: skip
def test_messages_in_any_order_make_a_valid_first_request(
    history: list[dict[str, Any]], system: str | None, question: str
) -> None:
    before = json.dumps(history)
    result = run_sync(Agent(model=validating, system=system), question, history=history)
    assert result.answer == "done"
    assert json.dumps(history) == before


ANY = (
    st.fixed_dictionaries(
        {"role": st.sampled_from(["system", "developer", "user", "assistant", "tool", "robot", "", None, 7])},
        optional={
            "content": CONTENTS,
            "tool_calls": st.lists(CALLS, max_size=3) | st.none() | JSON,
            "tool_call_id": IDS,
            "name": JSON,
            "reasoning_content": JSON,
        },
    )
    | USUAL
    | JSON
)


@given(st.lists(ANY, max_size=5))
@settings(max_examples=150)
@example([{"role": "assistant", "content": None}])
@example([{"role": "user"}])
@example([{"role": "user", "content": "hi", "tool_calls": [plain_call("x")]}])
@example([{"role": "assistant", "content": None, "tool_calls": [plain_call("x"), plain_call("x")]}])
@example([{"role": "assistant", "content": None, "tool_calls": [plain_call("")]}])
@example([{"role": "assistant", "content": None, "tool_calls": [plain_call("x", '{"a": 1')]}])
@example([{"role": "assistant", "content": "a", "tool_calls": 7}])
@example([{"role": "assistant", "content": "a", "tool_calls": [{"id": "x", "function": "give"}]}])
@example([{"role": "tool", "tool_call_id": ["x"], "content": "a"}])
@example([{"role": "assistant", "tool_call_id": "x", "content": "a"}])
def test_a_history_of_anything_makes_a_valid_first_request_or_is_refused_with_a_value_error(history: list[Any]) -> None:
    asked: list[Any] = []

    async def model(messages: list[dict[str, Any]]) -> str:
        asked.append(messages)
        return "done"

    try:
        run_sync(Agent(model=model), "q", history=history)
    except ValueError:
        assert not asked
    else:
        validate(asked[0])


# Concurrency

RUNS, STEPS, WIDTH = 50, 3, 4


def test_fifty_runs_at_once_with_tools_in_threads_keep_every_call_under_its_own_run(tmp_path: Path) -> None:
    @tool
    def work(run: int, step: int, number: int) -> str:
        time.sleep(0.001 * ((run + number) % 3))
        return f"{run}.{step}.{number}"

    def asker(number: int) -> Agent:
        asked = 0

        async def model(messages: list[dict[str, Any]]) -> Any:
            nonlocal asked
            asked += 1
            validate(messages)
            usage = {"prompt_tokens": 10 * number, "completion_tokens": asked}
            if asked > STEPS:
                return {"content": f"bye {number}"}, usage
            calls = [
                {"id": "same", "function": {"name": "work", "arguments": {"run": number, "step": asked, "number": one}}}
                for one in range(WIDTH)
            ]
            return {"content": None, "tool_calls": calls}, usage

        return Agent(name=f"agent{number}", model=model, tools=Toolbox([work]))

    async def together(recorder: Recorder) -> list[Result]:
        return await asyncio.gather(*(recorder.run(asker(number), f"q{number}") for number in range(RUNS)))

    with Recorder(tmp_path / "t.db", strict=True) as recorder:
        results = asyncio.run(together(recorder))
    assert len({result.run_id for result in results}) == RUNS
    with Store(tmp_path / "t.db") as store:
        for number, result in enumerate(results):
            assert result.run_id is not None
            run, calls = store.run(result.run_id), store.tool_calls(result.run_id)
            assert (run["agent"], run["question"], run["answer"]) == (f"agent{number}", f"q{number}", f"bye {number}")
            expected = [f"{number}.{step}.{one}" for step in range(1, STEPS + 1) for one in range(WIDTH)]
            assert [call["result"] for call in calls] == expected
            assert (run["steps"], run["tool_calls"]) == (STEPS + 1, STEPS * WIDTH)
            assert (run["input_tokens"], run["output_tokens"]) == (10 * number * (STEPS + 1), 1 + 2 + 3 + 4)
    connection = sqlite3.connect(tmp_path / "t.db")
    try:
        stray = connection.execute("select count(*) from spans where parent_id is null and name not like 'invoke%'")
        assert stray.fetchone() == (0,)
        counts = connection.execute("select (select count(*) from runs), (select count(*) from tool_calls)").fetchone()
        assert counts == (RUNS, RUNS * STEPS * WIDTH)
    finally:
        connection.close()


# The validator itself

ASKED: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": [plain_call("x"), plain_call("y")]}


def answers(*ids: str) -> list[dict[str, Any]]:
    return [{"role": "tool", "tool_call_id": one, "content": "a"} for one in ids]


@pytest.mark.parametrize(
    ("history", "said"),
    [
        ([], "must hold a message"),
        ([{"role": "robot", "content": "a"}], "no server knows"),
        ([{"role": "assistant", "content": None}], "no content, and makes no calls"),
        ([{"role": "assistant", "content": "a", "tool_calls": []}], "no list of calls"),
        ([{"role": "user", "content": 7}], "of another kind"),
        ([{"role": "user", "content": ["a"]}], "a part that is none"),
        ([{"role": "user", "content": "\ud83d"}], "cannot be sent"),
        ([{"role": "user", "content": "a", "score": float("nan")}], "cannot be sent"),
        ([ASKED], "ends before the call 'x' was answered"),
        ([ASKED, *answers("x"), {"role": "user", "content": "a"}], "before the call 'y' was answered"),
        ([ASKED, *answers("y", "x")], "where 'x' is next"),
        ([ASKED, *answers("x", "y", "y")], "no call before it waits"),
        ([{**ASKED, "tool_calls": [plain_call("x"), plain_call("x")]}, *answers("x", "x")], "two calls with the id"),
        ([{**ASKED, "tool_calls": [plain_call("")]}, *answers("")], "a call without an id"),
        ([{**ASKED, "tool_calls": [{**plain_call("x"), "type": None}]}, *answers("x")], "has the type None"),
        ([{**ASKED, "tool_calls": [plain_call("x", '{"a": NaN}')]}, *answers("x")], "not JSON: NaN"),
        ([{**ASKED, "tool_calls": [plain_call("x", '{"a": 1, "a": 2}')]}, *answers("x")], "not JSON: a key"),
        ([{**ASKED, "tool_calls": [plain_call("x", "")]}, *answers("x")], "not JSON"),
        ([{**ASKED, "tool_calls": [plain_call("x", "[1]")]}, *answers("x")], "no object"),
    ],
)  # fmt: skip
def test_the_validator_refuses_what_a_strict_server_would(history: list[Any], said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        validate(history)


def test_the_validator_takes_what_a_strict_server_takes() -> None:
    parts = [{"type": "text", "text": "hi"}, {"type": "image_url", "image_url": {"url": "http://127.0.0.1/a.png"}}]
    system, user = {"role": "system", "content": "s"}, {"role": "user", "content": parts}
    validate([system, user, ASKED, *answers("x", "y"), ASKED, *answers("x", "y"), {"role": "assistant", "content": ""}])
