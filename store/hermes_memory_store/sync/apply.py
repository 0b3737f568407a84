"""Apply versions from other machines: the merge decides, what lost is set aside, and what won is shown.

A winner is kept as the newest version and shown in facts and scopes as far as the store's own rules allow; where they show
something else, what it says stays in its shadow. The rule for two facts in one place is the same on every machine: the one
with the higher uid, which was made later, stands; the other is shown as superseded by it until the place is free again. None
of that makes a new version. One row is applied as many are.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

from hermes_memory_store import errors, safe_text, uids
from hermes_memory_store.chunking import in_chunks
from hermes_memory_store.intake.intake import repeat_fact, repeat_text
from hermes_memory_store.items.batch_mutation import BatchMutation
from hermes_memory_store.items.journal import Journal
from hermes_memory_store.items.kinds import FACT, FactRow
from hermes_memory_store.items.name_keys import Names, ScopeKey
from hermes_memory_store.items.tier_columns import displaced_columns, link_columns, quarantined_columns, settled_columns
from hermes_memory_store.model import STANDING_TIERS, SYNC, Actor, FactType, Notation, ScopeStatus, Tier
from hermes_memory_store.sync.content_checks import SOURCE
from hermes_memory_store.sync.hybrid_clock import PhysicalClocks, descendant_tick, lowered_clocks
from hermes_memory_store.sync.merge import (
    Decision,
    Outcome,
    Stamp,
    find_lineage_to_add,
    is_made_from_held,
    merge,
    newest_ancestors,
)
from hermes_memory_store.sync.standing import (
    UNTOLD,
    UPDATE_SHADOW,
    AsideReason,
    hold,
    release,
    remember_mask,
    set_aside,
    settle_losing_versions,
    to_kept_cold,
)
from hermes_memory_store.sync.team_origins import TEAM_ORIGIN, ReceivedOrigins
from hermes_memory_store.sync.versions import (
    HIDDEN_TIERS,
    NUMBERS,
    SELECT_VERSIONS,
    UPSERT_VERSION,
    Version,
    ensure_node,
    find_differing,
    find_fact_uids,
    find_noted_things,
    find_version,
    load_payloads,
    load_sync_rows,
    load_versions,
    next_ticks,
    to_sync_uid,
)
from hermes_memory_store.sync.wire_format import (
    COUNTER_BITS,
    DELETED,
    LIVE,
    PURGED,
    UNCHANGED,
    CheckedVersion,
    ReceivedVersion,
    SyncRow,
    VersionPayload,
    comparable_content,
    hide_secrets,
    mask_row,
    parse_author,
    parse_fact,
    scope_sync_uid,
    to_state,
    validate_row_time,
)
from hermes_memory_store.upkeep.erased_words import fold_phrase

UIDS_IN_CONFLICT = "SELECT DISTINCT uid FROM sync_conflicts WHERE theme_id = ? AND why <> 'ahead'"

UIDS_OUTPLACED = "SELECT DISTINCT uid FROM sync_conflicts WHERE theme_id = ? AND why = 'two heads'"

MARK_UNSENT = "UPDATE sync_rows SET sent = 0, offered = 1 WHERE theme_id = ? AND uid = ?"

MARK_SENT = "UPDATE sync_rows SET sent = 1, seq = ?, refused = NULL WHERE theme_id = ? AND uid = ?"

ADD_ANCESTORS = "UPDATE sync_rows SET ancestors = ? WHERE theme_id = ? AND uid = ?"

DESCEND = "UPDATE sync_rows SET hlc = ?, node = ?, ancestors = ?, sent = 0, offered = 0 WHERE theme_id = ? AND uid = ?"

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

IS_USED = "SELECT 1 FROM facts WHERE scope_id = ? AND tier <> 'withdrawn' LIMIT 1"

(LINK,) = FACT.links

HeldRows = Mapping[bytes, Sequence[tuple[SyncRow, CheckedVersion]]]
"""Versions that are held back, masked, by uid, with the results of this machine's content checks."""


