"""The recorded runs of `data/runs`: the regression corpus, that every later version must replay exactly.

A file is made once and then kept as it is; a new behaviour gets a new one:

    uv run python -m tests.make_runs            # makes those that are not there yet
"""

import asyncio
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent import Agent, Limits, ModelError, OpenAIModel, ScriptedModel, Toolbox, tool
from agent.loading import docs_agent
from agent.values import Stop, Totals
from tests.model_server import call, completion, delta, model_server
from tests.runs import LONG, SpreadIds, answer, calls
from tracing import FixedClock, Recorder, Store, fork
from tracing.bundles import export_lines
from tracing.file import open_writing

RUNS = Path(__file__).parent.parent / "data" / "runs"
SECRET = "ghp_" + "4fX9bQ2m" * 5  # the shape of a key, and nobody's


@tool("Read a page of the handbook.", page="its name")
async def read_page(page: str) -> str:
    if page == "missing":
        raise FileNotFoundError(f"there is no page {page!r}")
    return LONG if page == "long" else f"the page {page}: 日本語 ok"


@tool("Add two numbers.", a="the first", b="the second")
async def add(a: int, b: int = 1) -> int:
    return a + b


TOOLS = Toolbox([read_page, add])


def scripted(*responses: Any, **options: Any) -> Agent:
    agent = Agent(name="handbook", model=ScriptedModel(responses), tools=TOOLS, system="Use the handbook.")
    return replace(agent, **options)


async def plain(recorder: Recorder) -> None:
    await recorder.run(scripted(answer("Four.")), "How many kinds of timeout are there?")


async def settings(recorder: Recorder) -> None:
    agent = scripted(calls(("add", {"a": 3})), answer("4"), settings={"temperature": 0, "seed": 7}, system=None)
    await recorder.run(agent, "3 + 1?", tags=["sums"], metadata={"user": "ada"}, version="1.2")


async def parallel(recorder: Recorder) -> None:
    """The second call is answered before the first, and both are the same call."""
    gate, seen = asyncio.Event(), []

    @tool("Look a word up.", word="the word")
    async def look(word: str) -> str:
        seen.append(word)
        number = len(seen)
        if number == 1:
            await gate.wait()
        gate.set()
        return f"meaning {number} of {word}"

    asked = calls(("look", {"word": "a"}), ("look", {"word": "a"}), ("look", {"word": "b"}))
    agent = scripted(asked, calls(("look", {"word": "a"})), answer("done"), tools=Toolbox([look]))
    await recorder.run(agent, "What is a?")


async def truncated(recorder: Recorder) -> None:
    docs, _ = docs_agent(None)
    reading = calls(("read_doc", {"path": "advanced/timeouts.md", "start": 1, "end": 200}))
    agent = replace(docs, model=ScriptedModel([reading, calls(("read_page", {"page": "long"})), answer("Cut.")]))
    await recorder.run(agent, "What is in the timeouts page?")
    await recorder.run(scripted(calls(("read_page", {"page": "long"})), answer("Long.")), "And the long page?")


async def tool_errors(recorder: Recorder) -> None:
    broken = {"content": None, "tool_calls": [
        call("add", '{"a": 3,', "b1"), call("add", "[1]", "b2"), call("add", "", "b3"), call("add", '{"a":"x"}', "b4"),
        call("search web!", "{}", "b5"), call("add", '{"a": 1}{"a": 2}', None), call("add", "null", "b1"),
    ]}  # fmt: skip
    await recorder.run(
        scripted(broken, calls(("read_page", {"page": "missing"})), answer("Nothing worked.")), "Try everything."
    )


async def model_error(recorder: Recorder) -> None:
    class RateLimitError(Exception):
        pass

    agent = scripted(calls(("add", {"a": 1})), RateLimitError("429: slow down"))
    try:
        await recorder.run(agent, "Will it hold?")
    except ModelError:
        return
    raise AssertionError


