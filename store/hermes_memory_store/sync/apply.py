"""Apply versions from other machines: which one wins, which concurrent losers are kept, and what is shown.

A winner is first kept as a version, in shadow, and then shown in facts and scopes as far as the store's own rules
allow. The rule for two facts in one place is the same on every machine: the one with the higher uid, which was
made later, stands; the other is shown as superseded by it until the place is free again. None of that makes a new
version.
"""

from __future__ import annotations

import itertools
import json
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from operator import itemgetter
from types import MappingProxyType
from typing import Any

from hermes_memory_store import errors, safe_text, uids
from hermes_memory_store.chunking import in_chunks
from hermes_memory_store.intake.intake import repeat_fact, repeat_text
from hermes_memory_store.items.batch_mutation import BatchMutation, nocase_place
from hermes_memory_store.items.journal import Journal
from hermes_memory_store.items.kinds import FactRow
from hermes_memory_store.items.mutation import find_standing_fact
from hermes_memory_store.items.name_keys import UNSCOPED, Names, ScopeKey
from hermes_memory_store.items.tier_columns import QUARANTINE_PREFIX
from hermes_memory_store.model import STANDING_TIERS, SYNC, Actor, FactType, Notation, ScopeStatus, Tier
from hermes_memory_store.sync.bulk_apply import BulkFact, find_bulk_facts, find_known_uids
from hermes_memory_store.sync.content_checks import SOURCE
from hermes_memory_store.sync.curation import to_kept_cold
from hermes_memory_store.sync.held_versions import hold_version, release_held_version
from hermes_memory_store.sync.hybrid_clock import PhysicalClocks, descendant_tick, lowered_clocks
from hermes_memory_store.sync.row_validation import validate_row_content, validate_row_text, validate_row_time
from hermes_memory_store.sync.team_origins import TEAM_ORIGIN, ReceivedOrigins
from hermes_memory_store.sync.versions import (
    DELETE_LOST_PLACES,
    HIDDEN_TIERS,
    SELECT_VERSIONS,
    UNTOLD,
    UPSERT_VERSION,
    Version,
    ensure_node,
    find_version,
    load_payloads,
    load_sync_rows,
    load_versions,
    newest_ancestors,
    next_ticks,
    remember_mask,
    settle_losing_versions,
    to_put_columns,
    to_sync_uid,
)
from hermes_memory_store.sync.wire_format import (
    COUNTER_BITS,
    DELETED,
    LIVE,
    MAX_ANCESTORS,
    PURGED,
    UNCHANGED,
    CheckedVersion,
    ReceivedVersion,
    SyncRow,
    VersionPayload,
    comparable_content,
)
from hermes_memory_store.upkeep.erased_words import fold_phrase

BULK_CHECKS = (UNCHANGED, CheckedVersion(uncurated=True))
"""What content checks may have found in a fact that is taken in with many others."""

ADD_CONFLICT = "INSERT OR IGNORE INTO sync_conflicts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"

UIDS_IN_CONFLICT = "SELECT DISTINCT uid FROM sync_conflicts WHERE theme_id = ? AND why <> 'ahead'"

MARK_UNSENT = "UPDATE sync_rows SET sent = 0, offered = 1 WHERE theme_id = ? AND uid = ?"

ADD_ANCESTORS = "UPDATE sync_rows SET ancestors = ? WHERE theme_id = ? AND uid = ?"

DESCEND = "UPDATE sync_rows SET hlc = ?, node = ?, ancestors = ?, sent = 0, offered = 0 WHERE theme_id = ? AND uid = ?"

MARK_SENT = "UPDATE sync_rows SET sent = 1, seq = ?, refused = NULL WHERE theme_id = ? AND uid = ?"

SENT_BY = "SELECT 1 FROM sync_rows WHERE theme_id = ? AND node = ? AND sent = 1 LIMIT 1"


SHADOWS_OF_FACTS = f"""
    WITH touched (uid) AS (VALUES {{values}})
    {SELECT_VERSIONS} WHERE shadow IS NOT NULL AND theme_id = ? AND uid IN (
      SELECT uid FROM touched UNION SELECT facts.uid FROM touched JOIN facts ON superseded_by = touched.uid
    )
"""
"""The shadows of some facts, and of those that are shown behind them."""

REPLACED_IN_SHADOW = """
    SELECT uid, shadow ->> '$[2].superseded_by' AS link FROM sync_rows
    WHERE theme_id = ? AND shadow IS NOT NULL AND link IS NOT NULL
"""

