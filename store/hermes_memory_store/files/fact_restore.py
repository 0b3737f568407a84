"""Restore facts from JSONL: each in its recorded state, whatever stands in its place by now.

A restored fact keeps its uid, author, tier, times, pin, reads and link. Where another fact stands for the same
scope, type and target, the one changed last stands and the other is superseded by it.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from enum import Enum, auto
from functools import partial
from pathlib import Path
from typing import Any

from hermes_memory_store import errors
from hermes_memory_store.clock import DAY_MS
from hermes_memory_store.conversations.turn_rows import PortableTurn, admit_turn, find_import_uid, insert_turns
from hermes_memory_store.database import database_copies
from hermes_memory_store.files.jsonl_format import PortableFact, PortableItem, PortableScope
from hermes_memory_store.intake.intake import (
    Admission,
    AdmittedTurn,
    Writer,
    repeat_text,
    to_listed_name,
)
from hermes_memory_store.items.batch_mutation import BatchMutation, nocase_place
from hermes_memory_store.items.journal import JournalEntry
from hermes_memory_store.items.kinds import FactRow
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

SAME = """
    SELECT uid, tier, created_at FROM facts
    WHERE theme_id = ? AND tier IN ('superseded', 'quarantined') AND type = ? AND target = ?
      AND scope_id = ? AND content = ?
    ORDER BY updated_at DESC
