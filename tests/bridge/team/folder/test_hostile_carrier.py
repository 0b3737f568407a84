"""What a hostile carrier puts into a folder, takes out of it or does to it: it is said, harmless, and loses nothing."""

from __future__ import annotations

import json
import os
import random
import shutil
import socket
import stat
import subprocess
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hermes_memory_bridge.team.database.team_states import TeamError
from hermes_memory_bridge.team.folder import segment as segments
from hermes_memory_bridge.team.folder import shared_folder
from hermes_memory_bridge.team.folder.folder_run import FolderRun
from hermes_memory_bridge.team.folder.segment import (
    HEADER,
    MAGIC,
    TAG_BYTES,
    Segment,
    SegmentName,
    ThemeKey,
    make_cipher,
    seal_segment,
)
from hermes_memory_bridge.team.folder.shared_folder import SharedFolder
from tests.bridge.running import until
from tests.bridge.team.folder.laptops import KEY, THEME, Laptop, Maker, settle
from tests.bridge.team.folder.test_folder_commands import set_up
from tests.bridge.team.machines import team

NAME = SegmentName("a" * 16, 1, "b" * 16)


def said_of(laptop: Laptop) -> dict[str, str]:
    """Return the files that a laptop names, with the reason."""
    return {problem.file: problem.why for _, problem in laptop.run.problems()}


def test_an_old_segment_that_is_played_again_rolls_nothing_back(make: Maker, tmp_path: Path) -> None:
    here, there = make(), make()
    uid = here.write("V[port]: 8080")
    settle(here, there)
    old = shutil.copytree(here.folder, tmp_path / "old")
    here.store.facts.edit(uid, "8081")
    settle(here, there)
    there.store.facts.archive([uid])
    settle(here, there)
    for path in (old / KEY.tag).iterdir():
        shutil.copy2(path, here.folder / KEY.tag / path.name)
        shutil.copy2(path, here.folder / KEY.tag / f"again-{path.name}")
    third = make()
    settle(third, here, there)
    assert here.contents() == third.contents() == ["8081"]
    assert (
        not here.store.sync.standing.conflicts()
        + there.store.sync.standing.conflicts()
        + third.store.sync.standing.conflicts()
    )


def test_a_segment_of_another_theme_under_a_name_of_this_one_is_refused(make: Maker) -> None:
    here = make()
    other = make(theme="other", key=ThemeKey(b"o" * 32))
    other.write("V[port]: of the other theme")
    other.sync()
    (foreign,) = other.files(ThemeKey(b"o" * 32))
    here.write("V[port]: 8080")
    here.sync()
    planted = here.folder / KEY.tag / str(NAME)
    shutil.copy2(foreign, planted)
    forged = here.folder / KEY.tag / f"forged-{NAME}"
    data = bytearray(foreign.read_bytes())
    data[8:16] = bytes.fromhex(KEY.tag)
    forged.write_bytes(data)
    there = make()
    assert there.sync().state.name == "incomplete"
    assert there.contents() == ["8080"]
    assert said_of(there)[str(NAME)] == "it is of another theme"
    assert "not written with the key" in said_of(there)[forged.name]


def test_what_is_no_plain_file_is_named_and_never_opened(make: Maker, tmp_path: Path) -> None:
    here, there = make(), make()
    here.write("V[port]: 8080")
    here.sync()
    at = here.folder / KEY.tag
    secret = tmp_path / "secret"
    shutil.copy2(here.files()[0], secret)
    (at / "link.hms").symlink_to(secret)
    (at / "loop.hms").symlink_to(at / "loop.hms")
    (at / "folder.hms").mkdir()
    os.mkfifo(at / "pipe.hms")
    with socket.socket(socket.AF_UNIX) as line:
        folder = os.open(at, os.O_DIRECTORY)
        line.bind(f"/proc/self/fd/{folder}/line.hms")
        os.close(folder)
    planted = {"link.hms", "loop.hms", "folder.hms", "pipe.hms", "line.hms"}
    if not os.geteuid():
        os.mknod(at / "device.hms", stat.S_IFCHR | 0o600, os.makedev(1, 5))
        planted.add("device.hms")
    there.sync()
    assert there.contents() == ["8080"]
    assert said_of(there) == dict.fromkeys(planted, "it is no plain file")
    assert there.sync().state.name == "idle"


def test_a_folder_in_the_place_of_a_removed_segment_stops_nothing(make: Maker) -> None:
    here, there = make(), make()
    uid = here.write("V[key]: xylophone")
    here.sync()
    (old,) = here.files()
    here.store.purge.erase([uid])
    here.write("V[port]: 8080")
    here.sync()
    old.mkdir()
    here.write("V[host]: db")
    settle(here, there)
    assert there.contents() == ["8080", "db"]


