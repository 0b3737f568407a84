"""`connect`: name the memory in an agent host, or install the provider of hermes-agent. The bridge's own command."""

from __future__ import annotations

import contextlib
import io
import sys
from typing import Any

import click

from hermes_memory_bridge.connect.connect_commands import connect_options
from hermes_memory_store.errors import ArgumentError
from hermes_memory_tui.cli.documents import document
from hermes_memory_tui.cli.options import Settings, common, pass_settings


@click.command("connect", short_help="Connect an agent host to this memory.")
@connect_options
@common
@pass_settings
def connect_command(settings: Settings, /, **flags: Any) -> None:
    """Connect an agent host to this memory. Without HOST: which hosts there are, and which are connected."""
    from hermes_memory_bridge.connect.command import ConnectRequest, connect_host

    request = ConnectRequest(db=settings.db, theme=settings.theme, **flags)
    if not settings.as_json:
        sys.exit(connect_host(request))
    if request.host and not (request.yes or request.dry_run or request.check):
        raise ArgumentError("with --json nobody can be asked; add --yes or --dry-run")
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        code = connect_host(request)
    document({"ok": code == 0, "said": said.getvalue()})
    sys.exit(code)
