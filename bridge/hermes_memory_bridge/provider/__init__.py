"""The memory provider of hermes-agent: this folder is copied whole into `$HERMES_HOME/plugins/hermes-memory/`.

For Python 3.11 to 3.13: the host's interpreter is seldom the one the bridge is installed in. The standard library,
relative imports, and those of the files that `connect/provider_install.py` copies beside these. Importing and
registering have no other effect, since a host imports every provider it finds to list them. Its scan looks for
`register_memory_provider` or `MemoryProvider` here. Read `memory_provider.py` first.
"""

from __future__ import annotations

from .memory_provider import HermesMemory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["HermesMemory", "register"]


def register(ctx: Any) -> None:
    """Register one provider for each agent; called by hermes-agent."""
    ctx.register_memory_provider(HermesMemory())
