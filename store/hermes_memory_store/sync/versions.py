"""Versions of facts and scopes: the content of each in portable form, and the stamp that a changed one gets.

Triggers note what a transaction changes, whatever changes it; before the transaction ends, each such thing gets
its next version here. A version that no other store can have seen is replaced by the next one; one that was
offered becomes its ancestor.
"""

from __future__ import annotations

import json
import sqlite3
import uuid
from collections.abc import Collection, Container, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from hermes_memory_store import uids
from hermes_memory_store.chunking import VALUES_AT_ONCE, in_chunks
from hermes_memory_store.items.name_keys import UNSCOPED
from hermes_memory_store.model import Actor, ScopeStatus, Tier, Uid
from hermes_memory_store.sync.curation import to_kept_cold
from hermes_memory_store.sync.hybrid_clock import PhysicalClocks, descendant_tick, next_own_tick
from hermes_memory_store.sync.row_validation import validate_row_content
from hermes_memory_store.sync.wire_format import (
    DELETED,
    LIVE,
    MAX_ANCESTORS,
    PURGED,
    UNCHANGED,
    CheckedVersion,
    ReceivedVersion,
    SyncRow,
    VersionPayload,
    canonical_text_digest,
    comparable_content,
    hide_secrets,
    scope_sync_uid,
    version_digest,
)

HIDDEN_TIERS = frozenset({Tier.WITHDRAWN.value, Tier.QUARANTINED.value})
"""Tiers that others see as deleted: a creation that was undone, and what no person here has let in yet."""

FACTS = """
    SELECT f.uid, f.content, f.type, f.target, s.label, f.tier, f.pinned, f.created_at, f.updated_at, f.superseded_by,
      f.cooled_by, a.kind, a.name
    FROM facts f JOIN scopes s ON s.id = f.scope_id JOIN actors a ON a.id = f.actor_id
    WHERE f.theme_id = ? AND f.uid IN ({marks})
"""

SCOPES = """
    SELECT label, status, opened_at, closed_at, closed_by FROM scopes
    WHERE theme_id = ? AND status <> 'withdrawn' AND label IN ({marks})
"""

SELECT_VERSIONS = (
    "SELECT uid, label, state, hlc, node, ancestors, said, sent, offered, seq, refused, shadow FROM sync_rows"
)

UPSERT_VERSION = """
    INSERT INTO sync_rows (theme_id, uid, label, state, hlc, node, ancestors, said, sent, offered, seq, refused, shadow)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, ?)
    ON CONFLICT DO UPDATE SET
      label = excluded.label, state = excluded.state, hlc = excluded.hlc, node = excluded.node, ancestors = excluded.ancestors,
      said = excluded.said, sent = excluded.sent, offered = excluded.offered, seq = excluded.seq, refused = NULL,
      shadow = excluded.shadow
"""


MASKED = "INSERT OR REPLACE INTO sync_masked (theme_id, uid, shown, clear) VALUES (?, ?, ?, ?)"

DIGEST = "sha256:"
"""Begins `clear` in `sync_masked`: the digest of the clear text follows, and the masked one with its white space."""

UNTOLD = b""
"""Stands in `sync_conflicts.other` of a losing version that no other machine has: it lost before it was sent."""

DELETE_LOST_PLACES = "DELETE FROM sync_conflicts WHERE theme_id = ? AND uid = ? AND why = 'two heads'"

LOSING_VERSIONS = """
    SELECT hlc, ancestors, said FROM sync_conflicts WHERE theme_id = ? AND uid = ? AND why = 'concurrent'
"""

DELETE_SETTLED_VERSION = "DELETE FROM sync_conflicts WHERE theme_id = ? AND uid = ? AND why = 'concurrent' AND hlc = ?"

CHECKED_ROWS = """
    SELECT theme_id, uid, shadow FROM sync_rows WHERE shadow IS NOT NULL AND (
      shadow ->> '$[4][2]' IS NOT NULL OR (shadow ->> '$[4][0]' IS NOT NULL AND shadow ->> '$[4][4]' IS NULL)
    )
"""
"""Versions that are hidden, and masked ones as earlier versions stored them."""

CLEAR_MASKS = f"SELECT theme_id, uid, shown, clear FROM sync_masked WHERE clear NOT LIKE '{DIGEST}%'"

