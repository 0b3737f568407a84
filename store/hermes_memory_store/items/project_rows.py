"""Projects as rows: found by name or by uid, and created under a name that no project ever had."""

from __future__ import annotations

import sqlite3
import unicodedata
from collections.abc import Sequence
from typing import Any

from hermes_memory_store import errors, uids
from hermes_memory_store.intake.intake import to_listed_name, to_masked_name

MAX_PROJECT_NAME = 120
"""Characters of a project's name: a folder's name is at most 255 bytes, and a screen shows far fewer."""

PLACES = "places"
"""Entity of the journal: by what the themes of places are chosen."""

NAMELESS = "project"
"""What a project is called whose folder or URL has no name: `/`."""

IS_SEEN_HERE = """
    SELECT 1 FROM projects p WHERE id = ? AND (
      joined_id IS NOT NULL OR EXISTS (SELECT 1 FROM project_aliases WHERE project_id = p.id AND kind IN ('dir', 'path'))
    )
"""
"""Finds a project whose identities are not to be learned from others: seen on this machine, or joined to another."""

FIND_ALIAS = "SELECT project_id FROM project_aliases WHERE kind = ? AND value = ?"

FIND_PROJECT = "SELECT coalesce(joined_id, id) FROM projects WHERE folded = ?"


def fold_project_name(name: str) -> str:
    """Return the form in which names of projects are compared."""
    return unicodedata.normalize("NFKC", name).casefold()


def project_key(conn: sqlite3.Connection, name: str) -> int:
    """Return the key of a project by its name, or by that of one which has joined it. :raises ArgumentError: none"""
    row = conn.execute(FIND_PROJECT, (fold_project_name(name),)).fetchone()
    if row is None:
        raise errors.ArgumentError(f"no project is called {errors.shorten_value(name)!r}", name)
    return int(row[0])


def rename_project(conn: sqlite3.Connection, key: int, new_name: str, now: int) -> None:
    """Give a project another name. Its old one still finds it, and is never that of another project.

    :raises ArgumentError: it is empty, holds a secret or a hidden character, is too long, or another project has or had it
    """
    name = to_project_name(new_name)
    if not name or name != " ".join(unicodedata.normalize("NFC", new_name).split()):
        raise errors.ArgumentError(
            f"a project's name has 1 to {MAX_PROJECT_NAME} visible characters and no secret", new_name
        )
    (old,) = conn.execute("SELECT name FROM projects WHERE id = ?", (key,)).fetchone()
    folded = fold_project_name(name)
    owner = conn.execute("SELECT id, coalesce(joined_id, id) FROM projects WHERE folded = ?", (folded,)).fetchone()
    if owner is not None and owner[1] != key:
        raise errors.ArgumentError(f"another project has or had the name {errors.shorten_value(name)!r}", name)
    put = "UPDATE projects SET name = ?, folded = ? WHERE id = ?"
    if owner is not None and owner[0] != key:  # a name that it had before: the two change places
        conn.execute(put, (old, f"{folded}\n", owner[0]))
        conn.execute(put, (name, folded, key))
        conn.execute(put, (old, fold_project_name(old), owner[0]))
        return
    conn.execute(put, (name, folded, key))
    if fold_project_name(old) != folded:
        conn.execute(
            "INSERT INTO projects (uid, name, folded, seen_at, joined_id) VALUES (?, ?, ?, ?, ?)",
            (uids.new_uid(now), old, fold_project_name(old), now, key),
        )


def to_project_name(name: str) -> str:
    """Return a label as a project may have it; empty when nothing of it is left."""
    return to_listed_name(" ".join(unicodedata.normalize("NFC", name).split()))[:MAX_PROJECT_NAME]


