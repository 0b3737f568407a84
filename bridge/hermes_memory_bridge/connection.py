"""One agent's connection: whose memory it speaks for, what it may do, and the sessions it holds."""

from __future__ import annotations

import copy
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from hermes_memory_bridge.arguments import Arguments, name_or_none
from hermes_memory_store import sources, uids
from hermes_memory_store.clock import system_clock
from hermes_memory_store.errors import StoreError
from hermes_memory_store.model import OrphanPolicy, Rights, Session
from hermes_memory_store.sessions import HEARTBEAT_MS, LEASE_MS
from hermes_memory_store.store import Store

if TYPE_CHECKING:
    from hermes_memory_bridge.elsewhere import Elsewhere
    from hermes_memory_bridge.embedding.asked import Asked
    from hermes_memory_bridge.trust import Trust
    from hermes_memory_store.credentials import Credential

Later = Callable[[Callable[[Store], Any]], None]


@dataclass(frozen=True, slots=True)
class Lease:
    """How often a session is heard of, and after which silence it counts as dead."""

    heartbeat_ms: int = HEARTBEAT_MS
    lease_ms: int = LEASE_MS
    on_orphan: OrphanPolicy = OrphanPolicy.CHECKPOINT_AND_CLOSE


class TokenEnded(StoreError):
    """The token that a connection showed no longer opens what it did then."""

    code = "token.invalid"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"the token {name!r} was rotated, revoked or changed, or has expired; connect with the one it has now", name
        )


