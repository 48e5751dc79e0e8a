"""Whatever happened in a run, however it ended: its replay is exact, offline, and calls nothing."""

import asyncio
import dataclasses
import random
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agent import Agent, Limits, Message, Response, ScriptedModel, Toolbox, ToolCall, run_sync, tool
from agent.ports import ModelInfo
from agent.values import Observation, Totals
from tests.processes import finish, spawn, start
from tests.replays import Broken, named, read, record, recorded, replayed, said, together
from tests.runs import TOOLS, answer, calls
from tests.test_properties import ANSWERS, ODD_TEXT, TWO_CALLS, USUAL, Answer
from tests.test_properties import TOOLS as ODD_TOOLS
from tracing import Recorder, replay
from tracing.replaying.replay import replay_async

READ = calls(("read_doc", {"path": "a.md"}))
PAIR = calls(("read_doc", {"path": "a.md"}), ("grep_docs", {"keyword": "b"}))
SECRET = "sk-abcdefghij0123456789ABCDEFG"


def both(db: Path, agent: Agent) -> list[Any]:
    """What the replays without an agent and with it come to."""
    return [said(replayed(db)), said(replayed(db, agent))]


EXACT = ["exact", "exact"]


# Any run

RAISED = st.sampled_from(
    [ValueError("x"), RuntimeError(""), OSError(2, "no"), KeyError("a\0b\ud83d"), SystemExit(3), ConnectionError("a: b"),
     asyncio.CancelledError()]
)  # fmt: skip
LIMITS = st.builds(
    lambda steps, tokens, parallel: Limits(max_steps=steps, max_tokens=tokens, max_parallel=parallel),
    st.integers(1, 3),
    st.none() | st.integers(1, 50),
    st.sampled_from([1, 8]),
)


def test_any_run_replays_exactly_without_an_agent_and_with_its_own(tmp_path: Path) -> None:
    db = tmp_path / "t.db"

    @given(
        st.lists(ANSWERS | RAISED.map(lambda error: Answer(error, {})), max_size=3),
        ODD_TEXT,
        st.none() | ODD_TEXT,
        st.lists(USUAL, max_size=4),
        LIMITS,
    )
    @example([Answer({"tool_calls": TWO_CALLS}, {})], "q", None, [], Limits())
    @example([], "q", "mine", [{"role": "system", "content": "one"}, {"role": "system", "content": "two"}], Limits())
    @settings(max_examples=120)
    def check(
        answers: list[Answer], question: str, system: str | None, history: list[dict[str, Any]], limits: Limits
    ) -> None:
        left = list(answers)

        async def model(_: list[dict[str, Any]]) -> Any:
            returned = left.pop(0).returned if left else "done"
            if isinstance(returned, BaseException):
                raise returned
            return returned

        agent = Agent(model=model, tools=ODD_TOOLS, system=system, limits=limits)
        run_id = recorded(recorder, agent, question, history=history)
        recording = read(db, run_id)
        assert [said(replay(recording, one)) for one in (None, agent)] == EXACT

    with Recorder(db, strict=True) as recorder:
        check()


# However it ended


def raising(error: BaseException, *, at: int = 1) -> Callable[[Any], None]:
    def heard(step: Any) -> None:
        if step.number == at:
            raise error

    return heard


def cancelling(step: Any) -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()


def running_another(step: Any) -> None:
    run_sync(Agent(model=ScriptedModel([])), "inner")


@dataclasses.dataclass(frozen=True)
class Port:
    """Tools that are no Toolbox: what they raise ends the run."""

    error: BaseException
    schemas: Any = TOOLS.schemas

    async def call(self, call: ToolCall) -> Observation:
        if call.name == "grep_docs":
            raise self.error
        return await TOOLS.call(call)


class FailingLate(Port):
    """The first call fails too, while it is cancelled because of the second."""

    async def call(self, call: ToolCall) -> Observation:
        if call.index == 1:
            raise self.error
        try:
            return await asyncio.Event().wait()  # type: ignore[return-value]
        finally:
            raise KeyError("late")


