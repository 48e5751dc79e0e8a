"""`viewer context`: what the model read, to the letter; and that nothing recorded can act on a terminal."""

import re
from pathlib import Path
from typing import Any

import pytest

from agent import Agent, Message, ScriptedModel, Toolbox
from agent.ports import ModelInfo, Tell
from agent.values import Request, Response
from tests.runs import (
    HOSTILE,
    SAMPLE,
    TOOLS,
    SpreadIds,
    answer,
    as_json,
    calls,
    invoke,
    printed,
    record_sample,
    recording,
    strict_json,
    unsafe_in,
)
from tracing import open_store


class Listening:
    """A scripted model that keeps what it was asked."""

    def __init__(self, *responses: Any) -> None:
        self._script = ScriptedModel(responses)
        self.info = ModelInfo(name="listening", provider="test")
        self.heard: list[Request] = []

    async def respond(self, request: Request, tell: Tell) -> Response:
        self.heard.append(request)
        return await self._script.respond(request, tell)


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    db = tmp_path_factory.mktemp("context") / "traces.db"
    record_sample(db)
    return db


def test_the_messages_are_those_that_were_sent(tmp_path: Path) -> None:
    odd = {"role": "user", "content": [{"type": "text", "text": "part"}], "name": "ada"}
    history = [odd, {"role": "assistant", "content": None, "refusal": "a\ud83eb"}]
    model = Listening(*SAMPLE[:2], {"content": "x\0\ud800y", "reasoning_content": "hmm"}, answer("no"))
    agent = Agent(model=model, tools=TOOLS, system="Look.", settings={"temperature": 0, "top_p": 0.5})
    with recording(tmp_path / "t.db") as tape:
        first = tape.recorder.run_sync(agent, "a\ud83eb\0", history=history)
        tape.recorder.run_sync(agent, "again", history=first.messages)
    with open_store(tmp_path / "t.db") as store:
        runs = [row["run_id"] for row in reversed(store.runs()[0])]
        places = [(runs[0], 1), (runs[0], 2), (runs[0], 3), (runs[1], 1)]
        for (run_id, step), sent in zip(places, model.heard, strict=True):
            request = store.request(run_id, step)
            assert list(request.messages) == [message.to_dict() for message in sent.messages]
            assert [request.tools, request.settings] == [[one.to_dict() for one in sent.tools], dict(sent.settings)]
    told = as_json("context", f"{runs[0]}:3", db=tmp_path / "t.db")
    assert told["messages"][3]["content"] == "a\ufffdb\0"


def test_one_message_is_no_messages(tmp_path: Path) -> None:
    with recording(tmp_path / "t.db", ids=SpreadIds()) as tape:
        tape.run("q", answer("a"))
    title = "what the model read before step 1 of run b40711a8: 1 message"
    assert printed("context", db=tmp_path / "t.db").splitlines()[0] == title
    assert printed("context", "--diff", "1", db=tmp_path / "t.db").splitlines()[1] == "message 1 is the same"


def test_the_screen_shows_every_message_with_its_calls_and_the_cut(db: Path) -> None:
    text = printed("context", "last:2", db=db)
    lines = [line.rstrip() for line in text.splitlines()]
    assert lines[:10] == [
        "what the model read before step 2 of run b40711a8: 5 messages", "",
        "[1] system", "  Look first.",
        "[2] user", "  How many kinds of timeout?",
        "[3] assistant", "  I look.",
        '  → read_doc(path="long.md")  call_1_0', '  → grep_docs(keyword="broken")  call_1_1',
    ]  # fmt: skip
    assert lines[10:12] == ["[4] tool  answers call_1_0", "  1: " + "timeout " * 8 + "timeout"]
    assert re.search(r"^  ✂ the model saw 2,9\d\d of 4,610 characters$", text, re.MULTILINE)
    assert lines[-6:] == [
        "[5] tool  answers call_1_1", "  Error: grep_docs raised OSError: the disk is gone", "",
        "tools: read_doc, grep_docs", "settings: {}", "next: viewer show b40711a8:2",
    ]  # fmt: skip


