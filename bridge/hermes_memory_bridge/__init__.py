"""The bridge: the daemon process that serves the memory store to agents over MCP.

May import the store and the themes, never the terminal UI. The tools themselves know nothing of MCP: only the
package `protocol` imports the SDK. Read `tools/__init__.py` for what an agent can do, `toolkit/connection.py` for
how a connection is bound to a theme.
"""

from hermes_memory_bridge.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hermes_memory_bridge.client import AsyncMemoryClient, MemoryClient

__all__ = ["AsyncMemoryClient", "MemoryClient", "__version__"]


def __getattr__(name: str) -> object:
    """Import the client classes on first access: the shim imports this package and must start within milliseconds."""
    if name in ("AsyncMemoryClient", "MemoryClient"):
        from hermes_memory_bridge import client

        return getattr(client, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
