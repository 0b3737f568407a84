"""Facts and scopes as rows of their tables, and the one way to change them.

A `Mutation` is one change in progress: every column it sets is recorded with its previous value, and leaving it
appends the record to the journal. The journal's portable values (labels, uids) are converted back to columns here,
so that undo and replay write the same way as everything else.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Any

from hermes_memory_store import uids
from hermes_memory_store.chunking import in_chunks
from hermes_memory_store.database.schema import THEME_SHIFT
from hermes_memory_store.intake.intake import AdmittedFact, AdmittedText, repeat_fact, repeat_text
from hermes_memory_store.items.journal import Journal, JournalEntry, is_change_undone
from hermes_memory_store.items.kinds import FACT, FACT_COLUMNS, STANDS, FactRow, to_portable
from hermes_memory_store.items.name_keys import SCOPE_BY_LABEL, UNSCOPED, Names, ScopeKey
from hermes_memory_store.items.origin_rows import format_origin_detail, origin_detail_words
from hermes_memory_store.model import SYNC, Actor, FactType, Notation, Origin, ScopeStatus, Tier, Uid, format_notation
from hermes_memory_store.notation import token_estimate

STANDING_FACT = f"SELECT {FACT_COLUMNS} FROM facts f WHERE scope_id = ? AND type = ? AND target = ? AND {STANDS}"

READ_COLUMNS = "s.label, r.times, r.last_at"

FACTS_WITH_READS = (
    f"SELECT {FACT_COLUMNS}, {READ_COLUMNS} FROM facts f"
    " JOIN scopes s ON s.id = f.scope_id LEFT JOIN reads r ON r.fact_id = f.id"
)

INSERT_FACTS = f"INSERT INTO facts ({', '.join(FactRow._fields)}) VALUES "

FACT_VALUES = f"({', '.join('?' * len(FactRow._fields))})"

INSERT_FACT = INSERT_FACTS + FACT_VALUES

OPENINGS = """
    SELECT DISTINCT change FROM journal
    WHERE uid = ? AND entity = 'scope' AND undoes IS NULL AND (before IS NULL OR before ->> 'status' = 'withdrawn')
      AND coalesce(after ->> 'status', 'open') <> 'withdrawn'
"""
"""Changes that opened a scope. What an undo brings back it does not open: the change that did so still holds, or does not."""

CHANGED_SINCE = "SELECT 1 FROM journal WHERE seq > ?1 AND change <> ?1 AND entity IN ('fact', 'scope') LIMIT 1"

CHANGED_BY = "SELECT 1 FROM journal WHERE uid = ? AND change = ? LIMIT 1"

STATUS_CHANGES = """
    SELECT change, after ->> 'status' FROM journal
    WHERE uid = ? AND entity = 'scope' AND undoes IS NULL
      AND (before IS NULL OR before ->> 'status' = 'withdrawn' OR after ->> 'status' = 'withdrawn')
    ORDER BY seq DESC
"""
"""Changes that opened or withdrew a scope, newest first."""

WHILE_WITHDRAWN = """
    SELECT before FROM journal WHERE uid = ? AND entity = 'scope' AND before ->> 'status' = 'withdrawn'
    ORDER BY seq DESC LIMIT 1
"""
"""What a scope was when it was last brought back."""

SCOPE_HAS_FACTS = "SELECT 1 FROM facts WHERE scope_id = ? AND tier <> 'withdrawn' LIMIT 1"

ROWS_AT_ONCE = 500
"""Rows of one insert. A statement that fires triggers saves every page it touches before it runs, so 500 rows in one
statement cost a third of 500 statements."""


FACT_NUMBER = (1 << THEME_SHIFT) - 1
"""The bits of a fact's key that number the facts of its theme."""

NOTATION_MARKS = 5
"""Characters of `T[target]: content` besides the target and the content."""


def standing_facts(conn: sqlite3.Connection, scope_id: int, kinds: Sequence[str], target: str) -> dict[str, FactRow]:
    """Return the facts that stand for this scope and target, by their types: at most one of each type."""
    marks = ", ".join("?" * len(kinds))
    sql = f"SELECT {FACT_COLUMNS} FROM facts f WHERE scope_id = ? AND type IN ({marks}) AND target = ? AND {STANDS}"
    return {row[4]: FactRow(*row) for row in conn.execute(sql, (scope_id, *kinds, target))}


