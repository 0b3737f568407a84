"""Whoever dials makes sure, before a word is said, that this user's own bridge listens there."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hermes_memory_bridge import AsyncMemoryClient, MemoryClient
from hermes_memory_bridge.client.mcp_messages import BridgeUnreachable
from hermes_memory_bridge.daemon.control import ForeignBridge, ask_bridge
from hermes_memory_bridge.provider.bridge_line import BridgeLine, BridgeNotReachable, BridgeStarter
from hermes_memory_bridge.trust.vault import Vault, VaultError
from hermes_memory_bridge.wire import peers
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_bridge.wire.peers import ForeignSocket
from tests.bridge.running import INITIALIZE, Shim, bridge

NOBODY = 65534

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can run a process of another user")


@contextlib.contextmanager
def listener_of_nobody(path: str, heard: Path) -> Iterator[None]:
    """A process of another user that listens at a socket, and writes down whatever it hears."""
    heard.touch()
    heard.chmod(0o666)
    ready, told = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            listen_as_nobody(path, heard, told)
        finally:
            os._exit(1)
    os.close(told)
    assert os.read(ready, 1) == b"1", "the listener could not begin"
    try:
        yield
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(ready)


def listen_as_nobody(path: str, heard: Path, ready: int) -> None:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    made.bind(path)
    notes = heard.open("ab", buffering=0)
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    made.listen(50)  # the system remembers who called this
    os.write(ready, b"1")
    while True:
        connection, _ = made.accept()
        connection.settimeout(5)
        with contextlib.suppress(OSError):
            while said := connection.recv(65_536):
                notes.write(said)
        connection.close()


def by_shim(db: Path) -> str:
    with Shim(db, "--token", "hmt_secret", "--theme", "mine") as shim:
        shim.say(INITIALIZE)
        said = str(shim.hear()["error"]["message"])
        assert shim.close() == 1
        return said


def by_command(db: Path) -> str:
    command = [sys.executable, "-m", "hermes_memory_bridge", "--db", str(db), "stop"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    return done.stderr


def by_asking(db: Path) -> str:
    with pytest.raises(ForeignBridge) as refused:
        ask_bridge(BridgePaths.of(db), "status")
    return refused.value.message


def by_provider(db: Path) -> str:
    with pytest.raises(BridgeNotReachable) as refused:
        BridgeLine(str(db), "mine", str(db.parent)).call("memory_write", {"content": "D[a]: secret"})
    return str(refused.value)


def by_client(db: Path) -> str:
    with (
        pytest.raises(BridgeUnreachable) as refused,
        MemoryClient(f"unix://{BridgePaths.of(db).http}", token="hmt_secret"),
    ):
        pass
    return refused.value.message


def by_async_client(db: Path) -> str:
    async def dial() -> None:
        async with AsyncMemoryClient(f"unix://{BridgePaths.of(db).http}", token="hmt_secret"):
            pass

    with pytest.raises(BridgeUnreachable) as refused:
        asyncio.run(dial())
    return refused.value.message


WAYS = [by_shim, by_command, by_asking, by_provider, by_client, by_async_client]


@as_root
@pytest.mark.parametrize("dial", WAYS)
def test_a_listener_of_another_user_hears_nothing(dial: Callable[[Path], str], tmp_path: Path) -> None:
    db, heard = tmp_path / "memory.db", tmp_path / "heard"
    places = BridgePaths.of(db)
    places.make_folder()
    path = places.http if "client" in dial.__name__ else places.line
    with listener_of_nobody(path, heard):
        said = dial(db)
    assert f"runs as user {NOBODY}" in said
    assert "nothing was sent" in said
    assert heard.read_bytes() == b""


def writable(folder: Path) -> str:
    folder.chmod(0o777)
    return "can be written by others"


def linked(folder: Path) -> str:
    folder.rename(folder.with_name(f"{folder.name}.moved"))
    folder.symlink_to(folder.with_name(f"{folder.name}.moved"))
    return "is a link"


def given_away(folder: Path) -> str:
    os.chown(folder, NOBODY, NOBODY)
    return f"belongs to user {NOBODY}"


@pytest.mark.parametrize("spoil", [writable, linked, pytest.param(given_away, marks=as_root)])
@pytest.mark.parametrize("dial", WAYS)
def test_a_folder_that_others_can_write_in_is_not_dialed_into(
    dial: Callable[[Path], str], spoil: Callable[[Path], str], tmp_path: Path
) -> None:
    db = tmp_path / "memory.db"
    places = BridgePaths.of(db)
    places.make_folder()
    with socket.socket(socket.AF_UNIX) as line, socket.socket(socket.AF_UNIX) as http:
        for made, path in ((line, places.line), (http, places.http)):
            made.bind(path)
            made.listen()
            made.setblocking(False)
        why = spoil(Path(places.folder))
        said = dial(db)
        assert why in said
        assert places.folder in said
        for made in (line, http):
            with pytest.raises(BlockingIOError):
                made.accept()


@pytest.mark.parametrize("spoil", [writable, linked, pytest.param(given_away, marks=as_root)])
def test_a_bridge_does_not_listen_in_a_folder_of_others(spoil: Callable[[Path], str], tmp_path: Path) -> None:
    db = tmp_path / "memory.db"
    places = BridgePaths.of(db)
    places.make_folder()
    why = spoil(Path(places.folder))
    command = [sys.executable, "-m", "hermes_memory_bridge", "serve", "--db", str(db), "--linger", "0.1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert why in done.stderr
    assert not BridgeStarter(str(db), (sys.executable, "-m", "hermes_memory_bridge")).start()


def short(folder: Path) -> tuple[Path, str]:
    """The folder of this user in a directory like /tmp, and a socket in it."""
    around = folder / f"hermes-memory-{os.getuid()}"
    return around, str(around / "0123456789abcdef" / "line.sock")


def test_the_folders_in_the_temporary_directory_are_made_for_this_user_alone(tmp_path: Path) -> None:
    around, path = short(tmp_path)
    before = os.umask(0)
    try:
        peers.make_private_folders(path)
        peers.make_private_folders(path)
    finally:
        os.umask(before)
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in (around, around / "0123456789abcdef")] == [0o700, 0o700]


@pytest.mark.parametrize("spoil", [writable, linked, pytest.param(given_away, marks=as_root)])
def test_a_folder_that_somebody_laid_out_in_the_temporary_directory_is_refused(
    spoil: Callable[[Path], str], tmp_path: Path
) -> None:
    around, path = short(tmp_path)
    around.mkdir(mode=0o700)
    why = spoil(around)
    with pytest.raises(ForeignSocket, match=why):
        peers.make_private_folders(path)
    assert list(around.iterdir()) == []
    (around / "0123456789abcdef").mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as made, pytest.raises(ForeignSocket, match=f"{why}.*shorter path"):
        peers.connect_own_socket(made, path)


def test_no_secret_is_kept_in_a_folder_that_somebody_laid_out(tmp_path: Path) -> None:
    around, path = short(tmp_path)
    around.mkdir(mode=0o700)
    why = writable(around)
    with pytest.raises(VaultError, match=why):
        Vault(Path(path).with_name("secrets.json"), "file").keep("default", "stripe", "the secret itself")
    assert list(around.iterdir()) == []


def test_whoever_comes_first_makes_the_folder_for_this_user_alone(tmp_path: Path) -> None:
    _, path = short(tmp_path)
    before = os.umask(0o002)
    try:
        Vault(Path(path).with_name("secrets.json"), "file").keep("default", "stripe", "the secret itself")
    finally:
        os.umask(before)
    for folder in peers.find_private_folders(path):
        peers.check_private_folder(folder)


def test_a_store_whose_path_is_long_is_served_and_found(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["a-folder-with-a-long-name"] * 5)
    deep.mkdir(parents=True)
    with bridge(deep / "memory.db") as places, Shim(deep / "memory.db") as shim:
        assert Path(places.folder).parent.name == f"hermes-memory-{os.getuid()}"
        shim.open()
        assert "error" not in shim.call("memory_status")["result"]["structuredContent"]
        shim.close()


@pytest.mark.skipif(sys.platform not in ("linux", "darwin"), reason="other systems do not tell")
def test_the_system_tells_the_process_at_the_other_end() -> None:
    one, other = socket.socketpair(socket.AF_UNIX)
    with one, other:
        found = peers.find_peer(one)
    assert (found.uid, found.pid) == (os.getuid(), os.getpid())
