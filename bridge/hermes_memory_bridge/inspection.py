"""What the bridge tells the inspector over its control socket: calls, sessions; and ending one of those.

Only processes of the same user reach it: the line socket turns everybody else away before a word is read.
"""

from __future__ import annotations

import asyncio
from typing import Any

from hermes_memory_bridge.agents import Agents
from hermes_memory_bridge.arguments import Arguments, integer, text, text_or_none
from hermes_memory_bridge.calllog import MOST
from hermes_memory_bridge.connection import Connection
from hermes_memory_bridge.hub import Hub
from hermes_memory_store.errors import ArgumentError

TAKES: dict[str, tuple[str, ...]] = {
    "status": (),
    "stop": (),
    "calls": ("since", "theme", "session", "limit"),
    "sessions": (),
    "end": ("theme", "session"),
    "sync": ("action",),
}
"""The commands, and the arguments of each."""


def check_arguments(command: str, arguments: Any) -> None:
    """:raises ArgumentError: there is no such command, or it does not take one of these"""
    takes = TAKES.get(command)
    if takes is None:
        raise ArgumentError(f"{command[:60]!r} is no command of the bridge; it knows {', '.join(TAKES)}", command)
    if not isinstance(arguments, dict):
        raise ArgumentError(f"arguments must be an object, not {type(arguments).__name__}", str(arguments)[:60])
    for name in arguments.keys() - set(takes):
        takes_what = f"takes {', '.join(takes)}" if takes else "takes no arguments"
        raise ArgumentError(f"{command} {takes_what}; {name[:60]!r} is none of it", name)


class Inspection:
    """Answers who follows the agents' calls."""

    def __init__(self, hub: Hub, agents: Agents) -> None:
        self.hub = hub
        self.agents = agents

    async def answer(self, command: str, arguments: Arguments) -> dict[str, Any]:
        """The answer to one command of `TAKES`. :raises ArgumentError: names the argument that cannot be meant"""
        if command == "calls":
            return await self.calls(arguments)
        return self.sessions() if command == "sessions" else await self.end(arguments)

    async def calls(self, arguments: Arguments) -> dict[str, Any]:
        """The calls after number `since`, oldest first, and the number of the last one."""
        since = integer(arguments, "since", 0, least=0, most=2**63)
        limit = integer(arguments, "limit", MOST, least=1, most=MOST)
        theme, session = text_or_none(arguments, "theme"), text_or_none(arguments, "session")
        found = self.hub.calls.since(since, theme=theme, session=session, limit=limit)
        last = self.hub.calls.last  # before anything is awaited: none is noted in between
        # Beside the loop: each is looked through for secrets.
        told = await asyncio.to_thread(lambda: [call.as_dict() for call in found])
        return {"calls": told, "last": last}

    def sessions(self) -> dict[str, Any]:
        """The sessions of whoever is connected, in the order they came."""
        here = sorted(self.agents.here, key=lambda connection: connection.connected_at)
        rows = {(one.theme, name): self._row(one, name) for one in here for name in names_of(one)}
        return {"sessions": list(rows.values())}

    async def end(self, arguments: Arguments) -> dict[str, Any]:
        """End a session, as a person does."""
        why = await self.agents.end(text(arguments, "theme"), text(arguments, "session"))
        return {"ended": why is None, "why": why}

    def _row(self, connection: Connection, name: str) -> dict[str, Any]:
        counts = self.hub.calls.counted(connection.theme, name)
        return {
            "theme": connection.theme,
            "session": name,
            "client": connection.client,
            "pid": connection.pid,
            "credential": connection.credential,
            "transport": connection.transport,
            "connected_at": connection.connected_at,
            "calls": counts.calls,
            "calls_per_minute": counts.calls_per_minute,
            "reads": counts.reads,
            "writes": counts.writes,
        }


def names_of(connection: Connection) -> list[str]:
    """The sessions a connection holds; its own name when it has called nothing yet."""
    return [session.name for session in connection.sessions()] or [connection.name]