UPDATE_SHADOW = "UPDATE sync_rows SET shadow = ? WHERE theme_id = ? AND uid = ?"
"""What is on its way, or has arrived, stays so."""

FACTS_WITHOUT_VERSION = """
    SELECT uid FROM facts f WHERE theme_id = ?1 AND tier NOT IN ('withdrawn', 'quarantined')
      AND NOT EXISTS (SELECT 1 FROM sync_rows WHERE theme_id = ?1 AND uid = f.uid)
"""


@dataclass(frozen=True, slots=True)
class Version:
    """A row of `sync_rows`."""

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
    seq: int | None
    refused: str | None
    shadow: str | None

    @property
    def kind(self) -> Literal["fact", "scope"]:
        return "fact" if self.label is None else "scope"

    @property
    def local_name(self) -> bytes | str:
        """The name of the fact or scope in this store."""
        return self.uid if self.label is None else self.label

    @property
    def ancestors(self) -> tuple[int, ...]:
        return tuple(json.loads(self.lineage))

    @property
    def rank(self) -> tuple[bool, int, str]:
        return self.state == PURGED, self.hlc, uids.format_uid(self.node)

    @property
    def digest(self) -> str:
        """Digest of the version, as `SyncRow.digest`."""
        return version_digest(uids.format_uid(self.uid), self.hlc, uids.format_uid(self.node), self.content_digest)

    @property
    def checked(self) -> CheckedVersion:
        """What this machine's content checks made of it."""
        return UNCHANGED if self.shadow is None else VersionPayload.from_json(self.shadow).checked

    @property
    def is_shared(self) -> bool:
        """Return whether another store may know it."""
        return bool(self.sent or self.offered)


def newest_ancestors(*clocks: int) -> tuple[int, ...]:
    """Return the newest of these clocks, as ancestors."""
    return tuple(sorted(set(clocks), reverse=True)[:MAX_ANCESTORS])


def ensure_node(conn: sqlite3.Connection) -> bytes:
    """Return this store's name among the others, assigned on first use in a write transaction."""
    row = conn.execute("SELECT node FROM sync_store").fetchone()
    if row is None:
        row = (uuid.uuid4().bytes,)
        conn.execute("INSERT INTO sync_store (id, node) VALUES (1, ?)", row)
    return bytes(row[0])


def physical_clocks(conn: sqlite3.Connection, now: int) -> PhysicalClocks:
    """Return this machine's clock, and the server's as far as it is known.

    :param now: UTC milliseconds by this machine's
    """
    row = conn.execute("SELECT ahead_ms FROM sync_store").fetchone()
    return PhysicalClocks(now, now + (row[0] if row else 0))


def next_ticks(conn: sqlite3.Connection, now: int, count: int) -> range:
    """Return the next clocks of this store. :param now: UTC milliseconds by this machine's clock"""
    node = ensure_node(conn)
    (last,) = conn.execute("SELECT clock FROM sync_store").fetchone()
    first = next_own_tick(physical_clocks(conn, now), last, node)
    conn.execute("UPDATE sync_store SET clock = ?", (first + count - 1,))
    return range(first, first + count)


def find_version(conn: sqlite3.Connection, theme_id: int, uid: bytes) -> Version | None:
    """Find the newest version of a thing."""
    row = conn.execute(f"{SELECT_VERSIONS} WHERE theme_id = ? AND uid = ?", (theme_id, uid)).fetchone()
    return Version(*row) if row else None


def to_put_columns(theme_id: int, received: Iterable[ReceivedVersion], bulk: Container[bytes]) -> list[tuple[Any, ...]]:
    """Return the columns of `UPSERT_VERSION` by which received versions replace the previous ones, in shadow.

    :param bulk: those that meet nothing here; one that is shown as it is needs no shadow
    """
    columns = []
    for seq, uid, row, checked in received:
        shadow = None if uid in bulk and not checked else to_shadow(row, checked)
        # A shadow without results of a content check is the content in its canonical form: encoding it once is enough.
        digest = row.content_digest if shadow is None or checked else canonical_text_digest(shadow)
        label = to_scope_label(row)
        label = label if checked.hidden_because is None else hide_secrets(label)
        name = (theme_id, uid, label, row.state, row.hlc, uids.parse_uid(row.node))
        ancestors = json.dumps(row.ancestors) if row.ancestors else "[]"
        columns.append((*name, ancestors, digest, 1, 1, seq, shadow))
    return columns


