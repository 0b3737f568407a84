"""Taking in versions from other machines: who wins, what lost without knowing of the winner, and what is shown.

What wins is kept as a version first, in shadow, and then shown in facts and scopes as far as the store's own rules allow.
The rule where two facts stand in one place is the same on every machine: the one with the higher uid, which was made
later, stands; the other is shown as superseded by it until the place is free again. Nothing of that is a new version.
"""

from __future__ import annotations

import itertools
import json
import sqlite3
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import itemgetter
from types import MappingProxyType
from typing import Any

from hermes_memory_store import errors, text, uids
from hermes_memory_store.chunking import in_chunks
from hermes_memory_store.held_back import hold_back, let_go
from hermes_memory_store.hybrid_clock import PhysicalClocks, brought_down
from hermes_memory_store.journal import Journal
from hermes_memory_store.malformed import checked, has_name, moment, one_line
from hermes_memory_store.model import STANDING_TIERS, Actor, FactType, Notation, ScopeStatus, Tier
from hermes_memory_store.names import UNSCOPED, Names, ScopeKey
from hermes_memory_store.plain import Plain, here, plain_facts
from hermes_memory_store.records import FactRow, standing_fact
from hermes_memory_store.screening import NOTHING, SOURCE
from hermes_memory_store.travelling import COUNTER_BITS, DELETED, LIVE, PURGED, Payload, Screened, SyncRow
from hermes_memory_store.unindexed import Gathering, place
from hermes_memory_store.versions import (
    AWAY,
    KNOWN,
    PUT,
    Version,
    is_aside,
    known,
    name_of,
    payloads,
    put_columns,
    remember_clear,
    remember_masked,
    rows_of,
    shown_of,
    versions,
)
from hermes_memory_store.waiting import WHY

SYNC = Actor("sync")

ADD_CONFLICT = "INSERT OR IGNORE INTO sync_conflicts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"

SETTLED = """
    DELETE FROM sync_conflicts
    WHERE theme_id = ? AND uid = ? AND (why = 'two heads' OR hlc IN (SELECT value FROM json_each(?)))
"""


CONTESTED = "SELECT DISTINCT uid FROM sync_conflicts WHERE theme_id = ? AND why <> 'ahead'"

OFFERED_AGAIN = "UPDATE sync_rows SET sent = 0, offered = 1 WHERE theme_id = ? AND uid = ?"

SEEN = "UPDATE sync_rows SET sent = 1, seq = ?, refused = NULL WHERE theme_id = ? AND uid = ?"


Held = Mapping[bytes, tuple[SyncRow, Screened]]
"""Versions that are held back, by uid, with what this machine's screens make of them."""


