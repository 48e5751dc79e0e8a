"""`viewer diff`: where two runs first differ, and what does; a run is the same as its kept replay."""

import asyncio
import fcntl
import os
import pty
import sqlite3
import struct
import subprocess
import sys
import termios
from pathlib import Path
from typing import Any

import pytest

from agent import Agent, ScriptedModel, Toolbox, tool
from agent.values import Observation
from tests.runs import (
    HOSTILE,
    SAMPLE,
    TOOLS,
    SpreadIds,
    answer,
    calls,
    in_shell,
    invoke,
    plain,
    read_doc,
    record_interrupted,
    recording,
    strict_json,
    unsafe_in,
)
from tracing import Divergence, Recorder, fork, open_store, replay
from tracing.recording import RecordedCall
from viewer.diffing.runs import RunDiff, Totals, diff_runs
from viewer.diffing.steps import CallChange, Figures, MessageChange, Pair, Recorded, StepChange
from viewer.diffing.texts import TextLine, text_diff
from viewer.render import wrapped


@tool("Search for a word.")
async def grep_docs(keyword: str) -> str:
    await asyncio.sleep(0)
    if keyword == "broken":
        raise OSError("the disk is gone")
    return f"a.md:1: {keyword}"


QUESTION = "How many kinds of timeout?"
OTHER = (SAMPLE[0], calls(("grep_docs", {"keyword": "pool"})), answer("Three kinds (a.md:1).", input=230, output=25))


def both(db: Path, *responses: Any, **more: Any) -> Path:
    """A store with the sample and, as the last run, another one of the same question."""
    with recording(db, ids=SpreadIds()) as tape:
        tape.run(QUESTION, *SAMPLE, system="Look first.")
        tape.run(QUESTION, *responses, **{"system": "Look first.", **more})
    return db


def difference(db: Path, a: str = "last~1", b: str = "last") -> RunDiff:
    with open_store(db) as store:
        sides = []
        for run in (a, b):
            run_id = store.find(run)
            sides.append(
                Recorded(
                    recording=store.recording(run_id),
                    run=store.run(run_id),
                    model_calls=store.model_calls(run_id),
                    tool_calls=store.tool_calls(run_id),
                )
            )
    return diff_runs(*sides)


def first(db: Path, a: str = "last~1", b: str = "last") -> tuple[str, int | None, int | None, str] | None:
    one = difference(db, a, b).first
    return None if one is None else (one.code, one.step, one.call, one.where)


def lines_of(db: Path, *arguments: str, code: int = 3) -> list[str]:
    """The screen in a pipe."""
    result = invoke("diff", *(arguments or ("last~1", "last")), "--tz", "UTC", db=db)
    assert (result.exit_code, result.stderr) == (code, "")
    return [line.rstrip() for line in result.stdout.splitlines()]


