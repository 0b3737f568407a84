"""The bridge: the daemon process that serves the memory store to agents over MCP.

May import the store and the themes, never the terminal UI. The tools themselves know nothing of MCP: only the
package `protocol` imports the SDK. Each package says what it may import; pyproject.toml draws the floors. Read
`tools/__init__.py` first for what an agent can do, `toolkit/connection.py` for how a connection is bound to a theme.
"""

import os
import sys

if sys.orig_argv[1:3] == ["-m", __name__] or sys.argv[0].endswith(("/hermes-memory-bridge", "/hermes-memory-hook")):
    # `-m`, as older versions wrote into hosts, and empty entries of PYTHONPATH put the working folder on the path.
    _entries = (os.environ.get("PYTHONPATH") or os.sep).split(os.pathsep) + [""] * (sys.argv[0] == "-m")
    try:
        _unsafe = [os.path.abspath(entry) for entry in _entries if not os.path.isabs(entry)]
    except OSError:  # the folder is gone, and what lay in it
        _unsafe = []
    sys.path[:] = [place for place in sys.path if place not in _unsafe or __file__.startswith(f"{place}/{__name__}/")]

from hermes_memory_bridge.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hermes_memory_bridge.client import AsyncMemoryClient, MemoryClient
    from hermes_memory_bridge.daemon.control import ask_bridge
    from hermes_memory_bridge.wire.paths import BridgePaths

__all__ = ["AsyncMemoryClient", "BridgePaths", "MemoryClient", "__version__", "ask_bridge"]


def __getattr__(name: str) -> object:
    """Import a public name on first access: the shim imports this package and must start within milliseconds."""
    if name in ("AsyncMemoryClient", "MemoryClient"):
        from hermes_memory_bridge import client

        return getattr(client, name)
    if name == "ask_bridge":
        from hermes_memory_bridge.daemon.control import ask_bridge

        return ask_bridge
    if name == "BridgePaths":
        from hermes_memory_bridge.wire.paths import BridgePaths

        return BridgePaths
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
