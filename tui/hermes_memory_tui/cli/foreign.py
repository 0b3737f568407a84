"""What an import of another program's memory did, as a document and for a person."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hermes_memory_store.errors import ImportFileError
from hermes_memory_store.store import Store
from hermes_memory_store.text import printable
from hermes_memory_tui.cli.documents import document
from hermes_memory_tui.cli.options import Settings
from hermes_memory_tui.cli.output import counted
from hermes_memory_tui.cli.progress import Progress

if TYPE_CHECKING:
    from hermes_memory_store.importers import ForeignReport

KINDS = ("hermes-memory", "pgvector", "mcp-memory", "mem0", "engram", "basic-memory")
"""The store's own `importers.KINDS`, which every command would have to import."""

SHOWN = 20
"""Lines of each list that are printed; `--json` has all."""

EXAMPLE = 100
"""Characters of an example."""


def bring_screened(
    settings: Settings,
    store: Store,
    source: Path,
    kind: str,
    scope: str | None,
    dry_run: bool,
    progress: Progress | None,
) -> ForeignReport:
    """Bring another program's memory in, screened as what agents write: who wrote it there is not known."""
    from hermes_memory_bridge.places import Places
    from hermes_memory_bridge.trust import Trust, Vault
    from hermes_memory_store.importers import Screened, bring

    with tempfile.TemporaryDirectory(prefix="hermes-memory-import-") as folder:
        # What is only tried must not come to the keyring.
        vault = Vault(Path(folder) / "secrets.json", "file") if dry_run else None
        vault = vault or Vault(Path(Places.of(store.path).folder) / "secrets.json")
        trust = Trust(store.policies, vault).for_one_call()

        def screen(theme: str | None, target: str | None, content: str) -> Screened:
            assert theme is not None
            if target is None:
                return Screened(trust.mask(theme, "turn", content).content)
            verdict = trust.screen(theme, target, content)
            return Screened(verdict.content, None if verdict.suspicion is None else verdict.suspicion.rule)

        try:
            return bring(
                store, source, theme=settings.resolved_theme(), kind=kind, one_theme=settings.theme is not None, scope=scope,
                dry_run=dry_run, screen=screen, progress=progress,
            )  # fmt: skip
        except ImportFileError:
            trust.take_back()  # nothing came in that stands for them
            raise


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
    told += [f"{report.waiting:,} waiting for a person (see review)"] if report.waiting else []
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
        "waiting": report.waiting,
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
