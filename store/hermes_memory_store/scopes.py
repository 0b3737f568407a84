"""Scopes: units of work that open on their first write, cool when nobody refers to them, and close.

Closing cools the scope's hot facts; writing to it again reopens it and warms exactly what that closing cooled.
"""

from __future__ import annotations

from typing import Any

from hermes_memory_store import errors, text, uids
from hermes_memory_store.db import Db
from hermes_memory_store.journal import Journal
from hermes_memory_store.model import PERSON, STANDING_TIERS, Actor, Changed, Millis, Scope, ScopeStatus, Tier
from hermes_memory_store.names import UNSCOPED, Names, ScopeKey
from hermes_memory_store.records import FACT_COLUMNS, FactRow, Mutation, standing_fact
from hermes_memory_store.text_indexes import again_without_index

MAX_LABEL = 128
"""Characters of a scope's label."""

COOLED_BY_CLOSING = "scope"
"""Mark on facts that went cold because their scope closed: what reopening warms."""

LISTED = """
    SELECT s.id, s.uid, t.name, s.label, s.status, s.opened_at, s.closed_at, s.closed_by,
      (SELECT min(n.turn - a.last_turn) FROM attention a JOIN sessions n ON n.id = a.session_id
        WHERE a.scope_id = s.id AND n.ended_at IS NULL)
    FROM scopes s JOIN themes t ON t.id = s.theme_id
    WHERE s.status <> 'withdrawn' AND s.label <> ''
"""


class Scopes:
    """Lists, closes, reopens, renames and merges scopes."""

    def __init__(self, db: Db, names: Names, journal: Journal) -> None:
        self._db = db
        self._names = names
        self._journal = journal

    def list(self, theme: str | None = None) -> list[Scope]:
        """All scopes of a theme (of every theme when None), those still open first, then by label."""
        sql = LISTED + " AND (?1 IS NULL OR t.name = ?1) ORDER BY s.status = 'closed', t.name, s.label"
        counts: dict[int, dict[Tier, int]] = {}
        tallied = "SELECT scope_id, tier, sum(facts) FROM tallies WHERE facts > 0 GROUP BY scope_id, tier"
        with self._db.snapshot() as conn:
            for scope_id, tier, facts in conn.execute(tallied):
                counts.setdefault(scope_id, {})[Tier(tier)] = facts
            return [scope_of(row, counts.get(row[0], {})) for row in conn.execute(sql, (theme,))]

    def get(self, theme: str, label: str) -> Scope:
        """One scope. :raises UnknownScope: with the nearest labels"""
        key = self._names.scope(theme, label)
        row = self._db.row(LISTED + " AND s.id = ?", (key.id,))
        counts = self._db.rows(
            "SELECT tier, sum(facts) FROM tallies WHERE theme_id = ? AND scope_id = ? AND facts > 0 GROUP BY tier",
            (self._names.theme(theme), key.id),
        )
        if row is None:
            raise errors.UnknownScope(label, self._names.labels(theme))
        return scope_of(row, {Tier(tier): facts for tier, facts in counts})

    @again_without_index
    def close(self, theme: str, label: str, *, actor: Actor = PERSON) -> Changed:
        """Close a scope and cool its hot facts. Closing a closed one changes nothing."""
        with self._db.writing() as conn:
            change = Mutation(conn, self._names, self._journal, actor)
            close_scope(change, self._names.scope(theme, label), why=str(actor))
            return changed(change)

    @again_without_index
    def reopen(self, theme: str, label: str, *, actor: Actor = PERSON) -> Changed:
        """Open a closed scope again and warm what its closing cooled."""
        with self._db.writing() as conn:
            change = Mutation(conn, self._names, self._journal, actor)
            reopen_scope(change, self._names.scope(theme, label))
            return changed(change)

    @again_without_index
    def rename(self, theme: str, label: str, new: str, *, actor: Actor = PERSON) -> Changed:
        """Give a scope another label. :raises ScopeExists: when the theme already has one of that label"""
        wanted = checked_label(new)
        with self._db.writing() as conn:
            key = self._names.scope(theme, label)
            change = Mutation(conn, self._names, self._journal, actor)
            if wanted != key.label:
                taken = self._names.scope_or_none(self._names.theme(theme), wanted)
                if taken is not None:
                    raise errors.ScopeExists(f"theme {theme!r} already has {way_out_of(taken, key.label)}", wanted)
                change.update_scope(key.id, "rename", label=wanted)
            return changed(change)

    @again_without_index
    def merge(self, theme: str, label: str, into: str, *, actor: Actor = PERSON) -> Changed:
        """Move everything of one scope to another of its theme, and take the emptied one off every list.

        Where both say something of the same type and target, the newer fact stands and the other is superseded by it.

        :raises UnknownScope: when the theme has no scope of one of the labels
        :raises ArgumentError: when both are the same
        """
        with self._db.writing() as conn:
            source, target = self._names.scope(theme, label), self._names.scope(theme, into)
            if source.id == target.id:
                raise errors.ArgumentError(f"scope {label!r} cannot be merged into itself; name another one", into)
            change = Mutation(conn, self._names, self._journal, actor)
            for row in map(
                FactRow._make,
                conn.execute(f"SELECT {FACT_COLUMNS} FROM facts f WHERE scope_id = ?", (source.id,)).fetchall(),
            ):
                move_merging(change, row, target)
            change.update_scope(source.id, "merge", status=ScopeStatus.WITHDRAWN)
            conn.execute("DELETE FROM attention WHERE scope_id = ?", (source.id,))
            conn.execute("UPDATE sessions SET scope_id = ? WHERE scope_id = ?", (target.id, source.id))
            return changed(change)


