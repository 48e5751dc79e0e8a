"""The documentation tools: what they find, what they say when there is nothing, and what they never read."""

import asyncio
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from agent import Observation, ToolCall
from agent.docs import Docs, DocsError, docs_toolbox


def folder(at: Path, **files: str | bytes) -> Path:
    """A folder of documents; `guide__install` is guide/install.md."""
    for name, text in files.items():
        path = at / (name.replace("__", "/") + ".md")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return at


def observed(at: Path, name: str, **arguments: Any) -> Observation:
    return asyncio.run(docs_toolbox(Docs(at)).call(ToolCall("c", name, json.dumps(arguments))))


def said(at: Path, name: str, **arguments: Any) -> str:
    return observed(at, name, **arguments).shown


def numbered(count: int) -> str:
    return "".join(f"line {number}\n" for number in range(1, count + 1))


def test_list_docs_names_documents_with_lines_and_title_but_no_licence_and_nothing_hidden(tmp_path: Path) -> None:
    folder(tmp_path, index="# Home\n\nHi\n", guide__install="one", LICENSE="MIT", LICENCE="MIT", empty="")
    folder(tmp_path / ".git", secret="# no")
    folder(tmp_path, **{"guide__.draft": "no"})
    (tmp_path / "notes.txt").write_text("no")
    (tmp_path / "UPPER.MD").write_text("# Loud\n")

    assert said(tmp_path, "list_docs").splitlines() == [
        "UPPER.MD (1 line): Loud",
        "empty.md (0 lines)",
        "guide/install.md (1 line)",
        "index.md (3 lines): Home",
    ]


def test_a_document_about_licences_is_a_document(tmp_path: Path) -> None:
    folder(tmp_path, license="# Enter a key", guide__LICENSE="MIT", **{"LICENSE-server": "# Server"})
    assert said(tmp_path, "list_docs").splitlines() == [
        "LICENSE-server.md (1 line): Server",
        "guide/LICENSE.md (1 line)",
        "license.md (1 line): Enter a key",
    ]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("intro\n## Second ##\n", ": Second"),
        ("# About C#\n", ": About C#"),
        ("```\n#!/bin/sh\n# not this\n```\n# Real\n", ": Real"),
        ("````md\n```\n# not this\n```\n````\n~~~\n# nor this\n```\n~~~\n# Real\n", ": Real"),
        ("#!/bin/sh\n#tag\n#\n", ""),
    ],
)
def test_the_title_is_the_first_heading_that_is_no_code(tmp_path: Path, text: str, title: str) -> None:
    folder(tmp_path, a=text)
    assert said(tmp_path, "list_docs").partition(")")[2] == title


def test_more_documents_than_can_be_listed_are_left_to_a_search(tmp_path: Path) -> None:
    folder(tmp_path, **{f"{number:03}-{'n' * 30}": "x" for number in range(500)})
    assert said(tmp_path, "list_docs").endswith("read on with grep_docs, which searches all 500 documents]")


@pytest.mark.parametrize(("name", "shown"), [(b"caf\xe9.md", "caf\ufffd.md"), (b"two\nlines.md", "two\ufffdlines.md")])
def test_a_name_that_cannot_be_shown_is_read_as_it_is_listed(tmp_path: Path, name: bytes, shown: str) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_text("one\n")
    assert said(tmp_path, "list_docs") == f"{shown} (1 line)"
    assert said(tmp_path, "grep_docs", keyword="one") == f"{shown}:1: one"
    assert said(tmp_path, "read_doc", path=shown) == "1: one"


@pytest.mark.parametrize(
    ("line", "keyword"),
    [
        ("two  blanks", "two blanks"),
        ("two\tblanks", "two blanks"),
        ("two\u00a0blanks", "two blanks"),
        ("two blanks", "two \u00a0 blanks"),
        ("un cafe\u0301 noir", "café noir"),
        ("un café noir", "cafe\u0301"),
    ],
)
@pytest.mark.parametrize("before", [0, 300, 3000])
def test_kinds_of_blanks_and_forms_of_one_character_are_found_alike_and_shown_as_they_stand(
    tmp_path: Path, line: str, keyword: str, before: int
) -> None:
    folder(tmp_path, a=f"{'x' * before} {line} {'y' * before}")
    text = said(tmp_path, "grep_docs", keyword=keyword).removeprefix("a.md:1: ")
    assert len(text) <= 100
    assert line in text


