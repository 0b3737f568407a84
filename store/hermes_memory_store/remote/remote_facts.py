"""Remote facts: facts of another memory that may answer a question, in a temporary in-memory store.

The same code searches them as a store's own, so that the place of a fact does not change its rank. What ranking
needs to know of all the facts left out is passed beside: how many there are, and which of these were written next
to each other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

from hermes_memory_store import errors, uids
from hermes_memory_store.clock import Clock
from hermes_memory_store.conversations.turn_rows import INSERT_TURN, PortableTurn, ensure_turn_session, validate_turn
from hermes_memory_store.database import driver
from hermes_memory_store.database.db import Db, translate_sqlite_errors
from hermes_memory_store.database.index_health import StoreConnection
from hermes_memory_store.database.schema import THEME_SHIFT
from hermes_memory_store.items import fulltext
from hermes_memory_store.items.batch_mutation import nocase_place
from hermes_memory_store.items.journal import JournalEntry
from hermes_memory_store.items.kinds import FACT, TURN, FactRow
from hermes_memory_store.items.mutation import count_notation_chars, fact_index_columns, insert_fact_rows
from hermes_memory_store.items.name_keys import UNSCOPED
from hermes_memory_store.items.tier_columns import superseded_columns
from hermes_memory_store.model import STANDING_TIERS, FactType, Notation, Tier, Uid
from hermes_memory_store.notation import token_estimate
from hermes_memory_store.store import Store
from hermes_memory_store.sync.wire_format import (
    parse_author,
    validate_row_content,
    validate_row_text,
    validate_row_time,
)
from hermes_memory_themes import Policies

MIN_UNRELATED_DISTANCE = 3
"""Facts at least so many places apart have nothing to do with each other."""


@dataclass(frozen=True, slots=True)
class RemoteFact:
    """A fact of another memory, in portable form (see `sync/wire_format.py`)."""

    uid: Uid
    content: str
    attrs: dict[str, Any]
    between: int
    """Facts that were written between the one before it in the list and this one; `FAR` or more need not be told apart."""


class InMemoryDb(Db):
    """A store's tables without a file."""

    def __init__(self) -> None:
        super().__init__(Path(":memory:"), lock_timeout_s=0.0)

    def _open(self) -> None:
        self.conn = driver.connect(":memory:", StoreConnection, check_same_thread=False, cached_statements=256)
        self.conn.deserialize(empty_store_image())

    def find_altered(self, keys: Sequence[int]) -> set[int]:
        """Return none: the journals of its facts are those of the machines that wrote them."""
        return set()

    def has_lost_name(self) -> bool:
        """Return False: it never had one."""
        return False


@cache
def empty_store_image() -> bytes:
    from hermes_memory_store.database.migrations import migrate_store

    conn = driver.connect(":memory:", driver.Connection)
    try:
        migrate_store(conn)
        return conn.serialize()
    finally:
        conn.close()


def build_remote_fact_store(
    theme: str, facts: Sequence[RemoteFact], *, total: int, scopes: Collection[str], policies: Policies, clock: Clock
) -> Store:
    """Build a store that holds these facts of one theme, ordered by uid; skip malformed ones.

    :param total: number of facts of the theme there, from which the weight of a word follows
    :param scopes: labels that exist there, whether one of these facts is in them or not
    """
    with fill_memory_store(theme, policies, clock) as (store, conn, theme_id):
        keys = {label: insert_remote_scope(conn, theme_id, label) for label in {UNSCOPED, *scopes}}
        rows: list[FactRow] = []
        for fact, number in zip(facts, remote_row_numbers([fact.between for fact in facts], total), strict=True):
            try:
                label = validate_row_text(fact.attrs["scope"] or UNSCOPED)
                if label not in keys:
                    keys[label] = insert_remote_scope(conn, theme_id, label)
                row = to_remote_fact_row(fact, (theme_id << THEME_SHIFT) + number, theme_id, keys[label])
                by = store.names.actor(conn, parse_author(str(fact.attrs["by"])))
            except (errors.StoreError, KeyError, ValueError, TypeError, AttributeError):
                continue
            rows.append(row._replace(actor_id=by))
        rows = keep_newest_standing(rows)
        insert_fact_rows(conn, rows)
        fulltext.index_items(conn, FACT, map(fact_index_columns, rows))
        for by in {row.actor_id for row in rows}:  # a filter asks who ever wrote here
            conn.execute(
                "INSERT INTO journal (at, theme_id, actor_id, op, entity, uid, change, salt, hash)"
                " VALUES (0, ?, ?, 'create', 'fact', x'', 0, x'', x'')",
                (theme_id, by),
            )
        conn.execute("UPDATE themes SET last_fact = max(last_fact, ?) WHERE id = ?", (total, theme_id))
    return store