class RunningAnother(Port):
    async def call(self, call: ToolCall) -> Observation:
        raise AssertionError(run_sync(Agent(model=ScriptedModel([])), "inner"))


@dataclasses.dataclass(frozen=True)
class Budget:
    """A caller's own limit: it says `what`, or raises it, from so many steps and calls on."""

    what: Any
    steps: int
    calls: int = 0

    def stop(self, totals: Totals) -> Any:
        if (totals.steps, totals.tool_calls) < (self.steps, self.calls):
            return None
        if isinstance(self.what, BaseException):
            raise self.what
        return self.what


class Forgetful:
    """A model of somebody's own that fills in the message alone."""

    info = ModelInfo(name="forgetful", provider="x")

    async def respond(self, request: Any, tell: Any) -> Response:
        return Response(message=Message(role="assistant", tool_calls=(ToolCall("x", "read_doc", "{}"),)))


def ending(*script: Any, tools: Any = TOOLS, model: Any = None, **limits: Any) -> Agent:
    return Agent(model=model or ScriptedModel(script), tools=tools, system="Look.", limits=Limits(**limits))


def budgets(*whats: Any) -> dict[str, Callable[[], tuple[Agent, dict[str, Any]]]]:
    """Callers' own limits that say, or raise, each of these, at each place that they are asked."""

    def made(what: Any, steps: int, done: int) -> Callable[[], tuple[Agent, dict[str, Any]]]:
        return lambda: (ending(READ, READ), {"budget": Budget(what, steps, done)})

    return {
        f"a budget of {what} at {steps}.{done}": made(what, steps, done)
        for what in whats
        for steps, done in ((0, 0), (1, 0), (1, 1))
    }


ENDINGS: dict[str, Callable[[], tuple[Agent, dict[str, Any]]]] = {
    "cancelled by on_step": lambda: (ending(READ, READ), {"on_step": cancelling}),
    "on_step raises after calls": lambda: (ending(READ, READ), {"on_step": raising(ArithmeticError("x"))}),
    "on_step raises after the answer": lambda: (
        ending(READ, answer("x")),
        {"on_step": raising(ArithmeticError("x"), at=2)},
    ),
    "on_step raises what no handler catches": lambda: (ending(READ), {"on_step": raising(Broken("x"))}),
    "on_step runs another agent, which fails": lambda: (ending(READ, READ), {"on_step": running_another}),
    "interrupted in a tool": lambda: (ending(calls(("grep_docs", {})), tools=Port(KeyboardInterrupt())), {}),
    "cancelled in a tool": lambda: (ending(calls(("grep_docs", {})), tools=Port(asyncio.CancelledError())), {}),
    "cancelled beside a call": lambda: (ending(PAIR, tools=Port(asyncio.CancelledError())), {}),
    "cancelled one by one": lambda: (ending(PAIR, tools=Port(asyncio.CancelledError()), max_parallel=1), {}),
    "a port of tools raises": lambda: (ending(READ, PAIR, tools=Port(ArithmeticError("a: b"))), {}),
    "a port of tools raises what no handler catches": lambda: (ending(PAIR, tools=Port(Broken())), {}),
    "two calls fail, the second one first": lambda: (ending(PAIR, tools=FailingLate(ArithmeticError("x"))), {}),
    "a port of tools lets another run's error through": lambda: (ending(READ, tools=RunningAnother(Broken())), {}),
    "a script is exhausted": lambda: (ending(READ), {}),
    "the provider fails": lambda: (ending(READ, ConnectionError("no route: a\0b\ud83d")), {}),
    "the model is cancelled": lambda: (ending(READ, asyncio.CancelledError()), {}),
    "the model fills in the message alone": lambda: (ending(model=Forgetful()), {}),
    "max_steps": lambda: (ending(READ, PAIR, max_steps=2), {}),
    "token limit with calls pending": lambda: (ending(READ, PAIR, max_tokens=200), {}),
    "cut at the output limit, then max_steps": lambda: (ending({**PAIR, "finish_reason": "length"}, max_steps=1), {}),
    "cut at the output limit": lambda: (ending({**PAIR, "finish_reason": "length"}, answer("x")), {}),
    "refused": lambda: (ending({"content": None, "refusal": "no"}), {}),
    "content filter": lambda: (ending({"content": "par", "finish_reason": "content_filter"}), {}),
    "no time at all": lambda: (ending(READ, max_seconds=1e-9), {}),
    **budgets("time_limit", "cost_limit", "max_steps", "token_limit", "refused", "failed", ArithmeticError("x")),
}


