"""The vault of masked secrets, and where that of a store is.

What is looked for in a text, and what becomes of it, is in the store's `intake`. May import wire. Read
`vault.py` first.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hermes_memory_bridge.wire.paths import BridgePaths

if TYPE_CHECKING:
    from hermes_memory_bridge.trust.vault import Vault, VaultEntry

__all__ = ["Vault", "VaultEntry", "open_store_vault"]


def open_store_vault(path: str | Path) -> Vault:
    """Open the vault where the store at this path keeps its secrets."""
    from hermes_memory_bridge.trust.vault import Vault  # with the first secret: it loads OpenSSL, 3 ms

    return Vault(Path(BridgePaths.of(path).folder) / "secrets.json")


def __getattr__(name: str) -> object:
    """Import a class of the vault on first use (PEP 562)."""
    from hermes_memory_themes.lazy_import import import_public_name

    return import_public_name(__name__, {"Vault": "vault", "VaultEntry": "vault"}, name)
