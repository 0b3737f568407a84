"""What an import of another program's memory did, as a document and for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hermes_memory_store.text import printable
from hermes_memory_tui.cli.documents import document
from hermes_memory_tui.cli.options import Settings
from hermes_memory_tui.cli.output import counted

if TYPE_CHECKING:
    from hermes_memory_store.importers import ForeignReport

KINDS = ("hermes-memory", "pgvector", "mcp-memory", "mem0", "engram", "basic-memory")
"""The store's own `importers.KINDS`, which every command would have to import."""

SHOWN = 20
"""Lines of each list that are printed; `--json` has all."""

EXAMPLE = 100
"""Characters of an example."""


def tell_foreign(settings: Settings, report: ForeignReport, dry_run: bool) -> None:
    """Answer as the caller asked."""
    if settings.as_json:
        document(foreign_json(report, dry_run))
        return
    verb = "would create" if dry_run else "created"
    told = [f"{report.kind}: {verb} {counted(report.created, 'fact')}", f"{report.deduplicated:,} already there"]
    told += [f"{report.superseded:,} superseded"] if report.superseded else []
    told += [f"{counted(report.turns, 'turn')}"] if report.turns or report.turns_there else []
    told += [f"{report.turns_there:,} turns already there"] if report.turns_there else []
    told += [f"{counted(report.split, 'long content')} in numbered parts"] if report.split else []
    told += [f"{report.purged:,} purged here before and left out"] if report.purged else []
    told += [f"{len(report.skips):,} skipped"] if report.skips else []
    told += [f"{len(report.errors):,} refused"] if report.errors else []
    click.echo(", ".join(told))
    for one in report.mapping[:SHOWN]:
        place = f"theme {one.theme}, scope {one.scope}" if one.scope else f"theme {one.theme}"
        click.echo(printable(f"  {one.count:,} x {one.what} -> {one.becomes} in {place}"))
        click.echo(printable(f"      {one.example[:EXAMPLE]}{'…' if len(one.example) > EXAMPLE else ''}"))
    more(len(report.mapping))
    for note in report.notes:
        click.echo(printable(f"  {note}"), err=True)
    for skip in report.skips[:SHOWN]:
        click.echo(printable(f"  {skip.place} skipped: {skip.why}"), err=True)
    more(len(report.skips))
    for bad in report.errors[:SHOWN]:
        click.echo(printable(f"  {bad.place}: {bad.error}"), err=True)
    more(len(report.errors))


def more(number: int) -> None:
    """Say how many lines of a list were left out."""
    if number > SHOWN:
        click.echo(f"  and {number - SHOWN:,} more", err=True)


def foreign_json(report: ForeignReport, dry_run: bool) -> dict[str, Any]:
    """The report as JSON, with the keys that an import of our own formats has, and more."""
    return {
        "from": report.kind,
        "created": report.created,
        "deduplicated": report.deduplicated,
        "superseded": report.superseded,
        "skipped": report.skipped,
        "split": report.split,
        "turns": report.turns,
        "turns_deduplicated": report.turns_there,
        "purged": report.purged,
        "skips": [{"line": one.place.line, "file": one.place.file or None, "why": one.why} for one in report.skips],
        "errors": [
            {"line": one.place.line, "file": one.place.file or None, **one.error.as_dict()} for one in report.errors
        ],
        "mapping": [
            {
                "what": one.what,
                "becomes": one.becomes,
                "theme": one.theme,
                "scope": one.scope,
                "count": one.count,
                "example": one.example,
            }
            for one in report.mapping
        ],
        "notes": report.notes,
        "dry_run": dry_run,
    }
