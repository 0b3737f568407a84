"""`log` and `replay`: the transaction log out and in."""

from __future__ import annotations

import time
from pathlib import Path

import click

from hermes_memory_store.store import Store
from hermes_memory_tui.cli.exchange import on_disk, progress_bar
from hermes_memory_tui.cli.options import Settings, common, pass_settings
from hermes_memory_tui.cli.output import change_line, document

POLL_S = 0.25
"""How often `--follow` asks whether another process has written; one question costs microseconds."""

AT_ONCE = 500


@click.command("log")
@click.option("--since", type=click.IntRange(min=0), default=0, metavar="SEQ", help="Only changes after this one.")
@click.option("--follow", is_flag=True, help="Go on with changes as they happen, until interrupted.")
@common
@pass_settings
def log_command(settings: Settings, since: int, follow: bool) -> None:
    """The journal, oldest first, one change a line. With --json the log that `replay` reads."""
    with settings.store() as store:
        last = show(settings, store, since)
        version = store.data_version()
        while follow:
            time.sleep(POLL_S)
            now = store.data_version()
            if now != version:
                version = now
                last = show(settings, store, last)


def show(settings: Settings, store: Store, since: int) -> int:
    """Print the changes after `since`; the last one's number."""
    last = since
    if settings.as_json:
        from hermes_memory_store.translog import records, to_line

        for record in records(store, since=since):
            click.echo(to_line(record))
            last = record.seq
        return last
    theme = settings.reading_theme(store) if settings.theme else None
    while changes := store.journal.changes(since=last, theme=theme, limit=AT_ONCE):
        for change in changes:
            click.echo(change_line(change))
        last = changes[-1].seq
    return last


@click.command("replay")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False, allow_dash=True))
@common
@pass_settings
def replay_command(settings: Settings, file: Path) -> None:
    """Rebuild a store from a log into an empty one (choose it with --db), verifying the chain row by row."""
    from hermes_memory_store.translog import replay

    with on_disk(file) as readable, readable.open(encoding="utf-8", errors="surrogateescape") as lines:
        with settings.store(writing=True) as store, progress_bar("replaying") as progress:
            report = replay(lines, store, progress=progress)
    if settings.as_json:
        document({"applied": report.applied})
    else:
        click.echo(f"applied {report.applied} changes")
