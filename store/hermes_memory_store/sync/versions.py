"""Versions of facts and scopes: the content of each in portable form, and the stamp that a changed one gets.

Triggers note what a transaction changes, whatever changes it; before the transaction ends, each such thing gets
its next version here. A version that no other store can have seen is replaced by the next one; one that was
offered becomes its ancestor.
"""

from __future__ import annotations

import json
import sqlite3
import uuid
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from hermes_memory_store import uids
from hermes_memory_store.chunking import VALUES_AT_ONCE, in_chunks
from hermes_memory_store.items.kinds import FACT, SCOPE, Form
from hermes_memory_store.items.tier_columns import REPLACED_FACTS
from hermes_memory_store.model import Actor, ScopeStatus, Tier
from hermes_memory_store.sync.hybrid_clock import PhysicalClocks, descendant_tick, lowered_clocks, next_own_tick
from hermes_memory_store.sync.merge import Stamp, newest_ancestors
from hermes_memory_store.sync.standing import (
    AsideReason,
    find_masks,
    release,
    remember_mask,
    settle_losing_versions,
    to_kept_cold,
)
from hermes_memory_store.sync.wire_format import (
    DELETED,
    LIVE,
    PURGED,
    UNCHANGED,
    CheckedVersion,
    SyncRow,
    VersionPayload,
    scope_sync_uid,
    validate_row_content,
    version_digest,
)

HIDDEN_TIERS = frozenset({Tier.WITHDRAWN.value, Tier.QUARANTINED.value})
"""Tiers that others see as deleted: a creation that was undone, and what no person here has let in yet."""

SENT = sorted(
    (one for one in FACT.attributes if one.name != "content" and not one.is_local), key=lambda one: not one.is_fixed
)
"""What a version says of a fact besides its content and its author."""

NUMBERS = {
    one.name: bool if one.form is Form.FLAG else int for one in SENT if one.form in (Form.FLAG, Form.TIME, Form.COUNT)
}
"""Attributes that are numbers, with their types in a version."""

FACTS = f"""
    SELECT f.uid, a.kind, a.name, f.content, {", ".join("s.label" if one.name == "scope" else f"f.{one.name}" for one in SENT)}
    FROM facts f JOIN scopes s ON s.id = f.scope_id JOIN actors a ON a.id = f.actor_id
    WHERE f.theme_id = ? AND f.uid IN ({{marks}})
"""

SCOPES = f"""
    SELECT {", ".join(SCOPE.names)} FROM scopes WHERE theme_id = ? AND status <> 'withdrawn' AND label IN ({{marks}})
"""

SELECT_VERSIONS = (
    "SELECT uid, label, state, hlc, node, ancestors, said, sent, offered, seq, refused, shadow FROM sync_rows"
)

UPSERT_VERSION = """
    INSERT INTO sync_rows (theme_id, uid, label, state, hlc, node, ancestors, said, sent, offered, seq, refused, shadow)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET
      label = excluded.label, state = excluded.state, hlc = excluded.hlc, node = excluded.node, ancestors = excluded.ancestors,
      said = excluded.said, sent = excluded.sent, offered = excluded.offered, seq = excluded.seq, refused = NULL,
      shadow = excluded.shadow
"""

RESTAMP = """
    UPDATE sync_rows SET hlc = ?, node = ?, ancestors = ?, sent = 0, offered = ?, refused = NULL WHERE theme_id = ? AND uid = ?
"""

UNSENT_AHEAD = f"{SELECT_VERSIONS.replace('SELECT', 'SELECT theme_id,')} WHERE sent = 0 AND hlc > ? ORDER BY hlc"

SENT_AHEAD = f"""
    {SELECT_VERSIONS.replace("SELECT", "SELECT theme_id,")}
    WHERE sent = 1 AND state < 2 AND hlc > ? AND theme_id NOT IN (SELECT value FROM json_each(?)) ORDER BY hlc
"""
"""One that purges wins over all others whatever its clock says."""

