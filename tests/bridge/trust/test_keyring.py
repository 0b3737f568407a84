"""The person's keyring is found without a desktop's environment, and left alone when it is locked, hangs or is not there."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import keyring
import keyring.backend
import keyring.backends.fail
import keyring.errors
import pytest

from hermes_memory_bridge.trust import Vault
from hermes_memory_bridge.trust.system_keyring import (
    ANSWER_S,
    BUS,
    REST_S,
    KeyringUnreachable,
    SystemKeyring,
    VaultError,
    find_user_bus,
    set_bus_address,
)
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_store.store import Store
from tests.bridge.trust.test_trust import STRIPE
from tests.bridge.trust.test_vault import Ring
from tests.processes import PATIENCE_S


class ManualClock:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class StuckRing(Ring):
    """A keyring that answers when it is let go."""

    priority = -1  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__()
        self.go = threading.Event()
        self.asked = 0
        self.erased = threading.Event()

    def get_password(self, service: str, username: str) -> str | None:
        self.asked += 1
        assert self.go.wait(60)
        return super().get_password(service, username)

    def set_password(self, service: str, username: str, password: str) -> None:
        self.asked += 1
        assert self.go.wait(60)
        super().set_password(service, username, password)

    def delete_password(self, service: str, username: str) -> None:
        super().delete_password(service, username)
        self.erased.set()


class LockedRing(Ring):
    """A keyring that is locked until a person unlocks it."""

    priority = -1  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__()
        self.locked = True

    def get_password(self, service: str, username: str) -> str | None:
        if self.locked:
            raise keyring.errors.KeyringLocked("Failed to unlock the collection!")
        return super().get_password(service, username)


@pytest.fixture
def restored() -> Iterator[None]:
    before = keyring.get_keyring()
    yield
    keyring.set_keyring(before)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HERMES_MEMORY_SECRETS", "  ")
    return tmp_path / "bridge" / "secrets.json"


def give(ring: keyring.backend.KeyringBackend) -> None:
    keyring.set_keyring(ring)


@pytest.fixture
def none(restored: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    give(keyring.backends.fail.Keyring())


def test_a_blank_setting_counts_as_none(home: Path, restored: None) -> None:
    ring = Ring()
    give(ring)
    assert Vault(home).keep("default", "stripe", "one") == "stripe"
    assert list(ring.held.values()) == ["one"]
    assert not home.exists()


def test_without_a_keyring_nothing_is_kept_and_the_reason_says_how_to_allow_a_file(home: Path, none: None) -> None:
    vault = Vault(home)
    with Store.open(home.parent / "memory.db") as store:
        store.intake.vault = vault
        result = store.facts.write("default", f"V[stripe]: use {STRIPE}")
    assert (result.fact.content, result.masked, result.unkept) == ("use ‹secret:not-kept›", (), 1)
    assert vault.unkept_reason is not None
    assert "no keyring can be reached" in vault.unkept_reason
    assert "secret allow-file" in vault.unkept_reason
    assert "HERMES_MEMORY_SECRETS=file" in vault.unkept_reason
    assert vault.list_names() == []
    assert not [file for file in home.parent.iterdir() if file.is_file() and STRIPE.encode() in file.read_bytes()]


def test_an_allowed_file_is_used_by_every_vault_of_the_memory(home: Path, none: None) -> None:
    running = Vault(home)
    assert running.take("default", "stripe", "one") is None
    Vault(home).allow_file()
    assert running.keep("default", "stripe", "one") == "stripe"
    assert Vault(home).reveal("default", "stripe") == "one"
    assert running.unkept_reason is None


def test_the_files_of_before_stay_readable_and_their_names_taken(home: Path, none: None) -> None:
    home.parent.mkdir()
    home.write_text(json.dumps({"default/stripe": "one", "default/db": "two"}))
    vault = Vault(home)
    assert vault.names("default") == ["db", "stripe"]
    assert vault.reveal("default", "stripe") == "one"
    known = vault.take("default", "stripe", "one")
    assert known is not None
    assert (known.name, known.fresh) == ("stripe", False)
    assert vault.take("default", "stripe", "three") is None


def test_the_file_is_moved_to_the_keyring_with_its_names(home: Path, restored: None) -> None:
    ring = Ring()
    give(ring)
    file = Vault(home, "file")
    for name, secret in (("stripe", "one"), ("db", "two"), ("lines", "a\nb\n")):
        file.keep("default", name, secret)
    vault = Vault(home)
    vault.allow_file()
    assert vault.move_to_keyring() == 3
    assert json.loads(home.read_text()) == {}
    assert sorted(ring.held.values()) == ["a\nb\n", "one", "two"]
    assert vault.names("default") == ["db", "lines", "stripe"]
    assert vault.reveal("default", "lines") == "a\nb\n"
    assert not vault.is_file_allowed()
    assert vault.move_to_keyring() == 0


def test_what_the_keyring_does_not_take_stays_in_the_file(home: Path, restored: None) -> None:
    ring = Ring()
    ring.room = 1
    give(ring)
    for name in ("a", "b"):
        Vault(home, "file").keep("default", name, f"secret {name}")
    with pytest.raises(VaultError):
        Vault(home).move_to_keyring()
    assert Vault(home).names("default") == ["a", "b"]
    assert {name: Vault(home).reveal("default", name) for name in "ab"} == {"a": "secret a", "b": "secret b"}


def test_the_inspector_sees_the_names_of_both_places_without_a_keyring(
    home: Path, restored: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    give(Ring())
    Vault(home).keep("default", "stripe", "one")
    Vault(home, "file").keep("default", "db", "two")
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    give(keyring.backends.fail.Keyring())
    inspector = Vault(home)
    assert inspector.names("default") == ["db", "stripe"]
    assert inspector.reveal("default", "db") == "two"
    with pytest.raises(KeyringUnreachable, match="no keyring can be reached"):
        inspector.reveal("default", "stripe")
    inspector.allow_file()
    assert inspector.keep("default", "stripe", "one") == "stripe-2", "a name that cannot be compared is not given again"


def test_a_locked_keyring_is_told_as_locked_and_used_once_it_is_unlocked(home: Path, restored: None) -> None:
    ring, clock = LockedRing(), ManualClock()
    give(ring)
    vault = Vault(home, keyring=SystemKeyring(clock))
    assert vault.take("default", "stripe", "one") is None
    assert vault.unkept_reason is not None
    assert "locked" in vault.unkept_reason
    assert vault.names("default") == []
    ring.locked = False
    clock.now += REST_S
    assert vault.keep("default", "stripe", "one") == "stripe"


def test_a_keyring_that_refuses_one_secret_is_asked_for_the_next(home: Path, restored: None) -> None:
    ring = Ring()
    ring.room = 0
    give(ring)
    vault = Vault(home)
    assert vault.take("default", "large", "one") is None
    ring.room = 1
    assert vault.keep("default", "small", "two") == "small"


@pytest.mark.long
def test_a_keyring_that_hangs_is_left_after_two_seconds_and_not_asked_again_by_each_write(
    home: Path, restored: None
) -> None:
    ring, clock = StuckRing(), ManualClock()
    give(ring)
    vault = Vault(home, keyring=SystemKeyring(clock))
    begun = time.monotonic()
    assert vault.take("default", "stripe", "one") is None
    assert ANSWER_S <= time.monotonic() - begun < ANSWER_S + 1
    begun = time.monotonic()
    for number in range(100):
        assert vault.take("default", "stripe", f"secret {number}") is None
    assert time.monotonic() - begun < 1
    assert ring.asked == 1
    assert vault.unkept_reason is not None
    assert "did not answer within 2 s" in vault.unkept_reason
    ring.go.set()
    clock.now += REST_S
    assert vault.keep("default", "stripe", "one") == "stripe"


@pytest.mark.long
def test_what_a_slow_keyring_takes_after_it_was_given_up_is_taken_out_again(home: Path, restored: None) -> None:
    ring = StuckRing()
    give(ring)
    with pytest.raises(KeyringUnreachable):
        SystemKeyring().set("default/stripe", "one")
    ring.go.set()
    assert ring.erased.wait(PATIENCE_S)
    assert ring.held == {}


@pytest.fixture
def bus(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "run"
    folder.mkdir()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / "bus"))
    yield folder / "bus"
    listener.close()


def test_the_users_bus_is_found_where_the_system_puts_it(bus: Path, tmp_path: Path) -> None:
    uid = os.getuid()
    assert find_user_bus({"XDG_RUNTIME_DIR": str(bus.parent)}, uid, tmp_path / "none") == bus
    (tmp_path / str(uid)).symlink_to(bus.parent)
    assert find_user_bus({}, uid, tmp_path) == tmp_path / str(uid) / "bus"
    assert find_user_bus({"XDG_RUNTIME_DIR": "/nowhere"}, uid, tmp_path / "none") is None
    assert find_user_bus({"XDG_RUNTIME_DIR": str(bus.parent)}, uid + 1, tmp_path / "none") is None, "of another user"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems' keyrings need no bus")
def test_a_bus_that_is_named_is_left_and_one_that_is_gone_is_replaced(bus: Path) -> None:
    runtime = {"XDG_RUNTIME_DIR": str(bus.parent)}
    for named in ("", " ", "unix:path=/nowhere/bus,guid=1"):
        environ = {**runtime, BUS: named}
        set_bus_address(environ)
        assert environ[BUS] == f"unix:path={bus}"
    for named in ("unix:abstract=/tmp/dbus-1", f"unix:path={bus},guid=2"):
        environ = {**runtime, BUS: named}
        set_bus_address(environ)
        assert environ[BUS] == named


DAEMON, DBUS = shutil.which("gnome-keyring-daemon"), shutil.which("dbus-daemon")


@pytest.fixture
def secret_service(tmp_path: Path) -> Iterator[dict[str, str]]:
    """A bus and a real Secret Service of their own, named in no environment: as a host without a desktop's starts us."""
    if DAEMON is None or DBUS is None:
        pytest.skip("needs gnome-keyring-daemon and dbus-daemon")
    run = tmp_path / "run"
    run.mkdir(mode=0o700)
    plain = {name: value for name, value in os.environ.items() if name != BUS and not name.startswith("HERMES_MEMORY")}
    environ = plain | {"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(run), "XDG_DATA_HOME": str(tmp_path / "data")}
    address = f"unix:path={run / 'bus'}"
    started = subprocess.Popen(
        [DBUS, "--session", "--nofork", "--print-address=1", f"--address={address}"],
        stdout=subprocess.PIPE, text=True, env=environ,
    )  # fmt: skip
    assert started.stdout is not None
    assert started.stdout.readline()
    service = subprocess.Popen(
        [DAEMON, "--foreground", "--components=secrets", "--unlock"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environ | {BUS: address},
    )  # fmt: skip
    assert service.stdin is not None
    assert service.stdout is not None
    service.stdin.write("the login password")
    service.stdin.close()
    service.stdout.readline()
    yield environ
    for process in (service, started):
        process.terminate()
        process.wait(PATIENCE_S)
        if process.stdout is not None:
            process.stdout.close()


def run_secret(environ: dict[str, str], db: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """One command about secrets, in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "hermes_memory_bridge", "secret", *words, "--db", str(db)],
        env=environ, capture_output=True, text=True, timeout=60,
    )  # fmt: skip


LOCK = """
import secretstorage
bus = secretstorage.dbus_init()
collection = secretstorage.get_default_collection(bus)
collection.lock()
assert collection.is_locked()
"""


@pytest.mark.crash
def test_a_real_secret_service_is_reached_without_a_named_bus_and_told_as_locked(
    secret_service: dict[str, str], tmp_path: Path
) -> None:
    db = tmp_path / "memory.db"
    Store.open(db).close()
    file = Path(BridgePaths.of(db).folder) / "secrets.json"
    Vault(file, "file").keep("default", "stripe", STRIPE)
    listed = run_secret(secret_service, db, "list")
    assert "move-to-keyring" in listed.stderr, listed
    moved = run_secret(secret_service, db, "move-to-keyring")
    assert moved.stdout.startswith("moved 1 secret to the keyring"), moved
    assert STRIPE not in file.read_text()
    assert run_secret(secret_service, db, "show", "stripe").stdout == f"{STRIPE}\n"
    bus = secret_service | {BUS: f"unix:path={secret_service['XDG_RUNTIME_DIR']}/bus"}
    subprocess.run([sys.executable, "-c", LOCK], check=True, env=bus, timeout=30)
    locked = run_secret(secret_service, db, "show", "stripe")
    assert locked.returncode != 0
    assert "the keyring is locked" in locked.stderr, locked
    assert run_secret(secret_service, db, "list").stdout == "stripe\n"
