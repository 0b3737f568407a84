"""The command `sessions`."""

from __future__ import annotations

import click

from hermes_memory_store.clock import format_iso_time
from hermes_memory_tui.cli.common_options import CommandSettings, add_common_options, pass_settings
from hermes_memory_tui.cli.json_documents import print_document, session_json
from hermes_memory_tui.cli.terminal_output import print_table


@click.command("sessions", short_help="List agent sessions.")
@click.option("--all-themes", is_flag=True, help="Include all themes, even with --theme.")
@add_common_options
@pass_settings
def sessions_command(settings: CommandSettings, all_themes: bool) -> None:
    """List agent sessions, active ones first: turn, scope, lease; all themes unless --theme names one."""
    with settings.store() as store:
        sessions = store.sessions.list(None if all_themes else settings.confining_theme(store))
    if settings.as_json:
        print_document({"sessions": [session_json(session) for session in sessions]})
    elif not sessions:
        click.echo("no sessions", err=True)
    else:
        print_table(
            ("session", "theme", "status", "client", "turn", "scope", "heartbeat"),
            [
                (
                    one.title,
                    one.theme,
                    one.status.value,
                    one.client or "",
                    one.turn,
                    one.scope or "",
                    format_iso_time(one.heartbeat_at),
                )
                for one in sessions
            ],
        )