LOST_AHEAD = """
    SELECT theme_id, uid, hlc, node, why, ancestors FROM sync_conflicts
    WHERE why <> 'ahead' AND hlc > ? AND theme_id NOT IN (SELECT value FROM json_each(?))
"""

RESTAMP_LOST = """
    UPDATE OR REPLACE sync_conflicts SET hlc = ?, ancestors = ?
    WHERE theme_id = ? AND uid = ? AND hlc = ? AND node = ? AND why = ?
"""

FACTS_WITHOUT_VERSION = """
    SELECT uid FROM facts f WHERE theme_id = ?1 AND tier NOT IN ('withdrawn', 'quarantined')
      AND NOT EXISTS (SELECT 1 FROM sync_rows WHERE theme_id = ?1 AND uid = f.uid)
"""


class Version(NamedTuple):
    """A row of `sync_rows`: the newest version of a thing, and how far it has come."""

    uid: bytes
    label: str | None
    """Of a scope; None: it is a fact."""
    state: int
    hlc: int
    node: bytes
    lineage: str
    content_digest: str
    sent: int
    offered: int
    seq: int | None = None
    refused: str | None = None
    shadow: str | None = None

    @property
    def local_name(self) -> bytes | str:
        """The name of the fact or scope in this store."""
        return self.uid if self.label is None else self.label

    @property
    def ancestors(self) -> tuple[int, ...]:
        return tuple(json.loads(self.lineage))

    @property
    def stamp(self) -> Stamp:
        is_hidden = self.checked.hidden_because is not None
        return Stamp(self.hlc, uids.format_uid(self.node), self.state, self.ancestors, is_hidden, bool(self.sent))

    @property
    def digest(self) -> str:
        """Digest of the version, as `SyncRow.digest`."""
        return version_digest(uids.format_uid(self.uid), self.hlc, uids.format_uid(self.node), self.content_digest)

    @property
    def checked(self) -> CheckedVersion:
        """What this machine's content checks made of it."""
        return UNCHANGED if self.shadow is None else VersionPayload.from_json(self.shadow).checked

    @property
    def offered_clocks(self) -> tuple[int, ...]:
        """Its ancestors, and itself where another store may know it."""
        return (*self.ancestors, self.hlc) if self.sent or self.offered else self.ancestors


def ensure_node(conn: sqlite3.Connection) -> bytes:
    """Return this store's name among the others, assigned on first use in a write transaction."""
    row = conn.execute("SELECT node FROM sync_store").fetchone()
    if row is None:
        row = (uuid.uuid4().bytes,)
        conn.execute("INSERT INTO sync_store (id, node) VALUES (1, ?)", row)
    return bytes(row[0])


def physical_clocks(conn: sqlite3.Connection, now: int) -> PhysicalClocks:
    """Return both clocks, the server's as far as it is known. :param now: UTC milliseconds by this machine's"""
    row = conn.execute("SELECT ahead_ms FROM sync_store").fetchone()
    return PhysicalClocks(now, now + (row[0] if row else 0))


def next_ticks(conn: sqlite3.Connection, now: int, count: int) -> range:
    """Return the next clocks of this store. :param now: UTC milliseconds by this machine's clock"""
    node = ensure_node(conn)
    (last,) = conn.execute("SELECT clock FROM sync_store").fetchone()
    first = next_own_tick(physical_clocks(conn, now), last, node)
    conn.execute("UPDATE sync_store SET clock = ?", (first + count - 1,))
    return range(first, first + count)


