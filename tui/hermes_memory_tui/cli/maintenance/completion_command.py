"""`completion`: print the script that lets a shell complete commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from hermes_memory_tui.cli.common_options import add_common_options


@click.command("completion", short_help="Print a shell completion script.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@add_common_options
def completion_command(shell: str) -> None:
    """Print the completion script, e.g. eval "$(hermes-memory-tui completion bash)"."""
    from hermes_memory_tui.cli import cli
    from hermes_memory_tui.cli.command_runner import COMPLETING, PROGRAM

    made = get_completion_class(shell)
    assert made is not None
    click.echo(made(cli, {}, PROGRAM, COMPLETING).source())
