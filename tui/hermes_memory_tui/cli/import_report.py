"""Report an import from another program's memory, as a JSON document or for people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hermes_memory_store.compact_json import to_members
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.store import Store
from hermes_memory_tui.cli.common_options import CommandSettings
from hermes_memory_tui.cli.json_documents import print_document
from hermes_memory_tui.cli.progress_bars import Progress
from hermes_memory_tui.cli.terminal_output import format_quantity

if TYPE_CHECKING:
    from hermes_memory_store.files.importers import ForeignImportReport

KINDS: tuple[str, ...] = ("hermes-memory", "pgvector", "mcp-memory", "mem0", "engram", "basic-memory")
KINDS += ("claude-mem", "mcp-memory-service", "claude-code", "codex")
"""The store's own `importers.KINDS`, which every command would have to import."""

SHOWN = 20
"""Lines of each list that are printed; `--json` has all."""

EXAMPLE = 100
"""Characters of an example."""


def import_checked(
    settings: CommandSettings,
    store: Store,
    source: Path,
    kind: str,
    scope: str | None,
    dry_run: bool,
    progress: Progress | None,
) -> ForeignImportReport:
    from hermes_memory_store.files.importers import import_foreign_memory

    return import_foreign_memory(
        store, source, theme=settings.resolved_theme(store), kind=kind, one_theme=settings.theme is not None, scope=scope,
        dry_run=dry_run, progress=progress,
    )  # fmt: skip


def print_foreign_report(settings: CommandSettings, report: ForeignImportReport, dry_run: bool) -> None:
    if settings.as_json:
        print_document(foreign_report_json(report, dry_run))
        return
    verb = "would create" if dry_run else "created"
    parts = [
        f"{report.kind}: {verb} {format_quantity(report.created, 'fact')}",
        f"{report.deduplicated:,} already there",
    ]
    parts += [f"{report.superseded:,} superseded"] if report.superseded else []
    parts += [f"{format_quantity(report.turns, 'turn')}"] if report.turns or report.turns_there else []
    parts += [f"{format_quantity(report.turns_there, 'turn')} already there"] if report.turns_there else []
    parts += [f"{format_quantity(report.split, 'long content')} in numbered parts"] if report.split else []
    parts += [f"{report.waiting:,} quarantined (see review)"] if report.waiting else []
    parts += [f"{report.redated:,} dated in the future and brought to now"] if report.redated else []
    parts += [f"{report.purged:,} purged here before and left out"] if report.purged else []
    parts += [f"{len(report.skips):,} skipped"] if report.skips else []
    parts += [f"{len(report.errors):,} refused"] if report.errors else []
    click.echo(", ".join(parts))
    for entry in report.mapping[:SHOWN]:
        place = f"theme {entry.theme}, scope {entry.scope}" if entry.scope else f"theme {entry.theme}"
        click.echo(to_printable(f"  {entry.count:,} x {entry.what} -> {entry.becomes} in {place}"))
        click.echo(to_printable(f"      {entry.example[:EXAMPLE]}{'…' if len(entry.example) > EXAMPLE else ''}"))
    print_omitted_count(len(report.mapping))
    for note in report.notes:
        click.echo(to_printable(f"  {note}"), err=True)
    for skip in report.skips[:SHOWN]:
        click.echo(to_printable(f"  {skip.place} skipped: {skip.why}"), err=True)
    print_omitted_count(len(report.skips))
    for bad in report.errors[:SHOWN]:
        click.echo(to_printable(f"  {bad.place}: {bad.error}"), err=True)
    print_omitted_count(len(report.errors))


def print_omitted_count(number: int) -> None:
    if number > SHOWN:
        click.echo(f"  and {number - SHOWN:,} more", err=True)


def foreign_report_json(report: ForeignImportReport, dry_run: bool) -> dict[str, Any]:
    """Return the report as JSON: the keys of an import of the program's own formats, plus further ones."""
    return {
        "from": report.kind,
        **to_members(report, "created deduplicated superseded"),
        "skipped": report.skip_count,
        **to_members(report, "split waiting redated turns"),
        "turns_deduplicated": report.turns_there,
        "purged": report.purged,
        "skips": [{"line": skip.place.line, "file": skip.place.file or None, "why": skip.why} for skip in report.skips],
        "errors": [
            {"line": error.place.line, "file": error.place.file or None, **error.error.as_dict()}
            for error in report.errors
        ],
        "mapping": [to_members(entry, "what becomes theme scope count example") for entry in report.mapping],
        "notes": report.notes,
        "dry_run": dry_run,
    }
