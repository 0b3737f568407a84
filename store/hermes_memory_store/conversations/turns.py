"""Captured turns: messages word for word, so that they can be found after a context has been compressed.

The journal records that a turn was captured and its digest, never its text.
"""

from __future__ import annotations

import builtins
import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from hermes_memory_store import errors, safe_text, uids
from hermes_memory_store.chunking import in_chunks
from hermes_memory_store.clock import Clock, format_iso_time
from hermes_memory_store.context.hot_context import describe_sessions
from hermes_memory_store.conversations.turn_rows import (
    IN_ORDER,
    ROWS,
    PortableTurn,
    admit_turn,
    insert_turn,
    insert_turns,
    is_for_agents,
    last_turn_key,
    to_turn,
    validate_turn,
)
from hermes_memory_store.database.db import Db
from hermes_memory_store.database.index_health import (
    SQLITE_FAILURES,
    TURNS,
    index_note,
    is_index_usable,
    note_index_trouble,
    retry_without_index,
)
from hermes_memory_store.database.schema import THEME_SHIFT
from hermes_memory_store.find.query_syntax import parse_query, split_host_filter
from hermes_memory_store.find.query_terms import (
    EXACT,
    QueryTerm,
    QueryTerms,
    add_synonyms,
    add_word_forms,
    allow_particle_variants,
    settle_near_terms,
    to_query_terms,
)
from hermes_memory_store.find.ranking import (
    ENOUGH,
    LIKELY,
    NEIGHBOUR_SHARE,
    RARER,
    Candidate,
    TermPostings,
    add_near_postings,
    add_session_scores,
    best_keys,
    inverse_document_frequency,
    rank_question,
    spread_scores,
    sum_scores,
    text_terms,
)
from hermes_memory_store.find.search import MAX_LIMIT, NEAR_POSTINGS, POSTINGS, RANKED
from hermes_memory_store.find.text_scan import scan_turns
from hermes_memory_store.find.turn_sentences import MOST_CHARS, SPEAKER
from hermes_memory_store.find.vocabulary import Vocabulary
from hermes_memory_store.intake.intake import AdmittedTurn, Intake
from hermes_memory_store.items import action_rows
from hermes_memory_store.items.journal import OF_HISTORY, Journal, JournalEntry, redact_journal
from hermes_memory_store.items.kinds import TURN, TurnRow
from hermes_memory_store.items.name_keys import Names, to_theme_name
from hermes_memory_store.items.tier_columns import IS_PROPOSED
from hermes_memory_store.language.stop_words import QUESTION_MARKS
from hermes_memory_store.memory.fact_lookup import MIN_DIGITS
from hermes_memory_store.model import PERSON, Actor, Millis, Origin, Session, Tier, Turn, TurnHit, Uid
from hermes_memory_store.uids import Uids
from hermes_memory_store.upkeep.item_erasure import ItemEraser, delete_items
from hermes_memory_store.upkeep.waiting_erasure import erase_messages_from_waiting
from hermes_memory_themes import ThemeName

if TYPE_CHECKING:
    from hermes_memory_store.upkeep.purge import Purge

AFTER_QUESTION = " \t\n\"'”’)»*_"
"""What may follow the mark of a question at the very end; one in the middle was often answered by who asked it."""

KNOWN = """
    SELECT uid FROM turns WHERE theme_id = ?1 AND uid IN ({marks})
    UNION SELECT uid FROM sync_turns WHERE theme_id = ?1 AND uid IN ({marks}) AND (refused IS NULL OR NOT {again})
"""

TURNS_OLDER_THAN = "SELECT id, uid, content FROM turns WHERE theme_id = ?1 AND (?2 = 0 OR at <= ?3 - ?2)"
"""Without an age all of them, also those of a machine whose clock is ahead."""

BROUGHT_BY = {
    "": TURNS_OLDER_THAN,
    "hooks": f"{TURNS_OLDER_THAN} AND uid IN (SELECT turn_uid FROM host_turns WHERE turn_uid IS NOT NULL)"
    f" AND (origin_id IS NULL OR NOT {OF_HISTORY})",
    "heard": f"{TURNS_OLDER_THAN} AND (origin_id IS NULL OR NOT {OF_HISTORY})",
    "history": f"SELECT id, uid, content FROM turns t WHERE theme_id = ?1 AND {OF_HISTORY}"
    " AND (SELECT min(at) FROM journal j WHERE j.uid = t.uid) <= ?3 - ?2",
}
"""Turns that are older: all, what hooks of hosts brought, what was captured as it was said, and what was read from the disk, by
the age of the reading."""

MARK_ERASED_FOR_TEAM = """
    UPDATE sync_turns SET erased = 1, sent = 0, refused = NULL
    WHERE theme_id = ? AND uid = ? AND erased = 0 AND (node IS NULL OR ?)
"""

