"""`at TIME COMMAND …`: what a reading command would have answered then."""

from __future__ import annotations

import click

from hermes_memory_store.clock import moment
from hermes_memory_store.past import store_at
from hermes_memory_tui.cli.options import Settings, common, pass_settings

READING = ("search", "facts", "fact", "history", "status", "themes", "scopes", "sessions", "export", "log")
"""Commands that make sense of a past moment."""


@click.command("at", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("time")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, required=True)
@common
@pass_settings
def at_command(settings: Settings, time: str, command: tuple[str, ...]) -> None:
    """The store as of TIME (2026-03-01, 2026-03-01T12:00Z, 2h, 3d), seen through another command.

    E.g. `at 2d search login`, `at 2026-03-01 status`.
    """
    from hermes_memory_tui.cli import cli

    if command[0] not in READING:
        raise click.UsageError(f"{command[0]!r} does not read; after `at TIME` use one of {', '.join(READING)}")
    with settings.store() as store:
        then = moment(time, store.clock())
        with store_at(store, then) as past:
            inner = Settings(settings.db, settings.theme, settings.as_json, past)
            cli.main(list(command), prog_name="hermes-memory-tui", standalone_mode=False, obj=inner)
