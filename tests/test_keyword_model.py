"""The keyword model, through the real loop and the real tools, on the corpus and on a handbook about something else."""

import asyncio
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import pytest

from agent import Agent, Limits, Message, Result, Toolbox, ToolCall, run_sync, tool
from agent.docs import SYSTEM_PROMPT, Docs, docs_toolbox
from agent.models.keyword import NOTE, KeywordModel
from agent.models.keyword_english import stem
from agent.models.keyword_terms import query
from agent.ports import unheard
from agent.values import Request, Response, ToolSchema
from tests.questions import ABSENT, ANSWERED, HANDBOOK, HANDBOOK_ABSENT, HANDBOOK_ANSWERED, Question

CORPUS = Path(__file__).parent.parent / "data" / "httpx-docs"
TIMEOUTS = "How many kinds of timeout does httpx have, and what does each control?"
FOUND_NOTHING = "I found nothing"

_CITED = re.compile(r"^(\S+\.md):(\d+)(?:-(\d+))?$", re.MULTILINE)


class SettledDocs(Docs):
    """Documents that do not change while they are asked: the list of them is made once, since there is much to ask."""

    @cache  # noqa: B019 - lives as long as the test's process
    def paths(self) -> list[str]:
        return super().paths()


def ask(question: str, folder: Path = CORPUS, history: Sequence[Message] = (), max_steps: int = 8) -> Result:
    agent = Agent(
        name="docs",
        model=KeywordModel(),
        tools=docs_toolbox(SettledDocs(folder)),
        system=SYSTEM_PROMPT,
        limits=Limits(max_steps=max_steps),
    )
    return run_sync(agent, question, history=history)


def answer(question: str, folder: Path = CORPUS) -> str:
    return ask(question, folder).answer or ""


def respond(*messages: Message, tools: tuple[ToolSchema, ...] | None = None, step: int = 1) -> Response:
    schemas = docs_toolbox(SettledDocs(CORPUS)).schemas if tools is None else tools
    return asyncio.run(KeywordModel().respond(Request(step=step, messages=messages, tools=schemas), unheard))


def user(text: str) -> Message:
    return Message(role="user", content=text)


def calls(*wanted: tuple[str, str]) -> Message:
    made = tuple(ToolCall(f"id_{index}", name, arguments) for index, (name, arguments) in enumerate(wanted))
    return Message(role="assistant", tool_calls=made)


def result(index: int, text: str) -> Message:
    return Message(role="tool", tool_call_id=f"id_{index}", content=text)


def cited(text: str) -> list[tuple[str, int, int]]:
    return [(path, int(start), int(end or start)) for path, start, end in _CITED.findall(text)]


def lines_of(question: Question, folder: Path) -> set[tuple[str, int]]:
    """Where the answer stands; a place must exist."""
    found: set[tuple[str, int]] = set()
    for place in question.places:
        lines = (folder / place.path).read_text(encoding="utf-8").split("\n")
        numbers = [number for number, line in enumerate(lines, 1) if place.anchor in line]
        assert numbers, f"{place.path} has no line with {place.anchor!r}"
        found.update((place.path, number) for number in numbers)
    return found


def is_answered(question: Question, folder: Path) -> bool:
    places = cited(answer(question.text, folder))
    return any(path == cited_path and start <= line <= end
               for path, line in lines_of(question, folder) for cited_path, start, end in places)  # fmt: skip


@pytest.fixture
def handbook(tmp_path: Path) -> Path:
    for name, text in HANDBOOK.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


# --- What it finds


def test_the_questions_are_answered_with_the_right_place(record_property: Callable[[str, object], None]) -> None:
    wrong = [question.text for question in ANSWERED if not is_answered(question, CORPUS)]
    right = len(ANSWERED) - len(wrong)
    record_property("score", f"{right} of {len(ANSWERED)} questions answered with the right place")
    assert right >= 0.9 * len(ANSWERED), wrong


