"""`viewer show`: one run as a tree in time, then its answer."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from agent import Agent, ScriptedModel, Toolbox, tool
from tests.runs import (
    LONG,
    answer,
    as_json,
    calls,
    invoke,
    on_terminal,
    plain,
    printed,
    record_interrupted,
    record_sample,
    recording,
)
from tracing import Recorder


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    db = tmp_path_factory.mktemp("show") / "traces.db"
    record_sample(db)
    return db


def lines_of(*arguments: str, db: Path) -> list[str]:
    return [line.rstrip() for line in printed("show", "--tz", "UTC", *arguments, db=db).splitlines()]


def row(said: str, bar: str, took: str = "1.0 ms") -> str:
    return f"{said:105} {bar}   {took}"


HEAD = [
    "run b40711a8  answered  docs · scripted  2026-01-01 00:00:00  14 ms",
    "  3 steps, 3 tool calls, 400 tokens in, 70 out, cost nothing",
    "  session s1   tags good",
    "  run id b40711a88c7039756fb8a73827eabe2c",
    "",
    "question How many kinds of timeout?",
    "",
]


def test_a_run_is_a_tree_with_bars_then_its_answer_then_the_next_command(db: Path) -> None:
    lines = lines_of("last", db=db)
    cut = next(number for number, line in enumerate(lines) if "✂" in line)
    assert lines[cut].startswith("│    → ✂ cut: 2,9")
    assert " of 4,610 chars  1: timeout timeout " in lines[cut]
    del lines[cut]
    assert lines == [
        *HEAD,
        row("step 1  scripted: 2 calls, tokens 100 in, 20 out", "·▐█▌····················"),
        "│  I look.",
        row('├─ 1.1 read_doc(path="long.md")', "·····███▌···············", "2.0 ms"),
        row('└─ 1.2 ✗ grep_docs(keyword="broken")', "······▐███▌·············", "2.0 ms"),
        "     → 49 chars  Error: grep_docs raised OSError: the disk is gone",
        row("step 2  scripted: 1 call, tokens 100 in, 20 out", "···········▐█▌··········"),
        row('└─ 2.1 grep_docs(keyword="timeout")', "···············██·······"),
        "     → 15 chars  a.md:1: timeout",
        row("step 3  scripted: answer, tokens 200 in, 30 out", "··················▐█▌···"),
        "",
        "answer",
        "  Four kinds: connect, read, write, pool (a.md:1).",
        "",
        "next: viewer show b40711a8:1.1 --full",
    ]


def test_a_call_is_shown_with_its_arguments_and_result(db: Path) -> None:
    assert lines_of("last:1.2", db=db)[len(HEAD) :] == [
        row("step 1  scripted: 2 calls, tokens 100 in, 20 out", "·▐█▌····················"),
        "│  I look.",
        row('└─ 1.2 ✗ grep_docs(keyword="broken")', "······▐███▌·············", "2.0 ms"),
        '     arguments  {"keyword":"broken"}',
        "     result  49 chars",
        "     Error: grep_docs raised OSError: the disk is gone",
        "",
        "next: viewer context b40711a8:1",
    ]


def test_a_step_is_shown_with_all_of_its_calls(db: Path) -> None:
    text = printed("show", "last:1", db=db)
    assert re.findall(r"^.─ (\d\.\d)", text, re.MULTILINE) == ["1.1", "1.2"]
    assert "answer\n" not in text


def test_full_shows_what_was_cut_off_with_both_lengths(db: Path) -> None:
    assert "60: timeout" not in printed("show", db=db)
    for reference in ("last", "last:1", "last:1.1"):
        text = printed("show", reference, "--full", db=db)
        assert all(line.rstrip() in text for line in LONG.splitlines())
        assert re.search(r"✂ cut: 2,\d\d\d of 4,610 chars", text)


def test_the_length_that_the_screen_names_is_the_one_that_the_model_was_told(db: Path) -> None:
    text = printed("show", "last:1.1", db=db)
    shown = re.search(r"✂ cut: ([\d,]+) of 4,610", text)
    told = re.search(r"\[cut: the first ([\d,]+) of 4,610 characters\]", text)
    assert shown
    assert told
    assert shown[1] == told[1]


def test_messages_and_events_are_the_conversation_and_the_log(db: Path) -> None:
    text = printed("show", "--messages", db=db)
    roles = re.findall(r"^\[(\d)\] (\w+)(?:  answers call_\d_\d)?$", text, re.MULTILINE)
    assert [role for _, role in roles] == [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
        "assistant",
        "tool",
        "assistant",
    ]
    assert '  → grep_docs(keyword="broken")  call_1_1\n' in text

    events = lines_of("--events", db=db)
    assert events[0] == (
        '00:00:00.002  info     run.started     {"agent":"docs","model":"scripted","session":"s1","kind":"live"}'
    )
    assert [line.split()[1:3] for line in events[:-2]] == [
        ["info", "run.started"], ["info", "model.asked"], ["info", "model.answered"], ["info", "tool.called"],
        ["info", "tool.called"], ["info", "tool.answered"], ["warning", "tool.answered"], ["info", "model.asked"],
        ["info", "model.answered"], ["info", "tool.called"], ["info", "tool.answered"], ["info", "model.asked"],
        ["info", "model.answered"], ["info", "run.finished"],
    ]  # fmt: skip


def test_json_is_one_object_with_content_whose_next_commands_work(db: Path) -> None:
    told = as_json("show", "--messages", "--events", db=db)
    assert list(told) == ["schema", "run", "steps", "messages", "events", "next"]
    assert (told["run"]["question"], told["run"]["tags"]) == ("How many kinds of timeout?", ["good"])
    assert [[call["tool"] for call in step["tool_calls"]] for step in told["steps"]] == [
        ["read_doc", "grep_docs"], ["grep_docs"], [],
    ]  # fmt: skip
    assert told["steps"][0]["message"]["content"] == "I look."
    assert told["steps"][0]["tool_calls"][0]["whole"] == LONG
    assert [len(told["messages"]), len(told["events"])] == [8, 14]
    assert told["messages"][2]["tool_calls"][1]["function"]["name"] == "grep_docs"
    assert told["events"][-1]["fields"]["stop"] == "answered"
    for command in told["next"]:
        program, *arguments = shlex.split(command)
        assert program == "viewer"
        assert printed(*arguments, db=db)
    (step,) = as_json("show", "last:1.2", db=db)["steps"]
    assert [call["call"] for call in step["tool_calls"]] == [2]


@pytest.mark.parametrize(
    ("reference", "text"),
    [
        ("last~1", "there is no run last~1: the store holds 1 run"),
        ("beef", "there is no run beef (see: viewer list)"),
        ("last:9", "run b40711a8 has no step 9: it has 3"),
        ("last:0", "run b40711a8 has no step 0: it has 3"),
        ("last:1.3", "step 1 of run b40711a8 has no call 3: it has 2"),
        ("last:1.2.3", "'last:1.2.3' names no run, step or call: write RUN, RUN:3 (a step) or RUN:3.2 (a call)"),
        ("last:" + "9" * 30, f"run b40711a8 has no step {'9' * 30}: it has 3"),
        ("last-error", "every run in the store answered: there is no last-error"),
    ],
)
def test_a_reference_that_names_nothing_is_one_sentence_with_exit_code_1(db: Path, reference: str, text: str) -> None:
    result = invoke("show", reference, db=db)
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", f"viewer: {text}\n")


@pytest.mark.parametrize(
    ("responses", "last", "step"),
    [
        ([OSError("no route")], "no answer: failed: OSError: no route", "step 1  scripted: ✗ OSError: no route"),
        ([calls(("grep_docs", {"keyword": "x"}))] * 2, "no answer: stopped: max_steps", "step 2  scripted: 1 call, tokens"),
        ([{"content": None, "refusal": "no"}], "no answer: the model refused: no", "step 1  scripted: answer, tokens ? in, ? out"),
    ],
)  # fmt: skip
def test_a_run_without_an_answer_says_why(tmp_path: Path, responses: list[Any], last: str, step: str) -> None:
    with recording(tmp_path / "t.db") as tape:
        tape.run("q", *responses, max_steps=2)
    lines = lines_of(db=tmp_path / "t.db")
    assert lines[-3] == last
    assert any(line.startswith(step) for line in lines)


def test_an_interrupted_run_shows_its_finished_steps_and_the_open_call_with_its_arguments(tmp_path: Path) -> None:
    record_interrupted(tmp_path / "t.db")
    lines = lines_of(db=tmp_path / "t.db")
    assert re.match(r"run [0-9a-f]{8}  interrupted  mortal · scripted ", lines[0])
    assert '└─ 2.1 die(word="now") ' in "\n".join(lines)
    assert "     → open when the process ended" in lines
    assert "     → 10 chars  seen first" in lines
    assert lines[1] == "  2 steps, 2 tool calls (1 open), 14 tokens in, 6 out, cost nothing"
    assert lines[-3] == "no answer: the process ended in the middle of the run"
    assert next(line for line in lines if "die(" in line).endswith("▶     open")


@pytest.mark.parametrize(
    ("responses", "counts"),
    [
        ([OSError("no route")], "  1 step, 0 tool calls, ? tokens in, ? out, cost nothing"),
        ([answer("a", prompt_tokens=5)], "  1 step, 0 tool calls, 5 tokens in, ? out, cost nothing"),
        (
            [calls(("read_doc", {"path": "a.md"})), answer("a", input=5, cached=4, output=1)],
            "  2 steps, 1 tool call, 105 tokens in, 21 out, ≥4 cached, cost nothing",
        ),
    ],
)
def test_the_counts_are_of_what_is_shown_and_only_what_is_a_lower_bound_is_marked(
    tmp_path: Path, responses: list[Any], counts: str
) -> None:
    with recording(tmp_path / "t.db") as tape:
        tape.run("q", *responses)
    assert lines_of(db=tmp_path / "t.db")[1] == counts


@pytest.mark.parametrize("arguments", [["--full"], ["last:1"], ["last:1.1"]])
def test_where_nothing_is_shortened_texts_keep_their_lines(tmp_path: Path, arguments: list[str]) -> None:
    look = calls(("read_doc", {}), content="I look.\r\n\n  Twice.")
    look["tool_calls"][0]["arguments"] = '{"path":\n  "a.md"}'
    with recording(tmp_path / "t.db") as tape:
        tape.run("What is\n  this?", look, answer("That."))
    text = "\n".join(lines_of(*arguments, db=tmp_path / "t.db"))
    assert ("question What is\n    this?" if arguments == ["--full"] else "question What is this?") in text
    assert "│  I look.\n│\n│    Twice.\n" in text
    assert '     arguments  {"path":\n       "a.md"}\n' in text


def test_a_run_that_a_tool_started_is_shown_under_its_call(tmp_path: Path) -> None:
    with recording(tmp_path / "t.db") as tape:
        helper = Agent(name="helper", model=ScriptedModel(["deep"]))

        @tool("Ask a helper.")
        async def ask_helper(question: str) -> str:
            return (await tape.recorder.run(helper, question)).answer or ""

        outer = tape.run("q", calls(("ask_helper", {"question": "why"})), answer("a"), tools=Toolbox([ask_helper]))
    told = as_json("show", outer, db=tmp_path / "t.db")
    (inner,) = told["steps"][0]["tool_calls"][0]["runs"]
    assert f"     ⤷ run {inner[:8]}  answered  helper · scripted" in lines_of(outer, db=tmp_path / "t.db")
    assert as_json("show", inner, db=tmp_path / "t.db")["run"]["parent_run"] == outer


def record_wide(db: Path) -> None:
    wide = calls(
        ("grep_docs", {"keyword": "日本語の長い言葉" * 20}),
        ("no_such_tool_" + "x" * 150, {"a": "b\tc" * 50}),
        content="宽 " * 200,
    )
    wide["tool_calls"].append({"name": "read_doc", "arguments": "no json\t\t\t\t\t\t" * 30})
    with recording(db) as tape:
        labels: dict[str, Any] = {"tags": ["t" * 90], "metadata": {"k": "v" * 200}, "session": "s" * 90}
        tape.run("q", wide, OSError("very " * 100), name="agent" * 30, model="model" * 40, **labels)


@pytest.mark.parametrize("columns", [80, 140])
@pytest.mark.parametrize("record", [record_sample, record_wide])
def test_on_a_terminal_no_line_is_wider_but_free_text(tmp_path: Path, record: Any, columns: int) -> None:
    record(tmp_path / "t.db")
    for arguments in (["show"], ["list"]):
        lines = plain(on_terminal(*arguments, db=tmp_path / "t.db", columns=columns)).splitlines()
        free = ("question ", "no answer: ", "  Four kinds: ")
        wide = [line for line in lines if cell_len(line.expandtabs()) > columns and not line.startswith(free)]
        assert wide == []
        assert lines[-1].startswith("next: viewer ")


@pytest.mark.parametrize("columns", [80, 140])
def test_calls_of_one_message_stand_side_by_side_in_time(db: Path, columns: int) -> None:
    text = plain(on_terminal("show", db=db, columns=columns))
    bars = {match[1]: (match.start(2) - match.start(), match[2])
            for match in re.finditer(r"^(step \d|.─ \d\.\d).*? ([·█▌▐]{12,}) .*ms$", text, re.MULTILINE)}  # fmt: skip
    assert list(bars) == ["step 1", "├─ 1.1", "└─ 1.2", "step 2", "└─ 2.1", "step 3"]
    assert len({at for at, _ in bars.values()}) == 1
    drawn = {name: {cell for cell, mark in enumerate(bar) if mark != "·"} for name, (_, bar) in bars.items()}
    assert drawn["├─ 1.1"] & drawn["└─ 1.2"]
    assert max(drawn["└─ 1.2"]) < min(drawn["└─ 2.1"])


def test_an_answer_of_parts_is_shown_as_its_text(tmp_path: Path) -> None:
    look = calls(("read_doc", {"path": "a.md"}))
    with recording(tmp_path / "t.db") as tape:
        tape.run("What?", {**look, "content": [{"type": "text", "text": "I look."}]}, answer("That."))
    for arguments in ([], ["--full"], ["last:1"], ["--messages"]):
        assert "I look." in printed("show", *arguments, db=tmp_path / "t.db")


@pytest.mark.parametrize("columns", [50, 80])
def test_an_answer_is_wrapped_between_words_as_far_in_as_its_line_and_never_wider_than_the_terminal(
    tmp_path: Path, columns: int
) -> None:
    said = " ".join(["word"] * 40)
    lines = [said, f"    {said}", f"\t{said}", " " * 100 + said, "日本語" * 30, "", "end"]
    with recording(tmp_path / "t.db") as tape:
        tape.run("q", answer("\n".join(lines)))
    text = plain(on_terminal("show", db=tmp_path / "t.db", columns=columns))
    rows = text.partition("\nanswer\n")[2].rpartition("\nnext:")[0].splitlines()
    assert all(cell_len(row.rstrip()) <= columns for row in rows)
    assert "".join(text.partition("\nanswer\n")[2].rpartition("\nnext:")[0].split()) == "".join("".join(lines).split())
    indents = {len(row) - len(row.lstrip()) for row in rows if "word" in row}
    assert indents == {2, 6, min(102, columns - 24)}


def test_what_is_said_of_a_cut_agrees_where_a_secret_stood_before_it(tmp_path: Path) -> None:
    @tool
    def read() -> str:
        return "at redis://me:hunter2hunter2@host/1\n" + "line\n" * 1000

    agent = Agent(model=ScriptedModel([calls(("read", {})), answer("seen")]), tools=Toolbox([read]))
    with Recorder(tmp_path / "t.db") as recorder:
        recorder.run_sync(agent, "q")
    text = printed("show", "last:1.1", "--full", db=tmp_path / "t.db")
    ((shown, whole),) = re.findall(r"✂ cut: ([\d,]+) of ([\d,]+) chars", text)
    assert f"[cut: the first {shown} of {whole} characters]" in text
    (left,) = re.findall(r"from here on \(([\d,]+) characters\)", text)
    assert [int(one.replace(",", "")) for one in (shown, left, whole)] == [2955, 2081, 5036]
    rest = text.partition("did not see it ──\n")[2].partition("\n\n")[0]
    assert "".join(rest.split()) == "line" * 416
