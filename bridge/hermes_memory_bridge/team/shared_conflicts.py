"""One list of conflicts for a team: what lost here is kept for all, and what lost elsewhere is listed here."""

from __future__ import annotations

from hermes_memory_bridge.team.database.conflict_statements import MOST, MOST_BYTES, list_conflicts, push_conflicts
from hermes_memory_bridge.team.database.team_server import TeamServer
from hermes_memory_bridge.team.sync_outcome import in_pages
from hermes_memory_store.store import Store
from hermes_memory_store.sync.wire_format import SyncRow

VersionName = tuple[str, int, str]
"""A version by its uid, clock and node."""


class SharedConflicts:
    """The conflicts of one store, as the database knows them."""

    def __init__(self, store: Store) -> None:
        self._sync = store.sync
        self._shared: dict[str, set[VersionName]] = {}
        """By theme, those that the database was told of, or that came from it."""

    def exchange(self, server: TeamServer, theme: str, *, is_changed: bool) -> int:
        """Exchange the conflicts of one theme; return how many are new here.

        :param is_changed: something of the theme came from the database since
        :raises TeamError: the database cannot be used now, or the role may not write to the theme
        """
        lost = {to_version_name(row): row for row in self._sync.standing.lost_versions(theme)}
        shared = self._shared.setdefault(theme, set())
        count = 0
        if is_changed:
            there = {to_version_name(row): row for row in list_conflicts(server, theme)}
            new = [row for name, row in there.items() if name not in lost and name not in shared]
            count = self._sync.inbox.apply_lost(theme, new) if new else 0
            shared.update(there)
        here = [row for name, row in lost.items() if name not in shared]
        for some in in_pages(here, MOST, MOST_BYTES):
            push_conflicts(server, theme, some)
            shared.update(map(to_version_name, some))
        return count


def to_version_name(row: SyncRow) -> VersionName:
    return row.uid, row.hlc, row.node
