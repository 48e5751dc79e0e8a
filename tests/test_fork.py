"""A fork takes its first steps from the record, lives from there, and is a run like any other."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent import Agent, Limits, ModelError, Result, ScriptedModel, Toolbox, ToolCall, tool
from agent.docs import SYSTEM_PROMPT, Docs, docs_toolbox
from agent.models.keyword import KeywordModel
from agent.ports import Model, ModelInfo, Tell
from agent.sync import complete
from agent.values import Observation, Request, Response
from tests.replays import as_dicts, changed, read, record, replayed, rows, said
from tests.runs import HOSTILE, LONG, answer, calls
from tests.validator import validate
from tracing import Recorder, fork
from tracing.forking import CannotFork

CORPUS = Path(__file__).parent.parent / "data" / "httpx-docs"
QUESTION = "How many kinds of timeout does httpx have, and what does each control?"


class Counting:
    """A model that notes what it is really asked."""

    def __init__(self, model: Model) -> None:
        self.model, self.requests = model, list[Request]()

    @property
    def info(self) -> ModelInfo:
        return self.model.info

    async def respond(self, request: Request, tell: Tell) -> Response:
        validate([message.to_dict() for message in request.messages])
        self.requests.append(request)
        return await self.model.respond(request, tell)

    @property
    def steps(self) -> list[int]:
        return [request.step for request in self.requests]


class CountingTools:
    def __init__(self, tools: Toolbox) -> None:
        self.tools, self.called = tools, list[ToolCall]()

    @property
    def schemas(self) -> Any:
        return self.tools.schemas

    async def call(self, call: ToolCall) -> Observation:
        self.called.append(call)
        return await self.tools.call(call)


@tool("Look something up.")
async def look(word: str = "", times: int = 1) -> str:
    if word == "broken":
        raise OSError("gone")
    return LONG if word == "long" else f"seen {word}" * times


LOOK = Toolbox([look])
ODD_CALLS = [
    {"id": "same", "name": "look", "arguments": '{"word": "cut'},
    {"id": "same", "name": "look", "arguments": "{'word': 1}"},
    {"name": "lok", "arguments": {"word": "\ud83d\0" + HOSTILE}},
]
SCRIPT = (
    calls(("look", {"word": "long"}), ("look", {"word": "broken"}), content="I look."),
    {"tool_calls": ODD_CALLS, "reasoning_content": "hm"},
    calls(("look", {"word": "c"}), ("look", {"word": "c"})),
    {**calls(("look", {"word": "d"})), "finish_reason": "length"},
    answer("done"),
)
PARTS = {"role": "system", "content": [{"type": "text", "text": "parts"}]}
HISTORY = [{"role": "user", "content": "before"}, {"role": "assistant", "content": "yes"}]


def scripted(*script: Any, **fields: Any) -> Agent:
    return Agent(**{"model": ScriptedModel(script or SCRIPT), "tools": LOOK, "system": "Look.", **fields})


def keyword() -> Agent:
    return Agent(name="docs", model=KeywordModel(), tools=docs_toolbox(Docs(CORPUS)), system=SYSTEM_PROMPT)


def forked(
    db: Path, agent: Agent, at: int, run: str = "last", redact: bool = True, **options: Any
) -> tuple[Result, Counting, CountingTools]:
    model, tools = Counting(agent.model), CountingTools(agent.tools)  # type: ignore[arg-type]
    agent = replace(agent, model=model, tools=tools)
    with Recorder(db, strict=True, redact=redact) as recorder:
        result = complete(fork(read(db, run), agent, at, recorder, **options))
    return result, model, tools


AGENTS: dict[str, tuple[Callable[[], Agent], str, dict[str, Any]]] = {
    "keyword": (keyword, QUESTION, {}),
    "scripted": (scripted, "q \ud83d", {}),
    "with a history": (scripted, "q", {"history": HISTORY}),
    "with a history that begins with two prompts": (scripted, "q", {"history": [PARTS, PARTS, *HISTORY]}),
    "with a prompt of the history's own": (lambda: scripted(system=None), "q", {"history": [PARTS, *HISTORY]}),
    "one call at a time": (lambda: scripted(limits=Limits(max_parallel=1)), "q", {}),
}


@pytest.mark.parametrize("which", AGENTS)
def test_a_fork_without_a_change_is_the_same_run_at_every_step(tmp_path: Path, which: str) -> None:
    make, question, options = AGENTS[which]
    db = tmp_path / "t.db"
    # The documents hold passwords, and a secret that a live tool gives again is a new one to a fork.
    run_id = record(db, make(), question, redact=False, **options)
    original = read(db, run_id)
    said_before, called_before = rows(db, "select count(*) from message"), facts_of_calls(db, run_id)
    count = len(original.steps)
    assert count >= 3
    for at in range(1, count + 1):
        result, model, tools = forked(db, make(), at, run_id, redact=False)
        assert (as_dicts(result.messages), result.answer) == (as_dicts(original.messages), original.answer)
        assert result.stats == original.totals
        assert model.steps == list(range(at, count + 1))
        assert {call.step for call in tools.called}.isdisjoint(range(1, at))
        assert rows(db, "select count(*) from message") == said_before
        assert facts_of_calls(db, str(result.run_id)) == called_before
        assert said(replayed(db)) == said(replayed(db, make())) == "exact"
    found = rows(db, "select kind, parent_run, fork_step, answer from runs where run_id<>? order by started_at", run_id)
    assert found == [("fork", run_id, at, original.answer) for at in range(1, count + 1)]


def facts_of_calls(db: Path, run_id: str) -> list[Any]:
    query = (
        "select step, call, call_id, tool, arguments, result, result_chars, truncated, error "
        "from tool_calls where run_id=? order by step, call"
    )
    return rows(db, query, run_id)


def test_a_fork_can_be_forked_and_says_of_which_run_it_is(tmp_path: Path) -> None:
    db = tmp_path / "t.db"
    first = record(db, scripted())
    second, _, _ = forked(db, scripted(*SCRIPT[:3], answer("other")), 4, first)
    third, model, _ = forked(db, scripted(*SCRIPT[:1], answer("third")), 2, str(second.run_id), system="New.")
    assert (second.answer, third.answer, model.steps) == ("other", "third", [2])
    assert rows(db, "select parent_run, fork_step from runs order by started_at") == [
        (None, None), (first, 4), (second.run_id, 2),
    ]  # fmt: skip
    assert said(replayed(db)) == "exact"
    assert said(replayed(db, scripted(system="New."))) == "exact"


def test_served_steps_cost_nothing_and_keep_their_tokens(tmp_path: Path) -> None:
    db = tmp_path / "t.db"
    record(db, scripted())
    forked(db, scripted(), 3)
    query = "select m.step, price from model_calls m join runs r using(run_id) where r.kind='fork' order by m.step"
    served = [(step, price == "replayed") for step, price in rows(db, query)]
    assert served == [(1, True), (2, True), (3, False), (4, False), (5, False)]


NEW = "set \ud83d\0 by hand\n" + HOSTILE


def test_the_text_that_was_set_and_only_it_reaches_the_model(tmp_path: Path) -> None:
    db = tmp_path / "t.db"
    original = read(db, record(db, scripted()))
    result, model, tools = forked(db, scripted(), 3, results={(1, 2): NEW})
    before, after = (as_dicts(messages) for messages in (original.messages, model.requests[0].messages))
    shown = NEW.replace("\ud83d", "\ufffd")
    assert after == [*before[:4], {**before[4], "content": shown}, *before[5 : len(after)]]
    assert tools.called[0].step == 3
    (set_call,) = [row for row in facts_of_calls(db, str(result.run_id)) if row[:2] == (1, 2)]
    assert set_call[5:] == (shown.replace("\0", "\N{SYMBOL FOR NULL}"), len(NEW), 0, None)
    assert said(replayed(db)) == said(replayed(db, scripted())) == "exact"


def test_another_system_prompt_takes_the_place_of_the_recorded_one(tmp_path: Path) -> None:
    db = tmp_path / "t.db"
    record(db, scripted(), history=HISTORY)
    _, model, _ = forked(db, scripted(), 2, system="Look again.")
    messages = as_dicts(model.requests[0].messages)
    assert [message["content"] for message in messages[:4]] == ["Look again.", "before", "yes", "q"]


def test_a_run_that_stopped_at_a_limit_goes_on_with_a_larger_one(tmp_path: Path) -> None:
    db = tmp_path / "t.db"
    stopped = scripted(limits=Limits(max_steps=2))
    assert (read(db, record(db, stopped)).stop) == "max_steps"
    larger = scripted(limits=Limits(max_steps=9))
    result, model, tools = forked(db, larger, 3)
    assert (result.answer, model.steps) == ("done", [3, 4, 5])
    assert {call.step for call in tools.called} == {3}  # the calls of step 4 were cut
    assert said(replayed(db, larger)) == "exact"
    assert replayed(db, stopped).outcome == "diverged"


def test_a_fork_may_fail_and_is_recorded_as_failed(tmp_path: Path) -> None:
    db = tmp_path / "t.db"
    record(db, scripted())
    agent = scripted(SCRIPT[0], SCRIPT[1], ConnectionError("no route"))
    with pytest.raises(ModelError):
        forked(db, agent, 3)
    assert rows(db, "select kind, stop, steps, error from runs where kind='fork'") == [
        ("fork", "failed", 2, "ConnectionError: no route")
    ]
    assert said(replayed(db)) == said(replayed(db, agent)) == "exact"


@pytest.mark.parametrize(
    ("script", "options", "last"),
    [
        (SCRIPT, {}, 5),
        ([SCRIPT[0], ValueError("x")], {}, 2),
        ([ValueError("x")], {}, 1),
        (["at once"], {}, 1),
        ([SCRIPT[0], asyncio.CancelledError()], {}, 2),
    ],
)
def test_a_fork_where_none_can_be_says_where_one_can(
    tmp_path: Path, script: Sequence[Any], options: dict[str, Any], last: int
) -> None:
    db = tmp_path / "t.db"
    record(db, scripted(*script), **options)
    runs = rows(db, "select count(*) from run")
    for at in (0, -1, last + 1, 99):
        with pytest.raises(CannotFork) as caught:
            forked(db, scripted(), at)
        where = "only at step 1" if last == 1 else f"at the steps 1 to {last}"
        assert str(caught.value) == f"the run cannot be forked at step {at}, but {where}"
    assert rows(db, "select count(*) from run") == runs
    result, model, _ = forked(db, scripted(), last)
    assert model.steps[0] == last
    assert result.answer == "done"


def test_a_result_of_a_step_that_is_not_taken_from_the_record_cannot_be_set(tmp_path: Path) -> None:
    record(tmp_path / "t.db", scripted())
    for place in ((2, 1), (1, 3), (0, 1)):
        with pytest.raises(CannotFork, match=r"it, or set one of 1\.1, 1\.2"):
            forked(tmp_path / "t.db", scripted(), 2, results={place: "x"})


def test_a_record_that_was_changed_is_not_forked(tmp_path: Path) -> None:
    db = tmp_path / "t.db"
    record(db, scripted())
    (tmp_path / "new").mkdir()
    copy = changed(db, "update body set text='seen x' where text like 'seen c%'", into=tmp_path / "new")
    with pytest.raises(CannotFork, match="changed after it was written"):
        forked(copy, scripted(), 2)


def test_limits_that_end_before_the_fork_are_told_instead_of_a_shorter_run(tmp_path: Path) -> None:
    record(tmp_path / "t.db", scripted())
    with pytest.raises(CannotFork, match="max_steps"):
        forked(tmp_path / "t.db", scripted(limits=Limits(max_steps=2)), 4)


def test_a_fork_of_a_redacted_run_keeps_the_markers_and_replays_exactly(tmp_path: Path) -> None:
    db, secret = tmp_path / "t.db", "sk-abcdefghij0123456789ABCDEFG"
    script = [calls(("look", {"word": secret})), calls(("look", {"word": "b"})), answer(f"It is {secret}.")]
    agent = scripted(*script, system=f"Never say {secret}.")
    record(db, agent, f"What is {secret}?")
    result, model, _ = forked(db, scripted(*script, system=f"Never say {secret}."), 3)
    marker = "[redacted:api_key#1]"
    contents = [message.content for message in model.requests[0].messages]
    assert contents[:2] == [f"Never say {marker}.", f"What is {marker}?"]
    assert contents[3] == f"seen {marker}"
    assert result.answer == f"It is {secret}."  # of the live model, for its caller
    assert said(replayed(db)) == said(replayed(db, agent)) == "exact"
    assert not any(secret.encode() in path.read_bytes() for path in tmp_path.iterdir())
