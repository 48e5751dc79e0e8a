"""viewer test: a run becomes a test that a person would have written; and the plugin that runs it."""

import ast
import re
import socket
import sys
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any

import pytest

from agent import Agent, ScriptedModel, Toolbox, tool
from tests.processes import finish, spawn
from tests.runs import HOSTILE, SAMPLE, SpreadIds, answer, calls, invoke, recording, unsafe_in
from tracing import Recorder, Store, replay
from tracing.portable import portable
from viewer.testing.authoring import behaviour_test, exact_test, name_of
from viewer.testing.kept import KeptTests

BOT = """
from agent import Agent, Toolbox, tool

@tool("Look a word up.", word="the word")
def look(word: str) -> str:
    return f"{word} means {word[::-1]}"

def model(messages):
    if messages[-1]["role"] == "user":
        call = {"id": "c1", "function": {"name": "look", "arguments": '{"word": "abc"}'}}
        return {"content": None, "tool_calls": [call]}
    return {"content": "It is: " + messages[-1]["content"]}

support = Agent(name="support", model=model, tools=Toolbox([look]), system="Be brief.")
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project of a user's own, with a recorded run."""
    (tmp_path / "bot.py").write_text(BOT)
    code, out, err = finish(run(tmp_path, "agent", "ask", "--quiet", "--agent", "bot:support", "What is abc?"))
    assert (code, out, err) == (0, "It is: abc means cba\n", "")
    return tmp_path


def run(folder: Path, *command: str, **env: str) -> Any:
    return spawn([sys.executable, "-m", *command], folder, **env)