def way_out_of(taken: ScopeKey, label: str) -> str:
    """What has a label that another scope should get, and what to do. A scope that is gone keeps its label, unseen."""
    if taken.status == ScopeStatus.WITHDRAWN:
        return (
            f"a scope named {taken.label!r}, which is gone and keeps its name; "
            f"write a fact to it, which opens it again, and merge {label!r} into it"
        )
    return f"a scope named {taken.label!r}; choose another name, rename that one, or merge one into the other"


def move_merging(change: Mutation, row: FactRow, target: ScopeKey) -> None:
    """Move a fact to another scope; of two that would stand in one place, the older is superseded first.

    In two steps, so that taking them back one by one never meets two facts in one place.
    """
    if row.tier in STANDING_TIERS:
        there = standing_fact(change.conn, target.id, row.type, row.target)
        if there is not None:
            newer, older = (row, there) if row.updated_at > there.updated_at else (there, row)
            change.update_fact(
                older, "supersede", keep_time=True, tier=Tier.SUPERSEDED.value, superseded_by=newer.uid, pinned=0
            )
    moved = change.fact_row(row.uid)
    assert moved is not None
    change.update_fact(moved, "move", keep_time=True, scope=target)


def checked_label(label: str) -> str:
    """A label as it is kept: trimmed, safe, not empty. :raises ArgumentError: when it cannot be one"""
    if len(label) > 100 * MAX_LABEL:
        raise errors.ArgumentError(
            f"a scope's label has at most {MAX_LABEL} characters, this one has {len(label)}", label
        )
    clean = " ".join(text.check(label, "the scope's label").split())
    if not clean:
        raise errors.ArgumentError("a scope needs a label of at least one character", label)
    if len(clean) > MAX_LABEL:
        raise errors.ArgumentError(
            f"a scope's label has at most {MAX_LABEL} characters, this one has {len(clean)}", label
        )
    return clean


def close_scope(change: Mutation, scope: ScopeKey, *, why: str, by: Actor | None = None) -> bool:
    """Close a scope inside a running change: cool its hot facts, let sessions that write to it move on.

    Returns whether it was open. The scope without a label never closes.
    """
    if scope.status == ScopeStatus.CLOSED or scope.label == UNSCOPED:
        return False
    hot = change.conn.execute(
        f"SELECT {FACT_COLUMNS} FROM facts f WHERE scope_id = ? AND tier = 'hot' AND pinned = 0", (scope.id,)
    ).fetchall()
    for row in hot:
        change.update_fact(
            FactRow(*row), "cool", by=by, keep_time=True, tier=Tier.COLD.value, cooled_by=COOLED_BY_CLOSING
        )
    change.update_scope(scope.id, "close", by=by, status=ScopeStatus.CLOSED, closed_at=change.now, closed_by=why)
    change.conn.execute("DELETE FROM attention WHERE scope_id = ?", (scope.id,))
    change.conn.execute("UPDATE sessions SET scope_id = NULL WHERE scope_id = ?", (scope.id,))
    return True


def reopen_scope(change: Mutation, scope: ScopeKey, *, by: Actor | None = None) -> bool:
    """Open a closed or cooling scope inside a running change; whether it was not open."""
    if scope.status == ScopeStatus.OPEN:
        return False
    change.update_scope(scope.id, "reopen", by=by, status=ScopeStatus.OPEN, closed_at=None, closed_by=None)
    if scope.status != ScopeStatus.CLOSED:
        return True
    cooled = change.conn.execute(
        f"SELECT {FACT_COLUMNS} FROM facts f WHERE scope_id = ? AND tier = 'cold' AND cooled_by = ?",
        (scope.id, COOLED_BY_CLOSING),
    ).fetchall()
    for row in cooled:
        change.update_fact(FactRow(*row), "warm", by=by, keep_time=True, tier=Tier.HOT.value, cooled_by=None)
    return True


def changed(change: Mutation) -> Changed:
    """Record the change, and say which facts and rows it touched."""
    seqs = change.record()
    facts = dict.fromkeys(uids.to_text(entry.uid) for entry in change.entries if entry.entity == "fact")
    return Changed(tuple(facts), seqs)


def scope_of(row: tuple[Any, ...], counts: dict[Tier, int]) -> Scope:
    """A row of `LISTED` as data."""
    _, uid, theme, label, status, opened_at, closed_at, closed_by, silence = row
    return Scope(
        uid=uids.to_text(uid),
        theme=theme,
        label=label,
        status=ScopeStatus(status),
        opened_at=Millis(opened_at),
        closed_at=None if closed_at is None else Millis(closed_at),
        closed_by=closed_by,
        facts={tier: facts for tier, facts in counts.items() if tier is not Tier.WITHDRAWN},
        silence=max(silence or 0, 0),
    )
