"""Compare scopes, sessions, facts and captured turns with the journal: what a row says, and what the journal says it must be.

A purge takes the text of a fact out of the journal as well, so what was erased is expected to be gone, and nothing else.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

from hermes_memory_store import uids
from hermes_memory_store.clock import format_iso_time
from hermes_memory_store.items.kinds import FACT, SCOPE, SESSION, TURN
from hermes_memory_store.journal.journal_fold import (
    ENDED,
    FoldedItem,
    ScopeTimeline,
    fold_facts,
    fold_scopes,
    fold_sessions,
    fold_turns,
    load_erased_turns,
)
from hermes_memory_store.journal.transaction_log import REPLAYED
from hermes_memory_store.model import OrphanPolicy, ScopeStatus, SessionStatus, split_client_version

FACT_COLUMNS = ("theme_id", "scope_id", *FACT.names[1:], "actor_id", "origin_id", "origin_detail")

SCOPE_COLUMNS = ("theme_id", *SCOPE.names)

SESSION_COLUMNS = (
    *("theme_id", *SESSION.names, "started_at", "ended_at", "heartbeat_at", "heartbeat_ms", "lease_ms", "scope_id"),
    *("on_orphan", "checkpoint", "client_version", "number", "project_id"),
)

TURN_COLUMNS = ("theme_id", "session_id", *TURN.names, "origin_id")

TURN_ERASURES = "SELECT theme_id, after FROM journal NOT INDEXED WHERE entity = 'turn' AND op = 'purge'"

ERASED_FACT = """
    SELECT EXISTS (SELECT 1 FROM tombstones WHERE uid = ?1)
      OR EXISTS (SELECT 1 FROM journal WHERE uid = ?1 AND entity = 'fact' AND op = 'purge')
"""

UNSCOPED_NEEDED = """
    SELECT DISTINCT theme_id FROM facts NOT INDEXED
    WHERE theme_id NOT IN (SELECT theme_id FROM scopes NOT INDEXED WHERE label = '')
      AND scope_id NOT IN (SELECT id FROM scopes NOT INDEXED)
