"""Purge: real erasure. What is purged is gone from the facts, the journal, the full text and the free pages of the file.

Archive is the reversible act. A purge leaves a tombstone for each fact: that something stood here, never what.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from hermes_memory_store import errors, journal, uids
from hermes_memory_store.chunking import in_chunks
from hermes_memory_store.db import Db
from hermes_memory_store.erasing import ItemEraser, delete_items
from hermes_memory_store.items import FACT
from hermes_memory_store.journal import Entry, Journal
from hermes_memory_store.model import HELD, PERSON, RELIEF, Actor, PurgePlan, Tier
from hermes_memory_store.names import Names
from hermes_memory_store.records import FACT_COLUMNS, FACTS_WITH_READS, FactRow, Mutation
from hermes_memory_store.row_reader import RowReader
from hermes_memory_store.text_indexes import again_without_index

SAFE_TIERS = frozenset({Tier.SUPERSEDED, Tier.ARCHIVED})
"""What a purge takes that names neither a scope nor a tier: what no longer stands."""


SAMPLES = 3
"""Facts a preview shows."""


class Purge:
    """Says exactly what a purge would erase, and erases it."""

    def __init__(self, db: Db, names: Names, journal: Journal, eraser: ItemEraser) -> None:
        self._db = db
        self._names = names
        self._journal = journal
        self._eraser = eraser

    def preview(
        self,
        theme: str,
        *,
        scope: str | None = None,
        older_than_ms: int | None = None,
        tiers: Collection[Tier] | None = None,
    ) -> PurgePlan:
        """Count what `run` with the same arguments erases.

        :param scope: only this scope; then all tiers unless `tiers` says otherwise
        :param older_than_ms: only what was last changed longer ago than this
        :param tiers: only these; superseded and archived facts when neither scope nor tiers are given
        :raises UnknownTheme: UnknownScope; an unknown name never means everything
        """
        where, args = self._where(theme, scope, older_than_ms, tiers)
        counts = self._db.rows(f"SELECT f.tier, count(*) FROM facts f WHERE {where} GROUP BY f.tier", args)
        newest = self._db.rows(
            f"{FACTS_WITH_READS} WHERE {where} AND f.tier <> 'withdrawn' ORDER BY f.updated_at DESC LIMIT {SAMPLES}",
            args,
        )
        by_tier = {Tier(tier): number for tier, number in counts}
        return PurgePlan(theme, scope, by_tier, RowReader(self._names).facts(newest))

    @again_without_index
    def run(
        self,
        theme: str,
        *,
        scope: str | None = None,
        older_than_ms: int | None = None,
        tiers: Collection[Tier] | None = None,
        actor: Actor = PERSON,
    ) -> PurgePlan:
        """Erase, in one transaction, and then from the file's free pages and its write-ahead log."""
        with self._db.writing() as conn:
            plan = self.preview(theme, scope=scope, older_than_ms=older_than_ms, tiers=tiers)
            where, args = self._where(theme, scope, older_than_ms, tiers)
            rows = conn.execute(
                f"SELECT f.id, f.uid, f.theme_id, f.target, f.content, f.tier FROM facts f WHERE {where}", args
            ).fetchall()
            self._erase(conn, rows, actor)
        if not rows:
            return plan
        return replace(plan, unreached=self._eraser.scrub_items(FACT, [row[1] for row in rows]))

    @again_without_index
    def hold(
        self,
        theme: str,
        *,
        scope: str | None = None,
        older_than_ms: int | None = None,
        tiers: Collection[Tier] = SAFE_TIERS,
        actor: Actor,
    ) -> PurgePlan:
        """What an agent's purge does: superseded and archived facts leave every list at once, and are erased when the theme's
        retention is over. Until then `undo` brings them back.

        :param tiers: others only where the user has agreed
        """
        with self._db.writing() as conn:
            plan = self.preview(theme, scope=scope, older_than_ms=older_than_ms, tiers=tiers)
            where, args = self._where(theme, scope, older_than_ms, tiers)
            change = Mutation(conn, self._names, self._journal, actor)
            for row in conn.execute(f"SELECT {FACT_COLUMNS} FROM facts f WHERE {where}", args).fetchall():
                change.update_fact(FactRow(*row), HELD, tier=Tier.WITHDRAWN.value)
            change.record()
        return plan

    @again_without_index
    def erase_held(self, theme: str, retention_ms: int) -> int:
        """Erase what agents purged longer than the retention ago; how many facts that were."""
        sql = """
            SELECT f.id, f.uid, f.theme_id, f.target, f.content, f.tier FROM facts f
            WHERE f.theme_id = ? AND f.tier = 'withdrawn' AND f.updated_at < ?
              AND (SELECT op FROM journal j WHERE j.uid = f.uid ORDER BY seq DESC LIMIT 1) = ?
        """
        theme_id = self._names.theme_or_none(theme)
        with self._db.writing() as conn:
            rows = conn.execute(sql, (theme_id, self._clock_now() - retention_ms, HELD)).fetchall()
            self._erase(conn, rows, RELIEF)
        if rows:
            self._eraser.scrub_items(FACT, [row[1] for row in rows])
        return len(rows)

    def facts(self, wanted: Collection[bytes], *, actor: Actor = PERSON) -> int:
        """Erase single facts by uid; how many there were."""
        return self._erase_each(wanted, actor)[0]

    def erase(self, names: Collection[str], *, actor: Actor = PERSON) -> tuple[int, tuple[str, ...]]:
        """Erase single facts by their whole uids, in one transaction: how many there were, and the copies of the store that
        still hold them because they could not be reached."""
        return self._erase_each([uids.to_bytes(name) for name in names], actor)

    def erase_within(self, conn: sqlite3.Connection, theme_id: int, wanted: Collection[bytes], actor: Actor) -> None:
        """Erase facts of a theme inside a running transaction; say `finish` after it. Those that never were here get their
        tombstone all the same, so that nothing brings them back."""
        rows = []
        for uid in wanted:
            sql = "SELECT id, uid, theme_id, target, content, tier FROM facts WHERE theme_id = ? AND uid = ?"
            row = conn.execute(sql, (theme_id, uid)).fetchone()
            if row is not None:
                rows.append(row)
                continue
            at, actor_id = self._journal.now(conn), self._names.actor(conn, actor)
            # The journal says it too: a replay must know it.
            self._journal.append(conn, [Entry("purge", "fact", uid, theme_id, None, None)], actor=actor, at=at)
            conn.execute("INSERT OR REPLACE INTO tombstones VALUES (?, ?, ?, ?)", (uid, theme_id, at, actor_id))
        self._erase(conn, rows, actor)

    def finish(self, erased: Sequence[bytes]) -> tuple[str, ...]:
        """What follows the transaction of `erase_within`; the copies of the store that could not be reached."""
        return self._eraser.scrub_items(FACT, erased)

    @again_without_index
    def _erase_each(self, wanted: Collection[bytes], actor: Actor) -> tuple[int, tuple[str, ...]]:
        asked = list(wanted)
        rows: list[tuple[Any, ...]] = []
        with self._db.writing() as conn:
            for some in in_chunks(asked):
                marks = ", ".join("?" * len(some))
                sql = f"SELECT id, uid, theme_id, target, content, tier FROM facts WHERE uid IN ({marks})"
                rows += conn.execute(sql, some).fetchall()
            self._erase(conn, rows, actor)
        if not rows:
            return 0, ()
        return len(rows), self._eraser.scrub_items(FACT, [row[1] for row in rows])

    def _erase(self, conn: Any, rows: list[tuple[Any, ...]], actor: Actor) -> None:
        if not rows:
            return
        at = self._journal.now(conn)
        actor_id = self._names.actor(conn, actor)
        entries = []
        for key, uid, theme_id, target, content, tier in rows:
            delete_items(conn, FACT, [(key, target, content)])
            journal.redact(conn, uid)
            conn.execute("INSERT OR REPLACE INTO tombstones VALUES (?, ?, ?, ?)", (uid, theme_id, at, actor_id))
            entries.append(Entry("purge", "fact", uid, theme_id, None, {"tier": tier}))
        conn.executemany("UPDATE facts SET superseded_by = NULL WHERE superseded_by = ?", [(row[1],) for row in rows])
        self._journal.append(conn, entries, actor=actor, at=at)

    def _where(
        self, theme: str, scope: str | None, older_than_ms: int | None, tiers: Collection[Tier] | None
    ) -> tuple[str, tuple[Any, ...]]:
        wanted = tiers if tiers else (frozenset(Tier) if scope is not None else SAFE_TIERS)
        where = f"f.theme_id = ? AND f.tier IN ({', '.join('?' * len(wanted))})"
        args: list[Any] = [self._names.theme(theme), *(tier.value for tier in wanted)]
        if scope is not None:
            where += " AND f.scope_id = ?"
            args.append(self._names.scope(theme, scope).id)
        if older_than_ms is not None:
            if older_than_ms < 0:
                raise errors.ArgumentError("an age cannot be negative", older_than_ms)
            where += " AND f.updated_at < ?"
            args.append(self._clock_now() - older_than_ms)
        return where, tuple(args)

    def _clock_now(self) -> int:
        return self._journal.present()
