"""The commands `undo` and `redo`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import click

from hermes_memory_store.errors import BackfillUnconfirmed, NothingToUndo, UndoConflict
from hermes_memory_store.journal.change_folds import ChangeFolds
from hermes_memory_store.journal.undo_choice import UndoChoice
from hermes_memory_store.model import UndoResult
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.store import Store
from hermes_memory_themes.theme_identity import PERSONAL
from hermes_memory_tui.cli.command_examples import add_examples
from hermes_memory_tui.cli.common_options import (
    CommandSettings,
    add_common_options,
    is_at_terminal,
    pass_settings,
    reject_blank,
)
from hermes_memory_tui.cli.journal_lines import JournalPrinter, print_changes
from hermes_memory_tui.cli.json_documents import print_document
from hermes_memory_tui.cli.terminal_output import format_quantity, print_hanging

SHOWN = 20
"""Rows that are printed; an undone session may have thousands."""


@add_examples(
    ("undo", "your newest change in this theme"),
    ("undo --any", "the newest change in this theme, whoever made it"),
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
    "--any", "is_any", is_flag=True, help="Undo the newest changes in the theme, whoever made them, instead of yours."
)
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
    is_any: bool,
    leave_conflicts: bool,
    dry_run: bool,
) -> None:
    """Undo changes: your newest one in this theme. Where somebody else's is newer, you are asked which; without a terminal
    --any or --change says so.

    What optimize moved comes back with its files; what a backfill brought in is erased, after a question. An undo is a change
    itself: it is recorded in the log, and can be reverted by redo or by undoing it. What it leaves as it is, such as a fact
    that somebody else has pinned or moved since, is listed with the reason.
    """
    if sum(option is not None for option in (seq, session, teammate, last)) > 1:
        raise click.UsageError("choose one of --change, --session, --teammate and --last")
    if leave_conflicts and session is None and last is None:
        raise click.UsageError("--leave-conflicts requires --session or --last; a single change is undone as a whole")
    if is_any and any(option is not None for option in (seq, session, teammate)):
        raise click.UsageError("--any goes with --last, or stands alone")
    with settings.store(writing=True) as store:
        theme = settings.named_theme()

        undo: Callable[[], UndoResult]
        if session is not None:
            undo = partial(store.undo.session, session, theme=theme, leaving=leave_conflicts)
        elif teammate is not None:
            undo = partial(store.sync.standing.undo_teammate, teammate, theme=theme)
        else:
            changes = (
                choose_changes(settings, store, last or 1, is_any) if seq is None else [store.journal.get(seq).change]
            )
            undo = partial(UndoChoice(store).undo, changes, leaving=leave_conflicts, dry_run=dry_run)
        try:
            undone = store.undo.preview(undo) if dry_run else undo()
        except BackfillUnconfirmed as unconfirmed:
            from hermes_memory_tui.cli.memory.backfill_command import undo_backfill

            if settings.as_json or last is not None or not (dry_run or is_at_terminal()):
                message = (
                    f"{unconfirmed.message}; nothing was undone, run hermes-memory-tui backfill --undo --yes for that"
                )
                raise UndoConflict(message, unconfirmed.value) from unconfirmed
            undo_backfill(settings, store, unconfirmed.value, dry_run=dry_run)
            return
        except UndoConflict as conflict:
            if leave_conflicts or (session is None and last is None):
                raise
            message = f"{conflict.message}; to undo the rest and skip these, pass --leave-conflicts"
            raise UndoConflict(message, conflict.value) from conflict
        print_undo_result(settings, store, undone, "would be undone" if dry_run else "undone", dry_run=dry_run)


def choose_changes(settings: CommandSettings, store: Store, count: int, is_any: bool) -> list[int]:
    """Choose the newest changes in the theme: this person's, or whoever made them.

    :raises NothingToUndo: there are none
    :raises UndoConflict: somebody else's are newer, and nobody can be asked
    """
    theme, choice, lines = settings.reading_theme(store), UndoChoice(store), JournalPrinter(store)
    themes = [theme] if settings.named_theme() else [theme, PERSONAL]  # where a command here writes
    chosen, own = choice.newest(themes, count, is_own=False), choice.newest(themes, count)
    if not chosen:
        newest = choice.newest() or choice.newest(is_own=False)
        hint = f"; the newest change elsewhere is {lines.name_fold(newest[0])}; name that theme" if newest else ""
        raise NothingToUndo(f"nothing to undo in theme {theme!r}{hint}", theme)
    newer = partial(store.journal.changes, since=chosen[0].last, ops=["purge"], entities=["fact"])
    purge = next(
        (row for name in themes if store.names.theme_or_none(name) for row in newer(theme=name) if row.is_own), None
    )
    if purge is not None and not is_any:
        raise UndoConflict(
            f"your newest change in theme {theme!r} is a purge, which cannot be undone; nothing was undone, the change before "
            f"it is {lines.name_fold(chosen[0])}: pass --change {chosen[0].first} for that",
            purge.seq,
        )
    if chosen != own and not is_any:
        other = lines.name_fold(next(fold for fold in chosen if fold not in own))
        mine = lines.name_fold(own[0]) if own else "none"
        if settings.as_json or not is_at_terminal():
            switch = f"--change {own[0].first} for yours, " if own else ""
            raise UndoConflict(
                f"somebody else's change is newer in theme {theme!r}: {other}; yours: {mine}; nothing was undone, pass "
                f"{switch}--any for the newest",
                chosen[0].first,
            )
        click.echo(f"yours: {mine}\nany:   {other}")
        if click.prompt("Undo which", type=click.Choice(["yours", "any"] if own else ["any"])) == "yours":
            chosen = own
    return [change for fold in chosen for change in fold.changes]


@add_examples(("undo && hermes-memory-tui redo", "take an undo back"))
@click.command("redo", short_help="Redo the newest undo.")
@add_common_options
@pass_settings
def redo_command(settings: CommandSettings) -> None:
    """Redo the newest undo, provided nothing else was changed since."""
    with settings.store(writing=True) as store:
        undone = UndoChoice(store).redo(settings.named_theme())
        print_undo_result(settings, store, undone, "redone")


def print_undo_result(
    settings: CommandSettings, store: Store, undone: UndoResult, word: str, *, dry_run: bool = False
) -> None:
    """Print what was undone or redone, whose and where, with the journal rows that record it, and what was left as it is."""
    folds, lines = ChangeFolds(store).of_rows(undone.undone), JournalPrinter(store)
    if settings.as_json:
        changes = [] if dry_run else list(undone.seqs)
        document = {"undone": list(undone.undone), "changes": changes, "changed": list(undone.uids)}
        document |= {"left": list(undone.left), "actions": [lines.fold_document(fold) for fold in folds]}
        document |= {"files": list(map(str, undone.files))}
        print_document(document | ({"dry_run": True} if dry_run else {}))
        return
    for fold in folds[:SHOWN]:
        print_hanging(f"{word}: ", lines.name_fold(fold))
    if len(folds) > SHOWN:
        click.echo(f"{word}: {len(folds) - SHOWN} more")
    for file in undone.files:
        click.echo(f"{to_printable(str(file))} {'would be' if dry_run else 'is'} as before the relief")
    rows = undone.undone if dry_run else undone.seqs
    click.echo(f"{format_quantity(len(rows), 'row')} {'of' if dry_run else 'written to'} the journal")
    print_changes(store, [store.journal.get(seq) for seq in rows[:SHOWN]])
    if len(rows) > SHOWN:
        more = "" if dry_run else f"; see log --since {rows[SHOWN - 1]}"
        click.echo(f"        and {len(rows) - SHOWN} more{more}")
    for reason in undone.left:
        click.echo(f"skipped: {to_printable(reason)}")