def test_a_link_in_the_place_of_one_theme_leaves_the_others_alone(make: Maker, tmp_path: Path) -> None:
    here = make()
    other = ThemeKey(b"o" * 32)
    (here.home / "memory-themes.toml").write_text(
        f'[themes.{THEME}]\nsync = "folder"\n[themes.other]\nsync = "folder"\n'
    )
    here.keys._known["other"] = other
    here.restart()
    here.write("V[port]: 8080")
    here.store.facts.write("other", "V[port]: 8081")
    (tmp_path / "elsewhere").mkdir()
    (here.folder / KEY.tag).symlink_to(tmp_path / "elsewhere")
    outcome = here.sync()
    assert outcome.themes["other"].pushed == 1
    assert outcome.themes[THEME].state.name == outcome.state.name == "unreachable"
    assert not list((tmp_path / "elsewhere").iterdir())
    assert len(here.files(other)) == 1


def test_a_huge_file_is_named_and_not_read(make: Maker) -> None:
    here = make()
    here.write("V[port]: 8080")
    here.sync()
    with (here.folder / KEY.tag / str(NAME)).open("wb") as file:
        file.truncate(1 << 40)
    there = make()
    there.sync()
    assert there.contents() == ["8080"]
    assert said_of(there) == {str(NAME): "it is larger than any segment"}


