"""Restore facts from JSONL: each in its recorded state, whatever stands in its place by now.

A restored fact keeps its uid, author, tier, times, pin, reads and link. Where another fact stands for the same
scope, type and target, the one changed last stands and the other is superseded by it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from enum import Enum, auto
from pathlib import Path

from hermes_memory_store import errors
from hermes_memory_store.clock import DAY_MS
from hermes_memory_store.conversations.turn_rows import PortableTurn, admit_turn, find_import_uid, insert_turns
from hermes_memory_store.files.jsonl_format import PortableFact, PortableItem, PortableScope
from hermes_memory_store.intake.intake import (
    Admission,
    AdmittedFact,
    AdmittedText,
    AdmittedTurn,
    Writer,
    repeat_text,
    to_listed_name,
)
from hermes_memory_store.items.batch_mutation import BatchMutation, nocase_place
from hermes_memory_store.items.journal import JournalEntry
from hermes_memory_store.items.kinds import FACT_COLUMNS, STANDS, FactRow
from hermes_memory_store.items.mutation import count_notation_chars, find_standing_fact
from hermes_memory_store.items.name_keys import ScopeKey, to_theme_name
from hermes_memory_store.items.origin_rows import drop_foreign_turns
from hermes_memory_store.items.tier_columns import (
    COOLED_BY_PRESSURE,
    cold_columns,
    link_columns,
    quarantined_columns,
    settled_columns,
    superseded_columns,
)
from hermes_memory_store.memory.scopes import admit_label
from hermes_memory_store.model import IMPORT, STANDING_TIERS, Actor, Origin, ScopeStatus, Tier, Way
from hermes_memory_store.store import Store

FULL_PCT = 95
"""How full an import may make the hot tier, in percent: from there on the next write would cool facts again."""

SAME = f"""
    SELECT {FACT_COLUMNS} FROM facts f
    WHERE theme_id = ? AND tier IN ('hot', 'cold', 'archived', 'superseded', 'quarantined') AND type = ? AND target = ?
      AND scope_id = ? AND content = ? AND ({STANDS}) = ?
    ORDER BY updated_at DESC
"""

FACT_TIER = FactRow._fields.index("tier")


AdmittedItem = Admission | AdmittedTurn | AdmittedText | None
"""What passed the intake of an item: a fact, a turn, a scope's label; None for what says nothing."""


class RestoreOutcome(Enum):
    """The outcome of one fact of an import."""

    CREATED = auto()
    DEDUPLICATED = auto()
    PURGED_HERE = auto()
    TURN_CREATED = auto()
    TURN_DEDUPLICATED = auto()
    """It is there, or was erased for the whole team."""
    NO_FACT = auto()


