"""The hooks that came to hosts after hermes-agent 0.19, and those of it that no other file here calls."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_memory_bridge.provider import memory_provider
from hermes_memory_bridge.provider.memory_provider import HermesMemory
from tests.bridge.provider.conftest import Host, Profile, connected
from tests.bridge.running import until

Begin = Callable[..., Host]

LONG = "The bridge on the Tagus is closed until Friday noon."


def test_what_was_said_is_kept_before_a_compression_and_once(profile: Profile, begin: Begin) -> None:
    host = begin()
    messages = [
        {"role": "user", "content": "An earlier message, which was handed over at its time"},
        {"role": "assistant", "content": "Yes."},
        {"role": "user", "content": [{"type": "text", "text": LONG}, {"type": "image_url"}]},
        {"role": "assistant", "content": "", "tool_calls": []},
    ]

    assert host("checkpoint", messages=messages) == ""
    assert host("checkpoint", messages=messages) == ""
    host("turn", turn=1, user=LONG, assistant="I will tell them by then, all of them.")

    until(lambda: len(profile.turns()) == 2, "both messages")
    host.settled()
    assert profile.turns() == [LONG, "I will tell them by then, all of them."]


def test_a_checkpoint_that_may_keep_nothing_refuses_and_an_ordinary_compression_goes_on(
    profile: Profile, begin: Begin
) -> None:
    connected(profile.home, "--provider", "--yes", "--no-capture", "--db", str(profile.db))
    host = begin()
    messages = [{"role": "user", "content": LONG}]
    assert "nobody said yes to keeping what is said" in host("checkpoint", messages=messages)
    assert host("on_pre_compress", args=[messages]) == ""
    host.settled()
    assert profile.turns() == []


def test_what_a_subagent_answered_is_kept_as_a_tools_words(profile: Profile, begin: Begin) -> None:
    host = begin()
    host(
        "on_delegation",
        args=["Count the bridges of Lisbon", "There are two of them."],
        kwargs={"child_session_id": "c"},
    )
    until(lambda: profile.turns() == ["Count the bridges of Lisbon\n\nThere are two of them."], "its answer")


def test_the_hosts_backup_takes_a_store_that_stands_elsewhere(profile: Profile, begin: Begin, tmp_path: Path) -> None:
    host = begin()
    assert host("backup_paths") == [], "the host's folder is in the backup anyway"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in ("memory.db", "memory.db-wal", "memory.db-shm", "memory.db.capture.json", "other.db"):
        (elsewhere / name).touch()
    connected(profile.home, "--provider", "--yes", "--db", str(elsewhere / "memory.db"))
    names = [Path(path).name for path in begin()("backup_paths")]
    assert names == ["memory.db", "memory.db-wal", "memory.db.capture.json"]


def test_a_host_that_only_looks_gets_texts_and_starts_nothing(profile: Profile, begin: Begin) -> None:
    host = begin()
    text, tools, threads = host("inspect")
    assert "memory" in text
    assert tools == 4
    assert threads == host("inspect")[2], "no worker is added"


def test_it_says_how_many_lines_the_last_recall_gave(monkeypatch: pytest.MonkeyPatch) -> None:
    provider = HermesMemory()
    assert provider.recall_status() is None
    monkeypatch.setattr(memory_provider, "RecallStatus", lambda label, count: (label, count))
    assert provider.recall_status() is None, "nothing was given"
    provider._given_count = 3
    assert provider.recall_status() == ("hermes-memory", 3)
    assert provider.prefetch("What is known?") == ""
    assert provider.recall_status() is None, "the last recall gave nothing"
