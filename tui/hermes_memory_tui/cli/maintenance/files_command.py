"""`files`: the memory files that agent hosts read beside the memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hermes_memory_store.errors import StoreMissing
from hermes_memory_store.model import format_notation
from hermes_memory_store.safe_text import pluralise, to_printable
from hermes_memory_store.uids import short_uid
from hermes_memory_tui.cli.command_examples import add_examples
from hermes_memory_tui.cli.common_options import CommandSettings, add_common_options
from hermes_memory_tui.cli.json_documents import print_document

if TYPE_CHECKING:
    from hermes_memory_store.host_files.host_memory import HostFile
    from hermes_memory_tui.model.host_listing import HostEntry, HostListing

ENTRY_CHARS = 100

MARKS = {"same": "=", "opposite": "≠"}


@add_examples(
    ("files", "CLAUDE.md, AGENTS.md and the others that agents here read, entry by entry"),
    ("files --opposite", "only what says the opposite of a fact; exit code 1 where there is any"),
)
@click.command("files", short_help="Show the memory files of agent hosts beside the memory.")
@click.option("--host", help="Only files of this host: claude-code, codex …")
@click.option("--same", is_flag=True, help="Only entries that repeat a fact.")
@click.option("--opposite", is_flag=True, help="Only entries that contradict a fact.")
@add_common_options
@click.pass_context
def files_command(ctx: click.Context, host: str | None, same: bool, opposite: bool) -> None:
    """Show the files that agent hosts read in this folder, beside the memory: CLAUDE.md, AGENTS.md, rules, memories of their own.

    Each entry with its place and tokens, who reads it and why not, and the facts it repeats (=) or contradicts (≠). Nothing is
    written or run. The inspector's view Files edits and moves entries.
    """
    settings = ctx.ensure_object(CommandSettings)
    listing = load_listing(settings)
    outcomes = {name for name, on in (("same", same), ("opposite", opposite)) if on}
    files = [file for file in listing.files if host is None or any(reading.host == host for reading in file.readings)]
    entries = [
        entry
        for entry in listing.entries
        if entry.file in files
        and (not outcomes or any(comparison.outcome in outcomes for comparison in entry.comparisons))
    ]
    if settings.as_json:
        print_document({"theme": listing.theme, "files": [to_host_file_words(file, entries) for file in files]})
    else:
        print_host_files(files, entries, is_filtered=bool(outcomes))
    if opposite and entries:
        ctx.exit(1)


def load_listing(settings: CommandSettings) -> HostListing:
    from hermes_memory_tui.model.host_listing import find_files_here, load_host_listing

    files = find_files_here()
    try:
        with settings.store() as store:
            return load_host_listing(store, settings.reading_theme(store), files)
    except StoreMissing:
        return load_host_listing(None, "", files)


def print_host_files(files: list[HostFile], entries: list[HostEntry], *, is_filtered: bool) -> None:
    from hermes_memory_tui.model.host_listing import name_readers

    shown = [file for file in files if not is_filtered or any(entry.file is file for entry in entries)]
    for file in shown:
        click.echo(to_printable(f"{file.label}  {file.level}  {pluralise(file.tokens, 'token')}  {name_readers(file)}"))
        if file.problem:
            click.echo(f"  {file.problem}")
        for entry in entries:
            if entry.file is file:
                text = " ".join(entry.entry.text.split())
                line = f"{entry.entry.first:5}  {text[:ENTRY_CHARS]}{'…' * (len(text) > ENTRY_CHARS)}"
                click.echo(to_printable(line))
                for comparison in entry.comparisons:
                    notation = format_notation(comparison.fact.type, comparison.fact.target, comparison.fact.content)
                    reason = f"  ({comparison.reason})" if comparison.reason else ""
                    click.echo(
                        to_printable(
                            f"       {MARKS[comparison.outcome]} {short_uid(comparison.fact.uid)} {notation}{reason}"
                        )
                    )
    if not shown:
        click.echo(
            "no entry of a host's memory file fits" if is_filtered else "no host's memory file is read in this folder"
        )


def to_host_file_words(file: HostFile, entries: list[HostEntry]) -> dict[str, Any]:
    return {
        "path": str(file.path),
        "level": file.level,
        "tokens": file.tokens,
        "problem": file.problem,
        "readers": [
            {"host": reading.host, "reads": not reading.problem, "why": reading.problem or reading.note}
            for reading in file.readings
        ],
        "entries": [
            {
                "line": entry.entry.first,
                "last": entry.entry.last,
                "kind": entry.entry.kind,
                "text": entry.entry.text,
                "headings": list(entry.entry.headings),
                "tokens": entry.entry.tokens,
                "same": [comparison.fact.uid for comparison in entry.comparisons if comparison.outcome == "same"],
                "opposite": [
                    {"uid": comparison.fact.uid, "reason": comparison.reason}
                    for comparison in entry.comparisons
                    if comparison.outcome == "opposite"
                ],
            }
            for entry in entries
            if entry.file is file
        ],
    }