def test_grep_finds_upper_and_lower_case_with_path_and_line(tmp_path: Path) -> None:
    folder(tmp_path, b="x\n  A TimeOut here\n", a__c="timeout\nno\nTIMEOUTS\n")
    hits = "a/c.md:1: timeout\na/c.md:3: TIMEOUTS\nb.md:2: A TimeOut here"
    assert said(tmp_path, "grep_docs", keyword="timeout") == hits
    assert said(tmp_path, "grep_docs", keyword="  TIMEout ") == hits


def test_grep_gives_twenty_hits_and_says_how_many_more_there_are_and_where(tmp_path: Path) -> None:
    folder(tmp_path, a="word\n" * 15, b="word\n" * 10, c="word\n" * 3)
    lines = said(tmp_path, "grep_docs", keyword="word").splitlines()
    assert lines[:20] == [f"a.md:{n}: word" for n in range(1, 16)] + [f"b.md:{n}: word" for n in range(1, 6)]
    assert lines[20:] == ["... and 8 more hits: b.md 5, c.md 3"]


@pytest.mark.parametrize("needle", ["needle", "a phrase of words, " * 3])
@pytest.mark.parametrize("before", ["", *("x" * size for size in (19, 21, 60, 95, 99, 101, 500)), "ß" * 60, "İ" * 90],
                         ids=lambda text: f"{len(text)}{text[:1]}")  # fmt: skip
def test_a_long_hit_is_cut_to_100_characters_with_the_phrase_among_them(
    tmp_path: Path, before: str, needle: str
) -> None:
    phrase = needle.strip()
    folder(tmp_path, a="\n".join(f"{before} {phrase} {'y' * size}".strip() for size in (0, 19, 100, 500)))
    for line in said(tmp_path, "grep_docs", keyword=phrase).splitlines():
        text = line.split(": ", 1)[1]
        assert len(text) <= 100
        assert phrase in text


@pytest.mark.parametrize("keyword", ["", "  ", "\n"])
def test_an_empty_keyword_says_what_to_give(tmp_path: Path, keyword: str) -> None:
    folder(tmp_path, a="x")
    assert said(tmp_path, "grep_docs", keyword=keyword).startswith("Nothing to look for: give one word")


def test_no_hits_says_what_to_try(tmp_path: Path) -> None:
    folder(tmp_path, a="x", b="y")
    text = said(tmp_path, "grep_docs", keyword="webhook")
    assert text.startswith("No hits for 'webhook' in 2 documents. Try ")
    assert "list_docs()" in text


def test_a_regular_expression_is_searched_for_as_it_stands(tmp_path: Path) -> None:
    folder(tmp_path, a="a.*b [x\nazzb")
    assert said(tmp_path, "grep_docs", keyword="a.*b [") == "a.md:1: a.*b [x"


@pytest.mark.parametrize(
    ("arguments", "first", "last", "following"),
    [
        ({}, 1, 80, 81),
        ({"start": 5, "end": 7}, 5, 7, 8),
        ({"start": 1, "end": 200}, 1, 80, 81),
        ({"start": 81}, 81, 160, 161),
        ({"start": 150, "end": 999}, 150, 200, None),
        ({"start": 200, "end": 200}, 200, 200, None),
    ],
)
def test_read_doc_gives_numbered_lines_and_the_call_that_reads_on(
    tmp_path: Path, arguments: dict[str, int], first: int, last: int, following: int | None
) -> None:
    folder(tmp_path, a=numbered(200))
    lines = said(tmp_path, "read_doc", path="a.md", **arguments).splitlines()
    assert lines[: last - first + 1] == [f"{number}: line {number}" for number in range(first, last + 1)]
    notes = lines[last - first + 1 :]
    assert len(notes) == (following is not None)
    for note in notes:
        assert note.startswith(f"[lines {first} to {last} of 200")
        assert note.endswith(f"read on with read_doc('a.md', start={following})]")


