"""What happens when the disk takes no more: a limit on the size of files stands in for it, in a process of its own."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_memory_store import errors
from hermes_memory_store.diagnostics.doctor import examine_store
from hermes_memory_store.files.export_import import export_jsonl, import_file
from hermes_memory_store.files.upgrade_hermes_030 import needs_upgrade
from hermes_memory_store.model import IMPORT, FactFilter
from hermes_memory_store.store import Store
from tests.store.portraits import dump
from tests.tools.small_disk import fill_disk, small_disk, use_up_names

MADE = Path(__file__).parent / "fixtures" / "hermes_memory_0_3_0.db"

PREPARE = """
import resource, sys
from pathlib import Path
from hermes_memory_store import errors
from hermes_memory_store.database import migrations
from hermes_memory_store.journal.time_travel import open_store_at
from hermes_memory_store.model import FactFilter
from hermes_memory_store.store import Store
from hermes_memory_store.files.export_import import import_file
from hermes_memory_store.files.upgrade_hermes_030 import upgrade_hermes_030
from hermes_memory_store.upkeep.backup import create_backup
place, other = map(Path, sys.argv[1:3])
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), -1))
try:
    {}
except errors.StoreError as error:
    print(error.code)
else:
    print("done")
"""


def limited(code: str, place: Path, other: Path, bytes_each: int) -> str:
    """The error code of a piece of Python that may write no file beyond that size."""
    command = [sys.executable, "-c", PREPARE.format(code), str(place), str(other), str(bytes_each)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def filled(store: Store) -> Store:
    store.facts.write_many("default", [(f"V[n{n}]: value {n}", "s") for n in range(2000)], actor=IMPORT)
    store.db.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return store


@pytest.mark.parametrize("room", [0, 20_000, 300_000])
def test_a_backup_that_finds_no_room_is_told_and_leaves_nothing(filled: Store, tmp_path: Path, room: int) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    target = folder / "backup.db"
    assert limited("create_backup(Store.open(place, read_only=True), other)", filled.path, target, room) == (
        "store.disk_full"
    )
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("room", [20_000, 90_000, 150_000, 200_000])
def test_an_upgrade_that_finds_no_room_leaves_the_old_memory(tmp_path: Path, room: int) -> None:
    old = tmp_path / "memory.db"
    shutil.copy(MADE, old)
    before = dump(old)
    said = limited("upgrade_hermes_030(place)", old, old, room)
    if said == "done":
        assert room == 200_000
        return
    assert said == "store.disk_full"
    assert needs_upgrade(old)
    assert dump(old) == before
    assert not [file.name for file in tmp_path.iterdir() if file.name.endswith((".bak", ".partial"))]


def test_an_import_that_finds_no_room_keeps_what_stood_and_can_be_finished(filled: Store, tmp_path: Path) -> None:
    lines = tmp_path / "lines"
    lines.write_text("".join(f"V[m{n}]: value {n}\n" for n in range(5000)))
    said = limited("import_file(Store.open(place), other, theme='default')", filled.path, lines, 1_500_000)
    assert said == "store.disk_full"
    assert all(check.ok for check in examine_store(filled))
    assert filled.facts.count(FactFilter()) >= 2000
    with Store.open(filled.path, policies=filled.policies) as again:
        report = import_file(again, lines, theme="default")
        assert report.created + report.deduplicated == 5000
        assert all(check.ok for check in examine_store(again))


def test_a_past_that_finds_no_room_is_told(filled: Store, tmp_path: Path) -> None:
    said = limited("open_store_at(Store.open(place, read_only=True), 1 << 50)", filled.path, tmp_path, 100_000)
    assert said == "store.disk_full"


def test_a_store_is_read_where_its_shared_memory_finds_no_room(filled: Store, tmp_path: Path) -> None:
    filled.close()
    assert limited("print(Store.open(place, read_only=True).facts.count(FactFilter()))", filled.path, tmp_path, 0) == (
        "2000\ndone"
    )


@pytest.mark.parametrize("way", [fill_disk, use_up_names])
def test_a_store_on_a_full_disk_is_read_exported_and_examined(way: Callable[[Path], object], tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "size=4m,nr_inodes=200") as disk:
        path = disk / "memory.db"
        with Store.open(path) as store:
            store.facts.write("default", "V[port.api]: 8443")
        way(disk)
        with Store.open(path, read_only=True) as store:
            assert [fact.content for fact in store.facts.page(FactFilter()).facts] == ["8443"]
            assert all(check.ok for check in examine_store(store))
            (tmp_path / "facts.jsonl").write_text("".join(f"{line}\n" for line in export_jsonl(store, "default")))
            with store.reader() as second:
                assert second.facts.count(FactFilter()) == 1
        assert "8443" in (tmp_path / "facts.jsonl").read_text()
        with pytest.raises(errors.DiskFull, match="is full"):
            Store.open(path)


def test_a_store_on_a_read_only_disk_is_read(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        path = disk / "memory.db"
        with Store.open(path) as store:
            store.facts.write("default", "V[port.api]: 8443")
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        with Store.open(path, read_only=True) as store:
            assert store.facts.count(FactFilter()) == 1
        with pytest.raises(errors.StoreReadOnly, match="cannot be written"):
            Store.open(path)


def test_what_the_log_alone_holds_is_never_left_out_on_a_full_disk(tmp_path: Path) -> None:
    """The file without its log is an old state: better none than that."""
    with small_disk(tmp_path / "disk") as disk:
        with Store.open(tmp_path / "memory.db") as store:
            store.facts.write("default", "V[port.api]: 8443")
            for name in ("memory.db", "memory.db-wal"):
                shutil.copy(tmp_path / name, disk / name)
        fill_disk(disk)
        with pytest.raises(errors.DiskFull, match="is full"):
            Store.open(disk / "memory.db", read_only=True)
