"""The commands `export` and `import`."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO

import click

from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.files.export_import import ImportReport
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.store import is_store_missing
from hermes_memory_store.system.filesystem import atomic_write
from hermes_memory_tui.cli.command_examples import add_examples
from hermes_memory_tui.cli.common_options import (
    CommandSettings,
    add_common_options,
    pass_settings,
    scope_option,
    temporary_store,
)
from hermes_memory_tui.cli.import_report import KINDS, SHOWN, import_checked, print_foreign_report, print_omitted_count
from hermes_memory_tui.cli.json_documents import print_document
from hermes_memory_tui.cli.progress_bars import progress_bar
from hermes_memory_tui.cli.terminal_output import describe_altered, format_quantity

OURS = ("spec", "jsonl")
"""What this program's own `export` writes."""

COUNTS = ("created", "deduplicated", "skipped", "waiting", "redated", "masked", "unkept", "turns")

STANDARD_OUTPUT = ("-", "/dev/stdout", "/dev/fd/1")


@add_examples(
    ("export facts.txt", "MEMORY_SPEC, one fact a line"),
    ("export --format jsonl --turns everything.jsonl", "with origins and messages"),
)
@click.command("export", short_help="Export facts to a file.")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True), default="-")
@scope_option("Only this scope.")
@click.option(
    "--format", "form", type=click.Choice(["spec", "jsonl"]), default="spec", show_default=True,
    help="MEMORY_SPEC lines (hot and cold facts), or JSON lines (everything).",
)  # fmt: skip
@click.option("--turns", is_flag=True, help="With jsonl: include captured messages.")
@click.option("--no-origin", is_flag=True, help="With jsonl: leave out where everything came from.")
@click.option("--cites", is_flag=True, help="With spec: name the lines that a fact cites behind it, @PATH:12-20.")
@add_common_options
@pass_settings
def export_command(
    settings: CommandSettings, file: Path, scope: str | None, form: str, turns: bool, no_origin: bool, cites: bool
) -> None:
    """Write a theme's facts to FILE, or to standard output.

    With --json, the count goes to standard output, or to standard error when the facts are on standard output.
    """
    from hermes_memory_store.files.export_import import export_jsonl, export_spec

    if turns and (form != "jsonl" or scope is not None):
        raise ArgumentError(
            "--turns requires --format jsonl and excludes --scope, since messages belong to no scope", scope
        )
    exported = 0
    to_stdout = str(file) in STANDARD_OUTPUT
    with settings.store() as store:
        if not to_stdout and any(is_same_file(file, part) for part in (store.path, Path(f"{store.path}-wal"))):
            raise ArgumentError(f"{file} is the store itself; choose another file", file)
        theme = settings.reading_theme(store)
        if altered := store.facts.count_altered(theme):
            click.echo(f"{describe_altered(altered)}; they are exported as they stand", err=True)
        lines: Iterator[str] = iter(())
        if scope is not None or store.names.theme_or_none(theme) is not None:
            if form == "spec":
                lines = export_spec(store, theme, scope=scope, with_citations=cites)
            else:
                lines = export_jsonl(store, theme, scope=scope, turns=turns, origins=not no_origin)
        with open_export(file) as out:
            for line in lines:
                exported += is_exported_fact(line, form)
                out.write(line + "\n")
    if settings.as_json:
        click.echo(f'{{"exported": {exported}}}', err=to_stdout)
    elif not to_stdout:
        click.echo(f"exported {format_quantity(exported, 'fact')} to {file}")


@contextmanager
def open_export(file: Path) -> Iterator[IO[str]]:
    """Open standard output, a device or pipe, or a file that is replaced once complete and readable by its owner only."""
    if str(file) in STANDARD_OUTPUT:
        yield sys.stdout
        return
    try:
        with atomic_write(file.expanduser(), encoding="utf-8") as out:
            yield out
    except OSError as error:
        # The name that was asked for, not that of the file in the making.
        raise OSError(error.errno, error.strerror or str(error), str(file)) from error


def is_same_file(file: Path, part: Path) -> bool:
    file = file.expanduser()
    return file.exists() and part.exists() and os.path.samefile(file, part)


def is_exported_fact(line: str, form: str) -> bool:
    """Check whether a line of an export is a fact rather than a heading."""
    if form == "spec":
        return bool(line) and not line.startswith("#")
    return line.startswith('{"kind":"fact"')


