"""What is said of each host: installed, heard, silent."""

from __future__ import annotations

from pathlib import Path

from hermes_memory_bridge.connect.hooks.host_states import MOST_LEAD_MS, list_host_states
from hermes_memory_bridge.connect.hooks.installation_record import to_record_path
from hermes_memory_store.store import Store

NOON = 1_790_000_000_000


def install(db: Path, host: str, at: int) -> None:
    to_record_path(db).write_text(f'{{"{host}": {{"/home/ann/.{host}/hooks.json": {at}}}}}', encoding="utf-8")


def test_a_host_that_was_never_heard_is_silent(tmp_path: Path) -> None:
    with Store.open(tmp_path / "memory.db", clock=lambda: NOON) as store:
        install(store.path, "codex", NOON)
        (state,) = list_host_states(store, store.sessions.list())
    assert state.is_silent
    assert state.describe(NOON) == "silent: its hooks are installed and were never heard"


def test_a_host_that_is_heard_says_what_it_was_given(tmp_path: Path) -> None:
    with Store.open(tmp_path / "memory.db", clock=lambda: NOON) as store:
        install(store.path, "codex", NOON - 1)
        store.host_sessions.note("codex", "s1", "start", given_at=NOON, given_facts=9, given_tokens=142)
        (state,) = list_host_states(store, store.sessions.list())
    assert not state.is_silent
    assert state.describe(NOON + 120_000) == "last start heard 2 min ago, 9 facts in 142 tokens given 2 min ago"


def test_a_host_that_calls_tools_and_runs_no_hook_is_silent(tmp_path: Path) -> None:
    now = NOON
    with Store.open(tmp_path / "memory.db", clock=lambda: now) as store:
        install(store.path, "codex", NOON - 1)
        store.host_sessions.note("codex", "s1", "start")
        now = NOON + MOST_LEAD_MS
        store.sessions.open("default", "mcp", client="codex-mcp-client 0.169.0")
        assert not list_host_states(store, store.sessions.list())[0].is_silent
        now += 1
        store.sessions.open("default", "mcp-2", client="codex-mcp-client 0.169.0")
        (state,) = list_host_states(store, store.sessions.list())
    assert state.is_silent
    assert state.describe(now).startswith("silent: last start heard 5 min ago")


def test_a_host_whose_hooks_were_removed_is_not_silent(tmp_path: Path) -> None:
    with Store.open(tmp_path / "memory.db", clock=lambda: NOON) as store:
        store.host_sessions.note("gemini", "s1", "prompt")
        (state,) = list_host_states(store, store.sessions.list())
    assert not state.is_silent
    assert state.describe(NOON).endswith("; its hooks are not installed")
