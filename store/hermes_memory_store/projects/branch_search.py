"""Which commits of branches are merged into a target: by merge, fast-forward, rebase, cherry-pick or unmodified squash.

Refs are read from files; what they leave open is asked of Git, over borrowed objects, one command at a time and each with a
deadline. It takes seconds at most and runs in the background, never before an answer. What Git cannot know is undecided: a
commit that is not here, a shallow history, a branch that is gone and left no trace of a merge.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from hermes_memory_store.places.branch_marks import DETACHED, UNDECIDED, UNMERGED
from hermes_memory_store.places.git_files import (
    Repository,
    find_default_branch,
    read_branch_birth,
    read_branch_tip,
    read_default_tips,
    read_shallow_ends,
)
from hermes_memory_store.projects.borrowed_objects import BorrowedObjects, GitFailed, borrow_objects

RUN_S = 30.0
"""How long all that is asked about one repository may take together."""

MAX_BRANCHES = 100
"""Branches that are looked at in one run, those that were written on last."""

MERGED = "merged"

MAX_OWN = 300
"""Commits of one branch that are compared with those of the target."""

MAX_COMPARED = 1_000
"""Commits of the target that touch the same files and are compared, the newest."""

MAX_PATHS = 200
"""Files of a branch that the target's commits are narrowed by."""

MAX_TREES = 20_000
"""Commits of the target whose whole content is compared with a branch's."""

MAX_PARTS = 3
"""Commits in the middle of a branch that are looked for as squashed themselves."""


class BranchTip(NamedTuple):
    tip: str | None = None
    """Where it ends; where it was last seen when it is gone."""
    is_here: bool = False
    """Whether there is such a branch now."""
    birth: str | None = None
    """Where it began, if its log tells."""


class MergeState(NamedTuple):
    state: str
    way: str | None = None
    """How it came in: `merge`, `rebase` or `squash`."""
    is_outside: bool = False
    """Whether the target does not contain the commit itself."""


class BranchFindings(NamedTuple):
    target: str
    """Name of the branch; empty for the default one."""
    target_commits: tuple[str, ...]
    states: Mapping[tuple[str, str], MergeState]
    tips: Mapping[str, BranchTip]


class ReaderHead(NamedTuple):
    branch: str | None
    commit: str | None


def look_at_branches(
    common: str,
    commits_by_branch: dict[str, list[str]],
    last_tips: dict[str, str],
    outside: dict[str, set[tuple[str, str]]],
    readers: list[ReaderHead],
) -> tuple[str | None, list[BranchFindings]]:
    """Return the name of the default branch, and what is found about it and about the readers' branches.

    :param common: the repository's common directory
    :param commits_by_branch: commits by branch, the newest first
    :param last_tips: where branches ended when they were last seen
    :param outside: by target, branches and commits of which the target did not contain the commit once
    """
    repository = Repository(common, common, common)
    default = find_default_branch(repository)
    commits_by_branch = {name: some for name, some in list(commits_by_branch.items())[:MAX_BRANCHES] if name != default}
    tips = {}
    for name in commits_by_branch:
        tip = read_branch_tip(repository, name)
        is_here = tip is not None
        tips[name] = BranchTip(
            tip or last_tips.get(name), is_here, read_branch_birth(repository, name) if is_here else None
        )
    targets: dict[str, tuple[str, ...]] = {"": () if default is None else read_default_tips(repository, default)}
    for reader in readers:
        if reader.commit is not None and reader.branch != default:
            targets[reader.branch or DETACHED] = (reader.commit,)
    findings, deadline = [], time.monotonic() + RUN_S
    for target, commits in targets.items():
        some = {name: commits_of for name, commits_of in commits_by_branch.items() if not target or name != target}
        states = search_target(common, commits, some, tips, outside.get(target, set()), deadline)
        findings.append(BranchFindings(target, commits, states, tips))
    return default, findings


def find_ref_state(common: str, branches: Mapping[str, object], readers: Sequence[ReaderHead]) -> dict[str, object]:
    """Return what an answer about these branches depends on, read from files: nothing is to be asked again while it stays."""
    repository = Repository(common, common, common)
    default = find_default_branch(repository)
    return {
        "default": default,
        "ends": () if default is None else read_default_tips(repository, default),
        "tips": {name: read_branch_tip(repository, name) for name in list(branches)[:MAX_BRANCHES]},
        "shallow": tuple(read_shallow_ends(common)),
        "readers": tuple(readers),
    }


def search_target(
    common: str,
    commits: tuple[str, ...],
    commits_by_branch: dict[str, list[str]],
    tips: dict[str, BranchTip],
    outside: set[tuple[str, str]],
    deadline: float,
) -> dict[tuple[str, str], MergeState]:
    """Ask Git about one target; everything is undecided where it does not answer."""
    if not commits_by_branch or not commits:
        return {}
    is_shallow = bool(read_shallow_ends(common))
    try:
        with borrow_objects(common, sha256=len(commits[0]) == 64, deadline=deadline) as git:
            return MergeSearch(git, commits, is_shallow=is_shallow).find_states(commits_by_branch, tips, outside)
    except GitFailed:
        return {(name, commit): MergeState(UNDECIDED) for name, some in commits_by_branch.items() for commit in some}