def find_standing_fact(
    conn: sqlite3.Connection, scope_id: int, kind: str, target: str, *, ignored: bytes | None = None
) -> FactRow | None:
    """Find the standing fact of this scope, type and target, if any. :param ignored: a uid to ignore"""
    row = conn.execute(STANDING_FACT, (scope_id, str(kind), target)).fetchone()
    standing = None if row is None else FactRow(*row)
    return None if standing is None or standing.uid == ignored else standing


def count_notation_chars(target: str, content: str) -> int:
    """Return the characters a fact counts on the gauge: its notation, `T[target]: content`."""
    return len(target) + len(content) + NOTATION_MARKS


class Mutation:
    """One change in progress. Use it inside `Db.write_transaction()`, and call `record()` before the transaction ends."""

    def __init__(
        self,
        conn: sqlite3.Connection,
        names: Names,
        journal: Journal,
        actor: Actor,
        origin: Origin | None = None,
        turns: Sequence[Uid] = (),
    ) -> None:
        """Begin a change.

        :param origin: where the change comes from; the one it is attributed to unless given
        :param turns: that its new facts were written from, where the origin names none
        """
        self.conn = conn
        self.origin = origin or names.origins.current()
        self.detail = origin_detail_words(self.origin)
        if turns and not self.origin.turns:
            self.detail["turns"] = list(turns)
        self.names = names
        self.actor = actor
        self.now = journal.now(conn)
        self.entries: list[JournalEntry] = []
        self.abandoned: dict[int, None] = {}
        """Scopes that may be left without facts: each is withdrawn where nothing opened it that is still in effect.

        Not where others emptied one: its version says whether it is there.
        """
        self.last_numbers: dict[int, int] = {}
        """Number of the newest fact of a theme, where this change alone adds facts to it."""
        self._journal = journal

    def record(self, *, undoes: int | None = None) -> tuple[int, ...]:
        """Append the change to the journal; return the sequence numbers of its rows."""
        if self.actor != SYNC:
            for scope_id in self.abandoned:
                withdraw_abandoned_scope(self, scope_id, undoes)
        if not self.entries:
            return ()
        return self._journal.append(
            self.conn, self.entries, actor=self.actor, at=self.now, undoes=undoes, origin=self.origin
        )

    def new_uid(self) -> bytes:
        return uids.new_uid(self.now)

    def insert_fact(
        self,
        theme_id: int,
        scope: ScopeKey,
        admitted: AdmittedFact,
        *,
        op: str = "create",
        uid: bytes | None = None,
        **attributes: Any,
    ) -> FactRow:
        """Insert a fact, hot unless `attributes` says otherwise.

        `attributes` may hold those of `FACT` besides the scope and what was admitted, the actor `by` whom it was made, the
        `line` of an imported file, and an `origin` other than the change's. A `source` in it is recorded in the journal
        only.
        """
        by, origin = attributes.pop("by", None) or self.actor, attributes.pop("origin", None) or self.origin
        line, source = attributes.pop("line", None), attributes.pop("source", None)
        detail = {**self.detail} if origin is self.origin else origin_detail_words(origin)
        if line is not None:
            detail["line"] = line
        notation = str(admitted.said)
        row = FactRow(
            id=(theme_id << THEME_SHIFT) + self.last_number(theme_id) + 1,
            uid=uid or uids.new_uid(self.now),
            theme_id=theme_id,
            scope_id=scope.id,
            type=admitted.said.type.value,
            target=admitted.said.target,
            content=admitted.said.content,
            chars=len(notation),
            tokens=token_estimate.estimate_tokens(notation),
            actor_id=self.names.actor(self.conn, by),
            origin_id=self.names.origins.key(self.conn, theme_id, origin),
            origin_detail=format_origin_detail(detail),
            **{"tier": Tier.HOT.value, **FACT.initial(self.now), **admitted.attributes, **attributes},
        )
        self.insert_row(row)
        words = FACT.new_words({**row._asdict(), "scope": scope.label or None}, self.now) | detail
        if origin is not self.origin:
            words["origin"] = row.origin_id
        if by is not self.actor and by != self.actor:
            words["by"] = str(by)
        if source:
            words["source"] = source
        self.entries.append(JournalEntry(op, "fact", row.uid, theme_id, None, words))
        return row

    def update_fact(
        self, row: FactRow, op: str, *, by: Actor | None = None, keep_time: bool = False, **columns: Any
    ) -> FactRow:
        """Set changing attributes of a fact, the scope as a `ScopeKey`; return the new row.

        The content is an `AdmittedFact`, of which only the content counts.
        """
        if "content" in columns:
            columns["content"] = columns["content"].said.content
        if not keep_time:
            columns.setdefault("updated_at", self.now)
        before, after = {}, {}
        changed: dict[str, Any] = {}
        for name, value in columns.items():
            if name == "scope":
                self.abandoned[row.scope_id] = None
                changed["scope_id"] = value.id
                before["scope"] = self._label(row.scope_id)
                after["scope"] = value.label or None
                continue
            changed[name] = value
            before[name] = to_portable(getattr(row, name))
            after[name] = to_portable(value)
        if changed.get("tier") == Tier.WITHDRAWN:
            self.abandoned[row.scope_id] = None
        if "content" in changed:
            line = format_notation(row.type, row.target, changed["content"])
            changed |= {"chars": len(line), "tokens": token_estimate.estimate_tokens(line)}
            self.reindex(row, changed["content"])
        assignments = ", ".join(f"{name} = ?" for name in changed)
        self.conn.execute(f"UPDATE facts SET {assignments} WHERE id = ?", (*changed.values(), row.id))
        self.entries.append(JournalEntry(op, "fact", row.uid, row.theme_id, before, after, by))
        return row._replace(**changed)

    def last_number(self, theme_id: int) -> int:
        if theme_id in self.last_numbers:
            return self.last_numbers[theme_id]
        return int(self.conn.execute("SELECT last_fact FROM themes WHERE id = ?", (theme_id,)).fetchone()[0])

    def insert_row(self, row: FactRow) -> None:
        from hermes_memory_store.items import fulltext

        self.conn.execute(INSERT_FACT, row)
        if row.theme_id in self.last_numbers:
            self.last_numbers[row.theme_id] = row.id & FACT_NUMBER
        fulltext.index_items(self.conn, FACT, [fact_index_columns(row)])

    def reindex(self, row: FactRow, content: str) -> None:
        from hermes_memory_store.items import fulltext

        fulltext.reindex_fact(self.conn, row.id, row.target, row.content, content)

    def insert_scope(
        self,
        theme_id: int,
        label: AdmittedText,
        *,
        uid: bytes | None = None,
        status: str = ScopeStatus.OPEN,
        at: int | None = None,
    ) -> ScopeKey:
        """Insert a scope. The one without a label is not journaled: every theme has it."""
        uid = uid or uids.new_uid(self.now)
        opened_at = self.now if at is None else at
        cursor = self.conn.execute(
            "INSERT INTO scopes (uid, theme_id, label, status, opened_at) VALUES (?, ?, ?, ?, ?)",
            (uid, theme_id, label, status, opened_at),
        )
        if label != UNSCOPED:
            after = {"label": label, "status": str(status), "opened_at": opened_at}
            self.entries.append(JournalEntry("open", "scope", uid, theme_id, None, after))
        assert cursor.lastrowid is not None
        return ScopeKey(cursor.lastrowid, uid, label, status)

    def update_scope(self, scope_id: int, op: str, *, by: Actor | None = None, **columns: Any) -> None:
        """Set columns of a scope (label, status, closed_at, closed_by, opened_at)."""
        names = ", ".join(columns)
        uid, theme_id, *former = self.conn.execute(
            f"SELECT uid, theme_id, {names} FROM scopes WHERE id = ?", (scope_id,)
        ).fetchone()
        assignments = ", ".join(f"{name} = ?" for name in columns)
        values = [to_portable(value) for value in columns.values()]
        self.conn.execute(f"UPDATE scopes SET {assignments} WHERE id = ?", (*values, scope_id))
        before, after = dict(zip(columns, former, strict=True)), dict(zip(columns, values, strict=True))
        self.entries.append(JournalEntry(op, "scope", uid, theme_id, before, after, by))

    def scope_for_writing(self, theme_id: int, label: AdmittedText | None) -> ScopeKey:
        """Return the scope of that label, opened when it is new and restored when its opening was undone."""
        row = self.conn.execute(SCOPE_BY_LABEL, (theme_id, label or UNSCOPED)).fetchone()
        if row is None:
            return self.insert_scope(theme_id, label or repeat_text(UNSCOPED))
        key = ScopeKey(*row)
        if key.status == ScopeStatus.WITHDRAWN:
            self.update_scope(
                key.id, "open", status=ScopeStatus.OPEN, opened_at=self.now, closed_at=None, closed_by=None
            )
            return ScopeKey(key.id, key.uid, key.label, ScopeStatus.OPEN)
        return key

    def fact_row(self, uid: bytes) -> FactRow | None:
        row = self.conn.execute(f"SELECT {FACT_COLUMNS} FROM facts f WHERE uid = ?", (uid,)).fetchone()
        return FactRow(*row) if row else None

    def columns_of(self, row: FactRow, patch: dict[str, Any]) -> dict[str, Any]:
        """Convert journal values to columns of `update_fact`. :raises ValueError: not what changes of a fact"""
        columns = FACT.select_changes(patch)
        if "scope" in columns:
            columns["scope"] = self.scope_for_writing(row.theme_id, columns["scope"])
        if "content" in columns:
            columns["content"] = repeat_fact(Notation(FactType(row.type), row.target, columns["content"]))
        return columns

    def _label(self, scope_id: int) -> str | None:
        label = self.conn.execute("SELECT label FROM scopes WHERE id = ?", (scope_id,)).fetchone()[0]
        return label or None


