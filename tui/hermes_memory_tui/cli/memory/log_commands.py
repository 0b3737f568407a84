"""`log` and `replay`: export the transaction log and rebuild a store from it."""

from __future__ import annotations

import itertools
import json
import sys
import time
from pathlib import Path

import click

from hermes_memory_store.errors import ArgumentError, ImportFileError
from hermes_memory_store.journal.change_folds import ChangeFolds
from hermes_memory_store.store import Store
from hermes_memory_tui.cli.command_examples import add_examples
from hermes_memory_tui.cli.common_options import CommandSettings, add_common_options, pass_settings
from hermes_memory_tui.cli.journal_lines import CHANGES, JournalPrinter
from hermes_memory_tui.cli.json_documents import fold_json, print_document
from hermes_memory_tui.cli.maintenance.transfer_commands import spool_to_disk
from hermes_memory_tui.cli.progress_bars import progress_bar
from hermes_memory_tui.cli.table_output import RowPrinter, add_list_options
from hermes_memory_tui.cli.terminal_output import format_quantity
from hermes_memory_tui.text.fold_phrases import format_fold_verb

POLL_S = 0.1
"""How often `--follow` checks for writes of other processes; one check takes microseconds."""

AT_ONCE = 500
"""Rows read and printed at a time."""


@add_examples(
    ("log --since 2 --limit 20", "a page of the journal"),
    ("log -o csv --fields at,by,op,theme,text > log.csv", "for a spreadsheet"),
    ("log --fold", "one line for each change, however many rows it has"),
    ("log --json > log.jsonl", "the log that `replay` reads"),
)
@click.command("log", short_help="Print or follow the journal.")
@click.option(
    "--since", type=click.IntRange(0, (1 << 63) - 1), default=0, metavar="SEQ", help="Only changes after this one."
)
@click.option("--limit", "-n", type=click.IntRange(min=1), metavar="N", help="At most so many changes.  [default: all]")
@click.option("--follow", "-f", is_flag=True, help="Follow new changes until interrupted.")
@click.option("--fold", is_flag=True, help="One line for each change, however many rows it has.")
@add_list_options(CHANGES)
@add_common_options
@pass_settings
def log_command(settings: CommandSettings, since: int, limit: int | None, follow: bool, fold: bool) -> None:
    """Print the journal, oldest first, one row per line; all themes unless --theme names one.

    With --json, one JSON document per line: the log that `replay` reads, or with --fold what each change was.
    """
    if follow and settings.past is not None:
        raise ArgumentError("the past does not change; leave --follow out", "--follow")
    if follow and limit is not None:
        raise click.UsageError("--follow goes on until it is interrupted; leave --limit out")
    if fold and settings.is_tabular:
        raise click.UsageError("--fold prints lines, or documents with --json; leave --output out")
    with settings.store() as store:
        printer = LogPrinter(settings, store, fold=fold)
        # Taken before reading: the next check sees what is written in between.
        version = store.data_version()
        last = printer.print_after(since, limit)
        if limit is not None and store.journal.changes(since=last, theme=printer.theme, limit=1):
            click.echo(f"next page: --since {last}", err=True)
        while follow:
            time.sleep(POLL_S)
            now = store.data_version()
            if now != version:
                version = now
                last = printer.print_after(last)


class LogPrinter:
    """Prints the journal, for a person or a program."""

    def __init__(self, settings: CommandSettings, store: Store, *, fold: bool = False) -> None:
        self._store = store
        self._fold = fold
        self._as_json = settings.as_json
        self.theme = settings.confining_theme(store)
        self._lines = JournalPrinter(store)
        self._rows = RowPrinter(settings, CHANGES) if settings.is_tabular else None

    def print_after(self, last: int, limit: int | None = None) -> int:
        """Print the changes after `last`, at most `limit` of them, and return the number of the newest one."""
        if self._fold:
            return self._folds(last, limit)
        return self._documents(last, limit) if self._as_json else self._for_people(last, limit)

    def _folds(self, last: int, limit: int | None) -> int:
        for fold in itertools.islice(ChangeFolds(self._store).after(last, theme=self.theme), limit):
            last = fold.last
            if self._as_json:
                document = fold_json(fold, format_fold_verb(fold), self._lines.fold_subject(fold))
                sys.stdout.write(json.dumps(document, ensure_ascii=False) + "\n")
            else:
                self._lines.print_fold(fold)
        sys.stdout.flush()
        return last

    def _documents(self, last: int, limit: int | None) -> int:
        from hermes_memory_store.items.journal import load_records
        from hermes_memory_store.journal.transaction_log import to_log_line

        for record in load_records(self._store.db, since=last):
            if self.theme is None or record.theme == self.theme:
                if limit == 0:
                    break
                sys.stdout.write(to_log_line(record) + "\n")
                limit = None if limit is None else limit - 1
            last = record.seq
        sys.stdout.flush()
        return last

    def _for_people(self, last: int, limit: int | None) -> int:
        while limit != 0:
            most = AT_ONCE if limit is None else min(limit, AT_ONCE)
            changes = self._store.journal.changes(since=last, theme=self.theme, limit=most)
            if self._rows is not None:
                self._rows.print(map(self._lines.to_row, changes))
            else:
                for change in changes:
                    self._lines.print(change)
            if not changes:
                break
            last = changes[-1].seq
            limit = None if limit is None else limit - len(changes)
        return last


@add_examples(
    (
        "log --json > log.jsonl && hermes-memory-tui replay log.jsonl --db rebuilt.db",
        "rebuild a store, verified row by row",
    )
)
@click.command("replay", short_help="Rebuild a store from a log.")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@add_common_options
@pass_settings
def replay_command(settings: CommandSettings, file: Path) -> None:
    """Rebuild a store from a log (log --json) into an empty store named by --db; the chain is verified row by row."""
    from hermes_memory_store.journal.transaction_log import replay_log

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
    """Count the lines of a file. :raises ImportFileError: when it cannot be read"""
    try:
        with file.open("rb") as lines:
            return sum(1 for _ in lines)
    except OSError as error:
        raise ImportFileError(f"cannot read {file}: {error.strerror or error}", file) from error
