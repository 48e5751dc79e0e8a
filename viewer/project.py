"""The user's own project: which agent its commands are about."""

from dataclasses import dataclass
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


def choose_agent(given: str | None, start: Path | None = None) -> Chosen | None:
    """The agent of `--agent`, else of `[tool.playhead] agent` in the nearest pyproject.toml. Raises BadProject."""
    if given is not None:
        return load(given)
    try:
        project = project_of(start or Path.cwd())
    except ProjectError as error:
        raise BadProject(f"{error}, or give --agent") from error
    return None if project.agent is None else load(project.agent, project.folder)


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