HeldRows = Mapping[bytes, Sequence[tuple[SyncRow, CheckedVersion]]]
"""Versions that are held back, masked, by uid, with the results of this machine's content checks."""


class VersionApplier:
    """Apply versions of one theme, within a running transaction."""

    def __init__(
        self,
        conn: sqlite3.Connection,
        theme_id: int,
        theme: str,
        clocks: PhysicalClocks,
        received: Sequence[ReceivedVersion],
        held: HeldRows,
        *,
        is_history: bool = False,
    ) -> None:
        """Prepare to apply versions.

        :param received: those that come first are older
        :param held: held versions of the same things
        :param is_history: old versions may come again
        """
        self.changed = self.conflicts = self.ignored = self.hidden = 0
        self.newest = 0
        """The newest clock that was seen and that both clocks allow: what is stamped here from now on is newer."""
        self.touched: set[bytes] = set()
        self.purged: list[bytes] = []
        self.bulk: dict[bytes, BulkFact] = {}
        """Those of the touched facts that are shown as they are."""
        self._conn = conn
        self._theme_id = theme_id
        self._theme = theme
        self._now = clocks.own_ms
        self._clocks = clocks
        self._node = ensure_node(conn)
        self._held = dict(held)
        self._acceptable, self._reach = clocks.acceptable, clocks.reach
        self._is_history = is_history
        self._received = [one for one in received if one.row.theme == theme]
        self.ignored += len(received) - len(self._received)
        self._times = Counter(one.uid for one in self._received)
        self._here = load_versions(conn, theme_id, self._times)
        self._contested = {uid for (uid,) in conn.execute(UIDS_IN_CONFLICT, (theme_id,))}
        self._known: dict[bytes, set[int]] = {}
        """What versions of this store knew that were replaced by others that say the same and do not know all of it."""

    def apply(self) -> None:
        """Decide between each version and the local one."""
        won: dict[bytes, ReceivedVersion] = {}
        fresh: dict[bytes, SyncRow] = {}
        for one in self._received:
            _, uid, row, checked = one
            shown = one._replace(row=mask_version(row, checked.masked_content))
            if self._is_ahead(uid, row):
                hold_version(self._conn, self._theme_id, one, self._now, is_alone=not self._is_history)
                self._held[uid] = [*(self._held.get(uid, ()) if self._is_history else ()), (shown.row, checked)]
                self.hidden += 1
                continue
            if uid in self._held:
                self._replace_held(uid, shown.row)
            if not self._wins(shown):
                continue
            if uid in self._here:
                remember_mask(self._conn, self._theme_id, uid, self._here[uid].checked)
            elif row.kind == "fact" and row.state == LIVE and checked in BULK_CHECKS and self._times[uid] == 1:
                fresh[uid] = row
            won[uid] = one
            if self._times[uid] > 1:
                (columns,) = to_put_columns(self._theme_id, [one], {})
                self._here[uid] = Version(*(*columns[1:-1], None, columns[-1]))
            self._apply_winner(shown)
        others = [one.row for one in self._received if one.uid not in fresh]
        self.bulk = find_bulk_facts(self._conn, self._theme_id, fresh, others)
        self._conn.executemany(UPSERT_VERSION, to_put_columns(self._theme_id, won.values(), self.bulk))
        for uid, clocks in self._known.items():
            self._make_descendant(won[uid], clocks)

    def _replace_held(self, uid: bytes, row: SyncRow) -> None:
        """Replace what is held back by what took its place; an old version that comes again takes no place."""
        left = []
        for held in self._held.pop(uid):
            if self._is_history and row.state != PURGED and not is_made_from_held(row, held[0], self._clocks):
                left.append(held)
            else:
                self.conflicts += replace_held_version(self._conn, self._theme_id, row, held, self._clocks)
        if left:
            self._held[uid] = left

    def _is_ahead(self, uid: bytes, row: SyncRow) -> bool:
        """Check whether a version is to be held back. A permanent erasure is applied whatever its clock says."""
        if row.hlc <= self._acceptable or row.state == PURGED:
            return False
        here = self._here.get(uid)
        return here is None or (here.hlc, uids.format_uid(here.node)) != (row.hlc, row.node)

    def _wins(self, received: ReceivedVersion) -> bool:
        seq, uid, row, checked = received
        if row.hlc <= self._reach:
            self.newest = max(self.newest, row.hlc)
        here = self._here.get(uid)
        if here is None:
            return True
        if (here.hlc, uids.format_uid(here.node)) == (row.hlc, row.node):
            self._conn.execute(MARK_SENT, (seq, self._theme_id, uid))
            self.ignored += 1
            return False
        ahead = bool(here.sent) and here.hlc > self._clocks.plausible and not self._is_history
        if here.rank > row.rank and not (ahead and here.state != PURGED):
            is_known = row.hlc in here.ancestors or (self._is_history and is_before_ancestors(row.hlc, here.ancestors))
            if not is_known and here.state != PURGED and checked.hidden_because is None:
                known = self._keep_loser(uid, row, self._row(here), checked)
                if known and not here.sent:
                    self._add_ancestors(uid, here, known)
            if here.sent and not self._is_history:  # the server has it no more
                self._conn.execute(MARK_UNSENT, (self._theme_id, uid))
            self.ignored += 1
            return False
        if (
            not is_descendant(row, here, self._clocks)
            and PURGED not in (row.state, here.state)
            and here.checked.hidden_because is None
        ):
            loser = self._row(here)
            self._keep_loser(uid, loser, row, here.checked, None if here.sent else UNTOLD)
            # One that ran ahead may be replaced by one of a lower rank, and its ancestors may have run ahead, too. One that
            # was offered to a database in vain is of a machine that may only read there, unless others of its versions
            # arrived and only the answer was lost: what a reader makes would wait for ever.
            is_mine = here.node == self._node and here.rank < row.rank
            is_sendable = self._is_history or here.sent or not here.offered or self._has_sent
            if is_mine and is_sendable and comparable_content(loser) == comparable_content(row):
                self._known.setdefault(uid, set()).update(here.ancestors)
        return True

    def _apply_winner(self, received: ReceivedVersion) -> None:
        _, uid, row, checked = received
        self.hidden += checked.hidden_because is not None
        if row.state == PURGED and checked.hidden_because is None:
            self.purged.append(uid)
        if uid in self._contested:
            self._conn.execute(DELETE_LOST_PLACES, (self._theme_id, uid))
            settle_losing_versions(self._conn, self._theme_id, uid, row.ancestors, row if self._is_history else None)
        self.touched.add(uid)
        self.changed += 1

    @cached_property
    def _has_sent(self) -> bool:
        """Whether a version of this store's making has arrived."""
        return self._conn.execute(SENT_BY, (self._theme_id, self._node)).fetchone() is not None

    def _row(self, version: Version) -> SyncRow:
        return load_sync_rows(self._conn, self._theme_id, self._theme, [version])[0]

    def _keep_loser(
        self, uid: bytes, loser: SyncRow, winner: SyncRow, checked: CheckedVersion, other: bytes | None = None
    ) -> set[int]:
        """Keep a losing version for a person; where the winner says the same, return what of a history is known by that."""
        if comparable_content(loser) != comparable_content(winner):
            self._contested.add(uid)
            remember_mask(self._conn, self._theme_id, uid, checked)
            self.conflicts += keep_losing_version(self._conn, self._theme_id, loser, "concurrent", self._now, other)
            return set()
        known = {loser.hlc, *loser.ancestors} if self._is_history else set()
        if known and uid in self._contested:
            return settle_losing_versions(self._conn, self._theme_id, uid, known)
        return known

    def _make_descendant(self, winner: ReceivedVersion, clocks: Iterable[int]) -> None:
        """Make a version to send that says what stands and knows of these, too, unless what stands does already.

        Without it all others go on listing what was decided here. One is enough: only the store whose version was replaced
        makes one, and it descends from both. None of what is kept cold or hidden here: a curator would make it hot for all.
        """
        _, uid, row, checked = winner
        if row.state == PURGED or checked.hidden_because is not None or checked.uncurated:
            return
        lineage = newest_ancestors(row.hlc, *row.ancestors, *clocks)
        if not {row.hlc, *row.ancestors}.issuperset(lineage):
            (tick,) = next_ticks(self._conn, self._now, 1)
            hlc = descendant_tick(tick, self._node, lineage)
            self._conn.execute(DESCEND, (hlc, self._node, json.dumps(lineage), self._theme_id, uid))

    def _add_ancestors(self, uid: bytes, here: Version, clocks: Iterable[int]) -> None:
        """Let a version that waits to be sent know of others: what replaces it before anybody hears of it knows of them, too."""
        lineage = json.dumps(newest_ancestors(*here.ancestors, *clocks))
        self._conn.execute(ADD_ANCESTORS, (lineage, self._theme_id, uid))
        self._here[uid] = replace(here, lineage=lineage)


