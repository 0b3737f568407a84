"""Context records: what every session was given, when and why, in the wording of that moment."""

from __future__ import annotations

import builtins
import json
from dataclasses import dataclass
from typing import Any

from hermes_memory_store.context.given import GivenReasons, parse_given_reasons
from hermes_memory_store.database.db import Db
from hermes_memory_store.items.journal import Journal
from hermes_memory_store.items.name_keys import Names
from hermes_memory_store.model import Millis, Uid, format_notation

MAX_RECORDS_SEARCHED = 50_000
"""Newest notes that are looked through for those of one session."""

NOTES = """
    SELECT i.id, i.at, i.theme_id, n.name, i.kind, i.why, i.tokens, i.facts, i.reasons
    FROM injections i LEFT JOIN sessions n ON n.id = i.session_id
    WHERE i.id > (SELECT coalesce(max(id), 0) FROM injections) - ?1
      AND (?2 IS NULL OR i.theme_id = ?2) AND (?3 IS NULL OR n.name = ?3)
    ORDER BY i.id DESC LIMIT ?4
"""


@dataclass(frozen=True, slots=True)
class ContextRecord:
    """Facts returned together."""

    id: int
    at: Millis
    theme: str
    session: str | None
    kind: str
    """`status` for the context block, `search`, `recall`, `reflect` …"""
    why: str | None
    """The question, for a search."""
    tokens: int
    facts: tuple[Uid, ...]
    title: str | None = None
    """The session's name for a person."""
    stored_reasons: str | None = None
    """What `reasons` reads: few of the records in a list are asked for them."""

    @property
    def reasons(self) -> GivenReasons | None:
        """Why each fact was given, and which were left out; None where nothing was valued."""
        return parse_given_reasons(self.stored_reasons)


@dataclass(frozen=True, slots=True)
class RecordedFact:
    """One fact as it stood when it was returned."""

    uid: Uid
    notation: str | None
    """None when it has been purged since."""
    changed: bool
    """Whether it says something else by now."""


class ContextRecords:
    """Read what `ReadLog` wrote."""

    def __init__(self, db: Db, names: Names, journal: Journal) -> None:
        self._db = db
        self._names = names
        self._journal = journal

    def list(self, theme: str | None = None, session: str | None = None, *, limit: int = 200) -> list[ContextRecord]:
        """Return the context records, newest first, of one session if given. Searches the newest 50,000 notes."""
        theme_id = None if theme is None else self._names.theme_or_none(theme) or 0
        return [self._to_record(row) for row in self._db.rows(NOTES, (MAX_RECORDS_SEARCHED, theme_id, session, limit))]

    def facts(self, told: ContextRecord) -> builtins.list[RecordedFact]:
        """Return the facts of a record, in the wording of that moment."""
        return [self._facts_as_recorded(uid, told.at) for uid in told.facts]

    def left_out(self, told: ContextRecord) -> builtins.list[RecordedFact]:
        """Return the best facts that were left out of a record, in the wording of that moment."""
        reasons = told.reasons.left_out if told.reasons is not None else ()
        return [self._facts_as_recorded(left_out.uid, told.at) for left_out in reasons]

    def _to_record(self, row: tuple[Any, ...]) -> ContextRecord:
        key, at, theme_id, session, kind, question, tokens, facts, reasons = row
        theme = self._names.theme_name(theme_id)
        title = None if session is None else self._names.session_title(theme_id, session)
        uids = tuple(json.loads(facts))
        return ContextRecord(key, Millis(at), theme, session, kind, question, tokens, uids, title, reasons)

    def _facts_as_recorded(self, uid: Uid, at: int) -> RecordedFact:
        latest: dict[str, Any] = {}
        content: str | None = None
        for change in self._journal.changes(uid=uid):
            latest |= {
                key: value for key, value in (change.after or {}).items() if key in ("type", "target", "content")
            }
            if change.at <= at and "content" in latest:
                content = latest["content"]
        if content is None or "target" not in latest:
            return RecordedFact(uid, None, changed=True)
        notation = format_notation(latest["type"], latest["target"], content)
        return RecordedFact(uid, notation, changed=content != latest["content"])
