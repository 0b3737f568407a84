"""Scopes: units of work that open on their first write, cool when nobody refers to them, and close.

Closing a scope cools its hot facts; writing to it again reopens it and warms exactly the facts that closing
cooled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hermes_memory_store import errors, safe_text, uids
from hermes_memory_store.database.db import Db
from hermes_memory_store.database.index_health import retry_without_index
from hermes_memory_store.intake.intake import AdmittedText, Intake, Writer, to_given_name
from hermes_memory_store.items.journal import Journal
from hermes_memory_store.items.kinds import FACT_COLUMNS, FactRow
from hermes_memory_store.items.mutation import Mutation, find_standing_fact
from hermes_memory_store.items.name_keys import UNSCOPED, Names, ScopeKey, to_theme_name
from hermes_memory_store.items.tier_columns import (
    COOLED_BY_CLOSING,
    IS_COOLED_BY,
    cold_columns,
    hot_columns,
    superseded_columns,
)
from hermes_memory_store.model import PERSON, STANDING_TIERS, Actor, ChangeResult, Millis, Scope, ScopeStatus, Tier

MAX_LABEL = 128

SELECT_SCOPES = """
    SELECT s.id, s.uid, t.name, s.label, s.status, s.opened_at, s.closed_at, s.closed_by,
      (SELECT n.turn - a.last_turn FROM attention a JOIN sessions n ON n.id = a.session_id
        WHERE a.scope_id = s.id ORDER BY n.ended_at IS NOT NULL, n.turn - a.last_turn LIMIT 1)
    FROM scopes s JOIN themes t ON t.id = s.theme_id
    WHERE s.status <> 'withdrawn' AND s.label <> ''
