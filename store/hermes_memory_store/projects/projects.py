"""Projects: recognise the project of a folder by what it was seen as before, and give each a name.

An identity that appears later, such as a first remote, joins the project that is known by its path or its common
directory. Another remote is another project, even with the same history: forks are not their origin. Without a remote,
`repository_choice.py` tells.
"""

from __future__ import annotations

import builtins
import os
import sqlite3
from dataclasses import replace
from functools import lru_cache

from hermes_memory_store import errors, safe_text, uids
from hermes_memory_store.clock import Clock
from hermes_memory_store.database.db import Db
from hermes_memory_store.intake.intake import AdmittedText, to_masked_name
from hermes_memory_store.items.name_keys import Names
from hermes_memory_store.items.project_rows import (
    FIND_ALIAS,
    fold_project_name,
    insert_project,
    merge_projects,
    project_key,
    rename_project,
)
from hermes_memory_store.model import Millis, Origin, Project, ProjectSummary
from hermes_memory_store.places.place_reading import find_plain_project
from hermes_memory_store.places.project_sighting import ProjectSighting, read_project, read_remote
from hermes_memory_store.projects.repository_choice import (
    HAS_REMOTE,
    TWIN,
    TWINS,
    can_be_copy,
    choose_project,
    find_first_commit,
    find_gone_projects,
    find_mixed_repositories,
    part_repositories,
)

PUT_ALIAS = """
    INSERT INTO project_aliases VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET project_id = excluded.project_id, seen_at = excluded.seen_at
    WHERE project_id <> excluded.project_id
"""

SEEN_BEFORE = "SELECT seen_at < ?3 FROM project_aliases WHERE kind = ?1 AND value = ?2"

PUT_SEEN_AT = "UPDATE project_aliases SET seen_at = ?3 WHERE kind = ?1 AND value = ?2 AND seen_at < ?3"

PUT_SAME = """
    INSERT OR IGNORE INTO project_aliases SELECT 'same', value, project_id, seen_at FROM project_aliases
    WHERE project_id = ? AND kind = 'dir'
"""

WITHOUT_ROOT = """
    SELECT value FROM project_aliases a WHERE kind = 'dir' AND value = ? AND NOT EXISTS (
      SELECT 1 FROM project_aliases
      WHERE project_id = a.project_id AND kind IN ('remote', 'root', 'twin') AND value NOT LIKE 'file:%'
    )
"""

PROJECT_NAME = "SELECT name FROM projects WHERE id = ?"

PROJECT_BY_NAME = """
    SELECT id, uid, name FROM projects
    WHERE id = (SELECT coalesce(joined_id, id) FROM projects WHERE folded = ?)
"""

PROJECT_TOTALS = """
    WITH came AS (
      SELECT coalesce(p.joined_id, p.id) AS project_id, count(*) AS facts
      FROM projects p JOIN origins o ON o.project_id = p.id JOIN facts f ON f.origin_id = o.id
      WHERE f.tier <> 'withdrawn' AND (?1 IS NULL OR o.theme_id = ?1) GROUP BY 1
    ), began AS (
      SELECT coalesce(p.joined_id, p.id) AS project_id, count(*) AS sessions
      FROM projects p JOIN sessions n ON n.project_id = p.id
      WHERE ?1 IS NULL OR n.theme_id = ?1 GROUP BY 1
    )
    SELECT p.id, p.uid, p.name, (SELECT max(seen_at) FROM projects WHERE id = p.id OR joined_id = p.id),
      coalesce(facts, 0), coalesce(sessions, 0)
    FROM projects p LEFT JOIN came ON came.project_id = p.id LEFT JOIN began ON began.project_id = p.id
    WHERE p.joined_id IS NULL AND (?1 IS NULL OR facts > 0 OR sessions > 0)
    ORDER BY p.folded
"""


