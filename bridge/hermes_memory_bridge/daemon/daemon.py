"""The daemon: the one bridge of a store. It takes the lock, listens, and leaves nothing behind when it stops.

A second daemon finds the first and exits. After a crash the lock is free and the old sockets are dead, so the next
start removes them.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import gc
import logging
import math
import os
import signal
import socket
import sys
import time
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hermes_memory_bridge.access.rate_limits import ClientLimits
from hermes_memory_bridge.daemon.control import ask_bridge
from hermes_memory_bridge.daemon.status_commands import StatusCommands, check_status_arguments
from hermes_memory_bridge.hook_service.hook_service import HookService
from hermes_memory_bridge.protocol.descriptors import (
    ACCEPT_BURST,
    BACKLOG,
    DescriptorShares,
    raise_descriptor_limit,
    to_descriptor_shares,
)
from hermes_memory_bridge.protocol.framing import MAX_LINE
from hermes_memory_bridge.protocol.line_server import LineServer
from hermes_memory_bridge.runtime.branch_watch import BranchWatch
from hermes_memory_bridge.runtime.connection_registry import ConnectionRegistry
from hermes_memory_bridge.runtime.root_commit_search import find_wanted_root_commits
from hermes_memory_bridge.runtime.store_worker import StoreWorker
from hermes_memory_bridge.toolkit.connection import LeaseTimes
from hermes_memory_bridge.trust import open_store_vault
from hermes_memory_bridge.version import __version__
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_bridge.wire.version_order import is_older
from hermes_memory_store.database.store_version import UPGRADE_HINT, find_installed_version
from hermes_memory_store.errors import StoreError
from hermes_memory_store.notation.token_count import find_counter

if TYPE_CHECKING:
    from hermes_memory_bridge.embedding.vector_service import VectorService
    from hermes_memory_bridge.team.sync_control import TeamSync

log = logging.getLogger(__name__)

TAKEOVER_TIMEOUT_S = 10.0
"""How long to wait for a bridge that holds the lock and no longer answers: it is just stopping."""

IDLE_POLL_S = 0.1
"""How long to wait at least before looking again whether anybody is there."""


LATE_MODULES = (
    "hermes_memory_bridge.runtime.metrics",
    "hermes_memory_bridge.embedding.vector_service",
    "hermes_memory_bridge.team.sync_control",
    "hermes_memory_bridge.protocol.mcp_front",
)
"""Imported once the bridge listens: no first call needs them, and the SDK takes longer than all else of a start."""

LOADING_SWITCH_S = 0.0005
"""How long the import may hold Python's lock while a call wants it: SQLite gives the lock away at every row."""

OUTDATED_POLL_S = 1.0
"""How often to look whether the store was raised above this program's version."""


class AlreadyServed(Exception):
    """Another bridge already serves this store; the message contains its process id."""


@dataclass(frozen=True, slots=True)
class DaemonSettings:
    linger_s: float | None = None
    """Leave this long after the last connection has ended; None to stay."""
    tcp: int | None = None
    """Port on the loopback interface for Streamable HTTP; 0 for any free one."""
    lease: LeaseTimes = field(default_factory=LeaseTimes)
    limits: ClientLimits = field(default_factory=ClientLimits)
    shares: DescriptorShares = field(default_factory=DescriptorShares)
    """How many connections of each kind there may be."""
    given: dict[str, Any] = field(default_factory=dict)
    """The options it was started with, for a newer bridge that takes over."""


READ_LOG_DELAY_S = 2.0
"""How long what an agent was told may wait until it is written down."""


