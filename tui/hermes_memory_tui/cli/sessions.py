"""`sessions`."""

from __future__ import annotations

import click

from hermes_memory_store.clock import iso
from hermes_memory_tui.cli.options import Settings, common, pass_settings
from hermes_memory_tui.cli.output import document, session_json, table


@click.command("sessions")
@click.option("--all-themes", is_flag=True, help="Of every theme.")
@common
@pass_settings
def sessions_command(settings: Settings, all_themes: bool) -> None:
    """List agent sessions, running ones first: turn, scope, lease, checkpoint."""
    with settings.store() as store:
        theme = settings.reading_theme(store) if settings.theme and not all_themes else None
        sessions = store.sessions.list(theme)
    if settings.as_json:
        document({"sessions": [session_json(session) for session in sessions]})
    elif not sessions:
        click.echo("no agent has connected yet; docs/agents.md says how")
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
