"""The full-text index counts its rows; every fact that leaves must take exactly one with it."""

from __future__ import annotations

from hermes_memory_store.diagnostics.doctor import examine_store
from hermes_memory_store.model import Tier
from hermes_memory_store.store import Store


def test_every_fact_of_a_store_can_be_purged(store: Store) -> None:
    for number in range(10):
        store.facts.write("default", f"V[n{number}]: value {number}")
    store.purge.execute("default", tiers=[Tier.HOT])
    assert all(check.ok for check in examine_store(store))
    store.facts.write("default", "V[after]: the purge")
    assert store.purge.execute("default", tiers=[Tier.HOT]).total == 1
