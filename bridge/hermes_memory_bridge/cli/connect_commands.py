"""`connect [HOST]`, of the bridge and of the inspector: what connects an agent host to this memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from hermes_memory_bridge.cli.bridge_options import BridgeCommand, store_option, theme_option

F = TypeVar("F", bound=Callable[..., Any])


def connect_options(command: F) -> F:
    """Add the fields of `ConnectRequest`, but for the store and the theme."""
    for option in (
        click.option("--all-profiles", is_flag=True, help="With --provider: in every profile there is."),
        click.option("--profile", "profiles", multiple=True, metavar="NAME", help="With --provider: in this profile."),
        click.option(
            "--provider", is_flag=True, help="hermes-agent only: install the memory provider instead of the server."
        ),
        click.option("--yes", is_flag=True, help="Do not ask."),
        click.option("--dry-run", is_flag=True, help="Only show what would change."),
        click.option("--check", is_flag=True, help="Start what is configured and call a tool."),
        click.option("--remove", is_flag=True, help="Take it out again."),
        click.option("--project", is_flag=True, help="In this project's file instead of the user's."),
        click.argument("host", required=False),
    ):
        command = option(command)
    return command


@click.command("connect", cls=BridgeCommand)
@connect_options
@store_option
@theme_option("Whose memory.")
def host_connect_command(**request: Any) -> int:
    """Name the bridge in the configuration of an MCP host. Without HOST: which hosts there are."""
    from hermes_memory_bridge.connect.host_connection import connect_host
    from hermes_memory_bridge.connect.host_entries import ConnectRequest

    return connect_host(ConnectRequest(**request))