@pytest.mark.parametrize("range_", [(0, 80), (-3, 5), (6, 80), (4, 3), (10**30, 10**31)])
def test_a_range_that_is_none_is_answered_with_the_real_one(tmp_path: Path, range_: tuple[int, int]) -> None:
    folder(tmp_path, a=numbered(5))
    text = said(tmp_path, "read_doc", path="a.md", start=range_[0], end=range_[1])
    assert text == ("There is no such range: a.md has lines 1 to 5; give a start from 1 to 5 and an end not before it.")


def test_an_empty_document_says_so(tmp_path: Path) -> None:
    folder(tmp_path, a="")
    assert said(tmp_path, "read_doc", path="a.md") == "a.md is empty."
    assert said(tmp_path, "count_lines", path="a.md") == "a.md has 0 lines."


def read_to_the_end(at: Path) -> dict[int, str]:
    """The lines of a.md by number, as a model gets to read them that follows each call to read on."""
    seen: dict[int, str] = {}
    start: int | None = 1
    while start is not None:
        text = said(at, "read_doc", path="a.md", start=start)
        assert len(text) <= 3000
        seen |= {int(number): line for number, line in re.findall(r"^(\d+): (.*)$", text, re.MULTILINE)}
        following = re.search(r"read on with read_doc\('a\.md', start=(\d+)\)\]$", text)
        assert following is None or int(following[1]) > start, "it must come to an end"
        start = int(following[1]) if following else None
    return seen


@pytest.mark.parametrize("widths", [(10,), (100,), (10, 700), (1000, 2500)])
def test_following_the_call_at_the_end_of_each_result_reads_every_line_without_a_gap(
    tmp_path: Path, widths: tuple[int, ...]
) -> None:
    lines = [f"{number:03}".ljust(widths[number % len(widths)], "w") for number in range(1, 201)]
    folder(tmp_path, a="\n".join(lines))
    assert read_to_the_end(tmp_path) == dict(enumerate(lines, 1))


def test_a_line_longer_than_a_result_is_cut_and_the_lines_after_it_can_be_read(tmp_path: Path) -> None:
    folder(tmp_path, a="one\n" + "w" * 5000 + "\nthree")
    seen = read_to_the_end(tmp_path)
    assert (seen[1], seen[2][:2000], seen[3]) == ("one", "w" * 2000, "three")


@pytest.mark.parametrize(
    ("after", "past"), [("", ""), ("\nthree", ", and past it read on with read_doc('a.md', start=3)")]
)
def test_the_rest_of_a_line_longer_than_a_result_is_left_to_a_search(tmp_path: Path, after: str, past: str) -> None:
    folder(tmp_path, a="one\n" + "w" * 14000 + after)
    note = said(tmp_path, "read_doc", path="a.md", start=2).splitlines()[-1]
    assert note.endswith(f" characters; read on with grep_docs for the rest of line 2{past}]")


def test_a_result_over_3000_characters_keeps_the_whole_for_the_record(tmp_path: Path) -> None:
    folder(tmp_path, a=("w" * 99 + "\n") * 50)
    seen = observed(tmp_path, "read_doc", path="a.md")
    assert seen.truncated
    assert len(seen.shown) <= 3000 < len(seen.whole)
    assert seen.whole.splitlines()[-1] == "50: " + "w" * 99
    assert re.fullmatch(
        r"\[cut: the first 2,\d{3} of 5,190 characters; read on with read_doc\('a\.md', start=29\)\]",
        seen.shown.splitlines()[-1],
    )


def test_a_wrong_name_suggests_right_ones(tmp_path: Path) -> None:
    folder(tmp_path, advanced__timeouts="x", index="y")
    for wrong in ("timeouts.md", "advanced/timeout.md", "docs/timeouts.md"):
        text = said(tmp_path, "read_doc", path=wrong)
        assert f"there is no document '{wrong}'. Did you mean advanced/timeouts.md?" in text
    assert "list_docs() names them all." in said(tmp_path, "count_lines", path="zzz")


