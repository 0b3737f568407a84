"""The memory for Python workers: `MemoryClient` and `AsyncMemoryClient`, with Memory Sidecar's arguments.

They speak MCP 2026-07-28 to the bridge over HTTP, on its unix socket or a port; the SDK is not imported.
"""

from hermes_memory_bridge.client.async_client import AsyncMemoryClient
from hermes_memory_bridge.client.policies import RetryPolicy, SessionConfig
from hermes_memory_bridge.client.sync_client import MemoryClient
from hermes_memory_bridge.client.words import Reply

__all__ = ["AsyncMemoryClient", "MemoryClient", "Reply", "RetryPolicy", "SessionConfig"]
