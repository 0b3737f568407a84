"""The receipt: the head of the journal's chain, written down beside the store, so that a cut-off end is seen.

It holds hashes, never a text, and nothing waits for it. It is written a second time outside of the store's folder, by which an
older copy of the whole folder is seen that was put back with its receipt.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

from hermes_memory_store.clock import format_iso_time
from hermes_memory_store.database import driver
from hermes_memory_store.database.db import Db
from hermes_memory_store.errors import StoreError
from hermes_memory_store.system.filesystem import atomic_write

RECEIPT_S = 60.0
"""Seconds between two receipts of one process."""

MOST_DISPUTED = 8
"""Heads that the journal does not have any more and that a receipt goes on naming, until the doctor has been asked."""

HEAD = "SELECT seq, hash, at FROM journal ORDER BY seq DESC LIMIT 1"

STORE_MARK = "SELECT hash FROM journal WHERE seq = 1"
"""The first link of the chain, made with a random salt: no other store has it, and copies of this one do."""


class ChainHead(NamedTuple):
    """A row that was the newest one of the journal once."""

    seq: int
    hash: str
    at: str
    """When the row was written, in ISO format."""


class Receipt(NamedTuple):
    store: str
    """The first link of the chain it belongs to."""
    heads: tuple[ChainHead, ...]
    """Newest first."""
    restored_at: str | None = None
    """When a backup was restored here: what was known of the chain before does not count since."""


def receipt_path(db: Path) -> Path:
    return db.with_name(db.name + ".receipt")


def outer_receipt_path(db: Path) -> Path:
    """Return where the receipt is written outside of the store's folder. :raises RuntimeError: the user has no home"""
    from hashlib import sha256  # here, not above: it loads OpenSSL, which who only reads facts need not wait for

    state = os.environ.get("XDG_STATE_HOME", "").strip() or Path.home() / ".local" / "state"
    return Path(state, "hermes-memory", sha256(os.fsencode(db.resolve())).hexdigest()[:32] + ".receipt")


def load_receipt(db: Path) -> Receipt | None:
    """Load the receipt beside a store, None when there is none. :raises ValueError: it cannot be read"""
    return load_receipt_file(receipt_path(db))


def load_outer_receipt(db: Path, store: str) -> Receipt | None:
    """Load the receipt outside of a store's folder; None where there is none of this store that can be read."""
    try:
        receipt = load_receipt_file(outer_receipt_path(db))
    except (ValueError, RuntimeError):
        return None
    return receipt if receipt is not None and receipt.store == store else None


def load_receipt_file(path: Path) -> Receipt | None:
    try:
        words = json.loads(path.read_bytes())
        heads = tuple(ChainHead(int(head["seq"]), str(head["hash"]), str(head["at"])) for head in words["heads"])
        return Receipt(str(words["store"]), heads, words.get("restored_at"))
    except FileNotFoundError:
        return None
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError, OSError) as error:
        raise ValueError(f"{path.name} cannot be read ({error})") from error


def read_chain_head(conn: driver.Connection) -> tuple[str, ChainHead] | None:
    """Return the mark of a store and the head of its chain; None for one without changes."""
    first, newest = conn.execute(STORE_MARK).fetchone(), conn.execute(HEAD).fetchone()
    if first is None or newest is None:
        return None
    seq, link, at = newest
    return first[0].hex(), ChainHead(seq, link.hex(), format_iso_time(at))


def write_receipt(db: Path, conn: driver.Connection, *, restored_at: str | None = None) -> None:
    """Write down the head of a store's chain, twice; a receipt of a newer head stays, since it may tell what was lost.

    :param restored_at: when a backup was restored: the receipts begin anew
    :raises OSError: a folder cannot be written
    """
    write_receipt_file(receipt_path(db), conn, restored_at)
    import tempfile  # here: who only reads needs none

    if db.parent.name.startswith("hermes-memory-") and db.parent.parent == Path(tempfile.gettempdir()):
        return  # the store of a dry run
    outer = outer_receipt_path(db)
    if not outer.exists():
        outer.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        for other in outer.parent.glob("*.receipt"):
            if not Path(json.loads(other.read_bytes())["path"]).exists():
                other.unlink()  # that store is gone
    write_receipt_file(outer, conn, restored_at, path=str(db.resolve()))


