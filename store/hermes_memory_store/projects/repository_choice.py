"""Whose a repository is that shows an identity for the first time: moved, one of several with one beginning, or new.

Without a remote it is the project that has its first commit, if that is one alone and lies nowhere any more. As long as
both are there they are two, and so is a clone of a folder of this machine, until a person says otherwise.
"""

from __future__ import annotations

import os
import sqlite3

from hermes_memory_store.items.project_rows import insert_project
from hermes_memory_store.places.git_files import read_mark, read_shallow_ends, repository_at
from hermes_memory_store.places.project_sighting import ProjectSighting, read_remote
from hermes_memory_store.projects.borrowed_objects import GitFailed, borrow_objects

TIMEOUT_S = 60.0
"""The history of the Linux kernel, a million commits, takes 12 s without a commit graph."""

LOOK_S = 0.6
"""How long Git may look for a first commit while somebody waits: a hook has one second in all."""

TWIN, SAME = "twin", "same"
"""Kinds of aliases: first commit and common directory of a project where the alias `root` is another one's; a common directory
of which a person said that it is its project's as much as the others are."""

FIRST_COMMITS = """
    SELECT substr(value, 1, instr(value || ' ', ' ') - 1) AS first, project_id
    FROM project_aliases WHERE kind IN ('root', 'twin')
"""

TWINS = f"""
    WITH firsts AS (SELECT first, name FROM ({FIRST_COMMITS}) JOIN projects ON id = project_id)
    SELECT DISTINCT name FROM firsts WHERE name <> ?1 AND first IN (SELECT first FROM firsts WHERE name = ?1) ORDER BY 1
"""

OWNERS = f"SELECT first, min(project_id) FROM ({FIRST_COMMITS}) GROUP BY 1 HAVING count(DISTINCT project_id) = 1"

HAS_REMOTE = "SELECT 1 FROM project_aliases WHERE project_id = ? AND kind = 'remote' AND value NOT LIKE 'file:%'"

OF_PROJECT = "SELECT value FROM project_aliases WHERE project_id = ? AND kind = ? ORDER BY seen_at"

FORMER_PROJECT = """
    SELECT p.id FROM projects p JOIN origins o ON o.project_id = p.id WHERE p.joined_id = ? AND o.root IN ({})
    GROUP BY p.id ORDER BY count(*) DESC LIMIT 1
"""


def choose_project(
    conn: sqlite3.Connection, seen: ProjectSighting, keys: dict[str, int]
) -> tuple[int | None, int | None, str | None]:
    """Return the key of the project that a sighting belongs to, that which is known here, and the first commit if it mattered.

    Without the first it is a new project; where the two differ, what is known here joins the project that has its remote.

    :param keys: as `find_project_keys` returns them
    """
    here = next((keys[kind] for kind in ("mark", "dir", "path") if kind in keys), None)
    first = seen.first_commit
    if here is not None and "mark" not in keys and seen.mark is not None and list_aliases(conn, here, "mark"):
        # another repository lies there now, unless it came back from a copy
        roots = {value for value, key in conn.execute(FIRST_COMMITS) if key == here}
        first = find_first_commit(seen) if roots else first
        has_other_remote = seen.remote is not None and conn.execute(HAS_REMOTE, (here,)).fetchone() is not None
        is_other = first not in {*roots, ""} or seen.commit is None or not can_be_copy(conn, here, seen.common or "")
        if has_other_remote or (roots and is_other):
            here = None
    key = keys.get("remote", here)
    if key is None and "path" not in keys and seen.common and seen.commit and seen.remote is None:
        former = {root: key for root, key in find_gone_projects(conn).items() if can_be_copy(conn, key, seen.common)}
        first = find_first_commit(seen) if former else first
        key = former.get(first or "")
    return key, here, first


