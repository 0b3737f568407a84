"""Repair the journal itself from backups: a row takes the place of a damaged or missing one only if its hash fits both what it
says and the row before it.
"""

from __future__ import annotations

from contextlib import ExitStack
from itertools import islice
from pathlib import Path

from hermes_memory_store import errors
from hermes_memory_store.database import driver
from hermes_memory_store.database.database_copies import connect_plainly
from hermes_memory_store.diagnostics.row_checks import read_backup_head
from hermes_memory_store.items import journal
from hermes_memory_store.items.journal import JournalRecord
from hermes_memory_store.items.journal_receipt import read_chain_head
from hermes_memory_store.model import Actor
from hermes_memory_store.store import Store
from hermes_memory_store.upkeep import backup

RECORD = """
    SELECT j.seq, j.at, t.name, a.kind, a.name, j.op, j.entity, j.uid, j.change, j.undoes, j.before, j.after, j.salt,
      j.digest, j.hash, {origin}
    FROM journal j LEFT JOIN themes t ON t.id = j.theme_id LEFT JOIN actors a ON a.id = j.actor_id WHERE j.seq = ?
"""

ORIGIN_COLUMNS = "j.origin_id, (SELECT digest FROM origins WHERE id = j.origin_id)"

REPLACE = journal.APPEND.replace("INSERT", "INSERT OR REPLACE", 1)

ORIGINLESS = "SELECT count(*) FROM {} WHERE origin_id IS NOT NULL AND origin_id NOT IN (SELECT id FROM origins)"

REFERENCES = {
    "themes": "SELECT id, name FROM themes",
    "actors": "SELECT id, kind, name FROM actors",
    "origins": "SELECT * FROM origins",
}
"""What rows of the journal refer to, as far as its chain covers that."""

PUT_THEME = "INSERT INTO themes (id, name, created_at) VALUES (?1, ?2, 0) ON CONFLICT (id) DO UPDATE SET name = ?2"

PUT_ACTOR = """
    INSERT INTO actors (id, kind, name) VALUES (?1, ?2, ?3) ON CONFLICT (id) DO UPDATE SET kind = ?2, name = ?3
"""


def repair_journal(store: Store) -> int:
    """Restore damaged, missing and cut off rows from backups; return how many. What has been purged stays without its text."""
    restored = 0
    with ExitStack() as opened, store.db.write_transaction() as conn:
        backups = [opened.enter_context(connect_plainly(file)) for file in find_related_backups(store)]
        for old in backups:
            restored += restore_references(store, conn, old)
        for old in backups:
            place: int | None = 0
            while (place := next_break(store, place or 0)) is not None:
                count = splice_rows(store, conn, old, place)
                restored += count
                if not count:
                    place += 1
    return restored


def find_related_backups(store: Store) -> list[Path]:
    """Find the readable backups of this very store, those with the longest journal first."""
    with store.db.snapshot() as conn:
        here = read_chain_head(conn)
    heads = [(head, file) for file in backup.find_backups(store.path) if (head := read_backup_head(file)) is not None]
    # A store whose first row is lost is told by the rest of the chain: no row of another store fits.
    related = [(head[1].seq, file) for head, file in heads if here is None or head[0] == here[0]]
    return [file for _, file in sorted(related, reverse=True)]


def next_break(store: Store, since: int) -> int | None:
    """Return the first row from `since` on at which the chain is broken; the one behind its end comes last."""
    behind = store.journal.last_seq() + 1
    return next((seq for seq, _ in store.journal.find_breaks() if seq >= since), behind if since <= behind else None)


def restore_references(store: Store, conn: driver.Connection, old: driver.Connection) -> int:
    """Restore themes, actors and origins where that mends the chain or a digest; return how many."""
    restored, faults = 0, count_faults(store, conn)
    for table, select in REFERENCES.items():
        here = set(conn.execute(select))
        for row in old.execute(select).fetchall() if has_table(old, table) else ():
            if not faults or row in here:
                continue
            try:
                with store.db.savepoint(conn):
                    if table == "origins":
                        restore_origin(conn, old, row[0], replace=True)
                    else:
                        conn.execute(PUT_THEME if table == "themes" else PUT_ACTOR, row)
                    store.names.forget()
                    left = count_faults(store, conn)
                    if left >= faults:
                        raise LookupError
                restored, faults = restored + 1, left
            except (LookupError, driver.IntegrityError):
                store.names.forget()
    return restored


def count_faults(store: Store, conn: driver.Connection) -> int:
    lost = sum(conn.execute(ORIGINLESS.format(table)).fetchone()[0] for table in ("facts", "turns", "journal"))
    breaks = sum(1 for _ in islice(store.journal.find_breaks(), 10_000))
    return len(store.names.origins.find_altered()) + int(lost) + breaks


def splice_rows(store: Store, conn: driver.Connection, old: driver.Connection, seq: int) -> int:
    """Restore rows from `seq` on, as long as the chain needs them and the backup proves them; return how many."""
    first = conn.execute("SELECT hash FROM journal WHERE seq = ?", (seq - 1,)).fetchone()
    link = journal.FIRST_HASH if seq == 1 else first and first[0]
    count = 0
    while link is not None:
        present = load_record(conn, seq)
        if present is not None and fits(present, link):
            return count
        record = load_record(old, seq)
        if record is None or not fits(record, link):
            return count
        theme_id = store.names.recorded_theme(conn, record.theme, record.at)
        restore_origin(conn, old, record.origin_id)
        head = (record.seq, record.at, theme_id, store.names.actor(conn, record.actor), record.op, record.entity)
        links = (record.uid, record.change, record.undoes, record.before, record.after, record.salt, record.digest)
        conn.execute(REPLACE, (*head, *links, record.origin_id, record.hash))
        if conn.execute("SELECT 1 FROM tombstones WHERE uid = ?", (record.uid,)).fetchone():
            journal.redact_journal(conn, record.uid)
        link, seq, count = record.hash, seq + 1, count + 1
    return count


def load_record(conn: driver.Connection, seq: int) -> JournalRecord | None:
    try:
        # A backup of an older version knows no origins.
        sql = RECORD.format(origin=ORIGIN_COLUMNS if has_table(conn, "origins") else "NULL, NULL")
        row = conn.execute(sql, (seq,)).fetchone()
    except driver.DatabaseError:
        return None
    if row is None or None in row[2:5]:
        return None
    number, at, theme, kind, name, *rest = row
    return JournalRecord(number, at, theme, Actor(kind, name), *rest)


def fits(record: JournalRecord, link: bytes) -> bool:
    """Check whether a row is what its hash says, and follows the row before it."""
    try:
        return record.link(link) == record.hash
    except (UnicodeEncodeError, TypeError, AttributeError, errors.StoreError):
        return False


def has_table(conn: driver.Connection, name: str) -> bool:
    return conn.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (name,)).fetchone() is not None


def restore_origin(conn: driver.Connection, old: driver.Connection, key: int | None, *, replace: bool = False) -> None:
    """Restore a lost origin, whose digest is in the chain. :param replace: whether it takes the place of the one with its key"""
    if key is None or (not replace and conn.execute("SELECT 1 FROM origins WHERE id = ?", (key,)).fetchone()):
        return
    for verb, table, sql in (
        ("IGNORE", "projects", "SELECT * FROM projects WHERE id = (SELECT project_id FROM origins WHERE id = ?)"),
        ("REPLACE", "origins", "SELECT * FROM origins WHERE id = ?"),
    ):
        for row in old.execute(sql, (key,)):
            conn.execute(f"INSERT OR {verb} INTO {table} VALUES ({', '.join('?' * len(row))})", row)
