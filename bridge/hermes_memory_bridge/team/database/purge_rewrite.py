"""Erase words from the files of the database: what was purged stays in them until they are rewritten.

A purge removes the words from a row, and PostgreSQL keeps the row's former version until a vacuum; a vacuum leaves its bytes in
free space, its words in the index of words, and samples of both in the statistics. Only new files hold none of them.
"""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg import sql
from psycopg.errors import InsufficientPrivilege

from hermes_memory_bridge.team.database.lock_holders import name_table_users
from hermes_memory_bridge.team.database.team_schema import COLLECTED, KEEP_SETTING, LOCK_TIMEOUT
from hermes_memory_bridge.team.database.team_states import TeamError, TeamState

TABLES = ("hm.item", "hm.conflict", "hm.vector", "pg_catalog.pg_statistic")
"""Tables that held words, in the order in which they are rewritten: the statistics after those they are samples of."""

PURGED_ROWS = "SELECT count(*) FROM hm.item WHERE state = 2"
"""Rows that were purged are never removed: there are more of them when anything was purged since."""

ERASED = "erased"
"""Setting: how many purged rows there were when the files were rewritten last."""

CHUNK = 16 * 2**20
"""Bytes of a file that are looked through at once."""

SEGMENTS = """
SELECT c.oid::regclass::text, pg_relation_filepath(c.oid) || CASE n WHEN 0 THEN '' ELSE '.' || n END
FROM pg_class c
CROSS JOIN generate_series(0, greatest(pg_relation_size(c.oid) - 1, 0) / (1 << 30)) AS n
WHERE pg_relation_size(c.oid) > 0 AND (
  c.relnamespace = 'hm'::regnamespace OR c.oid IN (
    SELECT t.reltoastrelid FROM pg_class t WHERE t.relnamespace = 'hm'::regnamespace
    UNION SELECT unnest(ARRAY['pg_statistic'::regclass, s.reltoastrelid]) FROM pg_class s WHERE s.oid = 'pg_statistic'::regclass
    UNION SELECT i.indexrelid FROM pg_index i JOIN pg_class t ON t.reltoastrelid = i.indrelid
      WHERE t.relnamespace = 'hm'::regnamespace
  )
)
"""
"""The files of our tables with their indexes and long values, and of the statistics; of more than a GiB, each part."""


@dataclass(slots=True)
class RewriteResult:
    """What was rewritten, and what may still hold purged words."""

    rewritten: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    """Why a table may still hold some: a sentence for each."""


def rewrite_purged(dsn: str, *, always: bool = False) -> RewriteResult:
    """Rewrite the files that held purged words, if anything was purged since the last time, as the owner.

    Each table is locked while it is rewritten: who reads or writes it waits for as long as that takes.

    :param always: also when nothing was purged
    :raises TeamError: somebody uses a table for longer than `LOCK_TIMEOUT`; what is left is rewritten by the next run
    """
    done = RewriteResult()
    with psycopg.connect(dsn, autocommit=True, prepare_threshold=None, connect_timeout=10) as conn:
        conn.execute("SELECT set_config('lock_timeout', %s, false)", (LOCK_TIMEOUT,))
        purged = count_purged(conn)
        (erased_at,) = conn.execute("SELECT value::bigint FROM hm.setting WHERE name = %s", (ERASED,)).fetchone() or (
            0,
        )
        if always or erased_at != purged:
            for table in TABLES:
                rewrite_table(conn, table, done)
        if not done.left:
            conn.execute(KEEP_SETTING, (ERASED, str(purged)))
            (now,) = conn.execute("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint").fetchone() or (0,)
            conn.execute(KEEP_SETTING, (COLLECTED, str(now)))
    return done


def count_purged(conn: psycopg.Connection[Any]) -> int:
    row = conn.execute(PURGED_ROWS).fetchone()
    assert row is not None
    return int(row[0])


def rewrite_table(conn: psycopg.Connection[Any], table: str, done: RewriteResult) -> None:
    """Write a table, its indexes and its statistics anew, and note what could not be left behind."""
    if conn.execute("SELECT to_regclass(%s)", (table,)).fetchone() == (None,):
        return
    kept, is_skipped = 0, False

    def note(said: psycopg.errors.Diagnostic) -> None:  # what it says is gone when it returns
        nonlocal kept, is_skipped
        kept += find_kept_versions(said.message_detail or "")
        is_skipped |= said.severity_nonlocalized == "WARNING"

    conn.add_notice_handler(note)
    analyze = "" if table.startswith("pg_catalog.") else ", ANALYZE"
    try:
        with name_table_users(conn, f"{table} still holds purged words"):
            conn.execute(f"VACUUM (FULL, VERBOSE{analyze}) {table}")
    finally:
        conn.remove_notice_handler(note)
    if is_skipped:
        done.left.append(f"{table} is rewritten only for the owner of the database, which this role is not")
        return
    done.rewritten.append(table)
    if kept:
        done.left.append(
            f"{table} still holds {kept} former versions of rows, which a transaction that is open may read:"
            " run this again when it has ended"
        )