class Projects:
    def __init__(self, db: Db, names: Names, clock: Clock) -> None:
        self._db = db
        self._names = names
        self._clock = clock
        self._known: dict[tuple[tuple[str, str], ...], str] = {}
        self._searched: set[str] = set()
        """Common directories of which the first commit was looked for."""
        db.on_rollback(self._known.clear)

    def locate(self, origin: Origin, folder: str | os.PathLike[str]) -> Origin:
        """Return the origin with the project of a folder, its working tree, branch and commit.

        Only a project that shows an identity for the first time is written down; in a store that is open for reading it
        stays without a name.

        :raises StoreLocked: DiskFull; a new project could not be written down
        """
        return self.place(origin, read_project(folder))

    def place(self, origin: Origin, seen: ProjectSighting) -> Origin:
        """Return the origin with the project that was seen, as `locate` does. :raises StoreLocked: DiskFull"""
        shown = {name: getattr(seen, name) for name in ("root", "folder", "branch", "commit")}
        return replace(origin, project=self.recognise(seen), **shown)

    def recognise(self, seen: ProjectSighting) -> str | None:
        """Return the name of the project that was seen, known from now on; None: it is new and the store read-only.

        A store that is open for reading names the project which a new worktree or clone would join.
        """
        identities = storable_identities(seen)
        name = self._known.get(identities)
        if name is None:
            name = self._find(identities)
            if name is None:
                if self._db.read_only:
                    return self._find_joined(seen, identities)
                with self._db.write_transaction() as conn:
                    key = join_project(conn, seen, identities, self._clock())
                    name = str(conn.execute(PROJECT_NAME, (key,)).fetchone()[0])
                self._names.origins.forget()
            else:
                self._note_same_remote(seen)
            self._known[identities] = name
        return name

    def find(self, seen: ProjectSighting) -> str | None:
        """Return the name of the project that was seen; None where it, or an identity of it, is new. Nothing is written."""
        identities = storable_identities(seen)
        return self._known.get(identities) or self._find(identities)

    def trace(self, seen: ProjectSighting) -> ProjectSighting:
        """Return the sighting with its first commit where that decides whose it is. Git may run, for `LOOK_S` at most."""
        if self.find(seen) is not None:
            return seen
        with self._db.snapshot() as conn:
            first_commit = choose_project(conn, seen, find_project_keys(conn, storable_identities(seen)))[2]
        return replace(seen, first_commit=first_commit)

    def get(self, name: str) -> Project:
        """Return a project by its name, or by that of one which has joined it. :raises QueryError: there is none"""
        row = self._db.row(PROJECT_BY_NAME, (fold_project_name(name),))
        if row is None:
            names = [other for (other,) in self._db.rows("SELECT name FROM projects")]
            near = " or ".join(map(repr, errors.closest_names(name, names))) or "no such name"
            raise errors.QueryError(f"no project is called {errors.shorten_value(name)!r}; known: {near}", name)
        return self._describe(*row)

    def list(self, theme: str | None = None) -> list[ProjectSummary]:
        """Return all projects, by name, and how much came from each. :param theme: only those that anything of it came from"""
        theme_id = None if theme is None else self._names.theme(theme)
        return [
            ProjectSummary(self._describe(key, uid, name), facts, sessions, Millis(seen_at))
            for key, uid, name, seen_at, facts, sessions in self._db.rows(PROJECT_TOTALS, (theme_id,))
        ]

    def find_twins(self, name: str) -> builtins.list[str]:
        """Return the names of other projects with the same first commit: copies, and what was made from one template."""
        return [twin for (twin,) in self._db.rows(TWINS, (name,))]

    def join(self, name: str, into: str) -> Project:
        """Let a project be one with another, since a person says so; return that. :raises QueryError: there is no such project"""
        self.get(name), self.get(into)
        with self._db.write_transaction() as conn:
            key, copy = project_key(conn, into), project_key(conn, name)
            if key == copy:
                raise errors.ArgumentError(f"{name!r} and {into!r} are one project already", name)
            merge_projects(conn, copy, key)
            conn.execute(PUT_SAME, (key,))
        self._forget()
        return self.get(into)

    def trust(self, seen: ProjectSighting, *, trusted: bool = True, kind: str = "trusted") -> Project:
        """Let what a repository's files hold as committed count as the person's own words, or no longer; return its project.

        It is known by its mark: another one that lies there later is not trusted.

        :param kind: of the alias that says so; for another answer of the person
        :raises ArgumentError: there is none
        """
        if seen.common is None:
            raise errors.ArgumentError(f"{errors.shorten_value(seen.root)!r} lies in no repository", seen.root)
        name, value = str(self.recognise(seen)), to_storable_identity(seen.mark or seen.common)
        with self._db.write_transaction() as conn:
            conn.execute("DELETE FROM project_aliases WHERE kind = ? AND value = ?", (kind, value))
            if trusted:
                conn.execute(PUT_ALIAS, (kind, value, project_key(conn, name), self._clock()))
        return self.get(name)

    def is_trusted(self, seen: ProjectSighting, kind: str = "trusted") -> bool:
        value = to_storable_identity(seen.mark or seen.common or "")
        return self._db.value("SELECT 1 FROM project_aliases WHERE kind = ? AND value = ?", (kind, value)) is not None

    def rename(self, name: str, to: str) -> Project:
        """Give a project another name. Its old one still finds it, and is never that of another project.

        :raises QueryError: there is no such project
        :raises ArgumentError: another project has or had that name, or it cannot be one
        """
        self.get(name)
        with self._db.write_transaction() as conn:
            rename_project(conn, project_key(conn, name), to, self._clock())
        self._known.clear()
        self._names.forget_titles()
        return self.get(name)

    def _describe(self, key: int, uid: bytes, name: str) -> Project:
        sql = "SELECT kind, value FROM project_aliases WHERE project_id = ? ORDER BY seen_at, value"
        aliases = self._db.rows(sql, (key,))
        remotes, roots, paths = (
            tuple(value for kind, value in aliases if kind in kinds)
            for kinds in (("remote",), ("root",), ("dir", "path"))
        )
        return Project(uids.format_uid(uid), name, remotes, roots, paths, any(kind == "trusted" for kind, _ in aliases))

    def note_first_commit(self, seen: ProjectSighting) -> None:
        """Find and note the first commit of a repository whose project is known by nothing but paths, once in a process."""
        if seen.common is None or seen.common in self._searched or not self.lacks_root(seen.common):
            return
        self._searched.add(seen.common)
        if first := find_first_commit(seen):
            self.note_root(seen.common, first)

    def lacks_root(self, common: str) -> bool:
        """Check whether the project of a common directory is known by nothing but paths."""
        return self._db.value(WITHOUT_ROOT, (safe_text.to_printable(common),)) is not None

    def note_root(self, common: str, root: str) -> None:
        """Note the root commit of the repository with this common directory; its project joins one that is known by it."""
        with self._db.write_transaction() as conn:
            row = conn.execute(FIND_ALIAS, ("dir", safe_text.to_printable(common))).fetchone()
            if row is not None:
                note_root_commit(conn, row[0], root, common, self._clock())
        self._forget()

    def _forget(self) -> None:
        """Forget which project is whose, since two have become one."""
        self._known.clear()
        self._names.origins.forget()

    def _note_same_remote(self, seen: ProjectSighting) -> None:
        """Note that a configuration which has changed since names the same remote: `find_known_folder` believes it then."""
        if seen.common is None or self._db.read_only:
            return
        try:
            changed_at = os.stat(os.path.join(seen.common, "config")).st_mtime_ns // 1_000_000
        except (OSError, ValueError):
            return
        kind, value = ("dir", seen.common) if seen.mark is None else ("mark", seen.mark)
        words = kind, to_storable_identity(value), changed_at
        if self._db.value(SEEN_BEFORE, words) and read_remote(seen.common)[0] == seen.remote:
            with self._db.write_transaction() as conn:
                conn.execute(PUT_SEEN_AT, words)

    def _find(self, identities: tuple[tuple[str, str], ...]) -> str | None:
        """Find the project whose identities these all are, or that of a folder above one in no repository."""
        if len(identities) == 1:  # a path alone
            keys = {find_plain_project(self._db.rows, identities[0][1])}
        else:
            keys = {self._db.value(FIND_ALIAS, identity) for identity in identities}
        return None if len(keys) != 1 or None in keys else str(self._db.value(PROJECT_NAME, (keys.pop(),)))

    def _find_joined(self, seen: ProjectSighting, identities: tuple[tuple[str, str], ...]) -> str | None:
        with self._db.snapshot() as conn:
            keys = find_project_keys(conn, identities)
            key = choose_project(conn, replace(seen, first_commit=seen.first_commit or ""), keys)[0]
            if key is None or ("mark" not in keys and seen.common in find_mixed_repositories(conn, key)):
                return None
            return str(conn.execute(PROJECT_NAME, (key,)).fetchone()[0])