def test_what_is_not_in_the_documents_is_said_not_to_be_there(record_property: Callable[[str, object], None]) -> None:
    answers = {question: answer(question) for question in ABSENT}
    wrong = [question for question, text in answers.items() if not text.startswith(FOUND_NOTHING) or cited(text)]
    record_property("score", f"{len(ABSENT) - len(wrong)} of {len(ABSENT)} absent answers said to be absent")
    assert wrong == []


def test_the_questions_ask_about_every_document() -> None:
    asked = {place.path for question in ANSWERED for place in question.places}
    assert asked == set(Docs(CORPUS).paths())
    assert len({question.text for question in ANSWERED}) == len(ANSWERED) >= 40
    assert len(set(ABSENT)) >= 10


def test_another_handbook_is_answered_as_well(handbook: Path, record_property: Callable[[str, object], None]) -> None:
    wrong = [question.text for question in HANDBOOK_ANSWERED if not is_answered(question, handbook)]
    right = len(HANDBOOK_ANSWERED) - len(wrong)
    record_property("score", f"{right} of {len(HANDBOOK_ANSWERED)} questions about another handbook answered")
    assert right >= 0.9 * len(HANDBOOK_ANSWERED), wrong
    assert [text for text in HANDBOOK_ABSENT if not answer(text, handbook).startswith(FOUND_NOTHING)] == []


def test_the_four_timeouts_are_named_with_their_lines() -> None:
    text = answer(TIMEOUTS)
    (path, start, end), *_ = cited(text)
    lines = (CORPUS / path).read_text(encoding="utf-8").split("\n")[start - 1 : end]
    assert path == "advanced/timeouts.md"
    assert all(f"- `{kind}`: " in "\n".join(lines) for kind in ("connect", "read", "write", "pool"))
    assert "\n".join(f"  {line}" if line else "" for line in lines) in text


def test_every_cited_line_stands_in_the_file_as_it_is_shown() -> None:
    for question in ANSWERED[::7]:
        text = answer(question.text)
        for path, start, end in cited(text):
            lines = (CORPUS / path).read_text(encoding="utf-8").split("\n")[start - 1 : end]
            assert "\n".join(f"  {line}" if line else "" for line in lines) in text
            assert len(lines) <= 12


def test_an_answer_is_short_and_says_what_it_is() -> None:
    for question in ANSWERED[::7]:
        text = answer(question.text)
        assert len(text.splitlines()) < 60
        assert len(cited(text)) <= 5
        assert text.endswith(NOTE)


def test_a_word_that_is_nowhere_is_named_beside_what_was_found() -> None:
    text = answer("Which reliable proxies speak SOCKS5?")
    assert text.startswith(
        'I searched the documents for "proxies", "speak", "socks5", and found nothing for "reliable".'
    )
    assert cited(text)


def test_what_was_searched_for_is_named_when_nothing_was_found() -> None:
    first, searched, _, note = answer("How do I start a WebSocket server?").splitlines()
    assert first == 'I found nothing about "websocket" in the documents.'
    assert searched.startswith('I searched for: "start", "websocket", "server", ')
    assert note == NOTE


# --- How it works


def test_it_searches_then_reads_then_answers() -> None:
    run = ask(TIMEOUTS)
    rounds = [[call.name for call in message.tool_calls] for message in run.messages if message.role == "assistant"]
    assert run.stats.steps == len(rounds) == 3
    assert [set(names) for names in rounds] == [{"list_docs", "grep_docs"}, {"read_doc"}, set()]
    assert all(len(names) > 1 for names in rounds[:2])


def test_two_steps_are_not_enough() -> None:
    run = ask(TIMEOUTS, max_steps=2)
    assert (run.stop, run.answer) == ("max_steps", None)


def test_it_takes_three_to_five_steps_and_never_fails_a_call() -> None:
    for text in [question.text for question in ANSWERED[::5]] + list(ABSENT[::3]):
        run = ask(text)
        assert 3 <= run.stats.steps <= 5, text
        assert [message for message in run.messages if (message.content or "").startswith("Error: ")] == []


def test_the_same_request_has_the_same_response() -> None:
    run = ask(TIMEOUTS)
    ends = [at for at, message in enumerate(run.messages) if message.role == "assistant"]
    for end in ends:
        assert respond(*run.messages[:end]) == respond(*run.messages[:end])
        assert respond(*run.messages[:end]).message.content == run.messages[end].content


