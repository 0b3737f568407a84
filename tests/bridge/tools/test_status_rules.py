"""The rules of the notation are given once a window, not with each status."""

from __future__ import annotations

from pathlib import Path

from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_bridge.tools.status_tool import memory_status
from hermes_memory_store.context.context_block import SPEC, SPEC_REFERENCE
from hermes_memory_store.notation.token_count import count_tokens


def test_the_first_status_of_a_session_has_the_rules_and_those_after_it_refer_to_them(tmp_path: Path) -> None:
    connection = Connection.open(tmp_path / "memory.db", "ops")
    with connection.store:
        connection.store.facts.write("ops", "D[cache]: redis")
        first, second = memory_status(connection, {}).text, memory_status(connection, {}).text
        assert first.startswith(SPEC)
        assert second.startswith(SPEC_REFERENCE)
        assert "NOTATION" not in second
        assert second.removeprefix(SPEC_REFERENCE) == first.removeprefix(SPEC)
        assert count_tokens(second) < count_tokens(first) - 100
        assert memory_status(connection, {"session_id": "another"}).text.startswith(SPEC)
        assert memory_status(connection.with_store(connection.store), {}).text.startswith(SPEC_REFERENCE)


def test_after_a_compaction_the_rules_are_given_again(tmp_path: Path) -> None:
    connection = Connection.open(tmp_path / "memory.db", "ops")
    with connection.store as store:
        session = connection.session({})
        assert memory_status(connection, {}).text.startswith(SPEC)
        noted = store.host_sessions.note("codex", "theirs", "start", theme="ops", session=session.name)
        store.host_sessions.begin_window(noted, at=store.clock() + 1_000)
        assert memory_status(connection, {}).text.startswith(SPEC)
        store.host_sessions.begin_window(noted, at=store.clock() - 1_000)
        assert memory_status(connection, {}).text.startswith(SPEC_REFERENCE)