def lower_sent_clocks(conn: sqlite3.Connection, clocks: PhysicalClocks, spared: Sequence[int]) -> int:
    """Lower the clocks of sent versions that no physical clock allows any more; return how many.

    Not those of themes without a server, whose time would tell whether the clock ran ahead then or is behind now.

    They are stamped right after what they were made from, and sent again. Every machine that has one makes the same of
    it. Losing versions kept for a person are lowered likewise.
    """
    beyond = clocks.plausible, json.dumps(spared)
    rows = conn.execute(SENT_AHEAD, beyond).fetchall()
    for theme_id, *row in rows:
        version = Version(*row)
        lowered = lowered_clocks((*version.ancestors, version.hlc), clocks.plausible)
        ancestors = json.dumps(newest_ancestors(*(lowered[clock] for clock in version.ancestors)))
        conn.execute(RESTAMP, (lowered[version.hlc], version.node, ancestors, 1, theme_id, version.uid))
    for theme_id, uid, hlc, node, why, lineage in conn.execute(LOST_AHEAD, beyond).fetchall():
        lowered = lowered_clocks((*json.loads(lineage), hlc), clocks.plausible)
        ancestors = json.dumps([lowered[clock] for clock in json.loads(lineage)])
        conn.execute(RESTAMP_LOST, (lowered[hlc], ancestors, theme_id, uid, hlc, node, why))
    return len(rows)


def restamp_unsent_versions(
    conn: sqlite3.Connection, clocks: PhysicalClocks, spared: Sequence[int], *, is_renamed: bool = False
) -> int:
    """Restamp pending versions whose clock the server would not accept with the current time; return how many.

    A version made from one that the server would not accept now, either, stays pending. Of themes without a server, whose
    versions are not lowered once they were sent, the ancestors stay as they are.

    :param is_renamed: all pending versions, by this store's present name
    """
    unsent = conn.execute(UNSENT_AHEAD, (-1 if is_renamed else clocks.acceptable,)).fetchall()
    node = ensure_node(conn)
    count = 0
    for (theme_id, *row), tick in zip(unsent, next_ticks(conn, clocks.own_ms, len(unsent)), strict=True):
        version = Version(*row)
        seen = version.offered_clocks
        is_kept = is_renamed or theme_id in spared
        ancestors = newest_ancestors(*(seen if is_kept else lowered_clocks(seen, clocks.plausible).values()))
        hlc = descendant_tick(tick, node, ancestors)
        if is_renamed or hlc < version.hlc:
            conn.execute(RESTAMP, (hlc, node, json.dumps(ancestors), version.offered, theme_id, version.uid))
            count += 1
    return count


def to_sync_uid(theme: str, thing: bytes | str) -> bytes:
    return thing if isinstance(thing, bytes) else uids.parse_uid(scope_sync_uid(theme, thing))


def find_noted_things(conn: sqlite3.Connection, theme_id: int) -> list[bytes | str]:
    """Return what was changed and has no version of that yet."""
    return [thing for (thing,) in conn.execute("SELECT thing FROM sync_changed WHERE theme_id = ?", (theme_id,))]


def stamp_versions(
    conn: sqlite3.Connection, theme_id: int, theme: str, now: int, *, is_history: bool = False
) -> set[bytes]:
    """Give everything noted as changed in a theme its next version; return the facts among it.

    :param is_history: its carrier keeps old versions, too
    """
    noted = find_noted_things(conn, theme_id)
    node = ensure_node(conn)
    for things in in_chunks(noted):
        names = {thing: to_sync_uid(theme, thing) for thing in things}
        before = load_versions(conn, theme_id, names.values())
        present = load_payloads(conn, theme_id, things)
        masks = find_masks(conn, theme_id, names.values())
        new = []
        for thing, uid in names.items():
            payload, old = present[thing], before.get(uid)
            if old is None and payload.state == DELETED:
                continue  # no other store has ever seen it
            if old is not None and old.shadow is None and old.content_digest == payload.content_digest:
                continue
            checked = None if old is None or old.shadow is None else VersionPayload.from_json(old.shadow)
            if old is not None and checked is not None and checked.checked != UNCHANGED:
                beyond = to_outgoing_payload(conn, old, checked, payload)
                if beyond is None and old.content_digest:
                    continue
                payload = beyond or checked  # a decision is a version even where it changes nothing
            shown = payload.content
            if payload.checked == UNCHANGED and (mask := masks.get((uid, shown))) is not None:
                payload = VersionPayload(payload.kind, mask.masked_content, payload.attrs, LIVE, mask)
            if old is not None:
                remember_mask(conn, theme_id, uid, old.checked)
            new.append((thing, uid, payload, old))
        for (thing, uid, payload, old), tick in zip(new, next_ticks(conn, now, len(new)), strict=True):
            ancestors = () if old is None else newest_ancestors(*old.offered_clocks)
            if is_history:  # what is settled here is known to whatever replaces this version before anybody hears of it
                ancestors = newest_ancestors(*settle_losing_versions(conn, theme_id, uid, ancestors, payload))
            hlc = descendant_tick(tick, node, ancestors)
            label = thing if isinstance(thing, str) else None
            shadow = None if payload.checked == UNCHANGED else payload.to_json()
            version = Version(
                uid, label, payload.state, hlc, node, json.dumps(ancestors), payload.content_digest, 0, 0, shadow=shadow
            )
            conn.execute(UPSERT_VERSION, (theme_id, *version))
            release(conn, theme_id, [uid], AsideReason.OUTPLACED)
    conn.execute("DELETE FROM sync_changed WHERE theme_id = ?", (theme_id,))
    return {thing for thing in noted if isinstance(thing, bytes)}