def replace_held_version(
    conn: sqlite3.Connection, theme_id: int, row: SyncRow, held: tuple[SyncRow, CheckedVersion], clocks: PhysicalClocks
) -> int:
    """Replace a held version by the one that took its place in the team's database.

    Returns 1 where the held version is kept for a person, since the author of the other did not know of it.
    """
    lost, checked = held
    uid = uids.parse_uid(row.uid)
    release_held_version(conn, theme_id, uid, lost.hlc)
    if is_made_from_held(row, lost, clocks) or comparable_content(lost) == comparable_content(row):
        return 0
    places = lowered_clocks((*lost.ancestors, lost.hlc), clocks.plausible)
    if row.state == PURGED or checked.hidden_because is not None:
        return 0
    remember_mask(conn, theme_id, uid, checked)
    # By the clock that every machine makes of it, so that a decision anywhere settles it everywhere.
    lost = replace(lost, hlc=places[lost.hlc], ancestors=tuple(places[clock] for clock in lost.ancestors))
    return keep_losing_version(conn, theme_id, lost, "concurrent", clocks.own_ms)


def is_made_from_held(row: SyncRow, held: SyncRow, clocks: PhysicalClocks) -> bool:
    """Check whether a version is a held one under the clock that every machine makes of it, or was made from it."""
    lowered = lowered_clocks((*held.ancestors, held.hlc), clocks.plausible)[held.hlc]
    return not {held.hlc, lowered}.isdisjoint((row.hlc, *row.ancestors))


