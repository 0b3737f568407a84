"""`optimize`: relieve the host's own MEMORY.md and USER.md. `tidy`: propose what to tidy, and do it as one change."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from hermes_memory_store.compact_json import to_members
from hermes_memory_store.model import FactFilter
from hermes_memory_store.relief.file_relief import FileReliefReport, relieve_files, undo_relief
from hermes_memory_store.relief.tidying import PURGE, TIDY_ACTIONS, TidyStep, plan_tidying
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.store import is_store_missing
from hermes_memory_store.uids import short_uid
from hermes_memory_tui.cli.command_examples import add_examples
from hermes_memory_tui.cli.common_options import (
    CommandSettings,
    add_common_options,
    is_at_terminal,
    pass_settings,
    reject_blank,
    scope_option,
    temporary_store,
)
from hermes_memory_tui.cli.json_documents import fact_json, print_document
from hermes_memory_tui.cli.terminal_output import format_quantity, print_hanging


@add_examples(("optimize --dry-run", "what would be freed in MEMORY.md and USER.md"))
@click.command("optimize", short_help="Free space in MEMORY.md and USER.md.")
@click.option("--dry-run", is_flag=True, help="Show what would change, without writing.")
@click.option("--undo", is_flag=True, help="Restore the files as before the newest relief; repeat to go further back.")
@click.option(
    "--threshold", type=click.FloatRange(0, 100), default=55.0, show_default=True, help="Act above this percentage."
)
@click.option(
    "--home",
    type=click.Path(path_type=Path, file_okay=False),
    help="Profile folder. [default: $HERMES_HOME, ~/.hermes]",
)
@add_common_options
@pass_settings
def optimize_command(settings: CommandSettings, dry_run: bool, undo: bool, threshold: float, home: Path | None) -> None:
    """Free space in MEMORY.md and USER.md: abbreviate, move facts to the store, drop what it already holds."""
    place = home or Path(os.environ.get("HERMES_HOME", "").strip() or Path.home() / ".hermes")
    if undo:
        if dry_run:
            raise click.UsageError("--undo and --dry-run exclude each other; choose one")
        undo_optimize(settings, place)
        return
    with (
        temporary_store()
        if dry_run and is_store_missing(settings.path())
        else settings.store(creating=not dry_run) as store
    ):
        report = relieve_files(
            store, settings.resolved_theme(store), home=place, threshold_pct=threshold, dry_run=dry_run
        )
    moved = (*report.memory.changes, *report.user.changes)
    back = f"hermes-memory-tui undo --change {min(moved)}" if moved else None
    if back is None and (report.memory.copy or report.user.copy):
        back = "hermes-memory-tui optimize --undo"
    if settings.as_json:
        both = {"memory": file_report_json(report.memory), "user": file_report_json(report.user)}
        print_document(both | {"dry_run": dry_run, "acted": report.has_acted, "undo": back})
        return
    for name, file in (("MEMORY", report.memory), ("USER", report.user)):
        click.echo(
            f"{name}  {file.before_pct:.1f}% → {file.after_pct:.1f}%  ({format_quantity(file.migrated, 'fact')} moved)"
        )
        for entry in file.kept:
            click.echo(f"  kept: {to_printable(str(entry))}")
        if file.why:
            click.echo(f"  {file.why}")
        for line in file.diff.splitlines():
            click.echo(f"  {to_printable(line)}")
    if back is not None:
        click.echo(f"undo: {back}")


def undo_optimize(settings: CommandSettings, home: Path) -> None:
    """Undo the newest relief of the files. Facts that it moved stay in the store; `undo` takes both back."""
    report = undo_relief(home)
    if settings.as_json:
        print_document({"restored": [*map(str, report.restored)], "changed_since": [*map(str, report.changed_since)]})
        return
    for path in report.restored:
        click.echo(
            f"{to_printable(str(path))} restored; the facts that were moved stay in the memory, undo takes them back"
        )
    for path in report.changed_since:
        click.echo(f"{to_printable(str(path))} was changed since and skipped", err=True)


def file_report_json(file: FileReliefReport) -> dict[str, Any]:
    """Return one file with the keys of the JSON contract; `before` and `after` in percent of the host's limit."""
    return {
        "before": round(file.before_pct, 1),
        "after": round(file.after_pct, 1),
        **to_members(file, "diff migrated abbreviated removed"),
        "kept": [str(entry) for entry in file.kept],
        "why": file.why,
        "backup": None if file.copy is None else str(file.copy),
    }