def to_shadow(row: SyncRow, checked: CheckedVersion) -> str | None:
    """Return a received version as a shadow yet to be shown; None where there is nothing to show."""
    if row.state == PURGED and checked.hidden_because is None:
        return None
    return VersionPayload(row.kind, row.content, row.attrs, row.state, checked).to_json()


def to_scope_label(row: SyncRow) -> str | None:
    """Return the label of a scope here; a row that is no scope may claim any label."""
    if row.kind != "scope" or not isinstance(row.content, str) or row.uid != scope_sync_uid(row.theme, row.content):
        return None
    return row.content


def stamp_versions(
    conn: sqlite3.Connection, theme_id: int, theme: str, now: int, *, is_history: bool = False
) -> set[bytes]:
    """Give everything noted as changed in a theme its next version; return the facts among it.

    :param is_history: its carrier keeps old versions, too
    """
    noted = [thing for (thing,) in conn.execute("SELECT thing FROM sync_changed WHERE theme_id = ?", (theme_id,))]
    node = ensure_node(conn)
    for things in in_chunks(noted):
        names = {thing: to_sync_uid(theme, thing) for thing in things}
        before = load_versions(conn, theme_id, names.values())
        present = load_payloads(conn, theme_id, things)
        masks = find_masked_originals(conn, theme_id, names.values())
        new = []
        for thing, uid in names.items():
            payload, old = present[thing], before.get(uid)
            if old is None and payload.state == DELETED:
                continue  # no other store has ever seen it
            if old is not None and old.shadow is None and old.content_digest == payload.content_digest:
                continue
            checked = None if old is None or old.shadow is None else VersionPayload.from_json(old.shadow)
            if old is not None and checked is not None and checked.checked:
                beyond = to_outgoing_payload(conn, old, checked, payload)
                if beyond is None and old.content_digest:
                    continue
                payload = beyond or checked  # a decision is a version even where it changes nothing
            shown = payload.content
            if not payload.checked and (mask := masks.get((uid, shown))) is not None:
                payload = VersionPayload(payload.kind, mask.masked_content, payload.attrs, LIVE, mask)
            if old is not None:
                remember_mask(conn, theme_id, uid, old.checked)
            new.append((thing, uid, payload, old))
        for (thing, uid, payload, old), tick in zip(new, next_ticks(conn, now, len(new)), strict=True):
            descends = () if old is None else newest_ancestors(*old.ancestors, *((old.hlc,) if old.is_shared else ()))
            if is_history:  # what is settled here is known to whatever replaces this version before anybody hears of it
                descends = newest_ancestors(*settle_losing_versions(conn, theme_id, uid, descends, payload))
            hlc = descendant_tick(tick, node, descends)
            label = thing if isinstance(thing, str) else None
            columns = (payload.state, hlc, node, json.dumps(descends), payload.content_digest)
            shadow = payload.to_json() if payload.checked else None
            conn.execute(UPSERT_VERSION, (theme_id, uid, label, *columns, 0, 0, None, shadow))
            conn.execute(DELETE_LOST_PLACES, (theme_id, uid))
    conn.execute("DELETE FROM sync_changed WHERE theme_id = ?", (theme_id,))
    return {thing for thing in noted if isinstance(thing, bytes)}


def settle_losing_versions(
    conn: sqlite3.Connection,
    theme_id: int,
    uid: bytes,
    clocks: Iterable[int],
    winner: SyncRow | VersionPayload | None = None,
) -> set[int]:
    """Delete the losing versions of a thing that nobody has to decide about any more; return the clocks that are known then.

    Of versions that say the same, knowing one is knowing all, and what they were made from.

    :param clocks: of versions that somebody knew
    :param winner: what says the same needs no decision, either
    """
    known, said = set(clocks), [] if winner is None else [comparable_content(winner)]
    lost = [
        (hlc, json.loads(lineage), comparable_content(VersionPayload.from_json(text)))
        for hlc, lineage, text in conn.execute(LOSING_VERSIONS, (theme_id, uid))
    ]
    while settled := [one for one in lost if one[0] in known or one[2] in said]:
        lost = [one for one in lost if one not in settled]
        for hlc, made_from, content in settled:
            known |= {hlc, *made_from}
            said.append(content)
            conn.execute(DELETE_SETTLED_VERSION, (theme_id, uid, hlc))
    return known


