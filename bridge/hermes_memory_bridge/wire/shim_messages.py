"""What a shim and the bridge say to each other beside the protocol. Standard library only, and none of that."""

from __future__ import annotations

OWN_REQUEST = "hermes-memory-shim-"
"""Begins the id of a request that the shim makes by itself: its answer goes no further."""

PING = b'{"hermes-memory":"ping"}'
"""Begins the bridge's question whether the agent is alive."""

END = b'{"hermes-memory":"end"'
"""Begins the line with which a bridge ends the connection for a reason."""

OWN_CLIENTS = ("hermes-agent provider", "hermes-memory-client ")
"""Prefix of the names of our own programs, the memory provider and the Python clients; they use all tools."""
