"""The exchange as the bridge holds it: begun where a team database is named, steered over the control socket.

Imports the driver only then, and beside the loop.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hermes_memory_bridge.arguments import Arguments, text
from hermes_memory_bridge.places import Places
from hermes_memory_bridge.team import dsn
from hermes_memory_bridge.team.states import NO_DRIVER, NOT_NAMED, State, TeamError
from hermes_memory_store.errors import ArgumentError

if TYPE_CHECKING:
    from hermes_memory_bridge.hub import Hub
    from hermes_memory_bridge.team.asking import TeamAsking
    from hermes_memory_bridge.team.syncer import Syncer
    from hermes_memory_bridge.team.vectors import Filling

log = logging.getLogger(__name__)

ACTIONS = ("status", "now", "pause", "resume", "verify", "connect")


class Team:
    """The exchange of one store."""

    def __init__(self, places: Places, model: Callable[[], str] = lambda: "") -> None:
        """:param model: name and dimensions of what makes vectors here; empty while nothing does"""
        self.places = places
        self.model = model
        self.syncer: Syncer | None = None
        self.filling: Filling | None = None
        self.missing: State = NOT_NAMED
        self._lock = threading.Lock()

    def asking(self, hub: Hub) -> TeamAsking:
        """Asks the team's database for calls; it is imported, and connected, when the first call wants it."""
        from hermes_memory_bridge.team.asking import TeamAsking

        return TeamAsking(hub, lambda: dsn.is_named(self.places), lambda: dsn.find(self.places))

    async def begin(self) -> None:
        """Begin to exchange, when a team database is named."""
        try:
            await asyncio.to_thread(self.start)
        except Exception:  # agents are served all the same
            log.exception("the exchange with the team database did not begin")

    def start(self) -> None:
        """Begin, or begin anew when another database was named."""
        with self._lock:
            self._end()
            self.missing = NOT_NAMED
            if not dsn.is_named(self.places):
                return
            try:
                from hermes_memory_bridge.team.screens import screens
                from hermes_memory_bridge.team.syncer import Syncer
                from hermes_memory_bridge.team.vectors import Filling
            except ImportError:
                self.missing = NO_DRIVER
                log.warning("team database: %s", NO_DRIVER.words)
                return
            places = self.places
            self.syncer = Syncer(
                places.store, lambda: dsn.find(places), paused=dsn.is_paused(places), screens=screens(places)
            )
            self.filling = Filling(places.store, self.syncer.find, self.syncer.heads, self.model)
            self.syncer.start()
            self.filling.start()

    def stop(self) -> None:
        """End it, at once."""
        with self._lock:
            self._end()

    def _end(self) -> None:
        for running in (self.filling, self.syncer):
            if running is not None:
                running.stop()
        self.syncer = self.filling = None

    async def answer(self, arguments: Arguments) -> dict[str, Any]:
        """What `sync ACTION` asks of the bridge. :raises StoreError: why it cannot be"""
        action = text(arguments, "action")
        if action not in ACTIONS:
            raise ArgumentError(f"sync {action[:60]!r} is none of {', '.join(ACTIONS)}", action)
        if action == "connect":
            await asyncio.to_thread(self.start)
        syncer = self.syncer
        if syncer is None:
            if action in ("status", "connect"):
                return {"configured": False, **self.missing.as_dict(), "themes": []}
            raise TeamError(self.missing)
        if action in ("pause", "resume"):
            await asyncio.to_thread(lambda: dsn.note(self.places, paused=action == "pause"))
            syncer.pause(action == "pause")
        if action == "now":
            return {"number": syncer.now(), **self._status(syncer)}
        if action == "verify":
            found = await asyncio.wrap_future(syncer.verify())
            return {"same": all(one.same for one in found), "themes": [one.as_dict() for one in found]}
        return self._status(syncer)

    def _status(self, syncer: Syncer) -> dict[str, Any]:
        filling = self.filling
        return {**syncer.status(), **({"vectors": filling.status()} if filling is not None else {})}
