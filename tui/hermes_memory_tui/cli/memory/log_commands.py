"""`log` and `replay`: export the transaction log and rebuild a store from it."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

from hermes_memory_store.errors import ArgumentError, ImportFileError
from hermes_memory_store.store import Store
from hermes_memory_tui.cli.common_options import CommandSettings, add_common_options, pass_settings
from hermes_memory_tui.cli.journal_lines import JournalPrinter
from hermes_memory_tui.cli.json_documents import print_document
from hermes_memory_tui.cli.maintenance.transfer_commands import spool_to_disk
from hermes_memory_tui.cli.progress_bars import progress_bar
from hermes_memory_tui.cli.terminal_output import format_quantity

POLL_S = 0.1
"""How often `--follow` checks for writes of other processes; one check takes microseconds."""

AT_ONCE = 500
"""Rows read and printed at a time."""


@click.command("log", short_help="Print or follow the journal.")
@click.option(
    "--since", type=click.IntRange(0, (1 << 63) - 1), default=0, metavar="SEQ", help="Only changes after this one."
)
@click.option("--follow", "-f", is_flag=True, help="Follow new changes until interrupted.")
@add_common_options
@pass_settings
def log_command(settings: CommandSettings, since: int, follow: bool) -> None:
    """Print the journal, oldest first, one change per line; all themes unless --theme names one.

    With --json, one JSON document per line: the log that `replay` reads.
    """
    if follow and settings.past is not None:
        raise ArgumentError("the past does not change; leave --follow out", "--follow")
    with settings.store() as store:
        printer = LogPrinter(settings, store)
        # Taken before reading: the next check sees what is written in between.
        version = store.data_version()
        last = printer.print_after(since)
        while follow:
            time.sleep(POLL_S)
            now = store.data_version()
            if now != version:
                version = now
                last = printer.print_after(last)


class LogPrinter:
    """Prints the journal, for a person or a program."""

    def __init__(self, settings: CommandSettings, store: Store) -> None:
        self._store = store
        self._as_json = settings.as_json
        self._theme = settings.confining_theme(store)
        self._lines = JournalPrinter(store)

    def print_after(self, last: int) -> int:
        """Print the changes after `last`, and return the number of the newest one."""
        return self._documents(last) if self._as_json else self._for_people(last)

    def _documents(self, last: int) -> int:
        from hermes_memory_store.history.transaction_log import to_log_line
        from hermes_memory_store.rows.journal_records import load_records

        for record in load_records(self._store.db, since=last):
            last = record.seq
            if self._theme is None or record.theme == self._theme:
                sys.stdout.write(to_log_line(record) + "\n")
        sys.stdout.flush()
        return last

    def _for_people(self, last: int) -> int:
        while changes := self._store.journal.changes(since=last, theme=self._theme, limit=AT_ONCE):
            for change in changes:
                self._lines.print(change)
            last = changes[-1].seq
        return last


@click.command("replay", short_help="Rebuild a store from a log.")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@add_common_options
@pass_settings
def replay_command(settings: CommandSettings, file: Path) -> None:
    """Rebuild a store from a log (log --json) into an empty store named by --db; the chain is verified row by row."""
    from hermes_memory_store.history.transaction_log import replay_log

    with spool_to_disk(file) as readable:
        total = count_lines(readable)
        with (
            settings.store(creating=True) as store,
            progress_bar("replaying") as progress,
            readable.open(encoding="utf-8", errors="surrogateescape") as lines,
        ):
            report = replay_log(lines, store, progress=progress, total=total)
    if settings.as_json:
        print_document({"applied": report.applied, "head": report.head})
    else:
        click.echo(f"applied {format_quantity(report.applied, 'change')}")


def count_lines(file: Path) -> int:
    """Count the lines of a file.

    :raises ImportFileError: when it cannot be read
    """
    try:
        with file.open("rb") as lines:
            return sum(1 for _ in lines)
    except OSError as error:
        raise ImportFileError(f"cannot read {file}: {error.strerror or error}", file) from error