def to_outgoing_payload(
    conn: sqlite3.Connection, old: Version, payload: VersionPayload, now: VersionPayload
) -> VersionPayload | None:
    """Return the content that a change here sends about a checked fact; None for nothing.

    Quarantining or hiding is no deletion, an approval here is no edit, what is masked here stays in clear elsewhere, and
    what is kept cold here stays hot elsewhere; that a person agrees to it is a version, since he may be a curator.
    """
    checked = payload.checked
    quarantined = "SELECT 1 FROM facts WHERE uid = ? AND tier = 'quarantined'"
    if now.state == DELETED and (
        checked.hidden_because is not None or conn.execute(quarantined, (old.uid,)).fetchone()
    ):
        return None
    if now.state != LIVE or checked.hidden_because is not None:
        return now
    if checked.masked_content is not None and now.content == validate_row_content(checked.masked_content):
        mask = CheckedVersion(masked_content=checked.masked_content, clear_digest=checked.clear_digest)
        now = VersionPayload(now.kind, payload.content, now.attrs, LIVE, mask)
    if checked.uncurated and now.attrs["tier"] == Tier.HOT:
        return now
    shown = to_kept_cold(payload.attrs) if checked.uncurated else payload.attrs
    is_same = payload.content == now.content and without_times(shown) == without_times(now.attrs)
    return None if is_same else now


def without_times(attrs: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in attrs.items() if key not in FACT.incidental}


def find_unversioned_things(conn: sqlite3.Connection, theme_id: int) -> list[bytes | str]:
    """Find things that differ from their newest version and wait for no other.

    A scope without a version was opened for a fact that came before it.
    """
    noted = set(find_noted_things(conn, theme_id))
    wrong: list[bytes | str] = [uid for (uid,) in conn.execute(FACTS_WITHOUT_VERSION, (theme_id,)) if uid not in noted]
    shown = conn.execute(f"{SELECT_VERSIONS} WHERE theme_id = ? AND shadow IS NULL", (theme_id,))
    while some := [Version(*row) for row in shown.fetchmany(VALUES_AT_ONCE)]:
        wrong += [
            version.local_name for version in find_differing(conn, theme_id, some) if version.local_name not in noted
        ]
    return wrong


def find_differing(conn: sqlite3.Connection, theme_id: int, versions: Collection[Version]) -> list[Version]:
    """Return those of these versions that say something else than the tables."""
    present = load_payloads(conn, theme_id, [version.local_name for version in versions])
    return [version for version in versions if version.content_digest != present[version.local_name].content_digest]


def find_fact_uids(conn: sqlite3.Connection, things: Collection[bytes]) -> set[bytes]:
    uids_here: set[bytes] = set()
    for some in in_chunks(list(things)):
        sql = f"SELECT uid FROM facts WHERE uid IN ({', '.join('?' * len(some))})"
        uids_here.update(uid for (uid,) in conn.execute(sql, some))
    return uids_here


def find_version(conn: sqlite3.Connection, theme_id: int, uid: bytes) -> Version | None:
    return load_versions(conn, theme_id, [uid]).get(uid)