class PatchComparison(NamedTuple):
    """The commits of a branch that the target does not contain, and which of them it has as patches."""

    parents: Mapping[str, tuple[str, ...]]
    equal: Collection[str]
    """Those whose patch a commit of the target has, or that change nothing."""
    patched: Collection[str]
    """Those with a patch of their own."""

    def is_rebased(self, commit: str) -> bool:
        """Check whether every patch that leads to this commit is in the target."""
        is_patched, queue, seen = False, [commit], {commit}
        while queue:
            ancestor = queue.pop()
            if ancestor not in self.parents:
                continue
            if ancestor not in self.equal:
                return False
            is_patched = is_patched or ancestor in self.patched
            queue += {*self.parents[ancestor]} - seen
            seen.update(self.parents[ancestor])
        return is_patched


class MergeSearch:
    def __init__(self, git: BorrowedObjects, targets: Sequence[str], *, is_shallow: bool) -> None:
        """:param targets: the commits at which the target ends: one, or the local and the remote one"""
        self._git = git
        self._targets = targets
        self._is_shallow = is_shallow
        self._patch_ids: dict[str, str] = {}
        self._here: set[str] = set()
        self._contained: set[str] = set()

    def find_states(
        self,
        commits_by_branch: Mapping[str, Sequence[str]],
        tips: Mapping[str, BranchTip],
        outside: Collection[tuple[str, str]],
    ) -> dict[tuple[str, str], MergeState]:
        """Return the state of each branch and commit. What no time is left for is undecided.

        :param commits_by_branch: commits by branch, the newest first; the branch without a name is a detached HEAD
        :param outside: branches and commits of which it is known that the target did not contain the commit once
        :raises GitFailed: nothing can be found out
        """
        commits = {commit for some in commits_by_branch.values() for commit in some}
        ends = {end for name in commits_by_branch for end in (tips[name].tip, tips[name].birth) if end is not None}
        self._here = self._find_here({*commits, *ends, *self._targets})
        self._targets = [target for target in self._targets if target in self._here]
        for target in self._targets:
            self._contained |= self._find_contained(target, (commits | ends) & self._here)
        merge_states: dict[tuple[str, str], MergeState] = {}
        for branch, some in commits_by_branch.items():
            states = self._find_branch_states(branch, some, tips[branch], outside)
            merge_states |= {(branch, commit): state for commit, state in states.items()}
        return merge_states

    def _find_branch_states(
        self, branch: str, commits: Sequence[str], tip: BranchTip, outside: Collection[tuple[str, str]]
    ) -> dict[str, MergeState]:
        states: dict[str, MergeState] = {}
        at_birth = self._find_before_birth(branch, commits, tip, outside)
        for commit in commits:
            if commit not in self._here or not self._targets:
                states[commit] = MergeState(UNDECIDED)
            elif commit in self._contained and commit not in at_birth:
                states[commit] = MergeState(MERGED, "merge")
            elif commit in self._contained and tip.tip == commit:
                states[commit] = MergeState(UNDECIDED)  # nothing was committed on the branch yet
            elif commit in self._contained and tip.tip in self._contained:
                states[commit] = MergeState(MERGED, "merge")
        missing = [commit for commit in commits if commit not in states]
        try:
            return states | (self._compare_branch(missing, tip, at_birth) if missing else {})
        except GitFailed:
            return states | dict.fromkeys(missing, MergeState(UNDECIDED))

    def _find_before_birth(
        self, branch: str, commits: Sequence[str], tip: BranchTip, outside: Collection[tuple[str, str]]
    ) -> set[str]:
        """Find the commits that were there before the branch: what was written at them belongs to its first own one."""
        if not tip.is_here or tip.birth is None or tip.birth not in self._here:
            return set()
        candidates = {commit for commit in commits if commit in self._contained and (branch, commit) not in outside}
        try:
            return self._find_contained(tip.birth, candidates)
        except GitFailed:
            return set()

    def _compare_branch(self, commits: Sequence[str], tip: BranchTip, at_birth: set[str]) -> dict[str, MergeState]:
        states: dict[str, MergeState] = {}
        is_open = tip.is_here and tip.tip in self._here and tip.tip not in self._contained and not self._is_shallow
        end = tip.tip if tip.tip in self._here and tip.tip not in self._contained else None
        whole = None if end is None else self._compare_patches(end)
        is_squashed = end is not None and self._is_squashed(end)
        parts = 0
        for commit in commits:
            belongs = commit == end or (end is not None and commit in at_birth)
            belongs = belongs or (whole is not None and commit in whole.parents)
            last = end if commit in at_birth else commit
            way = None
            if belongs and is_squashed:
                way = "squash"
            elif belongs and whole is not None and last is not None and whole.is_rebased(last):
                way = "rebase"
            elif commit not in at_birth and commit != end and parts < MAX_PARTS:
                parts += 1
                own = whole if belongs else self._compare_patches(commit)
                rebased = own is not None and own.is_rebased(commit)
                way = "rebase" if rebased else "squash" if self._is_squashed(commit) else None
            is_outside = commit not in self._contained
            state = MERGED if way else UNMERGED if is_open else UNDECIDED
            states[commit] = MergeState(state, way, is_outside)
        return states

    def _find_here(self, commits: Collection[str]) -> set[str]:
        stdin = "".join(f"{commit}\n" for commit in commits).encode()
        lines = self._git.run("cat-file", "--batch-check=%(objectname) %(objecttype)", stdin=stdin).split(b"\n")
        return {line.split()[0].decode() for line in lines if line.endswith(b" commit")}

    def _find_contained(self, target: str, commits: Collection[str]) -> set[str]:
        """Return those of these commits that are reachable from `target`, in one walk."""
        if not commits:
            return set()
        self._git.name_commits(commits)
        words = ("for-each-ref", f"--merged={target}", "--format=%(objectname)", "refs/wanted/")
        return set(self._git.run(*words).decode().split())

    def _compare_patches(self, end: str) -> PatchComparison | None:
        """Compare each commit that leads to `end`, and that the target has not, with the target's; None: too many."""
        beyond = [f"^{target}" for target in self._targets]
        lines = self._git.run("rev-list", "--topo-order", "--parents", f"--max-count={MAX_OWN + 1}", end, *beyond, "--")
        parents = {words[0]: tuple(words[1:]) for line in lines.decode().splitlines() if (words := line.split())}
        if not parents or len(parents) > MAX_OWN:
            return None
        single = [commit for commit, some in parents.items() if len(some) <= 1]
        own = self._find_patch_ids(single)
        theirs = set(self._find_patch_ids(self._find_comparable(end, single)).values())
        equal = {commit for commit in parents if commit not in own or own[commit] in theirs}
        return PatchComparison(parents, equal, own)

    def _is_squashed(self, end: str) -> bool:
        """Check whether one commit of the target holds the whole of a branch, unmodified."""
        for target in self._targets:
            fork = self._git.run("merge-base", target, end, codes=(0, 1)).decode().strip()
            if not fork or fork == end:
                continue
            trees = self._git.run("rev-parse", f"{fork}^{{tree}}", f"{end}^{{tree}}").decode().split()
            if len(set(trees)) == 1:
                continue  # nothing is left of what the branch changed
            lines = self._git.run("log", "--format=%T", f"--max-count={MAX_TREES}", f"{fork}..{target}", "--")
            if trees[1] in lines.decode().split():
                return True
            patch = self._git.run("diff-tree", *PATCH, fork, end)
            patch_id = self._git.run("patch-id", "--stable", stdin=patch).decode().split()[:1]
            if {*patch_id} & {*self._find_patch_ids(self._find_comparable(end, [])).values()}:
                return True
        return False

    def _find_comparable(self, end: str, own: Iterable[str]) -> list[str]:
        stdin = "".join(f"{commit}\n" for commit in own).encode()
        words = ("diff-tree", "--stdin", "-r", "--root", "--no-commit-id", "--name-only", "-z")
        paths = set(self._git.run(*words, stdin=stdin).split(b"\0"))
        for target in self._targets:
            fork = self._git.run("merge-base", target, end, codes=(0, 1)).decode().strip()
            if fork:
                paths |= set(self._git.run("diff-tree", "-r", "--name-only", "-z", fork, end).split(b"\0"))
        narrowed = sorted(map(os.fsdecode, paths - {b""}))
        if len(narrowed) > MAX_PATHS:
            narrowed = []
        bounds = ("--no-merges", f"--max-count={MAX_COMPARED}", *self._targets, f"^{end}")
        return self._git.run("rev-list", *bounds, "--", *narrowed).decode().split()

    def _find_patch_ids(self, commits: Iterable[str]) -> dict[str, str]:
        """Return the identities of the patches of these commits; those that change nothing have none."""
        commits = list(commits)
        missing = [commit for commit in commits if commit not in self._patch_ids]
        if missing:
            stdin = "".join(f"{commit}\n" for commit in missing).encode()
            patches = self._git.run("diff-tree", "--stdin", "--root", *PATCH, stdin=stdin)
            self._patch_ids |= dict.fromkeys(missing, "")
            for line in self._git.run("patch-id", "--stable", stdin=patches).decode().splitlines():
                patch, commit = line.split()
                self._patch_ids[commit] = patch
        return {commit: self._patch_ids[commit] for commit in commits if self._patch_ids[commit]}


PATCH = ("-r", "-p", "--full-index", "--binary", "--no-ext-diff", "--no-textconv")
"""How a patch is printed so that its identity depends on nothing but its content."""
