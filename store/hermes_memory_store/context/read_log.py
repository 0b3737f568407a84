"""The read log: how often a fact was returned, and exactly what each session was given and why.

Reading never writes. Notes are collected in memory and written together: when there are enough of them, when the
store closes, or before something needs them. A note that cannot be written yet is kept for the next attempt.
"""

from __future__ import annotations

import json
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from hermes_memory_store import errors, uids
from hermes_memory_store.clock import Clock
from hermes_memory_store.database.db import Db
from hermes_memory_store.frozen import dataclass
from hermes_memory_store.intake.intake import to_masked_name
from hermes_memory_store.items.name_keys import Names
from hermes_memory_store.model import Fact, Millis, Session

if TYPE_CHECKING:
    from hermes_memory_store.context.given import GivenReasons

NOTES_PER_WRITE = 128
"""Notes that are written together: fewer than one search in a hundred pays for it."""

MAX_PENDING_NOTES, MAX_NOTES_SEARCHED = 10_000, 2_000
"""Notes kept in memory while the store cannot be written; the newest among which readers of a fact are looked for."""

GIVING_KINDS = frozenset({"status", "instructions", "start", "prompt", "compaction", "resume", "moment"})
"""Kinds of notes by which a session is given facts without asking for them."""

FACTLESS_KINDS = frozenset({"moment"})
"""Those that may hold a line that is no fact, and count tokens all the same."""

TOUCHED_HITS = 3
"""First hits of a search: those that it touches."""

MOST_GIVEN, MOST_SESSIONS = 500, 500
"""Facts of a session that was given some before this process; sessions of which is known what they were given."""

GIVEN_BEFORE = f"""
    SELECT i.facts FROM injections i JOIN sessions s ON s.id = i.session_id JOIN themes t ON t.id = s.theme_id
    WHERE i.id > (SELECT coalesce(max(id), 0) FROM injections) - ?1 AND t.name = ?2 AND s.name = ?3
      AND i.kind IN ({", ".join(map(repr, sorted(GIVING_KINDS)))})
"""

KEYS_OF_UIDS = "SELECT id FROM facts WHERE uid IN ({marks})"

COUNT_GIVEN = """
    INSERT INTO fact_uses (fact_id, given) SELECT id, ?2 FROM facts WHERE id = ?1
    ON CONFLICT DO UPDATE SET given = given + excluded.given
"""

COUNT_USED = """
    UPDATE fact_uses SET used = used + 1, last_used_at = max(coalesce(last_used_at, 0), ?2) WHERE fact_id = ?1
"""

COUNT_CONTRADICTED = "UPDATE fact_uses SET contradicted = contradicted + 1 WHERE fact_id = ?"

ASSIGN = """
    UPDATE injections SET session_id = s.id, theme_id = s.theme_id FROM sessions s JOIN themes t ON t.id = s.theme_id
    WHERE t.name = ?1 AND s.name = ?2 AND injections.id = (
      SELECT min(id) FROM injections
      WHERE id > (SELECT max(id) FROM injections) - ?4 AND at = ?3 AND kind = ?5 AND session_id IS NULL
    )
"""


@dataclass(frozen=True, slots=True)
class ReadNote:
    at: int
    theme: str
    session: str | None
    kind: str
    """`status`, `search`, `reflect`, `recall` …"""
    why: str | None
    """The question, for a search; what a moment follows."""
    tokens: int
    fact_ids: tuple[int, ...]
    fact_uids: tuple[str, ...]
    reasons: GivenReasons | None = None


@dataclass(frozen=True, slots=True)
class FactReading:
    """One occasion on which a fact was returned."""

    at: Millis
    session: str | None
    """Who was told; None for a person."""
    kind: str
    """`status`, `search`, `reflect`, `recall` …"""
    why: str | None
    """The question, for a search."""
    title: str | None = None
    """The session's name for a person."""


class SessionFacts:
    """Keys of the facts that a session was given, of those that it used, and of those that its acts contradicted."""

    __slots__ = ("contradicted", "given", "used")

    def __init__(self, given: Iterable[int]) -> None:
        self.given = set(given)
        self.used: set[int] = set()
        self.contradicted: set[int] = set()


