"""`backup`, `doctor`, `upgrade`."""

from __future__ import annotations

import itertools
from pathlib import Path

import click

from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.store import refuse_missing
from hermes_memory_store.text import printable
from hermes_memory_tui.cli.documents import document
from hermes_memory_tui.cli.options import Settings, common, pass_settings
from hermes_memory_tui.cli.output import counted, hanging, paint
from hermes_memory_tui.cli.progress import progress_bar


@click.command("backup", short_help="Copy the store, or put a copy back.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--overwrite", is_flag=True, help="Replace an existing file.")
@click.option("--restore", is_flag=True, help="Put the backup FILE back; what it replaces is kept beside it.")
@common
@pass_settings
def backup_command(settings: Settings, file: Path, overwrite: bool, restore: bool) -> None:
    """Copy the store to FILE while it is in use; verified before it is called done."""
    from hermes_memory_store.backup import backup, restore_backup

    if restore:
        if overwrite:
            raise click.UsageError("--overwrite is for making a backup; --restore keeps what it replaces")
        back = restore_backup(file, settings.path())
        if settings.as_json:
            document({"file": str(back.file), "facts": back.facts, "kept": back.kept and str(back.kept)})
        else:
            kept = f"; what it replaced is kept at {back.kept}" if back.kept else ""
            click.echo(f"restored {counted(back.facts, 'fact')} from {file}{kept}")
        return
    with settings.store() as store, progress_bar("copying") as progress:
        if file.expanduser().exists() and not overwrite:
            raise ArgumentError(f"{file} exists already; choose another name, or say --overwrite", file)
        made = backup(store, file, overwrite=overwrite, progress=progress)
    if settings.as_json:
        document({"file": str(made.file), "facts": made.facts})
    else:
        click.echo(f"{counted(made.facts, 'fact')} in {made.file}, verified")


@click.command("doctor", short_help="Check the store, and repair it.")
@click.option("--repair", is_flag=True, help="Rebuild what can be rebuilt.")
@common
@click.pass_context
def doctor_command(ctx: click.Context, repair: bool) -> None:
    """Check the file, the index, the journal's chain and the gauges; exit code 1 when something is wrong."""
    from hermes_memory_store.doctor import CHECKS, examine

    settings = ctx.ensure_object(Settings)
    with settings.store(writing=repair) as store, progress_bar("examining") as progress:
        begun = itertools.count()
        each = (lambda _: progress(next(begun), len(CHECKS))) if progress else None
        checks = examine(store, repair=repair, progress=each)
    ok = all(check.ok for check in checks)
    if settings.as_json:
        found = [{"name": c.name, "ok": c.ok, "detail": c.detail, "repaired": c.repaired} for c in checks]
        document({"ok": ok, "checks": found})
    else:
        width = max(len(check.name) for check in checks)
        for check in checks:
            mark = paint("ok ", fg="green") if check.ok else paint("BAD", fg="red", bold=True)
            click.echo(f"{mark}  ", nl=False)
            hanging(f"{check.name:<{width}}  ", printable(check.detail) + (" (repaired)" if check.repaired else ""))
    ctx.exit(0 if ok else 1)


@click.command("upgrade", short_help="Upgrade a hermes-memory 0.3.0 file.")
@common
@pass_settings
def upgrade_command(settings: Settings) -> None:
    """Upgrade a hermes-memory 0.3.0 file in place, with a verified backup beside it.

    Every command does so when it meets one; this one does nothing else, and its --theme says whose memory it becomes.
    """
    from hermes_memory_store.upgrade import needs_upgrade, upgrade

    path = settings.path()
    refuse_missing(path)
    if not needs_upgrade(path):
        with settings.store():
            pass
        if settings.as_json:
            document({"upgraded": False})
        else:
            click.echo(f"{path} needs no upgrade")
        return
    with progress_bar("upgrading") as progress:
        report = upgrade(path, theme=settings.resolved_theme(), progress=progress)
    if settings.as_json:
        kept = report.backup and str(report.backup)
        document({"upgraded": True, "backup": kept, "facts": report.facts, "scopes": report.scopes})
    else:
        held = f"{counted(report.facts, 'fact')} in {counted(report.scopes, 'scope')}"
        click.echo(f"upgraded {held}; the old file is kept at {report.backup}")