def find_kept_versions(detail: str) -> int:
    """Return how many former versions of rows a rewrite kept, which PostgreSQL says first in the details of its report."""
    match = re.match(r"(\d+)", detail)
    return int(match[1]) if match else 0


@dataclass(frozen=True, slots=True)
class CanaryResult:
    """Where words were found that had been purged."""

    words: int
    before: int
    """How many of them stood in a file after the purge, before the rewrite: the search does find them."""
    found: list[str]
    """Files, by the name of their table or index, with a purged word after it."""
    left: list[str]


def release_canary(dsn: str, *, words: int = 100) -> CanaryResult:
    """Purge words made for this from a theme of their own, rewrite, and look for them in the files of the database.

    :raises TeamError: the role may not read the files, which takes a superuser or `pg_read_server_files`
    """
    theme = f"canary-{uuid.uuid4()}"
    canaries = [f"canary{uuid.uuid4().hex}" for _ in range(words)]
    with psycopg.connect(dsn, autocommit=True, prepare_threshold=None, connect_timeout=10) as conn:
        try:
            conn.execute("SELECT pg_read_binary_file(pg_relation_filepath('hm.clock'), 0, 1)")
        except InsufficientPrivilege:
            needs = "whether purged words are gone is read in the database's files, as a superuser or with pg_read_server_files"
            raise TeamError(TeamState("denied", needs)) from None
        try:
            write_canaries(conn, theme, canaries)
            before = len(find_in_files(conn, canaries))
            result = rewrite_purged(dsn, always=True)
            words_found = find_in_files(conn, canaries)
        finally:
            for table in ("item", "mark", "clock"):
                conn.execute(sql.SQL("DELETE FROM hm.{} WHERE theme = %s").format(sql.Identifier(table)), (theme,))
        if not result.left:
            conn.execute(KEEP_SETTING, (ERASED, str(count_purged(conn))))  # without the canaries
    return CanaryResult(words, before, sorted({file for files in words_found.values() for file in files}), result.left)


def write_canaries(conn: psycopg.Connection[Any], theme: str, canaries: list[str]) -> None:
    """Write each word as a fact and as a turn, have them sampled for the statistics, and purge them as a push does."""
    with conn.transaction():
        conn.execute("INSERT INTO hm.clock (theme, seq) VALUES (%s, %s)", (theme, 2 * len(canaries)))
        conn.execute(
            "INSERT INTO hm.item (theme, id, kind, content, attrs, content_sha, hlc, node, seq)"
            " SELECT %s, gen_random_uuid(), k, w, jsonb_build_object('target', w, 'session', w, 'role', 'user', 'said_at', n),"
            " sha256(convert_to(w, 'UTF8')), 0, %s, row_number() OVER () FROM unnest(%s::text[]) WITH ORDINALITY AS u (w, n),"
            " unnest(ARRAY['fact', 'turn']) AS k",
            (theme, uuid.UUID(int=0), canaries),
        )
    conn.execute("ANALYZE hm.item")
    conn.execute(
        "UPDATE hm.item SET state = 2, content = NULL, content_sha = NULL, attrs = '{}' WHERE theme = %s", (theme,)
    )


def find_in_files(conn: psycopg.Connection[Any], words: list[str]) -> dict[str, set[str]]:
    """Return, for each word that stands in a file of the database, the tables and indexes whose files those are."""
    conn.execute("CHECKPOINT")  # what is read are files, not what the server holds of them in memory
    needles = [word.encode() for word in words]
    overlap = max(map(len, needles))
    files_by_word: dict[str, set[str]] = {}
    for name, path in conn.execute(SEGMENTS).fetchall():
        at = 0
        while True:
            row = conn.execute("SELECT pg_read_binary_file(%s, %s, %s, true)", (path, at, CHUNK)).fetchone()
            data = row[0] if row is not None and row[0] is not None else b""
            for word in needles:
                if word in data:
                    files_by_word.setdefault(word.decode(), set()).add(name)
            if len(data) < CHUNK:
                break
            at += CHUNK - overlap
    return files_by_word
