"""MEMORY.md and USER.md are reached from this user's own sockets, in the profile that the host runs with, and nowhere else."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_bridge.toolkit.host_folders import HostFilesDenied, find_host_profile
from hermes_memory_store.model import Rights
from hermes_memory_store.store import Store
from tests.bridge.access.test_gate import bearer, call, door
from tests.bridge.running import INITIALIZE, INITIALIZED, Shim, bridge, dial, environment

SAID = "the quick brown fox says"


def profile(home: Path) -> Path:
    """A profile whose MEMORY.md has to be relieved; that file."""
    file = home / "memories" / "MEMORY.md"
    file.parent.mkdir(parents=True, mode=0o700)
    file.write_text("\n§\n".join(f"D[t{n}]: {SAID} number {n} and a little more than it needs to" for n in range(40)))
    return file


def exchange(connection: socket.socket, message: dict[str, Any]) -> dict[str, Any]:
    """Send a message, and return its answer: a notification may come before it."""
    connection.sendall(json.dumps(message).encode() + b"\n")
    while True:
        line = b""
        while not line.endswith(b"\n"):
            line += connection.recv(1)
        answer: dict[str, Any] = json.loads(line)
        if answer.get("id") == message.get("id"):
            return answer


def optimized(connection: socket.socket, **hello: Any) -> dict[str, Any]:
    """What the line socket answers to memory_optimize after a greeting."""
    exchange(connection, {"hermes-memory": 1, **hello})
    exchange(connection, INITIALIZE)
    connection.sendall(json.dumps(INITIALIZED).encode() + b"\n")
    params = {"name": "memory_optimize", "arguments": {"threshold_pct": 0}}
    result: dict[str, Any] = exchange(
        connection, {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    )["result"]
    return result


@pytest.mark.parametrize("tcp", [True, False])
@pytest.mark.parametrize("dry_run", [True, False])
def test_a_token_reads_and_rewrites_no_file(tmp_path: Path, tcp: bool, dry_run: bool) -> None:
    file = profile(tmp_path)
    before = file.read_bytes()
    with Store.open(tmp_path / "memory.db") as store:
        _, secret = store.credentials.add("all", "marketing", Rights(True, True, True, True, True))
    with door(tmp_path / "memory.db") as made:
        body = call("memory_optimize", threshold_pct=0, dry_run=dry_run)
        status, _, said = made.ask(body=body, tcp=tcp, **bearer(secret))
    assert status == 200
    assert "access.denied" in said
    assert SAID not in said
    assert file.read_bytes() == before
    assert [one.name for one in file.parent.iterdir()] == ["MEMORY.md"]


def test_a_process_of_this_user_without_a_token_reaches_the_bridges_own_profile_over_http(tmp_path: Path) -> None:
    file = profile(tmp_path)
    before = file.read_bytes()
    with door(tmp_path / "memory.db") as made:
        assert (
            "optimized: (dry run)"
            in made.ask(body=call("memory_optimize", threshold_pct=0, dry_run=True), tcp=False)[2]
        )
        assert file.read_bytes() == before
        assert "optimized:" in made.ask(body=call("memory_optimize", threshold_pct=0), tcp=False)[2]
    assert file.read_bytes() != before


def test_a_token_at_the_line_socket_reads_no_file_either(tmp_path: Path) -> None:
    file = profile(tmp_path)
    before = file.read_bytes()
    with Store.open(tmp_path / "memory.db") as store:
        _, secret = store.credentials.add("all", "marketing", Rights())
    with bridge(tmp_path / "memory.db"), Shim(tmp_path / "memory.db", "--token", secret) as shim:
        shim.open()
        result = shim.call("memory_optimize", threshold_pct=0, dry_run=True)["result"]
        shim.close()
    assert result["structuredContent"]["error"]["code"] == "access.denied"
    assert SAID not in json.dumps(result)
    assert file.read_bytes() == before


def test_a_greeting_names_no_other_folder(tmp_path: Path) -> None:
    home, other = tmp_path / "home", tmp_path / "project"
    profile(home)
    file = profile(other)
    (other / "config.yaml").touch()
    before = file.read_bytes()
    with bridge(home / "memory.db") as places:
        for named in (
            other,
            home / ".." / "project",
            other / "memories" / "..",
            "project",
            "~/project",
            "/",
            "/etc",
            "\0",
        ):
            with dial(places) as connection:
                result = optimized(connection, home=str(named))
            assert result["structuredContent"]["error"]["code"] == "access.denied", named
            assert SAID not in json.dumps(result)
    assert file.read_bytes() == before


def test_each_host_has_its_own_profile_relieved(tmp_path: Path) -> None:
    """The one the bridge runs with, one below it, and one that only the host's process runs with."""
    home, beside = tmp_path / "home", tmp_path / "beside"
    files = [profile(folder) for folder in (home, home / "profiles" / "coder", beside)]
    before = [file.read_text() for file in files]
    left = list(before)
    with bridge(home / "memory.db") as places:
        for number, folder in enumerate((home, home / "profiles" / "coder")):
            with dial(places) as connection:
                assert "error" not in optimized(connection, home=str(folder))["structuredContent"]
            left[number] = files[number].read_text()
            assert left[number] != before[number]
            assert [file.read_text() for file in files] == left
        assert through_a_shim(home / "memory.db", beside)["structuredContent"]["dry_run"] is False
        assert files[2].read_text() != before[2]
        assert [file.read_text() for file in files[:2]] == left[:2]


