"""All that a bridge has loaded once it serves, with the vocabulary of tokens: imported by the process that is forked."""

from __future__ import annotations

import gc
from importlib import import_module

from hermes_memory_store.notation.token_count import find_counter

MODULES = (
    "hermes_memory_bridge.daemon.daemon",
    "hermes_memory_bridge.protocol.mcp_front",
    # What it loads only when it serves, or with its first calls.
    "anyio._backends._asyncio",
    "hermes_memory_bridge.backfill.catch_up",
    "hermes_memory_bridge.daemon.logs",
    "hermes_memory_bridge.embedding.local_model",
    "hermes_memory_bridge.embedding.vector_service",
    "hermes_memory_bridge.runtime.metrics",
    "hermes_memory_bridge.team.search.team_search",
    "hermes_memory_bridge.team.sync_control",
    "hermes_memory_store.database.migrations",
    "hermes_memory_store.intake.detectors.injection",
    "hermes_memory_store.intake.detectors.score",
    "hermes_memory_store.memory.scored_writes",
    "hermes_memory_store.sync.team_sync",
    "prometheus_client.asgi",
    "uvicorn.lifespan.on",
)

for module in MODULES:
    import_module(module)
find_counter()
gc.collect()
gc.freeze()  # a collection in a child would touch, and so copy, every page
