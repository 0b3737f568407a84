"""Whether what is said may be kept: by host, everywhere, for a while, in a folder."""

from __future__ import annotations

import json
import os
import stat
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_memory_store.hosts import capture_settings as settings
from hermes_memory_store.hosts.capture_switch import (
    describe_capture,
    load_capture_switch,
    may_capture,
    parse_capture_switch,
    to_capture_path,
)

NOW = 1_795_400_000_000


@pytest.fixture
def store(tmp_path: Path) -> str:
    return str(tmp_path / "memory.db")


def is_allowed(store: str, host: str = "codex", folder: str = "", now: int = NOW) -> bool:
    ruling = may_capture(store, host, folder, now=now)
    assert ruling.allowed is (ruling.why == "")
    return ruling.allowed


def test_no_host_may_bring_anything_before_its_person_was_asked(store: str) -> None:
    assert may_capture(store, "codex", "").why == "not allowed to codex"
    assert describe_capture(store, "") == ""
    assert not Path(to_capture_path(store)).exists()


def test_the_line_in_the_chat_is_told_until_the_person_says_no(store: str) -> None:
    assert load_capture_switch(store).notices is None
    with settings.open_capture_switch(store) as switch:
        switch.notices = False
    settings.allow_capture(store, "codex", True)
    assert load_capture_switch(store).notices is False


def test_other_ways_need_no_permission(store: str) -> None:
    assert is_allowed(store, "")


def test_a_host_is_allowed_and_no_other(store: str) -> None:
    settings.allow_capture(store, "codex", True)
    assert is_allowed(store)
    assert not is_allowed(store, "gemini")
    settings.allow_capture(store, "codex", False)
    assert not is_allowed(store)


def test_off_stops_every_way_until_it_is_on(store: str) -> None:
    settings.allow_capture(store, "codex", True)
    settings.switch_capture(store, off=True)
    assert may_capture(store, "", "").why == may_capture(store, "codex", "").why == "off everywhere"
    assert describe_capture(store, "") == "capture is off everywhere"
    settings.switch_capture(store, off=False)
    assert is_allowed(store)
    assert is_allowed(store, "")


def test_a_pause_ends_by_itself(store: str) -> None:
    settings.pause_capture(store, 60_000, now=NOW)
    assert not is_allowed(store, "", now=NOW + 59_999)
    assert is_allowed(store, "", now=NOW + 60_000)


def test_a_pause_without_an_end_lasts_until_it_is_resumed(store: str) -> None:
    settings.pause_capture(store)
    assert describe_capture(store, "", now=NOW * 2) == "capture is paused until resumed"
    settings.resume_capture(store)
    assert is_allowed(store, "")


def test_a_pause_says_its_end_with_the_day_where_that_is_another(store: str) -> None:
    settings.pause_capture(store, 3 * 86_400_000, now=NOW)
    assert len(describe_capture(store, "", now=NOW)) == len("capture is paused until 2026-11-26 14:02")


def test_resuming_does_not_switch_on_what_is_off(store: str) -> None:
    settings.switch_capture(store, off=True)
    settings.pause_capture(store)
    settings.resume_capture(store)
    assert not is_allowed(store, "")


def test_a_folder_and_all_below_it_are_off(store: str, tmp_path: Path) -> None:
    (tmp_path / "work" / "deep").mkdir(parents=True)
    (tmp_path / "work2").mkdir()
    settings.switch_capture_in_folder(store, tmp_path / "work", off=True)
    assert not is_allowed(store, "", str(tmp_path / "work"))
    assert describe_capture(store, str(tmp_path / "work" / "deep")) == f"capture is off in {tmp_path / 'work'}"
    assert is_allowed(store, "", str(tmp_path / "work2"))
    assert is_allowed(store, "", "")
    settings.switch_capture_in_folder(store, tmp_path / "work", off=False)
    assert is_allowed(store, "", str(tmp_path / "work" / "deep"))


def test_a_link_leads_into_a_folder_that_is_off(store: str, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "work")
    settings.switch_capture_in_folder(store, tmp_path / "link", off=True)
    assert not is_allowed(store, "", str(tmp_path / "work"))
    assert not is_allowed(store, "", str(tmp_path / "link"))


