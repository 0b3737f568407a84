"""Origins beside the versions of a team: what a row says of where it came from, and who brought it.

They are no part of a version: a program that does not know them compares and converges as before. What a row says is a
claim of another machine. It is shown as that of a teammate, decides nothing, and changes nothing that this machine has
seen itself; the first one that is known of a fact stands.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from hermes_memory_store import errors, uids
from hermes_memory_store.chunking import in_chunks
from hermes_memory_store.items.name_keys import Names
from hermes_memory_store.items.origin_rows import (
    PortableOrigin,
    admit_origin,
    drop_foreign_turns,
    parse_portable_origin,
    to_origin_words,
)
from hermes_memory_store.items.project_rows import are_project_words
from hermes_memory_store.model import Origin, Way, is_admitted
from hermes_memory_store.sync.versions import find_fact_uids
from hermes_memory_store.sync.wire_format import PURGED, SyncRow

TEAM_ORIGIN = Origin(way=Way.TEAM)
"""Of what a team sends of which nothing else is known."""

MOST_CHARS_OF_ORIGIN = 30_000
"""Characters of an origin that are sent or read: a dozen fields of a thousand characters, and its project. A longer one is
left out, so that it stops no row."""

MOST_TURNS = 100
"""Turns that an origin names; this program names three."""

DETAIL = frozenset({"line", "turns"})
"""What an origin says of one fact alone."""

LOCAL_WORDS = frozenset({"teammate", "team_way", "team_verdict"})
"""What a machine notes itself of what a teammate sent."""

ORIGINS_OF_FACTS = """
    SELECT uid, origin_id, origin_detail, verdict FROM facts
    WHERE theme_id = ? AND origin_id IS NOT NULL AND uid IN ({marks})
"""

KEPT_ORIGINS = "SELECT uid, said FROM sync_origins WHERE theme_id = ? AND said IS NOT NULL AND uid IN ({marks})"

KEEP_ORIGIN = """
    INSERT INTO sync_origins (theme_id, uid, said, teammate)
    SELECT ?1, ?2, ?3, ?4 WHERE NOT EXISTS (SELECT 1 FROM tombstones WHERE uid = ?2)
      AND NOT EXISTS (SELECT 1 FROM sync_rows WHERE theme_id = ?1 AND uid = ?2 AND state = 2)
    ON CONFLICT DO UPDATE SET said = coalesce(said, excluded.said), teammate = coalesce(teammate, excluded.teammate)
"""
"""An older version of a fact that was purged may come once more."""

KEPT_ORIGIN = "SELECT said, teammate FROM sync_origins WHERE theme_id = ? AND uid = ?"

TEAMMATES_OF_FACTS = """
    SELECT f.uid, o.teammate FROM facts f JOIN origins o ON o.id = f.origin_id
    WHERE f.theme_id = ? AND o.teammate IS NOT NULL AND f.uid IN ({marks})
    UNION ALL
    SELECT uid, teammate FROM sync_origins WHERE theme_id = ? AND teammate IS NOT NULL AND uid IN ({marks})
"""

AUTHORS_OF_FACTS = """
    SELECT j.uid, a.kind, a.name, max(j.seq) FROM journal j JOIN actors a ON a.id = j.actor_id
    WHERE j.entity = 'fact' AND {what} AND j.uid IN ({marks}) GROUP BY j.uid
"""

MADE, WORDED = "j.before IS NULL", "j.after ->> 'content' IS NOT NULL"

MOVED_BY_TEAM = "a.kind = 'sync' AND a.name <> ''"

UNKNOWN = "unknown"
"""The role of whoever brought a row, where nobody can say."""

FORGET_SHOWN_ORIGINS = """
    DELETE FROM sync_origins WHERE theme_id = ? AND EXISTS (SELECT 1 FROM facts WHERE facts.uid = sync_origins.uid)
"""

FORGET_LOST_ORIGINS = """
    DELETE FROM sync_origins AS o WHERE theme_id = ?
      AND NOT EXISTS (SELECT 1 FROM sync_rows r WHERE r.theme_id = o.theme_id AND r.uid = o.uid)
      AND NOT EXISTS (SELECT 1 FROM sync_conflicts c WHERE c.theme_id = o.theme_id AND c.uid = o.uid)
