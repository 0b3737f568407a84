"""The memory provider of hermes-agent: this folder is copied whole into `$HERMES_HOME/plugins/hermes-memory/`.

Standard library only and relative imports only, for Python 3.11 to 3.14: the host's interpreter is seldom the one the bridge
is installed in. Importing and registering do nothing else, since a host imports every provider it finds to list them. Its
scan looks for `register_memory_provider` or `MemoryProvider` here. Read `provider.py` first.
"""

from __future__ import annotations

from .provider import HermesMemory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["HermesMemory", "register"]


def register(ctx: Any) -> None:
    """What hermes-agent calls: one provider for each agent."""
    ctx.register_memory_provider(HermesMemory())
