"""viewer replay, fork and script: what they print, and their exit codes."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from agent import ScriptedModel
from tests.runs import (
    HOSTILE,
    SAMPLE,
    SpreadIds,
    answer,
    calls,
    in_shell,
    invoke,
    record_interrupted,
    recording,
    strict_json,
    unsafe_in,
)

PROJECT = """
from agent import Agent, Limits, ScriptedModel, Toolbox, tool

@tool("Read a document.")
def read_doc(path: str) -> str:
    return "the text of " + path

support = Agent(name="docs", model=ScriptedModel(["live answer"] * 9), tools=Toolbox([read_doc]), system="Look first.")
no_agent = 7
"""
READ = calls(("read_doc", {"path": "a.md"}))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with an agent, and a store with a run of it, one of a hostile model, and one that failed."""
    (tmp_path / "bot.py").write_text(PROJECT)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # changed within a second, it would be taken for the same
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "bot", raising=False)
    from bot import support  # type: ignore[import-not-found]

    with recording(tmp_path / "traces.db", ids=SpreadIds()) as tape:
        tape.run("Good?", READ, answer("yes"), tools=support.tools, system="Look first.", tags=["good"])
        tape.run(HOSTILE, answer(HOSTILE), tools=support.tools, system=HOSTILE)
        tape.run("Bad?", READ, ValueError("no"), tools=support.tools, system="Look first.")
    return tmp_path


def told(*arguments: str, code: int = 0) -> str:
    result = invoke(*arguments)
    assert result.exit_code == code, result.output
    return result.stdout


def refused(*arguments: str, code: int) -> str:
    result = invoke(*arguments)
    assert (result.exit_code, result.stdout) == (code, "")
    (line,) = result.stderr.splitlines()[-1:]
    return line


def test_an_exact_replay_says_what_was_compared_and_what_was_not(project: Path) -> None:
    first, compared, taken, following = told("replay", "last~2").splitlines()
    assert first.startswith("exact  run ")
    assert first.endswith(": 2 steps and 1 tool call are the same, and so is the end")
    assert compared == "  compared: loop, requests, responses, calls, stop, answer, totals"
    assert taken == (
        "  taken from the record: question, prompt, schemas, settings, limits, observations, answers of the model"
    )
    assert following.startswith("next: viewer test ")


def test_with_an_agent_its_prompt_is_compared_and_the_difference_shown(project: Path) -> None:
    assert "compared: loop, requests, responses, calls, stop, answer, totals, prompt, schemas" in told(
        "replay", "last~2", "--agent", "bot:support"
    )
    (project / "bot.py").write_text(PROJECT.replace("Look first.", "Look twice."))
    sys.modules.pop("bot")
    lines = told("replay", "last~2", "--agent", "bot:support", code=3).splitlines()
    assert lines[0].startswith("diverged  run ")
    assert lines[0].endswith(": at step 1, the system prompt is not the recorded one")
    assert lines[1:4] == ["  - Look first.", "  + Look twice.", "  left unused: 2 recorded steps and 0 recorded calls"]


def test_the_agent_of_the_project_is_the_default(project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.playhead]\nagent = "bot:support"\n')
    assert "prompt, schemas, settings, limits" in told("replay", "last~2").splitlines()[1]


def test_a_killed_run_is_not_replayable(project: Path) -> None:
    record_interrupted(project / "traces.db")
    first = told("replay", code=4).splitlines()[0]
    assert first.startswith("not replayable  run ")
    assert "the record ends in the call 2.1 die(" in first
    told("replay", "last", "last~1", code=4)
    (project / "bot.py").write_text(PROJECT.replace("Look first.", "Look twice."))
    sys.modules.pop("bot")
    assert told("replay", "last~1", "last", "--agent", "bot:support", code=3)


def test_several_runs_are_one_table(project: Path) -> None:
    lines = told("replay", "--since", "2020-01-01").splitlines()
    assert lines[0].split() == ["run", "outcome", "differs", "what", "question"]
    assert [line.split()[1] for line in lines[1:4]] == ["exact"] * 3
    assert lines[4] == "3 runs: 3 exact"
    assert lines[5] == f"next: viewer test {lines[1].split()[0]} -o tests"
    lines = told("replay", "--since", "2020-01-01", "--agent", "bot:support", code=3).splitlines()
    assert [line.split()[1:3] for line in lines[1:4]] == [
        ["exact", "Good?"],
        ["diverged", "system@1"],
        ["exact", "Bad?"],
    ]
    assert lines[4] == "3 runs: 2 exact, 1 diverged"
    assert lines[5] == f"next: viewer replay {lines[2].split()[0]} --agent bot:support"


