"""Rewind a copy of a store: revert the newest changes row by row until a past moment is reached."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_memory_store import errors
from hermes_memory_store.clock import parse_moment
from hermes_memory_store.database import database_copies
from hermes_memory_store.database.database_copies import Progress
from hermes_memory_store.items import journal
from hermes_memory_store.items.journal import load_records
from hermes_memory_store.items.mutation import Mutation
from hermes_memory_store.journal.record_applier import revert_record
from hermes_memory_store.model import Actor, Millis

if TYPE_CHECKING:
    from hermes_memory_store.store import Store

LONG_JOURNAL = 5_000
"""Rows below which a replay takes no time anyway, and verifies the whole chain."""

AFTERWARDS = (
    "DELETE FROM journal WHERE seq > :last",
    "DELETE FROM tombstones WHERE purged_at > :moment",
    "DELETE FROM injections WHERE at > :moment",
    "DELETE FROM actions WHERE kept_at > :moment",
    "DELETE FROM reads",
    "DELETE FROM fact_uses",
    "DELETE FROM scopes WHERE theme_id IN (SELECT id FROM themes WHERE created_at > :moment)",
    "DELETE FROM tallies WHERE theme_id IN (SELECT id FROM themes WHERE created_at > :moment)",
    "DELETE FROM themes WHERE created_at > :moment",
)


def last_change_before(store: Store, moment: int) -> int:
    """Find the number of the journal's last row written by that moment, 0 when there is none.

    Times in the journal never step back, so this is a binary search.
    """
    low, high = 0, store.journal.last_seq()
    while low < high:
        middle = (low + high + 1) // 2
        if store.db.value("SELECT at FROM journal WHERE seq = ?", (middle,)) <= moment:
            low = middle
        else:
            high = middle - 1
    return low


def parse_past_moment(store: Store, text: str) -> Millis:
    """Parse a date, a time, or an age before now. :raises ArgumentError: it is none of these, or has not come yet"""
    moment = parse_moment(text, store.clock())
    refuse_future_moment(store, moment, text)
    return moment


def refuse_future_moment(store: Store, moment: int, text: str) -> None:
    """Refuse a moment that has not come yet.

    :param text: the moment as it was named
    :raises ArgumentError: names the latest change
    """
    if moment <= store.clock():
        return
    newest = store.journal.last_seq()
    latest = "no change has been made yet"
    if newest:
        at = datetime.fromtimestamp(store.journal.get(newest).at // 1000, UTC)
        latest = f"the latest change is #{newest} at {at:%Y-%m-%d %H:%M} UTC"
    raise errors.ArgumentError(f"{text.strip()[:40]} has not come yet; {latest}", text)


def is_rewind_shorter(last: int, newest: int) -> bool:
    """Check whether reverting what came after row `last` is less work than replaying what came before."""
    return newest > LONG_JOURNAL and 3 * (newest - last) < last


def copy_unverified(source: Path, target: Path) -> None:
    """Copy a store to a temporary file: online, but neither verified nor synced."""
    database_copies.create_private_exclusively(target)
    with database_copies.connect_plainly(source) as reading, database_copies.connect_plainly(target, "rw") as writing:
        writing.execute("PRAGMA synchronous = OFF")
        reading.backup(writing)


def rewind(store: Store, moment: int, last: int, *, progress: Progress | None = None) -> None:
    """Revert a temporary copy of a store to its state after row `last`, in one transaction.

    :raises JournalBroken: when a row that is reverted was altered
    """
    newest = store.journal.last_seq()
    rows = list(load_records(store.db, since=last))
    link = store.db.value("SELECT hash FROM journal WHERE seq = ?", (last,)) or journal.FIRST_HASH
    for record in rows:
        if record.link(link) != record.hash:
            raise errors.JournalBroken(f"row {record.seq} was altered: its hash does not fit what it says", record.seq)
        link = record.hash
    with store.db.write_transaction() as conn:
        conn.execute("DELETE FROM sync_themes")  # nothing of this copy travels
        change = Mutation(conn, store.names, store.journal, Actor("rewind"))
        for record in reversed(rows):
            revert_record(change, record, last)
            if progress is not None and record.seq % 1000 == 0:
                progress(newest - record.seq, newest - last)
        for statement in AFTERWARDS:
            conn.execute(statement, {"last": last, "moment": moment})
