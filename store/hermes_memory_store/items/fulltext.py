"""The full-text index of facts: what is indexed of a fact, and how it is added and removed.

One contentless FTS5 table holds two kinds of terms. The words of target and content are added and removed here.
What a fact can be filtered by (scope, tier, type) is held as terms of its own in the column `facets`; triggers on
`facts` keep those up to date afterwards, so that "this word in that scope" is one intersection inside SQLite,
whatever wrote the fact.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import chain
from typing import Any

from hermes_memory_store.database.db import Db, translate_sqlite_errors
from hermes_memory_store.database.index_health import INDEXES, SET_ASIDE, is_index_usable
from hermes_memory_store.database.schema import FACET
from hermes_memory_store.items.kinds import FACT, ITEM_KINDS, ItemKind
from hermes_memory_store.language.tokenizer import indexed_texts


def index_items(conn: sqlite3.Connection, kind: ItemKind, rows: Iterable[Sequence[Any]]) -> None:
    """Make new items findable. :param rows: as `kind.indexed_rows` selects them, keys ascending

    Not by a trigger: SQLite opens a savepoint for a statement that fires triggers, and FTS5 flushes what it has
    collected at every savepoint.
    """
    if is_index_usable(conn, kind.index):
        insert_index_terms(conn, kind, rows)


def insert_index_terms(conn: sqlite3.Connection, kind: ItemKind, rows: Iterable[Sequence[Any]]) -> None:
    """Insert into an index that is known to be usable, or is being built, as `index_items` does."""
    last = 1 + len(kind.texts)
    terms: Iterable[Sequence[Any]] = ((row[0], *indexed_texts(*row[1:last])) for row in rows)
    if kind.facets:
        terms = ((row[0], *indexed_texts(*row[1:last]), facet_terms(*row[last:])) for row in rows)
    conn.executemany(kind.index_terms, terms)


def reindex_fact(conn: sqlite3.Connection, fact_id: int, target: str, before: str, after: str) -> None:
    if not is_index_usable(conn, FACT.index):
        return
    conn.execute(FACT.unindex_terms, (fact_id, *indexed_texts(target, before)))
    conn.execute(FACT.index_terms, (fact_id, *indexed_texts(target, after), ""))


def unindex_item(conn: sqlite3.Connection, kind: ItemKind, key: int, *texts: str) -> None:
    """Take the words of an item out of the index. :param texts: those that were indexed"""
    if not is_index_usable(conn, kind.index):
        return
    conn.execute(kind.unindex_terms, (key, *indexed_texts(*texts)))
    if kind.facets:
        # The trigger takes the facets out and the row with them. FTS5 counts rows, and takes an index from which more were
        # deleted than inserted for corrupt.
        conn.execute(kind.index_terms, (key, *("" for _ in texts), ""))


def optimize_index(conn: sqlite3.Connection, kind: ItemKind) -> bool:
    """Merge an index, so that no words of erased items linger in it; False for one that is set aside and still holds them."""
    if not is_index_usable(conn, kind.index):
        return False
    conn.execute(f"INSERT INTO {kind.index} ({kind.index}) VALUES ('optimize')")
    return True


def rebuild_index(conn: sqlite3.Connection, kind: ItemKind) -> int:
    """Build a whole index anew from its items, inside the caller's transaction; how many were indexed."""
    conn.execute(f"INSERT INTO {kind.index} ({kind.index}) VALUES ('delete-all')")
    return fill_index(conn, kind)


def fill_index(conn: sqlite3.Connection, kind: ItemKind) -> int:
    last, count = 0, 0
    sql = f"{kind.indexed_rows} WHERE id > ? ORDER BY id LIMIT 1000"
    while rows := conn.execute(sql, (last,)).fetchall():
        insert_index_terms(conn, kind, rows)
        last, count = rows[-1][0], count + len(rows)
    return count


def facet_terms(scope_id: int, tier: str, kind: str) -> str:
    """Return the facet terms of one fact; the triggers of the schema give the same in SQL."""
    return f"{scope_facet(scope_id)} {tier_facet(tier)} {type_facet(kind)}"


def scope_facet(scope_id: int) -> str:
    return f"{FACET}s{scope_id}"


def tier_facet(tier: str) -> str:
    return f"{FACET}{tier}"


def type_facet(symbol: str) -> str:
    return f"{FACET}t{ord(symbol)}"


def rebuild_damaged_indexes(db: Db, names: Sequence[str]) -> None:
    """Make full-text indexes anew in one transaction. :raises FileError: nothing was changed then"""
    with empty_indexes(db, names) as conn:
        for name in names:
            fill_index(conn, ITEM_KINDS[name])


@contextmanager
def empty_indexes(db: Db, names: Sequence[str]) -> Iterator[sqlite3.Connection]:
    """Remove indexes, whatever their state, and create them anew and empty, in one transaction; fill them before it ends.

    An index leaves by its rows in the schema: to drop it, SQLite would have to read it. Its old pages, which may hold words of
    what was erased since, are given up and overwritten by the VACUUM that follows. VACUUM reads every table there is, so all
    damaged indexes have to leave together.

    :raises FileError: nothing was changed then
    """
    indexes = [INDEXES[name] for name in names]
    # With the parts of another form of FTS5 table, which a damaged schema may name.
    tables = sorted(
        {f"{name}_{part}" for name in names for part in ("content", "docsize")}.union(*(i.parts for i in indexes))
    )
    with closing(Db(db.path, lock_timeout_s=db.lock_timeout_s)) as own:
        own.conn.execute("PRAGMA writable_schema = ON")
        with own.write_transaction() as conn:
            conn.execute(f"DELETE FROM sqlite_master WHERE name IN ({', '.join('?' * len(tables))})", tables)
            version = conn.execute("PRAGMA schema_version").fetchone()[0]
            conn.execute(f"PRAGMA schema_version = {version + 1}")
            conn.execute("PRAGMA writable_schema = RESET")
            for statement in chain.from_iterable(index.statements for index in indexes):
                conn.execute(statement)
            if conn.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (SET_ASIDE,)).fetchone():
                conn.executemany(f"DELETE FROM {SET_ASIDE} WHERE name = ?", [(name,) for name in names])
                if conn.execute(f"SELECT 1 FROM {SET_ASIDE}").fetchone() is None:
                    conn.execute(f"DROP TABLE {SET_ASIDE}")
            yield conn
        with db.lock:
            vacuum_store(own)


def vacuum_store(db: Db) -> None:
    """Write the file anew without pages that belong to nothing. :raises FileError: StoreLocked, DiskFull, …"""
    with db.lock, translate_sqlite_errors(db.path):
        db.retry(lambda: db.conn.execute("VACUUM"))
