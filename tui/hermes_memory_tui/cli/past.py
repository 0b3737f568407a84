"""`at TIME COMMAND …`: what a reading command would have answered then."""

from __future__ import annotations

import click

from hermes_memory_store.clock import moment
from hermes_memory_store.past import store_at
from hermes_memory_tui.cli.options import Settings, common, pass_settings
from hermes_memory_tui.cli.progress import progress_bar

READING = ("search", "facts", "fact", "history", "status", "themes", "scopes", "sessions", "export", "log")
"""Commands that make sense of a past moment."""


@click.command(
    "at",
    short_help="Ask the store as it was at a past moment.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("time")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, required=True)
@common
@pass_settings
def at_command(settings: Settings, time: str, command: tuple[str, ...]) -> int:
    """The store as of TIME (2026-03-01, 2026-03-01T12:00Z, 2h, 3d), seen through another command.

    E.g. at 2d search login, at 2026-03-01 status. Commands: search, facts, fact, history, status, themes, scopes,
    sessions, export, log.
    """
    from hermes_memory_tui.cli.running import invoke

    with settings.store() as store:
        then = moment(time, store.clock())
        with progress_bar("going back") as progress:
            past = store_at(store, then, progress=progress)
        with past:
            inner = Settings(settings.db, settings.theme, settings.as_json, past)
            return invoke(list(command), inner)


def refuse_unless_reading(ctx: click.Context, command: str | None) -> None:
    """:raises UsageError: when a command asks the past for more than it can give"""
    if command not in READING:
        said = "after `at TIME` comes a command" if command is None else f"{command!r} does not read"
        raise click.UsageError(f"{said}; use one of {', '.join(READING)}", ctx)
