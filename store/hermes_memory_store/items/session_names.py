"""Names by which a person finds a session: what its client calls it, its title, its client, or a beginning of one of them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from hermes_memory_store import errors, safe_text, uids
from hermes_memory_store.database.db import Db
from hermes_memory_store.frozen import dataclass
from hermes_memory_store.intake.intake import to_given_name
from hermes_memory_store.model import format_session_title, session_title, split_client_version

MAX_SESSIONS = 20_000
"""The newest sessions that are looked at: years of them."""

CANDIDATES_SHOWN = 6

SELECT_NAMES = """
    SELECT n.uid, t.name, n.name, n.client, coalesce((SELECT name FROM projects WHERE id = p.joined_id), p.name), n.number
    FROM sessions n JOIN themes t ON t.id = n.theme_id LEFT JOIN projects p ON p.id = n.project_id
    WHERE ?1 IS NULL OR n.theme_id = ?1
    ORDER BY n.id DESC LIMIT ?2
"""

TITLE_PARTS = """
    SELECT n.uid, n.client, coalesce((SELECT name FROM projects WHERE id = p.joined_id), p.name), n.number
    FROM sessions n LEFT JOIN projects p ON p.id = n.project_id
    WHERE n.theme_id = ? AND n.name = ?
"""

TITLE_OF_ORIGIN = """
    SELECT title FROM origins WHERE theme_id = ? AND session = ? AND title IS NOT NULL ORDER BY id DESC LIMIT 1
"""


@dataclass(frozen=True, slots=True)
class SessionName:
    uid: str
    theme: str
    name: str
    title: str | None
    client: str | None
    """Without its version."""

    @property
    def shown(self) -> str:
        label = self.name if self.title is None or self.title == self.name else f"{self.title} ({self.name})"
        return safe_text.to_printable(label)


def match_sessions(db: Db, theme_id: int | None, text: str) -> list[SessionName]:
    """Return the sessions that a text names, newest first.

    By its whole name, else its title, else its client, else a beginning of any of these or of its uid: the first of these
    that finds any.
    """
    folded = fold_session_name(text)
    if not folded:
        return []
    sessions = [
        SessionName(
            uids.format_uid(uid),
            theme,
            name,
            session_title(uids.format_uid(uid), name, client, project, number),
            None if client is None else split_client_version(client)[0],
        )
        for uid, theme, name, client, project, number in db.rows(SELECT_NAMES, (theme_id, MAX_SESSIONS))
    ]
    return (
        [session for session in sessions if session.name == text]
        or [session for session in sessions if session.title is not None and fold_session_name(session.title) == folded]
        or [
            session
            for session in sessions
            if session.client is not None and fold_session_name(session.client) == folded
        ]
        or [
            session
            for session in sessions
            if any(
                fold_session_name(name).startswith(folded)
                for name in (session.name, session.title, session.client, session.uid)
                if name
            )
        ]
    )


def read_session_title(db: Db, theme_id: int, name: str) -> str:
    """Return the name for a person of a session of a theme.

    That of a session of another machine, which has no row here, is known from what came from it.
    """
    row = db.row(TITLE_PARTS, (theme_id, name))
    if row is None:
        return str(db.value(TITLE_OF_ORIGIN, (theme_id, name)) or name)
    uid, client, project, number = row
    return session_title(uids.format_uid(uid), name, client, project, number)


def find_session_name(db: Db, theme_id: int | None, text: str) -> SessionName:
    """Return the one session that a text names; of sessions of one name in several themes the newest.

    :raises UnknownSession: there is none, with the nearest names
    :raises AmbiguousSession: there are several, with their names
    """
    matches = match_sessions(db, theme_id, text)
    if not matches:
        named = db.rows(SELECT_NAMES, (theme_id, 1_000))
        titles = (format_session_title(client, project, number) for _, _, _, client, project, number in named)
        names = map(to_given_name, [*filter(None, titles), *(row[2] for row in named)])
        raise errors.UnknownSession(text, dict.fromkeys(names))
    if len({match.name for match in matches}) > 1:
        shown = "; ".join(match.shown for match in matches[:CANDIDATES_SHOWN])
        more = f"; and {len(matches) - CANDIDATES_SHOWN} more" if len(matches) > CANDIDATES_SHOWN else ""
        raise errors.AmbiguousSession(
            f"{errors.shorten_value(text)!r} names several sessions: {shown}{more}; give one of these names", text
        )
    return matches[0]


def fold_session_name(text: str) -> str:
    """Return the form in which names of sessions are compared: what separates the parts of a title does not count."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(re.sub(r"[\s·/#]+", " ", folded).split())


NUMBERED = ("client_version", "project", "number")
"""What each opening of a session says anew, or leaves empty."""


def is_numbering(words: Mapping[str, Any], client: str | None) -> bool:
    """Check whether the row of a session that opened says what its number is.

    0.3.0 and before wrote name and client alone of a session that was heard again after its end: it keeps its number.

    :param client: the session's client until then
    """
    return words.get("client") != client or not words.keys().isdisjoint(NUMBERED)
