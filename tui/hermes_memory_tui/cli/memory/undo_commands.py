"""The commands `undo` and `redo`."""

from __future__ import annotations

import click

from hermes_memory_store.errors import UndoConflict
from hermes_memory_store.model import UndoResult
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.store import Store
from hermes_memory_tui.cli.command_examples import add_examples
from hermes_memory_tui.cli.common_options import CommandSettings, add_common_options, pass_settings, reject_blank
from hermes_memory_tui.cli.journal_lines import print_changes
from hermes_memory_tui.cli.json_documents import print_document
from hermes_memory_tui.cli.terminal_output import format_quantity

SHOWN = 20
"""Rows that are printed; an undone session may have thousands."""


@add_examples(
    ("undo", "the newest change"),
    ("undo --session claude-code --dry-run", "what undoing all writes of a session would do"),
    ("undo --last 3 --leave-conflicts", "the newest three, without those that others built on"),
)
@click.command("undo", short_help="Undo changes.")
@click.option(
    "--change", "seq", type=click.IntRange(min=1), metavar="SEQ", help="Undo the change with this journal row."
)
@click.option(
    "--session",
    metavar="NAME",
    callback=reject_blank,
    help="Undo all writes of this session: its name, title or client, or a beginning that only it has.",
)
@click.option(
    "--teammate",
    metavar="ROLE",
    callback=reject_blank,
    help="Take back all that this role of the team database, or machine of a shared folder, wrote, as one change.",
)
@click.option("--last", type=click.IntRange(1, 10_000), metavar="N", help="Undo the newest N changes.  [default: 1]")
@click.option(
    "--leave-conflicts",
    is_flag=True,
    help="With --session or --last: skip and list changes with later changes on top, instead of failing.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be undone and what would be skipped, without writing.")
@add_common_options
@pass_settings
def undo_command(
    settings: CommandSettings,
    seq: int | None,
    session: str | None,
    teammate: str | None,
    last: int | None,
    leave_conflicts: bool,
    dry_run: bool,
) -> None:
    """Undo changes: the newest one, in any theme unless --theme or $HERMES_MEMORY_THEME names one.

    An undo is a change itself: it is recorded in the log, and can be reverted by redo or by undoing it. What it leaves as it
    is, such as a fact that somebody else has pinned or moved since, is listed with the reason.
    """
    if sum(given is not None for given in (seq, session, teammate, last)) > 1:
        raise click.UsageError("choose one of --change, --session, --teammate and --last")
    if leave_conflicts and session is None and last is None:
        raise click.UsageError("--leave-conflicts requires --session or --last; a single change is undone as a whole")
    with settings.store(writing=True) as store:
        theme = settings.named_theme()

        def undo() -> UndoResult:
            if seq is not None:
                return store.undo.change(seq)
            if session is not None:
                return store.undo.session(session, theme=theme, leaving=leave_conflicts)
            if teammate is not None:
                return store.sync.undo_teammate(teammate, theme=theme)
            return store.undo.last(last or 1, theme=theme, leaving=leave_conflicts)

        try:
            undone = store.undo.preview(undo) if dry_run else undo()
        except UndoConflict as conflict:
            if seq is not None or leave_conflicts:
                raise
            said = f"{conflict.message}; to undo the rest and skip these, pass --leave-conflicts"
            raise UndoConflict(said, conflict.value) from conflict
        print_undo_result(settings, store, undone, "would be undone" if dry_run else "undone", dry_run=dry_run)


@add_examples(("undo && hermes-memory-tui redo", "take an undo back"))
@click.command("redo", short_help="Redo the newest undo.")
@add_common_options
@pass_settings
def redo_command(settings: CommandSettings) -> None:
    """Redo the newest undo, provided nothing else was changed since."""
    with settings.store(writing=True) as store:
        undone = store.undo.redo(theme=settings.named_theme())
        print_undo_result(settings, store, undone, "redone")


def print_undo_result(
    settings: CommandSettings, store: Store, undone: UndoResult, word: str, *, dry_run: bool = False
) -> None:
    """Print what was undone or redone, with the journal rows that record it, and what was left as it is."""
    if settings.as_json:
        changes = [] if dry_run else list(undone.seqs)
        done = {"undone": list(undone.undone), "changes": changes, "changed": list(undone.uids)}
        print_document(done | {"left": list(undone.left)} | ({"dry_run": True} if dry_run else {}))
        return
    rows = undone.undone if dry_run else undone.seqs
    click.echo(f"{word}: {format_quantity(len(rows), 'row')} {'of' if dry_run else 'written to'} the journal")
    print_changes(store, [store.journal.get(seq) for seq in rows[:SHOWN]])
    if len(rows) > SHOWN:
        more = "" if dry_run else f"; see log --since {rows[SHOWN - 1]}"
        click.echo(f"        and {len(rows) - SHOWN} more{more}")
    for why in undone.left:
        click.echo(f"skipped: {to_printable(why)}")
