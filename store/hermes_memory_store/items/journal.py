"""The journal: the append-only record of every mutation, written in the transaction that makes it.

Each row carries the hash of the row before it. The hash covers a digest of the change, not its text, and the
digest is keyed by a random salt: a purge can remove the text and the salt and leave a chain that still verifies
and a digest that reveals nothing.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from hermes_memory_store import errors, uids
from hermes_memory_store.clock import Clock
from hermes_memory_store.database.db import Db
from hermes_memory_store.items.journal_receipt import ChainHead, is_head_held, load_restore_time, read_chain_head
from hermes_memory_store.items.name_keys import Names
from hermes_memory_store.items.origin_rows import OriginRows
from hermes_memory_store.model import Actor, Change, Check, Millis, Origin, Way
from hermes_memory_store.safe_text import pluralise

FIRST_HASH = b"\x00" * 20
"""What the first row links to."""

COLUMNS = "seq, at, theme_id, actor_id, op, entity, uid, change, undoes, before, after, salt, digest, origin_id, hash"

JOURNAL_HEAD = "SELECT seq, at, hash FROM journal ORDER BY seq DESC LIMIT 1"

_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))

BATCH = 5_000
"""Rows that are read from a journal at once."""

RECORDS = """
    SELECT j.seq, j.at, t.name, a.kind, a.name, j.op, j.entity, j.uid, j.change, j.undoes, j.before, j.after, j.salt,
      j.digest, j.hash, j.origin_id, o.digest
    FROM journal j JOIN themes t ON t.id = j.theme_id JOIN actors a ON a.id = j.actor_id
    LEFT JOIN origins o ON o.id = j.origin_id
    WHERE j.seq > ? AND j.at <= ?
    ORDER BY j.seq LIMIT ?
"""

OF_HISTORY = f"origin_id IN (SELECT id FROM origins WHERE way = '{Way.HISTORY}')"
"""What a backfill brought in; `Way.HISTORY` among entities asks for it."""

FOREVER = (1 << 63) - 1

TEXTS_OF = """
    SELECT seq, salt, before, after FROM journal
    WHERE digest IS NULL AND uid IN (
      SELECT ?1 UNION
      SELECT other.uid FROM journal one
        JOIN journal other ON other.seq BETWEEN one.change AND one.seq + 100 AND other.change = one.change
      WHERE one.uid = ?1 AND other.entity = 'file')
