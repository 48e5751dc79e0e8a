"""Runs that end badly: killed, left, interrupted, terminated. What was finished is in the file, the rest is shown."""

import json
import signal
import sqlite3
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.processes import PRELUDE, finish, rows, spawn, start, wait_for_row
from tracing import Store, open_store, replay
from tracing.checking import check
from viewer.cli import cli

OPEN_CALL = "select 1 from tool_calls where tool like 'hang%'"
RECORDED = """
with Recorder("t.db") as recorder:
    recorder.run_sync({agent}, "q")
"""


def shown(path: Path, *arguments: str) -> str:
    result = CliRunner().invoke(cli, ["--db", str(path), "show", *arguments])
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout


@pytest.mark.parametrize("tool", ["hang", "hang_async"])
def test_after_a_kill_the_finished_steps_and_the_open_call_are_shown(tmp_path: Path, tool: str) -> None:
    process = start(tmp_path, RECORDED.format(agent=f'agent("quick", "{tool}")'))
    wait_for_row(tmp_path / "t.db", OPEN_CALL)
    process.kill()
    finish(process)
    before = {path.name: path.read_bytes() for path in tmp_path.glob("t.db*") if not path.name.endswith("-shm")}
    screen = shown(tmp_path / "t.db")
    assert "interrupted" in screen.splitlines()[0]
    assert 'quick(text="ab")' in screen
    assert "ababab" in screen
    assert f'{tool}(text="ab")' in screen
    assert "open when the process ended" in screen
    row = json.loads(shown(tmp_path / "t.db", "--json"))
    assert (row["run"]["status"], row["run"]["alive"], row["run"]["steps"]) == ("interrupted", False, 2)
    assert before == {path.name: path.read_bytes() for path in tmp_path.glob("t.db*") if not path.name.endswith("-shm")}


@pytest.mark.parametrize(
    ("tool", "code"), [("die", -signal.SIGKILL), ("leave", 7)]
)  # at once, with no time for anything
def test_a_tool_that_kills_its_process_is_seen_with_all_that_came_before(tmp_path: Path, tool: str, code: int) -> None:
    assert finish(start(tmp_path, RECORDED.format(agent=f'agent("quick", "{tool}")')))[0] == code
    calls = rows(tmp_path / "t.db", "select step, tool, result, duration_ms is null from tool_calls order by step")
    assert calls == [(1, "quick", "ababab", 0), (2, tool, None, 1)]


WRAPPING = """
class Then:
    info = Dying.info
    first = ScriptedModel(calling("quick"))
    def __getattr__(self, name):
        return getattr(self.first, name)
    async def respond(self, request, tell):
        return await (self.first if request.step == 1 else Dying()).respond(request, tell)
"""
DERIVED = """
class Then(ScriptedModel):
    def __init__(self):
        super().__init__(calling("quick"))
    async def respond(self, request, tell):
        return await (super() if request.step == 1 else Dying()).respond(request, tell)
"""


@pytest.mark.parametrize("body", [WRAPPING, DERIVED], ids=["wrapping", "derived"])
def test_a_model_that_kills_its_process_has_read_what_the_record_says(tmp_path: Path, body: str) -> None:
    run = RECORDED.format(agent='Agent(name="a", model=Then(), tools=TOOLS)')
    assert finish(start(tmp_path, body + run))[0] == -signal.SIGKILL
    assert rows(tmp_path / "t.db", "select step, result from tool_calls") == [(1, "ababab")]
    assert rows(tmp_path / "t.db", "select step, duration_ms is null from model_calls order by step") == [
        (1, 0),
        (2, 1),
    ]
    result = CliRunner().invoke(cli, ["--db", str(tmp_path / "t.db"), "context", "last:2", "--json"])
    assert json.loads(result.stdout)["messages"][-1]["content"] == "ababab"


def test_a_script_that_leaves_by_sys_exit_or_forgets_a_run_leaves_no_traceback(tmp_path: Path) -> None:
    body = """
async def main():
    recorder = Recorder("t.db")
    await recorder.run(agent("quick", then=["done"]), "q")
    forgotten = asyncio.create_task(recorder.run(agent("hang"), "never awaited"))
    await asyncio.sleep(0.3)
    sys.exit(5)
asyncio.run(main())
"""
    code, _, err = finish(start(tmp_path, body))
    assert (code, err) == (5, "")
    assert rows(tmp_path / "t.db", "select status from runs order by started_at") == [("answered",), ("cancelled",)]