def is_descendant(row: SyncRow, here: Version, clocks: PhysicalClocks) -> bool:
    """Check whether a winner was made with knowledge of the local version.

    A full list of ancestors may have lost the local one; a version that is not this store's to send was on the server
    before the winner, and counts as known then.
    """
    if here.hlc in row.ancestors:
        return True
    if here.hlc > clocks.plausible:
        return lowered_clocks((*here.ancestors, here.hlc), clocks.plausible)[here.hlc] in row.ancestors
    return bool(here.sent) and is_before_ancestors(here.hlc, row.ancestors)


def is_before_ancestors(clock: int, ancestors: Sequence[int]) -> bool:
    """Check whether a clock is older than all that a full list of ancestors names, which may have lost it."""
    return len(ancestors) >= MAX_ANCESTORS and clock < ancestors[-1]


def mask_version(row: SyncRow, shown: str | None) -> SyncRow:
    """Return a version as it is kept here. :param shown: its content without secrets, if it has any"""
    return row if shown is None else replace(row, content=shown)


def keep_losing_version(
    conn: sqlite3.Connection, theme_id: int, loser: SyncRow, why: str, now: int, other: bytes | None = None
) -> int:
    """Keep a losing version for a person to decide; return 1 unless it is kept already.

    :param other: the fact that took its place; of two versions of one thing, `UNTOLD` where only this machine has it
    """
    name = (theme_id, uids.parse_uid(loser.uid), loser.hlc, uids.parse_uid(loser.node), why)
    payload = VersionPayload(loser.kind, loser.content, loser.attrs, loser.state).to_json()
    return conn.execute(ADD_CONFLICT, (*name, now, other, json.dumps(loser.ancestors), payload)).rowcount


def find_shadowed_versions(
    conn: sqlite3.Connection, theme_id: int, touched: Collection[bytes], *, scopes: bool = True
) -> list[Version]:
    """Find the shadows of these facts, and of those shown behind them; also scopes that no longer exist."""
    rows: list[tuple[Any, ...]] = []
    if scopes:
        rows += conn.execute(f"{SELECT_VERSIONS} WHERE theme_id = ? AND shadow IS NOT NULL AND label > ''", (theme_id,))
    for some in in_chunks(list(touched)) if touched else ():
        rows += conn.execute(SHADOWS_OF_FACTS.format(values=", ".join(["(?)"] * len(some))), (*some, theme_id))
    return list({row[0]: Version(*row) for row in rows}.values())


def find_waiting_replaced(conn: sqlite3.Connection, theme_id: int, arrived: set[bytes]) -> set[bytes]:
    """Find facts in shadow because their replacement was not here."""
    waiting = conn.execute(REPLACED_IN_SHADOW, (theme_id,)).fetchall()
    names = {str(uids.format_uid(uid)) for uid in arrived} if waiting else set()
    return {uid for uid, link in waiting if link in names}


def load_shadow(version: Version) -> VersionPayload:
    """Return what is in shadow."""
    return VersionPayload.from_json(str(version.shadow))


DELETE_NOTED_CHANGE = "DELETE FROM sync_changed WHERE theme_id = ? AND thing = ?"