class ReadLog:
    """Collect notes and write them in batches."""

    def __init__(self, db: Db, names: Names, clock: Clock) -> None:
        self._db = db
        self._names = names
        self._clock = clock
        self._lock = threading.Lock()
        self._notes: list[ReadNote] = []
        self._uses: list[tuple[int, int]] = []
        """Keys of facts that were used, and when; not written yet."""
        self._contradictions: list[tuple[int]] = []
        self._given: OrderedDict[tuple[str, str], SessionFacts] = OrderedDict()
        self.on_enough: Callable[[], object] = lambda: self.flush(wait_s=0.0)
        """Called when there are enough notes to write. Whoever reads must never wait for a writer: what cannot be written
        now is written with the next batch. Who has a thread for writing writes them there."""

    def note(
        self,
        kind: str,
        theme: str | None,
        facts: Sequence[Fact],
        *,
        session: Session | None = None,
        why: str | None = None,
        tokens: int = 0,
        reasons: GivenReasons | None = None,
    ) -> Millis | None:
        """Note that these facts were returned; return when, None when there is nothing to note.

        Never raises because of the store.

        :param reasons: why each was chosen, where facts were valued
        """
        if self._db.read_only or not (facts or kind in FACTLESS_KINDS):
            return None
        ids, names = tuple(fact.id for fact in facts), tuple(fact.uid for fact in facts)
        name = session.name if session else None
        if session is not None and kind in GIVING_KINDS:
            self._facts_of(session).given.update(ids)
        elif session is not None:
            self.note_used(session, ids[:TOUCHED_HITS])
        note = ReadNote(
            self._clock(), theme or facts[0].theme, name, kind, why and why[:400], tokens, ids, names, reasons
        )
        with self._lock:
            self._notes.append(note)
            del self._notes[:-MAX_PENDING_NOTES]
            enough = len(self._notes) % NOTES_PER_WRITE == 0
        if enough:
            self.on_enough()
        return Millis(note.at)

    def given_keys(self, session: Session) -> set[int]:
        """Return the keys of the facts that a session was given without asking, as far as the newest notes show."""
        return self._facts_of(session).given

    def note_used(self, session: Session, keys: Iterable[int]) -> None:
        """Note that a session used these facts of those that it was given; each counts once in a session."""
        facts = self._facts_of(session)
        fresh = (facts.given & set(keys)) - facts.used
        if fresh and not self._db.read_only:
            now = self._clock()
            with self._lock:
                facts.used |= fresh
                self._uses += [(key, now) for key in fresh]
                del self._uses[:-MAX_PENDING_NOTES]

    def note_contradicted(self, session: Session, keys: Iterable[int]) -> None:
        """Note that acts of a session contradict these facts of those that it was given; each counts once in a session."""
        facts = self._facts_of(session)
        fresh = (facts.given & set(keys)) - facts.contradicted
        if fresh and not self._db.read_only:
            with self._lock:
                facts.contradicted |= fresh
                self._contradictions += [(key,) for key in fresh]
                del self._contradictions[:-MAX_PENDING_NOTES]

    def _facts_of(self, session: Session) -> SessionFacts:
        name = session.theme, session.name
        facts = self._given.get(name)
        if facts is not None:
            return facts
        try:
            rows = self._db.rows(GIVEN_BEFORE, (MAX_NOTES_SEARCHED, *name))
            given_uids = sorted({uids.parse_uid(uid) for (noted,) in rows for uid in json.loads(noted)})[:MOST_GIVEN]
            marks = ", ".join("?" * len(given_uids))
            keys = self._db.rows(KEYS_OF_UIDS.format(marks=marks), tuple(given_uids)) if given_uids else []
        except errors.FileError:
            keys = []  # what was given before is not known then; what is given from now on is
        with self._lock:
            facts = self._given.setdefault(name, SessionFacts(key for (key,) in keys))
            while len(self._given) > MOST_SESSIONS:
                self._given.popitem(last=False)
        return facts

    def assign_session(self, session: Session, kind: str, times: Sequence[int]) -> None:
        """Assign to a session the notes of a kind that were made at these times, before it was open."""
        self.flush()
        with self._db.write_transaction() as conn:
            conn.executemany(ASSIGN, [(session.theme, session.name, at, MAX_PENDING_NOTES, kind) for at in times])

    @property
    def pending_count(self) -> int:
        return len(self._notes) + len(self._contradictions)

    def flush(self, *, wait_s: float | None = None) -> bool:
        """Write the pending notes; return whether that was possible within `wait_s`.

        By default it waits as long as any write.
        """
        with self._lock:
            notes, self._notes = self._notes, []
            uses, self._uses = self._uses, []
            contradictions, self._contradictions = self._contradictions, []
        if not notes and not uses and not contradictions:
            return True
        try:
            self._write(notes, uses, contradictions, wait_s)
        except errors.FileError:
            with self._lock:
                self._contradictions = (contradictions + self._contradictions)[-MAX_PENDING_NOTES:]
                self._notes = (notes + self._notes)[-MAX_PENDING_NOTES:]
                self._uses = (uses + self._uses)[-MAX_PENDING_NOTES:]
            return False
        return True

    def readers(self, uid: str, most: int = 3) -> list[FactReading]:
        """Return who read a fact last, newest first, as far as the newest `MAX_NOTES_SEARCHED` notes show."""
        sql = """
            SELECT i.theme_id, i.at, s.name, i.kind, i.why FROM injections i LEFT JOIN sessions s ON s.id = i.session_id
            WHERE i.id > (SELECT coalesce(max(id), 0) FROM injections) - ? AND instr(i.facts, ?)
            ORDER BY i.id DESC LIMIT ?
        """
        return [
            FactReading(
                at, session, kind, question, None if session is None else self._names.session_title(theme_id, session)
            )
            for theme_id, at, session, kind, question in self._db.rows(sql, (MAX_NOTES_SEARCHED, uid, most))
        ]

    def _write(
        self,
        notes: list[ReadNote],
        uses: list[tuple[int, int]],
        contradictions: list[tuple[int]],
        wait_s: float | None,
    ) -> None:
        seen: dict[int, tuple[int, int]] = {}
        giving_counts: Counter[int] = Counter()
        for note in notes:
            for key in note.fact_ids:
                seen[key] = (seen.get(key, (0, 0))[0] + 1, note.at)
            if note.kind in GIVING_KINDS and (note.session is not None or note.kind == "instructions"):
                giving_counts.update(note.fact_ids)
        with self._db.write_transaction(wait_s=wait_s) as conn:
            conn.executemany(
                "INSERT INTO reads SELECT id, ?2, ?3 FROM facts WHERE id = ?1"
                " ON CONFLICT DO UPDATE SET times = times + excluded.times, last_at = max(last_at, excluded.last_at)",
                [(key, times, at) for key, (times, at) in seen.items()],
            )
            conn.executemany(COUNT_GIVEN, giving_counts.items())
            conn.executemany(COUNT_USED, uses)
            conn.executemany(COUNT_CONTRADICTED, contradictions)
            for note in notes:
                theme_id = self._names.theme_or_none(note.theme)
                if theme_id is None:
                    continue
                question = note.why and to_masked_name(note.why)
                purged = f"SELECT 1 FROM tombstones WHERE uid IN ({', '.join('?' * len(note.fact_uids))})"
                if question and conn.execute(purged, [uids.parse_uid(uid) for uid in note.fact_uids]).fetchone():
                    question = None  # a fact that it found was purged since: the question goes with it
                conn.execute(
                    "INSERT INTO injections (at, theme_id, session_id, kind, why, tokens, facts, reasons) VALUES (?1, ?2,"
                    " (SELECT id FROM sessions WHERE theme_id = ?2 AND name = ?3), ?4, ?5, ?6, ?7, ?8)",
                    (
                        note.at,
                        theme_id,
                        note.session,
                        note.kind,
                        question,
                        note.tokens,
                        json.dumps(note.fact_uids),
                        note.reasons and note.reasons.to_json(),
                    ),
                )
