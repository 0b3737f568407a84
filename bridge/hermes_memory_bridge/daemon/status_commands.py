"""Control commands for the inspector: list calls and sessions, and end a session.

Only processes of the same user can send them: the line socket rejects all others before it reads anything.
"""

from __future__ import annotations

import asyncio
from typing import Any

from hermes_memory_bridge.runtime.call_log import MOST_CALLS
from hermes_memory_bridge.runtime.connection_registry import ConnectionRegistry
from hermes_memory_bridge.runtime.store_worker import StoreWorker
from hermes_memory_bridge.toolkit.arguments import (
    Arguments,
    parse_integer_argument,
    parse_optional_text,
    parse_text_argument,
)
from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_store.compact_json import to_members
from hermes_memory_store.errors import ArgumentError, UnknownSession

COMMAND_ARGUMENTS: dict[str, tuple[str, ...]] = {
    "status": (),
    "stop": (),
    "calls": ("since", "theme", "session", "limit"),
    "sessions": (),
    "end": ("theme", "session"),
    "sync": ("action", "passphrase"),
}
"""The commands, and the arguments of each."""


def check_status_arguments(command: str, arguments: Any) -> None:
    """Check a command and its arguments.

    :raises ArgumentError: the command is unknown, or does not take one of these
    """
    takes = COMMAND_ARGUMENTS.get(command)
    if takes is None:
        raise ArgumentError(
            f"{command[:60]!r} is no command of the bridge; it knows {', '.join(COMMAND_ARGUMENTS)}", command
        )
    if not isinstance(arguments, dict):
        raise ArgumentError(f"arguments must be an object, not {type(arguments).__name__}", str(arguments)[:60])
    for name in arguments.keys() - set(takes):
        takes_what = f"takes {', '.join(takes)}" if takes else "takes no arguments"
        raise ArgumentError(f"{command} {takes_what}; {name[:60]!r} is none of it", name)


class StatusCommands:
    """Answer clients that follow agents' calls."""

    def __init__(self, worker: StoreWorker, agents: ConnectionRegistry) -> None:
        self.worker = worker
        self.agents = agents

    async def answer(self, command: str, arguments: Arguments) -> dict[str, Any]:
        """Answer one command of `COMMAND_ARGUMENTS`.

        :raises ArgumentError: names the invalid argument
        :raises AmbiguousSession: several sessions are called so
        """
        if command == "calls":
            return await self.calls(arguments)
        return self.sessions() if command == "sessions" else await self.end(arguments)

    async def calls(self, arguments: Arguments) -> dict[str, Any]:
        """Return the calls after number `since`, oldest first, and the number of the latest one."""
        since = parse_integer_argument(arguments, "since", 0, least=0, most=2**63) or 0
        limit = parse_integer_argument(arguments, "limit", MOST_CALLS, least=1, most=MOST_CALLS)
        theme, session = parse_optional_text(arguments, "theme"), parse_optional_text(arguments, "session")
        if session is not None:
            session = await self._find_session_name(theme, session)
        found = self.worker.calls.since(since, theme=theme, session=session, limit=limit)
        last = self.worker.calls.last  # before anything is awaited: none is noted in between
        named = [*{uid for call in found for uid in call.uids}]
        erased, erased_at = await self.worker.read(
            lambda store: (store.facts.find_purged(named), store.facts.last_purged_at())
        )
        # Beside the loop: each is looked through for secrets.
        told = await asyncio.to_thread(lambda: [call.as_dict(erased, erased_at) for call in found])
        return {"calls": told, "last": last}

    async def _find_session_name(self, theme: str | None, session: str) -> str:
        """Return the name of the session a person means. :raises AmbiguousSession: there are several"""
        try:
            return (await self.worker.read(lambda store: store.sessions.find(session, theme=theme))).name
        except UnknownSession:  # refused calls may name sessions that were never opened
            return session

    def sessions(self) -> dict[str, Any]:
        """Return the sessions of all connected clients, in order of connection."""
        here = sorted(self.agents.connections, key=lambda connection: connection.connected_at)
        rows: dict[tuple[str, str], dict[str, Any]] = {}
        for connection in here:
            # one that has made no call yet stands there by its own name
            for name in [session.name for session in connection.sessions()] or [connection.name]:
                rows[connection.theme, name] = self._row(connection, name)
        return {"sessions": list(rows.values())}

    async def end(self, arguments: Arguments) -> dict[str, Any]:
        why = await self.agents.end(parse_text_argument(arguments, "theme"), parse_text_argument(arguments, "session"))
        return {"ended": why is None, "why": why}

    def _row(self, connection: Connection, name: str) -> dict[str, Any]:
        counts = self.worker.calls.session_counts(connection.theme, name)
        return {
            "theme": connection.theme,
            "session": name,
            "title": connection.session_title(name),
            **to_members(connection, "client pid credential transport connected_at"),
            **to_members(counts, "calls calls_per_minute reads writes"),
        }
