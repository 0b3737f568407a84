"""The transaction log: the journal as JSONL, one row a line, and its replay into an empty store.

A replay verifies the chain of hashes as it goes and leaves a store with the same facts, scopes, gauges and journal,
hash for hash. `docs/formats.md` has the fields.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from hermes_memory_store import errors, fulltext, journal, uids
from hermes_memory_store.clock import iso
from hermes_memory_store.copies import Progress
from hermes_memory_store.model import Actor, FactType, Millis, Notation, OrphanPolicy, SessionStatus
from hermes_memory_store.records import Mutation
from hermes_memory_store.sessions import HEARTBEAT_MS, LEASE_MS

if TYPE_CHECKING:
    from hermes_memory_store.store import Store

Words = dict[str, Any]
"""What a row says changed: columns in portable words."""

BATCH = 5_000
"""Rows that are read from a journal at once."""

PROGRESS_ROWS = 1_000

CREATED_WITH = ("tier", "pinned", "created_at", "updated_at", "superseded_by", "cooled_by")

FACT_WORDS = frozenset({"scope", "content", "tier", "pinned", "superseded_by", "cooled_by", "created_at", "updated_at"})

SCOPE_WORDS = frozenset({"label", "status", "opened_at", "closed_at", "closed_by"})

UNFIT = (
    *(KeyError, ValueError, TypeError, AttributeError, OverflowError, RecursionError),
    *(sqlite3.IntegrityError, sqlite3.ProgrammingError, sqlite3.DataError),
)
"""What a row that fits the chain but makes no sense ends in."""

ENDED = frozenset({SessionStatus.CLOSED, SessionStatus.ORPHANED})

ROWS = """
    SELECT j.seq, j.at, t.name, a.kind, a.name, j.op, j.entity, j.uid, j.change, j.undoes, j.before, j.after, j.salt,
      j.digest, j.hash
    FROM journal j JOIN themes t ON t.id = j.theme_id JOIN actors a ON a.id = j.actor_id
    WHERE j.seq > ? AND j.at <= ?
    ORDER BY j.seq LIMIT ?
"""

BEGIN_SESSION = """
    INSERT INTO sessions (uid, theme_id, name, client, status, started_at, heartbeat_at, heartbeat_ms, lease_ms,
      on_orphan)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET
      client = excluded.client, status = excluded.status, heartbeat_at = excluded.heartbeat_at, ended_at = NULL