def insert_project(conn: sqlite3.Connection, proposed: str, now: int, *, uid: bytes | None = None) -> int:
    """Insert a project under this name, or the next one that no project has: `shop`, `shop-2` …; return its key."""
    base = to_project_name(proposed) or NAMELESS
    name, number = base, 1
    while conn.execute("SELECT 1 FROM projects WHERE folded = ?", (fold_project_name(name),)).fetchone():
        number += 1
        name = f"{base}-{number}"
    sql = "INSERT INTO projects (uid, name, folded, seen_at) VALUES (?, ?, ?, ?)"
    cursor = conn.execute(sql, (uid or uids.new_uid(now), name, fold_project_name(name), now))
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def project_words(conn: sqlite3.Connection, key: int) -> dict[str, Any]:
    """Return a project in portable words: its uid and name, those of the one it has joined, and no path."""
    uid, name, joined_id = conn.execute("SELECT uid, name, joined_id FROM projects WHERE id = ?", (key,)).fetchone()
    words: dict[str, Any] = {"uid": uids.format_uid(uid), "name": name}
    sql = "SELECT kind, value FROM project_aliases WHERE project_id = ? AND kind IN ('remote', 'root') ORDER BY 1, 2"
    for kind, value in conn.execute(sql, (key if joined_id is None else joined_id,)):
        words.setdefault(f"{kind}s", []).append(value)
    if joined_id is not None:
        words["joined"] = project_words(conn, joined_id)
    return words


def ensure_project(conn: sqlite3.Connection, words: Any, now: int, *, depth: int = 0) -> int:
    """Return the key of the project that `project_words` described, created when it is new.

    It is found by its uid, else by its remotes, else by its root commits when it has no remote.

    :raises ValueError: KeyError, TypeError: these are no words of a project
    """
    uid, name = uids.parse_uid(words["uid"]), words["name"]
    if not isinstance(name, str):
        raise ValueError("a project has a name")
    remotes, roots = (portable_aliases(words, kind) for kind in ("remotes", "roots"))
    values = remotes or roots
    row = conn.execute("SELECT id FROM projects WHERE uid = ?", (uid,)).fetchone()
    if row is not None:
        if depth == 0 and "joined" not in words:
            learn_identities(conn, int(row[0]), values, now)
        return int(row[0])
    for kind, value in values:
        row = conn.execute(FIND_ALIAS, (kind, value)).fetchone()
        if row is not None and depth == 0 and "joined" not in words:
            return int(row[0])
    key = insert_project(conn, name, now, uid=uid)
    if "joined" in words and depth == 0:
        joined = ensure_project(conn, words["joined"], now, depth=1)
        conn.execute("UPDATE projects SET joined_id = ? WHERE id = ?", (joined, key))
        return key
    for kind, value in (*remotes, *roots):
        conn.execute("INSERT OR IGNORE INTO project_aliases VALUES (?, ?, ?, ?)", (kind, value, key, now))
    return key


def learn_identities(conn: sqlite3.Connection, key: int, identities: Sequence[tuple[str, str]], now: int) -> None:
    """Add identities that a project has gained elsewhere; one by which another project is known here joins the two.

    Only to a project that this machine has not seen itself: what it has seen is not altered by what others say.
    """
    if conn.execute(IS_SEEN_HERE, (key,)).fetchone() is not None:
        return
    for kind, value in identities:
        row = conn.execute(FIND_ALIAS, (kind, value)).fetchone()
        if row is None:
            conn.execute("INSERT INTO project_aliases VALUES (?, ?, ?, ?)", (kind, value, key, now))
        elif row[0] != key:
            merge_projects(conn, key, row[0])
            return


def merge_projects(conn: sqlite3.Connection, key: int, into: int) -> None:
    conn.execute("UPDATE projects SET joined_id = ?1 WHERE id = ?2 OR joined_id = ?2", (into, key))
    conn.execute("UPDATE project_aliases SET project_id = ? WHERE project_id = ?", (into, key))


def write_place_choice(conn: sqlite3.Connection, places: str, at: int | None) -> None:
    conn.execute("INSERT OR REPLACE INTO place_choice (id, places, chosen_at) VALUES (1, ?, ?)", (places, at))


def are_project_words(words: Any, *, depth: int = 0) -> bool:
    """Check whether another machine's words of a project make sense."""
    if not isinstance(words, dict) or not isinstance(words.get("name"), str):
        return False
    try:
        uids.parse_uid(words["uid"])
        portable_aliases(words, "remotes"), portable_aliases(words, "roots")
    except (ValueError, KeyError, TypeError, AttributeError):
        return False
    return "joined" not in words or (depth == 0 and are_project_words(words["joined"], depth=1))


def portable_aliases(words: dict[str, Any], kinds: str) -> list[tuple[str, str]]:
    values = words.get(kinds, [])
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ValueError(f"{kinds} are texts")
    return [(kinds.removesuffix("s"), to_masked_name(value)[:1_000]) for value in values[:100]]
