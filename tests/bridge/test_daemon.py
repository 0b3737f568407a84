"""The daemon: one per store, private, and gone without a trace."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

from hermes_memory_bridge.daemon.control import ask_bridge
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_store.model import SessionStatus
from hermes_memory_store.store import Store
from tests.bridge.running import Shim, bridge, dial, environment, until
from tests.processes import PATIENCE_S


def command(db: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "hermes_memory_bridge", *words, "--db", str(db)],
        env=environment(db.parent),
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_it_starts_answers_and_stops(db: Path) -> None:
    assert command(db, "status").returncode == 1
    started = command(db, "start")
    assert started.returncode == 0, started.stderr
    assert command(db, "start").stdout.endswith("already\n")
    running = json.loads(command(db, "status", "--json").stdout)
    assert running["running"]
    assert command(db, "restart").returncode == 0
    assert json.loads(command(db, "status", "--json").stdout)["pid"] != running["pid"]
    assert command(db, "stop").returncode == 0
    assert command(db, "status").returncode == 1
    assert {file.name for file in Path(BridgePaths.of(db).folder).iterdir()} == {"bridge.log", "lock"}


def test_what_it_makes_is_for_its_owner_only(db: Path) -> None:
    with bridge(db) as places:
        assert stat.S_IMODE(os.stat(places.folder).st_mode) == 0o700
        for path in (places.line, places.http, places.lock, places.pid):
            assert stat.S_IMODE(os.stat(path).st_mode) == 0o600, path


def test_a_second_one_finds_the_first_and_gives_way(db: Path) -> None:
    with bridge(db) as places:
        first = ask_bridge(places, "status")
        second = command(db, "serve")
        assert second.returncode == 0
        assert "serves" in second.stderr
        assert ask_bridge(places, "status")["pid"] == first["pid"]  # type: ignore[index]


def test_many_starting_at_once_become_one(db: Path) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "hermes_memory_bridge", "serve", "--db", str(db)],
            env=environment(db.parent),
            stderr=subprocess.DEVNULL,
        )
        for _ in range(6)
    ]
    try:
        until(lambda: sum(process.poll() is None for process in processes) == 1, "one survivor")
        assert ask_bridge(BridgePaths.of(db), "status") is not None
    finally:
        for process in processes:
            process.terminate()
            process.wait(PATIENCE_S)


def test_a_crash_leaves_nothing_that_blocks_the_next_start(db: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "hermes_memory_bridge", "serve", "--db", str(db)],
        env=environment(db.parent),
        stderr=subprocess.DEVNULL,
    )
    places = BridgePaths.of(db)
    until(lambda: ask_bridge(places, "status"), "the bridge")
    process.kill()
    process.wait()
    assert Path(places.line).exists()
    with bridge(db):
        assert ask_bridge(places, "status")["pid"] != process.pid  # type: ignore[index]


def test_it_stops_with_connections_open_and_ends_their_sessions(db: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "hermes_memory_bridge", "serve", "--db", str(db)],
        env=environment(db.parent),
        stderr=subprocess.DEVNULL,
    )
    until(lambda: ask_bridge(BridgePaths.of(db), "status"), "the bridge")
    with Shim(db) as shim:
        shim.open()
        shim.call("memory_status")
        shim.process.send_signal(signal.SIGSTOP)  # it must neither start another bridge nor hold this one up
        process.terminate()
        assert process.wait(PATIENCE_S) == 0
        with Store.open(db) as store:
            assert {session.status for session in store.sessions.list()} == {SessionStatus.CLOSED}
        shim.process.kill()


def test_connections_that_say_nothing_keep_nobody_waiting(db: Path) -> None:
    with bridge(db) as places:
        silent = [dial(places) for _ in range(300)]
        half = dial(places)
        half.sendall(b'{"hermes-mem')
        with Shim(db) as shim:
            shim.open()
            assert "stored:" in shim.call("memory_write", content="D[a]: b")["result"]["content"][0]["text"]
            shim.close()
        for connection in [*silent, half]:
            connection.close()


def test_what_is_no_greeting_is_told_so(db: Path) -> None:
    with bridge(db) as places, dial(places) as stranger:
        stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
        answer = json.loads(stranger.recv(4096))
        assert answer["error"]["code"] == "argument.invalid"
        assert "mcp.sock" in answer["error"]["message"]


def test_a_deleted_store_refuses_writes_and_its_content_is_saved(db: Path) -> None:
    with bridge(db), Shim(db) as shim:
        shim.open()
        shim.call("memory_write", content="D[cache]: redis")
        db.unlink()
        for name in ("memory.db-wal", "memory.db-shm"):
            (db.parent / name).unlink(missing_ok=True)
        said = shim.call("memory_write", content="D[a]: first")["result"]
        assert "deleted while in use" in said["content"][0]["text"]
        (rescued,) = db.parent.glob("memory.db.rescued.*.bak")
        with Store.open(rescued) as store:
            assert [fact.notation for fact in store.search.find("default", "redis").facts] == ["D[cache]: redis"]
        rescued.rename(db)
        until(
            lambda: "stored:" in shim.call("memory_write", content="D[b]: kept")["result"]["content"][0]["text"],
            "a write into the restored store",
        )
        shim.close()
    with Store.open(db) as store:
        assert store.search.find("default", "kept").total == 1


def test_a_replaced_store_refuses_one_write_and_is_served_without_the_log_of_the_former_file(db: Path) -> None:
    with bridge(db), Shim(db) as shim:
        shim.open()
        shim.call("memory_write", content="D[cache]: redis")
        other = db.with_name("other.db")
        with Store.open(other) as store:
            store.facts.write("default", "D[other]: restored")
        os.replace(other, db)
        said = shim.call("memory_write", content="D[a]: first")["result"]["content"][0]["text"]
        # A heartbeat of the session may have come first, and been refused in its place.
        is_refused = "replaced while in use; nothing was changed, make this call again" in said
        assert is_refused or "stored:" in said
        assert "stored:" in shim.call("memory_write", content="D[b]: kept")["result"]["content"][0]["text"]
        shim.close()
    with Store.open(db) as store:
        assert {fact.notation for fact in store.search.find("default", "").facts} == {
            "D[other]: restored",
            "D[b]: kept",
            *(() if is_refused else ("D[a]: first",)),
        }
        assert store.journal.verify().ok
    (rescued,) = db.parent.glob("memory.db.rescued.*.bak")
    with Store.open(rescued) as store:
        assert [fact.notation for fact in store.search.find("default", "").facts] == ["D[cache]: redis"]


def test_the_hardening_profile_shortens_leases(db: Path) -> None:
    with bridge(db, "--hardening-profile"), Shim(db) as shim:
        shim.open()
        shim.call("memory_status")
        with Store.open(db) as store:
            (session,) = store.sessions.list()
            assert (session.heartbeat_ms, session.lease_ms) == (5_000, 12_000)
        shim.close()
    assert "must be longer" in command(db, "serve", "--heartbeat", "30").stderr


def test_a_session_whose_process_is_killed_is_stale_and_then_orphaned(db: Path) -> None:
    with bridge(db, "--heartbeat", "0.4", "--timeout", "1"), Shim(db) as shim:
        shim.open()
        shim.call("memory_status")
        pid = shim.process.pid
        with Store.open(db) as store:
            assert len(store.sessions.list()) == 1
            os.kill(pid, signal.SIGKILL)
            shim.process.wait()
            until(lambda: store.sessions.list()[0].status is SessionStatus.STALE, "a stale session")
            until(lambda: store.sessions.list()[0].status is SessionStatus.ORPHANED, "an orphaned session")
            assert store.sessions.list()[0].checkpoint is not None


def test_a_bridge_started_on_demand_leaves_after_somebody_who_only_asked(db: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "hermes_memory_bridge", "serve", "--db", str(db), "--linger", "0.5"],
        env=environment(db.parent),
        stderr=subprocess.DEVNULL,
    )
    places = BridgePaths.of(db)
    until(lambda: ask_bridge(places, "status"), "the bridge")
    with dial(places):
        time.sleep(1)  # it looks whether anybody is left just while there is
    assert process.wait(60) == 0