NO_BULK_FACTS: Mapping[bytes, BulkFact] = MappingProxyType({})


class ShadowSettler:
    """Show shadows, as far as the store's own rules allow."""

    def __init__(
        self,
        conn: sqlite3.Connection,
        names: Names,
        journal: Journal,
        theme_id: int,
        theme: str,
        now: int,
        rows: Iterable[SyncRow] = (),
    ) -> None:
        """:param rows: that have just come, with their origins"""
        self.conflicts = 0
        self._conn = conn
        self._names = names
        self._theme_id = theme_id
        self._theme = theme
        self._now = now
        self._change = BatchMutation(conn, names, journal, SYNC, TEAM_ORIGIN)
        self._origins = ReceivedOrigins(conn, names, theme_id, now, rows)
        self._scopes: dict[str, ScopeKey] = {}
        self._coming: set[bytes] = set()
        self._moved: set[bytes] = set()
        self._shown: set[bytes] = set()
        self._checked: set[bytes] = set()
        self._outplaced: set[bytes] = set()
        """Facts that stand nowhere, since another one that says something else stands in their place."""
        self._absent: set[bytes] = set()
        self._bulk: Mapping[bytes, BulkFact] = NO_BULK_FACTS

    def settle(self, touched: set[bytes], bulk: Mapping[bytes, BulkFact] = NO_BULK_FACTS) -> None:
        """Show what these facts affect, in one change of the journal; what that moves makes no version to send.

        :param bulk: facts that are shown as their versions say
        """
        concerned = find_shadowed_versions(self._conn, self._theme_id, touched - bulk.keys())
        self._coming |= bulk.keys()
        while concerned or bulk:
            waiting = [(version, load_shadow(version)) for version in concerned]
            self._coming |= {version.uid for version, payload in waiting if is_to_be_shown(payload)}
            wanted = {version.uid for version in concerned}
            self._absent |= wanted - find_known_uids(self._conn, wanted) if wanted else wanted
            self._show([pair for pair in waiting if not is_former_scope(*pair)], bulk)
            self._bulk, bulk = bulk or self._bulk, NO_BULK_FACTS
            # What was shown behind a fact that gave way, or that cannot be shown after all, is shown behind another, or none.
            moved, self._moved = self._moved, set()
            if moved:
                self._change.flush()
            concerned = find_shadowed_versions(self._conn, self._theme_id, moved, scopes=False)
        self._change.flush()
        # Only now it is known whether facts stand in them.
        there = find_shadowed_versions(self._conn, self._theme_id, set())
        self._show(
            [(version, payload) for version in there if is_former_scope(version, payload := load_shadow(version))]
        )
        self._change.record()
        self._origins.keep()
        # Its place is free again, or what stands there says the same by now: who comes late has no conflict to list.
        regained = [(self._theme_id, uid) for uid in self._shown - self._outplaced]
        self._conn.executemany(DELETE_LOST_PLACES, regained)
        self._clear_shadow()
        self._discard_noted_changes()

    def _show(
        self, waiting: list[tuple[Version, VersionPayload]], bulk: Mapping[bytes, BulkFact] = NO_BULK_FACTS
    ) -> None:
        steps = [(settling_order(*pair), partial(self._show_one, *pair)) for pair in waiting]
        steps += [(standing_rank(one.place is not None, one.uid), partial(self._insert, one)) for one in bulk.values()]
        for _, step in sorted(steps, key=itemgetter(0)):
            step()

    def _show_one(self, version: Version, payload: VersionPayload) -> None:
        self._shown.add(version.uid)
        self._outplaced.discard(version.uid)
        if payload.checked:
            self._checked.add(version.uid)
        if payload.checked.hidden_because is not None:
            self._hide(version)
            return
        try:
            if payload.kind == "scope":
                self._scope(version, payload)
            else:
                self._fact(version, payload)
        except (errors.StoreError, KeyError, ValueError, TypeError) as error:
            # What cannot be shown here stays in shadow, is reported, and must not hinder the rest.
            why = error.message if isinstance(error, errors.StoreError) else "it cannot be shown on this machine"
            self._hide_with_reason(version, payload, why)

    def _insert(self, one: BulkFact) -> None:
        scope = self._scopes.get(one.label) or self._open_scope(one.label)
        self._change.insert_fact(
            self._theme_id,
            scope,
            repeat_fact(one.notation),
            uid=one.uid,
            by=one.by,
            origin=self._origins.find(one.uid),
            **one.columns,
        )
        self._attribute(one.uid)

    def _attribute(self, uid: bytes) -> None:
        """Note in the journal whose words a fact came with."""
        row = self._origins.find_row(uid)
        if row is not None and row.worded_by is not None:
            self._change.entries[-1] = replace(self._change.entries[-1], actor=to_teammate(row.worded_by))

    def _update(self, uid: bytes, row: FactRow, columns: dict[str, Any]) -> None:
        """Change a fact, and note whose words it has now and who has moved it."""
        came = self._origins.find_row(uid)
        worded, moved = (to_teammate(came.worded_by), to_teammate(came.changed_by)) if came else (None, None)
        words = {"content": columns.pop("content")} if "content" in columns and worded != moved else {}
        if words:
            row = self._change.update_fact(row, "sync", by=worded, keep_time=True, **words)
        if columns:
            self._change.update_fact(row, "sync", by=moved, keep_time=True, **columns)

    def _hide(self, version: Version) -> None:
        """Hide a version, also in its former wording, which the team no longer has."""
        row = self._change.fact_row(version.uid) if version.label is None else None
        if row is not None and row.theme_id == self._theme_id and row.tier != Tier.WITHDRAWN:
            self._change.update_fact(row, "sync", keep_time=True, tier=Tier.WITHDRAWN.value, pinned=0)

    def _hide_with_reason(self, version: Version, payload: VersionPayload, why: str) -> None:
        payload.checked = replace(payload.checked, hidden_because=why)
        self._coming.discard(version.uid)
        self._moved.add(version.uid)
        self._checked.add(version.uid)
        self._conn.execute(
            "UPDATE sync_rows SET shadow = ? WHERE theme_id = ? AND uid = ?",
            (payload.to_json(), self._theme_id, version.uid),
        )

    def _scope(self, version: Version, payload: VersionPayload) -> None:
        label = version.label or ""
        key = self._names.scope_or_none(self._theme_id, label)
        if payload.state == LIVE:
            wanted = {name: payload.attrs[name] for name in ("status", "opened_at", "closed_at", "closed_by")}
        elif key is None or key.status == ScopeStatus.WITHDRAWN:
            return
        elif self._is_used(key):
            # Somebody wrote to it without knowing that it was gone: it is open as long as that is there.
            opened_at = version.hlc >> COUNTER_BITS
            wanted = {"status": ScopeStatus.OPEN.value, "opened_at": opened_at, "closed_at": None, "closed_by": None}
        else:
            self._change.update_scope(key.id, "sync", status=ScopeStatus.WITHDRAWN)
            return
        status = ScopeStatus(wanted["status"])
        if key is None:
            safe_text.validate_text(label, "the scope's name")
            key = self._change.insert_scope(
                self._theme_id, repeat_text(label), status=ScopeStatus.OPEN, at=validate_row_time(wanted["opened_at"])
            )
        elif key.status == ScopeStatus.COOLING and status is ScopeStatus.OPEN:
            wanted["status"] = key.status
        stands = self._conn.execute(
            "SELECT status, opened_at, closed_at, closed_by FROM scopes WHERE id = ?", (key.id,)
        ).fetchone()
        new = {name: value for (name, value), old in zip(wanted.items(), stands, strict=True) if value != old}
        if new:
            self._change.update_scope(key.id, "sync", **new)
        if status is ScopeStatus.CLOSED and key.status != ScopeStatus.CLOSED:
            self._conn.execute("DELETE FROM attention WHERE scope_id = ?", (key.id,))
            self._conn.execute("UPDATE sessions SET scope_id = NULL WHERE scope_id = ?", (key.id,))

    def _is_used(self, key: ScopeKey) -> bool:
        sql = "SELECT 1 FROM facts WHERE scope_id = ? AND tier <> 'withdrawn' LIMIT 1"
        return self._conn.execute(sql, (key.id,)).fetchone() is not None

    def _fact(self, version: Version, payload: VersionPayload) -> None:
        row = None if version.uid in self._absent else self._change.fact_row(version.uid)
        if row is not None and row.theme_id != self._theme_id:
            raise ValueError("a fact of another theme has this uid here")
        if payload.state == DELETED:
            if row is not None and row.tier != Tier.WITHDRAWN:
                self._update(version.uid, row, {"tier": Tier.WITHDRAWN.value})
            return
        if payload.checked.quarantine_rule is not None and payload.attrs["tier"] not in STANDING_TIERS:
            # Letting it in would put it in the place of what replaced it.
            self._hide_with_reason(
                version, payload, f"it was replaced, and would wait for a person ({payload.checked.quarantine_rule})"
            )
            self._hide(version)
            return
        wanted = self._columns(version.uid, payload, row)
        if row is not None:
            new = {name: value for name, value in wanted.items() if is_column_different(row, name, value)}
            if "content" in new:
                new["content"] = repeat_fact(Notation(FactType(row.type), row.target, new["content"]))
            self._update(version.uid, row, new)
            return
        self._absent.discard(version.uid)
        kind, _, name = str(payload.attrs["by"]).partition(":")
        scope = wanted.pop("scope")
        notation = Notation(
            FactType(payload.attrs["type"]), validate_row_text(payload.attrs["target"]), wanted.pop("content")
        )
        source = SOURCE if wanted["tier"] == Tier.QUARANTINED else None
        origin = self._origins.find(version.uid)
        self._change.insert_fact(
            self._theme_id,
            scope,
            repeat_fact(notation),
            uid=version.uid,
            by=Actor(kind, name),
            source=source,
            origin=origin,
            **wanted,
        )
        self._attribute(version.uid)

    def _columns(self, uid: bytes, payload: VersionPayload, row: FactRow | None) -> dict[str, Any]:
        """Return the columns to show a fact, once whatever is in its place has made room."""
        attrs = payload.attrs
        kind, target = FactType(attrs["type"]).value, validate_row_text(attrs["target"])
        if row is not None and (row.type, row.target) != (kind, target):
            raise ValueError("a fact keeps its type and target")
        content = validate_row_content(payload.content)
        times = {name: validate_row_time(attrs[name]) for name in ("created_at", "updated_at")}
        tier, pinned = Tier(attrs["tier"]).value, int(bool(attrs["pinned"]))
        cooled_by = attrs.get("cooled_by")
        if payload.checked.quarantine_rule is not None and not (
            row is not None and row.tier not in HIDDEN_TIERS and row.content == content
        ):
            # Unless a person here has approved this content.
            tier, pinned, cooled_by = Tier.QUARANTINED.value, 0, f"{QUARANTINE_PREFIX}{payload.checked.quarantine_rule}"
        elif payload.checked.uncurated and not (row is not None and row.tier == Tier.HOT and row.content == content):
            # Unless a person here has agreed to it.
            kept = to_kept_cold(attrs)
            tier, pinned, cooled_by = kept["tier"], 0, kept["cooled_by"]
        elif payload.checked.uncurated and row is not None:
            pinned &= row.pinned
        link = None if attrs["superseded_by"] is None else uids.parse_uid(attrs["superseded_by"])
        if link == uid or tier in STANDING_TIERS or not self._is_here(link):
            link = None
        label = validate_row_text(attrs["scope"] or UNSCOPED)
        scope = self._scopes.get(label) or self._open_scope(label)
        if self._change.has_pending(nocase_place(scope.id, kind, target)):
            self._change.flush()
        there = find_standing_fact(self._conn, scope.id, kind, target, besides=uid)
        if tier in STANDING_TIERS and there is not None:
            if uid > there.uid:
                self._demote(there, uid, content)
            else:
                self._note(uid, there.uid, there.content, content)
                tier, pinned, link, cooled_by = Tier.SUPERSEDED.value, 0, there.uid, None
        columns: dict[str, Any] = {"content": content, "scope": scope, "tier": tier, "pinned": pinned}
        return columns | times | {"superseded_by": link, "cooled_by": cooled_by}

    def _open_scope(self, label: str) -> ScopeKey:
        """Return the scope of a fact. One deleted by its version is restored for the fact, and goes with it."""
        if label:
            former = find_version(self._conn, self._theme_id, to_sync_uid(self._theme, label))
            if former is not None and former.state == DELETED and former.shadow is None:
                self._conn.execute(
                    "UPDATE sync_rows SET shadow = ? WHERE theme_id = ? AND uid = ?",
                    (VersionPayload("scope", label, {}, DELETED).to_json(), self._theme_id, former.uid),
                )
        self._scopes[label] = self._change.scope_for_writing(self._theme_id, repeat_text(label) if label else None)
        return self._scopes[label]

    def _is_here(self, link: bytes | None) -> bool:
        return link is not None and (link in self._coming or self._change.fact_row(link) is not None)

    def _demote(self, there: FactRow, by: bytes, content: str) -> None:
        """Show a standing fact as superseded; keep the content of its version in shadow."""
        shadow_versions(self._conn, self._theme_id, [there.uid])
        self._change.update_fact(
            there, "supersede", keep_time=True, tier=Tier.SUPERSEDED.value, superseded_by=by, pinned=0, cooled_by=None
        )
        self._moved.add(there.uid)
        self._note(there.uid, by, content, there.content)

    def _note(self, loser: bytes, winner: bytes, stands: str, lost: str) -> None:
        """Record a conflict: two facts for one place with different contents are for a person to decide."""
        version = find_version(self._conn, self._theme_id, loser)
        if version is None or version.shadow is None or fold_phrase(stands) == fold_phrase(lost):
            return
        self._outplaced.add(loser)
        self._conn.execute(f"{DELETE_LOST_PLACES} AND other <> ?", (self._theme_id, loser, winner))
        row = load_sync_rows(self._conn, self._theme_id, self._theme, [version])[0]
        self.conflicts += keep_losing_version(self._conn, self._theme_id, row, "two heads", self._now, winner)

    def _clear_shadow(self) -> None:
        """Delete shadows that are shown as their versions say, unless a content check changed them.

        Undoing the approval of such a version takes nothing from the others.
        """
        settled = self._shown - self._checked
        found = load_versions(self._conn, self._theme_id, settled).values() if settled else ()
        waiting = [one for one in found if one.shadow is not None]
        present = load_payloads(self._conn, self._theme_id, [one.local_name for one in waiting]) if waiting else {}
        lifted = [one for one in waiting if present[one.local_name].content_digest == one.content_digest]
        names = [(self._theme_id, one.uid) for one in lifted]
        self._conn.executemany("UPDATE sync_rows SET shadow = NULL WHERE theme_id = ? AND uid = ?", names)
        things = itertools.chain((one.local_name for one in lifted), self._bulk)
        self._conn.executemany(DELETE_NOTED_CHANGE, ((self._theme_id, thing) for thing in things))

    def _discard_noted_changes(self) -> None:
        """Discard the noted changes that showing has made, since nobody made them.

        A thing that differs from its version and is not in shadow stays noted and becomes a version: better one too
        many than one that is wrong.
        """
        sql = "SELECT thing FROM sync_changed WHERE theme_id = ?"
        noted = [thing for (thing,) in self._conn.execute(sql, (self._theme_id,))]
        if not noted:
            return
        present = load_payloads(self._conn, self._theme_id, noted)
        names = {to_sync_uid(self._theme, thing): thing for thing in noted}
        differ = {
            version.local_name
            for version in load_versions(self._conn, self._theme_id, names).values()
            if version.shadow is None and version.content_digest != present[names[version.uid]].content_digest
        }
        self._conn.executemany(DELETE_NOTED_CHANGE, [(self._theme_id, thing) for thing in noted if thing not in differ])