def withdraw_abandoned_scope(change: Mutation, scope_id: int, undoes: int | None = None) -> None:
    """Withdraw a scope without facts, unless a change that opened it is still in effect.

    :param undoes: the change that is being undone
    """
    sql = "SELECT uid, label, status FROM scopes WHERE id = ?"
    uid, label, status = change.conn.execute(sql, (scope_id,)).fetchone()
    if label == UNSCOPED or status == ScopeStatus.WITHDRAWN or has_facts(change.conn, scope_id):
        return
    # What the latest change emptied may have been without facts before it, as where a teammate took them. Of an older one
    # that is not known: others may have taken facts out after it.
    is_latest = undoes is not None and change.conn.execute(CHANGED_SINCE, (undoes,)).fetchone() is None
    if is_latest and change.conn.execute(CHANGED_BY, (uid, undoes)).fetchone() is None:
        return
    if not is_open_in_effect(change.conn, uid, undoes) or is_withdrawn_in_effect(change.conn, uid, undoes):
        op = "undo" if undoes is not None else "withdraw"
        then = change.conn.execute(WHILE_WITHDRAWN, (uid,)).fetchone()
        columns = {} if then is None else json.loads(then[0])
        columns.pop("label", None)
        change.update_scope(scope_id, op, **columns | {"status": ScopeStatus.WITHDRAWN})


