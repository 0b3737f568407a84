"""The bridge: the process that agents talk to. It serves the store over MCP.

May import the store and the themes, never the screen. The tools themselves know nothing of MCP: `server.py` is the one
module that imports the SDK. Read `tools/__init__.py` for what an agent can do, `connection.py` for whose memory it is.
"""

from hermes_memory_bridge.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hermes_memory_bridge.client import AsyncMemoryClient, MemoryClient

__all__ = ["AsyncMemoryClient", "MemoryClient", "__version__"]


def __getattr__(name: str) -> object:
    """The clients, imported when they are asked for: the shim imports this package and must start within milliseconds."""
    if name in ("AsyncMemoryClient", "MemoryClient"):
        from hermes_memory_bridge import client

        return getattr(client, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
