"""The user's own project: which agent its commands are about."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from agent.project import ProjectError, project_of

if TYPE_CHECKING:
    from agent.agents import Agent
    from tracing.redaction import Redaction


class BadProject(Exception):
    """The agent of a command or of the project cannot be loaded; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """An agent and the name it was loaded by."""

    name: str
    agent: "Agent"
    is_given: bool = True
    """By an option; the project's own agent is only held against runs of that agent."""

    def for_run(self, agent_name: str) -> "Agent | None":
        """The agent for a run of the agent with this name."""
        return self.agent if self.is_given or self.agent.name == agent_name else None


def choose_agent(given: str | None, start: Path | None = None) -> Chosen | None:
    """The agent of `--agent` (`none` for none), else of `[tool.playhead] agent` in the nearest pyproject.toml. Raises
    BadProject."""
    if given is not None:
        return None if given == "none" else load(given)
    try:
        project = project_of(start or Path.cwd())
    except ProjectError as error:
        raise BadProject(f"{error}, or give --agent") from error
    return None if project.agent is None else replace(load(project.agent, project.folder), is_given=False)


def load(name: str, folder: Path | None = None) -> Chosen:
    """Raises BadProject."""
    from agent.errors import AgentError
    from agent.loading import LoadError, load_agent

    try:
        return Chosen(name, load_agent(name, folder))
    except (LoadError, AgentError) as error:
        raise BadProject(str(error)) from error


def redaction(start: Path | None = None) -> "Redaction | None":
    """The project's own patterns, None where it has none. Raises BadProject."""
    from tracing.redaction import Redaction

    try:
        patterns = project_of(start or Path.cwd()).redact
        return Redaction(patterns) if patterns else None
    except (ProjectError, ValueError) as error:
        raise BadProject(str(error)) from error
