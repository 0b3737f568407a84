"""`sessions`."""

from __future__ import annotations

import click

from hermes_memory_store.clock import iso
from hermes_memory_tui.cli.documents import document, session_json
from hermes_memory_tui.cli.options import Settings, common, pass_settings
from hermes_memory_tui.cli.output import table


@click.command("sessions", short_help="List agent sessions.")
@click.option("--all-themes", is_flag=True, help="Of every theme, whatever --theme says.")
@common
@pass_settings
def sessions_command(settings: Settings, all_themes: bool) -> None:
    """List agent sessions, running ones first: turn, scope, lease; of all themes unless --theme names one."""
    with settings.store() as store:
        sessions = store.sessions.list(None if all_themes else settings.confining_theme(store))
    if settings.as_json:
        document({"sessions": [session_json(session) for session in sessions]})
    elif not sessions:
        click.echo("no agent has connected yet", err=True)
    else:
        table(
            ("session", "theme", "status", "client", "turn", "scope", "heartbeat"),
            [
                (
                    one.name,
                    one.theme,
                    one.status.value,
                    one.client or "",
                    one.turn,
                    one.scope or "",
                    iso(one.heartbeat_at),
                )
                for one in sessions
            ],
        )