def test_a_daemon_thread_that_still_runs_at_exit_is_shown_as_interrupted(tmp_path: Path) -> None:
    body = """
recorder = Recorder("t.db")
thread = threading.Thread(target=lambda: recorder.run_sync(agent("quick", "hang"), "q"), daemon=True)
thread.start()
time.sleep(0.5)
"""
    code, _, err = finish(start(tmp_path, body))
    assert (code, err) == (0, "")
    assert "interrupted" in shown(tmp_path / "t.db")


AGENTS = """
import asyncio, threading
from agent import Agent, ScriptedModel, Toolbox, tool

@tool
def hang(text: str) -> str:
    threading.Event().wait(60)

@tool
async def hang_async(text: str) -> str:
    await asyncio.sleep(60)

@tool
async def hang_thread(text: str) -> str:
    await asyncio.to_thread(threading.Event().wait, 60)

async def slow(messages):
    await asyncio.sleep(60)

def script(name):
    return ScriptedModel([{"tool_calls": [{"name": name, "arguments": {"text": "ab"}}]}])

hang_sync = Agent(model=script("hang"), tools=Toolbox([hang]))
hang_async_ = Agent(model=script("hang_async"), tools=Toolbox([hang_async]))
hang_thread_ = Agent(model=script("hang_thread"), tools=Toolbox([hang_thread]))
hang_model = Agent(model=slow)
"""


@pytest.mark.parametrize(
    ("which", "number", "code", "word"),
    [
        ("hang_sync", signal.SIGINT, 130, "interrupted"),
        ("hang_async_", signal.SIGINT, 130, "interrupted"),
        ("hang_thread_", signal.SIGINT, 130, "interrupted"),
        ("hang_model", signal.SIGINT, 130, "interrupted"),
        ("hang_sync", signal.SIGTERM, 143, "terminated"),
        ("hang_async_", signal.SIGTERM, 143, "terminated"),
        ("hang_model", signal.SIGTERM, 143, "terminated"),
    ],
)
def test_ctrl_c_and_sigterm_close_the_record_and_print_the_totals(
    tmp_path: Path, which: str, number: signal.Signals, code: int, word: str
) -> None:
    tmp_path.joinpath("mine.py").write_text(AGENTS)
    process = spawn([sys.executable, "-m", "agent", "ask", "q", "--agent", f"mine:{which}", "--db", "t.db"], tmp_path)
    wait_for_row(tmp_path / "t.db", "select 1 from model_calls" if which == "hang_model" else OPEN_CALL)
    time.sleep(0.05)
    process.send_signal(number)
    returned, out, err = finish(process)
    assert (returned, out) == (code, "")
    assert f"{word} after {0 if which == 'hang_model' else 1} step" in err
    assert "Traceback" not in err
    assert rows(tmp_path / "t.db", "select status, stop from runs") == [("cancelled", "cancelled")]
    open_row = "model_calls" if which == "hang_model" else "tool_calls"
    assert rows(tmp_path / "t.db", f"select error from {open_row}") == [("cancelled",)]
    assert "cancelled" in shown(tmp_path / "t.db")


def test_ctrl_c_ends_json_output_with_its_object(tmp_path: Path) -> None:
    tmp_path.joinpath("mine.py").write_text(AGENTS)
    process = spawn(
        [sys.executable, "-m", "agent", "ask", "q", "--agent", "mine:hang_async_", "--db", "t.db", "--json"], tmp_path
    )
    wait_for_row(tmp_path / "t.db", OPEN_CALL)
    process.send_signal(signal.SIGINT)
    returned, out, _ = finish(process)
    said = json.loads(out)
    assert (returned, said["stop"], said["answer"], said["steps"]) == (130, "cancelled", None, 1)
    assert rows(tmp_path / "t.db", "select run_id, stop from runs") == [(said["run_id"], "cancelled")]


@pytest.mark.parametrize(
    ("agent", "where"),
    [
        ('agent("hang")', "tool_calls"),
        ('agent("hang_async")', "tool_calls"),
        ('Agent(name="a", model=Hanging(), tools=TOOLS)', "model_calls"),
    ],
)
def test_a_cancelled_task_ends_its_process_at_once_and_is_recorded_as_cancelled(
    tmp_path: Path, agent: str, where: str
) -> None:
    body = f"""
async def main():
    with Recorder("t.db") as recorder:
        task = asyncio.create_task(recorder.run({agent}, "q"))
        await asyncio.sleep(0.3)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            print("cancelled")
asyncio.run(main())
"""
    assert finish(start(tmp_path, body), seconds=15) == (0, "cancelled\n", "")
    assert rows(tmp_path / "t.db", "select status from runs") == [("cancelled",)]
    assert rows(tmp_path / "t.db", f"select error from {where}") == [("cancelled",)]
    assert "cancelled" in shown(tmp_path / "t.db").splitlines()[0]


