"""A connection of one agent: its theme, its rights and its sessions."""

from __future__ import annotations

import copy
import re
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from hermes_memory_bridge.wire.messages import ESSENTIAL
from hermes_memory_store import uids
from hermes_memory_store.clock import system_clock
from hermes_memory_store.context.context_block import SPEC, SPEC_WITH_HOOKS
from hermes_memory_store.errors import JournalBroken, StoreError, UnknownFact, UnknownTheme
from hermes_memory_store.memory import sources
from hermes_memory_store.memory.sessions import HEARTBEAT_MS, LEASE_MS
from hermes_memory_store.model import ContextBlock, Fact, Origin, OrphanPolicy, Rights, Session, split_client_version
from hermes_memory_store.store import Store
from hermes_memory_themes.theme_identity import PERSONAL

if TYPE_CHECKING:
    from hermes_memory_bridge.embedding.query_vector import QueryVector
    from hermes_memory_bridge.toolkit.team_fallback import TeamFallback
    from hermes_memory_store.access.credentials import Credential

TITLE = re.compile(r"#\d+\s*$")
"""Ends a session's name for a person."""

GIVEN_WITH_HANDSHAKE = "instructions"
"""The kind of the context record of facts that a connection was given with its handshake."""

Later = Callable[[Callable[[Store], Any]], None]


@dataclass(frozen=True, slots=True)
class LeaseTimes:
    """How often a session's lease is renewed, and after how long without activity the session counts as dead."""

    heartbeat_ms: int = HEARTBEAT_MS
    lease_ms: int = LEASE_MS
    on_orphan: OrphanPolicy = OrphanPolicy.CHECKPOINT_AND_CLOSE


class TokenNoLongerValid(StoreError):
    """The connection's token is no longer valid, or no longer grants the same access."""

    code = "token.invalid"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"the token {name!r} was rotated, revoked or changed, or has expired; connect with the one it has now", name
        )


