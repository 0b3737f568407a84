"""One agent's connection: whose memory it speaks for, and the session it is."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

from hermes_memory_bridge.arguments import Arguments, text_or_none
from hermes_memory_store.errors import StoreNeedsUpgrade
from hermes_memory_store.filesystem import default_path
from hermes_memory_store.model import Session
from hermes_memory_store.sessions import HEARTBEAT_MS
from hermes_memory_store.store import Store

DAY_MS = 86_400_000


class Connection:
    """The store, the theme of this connection, and its sessions.

    The connection's own session opens with the first tool call, so that a host that only lists tools leaves no trace.
    """

    def __init__(self, store: Store, theme: str) -> None:
        self.store = store
        self.theme = theme
        self.client: str | None = None
        """Name and version of the program that connected, once it has said so."""
        self._lock = threading.Lock()
        self._own: Session | None = None
        self._named: dict[str, Session] = {}

    @classmethod
    def open(cls, db: str | Path | None, theme: str) -> Self:
        """Open the store for one theme. A hermes-memory 0.3.0 file is upgraded, with a verified backup beside it."""
        path = Path(db).expanduser() if db is not None else default_path()
        try:
            store = Store.open(path)
        except StoreNeedsUpgrade:
            from hermes_memory_store.upgrade import upgrade

            upgrade(path)
            store = Store.open(path)
        retention_ms = store.policies.for_theme(theme).retention_days * DAY_MS
        store.purge.erase_held(theme, retention_ms)
        return cls(store, theme)

    def session(self, arguments: Arguments | None = None) -> Session:
        """The session a call belongs to: the one its `session_id` names, else the connection's own."""
        name = text_or_none(arguments, "session_id") if arguments else None
        with self._lock:
            if name is not None:
                if name not in self._named:
                    self._named[name] = self.store.sessions.open(self.theme, name, client=self.client, pid=os.getpid())
                return self._named[name]
            if self._own is None:
                self._own = self.store.sessions.open(self.theme, client=self.client, pid=os.getpid())
            return self._own

    @property
    def heartbeat_s(self) -> float:
        """Seconds between two heartbeats."""
        return HEARTBEAT_MS / 1000

    def heartbeat(self) -> None:
        """The connection is alive: renew the leases of its sessions."""
        with self._lock:
            alive = [*self._named.values()] + ([self._own] if self._own else [])
        for session in alive:
            self.store.sessions.heartbeat(session)

    def close(self) -> None:
        """End the sessions of this connection and close the store."""
        try:
            for session in [*self._named.values()] + ([self._own] if self._own else []):
                self.store.sessions.close(session)
        finally:
            self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