def test_a_segment_that_grows_beyond_all_bounds_is_not_unpacked(make: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only who has the key can make one."""
    monkeypatch.setattr(segments, "MOST_PAYLOAD_BYTES", 1 << 20)
    here = make()
    here.sync()
    packed = zlib.compress(bytes(100 << 20), 9)
    header = HEADER.pack(
        MAGIC, bytes.fromhex(KEY.tag), b"\xaa" * 8, 1, b"\xbb" * 8, nonce := bytes(12), len(packed) + TAG_BYTES
    )
    (here.folder / KEY.tag).mkdir()
    (here.folder / KEY.tag / str(NAME)).write_bytes(header + make_cipher(KEY).encrypt(nonce, packed, header))
    here.sync()
    assert "larger than any segment" in said_of(here)[str(NAME)]


@pytest.mark.parametrize(
    "payload", ["[" * 100_000, "{}", "null", '{"version": 2}', '{"version": 1, "rows": 7}', "\ud800"]
)
def test_a_segment_without_sense_is_named(make: Maker, payload: str) -> None:
    here = make()
    packed = zlib.compress(payload.encode("utf-8", "surrogatepass"))
    header = HEADER.pack(
        MAGIC, bytes.fromhex(KEY.tag), b"\xaa" * 8, 1, b"\xbb" * 8, nonce := bytes(12), len(packed) + TAG_BYTES
    )
    (here.folder / KEY.tag).mkdir()
    (here.folder / KEY.tag / str(NAME)).write_bytes(header + make_cipher(KEY).encrypt(nonce, packed, header))
    here.sync()
    assert "malformed" in said_of(here)[str(NAME)]


def test_a_crowded_folder_is_said_and_all_goes_on_once_it_is_not(make: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_folder, "MOST_FILES", 50)
    here, there = make(), make()
    here.write("V[port]: 8080")
    here.sync()
    for n in range(60):
        (here.folder / KEY.tag / f"{n}.txt").touch()
    with pytest.raises(TeamError, match="more files"):
        there.sync()
    for n in range(60):
        (here.folder / KEY.tag / f"{n}.txt").unlink()
    settle(here, there)
    assert there.contents() == ["8080"]


def test_names_that_command_a_terminal_are_said_in_plain_characters(tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    with team(tmp_path, None, None) as (here, there):
        set_up(here, there, folder)
        here.write("V[port]: 8080")
        assert here.command("sync", "now").returncode == 0
        (at,) = [path for path in folder.iterdir() if path.is_dir()]
        for name in (
            b"\x1b[2Jclear.hms",
            b"\xff\xfe.hms",
            b"line\nbreak.hms",
            b"\xe2\x80\xaetxt.hms",
            b"n" * 251 + b".hms",
        ):
            (Path(os.fsdecode(os.fsencode(at) + b"/" + name))).write_bytes(b"HMSEG\r\n\x01")
        done = there.command("sync", "now")
        there.start()
        until(
            lambda: (status := there.status()).get("problem_count") and status["state"] == "incomplete",
            "the bridge's look at the folder",
        )
        status = there.command("sync", "status")
        document = json.loads(there.command("sync", "status", "--json").stdout)
        assert there.contents() == {"8080"}
    assert document["problem_count"] == 5
    for text in (done.stdout, done.stderr, status.stdout, status.stderr):
        assert not {"\x1b", "\u202e", "\r"} & set(text)
    assert "clear.hms" in status.stdout
    assert "incomplete" in status.stdout + document["state"]


def test_a_folder_that_is_taken_away_in_the_middle_is_said_and_nothing_is_lost(make: Maker, tmp_path: Path) -> None:
    here, there = make(), make()
    for n in range(3):
        here.write(f"V[port{n}]: {n}")
        here.sync()
    there.write("V[host]: db")

    def take_away() -> None:
        if here.folder.exists():
            here.folder.rename(tmp_path / "away")

    there.run = FolderRun(there.store, there.keys, Path(there.paths.folder), on_progress=take_away)
    with pytest.raises(TeamError, match="not there"):
        there.sync()
    here.folder.mkdir()  # where it is mounted
    with pytest.raises(TeamError, match="no mark"):
        there.sync()
    assert not list(here.folder.iterdir())
    here.folder.rmdir()
    (tmp_path / "away").rename(here.folder)
    there.restart()
    settle(here, there)
    assert here.contents() == ["0", "1", "2", "db"]


@contextmanager
def mounted(folder: Path, *options: str) -> Iterator[None]:
    """Mount over a folder, where that is allowed."""
    done = subprocess.run(["mount", *options, str(folder)], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("nothing can be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_folder_that_may_not_be_written_to_is_read_all_the_same(make: Maker) -> None:
    here, there = make(), make()
    uid = here.write("V[port]: 8080")
    here.write("V[key]: xylophone")
    settle(here, there)
    here.store.facts.edit(uid, "8081")
    here.sync()
    there.write("V[host]: db")
    kept = here.files()[0]
    there.exchange.state.gone[kept.name] = None  # brought back, and to be removed
    there.exchange.state.read.discard(kept.name)
    with mounted(here.folder, "--bind", str(here.folder)):
        subprocess.run(["mount", "-o", "remount,bind,ro", str(here.folder)], check=True)
        with pytest.raises(TeamError, match="may not be written") as caught:
            there.sync()
        assert caught.value.state.name == "read-only"
        assert "8081" in there.contents()
    del there.exchange.state.gone[kept.name]
    settle(there, here)
    assert here.contents() == ["8081", "db", "xylophone"]


def test_what_is_read_while_the_same_waits_here_and_is_taken_back_is_listed_by_all_or_none(make: Maker) -> None:
    ann, bob, cleo = make(), make(), make()
    uid = ann.write("D[cache]: keep sessions in redis")
    settle(ann, bob, cleo)
    ann.store.facts.edit(uid, "keep sessions in memory")
    bob.store.facts.edit(uid, "keep sessions in files")
    settle(bob, cleo)
    cleo.store.facts.edit(uid, "keep sessions in memory")
    ann.sync()
    with mounted(cleo.folder, "--bind", str(cleo.folder)):
        subprocess.run(["mount", "-o", "remount,bind,ro", str(cleo.folder)], check=True)
        with pytest.raises(TeamError, match="may not be written"):
            cleo.sync()
        cleo.store.facts.edit(uid, "keep sessions in a cookie")
    settle(ann, bob, cleo)
    ann_lost, bob_lost, cleo_lost = (
        [row.content for row in one.store.sync.standing.lost_versions(THEME)] for one in (ann, bob, cleo)
    )
    assert ann_lost == bob_lost == cleo_lost


def test_a_full_disk_is_said_and_what_waits_is_written_later(make: Maker, tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    with mounted(tmp_path / "shared", "-t", "tmpfs", "-o", "size=64k", "tmpfs"):
        here, there = make(), make()
        here.write("V[port]: 8080")
        settle(here, there)
        filler = here.folder / "filler"
        filler.write_bytes(bytes(36 << 10))
        noise = random.Random(1)  # of other bytes, one in six thousand looks like a secret
        for n in range(150):
            here.write(f"V[n{n}]: {noise.randbytes(190).hex()}")
        with pytest.raises(TeamError) as caught:
            here.sync()
        assert caught.value.state.name == "disk full"
        assert [path.name for path in (here.folder / KEY.tag).glob(".*")] == []
        filler.unlink()
        settle(here, there)
        assert len(there.contents()) == 151


def test_a_thousand_planted_files_cost_one_look_each(make: Maker) -> None:
    here, there = make(), make()
    here.write("V[port]: 8080")
    here.sync()
    segment = seal_segment(ThemeKey(b"x" * 32), NAME, Segment([], []))
    for n in range(1_000):
        (here.folder / KEY.tag / f"{n:016x}-00000001-{n:016x}.hms").write_bytes(segment)
    there.sync()
    assert there.contents() == ["8080"]
    assert len(said_of(there)) == 1_000
    opened: list[str] = []
    files = SharedFolder(there.folder).of_theme(KEY.tag)
    real = type(files).read
    try:
        type(files).read = lambda self, name: opened.append(name) or real(self, name)  # type: ignore[method-assign]
        there.write("V[host]: db")
        there.sync()
    finally:
        type(files).read = real  # type: ignore[method-assign]
    assert len(opened) <= 2
