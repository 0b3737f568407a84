"""Facts and scopes as they stand in their tables, and the one way to change them.

A `Mutation` is one change in the making: every column it sets is recorded with what stood there before, and leaving it
appends the record to the journal. What the journal says in portable words (labels, uids) is turned back into columns
here, so that undo and replay write through the same door as everything else.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any, NamedTuple

from hermes_memory_store import fulltext, tokens, uids
from hermes_memory_store.chunking import in_chunks
from hermes_memory_store.journal import Entry, Journal
from hermes_memory_store.model import Actor, FactType, Notation, ScopeStatus, Tier
from hermes_memory_store.names import SCOPE_BY_LABEL, UNSCOPED, Names, ScopeKey
from hermes_memory_store.schema import THEME_SHIFT

FACT_COLUMNS = (
    "f.id, f.uid, f.theme_id, f.scope_id, f.type, f.target, f.content, f.tier, f.pinned, f.chars, f.tokens,"
    " f.actor_id, f.created_at, f.updated_at, f.superseded_by, f.cooled_by"
)

STANDS = "tier IN ('hot', 'cold', 'archived')"
"""`STANDING_TIERS` in the words of the index `facts_standing`: in other words SQLite would not use it."""

STANDING_FACT = f"SELECT {FACT_COLUMNS} FROM facts f WHERE scope_id = ? AND type = ? AND target = ? AND {STANDS}"

READ_COLUMNS = "s.label, r.times, r.last_at"

FACTS_WITH_READS = (
    f"SELECT {FACT_COLUMNS}, {READ_COLUMNS} FROM facts f"
    " JOIN scopes s ON s.id = f.scope_id LEFT JOIN reads r ON r.fact_id = f.id"
)

INSERT_FACTS = (
    "INSERT INTO facts (id, uid, theme_id, scope_id, type, target, content, tier, pinned, chars, tokens,"
    " actor_id, created_at, updated_at, superseded_by, cooled_by) VALUES "
)

FACT_VALUES = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"

INSERT_FACT = INSERT_FACTS + FACT_VALUES

ROWS_AT_ONCE = 500
"""Rows of one insert. A statement that fires triggers saves every page it touches before it runs, so 500 rows in one
statement cost a third of 500 statements."""


class FactRow(NamedTuple):
    """A fact as its table holds it, in the order of `FACT_COLUMNS`."""

    id: int
    uid: bytes
    theme_id: int
    scope_id: int
    type: str
    target: str
    content: str
    tier: str
    pinned: int
    chars: int
    tokens: int
    actor_id: int
    created_at: int
    updated_at: int
    superseded_by: bytes | None
    cooled_by: str | None


def standing_facts(conn: sqlite3.Connection, scope_id: int, kinds: Sequence[str], target: str) -> dict[str, FactRow]:
    """The facts that stand for this scope and target, by their types: of each of these one at most."""
    marks = ", ".join("?" * len(kinds))
    sql = f"SELECT {FACT_COLUMNS} FROM facts f WHERE scope_id = ? AND type IN ({marks}) AND target = ? AND {STANDS}"
    return {row[4]: FactRow(*row) for row in conn.execute(sql, (scope_id, *kinds, target))}


def standing_fact(
    conn: sqlite3.Connection, scope_id: int, kind: str, target: str, *, besides: bytes | None = None
) -> FactRow | None:
    """The one fact that stands for this scope, type and target, if any. :param besides: a uid that does not count"""
    row = conn.execute(STANDING_FACT, (scope_id, str(kind), target)).fetchone()
    stands = None if row is None else FactRow(*row)
    return None if stands is None or stands.uid == besides else stands


def notation_chars(target: str, content: str) -> int:
    """Characters of a fact on the gauge: its notation, `T[target]: content`."""
    return len(target) + len(content) + 5


class Mutation:
    """One change in the making. Use it inside `Db.writing()`, and call `record()` before the transaction ends."""

    def __init__(self, conn: sqlite3.Connection, names: Names, journal: Journal, actor: Actor) -> None:
        self.conn = conn
        self.names = names
        self.actor = actor
        self.now = journal.now(conn)
        self.entries: list[Entry] = []
        self._journal = journal

    def record(self, *, undoes: int | None = None) -> tuple[int, ...]:
        """Append what was done to the journal; the sequence numbers of its rows."""
        if not self.entries:
            return ()
        return self._journal.append(self.conn, self.entries, actor=self.actor, at=self.now, undoes=undoes)

    def new_uid(self) -> bytes:
        """A fresh uid for something this change makes."""
        return uids.new_uid(self.now)

    def insert_fact(
        self,
        theme_id: int,
        scope: ScopeKey,
        said: Notation,
        *,
        op: str = "create",
        uid: bytes | None = None,
        **given: Any,
    ) -> FactRow:
        """A new fact, hot unless `given` says otherwise. `given` may hold tier, pinned, times, superseded_by, cooled_by.

        A `source` in it stands in the journal only.
        """
        by = given.get("by") or self.actor
        line = str(said)
        row = FactRow(
            id=(theme_id << THEME_SHIFT) + self.last_number(theme_id) + 1,
            uid=uid or uids.new_uid(self.now),
            theme_id=theme_id,
            scope_id=scope.id,
            type=said.type.value,
            target=said.target,
            content=said.content,
            tier=given.get("tier", Tier.HOT.value),
            pinned=int(given.get("pinned", False)),
            chars=len(line),
            tokens=tokens.estimate(line),
            actor_id=self.names.known_actor_keys.get((by.kind, by.name)) or self.names.actor(self.conn, by),
            created_at=given.get("created_at", self.now),
            updated_at=given.get("updated_at", self.now),
            superseded_by=given.get("superseded_by"),
            cooled_by=given.get("cooled_by"),
        )
        self.add(row)
        words = self._portable(row, scope.label)
        if by is not self.actor and by != self.actor:
            words["by"] = str(by)
        if given.get("source"):
            words["source"] = given["source"]
        self.entries.append(Entry(op, "fact", row.uid, theme_id, None, words))
        return row

    def insert_facts(self, theme_id: int, facts: Sequence[tuple[Notation, ScopeKey, Tier]]) -> None:
        """New facts of one theme, many at once: those that the caller knows to meet no other."""
        first = (theme_id << THEME_SHIFT) + self.last_number(theme_id) + 1
        by = self.names.actor(self.conn, self.actor)
        made = uids.new_uids(self.now, len(facts))
        rows = []
        for key, ((said, scope, tier), uid) in enumerate(zip(facts, made, strict=True), first):
            line = str(said)
            rows.append(
                (key, uid, theme_id, scope.id, said.type.value, said.target, said.content, tier.value, 0, len(line))
                + (tokens.estimate(line), by, self.now, self.now, None, None)
            )
            after = {
                "scope": scope.label or None,
                "type": said.type.value,
                "target": said.target,
                "content": said.content,
            }
            self.entries.append(Entry("create", "fact", uid, theme_id, None, {**after, "tier": tier.value}))
        write_rows(self.conn, rows)
        fulltext.index_many(self.conn, map(indexed_columns, rows))

    def update_fact(
        self, row: FactRow, op: str, *, by: Actor | None = None, keep_time: bool = False, **columns: Any
    ) -> FactRow:
        """Set columns of a fact (tier, content, pinned, scope, superseded_by, cooled_by); the row as it stands then."""
        if not keep_time:
            columns.setdefault("updated_at", self.now)
        before, after = {}, {}
        changed: dict[str, Any] = {}
        for name, value in columns.items():
            if name == "scope":
                changed["scope_id"] = value.id
                before["scope"] = self._label(row.scope_id)
                after["scope"] = value.label or None
                continue
            changed[name] = value
            before[name] = portable(getattr(row, name))
            after[name] = portable(value)
        if "content" in changed:
            said = Notation(FactType(row.type), row.target, changed["content"])
            changed["chars"] = notation_chars(row.target, said.content)
            changed["tokens"] = tokens.estimate(str(said))
            self.reindex(row, said.content)
        assignments = ", ".join(f"{name} = ?" for name in changed)
        self.conn.execute(f"UPDATE facts SET {assignments} WHERE id = ?", (*changed.values(), row.id))
        self.entries.append(Entry(op, "fact", row.uid, row.theme_id, before, after, by))
        return row._replace(**changed)

    def last_number(self, theme_id: int) -> int:
        """The number of the newest fact of a theme."""
        return int(self.conn.execute("SELECT last_fact FROM themes WHERE id = ?", (theme_id,)).fetchone()[0])

    def add(self, row: FactRow) -> None:
        """Write a new fact and make it findable."""
        self.conn.execute(INSERT_FACT, row)
        fulltext.index(self.conn, row.id, row.target, row.content, scope_id=row.scope_id, tier=row.tier, kind=row.type)

    def reindex(self, row: FactRow, content: str) -> None:
        """Make a fact findable by its new content."""
        fulltext.reindex(self.conn, row.id, row.target, row.content, content)

    def insert_scope(
        self,
        theme_id: int,
        label: str,
        *,
        uid: bytes | None = None,
        status: str = ScopeStatus.OPEN,
        at: int | None = None,
    ) -> ScopeKey:
        """A new scope. The one without a label is not journaled: every theme has it."""
        uid = uid or uids.new_uid(self.now)
        opened_at = self.now if at is None else at
        cursor = self.conn.execute(
            "INSERT INTO scopes (uid, theme_id, label, status, opened_at) VALUES (?, ?, ?, ?, ?)",
            (uid, theme_id, label, status, opened_at),
        )
        if label != UNSCOPED:
            after = {"label": label, "status": str(status), "opened_at": opened_at}
            self.entries.append(Entry("open", "scope", uid, theme_id, None, after))
        assert cursor.lastrowid is not None
        return ScopeKey(cursor.lastrowid, uid, label, status)

    def update_scope(self, scope_id: int, op: str, *, by: Actor | None = None, **columns: Any) -> None:
        """Set columns of a scope (label, status, closed_at, closed_by, opened_at)."""
        names = ", ".join(columns)
        uid, theme_id, *stood = self.conn.execute(
            f"SELECT uid, theme_id, {names} FROM scopes WHERE id = ?", (scope_id,)
        ).fetchone()
        assignments = ", ".join(f"{name} = ?" for name in columns)
        values = [portable(value) for value in columns.values()]
        self.conn.execute(f"UPDATE scopes SET {assignments} WHERE id = ?", (*values, scope_id))
        before, after = dict(zip(columns, stood, strict=True)), dict(zip(columns, values, strict=True))
        self.entries.append(Entry(op, "scope", uid, theme_id, before, after, by))

    def scope_for_writing(self, theme_id: int, label: str | None) -> ScopeKey:
        """The scope of that label, opened when it is new and brought back when its opening was undone."""
        row = self.conn.execute(SCOPE_BY_LABEL, (theme_id, label or UNSCOPED)).fetchone()
        if row is None:
            return self.insert_scope(theme_id, label or UNSCOPED)
        key = ScopeKey(*row)
        if key.status == ScopeStatus.WITHDRAWN:
            self.update_scope(key.id, "open", status=ScopeStatus.OPEN, opened_at=self.now)
            return ScopeKey(key.id, key.uid, key.label, ScopeStatus.OPEN)
        return key

    def fact_row(self, uid: bytes) -> FactRow | None:
        """The fact of that uid as it stands."""
        row = self.conn.execute(f"SELECT {FACT_COLUMNS} FROM facts f WHERE uid = ?", (uid,)).fetchone()
        return FactRow(*row) if row else None

    def columns_of(self, theme_id: int, patch: dict[str, Any]) -> dict[str, Any]:
        """Journal words as columns of `update_fact`."""
        columns = dict(patch)
        if "scope" in columns:
            columns["scope"] = self.scope_for_writing(theme_id, columns["scope"])
        if columns.get("superseded_by") is not None:
            columns["superseded_by"] = uids.to_bytes(columns["superseded_by"])
        return columns

    def _label(self, scope_id: int) -> str | None:
        label = self.conn.execute("SELECT label FROM scopes WHERE id = ?", (scope_id,)).fetchone()[0]
        return label or None

    def _portable(self, row: FactRow, label: str) -> dict[str, Any]:
        words: dict[str, Any] = {
            "scope": label or None,
            "type": row.type,
            "target": row.target,
            "content": row.content,
            "tier": row.tier,
        }
        if row.pinned:
            words["pinned"] = 1
        if row.created_at != self.now:
            words["created_at"] = row.created_at
        if row.updated_at != self.now:
            words["updated_at"] = row.updated_at
        if row.superseded_by:
            words["superseded_by"] = uids.to_text(row.superseded_by)
        if row.cooled_by:
            words["cooled_by"] = row.cooled_by
        return words


def write_rows(conn: sqlite3.Connection, rows: Sequence[Sequence[Any]]) -> None:
    """Write new facts, many by each statement: what a statement costs by itself is more than what a row does."""
    for some in in_chunks(rows, ROWS_AT_ONCE):
        values = ", ".join([FACT_VALUES] * len(some))
        conn.execute(INSERT_FACTS + values, [column for row in some for column in row])


def indexed_columns(row: Sequence[Any]) -> tuple[int, str, str, int, str, str]:
    """What the full-text index takes of a fact: id, target, content, scope id, tier, type."""
    return row[0], row[5], row[6], row[3], row[7], row[4]


def portable(value: Any) -> Any:
    """A column as the journal says it: uids as text, enums as their words."""
    if isinstance(value, bytes):
        return uids.to_text(value)
    if isinstance(value, str):
        return str(value)
    return value
