"""A stand-in endpoint, and a bridge's memory that asks it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from hermes_memory_bridge.embedding.vector_service import VectorService
from hermes_memory_bridge.runtime.store_worker import StoreWorker
from tests.bridge.embedding.standin import StandIn, standing_in
from tests.bridge.tools.test_more_tools import Desk


@pytest.fixture
def stand_in() -> Iterator[StandIn]:
    with standing_in() as running:
        yield running


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, stand_in: StandIn) -> StandIn:
    """The environment names the endpoint."""
    monkeypatch.setenv("HERMES_HOME", str(tmp_path))
    monkeypatch.setenv("HERMES_MEMORY_EMBED_URL", stand_in.url)
    monkeypatch.setenv("HERMES_MEMORY_EMBED_MODEL", "counting")
    monkeypatch.delenv("HERMES_MEMORY_EMBED_KEY", raising=False)
    return stand_in


@pytest.fixture
async def hub(told: StandIn, tmp_path: Path) -> AsyncIterator[StoreWorker]:
    made = StoreWorker(tmp_path / "memory.db")
    yield made
    await asyncio.to_thread(made.close)


@pytest.fixture
def ask(hub: StoreWorker) -> Desk:
    return Desk(hub)


@pytest.fixture
async def meaning(hub: StoreWorker) -> AsyncIterator[VectorService]:
    """Filling in the background, with short rests."""
    made = hub.vectors = VectorService(hub.read, hub.path, hub.embedding_settings, rest_s=0.02)
    filling = asyncio.create_task(made.fill_forever())
    yield made
    filling.cancel()
    await asyncio.gather(filling, return_exceptions=True)
    await made.close()


async def until(true: Callable[[], object], what: str | Callable[[], str]) -> None:
    for _ in range(1_000):
        if await asyncio.to_thread(true):
            return
        await asyncio.sleep(0.02)
    raise AssertionError(f"never came: {what() if callable(what) else what}")