def pytest_in(folder: Path, *arguments: str, installed: bool = False) -> tuple[int, str]:
    """Exit code and output of pytest: with all plugins that are `installed`, or, which is quicker, with ours alone."""
    command = ["pytest", "-q", "-p", "no:cacheprovider", *arguments]
    if installed:
        process = run(folder, *command, "-p", "no:randomly")
    else:
        process = run(folder, *command, "-p", "pytest_playhead", PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    code, out, _ = finish(process)
    return code, out


def test_a_run_becomes_a_test_that_passes_and_fails_when_the_prompt_changes(project: Path) -> None:
    code, out, err = finish(run(project, "viewer", "test", "last", "-o", "tests_out"))
    assert (code, out) == (0, "tests_out/test_what_is_abc.py\ntests_out/what_is_abc.jsonl\n")
    assert err == "next: pytest tests_out\n"
    text = (project / "tests_out" / "test_what_is_abc.py").read_text()
    assert text.endswith('def test_what_is_abc(playhead):\n    playhead.replay("what_is_abc.jsonl", "bot:support")\n')
    assert pytest_in(project, "tests_out", installed=True)[0] == 0
    before = (project / "tests_out" / "what_is_abc.jsonl").read_bytes()
    (project / "bot.py").write_text(BOT.replace("Be brief.", "Be long."))
    code, out = pytest_in(project, "tests_out")
    assert code == 1
    assert "at step 1, the system prompt is not the recorded one\n  - Be brief.\n  + Be long.\n" in out
    assert "Traceback" not in out
    assert pytest_in(project, "tests_out", "--playhead-update")[0] == 0
    after = (project / "tests_out" / "what_is_abc.jsonl").read_bytes()
    assert (after != before, pytest_in(project, "tests_out")[0]) == (True, 0)


def test_a_behaviour_is_the_calls_the_stop_and_the_gist_of_the_answer(project: Path) -> None:
    out = ("viewer", "test", "last", "-o", "tests_out", "--form", "behaviour")
    assert finish(run(project, *out))[0] == 0
    text = (project / "tests_out" / "test_what_is_abc.py").read_text()
    assert text.partition("(playhead):\n")[2] == (
        '    run = playhead.run("what_is_abc.jsonl", "bot:support")\n'
        "    assert run.calls == [\n"
        '        ("look", {"word": "abc"}),\n'
        "    ]\n"
        "    assert run.errors == []\n"
        '    assert run.stop == "answered"\n'
        '    assert run.says("It is: abc means cba")\n'
    )
    (project / "bot.py").write_text(BOT.replace("Be brief.", "Be long."))
    assert pytest_in(project, "tests_out")[0] == 0  # it is not about the prompt
    (project / "bot.py").write_text(BOT.replace("def look(word: str)", "def look(word: int)"))
    code, shown = pytest_in(project, "tests_out")
    assert (code, "bad_arguments" in shown) == (1, True)


def test_the_agent_may_stand_in_the_pyproject_and_pytest_be_called_from_elsewhere(project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.playhead]\nagent = "bot:support"\n')
    assert finish(run(project, "viewer", "test", "-o", "tests_out", "--name", "abc"))[0] == 0
    (project / "elsewhere").mkdir()
    assert pytest_in(project / "elsewhere", "../tests_out")[0] == 0


def test_an_agent_in_a_folder_of_a_larger_project_is_found_above_its_test(project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.pytest.ini_options]\naddopts = "-q"\n')
    desk = project / "desk"
    desk.mkdir()
    (project / "bot.py").rename(desk / "bot.py")
    db = str(project / "traces.db")
    code, _, _ = finish(run(desk, "viewer", "test", "last", "--db", db, "--agent", "bot:support", "-o", "kept"))
    assert (code, pytest_in(desk, "kept")[0], pytest_in(project, "desk/kept")[0]) == (0, 0, 0)


def test_no_test_is_written_that_would_fail_from_the_start(project: Path) -> None:
    (project / "other.py").write_text(BOT.replace("Be brief.", "Be long."))
    code, out, err = finish(run(project, "viewer", "test", "-o", "tests_out", "--agent", "other:support"))
    assert (code, out) == (3, "")
    assert "the system prompt is not the recorded one" in err
    assert err.endswith("viewer: no test is written: it would fail from the start\n")
    assert not (project / "tests_out").exists()


def test_a_file_that_is_there_is_not_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with recording(tmp_path / "traces.db", ids=SpreadIds()) as tape:
        tape.run("Same?", answer("yes"))
    assert invoke("test", "-o", "t").exit_code == 0
    result = invoke("test", "-o", "t")
    assert result.exit_code == 1
    assert "t/test_same.py is there already: give another --name, or --force" in result.stderr
    assert invoke("test", "-o", "t", "--name", "other").exit_code == 0
    assert invoke("test", "-o", "t", "--force").exit_code == 0
    assert invoke("test", "-o", "t", "--name", "no name").exit_code == 2
    assert invoke("test", "-o", "t", "--form", "behaviour").exit_code == 2


# What is written


@pytest.mark.parametrize(
    "question",
    ['"""\nimport os\nos._exit(3)\n"""', "\\", 'say "x"\\', "{}%s", HOSTILE, "'" * 7, "\ud83d\0", "x" * 5000, "日本語"],
)
def test_whatever_was_asked_the_module_is_python_and_does_nothing(tmp_path: Path, question: str) -> None:
    odd = calls(("read_doc", {"path": question}))
    with recording(tmp_path / "t.db", ids=SpreadIds()) as tape:
        run_id = tape.run(question, odd, answer(question))
    with Store(tmp_path / "t.db") as store:
        recorded = store.recording(run_id)
    name = name_of(recorded)
    assert re.fullmatch("[a-z0-9_]{1,60}", name)
    for text in (
        exact_test(recorded, name, PurePath("x.jsonl"), None),
        behaviour_test(recorded, name, PurePath("x.jsonl"), "bot:support"),
    ):
        document, function = ast.parse(text).body
        assert isinstance(document, ast.Expr)
        assert isinstance(function, ast.FunctionDef)
        text.encode()
    (calls_,) = [node for node in ast.walk(function) if isinstance(node, ast.List) and node.elts]
    assert ast.literal_eval(calls_) == [("read_doc", {"path": question})]


# The recording


@tool("Read a document.")
def read_doc(path: str) -> str:
    return f"the text of {path}"


def agent(*script: Any, **fields: Any) -> Agent:
    return Agent(**{"name": "docs", "model": ScriptedModel(script), "tools": Toolbox([read_doc]), **fields})


def test_a_recording_is_the_same_bytes_for_the_same_run_and_holds_nothing_of_day_and_place(tmp_path: Path) -> None:
    texts = []
    for number in range(2):
        db = tmp_path / f"{number}.db"
        with Recorder(db, strict=True) as recorder:
            labels: dict[str, Any] = {"session": f"s{number}", "tags": [f"t{number}"], "metadata": {"n": number}}
            run_id = recorder.run_sync(agent(*SAMPLE[1:], system="Look."), "q", **labels).run_id
        with Store(db) as store:
            texts.append(portable(store, run_id or ""))
    assert texts[0] == texts[1]
    assert socket.gethostname() not in texts[0]


@pytest.mark.parametrize(
    "script", [SAMPLE, [calls(("read_doc", {"path": "a"})), ValueError("no")], [{"content": None, "refusal": "no"}]]
)
def test_a_recording_replays_as_the_run_does(tmp_path: Path, script: Any) -> None:
    with recording(tmp_path / "t.db", ids=SpreadIds()) as tape:
        run_id = tape.run("q", *script, system="Look.")
    with Store(tmp_path / "t.db") as store:
        (tmp_path / "kept.jsonl").write_text(portable(store, run_id), encoding="utf-8")
    assert replay(str(tmp_path / "kept.jsonl")).is_exact


# The fixture


def kept(folder: Path, *, update: bool = False) -> KeptTests:
    return KeptTests(folder, folder, update=update)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with recording(tmp_path / "t.db", ids=SpreadIds()) as tape:
        run_id = tape.run("q", calls(("read_doc", {"path": "a"})), answer("x"), tools=agent().tools, system="Look.")
    with Store(tmp_path / "t.db") as store:
        (tmp_path / "q.jsonl").write_text(portable(store, run_id), encoding="utf-8")
    return tmp_path


OURS = agent(calls(("read_doc", {"path": "a"})), answer("x"), system="Look.")


def test_the_fixture_takes_an_agent_itself(folder: Path) -> None:
    assert kept(folder).replay("q.jsonl", OURS, ignore=(), tools="live").is_exact
    behaviour = kept(folder).run("q.jsonl", replace(OURS, model=ScriptedModel([])), model="recorded")
    assert (behaviour.calls, behaviour.errors, behaviour.stop) == ([("read_doc", {"path": "a"})], [], "answered")
    assert behaviour.says(" X ")
    assert not behaviour.says("y")
    live = kept(folder).run("q.jsonl", replace(OURS, model=ScriptedModel(["other"])), model="live")
    assert (live.calls, live.answer) == ([], "other")


@pytest.mark.parametrize(
    ("what", "said"),
    [
        (lambda one: one.replay("none.jsonl", OURS, ignore=(), tools="recorded"), "none.jsonl"),
        (lambda one: one.replay("q.jsonl", "nowhere:x", ignore=(), tools="recorded"), "cannot import nowhere"),
        (lambda one: one.replay("q.jsonl", OURS, ignore=("x",), tools="recorded"), "says not what to ignore"),
        (lambda one: one.replay("q.jsonl", None, ignore=(), tools="live"), "live tools need an agent"),
        (lambda one: one.run("q.jsonl", None, model="recorded"), "no agent to run"),
        (lambda one: one.replay("q.jsonl", replace(OURS, system="x"), ignore=(), tools="recorded"), "  - Look.\n  + x"),
    ],
)
def test_what_goes_wrong_fails_the_test_in_words(folder: Path, what: Any, said: str) -> None:
    with pytest.raises(pytest.fail.Exception) as caught:
        what(kept(folder))
    assert said in str(caught.value)


def test_a_recording_is_left_as_it_is_when_the_model_fails(folder: Path) -> None:
    before = (folder / "q.jsonl").read_bytes()
    failing = replace(OURS, model=ScriptedModel([ConnectionError("down")]))
    with pytest.raises(pytest.fail.Exception, match="left as it is"):
        kept(folder, update=True).replay("q.jsonl", failing, ignore=(), tools="recorded")
    with pytest.raises(pytest.fail.Exception, match="no agent to record"):
        kept(folder, update=True).replay("q.jsonl", None, ignore=(), tools="recorded")
    assert (folder / "q.jsonl").read_bytes() == before
    fresh = replace(OURS, model=ScriptedModel([calls(("read_doc", {"path": "a"})), answer("x")]))
    assert kept(folder, update=True).replay("q.jsonl", fresh, ignore=(), tools="recorded").is_exact


def test_the_plugin_loads_nothing_until_a_test_asks_for_it(tmp_path: Path) -> None:
    (tmp_path / "test_nothing.py").write_text(
        "import sys\ndef test_nothing():\n"
        "    names = {'agent', 'tracing', 'click', 'pydantic', 'openai', 'opentelemetry', 'structlog', 'sqlite_utils'}\n"
        "    assert not names & set(sys.modules)\n"
    )
    code, out = pytest_in(tmp_path, "-p", "no:anyio", installed=True)
    assert code == 0, out


def test_help_stands_for_the_option(tmp_path: Path) -> None:
    code, out = pytest_in(tmp_path, "--help")
    assert (code, "--playhead-update" in out) == (0, True)


def test_nothing_of_a_hostile_record_reaches_the_terminal_through_a_failing_test(tmp_path: Path) -> None:
    with recording(tmp_path / "t.db", ids=SpreadIds()) as tape:
        run_id = tape.run(HOSTILE, answer(HOSTILE), system=HOSTILE)
    with Store(tmp_path / "t.db") as store:
        (tmp_path / "q.jsonl").write_text(portable(store, run_id), encoding="utf-8")
    with pytest.raises(pytest.fail.Exception) as caught:
        kept(tmp_path).replay("q.jsonl", agent(system=HOSTILE + "!"), ignore=(), tools="recorded")
    assert not unsafe_in(str(caught.value))


@pytest.mark.parametrize("odd", ['{"a": NaN}', '{"a": 1e999}', '{"a": ' + "[" * 60 + "]" * 60 + "}", "{", "[1]"])
def test_arguments_that_python_could_not_write_down_are_compared_as_text(tmp_path: Path, odd: str) -> None:
    call = {"id": "c", "function": {"name": "read_doc", "arguments": odd}}
    with recording(tmp_path / "t.db", ids=SpreadIds()) as tape:
        run_id = tape.run("q", {"content": None, "tool_calls": [call]}, answer("x"), tools=agent().tools)
    with Store(tmp_path / "t.db") as store:
        recorded = store.recording(run_id)
        (tmp_path / "q.jsonl").write_text(portable(store, run_id), encoding="utf-8")
    text = behaviour_test(recorded, "q", PurePath("q.jsonl"), "bot:support")
    (listed,) = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.List) and node.elts][:1]
    assert (
        ast.literal_eval(listed)
        == kept(tmp_path).run("q.jsonl", agent(), model="recorded").calls
        == [("read_doc", odd)]
    )