@add_examples(
    ("import facts.txt --dry-run", "what a file would bring"),
    ("import facts.txt --scope launch", "bring it, into a scope"),
    ("import --from claude-mem --dry-run", "what another program remembers"),
)
@click.command("import", short_help="Import facts from a file.")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True), required=False)
@click.option(
    "--from",
    "--format",
    "kind",
    type=click.Choice([*OURS, *KINDS]),
    help="Program that wrote FILE.  [default: detected]",
)
@scope_option("Scope for facts that name none.")
@click.option("--dry-run", is_flag=True, help="Show what would be imported, without writing.")
@add_common_options
@pass_settings
def import_command(
    settings: CommandSettings, file: Path | None, kind: str | None, scope: str | None, dry_run: bool
) -> None:
    """Read facts from FILE (- for standard input): MEMORY_SPEC, exported JSON lines, or another program's memory.

    Other programs: hermes-memory (its SQLite file), pgvector (a dump or an export of its tables), mcp-memory (its
    JSONL), mem0 and engram (their JSON), basic-memory (its folder); claude-mem, claude-code, codex and mcp-memory-service,
    found by --from without FILE. --theme puts all into one theme; without it each row of pgvector goes into its own.

    Importing the same file again changes nothing. An invalid line is reported and does not stop the rest.
    """
    from hermes_memory_store.files.export_import import find_importer, import_file
    from hermes_memory_store.files.importers import detect_format, find_usual_place
    from hermes_memory_store.memory.scopes import validate_label

    file = file or find_usual_place(kind)
    is_new = is_store_missing(settings.path())
    with (
        spool_to_disk(file) as readable,
        progress_bar("importing") as progress,
        ExitStack() as named,
    ):
        # What cannot be imported creates no store.
        kind = kind or detect_format(readable)
        if kind not in KINDS:
            find_importer(readable)
        elif is_new and not dry_run:
            import_checked(settings, named.enter_context(temporary_store()), readable, kind, scope, True, None)
            settings.place_theme = None  # of the temporary store, and not yet that of a project in the new one
        if scope is not None:
            validate_label(scope)
        store = named.enter_context(temporary_store() if dry_run and is_new else settings.store(creating=not dry_run))
        theme = settings.resolved_theme(store)
        if str(file) == "-":
            named.enter_context(store.attribute(replace(store.names.origins.current(), file="standard input")))
        if kind is not None and kind in KINDS:
            foreign = import_checked(settings, store, readable, kind, scope, dry_run, progress)
        else:
            report = import_file(
                store, readable, theme=theme, scope=scope, dry_run=dry_run, form=kind, progress=progress
            )
    if kind in KINDS:
        print_foreign_report(settings, foreign, dry_run)
        return
    if settings.as_json:
        errors = [{"line": bad.line, **bad.error.as_dict()} for bad in report.errors]
        counts = {name: getattr(report, name) for name in COUNTS}
        print_document({**counts, "errors": errors, "dry_run": dry_run})
    else:
        print_import_report(report, dry_run)
    if report.errors and not (report.created or report.deduplicated or report.skipped or report.turns):
        raise click.exceptions.Exit(1)


def print_import_report(report: ImportReport, dry_run: bool) -> None:
    verb = "would create" if dry_run else "created"
    parts = [f"{verb} {format_quantity(report.created, 'fact')}", f"{report.deduplicated:,} already there"]
    parts += [format_quantity(report.turns, "turn")] if report.turns else []
    parts += [f"{report.waiting:,} quarantined (see review)"] if report.waiting else []
    parts += [f"{report.redated:,} dated in the future and brought to now"] if report.redated else []
    parts += [f"{report.masked:,} with secrets masked"] if report.masked else []
    if report.unkept:
        parts.append(f"{format_quantity(report.unkept, 'secret')} not kept: no keyring can be reached")
    parts += [f"{report.skipped:,} purged here before and left out"] if report.skipped else []
    parts += [f"{format_quantity(len(report.errors), 'line')} refused"] if report.errors else []
    click.echo(", ".join(parts))
    for bad in report.errors[:SHOWN]:
        click.echo(f"  {to_printable(str(bad))}", err=True)
    print_omitted_count(len(report.errors))


@contextmanager
def spool_to_disk(file: Path) -> Iterator[Path]:
    """Return the file itself, or a copy of standard input or of a pipe in a file that only its owner may read."""
    if str(file) != "-" and not file.expanduser().is_fifo():
        yield file
        return
    with tempfile.NamedTemporaryFile(prefix="hermes-memory-", suffix=".txt") as copy:
        if str(file) == "-":
            shutil.copyfileobj(sys.stdin.buffer, copy)
        else:
            with file.expanduser().open("rb") as source:  # detecting its format would take its beginning away
                shutil.copyfileobj(source, copy)
        copy.flush()
        yield Path(copy.name)
