"""Purge: permanent erasure from the facts, the journal, the full-text index and the free pages of the file.

Archiving is the reversible act. A purge leaves a tombstone for each fact, which records that something was here,
never what it said.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol

from hermes_memory_store import errors, uids
from hermes_memory_store.context.read_log import ReadLog
from hermes_memory_store.database.db import Db
from hermes_memory_store.database.index_health import retry_without_index
from hermes_memory_store.items import journal
from hermes_memory_store.items.fact_pages import to_facts
from hermes_memory_store.items.journal import Journal, JournalEntry
from hermes_memory_store.items.kinds import FACT, FACT_COLUMNS, FactRow
from hermes_memory_store.items.mutation import FACTS_WITH_READS, Mutation
from hermes_memory_store.items.name_keys import Names
from hermes_memory_store.items.origin_rows import erase_unused_origins, find_origins_of
from hermes_memory_store.items.tier_columns import UNLINK_FACT
from hermes_memory_store.memory.fact_lookup import MIN_DIGITS, find_facts_by_name
from hermes_memory_store.model import HOLD_OPERATION, PERSON, RELIEF, Actor, FactPurgePlan, PurgePlan, Tier, Turn
from hermes_memory_store.projects.branch_states import erase_unused_branches
from hermes_memory_store.uids import Uids
from hermes_memory_store.upkeep.erased_words import (
    PhraseSet,
    count_records,
    erase_from_records,
    find_lasting_names,
    load_erased_words,
)
from hermes_memory_store.upkeep.item_erasure import ItemEraser, delete_items
from hermes_memory_store.upkeep.waiting_erasure import erase_words_from_waiting

SAFE_TIERS = frozenset({Tier.SUPERSEDED, Tier.ARCHIVED})
"""What a purge takes that names neither a scope nor a tier: what no longer stands."""


OTHER_FACTS = "SELECT uid, content FROM facts WHERE tier <> 'withdrawn'"

TURN_BY_UID = "SELECT id, uid, content FROM turns WHERE uid = ?"

WITHDRAWN_CALLED = """
    SELECT uid FROM facts WHERE tier = 'withdrawn' AND (?2 IS NULL OR theme_id = ?2)
      AND (lower(hex(uid)) LIKE ?1 || '%' OR lower(hex(uid)) LIKE '%' || ?1)
"""

WRITERS = """
    SELECT DISTINCT a.name FROM journal j JOIN actors a ON a.id = j.actor_id
    WHERE j.uid = ? AND j.entity = 'fact' AND a.kind = 'session'
"""

TEAM_ROWS = (
    "SELECT count(*) FROM sync_rows WHERE uid = ? AND seq IS NOT NULL",
    "SELECT count(*) FROM sync_turns WHERE uid = ? AND sent = 1",
)

OVERDUE = """
    SELECT uid FROM facts f WHERE theme_id = ? AND tier = 'withdrawn' AND updated_at < ?
      AND (SELECT op FROM journal j WHERE j.uid = f.uid ORDER BY seq DESC LIMIT 1) = ?