"""

APPEND = f"INSERT INTO journal ({COLUMNS}) VALUES ({', '.join('?' * 15)})"


@dataclass(slots=True, eq=False, repr=False)
class JournalEntry:
    """A mutation about to be journaled. `before` and `after` hold the columns that change, in portable form."""

    op: str
    entity: str
    uid: bytes
    theme_id: int
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    actor: Actor | None = None
    """Who did it, when that is not the actor of the whole change (relief inside a write)."""


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
        """Return what the hash must be, 20 bytes, after the one before it.

        Rows without an origin have the header they had before there were origins.
        """
        from hashlib import blake2b  # here: it loads OpenSSL, 2 ms that nobody who only reads should wait for

        source = "" if self.origin_digest is None else f"|{self.origin_digest.hex()}"
        header = (
            f"{self.seq}|{self.at}|{self.theme}|{self.actor}|{self.op}|{self.entity}|{self.uid.hex()}|{self.change}"
            f"|{self.undoes or ''}{source}"
        )
        payload = self.digest or journal_payload_digest(self.salt, self.before, self.after)
        return blake2b(before + header.encode() + payload, digest_size=20).digest()


class Journal:
    """Append, read and verify the journal."""

    def __init__(self, db: Db, names: Names, clock: Clock) -> None:
        self._db = db
        self._names = names
        self._clock = clock
        self._is_joining = False
        self._joined: int | None = None
        """Number of the change that what is recorded now belongs to, once there is a first row of it."""
        self._head: tuple[int, Millis, bytes] = (0, Millis(0), FIRST_HASH)
        self._head_read_in: int | None = None
        """The write transaction in which the head was read."""
        db.on_rollback(self._forget_head)

    @contextmanager
    def join_changes(self) -> Iterator[sqlite3.Connection]:
        """Record everything within as one change, which one undo takes back: all or none.

        >>> with store.journal.join_changes():
        ...     port = store.facts.write("ops", "V[port]: 5432").fact
        ...     pinned = store.facts.pin(port.uid)
        >>> len({row.change for row in store.journal.changes()})
        1

        Undos within it stay changes of their own: each says what it undoes.
        """
        with self._db.write_transaction() as conn:
            if self._is_joining:
                yield conn
                return
            self._is_joining, self._joined = True, None
            try:
                yield conn
            finally:
                self._is_joining = False

    def now(self, conn: sqlite3.Connection) -> Millis:
        """Return the current time, never before the newest row: a clock set back must not reorder events."""
        return max(self._clock(), self._read_head(conn)[1])

    def _read_head(self, conn: sqlite3.Connection) -> tuple[int, Millis, bytes]:
        """Return number, time and link of the newest row; read once in a write transaction, in which others add none."""
        transaction = self._db.transaction
        if not transaction or transaction != self._head_read_in:
            self._head = conn.execute(JOURNAL_HEAD).fetchone() or (0, Millis(0), FIRST_HASH)
            self._head_read_in = transaction
        return self._head

    def _forget_head(self) -> None:
        self._head_read_in = None

    def current_time(self) -> Millis:
        """Return the current time by the clock, for ages."""
        return self._clock()

    def append(
        self,
        conn: sqlite3.Connection,
        entries: Sequence[JournalEntry],
        *,
        actor: Actor,
        at: int,
        undoes: int | None = None,
        origin: Origin | None = None,
    ) -> tuple[int, ...]:
        """Record one change (all entries together) in the running transaction; return its sequence numbers.

        :param origin: where it comes from; the one it is attributed to unless given
        """
        seq, _, link = self._read_head(conn)
        first = change = seq + 1
        if self._is_joining and undoes is None:
            if self._joined is not None and self._joined < first:  # else a savepoint took its rows back
                change = self._joined
            self._joined = change
        elif undoes is not None:
            self._joined = None  # rows of one change stand one after the other
        rows, names = [], self._names
        origin = origin or names.origins.current()
        noise = os.urandom(8 * len(entries))
        for n, entry in enumerate(entries):
            seq += 1
            author = entry.actor or actor
            before, after, salt = to_journal_json(entry.before), to_journal_json(entry.after), noise[8 * n : 8 * n + 8]
            theme = names.theme_name(entry.theme_id)
            origin_id = names.origins.key(conn, entry.theme_id, origin)
            source = None if origin_id is None else names.origins.digest(origin_id)
            content = (entry.op, entry.entity, entry.uid, change, undoes, before, after, salt, None)
            link = JournalRecord(seq, at, theme, author, *content, b"", origin_id, source).link(link)
            actor_id = names.actor(conn, author)
            rows.append((seq, at, entry.theme_id, actor_id, *content, origin_id, link))
        if len(rows) == 1:
            conn.execute(APPEND, rows[0])
        else:
            conn.executemany(APPEND, rows)
        self._head = (seq, Millis(at), link)
        names.origins.end_write()
        return tuple(range(first, seq + 1))

    def last_seq(self) -> int:
        """Return the sequence number of the newest row, 0 when there is none."""
        return int(self._db.value("SELECT max(seq) FROM journal") or 0)

    def changes(
        self,
        *,
        since: int = 0,
        until: int | None = None,
        uid: str | None = None,
        theme: str | None = None,
        actor: str | None = None,
        ops: Collection[str] = (),
        entities: Collection[str] = (),
        limit: int | None = None,
        newest_first: bool = False,
    ) -> list[Change]:
        """Return the rows after `since`, filtered by entity, theme or actor, oldest first by default.

        :param until: only rows before this one, for paging backwards
        :param ops: only these operations (`create`, `edit`, `archive` …)
        :param entities: only changes of these (`fact`, `scope`, `session`, `turn` …)
        :raises UnknownTheme: UnknownSession; a name that nobody has
        """
        about = () if uid is None else (uid,)
        where, args = self._where(since, until, about, theme, actor, ops, entities)
        order = "DESC" if newest_first else "ASC"
        sql = f"SELECT {COLUMNS} FROM journal WHERE {where} ORDER BY seq {order} LIMIT ?"
        return [self.change(row) for row in self._db.rows(sql, (*args, -1 if limit is None else limit))]

    def numbers(
        self,
        *,
        until: int,
        about: Collection[str] = (),
        theme: str | None = None,
        actor: str | None = None,
        ops: Collection[str] = (),
        entities: Collection[str] = (),
        limit: int,
    ) -> list[tuple[int, int]]:
        """Return the numbers of rows before `until` and of their changes, newest first; filtered like `changes`.

        :param about: only rows about one of these uids
        :raises UnknownTheme: UnknownSession; a name that nobody has
        """
        where, args = self._where(0, until, about, theme, actor, ops, entities)
        return self._db.rows(f"SELECT seq, change FROM journal WHERE {where} ORDER BY seq DESC LIMIT ?", (*args, limit))

    def _where(
        self,
        since: int,
        until: int | None,
        about: Collection[str],
        theme: str | None,
        actor: str | None,
        ops: Collection[str],
        entities: Collection[str],
    ) -> tuple[str, list[Any]]:
        where, args = ["seq > ?"], [since]  # type: tuple[list[str], list[Any]]
        if until is not None:
            where.append("seq < ?")
            args.append(until)
        among: dict[str, Sequence[Any]] = {}
        if ops:
            among["op"] = tuple(ops)
        if entities:
            among["entity"] = tuple(entities)
        if about:
            among["uid"] = [uids.parse_uid(uid) for uid in about]
        if theme is not None:
            among["theme_id"] = [self._names.theme(theme)]
        if actor is not None:
            among["actor_id"] = self._names.actors_called(actor, theme)
        for column, values in among.items():
            of_history = f" OR {OF_HISTORY}" if column == "entity" and Way.HISTORY in values else ""
            where.append(f"({column} IN ({', '.join('?' * len(values))}){of_history})")
            args += values
        return " AND ".join(where), args

    def get(self, seq: int) -> Change:
        """Return one row. :raises UnknownChange: when there is none of that number"""
        row = self._db.row(f"SELECT {COLUMNS} FROM journal WHERE seq = ?", (seq,))
        if row is None:
            raise errors.UnknownChange(str(seq), hint=f"the newest is {self.last_seq()}")
        return self.change(row)

    def change(self, row: tuple[Any, ...]) -> Change:
        """Convert a row of `COLUMNS` to a change."""
        seq, at, theme_id, actor_id, op, entity, uid, change, undoes, before, after, _, _, origin_id, link = row
        return Change(
            seq=seq,
            at=Millis(at),
            actor=self._names.author(actor_id, theme_id),
            op=op,
            entity=entity,
            uid=uids.format_uid(uid),
            theme=self._names.theme_name(theme_id),
            change=change,
            undoes=undoes,
            before=None if before is None else json.loads(before),
            after=None if after is None else json.loads(after),
            hash=link.hex(),
            origin=self._names.origins.by_key(origin_id),
        )

    def verify(self) -> Check:
        """Verify the whole chain. Not ok when a row was altered, inserted out of order, or removed."""
        breaks = self.find_breaks()
        first = next(breaks, None)
        altered = self._names.origins.find_altered() if first is None else []
        if altered:
            more = f", as do {len(altered) - 1} more" if len(altered) > 1 else ""
            return Check("journal", False, f"origin {altered[0]} was altered: it does not fit its digest{more}")
        if first is None:
            return Check("journal", True, f"{pluralise(self.last_seq(), 'change')}, each linked to the one before")
        more_breaks = sum(1 for _ in breaks)
        return Check("journal", False, first[1] + (f"; and {more_breaks} more such places" if more_breaks else ""))

    def find_breaks(self) -> Iterator[tuple[int, str]]:
        """Yield each place where the chain is broken: the row, and a sentence about it."""
        link, expected = FIRST_HASH, 1
        for row in self._raw():
            seq = row[0]
            if seq != expected:
                yield expected, f"row {expected} is missing: the record jumps to {seq}"
            elif self._link(link, row) != row[-1]:
                yield seq, f"row {seq} was altered: its hash does not fit what it says"
            link, expected = row[-1], seq + 1

    def head(self) -> ChainHead | None:
        """Return the head of the chain, by which somebody else may tell later that its end was cut off; None without changes."""
        with self._db.snapshot() as conn:
            store_and_head = read_chain_head(conn)
        return store_and_head[1] if store_and_head is not None else None

    def find_missing_heads(self, heads: Sequence[ChainHead]) -> list[ChainHead]:
        """Return those of the heads that the journal does not have: cut off, rewritten, or of before a backup was restored."""
        with self._db.snapshot() as conn:
            return [head for head in heads if not is_head_held(conn, head)]

    @property
    def restored_at(self) -> str | None:
        """Return when a backup was restored here, as ISO 8601; what was known of the journal before does not count."""
        return load_restore_time(self._db.path)

    def _raw(self) -> Iterator[tuple[Any, ...]]:
        start = 0
        while rows := self._db.rows(f"SELECT {COLUMNS} FROM journal WHERE seq > ? ORDER BY seq LIMIT 5000", (start,)):
            yield from rows
            start = rows[-1][0]

    def _link(self, link: bytes, row: tuple[Any, ...]) -> bytes:
        seq, at, theme_id, actor_id, *content, origin_id, recorded = row
        actor, theme = self._names.actor_by_key(actor_id), self._names.theme_name(theme_id)
        source = None if origin_id is None else self._names.origins.digest(origin_id)
        return JournalRecord._make((seq, at, theme, actor, *content, recorded, origin_id, source, ())).link(link)


def is_change_undone(conn: sqlite3.Connection, change: int, undoing: int | None = None) -> bool:
    """Check whether a change has been undone, by an undo that is not undone in turn.

    :param undoing: a change that is being undone just now, and counts as undone
    """
    if change == undoing:
        return True
    undos = conn.execute("SELECT DISTINCT change FROM journal WHERE undoes = ?", (change,)).fetchall()
    return any(not is_change_undone(conn, undo, undoing) for (undo,) in undos)


def redact_journal(conn: sqlite3.Connection, uid: bytes) -> None:
    """Remove the text from every row about one entity, keeping the digests that keep the chain whole.

    What its changes did to files goes, too: a fact that was moved out of one stands there in its words.
    """
    rows = conn.execute(TEXTS_OF, (uid,)).fetchall()
    for seq, salt, before, after in rows:
        conn.execute(
            "UPDATE journal SET before = NULL, after = NULL, salt = x'', digest = ? WHERE seq = ?",
            (journal_payload_digest(salt, before, after), seq),
        )


def to_journal_json(columns: dict[str, Any] | None) -> str | None:
    """Return columns as compact JSON, the same text for the same content."""
    return None if columns is None else _encoder.encode(columns)


def journal_payload_digest(salt: bytes, before: str | None, after: str | None) -> bytes:
    """Return the salted digest of a change, 16 bytes."""
    from hashlib import blake2b

    text = f"{before or ''}\x1f{after or ''}".encode()
    return blake2b(text, digest_size=16, key=salt).digest()


def load_records(db: Db, *, since: int = 0, until: int = FOREVER) -> Iterator[JournalRecord]:
    """Load the journal after row `since`, up to the moment `until`, in portable words, oldest first."""
    origins, seen = OriginRows(db), set[int]()
    while True:
        rows = db.rows(RECORDS, (since, until, BATCH))
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
