"""Which clients must not see refusals marked as errors: hermes-agent alone.

After three results with `isError` in a row hermes-agent takes the whole server for dead and keeps its tools from the model for a
minute. To everybody else a refusal is marked, as MCP asks for.
"""

from __future__ import annotations

import re
from pathlib import Path

from hermes_memory_bridge.answers import Answer
from hermes_memory_bridge.connection import Connection

NAMED = re.compile(r"hermes[-_ ]agent(\s.*)?", re.IGNORECASE)
"""The name in `clientInfo`; the memory provider uses it, too."""

UNNAMED = "mcp 0.1.0"
"""What the Python SDK says for programs that give it no name. hermes-agent 0.19 is one of them, so its process is looked at."""

PROGRAMS = frozenset({"hermes", "hermes-agent", "hermes-gateway", "hermes-acp"})

MODULE = re.compile(r"hermes_(cli|agent)(\..+)?")

PROC = Path("/proc")


def is_error(answer: Answer, connection: Connection) -> bool:
    """Whether an answer is marked `isError` for this connection: every refusal, except to hermes-agent."""
    return "error" in answer.data and not is_hermes_agent(connection)


def is_hermes_agent(connection: Connection) -> bool:
    """Whether the other end is hermes-agent, by its name or, where it gives none, by its process or that process' parent."""
    client = connection.client or ""
    if NAMED.fullmatch(client):
        return True
    if client != UNNAMED or connection.pid is None or connection.transport == "tcp":
        return False
    return runs_hermes_agent(connection.pid) or runs_hermes_agent(parent_of(connection.pid))


def runs_hermes_agent(pid: int) -> bool:
    """Whether the first words of a process' command line name hermes-agent; False where the system does not tell."""
    try:
        words = (PROC / str(pid) / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")[:4]
    except OSError:
        return False
    return any(Path(word).name in PROGRAMS or MODULE.fullmatch(word) for word in words)


def parent_of(pid: int) -> int:
    """The parent's process id; 0 where the system does not tell."""
    try:
        fields = (PROC / str(pid) / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[1])