@pytest.mark.parametrize("how", ENDINGS)
def test_however_a_run_ends_its_replay_ends_so_too(tmp_path: Path, how: str) -> None:
    agent, options = ENDINGS[how]()
    record(tmp_path / "t.db", agent, **options)
    assert both(tmp_path / "t.db", agent) == EXACT


@pytest.mark.parametrize("where", ["model", "tool"])
def test_a_run_that_was_dropped_in_the_middle_replays_exactly(tmp_path: Path, where: str) -> None:
    async def hang(_: Any) -> Any:
        await asyncio.Event().wait()

    class Hanging(Port):
        async def call(self, call: ToolCall) -> Any:
            await asyncio.Event().wait()

    agent = ending(READ, model=hang if where == "model" else None, tools=Hanging(Broken()))

    async def drop() -> None:
        with Recorder(tmp_path / "t.db", strict=True) as recorder:
            dropped = recorder.run(agent, "q")
            dropped.send(None)
            dropped.close()

    asyncio.run(drop())
    assert both(tmp_path / "t.db", agent) == EXACT


KILLED = {
    "in a tool": ('ScriptedModel(calling("quick", "die"))', (2, 1), "the record ends in the call 2.1 die("),
    "in a model call": ("Then()", (1, 1), "the record ends at step 2, while the model was asked"),
    "between two calls of one message": ("ScriptedModel([BOTH])", (1, 1), "the record ends in the call 1.2 die("),
}
MORTAL = """
from agent import Limits
BOTH = {{"tool_calls": [call for step in calling("quick", "die") for call in step["tool_calls"]]}}
class Then:
    info = Dying.info
    first = ScriptedModel(calling("quick"))
    async def respond(self, request, tell):
        return await (self.first if request.step == 1 else Dying()).respond(request, tell)
with Recorder("t.db") as recorder:
    recorder.run_sync(Agent(model={model}, tools=TOOLS, system="Look.", limits=Limits(max_parallel=1)), "q")
"""


@pytest.mark.parametrize("where", KILLED)
def test_a_killed_run_is_not_replayable_and_says_where_its_record_ends(tmp_path: Path, where: str) -> None:
    model, compared, reason = KILLED[where]
    assert finish(start(tmp_path, MORTAL.format(model=model)))[0] == -signal.SIGKILL
    report = replayed(tmp_path / "t.db")
    assert (report.outcome, report.steps, report.calls) == ("not_replayable", *compared), report
    assert report.reason is not None and report.reason.startswith(reason), report.reason
    assert "its process was killed, or it still runs" in report.reason
    other = Agent(model=ScriptedModel([]), system="Changed.")
    assert named(replayed(tmp_path / "t.db", other)) == ("system", 1, None, "message 1, system")


# Each is served its own answers


async def turns(number: int) -> None:
    for _ in range(number):
        await asyncio.sleep(0)


def delayed(seed: int) -> Toolbox:
    """A tool whose results come back in any order, and differ from call to call."""
    made, chance = iter(range(1000)), random.Random(seed)

    @tool("Give the next number.")
    async def draw(word: str = "") -> str:
        await turns(chance.randrange(6))
        return f"{word}{next(made)}"

    return Toolbox([draw])


def number_of(result: str | None) -> int:
    return int((result or "").split("\n")[0][1:])


def drawing(seed: int) -> Agent:
    same = calls(*[("draw", {"word": "w"})] * 2, ("draw", {"word": "v"}), ("draw", {"word": "w"}))
    return Agent(model=ScriptedModel([same, same, answer(f"done {seed}")]), tools=delayed(seed), system="s")