def terminal(db: Path, columns: int, *arguments: str, code: int = 3) -> list[str]:
    """The screen on a terminal of that width, without its colours."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    command = [sys.executable, "-m", "viewer", "diff", *(arguments or ("last~1", "last")), "--tz", "UTC"]
    kept = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    env = {**kept, "TERM": "xterm-256color", "PLAYHEAD_DB": str(db), "PYTHONUTF8": "1"}
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=env) as process:
        os.close(theirs)
        chunks = []
        while chunk := _read(ours):
            chunks.append(chunk)
    os.close(ours)
    assert process.returncode == code
    return [line.rstrip() for line in plain(b"".join(chunks).decode().replace("\r\n", "\n")).splitlines()]


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65_536)
    except OSError:  # Linux's way to say that the terminal has no other end any more
        return b""


def called(index: int, name: str, arguments: str, shown: str | None) -> RecordedCall:
    observation = None if shown is None else Observation(shown=shown, whole=shown)
    return RecordedCall(
        index=index, id=f"call_2_{index}", name=name, arguments=arguments, observation=observation, error=None,
        ended=shown is not None,
    )  # fmt: skip


# The value


def test_the_difference_of_two_runs_is_one_value(tmp_path: Path) -> None:
    change = difference(both(tmp_path / "t.db", *OTHER, model="newer"))
    figures = Figures(input=100, output=20, duration=3.0, cost=change.steps[0].figures.a.cost)  # type: ignore[union-attr]
    said = ("Four kinds: connect, read, write, pool (a.md:1).", "Three kinds (a.md:1).")
    one, other = (called(0, "grep_docs", f'{{"keyword":"{word}"}}', f"a.md:1: {word}") for word in ("timeout", "pool"))
    costs = [totals.figures.cost for totals in (change.totals.a, change.totals.b)]
    ends = [change.steps[1].figures.a, change.steps[1].figures.b]
    assert change == RunDiff(
        run_id=Pair("b40711a88c7039756fb8a73827eabe2c", "e084a105a7b7d599b8346d3cba5ac51b"),
        first=Divergence(
            code="arguments", step=2, call=1, where="grep_docs", expected='{"keyword":"timeout"}',
            actual='{"keyword":"pool"}',
        ),
        model=Pair("scripted", "newer"),
        labels=(),
        hashes_from=None,
        identical=((1, 1),),
        steps=(
            StepChange(
                number=2, text=Pair(None, None), finish=Pair("tool_calls", "tool_calls"), error=Pair(None, None),
                ended=Pair(True, True), model=Pair(None, None), figures=Pair(figures, figures),
                calls=(CallChange(kind="arguments", call=Pair(one, other)),),
            ),
            StepChange(
                number=3, text=Pair(*said), finish=Pair("stop", "stop"), error=Pair(None, None),
                ended=Pair(True, True), model=Pair(None, None), figures=Pair(*ends),
            ),
        ),
        stop=Pair("answered", "answered"),
        error=Pair(None, None),
        answer=Pair(*said),
        status=Pair("answered", "answered"),
        totals=Pair(
            Totals(steps=3, calls=3, figures=Figures(input=400, output=70, duration=14.0, cost=costs[0])),
            Totals(steps=3, calls=3, figures=Figures(input=430, output=65, duration=14.0, cost=costs[1])),
        ),
        faults=Pair((), ()),
    )  # fmt: skip


def test_a_run_is_the_same_as_itself_and_as_its_kept_replay(tmp_path: Path) -> None:
    db = both(tmp_path / "t.db", RuntimeError("the server is gone"))
    with open_store(db) as store:
        records = [store.recording("last~1"), store.recording("last")]
    with Recorder(db, strict=True) as recorder:
        kept = [replay(record, keep=recorder).kept for record in records]
    for record, copy in zip(records, kept, strict=True):
        assert copy is not None
        change = difference(db, record.run_id, copy)
        assert (change.same, change.steps, change.labels, change.hashes_from) == (True, (), (), None)
        assert change.identical == ((1, len(record.steps)),)
        assert difference(db, record.run_id, record.run_id).same


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"system": "Look twice."}, ("system", 1, None, "message 1, system")),
        ({"system": None}, ("system", 1, None, "message 1, system")),
        ({"history": [{"role": "user", "content": "Hi."}]}, ("history", 1, None, "message 2, user")),
        ({"question": "How many?"}, ("question", 1, None, "message 2, user")),
        ({"tools": Toolbox([read_doc, grep_docs])}, ("tools", 1, None, "tools.grep_docs.description")),
        ({"settings": {"temperature": 0}}, ("settings", 1, None, "settings.temperature")),
    ],
)
def test_what_a_run_was_asked_is_told_at_its_first_step_alone(
    tmp_path: Path, more: dict[str, Any], expected: tuple[Any, ...]
) -> None:
    given: dict[str, Any] = {"question": QUESTION, "system": "Look first.", "tools": TOOLS, "settings": {}, **more}
    with recording(tmp_path / "t.db", ids=SpreadIds()) as tape:
        tape.run(QUESTION, *SAMPLE, system="Look first.")
        question, history = given.pop("question"), given.pop("history", None)
        tape.recorder.run_sync(Agent(name="docs", model=ScriptedModel(SAMPLE), **given), question, history=history)
    change = difference(tmp_path / "t.db")
    assert first(tmp_path / "t.db") == expected
    assert [step.number for step in change.steps] == [1]
    assert change.identical == ((2, 3),)


def test_the_next_turn_of_a_session_differs_in_its_history_and_its_question(tmp_path: Path) -> None:
    with recording(tmp_path / "t.db", ids=SpreadIds()) as tape:
        agent = Agent(name="docs", model=ScriptedModel(["one", "two"]), system="S")
        turn = tape.recorder.run_sync(agent, "a?", session="s")
        tape.recorder.run_sync(agent, "b?", session="s", history=turn.messages)
    (step,) = difference(tmp_path / "t.db").steps
    assert step.messages == (
        MessageChange(part="history", role="user", position=Pair(None, 2), text=Pair(None, "a?")),
        MessageChange(part="history", role="assistant", position=Pair(None, 3), text=Pair(None, "one")),
        MessageChange(part="question", role="user", position=Pair(2, 4), text=Pair("a?", "b?")),
    )


def test_calls_side_by_side_are_aligned_by_name_and_arguments(tmp_path: Path) -> None:
    def read(*paths: str) -> list[tuple[str, dict[str, Any]]]:
        return [("read_doc", {"path": path}) for path in paths]

    with recording(tmp_path / "t.db", ids=SpreadIds()) as tape:
        tape.run("q", calls(*read("a", "b", "c"), ("grep_docs", {"keyword": "x"})), "done")
        tape.run("q", calls(*read("a", "c"), ("grep_docs", {"keyword": "y"}), ("nothing", {})), "done")
    (step,) = difference(tmp_path / "t.db").steps
    places = [(one.kind, one.call.a and one.call.a.index, one.call.b and one.call.b.index) for one in step.calls]
    assert places == [("same", 0, 0), ("only_a", 1, None), ("same", 2, 1), ("arguments", 3, 2), ("only_b", None, 3)]
    assert difference(tmp_path / "t.db").first == Divergence(code="tool", step=1, call=2, expected='read_doc(path="b")')


def test_another_tool_in_the_place_of_a_call_is_named_beside_it(tmp_path: Path) -> None:
    db = both(tmp_path / "t.db", SAMPLE[0], calls(("read_doc", {"path": "a"})), SAMPLE[2])
    assert difference(db).first == Divergence(
        code="tool", step=2, call=1, expected='grep_docs(keyword="timeout")', actual='read_doc(path="a")'
    )
    assert lines_of(db)[0].endswith(': at 2.1, A calls grep_docs(keyword="timeout") and B calls read_doc(path="a")')


def test_a_fork_is_its_parent_up_to_where_it_was_forked(tmp_path: Path) -> None:
    db = both(tmp_path / "t.db", *SAMPLE)
    with open_store(db) as store:
        parent = store.recording("last")
    agents = [Agent(name="docs", model=ScriptedModel(SAMPLE), tools=TOOLS) for _ in range(2)]
    with Recorder(db, strict=True) as recorder:
        same = asyncio.run(fork(parent, agents[0], 2, recorder))
        other = asyncio.run(fork(parent, agents[1], 3, recorder, results={(2, 1): "b.md:7: timeout"}))
    assert difference(db, parent.run_id, str(same.run_id)).same
    change = difference(db, parent.run_id, str(other.run_id))
    where = 'grep_docs(keyword="timeout")'
    assert change.first == Divergence(
        code="observation", step=2, call=1, where=where, expected="a.md:1: timeout", actual="b.md:7: timeout"
    )
    # What the third step read differs because of it, and is not told again.
    assert (change.identical, [step.number for step in change.steps]) == (((1, 1), (3, 3)), [2])
    assert "fork of " in lines_of(db, parent.run_id, str(other.run_id))[2]


@tool("Answer with a word of the day.")
def word(keyword: str) -> str:
    return next(WORDS)


WORDS = iter(["a\n" * 4000 + "x", "a\n" * 4000 + "y"])


def test_a_result_that_differs_only_in_what_was_cut_off_is_another_result(tmp_path: Path) -> None:
    with recording(tmp_path / "t.db", ids=SpreadIds()) as tape:
        for _ in range(2):
            tape.run("q", calls(("word", {"keyword": "k"})), "done", tools=Toolbox([word]))
    assert first(tmp_path / "t.db") == ("observation", 1, 1, 'word(keyword="k")')
    told = '  ~ 1.1 word(keyword="k")  another result, but only in what the model did not see'
    assert told in lines_of(tmp_path / "t.db")


def test_other_ids_of_calls_and_other_tokens_make_no_difference_and_are_said(tmp_path: Path) -> None:
    with recording(tmp_path / "t.db", ids=SpreadIds()) as tape:
        for mark, tokens in (("x", 30), ("y", 31)):
            asked = calls(("read_doc", {"path": "a"}), ("read_doc", {"path": "b"}))
            for number, call in enumerate(asked["tool_calls"]):
                call["id"] = f"call_{mark}{number}"
            tape.run("q", asked, answer("done", input=200, output=tokens))
    change = difference(tmp_path / "t.db")
    assert (change.same, change.hashes_from, change.identical) == (True, 2, ((1, 2),))
    assert lines_of(tmp_path / "t.db", code=0)[3:5] == [
        "    the hashes differ from step 2 on: other call ids, or an empty text",
        "    but for the tokens 300 in, 50 → 51 out",
    ]


@pytest.mark.parametrize(
    ("responses", "more", "said"),
    [
        (SAMPLE[:2], {"max_steps": 2}, "at step 3, only A goes on, B stopped (max_steps)"),
        ((*SAMPLE[:2], RuntimeError("boom")), {}, "at step 3, only B has an error: RuntimeError: boom"),
        ((*SAMPLE[:2], {"content": None, "refusal": "No."}), {}, "at step 3, what the model said differs"),
        ((*SAMPLE[:2], {**SAMPLE[2], "finish_reason": "length"}), {}, "at step 3, the finish reason differs"),
        ((*SAMPLE[:2], {**SAMPLE[2], "model": "snapshot-2"}), {}, None),
        (SAMPLE, {"model": "newer"}, "the models differ"),
        (SAMPLE, {"name": "other"}, None),
        (SAMPLE, {"max_steps": 9}, None),
        (SAMPLE, {"version": "2.0"}, None),
    ],
)  # fmt: skip
def test_the_headline_names_the_first_difference(
    tmp_path: Path, responses: Any, more: dict[str, Any], said: str | None
) -> None:
    db = both(tmp_path / "t.db", *responses, **more)
    runs = "runs b40711a8 and e084a105: "
    if said is None:
        assert lines_of(db, code=0)[0] == f"same  {runs}3 steps, 3 calls"
    else:
        assert lines_of(db)[0] == f"differ  {runs}{said}"


def test_how_a_run_was_run_is_noted_and_makes_no_difference(tmp_path: Path) -> None:
    db = both(tmp_path / "t.db", *SAMPLE, name="other", version="2.0", max_steps=9)
    assert lines_of(db, code=0)[3:6] == [
        "    agent docs → other", "    version none → 2.0", "    limits.max_steps 8 → 9",
    ]  # fmt: skip


LIVED = """
import sys
from agent import Agent, ScriptedModel, Toolbox
from tracing import Recorder

