"""What is known outside of the store about its journal: the receipt beside it, and its backups.

The journal's chain cannot tell that its newest rows were cut off. A head that somebody wrote down elsewhere can: its row must be
there, with its hash.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from hermes_memory_store import errors
from hermes_memory_store.database import driver
from hermes_memory_store.database.database_copies import connect_plainly
from hermes_memory_store.items.journal_receipt import ChainHead, Receipt, is_head_held, read_chain_head
from hermes_memory_store.store import Store
from hermes_memory_store.upkeep import backup


class Anchor(NamedTuple):
    """A head of the chain that is written down outside of the store."""

    head: ChainHead
    source: str
    """Where, for a sentence."""


class AnchorReport(NamedTuple):
    """What the anchors say of a store's journal."""

    newest: Anchor | None
    cut: list[Anchor]
    """Those whose row is not there: the end was cut off, or an older state was put in the store's place."""
    rewritten: list[Anchor]
    """Those whose row has another hash."""
    is_head_known: bool
    """Whether one of them is exactly the newest row: nothing is missing after it then."""


def compare_anchors(store: Store, receipt: Receipt | None) -> AnchorReport:
    """Compare the journal with every anchor of it."""
    with store.db.snapshot() as conn:
        head = read_chain_head(conn)
        mark, newest = head or ("", ChainHead(0, "", ""))
        anchors = list(backup_anchors(store.path, receipt, mark))
        if receipt is not None and receipt.store == (mark or receipt.store):
            anchors = [*(Anchor(known_head, "the receipt") for known_head in receipt.heads), *anchors]
        cut = [anchor for anchor in anchors if anchor.head.seq > newest.seq]
        rewritten = [
            anchor for anchor in anchors if anchor.head.seq <= newest.seq and not is_head_held(conn, anchor.head)
        ]
    anchors.sort(key=lambda anchor: anchor.head.seq)
    is_known = any((anchor.head.seq, anchor.head.hash) == (newest.seq, newest.hash) for anchor in anchors)
    return AnchorReport(anchors[-1] if anchors else None, cut, rewritten, is_known and not cut)


def backup_anchors(db: Path, receipt: Receipt | None, mark: str) -> Iterator[Anchor]:
    """Yield the heads of the backups of this store that can be read.

    Of those made before a backup was restored only what the restored state still has counts.
    """
    made = {Path(line["file"]): line.get("made_at", "") for line in backup.load_backup_registry(db)}
    since = receipt.restored_at if receipt is not None else None
    for file in backup.find_backups(db):
        head = read_backup_head(file)
        if head is None or (mark and head[0] != mark):
            continue
        if since is not None and made.get(file, "") <= since:
            continue
        yield Anchor(head[1], f"the backup {file.name}")


def read_backup_head(file: Path) -> tuple[str, ChainHead] | None:
    """Return the mark and the head of a backup, None when it has none or cannot be read."""
    try:
        with connect_plainly(file) as conn:
            return read_chain_head(conn)
    except (errors.FileError, driver.DatabaseError):
        return None
