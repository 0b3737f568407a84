"""The sync as the bridge runs it: started if a team database is configured, controlled over the control socket.

Imports the driver only then, and outside the event loop.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hermes_memory_bridge.launcher.paths import BridgePaths
from hermes_memory_bridge.team import dsn
from hermes_memory_bridge.team.database.team_states import NO_DRIVER, NOT_NAMED, TeamError, TeamState
from hermes_memory_bridge.toolkit.arguments import Arguments, parse_text_argument
from hermes_memory_store.errors import ArgumentError

if TYPE_CHECKING:
    from hermes_memory_bridge.runtime.store_worker import StoreWorker
    from hermes_memory_bridge.team.search.team_search import TeamSearch
    from hermes_memory_bridge.team.syncer import Syncer
    from hermes_memory_bridge.team.vector_upload import VectorUpload

log = logging.getLogger(__name__)

ACTIONS = ("status", "now", "pause", "resume", "verify", "connect")


class TeamSync:
    """The sync of one store."""

    def __init__(self, paths: BridgePaths, model: Callable[[], str] = lambda: "") -> None:
        """:param model: name and dimensions of the current embedding model; empty while there is none"""
        self.paths = paths
        self.model = model
        self.syncer: Syncer | None = None
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
            if self.syncer is None and not self._stopped:
                self._restart()

    def _restart(self) -> None:
        self._end()
        self.missing = NOT_NAMED
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
        self.upload = VectorUpload(paths.store, self.syncer.find, self.syncer.heads, self.model)
        self.syncer.start()
        self.upload.start()

    def stop(self) -> None:
        """Stop the sync at once."""
        with self._lock:
            self._stopped = True
            self._end()

    def _end(self) -> None:
        for running in (self.upload, self.syncer):
            if running is not None:
                running.stop()
        self.syncer = self.upload = None

    async def answer(self, arguments: Arguments) -> dict[str, Any]:
        """Execute `sync ACTION` for a client of the bridge.

        :raises StoreError: says why it cannot be done
        """
        action = parse_text_argument(arguments, "action")
        if action not in ACTIONS:
            raise ArgumentError(f"sync {action[:60]!r} is none of {', '.join(ACTIONS)}", action)
        if action == "connect":
            await asyncio.to_thread(self.start)
        if self.syncer is None:
            await asyncio.to_thread(self.ensure_started)
        syncer = self.syncer
        if syncer is None:
            if action in ("status", "connect"):
                return {"configured": False, **self.missing.as_dict(), "themes": []}
            raise TeamError(self.missing)
        if action in ("pause", "resume"):
            await asyncio.to_thread(lambda: dsn.write_team_state(self.paths, paused=action == "pause"))
            syncer.pause(action == "pause")
        if action == "now":
            return {"number": syncer.run_now(), **self._status(syncer)}
        if action == "verify":
            found = await asyncio.wrap_future(syncer.verify())
            return {"same": all(one.same for one in found), "themes": [one.as_dict() for one in found]}
        return self._status(syncer)

    def _status(self, syncer: Syncer) -> dict[str, Any]:
        filling = self.upload
        return {**syncer.status(), **({"vectors": filling.status()} if filling is not None else {})}
