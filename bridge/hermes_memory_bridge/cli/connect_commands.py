"""`connect [HOST]`, of the bridge and of the inspector: what connects an agent host to this memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hermes_memory_bridge.cli.bridge_options import BridgeCommand, store_option, theme_option

if TYPE_CHECKING:
    from hermes_memory_bridge.connect.host_entries import ConnectRequest

F = TypeVar("F", bound=Callable[..., Any])


def connect_options(command: F) -> F:
    """Add the fields of `ConnectRequest`, but for the store and the theme."""
    for option in (
        click.option("--all-profiles", is_flag=True, help="With --provider: use every profile."),
        click.option("--profile", "profiles", multiple=True, metavar="NAME", help="With --provider: use this profile."),
        click.option(
            "--provider", is_flag=True, help="hermes-agent only: install the memory provider instead of the server."
        ),
        click.option(
            "--yes",
            is_flag=True,
            help="Skip the questions: hooks are installed, agents may write, nothing said or done is kept or heard.",
        ),
        click.option(
            "--capture/--no-capture", default=None, help="Keep what is said in the host, or not; asked otherwise."
        ),
        click.option(
            "--hear/--no-hear",
            default=None,
            help="Hear what tools and pages returned, to tell their words from yours, or not; asked otherwise.",
        ),
        click.option(
            "--actions/--no-actions",
            default=None,
            help="Keep what agents run, read and edit, or not; asked otherwise.",
        ),
        click.option("--hooks/--no-hooks", default=None, help="Give agents what is remembered by hooks, or not."),
        click.option(
            "--allow/--no-allow",
            default=None,
            help="Let agents write, search and tick without asking each time, or not; asked otherwise.",
        ),
        click.option(
            "--rules/--no-rules",
            default=None,
            help="Cursor and Goose: write a file with facts into each workspace, or not; asked otherwise.",
        ),
        click.option(
            "--tools",
            metavar="TOOLS",
            help="Tools to offer: essential (the default beside hooks), core (otherwise), all, or names with commas.",
        ),
        click.option(
            "--plugin",
            metavar="DIR",
            help="Write a plugin of Claude Code or Codex, or an extension of Gemini CLI, into a folder.",
        ),
        click.option("--all", "every", is_flag=True, help="Connect, check or remove every host that is there."),
        click.option("--dry-run", is_flag=True, help="Show the change without writing it."),
        click.option("--check", is_flag=True, help="Start the configured command and call a tool."),
        click.option("--remove", is_flag=True, help="Remove the entry."),
        click.option("--project", is_flag=True, help="Use this project's file instead of the user's."),
        click.argument("host", required=False),
    ):
        command = option(command)
    return command


@click.command("connect", cls=BridgeCommand)
@connect_options
@store_option
@theme_option("Theme to use.")
def host_connect_command(**request: Any) -> int:
    """Add the bridge to the configuration of an MCP host; list the hosts if none is given."""
    from hermes_memory_bridge.connect.host_entries import ConnectRequest

    return execute_request(ConnectRequest(**request))


def execute_request(request: ConnectRequest) -> int:
    """Execute a request as `connect_host`, and say which sessions the hosts that it connected keep on this disk."""
    from hermes_memory_bridge.connect.host_connection import connect_host
    from hermes_memory_bridge.connect.host_entries import find_store_path

    code = connect_host(request)
    if code == 0 and not (request.remove or request.check or request.dry_run):
        from hermes_memory_bridge.backfill.disk_sessions import offer_backfill
        from hermes_memory_store.hosts.host_data import find_hosts_with

        offer_backfill(
            find_store_path(request.db), find_hosts_with("sessions") if request.every else [request.host or ""]
        )
    return code
