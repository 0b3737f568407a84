"""Move facts to another theme: each is written there anew, and what it was is superseded by it, as one change.

A fact's key belongs to its theme, and a theme is what a team exchanges. So a moved fact is a new one with the same words,
times, author and origin, and the old one links to it. Undo takes all of it back; history and sync need to know nothing new.
"""

from __future__ import annotations

import builtins
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from hermes_memory_store import errors
from hermes_memory_store.database.db import Db
from hermes_memory_store.database.index_health import retry_without_index
from hermes_memory_store.intake.intake import repeat_fact, repeat_text
from hermes_memory_store.items.journal import Journal
from hermes_memory_store.items.kinds import FactRow
from hermes_memory_store.items.mutation import Mutation, find_standing_fact
from hermes_memory_store.items.name_keys import Names, to_theme_name
from hermes_memory_store.memory.fact_lookup import find_facts_by_name
from hermes_memory_store.memory.scopes import record_change
from hermes_memory_store.model import PERSON, STANDING_TIERS, Actor, ChangeResult, FactType, Notation, Tier
from hermes_memory_store.uids import Uids, list_uids
from hermes_memory_themes import ThemeName

Progress = Callable[[int, int], None]
"""Called with the facts moved so far and the total."""


class ThemeMoves:
    """Move facts between themes of one store."""

    def __init__(self, db: Db, names: Names, journal: Journal) -> None:
        self._db = db
        self._names = names
        self._journal = journal

    def move(self, names: Uids, theme: str, *, actor: Actor = PERSON, within: str | None = None) -> ChangeResult:
        """Move facts to another theme, as one change.

        :param names: one uid or many, whole or at least six digits of their beginning or end
        :param within: the theme they are looked up in; None for all
        :raises UnknownFact: AmbiguousUid, UnknownTheme, ThemeInvalid
        :raises FactConflict: one of them does not stand, as one that waits for a person; nothing was changed then
        """
        whose = None if within is None else self._names.theme(within)
        found = find_facts_by_name(self._db, list_uids(names), whose)
        return self.move_rows([(row.uid, to_theme_name(theme)) for row in found], op="move", actor=actor)

    @retry_without_index
    def move_rows(
        self,
        wanted: Sequence[tuple[bytes, ThemeName]],
        *,
        op: str,
        actor: Actor = PERSON,
        progress: Progress | None = None,
        projects: Mapping[ThemeName, str | None] | None = None,
    ) -> ChangeResult:
        """Move facts, each to a theme of its own, as one change; one that is there already stays.

        :param wanted: uids and themes
        :param projects: in which facts were written that go to a theme, where that is found out only now
        :raises UnknownFact: FactConflict; nothing was changed then
        """
        with self._db.write_transaction() as conn:
            change = Mutation(conn, self._names, self._journal, actor)
            keys = {theme: self._names.theme_for_writing(conn, theme, change.now) for _, theme in wanted}
            for number, (uid, theme) in enumerate(wanted, 1):
                row = change.fact_row(uid)
                if row is None:
                    raise errors.UnknownFact(uid.hex())
                if row.theme_id != keys[theme]:
                    move_row(change, row, keys[theme], op, (projects or {}).get(theme))
                if progress is not None and number % 500 == 0:
                    progress(number, len(wanted))
            return record_change(change)

    def list_rows(self, conn: sqlite3.Connection, theme_id: int) -> builtins.list[FactRow]:
        """Return the standing facts of a theme, oldest first."""
        return [FactRow(*row) for row in conn.execute(STANDING_ROWS, (theme_id,))]


STANDING_ROWS = """
    SELECT id, uid, theme_id, scope_id, type, target, content, tier, pinned, chars, tokens, actor_id, created_at, updated_at,
      superseded_by, cooled_by, origin_id, origin_detail, verdict
    FROM facts WHERE theme_id = ? AND tier IN ('hot', 'cold', 'archived') ORDER BY id
"""

COPY_READS = (
    "INSERT OR IGNORE INTO reads SELECT ?, times, last_at FROM reads WHERE fact_id = ?",
    "INSERT OR IGNORE INTO fact_uses SELECT ?, given, used, last_used_at FROM fact_uses WHERE fact_id = ?",
)
"""How often it was read and used decides what an agent is given first."""


def move_row(change: Mutation, row: FactRow, theme_id: int, op: str, project: str | None) -> None:
    """Write a fact to another theme, unless one stands in its place there, and supersede the one it was."""
    if row.tier not in STANDING_TIERS:
        raise errors.FactConflict(
            f"{row.type}[{row.target}] is {row.tier} and cannot be moved to another theme; restore it first", row.tier
        )
    names = change.names
    (label,) = change.conn.execute("SELECT label FROM scopes WHERE id = ?", (row.scope_id,)).fetchone()
    scope = change.scope_for_writing(theme_id, repeat_text(label) if label else None)
    standing = find_standing_fact(change.conn, scope.id, row.type, row.target)
    uid = change.new_uid() if standing is None else standing.uid
    change.update_fact(row, op, tier=Tier.SUPERSEDED.value, superseded_by=uid, pinned=0, keep_time=True)
    if standing is not None:
        return
    origin = names.origins.by_key(row.origin_id, row.origin_detail)
    moved = change.insert_fact(
        theme_id,
        scope,
        repeat_fact(Notation(FactType(row.type), row.target, row.content), row.verdict),
        uid=uid,
        by=names.actor_by_key(row.actor_id),
        origin=replace(origin, project=project) if project and origin.project else origin,
        tier=row.tier,
        pinned=row.pinned,
        created_at=row.created_at,
        updated_at=row.updated_at,
        cooled_by=row.cooled_by,
    )
    for copy in COPY_READS:
        change.conn.execute(copy, (moved.id, row.id))
