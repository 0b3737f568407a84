"""Facts: writing them by the rules, finding one by its uid, and changing single ones by hand."""

from __future__ import annotations

import builtins
import sqlite3
from array import array
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from hermes_memory_store import errors, notation, pages, uids
from hermes_memory_store.chunking import in_chunks
from hermes_memory_store.db import Db
from hermes_memory_store.fact_names import find_facts
from hermes_memory_store.journal import Journal
from hermes_memory_store.model import (
    HELD,
    LIVE_TIERS,
    PERSON,
    STANDING_TIERS,
    Actor,
    Change,
    Changed,
    Cursor,
    Fact,
    FactFilter,
    Gauge,
    Notation,
    Page,
    PressureLevel,
    Session,
    Sort,
    Tier,
    Waiting,
    WriteResult,
    format_notation,
)
from hermes_memory_store.names import Names
from hermes_memory_store.records import FACT_COLUMNS, FACTS_WITH_READS, FactRow, Mutation, standing_fact
from hermes_memory_store.row_reader import RowReader
from hermes_memory_store.scopes import changed, checked_label
from hermes_memory_store.sessions import Sessions
from hermes_memory_store.sources import source_of
from hermes_memory_store.text_indexes import again_without_index
from hermes_memory_store.tiers import ResolvedTheme, Tiers, present_gauge
from hermes_memory_store.waiting import WHY, waiting
from hermes_memory_store.writing import write_fact
from hermes_memory_themes import Policies, Policy

if TYPE_CHECKING:
    from hermes_memory_store.bulk import BulkResult, Line


Columns = Callable[[Mutation, FactRow], dict[str, Any] | None]
"""The columns a change sets on a fact; None: it stays as it is."""


