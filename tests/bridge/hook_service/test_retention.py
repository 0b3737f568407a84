"""How long messages are kept that hooks brought, and what a purge leaves of them."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from hermes_memory_bridge.runtime.connection_registry import purge_expired_data
from hermes_memory_store.clock import DAY_MS
from hermes_memory_store.store import Store
from tests.bridge.hook_service.hook_line import allow_capture, send_event
from tests.bridge.running import bridge


@pytest.mark.parametrize(("policy", "left"), [("", 1), ("hook_turn_days = 0\n", 2), ("turn_days = 200\n", 2)])
def test_messages_of_hooks_leave_after_ninety_days_unless_the_theme_says_otherwise(
    db: Path, policy: str, left: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HERMES_HOME", str(db.parent))
    (db.parent / "memory-themes.toml").write_text(f"[defaults]\n{policy}")
    allow_capture(db, "claude-code")
    with bridge(db) as places:
        send_event(places, "turn", text="an answer of today", capture=True)
    with Store.open(db) as store:
        store.turns.add("default", "user", "captured by a tool, long ago", at=store.clock() - 100 * DAY_MS)
        assert store.turns.count("default") == 2
    later = round(time.time() * 1000) + 91 * DAY_MS
    with Store.open(db, clock=lambda: later) as store:  # type: ignore[arg-type, return-value]
        purge_expired_data(store)
        assert store.turns.count("default") == left


def test_a_purge_of_messages_leaves_no_digest_and_nothing_comes_back(db: Path) -> None:
    allow_capture(db, "claude-code")
    at = round(time.time() * 1000)
    with bridge(db) as places:
        send_event(places, "turn", text="an answer to be erased", capture=True, turn="t1", at=at)
        with Store.open(db) as store:
            assert store.turns.purge("default") == 1
            assert store.db.value("SELECT count(*) FROM host_turns WHERE digest IS NOT NULL") == 0
        send_event(places, "turn", text="an answer to be erased", capture=True, turn="t1", at=at)
        with Store.open(db) as store:
            assert store.turns.count("default") == 0
