"""Projects and their identities, examined and mended. Nothing outside a store proves what a project is called or known by.

The journal names projects by uid in the digests of origins, and by name where a session opened. Beyond that only backups say
what they were: a row is what the newest of them has, or else what makes sense.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

from hermes_memory_store.items.project_rows import NAMELESS, fold_project_name, insert_project
from hermes_memory_store.safe_text import pluralise

PROJECTS = "SELECT id, uid, name, folded, seen_at, joined_id FROM projects NOT INDEXED"

USED_PROJECTS = """
    SELECT project_id FROM sessions WHERE project_id IS NOT NULL
    UNION SELECT project_id FROM origins WHERE project_id IS NOT NULL
"""

DANGLING_ALIASES = "SELECT count(*) FROM project_aliases WHERE project_id NOT IN (SELECT id FROM projects)"

EMPTY_ALIASES = "SELECT count(*) FROM project_aliases WHERE trim(kind) = '' OR trim(value) = ''"

KEPT_IDENTITIES = """
    SELECT a.kind, a.value, p.uid, a.seen_at FROM project_aliases a JOIN projects p ON p.id = a.project_id
    WHERE a.kind <> 'trusted'
"""

NAME_IN_JOURNAL = """
    SELECT json_extract(j.after, '$.project') FROM sessions n JOIN journal j ON j.uid = n.uid AND j.entity = 'session'
    WHERE n.project_id = ? AND json_valid(j.after) AND json_extract(j.after, '$.project') <> ''
    ORDER BY j.seq DESC LIMIT 1