class Facts:
    """Reads and writes single facts, and pages of them."""

    def __init__(
        self, db: Db, names: Names, journal: Journal, policies: Policies, tiers: Tiers, sessions: Sessions
    ) -> None:
        self._db = db
        self._names = names
        self._journal = journal
        self._policies = policies
        self._tiers = tiers
        self._sessions = sessions
        self._reader = RowReader(names)

    @again_without_index
    def write(
        self,
        theme: str,
        line: str | Notation,
        *,
        scope: str | None = None,
        actor: Actor | None = None,
        session: Session | None = None,
        split: bool = False,
        policy: Policy | None = None,
    ) -> WriteResult:
        """Write one fact. Acknowledged means durable: the result is returned after the commit reached the disk.

        :param line: `TYPE[target]: content`, at most the theme's `fact_chars` of content
        :param scope: its unit of work, opened if new; without one, the session's present scope, else none
        :param actor: who writes; the session when one is given, else a person
        :param split: store an over-long content as numbered parts instead of refusing it
        :param policy: what holds for the theme, where the caller has looked it up
        :raises NotationError: ContentTooLong, UnsafeText, MemoryFull; nothing was changed then
        """
        policy = policy or self._policies.for_theme(theme)
        parts = parse_fact_line(line, policy.fact_chars, split)
        label = None if scope is None else checked_label(scope)
        who = actor or (Actor("session", session.name) if session else PERSON)
        with self._db.writing() as conn:
            change = Mutation(conn, self._names, self._journal, who)
            theme_id = self._names.known_themes.get(theme) or self._names.theme_for_writing(conn, theme, change.now)
            if label is None and session is not None:
                label = self._sessions.present_scope(conn, session)
            resolved = ResolvedTheme(theme_id, theme, policy)
            before = self._tiers.gauge_with_room(conn, resolved, parts)
            written = [write_fact(change, theme_id, change.scope_for_writing(theme_id, label), said) for said in parts]
            kept = [one.row.uid for one in written]
            relief, gauge = self._tiers.relieve_within(change, resolved, before.level, keep=kept)
            if session is not None and not written[-1].closed:
                self._sessions.wrote(conn, session, written[-1].row.scope_id)
            seqs = change.record()
            facts = self._reader.facts(self._stored(conn, kept))
        return WriteResult(
            fact=facts[0],
            created=any(one.created for one in written),
            superseded=tuple(uids.to_text(uid) for one in written for uid in one.superseded),
            closed=tuple(label for one in written for label in one.closed),
            relief=relief,
            gauge=gauge,
            seqs=seqs,
            parts=tuple(facts) if len(facts) > 1 else (),
        )

    @again_without_index
    def quarantine(
        self,
        theme: str,
        line: str | Notation,
        *,
        why: str,
        scope: str | None = None,
        actor: Actor | None = None,
        session: Session | None = None,
        source: str | None = None,
    ) -> Fact:
        """Keep a suspicious fact apart until a person approves or refuses it: it replaces nothing, and nobody is told it.

        The same one again changes nothing.

        :param why: the rule it fell under, for the record
        :param source: the program it came from; the session's unless said otherwise
        :raises NotationError: ContentTooLong, UnsafeText; nothing was changed then
        """
        said = notation.parse(str(line), limit=self._policies.for_theme(theme).fact_chars)
        label = None if scope is None else checked_label(scope)
        who = actor or (Actor("session", session.name) if session else PERSON)
        if source is None and session is not None:
            source = source_of(session)
        with self._db.writing() as conn:
            change = Mutation(conn, self._names, self._journal, who)
            theme_id = self._names.theme_for_writing(conn, theme, change.now)
            if label is None and session is not None:
                label = self._sessions.present_scope(conn, session)
            key = change.scope_for_writing(theme_id, label)
            known = conn.execute(
                "SELECT uid FROM facts WHERE scope_id = ? AND tier = 'quarantined' AND type = ? AND target = ? AND content = ?",
                (key.id, said.type.value, said.target, said.content),
            ).fetchone()
            if known is None:
                row = change.insert_fact(
                    theme_id, key, said, tier=Tier.QUARANTINED.value, cooled_by=f"{WHY}{why}", source=source
                )
                change.record()
                known = (row.uid,)
            return self._reader.facts(self._stored(conn, [known[0]]))[0]

    def waiting(self, theme: str | None = None) -> builtins.list[Waiting]:
        """The facts that wait for a person, of one theme or of all, newest first, at most 1,000. :raises UnknownTheme:"""
        return waiting(self._db, self._names, theme)

    def approve(self, names: Iterable[str], *, actor: Actor = PERSON, theme: str | None = None) -> Changed:
        """Let in facts that wait: from now on they stand, by the rules of a write.

        :raises FactConflict: one of them does not wait; nothing was changed then
        """
        return self._each(self._found(names, theme), "restore", actor, awaited(restoring))

    def refuse(self, names: Iterable[str], *, actor: Actor = PERSON, theme: str | None = None) -> Changed:
        """Put away facts that wait: no list or search shows them, undo brings them back to the queue until the theme's
        retention is over, and then they are erased.

        They are not archived: an agent may ask for what is archived, and only one fact may stand for a target.

        :raises FactConflict: one of them does not wait; nothing was changed then
        """
        return self._each(self._found(names, theme), HELD, actor, awaited(lambda _, __: {"tier": Tier.WITHDRAWN.value}))

    def write_many(
        self,
        theme: str,
        lines: Sequence[Line],
        *,
        actor: Actor,
        progress: Callable[[int], None] | None = None,
    ) -> BulkResult:
        """Write many facts in few transactions, each line by the same rules as `write`.

        A refused line is reported and does not stop the others. New facts start hot while the hot tier has room and cold
        after; nothing that was hot is pushed out by a bulk write.

        :param lines: pairs of notation and scope label
        :param progress: called with the number of lines done so far after every batch
        """
        from hermes_memory_store.bulk import Bulk

        bulk = Bulk(self._db, self._names, self._journal, self._policies, self._tiers)
        return bulk.write(theme, lines, actor=actor, progress=progress)

    def get(self, uid: str, *, theme: str | None = None) -> Fact:
        """The fact that a uid names, or at least six digits of its beginning or end. With `theme`, only within it.

        :raises UnknownFact: when there is none
        :raises AmbiguousUid: when several begin or end like that, with their uids and notation
        """
        row = self._find(uid, theme)
        return self.by_ids([row.id])[0]

    def by_ids(self, ids: Sequence[int]) -> list[Fact]:
        """Facts by their keys, in the order asked for; keys that are gone are left out."""
        found: dict[int, Fact] = {}
        for some in in_chunks(ids):
            sql = f"{FACTS_WITH_READS} WHERE f.id IN ({', '.join('?' * len(some))})"
            found |= self._reader.by_id(self._db.rows(sql, tuple(some)))
        return [found[key] for key in ids if key in found]

    def named(self, wanted: Iterable[str]) -> dict[str, Fact]:
        """Facts by their whole uids, withdrawn ones too; those that are gone are left out."""
        found: dict[str, Fact] = {}
        for some in in_chunks([uids.to_bytes(uid) for uid in wanted]):
            sql = f"{FACTS_WITH_READS} WHERE f.uid IN ({', '.join('?' * len(some))})"
            found |= {fact.uid: fact for fact in self._reader.facts(self._db.rows(sql, list(some)))}
        return found

    def purged(self, wanted: Iterable[str]) -> set[str]:
        """Which of these uids are of facts that were erased here."""
        found: set[str] = set()
        for some in in_chunks([uids.to_bytes(uid) for uid in wanted]):
            sql = f"SELECT uid FROM tombstones WHERE uid IN ({', '.join('?' * len(some))})"
            found.update(uids.to_text(uid) for (uid,) in self._db.rows(sql, list(some)))
        return found

    def page(
        self,
        wanted: FactFilter,
        *,
        sort: Sort = Sort.UPDATED,
        descending: bool = True,
        after: Cursor | None = None,
        limit: int = 50,
    ) -> Page:
        """One page of the facts a filter lets through. :raises UnknownScope: UnknownSession, UnknownTheme"""
        return pages.page(self._db, self._names, wanted, sort=sort, descending=descending, after=after, limit=limit)

    def ids(self, wanted: FactFilter, *, sort: Sort = Sort.UPDATED, descending: bool = True) -> array[int]:
        """Keys of all facts a filter lets through, in order: the spine of a virtual list."""
        return pages.ids(self._db, self._names, wanted, sort=sort, descending=descending)

    def count(self, wanted: FactFilter) -> int:
        """How many facts a filter lets through."""
        return pages.count(self._db, self._names, wanted)

    def history(self, uid: str, *, theme: str | None = None) -> builtins.list[Change]:
        """Every change of one fact, oldest first."""
        return self._journal.changes(uid=uids.to_text(self._find(uid, theme).uid))

    def chain(self, uid: str, *, theme: str | None = None) -> builtins.list[Fact]:
        """The facts that replaced one another, from the oldest known to the one that stands."""
        row = self._find(uid, theme)
        with self._db.snapshot() as conn:
            keys = {row.id}
            newest = row
            while newest.superseded_by is not None:
                found = conn.execute(
                    f"SELECT {FACT_COLUMNS} FROM facts f WHERE uid = ?", (newest.superseded_by,)
                ).fetchone()
                if found is None or found[0] in keys:
                    break
                newest = FactRow(*found)
                keys.add(newest.id)
            reach = list(keys)
            while reach:
                marks = ", ".join("?" * len(reach))
                sql = f"SELECT id FROM facts WHERE superseded_by IN (SELECT uid FROM facts WHERE id IN ({marks}))"
                reach = [key for (key,) in conn.execute(sql, reach) if key not in keys]
                keys.update(reach)
        return self.by_ids(sorted(keys))

    def edit(self, uid: str, content: str, *, actor: Actor = PERSON, theme: str | None = None) -> Changed:
        """Give a fact another content. It keeps its uid; the journal keeps what stood there before.

        :raises ContentTooLong: UnsafeText, UnknownFact, FactConflict; nothing was changed then
        """
        row = self._find(uid, theme)
        limit = self._policies.for_theme(self._names.theme_name(row.theme_id)).fact_chars
        said = notation.parse(format_notation(row.type, row.target, content), limit=limit)
        if said.target != row.target:
            raise errors.NotationError("the content cannot contain a notation of its own", content)
        return self._each([row.uid], "edit", actor, lambda _, __: {"content": said.content})

    def pin(
        self, names: Iterable[str], pinned: bool = True, *, actor: Actor = PERSON, theme: str | None = None
    ) -> Changed:
        """Pin facts: pressure never moves them. Pinning a fact that is not hot warms it."""

        def columns(_: Mutation, row: FactRow) -> dict[str, Any] | None:
            if bool(row.pinned) == pinned:
                return None
            return {"pinned": 1, "tier": Tier.HOT.value, "cooled_by": None} if pinned else {"pinned": 0}

        op = "pin" if pinned else "unpin"
        return self._each(self._found(names, theme), op, actor, columns, allowed=STANDING_TIERS)

    def archive(self, names: Iterable[str], *, actor: Actor = PERSON, theme: str | None = None) -> Changed:
        """Put facts away: kept, and not found unless asked for."""
        moved = {"tier": Tier.ARCHIVED.value, "cooled_by": None, "pinned": 0}
        return self._each(self._found(names, theme), "archive", actor, moving(moved), allowed=STANDING_TIERS)

    def cool(self, names: Iterable[str], *, actor: Actor = PERSON, theme: str | None = None) -> Changed:
        """Move facts out of the hot tier by hand: found by search, no longer injected."""
        moved = {"tier": Tier.COLD.value, "cooled_by": str(actor), "pinned": 0}
        return self._each(self._found(names, theme), "cool", actor, moving(moved), allowed=LIVE_TIERS)

    def warm(self, names: Iterable[str], *, actor: Actor = PERSON, theme: str | None = None) -> Changed:
        """Move facts to the hot tier by hand."""
        return self.restore(names, actor=actor, theme=theme)

    def restore(self, names: Iterable[str], *, actor: Actor = PERSON, theme: str | None = None) -> Changed:
        """Bring facts back to hot: archived, cold, quarantined or superseded ones.

        What stands in the place of a superseded one becomes superseded by it.
        """
        return self._each(self._found(names, theme), "restore", actor, restoring)

    def move(
        self, names: Iterable[str], scope: str | None, *, actor: Actor = PERSON, theme: str | None = None
    ) -> Changed:
        """Move facts to another scope of their theme, opened if new.

        :raises FactConflict: when another fact stands there for the same type and target
        """
        label = None if scope is None else checked_label(scope)

        def columns(change: Mutation, row: FactRow) -> dict[str, Any] | None:
            there = change.scope_for_writing(row.theme_id, label)
            if there.id == row.scope_id:
                return None
            standing = standing_fact(change.conn, there.id, row.type, row.target)
            if standing is not None and row.tier in STANDING_TIERS:
                raise errors.FactConflict(
                    f"scope {there.label or '(none)'!r} already has {row.type}[{row.target}] "
                    f"({uids.to_text(standing.uid)}), so that {uids.to_text(row.uid)} cannot move there; "
                    "move that one elsewhere first, or edit it instead",
                    row.target,
                )
            return {"scope": there}

        return self._each(self._found(names, theme), "move", actor, columns)

    def _stored(self, conn: sqlite3.Connection, wanted: Sequence[bytes]) -> builtins.list[tuple[Any, ...]]:
        return [conn.execute(f"{FACTS_WITH_READS} WHERE f.uid = ?", (uid,)).fetchone() for uid in wanted]

    def _found(self, names: Iterable[str], theme: str | None) -> builtins.list[bytes]:
        return [row.uid for row in self._find_all(names, theme)]

    @again_without_index
    def _each(
        self,
        wanted: Sequence[bytes],
        op: str,
        actor: Actor,
        columns: Columns,
        *,
        allowed: Collection[Tier] = (),
    ) -> Changed:
        """Set, for each fact, the columns that the rule names; one change for all of them, none when one is refused."""
        with self._db.writing() as conn:
            change = Mutation(conn, self._names, self._journal, actor)
            themes: dict[int, tuple[ResolvedTheme, Gauge]] = {}
            hot = []
            for uid in wanted:
                row = change.fact_row(uid)
                if row is None:
                    raise errors.UnknownFact(uids.to_text(uid))
                if allowed and row.tier not in allowed:
                    raise errors.FactConflict(
                        f"{uids.to_text(uid)} is {row.tier} and cannot be changed by {op}; restore it first", row.tier
                    )
                if row.theme_id not in themes:
                    resolved = self._tiers.resolved_theme(row.theme_id)
                    themes[row.theme_id] = resolved, present_gauge(conn, resolved)
                patch = columns(change, row)
                patch = {k: v for k, v in (patch or {}).items() if k == "scope" or getattr(row, k) != v}
                if patch:
                    change.update_fact(row, op, **patch)
                if patch.get("tier") == Tier.HOT or "content" in patch or patch.get("pinned"):
                    hot.append(uid)
            for resolved, before in themes.values():
                after = present_gauge(conn, resolved)
                self._tiers.refuse_overfull(after, 0)
                level = PressureLevel.CALM if hot and after.pct >= 95 else before.level
                self._tiers.relieve_within(change, resolved, level, keep=hot)
            return changed(change)

    def _find(self, name: str, theme: str | None) -> FactRow:
        return self._find_all([name], theme)[0]

    def _find_all(self, names: Iterable[str], theme: str | None) -> builtins.list[FactRow]:
        return find_facts(self._db, builtins.list(names), None if theme is None else self._names.theme(theme))