"""
"""Facts that say the same and do not stand."""

Restoration = Callable[[BatchMutation, int], "RestoreOutcome"]
"""Restores an item that passed the intake, within a transaction, into the theme of that key."""


class RestoreOutcome(Enum):
    CREATED = auto()
    DEDUPLICATED = auto()
    PURGED_HERE = auto()
    TURN_CREATED = auto()
    TURN_DEDUPLICATED = auto()
    """It is there, or was erased for the whole team."""
    NO_FACT = auto()


class Restorer:
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
        self.outcomes: Counter[RestoreOutcome] = Counter()
        self.waiting = 0
        """Facts that read like instructions, and wait for a person."""
        self.redated = 0
        self.masked = 0
        """Facts whose secrets were masked."""
        self.unkept = 0
        """Secrets that were masked and that nothing keeps."""
        self.superseded = 0
        """Facts that stand no longer, because another one of the same scope, type and target was changed later."""

    def restore_batch(self, batch: Iterable[tuple[int, PortableItem]]) -> list[tuple[int, errors.StoreError]]:
        """Restore items, each with its line, in one transaction; return why some were not, by their index."""
        refusals = []
        names, journal = self._store.names, self._store.journal
        with self._store.intake.hold_secrets():
            with self._store.intake.gather_secrets():
                restorations = [self._admit(item, line) for line, item in batch]
            with self._store.db.write_transaction() as conn:
                change = BatchMutation(conn, names, journal, IMPORT, self._origin)
                theme_id = names.theme_for_writing(conn, self._theme, change.now)
                self._scopes.clear()
                self._captures.clear()
                self._gauge = self._store.tiers.gauge_within(conn, theme_id)
                for index, restore in enumerate(restorations):
                    if isinstance(restore, errors.StoreError):
                        refusals.append((index, restore))
                        continue
                    try:
                        self.outcomes[restore(change, theme_id)] += 1
                    except errors.StoreError as error:
                        refusals.append((index, error))
                change.record()
                if self._captures:
                    journal.append(conn, self._captures, actor=self._captured_by, at=change.now, origin=self._origin)
        return refusals

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

    def _admit(self, item: PortableItem, line: int) -> Restoration | errors.StoreError:
        """Check an item before its transaction; return what restores it, or why it must not come in."""
        intake = self._store.intake
        try:
            if isinstance(item, PortableScope):
                intake.admit_name(self._theme, "the scope", item.label, writer=Writer.AGENT)
                return partial(self._restore_scope, item)
            if isinstance(item, PortableTurn):
                return partial(self._restore_turn, item, admit_turn(intake, self._theme, item))
            if item is None:
                return lambda _change, _theme_id: RestoreOutcome.NO_FACT
            return partial(self._restore_fact, item, item.admit(intake, self._theme), line)
        except errors.StoreError as error:
            return error

    def _restore_turn(
        self, turn: PortableTurn, admitted: AdmittedTurn, change: BatchMutation, theme_id: int
    ) -> RestoreOutcome:
        uid = find_import_uid(change.conn, theme_id, self._theme, turn.uid)
        if uid is None:
            return RestoreOutcome.TURN_DEDUPLICATED
        turns = [(uid, turn, admitted)]
        self._captures += insert_turns(
            change.conn, self._store.names.origins, theme_id, turns, change.now, self._origin
        )
        return RestoreOutcome.TURN_CREATED

    def _restore_scope(self, portable: PortableScope, change: BatchMutation, theme_id: int) -> RestoreOutcome:
        """Create a scope that does not exist, in its recorded state; leave an existing one as it is."""
        self._scopes.clear()
        key = self._store.names.scope_or_none(theme_id, portable.label)
        if key is not None and key.status != ScopeStatus.WITHDRAWN:
            return RestoreOutcome.NO_FACT
        if key is None:
            taken = change.conn.execute("SELECT 1 FROM scopes WHERE uid = ?", (portable.uid,)).fetchone()
            uid = None if taken else portable.uid
            key = change.insert_scope(theme_id, repeat_text(portable.label), uid=uid, at=portable.opened_at)
        else:
            key = change.scope_for_writing(theme_id, repeat_text(portable.label))
        if portable.status is ScopeStatus.CLOSED:
            closed_at = portable.closed_at or change.now
            closed_by = portable.closed_by and to_listed_name(portable.closed_by)
            change.update_scope(key.id, "close", status=ScopeStatus.CLOSED, closed_at=closed_at, closed_by=closed_by)
        return RestoreOutcome.NO_FACT

    def _restore_fact(
        self, portable: PortableFact, admission: Admission, line: int, change: BatchMutation, theme_id: int
    ) -> RestoreOutcome:
        self.masked += bool(admission.masked_names or admission.unkept)
        self.unkept += admission.unkept
        fact, admitted = self._hold(portable, admission, change.now), admission.facts[0]
        scope = self._scope(change, theme_id, fact.scope or self._default_scope)
        kind, target = fact.notation.type, fact.notation.target
        link = fact.superseded_by and self._now_called.get(fact.superseded_by, fact.superseded_by)
        if change.has_pending(fact.uid, link, nocase_place(scope.id, kind.value, target)):
            change.flush()
        there = change.fact_row(fact.uid)
        uid, withdrawn, standing = fact.uid, None, None
        if fact.tier in STANDING_TIERS:
            standing = find_standing_fact(change.conn, scope.id, kind, target)
        if there is not None and there.theme_id == theme_id:
            if there.tier != Tier.WITHDRAWN or (there.type, there.target) != (kind.value, target):
                return RestoreOutcome.DEDUPLICATED
            withdrawn = there
        else:
            if change.conn.execute("SELECT 1 FROM tombstones WHERE uid = ?", (fact.uid,)).fetchone():
                return RestoreOutcome.PURGED_HERE
            same = self._same(change, theme_id, scope, fact, standing, is_copied=there is not None)
            if same is not None:
                self._now_called[fact.uid] = same
                return RestoreOutcome.DEDUPLICATED
            if there is not None:
                # In another theme of this store the same uid names a fact of its own.
                uid = self._now_called[fact.uid] = change.new_uid()
        self.waiting += fact.tier is Tier.QUARANTINED
        self.redated += fact.created_at < portable.created_at or fact.updated_at < portable.updated_at
        attributes = self._settle(change, theme_id, fact, uid, standing)
        if withdrawn is not None:
            # Undone, or held by a purge: somebody wants it back.
            change.update_fact(withdrawn, "restore", content=admitted, **admitted.attributes, scope=scope, **attributes)
            return RestoreOutcome.CREATED
        if fact.origin is not None:
            origin = self._store.names.origins.resolve(change.conn, fact.origin, change.now)
            attributes["origin"] = drop_foreign_turns(change.conn, theme_id, origin)
        elif self._origin.file is not None:
            attributes["line"] = line
        row = change.insert_fact(
            theme_id, scope, admitted, uid=uid, by=fact.actor, created_at=fact.created_at, **attributes
        )
        if fact.reads:
            read_at = fact.updated_at if fact.read_at is None else fact.read_at
            change.conn.execute("INSERT INTO reads VALUES (?, ?, ?)", (row.id, fact.reads, read_at))
        return RestoreOutcome.CREATED

    def _hold(self, fact: PortableFact, admission: Admission, now: int) -> PortableFact:
        """Return a fact as it comes in: what reads like an instruction waits; what was replaced already needs not."""
        fact, notation = fact.with_listed_names(), admission.facts[0].said
        changes: dict[str, Any] = {} if notation is fact.notation else {"notation": notation}
        if max(fact.created_at, fact.updated_at) > now + DAY_MS:  # it would replace what is newer, until then
            changes |= {"created_at": min(fact.created_at, now), "updated_at": min(fact.updated_at, now)}
        rule = None if admission.suspicion is None else admission.suspicion.rule
        if fact.tier is Tier.QUARANTINED:
            rule = rule or fact.waiting_rule
        elif fact.tier is Tier.SUPERSEDED:
            rule = None
        if rule is not None:
            changes |= quarantined_columns(rule) | {"tier": Tier.QUARANTINED, "pinned": False}
        return replace(fact, **changes) if changes else fact

    def _scope(self, change: BatchMutation, theme_id: int, label: str | None) -> ScopeKey:
        if label not in self._scopes:
            self._scopes[label] = change.scope_for_writing(theme_id, None if label is None else repeat_text(label))
        return self._scopes[label]

    def _same(
        self,
        change: BatchMutation,
        theme_id: int,
        scope: ScopeKey,
        fact: PortableFact,
        standing: FactRow | None,
        *,
        is_copied: bool,
    ) -> bytes | None:
        """Find the fact with the same content under another uid: the standing one, or a copy from another theme."""
        notation = fact.notation
        args = (theme_id, notation.type.value, notation.target, scope.id, notation.content)
        if fact.tier not in STANDING_TIERS:
            rows = change.conn.execute(SAME, args) if is_copied else ()
            return next((uid for uid, _, created_at in rows if created_at == fact.created_at), None)
        if standing is None:
            return None
        if standing.content == notation.content:
            return standing.uid
        # Where it said the same as one that was replaced since, it would only come in replaced as well.
        replaced = change.conn.execute(SAME, args).fetchone() if standing.updated_at >= fact.updated_at else None
        return replaced[0] if replaced is not None and replaced[1] == Tier.SUPERSEDED else None

    def _settle(
        self, change: BatchMutation, theme_id: int, fact: PortableFact, uid: bytes, standing: FactRow | None
    ) -> dict[str, Any]:
        """Settle a fact with the one that stands in its place, and return the attributes that it gets."""
        attributes = fact.attributes | link_columns(None)
        if standing is not None:
            self.superseded += 1
            if standing.updated_at > fact.updated_at:
                attributes |= settled_columns(Tier.SUPERSEDED.value, False, standing.uid)
            else:
                change.update_fact(standing, "supersede", **superseded_columns(uid), pinned=0)
        elif fact.tier is Tier.SUPERSEDED and fact.superseded_by is not None:
            successor = change.fact_row(self._now_called.get(fact.superseded_by, fact.superseded_by))
            if successor is not None and successor.theme_id == theme_id:
                attributes |= link_columns(successor.uid)
            else:
                self._unlinked[uid] = fact.superseded_by
        if attributes["tier"] == Tier.HOT and not self._has_room(fact, fact.pinned):
            attributes |= cold_columns(COOLED_BY_PRESSURE) | {"pinned": 0}
        return attributes

    def _has_room(self, fact: PortableFact, pinned: bool) -> bool:
        """Check whether the hot tier has room for one more fact, and count it then, though not what leaves the tier."""
        chars, gauge = count_notation_chars(fact.notation.target, fact.notation.content), self._gauge
        used, pinned_chars = gauge.used + chars, gauge.pinned + chars * pinned
        if pinned_chars > gauge.budget or (not pinned and 100 * used >= FULL_PCT * gauge.budget):
            return False
        self._gauge = replace(gauge, used=used, pinned=pinned_chars)
        return True


def to_import_origin(store: Store, file: Path) -> Origin:
    """Return the current origin as that of an import. A file it names stays: the one that is read may be a copy of it."""
    origin = store.names.origins.current()
    return replace(origin, way=Way.IMPORT, file=origin.file or str(file.absolute()))


@contextmanager
def temporary_store_copy(store: Store) -> Iterator[Store]:
    with tempfile.TemporaryDirectory(prefix="hermes-memory-import-") as folder:
        tried = Path(folder) / "memory.db"
        database_copies.copy_database(store.path, tried)
        with Store.open(tried, force=True, clock=store.clock, policies=store.policies) as opened:
            yield opened