"""


def find_project_faults(conn: sqlite3.Connection, backups: Iterable[sqlite3.Connection]) -> list[str]:
    """Find what cannot be right about projects and their identities, or is not what backups of this store say.

    A project never changes its name, and an identity is never forgotten: at most it becomes another project's. Trust may end.
    """
    projects = {key: (name, folded, joined) for key, _, name, folded, _, joined in conn.execute(PROJECTS)}
    faults = []
    for key, (name, folded, joined) in projects.items():
        if not name.strip():
            faults.append(f"project {key} has no name")
        elif fold_project_name(name) != folded:
            faults.append(f"project {name!r} is compared as {folded!r}")
        if joined is not None and joined not in projects:
            faults.append(f"project {name!r} has joined one that is none")
        elif joined is not None and (joined == key or projects[joined][2] is not None):
            faults.append(f"project {name!r} has joined one that joined another")
    lost = [key for (key,) in conn.execute(USED_PROJECTS) if key not in projects]
    if lost:
        faults.append(f"sessions or origins are of {pluralise(len(lost), 'project')} no longer there")
    for sql, problem in ((DANGLING_ALIASES, "lead to no project"), (EMPTY_ALIASES, "are empty")):
        count = conn.execute(sql).fetchone()[0]
        if count:
            faults.append(f"{count} identities of projects {problem}")
    for old in filter(knows_projects, backups):
        for uid, name in old.execute("SELECT uid, name FROM projects"):
            here = conn.execute("SELECT name FROM projects WHERE uid = ?", (uid,)).fetchone()
            if here is not None and here[0] != name:
                faults.append(f"project {here[0]!r} is called {name!r} in a backup")
        lost_count = len(find_lost_identities(conn, old))
        if lost_count:
            faults.append(f"{lost_count} identities of projects that a backup has are gone")
    return list(dict.fromkeys(faults))


def knows_projects(old: sqlite3.Connection) -> bool:
    return old.execute("SELECT 1 FROM sqlite_master WHERE name = 'projects'").fetchone() is not None


def find_lost_identities(conn: sqlite3.Connection, old: sqlite3.Connection) -> list[tuple[str, str, int, int]]:
    """Find the identities of a backup that are gone, with the key that their project has here."""
    identities = []
    for kind, value, uid, seen_at in old.execute(KEPT_IDENTITIES):
        project = conn.execute("SELECT id FROM projects WHERE uid = ?", (uid,)).fetchone()
        there = conn.execute("SELECT 1 FROM project_aliases WHERE kind = ? AND value = ?", (kind, value)).fetchone()
        if project is not None and there is None:
            identities.append((kind, value, int(project[0]), seen_at))
    return identities


def repair_projects(conn: sqlite3.Connection, backups: Sequence[sqlite3.Connection], now: int) -> None:
    """Mend projects within a running transaction. :param backups: of this store, the newest first"""
    with_projects = [old for old in backups if knows_projects(old)]
    for (key,) in conn.execute(USED_PROJECTS).fetchall():
        if conn.execute("SELECT 1 FROM projects WHERE id = ?", (key,)).fetchone() is None:
            restore_project(conn, with_projects, key, now)
    for key, uid, name, folded, _, joined in conn.execute(PROJECTS).fetchall():
        earlier = [
            row for old in with_projects for row in old.execute("SELECT name FROM projects WHERE uid = ?", (uid,))
        ]
        names = [*(kept for (kept,) in earlier), name, *find_journaled_names(conn, key), folded]
        if name != names[0] or not name.strip() or fold_project_name(name) != folded:
            restore_project_name(conn, key, names)
        root = find_joined_project(conn, key)
        if root != joined:
            conn.execute("UPDATE projects SET joined_id = ? WHERE id = ?", (root, key))
    conn.execute("DELETE FROM project_aliases WHERE trim(kind) = '' OR trim(value) = ''")
    conn.execute("DELETE FROM project_aliases WHERE project_id NOT IN (SELECT id FROM projects)")
    for old in with_projects:
        conn.executemany("INSERT INTO project_aliases VALUES (?, ?, ?, ?)", find_lost_identities(conn, old))


def restore_project(conn: sqlite3.Connection, backups: Iterable[sqlite3.Connection], key: int, now: int) -> None:
    """Restore a project that is gone with its identities; where no backup has it, under its journaled name or none."""
    for old in backups:
        row = old.execute(f"{PROJECTS} WHERE id = ?", (key,)).fetchone()
        if row is not None:
            columns = "(id, uid, name, folded, seen_at, joined_id)"
            conn.execute(f"INSERT OR IGNORE INTO projects {columns} VALUES (?, ?, ?, ?, ?, ?)", row)
            sql = "SELECT kind, value, project_id, seen_at FROM project_aliases WHERE project_id = ? AND kind <> 'trusted'"
            aliases = old.execute(sql, (key,)).fetchall()
            conn.executemany("INSERT OR IGNORE INTO project_aliases VALUES (?, ?, ?, ?)", aliases)
            return
    made = insert_project(conn, next(iter(find_journaled_names(conn, key)), NAMELESS), now)
    conn.execute("UPDATE projects SET id = ? WHERE id = ?", (key, made))


def restore_project_name(conn: sqlite3.Connection, key: int, names: Iterable[str]) -> None:
    """Give a project the first of these names that no other has, or else one that tells no more than that it is one."""
    for name in (*(name for name in names if name.strip()), f"{NAMELESS}-{key}"):
        folded = fold_project_name(name)
        if conn.execute("SELECT 1 FROM projects WHERE folded = ? AND id <> ?", (folded, key)).fetchone() is None:
            conn.execute("UPDATE projects SET name = ?, folded = ? WHERE id = ?", (name, folded, key))
            return


def find_journaled_names(conn: sqlite3.Connection, key: int) -> list[str]:
    return [str(name) for (name,) in conn.execute(NAME_IN_JOURNAL, (key,))]


def find_joined_project(conn: sqlite3.Connection, key: int) -> int | None:
    """Find the project that one has joined in the end; None where it stands alone, or the links lead nowhere."""
    joined = [key]
    while (row := conn.execute("SELECT joined_id FROM projects WHERE id = ?", joined[-1:]).fetchone()) is not None:
        if row[0] is None:
            return joined[-1] if len(joined) > 1 else None
        if row[0] in joined:
            return None
        joined.append(row[0])
    return None