"""


class Scopes:
    """List, close, reopen, rename and merge scopes."""

    def __init__(self, db: Db, names: Names, journal: Journal, intake: Intake) -> None:
        self._intake = intake
        self._db = db
        self._names = names
        self._journal = journal

    def list(self, theme: str | None = None) -> list[Scope]:
        """Return all scopes of a theme (of every theme when None), open ones first, then by label."""
        sql = SELECT_SCOPES + " AND (?1 IS NULL OR t.name = ?1) ORDER BY s.status = 'closed', t.name, s.label"
        theme_name = None if theme is None else self._names.find_theme_name(theme)
        counts: dict[int, dict[Tier, int]] = {}
        tallied = "SELECT scope_id, tier, sum(facts) FROM tallies WHERE facts > 0 GROUP BY scope_id, tier"
        with self._db.snapshot() as conn:
            for scope_id, tier, facts in conn.execute(tallied):
                counts.setdefault(scope_id, {})[Tier(tier)] = facts
            return [to_scope(row, counts.get(row[0], {})) for row in conn.execute(sql, (theme_name,))]

    def get(self, theme: str, label: str) -> Scope:
        """Return one scope. :raises UnknownScope: with the nearest labels"""
        key = self._names.scope(theme, label)
        row = self._db.row(SELECT_SCOPES + " AND s.id = ?", (key.id,))
        tallied = "SELECT tier, sum(facts) FROM tallies WHERE theme_id = ? AND scope_id = ? AND facts > 0 GROUP BY tier"
        counts = self._db.rows(tallied, (self._names.theme(theme), key.id))
        if row is None:
            raise errors.UnknownScope(label, map(to_given_name, self._names.labels(theme)))
        return to_scope(row, {Tier(tier): facts for tier, facts in counts})

    @retry_without_index
    def close(self, theme: str, label: str, *, actor: Actor = PERSON) -> ChangeResult:
        """Close a scope and cool its hot facts. Closing a closed scope changes nothing.

        >>> fact = store.facts.write("ops", "V[port]: 5432", scope="setup").fact
        >>> closed = store.scopes.close("ops", "setup")
        >>> store.scopes.get("ops", "setup").status, store.facts.get(fact.uid).tier
        (<ScopeStatus.CLOSED: 'closed'>, <Tier.COLD: 'cold'>)

        :raises UnknownScope: with the nearest labels
        """
        with self._db.write_transaction() as conn:
            change = Mutation(conn, self._names, self._journal, actor)
            close_scope(change, self._names.scope(theme, label), why=str(actor))
            return record_change(change)

    @retry_without_index
    def reopen(self, theme: str, label: str, *, actor: Actor = PERSON) -> ChangeResult:
        """Reopen a closed scope and warm the facts that its closing cooled. :raises UnknownScope: with the nearest labels"""
        with self._db.write_transaction() as conn:
            change = Mutation(conn, self._names, self._journal, actor)
            reopen_scope(change, self._names.scope(theme, label))
            return record_change(change)

    @retry_without_index
    def rename(self, theme: str, label: str, new: str, *, actor: Actor = PERSON) -> ChangeResult:
        """Rename a scope.

        :raises ScopeExists: when the theme already has one of that label
        :raises UnknownScope: ArgumentError, UnsafeText, SecretRefused, NameRefused; nothing was changed then
        """
        admitted = admit_label(self._intake, to_theme_name(theme), new)
        with self._db.write_transaction() as conn:
            key = self._names.scope(theme, label)
            change = Mutation(conn, self._names, self._journal, actor)
            if admitted != key.label:
                taken = self._names.scope_or_none(self._names.theme(theme), admitted)
                if taken is not None:
                    raise errors.ScopeExists(
                        f"theme {theme!r} already has {format_label_conflict(taken, key.label)}", admitted
                    )
                change.update_scope(key.id, "rename", label=admitted)
            return record_change(change)

    @retry_without_index
    def merge(self, theme: str, label: str, into: str, *, actor: Actor = PERSON) -> ChangeResult:
        """Move everything from one scope to another of its theme, and remove the emptied one from every list.

        Where both have a fact of the same type and target, the newer stands and the other is superseded by it.

        :raises UnknownScope: when the theme has no scope of one of the labels
        :raises ArgumentError: when both are the same
        """
        with self._db.write_transaction() as conn:
            source, target = self._names.scope(theme, label), self._names.scope(theme, into)
            if source.id == target.id:
                raise errors.ArgumentError(f"scope {label!r} cannot be merged into itself; name another one", into)
            change = Mutation(conn, self._names, self._journal, actor)
            rows = conn.execute(f"SELECT {FACT_COLUMNS} FROM facts f WHERE scope_id = ?", (source.id,)).fetchall()
            for row in map(FactRow._make, rows):
                move_fact_to_scope(change, row, target)
            change.update_scope(source.id, "merge", status=ScopeStatus.WITHDRAWN)
            conn.execute("DELETE FROM attention WHERE scope_id = ?", (source.id,))
            conn.execute("UPDATE sessions SET scope_id = ? WHERE scope_id = ?", (target.id, source.id))
            return record_change(change)


def format_label_conflict(taken: ScopeKey, label: str) -> str:
    """Explain which scope has the requested label, and what to do. A withdrawn scope keeps its label."""
    if taken.status == ScopeStatus.WITHDRAWN:
        return (
            f"a scope named {taken.label!r}, which is gone and keeps its name; "
            f"write a fact to it, which opens it again, and merge {label!r} into it"
        )
    return f"a scope named {taken.label!r}; choose another name, rename that one, or merge one into the other"


def move_fact_to_scope(change: Mutation, row: FactRow, target: ScopeKey) -> None:
    """Move a fact to another scope; of two facts for one place, supersede the older first.

    Two steps, so that undoing them one by one never meets two facts in one place.
    """
    if row.tier in STANDING_TIERS:
        there = find_standing_fact(change.conn, target.id, row.type, row.target)
        if there is not None:
            newer, older = (row, there) if row.updated_at > there.updated_at else (there, row)
            change.update_fact(older, "supersede", keep_time=True, **superseded_columns(newer.uid), pinned=0)
    moved = change.fact_row(row.uid)
    assert moved is not None
    change.update_fact(moved, "move", keep_time=True, scope=target)


def validate_label(label: str) -> str:
    """Return a label trimmed, safe and not empty. :raises ArgumentError: when it cannot be one"""
    clean = label
    if len(label) <= 100 * MAX_LABEL:
        clean = " ".join(safe_text.validate_text(label, "the scope's name").split())
    if not clean:
        raise errors.ArgumentError("a scope needs a name of at least one character", label)
    if len(clean) > MAX_LABEL:
        message = f"a scope's name has at most {MAX_LABEL} characters, this one has {len(clean)}"
        raise errors.ArgumentError(message, label)
    return clean


def admit_label(intake: Intake, theme: str, label: str, *, writer: Writer | None = None) -> AdmittedText:
    """Check a label on its way in. :raises InputError: it cannot be one, or must not be listed"""
    return intake.admit_name(theme, "the scope", validate_label(label), writer=writer)


def close_scope(change: Mutation, scope: ScopeKey, *, why: str, by: Actor | None = None) -> bool:
    """Close a scope, cool its hot facts and detach the sessions that write to it; return whether it was open.

    The scope without a label never closes.
    """
    if scope.status == ScopeStatus.CLOSED or scope.label == UNSCOPED:
        return False
    hot = f"SELECT {FACT_COLUMNS} FROM facts f WHERE scope_id = ? AND tier = 'hot' AND pinned = 0"
    for row in change.conn.execute(hot, (scope.id,)).fetchall():
        change.update_fact(FactRow(*row), "cool", by=by, keep_time=True, **cold_columns(COOLED_BY_CLOSING))
    change.update_scope(scope.id, "close", by=by, status=ScopeStatus.CLOSED, closed_at=change.now, closed_by=why)
    change.conn.execute("DELETE FROM attention WHERE scope_id = ?", (scope.id,))
    change.conn.execute("UPDATE sessions SET scope_id = NULL WHERE scope_id = ?", (scope.id,))
    return True


def reopen_scope(change: Mutation, scope: ScopeKey, *, by: Actor | None = None) -> bool:
    """Reopen a closed or cooling scope within a running change; return whether it was not open."""
    if scope.status == ScopeStatus.OPEN:
        return False
    change.update_scope(scope.id, "reopen", by=by, status=ScopeStatus.OPEN, closed_at=None, closed_by=None)
    if scope.status != ScopeStatus.CLOSED:
        return True
    cooled = f"SELECT {FACT_COLUMNS} FROM facts f WHERE scope_id = ? AND {IS_COOLED_BY}"
    for row in change.conn.execute(cooled, (scope.id, COOLED_BY_CLOSING)).fetchall():
        change.update_fact(FactRow(*row), "warm", by=by, keep_time=True, **hot_columns())
    return True


def record_change(change: Mutation) -> ChangeResult:
    seqs = change.record()
    facts = dict.fromkeys(uids.format_uid(entry.uid) for entry in change.entries if entry.entity == "fact")
    return ChangeResult(tuple(facts), seqs)


def change_attribute(
    change: Mutation, uid: bytes, op: str, name: str, change_of: Callable[[str | None], str | None]
) -> ChangeResult:
    """Give a fact another text in a column that says nothing of its content: when it was changed stays.

    :raises UnknownFact: it is gone
    """
    row = change.fact_row(uid)
    if row is None:
        raise errors.UnknownFact(uids.format_uid(uid))
    before = getattr(row, name)
    columns: dict[str, Any] = {name: change_of(before)}
    if columns[name] != before:
        change.update_fact(row, op, keep_time=True, **columns)
    return record_change(change)


def to_scope(row: tuple[Any, ...], counts: dict[Tier, int]) -> Scope:
    _, uid, theme, label, status, opened_at, closed_at, closed_by, silence = row
    return Scope(
        uid=uids.format_uid(uid),
        theme=theme,
        label=label,
        status=ScopeStatus(status),
        opened_at=Millis(opened_at),
        closed_at=None if closed_at is None else Millis(closed_at),
        closed_by=closed_by,
        facts={tier: facts for tier, facts in counts.items() if tier is not Tier.WITHDRAWN},
        silence=max(silence or 0, 0),
    )