class VersionApplier:
    """Carry out what the merge decides about versions of one theme, within a running transaction."""

    def __init__(
        self,
        conn: sqlite3.Connection,
        theme_id: int,
        theme: str,
        clocks: PhysicalClocks,
        received: Sequence[ReceivedVersion],
        held_rows: HeldRows,
        *,
        is_history: bool = False,
    ) -> None:
        """:param received: older ones first :param is_history: old versions may come again"""
        self.changed = self.conflicts = self.ignored = self.hidden = 0
        self.newest = 0
        """The newest clock that was seen and that both clocks allow: what is stamped here from now on is newer."""
        self.touched: set[bytes] = set()
        self.purged: list[bytes] = []
        self.arrived: dict[bytes, VersionPayload] = {}
        """What live facts say that won; of those of which a check found nothing, no shadow is kept yet."""
        self._conn = conn
        self._theme_id = theme_id
        self._theme = theme
        self._clocks = clocks
        self._node = ensure_node(conn)
        self._held = dict(held_rows)
        self._is_history = is_history
        self._received = [version for version in received if version.row.theme == theme]
        self.ignored += len(received) - len(self._received)
        self._times = Counter(version.uid for version in self._received)
        self._here = load_versions(conn, theme_id, self._times)
        self._contested = {uid for (uid,) in conn.execute(UIDS_IN_CONFLICT, (theme_id,))}
        self._learned: dict[bytes, set[int]] = {}
        """What versions of this store knew that were replaced by others that say the same and do not know all of it."""

    def apply(self) -> None:
        """Decide between each version and the local one."""
        won: dict[bytes, tuple[ReceivedVersion, Version]] = {}
        reach = self._clocks.reach
        for received in self._received:
            seq, uid, row, checked = received
            here = self._here.get(uid)
            decision = merge(here and here.stamp, to_stamp(row, checked), self._clocks, is_history=self._is_history)
            shown = row if checked.masked_content is None else mask_row(row, checked)
            if decision.outcome is Outcome.HOLD:
                hold(self._conn, self._theme_id, received, self._clocks.own_ms, is_alone=not self._is_history)
                self._held[uid] = [*(self._held.get(uid, ()) if self._is_history else ()), (shown, checked)]
                self.hidden += 1
                continue
            if uid in self._held:
                self._replace_held(uid, shown)
            if row.hlc <= reach:
                self.newest = max(self.newest, row.hlc)
            if decision.outcome is Outcome.TAKE:
                version = self._take(received, shown, here, decision)
                won[uid] = received, version
                if self._times[uid] > 1:
                    payload = self.arrived.get(uid)
                    self._here[uid] = version if payload is None else version._replace(shadow=payload.to_json())
                continue
            self.ignored += 1
            if here is not None and decision.outcome is Outcome.SAME:
                self._conn.execute(MARK_SENT, (seq, self._theme_id, uid))
            elif here is not None:
                self._keep(here, shown, checked, decision)
        self._conn.executemany(UPSERT_VERSION, [(self._theme_id, *version) for _, version in won.values()])
        for uid, clocks in self._learned.items():
            self._make_descendant(won[uid][0], clocks)

    def _replace_held(self, uid: bytes, row: SyncRow) -> None:
        """Replace what is held back by what took its place; an old version that comes again takes no place."""
        left = []
        for ahead in self._held.pop(uid):
            is_old = self._is_history and row.state != PURGED
            if is_old and not is_made_from_held(to_stamp(row), to_stamp(ahead[0]), self._clocks):
                left.append(ahead)
            else:
                self.conflicts += replace_held_version(self._conn, self._theme_id, row, ahead, self._clocks)
        if left:
            self._held[uid] = left

    def _keep(self, here: Version, row: SyncRow, checked: CheckedVersion, decision: Decision) -> None:
        if decision.is_concurrent:
            clocks = self._lose(here.uid, row, self._row(here), checked)
            if clocks and not here.sent:
                # What replaces it before anybody hears of it knows of them, too.
                here = here._replace(lineage=json.dumps(newest_ancestors(*here.ancestors, *clocks)))
                self._conn.execute(ADD_ANCESTORS, (here.lineage, self._theme_id, here.uid))
                self._here[here.uid] = here
        if decision.is_missing:
            self._conn.execute(MARK_UNSENT, (self._theme_id, here.uid))

    def _take(self, received: ReceivedVersion, shown: SyncRow, here: Version | None, decision: Decision) -> Version:
        """Let a received version replace the local one; return it as it is stored."""
        _, uid, row, checked = received
        if here is not None:
            if decision.is_concurrent:
                loser = self._row(here)
                self._lose(uid, loser, shown, here.checked, None if here.sent else UNTOLD)
                # One that ran ahead may be replaced by one of a lower rank, and its ancestors may have run ahead, too. One that
                # was offered to a database in vain is of a machine that may only read there, unless others of its versions
                # arrived and only the answer was lost: what a reader makes would wait for ever.
                is_mine = here.node == self._node and here.stamp.rank < to_stamp(row).rank
                is_sendable = self._is_history or here.sent or not here.offered or self._has_sent
                if is_mine and is_sendable and comparable_content(loser) == comparable_content(shown):
                    self._learned.setdefault(uid, set()).update(here.ancestors)
            remember_mask(self._conn, self._theme_id, uid, here.checked)
        self.hidden += checked.hidden_because is not None
        if row.state == PURGED and checked.hidden_because is None:
            self.purged.append(uid)
        if uid in self._contested:
            release(self._conn, self._theme_id, [uid], AsideReason.OUTPLACED)
            winner = shown if self._is_history else None
            settle_losing_versions(self._conn, self._theme_id, uid, row.ancestors, winner)
        self.touched.add(uid)
        self.changed += 1
        self.arrived.pop(uid, None)
        payload = VersionPayload(row.kind, shown.content, row.attrs, row.state, checked)
        is_shown = is_live_fact(payload)
        if is_shown:
            self.arrived[uid] = payload
        return to_stored_version(received, keep_shadow=not is_shown or checked != UNCHANGED)

    @cached_property
    def _has_sent(self) -> bool:
        """Whether a version of this store's making has arrived."""
        return self._conn.execute(SENT_BY, (self._theme_id, self._node)).fetchone() is not None

    def _row(self, version: Version) -> SyncRow:
        return load_sync_rows(self._conn, self._theme_id, self._theme, [version])[0]

    def _lose(
        self, uid: bytes, loser: SyncRow, winner: SyncRow, checked: CheckedVersion, other: bytes | None = None
    ) -> set[int]:
        """Set a losing version aside; where the winner says the same, return what of a history is known by that."""
        if comparable_content(loser) != comparable_content(winner):
            self._contested.add(uid)
            remember_mask(self._conn, self._theme_id, uid, checked)
            at = self._clocks.own_ms
            self.conflicts += set_aside(self._conn, self._theme_id, loser, AsideReason.CONCURRENT, at, other=other)
            return set()
        clocks = {loser.hlc, *loser.ancestors} if self._is_history else set()
        if clocks and uid in self._contested:
            return settle_losing_versions(self._conn, self._theme_id, uid, clocks)
        return clocks

    def _make_descendant(self, winner: ReceivedVersion, clocks: Iterable[int]) -> None:
        """Make a version to send that says what stands and knows of these, too, unless what stands does already.

        Without it all others go on listing what was decided here. One is enough: only the store whose version was replaced
        makes one, and it descends from both. None of what is kept cold or hidden here: a curator would make it hot for all.
        """
        _, uid, row, checked = winner
        if row.state == PURGED or checked.hidden_because is not None or checked.uncurated:
            return
        lineage = find_lineage_to_add(to_stamp(row), clocks)
        if lineage is not None:
            (tick,) = next_ticks(self._conn, self._clocks.own_ms, 1)
            hlc = descendant_tick(tick, self._node, lineage)
            self._conn.execute(DESCEND, (hlc, self._node, json.dumps(lineage), self._theme_id, uid))


