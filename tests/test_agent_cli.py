"""The `agent` command: answers on stdout, everything else on stderr, and exit codes that a script can rely on."""

import json
import re
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from agent.cli import cli
from agent.demo import ABSENT_WORD, SITUATIONS
from agent.docs import SYSTEM_PROMPT
from agent.loading import embedded_docs
from tests.processes import finish, rows, spawn

TIMEOUTS = "How many kinds of timeout does httpx have, and what does each control?"


@pytest.fixture
def db(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "traces.db"


def agent(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(cli, arguments, input=stdin)


def test_a_question_about_the_documents_is_answered_with_right_lines(db: Path) -> None:
    result = agent("ask", TIMEOUTS)
    assert result.exit_code == 0
    for kind in ("connect", "read", "write", "pool"):
        assert kind in result.stdout
    cited = re.search(r"^(\S+\.md):(\d+)-(\d+)$", result.stdout, re.MULTILINE)
    assert cited is not None
    lines = (embedded_docs() / cited[1]).read_text().splitlines()[int(cited[2]) - 1 : int(cited[3])]
    assert all(line in result.stdout for line in lines)
    assert all(f"`{kind}`" in "\n".join(lines) for kind in ("connect", "read", "write", "pool"))
    assert result.stderr.startswith("model: keyword\n[step 1] ")
    assert re.search(
        r"answered after \d steps, \d+ tool calls, [\d,]+ tokens in, \d+ out\nsee it: viewer show \w{8}\n",
        result.stderr,
    )
    assert rows(db, "select status from runs") == [("answered",)]


def test_what_is_not_in_the_documents_is_said_with_what_was_searched(db: Path) -> None:
    result = agent("ask", "Does httpx ship a GraphQL schema registry?")
    assert result.exit_code == 0
    assert "found nothing" in result.stdout
    assert "graphql" in result.stdout.lower()


def test_a_step_limit_exits_3_and_says_which(db: Path) -> None:
    result = agent("ask", TIMEOUTS, "--max-steps", "2")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "agent: no answer: stopped by max_steps, the limit of 2 steps; allow more with --max-steps" in result.stderr
    assert rows(db, "select status, stop, answer from runs") == [("stopped", "max_steps", None)]


def test_json_is_one_object_with_the_result(db: Path) -> None:
    result = agent("ask", TIMEOUTS, "--json", "--quiet")
    found = json.loads(result.stdout)
    assert (result.exit_code, result.stderr) == (0, "")
    assert rows(db, "select run_id, answer, stop, steps, tool_calls, input_tokens, output_tokens from runs") == [
        tuple(
            found[key] for key in ("run_id", "answer", "stop", "steps", "tool_calls", "input_tokens", "output_tokens")
        )
    ]
    assert found["next"] == [f"viewer show {found['run_id'][:8]}"]


def test_a_question_can_come_from_stdin(db: Path) -> None:
    assert agent("ask", "-", "--quiet", stdin="What is the pool timeout?\n").exit_code == 0
    assert rows(db, "select question from runs") == [("What is the pool timeout?",)]


def test_tags_metadata_and_another_system_prompt_are_recorded(db: Path) -> None:
    db.with_name("prompt.txt").write_text("\ufeffBe brief.", encoding="utf-8")
    arguments = ["--tag", "a", "--tag", "b", "--meta", "user=ada", "--system", "@prompt.txt"]
    assert agent("ask", "pool timeout", *arguments).exit_code == 0
    assert rows(db, "select tags, metadata from runs") == [('["a","b"]', '{"user":"ada"}')]
    assert rows(db, "select content from conversation where position=0") == [("Be brief.",)]


def test_another_folder_of_documents_is_searched(db: Path) -> None:
    docs = db.parent / "docs"
    docs.mkdir()
    docs.joinpath("garden.md").write_text("# Garden\n\nTomatoes want sun and are watered every second day.\n")
    result = agent("ask", "How often are tomatoes watered?", "--docs", "docs")
    assert "garden.md:1-3" in result.stdout
    assert "every second day" in result.stdout


def test_a_script_can_be_the_model(db: Path) -> None:
    db.with_name("s.jsonl").write_text(
        '// a comment\n{"tool_calls": [{"name": "count_lines", "arguments": {"path": "index.md"}}]}\n"done"\n'
    )
    result = agent("ask", "count", "--model", "script:s.jsonl")
    assert (result.exit_code, result.stdout) == (0, "done\n")
    assert 'model: script:s.jsonl\n[step 1] count_lines(path="index.md") → index.md has' in result.stderr


@pytest.mark.parametrize(
    ("content", "code", "answer", "said"),
    [
        ("half an ans", 0, "half an ans", "agent: note: the answer was cut at the model's output limit"),
        ("", 3, None, "agent: no answer: stopped by the model's output limit, used up before the answer began"),
    ],
)
def test_an_answer_that_was_cut_at_the_output_limit_is_told(
    db: Path, content: str, code: int, answer: str | None, said: str
) -> None:
    db.with_name("s.jsonl").write_text(json.dumps({"content": content, "finish_reason": "length"}))
    result = agent("ask", "q", "--model", "script:s.jsonl", "--quiet")
    assert (result.exit_code, result.stdout) == (code, "" if answer is None else f"{answer}\n")
    assert said in result.stderr
    found = json.loads(agent("ask", "q", "--model", "script:s.jsonl", "--json").stdout)
    assert (found["answer"], found["finish_reason"]) == (answer, "length")


MINE = """
import os
from agent import Agent, ScriptedModel, Toolbox, tool
@tool
def add(a: int, b: int) -> int:
    print("noise")
    os.system("echo from-child")
    return a + b
asked = {"tool_calls": [{"name": "add", "arguments": {"a": 3, "b": 4}}]}
sums = Agent(name="sums", model=ScriptedModel([asked, "7"]), tools=Toolbox([add]))
broken = Agent(model=ScriptedModel([]))
"""


def test_a_users_own_agent_is_found_in_the_current_folder(db: Path) -> None:
    db.with_name("mine.py").write_text(MINE)
    code, out, err = finish(spawn([sys.executable, "-m", "agent", "ask", "3+4", "--agent", "mine:sums"], db.parent))
    assert (code, out) == (0, "7\n")
    assert {"noise", "from-child"} <= set(err.splitlines())
    assert rows(db, "select agent, answer from runs") == [("sums", "7")]


def test_a_failing_model_exits_1_with_its_text_and_the_run_is_recorded(db: Path) -> None:
    db.with_name("mine.py").write_text(MINE)
    command = [sys.executable, "-m", "agent", "ask", "q", "--agent", "mine:broken"]
    code, out, err = finish(spawn(command, db.parent))
    assert (code, out) == (1, "")
    assert "agent: the model failed at step 1: ScriptExhausted: the script has 0 responses" in err
    assert "Traceback" not in err
    assert rows(db, "select status from runs") == [("failed",)]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["ask", " "], "the question is empty"),
        (["ask", "q", "--docs", "nowhere"], "the docs folder nowhere does not exist"),
        (["ask", "q", "--docs", "empty"], "the docs folder empty has no Markdown files"),
        (["ask", "q", "--docs", "notes.txt"], "the docs folder notes.txt is not a folder"),
        (["ask", "q", "--db", "empty"], "empty is a folder, not a store"),
        (["ask", "q", "--db", "notes.txt"], "notes.txt is not a trace store, and is left as it is"),
        (["ask", "q", "--db", "no/where.db"], "the folder of no/where.db does not exist"),
        (["ask", "q", "--model", "gpt-9"], "no server is configured for 'gpt-9'"),
        (["ask", "q", "--model", "script:none.jsonl"], "cannot read the script none.jsonl: No such file"),
        (["ask", "q", "--model", "script:notes.txt"], "notes.txt, line 1: not JSON"),
        (["ask", "q", "--agent", "nomodule:x"], "cannot import nomodule"),
        (["ask", "q", "--agent", "x"], "'x' names no agent: write MODULE:ATTRIBUTE"),
        (["ask", "q", "--agent", "json:dumps"], "has dumps, but it is a function, not an Agent"),
        (["ask", "q", "--system", "@none"], "cannot read none: No such file"),
        (["ask", "q", "--meta", "x"], "--meta takes KEY=VALUE"),
        (["ask", "q", "--meta", "a=1", "--meta", "a=2"], "--meta has the key 'a' twice: give it once"),
        (["ask", "q", "--max-steps", "0"], "0 is not in the range"),
        (["ask", "q", "--docs", ""], "--docs is empty: give it a value, or leave it out"),
        (["ask", "q", "--session", ""], "--session is empty"),
        (["ask", "q", "--prices", ""], "--prices is empty"),
        (["tools", "--docs", ""], "--docs is empty"),
        (["ask", "q", "--system", "@"], "@ names no file: write @FILE"),
        (["ask", "q", "--model", "script:"], "script: names no file: write script:FILE"),
        (["ask", "q", "--model", "script:calls.jsonl"], "calls.jsonl, line 1: the tool_calls of a message must be a list"),
        (["ask", "q", "--model", "keyword", "--extra-body", "{bad"], "--extra-body goes to a server"),
        (["ask", "q", "--extra-body", "{}"], "--extra-body goes to a server"),
        (["ask", "q", "--agent", "./apps.py:child"], "'./apps.py:child' names a file: write its module"),
        (["ask", "q", "--agent", "agent:desk"], "agent/__init__.py) has no desk"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence_and_exit_2_before_anything_runs(db: Path, arguments: list[str], said: str) -> None:
    db.with_name("empty").mkdir()
    db.with_name("notes.txt").write_text("just notes")
    db.with_name("calls.jsonl").write_text('{"tool_calls": "add"}')
    result = agent(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr
    assert db.with_name("notes.txt").read_text() == "just notes"
    assert not db.exists()


def test_a_document_that_is_not_utf8_is_told_and_read_all_the_same(db: Path) -> None:
    docs = db.with_name("docs")
    docs.mkdir()
    docs.joinpath("old.md").write_bytes("# Caf\xe9\n\nThe caf\xe9 opens at nine.\n".encode("latin-1"))
    docs.joinpath("gone.md").symlink_to(docs / "nowhere")
    result = agent("ask", "When does the place open?", "--docs", "docs")
    assert "agent: note: old.md is not UTF-8" in result.stderr
    assert result.exit_code == 0


def test_the_demo_shows_its_five_situations_then_the_answer_and_is_always_the_same(db: Path) -> None:
    first, second = agent("demo"), agent("demo")
    assert (first.exit_code, first.stderr) == (0, "")
    assert first.stdout == second.stdout
    places = [first.stdout.index(text) for text in (*SITUATIONS, "answer:", "see it: viewer show last")]
    assert places == sorted(places)
    for text in (
        "No hits for 'webhook' in 20 documents",
        "[cut:",
        "there is no document 'advanced/timeout.md'. Did you mean advanced/timeouts.md",
        "there is no tool 'search_web'",
        "start must be an integer; it was a string",
    ):
        assert text in first.stdout
    errors = rows(db, "select tool, error from tool_calls order by started_at limit 5")
    assert errors == [
        ("grep_docs", None), ("read_doc", None), ("read_doc", "FileNotFoundError"), ("search_web", "unknown_tool"),
        ("read_doc", "bad_arguments"),
    ]  # fmt: skip


def test_the_demos_word_stands_nowhere_in_the_documents() -> None:
    texts = [path.read_text() for path in embedded_docs().rglob("*.md")]
    assert len(texts) > 8
    assert not any(ABSENT_WORD in text.lower() for text in texts)


def test_tools_shows_the_system_prompt_and_the_schemas(db: Path) -> None:
    result = agent("tools")
    assert SYSTEM_PROMPT in result.stdout
    found = json.loads(agent("tools", "--json").stdout)
    assert [schema["function"]["name"] for schema in found["tools"]] == [
        "list_docs", "grep_docs", "read_doc", "count_lines"
    ]  # fmt: skip
    assert not db.exists()


def test_log_events_go_to_stderr_as_json_lines(db: Path) -> None:
    result = agent("ask", "pool timeout", "--log", "json", "--quiet")
    events = [json.loads(line) for line in result.stderr.splitlines()]
    assert (events[0]["event"], events[-1]["event"]) == ("run.started", "run.finished")
    answered = next(event for event in events if event["event"] == "tool.answered")
    assert {
        "step",
        "tool",
        "arguments",
        "result_chars",
        "truncated",
        "error",
        "duration_ms",
        "span_id",
    } <= answered.keys()


def test_what_a_model_says_cannot_act_on_the_terminal(db: Path) -> None:
    evil = "\\u001b]0;pwn\\u0007\\u001b[2J\\u202e"
    db.with_name("s.jsonl").write_text(
        f'{{"tool_calls": [{{"name": "{evil}", "arguments": {{"x": "{evil}"}}}}]}}\n"{evil}"\n'
    )
    result = agent("ask", "q", "--model", "script:s.jsonl")
    for stream in (result.stdout, result.stderr):
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", stream)
    assert "␛[2J" in result.stdout


def test_the_version_is_told() -> None:
    assert re.fullmatch(r"agent, version \d+\.\d+\.\d+\n", agent("--version").stdout)


@pytest.mark.parametrize("stderr", ["2>/dev/full", "2>&-", "2> >(head -c 1 >/dev/null)"])
def test_trouble_with_stderr_does_not_cost_the_answer(db: Path, stderr: str) -> None:
    command = ["bash", "-c", f"'{sys.executable}' -m agent ask 'What is the pool timeout?' {stderr}"]
    code, out, _ = finish(spawn(command, db.parent))
    assert (code, "pool" in out) == (0, True)
    assert rows(db, "select status from runs") == [("answered",)]


@pytest.mark.parametrize("closed", [">&-", "<&- >&-"])
def test_a_closed_stdout_is_no_traceback_and_the_answer_goes_nowhere_else(db: Path, closed: str) -> None:
    command = ["bash", "-c", f"'{sys.executable}' -m agent ask --quiet 'What is the pool timeout?' {closed}"]
    assert finish(spawn(command, db.parent)) == (0, "", "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
@pytest.mark.parametrize("option", ["--help", "--version"])
@pytest.mark.parametrize(
    ("module", "name"), [("agent", "agent"), ("viewer", "viewer"), ("viewer.playhead", "playhead")]
)
def test_help_and_version_say_where_they_cannot_be_written(db: Path, module: str, name: str, option: str) -> None:
    run = f"from {module}{'.cli' if module == name else ''} import main; main()"
    command = ["bash", "-c", f"'{sys.executable}' -c '{run}' {option} >/dev/full"]
    said = f"{name}: cannot write the output: No space left on device\n"
    assert finish(spawn(command, db.parent)) == (1, "", said)


@pytest.mark.parametrize("kind", ["json", "console"])
def test_what_is_logged_cannot_act_on_the_terminal(db: Path, kind: str) -> None:
    evil = "\\u001b[2J\\u202e\\u009b1m\\ud83e"
    db.with_name("s.jsonl").write_text(
        f'{{"tool_calls": [{{"name": "{evil}", "arguments": {{"x": "{evil}"}}}}]}}\n{{"content": null, "refusal": "{evil}"}}\n'
    )
    result = agent("ask", "q", "--model", "script:s.jsonl", "--log", kind)
    assert result.exit_code == 3
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\ud800-\udfff]", result.stderr)
    if kind == "json":
        for line in result.stderr.splitlines():
            if line.startswith("{"):
                json.loads(line)


def test_a_script_line_may_hold_any_character_and_a_whole_completion(db: Path) -> None:
    whole = {"choices": [{"message": {"content": "a\u2028b\u0085c\x0cd"}, "finish_reason": "stop"}], "model": "m"}
    db.with_name("s.jsonl").write_text("\ufeff" + json.dumps(whole, ensure_ascii=False) + "\n", encoding="utf-8")
    assert agent("ask", "q", "--model", "script:s.jsonl", "--json", "--quiet").exit_code == 0
    assert rows(db, "select response_model, finish_reason from model_calls") == [("m", "stop")]


@pytest.mark.parametrize("line", ["{}", '{"error": "x"}', '{"contnet": "typo"}'])
def test_a_script_line_without_a_message_is_a_failure(db: Path, line: str) -> None:
    db.with_name("s.jsonl").write_text(line)
    assert agent("ask", "q", "--model", "script:s.jsonl").exit_code == 1


@pytest.mark.parametrize(
    ("name", "code", "why"),
    [
        ("leaving", "raise SystemExit(0)", "SystemExit: 0"),
        ("torn", "class Torn(BaseException): ...\nraise Torn('apart')", "Torn: apart"),
        ("wordy", "raise ValueError('one\\n  two')", "ValueError: one two"),
        ("limited", "from agent import Limits\nLimits(max_seconds='5')", "ValueError: max_seconds must be a number of"),
    ],
)
def test_an_agents_module_that_raises_on_import_is_told_in_one_line(db: Path, name: str, code: str, why: str) -> None:
    db.with_name(f"{name}.py").write_text(code)
    result = agent("ask", "q", "--agent", f"{name}:x")
    assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)
    assert f"cannot import {name} ({why}" in result.stderr


OWN_PORTS = """
import asyncio, time
from agent import Agent, ModelInfo, ScriptedModel, Toolbox, tool
from agent.models.keyword import KeywordModel

class Raising:
    schemas = ()
    async def call(self, call):
        raise LookupError("no such shelf")

class Leaving(KeywordModel):
    async def respond(self, request, tell):
        raise asyncio.CancelledError

@tool
def press(key: str) -> str:
    if key == "stop":
        raise KeyboardInterrupt
    return key

def asking(*keys):
    return ScriptedModel([{"tool_calls": [{"name": "press", "arguments": {"key": key}} for key in keys]}])

shelf = Agent(model=asking("a"), tools=Raising())
leaving = Agent(model=Leaving())
pressed = Agent(model=asking("a", "stop", "b"), tools=Toolbox([press]))
"""


@pytest.mark.parametrize(
    ("which", "code", "said", "stop"),
    [
        ("shelf", 1, "agent: the run failed: LookupError: no such shelf\n", "failed"),
        ("leaving", 1, "agent: the run failed: RuntimeError: a model or a tool cancelled itself\n", "cancelled"),
        ("pressed", 130, "interrupted after 1 step", "cancelled"),
    ],
)
def test_whatever_ends_a_run_of_a_users_own_agent_is_told_without_a_traceback(
    db: Path, which: str, code: int, said: str, stop: str
) -> None:
    db.with_name("ports.py").write_text(OWN_PORTS)
    command = [sys.executable, "-m", "agent", "ask", "q", "--agent", f"ports:{which}"]
    returned, out, err = finish(spawn(command, db.parent))
    assert (returned, out, said in err) == (code, "", True), err
    assert not re.search(r"Traceback|File \"", err)
    assert rows(db, "select stop from runs") == [(stop,)]