def test_one_model_serves_runs_that_take_turns() -> None:
    model, schemas = KeywordModel(), docs_toolbox(SettledDocs(CORPUS)).schemas
    one, other = ask(TIMEOUTS).messages, ask("Is HTTP/3 supported?").messages

    async def both() -> list[str | None]:
        said = []
        for messages in (one, other, one):
            request = Request(step=3, messages=messages[:-1], tools=schemas)
            said.append((await model.respond(request, unheard)).message.content)
        return said

    assert asyncio.run(both()) == [one[-1].content, other[-1].content, one[-1].content]


def test_an_earlier_turn_does_not_disturb() -> None:
    first = ask(TIMEOUTS)
    second = ask("Is HTTP/3 supported?", history=first.messages)
    assert second.answer == answer("Is HTTP/3 supported?")
    assert second.stats.steps == 3


def test_usage_is_counted_in_words() -> None:
    message = Message(role="system", content="be good")
    response = respond(message, user("Is HTTP/3 supported?"))
    said = sum(len(f"{call.name} {call.arguments}".split()) for call in response.calls)
    assert response.usage.input == 5
    assert (response.usage.output, response.usage.cached, response.usage.reasoning) == (said, 0, 0)


def test_calls_have_ids_of_their_step_and_canonical_arguments() -> None:
    response = respond(user("Is HTTP/3 supported?"), step=4)
    assert [call.id for call in response.calls] == [f"call_4_{index}" for index in range(len(response.calls))]
    assert response.calls[:2] == (
        ToolCall("call_4_0", "list_docs", "{}"),
        ToolCall("call_4_1", "grep_docs", '{"keyword":"http/3"}'),
    )
    assert (response.finish, response.model) == ("tool_calls", "keyword")


# --- What it does with odd input


def test_without_its_tools_it_says_what_it_needs() -> None:
    @tool
    def add(a: int, b: int) -> int:
        return a + b

    none, other = respond(user("hello"), tools=()), respond(user("hello"), tools=Toolbox([add]).schemas)
    assert none.message.content == (
        f"I can only search documents, with the tools grep_docs and read_doc, and here I have none. {NOTE}"
    )
    assert other.message.content == (
        f"I can only search documents, with the tools grep_docs and read_doc, and here I have only add. {NOTE}"
    )
    assert none.calls == other.calls == ()


def test_list_docs_is_not_needed() -> None:
    tools = tuple(tool for tool in docs_toolbox(SettledDocs(CORPUS)).schemas if tool.name in ("grep_docs", "read_doc"))
    response = respond(user(TIMEOUTS), tools=tools)
    assert {call.name for call in response.calls} == {"grep_docs"}


@pytest.mark.parametrize("text", ["", "   ", "?!", "what is it and how do I?", "\x00", "a b c 1 2 3"])
def test_a_question_without_a_telling_word_is_answered_at_once(text: str) -> None:
    response = respond(user(text))
    assert response.calls == ()
    assert response.message.content == f"I found no word in the question to search the documents for. {NOTE}"


@pytest.mark.parametrize(
    "text", ["Wie viele Arten von Zeitüberschreitungen gibt es?", "超时有几种类型？", "Сколько видов тайм-аутов?"]
)
def test_a_question_in_another_language_is_told_to_use_the_documents_language(text: str) -> None:
    said = answer(text)
    assert said.startswith(FOUND_NOTHING)
    assert said.endswith("in their language.")


def test_a_very_long_question_is_searched_for_few_words() -> None:
    long = " ".join(f"word{number} {chr(97 + number % 26) * 9} connect_timeout" for number in range(3000))
    response = respond(user(long + "x" * 10_000))
    assert len(response.calls) <= 15
    assert all(len(call.arguments) < 150 for call in response.calls)
    assert "connect_timeout" in response.calls[1].arguments