class Daemon:
    def __init__(self, paths: BridgePaths, settings: DaemonSettings) -> None:
        self.paths = paths
        self.settings = settings
        self.started = time.time()
        self.stopping = asyncio.Event()
        self.worker = StoreWorker(paths.store, vault=open_store_vault(paths.store))
        self.agents = ConnectionRegistry(self.worker, settings.lease)
        self.inspection = StatusCommands(self.worker, self.agents)
        self.hooks = HookService(self.worker, lambda: self.agents.connections)
        self.agents.find_host_session = self.hooks.sessions.find_host_session
        self.lines = LineServer(self.agents, self.command, os.getuid(), settings.shares.line)

    @cached_property
    def vectors(self) -> VectorService:
        """The vectors of the store, loaded on first access."""
        from hermes_memory_bridge.embedding.vector_service import VectorService

        worker = self.worker
        return VectorService(worker.read, worker.path, worker.embedding_settings, worker.vault)

    @cached_property
    def team(self) -> TeamSync:
        """The sync of the store, loaded on first access."""
        from hermes_memory_bridge.team.sync_control import TeamSync

        return TeamSync(self.paths, lambda: self.vectors.model)

    async def command(self, name: str, arguments: Any) -> dict[str, Any]:
        """Execute a control command sent by another process of this user.

        :raises ArgumentError: names the unknown command or argument
        """
        if name == "hook":
            return await self.hooks.answer(arguments)
        check_status_arguments(name, arguments)
        if name in ("status", "stop"):
            return {**self.status(stop=name == "stop"), "recall": self.vectors.state()}
        if name == "sync":
            return {"hermes-memory": 1, "pid": os.getpid(), **await self.team.answer(arguments)}
        return {"hermes-memory": 1, "pid": os.getpid(), **await self.inspection.answer(name, arguments)}

    def status(self, *, stop: bool) -> dict[str, Any]:
        """Return the bridge's status. :param stop: also stop the bridge"""
        if stop:
            self.stopping.set()
        return {
            "hermes-memory": 1,
            "version": __version__,
            "pid": os.getpid(),
            "store": self.paths.store,
            "uptime_s": round(time.time() - self.started),
            "connections": len(self.agents.connections),
            "stopping": self.stopping.is_set(),
            "serve": self.settings.given,
        }

    async def run(self) -> None:
        """Serve until told to stop."""
        loop = asyncio.get_running_loop()
        for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(name, self.stopping.set)
        line_socket = listen_on_socket(self.paths.line)
        listener = await asyncio.start_unix_server(
            self.lines.serve_connection, sock=line_socket, limit=MAX_LINE, backlog=ACCEPT_BURST
        )
        line_socket.listen(BACKLOG)
        sockets = [listen_on_socket(self.paths.http)]
        if self.settings.tcp is not None:
            sockets.append(open_loopback_socket(self.settings.tcp))
            log.info("listening on http://127.0.0.1:%d/mcp", sockets[-1].getsockname()[1])
        log.info("serving %s, process %d", self.paths.store, os.getpid())
        await self.load_sdk()
        from hermes_memory_bridge.backfill.catch_up import catch_up_daily

        serving = asyncio.create_task(self.mcp.web.serve(sockets=sockets))
        agents = self.agents
        work = (
            self.team.begin,
            agents.leases.keep,
            self.hooks.keep,
            self.mcp.tokens.watch,
            agents.purge_hourly,
            self.note_reads,
            self.mcp.http.forget_quiet,
            self.mcp.notices.watch,
            self.vectors.fill_forever,
            self.linger,
            self.give_way,
            partial(find_wanted_root_commits, self.worker),
            BranchWatch(self.worker).run,
            partial(catch_up_daily, self.worker),
        )
        keepers = [asyncio.create_task(keeper()) for keeper in work]
        self.worker.metrics.connections.set_function(lambda: len(self.agents.connections))
        try:
            await self.stopping.wait()
        finally:
            log.info("stopping")
            listener.close()
            for path in (self.paths.line, self.paths.http):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)
            self.mcp.notices.close()
            for keeper in keepers:
                keeper.cancel()
            await asyncio.gather(*keepers, return_exceptions=True)
            self.mcp.web.handle_exit(signal.SIGTERM, None)
            await self.lines.close()
            await serving
            self.mcp.http.close()
            self.team_search.close()
            await asyncio.to_thread(self.team.stop)
            await self.agents.remove_all()
            await self.vectors.close()
            await asyncio.to_thread(self.worker.close)

    async def load_sdk(self) -> None:
        """Load what no first call needs while calls are answered already, and the vocabulary of tokens."""
        interval_s = sys.getswitchinterval()
        sys.setswitchinterval(LOADING_SWITCH_S)
        try:
            await asyncio.to_thread(lambda: (find_counter(), *map(import_module, LATE_MODULES)))
            from hermes_memory_bridge.protocol.mcp_front import McpFront

            self.mcp = McpFront(self.agents, self.settings.limits, self.settings.shares.http)
            self.lines.serve_sdk_lines.set_result(self.mcp.serve_lines)
        except Exception as error:
            for connection in self.agents.connections:
                connection.end_reason = f"the memory bridge cannot go on: {type(error).__name__}: {error}"
                connection.hang_up()
            raise
        finally:
            sys.setswitchinterval(interval_s)
        self.worker.vectors = self.vectors
        self.team_search = self.worker.team_search = self.team.open_search(self.worker)
        gc.freeze()
        gc.enable()

    async def note_reads(self) -> None:
        """Record at intervals which facts agents were shown, so that a person can follow it; run until cancelled."""
        while True:
            await asyncio.sleep(READ_LOG_DELAY_S)
            if self.worker.store.reads.pending_count:
                self.worker.write_in_background(lambda store: store.reads.flush())

    async def linger(self) -> None:
        """Stop when no client has been connected for a while, over any transport."""
        wait_s = self.settings.linger_s
        if wait_s is None:
            return
        began = time.monotonic()
        while (rest_s := max(began, await self.last_use()) + wait_s - time.monotonic()) > 0:
            await asyncio.sleep(
                min(rest_s, max(wait_s, IDLE_POLL_S))
            )  # whoever is there may leave before the lease lapses
        self.stopping.set()

    async def give_way(self) -> None:
        """Stop once a newer program has raised the store and is installed here: the next shim starts that one."""
        while True:
            await asyncio.sleep(OUTDATED_POLL_S)
            if self.worker.is_outdated.is_set():
                installed = await asyncio.to_thread(find_installed_version)
                if installed is not None and is_older(__version__, installed):
                    log.info("version %s is installed now; this bridge, %s, gives way", installed, __version__)
                    self.stopping.set()
                    return

    async def last_use(self) -> float:
        """Return when a client was last connected; infinite while one is.

        A client that has a session but no connection counts as connected for as long as its lease runs.
        """
        lapse_ms = None
        try:
            lapse_ms = await self.worker.read(lambda store: store.sessions.ms_until_lapse())
        except StoreError as error:
            log.error("leases could not be looked at: %s", error.message)
        if self.lines.tasks or self.mcp.http.in_use():
            return math.inf
        leased = [] if lapse_ms is None else [time.monotonic() + lapse_ms / 1000]
        return max(self.agents.last_departure, self.mcp.http.last_departure, *leased)