def test_several_processes_write_one_file_while_it_is_read(tmp_path: Path) -> None:
    body = """
with Recorder("t.db") as recorder:
    for number in range(25):
        recorder.run_sync(agent("quick", "quick", then=["done"]), f"{os.getpid()} {number}")
"""
    processes = [start(tmp_path, body) for _ in range(4)]
    while any(process.poll() is None for process in processes):
        result = CliRunner().invoke(cli, ["--db", str(tmp_path / "t.db"), "list", "--json"])
        assert result.exit_code == 0 or "no store" in result.stderr or "no trace store yet" in result.stderr
        time.sleep(0.02)
    for process in processes:
        assert finish(process) == (0, "", "")
    found = rows(tmp_path / "t.db", "select count(*), sum(steps), sum(tool_calls), min(status) from runs")
    assert found == [(100, 300, 200, "answered")]
    assert rows(tmp_path / "t.db", "select count(*) from tool_calls where result='ababab'") == [(200,)]


def test_a_forked_child_records_into_the_same_store_through_its_own_connection(tmp_path: Path) -> None:
    body = """
recorder = Recorder("t.db")
recorder.run_sync(agent("quick", then=["parent"]), "q")
child = os.fork()
if child == 0:
    recorder.run_sync(agent("quick", then=["child"]), "q")
    os._exit(0)
os.waitpid(child, 0)
recorder.run_sync(agent("quick", then=["parent again"]), "q")
recorder.close()
"""
    assert finish(start(tmp_path, body)) == (0, "", "")
    answers = rows(tmp_path / "t.db", "select answer from runs order by started_at")
    assert answers == [("parent",), ("child",), ("parent again",)]
    assert rows(tmp_path / "t.db", "select count(distinct pid) from process") == [(2,)]


def test_a_child_loses_nothing_when_its_parent_closes_and_others_write(tmp_path: Path) -> None:
    other = """
with Recorder("t.db") as recorder:
    for number in range(3):
        recorder.run_sync(agent("quick", then=["other"]), "q")
"""
    body = """
import subprocess
recorder = Recorder("t.db")
recorder.run_sync(agent("quick", then=["parent"]), "q")
read, write = os.pipe()
child = os.fork()
if child == 0:
    os.read(read, 1)
    for _ in range(3):
        for number in range(3):
            recorder.run_sync(agent("quick", then=["child"]), "q")
        subprocess.run([sys.executable, "other.py"], check=True)
    recorder.close()
    os._exit(0)
recorder.close()
os.write(write, b"x")
print(os.waitpid(child, 0)[1])
"""
    tmp_path.joinpath("other.py").write_text(PRELUDE + other)
    assert finish(start(tmp_path, body)) == (0, "0\n", "")
    counted = rows(tmp_path / "t.db", "select answer, count(*) from runs group by 1 order by 1")
    assert counted == [("child", 9), ("other", 9), ("parent", 1)]


def test_a_reader_that_was_there_before_sees_what_others_write_after(tmp_path: Path) -> None:
    body = """
with Recorder("t.db") as recorder:
    recorder.run_sync(agent("quick", then=["done"]), "q")
"""
    finish(start(tmp_path, body))
    with Store(tmp_path / "t.db") as early:
        for count in range(2, 5):
            assert finish(start(tmp_path, body)) == (0, "", "")
            with Store(tmp_path / "t.db") as late:
                assert (early.count(), late.count()) == (count, count)


def test_an_interrupt_in_a_notebook_ends_the_run_before_it_goes_on(tmp_path: Path) -> None:
    body = """
async def notebook():
    recorder = Recorder("t.db")
    try:
        recorder.run_sync(agent("hang_async"), "q")
    except KeyboardInterrupt:
        print("interrupted")
asyncio.new_event_loop().run_until_complete(notebook())  # as Jupyter: without asyncio.run's own handler of SIGINT
"""
    process = start(tmp_path, "signal.signal(signal.SIGINT, signal.default_int_handler)" + body)
    wait_for_row(tmp_path / "t.db", OPEN_CALL)
    process.send_signal(signal.SIGINT)
    _, out, _ = finish(process)
    assert out == "interrupted\n"
    assert rows(tmp_path / "t.db", "select status from runs") == [("cancelled",)]