def through_a_shim(db: Path, home: Path) -> dict[str, Any]:
    """What a host that runs with a `HERMES_HOME` of its own is answered."""
    params = {"name": "memory_optimize", "arguments": {"threshold_pct": 0}}
    said = [INITIALIZE, INITIALIZED, {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}]
    done = subprocess.run(
        [sys.executable, "-m", "hermes_memory_bridge", "--db", str(db)],
        input="".join(json.dumps(one) + "\n" for one in said),
        env=environment(db.parent) | {"HERMES_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    answers = map(json.loads, done.stdout.splitlines())  # a notification may come after them
    result: dict[str, Any] = next(answer["result"] for answer in answers if answer.get("id") == 1)
    return result


def to_another_users_file(home: Path) -> str:
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    os.chown(home / "memories" / "MEMORY.md", 65534, 65534)
    return "belongs to another user"


def to_another_users_folder(home: Path) -> str:
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    os.chown(home / "memories", 65534, 65534)
    return "belongs to another user"


def to_a_file_outside(home: Path) -> str:
    (home.parent / "secret.txt").write_text("secret")
    (home / "memories" / "USER.md").symlink_to(home.parent / "secret.txt")
    return "is a link to"


def to_a_folder_outside(home: Path) -> str:
    (home / "memories").rename(home.parent / "outside")
    (home / "memories").symlink_to(home.parent / "outside")
    return "is a link to"


def to_nowhere(home: Path) -> str:
    (home / "memories" / "USER.md").symlink_to(home.parent / "not there")
    return "is a link to"


def writable_by_all(home: Path) -> str:
    (home / "memories").chmod(0o777)
    return "others may write"


def to_a_pipe(home: Path) -> str:
    os.mkfifo(home / "memories" / "USER.md")
    return "no plain file"


@pytest.mark.parametrize(
    "spoil",
    [
        to_another_users_file,
        to_another_users_folder,
        to_a_file_outside,
        to_a_folder_outside,
        to_nowhere,
        writable_by_all,
        to_a_pipe,
    ],
)
def test_what_leads_elsewhere_is_left_alone(
    spoil: Callable[[Path], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    profile(home)
    monkeypatch.setenv("HERMES_HOME", str(home))
    connection = Connection(None, "default", home=home)  # type: ignore[arg-type]
    assert find_host_profile(connection) == home
    why = spoil(home)
    with pytest.raises(HostFilesDenied, match=why):
        find_host_profile(connection)


def test_a_link_within_the_hosts_folder_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = profile(tmp_path)
    coder = tmp_path / "profiles" / "coder"
    (coder / "memories").mkdir(parents=True)
    (coder / "memories" / "MEMORY.md").symlink_to(shared)
    monkeypatch.setenv("HERMES_HOME", str(tmp_path))
    assert find_host_profile(Connection(None, "default", home=coder)) == coder  # type: ignore[arg-type]


def test_a_host_without_a_home_does_not_get_that_of_the_host_that_started_the_bridge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    profile(tmp_path / "theirs")
    monkeypatch.setenv("HERMES_HOME", str(tmp_path / "theirs"))
    monkeypatch.setenv("HOME", str(tmp_path))
    connection = Connection(None, "default")  # type: ignore[arg-type]
    connection.transport = "line"
    assert find_host_profile(connection) == tmp_path / ".hermes"
    connection.transport = "http"
    assert find_host_profile(connection) == tmp_path / "theirs"
