"""What a user's own project says of Playhead: `[tool.playhead]` of the nearest pyproject.toml that has one.

[tool.playhead]
agent = "app.agents:support"       # whose runs the viewer's commands replay, fork and test

[tool.playhead.redact]
customer = "C-[0-9]{8}"            # kinds of secrets of your own, see tracing/redaction.py
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


class ProjectError(Exception):
    """The settings cannot be read; the text says what to mend."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    folder: Path | None = None
    """That of the pyproject.toml; None where there is none."""
    agent: str | None = None
    redact: Mapping[str, str] = field(default_factory=dict)


def project_of(start: Path) -> Project:
    """The project that a folder belongs to. Raises ProjectError."""
    for folder in (start, *start.parents):
        path = folder / "pyproject.toml"
        if path.is_file() and (settings := _settings(path)) is not None:
            return _project(path, settings)
    return Project()


def _settings(path: Path) -> Any:
    """What the file says of us; None for nothing. One that cannot be read is told only where it seems to be about us."""
    text = ""
    try:
        text = path.read_text(encoding="utf-8")
        return tomllib.loads(text).get("tool", {}).get("playhead")
    except (OSError, ValueError, AttributeError, RecursionError) as error:
        if "playhead" not in text:
            return None
        raise ProjectError(f"cannot read {path} ({error}): mend it") from error


def _project(path: Path, settings: Any) -> Project:
    known = {"agent", "redact"}
    if not isinstance(settings, dict):
        raise ProjectError(f"{path}: tool.playhead must be a table")
    agent, redact = settings.get("agent"), settings.get("redact", {})
    if unknown := sorted(settings.keys() - known):
        raise ProjectError(f"{path}: [tool.playhead] has no {unknown[0]}: it has {', '.join(sorted(known))}")
    if not (agent is None or isinstance(agent, str)):
        raise ProjectError(f'{path}: agent of [tool.playhead] must be a text, e.g. "myapp.agents:support"')
    if not isinstance(redact, dict) or not all(isinstance(pattern, str) for pattern in redact.values()):
        raise ProjectError(f"{path}: [tool.playhead.redact] must hold regular expressions by kind, as texts")
    return Project(folder=path.parent, agent=agent, redact=redact)
