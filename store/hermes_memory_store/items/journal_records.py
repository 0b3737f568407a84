"""Rows of the journal in portable words, as the transaction log, a replay and a rewind read them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from hermes_memory_store.database.db import Db
from hermes_memory_store.items import journal
from hermes_memory_store.items.origin_rows import OriginRows
from hermes_memory_store.model import Actor

BATCH = 5_000
"""Rows that are read from a journal at once."""

ROWS = """
    SELECT j.seq, j.at, t.name, a.kind, a.name, j.op, j.entity, j.uid, j.change, j.undoes, j.before, j.after, j.salt,
      j.digest, j.hash, j.origin_id, o.digest
    FROM journal j JOIN themes t ON t.id = j.theme_id JOIN actors a ON a.id = j.actor_id
    LEFT JOIN origins o ON o.id = j.origin_id
    WHERE j.seq > ? AND j.at <= ?
    ORDER BY j.seq LIMIT ?
"""

FOREVER = (1 << 63) - 1


class JournalRecord(NamedTuple):
    """A row of the journal in portable words, with what its hash is made from."""

    seq: int
    at: int
    theme: str
    actor: Actor
    op: str
    entity: str
    uid: bytes
    change: int
    undoes: int | None
    before: str | None
    """JSON text, exactly as it was digested."""
    after: str | None
    salt: bytes
    digest: bytes | None
    """Stands for the text after a purge took it out."""
    hash: bytes
    origin_id: int | None = None
    origin_digest: bytes | None = None
    origins: tuple[dict[str, Any], ...] = ()
    """Origins that no record before told of, as `OriginRows.record` returns them."""

    def link(self, before: bytes) -> bytes:
        """Return what the hash must be after the one before it."""
        facts = journal.chain_header(
            self.seq,
            self.at,
            self.theme,
            self.actor,
            self.op,
            self.entity,
            self.uid,
            self.change,
            self.undoes,
            self.origin_digest,
        )
        return journal.next_chain_link(
            before, facts, self.digest or journal.journal_payload_digest(self.salt, self.before, self.after)
        )


def load_records(db: Db, *, since: int = 0, until: int = FOREVER) -> Iterator[JournalRecord]:
    """Load the journal after row `since`, up to the moment `until`, in portable words, oldest first."""
    origins, seen = OriginRows(db), set[int]()
    while True:
        rows = db.rows(ROWS, (since, until, BATCH))
        for seq, at, theme, kind, name, *rest in rows:
            record = JournalRecord(seq, at, theme, Actor(kind, name), *rest)
            new = record_origins(record) - seen
            seen |= new
            yield record._replace(origins=tuple(map(origins.record, sorted(new)))) if new else record
        if len(rows) < BATCH:
            return
        since = rows[-1][0]


def record_origins(record: JournalRecord) -> set[int]:
    """Return the keys of the origins that a record names: its own, and that of a fact that came from elsewhere."""
    keys = set() if record.origin_id is None else {record.origin_id}
    if record.entity == "fact" and record.before is None and record.after and '"origin":' in record.after:
        keys |= {key for key in [json.loads(record.after).get("origin")] if isinstance(key, int)}
    return keys
