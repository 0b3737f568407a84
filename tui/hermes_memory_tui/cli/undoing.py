"""`undo` and `redo`."""

from __future__ import annotations

import click

from hermes_memory_store.model import Undone
from hermes_memory_tui.cli.options import Settings, common, pass_settings
from hermes_memory_tui.cli.output import document


@click.command("undo")
@click.option("--change", "seq", type=click.IntRange(min=1), metavar="SEQ", help="The change with this row of the log.")
@click.option("--session", metavar="ID", help="Everything that session wrote.")
@click.option("--last", type=click.IntRange(1, 10_000), metavar="N", help="The newest N changes. [default: 1]")
@common
@pass_settings
def undo_command(settings: Settings, seq: int | None, session: str | None, last: int | None) -> None:
    """Take changes back. The undo is a change itself: it stands in the log, and undoing it is redo."""
    if sum(given is not None for given in (seq, session, last)) > 1:
        raise click.UsageError("choose one of --change, --session and --last")
    with settings.store(writing=True) as store:
        theme = settings.reading_theme(store) if settings.theme else None
        if seq is not None:
            undone = store.undo.change(seq)
        elif session is not None:
            undone = store.undo.session(session, theme=theme)
        else:
            undone = store.undo.last(last or 1, theme=theme)
    answer(settings, undone, "undone")


@click.command("redo")
@common
@pass_settings
def redo_command(settings: Settings) -> None:
    """Bring back what the newest undo took, as long as nothing else was changed since."""
    with settings.store(writing=True) as store:
        undone = store.undo.redo(theme=settings.reading_theme(store) if settings.theme else None)
    answer(settings, undone, "redone")


def answer(settings: Settings, undone: Undone, word: str) -> None:
    """What was taken back, and the rows that say so."""
    if settings.as_json:
        document({"undone": list(undone.undone), "changes": list(undone.seqs)})
        return
    rows = ", ".join(map(str, undone.undone))
    click.echo(f"{word}: {rows}  (written as {', '.join(map(str, undone.seqs))})")
