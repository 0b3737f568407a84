"""Agent hosts as data: a file a host in `data/`, with all that tells it from others. The standard library alone: hooks read it.

The members of a file, of which a host has those that it needs: `title`; `rank`, its place in lists; `client_names`, how its MCP
client calls itself, in lower case; `entry`, `hooks`, `script`, `plugin` and `permissions`, what `connect` writes (`connect/` of
the bridge: `hosts.py`, `host_hooks.py`, `plugins/`, `host_permissions.py`); `answers`, how its hooks speak
(`hook_program/host_dialects.py`); `habits`, what becomes of what a hook gives (`hook_service/host_habits.py`); `transcript`, the
form of its record of a session (`hook_service/transcripts/transcript_file.py`); `actions`, the tools that count, and where its
records tell of them (`hook_program/tool_acts.py`); `rules_file`, its file of rules in a workspace;
`resume`, the command that goes on with the session ID. A member `#` is a comment.
"""

from __future__ import annotations

import json
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

FOLDER = os.path.join(os.path.dirname(__file__), "data")

_loaded: dict[str, dict[str, Any]] = {}


def load_host(name: str) -> dict[str, Any]:
    """Return what is known of a host; empty for an unknown one."""
    if name not in _loaded:
        if f"{name}.json" not in os.listdir(FOLDER):
            return {}
        with open(os.path.join(FOLDER, f"{name}.json"), encoding="utf-8") as file:
            _loaded[name] = json.load(file, object_hook=drop_comment)
    return _loaded[name]


def drop_comment(members: dict[str, Any]) -> dict[str, Any]:
    members.pop("#", None)
    return members


def find_hosts_with(member: str) -> dict[str, Any]:
    """Return what the hosts that have a member say in it, by their names, in the order of their ranks."""
    names = sorted(file.removesuffix(".json") for file in os.listdir(FOLDER))
    hosts = sorted((load_host(name).get("rank", len(names)), name) for name in names)
    return {name: load_host(name)[member] for _, name in hosts if member in load_host(name)}


def find_client_host(client: str) -> str | None:
    """Return the host whose MCP client calls itself so; some add what they are connected for, or a version. None for others."""
    return next((host for host, names in find_hosts_with("client_names").items() if is_client_of(client, names)), None)


def is_client_of(client: str, names: Collection[str]) -> bool:
    """Check whether a client calls itself by one of these names of a host's client; Qwen Code adds the server's name."""
    called = client.lower().partition(" ")[0]
    return called in names or called.startswith(
        tuple(f"{name}-{more}" for name in names for more in ("for-", "hermes-memory"))
    )


def list_client_names(host: str) -> list[str]:
    """Return what a host's MCP client calls itself; the first is what its sessions are called, too."""
    return load_host(host).get("client_names") or [host]
