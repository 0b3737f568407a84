"""The command `sessions`."""

from __future__ import annotations

import click

from hermes_memory_tui.cli.command_examples import add_examples
from hermes_memory_tui.cli.common_options import CommandSettings, add_common_options, pass_settings
from hermes_memory_tui.cli.json_documents import print_document, session_json
from hermes_memory_tui.cli.table_output import Listing, add_list_options, print_rows

SESSIONS = Listing(
    fields=(
        "uid", "theme", "name", "title", "client", "client_version", "project", "number", "pid", "status", "started_at",
        "heartbeat_at", "ended_at", "lease_ms", "turn", "scope", "checkpoint",
    ),
    shown=("title", "theme", "status", "client", "turn", "scope", "heartbeat_at"),
)  # fmt: skip


@add_examples(
    ("sessions", "who is at work"),
    ("sessions -o jsonl --fields title,name,status", "the same for a program, with the name a client gave"),
)
@click.command("sessions", short_help="List agent sessions.")
@click.option("--all-themes", is_flag=True, help="Include all themes, even with --theme.")
@add_list_options(SESSIONS)
@add_common_options
@pass_settings
def sessions_command(settings: CommandSettings, all_themes: bool) -> None:
    """List agent sessions, active ones first: turn, scope, lease; all themes unless --theme names one."""
    with settings.store() as store:
        sessions = store.sessions.list(None if all_themes else settings.confining_theme(store))
    if settings.as_json:
        print_document({"sessions": [session_json(session) for session in sessions]})
        return
    print_rows(settings, SESSIONS, map(session_json, sessions))
    if not sessions:
        click.echo("no sessions", err=True)
