"""The checks of what a store says against what it must say: its rows against the journal, the journal against its anchors.

The journal's chain cannot tell that its newest rows were cut off. A head that stands outside of the store, in the receipt beside
it or in a backup, can: its row must be there, with its hash.
"""

from __future__ import annotations

import itertools
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from hermes_memory_store import errors
from hermes_memory_store.clock import format_iso_time
from hermes_memory_store.database import driver
from hermes_memory_store.database.database_copies import connect_plainly
from hermes_memory_store.database.index_health import INDEXES
from hermes_memory_store.database.write_ahead_log import log_path
from hermes_memory_store.items.fulltext import rebuild_damaged_indexes
from hermes_memory_store.items.journal_receipt import (
    ChainHead,
    Receipt,
    is_head_held,
    load_outer_receipt,
    load_receipt,
    outer_receipt_path,
    read_chain_head,
    receipt_path,
    write_receipt,
)
from hermes_memory_store.journal.journal_comparison import Difference, describe_differences, find_differences
from hermes_memory_store.journal.journal_restore import restore_rows
from hermes_memory_store.model import Check
from hermes_memory_store.safe_text import pluralise
from hermes_memory_store.store import Store
from hermes_memory_store.system import filesystem
from hermes_memory_store.upkeep import backup

BEFORE_REPAIR = "before-repair"
"""Why a copy was made, as its name says: it is not to be trusted."""

AT_ONCE = 5_000
"""Rows that are restored in one transaction."""

NEWER_ROWS = """
    SELECT count(*) FROM facts NOT INDEXED WHERE updated_at > ?1 AND created_at > ?1
      AND uid NOT IN (SELECT uid FROM journal WHERE entity = 'fact')
"""


class Anchor(NamedTuple):
    """A head of the chain that is written down outside of the store."""

    head: ChainHead
    source: str
    """Where, for a sentence."""


class AnchorReport(NamedTuple):
    """Differences between the anchors and a store's journal."""

    newest: Anchor | None
    cut: list[Anchor]
    """Those whose row is not there: the end was cut off, or an older state was put in the store's place."""
    rewritten: list[Anchor]
    """Those whose row has another hash."""
    is_head_known: bool
    """Whether one of them is exactly the newest row: nothing is missing after it then."""


def compare_anchors(store: Store, receipt: Receipt | None) -> AnchorReport:
    with store.db.snapshot() as conn:
        head = read_chain_head(conn)
        mark, newest = head or ("", ChainHead(0, "", ""))
        anchors = list(backup_anchors(store.path, receipt, mark))
        if receipt is not None and receipt.store == (mark or receipt.store):
            anchors = [*(Anchor(known_head, "the receipt") for known_head in receipt.heads), *anchors]
        if (outer := load_outer_receipt(store.path, mark)) is not None:
            place = str(outer_receipt_path(store.path))
            anchors = [*(Anchor(known_head, place) for known_head in outer.heads), *anchors]
        cut = [anchor for anchor in anchors if anchor.head.seq > newest.seq]
        rewritten = [
            anchor for anchor in anchors if anchor.head.seq <= newest.seq and not is_head_held(conn, anchor.head)
        ]
    anchors.sort(key=lambda anchor: anchor.head.seq)
    is_known = any((anchor.head.seq, anchor.head.hash) == (newest.seq, newest.hash) for anchor in anchors)
    return AnchorReport(anchors[-1] if anchors else None, cut, rewritten, is_known and not cut)


def backup_anchors(db: Path, receipt: Receipt | None, mark: str) -> Iterator[Anchor]:
    """Yield the heads of the readable backups of this store that a restore has not made obsolete."""
    made = backup.load_backup_registry(db)
    since = receipt.restored_at if receipt is not None else None
    for file in backup.find_backups(db):
        head = read_backup_head(file)
        if head is None or (mark and head[0] != mark) or (since is not None and made.get(file, "") <= since):
            continue
        yield Anchor(head[1], f"the backup {file.name}")


def read_backup_head(file: Path) -> tuple[str, ChainHead] | None:
    """Return the mark and the head of a backup, None when it has none or cannot be read."""
    try:
        with connect_plainly(file) as conn:
            return read_chain_head(conn)
    except (errors.FileError, driver.DatabaseError):
        return None


def check_receipt(store: Store, repair: bool) -> Check:
    try:
        receipt = load_receipt(store.path)
    except ValueError as error:
        if repair and store.journal.verify().ok:
            replace_receipt(store)
            return Check("receipt", True, f"{error}; written anew", repaired=True)
        return Check("receipt", False, f"{error}; it proves nothing until doctor --repair writes it anew")
    with store.db.snapshot() as conn:
        head = read_chain_head(conn)
    if receipt is not None and head is not None and receipt.store != head[0]:
        problem = f"{receipt_path(store.path).name} belongs to another store, which stood here before"
        if not repair:
            return Check("receipt", False, f"{problem}; doctor --repair writes one for this store")
        replace_receipt(store)
        return Check("receipt", True, f"{problem}; written anew", repaired=True)
    report = compare_anchors(store, receipt)
    if report.newest is None:
        nothing = "nothing outside tells yet how far the journal goes; the next write leaves a receipt beside the store"
        return Check("receipt", True, nothing)
    if not report.cut and not report.rewritten:
        where = "" if receipt else ", but there is no receipt beside the store"
        last = f"the journal holds row {report.newest.head.seq}, which {report.newest.source} names{where}"
        return Check("receipt", True, last)
    problem = describe_broken_anchors(report, 0 if head is None else head[1].seq)
    if repair and is_known_state(store, report):
        with store.db.snapshot() as conn:
            write_receipt(store.path, conn, restored_at=format_iso_time(store.clock()))
        return Check(
            "receipt", True, f"{problem}; it is exactly one of its backups: the receipt begins anew", repaired=True
        )
    files = " and ".join(
        str(path) for path in (receipt_path(store.path), outer_receipt_path(store.path)) if path.exists()
    )
    return Check("receipt", False, f"{problem}; if it is meant to be so, delete {files}")