@contextmanager
def fill_memory_store(theme: str, policies: Policies, clock: Clock) -> Iterator[tuple[Store, driver.Connection, int]]:
    """Yield a store in memory, its connection and the key of its one theme, in one transaction; later it is only read."""
    db = InMemoryDb()
    store = Store(db, clock, policies)
    with db.lock, translate_sqlite_errors(db.path):
        db.conn.execute("BEGIN")
        yield store, db.conn, store.names.recorded_theme(db.conn, theme, clock())
        db.conn.execute("COMMIT")
        db.conn.execute("PRAGMA query_only = ON")


def remote_row_numbers(betweens: Sequence[int], total: int) -> list[int]:
    """Return row numbers for items written in this order, with gaps for those left out.

    A word's share of the theme is estimated from the distances between the items that contain it.

    :param betweens: how many were left out before each; values from `MIN_UNRELATED_DISTANCE` on are equivalent
    :param total: how many there are
    """
    apart = max(MIN_UNRELATED_DISTANCE, total // max(1, len(betweens)))
    return list(accumulate(between + 1 if between < MIN_UNRELATED_DISTANCE - 1 else apart for between in betweens))


def insert_remote_scope(conn: driver.Connection, theme_id: int, label: str) -> int:
    sql = "INSERT INTO scopes (uid, theme_id, label, status, opened_at) VALUES (?, ?, ?, 'open', 0)"
    key = conn.execute(sql, (uids.new_uid(0), theme_id, label)).lastrowid
    assert key is not None
    return key


def to_remote_fact_row(fact: RemoteFact, key: int, theme_id: int, scope_id: int) -> FactRow:
    """Convert a remote fact to a row of its table. :raises StoreError: KeyError, ValueError, TypeError: malformed"""
    attrs = fact.attrs
    notation = Notation(FactType(attrs["type"]), validate_row_text(attrs["target"]), validate_row_content(fact.content))
    return FactRow(
        id=key,
        uid=uids.parse_uid(fact.uid),
        theme_id=theme_id,
        scope_id=scope_id,
        type=notation.type.value,
        target=notation.target,
        content=notation.content,
        tier=Tier(attrs["tier"]).value,
        chars=count_notation_chars(notation.target, notation.content),
        tokens=token_estimate.estimate_tokens(str(notation)),
        actor_id=0,
        created_at=validate_row_time(attrs["created_at"]),
        updated_at=validate_row_time(attrs["updated_at"]),
        **FACT.defaults
        | {"pinned": int(bool(attrs["pinned"]))}
        | FACT.to_columns({name: attrs.get(name) for name in FACT.links}),
    )


def keep_newest_standing(rows: Sequence[FactRow]) -> list[FactRow]:
    """Keep the newest of several standing facts in one place, as a store that receives them does."""
    standing = {nocase_place(row.scope_id, row.type, row.target): row.uid for row in rows if row.tier in STANDING_TIERS}
    return [
        row
        if row.tier not in STANDING_TIERS
        or (by := standing[nocase_place(row.scope_id, row.type, row.target)]) == row.uid
        else row._replace(**superseded_columns(by), pinned=0)
        for row in rows
    ]


@dataclass(frozen=True, slots=True)
class RemoteTurn:
    said: PortableTurn
    between: int
    """Turns that were captured between the one before it in the list and this one."""


def build_remote_turn_store(
    theme: str, turns: Sequence[RemoteTurn], *, total: int, policies: Policies, clock: Clock
) -> Store:
    """Build a store that holds these turns of one theme, in the order of capture; skip malformed ones.

    :param total: number of turns of the theme there, from which the weight of a word follows
    """
    with fill_memory_store(theme, policies, clock) as (store, conn, theme_id):
        store.turns.stands_for = total
        unjournaled: list[JournalEntry] = []
        for turn, number in zip(turns, remote_row_numbers([turn.between for turn in turns], total), strict=True):
            try:
                portable = validate_turn(turn.said)
                at = validate_row_time(portable.at)
            except (errors.StoreError, ValueError, TypeError, AttributeError):
                continue
            session = portable.session and ensure_turn_session(conn, theme_id, portable.session, at, 0, unjournaled)
            key = (theme_id << THEME_SHIFT) + number
            conn.execute(
                INSERT_TURN,
                (key, portable.uid, theme_id, session or None, portable.role, portable.content, at, None, None),
            )
            fulltext.insert_index_terms(conn, TURN, [(key, portable.content)])
    return store
