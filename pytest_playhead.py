"""The pytest plugin: recorded runs as tests.

    def test_refund(playhead):
        playhead.replay("refund.jsonl", "myapp.agents:support")

It is loaded in every pytest run of an environment that has Playhead, so it is a module of its own, whose name nobody else
has, and imports nothing but pytest until a test asks for its fixture.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from agent.agents import Agent
    from tracing.replaying.report import Report
    from viewer.testing.behaviour import Behaviour
    from viewer.testing.kept import KeptTests

OPTION = "--playhead-update"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("playhead")
    group.addoption(OPTION, action="store_true", help="record the runs of playhead's tests anew, live")


class Playhead:
    """What the fixture gives. Recordings are files beside the test; an agent is an `Agent`, a `module:attribute`, or None
    for `[tool.playhead] agent` of the nearest pyproject.toml."""

    def __init__(self, kept: KeptTests) -> None:
        self._kept = kept

    def replay(
        self, recording: str, agent: Agent | str | None = None, *, ignore: Sequence[str] = (), tools: Any = "recorded"
    ) -> Report:
        """Fails unless the agent replays the recorded run exactly; the failure shows the first difference. Without any
        agent, prompt, schemas, settings and limits come from the record. `ignore` and `tools` are those of
        `tracing.replay`."""
        __tracebackhide__ = True
        return self._kept.replay(recording, agent, ignore=ignore, tools=tools)

    def run(self, recording: str, agent: Agent | str | None = None, *, model: Any = "recorded") -> Behaviour:
        """Runs the agent on the recorded question, its own tools live, and returns what it did. The model gives the
        recorded answers whatever it is asked, so what is tested is whether the agent's tools still take these calls; or
        with `model="live"` is the agent's own, whose calls and answer are tested then."""
        __tracebackhide__ = True
        return self._kept.run(recording, agent, model=model)


@pytest.fixture
def playhead(request: pytest.FixtureRequest) -> Playhead:
    """Recorded runs as tests; see `viewer test`."""
    try:
        from viewer.testing.kept import KeptTests
    except ImportError as error:
        pytest.fail(f"playhead: another module has the name of one of its packages: {error}", pytrace=False)
    config = request.config
    return Playhead(KeptTests(request.path.parent, config.invocation_params.dir, update=config.getoption(OPTION)))
