"""Opening a store at the schema of this version."""

from __future__ import annotations

from pathlib import Path

from hermes_memory_store.clock import Clock, system_clock
from hermes_memory_store.errors import StoreNeedsUpgrade
from hermes_memory_store.store import Store


def open_current_store(path: Path, *, create: bool = True, clock: Clock = system_clock) -> Store:
    """Open the store at its current schema.

    :raises StoreMissing: there is none, unless it is to be created
    """
    try:
        return Store.open(path, create=create, clock=clock)
    except StoreNeedsUpgrade:
        from hermes_memory_store.transfer.upgrade_hermes_030 import upgrade_hermes_030

        upgrade_hermes_030(path)
        return Store.open(path, clock=clock)
