"""Apply records of the journal: forward into an empty store, where each repeats its change, and backward in a copy.

In a replay new facts are collected in memory, where later records change them, and are written together: most facts of a
journal change before long, and a row that is written once costs a fraction of one that is written, indexed and
changed.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hermes_memory_store import errors, uids
from hermes_memory_store.database import driver
from hermes_memory_store.database.schema import THEME_SHIFT
from hermes_memory_store.intake.intake import repeat_text
from hermes_memory_store.items import fulltext, journal, origin_rows
from hermes_memory_store.items.batch_mutation import UnindexedMutation
from hermes_memory_store.items.journal import JournalRecord
from hermes_memory_store.items.kinds import FACT, SCOPE, TURN, FactRow, ItemKind
from hermes_memory_store.items.mutation import Mutation, count_notation_chars, insert_fact_rows
from hermes_memory_store.items.project_rows import PLACES, project_key, write_place_choice
from hermes_memory_store.items.session_names import is_numbering
from hermes_memory_store.items.tier_columns import UNLINK_FACT
from hermes_memory_store.memory import sources
from hermes_memory_store.memory.sessions import HEARTBEAT_MS, LEASE_MS
from hermes_memory_store.model import (
    Actor,
    FactType,
    Millis,
    OrphanPolicy,
    SessionStatus,
    Tier,
    format_notation,
    parse_actor,
    split_client_version,
)
from hermes_memory_store.notation import token_estimate

if TYPE_CHECKING:
    from hermes_memory_store.store import Store

Words = dict[str, Any]
"""What a row says changed: columns in portable words."""

WAITING_FACTS = 20_000
"""New facts that are kept in memory, some 20 MiB."""

WAITING_ROWS = 2_000
"""Rows of the journal that are written together."""

ENDED = frozenset({SessionStatus.CLOSED, SessionStatus.ORPHANED})

UNFIT = (
    *(KeyError, ValueError, TypeError, AttributeError, OverflowError, RecursionError),
    *(driver.IntegrityError, driver.ProgrammingError, driver.DataError),
)
"""What a row that fits the chain but makes no sense ends in."""

NUMBER_SESSION = "UPDATE sessions SET client_version = ?, project_id = ?, number = ? WHERE uid = ?"

BEGIN_SESSION = """
    INSERT INTO sessions (uid, theme_id, name, client, status, started_at, heartbeat_at, heartbeat_ms, lease_ms,
      on_orphan)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET
      client = excluded.client, status = excluded.status, heartbeat_at = excluded.heartbeat_at, ended_at = NULL
"""


SESSION_THEN = """
    SELECT after, at FROM journal WHERE uid = ? AND entity = 'session' AND seq <= ? ORDER BY seq DESC LIMIT 1
