"""How runs, steps and calls are named on a command line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracing import NoSuchRun
from tracing.reference import Reference, parse_reference


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("last", Reference("last")),
        ("", Reference("last")),
        (":3", Reference("last", 3)),
        ("last~2", Reference("last~2")),
        ("last-error:1", Reference("last-error", 1)),
        ("3f2a91bc:3", Reference("3f2a91bc", 3)),
        ("3f2a91bc:3.2", Reference("3f2a91bc", 3, 2)),
        (" last:12.10 ", Reference("last", 12, 10)),
        ("last:0.0", Reference("last", 0, 0)),
        ("last.2", Reference("last.2")),
    ],
)
def test_a_reference_names_a_run_a_step_or_a_call(text: str, reference: Reference) -> None:
    assert parse_reference(text) == reference


@pytest.mark.parametrize("text", ["last:", "last:x", "last:3.", "last:.2", "last:3.2.1", "a:b:3", "last:-1", "a:3:2"])
def test_what_names_nothing_says_how_to_write_it(text: str) -> None:
    with pytest.raises(NoSuchRun) as error:
        parse_reference(text)
    assert str(error.value) == f"{text!r} names no run, step or call: write RUN, RUN:3 (a step) or RUN:3.2 (a call)"


@given(st.text() | st.from_regex(r"[a-z0-9~-]{0,9}(:\d{0,5}(\.\d{0,5})?)?", fullmatch=True))
def test_every_text_is_a_reference_or_refused(text: str) -> None:
    try:
        reference = parse_reference(text)
    except NoSuchRun:
        return
    assert reference.run
    assert (reference.step or 0) >= 0
    assert reference.call is None or reference.step is not None


def test_a_number_longer_than_python_reads_is_refused_in_words() -> None:
    with pytest.raises(NoSuchRun):
        parse_reference("last:" + "9" * 5000)
