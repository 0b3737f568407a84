"""The background sync through a shared folder, which is looked at once a second: that costs some microseconds."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from hermes_memory_bridge.team.database.team_states import TeamError
from hermes_memory_bridge.team.folder.folder_keys import FolderKeys
from hermes_memory_bridge.team.folder.folder_run import FolderRun
from hermes_memory_bridge.team.folder.folder_state import FolderSettings
from hermes_memory_bridge.team.folder.folder_states import NO_FOLDER
from hermes_memory_bridge.team.folder.segment_rows import newest_rows, newest_turns
from hermes_memory_bridge.team.folder.shared_folder import KEPT_BY_GIT, SharedFolder, is_in_repository
from hermes_memory_bridge.team.sync_loop import REPORT_ROWS, SyncLoop
from hermes_memory_bridge.team.sync_outcome import ProgressCallback
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_store.model import Uid
from hermes_memory_store.store import Store
from hermes_memory_store.sync.wire_format import PURGED, SyncRow
from hermes_memory_themes import SyncCarrier

POLL_S = 1.0
"""How often the folder is looked at, in seconds."""

POLL_SHARE, LONGEST_POLL_S = 0.05, 60.0
"""Looking takes that share of the time at most: a folder that somebody filled is looked at less often, once a minute at least."""


class FolderSyncer(SyncLoop[SharedFolder]):
    """Keep the themes of a store that travel through a folder in sync."""

    carrier = SyncCarrier.FOLDER
    words = "shared folder"

    def __init__(self, paths: BridgePaths, *, poll_s: float = POLL_S, **settings: Any) -> None:
        """:param settings: those of `SyncLoop`"""
        super().__init__(paths.store, **settings)
        self.paths = paths
        self.poll_s = poll_s
        self.keys = FolderKeys(paths)
        self._run: FolderRun | None = None

    def status(self) -> dict[str, Any]:
        problems = [] if self._run is None else self._run.problems()
        settings = FolderSettings.load(self.paths)
        return {
            **super().status(),
            "folder": None if settings is None else settings.path,
            "folder_warning": KEPT_BY_GIT if settings and is_in_repository(Path(settings.path)) else None,
            "problem_count": len(problems),
            "problems": [
                {"theme": theme, "file": problem.file, "why": problem.why} for theme, problem in problems[:REPORT_ROWS]
            ],
        }

    def connect_carrier(self) -> SharedFolder:
        """Return the folder. :raises TeamError: it cannot be used now"""
        settings = FolderSettings.load(self.paths)
        if settings is None:
            raise TeamError(NO_FOLDER)
        return SharedFolder(Path(settings.path))

    def begin_run(self, store: Store, on_progress: ProgressCallback) -> FolderRun:
        """Return the sync of a store that was opened anew."""
        self._run = FolderRun(store, self.keys, Path(self.paths.folder), on_progress=on_progress)
        return self._run

    def poll_interval(self) -> float:
        """Return how long to wait before the folder is looked at again, in seconds."""
        look_s = 0.0 if self._run is None else self._run.look_s
        return max(self.poll_s, min(LONGEST_POLL_S, look_s / POLL_SHARE))

    def fetch_digests(
        self, theme: str, wanted: Collection[str]
    ) -> tuple[dict[str, str], dict[str, tuple[int, SyncRow]]]:
        """Return the digest of the newest version of each thing in the folder, and the wanted ones."""
        assert self._run is not None
        rows = newest_rows(row for segment in self._run.exchange_of(theme).read_all() for row in segment.rows)
        newest = {str(row.uid): row for row in rows}  # the last of a thing is the newest
        seq = self._reopen_store().sync.inbox.cursor(theme).seq
        digests = {uid: row.digest for uid, row in newest.items()}
        return digests, {uid: (seq, row) for uid, row in newest.items() if uid in wanted}

    def fetch_turn_states(self, theme: str) -> dict[Uid, bool]:
        """Return whether each turn in the folder was erased."""
        assert self._run is not None
        turns = newest_turns(turn for entry in self._run.exchange_of(theme).read_all() for turn in entry.turns)
        return {entry.uid: entry.state == PURGED for entry in turns}
