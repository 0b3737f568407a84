"""The process of a host, found among the ancestors of what it starts: a hook, or the shim of an MCP connection."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from hermes_memory_bridge.wire.silence import MOST_ANCESTORS, find_process_state
from hermes_memory_store.system.file_handles import is_process_running

WRAPPERS = frozenset(
    [
        "sh",
        "bash",
        "dash",
        "zsh",
        "ash",
        "ksh",
        "fish",
        "busybox",
        "env",
        "timeout",
        "nice",
        "sudo",
        "uv",
        "uvx",
        "npx",
        "npm",
    ]
)
"""Programs that stand between a host and what it starts."""


def find_host_process(ancestors: Iterable[int]) -> int | None:
    """Return the first ancestor that is no wrapper: the host. :param ancestors: process ids, nearest first"""
    for pid in ancestors:
        name = find_process_name(pid)
        if pid <= 1 or name is None:
            return None
        if name not in WRAPPERS:
            return pid
    return None


def find_ancestors(pid: int) -> list[int]:
    """Return the ancestors of a process, nearest first."""
    ancestors = []
    for _ in range(MOST_ANCESTORS):
        state = find_process_state(pid)
        if state is None or state[1] <= 1:
            break
        pid = state[1]
        ancestors.append(pid)
    return ancestors


def find_process_name(pid: int) -> str | None:
    """Return the name of a process's program; None where the system does not tell (Linux does)."""
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def is_process_alive(pid: int) -> bool:
    """Check whether a process exists and is more than the record of its end."""
    if not is_process_running(pid):
        return False
    state = find_process_state(pid)
    return state is None or state[0] not in (b"Z", b"X")