class Restorer:
    """Restore facts into one theme of a store."""

    def __init__(
        self, store: Store, theme: str, scope: str | None, *, captured_by: Actor = IMPORT, origin: Origin | None = None
    ) -> None:
        """Restore into a theme.

        :param captured_by: who brings turns, as the journal says it
        :param origin: of what says none; the one the import is attributed to unless given
        """
        self._origin = origin or store.names.origins.current()
        if scope is not None:
            admit_label(store.intake, theme, scope, writer=Writer.AGENT)
        self._theme = to_theme_name(theme)
        self.limit = store.policies.for_theme(self._theme).fact_chars
        self._gauge = store.tiers.gauge(self._theme)
        self._store = store
        self._default_scope = scope
        self._captured_by = captured_by
        self._captures: list[JournalEntry] = []
        self._scopes: dict[str | None, ScopeKey] = {}
        self._now_called: dict[bytes, bytes] = {}
        self._unlinked: dict[bytes, bytes] = {}
        self.waiting = 0
        """Facts that read like instructions, and wait for a person."""
        self.masked = 0
        """Facts whose secrets were masked."""
        self.unkept = 0
        """Secrets that were masked and that nothing keeps."""
        self.superseded = 0
        """Facts that stand no longer, because another one of the same scope, type and target was changed later."""

    def restore_batch(
        self, batch: Iterable[tuple[int, PortableItem]]
    ) -> list[tuple[RestoreOutcome, int, errors.StoreError | None]]:
        """Restore one batch in one transaction; return the outcome of each line, by its number."""
        with self._store.intake.hold_secrets():
            with self._store.intake.gather_secrets():
                admitted = [(number, item, self._admit(item)) for number, item in batch]
            return self._restore_batch(admitted)

    def _restore_batch(
        self, batch: Iterable[tuple[int, PortableItem, AdmittedItem | errors.StoreError]]
    ) -> list[tuple[RestoreOutcome, int, errors.StoreError | None]]:
        outcomes: list[tuple[RestoreOutcome, int, errors.StoreError | None]] = []
        with self._store.db.write_transaction() as conn:
            change = BatchMutation(conn, self._store.names, self._store.journal, IMPORT, self._origin)
            theme_id = self._store.names.theme_for_writing(conn, self._theme, change.now)
            self._scopes.clear()
            self._captures.clear()
            self._gauge = self._store.tiers.gauge_within(conn, theme_id)
            for number, item, admitted in batch:
                if isinstance(admitted, errors.StoreError):
                    outcomes.append((RestoreOutcome.NO_FACT, number, admitted))
                    continue
                try:
                    outcomes.append((self._restore(change, theme_id, item, admitted, number), number, None))
                except errors.StoreError as error:
                    outcomes.append((RestoreOutcome.NO_FACT, number, error))
            change.record()
            if self._captures:
                self._store.journal.append(
                    conn, self._captures, actor=self._captured_by, at=change.now, origin=self._origin
                )
        return outcomes

    def link_superseded(self) -> None:
        """Set the links to facts of later lines; dangling links are dropped."""
        if not self._unlinked:
            return
        with self._store.db.write_transaction() as conn:
            change = BatchMutation(conn, self._store.names, self._store.journal, IMPORT)
            for uid, link in self._unlinked.items():
                row, successor = change.fact_row(uid), change.fact_row(self._now_called.get(link, link))
                if row is not None and successor is not None and row.tier == Tier.SUPERSEDED and successor.uid != uid:
                    change.update_fact(row, "link", keep_time=True, **link_columns(successor.uid))
            change.record()
        self._unlinked.clear()

    def _admit(self, item: PortableItem) -> AdmittedItem | errors.StoreError:
        """Check an item before its transaction; return why it must not come in, where it must not."""
        intake = self._store.intake
        try:
            if isinstance(item, PortableScope):
                return intake.admit_name(self._theme, "the scope", item.label, writer=Writer.AGENT)
            if isinstance(item, PortableTurn):
                return admit_turn(intake, self._theme, item)
            if item is None:
                return None
            return item.admit(intake, self._theme)
        except errors.StoreError as error:
            return error

    def _restore(
        self, change: BatchMutation, theme_id: int, item: PortableItem, admitted: AdmittedItem, number: int
    ) -> RestoreOutcome:
        if isinstance(item, PortableScope):
            self._restore_scope(change, theme_id, item)
            return RestoreOutcome.NO_FACT
        if isinstance(item, PortableTurn) and isinstance(admitted, AdmittedTurn):
            return self._take_turn(change, theme_id, item, admitted)
        if isinstance(item, PortableFact) and isinstance(admitted, Admission):
            self.masked += bool(admitted.masked_names or admitted.unkept)
            self.unkept += admitted.unkept
            fact = self._hold(item, admitted)
            if fact.updated_at > change.now + DAY_MS:  # it would replace what is newer, and stand before it, until then
                fact = replace(fact, updated_at=change.now)
            return self._restore_fact(change, theme_id, fact, admitted.facts[0], number)
        return RestoreOutcome.NO_FACT

    def _hold(self, fact: PortableFact, admission: Admission) -> PortableFact:
        """Return a fact as it comes in: what reads like an instruction waits; what was replaced already needs not."""
        fact = replace(fact.with_listed_names(), said=admission.facts[0].said)
        rule = None if admission.suspicion is None else admission.suspicion.rule
        if fact.tier is Tier.QUARANTINED:
            rule = rule or fact.waiting_rule
        elif fact.tier is Tier.SUPERSEDED:
            rule = None
        if rule is None:
            return fact
        self.waiting += 1
        return replace(fact, **quarantined_columns(rule) | {"tier": Tier.QUARANTINED, "pinned": False})

    def _take_turn(
        self, change: BatchMutation, theme_id: int, turn: PortableTurn, admitted: AdmittedTurn
    ) -> RestoreOutcome:
        uid = find_import_uid(change.conn, theme_id, self._theme, turn.uid)
        if uid is None:
            return RestoreOutcome.TURN_DEDUPLICATED
        turns = [(uid, turn, admitted)]
        self._captures += insert_turns(
            change.conn, self._store.names.origins, theme_id, turns, change.now, self._origin
        )
        return RestoreOutcome.TURN_CREATED

    def _restore_scope(self, change: BatchMutation, theme_id: int, portable: PortableScope) -> None:
        """Create a scope that does not exist, in its recorded state; leave an existing one as it is."""
        self._scopes.clear()
        key = self._store.names.scope_or_none(theme_id, portable.label)
        if key is not None and key.status != ScopeStatus.WITHDRAWN:
            return
        if key is None:
            taken = change.conn.execute("SELECT 1 FROM scopes WHERE uid = ?", (portable.uid,)).fetchone()
            uid = None if taken else portable.uid
            key = change.insert_scope(theme_id, repeat_text(portable.label), uid=uid, at=portable.opened_at)
        else:
            key = change.scope_for_writing(theme_id, repeat_text(portable.label))
        if portable.status is ScopeStatus.CLOSED:
            closed_at = portable.closed_at or change.now
            change.update_scope(
                key.id,
                "close",
                status=ScopeStatus.CLOSED,
                closed_at=closed_at,
                closed_by=portable.closed_by and to_listed_name(portable.closed_by),
            )

    def _restore_fact(
        self, change: BatchMutation, theme_id: int, fact: PortableFact, admitted: AdmittedFact, number: int
    ) -> RestoreOutcome:
        scope = self._scope(change, theme_id, fact.scope or self._default_scope)
        link = fact.superseded_by and self._now_called.get(fact.superseded_by, fact.superseded_by)
        if change.has_pending(fact.uid, link, nocase_place(scope.id, fact.said.type.value, fact.said.target)):
            change.flush()
        there = change.fact_row(fact.uid)
        if there is not None and there.theme_id == theme_id:
            if there.tier != Tier.WITHDRAWN or (there.type, there.target) != (fact.said.type.value, fact.said.target):
                return RestoreOutcome.DEDUPLICATED
            self._insert(change, theme_id, scope, fact, admitted, there.uid, number, withdrawn=there)
            return RestoreOutcome.CREATED
        if change.conn.execute("SELECT 1 FROM tombstones WHERE uid = ?", (fact.uid,)).fetchone():
            return RestoreOutcome.PURGED_HERE
        same = self._same(change, theme_id, scope, fact, copied=there is not None)
        if same is not None:
            self._now_called[fact.uid] = same.uid
            return RestoreOutcome.DEDUPLICATED
        # In another theme of this store the same uid names a fact of its own.
        uid = fact.uid if there is None else change.new_uid()
        if uid != fact.uid:
            self._now_called[fact.uid] = uid
        self._insert(change, theme_id, scope, fact, admitted, uid, number)
        return RestoreOutcome.CREATED

    def _scope(self, change: BatchMutation, theme_id: int, label: str | None) -> ScopeKey:
        if label not in self._scopes:
            self._scopes[label] = change.scope_for_writing(theme_id, None if label is None else repeat_text(label))
        return self._scopes[label]

    def _same(
        self, change: BatchMutation, theme_id: int, scope: ScopeKey, fact: PortableFact, *, copied: bool
    ) -> FactRow | None:
        """Find the fact with the same content under another uid: the standing one, or a copy from another theme."""
        notation = fact.said
        args = (theme_id, notation.type.value, notation.target, scope.id, notation.content, fact.tier in STANDING_TIERS)
        for row in map(FactRow._make, change.conn.execute(SAME, args)):
            if fact.tier in STANDING_TIERS or (copied and row.created_at == fact.created_at):
                return row
        if fact.tier not in STANDING_TIERS:
            return None
        standing = find_standing_fact(change.conn, scope.id, notation.type, notation.target)
        if standing is None or standing.updated_at < fact.updated_at:
            return None
        # It said the same as one that was replaced since: it would only come in replaced as well.
        replaced = change.conn.execute(SAME, (*args[:-1], False)).fetchone()
        return None if replaced is None or replaced[FACT_TIER] != Tier.SUPERSEDED else FactRow(*replaced)

    def _insert(
        self,
        change: BatchMutation,
        theme_id: int,
        scope: ScopeKey,
        fact: PortableFact,
        admitted: AdmittedFact,
        uid: bytes,
        number: int,
        *,
        withdrawn: FactRow | None = None,
    ) -> None:
        attributes = fact.attributes | link_columns(None)
        if fact.tier in STANDING_TIERS:
            standing = find_standing_fact(change.conn, scope.id, fact.said.type, fact.said.target)
            self.superseded += standing is not None
            if standing is not None and standing.updated_at > fact.updated_at:
                attributes |= settled_columns(Tier.SUPERSEDED.value, False, standing.uid)
            elif standing is not None:
                change.update_fact(standing, "supersede", **superseded_columns(uid), pinned=0)
        elif fact.tier is Tier.SUPERSEDED and fact.superseded_by is not None:
            successor = change.fact_row(self._now_called.get(fact.superseded_by, fact.superseded_by))
            if successor is not None and successor.theme_id == theme_id:
                attributes |= link_columns(successor.uid)
            else:
                self._unlinked[uid] = fact.superseded_by
        if attributes["tier"] == Tier.HOT and not self._has_room(fact, fact.pinned):
            attributes |= cold_columns(COOLED_BY_PRESSURE) | {"pinned": 0}
        if withdrawn is not None:
            # Undone, or held by a purge: somebody wants it back.
            change.update_fact(withdrawn, "restore", content=admitted, **admitted.attributes, scope=scope, **attributes)
            return
        if fact.origin is not None:
            origin = self._store.names.origins.resolve(change.conn, fact.origin, change.now)
            attributes["origin"] = drop_foreign_turns(change.conn, theme_id, origin)
        elif self._origin.file is not None:
            attributes["line"] = number
        row = change.insert_fact(
            theme_id, scope, admitted, uid=uid, by=fact.actor, created_at=fact.created_at, **attributes
        )
        if fact.reads:
            read_at = fact.updated_at if fact.read_at is None else fact.read_at
            change.conn.execute("INSERT INTO reads VALUES (?, ?, ?)", (row.id, fact.reads, read_at))

    def _has_room(self, fact: PortableFact, pinned: bool) -> bool:
        """Check whether the hot tier has room for one more fact, and count it then.

        Facts that an import moves out of the tier are not counted.
        """
        chars, gauge = count_notation_chars(fact.said.target, fact.said.content), self._gauge
        used, pinned_chars = gauge.used + chars, gauge.pinned + chars * pinned
        if pinned_chars > gauge.budget or (not pinned and 100 * used >= FULL_PCT * gauge.budget):
            return False
        self._gauge = replace(gauge, used=used, pinned=pinned_chars)
        return True


def to_import_origin(store: Store, file: Path) -> Origin:
    """Return the origin of what is imported from a file by whoever this import is attributed to.

    A file that is named there stays: the one that is read may be a copy of it.
    """
    origin = store.names.origins.current()
    return replace(origin, way=Way.IMPORT, file=origin.file or str(file.absolute()))
