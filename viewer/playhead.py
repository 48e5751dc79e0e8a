"""The `playhead` command: the commands of `agent` and of `viewer` under one name."""

import click

from agent.cli import cli as agent_cli
from agent.command_line import Commands, run
from viewer.cli import cli as viewer_cli


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="playhead", prog_name="playhead")
def cli() -> None:
    """Run an agent, and look at its recorded runs."""


for group in (agent_cli, viewer_cli):
    for command in group.commands.values():
        cli.add_command(command)


def main() -> None:
    run(cli, "playhead")
