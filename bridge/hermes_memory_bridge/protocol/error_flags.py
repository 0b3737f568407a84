"""Clients that must not see refusals marked as errors, nor known texts in another form: hermes-agent alone.

After three consecutive results with `isError`, hermes-agent considers the whole server dead and withholds its
tools from the model for a minute. For all other clients a refusal is marked, as MCP requires.
"""

from __future__ import annotations

import re
from pathlib import Path

from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_bridge.toolkit.tool_results import ToolResult
from hermes_memory_store.context.fence import format_fenced_text

HERMES_CLIENT_NAME = re.compile(r"hermes[-_ ]agent(\s.*)?", re.IGNORECASE)
"""The name in `clientInfo`; the memory provider uses it, too."""

DEFAULT_SDK_NAME = "mcp 0.1.0"
"""What the Python SDK says for programs that give it no name. hermes-agent 0.19 is one of them, so its process is looked at."""

PROGRAMS = frozenset({"hermes", "hermes-agent", "hermes-gateway", "hermes-acp"})

MODULE = re.compile(r"hermes_(cli|agent)(\..+)?")


def is_marked_as_error(answer: ToolResult, connection: Connection) -> bool:
    """Check whether a result is marked `isError` for this connection: every refusal is, except for hermes-agent."""
    return "error" in answer.data and not is_hermes_agent(connection)


def to_client_text(answer: ToolResult, connection: Connection) -> str:
    """Return a result's text for this connection: what stands in the store is fenced, except for hermes-agent."""
    if answer.fenced_from is None or is_hermes_agent(connection):
        return answer.text
    return answer.text[: answer.fenced_from] + format_fenced_text(answer.text[answer.fenced_from :])


def is_hermes_agent(connection: Connection) -> bool:
    """Check whether the client is hermes-agent: by its name or, if it gives none, by its process or parent process."""
    client = connection.client or ""
    if HERMES_CLIENT_NAME.fullmatch(client):
        return True
    if client != DEFAULT_SDK_NAME or connection.pid is None or connection.transport == "tcp":
        return False
    return is_hermes_process(connection.pid) or is_hermes_process(find_parent_pid(connection.pid))


def is_hermes_process(pid: int) -> bool:
    """Check whether the command line of a process begins with hermes-agent; False when the system does not tell."""
    import psutil  # here, not above: few clients give no name, and the bridge's start need not pay for it

    try:
        words = psutil.Process(pid).cmdline()[:4]
    except psutil.Error:
        return False
    return any(Path(word).name in PROGRAMS or MODULE.fullmatch(word) for word in words)


def find_parent_pid(pid: int) -> int:
    """Return the parent's process id; 0 when the system does not tell."""
    import psutil

    try:
        parent: int = psutil.Process(pid).ppid()
    except psutil.Error:
        return 0
    return parent