"""

REMOVE_SCOPE = (
    "UPDATE sessions SET scope_id = NULL WHERE scope_id = (SELECT id FROM scopes WHERE uid = ?)",
    "DELETE FROM attention WHERE scope_id = (SELECT id FROM scopes WHERE uid = ?)",
    "DELETE FROM tallies WHERE scope_id = (SELECT id FROM scopes WHERE uid = ?)",
    "DELETE FROM scopes WHERE uid = ?",
)


PLAIN_ENTITIES: dict[str, Callable[[driver.Connection, int, Words, int], None]] = {
    "source": lambda conn, theme_id, words, at: sources.write_source_rule(
        conn, theme_id, words["source"], words["rule"], words.get("ruled_at", at)
    ),
    PLACES: lambda conn, _, words, __: write_place_choice(conn, words["places"], words["chosen_at"]),
}
"""Entities of which a row of the journal says all, and what writes it to their table: of a theme, at a time."""


class Replayer:
    """Apply one record after the other within a running transaction and `batch_mutation.defer_indexing`."""

    def __init__(self, store: Store, conn: driver.Connection) -> None:
        self.seq = 0
        self.hash = journal.FIRST_HASH
        self._conn = conn
        self._names = store.names
        self._mutation = UnindexedMutation(conn, store.names, store.journal, Actor("replay"))
        self._facts: dict[bytes, FactRow] = {}
        self._rows: list[tuple[Any, ...]] = []
        self._last: dict[int, int] = {}
        self._scopes: dict[tuple[int, str | None], int] = {}
        self._origins: dict[int, bytes] = {}
        """Digests of the origins told of so far."""

    def apply(self, record: JournalRecord) -> None:
        """Check the record's place in the chain, then repeat its change.

        :raises JournalBroken: when it is out of order or was altered
        :raises ImportFileError: when it fits the chain but makes no sense
        """
        if record.seq != self.seq + 1:
            raise errors.JournalBroken(
                f"row {self.seq + 1} of the log is missing: it goes on with {record.seq}", record.seq
            )
        try:
            for words in record.origins:
                self._origins[words["id"]] = bytes.fromhex(words["digest"])
            if record.origin_id is not None:
                record = record._replace(origin_digest=self._origins[record.origin_id])
            if record.link(self.hash) != record.hash:
                raise errors.JournalBroken(
                    f"row {record.seq} of the log was altered: its hash does not fit what it says", record.seq
                )
            self._apply(record)
            if len(self._rows) >= WAITING_ROWS:
                self._write_rows()
            if len(self._facts) >= WAITING_FACTS:
                self._write_facts()
        except UNFIT as error:
            raise self._unfit(record.seq, error) from error
        self.seq, self.hash = record.seq, record.hash

    def finish(self) -> None:
        try:
            self._write_facts()
            self._write_rows()
        except UNFIT as error:
            raise self._unfit(self.seq, error) from error
        for theme_id, last in self._last.items():
            # The trigger counts the facts that are there; purged ones keep their numbers too.
            self._conn.execute("UPDATE themes SET last_fact = ? WHERE id = ?", (last, theme_id))

    def _apply(self, record: JournalRecord) -> None:
        theme_id = self._names.recorded_theme(self._conn, record.theme, record.at)
        actor_id = self._names.actor(self._conn, record.actor)
        for words in record.origins:
            origin_rows.insert_origin_record(self._conn, theme_id, words, record.at)
        after = None if record.after is None else json.loads(record.after)
        if record.op == "purge":
            self._purge(record, theme_id, actor_id)
        elif record.entity == "fact":
            if record.before is None:
                self._create_fact(record, theme_id, actor_id, after)
            elif after is not None:
                self._change_fact(record, theme_id, after)
        elif record.entity == "scope" and after is not None:
            self._scope(record, theme_id, after)
        elif record.entity == "session" and after is not None:
            self._session(record, theme_id, after)
        elif record.entity in PLAIN_ENTITIES and after is not None:
            PLAIN_ENTITIES[record.entity](self._conn, theme_id, after, record.at)
        content = record[record._fields.index("op") : record._fields.index("hash")]
        self._rows.append((record.seq, record.at, theme_id, actor_id, *content, record.origin_id, record.hash))

    def _create_fact(self, record: JournalRecord, theme_id: int, actor_id: int, after: Words | None) -> None:
        if after is None and record.op != "create":
            return
        number = self._last[theme_id] = self._last.get(theme_id, 0) + 1
        if after is None:
            # Purged since: it only keeps its number, so that the facts after it keep theirs.
            return
        if "by" in after:
            actor_id = self._names.actor(self._conn, parse_actor(after["by"]))
        words = {name: after[name] for name in FACT.names if name in after}
        values = FACT.initial(record.at) | FACT.to_columns(words)
        detail = origin_rows.format_origin_detail({key: after[key] for key in origin_rows.DETAILS if key in after})
        values["scope_id"] = self._scope_id(record, theme_id, values.pop("scope"))
        self._facts[record.uid] = FactRow(
            id=(theme_id << THEME_SHIFT) + number,
            uid=record.uid,
            theme_id=theme_id,
            chars=count_notation_chars(values["target"], values["content"]),
            tokens=0,
            actor_id=actor_id,
            origin_id=after.get("origin", record.origin_id),
            origin_detail=detail,
            **values | {"type": FactType(values["type"]).value, "tier": Tier(values["tier"]).value},
        )

    def _change_fact(self, record: JournalRecord, theme_id: int, after: Words) -> None:
        new_fact = self._facts.get(record.uid)
        if new_fact is None:
            self._mutation.now = Millis(record.at)
            if not change_fact(self._mutation, record, after):
                raise ValueError(f"there is no fact {uids.format_uid(record.uid)} yet")
            return
        changes = FACT.select_changes(after)
        if "scope" in changes:
            changes["scope_id"] = self._scope_id(record, theme_id, changes.pop("scope"))
        self._facts[record.uid] = new_fact._replace(**changes)

    def _scope_id(self, record: JournalRecord, theme_id: int, label: str | None) -> int:
        scope_id = self._scopes.get((theme_id, label))
        if scope_id is None:
            self._mutation.now = Millis(record.at)
            admitted = repeat_text(label) if label else None
            scope_id = self._scopes[theme_id, label] = self._mutation.scope_for_writing(theme_id, admitted).id
            self._mutation.entries.clear()
        return scope_id

    def _scope(self, record: JournalRecord, theme_id: int, after: Words) -> None:
        self._scopes.clear()
        if record.before is None:
            words = SCOPE.select_changes(after)
            label, status, opened_at = (words.pop(name) for name in ("label", "status", "opened_at"))
            self._mutation.insert_scope(theme_id, repeat_text(label), uid=record.uid, status=status, at=opened_at)
            self._mutation.entries.clear()
            after = words
        if after and not change_scope(self._mutation, record, after):
            raise ValueError(f"there is no scope {uids.format_uid(record.uid)} yet")

    def _session(self, record: JournalRecord, theme_id: int, after: Words) -> None:
        if "name" in after:
            started_at = after.get("started_at", record.at)
            present = self._conn.execute("SELECT client FROM sessions WHERE uid = ?", (record.uid,)).fetchone()
            columns = (record.uid, theme_id, after["name"], after.get("client"), after["status"], started_at, record.at)
            policy = OrphanPolicy.CHECKPOINT_AND_CLOSE.value
            self._conn.execute(BEGIN_SESSION, (*columns, HEARTBEAT_MS, LEASE_MS, policy))
            if present is None or is_numbering(after, present[0]):
                version = after.get("client_version") or split_client_version(after.get("client") or "")[1]
                project_id = None if after.get("project") is None else project_key(self._conn, after["project"])
                self._conn.execute(NUMBER_SESSION, (version, project_id, after.get("number"), record.uid))
        ended = record.at if SessionStatus(after["status"]) in ENDED else None
        self._conn.execute(
            "UPDATE sessions SET status = ?, turn = max(turn, ?), ended_at = ? WHERE uid = ?",
            (after["status"], after.get("turn", 0), ended, record.uid),
        )

    def _purge(self, record: JournalRecord, theme_id: int, actor_id: int) -> None:
        is_there = self._mutation.fact_row(record.uid) is not None
        if is_there or any(record.uid in row for row in self._facts.values()):  # itself, or one that it replaced
            self._write_facts()
        if self._mutation.fact_row(record.uid) is not None:
            self._write_rows()
            self._conn.execute("DELETE FROM facts WHERE uid = ?", (record.uid,))
            journal.redact_journal(self._conn, record.uid)
        self._conn.execute(UNLINK_FACT, (record.uid,))
        self._conn.execute(
            "INSERT OR REPLACE INTO tombstones VALUES (?, ?, ?, ?)", (record.uid, theme_id, record.at, actor_id)
        )

    def _write_facts(self) -> None:
        insert_fact_rows(self._conn, [measure_row(row) for row in self._facts.values()])
        self._facts.clear()

    def _write_rows(self) -> None:
        self._conn.executemany(journal.APPEND, self._rows)
        self._rows.clear()

    def _unfit(self, seq: int, error: BaseException) -> errors.ImportFileError:
        return errors.ImportFileError(f"row {seq} of the log cannot be applied: {error}", seq)


def measure_row(row: FactRow) -> FactRow:
    """Return the row of a fact with the length and the tokens of what it says."""
    tokens = token_estimate.estimate_tokens(format_notation(row.type, row.target, row.content))
    return row._replace(chars=count_notation_chars(row.target, row.content), tokens=tokens)


def change_fact(change: Mutation, record: JournalRecord, words: Words) -> bool:
    """Give a fact the attributes that a record says, forward or backward; False where there is no such fact."""
    row = change.fact_row(record.uid)
    if row is not None:
        change.update_fact(row, record.op, keep_time=True, **change.columns_of(row, words))
        change.entries.clear()
    return row is not None


def change_scope(change: Mutation, record: JournalRecord, words: Words) -> bool:
    """Give a scope the attributes that a record says, forward or backward; False where there is no such scope."""
    row = change.conn.execute("SELECT id FROM scopes WHERE uid = ?", (record.uid,)).fetchone()
    if row is not None:
        change.update_scope(row[0], record.op, **SCOPE.select_changes(words))
        change.entries.clear()
    return row is not None


def revert_record(change: Mutation, record: JournalRecord, last: int) -> None:
    """Revert one record in a copy that goes back to row `last`. What a purge removed cannot be restored."""
    before = None if record.before is None else json.loads(record.before)
    match record.entity:
        case "fact" if before is not None:
            change_fact(change, record, before)
        case "fact" if record.op == "create":
            remove_new_item(change.conn, FACT, record.uid)
            change.conn.execute("UPDATE themes SET last_fact = last_fact - 1 WHERE name = ?", (record.theme,))
        case "scope" if before is not None:
            change_scope(change, record, before)
        case "scope":
            for statement in REMOVE_SCOPE:
                change.conn.execute(statement, (record.uid,))
        case "session":
            revert_session(change.conn, record.uid, last)
        case entity if entity in PLAIN_ENTITIES:
            (theme_id,) = change.conn.execute("SELECT id FROM themes WHERE name = ?", (record.theme,)).fetchone()
            former = json.loads(record.after or "{}") | (before or {})
            PLAIN_ENTITIES[entity](change.conn, theme_id, former, record.at)
        case "turn" if record.op == "capture":
            remove_new_item(change.conn, TURN, record.uid)


def remove_new_item(conn: driver.Connection, kind: ItemKind, uid: bytes) -> None:
    """Delete an item that a record made; one that was erased since is gone already."""
    row = conn.execute(kind.rows_of_uid, (uid,)).fetchone()
    if row is not None:
        fulltext.unindex_item(conn, kind, row[0], *row[2:])
        conn.execute(f"DELETE FROM {kind.table} WHERE id = ?", (row[0],))


def revert_session(conn: driver.Connection, uid: bytes, last: int) -> None:
    """Restore a session to its last record by row `last`, or delete it."""
    then = conn.execute(SESSION_THEN, (uid, last)).fetchone()
    if then is None:
        conn.execute("DELETE FROM attention WHERE session_id = (SELECT id FROM sessions WHERE uid = ?)", (uid,))
        conn.execute("DELETE FROM sessions WHERE uid = ?", (uid,))
        return
    status = json.loads(then[0])["status"]
    ended = then[1] if SessionStatus(status) in ENDED else None
    conn.execute("UPDATE sessions SET status = ?, ended_at = ? WHERE uid = ?", (status, ended, uid))
