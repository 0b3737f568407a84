"""The commands `backup`, `doctor` and `upgrade`."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import click

from hermes_memory_store.errors import ArgumentError, StoreError
from hermes_memory_store.model import Check
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.store import Store, refuse_missing_store
from hermes_memory_themes.theme_identity import DEFAULT
from hermes_memory_tui.cli.command_examples import add_examples
from hermes_memory_tui.cli.common_options import CommandSettings, add_common_options, pass_settings
from hermes_memory_tui.cli.json_documents import print_document
from hermes_memory_tui.cli.progress_bars import progress_bar
from hermes_memory_tui.cli.terminal_output import format_quantity, print_hanging, style_text


@add_examples(
    ("backup copy.db", "a verified copy, while agents work"),
    ("backup --restore kept.db", "put a copy back"),
)
@click.command("backup", short_help="Back up or restore the store.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--overwrite", is_flag=True, help="Replace an existing file.")
@click.option("--restore", is_flag=True, help="Restore the backup FILE; the replaced file is kept next to it.")
@add_common_options
@pass_settings
def backup_command(settings: CommandSettings, file: Path, overwrite: bool, restore: bool) -> None:
    """Copy the store to FILE while it is in use, and verify the copy."""
    from hermes_memory_store.upkeep.backup import create_backup, restore_backup

    if restore:
        if overwrite:
            raise click.UsageError("--overwrite cannot be combined with --restore, which keeps the replaced file")
        report = restore_backup(file, settings.path())
        if settings.as_json:
            print_document({"file": str(report.file), "facts": report.facts, "kept": report.kept and str(report.kept)})
        else:
            note = f"; what it replaced is kept at {report.kept}" if report.kept else ""
            click.echo(f"restored {format_quantity(report.facts, 'fact')} from {file}{note}")
        return
    with settings.store() as store, progress_bar("copying") as progress:
        if file.expanduser().exists() and not overwrite:
            raise ArgumentError(f"{file} exists; choose another name or pass --overwrite", file)
        backup = create_backup(store, file, overwrite=overwrite, progress=progress)
    if settings.as_json:
        print_document({"file": str(backup.file), "facts": backup.facts})
    else:
        click.echo(f"{format_quantity(backup.facts, 'fact')} in {backup.file}, verified")


@add_examples(
    ("doctor", "check everything"),
    ("doctor --repair", "and mend what the journal proves"),
)
@click.command("doctor", short_help="Check and repair the store.")
@click.option("--repair", is_flag=True, help="Restore what the journal proves, and rebuild what can be rebuilt.")
@click.option(
    "--torture",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Try in a temporary folder in DIR whether its disk keeps what a store acknowledges; takes about a minute.",
)
@click.option("--seconds", type=click.FloatRange(1, 3600), default=60.0, show_default=True, help="Time for --torture.")
@add_common_options
@click.pass_context
def doctor_command(ctx: click.Context, repair: bool, torture: Path | None, seconds: float) -> None:
    """Check the file, the rows against the journal, the indexes, the gauges, and the hooks of hosts that were connected.

    The exit code is 1 when a check fails.
    """
    from hermes_memory_store.diagnostics.doctor import CHECKS, examine_file

    settings = ctx.ensure_object(CommandSettings)
    if torture is not None:
        if repair:
            raise click.UsageError("--torture tries a folder and --repair a store; run one after the other")
        ctx.exit(0 if torture_and_print(settings, torture, seconds) else 1)
    with ExitStack() as opened, progress_bar("examining") as progress:
        counter = itertools.count()
        each = (lambda _: progress(next(counter), len(CHECKS))) if progress else None
        checks = examine_file(
            settings.path(),
            lambda: opened.enter_context(settings.store(writing=repair)),
            repair=repair,
            progress=each,
        )
    checks += check_host_hooks(settings.path())
    ok = all(check.ok for check in checks)
    if settings.as_json:
        document = [{"name": c.name, "ok": c.ok, "detail": c.detail, "repaired": c.repaired} for c in checks]
        print_document({"ok": ok, "checks": document})
    else:
        print_checks([(check, check.detail + (" (repaired)" if check.repaired else "")) for check in checks])
    ctx.exit(0 if ok else 1)


def print_checks(lines: Sequence[tuple[Check, str]]) -> None:
    width = max(len(check.name) for check, _ in lines)
    for check, text in lines:
        mark = style_text("ok ", fg="green") if check.ok else style_text("BAD", fg="red", bold=True)
        click.echo(f"{mark}  ", nl=False)
        print_hanging(f"{check.name:<{width}}  ", to_printable(text))


def check_host_hooks(store: Path) -> list[Check]:
    """Check the hooks of hosts that were connected: that they stand where they did, point to this program, and may run."""
    from hermes_memory_bridge.backfill.disk_sessions import list_expiring
    from hermes_memory_bridge.connect.hooks.exposed_entries import find_exposed_entries
    from hermes_memory_bridge.connect.hooks.hook_check import examine_hooks
    from hermes_memory_bridge.connect.hosts import HostEnvironment

    place = HostEnvironment(Path.home(), sys.platform, dict(os.environ))
    entries = [Check("entries of hosts", False, fault) for fault in find_exposed_entries()]
    entries += [Check("sessions of hosts", True, line) for line in list_expiring(store)]
    with suppress(StoreError), Store.open(store, read_only=True) as opened:
        entries += [
            Check("guards", True, f"{guard.pattern or 'a guard'} of {guard.uid} asks no more: {fault}")
            for guard, _, fault in opened.guards.list()
            if fault
        ]
    return entries + [Check(f"hooks of {hook.host}", hook.ok, hook.detail) for hook in examine_hooks(place, store)]


def torture_and_print(settings: CommandSettings, folder: Path, seconds: float) -> bool:
    """Try a folder and print what each try came to; return whether all went well."""
    from hermes_memory_store.diagnostics.torture import ATTEMPTS, torture_folder

    with progress_bar("trying") as progress:
        counter = itertools.count()
        each = (lambda _: progress(next(counter), len(ATTEMPTS))) if progress else None
        results = torture_folder(folder.expanduser(), settings.path(), seconds=seconds, progress=each)
    ok = all(result.check.ok for result in results)
    if settings.as_json:
        tries = [
            {"name": result.check.name, "ok": result.check.ok, "detail": result.check.detail, "proves": result.proves}
            for result in results
        ]
        print_document({"ok": ok, "folder": str(folder), "tries": tries})
        return ok
    print_checks([(result.check, f"{result.check.detail}. This shows: {result.proves}.") for result in results])
    return ok


@add_examples(("upgrade", "a file of hermes-memory 0.3.0, in place"))
@click.command("upgrade", short_help="Upgrade a hermes-memory 0.3.0 file.")
@add_common_options
@pass_settings
def upgrade_command(settings: CommandSettings) -> None:
    """Upgrade a hermes-memory 0.3.0 file in place, with a verified backup next to it.

    Every command upgrades such a file when it opens one; this one does nothing else. --theme names the theme that
    receives the facts.
    """
    from hermes_memory_bridge.trust import open_store_vault
    from hermes_memory_store.files.upgrade_hermes_030 import needs_upgrade, upgrade_hermes_030

    path = settings.path()
    refuse_missing_store(path)
    if not needs_upgrade(path):
        with settings.store():
            pass
        if settings.as_json:
            print_document({"upgraded": False})
        else:
            click.echo(f"{path} needs no upgrade")
        return
    with progress_bar("upgrading") as progress:
        report = upgrade_hermes_030(
            path, theme=settings.named_theme() or DEFAULT, vault=open_store_vault(path), progress=progress
        )
    if settings.as_json:
        backup = report.backup and str(report.backup)
        checked = {"waiting": report.waiting, "masked": report.masked, "unkept": report.unkept}
        print_document({"upgraded": True, "backup": backup, "facts": report.facts, "scopes": report.scopes} | checked)
    else:
        contents = f"{format_quantity(report.facts, 'fact')} in {format_quantity(report.scopes, 'scope')}"
        click.echo(f"upgraded {contents}; the old file is kept at {report.backup}")
        if report.waiting:
            click.echo(f"{format_quantity(report.waiting, 'fact')} quarantined (see review)")
        if report.masked:
            click.echo(f"{format_quantity(report.masked, 'fact')} with secrets masked; the old file has them in clear")
