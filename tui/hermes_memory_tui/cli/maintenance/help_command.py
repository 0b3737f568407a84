"""`help`: all commands by what they are for, or one command with its options and examples."""

from __future__ import annotations

import click

from hermes_memory_tui.cli.command_examples import add_examples
from hermes_memory_tui.cli.common_options import add_common_options
from hermes_memory_tui.cli.pager import paged_output


@add_examples(("help", "all commands"), ("help facts", "one command"), ("help scopes close", "a command of a group"))
@click.command("help", short_help="Explain a command.")
@click.argument("command", nargs=-1)
@add_common_options
@click.pass_context
def help_command(ctx: click.Context, command: tuple[str, ...]) -> None:
    """Explain COMMAND with its options and examples; without one, list all commands."""
    assert ctx.parent is not None
    at, described = ctx.parent, ctx.parent.command
    rest = list(command)
    while rest:
        if not isinstance(described, click.Group):
            raise click.UsageError(f"{at.command_path} has no commands of its own; leave {rest[0]!r} out", ctx)
        name, inner, rest = described.resolve_command(at, rest)
        assert inner is not None
        at, described = click.Context(inner, info_name=name, parent=at), inner
    with paged_output():
        click.echo(described.get_help(at))