def test_a_full_disk_leaves_the_answer_and_says_what_was_lost(tmp_path: Path) -> None:
    body = """
import resource
recorder = Recorder("t.db")
recorder.run_sync(agent("quick", then=["small"]), "q")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
result = recorder.run_sync(Agent(model=ScriptedModel(["x" * 500_000])), "large")
print(len(result.answer))
recorder.close()
"""
    code, out, err = finish(start(tmp_path, body))
    assert (code, out) == (0, "500000\n")
    assert "cannot be written" in err
    assert "lost" in err
    assert "Traceback" not in err
    connection = sqlite3.connect(tmp_path / "t.db")
    assert connection.execute("pragma integrity_check").fetchone() == ("ok",)
    connection.close()


AS_NOBODY = """
from pathlib import Path
with Recorder("other.db") as recorder:  # loads what nobody might not be allowed to read later
    recorder.run_sync(agent("quick", then=["done"]), "q")
with Recorder("t.db") as recorder:
    recorder.run_sync(agent("quick", then=["done"]), "q")
import warnings, tracing.store
os.chmod("t.db", 0o444)
os.mkdir("private", 0o700)
if os.getuid() == 0:
    os.seteuid(65534)
else:
    os.chmod("private", 0)
for path in ("t.db", "private/t.db", "x" * 300, "a\\0b", "a\\udcffb" * 200, ":memory:"):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with Recorder(path) as recorder:
            print(recorder.run_sync(agent("quick", then=["done"]), "q").run_id, len(caught))
if os.getuid() == 0:
    os.seteuid(0)
else:
    os.chmod("private", 0o700)
print(sorted(path.name for path in Path(".").glob("t.db*")))
"""


def test_a_store_that_may_not_be_written_or_reached_is_one_warning_and_an_answer(tmp_path: Path) -> None:
    code, out, err = finish(start(tmp_path, AS_NOBODY))
    assert (code, err) == (0, "")
    assert out == "None 1\n" * 6 + "['t.db']\n"


FORKING = """
import warnings
warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 has a word to say about forks beside threads

@tool
def forking(text: str) -> str:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return text
TOOLS = Toolbox([quick, forking])
"""


def test_threads_that_fork_at_the_same_time_do_not_wait_for_each_other(tmp_path: Path) -> None:
    body = """
call = {"name": "forking", "arguments": {"text": "x"}}
with Recorder("t.db") as recorder, Recorder("u.db") as other:
    for number in range(15):
        for one in (recorder, other):
            four = ScriptedModel([{"tool_calls": [call] * 4}, "done"])
            one.run_sync(Agent(model=four, tools=TOOLS), "q")
"""
    assert finish(start(tmp_path, FORKING + body), seconds=60) == (0, "", "")
    for name in ("t.db", "u.db"):
        assert rows(tmp_path / name, "select count(*), min(status), sum(tool_calls) from runs") == [
            (15, "answered", 60)
        ]


def test_what_a_forked_child_adds_to_a_run_stands_beside_what_its_parent_does(tmp_path: Path) -> None:
    body = """
import warnings
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
trace.set_tracer_provider(TracerProvider())
warnings.simplefilter("ignore", DeprecationWarning)

@tool
def forking(text: str) -> str:
    child = os.fork()
    if child == 0:
        for name in ("first", "second"):
            with trace.get_tracer("child").start_as_current_span(name):
                pass
        os._exit(0)
    os.waitpid(child, 0)
    return text
TOOLS = Toolbox([quick, forking])
"""
    run = RECORDED.format(agent='agent("forking", "quick", "forking", then=["bye"])')
    assert finish(start(tmp_path, body + run)) == (0, "", "")
    assert rows(tmp_path / "t.db", "select steps, tool_calls from runs") == [(4, 3)]
    assert rows(tmp_path / "t.db", "select count(*) from model_calls") == [(4,)]
    query = (
        "select s.name, t.step, t.tool from spans s join tool_calls t on t.span_id=s.parent_id order by s.started_at"
    )
    names = [("first", 1, "forking"), ("second", 1, "forking"), ("first", 3, "forking"), ("second", 3, "forking")]
    assert rows(tmp_path / "t.db", query) == names
    with open_store(tmp_path / "t.db") as store:
        assert check(store, hashes=True) == []
        assert replay(store.recording()).outcome == "exact"


def test_a_file_that_is_busy_after_a_fork_delays_nothing_and_loses_nothing(tmp_path: Path) -> None:
    body = """
recorder = Recorder("t.db")
holding = sqlite3.connect("t.db", isolation_level=None, check_same_thread=False)
holding.execute("begin immediate")
print(recorder.run_sync(agent("forking", "quick", then=["bye"]), "q").answer)
holding.execute("rollback")
holding.close()
recorder.close()
"""
    assert finish(start(tmp_path, "import sqlite3" + FORKING + body), seconds=9) == (0, "bye\n", "")
    assert rows(tmp_path / "t.db", "select status, tool_calls from runs") == [("answered", 2)]