def test_json_names_the_step_the_messages_and_what_was_cut(db: Path) -> None:
    told = as_json("context", "last:2", db=db)
    assert list(told) == [
        "schema", "run_id", "step", "messages", "hashes", "cut", "tools", "settings", "next",
    ]  # fmt: skip
    assert (told["step"], len(told["messages"]), len(told["hashes"])) == (2, 5, 5)
    assert {position: cut["whole"] for position, cut in told["cut"].items()} == {"4": 4610}
    assert [one["function"]["name"] for one in told["tools"]] == ["read_doc", "grep_docs"]
    assert told["hashes"][-1] == as_json("show", db=db)["steps"][1]["request_tip"]
    assert as_json("context", db=db)["step"] == 3


def test_the_difference_of_two_steps_is_what_was_added(db: Path) -> None:
    text = printed("context", "last:2", "--diff", "3", db=db)
    assert text.splitlines() == [
        "from what the model read before b40711a8:2 to what it read before b40711a8:3",
        "messages 1 to 5 are the same",
        "",
        "+ [6] assistant added",
        '  + → grep_docs(keyword="timeout")',
        "",
        "+ [7] tool added",
        "  + a.md:1: timeout",
        "next: viewer context b40711a8:3",
    ]
    told = as_json("context", "last:3", "--diff", "last:2", db=db)
    assert [(one["kind"], one["position"], one["message"]["role"]) for one in told["changes"]] == [
        ("dropped", 6, "assistant"), ("dropped", 7, "tool"),
    ]  # fmt: skip
    assert (told["same"], told["tools_changed"], told["settings_changed"]) == (5, False, False)


def test_a_step_does_not_differ_from_itself(db: Path) -> None:
    text = printed("context", "last:3", "--diff", "3", db=db)
    assert text.splitlines()[1:] == [
        "messages 1 to 7 are the same", "no message differs", "next: viewer context b40711a8:3",
    ]  # fmt: skip


def test_the_difference_of_two_runs_names_changed_dropped_added_and_cut(tmp_path: Path) -> None:
    said = [
        Message(role=role, content=text) for role, text in (("user", "one"), ("assistant", "two"), ("user", "three"))
    ]
    with recording(tmp_path / "t.db", ids=SpreadIds()) as tape:
        tape.run("q", "a", system="Be kind.", history=said)
        tape.run("q", SAMPLE[0], "a", system="Be brief.", history=said[2:], tools=TOOLS)
    told = as_json("context", "last~1:1", "--diff", "last:2", db=tmp_path / "t.db")
    assert [(one["kind"], one["position"], one["message"]["content"]) for one in told["changes"][:3]] == [
        ("changed", 1, "Be brief."), ("dropped", 2, "one"), ("dropped", 3, "two"),
    ]  # fmt: skip
    assert told["changes"][0]["before"]["content"] == "Be kind."
    assert [(one["kind"], one["position"], one["message"]["role"]) for one in told["changes"][3:]] == [
        ("added", 4, "assistant"), ("added", 5, "tool"), ("added", 6, "tool"),
    ]  # fmt: skip
    assert [(one["cut"] or {}).get("whole") for one in told["changes"][3:]] == [None, 4610, None]
    text = printed("context", "last~1:1", "--diff", "last:2", db=tmp_path / "t.db")
    assert "~ [1] system changed\n  - Be kind.\n  + Be brief.\n" in text
    assert "- [2] user dropped\n  - one\n" in text
    assert re.search(r"^  ✂ cut: the model saw 2,9\d\d of 4,610 characters$", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["last:4"], "run b40711a8 has no step 4: it has the steps 1 to 3"),
        (["last:0"], "run b40711a8 has no step 0: it has the steps 1 to 3"),
        (["last:" + "9" * 20], f"run b40711a8 has no step {'9' * 20}: it has the steps 1 to 3"),
        (["last", "--diff", "9"], "run b40711a8 has no step 9: it has the steps 1 to 3"),
        (["last", "--diff", "nope"], "'nope' names no run: give a run id, the beginning of one, or last (see: viewer list)"),
    ],
)  # fmt: skip
def test_a_step_that_is_none_is_one_sentence_with_exit_code_1(db: Path, arguments: list[str], text: str) -> None:
    result = invoke("context", *arguments, db=db)
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", f"viewer: {text}\n")