def to_stamp(row: SyncRow, checked: CheckedVersion | None = None) -> Stamp:
    """Return the stamp of a row. :param checked: what the content checks made of it"""
    return Stamp(
        row.hlc, row.node, row.state, row.ancestors, checked is not None and checked.hidden_because is not None
    )


def to_stored_version(received: ReceivedVersion, *, keep_shadow: bool) -> Version:
    """Return a received version as it replaces the previous one. :param keep_shadow: with what it says, to be shown yet"""
    seq, uid, row, checked = received
    digest, label = row.content_digest, None
    # A row that is no scope may claim any label.
    if row.kind == "scope" and isinstance(row.content, str) and row.uid == scope_sync_uid(row.theme, row.content):
        label = row.content if checked.hidden_because is None else hide_secrets(row.content)
    shadow = to_shadow(row, checked) if keep_shadow else None
    ancestors = json.dumps(row.ancestors) if row.ancestors else "[]"
    return Version(uid, label, row.state, row.hlc, uids.parse_uid(row.node), ancestors, digest, 1, 1, seq, None, shadow)


def to_shadow(row: SyncRow, checked: CheckedVersion) -> str | None:
    """Return a received version as a shadow yet to be shown; None where there is nothing to show."""
    if row.state == PURGED and checked.hidden_because is None:
        return None
    return VersionPayload(row.kind, row.content, row.attrs, row.state, checked).to_json()