def replace_receipt(store: Store) -> None:
    receipt_path(store.path).unlink(missing_ok=True)
    with store.db.snapshot() as conn:
        write_receipt(store.path, conn)


def describe_broken_anchors(report: AnchorReport, newest: int) -> str:
    problems = []
    if report.cut:
        last = max(report.cut, key=lambda anchor: anchor.head.seq)
        problems.append(
            f"the journal ends at row {newest}, but {last.source} knows row {last.head.seq} of {last.head.at}: "
            f"{pluralise(last.head.seq - newest, 'row')} cut off, or an older copy was put in the store's place by hand"
        )
    if report.rewritten:
        anchor = report.rewritten[0]
        problems.append(
            f"row {anchor.head.seq} is not the one that {anchor.source} knows of {anchor.head.at}: the journal was rewritten,"
            " or cut off before it and continued"
        )
    return "; ".join(problems)


def is_known_state(store: Store, report: AnchorReport) -> bool:
    """Check whether a store is whole and exactly what one of its backups is: somebody put that back by hand."""
    if report.rewritten or not store.journal.verify().ok:
        return False
    with store.db.snapshot() as conn:
        head = read_chain_head(conn)
        is_backup = any(read_backup_head(file) == head for file in backup.find_backups(store.path))
        return is_backup and next(find_differences(conn), None) is None


def check_rows(store: Store, repair: bool) -> Check:
    some, count = load_differences(store)
    if not count:
        return Check("rows", True, "every fact, scope, session and turn is what the journal says")
    detail = f"{pluralise(count, 'row')} not as the journal says: {describe_differences(some, count)}"
    if not repair:
        return Check("rows", False, f"{detail}; doctor --repair restores them from the journal")
    doubt = find_journal_doubt(store)
    if doubt is not None:
        return Check("rows", False, f"{detail}; nothing was restored, since the journal is damaged itself: {doubt}")
    copy = keep_copy(store)
    tried: Counter[tuple[str, bytes]] = Counter()
    while some:  # a restored scope may show that its facts differ, so a row may be restored twice
        tried.update((difference.entity, difference.uid) for difference in some)
        with store.db.write_transaction() as conn:
            restore_rows(conn, some, backup.find_backups(store.path))
        some, count = load_differences(store, lambda difference: tried[difference.entity, difference.uid] < 2)
    rebuild_damaged_indexes(store.db, list(INDEXES))
    some, count = load_differences(store)
    detail += f"; what they said is kept in {copy.name}"
    if not count:
        return Check("rows", True, f"{detail}; restored from the journal", repaired=True)
    detail += f"; the others were restored, not these: {describe_differences(some, count)}"
    if any(difference.entity == "turn" for difference in some):
        detail += " (the journal holds digests of turns, not their texts, and no backup has these)"
    return Check("rows", False, detail)


def load_differences(
    store: Store, is_wanted: Callable[[Difference], bool] = lambda _: True
) -> tuple[list[Difference], int]:
    """Return the first rows that differ from the journal, and how many differ in all. :param is_wanted: only such as these"""
    with store.db.snapshot() as conn:
        differences = filter(is_wanted, find_differences(conn))
        some = list(itertools.islice(differences, AT_ONCE))
        return some, len(some) + sum(1 for _ in differences)


def find_journal_doubt(store: Store) -> str | None:
    """Find why the journal cannot be trusted against the rows; None when nothing speaks against it."""
    chain = store.journal.verify()
    if not chain.ok:
        return chain.detail
    try:
        report = compare_anchors(store, load_receipt(store.path))
    except ValueError:
        report = compare_anchors(store, None)
    if report.cut or report.rewritten:
        return describe_broken_anchors(report, store.journal.last_seq())
    if report.is_head_known:
        return None
    last = store.db.value("SELECT max(at) FROM journal") or 0
    newer = store.db.value(NEWER_ROWS, (last,))
    if newer:
        return f"{pluralise(newer, 'fact')} written after its newest row, so its end seems to be cut off"
    return None


def keep_copy(store: Store) -> Path:
    """Keep a copy of the store as it is, damage included, before rows are restored; return its path."""
    copy = backup.default_backup_path(store.path, BEFORE_REPAIR, store.clock())
    try:
        return backup.back_up_file(store.path, copy, reason=BEFORE_REPAIR, now=store.clock()).file
    except errors.StoreUnreadable:
        return keep_raw_copy(store)


def keep_raw_copy(store: Store) -> Path:
    """Copy a damaged file byte by byte, with its log, since no sound copy of it can be made."""
    now = store.clock()
    copy = backup.default_backup_path(store.path, BEFORE_REPAIR, now)
    backup.register_backup(store.path, copy, BEFORE_REPAIR, now)
    copy_with_log(store.path, copy)
    return copy


def copy_with_log(db: Path, copy: Path) -> None:
    for part, target in ((db, copy), (log_path(db), log_path(copy))):
        if part.exists():
            filesystem.create_private_file(target)
            shutil.copyfile(part, target)
            filesystem.flush_to_disk(target)
