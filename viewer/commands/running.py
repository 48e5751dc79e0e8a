"""What the commands that run something share: agents, models, and files that they write."""

from pathlib import Path
from typing import TYPE_CHECKING

from viewer.options import failure

if TYPE_CHECKING:
    from agent.ports import Model
    from tracing.redaction import Redaction
    from viewer.project import Chosen

EXIT_DIVERGED, EXIT_NOT_REPLAYABLE, EXIT_USAGE = 3, 4, 2


def chosen_agent(name: str | None) -> "Chosen | None":
    from viewer.project import BadProject, choose_agent

    try:
        return choose_agent(name)
    except BadProject as error:
        raise failure(str(error), EXIT_USAGE) from error


def project_redaction() -> "Redaction | None":
    from viewer.project import BadProject, redaction

    try:
        return redaction()
    except BadProject as error:
        raise failure(str(error), EXIT_USAGE) from error


def asked_model(spec: str | None) -> "Model | None":
    from agent.errors import AgentError
    from agent.loading import LoadError, load_model

    if spec is None:
        return None
    try:
        return load_model(spec)
    except (LoadError, AgentError) as error:
        raise failure(str(error), EXIT_USAGE) from error


def write_file(path: Path, text: str, *, force: bool) -> None:
    """Raises Failure where the file is there already, or cannot be written."""
    from tracing.errors import StoreError
    from tracing.whole_file import whole_file

    try:
        if path.exists() and not force:
            raise failure(f"{path} is there already: give another name, or --force")
        with whole_file(path) as write:
            write(text.encode())
    except StoreError as error:
        raise failure(str(error)) from error
    except OSError as error:
        raise failure(f"cannot write {path} ({error.strerror}): give another file") from error