@add_examples(
    ("tidy", "what could be merged, cooled, archived, pinned or cited, and why; then a question"),
    ("tidy --only cool --only merge --apply", "only these, without a question"),
    ("tidy --json", "for a script; nothing is changed"),
)
@click.command("tidy", short_help="Propose what to tidy, and do it as one change.")
@click.option("--only", type=click.Choice(TIDY_ACTIONS), multiple=True, help="Only such proposals; repeatable.")
@click.option("--except", "spared", metavar="UID", multiple=True, help="Not this fact; repeatable.")
@click.option("--project", metavar="NAME", callback=reject_blank, help="Only facts that came from this project.")
@scope_option("Only facts of this scope.")
@click.option("--apply", "is_applied", is_flag=True, help="Do it without a question.")
@add_common_options
@pass_settings
def tidy_command(
    settings: CommandSettings,
    only: tuple[str, ...],
    spared: tuple[str, ...],
    project: str | None,
    scope: str | None,
    is_applied: bool,
) -> None:
    """Propose what to merge, archive, cool, pin or cite, each with the reason and the tokens that a start saves.

    A constraint is only merged into one that says the same. All is done as one change, which one undo takes back. What may be
    purged is only listed: no undo takes that back, so `purge` does it. Without a terminal nothing is done but with --apply.
    """
    # Here, since help loads this module, and they the inspector.
    from hermes_memory_tui.basket.basket_run import apply_basket
    from hermes_memory_tui.basket.pending_changes import to_pending

    with settings.store() as store:
        scopes, projects = (frozenset(() if name is None else (name,)) for name in (scope, project))
        steps = plan_tidying(store, FactFilter(settings.reading_theme(store), scopes=scopes, projects=projects))
        left_out = {fact.uid for fact in store.facts.get(list(spared))} if spared else set()
    steps = [step for step in steps if step.fact.uid not in left_out and step.action in (only or TIDY_ACTIONS)]
    changes = [to_pending(step) for step in steps if step.action != PURGE]
    if not settings.as_json:
        print_steps(steps)
        if changes and not is_applied and is_at_terminal():
            is_applied = click.confirm(f"make {format_quantity(len(changes), 'change')} as one?", err=True)
    seqs: list[int] = []
    if changes and is_applied:
        with settings.store(writing=True) as store:
            since = store.journal.last_seq()
            apply_basket(store, changes)
            seqs = [change.seq for change in store.journal.changes(since=since)]
    if settings.as_json:
        members = "action reason tokens value"
        documents = [{"fact": fact_json(step.fact), **to_members(step, members)} for step in steps]
        print_document({"proposals": documents, "changes": seqs})
    elif seqs:
        click.echo(f"done as one change  (undo: hermes-memory-tui undo --change {seqs[0]})")


def print_steps(steps: Sequence[TidyStep]) -> None:
    for step in steps:
        tokens = f", {'saves' if step.tokens > 0 else 'costs'} {abs(step.tokens)} tokens a start" if step.tokens else ""
        line = to_printable(f"{step.fact.notation}, because {step.reason}{tokens}")
        print_hanging(f"{step.action:<8} {short_uid(step.fact.uid)}  ", line)
    saved = sum(step.tokens for step in steps)
    click.echo(f"{format_quantity(len(steps), 'proposal')}, {saved:,} tokens a start" if steps else "nothing to tidy")
    purgeable = [short_uid(step.fact.uid) for step in steps if step.action == PURGE]
    if purgeable:
        print_hanging("for good, without undo: ", f"hermes-memory-tui purge {' '.join(purgeable)}")
