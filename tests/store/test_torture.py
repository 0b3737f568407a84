"""`doctor --torture`: what it tries, what it refuses, and that it leaves nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hermes_memory_store import errors
from hermes_memory_store.diagnostics import torture
from hermes_memory_store.diagnostics.torture import ATTEMPTS, MOST_BYTES, mix_sectors, torture_folder
from hermes_memory_store.store import Store


@pytest.mark.crash
def test_a_sound_folder_passes_every_try_and_nothing_is_left(tmp_path: Path) -> None:
    results = torture_folder(tmp_path, tmp_path / "elsewhere" / "memory.db", seconds=4)
    assert [one.check.name for one in results] == list(ATTEMPTS)
    assert [one.check.detail for one in results if not one.check.ok] == []
    assert all(one.proves for one in results)
    assert list(tmp_path.iterdir()) == []


def test_a_try_that_fails_proves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torture, "find_losses", lambda _db, _acknowledged: "2 facts are lost")
    monkeypatch.setattr(torture, "ATTEMPTS", {name: ATTEMPTS[name] for name in ("file system", "kill -9")})
    _, kills = torture_folder(tmp_path, tmp_path / "x" / "y", seconds=0.1)
    assert (kills.check.ok, kills.check.detail, kills.proves) == (False, "2 facts are lost", "nothing: it failed")


def test_the_folder_of_a_store_is_refused_and_untouched(tmp_path: Path) -> None:
    with Store.open(tmp_path / "memory.db") as store:
        store.facts.write("default", "V[port]: 5432")
    before = sorted(tmp_path.iterdir())
    for named in (tmp_path / "memory.db", tmp_path / "other" / "memory.db"):
        with pytest.raises(errors.ArgumentError, match="the folder of a memory"):
            torture_folder(tmp_path, named)
    link = tmp_path.with_name("link")
    link.symlink_to(tmp_path)
    with pytest.raises(errors.ArgumentError, match="the folder of a memory"):
        torture_folder(link, tmp_path / "elsewhere" / "memory.db")
    assert sorted(tmp_path.iterdir()) == before


def test_what_is_no_folder_is_refused(tmp_path: Path) -> None:
    for place in (tmp_path / "nowhere", tmp_path / "file"):
        (tmp_path / "file").touch()
        with pytest.raises(errors.ArgumentError, match="is no folder"):
            torture_folder(place, tmp_path / "elsewhere" / "memory.db")
    assert MOST_BYTES <= 200 * 1024 * 1024


def test_sectors_arrive_or_do_not() -> None:
    import random

    before, after = b"a" * 2000, b"b" * 3000
    seen = {mix_sectors(before, after, random.Random(n)) for n in range(50)}
    assert len(seen) > 20
    assert all(set(one) <= set(b"ab\0") and len(one) in (2000, 3000) for one in seen)


@pytest.mark.crash
def test_an_interrupt_leaves_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hermes_memory_tui", "doctor", "--torture", str(tmp_path), "--seconds", "60"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "HOME": str(tmp_path.parent)}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    until_it_writes(tmp_path)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode != 0
    assert list(tmp_path.iterdir()) == []


def until_it_writes(folder: Path) -> None:
    """Wait until a try has begun."""
    import time

    deadline = time.monotonic() + 60
    while not list(folder.glob("*/*/memory.db")):
        assert time.monotonic() < deadline
        time.sleep(0.05)
