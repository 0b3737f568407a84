"""The transaction log: the journal as JSONL, one row a line, and its replay into an empty store.

A replay verifies the chain of hashes as it goes and leaves a store with the same facts, scopes, gauges and journal,
hash for hash. `docs/formats.md` has the fields.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from hermes_memory_store import errors, journal, uids
from hermes_memory_store.clock import iso
from hermes_memory_store.copies import Progress
from hermes_memory_store.journal_records import Record, load_records
from hermes_memory_store.model import Actor, Millis
from hermes_memory_store.replaying import Replayer
from hermes_memory_store.unindexed import rebuilding

if TYPE_CHECKING:
    from hermes_memory_store.store import Store

PROGRESS_ROWS = 1_000


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """What a replay did."""

    applied: int
    """Rows of the journal that were applied."""
    head: str
    """Hexadecimal hash of the last one."""


def lines(store: Store, *, since: int = 0) -> Iterator[str]:
    """The transaction log after row `since`, one JSON text a row, without line ends."""
    return map(to_line, load_records(store.db, since=since))


def replay(said: Iterable[str], store: Store, *, progress: Progress | None = None, total: int = 0) -> ReplayReport:
    """Apply a whole transaction log to an empty store, all of it or nothing.

    :param said: the lines, from row 1 on; blank ones do not count
    :param progress: called with the rows done and `total`
    :raises ArgumentError: when the store is not empty
    :raises ImportFileError: when a line is not a row, with its number
    :raises JournalBroken: when a row was altered, is missing or is out of order
    """
    return apply(store, rows_of(said), progress=progress, total=total)


def apply(store: Store, rows: Iterable[Record], *, progress: Progress | None = None, total: int = 0) -> ReplayReport:
    """Apply records to an empty store in one transaction, verifying each link of the chain."""
    with store.db.writing() as conn:
        if conn.execute("SELECT EXISTS (SELECT 1 FROM journal) OR EXISTS (SELECT 1 FROM themes)").fetchone()[0]:
            raise errors.ArgumentError(f"{store.path} is not empty; a log is replayed into a new store", store.path)
        replayer = Replayer(store, conn)
        with rebuilding(conn):
            for record in rows:
                replayer.apply(record)
                if progress is not None and record.seq % PROGRESS_ROWS == 0:
                    progress(record.seq, total)
            replayer.finish()
    if progress is not None:
        progress(replayer.seq, total)
    return ReplayReport(replayer.seq, replayer.hash.hex())


def rows_of(said: Iterable[str]) -> Iterator[Record]:
    """The records that lines say."""
    for number, line in enumerate(said, 1):
        if line.strip():
            yield from_line(line, number)


def to_line(record: Record) -> str:
    """A record as one JSON text."""
    words = {
        "seq": record.seq,
        "at": iso(record.at),
        "theme": record.theme,
        "actor": str(record.actor),
        "op": record.op,
        "entity": record.entity,
        "uid": uids.to_text(record.uid),
        "change": record.change,
        "undoes": record.undoes,
        "before": None if record.before is None else json.loads(record.before),
        "after": None if record.after is None else json.loads(record.after),
        "salt": record.salt.hex(),
        "digest": None if record.digest is None else record.digest.hex(),
        "hash": record.hash.hex(),
    }
    return json.dumps(words, ensure_ascii=False, separators=(",", ":"))


def from_line(line: str, number: int) -> Record:
    """The record one line says. :raises ImportFileError: when it is none, naming the line"""
    try:
        words = json.loads(line)
        return Record(
            seq=int(words["seq"]),
            at=millis(words["at"]),
            theme=str(words["theme"]),
            actor=actor_of(words["actor"]),
            op=str(words["op"]),
            entity=str(words["entity"]),
            uid=uids.to_bytes(words["uid"]),
            change=int(words["change"]),
            undoes=None if words["undoes"] is None else int(words["undoes"]),
            before=journal.dumped(words["before"]),
            after=journal.dumped(words["after"]),
            salt=bytes.fromhex(words["salt"]),
            digest=None if words["digest"] is None else bytes.fromhex(words["digest"]),
            hash=bytes.fromhex(words["hash"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise errors.ImportFileError(
            f"line {number} is not a row of a transaction log: {line[:60]!r}", number
        ) from error


def actor_of(said: str) -> Actor:
    """The actor that `str(actor)` names."""
    kind, _, name = said.partition(":")
    return Actor(kind, name)


def millis(moment: str) -> Millis:
    """The milliseconds of a time as `clock.iso` writes it."""
    return Millis(round(datetime.fromisoformat(moment).timestamp() * 1000))
