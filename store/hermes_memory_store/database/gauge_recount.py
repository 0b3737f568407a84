"""Recount gauges and tallies, which triggers maintain, from the facts themselves."""

from __future__ import annotations

import sqlite3

from hermes_memory_store.safe_text import pluralise

TALLIES = "SELECT theme_id, scope_id, tier, type, count(*) FROM facts GROUP BY theme_id, scope_id, tier, type"

WRONG_TALLIES = f"""
    SELECT theme_id, scope_id, tier, type FROM (
      SELECT * FROM ({TALLIES}) EXCEPT SELECT * FROM tallies WHERE facts <> 0)
    UNION
    SELECT theme_id, scope_id, tier, type FROM (
      SELECT * FROM tallies WHERE facts <> 0 EXCEPT SELECT * FROM ({TALLIES}))
"""

GAUGES = """
    SELECT t.id, count(f.id), coalesce(sum(f.chars), 0), coalesce(sum(f.tokens), 0), coalesce(sum(f.pinned * f.chars), 0)
    FROM themes t LEFT JOIN facts f ON f.theme_id = t.id AND f.tier = 'hot'
    GROUP BY t.id
"""

STORED_GAUGE = "SELECT name, hot_facts, hot_chars, hot_tokens, pinned_chars, last_fact FROM themes WHERE id = ?"

NEWEST = "SELECT coalesce(max(id & 1099511627775), 0) FROM facts WHERE theme_id = ?"

SET_GAUGE = "UPDATE themes SET hot_facts = ?2, hot_chars = ?3, hot_tokens = ?4, pinned_chars = ?5 WHERE id = ?1"

SIZES = "SELECT id, target, content, chars FROM facts"


def find_gauge_differences(conn: sqlite3.Connection) -> list[str]:
    """Find wrong gauges and tallies, one sentence each."""
    differences = []
    sizes = find_wrong_sizes(conn)
    if sizes:
        differences.append(f"the length of {pluralise(len(sizes), 'fact')} is wrong")
    for key, *counted in conn.execute(GAUGES).fetchall():
        name, *stored, last = conn.execute(STORED_GAUGE, (key,)).fetchone()
        if stored != counted:
            differences.append(
                f"the gauge of theme {name!r} shows {stored[1]} characters, its hot facts have {counted[1]}"
            )
        if last < conn.execute(NEWEST, (key,)).fetchone()[0]:
            differences.append(f"theme {name!r} would number a new fact like an old one")
    tallies = conn.execute(WRONG_TALLIES).fetchall()
    if tallies:
        differences.append(f"{len(tallies)} tallies differ from a recount")
    return differences


def recount_gauges(conn: sqlite3.Connection) -> None:
    """Set every gauge and tally to its recounted value, within the caller's transaction."""
    conn.executemany("UPDATE facts SET chars = ? WHERE id = ?", find_wrong_sizes(conn))
    conn.executemany(SET_GAUGE, conn.execute(GAUGES).fetchall())
    conn.execute(
        "UPDATE themes SET last_fact = max(last_fact,"
        " (SELECT coalesce(max(id & 1099511627775), 0) FROM facts WHERE theme_id = themes.id))"
    )
    conn.execute("DELETE FROM tallies")
    conn.execute(f"INSERT INTO tallies {TALLIES}")


def find_wrong_sizes(conn: sqlite3.Connection) -> list[tuple[int, int]]:
    """Find facts whose stored length is not that of their notation: the right length and the key."""
    # Counted in Python: SQLite's length() stops at a NUL, which a foreign fact may hold.
    return [
        (len(target) + len(content) + 5, key)
        for key, target, content, chars in conn.execute(SIZES)
        if chars != len(target) + len(content) + 5
    ]
