"""`backup`, `doctor`, `upgrade`."""

from __future__ import annotations

from pathlib import Path

import click

from hermes_memory_tui.cli.options import Settings, common, pass_settings
from hermes_memory_tui.cli.output import document


@click.command("backup")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--overwrite", is_flag=True, help="Replace an existing file.")
@click.option("--restore", is_flag=True, help="Put the backup FILE back; what it replaces is kept beside it.")
@common
@pass_settings
def backup_command(settings: Settings, file: Path, overwrite: bool, restore: bool) -> None:
    """Copy the store to FILE while it is in use; verified before it is called done."""
    from hermes_memory_store.backup import backup, restore_backup

    if restore:
        back = restore_backup(file, settings.path())
        if settings.as_json:
            document({"file": str(back.file), "facts": back.facts, "kept": back.kept and str(back.kept)})
        else:
            click.echo(f"restored {back.facts} facts from {file}" + (f"; kept {back.kept}" if back.kept else ""))
        return
    with settings.store() as store:
        made = backup(store, file, overwrite=overwrite)
    if settings.as_json:
        document({"file": str(made.file), "facts": made.facts})
    else:
        click.echo(f"{made.facts} facts in {made.file}")


@click.command("doctor")
@click.option("--repair", is_flag=True, help="Rebuild what can be rebuilt.")
@common
@click.pass_context
def doctor_command(ctx: click.Context, repair: bool) -> None:
    """Check the file, the index, the journal's chain and the gauges; exit code 1 when something is wrong."""
    from hermes_memory_store.doctor import examine

    settings = ctx.ensure_object(Settings)
    with settings.store() as store:
        checks = examine(store, repair=repair)
    ok = all(check.ok for check in checks)
    if settings.as_json:
        found = [{"name": c.name, "ok": c.ok, "detail": c.detail, "repaired": c.repaired} for c in checks]
        document({"ok": ok, "checks": found})
    else:
        for check in checks:
            mark = "ok  " if check.ok else "BAD "
            click.echo(f"{mark} {check.name}: {check.detail}" + (" (repaired)" if check.repaired else ""))
    ctx.exit(0 if ok else 1)


@click.command("upgrade")
@common
@pass_settings
def upgrade_command(settings: Settings) -> None:
    """Upgrade a hermes-memory 0.3.0 file in place, with a verified backup beside it."""
    from hermes_memory_store.upgrade import needs_upgrade, upgrade

    if not needs_upgrade(settings.path()):
        with settings.store():
            pass
        if settings.as_json:
            document({"upgraded": False})
        else:
            click.echo(f"{settings.path()} needs no upgrade")
        return
    report = upgrade(settings.path())
    if settings.as_json:
        document(
            {
                "upgraded": True,
                "backup": report.backup and str(report.backup),
                "facts": report.facts,
                "scopes": report.scopes,
            }
        )
    else:
        click.echo(f"upgraded {report.facts} facts in {report.scopes} scopes; the old file is kept at {report.backup}")
