"""Notice in the background which branches were merged, so that facts written on them are no longer marked, and where lines that
facts cite were moved to.

Where refs have moved, or an agent is at another commit, Git is asked about what is open; one command at a time, and never
in the path of an answer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from hermes_memory_bridge.runtime.branch_notices import WatchedRepository
from hermes_memory_bridge.runtime.project_reader import run_in_daemon_thread
from hermes_memory_bridge.runtime.store_worker import StoreWorker
from hermes_memory_store.errors import StoreError
from hermes_memory_store.model import UNKNOWN_ORIGIN, Fact, Millis
from hermes_memory_store.places.git_files import Repository, find_default_branch
from hermes_memory_store.places.project_sighting import ProjectSighting, read_project
from hermes_memory_store.projects.borrowed_objects import GitFailed
from hermes_memory_store.projects.branch_search import BranchFindings, ReaderHead, find_ref_state, look_at_branches
from hermes_memory_store.store import Store

log = logging.getLogger(__name__)

POLL_S = 5.0
"""How often refs are looked at where no agent shows anything: a few small files for each repository."""

LONGEST_S = 60.0
"""How long one repository may keep the others waiting: it may lie on a mount that never answers."""

MOST_KNOWN = 50
"""Repositories known from before that are watched from the beginning."""


@dataclass(frozen=True, slots=True)
class OpenBranches:
    """What the store wants to know of one repository."""

    project: int
    wanted: dict[str, list[str]] = field(default_factory=dict)
    last_tips: dict[str, str] = field(default_factory=dict)
    outside: dict[str, set[tuple[str, str]]] = field(default_factory=dict)


class BranchWatch:
    """Watch the repositories that agents work in."""

    def __init__(self, worker: StoreWorker) -> None:
        self._worker = worker
        self._notices = worker.branches
        self._open: dict[str, OpenBranches] = {}
        """What was open when a repository was looked at last, by common directory."""
        self._refs: dict[str, Mapping[str, object]] = {}
        self._found: dict[str, tuple[str | None, list[BranchFindings]]] = {}
        self._pulled: dict[str, ReaderHead] = {}
        """Where agents were when the facts of their repository were read, by common directory."""

        self._followed: dict[tuple[str, str | None], tuple[str, Millis]] = {}
        """Commits at which cited lines were followed, and when, by working tree and branch."""

    async def run(self) -> None:
        try:
            for project in await self._worker.read(lambda store: store.branch_states.list_watched(MOST_KNOWN)):
                self._notices.watch(project.common)
        except StoreError as error:
            log.error("branches of projects could not be listed: %s", error.message)
        while True:
            self._notices.arrived.clear()
            for common, watched in list(self._notices.repositories.items()):
                await self._look_at(common, watched)
            try:
                async with asyncio.timeout(POLL_S):
                    await self._notices.arrived.wait()
            except TimeoutError:
                continue

    async def _look_at(self, common: str, watched: WatchedRepository) -> None:
        """Look at one repository, and leave it out from now on where it does not answer."""
        try:
            async with asyncio.timeout(LONGEST_S):
                await self._pull_facts(common, watched)
                await self._find_merges(common, watched)
                await self._follow_citations(common, watched)
        except StoreError as error:
            log.error("branches could not be looked at: %s", error.message)
        except TimeoutError:
            log.warning("a repository does not answer; its branches stay undecided until an agent works in it again")
            self._notices.repositories.pop(common, None)

    async def _pull_facts(self, common: str, watched: WatchedRepository) -> None:
        """Take over what a repository's files say, once for each commit that agents are at."""
        from hermes_memory_store.files.fact_files import read_committed_facts  # here: a start waits for neither
        from hermes_memory_store.files.repository_facts import RepositoryFacts

        seen = watched.seen
        if seen is None or (commit := seen.commit) is None or self._pulled.get(common) == (seen.branch, commit):
            return
        self._pulled[common] = ReaderHead(seen.branch, commit)
        agreed = await self._worker.read(lambda store: RepositoryFacts(store, seen).answer) is True
        try:
            committed = await run_in_daemon_thread(
                lambda: read_committed_facts(common, seen.branch, commit, is_followed=agreed)
            )
        except GitFailed as error:
            log.warning("the facts of a repository could not be read: %s", error)
            return
        if committed.files or committed.removed:
            await self._worker.write(lambda store: RepositoryFacts(store, seen).follow(committed))

    async def _find_merges(self, common: str, watched: WatchedRepository) -> None:
        was_due, watched.is_due = watched.is_due, False
        if was_due:
            branches = await self._worker.read(lambda store: find_open_branches(store, common, list(watched.heads)))
            if branches is None:
                return
            seen = self._open.get(common)
            if seen is None or seen.wanted != branches.wanted:
                self._refs.pop(common, None)
            self._open[common] = branches
        open_branches = self._open.get(common)
        if open_branches is None or not open_branches.wanted:
            return
        heads = list(watched.heads.values())
        refs = await run_in_daemon_thread(lambda: find_ref_state(common, open_branches.wanted, heads))
        if refs == self._refs.get(common):
            return
        findings = await run_in_daemon_thread(
            lambda: look_at_branches(
                common, open_branches.wanted, open_branches.last_tips, open_branches.outside, heads
            )
        )
        self._refs[common] = refs
        if findings != self._found.get(common):
            await self._keep(common, open_branches.project, findings)

    async def _follow_citations(self, common: str, watched: WatchedRepository) -> None:
        """Let facts cite the files that their lines were moved to, once for each commit of a working tree."""
        from hermes_memory_store.upkeep.fact_citations import find_moves  # here: a start does not wait for it

        if watched.seen is None:
            return
        root = watched.seen.root
        seen = await run_in_daemon_thread(lambda: read_project(root))
        since = self._followed.get((root, seen.branch))
        if seen.commit is None or seen.common != common or (since and since[0] == seen.commit):
            return
        now, facts = await self._worker.read(lambda store: (store.clock(), find_followed_facts(store, seen, common)))
        moves = await run_in_daemon_thread(lambda: find_moves(root, facts, since)) if facts else {}
        if moves:  # there may be more than the time sufficed for
            await self._worker.write(lambda store: store.citations.follow(moves))
        else:
            self._followed[root, seen.branch] = seen.commit, now

    async def _keep(self, common: str, project: int, state: tuple[str | None, list[BranchFindings]]) -> None:
        default, findings = state

        def note(store: Store) -> int:
            return sum(store.branch_states.note(project, default, finding) for finding in findings)

        merged = await self._worker.write(note)
        self._found[common] = state
        self._notices.watch(
            common
        ).is_due = True  # what is merged is not looked for any more, and where branches end is known
        if merged:
            log.info("%d merged branches were noticed", merged)


def find_followed_facts(store: Store, seen: ProjectSighting, common: str) -> list[Fact]:
    """Return the citing facts of a project of which its present branch decides where their lines are.

    The default branch decides for all that it has, another one for what was written on it: no switch moves citations back.
    """
    project, default = store.branch_states.find_project(common), find_default_branch(Repository(common, common, common))
    if project is None or seen.branch is None:
        return []
    reader = replace(UNKNOWN_ORIGIN, project=store.projects.find(seen), branch=seen.branch, commit=seen.commit)
    with store.attribute(reader):
        return [
            fact
            for fact in store.citations.list_project_facts(project)
            if seen.branch in (default or seen.branch, fact.origin.branch)
            and not store.branch_labels.find_marks(fact.theme, [fact.origin])
        ]


def find_open_branches(store: Store, common: str, branches: list[str]) -> OpenBranches | None:
    """Return what is to be found out about a repository; None where it belongs to no project.

    :param branches: those that agents are on
    """
    states = store.branch_states
    project = states.find_project(common)
    if project is None:
        return None
    outside = {target: states.commits_outside(project, target) for target in ("", *branches)}
    return OpenBranches(project, states.wanted_commits(project), states.last_tips(project), outside)