def serve_store(paths: BridgePaths, settings: DaemonSettings) -> None:
    """Run the bridge of a store until told to stop. :raises AlreadyServed: another bridge serves the store"""
    os.umask(0o077)
    settings = replace(settings, shares=to_descriptor_shares(raise_descriptor_limit()))
    paths.make_folder()
    with hold_daemon_lock(paths):
        Path(paths.pid).write_text(f"{os.getpid()}\n", encoding="ascii")
        try:
            asyncio.run(run_daemon(paths, settings))
        finally:
            for leftover in (paths.pid, paths.starting):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(leftover)


async def run_daemon(paths: BridgePaths, settings: DaemonSettings) -> None:
    """Create and run the daemon inside its event loop."""
    await Daemon(paths, settings).run()


@contextlib.contextmanager
def hold_daemon_lock(paths: BridgePaths) -> Any:
    """Hold the lock of a store's bridge. An older bridge that holds it is asked to end in good order.

    :raises AlreadyServed: another bridge holds it, and answers
    """
    handle = os.open(paths.lock, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + TAKEOVER_TIMEOUT_S
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                other = ask_bridge(paths, "status")
                if other is not None and not other["stopping"]:
                    if not is_older(other.get("version"), __version__) or time.monotonic() > deadline:
                        raise AlreadyServed(format_already_served(paths, other)) from None
                    log.info("taking over from process %s, version %s", other["pid"], other["version"])
                    ask_bridge(paths, "stop")
                if time.monotonic() > deadline:
                    raise AlreadyServed(f"another process holds {paths.lock} and does not answer") from None
            time.sleep(0.02)
        yield
    finally:
        os.close(handle)


def format_already_served(paths: BridgePaths, other: dict[str, Any]) -> str:
    """Say which process serves a store and, if that is a newer program than this one, what to do."""
    message = f"process {other['pid']} serves {paths.store} already"
    if is_older(__version__, str(other.get("version"))):
        message += f", with version {other['version']}; this program is version {__version__}: {UPGRADE_HINT}"
    return message


def listen_on_socket(path: str) -> socket.socket:
    """Listen on a socket that only its owner can connect to. The caller holds the lock, so an existing one is stale."""
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


def open_loopback_socket(port: int) -> socket.socket:
    """Listen on the loopback interface. :raises OSError: the port is taken"""
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind(("127.0.0.1", port))
    made.listen(BACKLOG)
    made.setblocking(False)
    return made
