"""Actions: what agents ran, read and edited, where a person allowed that it is kept. Agents are never given them whole.

They are beside the journal: nothing changes or undoes one, and none leaves this machine. What erases captured turns erases them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from hermes_memory_store import uids
from hermes_memory_store.chunking import in_chunks
from hermes_memory_store.database.db import Db
from hermes_memory_store.intake.detector import Passage, TextKind, find_masked_spans
from hermes_memory_store.intake.spans import replace_text_spans, to_secret_placeholder
from hermes_memory_store.model import Millis, Session

MOST_WHAT = 2_000
"""Characters of a command or a path."""

MOST_ERROR_BYTES = 2_048

LEFT_OUT = "\n[…]\n"

OLDER_THAN = "SELECT uid FROM actions WHERE what IS NOT NULL AND theme_id = ?1 AND (?2 = 0 OR at <= ?3 - ?2)"

OF_RUNS = "SELECT uid FROM actions WHERE what IS NOT NULL AND run IS NOT NULL"

BROUGHT_BY = {
    "": OLDER_THAN,
    "hooks": f"{OLDER_THAN} AND run IS NULL",
    "heard": f"{OLDER_THAN} AND run IS NULL",
    "history": f"{OF_RUNS} AND theme_id = ?1 AND kept_at <= ?3 - ?2",
}
"""As the captured turns that came the same way."""

KEEP_ACTION = """
    INSERT INTO actions (uid, kind, what, folder, at, exit_code, duration_ms, error, host, kept_at, run, theme_id, session_id)
    SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, theme_id, id FROM sessions WHERE uid = ?12
    ON CONFLICT (uid) DO UPDATE SET (kind, what, folder, at, exit_code, duration_ms, error, kept_at, run, theme_id, session_id)
      = (?2, ?3, ?4, ?5, ?6, ?7, ?8, ?10, ?11, excluded.theme_id, excluded.session_id)
    WHERE actions.what IS NULL AND actions.run IS NOT NULL
"""

BLANK = """
    UPDATE actions SET what = NULL, folder = NULL, exit_code = NULL, duration_ms = NULL, error = NULL, session_id = NULL, at = 0,
      run = CASE WHEN ?2 THEN run END
    WHERE uid = ?1 AND what IS NOT NULL
"""

OF_SESSION = """
    SELECT uid, kind, what, folder, at, exit_code, duration_ms, error FROM actions
    WHERE session_id = (SELECT id FROM sessions WHERE uid = ?) AND what IS NOT NULL {} ORDER BY at DESC, id DESC LIMIT ?
"""


class Action(NamedTuple):
    uid: bytes
    """Made of its host, session and call."""
    kind: str
    """`run`, `read` or `edit`."""
    what: str
    """A command, or a path, relative to its project's root where it is inside of it."""
    folder: str | None
    at: Millis
    exit_code: int | None
    duration_ms: int | None
    error: str | None
    """The first and last lines of what failed."""

    @property
    def has_failed(self) -> bool:
        return self.error is not None or bool(self.exit_code)

    @property
    def outcome(self) -> str:
        return f"exit {self.exit_code}" if self.exit_code is not None else "failed" if self.error is not None else ""


def keep_actions(db: Db, session: Session, host: str, actions: Iterable[Action], run: int | None, now: int) -> int:
    """Keep actions of a session, with secrets masked, that were never here; return how many.

    :param run: as of `Turns.bring`; None for those that a hook brings
    """
    beside = host, now, run, uids.parse_uid(session.uid)
    rows = [(*mask_action(action), *beside) for action in actions]
    with db.write_transaction() as conn:
        return sum(conn.execute(KEEP_ACTION, row).rowcount for row in rows)


def list_actions(db: Db, session: Session, limit: int = -1) -> list[Action]:
    """Return what a session did, newest first."""
    return [Action(*row) for row in db.rows(OF_SESSION.format(""), (uids.parse_uid(session.uid), limit))]


def list_heard_actions(db: Db, session: Session) -> list[Action]:
    """Return what hooks brought of a session, newest first."""
    return [Action(*row) for row in db.rows(OF_SESSION.format("AND run IS NULL"), (uids.parse_uid(session.uid), -1))]


def find_known_actions(db: Db, action_uids: Sequence[bytes], *, again: bool) -> set[bytes]:
    """Return which of these are here, or were erased. :param again: omit what was taken back of a backfill"""
    sql = "SELECT uid FROM actions WHERE (what IS NOT NULL OR run IS NULL OR NOT ?) AND uid IN ({})"
    chunks = in_chunks(action_uids)
    return {uid for some in chunks for (uid,) in db.rows(sql.format(", ".join("?" * len(some))), (again, *some))}


def erase_actions(conn: sqlite3.Connection, erased: Iterable[tuple[bytes]], *, again: bool = False) -> int:
    """Erase actions within a running transaction; `Turns.scrub` after it erases their remains, also from backups.

    :param erased: their uids
    :param again: whether a backfill may bring them again
    """
    rows = [*erased]
    conn.executemany(BLANK, [(uid, again) for (uid,) in rows])
    conn.executemany("INSERT OR IGNORE INTO turns_to_scrub VALUES (?, 0)", rows)
    return len(rows)


def find_holding_actions(conn: sqlite3.Connection, holds: Callable[[str], bool]) -> list[tuple[bytes]]:
    """Return the uids of the actions with a text that holds something."""
    rows = conn.execute("SELECT uid, what, folder, error FROM actions WHERE what IS NOT NULL")
    return [(uid,) for uid, *texts in rows if any(text and holds(text) for text in texts)]


def mask_action(action: Action) -> Action:
    what, folder, error = (mask_text(text or "") for text in (action.what, action.folder, action.error))
    what = what if len(what) <= MOST_WHAT else f"{what[: MOST_WHAT - 1]}…"
    return action._replace(what=what, folder=folder[:MOST_WHAT] or None, error=shorten_error(error) or None)


def mask_text(text: str) -> str:
    """Return a text without secrets and what no database takes."""
    text = text.replace("\0", "").encode(errors="backslashreplace").decode()
    spans = find_masked_spans(Passage(TextKind.TURN, text))
    return replace_text_spans(text, ((span, to_secret_placeholder()) for span in spans))


def shorten_error(text: str) -> str:
    """Return the first and last lines of an output in at most `MOST_ERROR_BYTES`."""
    content = text.strip().encode()
    if len(content) <= MOST_ERROR_BYTES:
        return content.decode()
    half = (MOST_ERROR_BYTES - len(LEFT_OUT.encode())) // 2
    begin, end = content[:half].decode(errors="ignore"), content[-half:].decode(errors="ignore")
    return (begin.rpartition("\n")[0] or begin) + LEFT_OUT + (end.partition("\n")[2] or end)
