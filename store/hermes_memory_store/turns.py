"""Turns: what was said, word for word, so that it can be found again when a context has been compressed away.

Turns are kept as they were; nothing supersedes one. They are found by the same words as facts (see `words.py`) and ranked as
the answers to a question are (see `ranking.py`), newest first where words tell alike. The journal records that a turn was
captured and what it digests to, never what it says.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hermes_memory_store import errors, text, uids
from hermes_memory_store.asked import EXACT, Asked, Word, accept_other_particles, asked
from hermes_memory_store.chunking import in_chunks
from hermes_memory_store.clock import Clock
from hermes_memory_store.db import Db
from hermes_memory_store.erasing import ItemEraser, delete_items
from hermes_memory_store.items import TURN
from hermes_memory_store.journal import Entry, Journal
from hermes_memory_store.model import PERSON, Actor, Millis, Session, Tier, Turn, TurnHit, Uid
from hermes_memory_store.names import Names
from hermes_memory_store.query import parse_query
from hermes_memory_store.ranking import NEAR, Candidate, rank_question, rarity_of, spread, terms_of
from hermes_memory_store.scanning import scan_turns
from hermes_memory_store.schema import THEME_SHIFT
from hermes_memory_store.text_indexes import (
    TURNS,
    again_without_index,
    damaged_indexes,
    is_usable,
    note_of,
    note_trouble,
)
from hermes_memory_store.turn_rows import SaidTurn, checked_turn, insert_turn, last_turn_key

POSTINGS = 300
"""The newest turns with one word that are looked at."""

RANKED = 80
"""Turns that are read and ranked."""

READ = 4_000
"""Characters of a turn that ranking takes apart."""

SPEAKER = re.compile(r"([^\W\d_][\w'’.-]*(?: [^\W\d_][\w'’.-]*)?): ")
"""Who speaks, as hosts write it before what several people say: one or two words and a colon."""

ENDS_ASKING = re.compile(r"[?？؟][\s\"'”’)»*_]*\Z")
"""A question at the very end; one in the middle was often answered by who asked it."""

MAX_LIMIT = 1_000


KNOWN = """
    SELECT uid FROM turns WHERE theme_id = ?1 AND uid IN ({marks})
    UNION SELECT uid FROM sync_turns WHERE theme_id = ?1 AND uid IN ({marks}) AND (refused IS NULL OR NOT {again})
"""

OLDER = "SELECT id, uid, content FROM turns WHERE theme_id = ?1 AND (?2 = 0 OR at <= ?3 - ?2)"
"""Without an age all of them, also those of a machine whose clock is ahead."""

TELL_TEAM = """
    UPDATE sync_turns SET erased = 1, sent = 0, refused = NULL
    WHERE theme_id = ? AND uid = ? AND erased = 0 AND (node IS NULL OR ?)
"""

TO_SCRUB = """
    INSERT OR REPLACE INTO turns_to_scrub
    SELECT ?1, EXISTS (SELECT 1 FROM sync_turns WHERE theme_id = ?2 AND uid = ?1 AND erased = 1)
