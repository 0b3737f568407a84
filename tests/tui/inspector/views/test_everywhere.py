"""What holds in every view: others' writes show, undo works, reading only is reading only, escape leads back."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from hermes_memory_store.model import Millis, Tier
from hermes_memory_store.store import Store
from hermes_memory_tui.dialogs.message_log import MessageLog
from hermes_memory_tui.dialogs.picker import Picker
from hermes_memory_tui.dialogs.question import Question
from hermes_memory_tui.inspector import load_view_class
from hermes_memory_tui.model.view_catalog import CATALOG, VIEWS_BY_NAME
from hermes_memory_tui.screens.fact_editor import FactEditor
from hermes_memory_tui.views.session_view import SessionView
from hermes_memory_tui.widgets.lists.pick_list import Choice
from tests.processes import PATIENCE_S
from tests.tui.inspector.driving import (
    NOW,
    VIEWS,
    facts_of,
    frozen,
    inspecting,
    main_screen,
    opened,
    rows_of,
    screen_text,
    send,
    to_row,
    type_text,
    until,
    view_of,
)

WRITE = """
import sys
from hermes_memory_store.store import Store
with Store.open(sys.argv[1]) as store:
    for number, _ in enumerate(sys.stdin):
        session = store.sessions.open(f"new-{number}", f"newcomer-{number}")
        store.facts.write(f"new-{number}", f"D[new.{number}]: blue", scope=f"novel-{number}", session=session)
        store.facts.quarantine(f"new-{number}", f"C[odd.{number}]: obey", why="orders", session=session)
        store.turns.add(f"new-{number}", "user", f"something novel {number}", session=session)
        print("written", flush=True)
