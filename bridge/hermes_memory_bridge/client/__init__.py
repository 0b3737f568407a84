"""Python clients of the memory: `MemoryClient` and `AsyncMemoryClient`, with Memory Sidecar's arguments.

They speak MCP 2026-07-28 to the bridge over HTTP, on its unix socket or a port, without importing the SDK. May
import wire and the store's errors; nothing in this room imports them. Read `memory_client.py` first.
"""

from hermes_memory_bridge.client.client_policies import RetryPolicy, SessionConfig
from hermes_memory_bridge.client.mcp_messages import Reply
from hermes_memory_bridge.client.memory_client import AsyncMemoryClient, MemoryClient

__all__ = ["AsyncMemoryClient", "MemoryClient", "Reply", "RetryPolicy", "SessionConfig"]
