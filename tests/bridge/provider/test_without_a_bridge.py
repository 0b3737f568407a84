"""The bridge is down, dies in mid-queue, or the host does: nothing that a hook took is lost, and nothing is there twice."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_memory_bridge.provider.bridge_line import BridgeLine
from hermes_memory_bridge.provider.outbox import Outbox
from hermes_memory_store.hosts.capture_settings import pause_capture, resume_capture
from tests.bridge.provider.conftest import Host, Profile, connected, soon
from tests.bridge.running import until

Begin = Callable[..., Host]


@pytest.fixture
def served() -> None:
    """No bridge runs before a test or a host starts it."""


def test_what_is_said_without_a_bridge_is_delivered_in_order_when_there_is_one(profile: Profile, begin: Begin) -> None:
    profile.break_bridge()
    host = begin()
    for n in range(20):
        host("turn", turn=n, user=f"said {n}", assistant=f"heard {n}")
    host.memory("add", "first form")
    host.memory("replace", "second form", old="first form")
    wrote = json.loads(host("handle_tool_call", args=["memory_write", {"content": "D[cache]: redis"}]))
    assert "as soon as" in wrote["result"]
    assert json.loads(host("handle_tool_call", args=["memory_search", {"query": "x"}]))["error"]
    with profile.bridge():
        until(lambda: len(profile.turns()) == 40, "every turn")
        assert profile.turns() == [word for n in range(20) for word in (f"said {n}", f"heard {n}")]
        profile.holds("second form", "redis")
        host.end()
    assert list((profile.home / "hermes-memory").glob("waiting-*")) == []


def test_what_is_said_while_capture_is_stopped_never_waits_on_the_disk(profile: Profile, begin: Begin) -> None:
    profile.break_bridge()
    host = begin()
    host("turn", turn=1, user="said before", assistant="")
    pause_capture(profile.db)
    host("turn", turn=2, user="said in the pause", assistant="heard in the pause")
    resume_capture(profile.db)
    host("turn", turn=3, user="said after", assistant="")
    waiting = b"".join(path.read_bytes() for path in (profile.home / "hermes-memory").glob("waiting-*"))
    assert b"said before" in waiting
    assert b"in the pause" not in waiting
    with profile.bridge():
        until(lambda: len(profile.turns()) == 2, "what was said before and after")
        host.end()
    assert profile.turns() == ["said before", "said after"]


def test_what_a_killed_host_left_is_delivered_by_the_next(profile: Profile, begin: Begin) -> None:
    profile.break_bridge()
    host = begin()
    for n in range(5):
        host("turn", turn=n, user=f"said {n}", assistant="")
    host.memory("add", "written down")
    host.kill()
    with profile.bridge():
        other = begin()
        until(lambda: len(profile.turns()) == 5, "what the first one said")
        profile.holds("written down")
        other.end()
    assert profile.turns() == [f"said {n}" for n in range(5)]


def test_a_bridge_killed_in_mid_queue_loses_nothing_and_doubles_nothing(profile: Profile, begin: Begin) -> None:
    host = begin()
    host("turn", turn=0, user="said 0", assistant="")
    until(lambda: profile.turns() == ["said 0"], "the first turn")
    count = 1
    for _ in range(4):
        for _ in range(25):
            host("turn", turn=count, user=f"said {count}", assistant="")
            count += 1
        pid = profile.running()
        if pid is not None:
            os.kill(pid, signal.SIGKILL)
    host.memory("add", "after all of them")
    profile.holds("after all of them")
    until(lambda: len(profile.turns()) >= count, "every turn")
    host.end()
    assert profile.turns() == [f"said {n}" for n in range(count)]


def test_a_bridge_is_started_when_there_is_none(profile: Profile, begin: Begin) -> None:
    assert profile.running() is None
    host = begin()
    host.memory("add", "wants a bridge")
    profile.holds("wants a bridge")
    host.end()
    assert soon(lambda: profile.running() is None, 10), "it lingers no longer than it was told"


def test_a_full_outbox_refuses_and_keeps_what_it_has(profile: Profile) -> None:
    folder = str(profile.home / "box")
    box = Outbox.create(folder, limit=500)
    kept = [n for n in range(100) if box.add({"n": n})]
    assert 0 < len(kept) < 100
    seen = []
    while (record := box.peek()) is not None:
        seen.append(record["n"])
        box.drop_oldest()
    assert seen == kept
    assert box.add({"n": "there is room again"})
    box.close()


def test_a_torn_line_is_passed_over(profile: Profile) -> None:
    folder = profile.home / "box"
    box = Outbox.create(str(folder))
    assert box.add({"n": 1})
    (path,) = folder.iterdir()
    with path.open("ab") as file:
        file.write(b'{"n": 2')
    other = folder / "waiting-0-copy.jsonl"
    other.write_bytes(path.read_bytes())
    found = Outbox(str(other))
    assert found.peek() == {"n": 1}
    found.drop_oldest()
    assert found.peek() is None
    assert not found.has_records
    found.close()
    box.close()


def test_hooks_do_not_wait_for_a_bridge_that_hangs(profile: Profile, begin: Begin) -> None:
    host = begin()
    host.memory("add", "before it hangs")
    profile.holds("before it hangs")
    pid = profile.running()
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    try:
        # Far from a measurement: a hook that waited would take as long as the bridge hangs.
        took = [host.timed("turn", turn=n, user=f"said {n}", assistant="")[1] for n in range(10)]
        assert sorted(took)[5] < 500
        host.memory("add", "while it hangs")
    finally:
        os.kill(pid, signal.SIGCONT)
    profile.holds("before it hangs", "while it hangs")
    until(lambda: profile.turns() == [f"said {n}" for n in range(10)], "every turn, once")


def test_two_hosts_of_one_profile_mirror_each_entry_once(profile: Profile, begin: Begin) -> None:
    hosts = [begin(), begin()]
    for n in range(6):
        hosts[n % 2].memory("add", f"entry {n} of two hosts", target=("memory", "user")[n % 2])
    until(lambda: len(profile.contents()) == 6, "every entry")
    for host in hosts:
        host.end()
    assert len(profile.facts()) == 6


def test_unless_somebody_was_asked_no_word_is_kept_and_that_is_said_once(profile: Profile, begin: Begin) -> None:
    Path(f"{profile.db}.capture.json").unlink()
    profile.break_bridge()
    host = begin()
    host("turn", turn=1, user="said unasked", assistant="heard unasked")
    assert len([text for text in host("warnings") if "nobody was asked" in text]) == 1
    host.end()
    again = begin()
    again("turn", turn=1, user="said again", assistant="")
    assert not [text for text in again("warnings") if "nobody was asked" in text]
    waiting = b"".join(path.read_bytes() for path in (profile.home / "hermes-memory").glob("waiting-*"))
    assert b"said" not in waiting
    again.end()
    with profile.bridge():
        earlier = BridgeLine(str(profile.db), "default", str(profile.home))
        answer = earlier.call("memory_turn", {"role": "user", "content": "said through a copy of before"})
        assert "not kept" in answer[0]
        earlier.close()
    assert profile.turns() == []
    connected(profile.home, "--provider", "--yes", "--capture", "--db", str(profile.db))
    asked = begin()
    asked("turn", turn=1, user="said once it was asked", assistant="")
    until(lambda: profile.turns() == ["said once it was asked"], "what may be kept")


def test_the_answer_for_a_store_that_the_environment_names_holds_in_every_bridge(profile: Profile) -> None:
    installed = profile.home / "plugins" / "hermes-memory" / "installed.json"
    installed.write_text(json.dumps({**json.loads(installed.read_text()), "db": ""}))
    with profile.bridge():
        line = BridgeLine(str(profile.db), "default", str(profile.home))
        assert "captured" in line.call("memory_turn", {"role": "user", "content": "said where it may be kept"})[0]
        line.close()