"""
"""Of facts of which no version is left."""


class ReceivedOrigins:
    """Origins of the facts of one theme that are shown within a running transaction."""

    def __init__(
        self, conn: sqlite3.Connection, names: Names, theme_id: int, now: int, rows: Iterable[SyncRow] = ()
    ) -> None:
        """:param rows: that have just come; those of others were kept"""
        self._conn = conn
        self._names = names
        self._theme_id = theme_id
        self._now = now
        self.arrived = {
            uids.parse_uid(row.uid): row
            for row in rows
            if row.kind == "fact" and row.state != PURGED and (row.origin is not None or row.teammate is not None)
        }
        """What has just come of facts."""
        self._shown: set[bytes] = set()

    def find(self, uid: bytes) -> Origin:
        row = self.arrived.get(uid)
        self._shown.add(uid)
        if row is None or row.origin is None:
            stored = self._conn.execute(KEPT_ORIGIN, (self._theme_id, uid)).fetchone()
            if stored is not None:
                return self._resolve(None if stored[0] is None else json.loads(stored[0]), stored[1])
        return TEAM_ORIGIN if row is None else self._resolve(row.origin, row.teammate)

    def keep(self) -> None:
        """Keep the origins of facts that are not shown yet, and forget those of facts that are."""
        hidden = self.arrived.keys() - self._shown
        for uid in hidden - find_fact_uids(self._conn, hidden) if hidden else ():
            row = self.arrived[uid]
            claim = parse_team_origin(row.origin, row.teammate)
            admitted = admit_origin(claim.origin)
            words = to_sync_origin(to_origin_words(admitted, local=False), claim.project)
            self._conn.execute(KEEP_ORIGIN, (self._theme_id, uid, format_team_origin(words), admitted.teammate))
        self._conn.execute(FORGET_SHOWN_ORIGINS, (self._theme_id,))

    def _resolve(self, words: Any, teammate: str | None) -> Origin:
        """Resolve an origin; what it says of one fact alone is set aside, since many facts share the rest."""
        words = words if isinstance(words, dict) else {}
        shared = {name: value for name, value in words.items() if name not in DETAIL}
        resolved, named = self._names.origins.received, (repr(shared), teammate)
        if named not in resolved:
            claim = parse_team_origin(None if format_team_origin(shared) is None else shared, teammate)
            resolved[named] = self._names.origins.resolve(self._conn, claim, self._now)
        if len(shared) == len(words):
            return resolved[named]
        detail = parse_team_origin({name: words[name] for name in DETAIL & words.keys()}, None).origin
        origin = replace(resolved[named], line=detail.line, turns=detail.turns)
        return drop_foreign_turns(self._conn, self._theme_id, origin)


def attach_origins(conn: sqlite3.Connection, names: Names, theme_id: int, rows: Sequence[SyncRow]) -> list[SyncRow]:
    facts = [uids.parse_uid(row.uid) for row in rows if row.kind == "fact" and row.state != PURGED]
    origins: dict[str, dict[str, Any] | None] = {}
    to_words = origin_formatter(names)
    for some in in_chunks(facts) if facts else ():
        marks = ", ".join("?" * len(some))
        for uid, words in conn.execute(KEPT_ORIGINS.format(marks=marks), (theme_id, *some)):
            origins[uids.format_uid(uid)] = json.loads(words)
        for uid, *columns in conn.execute(ORIGINS_OF_FACTS.format(marks=marks), (theme_id, *some)).fetchall():
            origins[uids.format_uid(uid)] = to_words(*columns)
    return [replace(row, origin=origins[row.uid]) if row.uid in origins else row for row in rows]


def attach_authors(conn: sqlite3.Connection, theme_id: int, rows: Sequence[SyncRow], author: str) -> list[SyncRow]:
    """Return rows to send with whose words they have, who changed them last and who brought them, as the journal says.

    :param author: what this machine is called
    """
    own = uids.format_uid(conn.execute("SELECT node FROM sync_store").fetchone()[0])
    facts = [uids.parse_uid(row.uid) for row in rows if row.kind == "fact"]
    teammates: dict[str, str] = {}
    made: dict[str, str | None] = {}
    worded: dict[str, str | None] = {}
    moved: dict[str, str | None] = {}
    for some in in_chunks(facts) if facts else ():
        marks = ", ".join("?" * len(some))
        found = conn.execute(TEAMMATES_OF_FACTS.format(marks=marks), (theme_id, *some, theme_id, *some))
        teammates |= {uids.format_uid(uid): teammate for uid, teammate in found}
        for condition, authors in ((MADE, made), (WORDED, worded), (MOVED_BY_TEAM, moved)):
            for uid, kind, name, _ in conn.execute(AUTHORS_OF_FACTS.format(what=condition, marks=marks), some):
                authors[uids.format_uid(uid)] = (name or UNKNOWN) if kind == "sync" else None

    def attach(row: SyncRow) -> SyncRow:
        is_mine = made.get(row.uid, UNKNOWN) is None
        is_own = row.node == own or (is_mine and row.uid not in moved)  # under this name, or one that it had before
        role = author if is_own else UNKNOWN
        first = f"{author}/{own[:8]}" if is_mine else f"{role}/{row.node[:8]}"
        return replace(
            row,
            teammate=teammates.get(row.uid, first),
            worded_by=worded.get(row.uid, role) or author,
            changed_by=author if is_own else moved.get(row.uid, UNKNOWN),
        )

    return [attach(row) for row in rows]


def origin_formatter(names: Names) -> Callable[[int | None, str | None, str | None], dict[str, Any] | None]:
    """Return a function that formats origins to send, by key, detail and verdict; each key is looked up once."""
    cached: dict[int, dict[str, Any]] = {}

    def to_words(key: int | None, detail: str | None, verdict: str | None) -> dict[str, Any] | None:
        if key is None:
            return None
        if key not in cached:
            cached[key] = names.origins.portable(key)
        words = cached[key] if detail is None else cached[key] | json.loads(detail)
        return to_sync_origin(words, words.get("project"), verdict)

    return to_words


def to_sync_origin(
    words: dict[str, Any], project: dict[str, Any] | None, verdict: str | None = None
) -> dict[str, Any] | None:
    """Return an origin as it is sent: what came from a teammate is told on as he said it; None where that is nothing.

    :param verdict: of the fact or turn itself
    """
    sent = {name: value for name, value in words.items() if name not in LOCAL_WORDS}
    if sent.get("way") == Way.TEAM:
        del sent["way"]
        verdict = words.get("team_verdict")
        if "team_way" in words:
            sent["way"] = words["team_way"]
    if verdict is not None and is_admitted(verdict):  # of verdicts only those of what a person let in are sent
        sent["verdict"] = verdict
    if project is not None:
        sent["project"] = project
    return sent if sent and format_team_origin(sent) is not None else None


def format_team_origin(words: dict[str, Any] | None) -> str | None:
    """Format an origin as text; None where there is none, or one that is too long."""
    if words is None:
        return None
    text = json.dumps(words, ensure_ascii=False, sort_keys=True)
    return text if len(text) <= MOST_CHARS_OF_ORIGIN else None


def parse_team_origin(words: Any, teammate: str | None) -> PortableOrigin:
    """Parse what a row says of its origin; of one that makes no sense only the teammate is known.

    :param teammate: who brought it, as the server says
    """
    bare = replace(TEAM_ORIGIN, teammate=teammate)
    try:
        project = words.get("project") if isinstance(words, dict) else None
        parsed = parse_portable_origin({**words, "project": None})
    except (errors.StoreError, ValueError, KeyError, TypeError, AttributeError):
        return PortableOrigin(bare)
    verdict = words.get("verdict")
    claimed = replace(
        parsed.origin,
        way=Way.TEAM,
        teammate=teammate,
        team_way=parsed.origin.way.value if parsed.origin.way not in (Way.UNKNOWN, Way.TEAM) else None,
        team_verdict=verdict if isinstance(verdict, str) and is_admitted(verdict) else None,
        turns=parsed.origin.turns[:MOST_TURNS],
    )
    return PortableOrigin(claimed, project if are_project_words(project) else None)


def to_unknown_teammate(node: str) -> str:
    """Return who brought a row where nobody can say: an unknown role, and the beginning of the store's name."""
    return f"{UNKNOWN}/{node[:8]}"
