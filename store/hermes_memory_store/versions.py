"""Versions of facts and scopes: what each says in portable words, and the stamp a changed one gets.

Triggers note what a transaction changes, whatever changes it; before the transaction ends, each such thing gets its next
version here. A version that nobody can have seen is replaced by the next one; one that was offered becomes its ancestor.
"""

from __future__ import annotations

import json
import sqlite3
import uuid
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from hermes_memory_store import uids
from hermes_memory_store.chunking import VALUES_AT_ONCE, in_chunks
from hermes_memory_store.hybrid_clock import PhysicalClocks, descendant, first_tick
from hermes_memory_store.malformed import one_line
from hermes_memory_store.model import Actor, ScopeStatus, Tier, Uid
from hermes_memory_store.names import UNSCOPED
from hermes_memory_store.travelling import (
    DELETED,
    LIVE,
    MAX_ANCESTORS,
    PURGED,
    Payload,
    Screened,
    SyncRow,
    digest_of_text,
    uid_of_scope,
    version_digest,
)

AWAY = frozenset({Tier.WITHDRAWN.value, Tier.QUARANTINED.value})
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

KNOWN = "SELECT uid, label, state, hlc, node, ancestors, said, sent, offered, seq, refused, shadow FROM sync_rows"

PUT = """
    INSERT INTO sync_rows (theme_id, uid, label, state, hlc, node, ancestors, said, sent, offered, seq, refused, shadow)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, ?)
    ON CONFLICT DO UPDATE SET
      label = excluded.label, state = excluded.state, hlc = excluded.hlc, node = excluded.node, ancestors = excluded.ancestors,
      said = excluded.said, sent = excluded.sent, offered = excluded.offered, seq = excluded.seq, refused = NULL,
      shadow = excluded.shadow
"""


MASKED = "INSERT OR REPLACE INTO sync_masked (theme_id, uid, shown, clear) VALUES (?, ?, ?, ?)"

LOOKED_AGAIN = "UPDATE sync_rows SET shadow = ? WHERE theme_id = ? AND uid = ?"
"""What is on its way, or has arrived, stays so."""

WITHOUT = """
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
    said: str
    sent: int
    offered: int
    seq: int | None
    refused: str | None
    shadow: str | None

    @property
    def kind(self) -> Literal["fact", "scope"]:
        return "fact" if self.label is None else "scope"

    @property
    def thing(self) -> bytes | str:
        """Its name in this store."""
        return self.uid if self.label is None else self.label

    @property
    def ancestors(self) -> tuple[int, ...]:
        return tuple(json.loads(self.lineage))

    @property
    def rank(self) -> tuple[bool, int, str]:
        return self.state == PURGED, self.hlc, uids.to_text(self.node)

    @property
    def digest(self) -> str:
        """As `SyncRow.digest`."""
        return version_digest(uids.to_text(self.uid), self.hlc, uids.to_text(self.node), self.said)

    @property
    def seen(self) -> bool:
        """Whether another store may know it."""
        return bool(self.sent or self.offered)


def lineage(*clocks: int) -> tuple[int, ...]:
    """The newest of these clocks, as ancestors."""
    return tuple(sorted(set(clocks), reverse=True)[:MAX_ANCESTORS])


def node_of(conn: sqlite3.Connection) -> bytes:
    """This store's name among the others, given when it is first asked for in a write transaction."""
    row = conn.execute("SELECT node FROM sync_store").fetchone()
    if row is None:
        row = (uuid.uuid4().bytes,)
        conn.execute("INSERT INTO sync_store (id, node) VALUES (1, ?)", row)
    return bytes(row[0])


def physical_clocks(conn: sqlite3.Connection, now: int) -> PhysicalClocks:
    """This machine's clock, and the server's as far as it is known. :param now: UTC milliseconds by this machine's"""
    row = conn.execute("SELECT ahead_ms FROM sync_store").fetchone()
    return PhysicalClocks(now, now + (row[0] if row else 0))