def storable_identities(seen: ProjectSighting) -> tuple[tuple[str, str], ...]:
    """Return the identities of a sighting as text that can be stored: a path may hold bytes that are none."""
    return tuple((kind, to_storable_identity(value)) for kind, value in seen.identities)


@lru_cache(maxsize=1024)
def to_storable_identity(value: str) -> AdmittedText:
    """Return an identity without secrets and with every character shown."""
    return to_masked_name(safe_text.to_printable(value))


def join_project(
    conn: sqlite3.Connection, seen: ProjectSighting, identities: tuple[tuple[str, str], ...], now: int
) -> int:
    """Return the key of the project of a sighting; all its identities are that project's own from now on."""
    keys = find_project_keys(conn, identities)
    if seen.mark is not None and "mark" not in keys:
        for project in set(keys.values()):
            part_repositories(conn, project, now)
        keys = find_project_keys(conn, identities)
    key, here, first_commit = choose_project(conn, seen, keys)
    if key is None:
        key = insert_project(conn, seen.label, now)
    elif here is not None and here != key and conn.execute(HAS_REMOTE, (here,)).fetchone() is None:
        merge_projects(conn, here, key)
    conn.executemany(PUT_ALIAS, [(kind, value, key, now) for kind, value in identities])
    if first_commit and seen.common is not None:
        note_root_commit(conn, key, first_commit, seen.common, now)
    return key


def find_project_keys(conn: sqlite3.Connection, identities: tuple[tuple[str, str], ...]) -> dict[str, int]:
    rows = ((kind, conn.execute(FIND_ALIAS, (kind, value)).fetchone()) for kind, value in identities)
    return {kind: int(row[0]) for kind, row in rows if row is not None}


def note_root_commit(conn: sqlite3.Connection, key: int, root: str, common: str, now: int) -> None:
    """Note a project's first commit; it joins the one other project that is known by it and lies nowhere any more."""
    row = conn.execute(FIND_ALIAS, ("root", root)).fetchone()
    if row is None:
        conn.execute(PUT_ALIAS, ("root", root, key, now))
    elif row[0] != key and conn.execute(HAS_REMOTE, (key,)).fetchone() is None:
        former = find_gone_projects(conn).get(root)
        if former is None or not can_be_copy(conn, former, common):
            conn.execute(PUT_ALIAS, (TWIN, f"{root} {safe_text.to_printable(common)}", key, now))
        else:
            merge_projects(conn, key, former)
