"""What is known of the branches of projects: read to mark facts, written when Git was asked in the background.

A merge that is noticed is journaled as `branch_merged`, once for each theme that has facts of the branch. Undo leaves such
a row alone: nothing that a person or an agent wrote was changed.
"""

from __future__ import annotations

import builtins
import sqlite3
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from hermes_memory_store import safe_text, uids
from hermes_memory_store.clock import Clock
from hermes_memory_store.database.db import Db
from hermes_memory_store.intake.intake import to_listed_name
from hermes_memory_store.items.journal import Journal, JournalEntry, redact_journal
from hermes_memory_store.items.name_keys import Names
from hermes_memory_store.items.project_rows import FIND_ALIAS
from hermes_memory_store.model import UNKNOWN_ORIGIN, Actor
from hermes_memory_store.places.branch_marks import DETACHED, UNDECIDED
from hermes_memory_store.projects.branch_search import MERGED, BranchFindings, BranchTip, MergeState

BRIDGE = Actor("bridge")
"""Who notices merges."""

MERGE_NOTICED = "branch_merged"

MAX_COMMITS = 500
"""Commits of one project that are looked at in one run, those written at last."""

OF_PROJECT = "project_id IN (SELECT id FROM projects WHERE id = ?1 OR joined_id = ?1)"

WANTED_COMMITS = f"""
    SELECT coalesce(o.branch, ''), o.commit_id FROM origins o
    WHERE {OF_PROJECT} AND o.commit_id IS NOT NULL AND o.salt <> x''
      AND NOT EXISTS (SELECT 1 FROM project_branches b WHERE b.project_id = ?1 AND b.name = o.branch AND b.is_default = 1)
      AND EXISTS (SELECT 1 FROM facts f WHERE f.origin_id = o.id)
      AND NOT EXISTS (
        SELECT 1 FROM branch_states s WHERE s.project_id = ?1 AND s.branch = coalesce(o.branch, '')
          AND s.commit_id = o.commit_id AND s.target = '' AND s.state = 'merged'
      )
    GROUP BY 1, 2 ORDER BY max(o.id) DESC LIMIT {MAX_COMMITS}
"""

IS_MERGED = f"""
    SELECT 1 FROM branch_states WHERE project_id = ? AND branch = ? AND commit_id = ? AND target = ? AND state = '{MERGED}'
"""

PUT_STATE = """
    INSERT INTO branch_states VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET target_commit = excluded.target_commit, state = excluded.state, way = excluded.way,
      was_outside = max(was_outside, excluded.was_outside), checked_at = excluded.checked_at
"""

PUT_BRANCH = """
    INSERT INTO project_branches (uid, project_id, name, tip, is_default, seen_at) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET tip = coalesce(excluded.tip, tip), is_default = excluded.is_default, seen_at = excluded.seen_at
"""

THEMES_OF_BRANCH = f"""
    SELECT DISTINCT f.theme_id FROM origins o JOIN facts f ON f.origin_id = o.id
    WHERE o.{OF_PROJECT} AND o.branch = ?2 ORDER BY f.theme_id
"""

UNUSED_BRANCHES = """
    SELECT b.id, b.uid, b.project_id, b.name FROM project_branches b
    WHERE b.is_default = 0 AND NOT EXISTS (
      SELECT 1 FROM origins o JOIN projects p ON p.id = o.project_id
      WHERE coalesce(p.joined_id, p.id) = b.project_id AND o.branch = b.name
    )
"""


class WatchedProject(NamedTuple):
    project: int
    common: str
    """The common directory of the repository seen last."""