def ticks(conn: sqlite3.Connection, now: int, count: int) -> range:
    """The next clocks of this store. :param now: UTC milliseconds by this machine's clock"""
    node = node_of(conn)
    (last,) = conn.execute("SELECT clock FROM sync_store").fetchone()
    first = first_tick(physical_clocks(conn, now), last, node)
    conn.execute("UPDATE sync_store SET clock = ?", (first + count - 1,))
    return range(first, first + count)


def known(conn: sqlite3.Connection, theme_id: int, uid: bytes) -> Version | None:
    """The newest version of a thing."""
    row = conn.execute(f"{KNOWN} WHERE theme_id = ? AND uid = ?", (theme_id, uid)).fetchone()
    return Version(*row) if row else None


def put_columns(
    theme_id: int, row: SyncRow, *, seq: int | None, screened: Screened, shown: bool = False
) -> tuple[Any, ...]:
    """The columns of `PUT` by which a received version takes the place of the one before it: in shadow, yet to be shown.

    :param shown: it will be shown as it is, and needs no shadow
    """
    shadow = None if shown else shadowed(row, screened)
    digest = row.said if shadow is None or screened else digest_of_text(shadow)  # encoding it once is enough
    found = (theme_id, uids.to_bytes(row.uid), label_of(row), row.state, row.hlc, uids.to_bytes(row.node))
    return (*found, json.dumps(row.ancestors) if row.ancestors else "[]", digest, 1, 1, seq, shadow)


def shadowed(row: SyncRow, screened: Screened) -> str | None:
    """A received version in shadow, yet to be shown; None where there is nothing to show."""
    if row.state == PURGED and screened.aside is None:
        return None
    return Payload(row.kind, row.content, row.attrs, row.state, screened).dumped()


def label_of(row: SyncRow) -> str | None:
    """The label by which a scope is known here; what is none may call itself by any."""
    if row.kind != "scope" or not isinstance(row.content, str) or row.uid != uid_of_scope(row.theme, row.content):
        return None
    return row.content


def stamp(conn: sqlite3.Connection, theme_id: int, theme: str, now: int) -> set[bytes]:
    """Give everything that was noted as changed in a theme its next version; the facts among it."""
    noted = [thing for (thing,) in conn.execute("SELECT thing FROM sync_changed WHERE theme_id = ?", (theme_id,))]
    node = node_of(conn)
    for things in in_chunks(noted):
        names = {thing: name_of(theme, thing) for thing in things}
        before = {version.uid: version for version in versions(conn, theme_id, names.values())}
        says = payloads(conn, theme_id, things)
        masks = masked_before(conn, theme_id, names.values())
        new = []
        for thing, uid in names.items():
            payload, old = says[thing], before.get(uid)
            if old is None and payload.state == DELETED:
                continue  # nobody was ever told of it
            if old is not None and old.shadow is None and old.said == payload.said:
                continue
            screened = None if old is None else screened_of(old)
            if old is not None and screened is not None:
                beyond = beyond_screens(conn, old, screened, payload)
                if beyond is None and old.said:
                    continue
                payload = beyond or screened  # a decision is a version even where it changes nothing
            shown = payload.content
            if not payload.screened and (clear := masks.get((uid, shown))) is not None:
                payload = Payload(payload.kind, clear, payload.attrs, LIVE, Screened(shown=shown))
            if old is not None:
                remember_masked(conn, theme_id, old)
            new.append((thing, uid, payload, old))
        for (thing, uid, payload, old), tick in zip(new, ticks(conn, now, len(new)), strict=True):
            descends = () if old is None else lineage(*old.ancestors, *((old.hlc,) if old.seen else ()))
            hlc = descendant(tick, node, descends)
            label = thing if isinstance(thing, str) else None
            told = (payload.state, hlc, node, json.dumps(descends), payload.said)
            shadow = payload.dumped() if payload.screened else None
            conn.execute(PUT, (theme_id, uid, label, *told, 0, 0, None, shadow))
            conn.execute(
                "DELETE FROM sync_conflicts WHERE theme_id = ? AND uid = ? AND why = 'two heads'", (theme_id, uid)
            )
    conn.execute("DELETE FROM sync_changed WHERE theme_id = ?", (theme_id,))
    return {thing for thing in noted if isinstance(thing, bytes)}


