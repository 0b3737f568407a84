"""The flight recorder: what every session was told, when and why, and the words of it as they stood at that moment."""

from __future__ import annotations

import builtins
import json
from dataclasses import dataclass
from typing import Any

from hermes_memory_store.db import Db
from hermes_memory_store.journal import Journal
from hermes_memory_store.model import Millis, Uid, format_notation
from hermes_memory_store.names import Names

LOOKED_BACK = 50_000
"""Newest notes that are looked through for those of one session."""

NOTES = """
    SELECT i.id, i.at, i.theme_id, n.name, i.kind, i.why, i.tokens, i.facts
    FROM injections i LEFT JOIN sessions n ON n.id = i.session_id
    WHERE i.id > (SELECT coalesce(max(id), 0) FROM injections) - ?1
      AND (?2 IS NULL OR i.theme_id = ?2) AND (?3 IS NULL OR n.name = ?3)
    ORDER BY i.id DESC LIMIT ?4
"""


@dataclass(frozen=True, slots=True)
class Told:
    """Facts that were handed out at once."""

    id: int
    at: Millis
    theme: str
    session: str | None
    kind: str
    """`status` for the injection, `search`, `recall`, `reflect` …"""
    why: str | None
    """The question, for a search."""
    tokens: int
    facts: tuple[Uid, ...]


@dataclass(frozen=True, slots=True)
class ToldFact:
    """One fact as it stood when it was handed out."""

    uid: Uid
    notation: str | None
    """None when it has been purged since."""
    changed: bool
    """Whether it says something else by now."""


class Recorder:
    """Reads what `Reads` wrote."""

    def __init__(self, db: Db, names: Names, journal: Journal) -> None:
        self._db = db
        self._names = names
        self._journal = journal

    def list(self, theme: str | None = None, session: str | None = None, *, limit: int = 200) -> list[Told]:
        """What was handed out, newest first, to one session if asked. Looks through the newest 50,000 notes."""
        theme_id = None if theme is None else self._names.theme_or_none(theme) or 0
        return [self._told(row) for row in self._db.rows(NOTES, (LOOKED_BACK, theme_id, session, limit))]

    def facts(self, told: Told) -> builtins.list[ToldFact]:
        """The facts of a note, in the words that stood then."""
        return [self._as_told(uid, told.at) for uid in told.facts]

    def _told(self, row: tuple[Any, ...]) -> Told:
        key, at, theme_id, session, kind, why, tokens, facts = row
        theme = self._names.theme_name(theme_id)
        return Told(key, Millis(at), theme, session, kind, why, tokens, tuple(json.loads(facts)))

    def _as_told(self, uid: Uid, at: int) -> ToldFact:
        said: dict[str, Any] = {}
        then: str | None = None
        for change in self._journal.changes(uid=uid):
            said |= {key: value for key, value in (change.after or {}).items() if key in ("type", "target", "content")}
            if change.at <= at and "content" in said:
                then = said["content"]
        if then is None or "target" not in said:
            return ToldFact(uid, None, changed=True)
        return ToldFact(uid, format_notation(said["type"], said["target"], then), changed=then != said["content"])