"""

FOREVER = (1 << 63) - 1


class Record(NamedTuple):
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

    def link(self, before: bytes) -> bytes:
        """What the hash must be after the one before it."""
        facts = journal.header(
            self.seq, self.at, self.theme, self.actor, self.op, self.entity, self.uid, self.change, self.undoes
        )
        return journal.chained(before, facts, self.digest or journal.digest(self.salt, self.before, self.after))


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """What a replay did."""

    applied: int
    """Rows of the journal that were applied."""
    head: str
    """Hexadecimal hash of the last one."""


def records(store: Store, *, since: int = 0, until: int = FOREVER) -> Iterator[Record]:
    """The journal after row `since`, up to the moment `until`, in portable words, oldest first."""
    while True:
        rows = store.db.rows(ROWS, (since, until, BATCH))
        for seq, at, theme, kind, name, *rest in rows:
            yield Record(seq, at, theme, Actor(kind, name), *rest)
        if len(rows) < BATCH:
            return
        since = rows[-1][0]


def lines(store: Store, *, since: int = 0) -> Iterator[str]:
    """The transaction log after row `since`, one JSON text a row, without line ends."""
    return map(to_line, records(store, since=since))


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
        for record in rows:
            replayer.apply(record)
            if progress is not None and record.seq % PROGRESS_ROWS == 0:
                progress(record.seq, total)
    if progress is not None:
        progress(replayer.seq, total)
    return ReplayReport(replayer.seq, replayer.hash.hex())


class Replayer:
    """Applies one record after the other inside a running transaction."""

    def __init__(self, store: Store, conn: sqlite3.Connection) -> None:
        self.seq = 0
        self.hash = journal.FIRST_HASH
        self._conn = conn
        self._names = store.names
        self._mutation = Mutation(conn, store.names, store.journal, Actor("replay"))

    def apply(self, record: Record) -> None:
        """Check the record's place in the chain, then do what it says."""
        if record.seq != self.seq + 1:
            raise errors.JournalBroken(
                f"row {self.seq + 1} of the log is missing: it goes on with {record.seq}", record.seq
            )
        if record.link(self.hash) != record.hash:
            raise errors.JournalBroken(
                f"row {record.seq} of the log was altered: its hash does not fit what it says", record.seq
            )
        try:
            self._apply(record)
        except UNFIT as error:
            raise errors.ImportFileError(
                f"row {record.seq} of the log cannot be applied: {error}", record.seq
            ) from error
        self.seq, self.hash = record.seq, record.hash

    def _apply(self, record: Record) -> None:
        theme_id = self._names.theme_for_writing(self._conn, record.theme, record.at)
        self._mutation.now = Millis(record.at)
        self._mutation.actor = record.actor
        before = None if record.before is None else json.loads(record.before)
        after = None if record.after is None else json.loads(record.after)
        if record.op == "purge":
            self._purge(record, theme_id)
        elif record.entity == "fact":
            self._fact(record, theme_id, before, after)
        elif record.entity == "scope" and after is not None:
            self._scope(record, theme_id, before, after)
        elif record.entity == "session" and after is not None:
            self._session(record, theme_id, after)
        self._mutation.entries.clear()
        actor_id = self._names.actor(self._conn, record.actor)
        place = (record.seq, record.at, theme_id, actor_id, record.op, record.entity, record.uid, record.change)
        told = (record.undoes, record.before, record.after, record.salt, record.digest, record.hash)
        self._conn.execute(journal.APPEND, place + told)

    def _fact(self, record: Record, theme_id: int, before: Words | None, after: Words | None) -> None:
        if after is None:
            if record.op == "create":
                # Purged since: it only keeps its number, so that the facts after it keep theirs.
                self._conn.execute("UPDATE themes SET last_fact = last_fact + 1 WHERE id = ?", (theme_id,))
            return
        if before is None:
            scope = self._mutation.scope_for_writing(theme_id, after["scope"])
            said = Notation(FactType(after["type"]), after["target"], after["content"])
            given = {name: after[name] for name in CREATED_WITH if name in after}
            if "superseded_by" in given:
                given["superseded_by"] = uids.to_bytes(given["superseded_by"])
            if "by" in after:
                given["by"] = actor_of(after["by"])
            self._mutation.insert_fact(theme_id, scope, said, op=record.op, uid=record.uid, **given)
            return
        row = self._mutation.fact_row(record.uid)
        if row is None:
            raise ValueError(f"there is no fact {uids.to_text(record.uid)} yet")
        columns = self._mutation.columns_of(theme_id, allowed(after, FACT_WORDS))
        self._mutation.update_fact(row, record.op, keep_time=True, **columns)

    def _scope(self, record: Record, theme_id: int, before: Words | None, after: Words) -> None:
        words = allowed(after, SCOPE_WORDS)
        if before is None:
            self._mutation.insert_scope(
                theme_id, words.pop("label"), uid=record.uid, status=words.pop("status"), at=words.pop("opened_at")
            )
        if words:
            key = self._conn.execute("SELECT id FROM scopes WHERE uid = ?", (record.uid,)).fetchone()
            if key is None:
                raise ValueError(f"there is no scope {uids.to_text(record.uid)} yet")
            self._mutation.update_scope(key[0], record.op, **words)

    def _session(self, record: Record, theme_id: int, after: Words) -> None:
        if "name" in after:
            started_at = after.get("started_at", record.at)
            begun = (record.uid, theme_id, after["name"], after.get("client"), after["status"], started_at, record.at)
            policy = OrphanPolicy.CHECKPOINT_AND_CLOSE.value
            self._conn.execute(BEGIN_SESSION, (*begun, HEARTBEAT_MS, LEASE_MS, policy))
        ended = record.at if SessionStatus(after["status"]) in ENDED else None
        self._conn.execute(
            "UPDATE sessions SET status = ?, turn = max(turn, ?), ended_at = ? WHERE uid = ?",
            (after["status"], after.get("turn", 0), ended, record.uid),
        )

    def _purge(self, record: Record, theme_id: int) -> None:
        row = self._mutation.fact_row(record.uid)
        if row is not None:
            fulltext.unindex(self._conn, row.id, row.target, row.content)
            self._conn.execute("DELETE FROM facts WHERE id = ?", (row.id,))
            journal.redact(self._conn, record.uid)
        self._conn.execute("UPDATE facts SET superseded_by = NULL WHERE superseded_by = ?", (record.uid,))
        actor_id = self._names.actor(self._conn, record.actor)
        self._conn.execute(
            "INSERT OR REPLACE INTO tombstones VALUES (?, ?, ?, ?)", (record.uid, theme_id, record.at, actor_id)
        )


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


def allowed(words: Words, names: frozenset[str]) -> Words:
    """A copy of the words, all of which must be columns we know: they become part of SQL."""
    if unknown := words.keys() - names:
        raise ValueError(f"unknown words {sorted(unknown)}")
    return dict(words)
