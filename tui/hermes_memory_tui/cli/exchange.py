"""`export` and `import`."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from hermes_memory_tui.cli.options import Settings, common, pass_settings
from hermes_memory_tui.cli.output import document


@click.command("export")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True), default="-")
@click.option("--scope", metavar="LABEL", help="Only this scope.")
@click.option(
    "--format", "form", type=click.Choice(["spec", "jsonl"]), default="spec", show_default=True,
    help="MEMORY_SPEC lines, or JSON lines with everything.",
)  # fmt: skip
@common
@pass_settings
def export_command(settings: Settings, file: Path, scope: str | None, form: str) -> None:
    """Write a theme's facts to FILE, or to standard output."""
    from hermes_memory_store.exchange import export_jsonl, export_spec

    exported = 0
    to_stdout = str(file) == "-"
    with settings.store() as store:
        theme = settings.reading_theme(store)
        lines: Iterator[str] = iter(())
        if scope is not None or store.names.theme_or_none(theme) is not None:
            lines = (
                export_spec(store, theme, scope=scope) if form == "spec" else export_jsonl(store, theme, scope=scope)
            )
        with click.open_file(str(file), "w", encoding="utf-8", atomic=not to_stdout) as out:
            for line in lines:
                exported += counts(line, form)
                out.write(line + "\n")
    if settings.as_json:
        click.echo(f'{{"exported": {exported}}}', err=to_stdout)
    elif not to_stdout:
        click.echo(f"exported {exported} facts to {file}")


def counts(line: str, form: str) -> bool:
    """Whether a line of an export is a fact."""
    if form == "spec":
        return bool(line) and not line.startswith("#")
    return '"content"' in line


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False, allow_dash=True))
@click.option("--scope", metavar="LABEL", help="Put facts that name no scope into this one.")
@click.option("--dry-run", is_flag=True, help="Only count what would happen.")
@common
@pass_settings
def import_command(settings: Settings, file: Path, scope: str | None, dry_run: bool) -> None:
    """Read facts from FILE (- for standard input): MEMORY_SPEC lines or an export's JSON lines.

    Importing the same file again changes nothing. A bad line is reported and does not stop the others.
    """
    from hermes_memory_store.exchange import import_file

    with settings.store(writing=True) as store, on_disk(file) as readable, progress_bar("importing") as progress:
        report = import_file(
            store, readable, theme=settings.resolved_theme(), scope=scope, dry_run=dry_run, progress=progress
        )
    if settings.as_json:
        document(
            {
                "created": report.created,
                "deduplicated": report.deduplicated,
                "skipped": report.skipped,
                "errors": [
                    {"line": bad.line, "code": bad.error.code, "message": bad.error.message} for bad in report.errors
                ],
                "dry_run": dry_run,
            }
        )
        return
    verb = "would create" if dry_run else "created"
    click.echo(
        f"{verb} {report.created}, already there {report.deduplicated}, skipped {report.skipped}, refused {len(report.errors)}"
    )
    for bad in report.errors[:20]:
        click.echo(f"  {bad}", err=True)
    if len(report.errors) > 20:
        click.echo(f"  and {len(report.errors) - 20} more", err=True)


@contextmanager
def on_disk(file: Path) -> Iterator[Path]:
    """The file itself, or standard input kept in one."""
    if str(file) != "-":
        yield file
        return
    with tempfile.NamedTemporaryFile(prefix="hermes-memory-", suffix=".txt") as kept:
        kept.write(sys.stdin.buffer.read())
        kept.flush()
        yield Path(kept.name)


@contextmanager
def progress_bar(label: str) -> Iterator[Callable[[int, int], None] | None]:
    """Reports (done, total) as a bar on standard error when a person watches."""
    if not sys.stderr.isatty():
        yield None
        return
    with click.progressbar(length=1, label=label, file=sys.stderr) as bar:

        def progress(done: int, total: int) -> None:
            bar.length = max(total, 1)
            bar.update(done - bar.pos)

        yield progress
