"""The checker notices lies: a corpus that passes is only worth something if a false one fails."""

from __future__ import annotations

import re
from pathlib import Path
from types import FunctionType

import pytest

from .documents import text_of
from .facts import Ledger
from .run_document import report_on


def failures_of(source: str) -> list[str]:
    """Check a block of code that needs no service."""
    ledger = Ledger()
    code = compile(ledger.rewritten(source, 1), "<document>", "exec")
    FunctionType(code, {"_check_": ledger.check, "_raises_": ledger.raises})()
    ledger.unchecked()
    return ledger.failures


@pytest.mark.parametrize(
    "source",
    [
        "1 + 1  # => 2\n",
        "1 + 1\n# => 2\n",
        "def f():\n    'a'.upper()  # => 'A'\nf()\n",
        "{'b': 1, 'a': 2}  # => {'a': 2, 'b': 1}\n",
        "int('x')  # raises ValueError\n",
        "x = int('x')  # raises ValueError\n",
        "object  # => <class 'object'>\n",
    ],
)
def test_a_true_fact_is_accepted(source: str) -> None:
    assert failures_of(source) == []


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("1 + 1  # => 3\n", "line 1: expected 3, but it is 2"),
        ("1 == 1  # => 1\n", "line 1: expected 1, but it is True"),
        ("int('1')  # raises ValueError\n", "but nothing was raised"),
        ("int('x')  # raises TypeError\n", "but ValueError was raised"),
        ("def f():\n    1  # => 1\n", "line 2: never checked: 1"),
        ("import os  # => 3\n", "line 1: belongs to no statement: 3"),
        ("1 + 1\n\n# => 2\n", "line 3: belongs to no statement: 2"),
    ],
)
def test_a_false_or_unchecked_fact_is_reported(source: str, complaint: str) -> None:
    [failure] = failures_of(source)
    assert complaint in failure


@pytest.mark.parametrize("name", ["advanced/resource-limits.md", "compatibility.md", "logging.md"])
def test_a_document_whose_facts_were_all_changed_fails_on_each_of_them(name: str, tmp_path: Path) -> None:
    changed, count = re.subn(r"(?m)# (=>|raises) (.+)$", r"# \1 not \2", text_of(name))
    copy = tmp_path / "changed.md"
    copy.write_text(changed, encoding="utf-8")
    report = report_on(copy)
    assert count == report.facts > 0
    assert len(report.failures) == count
    assert all(": expected not " in failure for failure in report.failures)


@pytest.mark.parametrize(
    ("name", "true", "false"),
    [
        ("http2.md", "# => 'HTTP/2'", "# => 'HTTP/3'"),
        ("advanced/resource-limits.md", "# => 100", "# => 10"),
        ("advanced/proxies.md", "# raises ProxyError", "# raises ReadError"),
        ("environment_variables.md", "# => http\n", "# => https\n"),
    ],
)
def test_one_changed_fact_is_enough_for_a_document_to_fail(name: str, true: str, false: str, tmp_path: Path) -> None:
    text = text_of(name)
    assert true in text
    copy = tmp_path / "changed.md"
    copy.write_text(text.replace(true, false, 1), encoding="utf-8")
    [failure] = report_on(copy).failures
    assert false.removeprefix("# => ").removeprefix("# raises ").strip() in failure


def test_an_example_that_breaks_or_leaves_a_socket_open_is_reported(tmp_path: Path) -> None:
    document = tmp_path / "broken.md"
    document.write_text(
        "# Broken\n\n```python\n1 / 0\n```\n\n"
        "```python\nimport socket\nleft = socket.socket()\n```\n\n"
        "```shell\nexit 3\n```\n",
        encoding="utf-8",
    )
    division, shell, left_open = report_on(document).failures
    assert division == "line 4: ZeroDivisionError: division by zero"
    assert shell.startswith("line 13: ")
    assert "unclosed" in left_open