"""

HITS = "SELECT rowid FROM turns_text WHERE turns_text MATCH ? AND rowid BETWEEN ? AND ? ORDER BY rowid DESC LIMIT ?"

ROWS = (
    "SELECT t.id, t.uid, h.name, n.name, t.role, t.content, t.at, t.session_id FROM turns t JOIN themes h ON h.id = t.theme_id"
    " LEFT JOIN sessions n ON n.id = t.session_id"
)


class Turns:
    """Captures turns and finds them."""

    def __init__(self, db: Db, names: Names, journal: Journal, clock: Clock, eraser: ItemEraser) -> None:
        self._db = db
        self._names = names
        self._journal = journal
        self._clock = clock
        self._eraser = eraser
        self.stands_for: int | None = None
        """How many turns there are, where these are only those of somebody else's that may answer."""

    @again_without_index
    def add(
        self, theme: str, role: str, content: str, *, session: Session | None = None, at: int | None = None
    ) -> Turn:
        """Capture one message.

        :param role: user, assistant, system or tool
        :param content: at most `turn_rows.MAX_TURN` characters; line breaks are kept
        :param at: when it was said, UTC milliseconds; now unless given
        :raises InputError: ArgumentError, UnsafeText; nothing was captured then
        """
        who = Actor("session", session.name) if session else PERSON
        said = checked_turn(SaidTurn(b"", None, role, content, 0))
        with self._db.writing() as conn:
            now = self._journal.now(conn)
            said = replace(said, uid=uids.new_uid(now), at=at or now)
            theme_id = self._names.theme_for_writing(conn, theme, now)
            uid = uids.to_bytes(session.uid) if session else None
            known = conn.execute("SELECT id FROM sessions WHERE uid = ?", (uid,)).fetchone()
            key = last_turn_key(conn, theme_id) + 1
            entry = insert_turn(conn, key, theme_id, said.uid, said, known[0] if known else None)
            self._journal.append(conn, [entry], actor=who, at=now)
        return Turn(uids.to_text(said.uid), theme, session.name if session else None, role, content, Millis(said.at))

    def search(
        self,
        theme: str | None,
        query: str,
        *,
        limit: int = 5,
        session: str | None = None,
        roles: Sequence[str] = (),
    ) -> list[TurnHit]:
        """The turns that share words with a query, best first.

        :param theme: whose turns; None for all
        :param session: only those of this session, by its name
        :raises ArgumentError: for another limit
        """
        if not 1 <= limit <= MAX_LIMIT:
            raise errors.ArgumentError(f"limit must be from 1 to {MAX_LIMIT:,}, not {limit}", limit)
        return [*self._ranked(theme, query, limit, session, roles)]

    def note(self) -> str | None:
        """What should be said beside what `search` finds: that the index of turns is damaged; None when it is not."""
        return None if is_usable(self._db.conn, TURNS) else note_of(TURNS)

    def fetched(
        self, theme: str, keys: Sequence[int], *, session: str | None = None, roles: Sequence[str] = ()
    ) -> dict[int, Turn]:
        """Those of these turns that are a theme's, by key. :param session: only those of this session, by its name"""
        low, high = self._range(theme)
        return {
            row[0]: turn_of(row)
            for row in self._rows([key for key in keys if low <= key <= high])
            if (session is None or row[3] == session) and (not roles or row[4] in roles)
        }

    def known(self, theme: str, wanted: Collection[str]) -> set[Uid]:
        """Those of these turns that are here, or were erased here. :param wanted: uids"""
        theme_id = self._names.theme_or_none(theme)
        with self._db.snapshot() as conn:
            return {uids.to_text(uid) for uid in known_turns(conn, theme_id, [uids.to_bytes(uid) for uid in wanted])}

    def list(self, theme: str, *, session: str | None = None, before: int | None = None, limit: int = 50) -> list[Turn]:
        """Turns of a theme, newest first. :param before: only those said earlier, UTC milliseconds"""
        theme_id = self._names.theme_or_none(theme)
        sql = (
            f"{ROWS} WHERE t.theme_id = ?1 AND (?2 IS NULL OR t.at < ?2) AND (?3 IS NULL OR n.name = ?3)"
            " ORDER BY t.at DESC, t.id DESC LIMIT ?4"
        )
        return [turn_of(row) for row in self._db.rows(sql, (theme_id, before, session, limit))]

    def count(self, theme: str, *, older_than_ms: int = 0) -> int:
        """How many turns of a theme there are, said at least so long ago."""
        sql = f"SELECT count(*) FROM ({OLDER})"
        theme_id, now = self._names.theme_or_none(theme), self._journal.present()
        return int(self._db.value(sql, (theme_id, older_than_ms, now)))

    def purge(self, theme: str, *, older_than_ms: int = 0, actor: Actor = PERSON) -> int:
        """Erase turns for good, as `erase` does; how many there were."""
        return self.erase(theme, older_than_ms=older_than_ms, actor=actor)[0]

    @again_without_index
    def erase(
        self, theme: str, *, older_than_ms: int = 0, actor: Actor = PERSON, everywhere: bool = True
    ) -> tuple[int, tuple[str, ...]]:
        """Erase turns for good, from the index and the backups too: how many there were, and the backups that still hold them
        because they could not be reached.

        :param everywhere: whether what came from the team is erased for all of it; what was captured here always is
        """
        with self._db.writing() as conn:
            theme_id = self._names.theme(theme)
            now = self._journal.now(conn)
            rows = conn.execute(OLDER, (theme_id, older_than_ms, now)).fetchall()
            conn.executemany(TELL_TEAM, [(theme_id, uid, everywhere) for _, uid, _ in rows])
            self.erase_within(conn, theme_id, rows, actor, now)
        return len(rows), self.scrub()

    def erase_within(
        self, conn: sqlite3.Connection, theme_id: int, rows: Sequence[tuple[int, bytes, str]], actor: Actor, now: int
    ) -> None:
        """Erase turns inside a running transaction; `scrub` has to follow it. :param rows: their keys, uids and contents"""
        if not rows:
            return
        delete_items(conn, TURN, [(key, content) for key, _, content in rows])
        conn.executemany(TO_SCRUB, [(uid, theme_id) for _, uid, _ in rows])
        entry = Entry("purge", "turn", uids.new_uid(now), theme_id, None, {"turns": len(rows)})
        self._journal.append(conn, [entry], actor=actor, at=now)

    def scrub(self) -> tuple[str, ...]:
        """Erase what was erased from the index's old pages and from what lies beside the store, too, whoever was cut off while he
        did; the backups that still hold it because they could not be reached."""
        wanted = dict(self._db.rows("SELECT uid, told FROM turns_to_scrub"))
        if not wanted:
            return ()
        unreached = self._eraser.scrub_items(TURN, wanted, {uid for uid, told in wanted.items() if told})
        if is_usable(self._db.conn, TURNS):
            with self._db.writing() as conn:
                conn.executemany("DELETE FROM turns_to_scrub WHERE uid = ?", [(uid,) for uid in wanted])
        return unreached

    def _ranked(
        self, theme: str | None, query: str, limit: int, session: str | None, roles: Sequence[str]
    ) -> Sequence[TurnHit]:
        taken = parse_query(plain(query), theme=theme, now=self._clock())
        look = asked(taken.words, taken.phrases, taken.excluded)
        low, high = self._range(theme)
        total = self.stands_for or max(1, high - low)
        rarities, scores = self._scored(look, low, high, total)
        most = max(RANKED, limit)
        if look.question and not look.phrases and not look.excluded:
            order = with_neighbours(scores, most, low, high)
        else:
            order = spread(scores)  # a look-up finds what has its words, and nothing else
        found = self._best(order, most, session, roles)
        if not found:
            return []
        candidates = [
            Candidate(
                key,
                session_id or 0,
                "",
                row[5][:READ],
                Tier.HOT.value,
                row[6],
                row[6],
                speaker=speaker_of(row[5]),
                asks=ENDS_ASKING.search(row[5]) is not None,
            )
            for key, (row, session_id) in found.items()
        ]
        for word in look.words:
            if word.is_character:
                read = (term for one in candidates for term in terms_of(one.content))
                word.terms |= dict.fromkeys((term for term in read if term[0] == word.text), EXACT)
        ranked = rank_question(candidates, look, rarities, " ".join(taken.words))
        share = max(scores.get(one.id, 0.0) for one in ranked) / (sum(rarities) or 1.0)
        best = max(ranked[0].score, 1e-9)
        return [
            TurnHit(turn_of(found[one.id][0]), round(max(0.0, share * one.score / best), 4), one.id)
            for one in ranked[:limit]
        ]

    def _scored(self, look: Asked, low: int, high: int, total: int) -> tuple[Sequence[float], dict[int, float]]:
        """How much each word tells, and what the words of each turn tell together; found by
        reading the turns where the index is damaged."""
        if is_usable(self._db.conn, TURNS):
            try:
                return self._scored_by_index(look, low, high, total)
            except (errors.FileError, sqlite3.Error) as error:
                if TURNS not in damaged_indexes(self._db.conn, error):
                    raise
                note_trouble(self._db.conn, TURNS, error)
        hits = scan_turns(self._db, look, low, high)
        rarities = [rarity_of(len(keys), total) for keys in hits]
        scores: dict[int, float] = {}
        for keys, rarity in zip(hits, rarities, strict=True):
            for key in keys[:POSTINGS]:
                scores[key] = scores.get(key, 0.0) + rarity
        return rarities, scores

    def _scored_by_index(
        self, look: Asked, low: int, high: int, total: int
    ) -> tuple[Sequence[float], dict[int, float]]:
        rarities: list[float] = []
        scores: dict[int, float] = {}
        hits = [self._hits(look, word, low, high) for word in look.words]
        if phrases := look.required([]):
            hits.append(self._db.rows(HITS, (look.without_excluded(phrases), low, high, POSTINGS)))
        for rows in hits:
            often = len(rows) if len(rows) < POSTINGS else max(POSTINGS, total * POSTINGS // (high - rows[-1][0] + 1))
            rarities.append(rarity_of(often, total))
            for (key,) in rows:
                scores[key] = scores.get(key, 0.0) + rarities[-1]
        return rarities, scores

    def _hits(self, look: Asked, word: Word, low: int, high: int) -> Sequence[tuple[int]]:
        """Keys of the newest turns of a range that have one word."""
        expression = f'"{word.text}" *' if word.is_character else word.expression()
        rows = self._db.rows(HITS, (look.without_excluded(expression), low, high, POSTINGS))
        if not rows and look.question and accept_other_particles(word):
            rows = self._db.rows(HITS, (look.without_excluded(word.expression()), low, high, POSTINGS))
        return rows

    def _best(
        self, scores: Mapping[int, float], most: int, session: str | None, roles: Sequence[str]
    ) -> dict[int, tuple[tuple[Any, ...], int | None]]:
        """Rows of the best turns that pass, each with the key of its session."""
        order = sorted(scores, key=lambda key: (-scores[key], -key))
        found: dict[int, tuple[tuple[Any, ...], int | None]] = {}
        for some in in_chunks(order, most):
            for *row, session_id in self._rows(some):
                if (session is None or row[3] == session) and (not roles or row[4] in roles):
                    found[row[0]] = (tuple(row), session_id)
            if len(found) >= most:
                break
        return found

    def _rows(self, keys: Sequence[int]) -> Sequence[tuple[Any, ...]]:
        return self._db.rows(f"{ROWS} WHERE t.id IN (SELECT value FROM json_each(?))", (json.dumps(list(keys)),))

    def _range(self, theme: str | None) -> tuple[int, int]:
        if theme is None:
            return 0, int(self._db.value("SELECT max(id) FROM turns") or 0)
        theme_id = self._names.theme_or_none(theme) or 0
        low = theme_id << THEME_SHIFT
        high = self._db.value(
            "SELECT max(id) FROM turns WHERE id BETWEEN ? AND ?", (low, low | ((1 << THEME_SHIFT) - 1))
        )
        return low, int(high or low)


def with_neighbours(scores: Mapping[int, float], most: int, low: int, high: int) -> dict[int, float]:
    """The best of these and what stands beside them, which need not share a word: an answer follows its question."""
    spreading = spread(scores)
    best = sorted(spreading, key=lambda key: (-spreading[key], -key))[:most]
    beside = {key + step for key in best for step in (*NEAR, *(-distance for distance in NEAR))}
    return spread({key: scores.get(key, 0.0) for key in {*best, *beside} if low <= key <= high})


def speaker_of(content: str) -> str:
    """Who says a line that begins with a name and a colon; empty for any other."""
    found = SPEAKER.match(content)
    return found[1] if found else ""


def plain(query: str) -> str:
    """A query for what was said has words only: the filters of facts mean nothing there."""
    return text.printable(query[:4_000]).replace(":", " ")


def turn_of(row: tuple[Any, ...]) -> Turn:
    """A row of `ROWS` as data."""
    _, uid, theme, session, role, content, at = row[:7]
    return Turn(uids.to_text(uid), theme, session, role, content, Millis(at))


def known_turns(
    conn: sqlite3.Connection, theme_id: int | None, wanted: Sequence[bytes], *, again: bool = False
) -> set[bytes]:
    """Those of these turns of a theme that are here or were: one that was known and is not here any more was erased here.

    :param again: without those of the team that were left out
    """
    known: set[bytes] = set()
    for some in in_chunks(wanted):
        sql = KNOWN.format(marks=", ".join(f"?{n}" for n in range(2, len(some) + 2)), again=int(again))
        known.update(uid for (uid,) in conn.execute(sql, (theme_id, *some)))
    return known
