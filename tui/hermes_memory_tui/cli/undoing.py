"""`undo` and `redo`."""

from __future__ import annotations

import click

from hermes_memory_store.model import Undone
from hermes_memory_store.store import Store
from hermes_memory_store.text import printable
from hermes_memory_tui.cli.changes import print_changes
from hermes_memory_tui.cli.documents import document
from hermes_memory_tui.cli.options import Settings, common, not_blank, pass_settings
from hermes_memory_tui.cli.output import counted

SHOWN = 20
"""Rows that are printed; an undone session may have thousands."""


@click.command("undo", short_help="Take changes back.")
@click.option("--change", "seq", type=click.IntRange(min=1), metavar="SEQ", help="The change with this row of the log.")
@click.option("--session", metavar="ID", callback=not_blank, help="Everything that session wrote.")
@click.option("--last", type=click.IntRange(1, 10_000), metavar="N", help="The newest N changes.  [default: 1]")
@click.option(
    "--leave-conflicts",
    is_flag=True,
    help="Leave, and name, what somebody has changed since, instead of refusing all. With --session or --last.",
)
@common
@pass_settings
def undo_command(
    settings: Settings, seq: int | None, session: str | None, last: int | None, leave_conflicts: bool
) -> None:
    """Take changes back: the newest one, of any theme unless --theme or $HERMES_MEMORY_THEME names one.

    The undo is a change itself: it stands in the log, and redo, or undoing it, brings back what it took.
    """
    if sum(given is not None for given in (seq, session, last)) > 1:
        raise click.UsageError("choose one of --change, --session and --last")
    if leave_conflicts and session is None and last is None:
        raise click.UsageError("--leave-conflicts goes with --session or --last; one change is taken back whole")
    with settings.store(writing=True) as store:
        theme = settings.named_theme()
        if seq is not None:
            undone = store.undo.change(seq)
        elif session is not None:
            undone = store.undo.session(session, theme=theme, leaving=leave_conflicts)
        else:
            undone = store.undo.last(last or 1, theme=theme, leaving=leave_conflicts)
        answer(settings, store, undone, "undone")


@click.command("redo", short_help="Bring back what the newest undo took.")
@common
@pass_settings
def redo_command(settings: Settings) -> None:
    """Bring back what the newest undo took, as long as nothing else was changed since."""
    with settings.store(writing=True) as store:
        undone = store.undo.redo(theme=settings.named_theme())
        answer(settings, store, undone, "redone")


def answer(settings: Settings, store: Store, undone: Undone, word: str) -> None:
    """What was taken back, and the rows that say so."""
    if settings.as_json:
        done = {"undone": list(undone.undone), "changes": list(undone.seqs), "changed": list(undone.uids)}
        document(done | {"left": list(undone.left)})
        return
    click.echo(f"{word}: {counted(len(undone.seqs), 'row')} of the log written")
    print_changes(store, [store.journal.one(seq) for seq in undone.seqs[:SHOWN]])
    if len(undone.seqs) > SHOWN:
        click.echo(f"        and {len(undone.seqs) - SHOWN} more; see log --since {undone.seqs[SHOWN - 1]}")
    for why in undone.left:
        click.echo(f"left: {printable(why)}")
