"""The README says what is true: its session is what the commands print, its Python block runs."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from agent.cli import cli as agent_cli
from tests.readme_session import README, SESSIONS, comparable, run_session, shown_session
from viewer.cli import cli as viewer_cli


@pytest.mark.parametrize("name", SESSIONS)
def test_a_session_is_what_the_commands_really_print(name: str) -> None:
    assert comparable(shown_session(name)) == comparable(run_session(name))


def test_the_python_block_runs_and_prints_what_it_says(tmp_path: Path) -> None:
    (block,) = re.findall(r"```python\n(from.*?)```", README.read_text(), re.DOTALL)
    done = subprocess.run([sys.executable, "-c", block], cwd=tmp_path, capture_output=True, text=True, check=True)
    (expected,) = re.findall(r"# => (.*)", block)
    assert done.stdout == expected + "\n"


def test_every_command_has_help_and_stands_in_the_readme() -> None:
    text = README.read_text()
    for group, name in ((agent_cli, "agent"), (viewer_cli, "viewer")):
        for command in group.commands.values():
            assert command.help
            assert f"{name} {command.name}" in text
            assert CliRunner().invoke(group, [command.name or "", "--help"]).exit_code == 0


def test_the_two_commands_of_the_set_up_stand_there() -> None:
    assert 'pip install uv && uv run agent ask "' in README.read_text()
    assert "pip install uv && uv run pytest\n" in README.read_text()


def test_the_changelog_and_the_licence_are_there() -> None:
    assert "## Unreleased" in README.with_name("CHANGELOG.md").read_text()
    assert README.with_name("LICENSE").read_text().startswith("MIT License")
