"""`export` and `import`."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import click

from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.exchange import ImportReport
from hermes_memory_store.filesystem import atomic_write
from hermes_memory_store.store import is_missing
from hermes_memory_store.text import printable
from hermes_memory_tui.cli.documents import document
from hermes_memory_tui.cli.foreign import KINDS, bring_screened, tell_foreign
from hermes_memory_tui.cli.options import Settings, common, pass_settings, scope_option, throwaway_store
from hermes_memory_tui.cli.output import counted
from hermes_memory_tui.cli.progress import progress_bar

OURS = ("spec", "jsonl")
"""What this program's own `export` writes."""

SHOWN_ERRORS = 20
"""Refused lines that are printed; `--json` lists all."""


@click.command("export", short_help="Write facts to a file.")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True), default="-")
@scope_option("Only this scope.")
@click.option(
    "--format", "form", type=click.Choice(["spec", "jsonl"]), default="spec", show_default=True,
    help="MEMORY_SPEC lines, or JSON lines with everything.",
)  # fmt: skip
@click.option("--turns", is_flag=True, help="With jsonl: the captured turns, too.")
@common
@pass_settings
def export_command(settings: Settings, file: Path, scope: str | None, form: str, turns: bool) -> None:
    """Write a theme's facts to FILE, or to standard output.

    With --json, the count is on standard output, or on standard error when the facts are on standard output.
    """
    from hermes_memory_store.exchange import export_jsonl, export_spec

    if turns and (form != "jsonl" or scope is not None):
        raise ArgumentError("--turns goes with --format jsonl and without --scope: turns belong to no scope", scope)
    exported = 0
    to_stdout = str(file) == "-"
    with settings.store() as store:
        if not to_stdout and any(same(file, part) for part in (store.path, Path(f"{store.path}-wal"))):
            raise ArgumentError(f"{file} is the memory itself; choose another file", file)
        theme = settings.reading_theme(store)
        lines: Iterator[str] = iter(())
        if scope is not None or store.names.theme_or_none(theme) is not None:
            if form == "spec":
                lines = export_spec(store, theme, scope=scope)
            else:
                lines = export_jsonl(store, theme, scope=scope, turns=turns)
        with opened_for_writing(file) as out:
            for line in lines:
                exported += is_fact(line, form)
                out.write(line + "\n")
    if settings.as_json:
        click.echo(f'{{"exported": {exported}}}', err=to_stdout)
    elif not to_stdout:
        click.echo(f"exported {counted(exported, 'fact')} to {file}")


@contextmanager
def opened_for_writing(file: Path) -> Iterator[IO[str]]:
    """Standard output, a device, or a file that is there whole or as it was before, and that only its owner may read."""
    if str(file) == "-":
        yield sys.stdout
        return
    target = file.expanduser().resolve()
    if target.exists() and not target.is_file():
        with target.open("w", encoding="utf-8") as out:
            yield out
        return
    try:
        with atomic_write(target, encoding="utf-8") as out:
            yield out
    except OSError as error:
        # The name that was asked for, not that of the file in the making.
        raise OSError(error.errno, error.strerror or str(error), str(file)) from error


def same(file: Path, part: Path) -> bool:
    """Whether two paths name one existing file."""
    file = file.expanduser()
    return file.exists() and part.exists() and os.path.samefile(file, part)


def is_fact(line: str, form: str) -> bool:
    """Whether a line of an export is a fact, and no heading."""
    if form == "spec":
        return bool(line) and not line.startswith("#")
    return line.startswith('{"kind":"fact"')


@click.command("import", short_help="Read facts from a file.")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--from",
    "kind",
    type=click.Choice([*OURS, *KINDS]),
    help="What wrote FILE.  [default: recognised]",
)
@scope_option("Put facts that name no scope into this one.")
@click.option("--dry-run", is_flag=True, help="Only count what would happen.")
@common
@pass_settings
def import_command(settings: Settings, file: Path, kind: str | None, scope: str | None, dry_run: bool) -> None:
    """Read facts from FILE (- for standard input): MEMORY_SPEC lines, an export's JSON lines, or another program's memory.

    Other programs: hermes-memory (its SQLite file), pgvector (a dump or an export of its tables), mcp-memory (its JSONL), mem0
    and engram (their JSON), basic-memory (its folder). --theme puts everything into one theme; without it each row of pgvector
    goes into its own.

    Importing the same file again changes nothing. A bad line is reported and does not stop the others.
    """
    from hermes_memory_store.exchange import import_file
    from hermes_memory_store.importers import recognise

    opened = throwaway_store() if dry_run and is_missing(settings.path()) else settings.store(creating=not dry_run)
    with (
        on_disk(file) as readable,
        opened as store,
        progress_bar("importing") as progress,
    ):
        theme = settings.resolved_theme()
        kind = kind or recognise(readable)
        if kind is not None and kind in KINDS:
            foreign = bring_screened(settings, store, readable, kind, scope, dry_run, progress)
        else:
            report = import_file(
                store, readable, theme=theme, scope=scope, dry_run=dry_run, form=kind, progress=progress
            )
    if kind in KINDS:
        tell_foreign(settings, foreign, dry_run)
        return
    if settings.as_json:
        errors = [{"line": bad.line, **bad.error.as_dict()} for bad in report.errors]
        counts = {"created": report.created, "deduplicated": report.deduplicated, "skipped": report.skipped}
        document({**counts, "turns": report.turns, "errors": errors, "dry_run": dry_run})
    else:
        say_imported(report, dry_run)


def say_imported(report: ImportReport, dry_run: bool) -> None:
    """What an import did, for a person."""
    verb = "would create" if dry_run else "created"
    told = [f"{verb} {counted(report.created, 'fact')}", f"{report.deduplicated:,} already there"]
    told += [counted(report.turns, "turn")] if report.turns else []
    told += [f"{report.skipped:,} purged here before and left out"] if report.skipped else []
    told += [f"{counted(len(report.errors), 'line')} refused"] if report.errors else []
    click.echo(", ".join(told))
    for bad in report.errors[:SHOWN_ERRORS]:
        click.echo(f"  {printable(str(bad))}", err=True)
    if len(report.errors) > SHOWN_ERRORS:
        click.echo(f"  and {len(report.errors) - SHOWN_ERRORS:,} more", err=True)


@contextmanager
def on_disk(file: Path) -> Iterator[Path]:
    """The file itself, or standard input kept in one that only its owner may read."""
    if str(file) != "-":
        yield file
        return
    with tempfile.NamedTemporaryFile(prefix="hermes-memory-", suffix=".txt") as kept:
        shutil.copyfileobj(sys.stdin.buffer, kept)
        kept.flush()
        yield Path(kept.name)