def test_filters_choose_and_none_is_told(project: Path) -> None:
    assert told("replay", "--tag", "good").splitlines()[2] == "1 run: 1 exact"
    assert refused("replay", "--tag", "none", code=1) == "viewer: no run matches: see viewer list with the same filters"
    assert "not both" in refused("replay", "last", "--tag", "good", code=2)
    assert "there is no run abcdef" in refused("replay", "abcdef", code=1)


def test_json_is_one_object_or_a_list(project: Path) -> None:
    one = strict_json(told("replay", "last~1", "--json"))
    assert (one["schema"], one["outcome"], one["steps"], one["divergences"]) == (1, "exact", 1, [])
    assert one["answer"] == HOSTILE
    several = strict_json(told("replay", "last", "last~2", "--json", "--agent", "bot:support"))
    assert (several["total"], several["count"]) == (2, 2)
    assert [row["outcome"] for row in several["rows"]] == ["exact", "exact"]


def test_nothing_of_a_hostile_run_reaches_the_terminal(project: Path) -> None:
    for arguments in (
        ["replay", "last~1"],
        ["replay", "last~1", "--agent", "bot:support", "--full"],
        ["replay", "last", "last~1", "--agent", "bot:support"],
    ):
        result = invoke(*arguments)
        assert not unsafe_in(result.output)


def test_live_tools_are_held_against_the_record(project: Path) -> None:
    assert "observations" in told("replay", "last~2", "--agent", "bot:support", "--tools", "live").splitlines()[1]
    (project / "bot.py").write_text(PROJECT.replace('"the text of "', '"The text of "'))
    sys.modules.pop("bot")
    lines = told("replay", "last~2", "--agent", "bot:support", "--tools", "live", "--times", "2", code=3).splitlines()
    assert lines[0].endswith('at 1.1, read_doc({"path":"a.md"}) is not as recorded')
    assert lines[1:3] == ["  - the text of a.md", "  + The text of a.md"]
    told("replay", "last~2", "--agent", "bot:support", "--tools", "live", "--ignore", "result:read_doc:/^./")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--tools", "live"], "give --agent"),
        (["--times", "2"], "add --tools live"),
        (["--tools", "live", "--agent", "bot:support", "--model", "keyword"], "leave out --tools live"),
        (["--ignore", "nothing"], "says not what to ignore"),
        (["--ignore", "system:/(/"], "no regular expression"),
        (["--agent", "bot:nobody"], "its agents: support"),
        (["--agent", "bot:no_agent"], "it is a int, not an Agent"),
        (["--agent", "nowhere:x"], "cannot import nowhere"),
        (["--agent", "bot"], "write MODULE:ATTRIBUTE"),
        (["--model", "script:none.jsonl"], "cannot read the script"),
    ],
)
def test_what_cannot_be_asked_for_is_refused_in_one_sentence(project: Path, arguments: list[str], said: str) -> None:
    assert said in refused("replay", "last~2", *arguments, code=2)


def test_another_model_is_asked_with_the_recorded_results(project: Path) -> None:
    (project / "s.jsonl").write_text('{"tool_calls":[{"name":"read_doc","arguments":{"path":"b.md"}}]}\n')
    lines = told("replay", "last~2", "--model", "script:s.jsonl", code=3).splitlines()
    assert lines[0].endswith("at step 1, the model's answer is not as recorded")
    assert any('also at 1.1, nothing like it is recorded: read_doc({"path":"b.md"})' in line for line in lines)


def test_a_kept_replay_is_a_run_of_its_own(project: Path) -> None:
    before = (project / "traces.db").read_bytes()
    told("replay", "last~2")
    assert (project / "traces.db").read_bytes() == before
    assert "  kept as run " in told("replay", "last~2", "--keep")
    rows = json.loads(told("list", "--json", "--content"))["rows"]
    assert (rows[0]["kind"], rows[0]["question"], rows[0]["cost_usd"]) == ("replay", "Good?", 0.0)
    assert f"replay of {rows[0]['parent_run'][:8]}" in told("show", rows[0]["run_id"])


# Fork