class Receiving:
    """Takes versions of one theme in, inside a running transaction."""

    def __init__(
        self,
        conn: sqlite3.Connection,
        theme_id: int,
        theme: str,
        clocks: PhysicalClocks,
        rows: Sequence[tuple[int, SyncRow]],
        held: Held,
    ) -> None:
        """
        :param rows: with their sequence numbers; those that come first are older
        :param held: of the same things
        """
        self.changed = self.conflicts = self.ignored = self.aside = 0
        self.newest = 0
        """The newest clock that was seen and that both clocks allow: what is stamped here from now on is newer."""
        self.touched: set[bytes] = set()
        self.purged: list[bytes] = []
        self.plain: dict[bytes, Plain] = {}
        """Those of what was touched that are shown as they are."""
        self._conn = conn
        self._theme_id = theme_id
        self._theme = theme
        self._now = clocks.own_ms
        self._clocks = clocks
        self._held = dict(held)
        self._rows = [one for one in rows if one[1].theme == theme and has_name(one[1])]
        self.ignored += len(rows) - len(self._rows)
        wanted = {uids.to_bytes(row.uid) for _, row in self._rows}
        self._here = {version.uid: version for version in versions(conn, theme_id, wanted)}
        self._times = Counter(row.uid for _, row in self._rows)
        self._contested = {uid for (uid,) in conn.execute(CONTESTED, (theme_id,))}

    def take(self, screens: Mapping[int, Screened]) -> None:
        """Decide between each version and the one that is here.

        :param screens: what this machine's screens made of those they had something to say of, by identity
        """
        won: dict[bytes, tuple[int, SyncRow, Screened]] = {}
        fresh: dict[bytes, SyncRow] = {}
        for seq, row in self._rows:
            uid, screened = uids.to_bytes(row.uid), screens.get(id(row), NOTHING)
            if self._is_ahead(uid, row):
                hold_back(self._conn, self._theme_id, row, seq, self._now)
                self._held[uid] = row, screened
                self.aside += 1
                continue
            if uid in self._held:
                self.conflicts += outrank_held(self._conn, self._theme_id, row, self._held.pop(uid), self._clocks)
            if not self._wins(seq, uid, row, screened):
                continue
            if uid in self._here:
                remember_masked(self._conn, self._theme_id, self._here[uid])
            elif row.kind == "fact" and row.state == LIVE and not screened and self._times[row.uid] == 1:
                fresh[uid] = row
            won[uid] = seq, row, screened
            if self._times[row.uid] > 1:
                columns = put_columns(self._theme_id, row, seq=seq, screened=screened)
                self._here[uid] = Version(*(*columns[1:-1], None, columns[-1]))
            self._won(uid, row, screened)
        others = (row for _, row in self._rows if uids.to_bytes(row.uid) not in fresh)
        self.plain = plain_facts(self._conn, self._theme_id, fresh, others)
        put = (
            put_columns(self._theme_id, row, seq=seq, screened=screened, shown=uid in self.plain)
            for uid, (seq, row, screened) in won.items()
        )
        self._conn.executemany(PUT, put)

    def _is_ahead(self, uid: bytes, row: SyncRow) -> bool:
        """Whether a version is to be held back. What is erased for good is erased whatever its clock says."""
        if row.hlc <= self._clocks.acceptable or row.state == PURGED:
            return False
        here = self._here.get(uid)
        return here is None or (here.hlc, uids.to_text(here.node)) != (row.hlc, row.node)

    def _wins(self, seq: int, uid: bytes, row: SyncRow, screened: Screened) -> bool:
        if row.hlc <= self._clocks.reach:
            self.newest = max(self.newest, row.hlc)
        here = self._here.get(uid)
        if here is None:
            return True
        if (here.hlc, uids.to_text(here.node)) == (row.hlc, row.node):
            self._conn.execute(SEEN, (seq, self._theme_id, uid))
            self.ignored += 1
            return False
        ahead = bool(here.sent) and here.hlc > self._clocks.plausible
        if here.rank > row.rank and not (ahead and here.state != PURGED):
            if row.hlc not in here.ancestors and here.state != PURGED and screened.aside is None:
                self._keep_loser(uid, row, self._row(here), screened.shown)
            if here.sent:  # the server has it no more
                self._conn.execute(OFFERED_AGAIN, (self._theme_id, uid))
            self.ignored += 1
            return False
        if not descends(row, here, self._clocks) and PURGED not in (row.state, here.state) and not is_aside(here):
            self._keep_loser(uid, self._row(here), row, shown_of(here))
        return True

    def _won(self, uid: bytes, row: SyncRow, screened: Screened) -> None:
        self.aside += screened.aside is not None
        if row.state == PURGED and screened.aside is None:
            self.purged.append(uid)
        if uid in self._contested:
            self._conn.execute(SETTLED, (self._theme_id, uid, json.dumps(row.ancestors)))
        self.touched.add(uid)
        self.changed += 1

    def _row(self, version: Version) -> SyncRow:
        return rows_of(self._conn, self._theme_id, self._theme, [version])[0]

    def _keep_loser(self, uid: bytes, loser: SyncRow, winner: SyncRow, shown: str | None) -> None:
        if gist(loser) != gist(winner):
            self._contested.add(uid)
            remember_clear(self._conn, self._theme_id, uid, shown, loser.content)
            self.conflicts += keep(self._conn, self._theme_id, masked(loser, shown), "concurrent", self._now)


def outrank_held(
    conn: sqlite3.Connection, theme_id: int, row: SyncRow, held: tuple[SyncRow, Screened], clocks: PhysicalClocks
) -> int:
    """A version stands in the team's database where one stood that is held back, which goes; 1 where it is kept for a person,
    since whoever made the other did not know of it."""
    lost, screened = held
    uid = uids.to_bytes(row.uid)
    let_go(conn, theme_id, uid)
    places = brought_down((*lost.ancestors, lost.hlc), clocks.plausible)
    names = {lost.hlc, places[lost.hlc]}
    if not names.isdisjoint((row.hlc, *row.ancestors)) or gist(lost) == gist(row):
        return 0
    if row.state == PURGED or screened.aside is not None:
        return 0
    remember_clear(conn, theme_id, uid, screened.shown, lost.content)
    # By the clock that every machine makes of it, so that a decision anywhere settles it everywhere.
    lost = replace(lost, hlc=places[lost.hlc], ancestors=tuple(places[clock] for clock in lost.ancestors))
    return keep(conn, theme_id, masked(lost, screened.shown), "concurrent", clocks.own_ms)


