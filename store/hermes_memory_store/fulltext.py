"""What is indexed of a fact, and how it enters and leaves the index.

One contentless FTS5 table holds two kinds of terms. The words of target and content are put in and taken out here. What a
fact can be filtered by (scope, tier, type) stands there as terms of its own in the column `facets`, kept by triggers on
`facts` alone, so that "this word in that scope" is one intersection inside SQLite, whatever wrote the fact.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from hermes_memory_store.schema import FACET, facets
from hermes_memory_store.words import indexed

INDEX = "INSERT INTO facts_text (rowid, target, content, facets) VALUES (?, ?, ?, '')"

UNINDEX = "INSERT INTO facts_text (facts_text, rowid, target, content, facets) VALUES ('delete', ?, ?, ?, '')"


def index(conn: sqlite3.Connection, fact_id: int, target: str, content: str) -> None:
    """Make a fact's words findable. Its row in `facts` carries the facets."""
    conn.execute(INDEX, (fact_id, " ".join(indexed(target)), " ".join(indexed(content))))


def index_many(conn: sqlite3.Connection, facts: Iterable[tuple[int, str, str]]) -> None:
    """`index` for many facts: rows of id, target, content."""
    conn.executemany(
        INDEX, ((key, " ".join(indexed(target)), " ".join(indexed(content))) for key, target, content in facts)
    )


def unindex(conn: sqlite3.Connection, fact_id: int, target: str, content: str) -> None:
    """Take a fact's words out of the index. Target and content must be the ones that were indexed."""
    conn.execute(UNINDEX, (fact_id, " ".join(indexed(target)), " ".join(indexed(content))))


def rebuild(conn: sqlite3.Connection) -> int:
    """Build the whole index anew from the facts, inside the caller's transaction; how many were indexed."""
    conn.execute("INSERT INTO facts_text (facts_text) VALUES ('delete-all')")
    conn.execute(
        f"INSERT INTO facts_text (rowid, target, content, facets) SELECT id, '', '', {facets('facts')} FROM facts"
    )
    last, count = 0, 0
    while rows := conn.execute(
        "SELECT id, target, content FROM facts WHERE id > ? ORDER BY id LIMIT 5000", (last,)
    ).fetchall():
        index_many(conn, rows)
        last, count = rows[-1][0], count + len(rows)
    return count


def scope_facet(scope_id: int) -> str:
    """The term of a scope."""
    return f"{FACET}s{scope_id}"


def tier_facet(tier: str) -> str:
    """The term of a tier."""
    return f"{FACET}{tier}"


def type_facet(symbol: str) -> str:
    """The term of a type, by its MEMORY_SPEC symbol."""
    return f"{FACET}t{ord(symbol)}"