def test_a_fork_goes_on_live_from_the_step_that_is_named(project: Path) -> None:
    result = invoke("fork", "last~2", "--at", "2", "--agent", "bot:support")
    assert (result.exit_code, result.stdout) == (0, "live answer\n")
    assert "1 step from the record, live from step 2 on" in result.stderr
    row = json.loads(told("list", "--json"))["rows"][0]
    assert (row["kind"], row["fork_step"], row["steps"]) == ("fork", 2, 2)
    assert f"fork of {row['parent_run'][:8]}@2" in told("show")
    assert ", from the record" in told("show")
    assert told("replay").startswith("exact")


def test_a_result_can_be_set_and_then_the_step_need_not_be_named(project: Path) -> None:
    (project / "page.md").write_bytes(b"the new\r\ntext")
    result = invoke("fork", "last~2", "--set-result", "1.1=@page.md", "--agent", "bot:support", "--json")
    assert strict_json(result.stdout)["answer"] == "live answer"
    read = strict_json(told("context", "last:2", "--json"))["messages"]
    assert [one["content"] for one in read if one["role"] == "tool"] == ["the new\r\ntext"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 2, "say where to fork"),
        (["--at", "9"], 1, "cannot be forked at step 9, but at the steps 1 to 2"),
        (["--at", "2", "--set-result", "x"], 2, "takes CALL=TEXT"),
        (["--at", "1", "--set-result", "1.1=x"], 1, "fork after it, or set one of none"),
        (["--at", "2", "--system", "@none.txt"], 2, "cannot read none.txt"),
    ],
)
def test_a_fork_that_cannot_be_is_refused(project: Path, arguments: list[str], code: int, said: str) -> None:
    assert said in refused("fork", "last~2", "--agent", "bot:support", *arguments, code=code)
    assert json.loads(told("list", "--json"))["total"] == 3


def test_nobody_goes_on_without_an_agent(project: Path) -> None:
    assert "give --agent" in refused("fork", "last~2", "--at", "2", code=2)


# Script


def test_a_script_is_written_and_can_be_loaded(project: Path) -> None:
    text = told("script", "last~2")
    result = invoke("script", "last~2", "-o", "s.jsonl")
    assert (result.exit_code, result.stdout) == (0, "")
    assert (project / "s.jsonl").read_text() == text
    assert "is there already" in refused("script", "last~2", "-o", "s.jsonl", code=1)
    assert invoke("script", "last~2", "-o", "s.jsonl", "--force").exit_code == 0
    first: Any = json.loads(text.splitlines()[0])
    assert first["tool_calls"] == [{"name": "read_doc", "arguments": {"path": "a.md"}}]
    assert ScriptedModel.load(project / "s.jsonl").info.name == "script:s.jsonl"
    told("replay", "last~2", "--model", "script:s.jsonl", code=3)  # another name, the same answers


def test_a_file_that_there_is_no_room_for_is_not_left_behind(tmp_path: Path) -> None:
    with recording(tmp_path / "t.db") as tape:
        tape.run("How many?", *SAMPLE)
    found = in_shell(f"ulimit -f 0; VIEWER script last -o '{tmp_path}/s.jsonl'", tmp_path / "t.db")
    assert (found.returncode, found.stdout) == (1, "")
    assert found.stderr.startswith(f"viewer: cannot write {tmp_path}/s.jsonl (")
    assert not (tmp_path / "s.jsonl").exists()
    (tmp_path / "s.jsonl").write_text("as it was")
    assert (
        in_shell(f"ulimit -f 0; VIEWER script last -o '{tmp_path}/s.jsonl' --force", tmp_path / "t.db").returncode == 1
    )
    assert (tmp_path / "s.jsonl").read_text() == "as it was"


def test_the_sample_run_has_a_script_that_a_person_can_read(tmp_path: Path) -> None:
    with recording(tmp_path / "t.db") as tape:
        tape.run("How many?", *SAMPLE)
    lines = invoke("script", db=tmp_path / "t.db").stdout.splitlines()
    assert lines[0] == (
        '{"content":"I look.","tool_calls":[{"name":"read_doc","arguments":{"path":"long.md"}},'
        '{"name":"grep_docs","arguments":{"keyword":"broken"}}],"finish_reason":"tool_calls",'
        '"usage":{"input":100,"output":20}}'
    )


def test_a_step_names_where_to_fork_and_is_no_run_to_replay(project: Path) -> None:
    assert invoke("fork", "last~2:2", "--agent", "bot:support").stdout == "live answer\n"
    for command in ("replay", "script", "test"):
        assert "names a step; give the run: last" in refused(command, "last:2", code=2)
