"""The sync as the bridge runs it: with a team database, through a shared folder, or both, where they are configured.

Controlled over the control socket. Imports the database's driver only then, and outside the event loop.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hermes_memory_bridge.team import dsn
from hermes_memory_bridge.team.database.team_states import COMPLETE_STATES, NO_DRIVER, NOT_NAMED, TeamError, TeamState
from hermes_memory_bridge.team.folder.folder_state import FolderSettings
from hermes_memory_bridge.team.sync_comparison import merge_comparisons
from hermes_memory_bridge.toolkit.arguments import Arguments, parse_text_argument
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_store.errors import ArgumentError

if TYPE_CHECKING:
    from hermes_memory_bridge.runtime.store_worker import StoreWorker
    from hermes_memory_bridge.team.folder.folder_syncer import FolderSyncer
    from hermes_memory_bridge.team.search.team_search import TeamSearch
    from hermes_memory_bridge.team.sync_loop import SyncLoop
    from hermes_memory_bridge.team.syncer import Syncer
    from hermes_memory_bridge.team.vector_upload import VectorUpload

log = logging.getLogger(__name__)

ACTIONS = ("status", "now", "pause", "resume", "verify", "connect", "unlock")


class TeamSync:
    def __init__(self, paths: BridgePaths, model: Callable[[], str] = lambda: "") -> None:
        """:param model: name and dimensions of the current embedding model; empty while there is none"""
        self.paths = paths
        self.model = model
        self.syncer: Syncer | None = None
        self.folder: FolderSyncer | None = None
        self._folder_number = 0
        """Number of the folder's sync that a person waits for."""
        self.upload: VectorUpload | None = None
        self.missing: TeamState = NOT_NAMED
        self._stopped = False
        self._lock = threading.Lock()

    def open_search(self, worker: StoreWorker) -> TeamSearch:
        """Return the search of the team database for calls.

        Its module is imported, and connects, at the first call that needs it.
        """
        from hermes_memory_bridge.team.search.team_search import TeamSearch

        return TeamSearch(worker, lambda: dsn.is_team_named(self.paths), lambda: dsn.find_team_dsn(self.paths))

    async def begin(self) -> None:
        """Begin the sync if a team database is configured."""
        try:
            await asyncio.to_thread(self.ensure_started)
        except Exception:  # agents are served all the same
            log.exception("the exchange with the team database did not begin")

    def start(self) -> None:
        """Start the sync, or restart it after another database was configured."""
        with self._lock:
            self._restart()

    def ensure_started(self) -> None:
        """Start the sync unless it runs: a status asked for while the bridge starts waits here for the answer."""
        with self._lock:
            if not self._running and not self._stopped:
                self._restart()

    def _restart(self) -> None:
        self._end()
        self.missing = NOT_NAMED
        self._start_folder()
        if not dsn.is_team_named(self.paths):
            return
        try:
            from hermes_memory_bridge.team.syncer import Syncer
            from hermes_memory_bridge.team.vector_upload import VectorUpload
            from hermes_memory_bridge.trust import open_store_vault
        except ImportError:
            self.missing = NO_DRIVER
            log.warning("team database: %s", NO_DRIVER.words)
            return
        paths = self.paths
        self.syncer = Syncer(
            paths.store,
            lambda: dsn.find_team_dsn(paths),
            paused=dsn.is_sync_paused(paths),
            vault=open_store_vault(paths.store),
        )
        syncer = self.syncer
        self.upload = VectorUpload(paths.store, syncer.find, syncer.heads, self.model, lambda: syncer.is_asleep)
        self.syncer.start()
        self.upload.start()

    def _start_folder(self) -> None:
        settings = FolderSettings.load(self.paths)
        if settings is None:
            return
        from hermes_memory_bridge.team.folder.folder_syncer import FolderSyncer
        from hermes_memory_bridge.trust import open_store_vault

        self.folder = FolderSyncer(self.paths, paused=settings.paused, vault=open_store_vault(self.paths.store))
        self.folder.start()

    @property
    def _running(self) -> list[SyncLoop[Any]]:
        return [loop for loop in (self.syncer, self.folder) if loop is not None]

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            self._end()

    def _end(self) -> None:
        for running in (self.upload, *self._running):
            if running is not None:
                running.stop()
        self.syncer = self.upload = self.folder = None

    async def answer(self, arguments: Arguments) -> dict[str, Any]:
        """Execute `sync ACTION` for a client of the bridge. :raises StoreError: says why it cannot be done"""
        action = parse_text_argument(arguments, "action")
        if action not in ACTIONS:
            raise ArgumentError(f"sync {action[:60]!r} is none of {', '.join(ACTIONS)}", action)
        if action == "connect":
            await asyncio.to_thread(self.start)
        if not self._running:
            await asyncio.to_thread(self.ensure_started)
        running = self._running
        if not running:
            if action in ("status", "connect"):
                return {"configured": False, **self.missing.as_dict(), "themes": []}
            raise TeamError(self.missing)
        if action == "unlock":
            return await asyncio.to_thread(self._unlock, parse_text_argument(arguments, "passphrase"))
        if action in ("pause", "resume"):
            await asyncio.to_thread(write_paused, self.paths, action == "pause")
            for loop in running:
                loop.pause(action == "pause")
        if action == "now":
            number = [loop.run_now() for loop in running]
            self._folder_number = number[-1]
            return {"number": number[0], **self._status()}
        if action == "verify":
            return merge_comparisons([await asyncio.wrap_future(loop.verify()) for loop in running]).as_dict()
        return self._status()

    def _unlock(self, passphrase: str) -> dict[str, Any]:
        if self.folder is None:
            raise ArgumentError("no shared folder is named, so there is no key to unlock", None)
        count = self.folder.keys.unlock(passphrase)
        self.folder.run_now()
        return {"unlocked": count}

    def _status(self) -> dict[str, Any]:
        reports = [loop.status() for loop in self._running]
        if self.upload is not None:
            reports[0]["vectors"] = self.upload.status()
        if len(reports) == 2 and reports[1]["exchanges"] < self._folder_number:
            reports[0]["exchanges"] = 0  # who waits for both has to wait on
        return merge_sync_status(reports)


def merge_sync_status(reports: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return one document of `sync status` for all carriers: the state is the first that is not complete."""
    merged = {name: value for report in reversed(reports) for name, value in report.items()}
    state = next((report for report in reports if report["state"] not in COMPLETE_STATES), reports[0])
    themes = [theme for report in reports for theme in report["themes"]]
    return {**merged, "state": state["state"], "words": state["words"], "themes": themes}


def write_paused(paths: BridgePaths, paused: bool) -> None:
    """Note for the bridges to come whether the sync is paused."""
    if dsn.is_team_named(paths):
        dsn.write_team_state(paths, paused=paused)
    if (settings := FolderSettings.load(paths)) is not None:
        replace(settings, paused=paused).save(paths)