@pytest.mark.parametrize("kind", ["file", "folder", "broken link"])
def test_a_marker_stops_its_folder_and_all_below(store: str, tmp_path: Path, kind: str) -> None:
    deep = tmp_path / "work" / "a" / "b"
    deep.mkdir(parents=True)
    marker = tmp_path / "work" / ".hermes-memory-off"
    {"file": marker.touch, "folder": marker.mkdir, "broken link": lambda: marker.symlink_to("nowhere")}[kind]()
    assert describe_capture(store, str(deep)) == f"capture is off here, since {marker} exists"
    assert not is_allowed(store, "", str(deep / "gone"))
    assert is_allowed(store, "", str(tmp_path))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may look anywhere")
def test_a_folder_that_cannot_be_looked_into_is_off(store: str, tmp_path: Path) -> None:
    (tmp_path / "closed" / "work").mkdir(parents=True)
    (tmp_path / "closed").chmod(0)
    try:
        assert not is_allowed(store, "", str(tmp_path / "closed" / "work"))
    finally:
        (tmp_path / "closed").chmod(0o700)


@pytest.mark.parametrize(
    "said",
    [
        b"", b"{", b"[]", b"null", b'{"off": "no"}', b'{"hosts": []}', b'{"paused_until": "soon"}', b'{"paused_until": true}',
        b'{"stops": [[null, 1]]}', b'{"stops": [1]}', b'{"stops": [[1, "2"]]}', b'{"stops": [[1]]}',
        b'{"folders": [1]}', b'{"folders": "/w"}', b"\xff\xfe", b"[" * 100_000, b" " * 2_000_000,
    ],
)  # fmt: skip
def test_a_damaged_file_allows_nothing(store: str, said: bytes) -> None:
    Path(to_capture_path(store)).write_bytes(said)
    assert not is_allowed(store, "")
    assert "damaged" in describe_capture(store, "")
    settings.allow_capture(store, "codex", True)
    assert not is_allowed(store), "it may have said that capture is off"
    settings.switch_capture(store, off=False)
    assert is_allowed(store)


def test_a_file_that_cannot_be_read_allows_nothing(store: str) -> None:
    Path(to_capture_path(store)).mkdir()
    assert "cannot be read" in may_capture(store, "", "").why


def test_it_is_known_later_when_capture_was_stopped(store: str) -> None:
    settings.pause_capture(store, 10, now=NOW)
    settings.pause_capture(store, now=NOW + 5)
    settings.allow_capture(store, "codex", True)
    settings.resume_capture(store, now=NOW + 20)
    settings.resume_capture(store, now=NOW + 25)
    settings.pause_capture(store, 10, now=NOW + 30)
    settings.pause_capture(store, 10, now=NOW + 50)
    settings.resume_capture(store, now=NOW + 55)
    settings.pause_capture(store, now=NOW + 60)
    switch = load_capture_switch(store)
    assert switch.stops == [[NOW, NOW + 20], [NOW + 30, NOW + 40], [NOW + 50, NOW + 55], [NOW + 60, None]]
    stopped = [at for at in range(-1, 70) if switch.was_stopped(NOW + at)]
    assert stopped == [*range(20), *range(30, 40), *range(50, 55), *range(60, 70)]
    settings.resume_capture(store, now=NOW + 9 * 86_400_000)
    assert [end for _, end in load_capture_switch(store).stops] == [NOW + 9 * 86_400_000]


def test_a_pipe_in_the_place_of_the_file_holds_nobody_up(store: str) -> None:
    os.mkfifo(to_capture_path(store))
    assert not is_allowed(store, "")


def test_the_file_is_its_owners_alone(store: str) -> None:
    settings.allow_capture(store, "codex", True)
    settings.pause_capture(store)
    file = Path(to_capture_path(store))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert set(json.loads(file.read_bytes())) == {"hosts", "off", "paused_until", "folders", "stops"}
    assert [entry.name for entry in file.parent.iterdir()] == [file.name]


def test_changes_at_once_are_all_kept(store: str) -> None:
    names = [f"host-{number}" for number in range(16)]
    threads = [threading.Thread(target=settings.allow_capture, args=(store, name, True)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert load_capture_switch(store).hosts == dict.fromkeys(names, True)


@given(
    st.binary(max_size=60) | st.from_regex(rb'\{"(off|hosts|folders|paused_until|stops)": .{0,20}\}', fullmatch=True)
)
def test_any_content_is_read_or_refused(said: bytes) -> None:
    try:
        switch = parse_capture_switch(said)
    except (ValueError, RecursionError):
        return
    assert isinstance(switch.off, bool)
