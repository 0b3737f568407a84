"""The commands `undo` and `redo`."""

from __future__ import annotations

import click

from hermes_memory_store.model import UndoResult
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.store import Store
from hermes_memory_tui.cli.common_options import CommandSettings, add_common_options, pass_settings, reject_blank
from hermes_memory_tui.cli.journal_lines import print_changes
from hermes_memory_tui.cli.json_documents import print_document
from hermes_memory_tui.cli.terminal_output import format_quantity

SHOWN = 20
"""Rows that are printed; an undone session may have thousands."""


@click.command("undo", short_help="Undo changes.")
@click.option(
    "--change", "seq", type=click.IntRange(min=1), metavar="SEQ", help="Undo the change with this journal row."
)
@click.option("--session", metavar="ID", callback=reject_blank, help="Undo all writes of this session.")
@click.option("--last", type=click.IntRange(1, 10_000), metavar="N", help="Undo the newest N changes.  [default: 1]")
@click.option(
    "--leave-conflicts",
    is_flag=True,
    help="With --session or --last: skip and list changes with later changes on top, instead of failing.",
)
@add_common_options
@pass_settings
def undo_command(
    settings: CommandSettings, seq: int | None, session: str | None, last: int | None, leave_conflicts: bool
) -> None:
    """Undo changes: the newest one, in any theme unless --theme or $HERMES_MEMORY_THEME names one.

    An undo is a change itself: it is recorded in the log, and can be reverted by redo or by undoing it.
    """
    if sum(given is not None for given in (seq, session, last)) > 1:
        raise click.UsageError("choose one of --change, --session and --last")
    if leave_conflicts and session is None and last is None:
        raise click.UsageError("--leave-conflicts requires --session or --last; a single change is undone as a whole")
    with settings.store(writing=True) as store:
        theme = settings.named_theme()
        if seq is not None:
            undone = store.undo.change(seq)
        elif session is not None:
            undone = store.undo.session(session, theme=theme, leaving=leave_conflicts)
        else:
            undone = store.undo.last(last or 1, theme=theme, leaving=leave_conflicts)
        print_undo_result(settings, store, undone, "undone")


@click.command("redo", short_help="Redo the newest undo.")
@add_common_options
@pass_settings
def redo_command(settings: CommandSettings) -> None:
    """Redo the newest undo, provided nothing else was changed since."""
    with settings.store(writing=True) as store:
        undone = store.undo.redo(theme=settings.named_theme())
        print_undo_result(settings, store, undone, "redone")


def print_undo_result(settings: CommandSettings, store: Store, undone: UndoResult, word: str) -> None:
    """Print what was undone or redone, with the journal rows that record it."""
    if settings.as_json:
        done = {"undone": list(undone.undone), "changes": list(undone.seqs), "changed": list(undone.uids)}
        print_document(done | {"left": list(undone.left)})
        return
    click.echo(f"{word}: {format_quantity(len(undone.seqs), 'row')} written to the journal")
    print_changes(store, [store.journal.get(seq) for seq in undone.seqs[:SHOWN]])
    if len(undone.seqs) > SHOWN:
        click.echo(f"        and {len(undone.seqs) - SHOWN} more; see log --since {undone.seqs[SHOWN - 1]}")
    for why in undone.left:
        click.echo(f"skipped: {to_printable(why)}")
