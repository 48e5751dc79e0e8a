"""From a recorded run to a test that a person would have written."""

import json
import re
import unicodedata
from pathlib import PurePath
from typing import Any

from agent.terminal import one_line, visible
from tracing.recording import Recording
from viewer.testing.behaviour import plain_arguments

MAX_WORDS, MAX_NAME = 8, 60
EXACT = "Record it anew with: pytest --playhead-update"
BEHAVIOUR = (
    "The model gives the recorded answers, and the agent's own tools are run; with\n"
    'model="live" the agent\'s own model is asked.'
)
MAX_ANSWER = 80
"""Characters of the answer that a behaviour test looks for."""


def name_of(recording: Recording) -> str:
    """A name for the test, from the first words of the question."""
    question = re.sub(r"\[redacted:\w+#\d+\]", " ", recording.question)
    plain = unicodedata.normalize("NFKD", question).encode("ascii", "ignore").decode().lower()
    words = re.findall(r"[a-z0-9]+", plain)[:MAX_WORDS]
    name = "_".join(words)[:MAX_NAME].strip("_")
    return name or f"run_{recording.run_id[:8]}"


def exact_test(recording: Recording, name: str, file: PurePath, agent: str | None) -> str:
    """A module whose test demands that the agent replays the run exactly."""
    return f"{_head(recording, EXACT)}\n\ndef test_{name}(playhead):\n    playhead.replay({_arguments(file, agent)})\n"


def behaviour_test(recording: Recording, name: str, file: PurePath, agent: str) -> str:
    """A module whose test demands the same calls in the same order, the same stop, and the gist of the answer."""
    calls = [(call.name, plain_arguments(call.arguments)) for step in recording.steps for call in step.calls]
    failed = [(call.name, call.observation.error) for step in recording.steps for call in step.calls
              if call.observation is not None and call.observation.error is not None]  # fmt: skip
    lines = [
        f"    run = playhead.run({_arguments(file, agent)})",
        *_listed("run.calls", calls),
        *_listed("run.errors", failed),
        f"    assert run.stop == {_quoted(recording.stop or '')}",
    ]
    if recording.answer:
        gist = next((line for line in recording.answer.splitlines() if line.strip()), "")[:MAX_ANSWER].strip()
        lines.append(f"    assert run.says({_quoted(gist)})")
    return f"{_head(recording, BEHAVIOUR)}\n\ndef test_{name}(playhead):\n" + "\n".join(lines) + "\n"


def _head(recording: Recording, words: str) -> str:
    question = one_line(visible(recording.question), 200).replace("\\", "\\\\").replace('"', "'")
    return (
        f'"""{question}\n\n'
        f"The run {recording.run_id[:8]} of {recording.started_at[:10]}, kept by `viewer test`.\n"
        f'{words}\n"""\n'
    )


def _arguments(file: PurePath, agent: str | None) -> str:
    return _quoted(file.name) if agent is None else f"{_quoted(file.name)}, {_quoted(agent)}"


def _listed(what: str, pairs: list[tuple[Any, ...]]) -> list[str]:
    if not pairs:
        return [f"    assert {what} == []"]
    rows = [f"        ({_quoted(name)}, {_literal(value)})," for name, value in pairs]
    return [f"    assert {what} == [", *rows, "    ]"]


def _literal(value: Any) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_quoted(key)}: {_literal(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_literal(item) for item in value) + "]"
    return repr(value)


def _quoted(text: str) -> str:
    """A Python literal in double quotes, as formatters want it; escaped where a file could not show it."""
    quoted = json.dumps(text, ensure_ascii=False)
    plain = visible(text) == text and "\\u" not in quoted and "\\/" not in quoted
    return quoted if plain else ascii(text)
