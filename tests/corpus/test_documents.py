"""Every example in the corpus runs, and gives what the text beside it says: readers will copy it."""

from __future__ import annotations

import pytest

from .documents import CORPUS, NAMES
from .run_document import report_on


@pytest.mark.parametrize("name", NAMES)
def test_every_example_of_a_document_runs_and_its_facts_hold(name: str) -> None:
    report = report_on(CORPUS / name)
    assert report.failures == []
    assert report.blocks > report.not_run, "a document should show something that runs"
    assert report.facts > 0, "a document should state a fact that can be checked"
