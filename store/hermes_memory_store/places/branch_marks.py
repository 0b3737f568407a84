"""Which facts were written on a branch that is not merged, by what is stored of it: no process, no file of a repository.

For a reader in the same project on the same branch, or on the default branch as far as it was looked at, a state is known;
whatever is not known is undecided, and given.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from hermes_memory_store.places.git_files import USUAL_DEFAULTS
from hermes_memory_store.places.place_queries import PERSONAL

UNMERGED, UNDECIDED = "unmerged", "undecided"

DETACHED = "@"
"""Stands for the branch of a reader whose HEAD is detached: no branch can have this name."""

ERASED = "(purged)"
"""What stands for a branch whose name was erased."""

MAX_NAME = 40
"""Characters of a branch's name in a label."""

STATES = """
    WITH wanted AS (
      SELECT key AS n, value ->> 0 AS project_id, coalesce(value ->> 1, '') AS branch, value ->> 2 AS commit_id
      FROM json_each(?1)
    )
    SELECT w.n, b.name, d.state, d.target_commit, r.state
    FROM wanted w
    LEFT JOIN project_branches b ON b.project_id = w.project_id AND b.is_default = 1
    LEFT JOIN branch_states d ON d.project_id = w.project_id AND d.branch = w.branch AND d.commit_id = w.commit_id
      AND d.target = ''
    LEFT JOIN branch_states r ON r.project_id = w.project_id AND r.branch = w.branch AND r.commit_id = w.commit_id
      AND r.target = ?2 AND r.target_commit = ?3
"""


class WrittenAt(NamedTuple):
    """Where a fact was written."""

    project: int | None
    """The key of its project, of the one that this has joined; None: unknown here."""
    branch: str | None
    commit: str | None


class BranchMark(NamedTuple):
    """What a fact is marked with."""

    state: str
    """`unmerged`: known to be so, and elsewhere; `undecided`."""
    branch: str | None
    commit: str | None

    @property
    def label(self) -> str:
        """What stands behind the fact: `(branch pay)`, with a question mark where it is undecided."""
        unsure = "?" if self.state == UNDECIDED else ""
        if not self.branch:
            return f"(commit {(self.commit or '')[:7]}{unsure})"
        name = self.branch if len(self.branch) <= MAX_NAME else f"{self.branch[: MAX_NAME - 1]}…"
        return f"(branch {name}{unsure})"


class HotPlace(NamedTuple):
    """How a mark changes the place of a hot fact in a context block."""

    mark: BranchMark
    is_lowered: bool
    is_held: bool
    tokens: int
    """What the label costs."""


def find_branch_marks(
    rows: Callable[[str, Sequence[Any]], Sequence[Sequence[Any]]], wanted: Collection[WrittenAt], reader: WrittenAt
) -> dict[WrittenAt, BranchMark]:
    """Return the marks of those of these places that have one: one statement, none where no fact is from another branch.

    :param rows: runs a statement on a store of this version
    :param reader: where the agent is that is given the facts
    """
    open_ones = [one for one in wanted if is_elsewhere(one, reader)]
    if not open_ones:
        return {}
    target = reader.branch or (DETACHED if reader.commit else "")
    found: dict[WrittenAt, BranchMark] = {}
    said = json.dumps([list(one) for one in open_ones])
    for n, default, of_default, default_commits, of_reader in rows(STATES, (said, target, reader.commit or "")):
        one = open_ones[int(n)]
        if is_default_branch(one, default) or "merged" in (of_default, of_reader):
            continue
        unmerged = of_default == UNMERGED
        if unmerged and one.project == reader.project:
            on_default = reader.branch is not None and is_default_branch(reader, default)
            known_here = (reader.commit or "") in default_commits if on_default else of_reader == UNMERGED
            unmerged = known_here and reader.branch is not None
        found[one] = BranchMark(UNMERGED if unmerged else UNDECIDED, one.branch, one.commit)
    return found


def is_elsewhere(one: WrittenAt, reader: WrittenAt) -> bool:
    """Check whether a fact may be from another branch than the reader's."""
    if (one.branch is None and one.commit is None) or ERASED in (one.branch, one.commit):
        return False
    return (
        one.project != reader.project
        or one.project is None
        or (one.branch or one.commit) != (reader.branch if one.branch else reader.commit)
    )


def is_default_branch(one: WrittenAt, default: str | None) -> bool:
    """Check whether a place is on its project's default branch. :param default: its name; None: it is not known"""
    return one.branch == default if default is not None else one.branch in USUAL_DEFAULTS


def is_lowered(mark: BranchMark | None, fact_type: str, author: str, theme: str, *, is_pinned: bool = False) -> bool:
    """Check whether a fact is ranked lower, or held back where the theme says so.

    Constraints, what a person wrote, the person's own facts, and what is pinned never are.

    :param author: the kind of its actor
    :param theme: the name of the theme it is in
    """
    if mark is None or mark.state != UNMERGED:
        return False
    return not (fact_type == "C" or author == "person" or theme == PERSONAL or is_pinned)
