"""The daemon: the one bridge of a store. It takes the lock, listens, and leaves nothing behind when it stops.

A second one finds the first and gives way. After a crash the lock is free and the old sockets answer nobody, so the next
start clears them away.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import logging
import math
import os
import signal
import socket
import time
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from hermes_memory_bridge import __version__, sdk
from hermes_memory_bridge.access.gate import Gate, Limits
from hermes_memory_bridge.access.http_sessions import HttpSessions
from hermes_memory_bridge.access.peer_connections import PeerConnections
from hermes_memory_bridge.access.refusal import Asgi
from hermes_memory_bridge.access.token_watch import TokenWatch
from hermes_memory_bridge.agents import Agents
from hermes_memory_bridge.connection import Connection, Lease
from hermes_memory_bridge.control import ask
from hermes_memory_bridge.descriptors import ACCEPT_BURST, DescriptorShares, raise_limit, shares_of
from hermes_memory_bridge.embedding.meaning import Meaning
from hermes_memory_bridge.http import BACKLOG, HttpFront, http_app, http_server, tcp_socket
from hermes_memory_bridge.hub import Hub
from hermes_memory_bridge.inspection import Inspection, check_arguments
from hermes_memory_bridge.lines import LineServer
from hermes_memory_bridge.notices import Notices
from hermes_memory_bridge.places import Places
from hermes_memory_bridge.server import make_server
from hermes_memory_bridge.team.steering import Team
from hermes_memory_bridge.trust import Trust, Vault
from hermes_memory_bridge.wire import MAX_LINE
from hermes_memory_store.errors import StoreError

log = logging.getLogger(__name__)

TAKE_OVER_S = 10.0
"""How long to wait for a bridge that holds the lock and no longer answers: it is just stopping."""

LOOK_S = 0.1
"""How long to wait at least before looking again whether anybody is there."""


class AlreadyServed(Exception):
    """Another bridge serves this store; its process id stands in the message."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How a daemon runs."""

    linger_s: float | None = None
    """Leave this long after the last connection has ended; None to stay."""
    tcp: int | None = None
    """Port on the loopback interface for Streamable HTTP; 0 for any free one."""
    lease: Lease = field(default_factory=Lease)
    limits: Limits = field(default_factory=Limits)
    shares: DescriptorShares = field(default_factory=DescriptorShares)
    """How many connections of each kind there may be."""


NOTES_S = 2.0
"""How long what an agent was told may wait until it is written down."""


