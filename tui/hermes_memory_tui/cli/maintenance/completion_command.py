"""`completion`: print the script that lets a shell complete commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from hermes_memory_tui.cli.command_examples import add_examples
from hermes_memory_tui.cli.common_options import add_common_options


@add_examples(
    ('eval "$(hermes-memory-tui completion bash)"', "for this shell, or in ~/.bashrc"),
    ("completion zsh > _hermes-memory-tui", "a file for a folder in $fpath"),
    ("completion fish > hermes-memory-tui.fish", "a file for ~/.config/fish/completions"),
)
@click.command("completion", short_help="Print a shell completion script.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@add_common_options
def completion_command(shell: str) -> None:
    """Print the script that completes commands, options, fields, themes and scopes in a shell."""
    from hermes_memory_tui.cli import cli
    from hermes_memory_tui.cli.command_runner import COMPLETING, PROGRAM

    completion_class = get_completion_class(shell)
    assert completion_class is not None
    click.echo(completion_class(cli, {}, PROGRAM, COMPLETING).source())