def screened_of(version: Version) -> Payload | None:
    """What a version says that this machine's screens show otherwise; None: they do not."""
    said = None if version.shadow is None else Payload.loaded(version.shadow)
    return said if said and said.screened else None


def shown_of(version: Version) -> str | None:
    """The content of a version as it is shown here, where its secrets are masked."""
    said = screened_of(version)
    return said.screened.shown if said else None


def remember_masked(conn: sqlite3.Connection, theme_id: int, version: Version) -> None:
    """Keep what a version says in clear and shows masked, before another takes its place."""
    said = screened_of(version)
    if said is not None:
        remember_clear(conn, theme_id, version.uid, said.screened.shown, said.content)


def remember_clear(conn: sqlite3.Connection, theme_id: int, uid: bytes, shown: str | None, clear: str | None) -> None:
    """Keep what stands in clear where a content is shown masked, if it is."""
    if shown is not None:
        conn.execute(MASKED, (theme_id, uid, one_line(shown), clear))


def masked_before(
    conn: sqlite3.Connection, theme_id: int, wanted: Collection[bytes]
) -> dict[tuple[bytes, str | None], str]:
    """What facts said in clear, by their uids and by what was shown of it."""
    sql = f"SELECT uid, shown, clear FROM sync_masked WHERE theme_id = ? AND uid IN ({', '.join('?' * len(wanted))})"
    return {(uid, shown): clear for uid, shown, clear in conn.execute(sql, (theme_id, *wanted))} if wanted else {}


def is_aside(version: Version) -> bool:
    """Whether a version is kept aside: nothing it says is shown here in any form."""
    said = screened_of(version)
    return said is not None and said.screened.aside is not None


def beyond_screens(conn: sqlite3.Connection, old: Version, said: Payload, now: Payload) -> Payload | None:
    """What a change here says to the others of a fact that is screened here; None: nothing.

    That it waits for a person or is kept aside is no deletion, that somebody here lets it in is no edit, and what is masked
    here stays in clear where it is.
    """
    screened = said.screened
    if now.state == DELETED and (screened.aside is not None or waits(conn, old.uid)):
        return None
    if now.state != LIVE or screened.aside is not None:
        return now
    if screened.shown is not None and now.content == one_line(screened.shown):
        now = Payload(now.kind, said.content, now.attrs, LIVE, Screened(shown=screened.shown))
    return None if timeless(now) == timeless(said) else now


def waits(conn: sqlite3.Connection, uid: bytes) -> bool:
    """Whether a fact is in quarantine here."""
    return conn.execute("SELECT 1 FROM facts WHERE uid = ? AND tier = 'quarantined'", (uid,)).fetchone() is not None


def timeless(said: Payload) -> tuple[str | None, dict[str, Any]]:
    """What a fact says, without when it was last touched and what moved it."""
    return said.content, {key: value for key, value in said.attrs.items() if key not in ("updated_at", "cooled_by")}


def unversioned(conn: sqlite3.Connection, theme_id: int) -> list[bytes | str]:
    """Things of a theme that are not what their newest version says, and wait for no other.

    A scope without a version was opened for a fact that came before it.
    """
    noted = {thing for (thing,) in conn.execute("SELECT thing FROM sync_changed WHERE theme_id = ?", (theme_id,))}
    wrong: list[bytes | str] = [uid for (uid,) in conn.execute(WITHOUT, (theme_id,)) if uid not in noted]
    shown = conn.execute(f"{KNOWN} WHERE theme_id = ? AND shadow IS NULL", (theme_id,))
    while some := [Version(*row) for row in shown.fetchmany(VALUES_AT_ONCE)]:
        stand = payloads(conn, theme_id, [version.thing for version in some])
        differ = [version.thing for version in some if version.said != stand[version.thing].said]
        wrong += [thing for thing in differ if thing not in noted]
    return wrong


def name_of(theme: str, thing: bytes | str) -> bytes:
    """The uid by which a thing of this store travels."""
    return thing if isinstance(thing, bytes) else uids.to_bytes(uid_of_scope(theme, thing))