class Connection:
    """The store, theme, rights and sessions of one connection.

    Its own session opens with the first tool call, so a host that only lists tools leaves no trace.
    """

    def __init__(
        self,
        store: Store,
        theme: str,
        *,
        rights: Rights = Rights(),
        later: Later | None = None,
        resume: str | None = None,
        pid: int | None = None,
        home: Path | None = None,
        lease: LeaseTimes = LeaseTimes(),
        tools: str | None = None,
        holds: bool = True,
    ) -> None:
        """:param later: runs a job on the store in the background; immediately on this store unless given
        :param resume: name of the session to resume
        :param pid: process at the other end, if it is on this machine
        :param home: `$HERMES_HOME` as the host reports it, not verified yet: see `toolkit.host_folders`
        :param tools: the tools to offer: `essential`, `core`, `all`, or names; None when it chose none
        :param holds: whether being connected renews its leases, unless it no longer answers; otherwise only calls do
        """
        self.store = store
        self.theme = theme
        self.rights = rights
        self.lease = lease
        self.tools = tools
        self.holds = holds
        self.home = home
        self.pid = pid
        self.credential_shown: Credential | None = None
        """The token it presented, as the store had it at that time."""
        self.transport = ""
        """The transport: `line`, `http` or `tcp`; empty within one process."""
        self.connected_at = system_clock()
        self.hang_up: Callable[[], None] = lambda: None
        self.end_reason = ""
        """Why the bridge ends it, for calls that are in flight then; empty when it does not."""
        """Closes the connection from this side, in order."""
        self.find_host_session: Callable[[Store], Session | None] = lambda _: None
        """Finds the session that hooks of its host opened before its first call, where it is certainly the same."""
        self.stream_enders: set[Callable[[], None]] = set()
        """Callbacks that end its notification streams."""
        self.streams = 0
        """Number of open notification streams."""
        self.last_activity = time.monotonic()
        """Monotonic time of its last message."""
        self.ask: Callable[[], None] | None = None
        """Asks the peer whether it is alive; None when it cannot be asked."""
        self.heard_at = time.monotonic()
        """Monotonic time at which a peer that can be asked last said anything."""
        self.is_silent = False
        """Whether the peer has left the question unanswered for too long."""
        self.client: str | None = None
        """Name and version of the connected program, known after its handshake."""
        self.declared_name: str | None = None
        """Its name alone."""
        self.declared_version: str | None = None
        self.folder: str | None = None
        """The folder it says it works in."""
        self.roots: list[str] = []
        """The folders its host says it works in."""
        self.peer: str | None = None
        """Who is at the other end, as the bridge sees it."""
        self.program: str | None = None
        """The program at the other end, as the bridge sees it."""
        self.origin: Origin | None = None
        """Where the current call comes from."""
        self.called_session: str | None = None
        """The session that the current call names."""
        self.counts = True
        """Whether it is one of those that its token may have at a time."""
        self.is_placed = False
        """Whether its theme is that of the folder it works in: nobody named one."""
        self.instruction_uids: set[str] = set()
        """Facts that it was given with its handshake."""
        self.unclaimed_notes: list[int] = []
        """Times of the records of that, which belong to its own session once it is open."""
        self.name = resume or self.new_session_name()
        """Name of the connection's own session, by which it can be resumed."""
        self.query_vector: QueryVector | None = None
        """Vector of the current call's query; None ranks by words alone."""
        self.team_fallback: TeamFallback | None = None
        """Results of the team database for the current call, if it was queried."""
        self._later = later
        self._lock = threading.Lock()
        self._known: dict[str, Session] = {}
        self._names: dict[str, str] = {}
        """Names of sessions by the titles that calls gave instead."""
        self._spec_given: dict[str, int] = {}
        """When sessions were given a context block last, by name, UTC milliseconds."""
        self._heard: dict[str, float] = {}
        """Monotonic time of the last call in each session, by name."""

    @classmethod
    def open(cls, db: str | Path | None, theme: str) -> Self:
        """Open a connection with a store of its own, for use within one process."""
        from hermes_memory_bridge.toolkit.store_opening import open_current_store
        from hermes_memory_store.system.filesystem import default_store_path

        return cls(open_current_store(Path(db).expanduser() if db is not None else default_store_path()), theme)

    def revoke(self) -> None:
        """Revoke all rights: its token is no longer valid. It gets no more notifications."""
        if self.credential_shown is not None:
            self.end_reason = str(TokenNoLongerValid(self.credential_shown.name))
        self.rights = Rights(read=False, write=False, purge=False)
        self.end_streams()

    def end_streams(self) -> None:
        for stream in list(self.stream_enders):
            stream()

    @property
    def credential(self) -> str | None:
        return None if self.credential_shown is None else self.credential_shown.name

    @property
    def sees_all_themes(self) -> bool:
        """Check whether it may know of all themes: a process of this user, or a token with the right to."""
        return self.credential_shown is None or self.rights.other_themes

    @property
    def is_sealed(self) -> bool:
        """Check whether it reads no theme but its own: whoever presented a token, which is for one theme."""
        return self.credential_shown is not None

    @property
    def reads_personal(self) -> bool:
        return not self.is_sealed or self.rights.personal

    def readable_themes(self) -> tuple[str, ...]:
        themes = self.store.place_themes.readable(self.theme, personal=self.reads_personal, sealed=self.is_sealed)
        return tuple(theme.name for theme in themes[1:])

    def context_block(self, session: Session | None = None) -> ContextBlock:
        """Return the context block for its agent, and record it.

        The rules of the notation stand in the first one of a session's window; in those after it, a line that refers to them.
        """
        sessions = None
        if self.rights.grants_any_tool(["recall_conversation"]):
            sessions = self.store.turns.describe_sessions(self.theme, None if session is None else session.name)
        return self.store.context.status(
            self.theme,
            session=session,
            sessions=sessions,
            personal=self.reads_personal,
            sealed=self.is_sealed,
            spec=SPEC_WITH_HOOKS if self.tools == ESSENTIAL else SPEC,
            is_spec_known=session is not None and self._take_spec(session),
        )

    def _take_spec(self, session: Session) -> bool:
        """Note that a session is given the rules of the notation; return whether its model has them before it already."""
        now = self.store.clock()
        with self._lock:
            given_at, self._spec_given[session.name] = self._spec_given.get(session.name), now
        if given_at is None:
            return False
        window_at = self.store.host_sessions.newest_window(session)
        return window_at is None or window_at <= given_at

    def find_fact(self, uid: str) -> Fact:
        """Return a fact of its theme, or one of another theme that its agent is given.

        :raises UnknownFact: AmbiguousUid
        :raises JournalBroken: it is not what the journal says was written
        """
        fact = self._find_fact(uid)
        if not self.store.facts.as_written([fact]):
            problem = "was changed behind the memory's back, and is given to nobody: hermes-memory-tui doctor --repair"
            raise JournalBroken(f"fact {uids.short_uid(fact.uid)} {problem}", fact.uid)
        return fact

    def _find_fact(self, uid: str) -> Fact:
        try:
            return self.store.facts.get(uid, theme=self.theme)
        except UnknownFact:
            for theme in self.readable_themes():
                with suppress(UnknownFact, UnknownTheme):
                    fact = self.store.facts.get(uid, theme=theme)
                    if self.store.place_themes.is_seen(fact, self.theme):
                        return fact
            raise

    def choose_theme(self, target: str | None) -> str:
        """Return the theme in which a new fact of this target is stored: the person's own facts are in one for all places."""
        is_own_socket = self.is_placed and not self.is_sealed
        return (
            PERSONAL if is_own_socket and target and self.store.place_themes.is_personal_target(target) else self.theme
        )

    def with_store(
        self,
        store: Store,
        query_vector: QueryVector | None = None,
        team_fallback: TeamFallback | None = None,
        origin: Origin | None = None,
        session: str | None = None,
    ) -> Self:
        """Return the same connection on another store handle: a reader or the writer.

        :param query_vector: the vector of the call's query
        :param team_fallback: what the team database found
        :param origin: where the call comes from
        :param session: the session that it names
        :raises TokenNoLongerValid: its token was rotated, revoked or changed since, or has expired
        """
        if self.credential_shown is not None and not store.credentials.is_current(self.credential_shown):
            raise TokenNoLongerValid(self.credential_shown.name)
        view = copy.copy(self)
        view.store = store
        view.query_vector = query_vector
        view.team_fallback = team_fallback
        view.origin = origin
        view.called_session = session
        return view

    def add_deferred_task(self, job: Callable[[Store], Any]) -> None:
        """Schedule a write in the background without waiting: the side effects of a tool that only reads."""
        if self._later is not None:
            self._later(job)
        else:
            job(self.store)

    def session(self) -> Session:
        """Return the session the current call belongs to: the one it names, else the connection's own."""
        name = self.session_name(self.called_session)
        with self._lock:
            session = self._known.get(name)
        if session is None:
            session = self.take_session(name)
            self.add_session(session, name)
        return session

    @property
    def own_session(self) -> Session | None:
        """Return the connection's own session, if it is open."""
        return self._known.get(self.name)

    @property
    def client_name(self) -> str | None:
        """Return the name of the connected program without its version."""
        return self.declared_name or (None if self.client is None else split_client_version(self.client)[0])

    @property
    def client_version(self) -> str | None:
        return self.declared_version or (None if self.client is None else split_client_version(self.client)[1])

    @property
    def source(self) -> str:
        """Return the source of this connection's writes, on which a person can rule.

        The connected program, else the connection itself. Never taken from a call: a model chooses `session_id`, which
        may name sessions of other programs.
        """
        return sources.client_source(self.client, self.name)

    def session_name(self, called: str | None) -> str:
        """Return the name of the session that a call names, else of the connection's own."""
        return self._names.get(called, called) if called else self.name

    def has_session(self, name: str) -> bool:
        return name in self._known

    def session_title(self, name: str) -> str | None:
        """Return the name for a person of one of its sessions; None while that is not open."""
        session = self._known.get(name)
        return None if session is None else session.title

    def find_session(self, called: str | None) -> Session | None:
        """Return the session a call belongs to, if it is open."""
        return self._known.get(self.session_name(called))

    def unopened_session(self, called: str | None) -> str | None:
        """Return the name of the session a call belongs to and note its activity; None when it is open already."""
        name = self.session_name(called)
        self.note_activity(name)
        return None if name in self._known else name

    def note_activity(self, name: str) -> None:
        """Record activity in a session: its owner is alive."""
        with self._lock:
            self._heard[name] = time.monotonic()

    @staticmethod
    def new_session_name() -> str:
        return str(uids.format_uid(uids.new_uid(system_clock())))

    def take_session(self, name: str) -> Session:
        """Resume a running session, keeping its lease; else open it.

        :param name: its name, or its name for a person: `claude-code · shop #2`
        """
        running = self.store.sessions.find_running(self.theme, name)
        if running is None and TITLE.search(name):
            titled = self.store.sessions.find_titled(self.theme, name)
            if titled is not None and titled.name != name:
                return self.take_session(titled.name)
        if running is None:
            return self.open_session(name)
        self.store.sessions.renew([running])
        return running

    def open_session(self, name: str, lease: LeaseTimes | None = None) -> Session:
        """Open or resume a session of the connection's theme. Requires a writable store."""
        lease = lease or self.lease
        return self.store.sessions.open(
            self.theme,
            name,
            client=self.client if self._has_numbered_version() else self.client_name,
            client_version=self.client_version,
            project=None if self.origin is None else self.origin.project,
            pid=self.pid,
            heartbeat_ms=lease.heartbeat_ms,
            lease_ms=lease.lease_ms,
            on_orphan=lease.on_orphan,
        )

    def _has_numbered_version(self) -> bool:
        """Check whether the version behind the client's name is told from the name: `claude-code 2.1.0`."""
        return self.client is not None and split_client_version(self.client)[0] == self.client_name

    def add_session(self, session: Session, called: str | None = None) -> None:
        """Add an opened session, to which calls can now belong. :param called: what a call named it"""
        with self._lock:
            self._known[session.name] = session
            if called is not None and called != session.name:
                self._names[called] = session.name

    def remove_session(self, name: str) -> None:
        with self._lock:
            self._known.pop(name, None)
            self._heard.pop(name, None)

    def forget_sessions(self) -> None:
        """Forget every session: the store is another file now. Each is opened again, by its name, with its next call."""
        with self._lock:
            self._known.clear()

    def release_named_sessions(self) -> None:
        """Release every session but its own.

        A client that opened one by name may continue it without this connection.
        """
        with self._lock:
            for name in self._known.keys() - {self.name}:
                del self._known[name]

    def alive(self, since: float) -> list[Session]:
        """Return the sessions to renew: all while it is connected and answers, else those active since then.

        An open stream proves nothing: a stopped client has it open, too. Several workers may share a connection, and
        calls of one must not keep a dead one's session alive.
        """
        with self._lock:
            if self.holds:
                return [] if self.is_silent else list(self._known.values())
            heard = {**self._heard, self.name: self.last_activity}
            return [session for name, session in self._known.items() if heard.get(name, 0.0) > since]

    def sessions(self) -> list[Session]:
        with self._lock:
            return list(self._known.values())

    def close(self) -> None:
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
