"""`at TIME COMMAND …`: run a read command against the store as of a past time."""

from __future__ import annotations

import click

from hermes_memory_store.journal.rewind import last_change_before, parse_past_moment
from hermes_memory_store.journal.time_travel import count_purged_since, open_store_at
from hermes_memory_store.safe_text import to_printable
from hermes_memory_tui.cli.command_examples import add_examples
from hermes_memory_tui.cli.common_options import CommandSettings, add_common_options, pass_settings
from hermes_memory_tui.cli.progress_bars import progress_bar
from hermes_memory_tui.cli.terminal_output import format_quantity


@add_examples(
    ("at 0s search login", "a search as of a moment"),
    ("at 1h themes", "how full the memory was an hour ago"),
)
@click.command(
    "at",
    short_help="Run a command on a past state.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("time")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, required=True)
@add_common_options
@pass_settings
def at_command(settings: CommandSettings, time: str, command: tuple[str, ...]) -> int:
    """Run a command on the store as of TIME (2026-03-01, 2026-03-01T12:00Z, 2h, 3d).

    Commands: search, facts, fact, history, status, themes, scopes,
    sessions, projects, export, log.
    """
    from hermes_memory_tui.cli.command_runner import invoke_command

    with settings.store() as store:
        then = parse_past_moment(store, time)
        with progress_bar("rewinding") as progress:
            past = open_store_at(store, then, progress=progress)
        purged = count_purged_since(store, last_change_before(store, then))
        if purged:
            count = format_quantity(sum(purged.values()), "fact")
            themes = ", ".join(f"{to_printable(theme)} {number:,}" for theme, number in purged.items())
            click.echo(f"note: missing here, because purged since then: {count} ({themes})", err=True)
        with past:
            inner = CommandSettings(settings.db, settings.theme, settings.as_json, past=past)
            return invoke_command(list(command), inner)
