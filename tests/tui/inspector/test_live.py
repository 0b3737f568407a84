"""What other processes do shows by itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hermes_memory_store import errors
from hermes_memory_store.hosts.capture_settings import pause_capture, resume_capture, switch_capture
from hermes_memory_store.model import PERSON
from hermes_memory_store.store import Store
from hermes_memory_tui.inspector import Inspector
from hermes_memory_tui.model.memory import MAX_FOLLOWED_CHANGES, Memory
from tests.tools.small_disk import fill_disk, small_disk
from tests.tui.inspector.driving import (
    VIEWS,
    fill,
    inspecting,
    main_screen,
    opened,
    said,
    screen_text,
    shown_facts,
    targets,
    until,
    until_shown,
)

WRITE = """
import sys
from hermes_memory_store.store import Store
with Store.open(sys.argv[1]) as store:
    sys.stdin.readline()
    session = store.sessions.open("default", "worker")
    store.facts.write("default", sys.argv[2], session=session)
    print("written", flush=True)
    sys.stdin.readline()
"""


async def test_a_write_of_another_process_shows_by_itself(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    fill(path, "V[a]: 1")
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", WRITE, str(path), "D[deploy]: blue green"]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as agent:  # noqa: ASYNC220  (the other process)
        assert agent.stdin
        assert agent.stdout
        async with inspecting(path) as pilot:
            agent.stdin.write("go\n")
            agent.stdin.flush()
            assert agent.stdout.readline() == "written\n"
            await until(pilot, lambda: targets(pilot)[0] == "deploy" and "+ ● D deploy" in screen_text(pilot))
            await until_shown(pilot, "1 agent")
            await until_shown(pilot, "by worker")
        agent.stdin.write("end\n")
        agent.stdin.flush()


async def test_the_cursor_stays_on_its_fact_while_others_write(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    fill(path, *(f"V[v.{number}]: {number}" for number in range(60)))
    async with inspecting(path) as pilot:
        table = main_screen(pilot).table
        await pilot.press(*("j" * 40))
        mine = table.fact
        assert mine is not None
        line = table.cursor - table.scroll_offset.y
        fill(path, "V[new.1]: 1", "V[new.2]: 2")
        await until(pilot, lambda: targets(pilot)[:2] == ["new.2", "new.1"])
        assert table.fact is not None
        assert table.fact.uid == mine.uid
        assert table.cursor - table.scroll_offset.y == line


async def test_a_fact_archived_elsewhere_leaves_the_list(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    fill(path, "V[a]: 1", "V[b]: 2")
    async with inspecting(path) as pilot:
        gone = shown_facts(pilot)[1].uid
        with Store.open(path) as other:
            other.facts.archive([gone])
        await until(pilot, lambda: len(shown_facts(pilot)) == 1)


async def test_many_writes_at_once_are_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    fill(path, "V[a]: 1")
    async with inspecting(path) as pilot:
        fill(path, *(f"V[b.{number}]: {number}" for number in range(150)))
        await until(pilot, lambda: main_screen(pilot).table.row_count == 151)


async def test_a_search_follows_what_is_written(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    fill(path, "V[a]: apple", "V[b]: pear")
    async with inspecting(path) as pilot:
        await pilot.press("slash", *"apple", "enter")
        await until(pilot, lambda: targets(pilot) == ["a"])
        fill(path, "V[c]: apple pie")
        await until(pilot, lambda: sorted(targets(pilot)) == ["a", "c"])


async def test_a_deleted_store_is_said_and_the_app_stays(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    fill(path, "V[a]: 1")
    async with inspecting(path) as pilot:
        kept = path.rename(tmp_path / "elsewhere.db")
        await until(pilot, lambda: "no longer exists" in screen_text(pilot).splitlines()[0])
        assert targets(pilot) == ["a"]
        kept.rename(path)
        await until(pilot, lambda: "is readable again" in said(pilot))
        assert "no longer exists" not in screen_text(pilot).splitlines()[0]


async def test_a_store_that_cannot_be_reached_is_said_and_the_app_stays(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    fill(path, "V[a]: 1")
    async with inspecting(path) as pilot:
        kept = path.rename(tmp_path / "elsewhere.db")
        path.symlink_to(path)
        await until(pilot, lambda: "cannot be reached" in screen_text(pilot).splitlines()[0])
        await pilot.press("p")
        await pilot.press("j", "2", "1")
        assert targets(pilot) == ["a"]
        path.unlink()
        kept.rename(path)
        await until(pilot, lambda: "is readable again" in said(pilot))


@pytest.mark.parametrize(
    ("content", "before", "keys"),
    [
        (b"", (), ("6", "F", "2", "4", "5", "0", "1", "p", "e")),
        (b"", ("2",), ("left_square_bracket",)),
        (b"no database at all" * 300, ("F",), ("left_square_bracket",)),
        (b"no database at all" * 300, ("left_square_bracket",), ("6", "F", "2", "4", "5", "0", "1", "p", "e")),
    ],
)
async def test_a_store_without_its_tables_is_said_and_the_app_stays(
    tmp_path: Path, content: bytes, before: tuple[str, ...], keys: tuple[str, ...]
) -> None:
    """Another process may be about to make a new one in its place."""
    path = tmp_path / "m.db"
    fill(path, "V[a]: 1")
    async with inspecting(path) as pilot:
        await pilot.press(*before)
        with path.open("r+b") as file:
            file.truncate(0)
            file.write(content)
        await pilot.press(*keys)
        pilot.app._check_for_changes()  # type: ignore[attr-defined]
        await pilot.pause()
        assert pilot.app._exception is None


async def test_a_file_that_is_no_store_any_more_is_said_and_the_app_stays(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    fill(path, "V[a]: 1")
    async with inspecting(path) as pilot:
        kept = path.rename(tmp_path / "elsewhere.db")
        path.write_text("not a database, but long enough to be looked at as one" * 40)
        await until(pilot, lambda: "not a readable" in screen_text(pilot).splitlines()[0])
        await pilot.press("j", "k")
        assert targets(pilot) == ["a"]
        kept.rename(path)
        await until(pilot, lambda: "is readable again" in said(pilot))


async def test_another_store_in_its_place_is_shown(tmp_path: Path) -> None:
    fill(tmp_path / "m.db", "V[a]: 1")
    fill(tmp_path / "other.db", "V[b]: 2")
    async with inspecting(tmp_path / "m.db") as pilot:
        for part in ("m.db-wal", "m.db-shm"):
            (tmp_path / part).unlink(missing_ok=True)
        (tmp_path / "other.db").replace(tmp_path / "m.db")
        await until(pilot, lambda: targets(pilot) == ["b"])


@pytest.mark.parametrize("facts", [1, 70])
async def test_facts_behind_many_other_changes_show_by_themselves(tmp_path: Path, facts: int) -> None:
    path = tmp_path / "m.db"
    fill(path, "V[first]: 1", scope="named 0")
    async with inspecting(path) as pilot:
        await until(pilot, lambda: targets(pilot) == ["first"])
        with Store.open(path) as store, store.db.write_transaction():
            for number in range(MAX_FOLLOWED_CHANGES + 5):
                store.scopes.rename("default", f"named {number}", f"named {number + 1}")
            for number in range(facts):
                store.facts.write("default", f"V[v.{number}]: {number}", actor=PERSON)
        await until(pilot, lambda: len(main_screen(pilot).table.keys) == facts + 1)
        await until_shown(pilot, f"{facts + 1} facts")


async def test_a_memory_on_a_full_disk_is_shown_and_can_be_changed_once_there_is_room(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        path = disk / "memory.db"
        fill(path, "V[port.api]: 8443")
        filler = fill_disk(disk)
        async with Inspector(Memory.open(path), None).run_test(size=(140, 38), notifications=True) as pilot:
            await until(pilot, lambda: "8443" in screen_text(pilot))
            await until_shown(pilot, "read-only")
            await until(pilot, lambda: "Reading only" in screen_text(pilot))
            filler.unlink()
            await until(pilot, lambda: "read-only" not in screen_text(pilot))
            fill(path, "V[port.db]: 5432")
            await until(pilot, lambda: "5432" in screen_text(pilot))


def test_without_a_memory_a_full_disk_is_what_the_inspector_names(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        fill_disk(disk)
        with pytest.raises(errors.DiskFull, match="is full"):
            Memory.open(disk / "memory.db")


async def test_the_facts_screen_says_that_capture_is_stopped(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    fill(path, "D[cache]: redis")
    async with inspecting(path) as pilot:
        assert "capture" not in screen_text(pilot).splitlines()[0]
        pause_capture(path)
        await until(pilot, lambda: "capture paused until resumed" in screen_text(pilot).splitlines()[0])
        switch_capture(path, off=True)
        resume_capture(path)
        await until(pilot, lambda: "capture off everywhere" in screen_text(pilot).splitlines()[0])
        switch_capture(path, off=False)
        await until(pilot, lambda: "capture" not in screen_text(pilot).splitlines()[0])


async def test_each_view_says_that_capture_is_stopped(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    fill(path, "D[cache]: redis")
    switch_capture(path, off=True)
    async with inspecting(path) as pilot:
        for view in VIEWS:
            await opened(pilot, view)
            await until(pilot, lambda: "capture off everywhere" in screen_text(pilot).splitlines()[0])