async def limits(recorder: Recorder) -> None:
    """One run for each limit; time and cost are hit in the middle of a step, and before one."""
    loop = [calls(("add", {"a": number})) for number in range(9)]
    await recorder.run(scripted(*loop, limits=Limits(max_steps=3)), "Steps?")
    await recorder.run(scripted(*loop, limits=Limits(max_tokens=300)), "Tokens?")

    class After:
        def __init__(self, stop: Stop, steps: int, tool_calls: int) -> None:
            self._stop, self._steps, self._calls = stop, steps, tool_calls

        def stop(self, totals: Totals) -> Stop | None:
            return self._stop if (totals.steps, totals.tool_calls) >= (self._steps, self._calls) else None

    await recorder.run(scripted(*loop), "Time, with a call pending?", budget=After("time_limit", 2, 1))
    await recorder.run(scripted(*loop), "Time, before a request?", budget=After("time_limit", 2, 2))
    await recorder.run(scripted(*loop), "Cost?", budget=After("cost_limit", 1, 1))


async def refusals(recorder: Recorder) -> None:
    await recorder.run(scripted({"content": None, "refusal": "I cannot help with that."}), "Do harm.")
    await recorder.run(scripted({"content": None, "finish_reason": "content_filter"}), "Say it.")
    await recorder.run(scripted({"content": "", "tool_calls": [], "finish_reason": "tool_calls"}), "Say nothing.")


async def cut_calls(recorder: Recorder) -> None:
    cut = {"content": None, "tool_calls": [call("add", '{"a', "c1")], "finish_reason": "length"}
    await recorder.run(scripted(cut, calls(("add", {"a": 1, "b": 2})), answer("3")), "Was it cut?")


async def cut_answers(recorder: Recorder) -> None:
    await recorder.run(scripted({"content": "", "finish_reason": "length"}), "Did it think too long?")
    await recorder.run(scripted({"content": "half an", "finish_reason": "length"}), "Did it say too much?")


async def unicode(recorder: Recorder) -> None:
    odd = 'é😀 \u202e \x1b[31m "quoted" \\ [/red] 👩\u200d👩\u200d👧 \ud83d \0 end'

    @tool("Say it back.", text="what")
    async def echo(text: str) -> str:
        return text * 2 + "\udc00"

    agent = scripted(
        {"content": odd, "tool_calls": [{"name": "echo", "arguments": {"text": odd}}]},
        {"content": f"answer: {odd}", "reasoning_content": odd},
        tools=Toolbox([echo]),
        system=odd,
    )
    await recorder.run(agent, f"say {odd}")


async def session(recorder: Recorder) -> None:
    """Three turns; what an answer holds beside its text goes on into the next."""
    history: Sequence[Any] = ()
    turns = [
        [{**calls(("add", {"a": 1})), "reasoning_content": "I add."}, answer("2")],
        [answer("As I said: 2.")],
        [calls(("add", {"a": 2, "b": 2})), answer("4")],
    ]
    for number, responses in enumerate(turns):
        result = await recorder.run(scripted(*responses), f"turn {number + 1}", history=history, session="s1")
        history = result.messages


async def nested(recorder: Recorder) -> None:
    """A tool that runs an agent of its own, in the same recorder."""

    @tool("Ask the expert.", question="what")
    async def expert(question: str) -> str:
        inner = scripted(calls(("add", {"a": 20, "b": 22})), answer("42"), name="expert")
        return (await recorder.run(inner, question)).answer or ""

    outer = scripted(calls(("expert", {"question": "the number?"})), answer("It is 42."), tools=Toolbox([expert]))
    await recorder.run(outer, "Which number?")


async def served(recorder: Recorder) -> None:
    """From an OpenAI-compatible server: in one piece, streamed, and with an attempt that failed."""
    asked = completion(None, [call("add", '{"a": 3, "b": 4}', "call_abc")], service_tier="default")
    with model_server([asked, completion("7")]) as server:
        model = OpenAIModel("m", base_url=server.url, api_key="none")
        await recorder.run(scripted(model=model), "3 + 4, in one piece?")
    first = {"index": 0, "id": "call_s", "type": "function", "function": {"name": "add", "arguments": '{"a": '}}
    streamed = [
        delta(role="assistant", content=None), delta(tool_calls=[first]),
        delta(tool_calls=[{"index": 0, "function": {"arguments": "1}"}}]), delta("tool_calls"),
        {"choices": [], "model": "m-2026", "usage": {"prompt_tokens": 12, "completion_tokens": 5}},
    ]  # fmt: skip
    from tests.model_server import Reply

    text = [delta(role="assistant", content=""), delta(content="It is "), delta(content="2."), delta("stop")]
    broken = Reply(events=[delta(content="It")], done=False)
    with model_server([Reply(events=streamed), broken, Reply(events=text)]) as server:
        from agent import Retries

        model = OpenAIModel(
            "m", base_url=server.url, api_key="none", stream=True, retries=Retries(attempts=3, first_wait=0)
        )
        await recorder.run(scripted(model=model), "1 + 1, streamed?")


