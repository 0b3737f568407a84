"""Bulk apply: facts from other machines that meet nothing here, which most rows of a first pull are.

They are stored as their versions say at once, so they need no shadow, and nothing has to be looked up to show
them. Doubtful rows are no bulk facts and are applied one by one: nothing is decided here.
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
from unicodedata import is_normalized, normalize

from hermes_memory_store import errors, uids
from hermes_memory_store.chunking import in_chunks
from hermes_memory_store.items.kinds import STANDS
from hermes_memory_store.items.name_keys import UNSCOPED
from hermes_memory_store.model import STANDING_TIERS, Actor, FactType, Notation
from hermes_memory_store.sync.curation import is_uncurated, to_kept_cold
from hermes_memory_store.sync.wire_format import PURGED, SyncRow

ATTRS = frozenset(
    "type target scope tier pinned created_at updated_at superseded_by cooled_by by".split()  # noqa: SIM905 - it fits
)
"""All attributes of a fact. A version with more of them is shown without the others, and is no bulk fact."""

OCCUPIED_PLACES = f"""
    SELECT key FROM (
      SELECT key, value ->> 0 AS label, value ->> 1 AS type, value ->> 2 AS target FROM json_each(?2)
    ) j
    CROSS JOIN scopes s ON s.theme_id = ?1 AND s.label = j.label
    CROSS JOIN facts f ON f.scope_id = s.id AND f.type = j.type AND f.target = j.target AND f.{STANDS}
"""
"""Which of these places are taken."""


FactPlace = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class BulkFact:
    """A fact in the state in which it will be stored."""

    uid: bytes
    label: str
    """Of its scope."""
    notation: Notation
    place: FactPlace | None
    """Where it stands; None: it was replaced."""
    link: bytes | None
    """What replaced it."""
    by: Actor
    columns: dict[str, Any]


def find_bulk_facts(
    conn: sqlite3.Connection, theme_id: int, new: Mapping[bytes, SyncRow], others: Iterable[SyncRow]
) -> dict[bytes, BulkFact]:
    """Find the versions that meet nothing here.

    None of them was here before, none competes with another for a place, and the facts that replaced them are here and
    not about to be purged.

    :param new: valid rows without findings of a content check, and without a version here
    :param others: the rows that come with them
    """
    found = {uid: one for uid, row in new.items() if (one := try_bulk_fact(uid, row)) is not None}
    if not found:
        return found
    standing = {one.uid: one.place for one in found.values() if one.place is not None}
    places = Counter(standing.values())
    purged: set[bytes] = set()
    for row in itertools.chain(others, (row for uid, row in new.items() if uid not in found)):
        if row.state == PURGED:
            purged.add(uids.parse_uid(row.uid))
        if isinstance(row.attrs, dict):
            attrs = row.attrs
            places[to_fact_place(*(str(attrs.get(name) or "") for name in ("scope", "type", "target")))] += 1
    out = find_known_uids(conn, found) | find_occupied_uids(conn, theme_id, found, standing)
    out |= {uid for uid, place in standing.items() if places[place] > 1}
    links = {one.link for one in found.values() if one.link is not None}
    linked = find_known_uids(conn, links - found.keys() - purged) if links else links
    while True:
        for uid in out:
            del found[uid]
        out = {one.uid for one in found.values() if one.link and one.link not in found and one.link not in linked}
        if not out:
            return found


def try_bulk_fact(uid: bytes, row: SyncRow) -> BulkFact | None:
    """Convert as `to_bulk_fact`; leave an unreadable row to the ordinary path, which reports what is wrong with it."""
    try:
        return to_bulk_fact(uid, row)
    except (errors.StoreError, KeyError, ValueError, TypeError, AttributeError):
        return None


def to_bulk_fact(uid: bytes, row: SyncRow) -> BulkFact | None:
    """Return a fact as it would be stored; None where that differs from its version."""
    attrs, content = row.attrs, str(row.content)
    if attrs.keys() != ATTRS:
        return None
    label, kind, target, tier = attrs["scope"] or UNSCOPED, attrs["type"], attrs["target"], attrs["tier"]
    # It is valid: what is left to ask is whether it would be stored in these words.
    if " ".join(content.split()) != content or not all(is_normalized("NFC", text) for text in (content, target, label)):
        return None
    created_at, updated_at, pinned = attrs["created_at"], attrs["updated_at"], attrs["pinned"]
    if type(created_at) is not int or type(updated_at) is not int or type(pinned) is not bool:
        return None
    author = parse_row_actor(attrs["by"])
    link = None if attrs["superseded_by"] is None else uids.parse_uid(attrs["superseded_by"])
    place = to_fact_place(label, kind, target) if tier in STANDING_TIERS else None
    if author is None or (
        link is not None and (place is not None or link == uid or uids.format_uid(link) != attrs["superseded_by"])
    ):
        return None
    shown = to_kept_cold(attrs) if is_uncurated(row) else attrs
    columns = {
        "tier": shown["tier"],
        "pinned": int(shown["pinned"]),
        "created_at": created_at,
        "updated_at": updated_at,
    }
    columns |= {"superseded_by": link, "cooled_by": shown["cooled_by"]}
    return BulkFact(uid, label, Notation(FactType(kind), target, content), place, link, author, columns)


@lru_cache(maxsize=256)
def parse_row_actor(text: str) -> Actor | None:
    """Parse the author of a fact; None where it would be written otherwise."""
    kind, _, name = text.partition(":")
    author = Actor(kind, name)
    return author if str(author) == text else None


def find_known_uids(conn: sqlite3.Connection, wanted: Collection[bytes]) -> set[bytes]:
    """Return those of these uids that belong to a fact here."""
    found: set[bytes] = set()
    for some in in_chunks(list(wanted)) if wanted else ():
        sql = f"SELECT uid FROM facts WHERE uid IN ({', '.join('?' * len(some))})"
        found.update(uid for (uid,) in conn.execute(sql, some))
    return found


def find_occupied_uids(
    conn: sqlite3.Connection, theme_id: int, found: Mapping[bytes, BulkFact], standing: Collection[bytes]
) -> set[bytes]:
    """Return those of these facts whose place is occupied by a standing fact."""
    ordered = list(standing)
    places = [(found[uid].label, found[uid].notation.type.value, found[uid].notation.target) for uid in ordered]
    rows = conn.execute(OCCUPIED_PLACES, (theme_id, json.dumps(places)))
    return {ordered[key] for (key,) in rows}


def to_fact_place(label: str, kind: str, target: str) -> FactPlace:
    """Return a place by the label of its scope.

    It rather treats too many places as equal than too few: SQLite distinguishes the case of letters beyond ASCII, and
    of labels.
    """
    return normalize("NFC", label).lower(), kind, normalize("NFC", target).lower()