def descends(row: SyncRow, here: Version, clocks: PhysicalClocks) -> bool:
    """Whether a winner was made by somebody who knew what is here.

    A full list of ancestors may have lost the one that is here; what is not ours to send was on the server before the
    winner, and counts as known then.
    """
    if here.hlc in row.ancestors:
        return True
    if here.hlc > clocks.plausible:
        return brought_down((*here.ancestors, here.hlc), clocks.plausible)[here.hlc] in row.ancestors
    return len(row.ancestors) >= 16 and bool(here.sent) and here.hlc < row.ancestors[-1]


def gist(row: SyncRow | Payload) -> tuple[Any, ...]:
    """What makes two versions different for a person: not when it was said, nor whether pressure moved it."""
    attrs = row.attrs if isinstance(row.attrs, dict) else {}
    if row.kind == "scope":
        return (attrs.get("status") == ScopeStatus.CLOSED,)
    tier = "live" if attrs.get("tier") in ("hot", "cold") else attrs.get("tier")
    said = (attrs.get(name) for name in ("type", "target", "scope", "pinned"))
    return row.state, row.content, tier, *said


def masked(row: SyncRow, shown: str | None) -> SyncRow:
    """A version as it is kept for a person to decide on, who would bring its secrets back. :param shown: without them"""
    return row if shown is None else replace(row, content=shown)


def keep(
    conn: sqlite3.Connection, theme_id: int, loser: SyncRow, why: str, now: int, other: bytes | None = None
) -> int:
    """Keep a version that lost, for a person to decide; 1 unless it is kept already."""
    name = (theme_id, uids.to_bytes(loser.uid), loser.hlc, uids.to_bytes(loser.node), why)
    said = Payload(loser.kind, loser.content, loser.attrs, loser.state).dumped()
    return conn.execute(ADD_CONFLICT, (*name, now, other, json.dumps(loser.ancestors), said)).rowcount


def shadows_of(
    conn: sqlite3.Connection, theme_id: int, touched: Collection[bytes], *, scopes: bool = True
) -> list[Version]:
    """What is in shadow of these facts: themselves, and what is shown behind them; and scopes that are gone."""
    found: dict[bytes, Version] = {}
    if scopes:
        rows = conn.execute(f"{KNOWN} WHERE theme_id = ? AND shadow IS NOT NULL AND label > ''", (theme_id,))
        found = {version.uid: version for version in map(from_row, rows.fetchall())}
    linked: set[bytes] = set()
    for some in in_chunks(list(touched)):
        behind = f"SELECT uid FROM facts WHERE superseded_by IN ({', '.join('?' * len(some))})"
        linked.update(uid for (uid,) in conn.execute(behind, some))
    for some in in_chunks(list(linked.union(touched))):
        sql = f"{KNOWN} WHERE theme_id = ? AND shadow IS NOT NULL AND uid IN ({', '.join('?' * len(some))})"
        found |= {version.uid: version for version in map(from_row, conn.execute(sql, (theme_id, *some)))}
    return list(found.values())


def waiting_for(conn: sqlite3.Connection, theme_id: int, arrived: set[bytes]) -> set[bytes]:
    """Facts in shadow because what replaced them was not here."""
    sql = "SELECT uid, shadow ->> '$[2].superseded_by' FROM sync_rows WHERE theme_id = ? AND shadow IS NOT NULL"
    names = {str(uids.to_text(uid)) for uid in arrived}
    return {uid for uid, link in conn.execute(sql, (theme_id,)) if link in names}


def from_row(row: tuple[Any, ...]) -> Version:
    """A row of `KNOWN`."""
    return Version(*row)


def loaded(version: Version) -> Payload:
    """What stands in shadow."""
    return Payload.loaded(str(version.shadow))


NOTED_NO_MORE = "DELETE FROM sync_changed WHERE theme_id = ? AND thing = ?"


NONE: Mapping[bytes, Plain] = MappingProxyType({})


