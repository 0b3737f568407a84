"""Look at the branches of one repository: read its refs, ask Git about what they leave open, tell what was found.

It takes seconds at most and runs in the background, never before an answer.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hermes_memory_store.places.branch_marks import DETACHED, UNDECIDED
from hermes_memory_store.places.git_files import Repository
from hermes_memory_store.projects.borrowed_objects import GitFailed, borrow_objects, read_shallow_ends
from hermes_memory_store.projects.branch_merges import BranchTip, MergeSearch, MergeState
from hermes_memory_store.projects.branch_refs import (
    find_default_branch,
    read_branch_birth,
    read_branch_tip,
    read_default_tips,
)
from hermes_memory_store.projects.branch_states import BranchFindings

RUN_S = 30.0
"""How long all that is asked about one repository may take together."""

MAX_BRANCHES = 100
"""Branches that are looked at in one run, those that were written on last."""


class ReaderHead(NamedTuple):
    """Where an agent is that facts are given to."""

    branch: str | None
    commit: str | None


def look_at_branches(
    common: str,
    wanted: dict[str, list[str]],
    last_tips: dict[str, str],
    outside: dict[str, set[tuple[str, str]]],
    readers: list[ReaderHead],
) -> tuple[str | None, list[BranchFindings]]:
    """Return the name of the default branch, and what is found about it and about the readers' branches.

    :param common: the repository's common directory
    :param wanted: commits by branch, the newest first
    :param last_tips: where branches ended when they were last seen
    :param outside: by target, branches and commits of which the target did not contain the commit once
    """
    repository = Repository(common, common, common)
    default = find_default_branch(repository)
    wanted = {name: some for name, some in list(wanted.items())[:MAX_BRANCHES] if name != default}
    tips = {name: read_tip(repository, name, last_tips.get(name)) for name in wanted}
    targets: dict[str, tuple[str, ...]] = {"": () if default is None else read_default_tips(repository, default)}
    for reader in readers:
        if reader.commit is not None and reader.branch != default:
            targets[reader.branch or DETACHED] = (reader.commit,)
    found, deadline = [], time.monotonic() + RUN_S
    for target, commits in targets.items():
        some = {name: commits_of for name, commits_of in wanted.items() if not target or name != target}
        states = search_target(common, commits, some, tips, outside.get(target, set()), deadline)
        found.append(BranchFindings(target, commits, states, tips))
    return default, found


def find_ref_state(common: str, wanted: Mapping[str, object], readers: Sequence[ReaderHead]) -> dict[str, object]:
    """Return what an answer about these branches depends on, read from files: nothing is to be asked again while it stays."""
    repository = Repository(common, common, common)
    default = find_default_branch(repository)
    return {
        "default": default,
        "ends": () if default is None else read_default_tips(repository, default),
        "tips": {name: read_branch_tip(repository, name) for name in list(wanted)[:MAX_BRANCHES]},
        "shallow": tuple(read_shallow_ends(common)),
        "readers": tuple(readers),
    }


def read_tip(repository: Repository, name: str, last: str | None) -> BranchTip:
    """Read where a branch ends and began; where it ended when it was last seen, if it is gone."""
    tip = read_branch_tip(repository, name) if name else None
    if tip is None:
        return BranchTip(last)
    return BranchTip(tip, True, read_branch_birth(repository, name))


def search_target(
    common: str,
    commits: tuple[str, ...],
    wanted: dict[str, list[str]],
    tips: dict[str, BranchTip],
    outside: set[tuple[str, str]],
    deadline: float,
) -> dict[tuple[str, str], MergeState]:
    """Ask Git about one target; everything is undecided where it does not answer."""
    if not wanted or not commits:
        return {}
    is_shallow = bool(read_shallow_ends(common))
    try:
        with borrow_objects(common, sha256=len(commits[0]) == 64, deadline=deadline) as git:
            return MergeSearch(git, commits, is_shallow=is_shallow).find_states(wanted, tips, outside)
    except GitFailed:
        return {(name, commit): MergeState(UNDECIDED) for name, some in wanted.items() for commit in some}
