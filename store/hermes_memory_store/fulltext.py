"""What is indexed of a fact, and how it enters and leaves the index.

One contentless FTS5 table holds two kinds of terms. The words of target and content are put in and taken out here. What a
fact can be filtered by (scope, tier, type) stands there as terms of its own in the column `facets`; triggers on `facts`
keep those up to date afterwards, so that "this word in that scope" is one intersection inside SQLite, whatever wrote the fact.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from hermes_memory_store.schema import FACET
from hermes_memory_store.text_indexes import FACTS, is_usable
from hermes_memory_store.words import indexed_text

INDEX = "INSERT INTO facts_text (rowid, target, content, facets) VALUES (?, ?, ?, ?)"

UNINDEX = "INSERT INTO facts_text (facts_text, rowid, target, content, facets) VALUES ('delete', ?, ?, ?, '')"


def index(
    conn: sqlite3.Connection, fact_id: int, target: str, content: str, *, scope_id: int, tier: str, kind: str
) -> None:
    """Make a new fact findable, by its words and by its facets, in one insert.

    Not by a trigger: SQLite opens a savepoint for a statement that fires triggers, and FTS5 writes out what it has gathered
    at every savepoint, which made a bulk insert half as fast again.
    """
    if not is_usable(conn, FACTS):
        return
    terms = (fact_id, indexed_text(target), indexed_text(content), facet_terms(scope_id, tier, kind))
    conn.execute(INDEX, terms)


def index_many(conn: sqlite3.Connection, facts: Iterable[tuple[int, str, str, int, str, str]]) -> None:
    """`index` for many facts: rows of id, target, content, scope id, tier, type, ids ascending."""
    if is_usable(conn, FACTS):
        insert_terms(conn, facts)


def insert_terms(conn: sqlite3.Connection, facts: Iterable[tuple[int, str, str, int, str, str]]) -> None:
    """`index_many` into an index that is known to be usable, or in the making."""
    conn.executemany(
        INDEX,
        (
            (key, indexed_text(target), indexed_text(content), facet_terms(scope_id, tier, kind))
            for key, target, content, scope_id, tier, kind in facts
        ),
    )


def reindex(conn: sqlite3.Connection, fact_id: int, target: str, before: str, after: str) -> None:
    """A fact's content was edited."""
    if not is_usable(conn, FACTS):
        return
    conn.execute(UNINDEX, (fact_id, indexed_text(target), indexed_text(before)))
    conn.execute(INDEX, (fact_id, indexed_text(target), indexed_text(after), ""))


def unindex(conn: sqlite3.Connection, fact_id: int, target: str, content: str) -> None:
    """Take a fact's words out of the index. Target and content must be the ones that were indexed."""
    if not is_usable(conn, FACTS):
        return
    conn.execute(UNINDEX, (fact_id, indexed_text(target), indexed_text(content)))
    # The trigger takes the facets out and the row with them. FTS5 counts rows, and takes an index from which more were
    # deleted than inserted for corrupt.
    conn.execute(INDEX, (fact_id, "", "", ""))


def optimize(conn: sqlite3.Connection) -> bool:
    """Merge the index, so that no words of erased facts linger in it; False for one that is set aside and still holds them."""
    if not is_usable(conn, FACTS):
        return False
    conn.execute("INSERT INTO facts_text (facts_text) VALUES ('optimize')")
    return True


def rebuild(conn: sqlite3.Connection) -> int:
    """Build the whole index anew from the facts, inside the caller's transaction; how many were indexed."""
    conn.execute("INSERT INTO facts_text (facts_text) VALUES ('delete-all')")
    return fill(conn)


def fill(conn: sqlite3.Connection) -> int:
    """Fill an empty index from the facts, inside the caller's transaction; how many were indexed."""
    last, count = 0, 0
    while rows := conn.execute(
        "SELECT id, target, content, scope_id, tier, type FROM facts WHERE id > ? ORDER BY id LIMIT 5000", (last,)
    ).fetchall():
        insert_terms(conn, rows)
        last, count = rows[-1][0], count + len(rows)
    return count


def facet_terms(scope_id: int, tier: str, kind: str) -> str:
    """The facets of one fact as the index holds them; `schema.facets` says the same in SQL."""
    return f"{scope_facet(scope_id)} {tier_facet(tier)} {type_facet(kind)}"


def scope_facet(scope_id: int) -> str:
    """The term of a scope."""
    return f"{FACET}s{scope_id}"


def tier_facet(tier: str) -> str:
    """The term of a tier."""
    return f"{FACET}{tier}"


def type_facet(symbol: str) -> str:
    """The term of a type, by its MEMORY_SPEC symbol."""
    return f"{FACET}t{ord(symbol)}"