"""
"""Facts that an agent purged and whose retention is over."""

ERASABLE = "SELECT id, uid, theme_id, scope_id, target, content, tier FROM facts WHERE uid = ?"

SAMPLES = 3
"""Facts a preview shows."""


class TurnEraser(Protocol):
    def of_theme(self, conn: sqlite3.Connection, theme_id: int) -> Iterator[Turn]: ...
    def erase_within(
        self,
        conn: sqlite3.Connection,
        theme_id: int,
        rows: Sequence[tuple[int, bytes, str]],
        actor: Actor,
        now: int,
        *,
        everywhere: bool | None = None,
    ) -> None: ...
    def scrub(self) -> tuple[str, ...]: ...


class Purge:
    """Preview exactly what a purge would erase, and erase it."""

    def __init__(
        self,
        db: Db,
        names: Names,
        journal: Journal,
        eraser: ItemEraser,
        reads: ReadLog,
        turns: Callable[[], TurnEraser],
    ) -> None:
        """Create the purge of a store. :param turns: loads what erases captured turns"""
        self._db = db
        self._names = names
        self._journal = journal
        self._eraser = eraser
        self._reads = reads
        self._turns = turns

    def preview(
        self,
        theme: str,
        *,
        scope: str | None = None,
        older_than_ms: int | None = None,
        tiers: Collection[Tier] | None = None,
        with_turns: bool = True,
    ) -> PurgePlan:
        """Return exactly what `execute` with the same arguments erases.

        :param with_turns: whether captured turns that hold the words are erased, too
        :raises UnknownTheme: UnknownScope, ArgumentError
        """
        self._reads.flush()
        with self._db.snapshot() as conn:
            return self._plan(conn, theme, scope, older_than_ms, tiers, with_turns)[0]

    def count(
        self,
        theme: str,
        *,
        scope: str | None = None,
        older_than_ms: int | None = None,
        tiers: Collection[Tier] | None = None,
    ) -> PurgePlan:
        """Count the facts that `execute` with the same arguments erases.

        :param scope: only this scope; then all tiers unless `tiers` says otherwise
        :param older_than_ms: only what was last changed longer ago than this
        :param tiers: only these; superseded and archived facts when neither scope nor tiers are given
        :raises UnknownTheme: UnknownScope; an unknown name never means everything
        :raises ArgumentError: an age is negative
        """
        where, args = self._where(theme, scope, older_than_ms, tiers)
        counts = self._db.rows(f"SELECT f.tier, count(*) FROM facts f WHERE {where} GROUP BY f.tier", args)
        newest = self._db.rows(
            f"{FACTS_WITH_READS} WHERE {where} AND f.tier <> 'withdrawn' ORDER BY f.updated_at DESC LIMIT {SAMPLES}",
            args,
        )
        by_tier = {Tier(tier): number for tier, number in counts}
        return PurgePlan(self._names.find_theme_name(theme), scope, by_tier, to_facts(self._names, newest))

    @retry_without_index
    def execute(
        self,
        theme: str,
        *,
        scope: str | None = None,
        older_than_ms: int | None = None,
        tiers: Collection[Tier] | None = None,
        with_turns: bool = True,
        actor: Actor = PERSON,
    ) -> PurgePlan:
        """Erase facts in one transaction with everything that holds their words, as `execute_facts` does.

        :raises UnknownTheme: UnknownScope, ArgumentError; nothing was erased then
        """
        self._reads.flush()
        with self._db.write_transaction() as conn:
            plan, keys = self._plan(conn, theme, scope, older_than_ms, tiers, with_turns)
            assert plan.erasure is not None
            self._erase_planned(conn, keys, plan.erasure, actor)
        return replace(plan, unreached=self._scrub(keys)) if keys else plan

    @retry_without_index
    def soft_delete(
        self,
        theme: str,
        *,
        scope: str | None = None,
        older_than_ms: int | None = None,
        tiers: Collection[Tier] = SAFE_TIERS,
        actor: Actor,
    ) -> PurgePlan:
        """Purge on behalf of an agent: hide superseded and archived facts at once, erase them later.

        They are erased when the theme's retention is over. Until then `undo` restores them.

        :param tiers: others only where the user has agreed
        :raises UnknownTheme: UnknownScope, ArgumentError; nothing was changed then
        """
        with self._db.write_transaction() as conn:
            plan = self.count(theme, scope=scope, older_than_ms=older_than_ms, tiers=tiers)
            where, args = self._where(theme, scope, older_than_ms, tiers)
            change = Mutation(conn, self._names, self._journal, actor)
            for row in conn.execute(f"SELECT {FACT_COLUMNS} FROM facts f WHERE {where}", args).fetchall():
                change.update_fact(FactRow(*row), HOLD_OPERATION, tier=Tier.WITHDRAWN.value)
            change.record()
        return plan

    @retry_without_index
    def erase_soft_deleted(self, theme: str, retention_ms: int) -> int:
        """Erase what agents purged longer ago than the retention; return the number of facts."""
        with self._db.write_transaction() as conn:
            args = (self._names.theme_or_none(theme), self._clock_now() - retention_ms, HOLD_OPERATION)
            keys = [uid for (uid,) in conn.execute(OVERDUE, args)]
            self._erase(conn, keys, RELIEF)
        if keys:
            self._eraser.scrub_items(FACT, keys)
        return len(keys)

    def facts(self, wanted: Collection[bytes], *, actor: Actor = PERSON) -> int:
        """Erase single facts by uid; return how many there were."""
        return self._erase_each(wanted, actor)[0]

    def erase(self, names: Uids, *, actor: Actor = PERSON) -> tuple[int, tuple[str, ...]]:
        """Erase single facts by their whole uids, in one transaction.

        Returns how many there were, and the copies of the store that still hold them because they could not be reached.

        :raises ValueError: one is no whole uid; nothing was erased then
        """
        return self._erase_each([uids.parse_uid(name) for name in uids.list_uids(names)], actor)

    def preview_facts(self, names: Uids, *, theme: str | None = None, with_turns: bool = True) -> FactPurgePlan:
        """Return exactly what `execute_facts` with the same arguments erases.

        :param names: one uid or many, whole or at least six digits of their beginning or end; also of facts whose creation was
            undone
        :param theme: search only within it
        :param with_turns: whether captured turns that hold the words are erased, too
        :raises UnknownFact: AmbiguousUid, UnknownTheme
        """
        self._reads.flush()
        with self._db.snapshot() as conn:
            keys = self._find_purgeable(names, theme)
            return self._plan_facts(conn, keys, with_turns)

    @retry_without_index
    def execute_facts(
        self, names: Uids, *, theme: str | None = None, with_turns: bool = True, actor: Actor = PERSON
    ) -> FactPurgePlan:
        """Erase single facts with everything that holds their words: journal, backups, team rows, captured turns, questions of
        recalls and saved answers of calls.

        >>> fact = store.facts.write("ops", "V[key]: k7Rw2Qp9x").fact
        >>> turn = store.turns.add("ops", "user", "the key is k7Rw2Qp9x")
        >>> plan = store.purge.execute_facts(fact.uid)
        >>> [fact.target for fact in plan.facts], len(plan.turns), store.turns.count("ops")
        (['key'], 1, 0)

        :raises UnknownFact: AmbiguousUid, UnknownTheme; nothing was erased then
        """
        self._reads.flush()
        with self._db.write_transaction() as conn:
            keys = self._find_purgeable(names, theme)
            plan = self._plan_facts(conn, keys, with_turns)
            self._erase_planned(conn, keys, plan, actor)
        return replace(plan, unreached=self._scrub(keys))

    def erase_within(self, conn: sqlite3.Connection, theme_id: int, fact_uids: Collection[bytes], actor: Actor) -> None:
        """Erase facts of a theme within a running transaction; call `finish` after it.

        Facts that were never here get their tombstone as well, so that nothing brings them back.
        """
        here = "SELECT 1 FROM facts WHERE theme_id = ? AND uid = ?"
        keys = {uid: None for uid in fact_uids if conn.execute(here, (theme_id, uid)).fetchone()}
        for uid in fact_uids:
            if uid in keys:
                continue
            at, actor_id = self._journal.now(conn), self._names.actor(conn, actor)
            # The journal says it too: a replay must know it.
            self._journal.append(conn, [JournalEntry("purge", "fact", uid, theme_id, None, None)], actor=actor, at=at)
            conn.execute("INSERT OR REPLACE INTO tombstones VALUES (?, ?, ?, ?)", (uid, theme_id, at, actor_id))
        self._erase(conn, keys, actor)

    def finish(self, erased: Sequence[bytes]) -> tuple[str, ...]:
        """Finish an `erase_within` after its transaction; return the copies that could not be reached."""
        return self._eraser.scrub_items(FACT, erased)

    @retry_without_index
    def _erase_each(self, fact_uids: Collection[bytes], actor: Actor) -> tuple[int, tuple[str, ...]]:
        with self._db.write_transaction() as conn:
            erased = self._erase(conn, sorted(fact_uids), actor)
        return len(erased), self._eraser.scrub_items(FACT, erased) if erased else ()

    def _erase(self, conn: sqlite3.Connection, fact_uids: Iterable[bytes], actor: Actor) -> list[bytes]:
        """Erase facts within a running transaction; return the uids of those that were there."""
        rows = [row for uid in dict.fromkeys(fact_uids) for row in conn.execute(ERASABLE, (uid,))]
        keys = [row[1] for row in rows]
        if not rows:
            return keys
        words = load_erased_words(conn, keys)
        erase_from_records(conn, words)
        # Before the commit: a bridge that takes up what waits must not bring back what was erased.
        erase_words_from_waiting(self._db.path, words)
        at = self._journal.now(conn)
        actor_id = self._names.actor(conn, actor)
        change = Mutation(conn, self._names, self._journal, actor)
        origins = find_origins_of(conn, keys)
        for key, uid, theme_id, scope_id, target, content, tier in rows:
            change.abandoned[scope_id] = None
            delete_items(conn, FACT, [(key, target, content)])
            journal.redact_journal(conn, uid)
            conn.execute("INSERT OR REPLACE INTO tombstones VALUES (?, ?, ?, ?)", (uid, theme_id, at, actor_id))
            change.entries.append(JournalEntry("purge", "fact", uid, theme_id, None, {"tier": tier}))
        conn.executemany(UNLINK_FACT, [(uid,) for uid in keys])
        change.record()
        erase_unused_origins(conn, origins)
        erase_unused_branches(conn)
        self._names.origins.forget()
        return keys

    def _erase_planned(
        self, conn: sqlite3.Connection, keys: Sequence[bytes], plan: FactPurgePlan, actor: Actor
    ) -> None:
        """Erase facts and the turns of their plan within a running transaction; call `_scrub` after it."""
        now = self._journal.now(conn)
        for theme in dict.fromkeys(turn.theme for turn in plan.turns):
            turns_of_theme = [uids.parse_uid(turn.uid) for turn in plan.turns if turn.theme == theme]
            rows = [conn.execute(TURN_BY_UID, (uid,)).fetchone() for uid in turns_of_theme]
            self._turns().erase_within(conn, self._names.theme(theme), rows, actor, now, everywhere=True)
        self._erase(conn, keys, actor)

    def _scrub(self, keys: Sequence[bytes]) -> tuple[str, ...]:
        """Finish an `_erase_planned` after its transaction; return the copies that could not be reached."""
        unreached = self._eraser.scrub_items(FACT, keys)
        return tuple(dict.fromkeys([*unreached, *self._turns().scrub()]))

    def _plan(
        self,
        conn: sqlite3.Connection,
        theme: str,
        scope: str | None,
        older_than_ms: int | None,
        tiers: Collection[Tier] | None,
        with_turns: bool,
    ) -> tuple[PurgePlan, list[bytes]]:
        """Return what a purge erases, and the uids of its facts."""
        plan = self.count(theme, scope=scope, older_than_ms=older_than_ms, tiers=tiers)
        where, args = self._where(theme, scope, older_than_ms, tiers)
        keys = [uid for (uid,) in conn.execute(f"SELECT f.uid FROM facts f WHERE {where} ORDER BY f.id", args)]
        return replace(plan, erasure=self._plan_facts(conn, keys, with_turns)), keys

    def _find_purgeable(self, names: Uids, theme: str | None) -> list[bytes]:
        """Return the uids of facts by their names, also of facts that are withdrawn: their words are still there."""
        theme_id = None if theme is None else self._names.theme(theme)
        keys: dict[bytes, None] = {}
        for name in uids.list_uids(names):
            try:
                row = find_facts_by_name(self._db, [name], theme_id)[0]
                keys[row.uid] = None
            except errors.UnknownFact:
                digits = uids.parse_uid_digits(name[:64]) or ""
                withdrawn = self._db.rows(WITHDRAWN_CALLED, (digits, theme_id)) if len(digits) >= MIN_DIGITS else []
                if len(withdrawn) != 1:
                    raise
                keys[withdrawn[0][0]] = None
        return list(keys)

    def _plan_facts(self, conn: sqlite3.Connection, keys: Sequence[bytes], with_turns: bool) -> FactPurgePlan:
        words = load_erased_words(conn, keys)
        rows = [conn.execute(f"{FACTS_WITH_READS} WHERE f.uid = ?", (key,)).fetchone() for key in keys]
        themes: dict[int, list[bytes]] = {}
        for key, row in zip(keys, rows, strict=True):
            themes.setdefault(row[2], []).append(key)
        turns = [
            turn for theme_id, some in themes.items() if with_turns for turn in self._turns_of(conn, some, theme_id)
        ]
        standing = conn.execute(OTHER_FACTS).fetchall()
        erased = set(keys)
        same = [
            conn.execute(f"{FACTS_WITH_READS} WHERE f.uid = ?", (uid,)).fetchone()
            for uid, content in standing
            if uid not in erased and words.phrases.is_in(content)
        ]
        items = [*keys, *(uids.parse_uid(turn.uid) for turn in turns)]
        return FactPurgePlan(
            facts=tuple(to_facts(self._names, rows)),
            versions=len(words.contents.phrases),
            turns=tuple(turns),
            records=count_records(conn, words),
            backups=self._eraser.count_copies(items),
            team_rows=sum(conn.execute(sql, (uid,)).fetchone()[0] for uid in items for sql in TEAM_ROWS),
            others=tuple(to_facts(self._names, same)),
            lasting=tuple(find_lasting_names(conn, words)),
        )

    def _turns_of(self, conn: sqlite3.Connection, keys: Collection[bytes], theme_id: int) -> Iterator[Turn]:
        """Yield the turns of a theme that hold the words of facts; of one ordinary word, those of the sessions that said it."""
        everywhere = load_erased_words(conn, keys).phrases
        written: dict[str, set[str]] = {}
        for key in keys:
            contents = load_erased_words(conn, [key]).contents.phrases
            for (writer,) in conn.execute(WRITERS, (key,)):
                written.setdefault(writer, set()).update(contents)
        own = {writer: PhraseSet(contents) for writer, contents in written.items()}
        for turn in self._turns().of_theme(conn, theme_id):
            said_by = own.get(turn.session or "")
            if everywhere.is_in(turn.content) or (said_by is not None and said_by.is_in(turn.content)):
                yield turn

    def _where(
        self, theme: str, scope: str | None, older_than_ms: int | None, tiers: Collection[Tier] | None
    ) -> tuple[str, tuple[Any, ...]]:
        chosen = tiers if tiers else (frozenset(Tier) if scope is not None else SAFE_TIERS)
        where = f"f.theme_id = ? AND f.tier IN ({', '.join('?' * len(chosen))})"
        args: list[Any] = [self._names.theme(theme), *(tier.value for tier in chosen)]
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
        return self._journal.current_time()