def write_receipt_file(file_path: Path, conn: driver.Connection, restored_at: str | None, **more: str) -> None:
    store_and_head = read_chain_head(conn)
    if store_and_head is None:
        return
    store, head = store_and_head
    try:
        old = None if restored_at else load_receipt_file(file_path)
    except ValueError:
        old = None  # what cannot be read proves nothing, and is replaced by what does
    if old is not None and old.store != store:
        old = None
    if old is not None and old.heads and (old.heads[0].seq >= head.seq):
        return
    former = old.heads if old else ()
    disputed = [former_head for former_head in former if not is_head_held(conn, former_head)]
    heads = (
        thin_heads([head, *(former_head for former_head in former if former_head not in disputed)])
        + disputed[:MOST_DISPUTED]
    )
    since = restored_at or (old.restored_at if old else None)
    words = {"store": store, "heads": [former_head._asdict() for former_head in heads], "restored_at": since, **more}
    # Not durable: it is written after a commit that is, and a power cut may take the newest receipt.
    with atomic_write(file_path, encoding="utf-8", durable=False) as file:
        json.dump(words, file)


def is_head_held(conn: driver.Connection, head: ChainHead) -> bool:
    row = conn.execute("SELECT hash FROM journal WHERE seq = ?", (head.seq,)).fetchone()
    return row is not None and row[0].hex() == head.hash


def find_lost_end(db: Path, conn: driver.Connection) -> str | None:
    """Say that the journal lacks rows that a receipt knows, in either place; None where none is known to be lost."""
    store_and_head = read_chain_head(conn)
    if store_and_head is None:
        return None
    receipts = [load_outer_receipt(db, store_and_head[0])]
    with suppress(ValueError):
        receipts.append(load_receipt(db))
    for receipt in receipts:
        if receipt is not None and receipt.store == store_and_head[0]:
            for head in receipt.heads:
                if not is_head_held(conn, head):
                    return f"changes up to row {head.seq} of {head.at} were made here and are gone"
    return None


def load_restore_time(db: Path) -> str | None:
    """Return when a backup was restored in the place of a store, by its receipt; None when none was, or nothing tells."""
    try:
        receipt = load_receipt(db)
    except ValueError:
        return None
    return receipt.restored_at if receipt is not None else None


def thin_heads(heads: Sequence[ChainHead]) -> list[ChainHead]:
    """Return the newest head and older ones at growing distances: some twenty for a million rows."""
    oldest_at = {(heads[0].seq - head.seq).bit_length(): head for head in heads}
    return list(oldest_at.values())


class ReceiptWriter:
    """Writes the receipts of one open store: apart from its writes, and when it is closed."""

    def __init__(self, db: Db, *, every_s: float = RECEIPT_S) -> None:
        self._db = db
        self._every_s = every_s
        self._due: float | None = None
        self._thread: threading.Thread | None = None
        self.trouble: Exception | None = None
        """Why the newest receipt could not be written; no write fails for it."""
        db.before_commit(self.note_commit)

    def note_commit(self, conn: driver.Connection) -> None:
        """Note that a transaction is about to be committed; once a minute, have a receipt written apart."""
        now = time.monotonic()
        if self._due is None:
            self._due = now + self._every_s
        elif now >= self._due and (self._thread is None or not self._thread.is_alive()):
            self._due = now + self._every_s
            self._thread = threading.Thread(target=self._write_apart, name="receipt")
            self._thread.start()

    def close(self) -> None:
        """Write the last receipt, if anything was committed."""
        if self._thread is not None:
            self._thread.join()
        if self._due is not None:
            self._write(self._db)

    def _write_apart(self) -> None:
        with closing(Db(self._db.path, read_only=True)) as own:
            self._write(own)

    def _write(self, db: Db) -> None:
        try:
            with db.lock:
                write_receipt(db.path, db.conn)
        except (OSError, RuntimeError, driver.Error, StoreError, ValueError, OverflowError) as error:
            # A folder that cannot be written, a user without a home, a store that cannot be read now, or a row whose time is
            # none: the older receipt stays, and says less.
            self.trouble = error
