"""The shim: it starts the bridge, survives its end, loses nothing and stores nothing twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from hermes_memory_bridge.daemon.control import ask_bridge
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_bridge.wire.shim import LineBuffer
from hermes_memory_store.model import FactFilter, SessionStatus, Tier
from hermes_memory_store.store import Store
from hermes_memory_store.system.filesystem import default_store_path
from tests.bridge.running import Shim, bridge, until
from tests.processes import PATIENCE_S


def bridge_pid(db: Path) -> int:
    running = until(lambda: ask_bridge(BridgePaths.of(db), "status"), "the bridge")
    return int(running["pid"])


def test_it_imports_only_the_standard_library_and_little_of_it() -> None:
    probe = (
        "import sys; before = set(sys.modules); import hermes_memory_bridge.wire.shim;"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before};"
        "assert new <= set(sys.stdlib_module_names) | {'hermes_memory_bridge', 'hermes_memory_store'}, new;"
        "store = {name for name in sys.modules if name.startswith('hermes_memory_store.')};"
        "assert store <= {'hermes_memory_store.compact_json'}, store;"
        "assert not new & {'argparse', 'logging', 'pathlib', 'dataclasses', 'subprocess', 'asyncio', 'typing'}, new"
    )
    subprocess.run([sys.executable, "-c", probe], check=True)


def test_it_finds_the_store_where_everything_else_does(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("HERMES_MEMORY_DB", raising=False)
    assert BridgePaths.of().store == os.path.realpath(default_store_path())
    monkeypatch.setenv("HERMES_MEMORY_DB", str(tmp_path / "other.db"))
    assert BridgePaths.of().store == os.path.realpath(default_store_path())


def test_a_store_with_a_long_path_is_served_from_a_short_one(tmp_path: Path) -> None:
    places = BridgePaths.of(tmp_path / ("long" * 30) / "memory.db")
    assert len(os.fsencode(places.line)) <= 104
    assert places.folder == BridgePaths.of(places.store).folder
    assert places.folder != BridgePaths.of(tmp_path / "memory.db").folder


def test_the_first_one_starts_a_bridge_and_the_second_shares_it(db: Path) -> None:
    with Shim(db) as first, Shim(db) as second:
        assert first.open()["result"]["serverInfo"]["name"] == "hermes-memory"
        second.open()
        first.call("memory_write", content="D[cache]: redis")
        assert "redis" in second.call("memory_search", query="cache")["result"]["content"][0]["text"]
        assert ask_bridge(BridgePaths.of(db), "status")["connections"] == 2  # type: ignore[index]
        assert first.close() == 0
        assert second.close() == 0


def test_nothing_is_left_when_the_last_host_has_gone(db: Path) -> None:
    with Shim(db) as shim:
        shim.open()
        pid = bridge_pid(db)
        shim.close()
    until(lambda: ask_bridge(BridgePaths.of(db), "status") is None, "the end of the bridge")
    places = BridgePaths.of(db)
    until(lambda: not Path(places.pid).exists(), "the end of its files")
    assert {file.name for file in Path(places.folder).iterdir()} <= {"bridge.log", "lock"}
    with pytest.raises(ProcessLookupError):
        until(lambda: os.kill(pid, 0), "the end of the process")


def test_a_killed_bridge_is_replaced_and_the_host_goes_on(db: Path) -> None:
    with Shim(db) as shim:
        shim.open()
        shim.call("memory_write", content="D[cache]: redis")
        os.kill(bridge_pid(db), signal.SIGKILL)
        answer = shim.call("memory_search", query="cache")
        if "error" in answer:  # the call was in flight when the pipe broke
            answer = shim.call("memory_search", query="cache")
        assert "redis" in answer["result"]["content"][0]["text"]
        shim.close()


def test_a_call_in_flight_is_answered_with_an_error_and_its_retry_stores_once(db: Path) -> None:
    with Shim(db) as shim:
        shim.open()
        shim.call("memory_status")
        pid = bridge_pid(db)
        os.kill(pid, signal.SIGSTOP)  # it can take the call, and not answer it
        watched = psutil.Process(shim.process.pid)
        until(lambda: watched.status() == psutil.STATUS_SLEEPING, "the shim to rest")
        rests = watched.num_ctx_switches().voluntary
        number = shim.request("tools/call", {"name": "memory_turn_counter", "arguments": {}})
        until(lambda: watched.num_ctx_switches().voluntary > rests, "the shim to pass the call on and rest again")
        os.kill(pid, signal.SIGKILL)
        answer = shim.hear()
        assert answer["id"] == number
        assert answer["error"]["code"] == -32000
        assert "make it again" in answer["error"]["message"]
        shim.close()


def test_a_retry_of_a_cut_off_write_carries_the_same_key(db: Path) -> None:
    """The bridge writes, and dies before it answers: the host's retry must find what the first call left."""
    with Shim(db) as shim:
        shim.open()
        shim.call("memory_status")
        with Store.open(db) as store:
            counted = store.journal.last_seq()
        pid = bridge_pid(db)
        for _ in range(3):
            shim.request("tools/call", {"name": "memory_tick", "arguments": {"turn": 4, "message": "go on"}})
        os.kill(pid, signal.SIGKILL)
        answers = [shim.hear() for _ in range(3)]
        for answer in answers:
            if "error" in answer:
                again = shim.call("memory_tick", turn=4, message="go on")
                assert again["result"]["structuredContent"]["turn"] == 4
        shim.close()
    with Store.open(db) as store:
        assert store.journal.verify().ok
        assert store.journal.last_seq() >= counted


