"""A bridge's worker and one connection of an agent, without a process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hermes_memory_bridge.runtime.call_dispatch import dispatch_call
from hermes_memory_bridge.runtime.store_worker import StoreWorker
from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_bridge.toolkit.tool_results import ToolResult
from hermes_memory_bridge.tools import TOOLS
from hermes_memory_bridge.trust import Vault


class Desk:
    """A hub whose connection screens what it writes."""

    def __init__(self, path: Path) -> None:
        self.vault = Vault(path.parent / "secrets.json", "file")
        self.hub = StoreWorker(path, vault=self.vault)
        self.connection = Connection(self.hub.store, "default", later=self.hub.write_in_background, tools="all")

    async def __call__(self, tool: str, **arguments: object) -> ToolResult:
        return await dispatch_call(self.hub, self.connection, TOOLS[tool], dict(arguments), None)


@pytest.fixture
async def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Desk]:
    monkeypatch.setenv("HERMES_HOME", str(tmp_path))
    desk = Desk(tmp_path / "memory.db")
    yield desk
    await asyncio.to_thread(desk.hub.close)