def replace_held_version(
    conn: sqlite3.Connection, theme_id: int, row: SyncRow, ahead: tuple[SyncRow, CheckedVersion], clocks: PhysicalClocks
) -> int:
    """Replace a held version by the one that took its place in the team's database.

    Returns 1 where the held version is set aside for a person, since the author of the other did not know of it.
    """
    lost, checked = ahead
    uid = uids.parse_uid(row.uid)
    release(conn, theme_id, [uid], AsideReason.AHEAD, hlc=lost.hlc)
    if is_made_from_held(to_stamp(row), to_stamp(lost), clocks) or comparable_content(lost) == comparable_content(row):
        return 0
    if row.state == PURGED or checked.hidden_because is not None:
        return 0
    remember_mask(conn, theme_id, uid, checked)
    # By the clock that every machine makes of it, so that a decision anywhere settles it everywhere.
    lowered = lowered_clocks((*lost.ancestors, lost.hlc), clocks.plausible)
    lost = replace(lost, hlc=lowered[lost.hlc], ancestors=tuple(lowered[clock] for clock in lost.ancestors))
    return set_aside(conn, theme_id, lost, AsideReason.CONCURRENT, clocks.own_ms)


class Shadow(NamedTuple):
    """What a version says that is to be shown."""

    uid: bytes
    label: str | None
    hlc: int
    payload: VersionPayload

    @property
    def is_former_scope(self) -> bool:
        """Whether it is a scope that was renamed, merged or undone."""
        return self.payload.kind == "scope" and self.payload.state == DELETED

    @property
    def order(self) -> tuple[int, int]:
        """The sort key: scopes, then facts that do not stand and make room, then standing ones, newest uid first."""
        if self.payload.kind == "scope":
            return 0, -int.from_bytes(self.uid, "big")
        is_standing = not self.payload.checked.hidden_because and self.payload.attrs.get("tier") in STANDING_TIERS
        return 2 if is_standing else 1, -int.from_bytes(self.uid, "big")


def find_shadows(
    conn: sqlite3.Connection, theme_id: int, touched: Collection[bytes], *, scopes: bool = True
) -> dict[bytes, Shadow]:
    """Find the shadows of these facts, and of those shown behind them; also scopes that no longer exist."""
    rows: list[tuple[Any, ...]] = []
    if scopes:
        rows += conn.execute(f"{SELECT_VERSIONS} WHERE theme_id = ? AND shadow IS NOT NULL AND label > ''", (theme_id,))
    for some in in_chunks(list(touched)) if touched else ():
        rows += conn.execute(SHADOWS_OF_FACTS.format(values=", ".join(["(?)"] * len(some))), (*some, theme_id))
    return {row[0]: Shadow(row[0], row[1], row[3], VersionPayload.from_json(row[11])) for row in rows}


def find_waiting_replaced(conn: sqlite3.Connection, theme_id: int, arrived: Collection[bytes]) -> set[bytes]:
    """Find facts in shadow because their replacement was not here."""
    rows = conn.execute(REPLACED_IN_SHADOW, (theme_id,)).fetchall()
    names = {str(uids.format_uid(uid)) for uid in arrived} if rows else set()
    return {uid for uid, link in rows if link in names}