def test_paths_that_mean_a_document_of_the_folder_are_taken(tmp_path: Path) -> None:
    folder(tmp_path, guide__install="one")
    for path in ("guide/install.md", "./guide/install.md", "guide\\install.md", " guide//install.md "):
        assert said(tmp_path, "read_doc", path=path) == "1: one"


def test_nothing_outside_the_folder_can_be_read_or_found(tmp_path: Path) -> None:
    folder(tmp_path / "outside", secret="SECRET\n")
    inside = folder(tmp_path / "docs", index="x\n")
    (inside / "file.md").symlink_to(tmp_path / "outside" / "secret.md")
    (inside / "sub").symlink_to(tmp_path / "outside")
    absolute = str(tmp_path / "outside" / "secret.md")
    attempts = ["../outside/secret.md", absolute, "file.md", "sub/secret.md", "sub/../../outside/secret.md",
                "..\\outside\\secret.md", "index.md/../../outside/secret.md", "index.md\0", "\0", "", ".", "..", "~/x.md",
                f"file://{absolute}", "index.md\0/../../outside/secret.md"]  # fmt: skip
    for tool in ("read_doc", "count_lines"):
        for path in attempts:
            seen = observed(inside, tool, path=path)
            assert seen.error == "FileNotFoundError", path
            assert "SECRET" not in seen.shown
    assert said(inside, "list_docs") == "index.md (1 line)"
    assert said(inside, "grep_docs", keyword="secret").startswith("No hits")


def test_a_symbolic_link_that_stays_inside_the_folder_can_be_read(tmp_path: Path) -> None:
    folder(tmp_path / "docs", index="x")
    (tmp_path / "docs" / "alias.md").symlink_to("index.md")
    (tmp_path / "link").symlink_to(tmp_path / "docs")
    assert said(tmp_path / "link", "read_doc", path="alias.md") == "1: x"


def test_odd_things_in_the_folder_harm_nothing(tmp_path: Path) -> None:
    folder(tmp_path, latin=b"caf\xe9 timeout\n", good="timeout\n", windows="one\r\ntwo\r\n", bom=b"\xef\xbb\xbf# T\n")
    (tmp_path / "dangling.md").symlink_to("nowhere.md")
    (tmp_path / "loop.md").symlink_to("loop.md")
    folder(tmp_path / "folder.md", inner="deep")

    assert Docs(tmp_path).paths() == ["bom.md", "folder.md/inner.md", "good.md", "latin.md", "windows.md"]
    assert Docs(tmp_path).faults == [
        "latin.md is not UTF-8 (byte 3): what cannot be read shows as \ufffd; convert it to UTF-8"
    ]
    assert said(tmp_path, "grep_docs", keyword="timeout") == "good.md:1: timeout\nlatin.md:1: caf\ufffd timeout"
    assert said(tmp_path, "read_doc", path="windows.md") == "1: one\n2: two"
    assert said(tmp_path, "read_doc", path="bom.md") == "1: # T"
    assert said(tmp_path, "read_doc", path="folder.md/inner.md") == "1: deep"


def test_a_document_that_goes_away_or_comes_is_noticed(tmp_path: Path) -> None:
    box = docs_toolbox(Docs(folder(tmp_path, a="x", b="y")))
    (tmp_path / "a.md").unlink()
    folder(tmp_path, c="z")
    assert asyncio.run(box.call(ToolCall("c", "list_docs", ""))).shown == "b.md (1 line)\nc.md (1 line)"


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda at: None, "does not exist"),
        (lambda at: at.write_text("x"), "is not a folder"),
        (lambda at: at.mkdir(), "has no Markdown files (*.md)"),
        (lambda at: folder(at / ".hidden", a="x"), "has no Markdown files (*.md)"),
        (lambda at: folder(at, LICENSE="MIT"), "has no Markdown files (*.md) but LICENSE.md"),
    ],
)
def test_a_folder_that_cannot_serve_is_one_sentence_that_says_what_to_do(
    tmp_path: Path, make: Any, reason: str
) -> None:
    make(tmp_path / "docs")
    with pytest.raises(DocsError, match=re.escape(f"the docs folder {tmp_path / 'docs'} {reason}") + ".*: give --docs"):
        Docs(tmp_path / "docs")