def remember_mask(conn: sqlite3.Connection, theme_id: int, uid: bytes, checked: CheckedVersion) -> None:
    """Note by which mask a content is shown, if it is, before another replaces it: the clear text is known by its digest."""
    if (masked := checked.masked_content) is not None:
        clear = f"{DIGEST}{checked.clear_digest} {masked}"
        conn.execute(MASKED, (theme_id, uid, validate_row_content(masked), clear))


def find_masked_originals(
    conn: sqlite3.Connection, theme_id: int, wanted: Collection[bytes]
) -> dict[tuple[bytes, str | None], CheckedVersion]:
    """Return the masks of what facts said, by their uids and by their shown content."""
    sql = f"SELECT uid, shown, clear FROM sync_masked WHERE theme_id = ? AND uid IN ({', '.join('?' * len(wanted))})"
    rows = conn.execute(sql, (theme_id, *wanted)) if wanted else ()
    return {(uid, shown): parse_mask(shown, clear) for uid, shown, clear in rows}


def parse_mask(shown: str, clear: str) -> CheckedVersion:
    """Return the mask of a row of `sync_masked`; earlier versions kept the clear text there."""
    if not clear.startswith(DIGEST):
        return CheckedVersion(masked_content=shown, clear_digest=canonical_text_digest(clear))
    digest, _, masked = clear.removeprefix(DIGEST).partition(" ")
    return CheckedVersion(masked_content=masked, clear_digest=digest)


def find_clear_versions(conn: sqlite3.Connection) -> list[tuple[str, int, bytes]]:
    """Find versions beside whose masked content an earlier version stored the clear text: what to store, and their names."""
    rows = [(VersionPayload.from_json(shadow).to_json(), shadow, name) for *name, shadow in conn.execute(CHECKED_ROWS)]
    return [(stored, *name) for stored, shadow, name in rows if stored != shadow]


def mask_stored_versions(conn: sqlite3.Connection, tables: Collection[str]) -> int:
    """Take out the clear texts that earlier versions stored beside masked ones, here or in a backup; return how many."""
    clear = find_clear_versions(conn) if "sync_rows" in tables else []
    masks = conn.execute(CLEAR_MASKS).fetchall() if "sync_masked" in tables else []
    conn.executemany(UPDATE_SHADOW, clear)
    for theme_id, uid, *mask in masks:
        remember_mask(conn, theme_id, uid, parse_mask(*mask))
    return len(clear) + len(masks)


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
    shown = replace(payload, attrs=to_kept_cold(payload.attrs)) if checked.uncurated else payload
    return None if payload_without_times(now) == payload_without_times(shown) else now


def payload_without_times(payload: VersionPayload) -> tuple[str | None, dict[str, Any]]:
    """Return the content of a fact, without the time of its last touch and what moved it."""
    return payload.content, {
        key: value for key, value in payload.attrs.items() if key not in ("updated_at", "cooled_by")
    }


def find_unversioned_things(conn: sqlite3.Connection, theme_id: int) -> list[bytes | str]:
    """Find things of a theme that differ from their newest version and wait for no other.

    A scope without a version was opened for a fact that came before it.
    """
    noted = {thing for (thing,) in conn.execute("SELECT thing FROM sync_changed WHERE theme_id = ?", (theme_id,))}
    wrong: list[bytes | str] = [uid for (uid,) in conn.execute(FACTS_WITHOUT_VERSION, (theme_id,)) if uid not in noted]
    shown = conn.execute(f"{SELECT_VERSIONS} WHERE theme_id = ? AND shadow IS NULL", (theme_id,))
    while some := [Version(*row) for row in shown.fetchmany(VALUES_AT_ONCE)]:
        present = load_payloads(conn, theme_id, [version.local_name for version in some])
        differ = [
            version.local_name
            for version in some
            if version.content_digest != present[version.local_name].content_digest
        ]
        wrong += [thing for thing in differ if thing not in noted]
    return wrong


def to_sync_uid(theme: str, thing: bytes | str) -> bytes:
    """Return the sync uid of a thing of this store."""
    return thing if isinstance(thing, bytes) else uids.parse_uid(scope_sync_uid(theme, thing))


