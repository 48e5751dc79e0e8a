"""Runs that were kept as tests: replayed, run for their behaviour, or recorded anew."""

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NoReturn

import pytest

from agent.agents import Agent
from agent.errors import AgentError, ModelError
from agent.models.scripted import ScriptedModel
from agent.sync import run_sync
from agent.terminal import visible
from agent.values import Step
from tracing.errors import TraceError
from tracing.ids import CountingIds
from tracing.portable import portable
from tracing.recorder import Recorder
from tracing.recording import Recording
from tracing.redaction import Redaction
from tracing.replaying.ignoring import BadPattern
from tracing.replaying.replay import find_recording, replay
from tracing.replaying.report import Report
from tracing.store import Store
from tracing.whole_file import whole_file
from viewer.project import BadProject, choose_agent, load, redaction
from viewer.replays import text_of
from viewer.testing.behaviour import Behaviour, behaviour_of


class KeptTests:
    """The kept runs of one folder of tests. Every failure is a test's failure, in words."""

    def __init__(self, folder: Path, invoked_in: Path, *, update: bool) -> None:
        self._folder, self._invoked_in, self._update = folder, invoked_in, update

    def replay(self, file: str, agent: Agent | str | None, *, ignore: Sequence[str], tools: Any) -> Report:
        __tracebackhide__ = True
        if tools not in ("recorded", "live") or isinstance(ignore, str):
            _fail('tools is "recorded" or "live", and ignore a list of patterns')
        chosen = self._agent(agent)
        recording = self._recording(file, chosen)
        try:
            report = replay(recording, chosen, ignore=ignore, tools=tools, redact=redaction(self._folder))
        except (BadPattern, BadProject, ValueError) as error:
            _fail(str(error))
        if not report.is_exact:
            _fail(f"{file} is not what happens now\n{text_of(report, file)}")
        return report

    def run(self, file: str, agent: Agent | str | None, *, model: Literal["recorded", "live"]) -> Behaviour:
        __tracebackhide__ = True
        if model not in ("recorded", "live"):
            _fail(f'model is "recorded" or "live", not {model!r}')
        chosen = self._agent(agent)
        if chosen is None:
            _fail("no agent to run: name one, or set agent of [tool.playhead]")
        recording = self._recording(file, None, update=False)
        if model == "recorded":
            chosen = replace(chosen, model=ScriptedModel.from_run(recording))
        steps: list[Step] = []
        try:
            result = run_sync(
                chosen, recording.question, history=recording.earlier(chosen.system), on_step=steps.append
            )
        except ModelError as error:
            result = error.result
        return behaviour_of(result, steps)

    def _recording(self, file: str, agent: Agent | None, *, update: bool = True) -> Recording:
        __tracebackhide__ = True
        path = self._folder / str(file)
        try:
            recording = find_recording(str(path))
            if self._update and update:
                if agent is None:
                    _fail(f"no agent to record {file} anew with: name one")
                record_anew(recording, agent, path)
                recording = find_recording(str(path))
        except (TraceError, BadProject) as error:
            _fail(str(error))
        return recording

    def _agent(self, agent: Agent | str | None) -> Agent | None:
        __tracebackhide__ = True
        if isinstance(agent, Agent):
            return agent
        if not (agent is None or isinstance(agent, str)):
            _fail(f"an agent is an Agent or MODULE:ATTRIBUTE, not {type(agent).__name__}")
        try:
            chosen = choose_agent(None, self._folder) if agent is None else load(agent, self._importable(agent))
        except (BadProject, AgentError) as error:
            _fail(str(error))
        return None if chosen is None else chosen.agent

    def _importable(self, agent: str) -> Path:
        """The nearest folder above the test that holds the agent's module; else the nearest with a pyproject.toml; else
        where pytest was called."""
        name = agent.partition(":")[0].partition(".")[0]
        above = (self._folder, *self._folder.parents)
        holds = (one for one in above if (one / f"{name}.py").is_file() or (one / name / "__init__.py").is_file())
        projects = (one for one in above if (one / "pyproject.toml").is_file())
        return next(holds, None) or next(projects, self._invoked_in)


def _fail(text: str) -> NoReturn:
    """Fails the test, in words that may come from anywhere."""
    __tracebackhide__ = True
    raise pytest.fail.Exception(visible(f"playhead: {text}"), pytrace=False) from None


def record_anew(recording: Recording, agent: Agent, path: Path) -> None:
    """Runs `agent` live on the recorded question and writes the recording. Fails, and leaves it, where the model does."""
    __tracebackhide__ = True
    asked = [recording.question, *(one.content or "" for one in recording.earlier(agent.system))]
    if any("[redacted:" in text for text in asked):
        _fail(
            f"{path.name} is left as it is, because secrets were taken out of what was asked: it cannot be asked again. "
            "Record a new run, and keep that with viewer test --force"
        )
    policy = recording.attrs.get("redaction")
    redact = False if policy is None else redaction(path.parent) or Redaction()
    with tempfile.TemporaryDirectory() as folder:
        db = Path(folder, "anew.db")
        try:
            with Recorder(db, ids=CountingIds(), redact=redact, strict=True) as recorder:
                recorder.run_sync(agent, recording.question, history=recording.earlier(agent.system))
        except ModelError as error:
            if recording.stop != "failed":
                _fail(f"{path.name} is left as it is, because {error}")
        with Store(db) as store:
            text = portable(store, store.find("last"))
    with whole_file(path) as write:
        write(text.encode())