def parse_fact_line(line: str | Notation, limit: int, split: bool) -> list[Notation]:
    """A line as the facts it becomes: several where it is too long and may be split. :raises InputError: it is none"""
    return notation.split(line, limit) if split else [notation.parse(str(line), limit=limit)]


def restoring(change: Mutation, row: FactRow) -> dict[str, Any] | None:
    """The rule that makes a fact hot, and supersedes what stands in its place."""
    if row.tier == Tier.HOT:
        return None
    standing = standing_fact(change.conn, row.scope_id, row.type, row.target, besides=row.uid)
    if standing is not None:
        change.update_fact(standing, "supersede", tier=Tier.SUPERSEDED.value, superseded_by=row.uid, pinned=0)
    return {"tier": Tier.HOT.value, "superseded_by": None, "cooled_by": None}


def awaited(columns: Columns) -> Columns:
    """The same rule, for facts that wait only."""

    def checked(change: Mutation, row: FactRow) -> dict[str, Any] | None:
        if row.tier != Tier.QUARANTINED:
            raise errors.FactConflict(f"{uids.to_text(row.uid)} is {row.tier} and does not wait for anybody", row.tier)
        return columns(change, row)

    return checked


def moving(columns: dict[str, Any]) -> Columns:
    """The rule that sets the same columns on every fact that is not there yet."""
    return lambda _, row: None if row.tier == columns["tier"] else columns
