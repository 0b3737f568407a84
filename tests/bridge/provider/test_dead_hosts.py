"""Hosts die one after another with records on disk: the next one delivers them all before it compares the files."""

from __future__ import annotations

import itertools
import json
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_memory_bridge.provider.outbox import MOST_ADOPTED, PREFIX, SUFFIX, Outbox, to_position_header
from tests.bridge.provider.conftest import Host, Profile
from tests.bridge.running import until

Begin = Callable[..., Host]


@pytest.fixture
def served() -> None:
    """No bridge runs before a test or a host starts it."""


def leave_outbox(profile: Profile, name: str, *records: dict[str, Any], modified: float) -> Path:
    """Write what a dead process left: records of which none is delivered."""
    folder = profile.home / "hermes-memory"
    folder.mkdir(exist_ok=True)
    path = folder / f"{PREFIX}{name}{SUFFIX}"
    path.write_bytes(to_position_header(21) + b"".join(json.dumps(record).encode() + b"\n" for record in records))
    os.utime(path, (modified, modified))
    return path


def to_memory_record(key: str, at: float, action: str, content: str, old: str = "") -> dict[str, Any]:
    """Return a record of the hook `on_memory_write`."""
    given = {"op": "memory", "theme": "default", "kind": "memory", "session": "s0"}
    return {"key": key, "at": at, **given, "action": action, "content": content, "old": old}


def read_note(state: Path, entry: str) -> dict[str, Any] | None:
    """Return what a host noted, once it has noted the facts of that entry."""
    noted: dict[str, Any] = json.loads(state.read_text()) if state.exists() else {}
    return noted if noted.get("memory", {}).get(entry) else None


def left_outboxes(profile: Profile) -> list[Path]:
    return list((profile.home / "hermes-memory").glob("waiting-0*"))


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1, 2, 0]], ids=str)
def test_a_replaced_entry_is_not_hot_beside_the_new_one(profile: Profile, begin: Begin, order: list[int]) -> None:
    now = time.time() - 100
    records = [
        to_memory_record("k0", now, "add", "the port is 5432"),
        to_memory_record("k1", now + 1, "replace", "the port is 5433", "5432"),
        to_memory_record("k2", now + 2, "replace", "the port is 6432", "5433"),
    ]
    for number, record in enumerate(records):
        leave_outbox(profile, f"0{number}", record, modified=now + order[number])
    profile.file().write_text("the port is 6432")
    with profile.bridge():
        host = begin()
        until(lambda: not left_outboxes(profile), "every outbox")
        host.settled()
        profile.holds("the port is 6432")
        host.end()
    assert len(profile.facts()) == 1


def test_records_that_are_older_than_the_file_do_not_outlive_it(profile: Profile, begin: Begin) -> None:
    profile.file().write_text("D[cache]: valkey\n§\nthe port is 6432")
    with profile.bridge():
        host = begin()
        profile.holds("valkey", "the port is 6432")
        now = time.time() - 100
        leave_outbox(
            profile,
            "00",
            to_memory_record("k0", now, "add", "D[cache]: redis"),
            to_memory_record("k1", now, "add", "the port is 5432"),
            modified=now,
        )
        # A change of the file makes the living host look; what the dead one left comes first.
        profile.file().write_text("D[cache]: valkey\n§\nthe port is 6432\n§\nlikes tea")
        until(lambda: not left_outboxes(profile), "the outbox")
        profile.holds("valkey", "the port is 6432", "likes tea")
        host.end()


def test_what_dead_hosts_wrote_comes_in_the_order_it_was_said(profile: Profile, begin: Begin) -> None:
    now = time.time() - 100
    for number, said in ((0, "redis"), (1, "valkey"), (2, "memcached")):
        write = {"op": "write", "theme": "default", "arguments": {"content": f"D[cache]: {said}", "session_id": "s0"}}
        tail = {"op": "turn", "theme": "default", "session": "s0", "turn": 1, "assistant": ""}
        leave_outbox(
            profile,
            f"0{number}",
            {"key": f"w{number}", "at": now + number, **write},
            {"key": f"t{number}", "at": now + 10 - number, **tail, "user": f"after {said}"},
            modified=now + 20 - number,
        )
    with profile.bridge():
        host = begin()
        until(lambda: not left_outboxes(profile), "every outbox")
        profile.holds("memcached")
        host.end()
    assert profile.turns() == ["after memcached", "after valkey", "after redis"]


def test_more_dead_hosts_than_files_may_be_open_are_all_adopted(profile: Profile, begin: Begin) -> None:
    now = time.time() - 1000
    count = MOST_ADOPTED + 5
    for number in range(count):
        record = to_memory_record(f"k{number}", now + number, "add", f"entry {number}")
        leave_outbox(profile, f"0{number:03}", record, modified=now + number)
    profile.file().write_text("the only entry")
    with profile.bridge():
        host = begin()
        until(lambda: not left_outboxes(profile), "every outbox")
        profile.holds("the only entry")
        host.end()


@pytest.mark.crash
def test_a_host_killed_while_it_adopts_leaves_the_rest_to_the_next(profile: Profile, begin: Begin) -> None:
    now = time.time() - 1000
    for box, number in itertools.product(range(3), range(40)):
        if number == 0:
            records = [
                {"key": f"t{box}-{n}", "at": now + 3 * n + box, "op": "turn", "theme": "default", "session": "s0",
                 "turn": n, "user": f"said {3 * n + box}", "assistant": ""}
                for n in range(40)
            ]  # fmt: skip
            records[20:20] = [to_memory_record(f"m{box}", now + 60 + box, "add", f"first form {box}")]
            leave_outbox(profile, f"0{box}", *records, modified=now + box)
    profile.file().write_text("\n§\n".join(f"second form {box}" for box in range(3)))
    with profile.bridge():
        for kill in range(4):
            host = begin()
            until(lambda kill=kill: len(profile.turns()) >= 20 * (kill + 1), "some turns")
            os.kill(host.process.pid, signal.SIGKILL)
            host.close()
        host = begin()
        until(lambda: not left_outboxes(profile), "every outbox")
        profile.holds(*(f"second form {box}" for box in range(3)))
        host.end()
    assert profile.turns() == [f"said {n}" for n in range(120)]


def test_an_entry_whose_writing_was_cut_off_can_still_be_replaced(profile: Profile, begin: Begin) -> None:
    with profile.bridge():
        host = begin()
        host("handle_tool_call", args=["memory_write", {"content": "V[seen]: the first host is up"}])
        host.memory("add", "C[a]: the first form")
        profile.holds("the first form", "the first host is up")
        state = profile.home / "hermes-memory" / "mirror.json"
        # The fact is there before its note is.
        noted = until(lambda: read_note(state, "C[a]: the first form"), "the note")
        host.kill()
        # As a kill between the write and its note leaves it: announced, and its fact not noted.
        state.write_text(json.dumps({**noted, "memory": {"C[a]: the first form": []}}))
        profile.file().write_text("C[b]: the second form")
        other = begin()
        profile.holds("the second form", "the first host is up")
        other.end()


def test_an_outbox_that_is_just_being_created_is_not_taken_away(tmp_path: Path) -> None:
    folder, done = str(tmp_path), threading.Event()

    def scan() -> None:
        while not done.is_set():
            for taken in Outbox.find_abandoned(folder):
                taken.close()

    scanner = threading.Thread(target=scan)
    scanner.start()
    try:
        for _ in range(200):
            box = Outbox.create(folder)
            assert os.path.exists(box.path), "records in a file without a name are lost with the process"
            box.close()
    finally:
        done.set()
        scanner.join()