def load_versions(conn: sqlite3.Connection, theme_id: int, things: Collection[bytes]) -> dict[bytes, Version]:
    loaded: dict[bytes, Version] = {}
    for some in in_chunks(list(things)):
        sql = f"{SELECT_VERSIONS} WHERE theme_id = ? AND uid IN ({', '.join('?' * len(some))})"
        loaded.update((row[0], Version(*row)) for row in conn.execute(sql, (theme_id, *some)))
    return loaded


def load_payloads(
    conn: sqlite3.Connection, theme_id: int, things: Collection[bytes | str]
) -> dict[bytes | str, VersionPayload]:
    """Load what things say as they stand in this store's tables."""
    loaded: dict[bytes | str, VersionPayload] = {}
    facts = [thing for thing in things if isinstance(thing, bytes)]
    for some in in_chunks(facts) if facts else ():
        marks = ", ".join("?" * len(some))
        for uid, kind, name, *values in conn.execute(FACTS.format(marks=marks), (theme_id, *some)):
            loaded[uid] = to_fact_payload(Actor(kind, name), *values)
        absent = [uid for uid in some if uid not in loaded]
        purged = f"SELECT uid FROM tombstones WHERE uid IN ({', '.join('?' * len(absent))})"
        erased = {uid for (uid,) in conn.execute(purged, absent)}
        loaded.update((uid, VersionPayload("fact", None, {}, PURGED if uid in erased else DELETED)) for uid in absent)
    scopes = [thing for thing in things if isinstance(thing, str)]
    for labels in in_chunks(scopes) if scopes else ():
        sql = SCOPES.format(marks=", ".join("?" * len(labels)))
        loaded.update((row[0], to_scope_payload(*row)) for row in conn.execute(sql, (theme_id, *labels)))
        loaded.update((label, VersionPayload("scope", label, {}, DELETED)) for label in labels if label not in loaded)
    return loaded


def to_fact_payload(by: Actor, content: str, *values: Any) -> VersionPayload:
    """Return what a version says of a fact. :param values: of `SENT`, the scope by its label"""
    attrs: dict[str, Any] = {}
    for attribute, value in zip(SENT, values, strict=True):
        if not attribute.is_optional or value != attribute.default:
            form = attribute.form
            if form is Form.FLAG:
                value = bool(value)
            elif form is Form.LINK and value is not None:
                value = uids.format_uid(value)
            attrs[attribute.name] = value or None if form is Form.SCOPE else value
    if attrs["tier"] in HIDDEN_TIERS:
        return VersionPayload("fact", None, {}, DELETED)
    return VersionPayload("fact", content, attrs | {"by": str(by)}, LIVE)


def to_scope_payload(label: str, *values: Any) -> VersionPayload:
    """Return what a version says of a scope. Cooling depends on the listeners here, and is not sent."""
    attrs = dict(zip(SCOPE.names[1:], values, strict=True))
    if attrs["status"] == ScopeStatus.COOLING:
        attrs["status"] = ScopeStatus.OPEN.value
    return VersionPayload("scope", label, attrs, LIVE)


def load_sync_rows(conn: sqlite3.Connection, theme_id: int, theme: str, versions: Sequence[Version]) -> list[SyncRow]:
    """Load versions with their content: what is in shadow, or what the tables say."""
    present = load_payloads(conn, theme_id, [version.local_name for version in versions if version.shadow is None])
    made = []
    for version in versions:
        payload = present[version.local_name] if version.shadow is None else VersionPayload.from_json(version.shadow)
        row = payload.to_row(theme, version.uid, version.hlc, version.node, version.lineage)
        made.append(row if version.label is not None else attach_replaced(conn, version.uid, row))
    return made


def attach_replaced(conn: sqlite3.Connection, uid: bytes, row: SyncRow) -> SyncRow:
    """Return the version of a fact with the oldest fact that it replaced."""
    replaced = min((former for (former,) in conn.execute(REPLACED_FACTS, (uid,))), default=None)
    return row if replaced is None else replace(row, supersedes=uids.format_uid(replaced))