class Connection:
    """The store, the theme and the rights of one connection, and its sessions.

    Its own session opens with the first tool call, so that a host that only lists tools leaves no trace.
    """

    def __init__(
        self,
        store: Store,
        theme: str,
        *,
        rights: Rights = Rights(),
        trust: Trust | None = None,
        later: Later | None = None,
        resume: str | None = None,
        pid: int | None = None,
        home: Path | None = None,
        lease: Lease = Lease(),
        tools: str | None = None,
        holds: bool = True,
    ) -> None:
        """:param later: runs a job on the store some time soon; at once on this one unless given
        :param resume: name of the session to go on with
        :param pid: process at the other end, where it is on this machine
        :param home: `$HERMES_HOME` as the host says it, not checked yet: see `access.host_files`
        :param tools: which tools it is offered: `core`, `all`, or names; None when it chose none
        :param holds: whether being connected renews its leases; without a connection only calls do
        """
        self.store = store
        self.theme = theme
        self.rights = rights
        self.trust = trust
        self.lease = lease
        self.tools = tools
        self.holds = holds
        self.home = home
        self.pid = pid
        self.shown: Credential | None = None
        """The token it showed, as the store knew it then."""
        self.transport = ""
        """How it is connected: `line`, `http` or `tcp`; nothing inside one process."""
        self.connected_at = system_clock()
        self.hang_up: Callable[[], None] = lambda: None
        """Ends the connection from this side, properly."""
        self.listening: set[Callable[[], None]] = set()
        """Ends its streams of notifications."""
        self.streams = 0
        """Open streams of notifications: as long as there is one, the other end is alive."""
        self.seen = time.monotonic()
        """When something last came from it."""
        self.client: str | None = None
        """Name and version of the program that connected, once it has said so."""
        self.name = resume or self.fresh_name()
        """Name of the connection's own session, by which it can be resumed."""
        self.asked: Asked | None = None
        """What the question of the call at hand means, where it is known; words alone count otherwise."""
        self.elsewhere: Elsewhere | None = None
        """What the team's database has to say to the call at hand, where it was asked."""
        self._later = later
        self._lock = threading.Lock()
        self._known: dict[str, Session] = {}
        self._heard: dict[str, float] = {}
        """When a call last belonged to each of them."""

    @classmethod
    def open(cls, db: str | Path | None, theme: str) -> Self:
        """A connection with a store of its own, for use inside one process."""
        from hermes_memory_bridge.hub import opened
        from hermes_memory_store.filesystem import default_path

        return cls(opened(Path(db).expanduser() if db is not None else default_path()), theme)

    def revoke(self) -> None:
        """Its token is no longer good: it may do nothing from now on, and hears of nothing."""
        self.rights = Rights(read=False, write=False, purge=False)
        self.end_streams()

    def end_streams(self) -> None:
        """End its streams of notifications."""
        for stream in list(self.listening):
            stream()

    @property
    def credential(self) -> str | None:
        """Name of the token it showed."""
        return None if self.shown is None else self.shown.name

    def using(self, store: Store, asked: Asked | None = None, elsewhere: Elsewhere | None = None) -> Self:
        """The same connection on another handle of the store: a reader, or the one that writes.

        :param asked: what the question of the call means
        :param elsewhere: what the team's database says to it
        :raises TokenEnded: its token was rotated, revoked or changed since, or has expired
        """
        if self.shown is not None and not store.credentials.is_current(self.shown):
            raise TokenEnded(self.shown.name)
        view = copy.copy(self)
        view.store = store
        view.asked = asked
        view.elsewhere = elsewhere
        return view

    def later(self, job: Callable[[Store], Any]) -> None:
        """Run a job that writes some time soon, and wait for nothing: what a tool that only reads may leave behind."""
        if self._later is not None:
            self._later(job)
        else:
            job(self.store)

    def session(self, arguments: Arguments | None = None) -> Session:
        """The session a call belongs to: the one its `session_id` names, else the connection's own."""
        name = self.session_name(arguments)
        with self._lock:
            known = self._known.get(name)
        if known is None:
            known = self.take_session(name)
            self.remember(known)
        return known

    @property
    def source(self) -> str:
        """Whose writes these are, as a person rules on them: the program that connected, else the connection itself.

        Never what a call says: `session_id` is chosen by a model, and names sessions of other programs too.
        """
        return sources.named(self.client, self.name)

    def session_name(self, arguments: Arguments | None) -> str:
        """Name of the session a call belongs to. :raises ArgumentError: `session_id` is no text, or blank"""
        if not arguments or "session_id" not in arguments:
            return self.name
        return name_or_none(arguments, "session_id") or self.name

    def knows(self, name: str) -> bool:
        """Whether that session is open already."""
        return name in self._known

    def unopened_session(self, arguments: Arguments) -> str | None:
        """Name of the session a call belongs to, which is heard of by it; None when it is open already."""
        name = self.session_name(arguments)
        self.hear(name)
        return None if name in self._known else name

    def hear(self, name: str) -> None:
        """A call belongs to that session: whoever has it is alive."""
        with self._lock:
            self._heard[name] = time.monotonic()

    @staticmethod
    def fresh_name() -> str:
        """A name for a session that has none."""
        return str(uids.to_text(uids.new_uid(system_clock())))

    def take_session(self, name: str) -> Session:
        """Go on with a session that runs, keeping its lease; else open it."""
        running = self.store.sessions.running(self.theme, name)
        if running is None:
            return self.open_session(name)
        self.store.sessions.renew([running])
        return running

    def open_session(self, name: str, lease: Lease | None = None) -> Session:
        """Open a session of the connection's theme, or take it up where it was left. The store must be one that writes."""
        lease = lease or self.lease
        return self.store.sessions.open(
            self.theme,
            name,
            client=self.client,
            pid=self.pid,
            heartbeat_ms=lease.heartbeat_ms,
            lease_ms=lease.lease_ms,
            on_orphan=lease.on_orphan,
        )

    def remember(self, session: Session) -> None:
        """A session was opened; calls belong to it from now on."""
        with self._lock:
            self._known[session.name] = session

    def forget(self, name: str) -> None:
        """A session has ended."""
        with self._lock:
            self._known.pop(name, None)
            self._heard.pop(name, None)

    def leave_to_leases(self) -> None:
        """Let go of every session but its own: who opened one by name may go on with it without this connection."""
        with self._lock:
            for name in self._known.keys() - {self.name}:
                del self._known[name]

    def alive(self, since: float) -> list[Session]:
        """The sessions to renew: all while it is connected, else those it was heard of in since then.

        Several workers may share a connection, and one that is dead must not live by the calls of the others.
        """
        with self._lock:
            if self.holds or self.streams:
                return list(self._known.values())
            heard = {**self._heard, self.name: self.seen}
            return [session for name, session in self._known.items() if heard.get(name, 0.0) > since]

    def sessions(self) -> list[Session]:
        """The sessions this connection holds."""
        with self._lock:
            return list(self._known.values())

    def close(self) -> None:
        """End the sessions of this connection, and close its own store."""
        try:
            for session in self.sessions():
                self.store.sessions.close(session)
        finally:
            self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
