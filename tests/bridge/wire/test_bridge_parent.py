"""A bridge that was started on demand has left the process tree of the host that needed it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from hermes_memory_bridge.daemon.control import ask_bridge
from hermes_memory_bridge.wire import dialing
from hermes_memory_bridge.wire.bridge_process import start_bridge_process
from hermes_memory_bridge.wire.dialing import dial_bridge
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_bridge.wire.silence import ListenerStopped, check_process, is_process_frozen
from tests.bridge.running import INITIALIZE, Shim, until

LINGER = {"HERMES_MEMORY_LINGER": "60"}

HOST = """
import json, os, subprocess, sys
import psutil

shim = subprocess.Popen(
    [sys.executable, "-m", "hermes_memory_bridge", "--db", sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE
)
write = {"name": "memory_write", "arguments": {"content": "D[cache]: redis"}}
for message in (json.loads(sys.argv[2]), {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": write}):
    shim.stdin.write(json.dumps(message).encode() + b"\\n")
    shim.stdin.flush()
    answer = json.loads(shim.stdout.readline())
    assert "result" in answer, answer
for process in psutil.Process().children(recursive=True):
    try:
        process.kill()
    except psutil.NoSuchProcess:
        pass
"""
"""Asks one thing of its memory, and kills every process below it, as Copilot CLI does when it ends."""


@pytest.fixture
def stopped_afterwards(db: Path) -> Iterator[BridgePaths]:
    """The paths of a store whose bridge has stopped afterwards."""
    places = BridgePaths.of(db)
    yield places
    ask_bridge(places, "stop")
    until(lambda: ask_bridge(places, "status") is None, "the end of the bridge")


def test_a_bridge_outlives_a_host_that_kills_every_process_below_it(db: Path, stopped_afterwards: BridgePaths) -> None:
    host = [sys.executable, "-c", HOST, str(db), json.dumps(INITIALIZE)]
    subprocess.run(host, env=os.environ | {"HOME": str(db.parent)} | LINGER, cwd=db.parent, check=True, timeout=60)

    running = ask_bridge(stopped_afterwards, "status")
    assert running is not None, Path(stopped_afterwards.log).read_text()
    assert os.getpid() not in [parent.pid for parent in psutil.Process(running["pid"]).parents()]
    with Shim(db) as shim:
        shim.open()
        assert "redis" in shim.call("memory_search", query="cache")["result"]["content"][0]["text"]
        shim.close()
    assert ask_bridge(stopped_afterwards, "status")["pid"] == running["pid"]  # type: ignore[index]


def test_a_program_that_is_not_there_is_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no-such-program"):
        start_bridge_process([str(tmp_path / "no-such-program")], str(tmp_path / "log"))


def test_a_start_that_failed_is_told_before_its_time_is_over(db: Path) -> None:
    began = time.monotonic()
    with pytest.raises(OSError, match="did not start: the disk is full"):
        dial_bridge(BridgePaths.of(db), {}, [sys.executable, "-Sc", "raise SystemExit('the disk is full')"])
    assert time.monotonic() - began < 10


def test_a_start_is_waited_for_as_long_as_its_process_lives(
    db: Path, tmp_path: Path, stopped_afterwards: BridgePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dialing, "START_S", 0.1)
    monkeypatch.setattr(dialing, "LOOK_S", 0.2)
    go_on = tmp_path / "go-on"
    os.mkfifo(go_on)
    code = f"open({str(go_on)!r}).read(); from hermes_memory_bridge.__main__ import main; main()"
    reports: list[str] = []

    def report(message: str) -> None:
        reports.append(message)
        go_on.write_text("")

    command = [sys.executable, "-c", code, "serve", "--db", str(db), "--linger", "30"]
    bridge, greeting = dial_bridge(stopped_afterwards, {}, command, report)
    bridge.close()
    process = int(Path(stopped_afterwards.pid).read_text())
    assert "version" in greeting
    assert reports == [f"waiting for the memory bridge, process {process}, to start; see {stopped_afterwards.log}"]


def test_a_start_that_is_stopped_is_told_with_its_process(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialing, "LOOK_S", 0.2)
    code = "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)"
    with pytest.raises(ListenerStopped) as stopped:
        dial_bridge(BridgePaths.of(db), {}, [sys.executable, "-Sc", code])
    process = int(str(stopped.value).partition("process ")[2].partition(",")[0])
    os.kill(process, signal.SIGKILL)
    assert f"kill -CONT {process}" in str(stopped.value)


@pytest.mark.skipif(
    not os.access("/sys/fs/cgroup/freezer", os.W_OK), reason="it takes the right to make a control group"
)
def test_a_process_whose_control_group_is_frozen_is_told_apart_from_one_that_runs() -> None:
    group = Path("/sys/fs/cgroup/freezer") / f"hermes-memory-test-{os.getpid()}"
    group.mkdir()
    with subprocess.Popen([sys.executable, "-Sc", "input()"], stdin=subprocess.PIPE) as process:
        try:
            check_process(process.pid)
            (group / "cgroup.procs").write_text(str(process.pid))
            (group / "freezer.state").write_text("FROZEN")
            until(lambda: is_process_frozen(process.pid), "the frozen group")
            with pytest.raises(ListenerStopped, match=f"process {process.pid}, is frozen"):
                check_process(process.pid)
        finally:
            (group / "freezer.state").write_text("THAWED")
            process.kill()
            process.wait()
            until(lambda: not (group / "cgroup.procs").read_text(), "the empty group")
            group.rmdir()


def test_a_bridge_that_cannot_load_the_sdk_says_so_to_who_is_connected(
    db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken" / "uvicorn").mkdir(parents=True)
    (tmp_path / "broken" / "uvicorn" / "__init__.py").write_text("raise ImportError('it is damaged')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "broken"))
    with Shim(db) as shim:
        shim.open()
        shim.request("resources/read", {"uri": "memory://status"})
        assert "cannot go on: ImportError: it is damaged" in shim.hear()["error"]["message"]


def test_only_an_end_that_was_told_is_a_good_one(tmp_path: Path) -> None:
    tell = "from hermes_memory_bridge.wire.bridge_process import tell_good_end; tell_good_end()"
    for code, good in ((tell, True), ("pass", False), ("import os; os.kill(os.getpid(), 9)", False)):
        process = start_bridge_process([sys.executable, "-c", code], str(tmp_path / "log"))
        until(lambda process=process: not process.is_running(), "its end")  # type: ignore[misc]
        assert process.has_failed() is not good, code
        process.forget()


def test_a_running_process_has_not_failed_and_its_end_disturbs_nobody_who_forgot_it(tmp_path: Path) -> None:
    go_on, end = tmp_path / "go-on", tmp_path / "end"
    os.mkfifo(go_on)
    code = (
        f"open({str(go_on)!r}).read();"
        "from hermes_memory_bridge.wire.bridge_process import tell_good_end; tell_good_end();"
        f"open({str(end)!r}, 'w').close()"
    )
    process = start_bridge_process([sys.executable, "-c", code], str(tmp_path / "log"))
    assert process.is_running()
    assert not process.has_failed()
    process.forget()
    with contextlib.suppress(BrokenPipeError), go_on.open("w"):
        pass
    until(end.exists, "its end")
