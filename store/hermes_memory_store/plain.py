"""Facts from other machines that meet nothing here, which most rows of a first pull are.

They stand as their versions say from the first moment on, so they need no shadow, and nothing has to be looked up to show
them. What is in doubt is not plain and takes the ordinary way: nothing here decides anything.
"""

from __future__ import annotations

import itertools
import json
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from unicodedata import normalize

from hermes_memory_store import errors, uids
from hermes_memory_store.chunking import in_chunks
from hermes_memory_store.malformed import checked
from hermes_memory_store.model import STANDING_TIERS, Actor, FactType, Notation
from hermes_memory_store.names import UNSCOPED
from hermes_memory_store.records import STANDS
from hermes_memory_store.travelling import PURGED, SyncRow

ATTRS = frozenset(
    "type target scope tier pinned created_at updated_at superseded_by cooled_by by".split()  # noqa: SIM905 - it fits
)
"""All that a fact says besides its content. One that says more is shown as saying less."""

TAKEN = f"""
    SELECT key FROM (
      SELECT key, value ->> 0 AS label, value ->> 1 AS type, value ->> 2 AS target FROM json_each(?2)
    ) j
    CROSS JOIN scopes s ON s.theme_id = ?1 AND s.label = j.label
    CROSS JOIN facts f ON f.scope_id = s.id AND f.type = j.type AND f.target = j.target AND f.{STANDS}
"""
"""Which of these places are taken."""


Place = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Plain:
    """A fact as it will stand."""

    uid: bytes
    label: str
    """Of its scope."""
    said: Notation
    place: Place | None
    """Where it stands; None: it was replaced."""
    link: bytes | None
    """What replaced it."""
    by: Actor
    columns: dict[str, Any]


def plain_facts(
    conn: sqlite3.Connection, theme_id: int, new: Mapping[bytes, SyncRow], others: Iterable[SyncRow]
) -> dict[bytes, Plain]:
    """Those that meet nothing: none has been here, none stands or comes to stand in the place of another, and what replaced
    them is here and not about to be purged.

    :param new: whole rows that no screen had anything to say of, and of which there is no version here
    :param others: what comes with them
    """
    found = {uid: one for uid, row in new.items() if (one := plain_or_odd(uid, row)) is not None}
    if not found:
        return found
    standing = {one.uid: one.place for one in found.values() if one.place is not None}
    places = Counter(standing.values())
    purged: set[bytes] = set()
    for row in itertools.chain(others, (row for uid, row in new.items() if uid not in found)):
        if row.state == PURGED:
            purged.add(uids.to_bytes(row.uid))
        if isinstance(row.attrs, dict):
            attrs = row.attrs
            places[place_of(*(str(attrs.get(name) or "") for name in ("scope", "type", "target")))] += 1
    out = here(conn, found) | taken(conn, theme_id, found, standing)
    out |= {uid for uid, place in standing.items() if places[place] > 1}
    links = {one.link for one in found.values() if one.link is not None}
    linked = here(conn, links - found.keys() - purged) if links else links
    while True:
        for uid in out:
            del found[uid]
        out = {one.uid for one in found.values() if one.link and one.link not in found and one.link not in linked}
        if not out:
            return found


def plain_or_odd(uid: bytes, row: SyncRow) -> Plain | None:
    """As `plain`; what cannot even be read so takes the ordinary way, which says what is wrong with it."""
    try:
        return plain(uid, row)
    except (errors.StoreError, KeyError, ValueError, TypeError, AttributeError):
        return None


def plain(uid: bytes, row: SyncRow) -> Plain | None:
    """A fact as it would stand; None where that is not word for word what its version says."""
    attrs, content = row.attrs, str(row.content)
    if attrs.keys() != ATTRS:
        return None
    label, kind, target, tier = attrs["scope"] or UNSCOPED, attrs["type"], attrs["target"], attrs["tier"]
    if " ".join(content.split()) != content or any(checked(text) != text for text in (content, target, label)):
        return None
    created_at, updated_at, pinned = attrs["created_at"], attrs["updated_at"], attrs["pinned"]
    if type(created_at) is not int or type(updated_at) is not int or type(pinned) is not bool:
        return None
    by = actor(attrs["by"])
    link = None if attrs["superseded_by"] is None else uids.to_bytes(attrs["superseded_by"])
    place = place_of(label, kind, target) if tier in STANDING_TIERS else None
    if str(by) != attrs["by"] or (
        link is not None and (place is not None or link == uid or uids.to_text(link) != attrs["superseded_by"])
    ):
        return None
    columns = {"tier": tier, "pinned": int(pinned), "created_at": created_at, "updated_at": updated_at}
    columns |= {"superseded_by": link, "cooled_by": attrs["cooled_by"]}
    return Plain(uid, label, Notation(FactType(kind), target, content), place, link, by, columns)


@lru_cache(maxsize=256)
def actor(said: str) -> Actor:
    """Who wrote a fact."""
    kind, _, name = said.partition(":")
    return Actor(kind, name)


def here(conn: sqlite3.Connection, wanted: Collection[bytes]) -> set[bytes]:
    """Those of these uids that a fact here has."""
    found: set[bytes] = set()
    for some in in_chunks(list(wanted)):
        sql = f"SELECT uid FROM facts WHERE uid IN ({', '.join('?' * len(some))})"
        found.update(uid for (uid,) in conn.execute(sql, some))
    return found


def taken(
    conn: sqlite3.Connection, theme_id: int, found: Mapping[bytes, Plain], standing: Collection[bytes]
) -> set[bytes]:
    """Those of these in whose place a fact stands."""
    asked = list(standing)
    places = [(found[uid].label, found[uid].said.type.value, found[uid].said.target) for uid in asked]
    rows = conn.execute(TAKEN, (theme_id, json.dumps(places)))
    return {asked[key] for (key,) in rows}


def place_of(label: str, kind: str, target: str) -> Place:
    """A place by the label of its scope. Too much is alike by it rather than too little: SQLite regards the case of letters
    beyond ASCII, and of labels."""
    return normalize("NFC", label).lower(), kind, normalize("NFC", target).lower()
