"""The user's own project: which agent its commands are about."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent.agents import Agent


class BadProject(Exception):
    """The agent of a command or of the project cannot be loaded; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """An agent and the name it was loaded by."""

    name: str
    agent: "Agent"


def choose_agent(given: str | None, start: Path | None = None) -> Chosen | None:
    """The agent of `--agent`, else of `[tool.playhead] agent` in the nearest pyproject.toml. Raises BadProject."""
    folder: Path | None = None
    if given is None:
        folder, given = _configured(start or Path.cwd())
    return None if given is None else load(given, folder)


def load(name: str, folder: Path | None = None) -> Chosen:
    """Raises BadProject."""
    from agent.errors import AgentError
    from agent.loading import LoadError, load_agent

    try:
        return Chosen(name, load_agent(name, folder))
    except (LoadError, AgentError) as error:
        raise BadProject(str(error)) from error


def _configured(start: Path) -> tuple[Path | None, str | None]:
    """The folder of the nearest pyproject.toml, and the agent it names, if any."""
    for folder in (start, *start.parents):
        path = folder / "pyproject.toml"
        if not path.is_file():
            continue
        try:
            settings = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise BadProject(f"cannot read {path} ({error}): mend it, or give --agent") from error
        name = settings.get("tool", {}).get("playhead", {}).get("agent")
        if name is not None and not isinstance(name, str):
            raise BadProject(f'{path}: agent of [tool.playhead] must be a text, e.g. "myapp.agents:support"')
        return folder, name
    return None, None
