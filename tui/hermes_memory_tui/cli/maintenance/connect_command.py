"""`connect`: add the memory to an agent host, or install the provider of hermes-agent. The bridge's own command."""

from __future__ import annotations

import contextlib
import io
from dataclasses import asdict
from typing import Any

import click

from hermes_memory_bridge.cli.connect_commands import connect_options, execute_request
from hermes_memory_store.errors import ArgumentError
from hermes_memory_tui.cli.command_examples import add_examples
from hermes_memory_tui.cli.common_options import CommandSettings, add_common_options, pass_settings
from hermes_memory_tui.cli.json_documents import print_document


@add_examples(
    ("connect", "the hosts there are, and which are connected"),
    ("connect claude-code --dry-run", "what would be written where"),
)
@click.command("connect", short_help="Connect an agent host to this memory.")
@connect_options
@add_common_options
@pass_settings
def connect_command(settings: CommandSettings, /, **flags: Any) -> int:
    """Connect an agent host to this memory. Without HOST: list the hosts and whether each is connected."""
    from hermes_memory_bridge.connect.host_entries import ConnectRequest

    request = ConnectRequest(db=settings.db, theme=settings.theme, **flags)
    if not settings.as_json:
        return execute_request(request)
    if request.host and not (request.yes or request.dry_run or request.check):
        raise ArgumentError("--json cannot prompt; add --yes or --dry-run")
    output = io.StringIO()
    document: dict[str, Any] = {}
    with contextlib.redirect_stdout(output):
        if request.check and not request.provider:
            from hermes_memory_bridge.connect.host_connection import list_host_checks, to_exit_code

            checks = list_host_checks(request)
            code, document = to_exit_code(checks), {"hosts": [asdict(check) for check in checks]}
        else:
            code = execute_request(request)
    print_document({"ok": code == 0, "said": output.getvalue(), **document})
    return code
