"""`optimize`: relieve the host's own MEMORY.md and USER.md."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from hermes_memory_store.compact_json import to_members
from hermes_memory_store.relief.file_relief import FileReliefReport, relieve_files, undo_relief
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.store import is_store_missing
from hermes_memory_tui.cli.command_examples import add_examples
from hermes_memory_tui.cli.common_options import CommandSettings, add_common_options, pass_settings, temporary_store
from hermes_memory_tui.cli.json_documents import print_document
from hermes_memory_tui.cli.terminal_output import format_quantity


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
