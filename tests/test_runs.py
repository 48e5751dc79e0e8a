"""The recorded runs of `data/runs` replay exactly, in this version and in every later one."""

from pathlib import Path

import pytest

from tests.make_runs import KINDS, RUNS, SECRET
from tracing import Recording, replay
from tracing.bundles import open_bundle
from tracing.checking import check

FILES = sorted(RUNS.glob("*.jsonl"))


def recordings(path: Path) -> list[Recording]:
    with open_bundle(path) as store:
        return [store.recording(row["run_id"]) for row in store.runs()[0]]


def test_every_behaviour_of_the_loop_has_its_runs() -> None:
    assert {path.stem for path in FILES} >= {kind.__name__ for kind in KINDS}
    stops = {one.stop for path in FILES for one in recordings(path)}
    assert stops == {
        "answered", "max_steps", "token_limit", "cost_limit", "time_limit", "refused", "content_filter", "failed", "cancelled"
    }  # fmt: skip


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_kept_run_replays_exactly(path: Path) -> None:
    for recording in recordings(path):
        report = replay(recording)
        assert (report.outcome, report.divergences, report.reason) == ("exact", (), None), recording.question
        assert report.steps == len(recording.steps)
        assert (report.unused_steps, report.unused_calls) == (0, 0)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_kept_run_is_as_it_was_written(path: Path) -> None:
    with open_bundle(path) as store:
        assert check(store, hashes=True) == []


def test_the_secret_of_the_redacted_run_is_nowhere() -> None:
    text = (RUNS / "redacted.jsonl").read_text(encoding="utf-8")
    assert SECRET not in text
    assert SECRET[:10] not in text
    (recording,) = recordings(RUNS / "redacted.jsonl")
    assert recording.question == "What does the log of [redacted:api_key#1] say?"
    (call,) = recording.steps[0].calls
    assert call.arguments == '{"token":"[redacted:api_key#1]"}'
    assert call.observation is not None
    assert call.observation.truncated
    assert call.observation.shown.splitlines()[-2].endswith("entry [redacted:api_key#1]")
    assert "[redacted:api_key#1] and more" in call.observation.whole