def test_what_was_written_through_a_link_is_read_through_it_after_a_kill(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "t.db").symlink_to(tmp_path / "real" / "traces.db")
    assert finish(start(tmp_path, RECORDED.format(agent='agent("quick", "die")')))[0] == -signal.SIGKILL
    assert "interrupted" in shown(tmp_path / "t.db").splitlines()[0]
    with Store(tmp_path / "t.db") as linked, Store(tmp_path / "real" / "traces.db") as real:
        assert linked.tool_calls(linked.find("last")) == real.tool_calls(real.find("last"))


@pytest.mark.parametrize("after", ["answer", "tool"])
def test_another_task_that_kills_the_process_finds_all_that_was_finished_in_the_file(
    tmp_path: Path, after: str
) -> None:
    """Where several calls follow an answer, or end, the event loop may run anything before the next fact."""
    body = """
def call(name):
    return {"name": name, "arguments": {"text": "ab"}}
async def kill(when):
    await when.wait()
    os.kill(os.getpid(), signal.SIGKILL)
async def main(after):
    answered, returned = asyncio.Event(), asyncio.Event()
    @tool
    async def last(text: str) -> str:
        returned.set()
        return text
    async def model(messages):
        answered.set()
        return {"content": None, "tool_calls": [
            {"id": name, "function": {"name": name, "arguments": '{"text": "ab"}'}} for name in ("last", "last")]}
    killer = asyncio.create_task(kill(answered if after == "answer" else returned))
    await asyncio.sleep(0)
    await Recorder("t.db").run(Agent(model=model, tools=Toolbox([last])), "q")
"""
    code, _, _ = finish(start(tmp_path, f"{body}\nasyncio.run(main({after!r}))"))
    assert code == -signal.SIGKILL
    assert rows(tmp_path / "t.db", "select count(*) from model_calls where duration_ms is not null") == [(1,)]
    if after == "tool":
        assert rows(tmp_path / "t.db", "select count(*) from tool_calls where result = 'ab'") == [(2,)]


@pytest.mark.parametrize(
    ("name", "when", "found"),
    [
        ("chat scripted", "on_end", [(1, None, None)]),
        ("execute_tool quick", "on_start", [(1, None, None)]),
        ("execute_tool quick", "on_end", [(1, "quick", "ababab")]),
    ],
)
def test_a_span_processor_that_kills_the_process_finds_all_that_was_finished_in_the_file(
    tmp_path: Path, name: str, when: str, found: list[tuple[object, ...]]
) -> None:
    body = f"""
from opentelemetry.sdk.trace import SpanProcessor
class Killing(SpanProcessor):
    def {when}(self, span, **context):
        if span.name == {name!r}:
            os.kill(os.getpid(), signal.SIGKILL)
with Recorder("t.db", span_processors=[Killing()]) as recorder:
    recorder.run_sync(agent("quick", then=["bye"]), "q")
"""
    assert finish(start(tmp_path, body))[0] == -signal.SIGKILL
    query = (
        "select count(m.duration_ms), t.tool, t.result from model_calls m left join tool_calls t using(run_id, step)"
    )
    assert rows(tmp_path / "t.db", query) == found


def test_a_run_whose_coroutine_is_closed_from_elsewhere_is_cancelled_without_a_traceback(tmp_path: Path) -> None:
    body = """
recorder = Recorder("t.db")
loop = asyncio.new_event_loop()
coroutine = recorder.run(agent("hang_async"), "q")
task = loop.create_task(coroutine)
loop.run_until_complete(asyncio.sleep(0.2))
import contextvars
contextvars.Context().run(coroutine.close)
recorder.close()
os._exit(0)
"""
    assert finish(start(tmp_path, body)) == (0, "", "")
    assert rows(tmp_path / "t.db", "select status, error from runs") == [("cancelled", None)]
    assert rows(tmp_path / "t.db", "select error from tool_calls") == [("cancelled",)]


def test_a_run_goes_on_in_its_history_after_a_fork(tmp_path: Path) -> None:
    run = RECORDED.format(agent='agent("quick", "forking", "quick", "forking", then=["bye"])')
    assert finish(start(tmp_path, FORKING + run))[0] == 0
    assert rows(tmp_path / "t.db", "select count(*), count(distinct hash), max(depth)+1 from message") == [(10, 10, 10)]
    with open_store(tmp_path / "t.db") as store:
        assert [one for one in check(store, hashes=True) if one.is_fault] == []
        assert replay(store.recording()).outcome == "exact"