TO_SCRUB = """
    INSERT OR REPLACE INTO turns_to_scrub
    SELECT ?1, EXISTS (SELECT 1 FROM sync_turns WHERE theme_id = ?2 AND uid = ?1 AND erased = 1)
"""

BROUGHT_BY_RUNS = f"""
    SELECT t.theme_id, t.id, t.uid, t.content, t.session_id, json_extract(j.after, '$.run') run, j.at kept_at
    FROM turns t JOIN journal j ON j.uid = t.uid AND j.op = 'capture'
    WHERE t.{OF_HISTORY} AND run IS NOT NULL
"""

COUNTS_OF_RUN = f"""
    SELECT sum(is_turn), count(DISTINCT session_id), sum(NOT is_turn), min(kept_at) FROM (
      SELECT run, session_id, 1 is_turn, kept_at FROM ({BROUGHT_BY_RUNS})
      UNION ALL SELECT run, session_id, 0, kept_at FROM actions WHERE what IS NOT NULL
    ) WHERE run = ?
"""

FORGET_READ = "DELETE FROM host_turns WHERE turn_uid = ?"

HITS = (
    "SELECT rowid FROM turns_text WHERE turns_text MATCH ?1 AND rowid BETWEEN ?2 AND ?3{} ORDER BY rowid DESC LIMIT ?4"
)

STRETCHES = """
    SELECT value, (SELECT min(id) FROM turns WHERE session_id = value), (SELECT max(id) FROM turns WHERE session_id = value)
    FROM json_each(?)
"""
"""The first and the last turn of sessions; few turns of another stand between them."""

OF_ORIGINS = " AND EXISTS (SELECT 1 FROM turns t WHERE t.id = turns_text.rowid AND t.origin_id IN ({}))"


MAX_NAMED = 20
"""Turns that one fact may be said to come from."""

PROPOSED_FROM = f"""
    SELECT uid FROM facts INDEXED BY facts_by_creation
    WHERE theme_id = ? AND {IS_PROPOSED} AND origin_detail ->> '$.turns[0]' IN (SELECT value FROM json_each(?))
"""

UIDS_OF_SESSION = "SELECT uid FROM turns WHERE session_id = (SELECT id FROM sessions WHERE uid = ?) ORDER BY id"

NAMED_BY_FACTS = """
    SELECT f.target, f.origin_detail, o.session FROM facts f LEFT JOIN origins o ON o.id = f.origin_id
    WHERE f.theme_id = ? AND f.tier NOT IN ('withdrawn', 'quarantined') AND f.origin_detail LIKE '%"turns"%'
"""