def find_first_commit(seen: ProjectSighting) -> str:
    """Return the first commit of a repository; empty where it has none, or it cannot be found so soon."""
    if seen.first_commit is None and seen.common is not None:
        return find_root_commit(seen.common, seen.commit, LOOK_S) or ""
    return seen.first_commit or ""


def find_gone_projects(conn: sqlite3.Connection) -> dict[str, int]:
    """Return the projects that alone have a first commit and lie nowhere on this machine, by that commit."""
    gone = {}
    for first, key in conn.execute(OWNERS).fetchall():
        # A path with bytes that are no text is stored in a form that cannot be looked for.
        if not any("\\u{" in path or os.path.exists(path) for path in list_aliases(conn, key, "dir")):
            gone[first] = key
    return gone


def can_be_copy(conn: sqlite3.Connection, key: int, common: str) -> bool:
    """Check whether a repository was made from that of a project, as no other one is that was made from its template before."""
    marks = (read_mark(common) or ":0", *list_aliases(conn, key, "mark"))
    made, *times = (int(mark.rpartition(":")[2]) for mark in marks)
    if any(abs(made - time) < 1_000 or made == time - time % 10**9 for time in times):  # as archives round it
        return True
    source = read_remote(common)[1]
    (since,) = conn.execute("SELECT seen_at FROM projects WHERE id = ?", (key,)).fetchone()
    is_foreign = source is not None and source not in list_aliases(conn, key, "path")
    return not is_foreign and (not made or not times or made // 10**6 >= since)


def list_aliases(conn: sqlite3.Connection, key: int, kind: str) -> list[str]:
    return [value for (value,) in conn.execute(OF_PROJECT, (key, kind))]


def find_mixed_repositories(conn: sqlite3.Connection, key: int) -> dict[str, list[str]]:
    """Return common directories of repositories that a project has besides its first one without a remote in common, with paths.

    Stores of 0.4.0, which had no marks, took those with one first commit, or with one folder as their remote, for one project.
    """
    living = [path for path in list_aliases(conn, key, "dir") if os.path.isdir(path)]
    if len(living) < 2:
        return {}
    marks, same = list_aliases(conn, key, "mark"), list_aliases(conn, key, SAME)
    own = [path for path in living if path in same or read_mark(path) in marks or read_remote(path)[0] is not None]
    alone = [path for path in living if path not in own]
    first = (own or living)[0]
    paths: dict[str, list[str]] = {path: [] for path in alone if not os.path.samefile(path, first)}
    for path in list_aliases(conn, key, "path"):
        repository = repository_at(path)
        if repository is not None and repository.common in paths:
            paths[repository.common].append(path)
    return paths


def part_repositories(conn: sqlite3.Connection, key: int, now: int) -> None:
    """Give each of a project's mixed repositories one of its own: what it had before, else a new one. No fact is moved."""
    for common, paths in find_mixed_repositories(conn, key).items():
        row = conn.execute(FORMER_PROJECT.format(", ".join("?" * len(paths))), (key, *paths)).fetchone()
        if row is None:
            label = os.path.basename(paths[0] if paths else common.removesuffix("/.git")).removesuffix(".git")
            row = (insert_project(conn, label, now),)
        conn.execute("UPDATE projects SET joined_id = NULL WHERE id = ?", row)
        for kind, value in (("dir", common), *(("path", path) for path in paths)):
            conn.execute("UPDATE project_aliases SET project_id = ? WHERE kind = ? AND value = ?", (*row, kind, value))


def find_root_commit(common: str, commit: str | None, seconds: float = TIMEOUT_S) -> str | None:
    """Return the commit without parents that is first in line before `commit`; None where Git cannot find it in this time."""
    if commit is None or read_shallow_ends(common):
        return None
    try:
        with borrow_objects(common, sha256=len(commit) == 64) as git:
            words = ("rev-list", "--first-parent", "--max-parents=0", commit, "--")
            commits = git.run(*words, seconds=seconds).decode("ascii", "replace").split()
    except GitFailed:
        return None
    return commits[-1] if commits else None