async def redacted(recorder: Recorder) -> None:
    """A key in the question, in the arguments, and in a result, across the place where that is cut."""

    @tool("Read the log.", token="whose")
    async def read_log(token: str) -> str:
        return "entry " * 488 + f"{SECRET} and more " + "entry " * 90

    agent = scripted(calls(("read_log", {"token": SECRET})), answer(f"It says {SECRET}."), tools=Toolbox([read_log]))
    await recorder.run(agent, f"What does the log of {SECRET} say?")


async def forked(recorder: Recorder) -> None:
    script = [calls(("add", {"a": 1})), calls(("add", {"a": 2}), ("add", {"a": 3})), answer("2, 3 and 4")]
    first = await recorder.run(scripted(*script), "Count.")
    recorder.flush()
    with Store(recorder.path) as store:
        recording = store.recording(first.run_id or "")
    other = scripted(*script[:2], answer("and now 2, 3, 99"))
    second = await fork(recording, other, 3, recorder, results={(2, 2): "99"})
    recorder.flush()
    with Store(recorder.path) as store:
        recording = store.recording(second.run_id or "")
    await fork(recording, scripted(*script), 2, recorder, system="Count anew.")


async def cancelled(recorder: Recorder) -> None:
    """In a tool, and in the model."""
    started = asyncio.Event()

    @tool("Wait.")
    async def wait() -> str:
        started.set()
        await asyncio.sleep(3600)
        return "never"

    class Silent:
        info = ScriptedModel([]).info

        async def respond(self, request: Any, tell: Any) -> Any:
            started.set()
            await asyncio.sleep(3600)

    both = scripted(calls(("add", {"a": 1}), ("wait", {})), tools=Toolbox([add, wait]))
    for agent, question in ((both, "Wait for it."), (scripted(model=Silent()), "Anybody there?")):
        task = asyncio.ensure_future(recorder.run(agent, question))
        await started.wait()
        for _ in range(20):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        started.clear()


async def repeated(recorder: Recorder) -> None:
    """The same call again and again, told so from the third time on, with another result each time."""
    count = iter(range(1, 9))

    @tool("What time is it?")
    async def clock() -> str:
        return f"12:0{next(count)}"

    agent = scripted(*[calls(("clock", {})) for _ in range(4)], answer("12:04"), tools=Toolbox([clock]))
    await recorder.run(agent, "What time is it?")


async def keyword(recorder: Recorder) -> None:
    agent, _ = docs_agent(None)
    await recorder.run(agent, "How many kinds of timeout does httpx have, and what does each control?")


KINDS: tuple[Callable[[Recorder], Any], ...] = (
    plain, settings, parallel, truncated, tool_errors, model_error, limits, refusals, cut_calls, cut_answers, unicode, session,
    nested, served, redacted, forked, cancelled, repeated, keyword,
)  # fmt: skip


def make(kind: Callable[[Recorder], Any]) -> str:
    """The bundle of one kind of run."""
    with tempfile.TemporaryDirectory() as folder:
        db = Path(folder, "runs.db")
        with Recorder(db, clock=FixedClock(), ids=SpreadIds(), strict=True) as recorder:
            asyncio.run(kind(recorder))
        connection = open_writing(db)
        connection.execute("update process set host='', pid=0, born='', started_ns=0, ended_ns=0")  # of no machine
        ids = [row[0] for row in connection.execute("select run_id from run order by start_ns, run_id")]
        text = "".join(export_lines(connection, ids))
        connection.close()
    return text


def main() -> None:
    RUNS.mkdir(exist_ok=True)
    for kind in KINDS:
        path = RUNS / f"{kind.__name__}.jsonl"
        if not path.exists():
            path.write_text(make(kind), encoding="utf-8", newline="\n")
            print(path.name, file=sys.stderr)


if __name__ == "__main__":
    main()
