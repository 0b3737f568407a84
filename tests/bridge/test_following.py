"""`hermes-memory-bridge calls`: what agents call, while they do."""

from __future__ import annotations

import json
from pathlib import Path

from hermes_memory_bridge.daemon.call_follower import follow_calls
from tests.bridge.running import bridge, dial
from tests.bridge.test_calls import calls_of, greeted
from tests.bridge.test_daemon import command
from tests.bridge.test_fast import call as message
from tests.bridge.test_fast import exchange


def test_the_command_prints_them(db: Path) -> None:
    assert command(db, "calls").returncode == 1
    with bridge(db) as places, dial(places) as one, dial(places) as other:
        name = greeted(one)
        greeted(other, theme="other")
        exchange(one, message(1, "memory_write", {"content": "D[cache]: redis"}))
        exchange(other, message(1, "memory_search", {"query": "cache"}))
        exchange(one, message(2, "memory_search", {"query": "cache"}))
        for_people = command(db, "calls").stdout.splitlines()
        assert len(for_people) == 3
        assert all(
            word in for_people[0] for word in ("default", "test #1", "test 1", "memory_write", "ok", "D[cache]: redis")
        )
        assert "1 found" in for_people[2]
        documents = [json.loads(line) for line in command(db, "calls", "--json", "--session", name).stdout.splitlines()]
        assert documents == calls_of(places, session=name)
        assert len(command(db, "calls", "-n", "1", "--theme", "default").stdout.splitlines()) == 1


def test_the_command_follows_through_another_bridge(db: Path) -> None:
    with bridge(db) as places, dial(places) as agent:
        greeted(agent)
        exchange(agent, message(1, "memory_search", {"query": "before"}))
        lines = follow_calls(places, 1, follow=True)
        assert next(lines)["about"] == "before"
        exchange(agent, message(2, "memory_search", {"query": "meanwhile"}))
        assert next(lines)["about"] == "meanwhile"
    with bridge(db) as places, dial(places) as agent:
        greeted(agent)
        for number in range(3):
            exchange(agent, message(number, "memory_search", {"query": f"after {number}"}))
        assert [next(lines)["about"] for _ in range(3)] == ["after 0", "after 1", "after 2"]