def is_open_in_effect(conn: sqlite3.Connection, uid: bytes, undoing: int | None = None) -> bool:
    """Check whether a change that opened a scope is not undone, or the journal tells of none.

    :param undoing: a change that is being undone
    """
    openings = [row[0] for row in conn.execute(OPENINGS, (uid,))]
    return not openings or not all(is_change_undone(conn, opening, undoing) for opening in openings)


def is_withdrawn_in_effect(conn: sqlite3.Connection, uid: bytes, undoing: int | None = None) -> bool:
    """Check whether a scope was withdrawn, as by a merge, and no change that holds opened it since.

    :param undoing: a change that is being undone
    """
    changes = conn.execute(STATUS_CHANGES, (uid,)).fetchall()
    statuses = (status for change, status in changes if not is_change_undone(conn, change, undoing))
    return next(statuses, None) == ScopeStatus.WITHDRAWN


def has_facts(conn: sqlite3.Connection, scope_id: int) -> bool:
    return conn.execute(SCOPE_HAS_FACTS, (scope_id,)).fetchone() is not None


def insert_fact_rows(conn: sqlite3.Connection, rows: Sequence[Sequence[Any]]) -> None:
    """Insert facts, many by each statement, since a statement itself costs more than a row."""
    for some in in_chunks(rows, ROWS_AT_ONCE):
        values = ", ".join([FACT_VALUES] * len(some))
        conn.execute(INSERT_FACTS + values, [column for row in some for column in row])


def fact_index_columns(row: Sequence[Any]) -> tuple[int, str, str, int, str, str]:
    """Return the indexed columns of a fact: id, target, content, scope id, tier, type."""
    return row[0], row[5], row[6], row[3], row[7], row[4]