def record_hostile(db: Path) -> None:
    """Every field that a model, a tool or a user fills, filled with what acts on a terminal."""

    async def read_doc(path: str) -> str:
        if path == "raise":
            raise OSError(f"{HOSTILE}\ud83e")
        return f"{HOSTILE}\0\ud83e" + "w" * 4000

    asked = calls(("read_doc", {"path": HOSTILE}), ("read_doc", {"path": "raise"}), (HOSTILE, {HOSTILE: "\ud83e"}))
    asked |= {"content": HOSTILE, "model": HOSTILE, "finish_reason": HOSTILE, HOSTILE: HOSTILE}
    asked["tool_calls"].append({"id": HOSTILE, "name": "read_doc", "arguments": HOSTILE + "\ud83e"})
    labels: dict[str, Any] = {"tags": [HOSTILE + "\ud83e"], "metadata": {HOSTILE: HOSTILE, "s": "\ud83e"}, "session": HOSTILE,
                              "version": HOSTILE + "\ud83e"}  # fmt: skip
    with recording(db) as tape:
        for last in (f"{HOSTILE}\ud83e", RuntimeError(f"{HOSTILE}\ud83e")):
            tape.run(HOSTILE + "\ud83e", asked, last, name=HOSTILE, model=HOSTILE, system=HOSTILE,
                     tools=Toolbox([read_doc]), **labels)  # fmt: skip


COMMANDS = [
    "list", "show", "show last~1", "show last~1 --full", "show --messages", "show --events", "show last:1", "show last:1.4",
    "context", "context last~1", "context last:1 --diff 2", "context last~1:2 --diff last:1",
    *(f"sql select/*/from/{view}" for view in ("runs", "tool_calls", "model_calls", "spans", "log_events", "conversation")),
]  # fmt: skip


def test_nothing_that_was_recorded_acts_on_a_terminal_or_is_taken_as_markup(tmp_path: Path) -> None:
    record_hostile(tmp_path / "t.db")
    for command in COMMANDS:
        arguments = [part.replace("/", " ").strip() for part in command.split()]
        result = invoke(*arguments, db=tmp_path / "t.db")
        assert (result.exit_code, unsafe_in(result.output)) == (0, set()), command
        assert "[red]x[/red][/][/tmp/x][link=http://e]y :smile:" in result.stdout, command
        told = invoke(*arguments, "--json", db=tmp_path / "t.db")
        assert (told.exit_code, told.stderr, unsafe_in(told.stdout)) == (0, "", set()), command
        strict_json(told.stdout)


@pytest.mark.parametrize(
    "arguments",
    [["show", HOSTILE], ["context", "last", "--diff", HOSTILE], ["list", "--since", HOSTILE], ["list", "--tz", HOSTILE],
     ["list", "--meta", HOSTILE.replace("=", "")], ["sql", HOSTILE], ["list", "--db", HOSTILE.replace("/", "")]],
)  # fmt: skip
def test_no_error_text_acts_on_a_terminal(db: Path, arguments: list[str]) -> None:
    result = invoke(*arguments, db=db)
    assert result.exit_code in (1, 2)
    assert (result.stdout, unsafe_in(result.stderr)) == ("", set())


def test_what_unicode_cannot_hold_is_replaced_once_and_counted(tmp_path: Path) -> None:
    async def read_doc(path: str) -> str:
        return "a\ud83eb"

    with recording(tmp_path / "t.db") as tape:
        tape.run("q", calls(("read_doc", {"path": "x"})), "c\ud83ed", tools=Toolbox([read_doc]))
    told = as_json("show", db=tmp_path / "t.db")
    assert told["run"]["answer"] == "c\ufffdd"
    (call,) = told["steps"][0]["tool_calls"]
    assert (call["result"], call["result_chars"]) == ("a\ufffdb", 3)
    assert told["steps"][1]["message"]["content"] == "c\ufffdd"
    assert call["whole"] == "a\ufffdb"
    assert told["replaced"] == 1  # the whole result; what a server could not be sent was replaced before it was sent
