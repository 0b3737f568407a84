"""The sync as a bridge that is just starting answers for it."""

from __future__ import annotations

from pathlib import Path

from hermes_memory_bridge.team import dsn
from hermes_memory_bridge.team.sync_control import TeamSync
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_store.store import Store


async def test_a_status_asked_for_while_the_bridge_starts_is_the_status_of_the_sync(tmp_path: Path) -> None:
    Store.open(tmp_path / "m.db").close()
    paths = BridgePaths(str(tmp_path / "m.db"))
    Path(paths.folder).mkdir(mode=0o700, parents=True, exist_ok=True)
    dsn.write_team_state(paths, paused=True)
    sync = TeamSync(paths)
    try:
        assert (await sync.answer({"action": "status"}))["state"] == "paused"
        first = sync.syncer
        await sync.begin()
        assert sync.syncer is first
    finally:
        sync.stop()
    assert (await sync.answer({"action": "status"}))["configured"] is False
