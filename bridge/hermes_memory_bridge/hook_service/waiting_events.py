"""Events that wait on disk: those of hooks that found no bridge, and messages that this one has answered but not committed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from hermes_memory_store.errors import FileError, StoreError
from hermes_memory_store.hosts import waiting_records

log = logging.getLogger(__name__)


class WaitingEvents:
    """Add records, and bring in those of others one after the other, each erased once it is committed."""

    def __init__(self, store_path: str, bring_in: Callable[[dict[str, Any]], Awaitable[None]]) -> None:
        """:param bring_in: records an event; returns once it is committed"""
        self._path = store_path
        self._bring_in = bring_in
        self._own: set[str] = set()
        self._draining: asyncio.Task[bool] | None = None

    async def add(self, name: str, record: dict[str, Any]) -> bool:
        """Lay a record of this bridge's own onto the disk. :param name: stands in it as `spooled`"""
        self._own.add(name)
        if await asyncio.to_thread(waiting_records.append, self._path, record):
            return True
        self._own.discard(name)
        return False

    async def remove(self, name: str) -> None:
        """Erase a record of this bridge's own: it is committed."""
        await asyncio.to_thread(self._erase, name)
        self._own.discard(name)

    def wake(self) -> None:
        if self._draining is None or self._draining.done():
            self._draining = asyncio.get_running_loop().create_task(self.drain())

    async def settle(self) -> bool:
        """Wait until what waits has come in; return whether it has."""
        if self._draining is None:
            return True
        if not self._draining.done():
            await asyncio.wait([self._draining])
        drained = self._draining
        return drained.done() and not drained.cancelled() and drained.exception() is None and drained.result()

    async def drain(self) -> bool:
        """Bring in what waits, oldest first. What cannot be written now waits for the next time. Return whether all came in."""
        for path in await asyncio.to_thread(waiting_records.list_waiting, self._path):
            record = await asyncio.to_thread(waiting_records.read_record, path)
            if record is not None and record.get("spooled") in self._own:
                continue
            try:
                if record is not None:
                    await self._bring_in(record)
            except FileError as error:
                log.warning("records of hooks wait on: %s", error.message)
                return False
            except (StoreError, ValueError) as error:
                log.warning("a record of a hook is dropped: %s", error)
            await asyncio.to_thread(waiting_records.erase, path)
        return True

    def _erase(self, name: str) -> None:
        for path in waiting_records.list_waiting(self._path):
            record = waiting_records.read_record(path)
            if record is not None and record.get("spooled") == name:
                waiting_records.erase(path)
                return
