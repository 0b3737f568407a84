"""The command `sessions`."""

from __future__ import annotations

import click

from hermes_memory_store.clock import format_iso_time
from hermes_memory_store.items.action_rows import Action, list_actions
from hermes_memory_store.safe_text import to_printable
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
    ("sessions claude-code", "what a session ran, read and edited"),
    ("sessions -o jsonl --fields title,name,status", "the same for a program, with the name a client gave"),
)
@click.command("sessions", short_help="List agent sessions.")
@click.argument("name", required=False)
@click.option("--all-themes", is_flag=True, help="Include all themes, even with --theme.")
@add_list_options(SESSIONS)
@add_common_options
@pass_settings
def sessions_command(settings: CommandSettings, name: str | None, all_themes: bool) -> None:
    """List agent sessions, active ones first: turn, scope, lease; all themes unless --theme names one.

    With NAME, a session's name, title or uid or a beginning of it: that session, and what it ran, read and edited, where you
    allowed to keep that.
    """
    actions: list[Action] = []
    with settings.store() as store:
        theme = None if all_themes else settings.confining_theme(store)
        sessions = store.sessions.list(theme) if name is None else [store.sessions.find(name, theme=theme)]
        if name is not None:
            actions = list_actions(store.db, sessions[0])[::-1]
    if settings.as_json:
        listed = [{**action._asdict(), "uid": action.uid.hex(), "at": format_iso_time(action.at)} for action in actions]
        document = {"sessions": [session_json(session) for session in sessions]}
        print_document(document if name is None else {**document, "actions": listed})
        return
    print_rows(settings, SESSIONS, map(session_json, sessions))
    for action in [] if settings.is_tabular else actions:
        outcome = f"  ({action.outcome})" if action.outcome else ""
        click.echo(
            f"{format_iso_time(action.at)}  {action.kind:<4}  {to_printable(' '.join(action.what.split()))}{outcome}"
        )
        if action.error:
            click.echo(f"    {to_printable(action.error.rpartition(chr(10))[2])}")
    if not sessions:
        click.echo("no sessions", err=True)