class Settling:
    """Shows what is in shadow, as far as the store's own rules allow."""

    def __init__(
        self, conn: sqlite3.Connection, names: Names, journal: Journal, theme_id: int, theme: str, now: int
    ) -> None:
        self.conflicts = 0
        self._conn = conn
        self._names = names
        self._theme_id = theme_id
        self._theme = theme
        self._now = now
        self._change = Gathering(conn, names, journal, SYNC)
        self._scopes: dict[str, ScopeKey] = {}
        self._coming: set[bytes] = set()
        self._moved: set[bytes] = set()
        self._shown: set[bytes] = set()
        self._screened: set[bytes] = set()
        self._absent: set[bytes] = set()
        self._plain: Mapping[bytes, Plain] = NONE

    def run(self, touched: Collection[bytes], plain: Mapping[bytes, Plain] = NONE) -> None:
        """Show what these facts concern, in one change of the journal; what that moves is no news to send.

        :param plain: facts that are shown as their versions say
        """
        concerned = shadows_of(self._conn, self._theme_id, touched)
        self._coming |= plain.keys()
        while concerned or plain:
            waiting = [(version, loaded(version)) for version in concerned]
            self._coming |= {version.uid for version, said in waiting if is_coming(said)}
            wanted = {version.uid for version in concerned}
            self._absent |= wanted - here(self._conn, wanted)
            self._show([pair for pair in waiting if not is_former_scope(*pair)], plain)
            self._plain, plain = plain or self._plain, NONE
            # What was shown behind a fact that gave way, or that cannot be shown after all, is shown behind another, or none.
            moved, self._moved = self._moved, set()
            if moved:
                self._change.flush()
            concerned = shadows_of(self._conn, self._theme_id, moved, scopes=False)
        self._change.flush()
        # Only now it is known whether facts stand in them.
        there = shadows_of(self._conn, self._theme_id, set())
        self._show([(version, said) for version in there if is_former_scope(version, said := loaded(version))])
        self._change.record()
        self._lift()
        self._forget()

    def _show(self, waiting: list[tuple[Version, Payload]], plain: Mapping[bytes, Plain] = NONE) -> None:
        steps = [(order(*pair), partial(self._show_one, *pair)) for pair in waiting]
        steps += [(rank_of(one.place is not None, one.uid), partial(self._insert, one)) for one in plain.values()]
        for _, step in sorted(steps, key=itemgetter(0)):
            step()

    def _show_one(self, version: Version, said: Payload) -> None:
        self._shown.add(version.uid)
        if said.screened:
            self._screened.add(version.uid)
        if said.screened.aside is not None:
            self._hide(version)
            return
        try:
            if said.kind == "scope":
                self._scope(version, said)
            else:
                self._fact(version, said)
        except (errors.StoreError, KeyError, ValueError, TypeError) as error:
            # What cannot be shown here stays in shadow, is told of, and must not hinder the rest.
            why = error.message if isinstance(error, errors.StoreError) else "it cannot be shown on this machine"
            self._put_aside(version, said, why)

    def _insert(self, one: Plain) -> None:
        scope = self._scopes.get(one.label) or self._opened(one.label)
        self._change.insert_fact(self._theme_id, scope, one.said, uid=one.uid, by=one.by, **one.columns)

    def _hide(self, version: Version) -> None:
        """What is kept aside is not shown as it was before, either: the team says so no more."""
        row = self._change.fact_row(version.uid) if version.label is None else None
        if row is not None and row.theme_id == self._theme_id and row.tier != Tier.WITHDRAWN:
            self._change.update_fact(row, "sync", keep_time=True, tier=Tier.WITHDRAWN.value, pinned=0)

    def _put_aside(self, version: Version, said: Payload, why: str) -> None:
        said.screened = replace(said.screened, aside=why)
        self._coming.discard(version.uid)
        self._moved.add(version.uid)
        self._screened.add(version.uid)
        self._conn.execute(
            "UPDATE sync_rows SET shadow = ? WHERE theme_id = ? AND uid = ?",
            (said.dumped(), self._theme_id, version.uid),
        )

    def _scope(self, version: Version, said: Payload) -> None:
        label = version.label or ""
        key = self._names.scope_or_none(self._theme_id, label)
        if said.state == LIVE:
            wanted = {name: said.attrs[name] for name in ("status", "opened_at", "closed_at", "closed_by")}
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
            text.check(label, "the scope's label")
            key = self._change.insert_scope(
                self._theme_id, label, status=ScopeStatus.OPEN, at=moment(wanted["opened_at"])
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

    def _fact(self, version: Version, said: Payload) -> None:
        row = None if version.uid in self._absent else self._change.fact_row(version.uid)
        if row is not None and row.theme_id != self._theme_id:
            raise ValueError("a fact of another theme has this uid here")
        if said.state == DELETED:
            if row is not None and row.tier != Tier.WITHDRAWN:
                self._change.update_fact(row, "sync", keep_time=True, tier=Tier.WITHDRAWN.value)
            return
        if said.screened.waits is not None and said.attrs["tier"] not in STANDING_TIERS:
            # Letting it in would put it in the place of what replaced it.
            self._put_aside(version, said, f"it was replaced, and would wait for a person ({said.screened.waits})")
            self._hide(version)
            return
        wanted = self._columns(version.uid, said, row)
        if row is not None:
            new = {name: value for name, value in wanted.items() if differs(row, name, value)}
            if new:
                self._change.update_fact(row, "sync", keep_time=True, **new)
            return
        self._absent.discard(version.uid)
        kind, _, name = str(said.attrs["by"]).partition(":")
        scope = wanted.pop("scope")
        notation = Notation(FactType(said.attrs["type"]), checked(said.attrs["target"]), wanted.pop("content"))
        source = SOURCE if wanted["tier"] == Tier.QUARANTINED else None
        self._change.insert_fact(
            self._theme_id, scope, notation, uid=version.uid, by=Actor(kind, name), source=source, **wanted
        )

    def _columns(self, uid: bytes, said: Payload, row: FactRow | None) -> dict[str, Any]:
        """The columns by which a fact is shown, once whatever stands in its way has made room."""
        attrs = said.attrs
        kind, target = FactType(attrs["type"]).value, checked(attrs["target"])
        if row is not None and (row.type, row.target) != (kind, target):
            raise ValueError("a fact keeps its type and target")
        content = one_line(said.screened.shown or said.content)
        times = {name: moment(attrs[name]) for name in ("created_at", "updated_at")}
        tier, pinned = Tier(attrs["tier"]).value, int(bool(attrs["pinned"]))
        cooled_by = attrs.get("cooled_by")
        if said.screened.waits is not None and not (
            row is not None and row.tier not in AWAY and row.content == content
        ):
            # Unless somebody here has let in what it says.
            tier, pinned, cooled_by = Tier.QUARANTINED.value, 0, f"{WHY}{said.screened.waits}"
        link = None if attrs["superseded_by"] is None else uids.to_bytes(attrs["superseded_by"])
        if link == uid or tier in STANDING_TIERS or not self._is_here(link):
            link = None
        label = checked(attrs["scope"] or UNSCOPED)
        scope = self._scopes.get(label) or self._opened(label)
        if self._change.waits(place(scope.id, kind, target)):
            self._change.flush()
        there = standing_fact(self._conn, scope.id, kind, target, besides=uid)
        if tier in STANDING_TIERS and there is not None:
            if uid > there.uid:
                self._demote(there, uid, content)
            else:
                self._note(uid, there.uid, there.content, content)
                tier, pinned, link, cooled_by = Tier.SUPERSEDED.value, 0, there.uid, None
        columns: dict[str, Any] = {"content": content, "scope": scope, "tier": tier, "pinned": pinned}
        return columns | times | {"superseded_by": link, "cooled_by": cooled_by}

    def _opened(self, label: str) -> ScopeKey:
        """The scope of a fact. One that is gone by its version comes back for it, and goes when it does."""
        if label:
            former = known(self._conn, self._theme_id, name_of(self._theme, label))
            if former is not None and former.state == DELETED and former.shadow is None:
                self._conn.execute(
                    "UPDATE sync_rows SET shadow = ? WHERE theme_id = ? AND uid = ?",
                    (Payload("scope", label, {}, DELETED).dumped(), self._theme_id, former.uid),
                )
        self._scopes[label] = self._change.scope_for_writing(self._theme_id, label or None)
        return self._scopes[label]

    def _is_here(self, link: bytes | None) -> bool:
        return link is not None and (link in self._coming or self._change.fact_row(link) is not None)

    def _demote(self, there: FactRow, by: bytes, content: str) -> None:
        """Show a standing fact as superseded; what its version says goes into shadow."""
        shade(self._conn, self._theme_id, [there.uid])
        self._change.update_fact(
            there, "supersede", keep_time=True, tier=Tier.SUPERSEDED.value, superseded_by=by, pinned=0, cooled_by=None
        )
        self._moved.add(there.uid)
        self._note(there.uid, by, content, there.content)

    def _note(self, loser: bytes, winner: bytes, stands: str, lost: str) -> None:
        """Two facts for one place that say different things are for a person to decide."""
        name = (self._theme_id, loser)
        self._conn.execute(
            "DELETE FROM sync_conflicts WHERE theme_id = ? AND uid = ? AND why = 'two heads' AND other <> ?",
            (*name, winner),
        )
        version = known(self._conn, *name)
        if version is None or version.shadow is None or folded(stands) == folded(lost):
            return
        row = rows_of(self._conn, self._theme_id, self._theme, [version])[0]
        row = masked(row, shown_of(version))
        self.conflicts += keep(self._conn, self._theme_id, row, "two heads", self._now, winner)

    def _lift(self) -> None:
        """What is shown as its version says needs no shadow any more, unless a screen had something to say of it: who undoes
        having let it in takes nothing from the others."""
        found = versions(self._conn, self._theme_id, self._shown - self._screened)
        waiting = [one for one in found if one.shadow is not None]
        stand = payloads(self._conn, self._theme_id, [version.thing for version in waiting])
        lifted = [one for one in waiting if stand[one.thing].said == one.said]
        shown = [(self._theme_id, one.uid) for one in lifted]
        self._conn.executemany("UPDATE sync_rows SET shadow = NULL WHERE theme_id = ? AND uid = ?", shown)
        self._conn.executemany("DELETE FROM sync_conflicts WHERE theme_id = ? AND uid = ? AND why = 'two heads'", shown)
        things = itertools.chain((one.thing for one in lifted), self._plain)
        self._conn.executemany(NOTED_NO_MORE, ((self._theme_id, thing) for thing in things))

    def _forget(self) -> None:
        """What showing changed is no change of anybody's. Should anything differ from its version and not stand in shadow,
        it stays noted and becomes a version: better one too many than one that says what is not so."""
        sql = "SELECT thing FROM sync_changed WHERE theme_id = ?"
        noted = [thing for (thing,) in self._conn.execute(sql, (self._theme_id,))]
        stand = payloads(self._conn, self._theme_id, noted)
        names = {name_of(self._theme, thing): thing for thing in noted}
        differ = {
            version.thing
            for version in versions(self._conn, self._theme_id, names)
            if version.shadow is None and version.said != stand[names[version.uid]].said
        }
        self._conn.executemany(NOTED_NO_MORE, [(self._theme_id, thing) for thing in noted if thing not in differ])


def is_coming(said: Payload) -> bool:
    """Whether a fact will be shown."""
    return said.kind == "fact" and said.state == LIVE and said.screened.aside is None


def is_former_scope(_: Version, said: Payload) -> bool:
    """Whether it is a scope that was renamed, merged or undone."""
    return said.kind == "scope" and said.state == DELETED


def order(version: Version, said: Payload) -> tuple[int, int]:
    """Scopes first, then what does not stand and makes room, then what stands, the newest uid first."""
    if said.kind == "scope":
        return 0, -int.from_bytes(version.uid, "big")
    return rank_of(not said.screened.aside and said.attrs.get("tier") in STANDING_TIERS, version.uid)


def rank_of(stands: bool, uid: bytes) -> tuple[int, int]:
    """The place of a fact in that order."""
    return 2 if stands else 1, -int.from_bytes(uid, "big")


def shade(conn: sqlite3.Connection, theme_id: int, wanted: Sequence[bytes]) -> None:
    """Keep what the versions of facts say, before the facts are shown otherwise."""
    says = payloads(conn, theme_id, wanted)
    conn.executemany(
        "UPDATE sync_rows SET shadow = ? WHERE theme_id = ? AND uid = ? AND shadow IS NULL",
        [(payload.dumped(), theme_id, uid) for uid, payload in says.items()],
    )


def differs(row: FactRow, name: str, value: Any) -> bool:
    """Whether a fact has something else in a column."""
    return bool(row.scope_id != value.id if name == "scope" else getattr(row, name) != value)


def folded(said: str) -> str:
    """The same for contents that differ in case and white space alone."""
    return " ".join(said.casefold().split())