def test_a_host_that_leaves_ends_its_session_and_one_that_dies_leaves_it_to_be_resumed(db: Path) -> None:
    with bridge(db):
        with Shim(db) as leaving:
            leaving.open()
            leaving.call("memory_status")
            leaving.close()
        with Shim(db) as dying:
            dying.open()
            dying.call("memory_status")
            dying.process.kill()
            dying.process.wait()
        with Store.open(db) as store:
            until(
                lambda: (
                    {session.status for session in store.sessions.list()} == {SessionStatus.CLOSED, SessionStatus.STALE}
                ),
                "one closed and one stale session",
            )


def test_it_leaves_when_its_host_dies_without_closing_the_pipe(db: Path) -> None:
    """The host's death is told by the pipe alone only when nobody else holds its other end."""
    held, other = os.pipe()
    script = (
        "import subprocess, sys, os;"
        f"child = subprocess.Popen([sys.executable, '-m', 'hermes_memory_bridge', '--db', {str(db)!r}], stdin={held});"
        "print(child.pid, flush=True); sys.stdin.read(1); os.kill(os.getpid(), 9)"
    )
    host = subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        pass_fds=[held],
        env=os.environ | {"HOME": str(db.parent), "HERMES_MEMORY_LINGER": "0.1"},
    )
    assert host.stdout is not None
    pid = int(host.stdout.readline())
    until(lambda: (ask_bridge(BridgePaths.of(db), "status") or {}).get("connections"), "the shim's connection")
    host.communicate(b"x")
    try:
        until(lambda: not Path(f"/proc/{pid}").exists() or b"\0" not in cmdline(pid), "the end of the shim")
    finally:
        os.close(held)
        os.close(other)


def cmdline(pid: int) -> bytes:
    """A process's command; empty once it is a zombie."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except FileNotFoundError:
        return b""


def test_why_there_is_no_bridge_reaches_the_host(tmp_path: Path) -> None:
    broken = tmp_path / "memory.db"
    broken.write_bytes(b"this is no database" * 100)
    with Shim(broken) as shim:
        shim.say({"jsonrpc": "2.0", "id": 9, "method": "ping"})
        answer = shim.hear()
        assert answer["id"] == 9
        assert "not a readable SQLite database" in answer["error"]["message"]
        assert shim.process.wait(PATIENCE_S) == 1
    assert broken.read_bytes() == b"this is no database" * 100


def test_an_impossible_theme_is_refused_by_name(served: Path) -> None:
    with Shim(served, "--theme", "???") as shim:
        shim.say({"jsonrpc": "2.0", "id": 9, "method": "ping"})
        assert "cannot be a theme" in shim.hear()["error"]["message"]


def test_a_token_binds_to_its_theme_whatever_the_host_says(served: Path) -> None:
    from hermes_memory_store.model import Rights

    with Store.open(served) as store:
        _, secret = store.credentials.add("ci", "marketing", Rights.parse("read"))
    with Shim(served, "--theme", "other", "--token", secret) as shim:
        shim.open()
        assert shim.call("memory_status")["result"]["structuredContent"]["theme"] == "marketing"
        refused = shim.call("memory_write", content="D[a]: b")["result"]["structuredContent"]["error"]
        assert refused["code"] == "access.denied"
        shim.close()
    with Store.open(served) as store:
        assert store.facts.count(FactFilter(theme="marketing", tiers=frozenset(Tier))) == 0


def test_a_stream_is_cut_into_lines_wherever_it_breaks() -> None:
    text = b"one\ntwo\n" + b"x" * 1000 + b"\nlast"
    for size in (1, 2, 3, 7, 500, 5000):
        lines = LineBuffer()
        heard = [line for start in range(0, len(text), size) for line in lines.feed(text[start : start + size])]
        assert heard == [b"one\n", b"two\n", b"x" * 1000 + b"\n"]
        assert lines.rest == b"last"