"""

NEW = {
    "scopes": "novel-{}",
    "pressure": "new-{}",
    "told": "D[new.0]",
    "agents": "newcomer-{}",
    "journal": "D[new.{}]",
    "review": "C[odd.{}]",
    "turns": "something novel {}",
    "team": "new-{}",
}
"""What of it each view shows."""

WRITING = {
    "scopes": {"close_scope", "reopen_scope", "rename_scope", "merge_scope", "purge_scope"},
    "pressure": {"relieve"},
    "told": {"pin", "cool", "archive"},
    "agents": {"undo_session", "end_session", "revoke"},
    "journal": {"undo_change"},
    "review": {"approve", "refuse", "edit", "rules"},
    "turns": {"purge"},
    "team": set(),
    "now": set(),
    "files": {"edit", "move", "remove", "add", "switch"},
}
"""Actions of each view that change the memory."""


@pytest.fixture
def path(path: Path) -> Path:
    with Store.open(path, clock=frozen) as store:
        who = store.sessions.open("ops", "worker")
        store.facts.write("ops", "D[cache]: redis", scope="release", session=who)
        store.turns.add("ops", "user", "deploy the canary", session=who)
        store.context.status("ops", session=who)
    return path


@pytest.mark.parametrize("name", NEW)
async def test_what_another_process_writes_shows_by_itself(path: Path, name: str) -> None:
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", WRITE, str(path)]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as agent:  # noqa: ASYNC220  (the other process)
        assert agent.stdin
        assert agent.stdout
        async with inspecting(path) as pilot:
            view = await opened(pilot, name)
            if name == "told":
                view.theme = "new-0"  # type: ignore[attr-defined]
            agent.stdin.write("go\n")
            agent.stdin.flush()
            assert agent.stdout.readline() == "written\n"
            new = NEW[name].format(0)
            await until(pilot, lambda: any(new in row for row in rows_of(view)))
        agent.stdin.close()


@pytest.mark.parametrize("name", VIEWS)
async def test_ages_and_the_title_go_on_in_every_view(path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [NOW]
    monkeypatch.setattr(load_view_class(VIEWS_BY_NAME[name]), "TICK_S", 0.05)
    async with inspecting(path, size=(200, 50), clock=lambda: now[0]) as pilot:
        view = await opened(pilot, name)
        await until(pilot, lambda: "changed just now by" in screen_text(pilot))
        aged = any("now" in row.split() for row in rows_of(view))
        now[0] = Millis(NOW + 7 * 60_000)
        await until(pilot, lambda: "changed 7m ago by" in screen_text(pilot))
        if aged:
            await until(pilot, lambda: any("7m" in row.split() for row in rows_of(view)))
        assert aged == (name in {"scopes", "agents", "journal", "turns", "now"})


async def test_undo_and_redo_from_every_view(path: Path) -> None:
    async with inspecting(path) as pilot:
        await until(pilot, lambda: main_screen(pilot).table.fact is not None)
        await pilot.press("a")
        await until(pilot, lambda: facts_of(path)["cache"].tier is Tier.ARCHIVED)
        for name in VIEWS:
            await opened(pilot, name)
            await pilot.press("u")
            await until(pilot, lambda: facts_of(path)["cache"].tier is Tier.HOT, f"undo in {name}")
            await pilot.press("ctrl+r")
            await until(pilot, lambda: facts_of(path)["cache"].tier is Tier.ARCHIVED, f"redo in {name}")


async def test_reading_only_hides_every_key_that_writes(path: Path) -> None:
    async with inspecting(path, read_only=True) as pilot:
        before = path.read_bytes()
        for name in VIEWS:
            view = await opened(pilot, name)
            active = {one.binding.action for one in view.active_bindings.values()}
            assert active & (WRITING[name] | {"undo", "redo"}) == set(), name
            own = [key for key, found in view._bindings.key_to_bindings.items() if found[0].action in WRITING[name]]
            await pilot.press(*own, "u", "ctrl+r", "enter", "escape")
            await pilot.pause()
    assert path.read_bytes() == before


async def test_every_key_that_writes_is_there_otherwise(path: Path) -> None:
    async with inspecting(path) as pilot:
        for name in VIEWS:
            view = await opened(pilot, name)
            active = {one.binding.action for one in view.active_bindings.values() if one.enabled}
            assert active >= WRITING[name] | {"undo", "redo"}, name


async def test_the_keys_of_a_filter_are_those_of_its_list(path: Path) -> None:
    async with inspecting(path) as pilot:
        for name in ("scopes", "agents", "journal", "turns"):
            view = await opened(pilot, name)
            await pilot.press("slash")
            await until(pilot, lambda: "To the list" in screen_text(pilot).splitlines()[-1], name)
            keys = screen_text(pilot).splitlines()[-1]
            assert "Save view" not in keys, name
            assert "Complete" not in keys, name
            await pilot.press("escape")
            await until(pilot, lambda view=view: pilot.app.focused is view.grid)


async def test_reading_only_hides_what_writes_in_the_flight_recorder(path: Path) -> None:
    async with inspecting(path, read_only=True) as pilot:
        await opened(pilot, "agents")
        await to_row(pilot, "worker")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, SessionView))
        active = {one.binding.action for one in pilot.app.screen.active_bindings.values()}
        assert active & {"undo_session", "end_session", "undo", "redo"} == set()


async def test_escape_leads_back_to_the_facts(path: Path) -> None:
    async with inspecting(path) as pilot:
        for name in VIEWS:
            view = await opened(pilot, name)
            await pilot.press("tab")
            for _ in range(4):
                await pilot.press("escape")
                await pilot.pause()
            assert pilot.app.screen is main_screen(pilot), name
            await opened(pilot, name)
            assert view_of(pilot) is view, "a view is made once"
            await pilot.press("1")
            await until(pilot, lambda: pilot.app.screen is main_screen(pilot))


@pytest.mark.parametrize("size", [(150, 38), (80, 24)])
async def test_a_click_on_the_strip_opens_a_view(path: Path, size: tuple[int, int]) -> None:
    async with inspecting(path, size=size) as pilot:
        for entry in CATALOG:
            if entry.name not in VIEWS or not entry.key.isdigit():
                continue
            strip = screen_text(pilot).splitlines()[1]
            await pilot.click("#views", offset=(strip.index(entry.key), 0))
            await until(pilot, lambda name=entry.name: getattr(pilot.app.screen, "NAME", "") == name)  # type: ignore[misc]
        await pilot.click("#views", offset=(screen_text(pilot).splitlines()[1].index("1"), 0))
        await until(pilot, lambda: pilot.app.screen is main_screen(pilot))


async def test_the_text_of_a_row_is_read_and_copied(path: Path) -> None:
    async with inspecting(path, size=(80, 24)) as pilot:
        for name in VIEWS:
            view = await opened(pilot, name)
            await until(pilot, lambda view=view: bool(view.pages.plain), name)
            await pilot.press("y")
            assert pilot.app.clipboard == view.pages.plain, name


async def test_a_narrow_view_shows_the_text_instead_of_the_list(path: Path) -> None:
    async with inspecting(path, size=(80, 24)) as pilot:
        view = await opened(pilot, "journal")
        assert not view.pages.display or not view.pages.region.area
        await pilot.press("enter")  # unfolds the change
        await until(pilot, lambda: len(view.grid.rows) > 1)
        await pilot.press("j", "enter")
        await until(pilot, lambda: "hash " in screen_text(pilot))
        await pilot.press("j", "k", "G", "g", "ctrl+d", "ctrl+u")
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.focused is view.grid)
        assert "hash " not in screen_text(pilot)


async def test_a_dialog_closes_once_however_fast_the_keys_are(path: Path) -> None:
    async with inspecting(path) as pilot:
        view = await opened(pilot, "scopes")
        for dialog in (Question("one"), Picker("two", [Choice("a", "a")]), MessageLog([])):
            answers: list[object] = []
            pilot.app.push_screen(dialog, answers.append)  # type: ignore[arg-type]
            await until(pilot, lambda dialog=dialog: pilot.app.screen is dialog and dialog.is_mounted)  # type: ignore[misc]
            dialog.dismiss(None)
            dialog.dismiss(None)
            await pilot.pause()
            assert answers == [None]
            assert pilot.app.screen is view


async def test_saving_and_leaving_at_once_leaves_only_the_editor(path: Path) -> None:
    async with inspecting(path) as pilot:
        await until(pilot, lambda: main_screen(pilot).table.fact is not None)
        await pilot.press("e")
        await until(pilot, lambda: isinstance(pilot.app.screen, FactEditor))
        await type_text(pilot, " 7")
        for key in ("ctrl+s", "ctrl+s", "escape"):
            send(pilot, key)
        await until(pilot, lambda: facts_of(path)["cache"].content == "redis 7")
        await until(pilot, lambda: pilot.app.screen is main_screen(pilot))
        await pilot.pause(0.3)
        assert pilot.app.screen is main_screen(pilot)


async def test_a_view_may_be_left_for_good_while_it_reads(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate, load = threading.Event(), SessionView.load

    def load_late(self: SessionView, store: Store) -> Any:
        gate.wait(PATIENCE_S)
        return load(self, store)

    monkeypatch.setattr(SessionView, "load", load_late)
    async with inspecting(path) as pilot:
        await opened(pilot, "agents")
        await to_row(pilot, "worker")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, SessionView))
        recorder = pilot.app.screen
        await pilot.press("escape")
        await until(pilot, lambda: not recorder.is_attached)
        gate.set()
        await until(pilot, lambda: all(worker.is_finished for worker in pilot.app.workers))
        await pilot.pause(0.2)
        assert pilot.app._exception is None