class ShadowSettler:
    """Show what versions say, as far as the store's own rules allow."""

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
        self._arrived: Mapping[bytes, VersionPayload] = {}
        self._coming: set[bytes] = set()
        self._moved: set[bytes] = set()
        self._shown: set[bytes] = set()
        self._as_they_say: set[bytes] = set()
        """Facts that are shown as their versions say, for certain."""
        self._checked: set[bytes] = set()
        self._outplaced: set[bytes] = set()
        """Facts that stand nowhere, since another one that says something else stands in their place."""
        self._absent: set[bytes] = set()

    def settle(self, touched: set[bytes], arrived: Mapping[bytes, VersionPayload] | None = None) -> None:
        """Show what these facts affect, in one change of the journal; what that moves makes no version to send.

        :param arrived: what live facts say that have just won
        """
        self._arrived = arrived or {}
        if self._arrived:
            self._absent = self._arrived.keys() - find_fact_uids(self._conn, self._arrived)
        shadows = find_shadows(self._conn, self._theme_id, touched - self._absent)
        shadows.update((uid, Shadow(uid, None, 0, payload)) for uid, payload in self._arrived.items())
        while shadows:
            self._coming |= {uid for uid, one in shadows.items() if is_live_fact(one.payload)}
            if unlike := shadows.keys() - self._arrived.keys():
                self._absent |= unlike - find_fact_uids(self._conn, unlike)
            self._show(shadow for shadow in shadows.values() if not shadow.is_former_scope)
            # What was shown behind a fact that gave way, or that cannot be shown after all, is shown behind another, or none.
            moved, self._moved = self._moved, set()
            if moved:
                self._change.flush()
                names = {str(uids.format_uid(uid)) for uid in moved}
                behind = {uid for uid, payload in self._arrived.items() if payload.attrs["superseded_by"] in names}
                shadows = {uid: Shadow(uid, None, 0, self._arrived[uid]) for uid in behind}
                shadows |= find_shadows(self._conn, self._theme_id, moved, scopes=False)
            else:
                shadows = {}
        self._change.flush()
        # Only now it is known whether facts stand in them.
        self._show(shadow for shadow in find_shadows(self._conn, self._theme_id, ()).values() if shadow.is_former_scope)
        self._change.record()
        self._origins.keep()
        # Its place is free again, or what stands there says the same by now: who comes late has no conflict to list.
        outplaced = {uid for (uid,) in self._conn.execute(UIDS_OUTPLACED, (self._theme_id,))}
        release(self._conn, self._theme_id, outplaced & self._shown - self._outplaced, AsideReason.OUTPLACED)
        self._clear_shadows()

    def _show(self, shadows: Iterable[Shadow]) -> None:
        for shadow in sorted(shadows, key=lambda shadow: shadow.order):
            self._show_one(shadow)

    def _show_one(self, shadow: Shadow) -> None:
        uid, payload = shadow.uid, shadow.payload
        self._shown.add(uid)
        self._outplaced.discard(uid)
        if payload.checked != UNCHANGED:
            self._checked.add(uid)
        if payload.checked.hidden_because is not None:
            self._hide(shadow)
            return
        try:
            if payload.kind == "scope":
                self._show_scope(shadow)
            else:
                self._show_fact(uid, payload)
        except (errors.StoreError, KeyError, ValueError, TypeError) as error:
            # What cannot be shown here stays in shadow, is reported, and must not hinder the rest.
            reason = error.message if isinstance(error, errors.StoreError) else "it cannot be shown on this machine"
            self._hide_with_reason(uid, payload, reason)

    def _hide(self, shadow: Shadow) -> None:
        """Hide a version, also in its former wording, which the team no longer has."""
        row = self._change.fact_row(shadow.uid) if shadow.label is None else None
        if row is not None and row.theme_id == self._theme_id and row.tier != Tier.WITHDRAWN:
            self._as_they_say.discard(shadow.uid)
            self._change.update_fact(row, "sync", keep_time=True, tier=Tier.WITHDRAWN.value, pinned=0)

    def _hide_with_reason(self, uid: bytes, payload: VersionPayload, reason: str) -> None:
        payload.checked = payload.checked._replace(hidden_because=reason)
        self._coming.discard(uid)
        self._moved.add(uid)
        self._checked.add(uid)
        self._as_they_say.discard(uid)
        self._conn.execute(UPDATE_SHADOW, (payload.to_json(), self._theme_id, uid))

    def _show_scope(self, shadow: Shadow) -> None:
        payload, label = shadow.payload, shadow.label or ""
        key = self._names.scope_or_none(self._theme_id, label)
        if payload.state == LIVE:
            columns = {name: payload.attrs[name] for name in ("status", "opened_at", "closed_at", "closed_by")}
        elif key is None or key.status == ScopeStatus.WITHDRAWN:
            return
        elif self._conn.execute(IS_USED, (key.id,)).fetchone() is not None:
            # Somebody wrote to it without knowing that it was gone: it is open as long as that is there.
            opened_at = shadow.hlc >> COUNTER_BITS
            columns = {"status": ScopeStatus.OPEN.value, "opened_at": opened_at, "closed_at": None, "closed_by": None}
        else:
            self._change.update_scope(key.id, "sync", status=ScopeStatus.WITHDRAWN)
            return
        status = ScopeStatus(columns["status"])
        if key is None:
            safe_text.validate_text(label, "the scope's name")
            key = self._change.insert_scope(
                self._theme_id, repeat_text(label), status=ScopeStatus.OPEN, at=validate_row_time(columns["opened_at"])
            )
        elif key.status == ScopeStatus.COOLING and status is ScopeStatus.OPEN:
            columns["status"] = key.status
        former = self._conn.execute(
            "SELECT status, opened_at, closed_at, closed_by FROM scopes WHERE id = ?", (key.id,)
        ).fetchone()
        new = {name: value for (name, value), old in zip(columns.items(), former, strict=True) if value != old}
        if new:
            self._change.update_scope(key.id, "sync", **new)
        if status is ScopeStatus.CLOSED and key.status != ScopeStatus.CLOSED:
            self._conn.execute("DELETE FROM attention WHERE scope_id = ?", (key.id,))
            self._conn.execute("UPDATE sessions SET scope_id = NULL WHERE scope_id = ?", (key.id,))

    def _show_fact(self, uid: bytes, payload: VersionPayload) -> None:
        row = None if uid in self._absent else self._change.fact_row(uid)
        if row is not None and row.theme_id != self._theme_id:
            raise ValueError("a fact of another theme has this uid here")
        if payload.state == DELETED:
            if row is not None and row.tier != Tier.WITHDRAWN:
                self._update(uid, row, {"tier": Tier.WITHDRAWN.value})
            return
        if payload.checked.quarantine_rule is not None and payload.attrs["tier"] not in STANDING_TIERS:
            # Letting it in would put it in the place of what replaced it.
            self._hide_with_reason(
                uid, payload, f"it was replaced, and would wait for a person ({payload.checked.quarantine_rule})"
            )
            self._hide(Shadow(uid, None, 0, payload))
            return
        kind, columns = self._find_columns(uid, payload, row)
        if row is None:
            self._insert(uid, payload, kind, columns)
            return
        new = {
            name: columns[name]
            for name in ("content", *FACT.names)  # in the order in which the journal tells of them
            if name in columns
            and (row.scope_id != columns["scope"].id if name == "scope" else getattr(row, name) != columns[name])
        }
        if "content" in new:
            new["content"] = repeat_fact(Notation(kind, row.target, new["content"]))
        self._update(uid, row, new)

    def _insert(self, uid: bytes, payload: VersionPayload, kind: FactType, columns: dict[str, Any]) -> None:
        self._absent.discard(uid)
        by, scope = parse_author(str(payload.attrs["by"])), columns.pop("scope")
        words = {**columns, "type": kind, "scope": scope.label or None, "by": str(by)}
        if columns[LINK] is not None:
            words[LINK] = uids.format_uid(columns[LINK])
        notation = Notation(kind, columns.pop("target"), columns.pop("content"))
        source = SOURCE if columns["tier"] == Tier.QUARANTINED else None
        origin = self._origins.find(uid)
        self._change.insert_fact(
            self._theme_id, scope, repeat_fact(notation), uid=uid, by=by, source=source, origin=origin, **columns
        )
        arrival = self._origins.arrived.get(uid)
        if arrival is not None and arrival.worded_by is not None:  # whose words it came with
            self._change.entries[-1] = replace(self._change.entries[-1], actor=to_teammate(arrival.worded_by))
        if uid in self._arrived and payload.checked == UNCHANGED and is_shown_as_it_says(payload, words):
            self._as_they_say.add(uid)

    def _update(self, uid: bytes, row: FactRow, columns: dict[str, Any]) -> None:
        """Change a fact, and note whose words it has now and who has moved it."""
        arrival = self._origins.arrived.get(uid)
        worded, moved = (to_teammate(arrival.worded_by), to_teammate(arrival.changed_by)) if arrival else (None, None)
        words = {"content": columns.pop("content")} if "content" in columns and worded != moved else {}
        if words or columns:
            self._as_they_say.discard(uid)
        if words:
            row = self._change.update_fact(row, "sync", by=worded, keep_time=True, **words)
        if columns:
            self._change.update_fact(row, "sync", by=moved, keep_time=True, **columns)

    def _find_columns(
        self, uid: bytes, payload: VersionPayload, row: FactRow | None
    ) -> tuple[FactType, dict[str, Any]]:
        """Return the type and the columns to show a fact, once whatever is in its place has made room."""
        checked = payload.checked
        kind, columns = parse_fact(payload.attrs, payload.content)
        target, content, label = columns["target"], columns["content"], columns["scope"]
        if row is not None and (row.type, row.target) != (kind, target):
            raise ValueError("a fact keeps its type and target")
        if checked.quarantine_rule is not None:
            is_approved = row is not None and row.tier not in HIDDEN_TIERS and row.content == content
            if not is_approved:
                columns |= quarantined_columns(checked.quarantine_rule) | {"pinned": 0}
        if checked.uncurated and columns["tier"] != Tier.QUARANTINED:
            is_agreed = row is not None and row.tier == Tier.HOT and row.content == content
            if not is_agreed:
                columns |= to_state(to_kept_cold(payload.attrs))
            elif row is not None:
                columns["pinned"] &= row.pinned
        is_standing = columns["tier"] in STANDING_TIERS
        link = columns[LINK]
        if link is not None and (is_standing or link == uid or not self._is_here(link)):
            columns |= link_columns(None)
        columns["scope"] = scope = self._scopes.get(label) or self._open_scope(label)
        there = self._change.find_standing(scope.id, kind, target, uid) if is_standing else None
        if there is not None and uid > there.uid:
            self._demote(there, uid, content)
        elif there is not None:
            self._keep_shadow(uid)
            self._note(uid, there.uid, there.content, content)
            columns |= settled_columns(Tier.SUPERSEDED.value, False, there.uid)
        return kind, columns

    def _is_here(self, link: bytes) -> bool:
        return link in self._coming or self._change.fact_row(link) is not None

    def _open_scope(self, label: str) -> ScopeKey:
        """Return the scope of a fact. One deleted by its version is restored for the fact, and goes with it."""
        if label:
            former = find_version(self._conn, self._theme_id, to_sync_uid(self._theme, label))
            if former is not None and former.state == DELETED and former.shadow is None:
                text = VersionPayload("scope", label, {}, DELETED).to_json()
                self._conn.execute(UPDATE_SHADOW, (text, self._theme_id, former.uid))
        self._scopes[label] = self._change.scope_for_writing(self._theme_id, repeat_text(label) if label else None)
        return self._scopes[label]

    def _keep_shadow(self, uid: bytes) -> None:
        """Keep what the version of a fact says in shadow, before the fact is shown otherwise."""
        payload = self._arrived.get(uid)
        if payload is None:
            shadow_versions(self._conn, self._theme_id, [uid])
        elif payload.checked == UNCHANGED:
            self._conn.execute(UPDATE_SHADOW, (payload.to_json(), self._theme_id, uid))
        self._as_they_say.discard(uid)

    def _demote(self, there: FactRow, by: bytes, content: str) -> None:
        self._keep_shadow(there.uid)
        self._change.update_fact(there, "supersede", keep_time=True, **displaced_columns(by))
        self._moved.add(there.uid)
        self._note(there.uid, by, content, there.content)

    def _note(self, loser: bytes, winner: bytes, winning: str, lost: str) -> None:
        """Record a conflict: two facts for one place with different contents are for a person to decide."""
        version = find_version(self._conn, self._theme_id, loser)
        if version is None or version.shadow is None or fold_phrase(winning) == fold_phrase(lost):
            return
        self._outplaced.add(loser)
        release(self._conn, self._theme_id, [loser], AsideReason.OUTPLACED, unless_by=winner)
        row = load_sync_rows(self._conn, self._theme_id, self._theme, [version])[0]
        self.conflicts += set_aside(self._conn, self._theme_id, row, AsideReason.OUTPLACED, self._now, other=winner)

    def _clear_shadows(self) -> None:
        """Keep in shadow what is not shown as its version says, and nothing else.

        What a content check changed stays there: undoing the approval of such a version takes nothing from the others.
        """
        doubtful = self._shown - self._checked - self._as_they_say
        versions = load_versions(self._conn, self._theme_id, doubtful) if doubtful else {}
        shadowed = [
            version for version in versions.values() if version.shadow is not None or version.uid in self._arrived
        ]
        differing = {version.uid for version in find_differing(self._conn, self._theme_id, shadowed)}
        lifted = [version for version in shadowed if version.uid not in differing]
        shadows = [(self._arrived[uid].to_json(), self._theme_id, uid) for uid in differing & self._arrived.keys()]
        self._conn.executemany(UPDATE_SHADOW, shadows)
        cleared = [(None, self._theme_id, version.uid) for version in lifted if version.shadow is not None]
        self._conn.executemany(UPDATE_SHADOW, cleared)
        self._discard_noted_changes({version.local_name for version in lifted} | self._as_they_say)

    def _discard_noted_changes(self, certain: set[bytes | str]) -> None:
        """Discard the changes that showing has made, since nobody made them; before it every change had its version.

        A thing that differs from its version and is not in shadow stays noted and becomes a version: better one too
        many than one that is wrong.

        :param certain: things that are shown as their versions say
        """
        noted = find_noted_things(self._conn, self._theme_id)
        doubtful = [to_sync_uid(self._theme, thing) for thing in noted if thing not in certain]
        versions = load_versions(self._conn, self._theme_id, doubtful) if doubtful else {}
        shown = [version for version in versions.values() if version.shadow is None]
        differing = {version.local_name for version in find_differing(self._conn, self._theme_id, shown)}
        self._conn.execute("DELETE FROM sync_changed WHERE theme_id = ?", (self._theme_id,))
        still = [(self._theme_id, thing) for thing in noted if thing in differing]
        self._conn.executemany("INSERT INTO sync_changed VALUES (?, ?)", still)


def to_teammate(role: str | None) -> Actor | None:
    """Return the actor of the journal for a role of the team; None where the server does not say who it was."""
    return None if role is None else Actor(SYNC.kind, role)


def is_live_fact(payload: VersionPayload) -> bool:
    return payload.kind == "fact" and payload.state == LIVE and payload.checked.hidden_because is None


def is_shown_as_it_says(payload: VersionPayload, words: dict[str, Any]) -> bool:
    """Check whether a fact stands as its version says, to the type of each number: True is 1, and is written otherwise."""
    types = list(map(type, map(payload.attrs.get, NUMBERS)))
    spelled = {name: value for name, value in words.items() if name not in FACT.carried or value != FACT.defaults[name]}
    return {**payload.attrs, "content": payload.content} == spelled and types == list(NUMBERS.values())


def shadow_versions(conn: sqlite3.Connection, theme_id: int, facts: Collection[bytes]) -> None:
    """Keep what the versions of facts say in shadow, before the facts are shown otherwise."""
    payloads = load_payloads(conn, theme_id, facts)
    conn.executemany(
        f"{UPDATE_SHADOW} AND shadow IS NULL", [(payload.to_json(), theme_id, uid) for uid, payload in payloads.items()]
    )