def to_teammate(role: str | None) -> Actor | None:
    """Return the actor of the journal for a role of the team; None where the server does not say who it was."""
    return None if role is None else Actor(SYNC.kind, role)


def is_to_be_shown(payload: VersionPayload) -> bool:
    """Check whether a fact will be shown."""
    return payload.kind == "fact" and payload.state == LIVE and payload.checked.hidden_because is None


def is_former_scope(_: Version, payload: VersionPayload) -> bool:
    """Check whether it is a scope that was renamed, merged or undone."""
    return payload.kind == "scope" and payload.state == DELETED


def settling_order(version: Version, payload: VersionPayload) -> tuple[int, int]:
    """Return the sort key: scopes, then facts that do not stand and make room, then standing ones, newest uid first."""
    if payload.kind == "scope":
        return 0, -int.from_bytes(version.uid, "big")
    return standing_rank(
        not payload.checked.hidden_because and payload.attrs.get("tier") in STANDING_TIERS, version.uid
    )


def standing_rank(stands: bool, uid: bytes) -> tuple[int, int]:
    """Return the rank of a fact in that order."""
    return 2 if stands else 1, -int.from_bytes(uid, "big")


def shadow_versions(conn: sqlite3.Connection, theme_id: int, wanted: Sequence[bytes]) -> None:
    """Keep what the versions of facts say in shadow, before the facts are shown otherwise."""
    payloads = load_payloads(conn, theme_id, wanted)
    conn.executemany(
        "UPDATE sync_rows SET shadow = ? WHERE theme_id = ? AND uid = ? AND shadow IS NULL",
        [(payload.to_json(), theme_id, uid) for uid, payload in payloads.items()],
    )


def is_column_different(row: FactRow, name: str, value: Any) -> bool:
    """Check whether a fact has another value in a column."""
    return bool(row.scope_id != value.id if name == "scope" else getattr(row, name) != value)
