"""`connect`: name the memory in an agent host, or install the provider of hermes-agent. The bridge's own command."""

from __future__ import annotations

import sys

import click


@click.command(
    "connect",
    short_help="Connect an agent host to this memory.",
    context_settings={"ignore_unknown_options": True, "help_option_names": []},
    add_help_option=False,
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[HOST] [OPTIONS]")
def connect_command(words: tuple[str, ...]) -> None:
    """Connect an agent host to this memory: the command of `hermes-memory-bridge`, see docs/connect.md."""
    from hermes_memory_bridge.connect.command import main

    sys.exit(main(list(words)))