def versions(conn: sqlite3.Connection, theme_id: int, wanted: Iterable[bytes]) -> Iterator[Version]:
    """The newest versions of things."""
    for some in in_chunks(list(wanted)):
        sql = f"{KNOWN} WHERE theme_id = ? AND uid IN ({', '.join('?' * len(some))})"
        yield from (Version(*row) for row in conn.execute(sql, (theme_id, *some)).fetchall())


def payloads(conn: sqlite3.Connection, theme_id: int, things: Collection[bytes | str]) -> dict[bytes | str, Payload]:
    """What things say as they stand in this store's tables."""
    found: dict[bytes | str, Payload] = {}
    for some in in_chunks([thing for thing in things if isinstance(thing, bytes)]):
        marks = ", ".join("?" * len(some))
        for row in conn.execute(FACTS.format(marks=marks), (theme_id, *some)):
            found[row[0]] = payload_of_fact(row)
        gone = [uid for uid in some if uid not in found]
        purged = f"SELECT uid FROM tombstones WHERE uid IN ({', '.join('?' * len(gone))})"
        found.update((uid, Payload("fact", None, {}, PURGED)) for (uid,) in conn.execute(purged, gone).fetchall())
        found.update((uid, Payload("fact", None, {}, DELETED)) for uid in gone if uid not in found)
    for labels in in_chunks([thing for thing in things if isinstance(thing, str)]):
        sql = SCOPES.format(marks=", ".join("?" * len(labels)))
        for label, *columns in conn.execute(sql, (theme_id, *labels)):
            found[label] = payload_of_scope(label, *columns)
        found.update((label, Payload("scope", label, {}, DELETED)) for label in labels if label not in found)
    return found


def payload_of_fact(row: Sequence[Any]) -> Payload:
    """A row of `FACTS` in portable words."""
    _, content, kind, target, label, tier, pinned, created_at, updated_at, link, cooled_by, by, name = row
    if tier in AWAY:
        return Payload("fact", None, {}, DELETED)
    attrs = {
        "type": kind,
        "target": target,
        "scope": None if label == UNSCOPED else label,
        "tier": tier,
        "pinned": bool(pinned),
        "created_at": created_at,
        "updated_at": updated_at,
        "superseded_by": None if link is None else uids.to_text(link),
        "cooled_by": cooled_by,
        "by": str(Actor(by, name)),
    }
    return Payload("fact", content, attrs, LIVE)


def payload_of_scope(label: str, status: str, opened_at: int, closed_at: int | None, closed_by: str | None) -> Payload:
    """A scope in portable words. Cooling is about who is listening here, and does not travel."""
    said = ScopeStatus.OPEN.value if status == ScopeStatus.COOLING else status
    attrs = {"status": said, "opened_at": opened_at, "closed_at": closed_at, "closed_by": closed_by}
    return Payload("scope", label, attrs, LIVE)


def rows_of(conn: sqlite3.Connection, theme_id: int, theme: str, wanted: Sequence[Version]) -> list[SyncRow]:
    """Versions with what they say."""
    says = payloads(conn, theme_id, [version.thing for version in wanted if version.shadow is None])
    made = []
    for version in wanted:
        payload = says[version.thing] if version.shadow is None else Payload.loaded(version.shadow)
        made.append(row_of(conn, theme, version, payload))
    return made


def row_of(conn: sqlite3.Connection, theme: str, version: Version, payload: Payload) -> SyncRow:
    """A version with what it says."""
    replaced = None
    if version.label is None:
        sql = "SELECT min(uid) FROM facts WHERE superseded_by = ?"
        (replaced,) = conn.execute(sql, (version.uid,)).fetchone()
    return SyncRow(
        theme=theme,
        uid=uids.to_text(version.uid),
        kind=payload.kind,  # type: ignore[arg-type]  # one that this program does not know is kept as it came
        content=payload.content,
        attrs=payload.attrs,
        state=payload.state,
        hlc=version.hlc,
        node=Uid(uids.to_text(version.node)),
        ancestors=version.ancestors,
        supersedes=None if replaced is None else uids.to_text(replaced),
    )
