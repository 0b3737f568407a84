"""Paths of a store's bridge: sockets, lock, process id and log. Standard library only: the shim imports it.

All are derived from the path of the store alone, because an MCP host gives its children hardly any environment:
`memory.db` is served from the folder `memory.db.bridge` beside it.
"""

from __future__ import annotations

import os

LONGEST_SOCKET = 100
"""Bytes of a unix socket's path that every system takes (`sun_path` is 104 bytes on macOS, 108 on Linux)."""


class BridgePaths:
    """The files of one store's bridge."""

    __slots__ = ("folder", "http", "line", "lock", "log", "pid", "starting", "store")

    def __init__(self, store: str) -> None:
        """:param store: path of the store, absolute and with links resolved; see `of`"""
        self.store = store
        folder = store + ".bridge"
        if len(os.fsencode(folder)) + len("/line.sock") > LONGEST_SOCKET:
            folder = to_short_folder(store)
        self.folder = folder
        self.line = os.path.join(folder, "line.sock")
        """Newline-delimited JSON-RPC; one connection is one session."""
        self.http = os.path.join(folder, "mcp.sock")
        """Streamable HTTP."""
        self.lock = os.path.join(folder, "lock")
        """Held by the bridge for as long as it lives."""
        self.starting = os.path.join(folder, "starting")
        """Held by whoever starts a bridge, until it listens."""
        self.pid = os.path.join(folder, "pid")
        self.log = os.path.join(folder, "bridge.log")

    @classmethod
    def of(cls, db: str | os.PathLike[str] | None = None) -> BridgePaths:
        """Return the paths of a store: `db`, else `$HERMES_MEMORY_DB`, else `~/.hermes/memory.db`.

        A blank one is ignored.
        """
        named = os.fspath(db) if db is not None else os.environ.get("HERMES_MEMORY_DB", "")
        path = named if named.strip() else os.path.join("~", ".hermes", "memory.db")
        return cls(os.path.realpath(os.path.expanduser(path)))

    def make_folder(self) -> None:
        """Make the folder, for its owner only.

        :raises ForeignSocket: it is another user's, or others may write to it
        """
        from hermes_memory_bridge.wire.peers import make_private_folders  # here, not above: it brings `socket`

        make_private_folders(self.line)


def to_short_folder(store: str) -> str:
    """Return a folder for a store whose own path is too long for a socket."""
    import hashlib

    name = hashlib.sha256(os.fsencode(store)).hexdigest()[:16]
    return os.path.join("/tmp", f"hermes-memory-{os.getuid()}", name)  # noqa: S108 - see `peers`


def find_working_folder() -> str:
    """Return the folder in which this process works; empty when it is gone."""
    try:
        return os.getcwd()
    except OSError:
        return ""
