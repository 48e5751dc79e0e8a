"""The corpus has the shape that its users expect: files, length, links, plain text."""

from __future__ import annotations

import re

import pytest

from .documents import CORPUS, NAMES, Block, blocks_in, text_of

EXPECTED = {
    "index.md",
    "quickstart.md",
    "async.md",
    "http2.md",
    "environment_variables.md",
    "exceptions.md",
    "logging.md",
    "troubleshooting.md",
    "compatibility.md",
    "api.md",
    "advanced/clients.md",
    "advanced/authentication.md",
    "advanced/ssl.md",
    "advanced/proxies.md",
    "advanced/timeouts.md",
    "advanced/resource-limits.md",
    "advanced/transports.md",
    "advanced/event-hooks.md",
    "advanced/extensions.md",
    "advanced/text-encodings.md",
}


def every_block() -> list[Block]:
    return [block for name in NAMES for block in blocks_in(text_of(name))]


def test_the_corpus_has_the_documents_that_users_of_httpx_look_for() -> None:
    assert set(NAMES) == EXPECTED
    assert len(NAMES) >= 18


def test_the_corpus_is_long_enough_to_be_worth_searching() -> None:
    assert sum(len(text_of(name).splitlines()) for name in NAMES) >= 1200


def test_the_document_on_timeouts_is_too_long_for_one_screen() -> None:
    assert len(text_of("advanced/timeouts.md").splitlines()) > 80


@pytest.mark.parametrize("name", NAMES)
def test_a_document_is_plain_utf_8_with_one_title_and_short_lines(name: str) -> None:
    text = (CORPUS / name).read_bytes().decode("utf-8")
    assert "\t" not in text
    assert "\r" not in text
    assert text.endswith("\n")
    assert text.startswith("# ")
    assert max(len(line) for line in text.splitlines()) <= 100


@pytest.mark.parametrize("name", NAMES)
def test_links_between_documents_lead_somewhere(name: str) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", text_of(name)):
        assert ((CORPUS / name).parent / target).is_file(), target


def test_the_index_leads_to_every_other_document() -> None:
    linked = set(re.findall(r"\]\(([^)]+)\)", text_of("index.md")))
    assert linked == EXPECTED - {"index.md"}


@pytest.mark.parametrize("word", ["webhook", "retry-policy"])
def test_the_words_that_a_search_should_not_find_are_absent(word: str) -> None:
    assert [name for name in NAMES if word in text_of(name).lower()] == []


def test_every_block_is_python_or_shell() -> None:
    assert {block.language for block in every_block()} == {"python", "shell"}


def test_at_most_one_block_in_ten_is_marked_as_not_for_running() -> None:
    blocks = every_block()
    assert len([block for block in blocks if block.not_run_because]) <= len(blocks) / 10