@pytest.mark.parametrize(
    "history",
    [
        (),
        (Message(role="system", content="be good"),),
        (Message(role="assistant", content="hello"),),
        (result(0, "an answer to nothing"),),
        (user(TIMEOUTS), Message(role="assistant", content=None)),
        (user(TIMEOUTS), calls(("grep_docs", "not json"), ("", "{}"), ("read_doc", '{"path":7}')), result(1, "")),
        (user(TIMEOUTS), calls(("grep_docs", '{"keyword":"timeout"}'))),
        (user(TIMEOUTS), calls(("grep_docs", '{"keyword":"timeout"}')), result(0, "x.md:99999999999: timeout")),
        (
            user(TIMEOUTS),
            calls(("grep_docs", '{"keyword":"timeout"}')),
            result(0, "[cut: the first 0 of 9 characters]"),
        ),
        (user(TIMEOUTS), calls(("read_doc", '{"path":"a.md"}')), result(0, "1: ```\n3: # timeout\n4: ```python\n9: x")),
        (user(TIMEOUTS), calls(("read_doc", '{"path":"a.md"}')), result(0, "a.md is empty.")),
    ],
)
def test_no_history_makes_it_fail(history: tuple[Message, ...]) -> None:
    response = respond(*history)
    assert response.message.content or response.calls


def test_it_ends_whatever_its_calls_come_to() -> None:
    @tool
    def grep_docs(keyword: str) -> str:
        raise OSError("the disk is gone")

    @tool
    def read_doc(path: str, start: int = 1, end: int = 80) -> str:
        raise OSError("the disk is gone")

    run = run_sync(Agent(model=KeywordModel(), tools=Toolbox([grep_docs, read_doc])), TIMEOUTS)
    assert run.stop == "answered"
    assert run.answer == (
        "I could not search the documents. The first call that failed said: Error: grep_docs raised OSError: "
        f"the disk is gone\n{NOTE}"
    )


def test_what_can_be_searched_but_not_read_is_not_cited() -> None:
    @tool
    def grep_docs(keyword: str) -> str:
        return f"a.md:3: {keyword}"

    @tool
    def read_doc(path: str, start: int = 1, end: int = 80) -> str:
        raise OSError("the disk is gone")

    run = run_sync(Agent(model=KeywordModel(), tools=Toolbox([grep_docs, read_doc])), TIMEOUTS)
    assert (run.answer or "").splitlines()[-3] == (
        "The first call that failed said: Error: read_doc raised OSError: the disk is gone"
    )
    assert cited(run.answer or "") == []


def test_the_line_at_which_a_result_was_cut_is_not_cited(tmp_path: Path) -> None:
    (tmp_path / "long.md").write_text(
        "# Gauge\n\n" + "the gauge shows pressure\n" * 20 + "gauge " * 900, encoding="utf-8"
    )
    last = max(end for _, _, end in cited(answer("What does the gauge show?", tmp_path)))
    assert last < 23


# --- What it takes from a question


def test_names_are_searched_as_they_are_and_words_by_what_their_forms_share() -> None:
    asked = query("Is `max_connections` of httpx.Limits verified when connecting over HTTP/2?")
    assert [term.keyword for term in asked.terms] == ["max_connections", "limits", "verif", "connect", "http/2"]


def test_a_verb_in_two_words_is_taken_as_one() -> None:
    assert [term.text for term in query("How do I turn verification off?").terms] == ["disable", "verification"]


@pytest.mark.parametrize(
    "forms",
    [
        ("verify", "verifies", "verified", "verifying", "verification"),
        ("retry", "retries", "retried", "retrying"),
        ("connect", "connects", "connecting", "connected", "connection", "connections"),
        ("stop", "stops", "stopped", "stopping"),
        ("cache", "caches", "cached", "caching"),
        ("create", "creates", "creating", "creation"),
        ("authenticate", "authenticated", "authentication"),
        ("write", "written", "wrote", "writing"),
        ("cookie", "cookies"),
        ("bus",),
    ],
)
def test_the_forms_of_a_word_have_one_stem(forms: tuple[str, ...]) -> None:
    assert len({stem(form) for form in forms}) == 1


def test_different_words_have_different_stems() -> None:
    words = ["time", "timer", "read", "header", "head", "server", "serve", "string", "sting", "use", "user"]
    assert len({stem(word) for word in words}) == len(words)