def load_versions(conn: sqlite3.Connection, theme_id: int, wanted: Collection[bytes]) -> dict[bytes, Version]:
    """Load the newest versions of things, by their uids."""
    found: dict[bytes, Version] = {}
    for some in in_chunks(list(wanted)) if wanted else ():
        sql = f"{SELECT_VERSIONS} WHERE theme_id = ? AND uid IN ({', '.join('?' * len(some))})"
        found.update((row[0], Version(*row)) for row in conn.execute(sql, (theme_id, *some)))
    return found


def load_payloads(
    conn: sqlite3.Connection, theme_id: int, things: Collection[bytes | str]
) -> dict[bytes | str, VersionPayload]:
    """Load what things say as they stand in this store's tables."""
    found: dict[bytes | str, VersionPayload] = {}
    facts = [thing for thing in things if isinstance(thing, bytes)]
    for some in in_chunks(facts) if facts else ():
        marks = ", ".join("?" * len(some))
        for row in conn.execute(FACTS.format(marks=marks), (theme_id, *some)):
            found[row[0]] = to_fact_payload(row)
        gone = [uid for uid in some if uid not in found]
        purged = f"SELECT uid FROM tombstones WHERE uid IN ({', '.join('?' * len(gone))})"
        found.update(
            (uid, VersionPayload("fact", None, {}, PURGED)) for (uid,) in conn.execute(purged, gone).fetchall()
        )
        found.update((uid, VersionPayload("fact", None, {}, DELETED)) for uid in gone if uid not in found)
    scopes = [thing for thing in things if isinstance(thing, str)]
    for labels in in_chunks(scopes) if scopes else ():
        sql = SCOPES.format(marks=", ".join("?" * len(labels)))
        for label, *columns in conn.execute(sql, (theme_id, *labels)):
            found[label] = to_scope_payload(label, *columns)
        found.update((label, VersionPayload("scope", label, {}, DELETED)) for label in labels if label not in found)
    return found


def to_fact_payload(row: Sequence[Any]) -> VersionPayload:
    """Convert a row of `FACTS` to a portable payload."""
    _, content, kind, target, label, tier, pinned, created_at, updated_at, link, cooled_by, by, name = row
    if tier in HIDDEN_TIERS:
        return VersionPayload("fact", None, {}, DELETED)
    attrs = {
        "type": kind,
        "target": target,
        "scope": None if label == UNSCOPED else label,
        "tier": tier,
        "pinned": bool(pinned),
        "created_at": created_at,
        "updated_at": updated_at,
        "superseded_by": None if link is None else uids.format_uid(link),
        "cooled_by": cooled_by,
        "by": str(Actor(by, name)),
    }
    return VersionPayload("fact", content, attrs, LIVE)


def to_scope_payload(
    label: str, status: str, opened_at: int, closed_at: int | None, closed_by: str | None
) -> VersionPayload:
    """Convert a scope to a portable payload. Cooling depends on the listeners here, and is not sent."""
    shared = ScopeStatus.OPEN.value if status == ScopeStatus.COOLING else status
    attrs = {"status": shared, "opened_at": opened_at, "closed_at": closed_at, "closed_by": closed_by}
    return VersionPayload("scope", label, attrs, LIVE)


def load_sync_rows(conn: sqlite3.Connection, theme_id: int, theme: str, wanted: Sequence[Version]) -> list[SyncRow]:
    """Load versions with their content."""
    present = load_payloads(conn, theme_id, [version.local_name for version in wanted if version.shadow is None])
    made = []
    for version in wanted:
        payload = present[version.local_name] if version.shadow is None else VersionPayload.from_json(version.shadow)
        made.append(to_version_row(conn, theme, version, payload))
    return made


def to_version_row(conn: sqlite3.Connection, theme: str, version: Version, payload: VersionPayload) -> SyncRow:
    """Combine a version with its content."""
    replaced = None
    if version.label is None:
        sql = "SELECT min(uid) FROM facts WHERE superseded_by = ?"
        (replaced,) = conn.execute(sql, (version.uid,)).fetchone()
    return SyncRow(
        theme=theme,
        uid=uids.format_uid(version.uid),
        kind=payload.kind,  # type: ignore[arg-type]  # one that this program does not know is kept as it came
        content=payload.content,
        attrs=payload.attrs,
        state=payload.state,
        hlc=version.hlc,
        node=Uid(uids.format_uid(version.node)),
        ancestors=version.ancestors,
        supersedes=None if replaced is None else uids.format_uid(replaced),
        trusted=not payload.checked.uncurated,
    )