class Turns:
    """Capture turns and find them."""

    def __init__(
        self,
        db: Db,
        names: Names,
        journal: Journal,
        clock: Clock,
        eraser: ItemEraser,
        intake: Intake,
        theme_of_folder: Callable[[str], str | None],
        purge: Callable[[], Purge],
    ) -> None:
        """:param theme_of_folder: returns the theme of a folder; None for one that is still to be made
        :param purge: loads what erases proposals of erased turns
        """
        self._purge = purge
        self._erased_proposals: builtins.list[bytes] = []
        self._theme_of_folder = theme_of_folder
        self._intake = intake
        self._db = db
        self._names = names
        self._journal = journal
        self._clock = clock
        self._eraser = eraser
        self.stands_for: int | None = None
        """How many turns there are, where these are only those of somebody else's that may answer."""

    @retry_without_index
    def add(
        self,
        theme: str,
        role: str,
        content: str,
        *,
        session: Session | None = None,
        at: int | None = None,
        origin: Origin | None = None,
    ) -> Turn:
        """Capture one message.

        >>> store.turns.add("ops", "user", "Which port does the database use?").role
        'user'
        >>> [hit.turn.content for hit in store.turns.search("ops", "database port")]
        ['Which port does the database use?']

        :param role: user, assistant, system or tool
        :param content: at most `MAX_TURN` characters; line breaks are kept, U+0000 is dropped
        :param at: when it was said, UTC milliseconds; now unless given
        :param origin: where it comes from, completed by what the session adds; the one the capture is attributed to
            unless given
        :raises ThemeInvalid: ArgumentError, UnsafeText, SecretRefused; nothing was captured then
        """
        theme_name, actor = to_theme_name(theme), Actor("session", session.name) if session else PERSON
        content = content.replace("\0", "")  # SQLite's functions see nothing of what follows one
        turn = validate_turn(PortableTurn(b"", None, role, content, 0))
        with self._intake.hold_secrets():
            admitted = self._intake.admit_turn(theme_name, content)
            return self._insert(theme_name, turn, admitted, session, actor, at, origin)

    def _insert(
        self,
        theme: ThemeName,
        turn: PortableTurn,
        admitted: AdmittedTurn,
        session: Session | None,
        actor: Actor,
        at: int | None,
        origin: Origin | None,
    ) -> Turn:
        with self._db.write_transaction() as conn:
            now = self._journal.now(conn)
            source = self._names.origins.complete(origin, session)
            turn = replace(turn, uid=uids.new_uid(now), at=at or now)
            theme_id = self._names.theme_for_writing(conn, theme, now)
            uid = uids.parse_uid(session.uid) if session else None
            row = conn.execute("SELECT id FROM sessions WHERE uid = ?", (uid,)).fetchone()
            key = last_turn_key(conn, theme_id) + 1
            entry = insert_turn(
                conn, self._names.origins, key, theme_id, turn.uid, turn, admitted, row[0] if row else None, source
            )
            self._journal.append(conn, [entry], actor=actor, at=now, origin=source)
        name, captured_at = session.name if session else None, Millis(turn.at)
        title = session.title if session else None
        return Turn(
            uids.format_uid(turn.uid),
            theme,
            name,
            turn.role,
            admitted.content,
            captured_at,
            source,
            title=title,
            **admitted.attributes,
        )

    def find_journaled(self, turn_uids: Sequence[bytes]) -> set[bytes]:
        """Return which of these turns were ever captured here, erased ones included."""
        found: set[bytes] = set()
        for some in in_chunks(turn_uids):
            sql = f"SELECT uid FROM journal WHERE uid IN ({', '.join('?' * len(some))})"
            found.update(uid for (uid,) in self._db.rows(sql, some))
        return found

    def find_erasure(self, session: str) -> int:
        """Return when the newest of a session's erased turns was captured, backfills' left aside; 0 where there is none."""
        sql = f"SELECT max(at) FROM journal WHERE op = 'capture' AND after IS NULL AND (origin_id IS NULL OR NOT {OF_HISTORY})"
        of_session = "actor_id IN (SELECT id FROM actors WHERE kind = 'session' AND name = ?)"
        return int(self._db.value(f"{sql} AND {of_session}", (session,)) or 0)

    def find_taken_back(self) -> set[bytes]:
        """Return the turns that `take_back` erased last, and that were not brought again since."""
        found: set[bytes] = set()
        sql = "SELECT after FROM journal WHERE entity = 'turn' AND op = 'purge' AND after IS NOT NULL ORDER BY seq"
        for (text,) in self._db.rows(sql):
            words = json.loads(text)
            (found.update if "run" in words else found.difference_update)(map(uids.parse_uid, words["uids"]))
        return found.difference(uid for (uid,) in self._db.rows(f"SELECT uid FROM turns WHERE {OF_HISTORY}"))

    @retry_without_index
    def bring(
        self, theme: str, turns: Sequence[PortableTurn], *, session: Session, origin: Origin, run: int, actor: Actor
    ) -> int:
        """Capture what was said in a session before, under the uids given, in one change; return how many it takes.

        A turn that the theme does not take is left out. None of them is here, or was, unless it was taken back.

        :param run: the number by which `take_back` knows all that was brought with these
        :raises FileError: one holds a secret that could not be kept; nothing was captured then
        """
        theme_name, admitted = to_theme_name(theme), []
        with self._intake.hold_secrets(), self._intake.gather_secrets():
            for turn in turns:
                try:
                    valid = validate_turn(replace(turn, content=turn.content.replace("\0", "")))
                    admitted.append((turn.uid, valid, admit_turn(self._intake, theme_name, valid)))
                except errors.InputError:
                    continue
            with self._db.write_transaction() as conn:
                now = self._journal.now(conn)
                theme_id = self._names.theme_for_writing(conn, theme_name, now)
                named = [(uid, replace(turn, session=session.name), text) for uid, turn, text in admitted]
                entries = insert_turns(conn, self._names.origins, theme_id, named, now, origin)
                entries = [replace(entry, after={**(entry.after or {}), "run": run}) for entry in entries]
                if entries:
                    self._journal.append(conn, entries, actor=actor, at=now, origin=origin)
        return len(admitted)

    def find_newest_run(self, where: str = "") -> tuple[int, int] | None:
        """Return the number of the newest run of which turns are left, and its last row. :param where: AND …, of its rows"""
        sql = f"SELECT json_extract(after, '$.run') run, seq FROM journal WHERE op = 'capture' AND {OF_HISTORY}{where}"
        newest = self._db.row(f"{sql} AND run > 0 AND uid IN (SELECT uid FROM turns) ORDER BY seq DESC LIMIT 1")
        of_actions = (
            None if where else self._db.value(f"SELECT max(run) FROM actions WHERE uid IN ({action_rows.OF_RUNS})")
        )
        return (of_actions, 0) if of_actions is not None and (newest is None or of_actions > newest[0]) else newest

    def find_next_run(self) -> int:
        """Return the number of the run that begins now."""
        return 1 + max(self._journal.last_seq(), int(self._db.value("SELECT max(run) FROM actions") or 0))

    def describe_run(self, run: int) -> str:
        """Say what a run brought that is left, and when it began."""
        messages, sessions, actions, at = self._db.rows(COUNTS_OF_RUN, (run,))[0]
        what = safe_text.pluralise(messages, "message") + (
            f" and {safe_text.pluralise(actions, 'action')}" if actions else ""
        )
        return f"{what} of {safe_text.pluralise(sessions, 'session')} that the backfill of {format_iso_time(at)} brought in"

    @retry_without_index
    def take_back(self, run: int) -> tuple[int, tuple[str, ...]]:
        """Erase what one run of `bring` brought, in all themes; return as `erase` does. It may be brought again."""
        with self._db.write_transaction() as conn:
            themes: dict[int, builtins.list[tuple[int, bytes, str]]] = {}
            for theme_id, *row, _session, _run, _at in conn.execute(f"{BROUGHT_BY_RUNS} AND run = ?", (run,)):
                themes.setdefault(theme_id, []).append((row[0], row[1], row[2]))
            for theme_id, rows in themes.items():
                conn.executemany(FORGET_READ, [(uid,) for _, uid, _ in rows])
                self.erase_within(conn, theme_id, rows, PERSON, self._journal.now(conn), everywhere=True, run=run)
            rows_of_run = conn.execute(f"{action_rows.OF_RUNS} AND run = ?", (run,))
            erased = action_rows.erase_actions(conn, rows_of_run, again=True)
        return erased + sum(map(len, themes.values())), self.scrub()

    def find_named(self, session: Session, names: Sequence[str], *, in_theme: bool = False) -> tuple[Uid, ...]:
        """Return the uids of turns by names, oldest first: a session's own, else those of its theme that agents are given.

        :param names: whole uids, or unique beginnings or ends of at least six digits; hyphens and case do not count
        :param in_theme: without it, turns of other sessions are reported as nonexistent
        :raises ArgumentError: a name belongs to none or to several, or there are more than `MAX_NAMED`
        """
        if len(names) > MAX_NAMED:
            raise errors.ArgumentError(f"a fact names at most {MAX_NAMED} turns, not {len(names)}", len(names))
        rows = self._db.rows(UIDS_OF_SESSION, (uids.parse_uid(session.uid),))
        own = uids.to_texts([uid for (uid,) in rows])
        others = cache(partial(self.list_in_order, session.theme)) if in_theme else tuple[Uid]
        named = {find_only_turn(name, own, others) for name in names}
        return tuple(turn.uid for turn in sorted(self.by_uids([*named]), key=lambda turn: (turn.at, turn.uid)))

    def list_in_order(self, theme: str) -> dict[Uid, str | None]:
        """Return the uids of all turns of a theme that agents are given, those said first first, each with its session."""
        rows = self._db.rows(IN_ORDER, (self._names.theme_or_none(theme),))
        return {uids.format_uid(uid): session for uid, session, *turn in rows if is_for_agents(*turn)}

    def find_newest_source(self, theme: str, target: str, order: Mapping[Uid, str | None]) -> Uid | None:
        """Return the last turn of an order that a fact of a target names as its source, else one of another session."""
        rows = self._db.rows(NAMED_BY_FACTS, (self._names.theme_or_none(theme),))
        of_target = [row for row in rows if row[0] == target]
        pairs = [(uid, session) for _, detail, session in of_target or rows for uid in json.loads(detail)["turns"]]
        sources = {uid for uid, session in pairs if of_target or order.get(uid) != session}
        return next((uid for uid in reversed([*order]) if uid in sources), None)

    def search(
        self,
        theme: str | None,
        query: str,
        *,
        limit: int = 5,
        session: str | None = None,
        roles: Sequence[str] = (),
        for_agents: bool = False,
    ) -> list[TurnHit]:
        """Find the turns that share words with a query, best first.

        :param theme: whose turns; None for all
        :param session: only those of this session, by its name
        :param for_agents: leave out what is suspicious, and kept for the person alone
        :raises ArgumentError: for another limit
        """
        if not 1 <= limit <= MAX_LIMIT:
            raise errors.ArgumentError(f"limit must be from 1 to {MAX_LIMIT:,}, not {limit}", limit)
        with self._db.snapshot():
            ranked, matched = self.rank(
                theme, query, most=max(RANKED, limit), best=limit, session=session, roles=roles, for_agents=for_agents
            )
            turns = self.load(ranked)
        best = max([1e-9, *(candidate.score for candidate in ranked[:1])])
        return [
            TurnHit(turn, round(max(0.0, matched * candidate.score / best), 4), candidate.id)
            for turn, candidate in zip(turns, ranked, strict=True)
        ]

    def describe_sessions(self, theme: str, session: str | None = None) -> str | None:
        """Return a line on the sessions that were captured in a theme, for a start; None where there are few.

        >>> for topic in ("cache", "queue", "tables"):
        ...     session = store.sessions.open("ledger", topic)
        ...     turn = store.turns.add("ledger", "user", f"Move the {topic}, please.", session=session)
        >>> store.turns.describe_sessions("ledger").partition("; ")[2]
        'last (today): Move the tables, please.)'

        :param session: the name of the one that starts
        """
        return describe_sessions(self._db.kept_rows(), self._names.theme_or_none(theme), self._clock(), session)

    def note(self) -> str | None:
        """Return the note to show beside search results when the index of turns is damaged, else None."""
        return None if is_index_usable(self._db.conn, TURNS) else index_note(TURNS)

    def by_keys(self, theme: str, keys: Sequence[int], *, session: str | None, for_agents: bool) -> list[Candidate]:
        """Return those of these turns that belong to a theme; the parameters are those of `search`."""
        is_wanted = to_turn_filter(session, (), for_agents)
        low, high = self._range(theme)
        rows = self._rows([key for key in keys if low <= key <= high])
        return [Candidate(row.id, 0, "", "", "", row.at, row.at, turn=row) for row in rows if is_wanted(row)]

    def load(self, candidates: Iterable[Candidate]) -> builtins.list[Turn]:
        """Return the turns among some candidates, in their order."""
        return self._to_turns(candidate.turn for candidate in candidates if candidate.turn is not None)

    def find_known(self, theme: str, wanted: Uids) -> set[Uid]:
        """Return those of these turns that are here, or were erased here. :param wanted: uids"""
        with self._db.snapshot() as conn:
            theme_id = self._names.theme_or_none(theme)
            return {
                uids.format_uid(uid)
                for uid in find_known_turns(conn, theme_id, [uids.parse_uid(uid) for uid in uids.list_uids(wanted)])
            }

    def list(
        self,
        theme: str,
        *,
        session: str | None = None,
        before: int | None = None,
        after: str | None = None,
        limit: int = 50,
    ) -> list[Turn]:
        """Return the turns of a theme, newest first.

        :param before: only those said earlier, UTC milliseconds
        :param after: the uid of the last turn of the page before
        :raises UnknownTurn: there is no such turn any more
        """
        theme_id = self._names.theme_or_none(theme)
        sql, args = "(?2 IS NULL OR n.name = ?2)", [theme_id, session, limit]
        if after is not None:
            sql, args = f"{sql} AND (t.at, t.id) < (?4, ?5)", [*args, *self._place_of(after)]
        elif before is not None:
            sql, args = f"{sql} AND t.at < ?4", [*args, before]
        rows = self._db.rows(f"{ROWS} WHERE t.theme_id = ?1 AND {sql} ORDER BY t.at DESC, t.id DESC LIMIT ?3", args)
        return self._to_turns(rows)

    def _to_turns(self, rows: Iterable[Sequence[Any]]) -> builtins.list[Turn]:
        """Convert rows of `ROWS` to turns, with one look at what version of the store their names are of."""
        with self._db.snapshot():
            return [to_turn(row, self._names) for row in rows]

    def _place_of(self, uid: str) -> tuple[int, int]:
        digits = uids.parse_uid_digits(uid)
        is_whole = len(digits or "") == uids.DIGITS
        row = self._db.row("SELECT at, id FROM turns WHERE uid = ?", (uids.parse_uid(uid),)) if is_whole else None
        if row is None:
            raise errors.UnknownTurn(uid)
        return row[0], row[1]

    def count(self, theme: str, *, older_than_ms: int = 0) -> int:
        """Count the turns of a theme said at least so long ago."""
        sql = f"SELECT count(*) FROM ({TURNS_OLDER_THAN})"
        theme_id, now = self._names.theme_or_none(theme), self._journal.current_time()
        return int(self._db.value(sql, (theme_id, older_than_ms, now)))

    def count_actions(self, theme: str, *, older_than_ms: int = 0) -> int:
        """Count the actions that `erase` takes with these turns."""
        sql = f"SELECT count(*) FROM ({action_rows.OLDER_THAN})"
        return int(self._db.value(sql, (self._names.theme_or_none(theme), older_than_ms, self._journal.current_time())))

    def purge(self, theme: str, *, older_than_ms: int = 0, actor: Actor = PERSON) -> int:
        """Erase turns permanently, as `erase` does; return how many there were."""
        return self.erase(theme, older_than_ms=older_than_ms, actor=actor)[0]

    @retry_without_index
    def erase(
        self,
        theme: str,
        *,
        older_than_ms: int = 0,
        actor: Actor = PERSON,
        everywhere: bool = True,
        brought_by: str = "",
    ) -> tuple[int, tuple[str, ...]]:
        """Erase turns permanently, also from the index, the backups and the events that wait for a bridge, with the actions that
        are as old and came the same way.

        Returns how many there were, and the backups that still hold them because they could not be reached.

        :param everywhere: whether turns received from the team are erased for all of it; turns captured here always are
        :param brought_by: erase those alone that came so: see `BROUGHT_BY`
        """
        with self._db.write_transaction() as conn:
            theme_id = self._names.theme(theme)
            now = self._journal.now(conn)
            rows = conn.execute(BROUGHT_BY[brought_by], (theme_id, older_than_ms, now)).fetchall()
            self.erase_within(conn, theme_id, rows, actor, now, everywhere=everywhere)
            action_rows.erase_actions(
                conn, conn.execute(action_rows.BROUGHT_BY[brought_by], (theme_id, older_than_ms, now))
            )
            erase_messages_from_waiting(self._db.path, to_theme_name(theme), now - older_than_ms, self._theme_of_folder)
        return len(rows), self.scrub()

    def by_uids(self, wanted: Sequence[str]) -> builtins.list[Turn]:
        """Return the turns with these uids in their order, without those that were erased."""
        keys = [uids.parse_uid(uid) for uid in wanted]
        turns: dict[str, Turn] = {}
        for some in in_chunks(keys):
            rows = self._db.rows(f"{ROWS} WHERE t.uid IN ({', '.join('?' * len(some))})", some)
            turns |= {turn.uid: turn for turn in self._to_turns(rows)}
        return [turns[uid] for uid in map(uids.format_uid, keys) if uid in turns]

    def of_theme(self, conn: sqlite3.Connection, theme_id: int) -> Iterator[Turn]:
        """Yield all turns of a theme in the order in which they were captured."""
        rows = conn.execute(f"{ROWS} WHERE t.theme_id = ? ORDER BY t.id", (theme_id,))
        return (to_turn(row, self._names) for row in rows)

    def erase_within(
        self,
        conn: sqlite3.Connection,
        theme_id: int,
        rows: Sequence[tuple[int, bytes, str]],
        actor: Actor,
        now: int,
        *,
        everywhere: bool | None = None,
        run: int | None = None,
    ) -> None:
        """Erase turns within a running transaction; call `scrub` after it.

        :param rows: their keys, uids and contents
        :param everywhere: as of `erase`; None tells the team nothing
        :param run: as of `bring`, which may bring them again
        """
        if not rows:
            return
        if everywhere is not None:
            conn.executemany(MARK_ERASED_FOR_TEAM, [(theme_id, uid, everywhere) for _, uid, _ in rows])
        delete_items(conn, TURN, [(key, content) for key, _, content in rows])
        for _, uid, _ in rows:
            redact_journal(conn, uid)  # its digest would confirm a guess of what it said
        conn.executemany(TO_SCRUB, [(uid, theme_id) for _, uid, _ in rows])
        named = json.dumps(uids.to_texts([uid for _, uid, _ in rows]))
        if proposals := [uid for (uid,) in conn.execute(PROPOSED_FROM, (theme_id, named))]:
            self._purge().erase_within(conn, theme_id, proposals, actor)
            self._erased_proposals += proposals
        entries = []
        for some in in_chunks([uid for _, uid, _ in rows]):
            words = {"turns": len(some), "uids": uids.to_texts(some)} | ({} if run is None else {"run": run})
            entries.append(JournalEntry("purge", "turn", uids.new_uid(now), theme_id, None, words))
        self._journal.append(conn, entries, actor=actor, at=now)

    def scrub(self) -> tuple[str, ...]:
        """Erase the remains of erased turns from the index's old pages and the files beside the store.

        Finishes what any interrupted process left. Returns the backups that still hold turns because they could not be
        reached.
        """
        if self._erased_proposals:
            self._purge().finish(self._erased_proposals)
            self._erased_proposals.clear()
        erased = dict(self._db.rows("SELECT uid, told FROM turns_to_scrub"))
        if not erased:
            return ()
        unreached = self._eraser.scrub_items(TURN, erased, {uid for uid, is_told in erased.items() if is_told})
        if is_index_usable(self._db.conn, TURNS):
            with self._db.write_transaction() as conn:
                conn.executemany("DELETE FROM turns_to_scrub WHERE uid = ?", [(uid,) for uid in erased])
        return unreached

    def rank(
        self,
        theme: str | None,
        query: str,
        *,
        most: int = RANKED,
        best: int | None = None,
        session: str | None = None,
        roles: Sequence[str] = (),
        for_agents: bool = True,
    ) -> tuple[builtins.list[Candidate], float]:
        """Return the turns that share words with a query, best first, by `rank_question`, and what part of it the best has.

        :param most: turns that are read and ranked; the other parameters are those of `search`
        :param best: of those, how many are returned; all unless given
        """
        with self._db.snapshot():
            low, high = self._range(theme)
            if low == high:
                return [], 0.0
            clients, _ = split_host_filter(query)
            origins, hits_sql = None, HITS.format("")
            if clients:
                origins = self._names.origins.keys(
                    None if theme is None else low >> THEME_SHIFT, (), (), clients=clients
                )
                hits_sql = HITS.format(OF_ORIGINS.format(", ".join(map(str, origins))))
            taken = parse_query(to_plain_query(query), theme=theme, now=self._clock())
            look = to_query_terms(taken.words, taken.phrases, taken.excluded)
            languages = self._intake.policies.search_languages(theme)
            if is_index_usable(self._db.conn, TURNS):
                add_word_forms(look, Vocabulary(self._db, TURNS, [(low, high)]), languages)
            if look.question:
                add_synonyms(look)
            total = self.stands_for or max(1, high - low)
            postings = self._find_postings(look, low, high, total, hits_sql)
            rarities, scores = [hits.rarity for hits in postings], sum_scores(postings, RARER if look.question else 0.0)
            if len(scores) < ENOUGH:
                scores = sum_scores(postings)
            order = spread_scores(scores, LIKELY * most)
            if not look.question or look.phrases or look.excluded:  # a look-up finds nothing else
                order = {key: score for key, score in order.items() if key in scores}
            rows = self._best(order, most, to_turn_filter(session, roles, for_agents, origins))
            rows = {key: row for key, row in rows.items() if key in scores or is_beside(key, rows, scores)}
            if not rows:
                return [], 0.0
            candidates = [
                Candidate(*parts)
                for parts in self._db.load_kept("turn parts", [*rows], partial(split_turns, rows)).values()
            ]
            for word in look.words:
                if word.is_character:
                    read = (term for candidate in candidates for term in text_terms(candidate.content))
                    word.terms |= dict.fromkeys((term for term in read if term[0] == word.text), EXACT)
            ranked = rank_question(candidates, look, rarities, " ".join(taken.words))
            if look.question:
                sessions = {candidate.scope_id for candidate in ranked if candidate.scope_id}
                stretches = self._db.load_kept("stretches", sorted(sessions), self._load_stretches)
                ranked = add_session_scores(ranked, [hits.keys[::-1] for hits in postings if not hits.cut], stretches)
            matched = max(scores.get(candidate.id, 0.0) for candidate in ranked) / (sum(rarities) or 1.0)
            return ranked[:best], matched

    def _find_postings(
        self, look: QueryTerms, low: int, high: int, total: int, hits_sql: str
    ) -> builtins.list[TermPostings]:
        """Return the newest turns of each word, and last of all phrases; without the index from the turns themselves."""
        if is_index_usable(self._db.conn, TURNS):
            try:
                return self._find_by_index(look, low, high, total, hits_sql)
            except (errors.StoreError, *SQLITE_FAILURES) as error:
                note_index_trouble(self._db.conn, TURNS, error)
        return [
            TermPostings(keys[:POSTINGS], len(keys) > POSTINGS, 0.0, inverse_document_frequency(len(keys), total))
            for keys in scan_turns(self._db, look, low, high)
        ]

    def _find_by_index(
        self, look: QueryTerms, low: int, high: int, total: int, hits_sql: str
    ) -> builtins.list[TermPostings]:
        def to_postings(rows: Sequence[tuple[int]], most: int = POSTINGS) -> TermPostings:
            cut = len(rows) == most
            often = max(most, total * most // (high - rows[-1][0] + 1)) if cut else len(rows)
            return TermPostings([key for (key,) in rows], cut, often / total, inverse_document_frequency(often, total))

        postings = [to_postings(self._hits(look, word, low, high, hits_sql)) for word in look.words]
        if look.question:
            unknown = [word for word, hits in zip(look.words, postings, strict=True) if not hits.keys]
            settle_near_terms(look, unknown, Vocabulary(self._db, TURNS, [(low, high)]))
        for at, (word, own) in enumerate(zip(look.words, postings, strict=True)):
            expression = word.near_expression()
            if expression is not None and len(own.keys) < ENOUGH:
                rows = self._db.kept_rows()(hits_sql, (look.without_excluded(expression), low, high, NEAR_POSTINGS))
                postings[at] = add_near_postings(word, own, to_postings(rows, NEAR_POSTINGS))
        if phrases := look.match_expression([]):
            postings.append(to_postings(self._db.rows(hits_sql, (look.without_excluded(phrases), low, high, POSTINGS))))
        return postings

    def _hits(self, look: QueryTerms, word: QueryTerm, low: int, high: int, hits_sql: str) -> Sequence[tuple[int]]:
        expression = f'"{word.text}" *' if word.is_character else word.expression()
        ask = self._db.kept_rows()
        rows = ask(hits_sql, (look.without_excluded(expression), low, high, POSTINGS))
        if not rows and look.question and allow_particle_variants(word):
            rows = ask(hits_sql, (look.without_excluded(word.expression()), low, high, POSTINGS))
        return rows

    def _best(
        self, scores: Mapping[int, float], most: int, is_wanted: Callable[[Sequence[Any]], bool]
    ) -> dict[int, TurnRow]:
        best: dict[int, TurnRow] = {}
        for some in in_chunks(best_keys(scores), most):
            best |= {row[0]: row for row in self._rows(some) if is_wanted(row)}
            if len(best) >= most:
                break
        return best

    def _rows(self, keys: Sequence[int]) -> Collection[TurnRow]:
        return self._db.load_kept("turn rows", keys, self._load_rows).values()

    def _load_stretches(self, sessions: Sequence[int]) -> dict[int, tuple[int, int]]:
        rows = self._db.rows(STRETCHES, (json.dumps(list(sessions)),))
        return {key: (first, last) for key, first, last in rows}

    def _load_rows(self, keys: Sequence[int]) -> dict[int, TurnRow]:
        rows = self._db.rows(f"{ROWS} WHERE t.id IN (SELECT value FROM json_each(?))", (json.dumps(list(keys)),))
        return {row[0]: TurnRow._make(row) for row in rows}

    def _range(self, theme: str | None) -> tuple[int, int]:
        if theme is None:
            return 0, int(self._db.value("SELECT max(id) FROM turns") or 0)
        theme_id = self._names.theme_or_none(theme) or 0
        low = theme_id << THEME_SHIFT
        sql = "SELECT max(id) FROM turns WHERE id BETWEEN ? AND ?"
        ((high,),) = self._db.kept_rows()(sql, (low, low | ((1 << THEME_SHIFT) - 1)))
        return low, int(high or low)


def to_turn_filter(
    session: str | None, roles: Sequence[str], for_agents: bool, origins: Sequence[int] | None = None
) -> Callable[[Sequence[Any]], bool]:
    def is_wanted(row: Sequence[Any]) -> bool:
        if not ((session is None or row[3] == session) and (not roles or row[4] in roles)):
            return False
        if origins is not None and row[7] not in origins:
            return False
        return not for_agents or is_for_agents(row[5], row[7], row[8])

    return is_wanted


def is_beside(key: int, rows: Mapping[int, Sequence[Any]], scores: Mapping[int, float]) -> bool:
    """Check whether a turn stands in the conversation of one beside it that has a word of the question."""
    steps = (*NEIGHBOUR_SHARE, *(-distance for distance in NEIGHBOUR_SHARE))
    return any(key + step in scores and rows.get(key + step, (-1,))[-1] == rows[key][-1] for step in steps)


def split_turns(rows: Mapping[int, TurnRow], keys: Iterable[int]) -> dict[int, tuple[Any, ...]]:
    """Return what `Candidate` is made of for each of these turns."""
    parts = {}
    for key in keys:
        row = rows[key]
        read, match = row.content[:MOST_CHARS], SPEAKER.match(row.content)
        asks = row.content.rstrip(AFTER_QUESTION).endswith(QUESTION_MARKS)
        texts = (), text_terms(read), match[1] if match else "", asks, row
        parts[key] = (key, row.session_id or 0, "", read, Tier.HOT.value, row.at, row.at, "", None, *texts)
    return parts


def to_plain_query(query: str) -> str:
    """Reduce a query to its words: of the filters of facts only `host:` applies to turns."""
    return safe_text.to_printable(split_host_filter(query[:4_000])[1]).replace(":", " ")


def find_known_turns(
    conn: sqlite3.Connection, theme_id: int | None, turn_uids: Sequence[bytes], *, again: bool = False
) -> set[bytes]:
    """Return those of these turns of a theme that are known; one known but absent was erased here.

    :param again: omit those of the team that were skipped
    """
    known_uids: set[bytes] = set()
    for some in in_chunks(turn_uids):
        sql = KNOWN.format(marks=", ".join(f"?{n}" for n in range(2, len(some) + 2)), again=int(again))
        known_uids.update(uid for (uid,) in conn.execute(sql, (theme_id, *some)))
    return known_uids


def find_only_turn(name: str, own: Iterable[Uid], others: Callable[[], Iterable[Uid]] = tuple) -> Uid:
    """Return the only turn of that name, the own ones first. :raises ArgumentError: there is none, or there are several"""
    shown = errors.shorten_value(name)
    digits = uids.parse_uid_digits(name[:64])
    if digits is None or len(digits) < MIN_DIGITS:
        raise errors.ArgumentError(
            f"turns are named by the uids that memory_turn gives, or by {MIN_DIGITS} or more digits of their beginning "
            f"or end, not {shown!r}",
            name,
        )
    matches = [uid for uid in own if uids.has_uid_part(uid, digits)]
    matches = matches or [uid for uid in others() if uids.has_uid_part(uid, digits)]
    if len(matches) != 1:
        how = "several" if matches else "none"
        raise errors.ArgumentError(f"of the captured turns that can be named here, {how} is called {shown!r}", name)
    return matches[0]