def look(word):
    return "seen " + word

def die(word):
    return "no"

script = [{"tool_calls": [{"name": "look", "arguments": {"word": "first"}}], "usage": {"input": 5, "output": 2}},
          {"tool_calls": [{"name": "die", "arguments": {"word": "now"}}], "usage": {"input": 9, "output": 4}}, "alive"]
agent = Agent(name="mortal", model=ScriptedModel(script), tools=Toolbox([look, die]))
Recorder(sys.argv[1], strict=True).run_sync(agent, "Will you live?")
"""


def test_a_run_that_was_killed_in_a_call_differs_there_from_one_that_was_not(tmp_path: Path) -> None:
    db = tmp_path / "t.db"
    record_interrupted(db)
    subprocess.run([sys.executable, "-c", LIVED, str(db)], check=True, timeout=60)
    lines = lines_of(db)
    assert lines[0].partition(": ")[2] == 'at 2.1, die(word="now") returned only in B'
    at = lines.index("step 2")
    assert lines[at - 2 : at + 4] == [
        "step 1 identical", "", "step 2",
        '  ~ 2.1 die(word="now")  returned only in B',
        "      + no",
        lines[at + 4 - 1],
    ]  # fmt: skip
    assert lines[at + 3].startswith("  tokens 9 in, 4 out   time ? → ")
    assert {"step 3  only in B", "+ answer  only in B", "    + alive", "~ stop interrupted → answered"} < set(lines)


def test_runs_that_never_came_to_a_step_differ_by_what_they_were_asked(tmp_path: Path) -> None:
    with recording(tmp_path / "t.db", ids=SpreadIds()) as tape:
        tape.run("a?", max_steps=1)
        tape.run("b?", max_steps=1)
    forget_steps(tmp_path / "t.db")
    assert first(tmp_path / "t.db") == ("question", 1, None, "message 1, user")
    assert difference(tmp_path / "t.db", "last", "last").same
    assert lines_of(tmp_path / "t.db")[6:10] == ["step 1", "  ~ message 1, user", "      - a?", "      + b?"]


def forget_steps(db: Path) -> None:
    with sqlite3.connect(db) as connection:
        connection.execute("delete from span")
    connection.close()


def test_a_record_that_was_changed_is_shown_with_a_note(tmp_path: Path) -> None:
    db = both(tmp_path / "t.db", *SAMPLE)
    with sqlite3.connect(db) as connection:
        connection.execute("update body set text='Five kinds.' where text like 'Four kinds%'")
        connection.execute("update body set text='[]x' where text like '%grep_docs%' and text like '[%'")
    connection.close()
    lines = lines_of(db, code=0)
    assert lines[3].startswith("    the record of A is not what was written: at step 1, ")
    assert lines[3].endswith(" (see: viewer check)")
    assert json_of(db, code=0)["faults"]["b"]


# The screen


def test_the_screen_tells_the_first_difference_then_each_then_the_end(tmp_path: Path) -> None:
    lines = lines_of(both(tmp_path / "t.db", *OTHER, model="newer"))
    costs = [line for line in lines if line.startswith("cost")]
    assert lines == [
        "differ  runs b40711a8 and e084a105: at 2.1, grep_docs is called with other arguments",
        "- A b40711a8  answered  2026-01-01 00:00:00  docs · scripted",
        "+ B e084a105  answered  2026-01-01 00:00:00  docs · newer",
        "  ~ model scripted → newer",
        "",
        "step 1 identical",
        "",
        "step 2",
        "  ~ 2.1 grep_docs  other arguments",
        '      - {"keyword":"timeout"}',
        '      + {"keyword":"pool"}',
        "    and another result",
        "      - a.md:1: timeout",
        "      + a.md:1: pool",
        lines[14],
        "",
        "step 3",
        "  ~ the answer: see the end",
        lines[18],
        "",
        "~ answer",
        "    - Four kinds: connect, read, write, pool (a.md:1).",
        "    + Three kinds (a.md:1).",
        "",
        lines[24],
        lines[25],
        lines[26],
        lines[27],
        lines[28],
        lines[29],
        *costs,
        "next: viewer show b40711a8:2",
    ]
    assert lines[14].startswith("  tokens 100 in, 20 out   time 3.0 ms   cost ")
    assert lines[18].startswith("  tokens 200 → 230 in, 30 → 25 out   time 1.0 ms   cost ")
    assert [line.split() for line in lines[24:30]] == [
        ["total", "A", "B"], ["steps", "3", "3"], ["calls", "3", "3"], ["tokens", "in", "400", "430", "+30"],
        ["tokens", "out", "70", "65", "-5"], ["time", "14", "ms", "14", "ms"],
    ]  # fmt: skip


PARAGRAPH = (
    "There are four kinds of timeout: connect, read, write and pool. Each has a default of five seconds, and each can be "
    "set on the client or on one request. A pool timeout is raised where no connection becomes free in time, and a write "
    "timeout where the server does not take what is sent. "
)


def record_long(db: Path) -> Path:
    text = "\n".join(f"line {number}" for number in range(60))
    with recording(db, ids=SpreadIds()) as tape:
        tape.run(text, PARAGRAPH)
        tape.run(text.replace("line 3", "row 3"), PARAGRAPH.replace("on one request", "on a single request"))
    return db


def test_on_a_terminal_long_lines_are_shortened_around_what_differs_and_it_is_said(tmp_path: Path) -> None:
    db = record_long(tmp_path / "t.db")
    for columns, rows in ((80, 3), (140, 3)):
        lines = terminal(db, columns)
        at = lines.index("~ answer")
        shown = lines[at + 1 : at + 1 + 2 * rows]
        assert [line[:6] for line in shown] == ["    - ", "      ", "      ", "    + ", "      ", "      "]
        assert max(map(len, lines)) <= columns
        words = " ".join(line[6:] for line in shown)
        assert "on one request" in words
        assert "on a single request" in words
        assert "      … 20 more lines; --full shows all" in lines
        assert (lines[-2] == "… stands where something is shortened; --full shows all") == (columns == 80)
    full = lines_of(db, "last~1", "last", "--full")
    assert f"    - {PARAGRAPH}".rstrip() in full
    assert not any("…" in line for line in full)


def test_many_steps_that_differ_are_told_in_one_line(tmp_path: Path) -> None:
    def script(mark: str, steps: int) -> list[Any]:
        return [calls(("grep_docs", {"keyword": f"{mark}{number}"})) for number in range(steps)]

    with recording(tmp_path / "t.db", ids=SpreadIds()) as tape:
        tape.run("q", *script("a", 22), "done", max_steps=50)
        tape.run("q", *script("b", 40), "done", max_steps=50)
    lines = lines_of(tmp_path / "t.db")
    at = next(number for number, line in enumerate(lines) if line.startswith("… "))
    assert lines[at : at + 2] == [
        "… 3 more steps differ, from step 21 on; --full shows all",
        "… 18 more steps are only in B, from step 24 on; --full shows all",
    ]
    assert "step 41  only in B" in lines_of(tmp_path / "t.db", "last~1", "last", "--full")


def test_two_long_runs_are_folded_around_the_one_step_that_differs(tmp_path: Path) -> None:
    with recording(tmp_path / "t.db", ids=SpreadIds()) as tape:
        for odd in ("", "x"):
            steps = [calls(("grep_docs", {"keyword": f"w{n}{odd if n == 100 else ''}"})) for n in range(300)]
            tape.run("q", *steps, "done", max_steps=400)
    lines = lines_of(tmp_path / "t.db")
    folded = [line for line in lines if line.endswith("identical")]
    assert folded == ["steps 1 to 100 identical", "steps 102 to 301 identical"]


def test_nothing_that_was_recorded_acts_on_a_terminal(tmp_path: Path) -> None:
    db = tmp_path / "t.db"
    with recording(db, ids=SpreadIds()) as tape:
        for more in ("", "x"):
            hostile = HOSTILE + more
            said = calls(("read_doc", {"path": hostile}), (hostile, {hostile: more}), content=hostile)
            tape.run(hostile, said, f"{hostile}\ud83e", system=hostile, name=hostile, model=hostile, version=hostile)
    for options in ([], ["--full"], ["--json"]):
        result = invoke("diff", "last~1", "last", *options, db=db)
        assert (result.exit_code, unsafe_in(result.output)) == (3, set())
    assert unsafe_in("".join(terminal(db, 80))) == set()
    strict_json(result.stdout)


def test_no_colour_in_a_pipe_nor_with_no_color(tmp_path: Path) -> None:
    db = both(tmp_path / "t.db", *OTHER)
    assert "\x1b" not in in_shell("VIEWER diff last~1 last | cat", db).stdout
    assert "\x1b[31m" in in_shell("VIEWER diff last~1 last", db, FORCE_COLOR="1").stdout
    assert "\x1b" not in in_shell("VIEWER diff last~1 last", db, NO_COLOR="1").stdout


# JSON, exit codes, bad input


def json_of(db: Path, code: int = 3) -> Any:
    result = invoke("diff", "last~1", "last", "--json", db=db)
    assert (result.exit_code, result.stderr) == (code, "")
    return strict_json(result.stdout)


def test_json_is_one_object_with_everything(tmp_path: Path) -> None:
    told = json_of(both(tmp_path / "t.db", *OTHER))
    costs = [told["totals"][side].pop("cost_usd") for side in "ab"]
    assert costs == [step["figures"]["a"].pop("cost_usd") for step in told["steps"]]
    for step in told["steps"]:
        del step["figures"]["b"]["cost_usd"]
    quiet: dict[str, Any] = {
        "only": None, "messages": [], "tools": [], "settings": [], "error": {"a": None, "b": None},
        "ended": {"a": True, "b": True}, "response_model": {"a": None, "b": None},
    }  # fmt: skip
    said = {"a": "Four kinds: connect, read, write, pool (a.md:1).", "b": "Three kinds (a.md:1)."}
    answers = {**said, "diff": [f"-{said['a']}", f"+{said['b']}"]}
    one, other = (
        {"call": 1, "tool": "grep_docs", "arguments": f'{{"keyword":"{word}"}}', "result": f"a.md:1: {word}",
         "result_chars": len(word) + 8, "truncated": False, "error": None, "ended": True}
        for word in ("timeout", "pool")
    )  # fmt: skip
    assert told == {
        "schema": 1,
        "a": "b40711a88c7039756fb8a73827eabe2c",
        "b": "e084a105a7b7d599b8346d3cba5ac51b",
        "same": False,
        "first": {"code": "arguments", "step": 2, "call": 1, "where": "grep_docs",
                  "expected": '{"keyword":"timeout"}', "actual": '{"keyword":"pool"}'},
        "model": {"a": "scripted", "b": "scripted"},
        "labels": {},
        "hashes_from": None,
        "identical": [[1, 1]],
        "steps": [
            {**quiet, "step": 2, "text": {"a": None, "b": None, "diff": []},
             "finish_reason": {"a": "tool_calls", "b": "tool_calls"},
             "calls": [{"kind": "arguments", "a": one, "b": other,
                        "arguments_diff": ['-{"keyword":"timeout"}', '+{"keyword":"pool"}'],
                        "result_diff": ["-a.md:1: timeout", "+a.md:1: pool"]}],
             "figures": {side: {"input_tokens": 100, "output_tokens": 20, "duration_ms": 3.0} for side in "ab"}},
            {**quiet, "step": 3, "text": answers, "finish_reason": {"a": "stop", "b": "stop"}, "calls": [],
             "figures": {"a": {"input_tokens": 200, "output_tokens": 30, "duration_ms": 1.0},
                         "b": {"input_tokens": 230, "output_tokens": 25, "duration_ms": 1.0}}},
        ],
        "answer": answers,
        "stop": {"a": "answered", "b": "answered"},
        "error": {"a": None, "b": None},
        "status": {"a": "answered", "b": "answered"},
        "totals": {"a": {"steps": 3, "tool_calls": 3, "input_tokens": 400, "output_tokens": 70, "duration_ms": 14.0},
                   "b": {"steps": 3, "tool_calls": 3, "input_tokens": 430, "output_tokens": 65, "duration_ms": 14.0}},
        "faults": {"a": [], "b": []},
        "next": ["viewer show b40711a8:2", "viewer show e084a105:2"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["last", "ffff"], 1, "viewer: there is no run ffff (see: viewer list)"),
        (["last~7", "last"], 1, "viewer: there is no run last~7: the store holds 2 runs"),
        (["last:2", "last"], 2, "viewer: a diff is of whole runs: give last without a step"),
        (["last"], 2, "Error: Missing argument 'B'."),
        (["last", "last", "--tz", "Nowhere"], 2, "Nowhere"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence_and_an_exit_code(tmp_path: Path, arguments: list[str], code: int, text: str) -> None:
    result = invoke("diff", *arguments, db=both(tmp_path / "t.db", *OTHER))
    assert (result.exit_code, result.stdout) == (code, "")
    assert text in result.stderr


@pytest.mark.parametrize(
    ("responses", "more", "expected"),
    [
        (SAMPLE, {}, "viewer show b40711a8"),
        (SAMPLE, {"system": "Look."}, "viewer context b40711a8:1 --diff e084a105:1"),
        (SAMPLE[:2], {"max_steps": 2}, "viewer show b40711a8:3"),
        ((*SAMPLE[:2], *OTHER[1:]), {}, "viewer show b40711a8:3"),
    ],
)
def test_the_next_command_leads_to_the_first_difference_and_works(
    tmp_path: Path, responses: Any, more: dict[str, Any], expected: str
) -> None:
    db = both(tmp_path / "t.db", *responses, **more)
    result = invoke("diff", "last~1", "last", db=db)
    assert result.stdout.splitlines()[-1] == f"next: {expected}"
    for command in strict_json(invoke("diff", "last~1", "last", "--json", db=db).stdout)["next"]:
        assert invoke(*command.split()[1:], db=db).exit_code == 0


# Texts


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("same", "same", []),
        (None, "new", [TextLine("+", "new", ((0, 3),))]),
        ("", None, [TextLine("-", "")]),
        (
            "a default of five seconds, for each of them",
            "a default of ten seconds, for all of them",
            [
                TextLine("-", "a default of five seconds, for each of them", ((13, 17), (31, 35))),
                TextLine("+", "a default of ten seconds, for all of them", ((13, 16), (30, 33))),
            ],
        ),
        ("nothing alike", "something else", [
            TextLine("-", "nothing alike", ((0, 13),)), TextLine("+", "something else", ((0, 14),)),
        ]),
        ("end ", "end", [TextLine("-", '"end "', ((4, 5),)), TextLine("+", '"end"')]),
        ("é", "e\u0301", [TextLine("-", '"\\u00e9"', ((2, 7),)), TextLine("+", '"e\\u0301"', ((1, 2), (3, 8)))]),
    ],
)  # fmt: skip
def test_the_words_that_differ_are_marked(before: str | None, after: str | None, expected: list[TextLine]) -> None:
    assert text_diff(before, after) == expected


def test_only_what_differs_of_a_long_text_is_told_with_where_it_stands() -> None:
    lines = [f"line {number}" for number in range(1, 100)]
    changed = [*lines[:49], "else", *lines[50:]]
    assert [f"{line.mark}{line.text}" for line in text_diff("\n".join(lines), "\n".join(changed))] == [
        "@line 48", " line 48", " line 49", "-line 50", "+else", " line 51", " line 52",
    ]  # fmt: skip


def test_a_long_line_is_cut_around_the_first_word_that_differs() -> None:
    line = text_diff("w " * 500 + "x " + "w " * 500, "w " * 500 + "y " + "w " * 500)[0]
    short = line.around(40)
    assert short == TextLine("-", "…w w w w w x w w w w w w w w w w w w w …", ((11, 12),))
    assert len(short.text) <= 40
    assert line.around(2001) is not line
    assert line.around(2002) is line


def test_rows_are_as_wide_as_the_terminal_in_cells() -> None:
    assert list(wrapped([("one two ", ""), ("three", "red")], 10)) == [[("one two ", "")], [("three", "red")]]
    assert list(wrapped([("日本語日本語", "")], 7)) == [[("日本語", "")], [("日本語", "")]]
    assert list(wrapped([], 7)) == [[]]
