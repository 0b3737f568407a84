"""Catching up with what no hook brought of the sessions on this disk, for hosts whose person said yes: a piece at a time.

What a thread of low priority held here, such as Python's lock, the whole bridge would wait for: it yields between pieces instead.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial

from hermes_memory_bridge.backfill.disk_sessions import DiskSession, find_disk_sessions
from hermes_memory_bridge.backfill.history import History, HistoryReport, SaidMessage, Wanted
from hermes_memory_bridge.connect.hosts import find_here
from hermes_memory_bridge.runtime.store_worker import StoreWorker
from hermes_memory_store.clock import DAY_MS
from hermes_memory_store.errors import StoreError
from hermes_memory_store.hosts.capture_settings import open_capture_switch
from hermes_memory_store.hosts.capture_switch import load_capture_switch, may_capture
from hermes_memory_store.items.action_rows import Action
from hermes_memory_store.store import Store

log = logging.getLogger(__name__)

QUIET_MS = 600_000
"""How long a file must have been left alone: a session that goes on is read later."""

MOST_AT_ONCE = 4
"""Messages of one write, for which others wait: content checks take longer than a write."""

PAUSE_S = 0.05


async def catch_up_daily(worker: StoreWorker) -> None:
    """Bring in what is new, at once and daily, where nothing stops capture; run until cancelled."""
    while True:
        switch = load_capture_switch(worker.path)
        hosts = {host: until for host, until in switch.history.items() if until}
        if hosts and not switch.find_general_stop(worker.store.clock()):
            try:
                await catch_up(worker, hosts)
            except (StoreError, OSError) as error:
                log.error("the sessions on this disk could not be read: %s", error)
        await asyncio.sleep(DAY_MS / 1000)


async def catch_up(worker: StoreWorker, hosts: dict[str, int]) -> None:
    """Bring in what is new. :param hosts: with until when each was read, as `CaptureSwitch.history`"""
    path, until = str(worker.path), worker.store.clock() - QUIET_MS
    search = partial(find_disk_sessions, find_here(), hosts, range(min(hosts.values()), until))
    run = await worker.read(lambda store: store.turns.find_next_run())
    sessions, _ = await asyncio.to_thread(search)
    for disk in (disk for disk in sessions if disk.changed_at >= hosts[disk.host]):
        try:
            messages = await asyncio.to_thread(read_unheard, path, disk)
            for start in range(0, len(messages), MOST_AT_ONCE):
                await asyncio.sleep(PAUSE_S)
                while worker.queue_length:
                    await asyncio.sleep(PAUSE_S)
                await worker.write(partial(bring_piece, disk, messages[start : start + MOST_AT_ONCE], run), alone=True)
        except Exception:
            log.exception("a session of %s on this disk is left out", disk.host)
    with open_capture_switch(path) as switch:
        switch.history |= {host: max(until, read) for host, read in switch.history.items() if read and host in hosts}


def read_unheard(path: str, disk: DiskSession) -> list[SaidMessage | Action]:
    """Read what a session says and did that is new, unless its hooks bring it. :raises StoreError:"""
    with Store.open(path, read_only=True) as store:
        is_heard = store.host_sessions.find(disk.host, disk.name) and may_capture(path, disk.host, disk.folder).allowed
        done = History(store, Wanted(), (), is_asked_for=False).read_new(disk, [])
        return [one for one in done if isinstance(one, Action)] if is_heard else done


def bring_piece(disk: DiskSession, piece: list[SaidMessage | Action], run: int, store: Store) -> None:
    """Bring in messages, if they still may be."""
    path = str(store.path)
    if load_capture_switch(path).history.get(disk.host) and may_capture(path, "", disk.folder).allowed:
        History(store, Wanted(), (), is_asked_for=False).bring_messages(disk, piece, HistoryReport(), run)
