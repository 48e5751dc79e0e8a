"""The corpus speaks of things that exist, and of every exception there is."""

from __future__ import annotations

import builtins
import re
from datetime import timedelta

import httpx
import pytest

from .documents import NAMES, text_of

EXCEPTIONS = {
    name: value for name, value in vars(httpx).items() if isinstance(value, type) and issubclass(value, Exception)
}
OF_OTHER_LIBRARIES = {"JSONDecodeError", "SSLError", "RequestException"}
EXCEPTION_NAME = re.compile(
    r"\b[A-Z][A-Za-z]+(?:Error|Exception|Timeout|Conflict|Closed|Consumed|NotRead|URL"
    r"|TooManyRedirects|UnsupportedProtocol)\b|# raises (\w+)"
)


def names_in(name: str) -> set[str]:
    found = EXCEPTION_NAME.finditer(text_of(name))
    return {match[1] or match[0] for match in found}


@pytest.mark.parametrize("name", NAMES)
def test_every_exception_that_a_document_names_exists(name: str) -> None:
    known = EXCEPTIONS.keys() | vars(builtins).keys() | OF_OTHER_LIBRARIES
    assert names_in(name) - known == set()


@pytest.mark.parametrize("name", NAMES)
def test_every_attribute_of_httpx_that_a_document_names_exists(name: str) -> None:
    for attribute in set(re.findall(r"\bhttpx\.([A-Za-z_]+)", text_of(name))):
        assert hasattr(httpx, attribute), attribute


def test_there_are_exceptions_to_document() -> None:
    assert len(EXCEPTIONS) == 28


@pytest.mark.parametrize("name", sorted(EXCEPTIONS))
def test_every_exception_of_httpx_is_documented_with_a_sentence_of_its_own(name: str) -> None:
    text = text_of("exceptions.md")
    assert f"\n`{name}` " in text or f"\n- `{name}`: " in text


def test_the_documented_tree_of_exceptions_is_the_real_one() -> None:
    section = text_of("exceptions.md").partition("## The exception hierarchy")[2].partition("## ")[0]
    path: list[str] = []
    seen = set()
    for indent, name in re.findall(r"(?m)^( *)- `(\w+)`$", section):
        path = [*path[: len(indent) // 2], name]
        parent = EXCEPTIONS[path[-2]] if len(path) > 1 else None
        if parent:
            assert EXCEPTIONS[name].__bases__ == (parent,)
        else:
            assert EXCEPTIONS[name].__base__ in (Exception, RuntimeError)
        seen.add(name)
    assert seen == EXCEPTIONS.keys()


def test_the_documented_attributes_of_a_response_exist() -> None:
    section = text_of("api.md").partition("## Response")[2].partition("```")[0]
    for name in re.findall(r"`(\w+)(?:\(\))?`", section):
        response = httpx.Response(200, request=httpx.Request("GET", "https://www.example.org/"))
        response.elapsed = timedelta(seconds=1)
        assert hasattr(response, name), name