class BranchStates:
    def __init__(self, db: Db, names: Names, journal: Journal, clock: Clock) -> None:
        self._db = db
        self._names = names
        self._journal = journal
        self._clock = clock

    def find_project(self, common: str) -> int | None:
        key: int | None = self._db.value(FIND_ALIAS, ("dir", safe_text.to_printable(common)))
        return key

    def list_watched(self, most: int) -> builtins.list[WatchedProject]:
        """Return projects that facts of a branch came from which is not known to be merged, those seen last first."""
        rows = self._db.rows(
            "SELECT a.project_id, a.value FROM project_aliases a WHERE a.kind = 'dir' AND EXISTS ("
            "SELECT 1 FROM origins o JOIN projects p ON p.id = o.project_id WHERE coalesce(p.joined_id, p.id) = a.project_id"
            " AND o.commit_id IS NOT NULL) ORDER BY a.seen_at DESC LIMIT ?",
            (most,),
        )
        return [WatchedProject(*row) for row in rows]

    def wanted_commits(self, project: int) -> dict[str, builtins.list[str]]:
        """Return the commits that facts were written at and that are not known to be merged, by branch, newest first."""
        by_branch: dict[str, builtins.list[str]] = {}
        for branch, commit in self._db.rows(WANTED_COMMITS, (project,)):
            by_branch.setdefault(branch, []).append(commit)
        return by_branch

    def last_tips(self, project: int) -> dict[str, str]:
        sql = "SELECT name, tip FROM project_branches WHERE project_id = ? AND tip IS NOT NULL"
        return dict(self._db.rows(sql, (project,)))

    def commits_outside(self, project: int, target: str) -> set[tuple[str, str]]:
        """Return branches and commits of which the target did not contain the commit once."""
        sql = "SELECT branch, commit_id FROM branch_states WHERE project_id = ? AND target = ? AND was_outside = 1"
        return set(self._db.rows(sql, (project, safe_text.to_printable(target))))

    def note(self, project: int, default: str | None, findings: BranchFindings) -> int:
        """Keep what Git told; return how many merges were noticed and journaled. A merged commit stays so where Git is unsure."""
        now, count = self._clock(), 0
        if not is_listed(findings.target):
            return 0
        with self._db.write_transaction() as conn:
            self._note_branches(conn, project, default, findings.tips, now)
            commits = ",".join(findings.target_commits)
            for (branch, commit), merge in findings.states.items():
                place = (project, branch, commit, findings.target)
                is_known = merge.state == UNDECIDED and conn.execute(IS_MERGED, place).fetchone() is not None
                if not is_known and is_listed(branch):
                    conn.execute(PUT_STATE, (*place, commits, *merge, now))
            if not findings.target:
                count = self._journal_merges(conn, project, default, findings)
        return count

    def _note_branches(
        self, conn: sqlite3.Connection, project: int, default: str | None, tips: Mapping[str, BranchTip], now: int
    ) -> None:
        conn.execute(
            "UPDATE project_branches SET is_default = 0 WHERE project_id = ? AND name <> ?", (project, default or "")
        )
        ends = {name: tip.tip for name, tip in tips.items() if name and name != DETACHED}
        if default is not None:
            ends.setdefault(default, None)
        for name, tip in ends.items():
            if is_listed(name):
                conn.execute(PUT_BRANCH, (uids.new_uid(now), project, name, tip, int(name == default), now))

    def _journal_merges(
        self, conn: sqlite3.Connection, project: int, default: str | None, findings: BranchFindings
    ) -> int:
        newest: dict[str, tuple[str, MergeState]] = {}
        for (branch, commit), state in findings.states.items():
            newest.setdefault(branch, (commit, state))
        entries: builtins.list[JournalEntry] = []
        (name,) = conn.execute("SELECT name FROM projects WHERE id = ?", (project,)).fetchone()
        for branch, (commit, state) in newest.items():
            sql = "SELECT id, uid, merged_tip FROM project_branches WHERE project_id = ? AND name = ?"
            row = conn.execute(sql, (project, branch)).fetchone()
            tip = findings.tips[branch].tip or commit
            if state.state != MERGED or row is None or row[2] == tip:
                continue
            conn.execute("UPDATE project_branches SET merged_tip = ? WHERE id = ?", (tip, row[0]))
            after = {"project": name, "branch": branch, "commit": tip, "into": default}
            after |= {"target_commit": findings.target_commits[0], "way": state.way}
            for (theme_id,) in conn.execute(THEMES_OF_BRANCH, (project, branch)).fetchall():
                entries.append(JournalEntry(MERGE_NOTICED, "branch", row[1], theme_id, None, after))
        if entries:
            self._journal.append(conn, entries, actor=BRIDGE, at=self._journal.now(conn), origin=UNKNOWN_ORIGIN)
        return len(entries)


@lru_cache(maxsize=1024)
def is_listed(name: str) -> bool:
    """Check whether the name of a branch may be kept; what was written on another stays undecided."""
    return to_listed_name(safe_text.to_printable(name)) == name


def erase_unused_branches(conn: sqlite3.Connection) -> int:
    """Erase what is known of branches that no origin names any more, in the journal too; return how many."""
    return erase_branches(conn, conn.execute(UNUSED_BRANCHES).fetchall())


def erase_branches(conn: sqlite3.Connection, rows: Sequence[tuple[int, bytes, int, str]]) -> int:
    """Erase what is known of these branches: key, uid, key of the project, name."""
    for key, uid, project, name in rows:
        conn.execute("DELETE FROM project_branches WHERE id = ?", (key,))
        conn.execute("DELETE FROM branch_states WHERE project_id = ? AND ? IN (branch, target)", (project, name))
        redact_journal(conn, uid)
    return len(rows)
