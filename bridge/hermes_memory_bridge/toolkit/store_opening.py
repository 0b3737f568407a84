"""Opening a store at the schema of this version."""

from __future__ import annotations

from pathlib import Path

from hermes_memory_bridge.trust import Vault
from hermes_memory_store.clock import Clock, system_clock
from hermes_memory_store.errors import StoreNeedsUpgrade
from hermes_memory_store.store import Store


def open_current_store(
    path: Path, *, create: bool = True, clock: Clock = system_clock, vault: Vault | None = None
) -> Store:
    """Open the store at its current schema.

    :param vault: keeps the secrets that are masked
    :raises StoreMissing: there is none, unless it is to be created
    """
    try:
        store = Store.open(path, create=create, clock=clock)
    except StoreNeedsUpgrade:
        from hermes_memory_store.files.upgrade_hermes_030 import upgrade_hermes_030

        upgrade_hermes_030(path, vault=vault)
        store = Store.open(path, clock=clock)
    store.intake.vault = vault
    return store