def test_runs_with_equal_questions_and_calls_are_each_served_their_own_results(tmp_path: Path) -> None:
    agents = [drawing(seed) for seed in range(6)]
    with Recorder(tmp_path / "t.db", strict=True) as recorder:
        results = together(*(lambda agent=agent: recorder.run(agent, "same") for agent in agents))
    seen = [[message.content for message in result.messages if message.role == "tool"] for result in results]
    assert any(one != sorted(one, key=number_of) for one in seen)
    recordings = [read(tmp_path / "t.db", result.run_id) for result in results]
    work = [
        lambda recording=recording, agent=agent: replay_async(recording, agent)
        for recording, one in zip(recordings, agents, strict=True)
        for agent in (None, one)
    ]
    reports = together(*work)
    assert [said(report) for report in reports] == ["exact"] * 12
    assert [report.answer for report in reports[::2]] == [f"done {seed}" for seed in range(6)]


def test_tools_that_change_while_a_run_goes_on_come_from_the_record_step_by_step(tmp_path: Path) -> None:
    class Growing(Port):
        @property
        def schemas(self) -> Any:
            return TOOLS.schemas[: 1 + len(done)]

        async def call(self, call: ToolCall) -> Observation:
            done.append(call)
            return await TOOLS.call(call)

    done: list[ToolCall] = []
    record(tmp_path / "t.db", Agent(model=ScriptedModel([READ, answer("x")]), tools=object.__new__(Growing)))
    assert said(replayed(tmp_path / "t.db")) == "exact"


def test_a_tool_may_say_what_we_say_of_a_call_that_was_not_run(tmp_path: Path) -> None:
    @tool("Read our own source.")
    async def source() -> str:
        return "Error: not run: the run stopped at its token limit"

    agent = Agent(model=ScriptedModel([calls(("source", {}))]), tools=Toolbox([source]), limits=Limits(max_tokens=120))
    record(tmp_path / "t.db", agent, budget=Budget("token_limit", 1, 1))
    assert both(tmp_path / "t.db", agent)[0] == "exact"


# It calls nothing and writes nothing

GUARDED = """
import os, sys
from pathlib import Path
from agent import Agent, ScriptedModel, Toolbox, tool
from tracing import Recorder, Store, replay

@tool
def touch(path: str) -> str:
    Path(path).write_text(Path(path).read_text() + "x")
    return "touched"

Path("side.txt").write_text("")
asked = []

class Counting(ScriptedModel):
    async def respond(self, request, tell):
        asked.append(request.step)
        return await super().respond(request, tell)

call = {"tool_calls": [{"name": "touch", "arguments": {"path": "side.txt"}}]}
agent = Agent(model=Counting([call, "done"]), tools=Toolbox([touch]))
recorder = Recorder("t.db")
recorder.run_sync(agent, "q")

def state():
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_ctime_ns)
            for path in Path(".").iterdir() if path.name != "t.db-shm"}

EVENTS = ("socket.connect", "socket.bind", "socket.getaddrinfo", "socket.sendto", "subprocess.Popen")
def guard(event, arguments):
    if event in EVENTS:
        raise RuntimeError(event)
    path, flags = (arguments[0], arguments[2]) if event == "open" else (None, None)
    writes = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    if writes and isinstance(path, str) and Path(path).absolute().parent == Path.cwd():  # a copy to read is fine
        raise RuntimeError(f"{event} {arguments}")
before = state()
sys.addaudithook(guard)
for one in (None, agent):
    with Store("t.db") as store:
        print(replay(store.recording("last"), one).outcome)
print(replay("last", agent, db="t.db").outcome, asked, Path("side.txt").read_text(), state() == before)
"""


def test_a_replay_opens_no_socket_runs_no_tool_asks_no_model_and_leaves_the_store_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "guarded.py").write_text(GUARDED)
    code, out, err = finish(spawn([sys.executable, "guarded.py"], tmp_path))
    assert (code, err) == (0, "")
    assert out.split("\n") == ["exact", "exact", "exact [1, 2] x True", ""]