"""

MOST_GONE = 5_000
"""Missing turns of one theme that are named beyond those that older erasures counted."""

SHOWN = 60
"""Characters of a value that a finding repeats."""

RUNNING = frozenset({SessionStatus.OPEN.value, SessionStatus.LIVE.value, SessionStatus.STALE.value})

ON_ORPHAN = frozenset(policy.value for policy in OrphanPolicy)

TIMES = frozenset(
    {"at", "created_at", "updated_at", "opened_at", "closed_at", "started_at", "ended_at", "heartbeat_at"}
)


StoredRows = Iterator[tuple[bytes, dict[str, Any]]]
"""Rows of a table by uid."""


class Difference(NamedTuple):
    """One row that is not what the journal says."""

    entity: str
    uid: bytes
    stored: dict[str, Any] | None
    """What the row says, with its `theme_id`; None when it is gone."""
    journaled: dict[str, Any] | None
    """What the journal says, with its `theme_id`; None when no row of it made this."""
    columns: tuple[str, ...]
    """Which of them differ."""
    first: int = 0
    """The row of the journal it began with."""

    def __str__(self) -> str:
        columns = self.stored or self.journaled or {}
        name = format_item_name(self.entity, self.uid, columns)
        if self.stored is None:
            return f"{name} is gone; the journal has {format_item_text(self.journaled or {})}"
        if self.journaled is None:
            return f"{name} was made by no row of the journal; it says {format_item_text(self.stored)}"
        return f"{name}: " + ", ".join(
            f"{column} is {format_value(column, self.stored.get(column))}, "
            f"in the journal {format_value(column, self.journaled.get(column))}"
            for column in self.columns
        )


def find_differences(conn: sqlite3.Connection) -> Iterator[Difference]:
    """Yield every row that differs from the journal: scopes first, then sessions, facts and turns.

    :param conn: within one transaction, so that tables and journal are of one moment
    """
    before = conn.text_factory
    # Any bytes are text meanwhile: a damaged character must not end the comparison.
    conn.text_factory = partial(bytes.decode, encoding="utf-8", errors="surrogateescape")
    try:
        timeline = ScopeTimeline()
        yield from compare_scopes(conn, fold_scopes(conn, timeline))
        scope_uids = dict(conn.execute("SELECT id, uid FROM scopes NOT INDEXED"))
        yield from compare_sessions(conn, scope_uids)
        yield from compare_facts(conn, timeline, scope_uids)
        yield from compare_turns(conn)
    finally:
        conn.text_factory = before


def stored_rows(conn: sqlite3.Connection, table: str, columns: Sequence[str]) -> StoredRows:
    """Yield the rows of a table by uid, without its indexes: one may be what is damaged."""
    for uid, *values in conn.execute(f"SELECT uid, {', '.join(columns)} FROM {table} NOT INDEXED ORDER BY uid"):
        yield uid, dict(zip(columns, values, strict=True))


def compare_rows(
    entity: str,
    rows: StoredRows,
    items: Iterator[FoldedItem],
    find_columns: Callable[[dict[str, Any], dict[str, Any]], list[str]],
    may_be_gone: Callable[[FoldedItem], bool] = lambda _: False,
) -> Iterator[Difference]:
    """Compare rows with what the journal says of them, both in the order of uids.

    :param find_columns: finds the columns in which a row differs
    """
    stored, journaled = next(rows, None), next(items, None)
    while stored is not None or journaled is not None:
        if journaled is None or (stored is not None and stored[0] < journaled.uid):
            assert stored is not None
            yield Difference(entity, stored[0], stored[1], None, ())
            stored = next(rows, None)
            continue
        words = {"theme_id": journaled.theme_id, **journaled.columns}
        if stored is None or journaled.uid < stored[0]:
            if not journaled.is_erased and not may_be_gone(journaled):
                yield Difference(entity, journaled.uid, None, words, (), journaled.first)
        else:
            if journaled.is_erased:
                yield Difference(entity, stored[0], stored[1], None, ())
            elif columns := find_columns(stored[1], words):
                yield Difference(entity, stored[0], stored[1], words, tuple(columns), journaled.first)
            stored = next(rows, None)
        journaled = next(items, None)


def compare_scopes(conn: sqlite3.Connection, folded: list[FoldedItem]) -> Iterator[Difference]:
    """Yield the scopes that differ. The one without a label of each theme has no row in the journal."""
    rows = list(stored_rows(conn, "scopes", SCOPE_COLUMNS))
    folded_uids = {item.uid for item in folded}
    unscoped = {row["theme_id"] for _, row in rows if row["label"] == ""}
    for uid, row in rows:
        if uid not in folded_uids and (row["label"] == "" or row["theme_id"] not in unscoped):
            must = {**row, "label": "", "status": ScopeStatus.OPEN.value, "closed_at": None, "closed_by": None}
            unscoped.add(row["theme_id"])
            if columns := differing_columns(row, must):
                yield Difference("scope", uid, row, must, tuple(columns))
            folded_uids.add(uid)
            folded = [*folded, FoldedItem(uid, row["theme_id"], row, 0)]
    for (theme_id,) in conn.execute(UNSCOPED_NEEDED).fetchall():
        must = {"theme_id": theme_id, "label": "", "status": ScopeStatus.OPEN.value, "opened_at": 0}
        yield Difference("scope", b"", None, {**must, "closed_at": None, "closed_by": None}, ())
    ordered = iter(sorted(folded, key=lambda item: item.uid))
    yield from compare_rows("scope", iter(rows), ordered, differing_columns)


def compare_facts(
    conn: sqlite3.Connection, timeline: ScopeTimeline, scope_uids: dict[int, bytes]
) -> Iterator[Difference]:
    actors = {(kind, name): key for key, kind, name in conn.execute("SELECT id, kind, name FROM actors")}

    rows = (
        (uid, row | {"scope": scope_uids.get(row.pop("scope_id"))})
        for uid, row in stored_rows(conn, "facts", FACT_COLUMNS)
    )

    def columns(row: dict[str, Any], must: dict[str, Any]) -> list[str]:
        for link in FACT.links:
            other = must.get(link)
            if other is not None and row[link] is None and conn.execute(ERASED_FACT, (other,)).fetchone()[0]:
                must[link] = None  # a purge took the link out with what it led to
        return differing_columns(row, must)

    def is_tombstoned(item: FoldedItem) -> bool:
        return bool(conn.execute("SELECT 1 FROM tombstones WHERE uid = ?", (item.uid,)).fetchone())

    yield from compare_rows("fact", rows, fold_facts(conn, timeline, actors), columns, is_tombstoned)


def compare_sessions(conn: sqlite3.Connection, scope_uids: dict[int, bytes]) -> Iterator[Difference]:
    projects = dict(conn.execute("SELECT id, name FROM projects NOT INDEXED"))
    rows = (
        (uid, row | {"project": projects.get(row["project_id"])})
        for uid, row in stored_rows(conn, "sessions", SESSION_COLUMNS)
    )
    yield from compare_rows("session", rows, fold_sessions(conn), partial(differing_session_columns, scope_uids))


def compare_turns(conn: sqlite3.Connection) -> Iterator[Difference]:
    """Yield the captured turns that differ from their digests, are gone unerased, or were never captured."""
    named, counted = load_erased_turns(conn.execute(TURN_ERASURES))
    replayed = 0  # up to this row of the journal the texts of turns never were here
    if conn.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (REPLAYED,)).fetchone() is not None:
        replayed = conn.execute(f"SELECT max(last) FROM {REPLAYED}").fetchone()[0] or 0
    session_uids = {key: uids.format_uid(uid) for key, uid in conn.execute("SELECT id, uid FROM sessions NOT INDEXED")}

    def rows() -> StoredRows:
        for uid, row in stored_rows(conn, "turns", TURN_COLUMNS):
            text = row["content"] if isinstance(row["content"], str) else ""
            digest = hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:32]
            yield uid, row | {"chars": len(text), "digest": digest, "session": session_uids.get(row.pop("session_id"))}

    missing_turns: dict[int, list[Difference]] = {}
    missing: Counter[int] = Counter()
    for difference in compare_rows("turn", rows(), fold_turns(conn), differing_columns, lambda item: item.uid in named):
        if difference.stored is not None:
            yield difference
        elif difference.journaled is not None and difference.first > replayed:
            theme_id = difference.journaled["theme_id"]
            missing[theme_id] += 1
            if missing[theme_id] <= counted[theme_id] + MOST_GONE:
                missing_turns.setdefault(theme_id, []).append(difference)
    # An erasure of an older version says only how many turns it took: as many may be gone, of whichever uid.
    yield from chain.from_iterable(
        some for theme_id, some in missing_turns.items() if missing[theme_id] > counted[theme_id]
    )


def differing_columns(row: dict[str, Any], must: dict[str, Any]) -> list[str]:
    return [name for name, value in must.items() if name in row and row[name] != value]


def differing_session_columns(scope_uids: dict[int, bytes], row: dict[str, Any], must: dict[str, Any]) -> list[str]:
    """Return the columns in which a session cannot be what it is.

    Its heartbeats and turns are not journaled, nor that one which had ended came back to life, so they are compared only
    with what follows from the journal. Columns that only must make sense get their expected value added to `must`.
    """
    declared = split_client_version(must["client"] or "")[1]
    if must.get("client_version") is None and row["client_version"] == declared:
        must["client_version"] = declared  # a replay reads it in what older versions wrote
    plain: tuple[str, ...] = ("theme_id", "name", "client", "client_version", "project", "number", "started_at")
    differing = [name for name in plain if name in must and row[name] != must[name]]
    has_ended = row["ended_at"] is not None
    came_back = (
        must["status"] in ENDED and isinstance(row["heartbeat_at"], int) and row["heartbeat_at"] >= must["ended_at"]
    )
    if has_ended or row["status"] not in RUNNING or (must["status"] in ENDED and not came_back):
        if must["status"] not in ENDED:
            must["status"] = SessionStatus.STALE.value
        same = ("status", "ended_at", "turn") if must["status"] in ENDED else ("status", "ended_at")
        differing += [name for name in same if row[name] != must[name]]
    elif not isinstance(row["turn"], int) or row["turn"] < 0:
        differing.append("turn")
    must |= {name: row[name] for name in row if name not in must}
    for name, is_sound, otherwise in (
        ("heartbeat_at", isinstance(row["heartbeat_at"], int) and row["heartbeat_at"] >= 0, must.get("started_at", 0)),
        ("heartbeat_ms", isinstance(row["heartbeat_ms"], int) and row["heartbeat_ms"] > 0, 10_000),
        ("lease_ms", isinstance(row["lease_ms"], int) and row["lease_ms"] > 0, 25_000),
        ("scope_id", row["scope_id"] is None or row["scope_id"] in scope_uids, None),
        ("on_orphan", row["on_orphan"] in ON_ORPHAN, OrphanPolicy.CHECKPOINT_AND_CLOSE.value),
        ("checkpoint", row["checkpoint"] is None or is_json_object(row["checkpoint"]), None),
    ):
        if not is_sound:
            must[name] = otherwise
            differing.append(name)
    return differing


def is_json_object(text: Any) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, TypeError):
        return False


def format_item_name(entity: str, uid: bytes, columns: dict[str, Any]) -> str:
    """Return how a finding calls a row: its kind, the end of its uid, and its name where it has one."""
    name = columns.get("label") or columns.get("name") or ""
    if entity == "fact" and "target" in columns:
        name = f"{columns.get('type')}[{columns.get('target')}]"
    return f"{entity} {uids.short_uid(uids.format_uid(uid)) if uid else ''}".rstrip() + (
        f" {shorten(name)}" if name else ""
    )


def format_item_text(columns: dict[str, Any]) -> str:
    for name in ("content", "label", "name"):
        if columns.get(name):
            return repr(shorten(columns[name]))
    return "no text of it" if "digest" in columns else "nothing"


def format_value(column: str, value: Any) -> str:
    """Return one value for a finding: uids and times as people read them."""
    if value is None:
        return "empty"
    if isinstance(value, bytes):
        return uids.short_uid(uids.format_uid(value)) if len(value) == 16 else value.hex()[:SHOWN]
    if column in TIMES and isinstance(value, int) and 0 <= value < 1 << 47:
        return format_iso_time(value)
    return repr(shorten(value)) if isinstance(value, str) else str(value)


def shorten(value: Any) -> str:
    text = str(value).encode(errors="replace").decode()
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


def describe_differences(differences: Iterable[Difference], count: int, most: int = 5) -> str:
    """Return the sentence that names differences, the first few in full."""
    named = [str(difference) for difference, _ in zip(differences, range(most), strict=False)]
    rest = f"; and {count - len(named)} more" if count > len(named) else ""
    return "; ".join(named) + rest
