"""The hints of each tool, tried: it is called twice, and what stands in the memory is compared before, between and after."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hermes_memory_bridge.protocol.mcp_server import to_mcp_tool
from hermes_memory_bridge.runtime.store_worker import StoreWorker
from hermes_memory_bridge.tools import TOOLS
from hermes_memory_bridge.trust import Vault
from hermes_memory_store.model import Rights
from hermes_memory_store.store import Store
from tests.bridge.access.test_host_files import profile
from tests.bridge.tools.test_more_tools import Desk

CALLS: dict[str, dict[str, Any]] = {
    "memory_write": {"content": "D[new.target]: something new"},
    "memory_search": {"query": "redis", "scope": "work"},
    "memory_tick": {"turn": 5, "message": "the work is merged and done"},  # again, it ends the scope of the session
    "memory_status": {},
    "memory_reflect": {"topic": "redis"},
    "memory_export": {"scope": "work"},
    "memory_optimize": {"threshold_pct": 0},
    "memory_purge": {"everything": True, "confirm": True},
    "memory_turn": {"role": "user", "content": "We deploy on Friday at noon"},
    "recall_memory": {"query": "redis"},
    "recall_conversation": {"query": "deploy"},
    "memory_context": {"message": "which cache do we use"},
    "memory_edit": {"uid": "", "content": "valkey"},
    "memory_archive": {"uid": ""},
    "memory_history": {"uid": ""},
    "memory_close_scope": {"scope": "work"},
    "memory_reveal": {"name": "stripe"},
    "session_open": {},
    "session_heartbeat": {"session_id": "named"},
    "session_close": {"session_id": "named"},
}
"""A call of each tool that does what the tool is for."""

STANDING = ("hot", "cold")


@dataclass(frozen=True)
class Snapshot:
    """What stands: rows of the store by uid, and files. Signs of life and records of what was read are left out."""

    facts: dict[bytes, tuple[str, str, str]]
    """Notation, tier and scope."""
    scopes: dict[bytes, str]
    turns: frozenset[bytes]
    sessions: dict[str, tuple[str, int]]
    """Whether it has ended, and its turn."""
    files: dict[str, bytes]

    @classmethod
    def of(cls, store: Store, folder: Path) -> Snapshot:
        """Read all of it."""
        rows = store.db.rows
        facts = rows("SELECT uid, type || target || content, tier, scope_id FROM facts")
        sessions = rows("SELECT name, ended_at IS NULL, turn FROM sessions")
        return cls(
            {uid: (said, tier, str(scope)) for uid, said, tier, scope in facts},
            dict(rows("SELECT uid, status FROM scopes")),
            frozenset(uid for (uid,) in rows("SELECT uid FROM turns")),
            {name: (str(running), turn) for name, running, turn in sessions},
            {file.name: file.read_bytes() for file in folder.iterdir()},
        )

    def has_lost(self, later: Snapshot) -> bool:
        """Whether a fact that stood says something else or stands no more, a turn is gone, or a file was changed."""
        for uid, (said, tier, _) in self.facts.items():
            now = later.facts.get(uid)
            if tier in STANDING and (now is None or now[0] != said or now[1] not in STANDING):
                return True
        return not self.turns <= later.turns or any(later.files.get(name) != held for name, held in self.files.items())


@pytest.fixture
async def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Desk]:
    profile(tmp_path)
    monkeypatch.setenv("HERMES_HOME", str(tmp_path))
    worker = StoreWorker(tmp_path / "memory.db", vault=Vault(tmp_path / "vault" / "secrets.json", "file"))
    made = Desk(worker, rights=Rights(secrets=True))
    yield made
    await asyncio.to_thread(worker.close)


@pytest.mark.parametrize("tool", TOOLS)
async def test_a_tools_hints_are_what_it_does(desk: Desk, tmp_path: Path, tool: str) -> None:
    uid = (await desk("memory_write", content="D[cache]: redis", scope="work")).data["uid"]
    await desk("memory_write", content="D[queue]: kafka", scope="other")
    await desk("memory_turn", role="user", content="When do we deploy, on Friday?")
    await desk("session_open", name="named")
    vault = desk.connection.store.intake.vault
    assert isinstance(vault, Vault)
    vault.keep("default", "stripe", "a secret")
    arguments = {**CALLS[tool], **({"uid": uid} if "uid" in CALLS[tool] else {})}
    seen = [await desk.hub.read(lambda store: Snapshot.of(store, tmp_path / "memories"))]
    for number in range(2):
        answer = await desk(tool, **arguments)
        assert number > 0 or "error" not in answer.data, answer.text
        await desk.hub.write(lambda store: None)  # what reading leaves to be written is written now
        seen.append(await desk.hub.read(lambda store: Snapshot.of(store, tmp_path / "memories")))
    hints = to_mcp_tool(TOOLS[tool]).annotations
    assert hints is not None
    changed, changed_again = seen[0] != seen[1], seen[1] != seen[2]
    assert hints.read_only_hint is (not changed and tool not in LEASES)
    assert hints.destructive_hint is seen[0].has_lost(seen[1])
    if changed_again:
        assert hints.idempotent_hint is False
    assert hints.open_world_hint is False
    if hints.idempotent_hint is False:
        assert changed_again or tool in NEITHER


LEASES = {"session_heartbeat"}
"""Tools that write signs of life alone."""

NEITHER = {
    "memory_write": "the same fact is stored once, but a write also ends a scope or reopens one, so a retry is not free",
    "memory_optimize": "a file that was relieved once is relieved further only where there is something left",
}
"""Tools that are not called idempotent although this second call changed nothing more."""


def test_every_tool_is_tried() -> None:
    assert CALLS.keys() == TOOLS.keys()
