"""What agents show of the repositories they work in: where each is, and that something was written there."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field

from hermes_memory_store.places.project_sighting import ProjectSighting
from hermes_memory_store.projects.branch_search import ReaderHead

MOST_REPOSITORIES = 100
"""Repositories that are watched, those heard of last."""

MOST_HEADS = 8
"""Branches of one repository that agents were seen on last, for each of which merges are looked for."""


@dataclass(slots=True)
class WatchedRepository:
    heads: OrderedDict[str, ReaderHead] = field(default_factory=OrderedDict)
    """Where agents were seen last, by branch."""
    is_due: bool = True
    """Whether something was shown or written since it was looked at."""
    seen: ProjectSighting | None = None
    """What an agent showed of it last."""


class BranchNotices:
    """Collect what calls show of repositories; the watch takes it from here."""

    def __init__(self) -> None:
        self.repositories: OrderedDict[str, WatchedRepository] = OrderedDict()
        """By common directory."""
        self.arrived = asyncio.Event()

    def notice(self, seen: ProjectSighting | None, *, wrote: bool = False) -> None:
        """Note where an agent is. :param wrote: it has written something there"""
        if seen is None or seen.common is None or seen.commit is None:
            return
        watched = self.watch(seen.common)
        watched.seen = seen
        name, head = seen.branch or "", ReaderHead(seen.branch, seen.commit)
        if watched.heads.get(name) != head:
            watched.heads[name] = head
            watched.is_due = True
        watched.heads.move_to_end(name)
        while len(watched.heads) > MOST_HEADS:
            watched.heads.popitem(last=False)
        watched.is_due = watched.is_due or wrote
        if watched.is_due:
            self.arrived.set()

    def watch(self, common: str) -> WatchedRepository:
        watched = self.repositories.setdefault(common, WatchedRepository())
        self.repositories.move_to_end(common)
        while len(self.repositories) > MOST_REPOSITORIES:
            self.repositories.popitem(last=False)
        return watched