class Daemon:
    """One running bridge."""

    def __init__(self, places: Places, settings: Settings) -> None:
        self.places = places
        self.settings = settings
        self.started = time.time()
        self.stopping = asyncio.Event()
        self.hub = Hub(places.store)
        vault = Vault(Path(places.folder) / "secrets.json")
        self.agents = Agents(self.hub, settings.lease, Trust(self.hub.store.policies, vault))
        self.front = HttpFront(self.agents)
        self.notices = Notices(self.hub)
        self.inspection = Inspection(self.hub, self.agents)
        self.meaning = self.hub.meaning = Meaning(self.hub, vault)
        self.team = Team(places, lambda: self.meaning.model)
        self.asking = self.hub.asking = self.team.asking(self.hub)
        self.server = make_server(self.hub, self.whose, self.notices)
        self.lines = LineServer(self.server, self.agents, self.command, os.getuid(), settings.shares.line)
        self.peers = PeerConnections(settings.shares.http)
        self.sessions = HttpSessions(partial(sdk.is_open, self.server), partial(sdk.end_session, self.server))
        self.tokens = TokenWatch(self.hub, self.agents, self.sessions)

    def whose(self, context: Any) -> Connection:
        """The connection a request belongs to."""
        state = context.lifespan_context
        return state if isinstance(state, Connection) else self.front.whose(context)

    def guard(self, app: Asgi) -> Asgi:
        """Let only those in to HTTP who may come in."""
        return Gate(self.front.counted(app), self.hub, self.settings.limits, self.peers, self.sessions)

    async def command(self, name: str, arguments: Any) -> dict[str, Any]:
        """What another process of this user asked of the bridge itself.

        :raises ArgumentError: names the command or argument that is none
        """
        check_arguments(name, arguments)
        if name in ("status", "stop"):
            return {**self.status(stop=name == "stop"), "recall": self.meaning.state()}
        if name == "sync":
            return {"hermes-memory": 1, "pid": os.getpid(), **await self.team.answer(arguments)}
        return {"hermes-memory": 1, "pid": os.getpid(), **await self.inspection.answer(name, arguments)}

    def status(self, *, stop: bool) -> dict[str, Any]:
        """How the bridge does. :param stop: and tell it to stop"""
        if stop:
            self.stopping.set()
        return {
            "hermes-memory": 1,
            "version": __version__,
            "pid": os.getpid(),
            "store": self.places.store,
            "uptime_s": round(time.time() - self.started),
            "connections": len(self.agents.here),
            "stopping": self.stopping.is_set(),
        }

    async def run(self) -> None:
        """Serve until told to stop."""
        loop = asyncio.get_running_loop()
        for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(name, self.stopping.set)
        line_socket = listening(self.places.line)
        listener = await asyncio.start_unix_server(
            self.lines.connected, sock=line_socket, limit=MAX_LINE, backlog=ACCEPT_BURST
        )
        line_socket.listen(BACKLOG)
        web = http_server(http_app(self.server, self.guard), self.peers, self.settings.limits)
        sockets = [listening(self.places.http)]
        if self.settings.tcp is not None:
            sockets.append(tcp_socket(self.settings.tcp))
            log.info("listening on http://127.0.0.1:%d/mcp", sockets[-1].getsockname()[1])
        serving = asyncio.create_task(web.serve(sockets=sockets))
        agents = self.agents
        work = (
            self.team.begin,
            agents.keep_alive,
            agents.watch_over,
            self.tokens.watch,
            agents.clean_up,
            self.note_reads,
            self.front.forget_quiet,
            self.notices.watch,
            self.meaning.keep_filled,
            self.linger,
        )
        keepers = [asyncio.create_task(keeper()) for keeper in work]
        self.hub.metrics.connections.set_function(lambda: len(self.agents.here))
        log.info("serving %s, process %d", self.places.store, os.getpid())
        try:
            await self.stopping.wait()
        finally:
            log.info("stopping")
            listener.close()
            for path in (self.places.line, self.places.http):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)
            self.notices.close()
            for keeper in keepers:
                keeper.cancel()
            await asyncio.gather(*keepers, return_exceptions=True)
            web.handle_exit(signal.SIGTERM, None)
            await self.lines.close()
            await serving
            self.front.close()
            self.asking.close()
            await asyncio.to_thread(self.team.stop)
            await self.agents.part_all()
            await self.meaning.close()
            await asyncio.to_thread(self.hub.close)

    async def note_reads(self) -> None:
        """Write down soon what agents were told, so that a person can follow it."""
        while True:
            await asyncio.sleep(NOTES_S)
            if self.hub.store.reads.pending:
                self.hub.later(lambda store: store.reads.flush())

    async def linger(self) -> None:
        """Stop when nobody has been here for a while, over whichever transport."""
        wait_s = self.settings.linger_s
        if wait_s is None:
            return
        began = time.monotonic()
        while (rest_s := max(began, await self.last_use()) + wait_s - time.monotonic()) > 0:
            await asyncio.sleep(min(rest_s, max(wait_s, LOOK_S)))  # whoever is there may leave before the lease lapses
        self.stopping.set()

    async def last_use(self) -> float:
        """When somebody was last here, infinite while one is connected.

        Who has a session and no connection is here for as long as its lease runs.
        """
        lapse_ms = None
        try:
            lapse_ms = await self.hub.read(lambda store: store.sessions.lapse_in_ms())
        except StoreError as error:
            log.error("leases could not be looked at: %s", error.message)
        if self.lines.tasks or self.front.in_use():
            return math.inf
        leased = [] if lapse_ms is None else [time.monotonic() + lapse_ms / 1000]
        return max(self.agents.left, self.front.left, *leased)


def serve(places: Places, settings: Settings) -> None:
    """Be the bridge of a store until told to stop. :raises AlreadyServed:"""
    os.umask(0o077)
    settings = replace(settings, shares=shares_of(raise_limit()))
    places.make_folder()
    with owned(places):
        write_pid(places.pid)
        try:
            asyncio.run(started(places, settings))
        finally:
            for leftover in (places.pid, places.starting):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(leftover)


async def started(places: Places, settings: Settings) -> None:
    """Make the daemon inside the loop that it runs in."""
    await Daemon(places, settings).run()


@contextlib.contextmanager
def owned(places: Places) -> Any:
    """Hold the lock of a store's bridge. :raises AlreadyServed: somebody else does, and answers"""
    handle = os.open(places.lock, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + TAKE_OVER_S
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                other = ask(places, "status")
                if other is not None and not other["stopping"]:
                    raise AlreadyServed(f"process {other['pid']} serves {places.store} already") from None
                if time.monotonic() > deadline:
                    raise AlreadyServed(f"another process holds {places.lock} and does not answer") from None
            time.sleep(0.02)
        yield
    finally:
        os.close(handle)


def listening(path: str) -> socket.socket:
    """A socket only its owner can connect to. The caller holds the lock, so what lies there is a dead one's."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        made.bind(path)
    finally:
        os.umask(before)
    made.listen(BACKLOG)
    made.setblocking(False)
    return made


def write_pid(path: str) -> None:
    """For people and service managers; the lock is what counts."""
    Path(path).write_text(f"{os.getpid()}\n", encoding="ascii")
