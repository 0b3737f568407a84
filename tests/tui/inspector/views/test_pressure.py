"""The view of pressure: relief of a theme, of host files, and rescue of what the host evicted."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from hermes_memory_store.model import FactFilter, Origin, Tier, Way
from hermes_memory_store.places.project_sighting import ProjectSighting, read_project
from hermes_memory_store.relief.file_relief import relieve_files as relieve_profile
from hermes_memory_store.store import Store
from hermes_memory_tui.app import make_app
from hermes_memory_tui.dialogs.question import Question
from hermes_memory_tui.inspector import Inspector
from hermes_memory_tui.model import bulk_actions
from hermes_memory_tui.recovery import AppFailure
from hermes_memory_tui.system.inspector_settings import InspectorSettings
from hermes_memory_tui.system.palettes import DEFAULT_LOOK
from hermes_memory_tui.views.pressure_view import format_names
from tests.store.test_projects import make_repository
from tests.tui.inspector.driving import (
    beside,
    facts_of,
    fill,
    inspecting,
    opened,
    rows_of,
    said,
    screen_text,
    to_row,
    until,
    until_shown,
)


@pytest.fixture
def path(path: Path) -> Path:
    fill(path, "D[cache]: redis", "V[port]: 6379", scope="old", theme="ops")
    fill(path, "C[deploy]: never on friday", scope="new", theme="ops")
    fill(path, "V[tone]: plain", theme="marketing")
    with Store.open(path) as store:
        store.scopes.close("ops", "old")
        store.facts.restore([facts_of(path)["cache"].uid, facts_of(path)["port"].uid])
    return path


async def test_relief_shows_what_would_move_before_it_moves(path: Path) -> None:
    async with inspecting(path) as pilot:
        await opened(pilot, "pressure")
        await to_row(pilot, "ops")
        await until(pilot, lambda: "at 85 %" in beside(pilot) and "D[cache]" in beside(pilot))
        await pilot.press("L")
        await until(pilot, lambda: isinstance(pilot.app.screen, Question))
        await until_shown(pilot, "will move; the gauge goes from")
        await until_shown(pilot, "D[cache]")
        assert facts_of(path)["cache"].tier is Tier.HOT
        await pilot.press("enter")
        await until(pilot, lambda: facts_of(path)["cache"].tier is not Tier.HOT)
        assert facts_of(path)["deploy"].tier is Tier.HOT
        await until(pilot, lambda: "ops relieved: cooled V[port], D[cache]" in said(pilot))
        await pilot.press("u")
        await until(pilot, lambda: facts_of(path)["cache"].tier is Tier.HOT)
        await pilot.press("ctrl+r")
        await until(pilot, lambda: facts_of(path)["cache"].tier is not Tier.HOT)


async def test_relief_goes_on_until_nothing_is_left_and_says_so(path: Path) -> None:
    async with inspecting(path) as pilot:
        await opened(pilot, "pressure")
        await to_row(pilot, "marketing")
        for _ in range(3):
            await pilot.press("L")
            await until(pilot, lambda: isinstance(pilot.app.screen, Question) or "Nothing to relieve" in said(pilot))
            if isinstance(pilot.app.screen, Question):
                await pilot.press("enter")
                await until(pilot, lambda: facts_of(path)["tone"].tier is Tier.COLD)
                await until(pilot, lambda: "marketing relieved" in said(pilot))
                await until(pilot, lambda: any("marketing" in row and "0%" in row for row in rows_of(pilot.app.screen)))  # type: ignore[arg-type]
        assert "Nothing to relieve." in said(pilot)


async def test_what_the_host_evicted_is_rescued_once(path: Path, home: Path) -> None:
    evicted = [
        {"content": "C[db.id]: UUID everywhere", "target": "memory", "archived_at": "2026-03-01T10:00:00"},
        {"content": "the person writes in German", "target": "user"},
    ]
    archive = home / "memories" / "ARCHIVE.jsonl"
    archive.write_text("".join(json.dumps(one) + "\n" for one in evicted) + "not json\n")
    kept = archive.read_bytes()
    async with inspecting(path, "ops") as pilot:
        view = await opened(pilot, "pressure")
        await to_row(pilot, "ARCHIVE.jsonl")
        assert "2 entries" in rows_of(view)[view.grid.cursor]
        await until(pilot, lambda: "the person writes in German" in beside(pilot))
        await pilot.press("L")
        await until(pilot, lambda: isinstance(pilot.app.screen, Question))
        await pilot.press("enter")
        await until(pilot, lambda: "2 facts imported" in said(pilot))
        rescued = facts_of(path)
        assert rescued["db.id"].tier is Tier.COLD
        assert any(fact.content == "the person writes in German" for fact in rescued.values())
        assert archive.read_bytes() == kept
        await pilot.press("L")
        await until(pilot, lambda: isinstance(pilot.app.screen, Question))
        await pilot.press("enter")
        await until(pilot, lambda: "0 facts imported, 2 already present" in said(pilot))


async def test_the_rescue_is_taken_back_whole(path: Path, home: Path) -> None:
    before = set(facts_of(path))
    (home / "memories" / "ARCHIVE.jsonl").write_text('{"content": "one"}\n{"content": "two"}\n')
    async with inspecting(path, "ops") as pilot:
        await opened(pilot, "pressure")
        await to_row(pilot, "ARCHIVE.jsonl")
        await pilot.press("L")
        await until(pilot, lambda: isinstance(pilot.app.screen, Question))
        await pilot.press("enter")
        await until(pilot, lambda: "2 facts imported" in said(pilot))
        await pilot.press("u")
        await until(pilot, lambda: set(facts_of(path)) == before)


async def test_relief_of_the_hosts_files_shows_the_difference_and_keeps_a_copy(path: Path, home: Path) -> None:
    file = home / "memories" / "MEMORY.md"
    entries = [f"D[service.{number}]: the configuration of the authentication database" for number in range(28)]
    file.write_text("\n§\n".join(entries))
    before = file.read_text()
    async with inspecting(path) as pilot:
        view = await opened(pilot, "pressure")
        await to_row(pilot, "MEMORY.md")
        await until(pilot, lambda: "after relief" in beside(pilot))
        await pilot.press("L")
        await until(pilot, lambda: isinstance(pilot.app.screen, Question))
        await until_shown(pilot, "MEMORY.md")
        assert file.read_text() == before
        await pilot.press("enter")
        await until(pilot, lambda: file.read_text() != before)
        await until(pilot, lambda: "moved to the memory" in said(pilot))
        pct = [row for row in rows_of(view) if "MEMORY.md" in row]
        assert pct
        kept = [
            one
            for one in home.rglob("*")
            if one.is_file() and one != file and before in one.read_text("utf-8", "replace")
        ]
        assert kept, "no copy was kept"
        await to_row(pilot, "MEMORY.md")
        await until(pilot, lambda: "nothing to relieve" in beside(pilot))
        await pilot.press("L")
        await until(pilot, lambda: "Nothing to relieve in these files." in said(pilot))


ENTRY = "D[{name}.service.{number}]: the configuration of the authentication database"

MEMORIES = "\n§\n".join(
    f"D[service.{number}]: the configuration of the authentication database" for number in range(28)
)


@pytest.mark.parametrize("changed", [("MEMORY.md",), ("USER.md",), ("MEMORY.md", "USER.md")])
async def test_the_dialog_shows_the_files_that_change_and_no_others(
    path: Path, home: Path, changed: tuple[str, ...]
) -> None:
    for name in ("MEMORY.md", "USER.md"):
        text = "\n§\n".join(ENTRY.format(name=name[:4], number=number) for number in range(28))
        (home / "memories" / name).write_text(text if name in changed else "likes tea")
    async with inspecting(path) as pilot:
        await opened(pilot, "pressure")
        await to_row(pilot, changed[0])
        await pilot.press("L")
        await until(pilot, lambda: isinstance(pilot.app.screen, Question))
        shown = str(pilot.app.screen.query_one("#ask-text Static", Static).content)
        assert re.findall(r"^(\S+\.md)  .*% → ", shown, re.MULTILINE) == list(changed)
        for name in changed:
            assert f"-D[{name[:4]}.service.0]" in shown
        assert "likes tea" not in shown
        assert "---" not in shown
        await pilot.press("enter")
        await until(pilot, lambda: "moved to the memory" in said(pilot))
    assert [(home / "memories" / name).read_text() == "likes tea" for name in ("MEMORY.md", "USER.md")] == [
        name not in changed for name in ("MEMORY.md", "USER.md")
    ]


async def test_undo_after_relief_of_the_hosts_files_takes_that_back_and_nothing_else(path: Path, home: Path) -> None:
    file = home / "memories" / "MEMORY.md"
    file.write_text(MEMORIES)
    before = facts_of(path)
    async with inspecting(path) as pilot:
        await relieve_files(pilot, file)
        await pilot.press("u")
        await until(pilot, lambda: "MEMORY.md as before the relief" in said(pilot))
        assert file.read_text() == MEMORIES
        assert facts_of(path) == before


async def test_undo_takes_back_a_newer_change_before_the_relief(path: Path, home: Path) -> None:
    file = home / "memories" / "MEMORY.md"
    file.write_text(MEMORIES)
    async with inspecting(path) as pilot:
        await relieve_files(pilot, file)
        with Store.open(path, read_only=True) as store:
            tone = next(fact for fact in store.facts.page(FactFilter(theme="marketing")).facts)
        pilot.app.memory.run_action(bulk_actions.ARCHIVE, [tone])  # type: ignore[attr-defined]
        await pilot.press("u")
        await until(pilot, lambda: "undone: archive" in said(pilot))
        assert file.read_text() != MEMORIES
        await pilot.press("u")
        await until(pilot, lambda: file.read_text() == MEMORIES)


async def test_undo_leaves_a_file_that_was_written_to_since_the_relief(path: Path, home: Path) -> None:
    file = home / "memories" / "MEMORY.md"
    file.write_text(MEMORIES)
    async with inspecting(path) as pilot:
        await relieve_files(pilot, file)
        file.write_text("mine")
        facts = facts_of(path)
        await pilot.press("u")
        await until(pilot, lambda: "changed since the relief" in said(pilot))
        assert file.read_text() == "mine"
        assert facts_of(path) == facts


async def test_a_refused_undo_of_a_relief_can_be_tried_again(path: Path, home: Path) -> None:
    file = home / "memories" / "MEMORY.md"
    file.write_text(MEMORIES)
    async with inspecting(path) as pilot:
        archived = await archive_one(pilot, path)
        await relieve_files(pilot, file)
        relieved = file.read_text()
        file.write_text("mine")
        await pilot.press("u")
        await until(pilot, lambda: "changed since the relief" in said(pilot))
        assert "u again retries it, or undoes your previous change" in said(pilot)
        file.write_text(relieved)
        await pilot.press("u")
        await until(pilot, lambda: "MEMORY.md as before the relief" in said(pilot))
        assert file.read_text() == MEMORIES
        assert facts_of(path)[archived].tier is Tier.ARCHIVED


async def test_a_refused_undo_of_a_relief_gives_way_once_that_was_said(path: Path, home: Path) -> None:
    file = home / "memories" / "MEMORY.md"
    file.write_text(MEMORIES)
    async with inspecting(path) as pilot:
        archived = await archive_one(pilot, path)
        await relieve_files(pilot, file)
        file.write_text("mine")
        await pilot.press("u")
        await until(pilot, lambda: "or undoes your previous change" in said(pilot))
        assert facts_of(path)[archived].tier is Tier.ARCHIVED
        await pilot.press("u")
        await until(pilot, lambda: "undone: archive" in said(pilot))
        assert facts_of(path)[archived].tier is Tier.HOT
        assert file.read_text() == "mine"


async def test_undo_after_a_recovery_takes_the_relief_back_and_nothing_else(path: Path, home: Path) -> None:
    file = home / "memories" / "MEMORY.md"
    file.write_text(MEMORIES)
    async with inspecting(path) as pilot:
        archived = await archive_one(pilot, path)
        await relieve_files(pilot, file)
        failed = pilot.app
        assert isinstance(failed, Inspector)
    recovery = AppFailure("ValueError", None).to_recovery(failed, None)
    memory = make_app(path, None, False, DEFAULT_LOOK, InspectorSettings(), recovery).memory
    assert memory is not None
    try:
        assert "MEMORY.md as before the relief" in memory.undo().said
        assert file.read_text() == MEMORIES
        assert facts_of(path)[archived].tier is Tier.ARCHIVED
        assert "undone: archive" in memory.undo().said
    finally:
        memory.close()


@pytest.mark.parametrize("way", ["u", "U"])
async def test_a_relief_of_another_run_is_taken_back_with_its_files(path: Path, home: Path, way: str) -> None:
    file = home / "memories" / "MEMORY.md"
    file.write_text(MEMORIES)
    before = facts_of(path)
    with Store.open(path) as store:
        relieve_profile(store, "marketing", home=home)
    assert file.read_text() != MEMORIES
    async with inspecting(path) as pilot:
        if way == "U":
            await opened(pilot, "journal")
        await pilot.press(way)
        if way == "U":
            await until(pilot, lambda: isinstance(pilot.app.screen, Question))
            await pilot.press("enter")
        await until(pilot, lambda: "MEMORY.md as before the relief" in said(pilot))
        assert "by you in theme marketing" in said(pilot)
    assert file.read_text() == MEMORIES
    assert facts_of(path) == before


async def archive_one(pilot: Pilot[int], path: Path) -> str:
    with Store.open(path, read_only=True) as store:
        fact = next(fact for fact in store.facts.page(FactFilter(theme="marketing")).facts)
    pilot.app.memory.run_action(bulk_actions.ARCHIVE, [fact])  # type: ignore[attr-defined]
    return fact.target


async def relieve_files(pilot: Pilot[int], file: Path) -> None:
    before = file.read_text()
    await opened(pilot, "pressure")
    await to_row(pilot, "MEMORY.md")
    await pilot.press("L")
    await until(pilot, lambda: isinstance(pilot.app.screen, Question))
    await pilot.press("enter")
    await until(pilot, lambda: file.read_text() != before)
    await until(pilot, lambda: "moved to the memory" in said(pilot))


async def test_a_file_that_cannot_be_read_is_said_and_the_rest_is_shown(path: Path, home: Path) -> None:
    (home / "memories" / "ARCHIVE.jsonl").write_bytes(b"\xff\xfe\x00 no text at all")
    async with inspecting(path) as pilot:
        view = await opened(pilot, "pressure")
        assert any("ops" in row for row in rows_of(view))
        assert "ARCHIVE.jsonl" in str(view.grid.border_subtitle)


async def test_a_file_that_appears_is_shown_with_the_next_change(path: Path, home: Path) -> None:
    async with inspecting(path) as pilot:
        view = await opened(pilot, "pressure")
        assert not any("USER.md" in row for row in rows_of(view))
        (home / "memories" / "USER.md").write_text("likes tea")
        fill(path, "V[x]: 1", theme="ops")
        await until(pilot, lambda: any("USER.md" in row for row in rows_of(view)))


def test_of_many_facts_that_moved_the_first_are_named() -> None:
    assert format_names(["V[a]", "V[b]"]) == "V[a], V[b]"
    assert format_names([f"V[{number}]" for number in range(7)]) == "V[0], V[1], V[2], V[3] and 3 more"


async def test_projects_are_chosen_and_a_theme_split_with_a_preview(path: Path) -> None:
    with Store.open(path) as store:
        with store.db.write_transaction() as conn:
            conn.execute("UPDATE place_choice SET places = 'default', chosen_at = NULL")
        with store.attribute(store.projects.place(Origin(way=Way.TOOL), ProjectSighting(root="/work/shop"))):
            store.facts.write("default", "D[db]: Postgres")
    async with inspecting(path) as pilot:
        await opened(pilot, "pressure")
        await to_row(pilot, "default")
        await until(pilot, lambda: "each project can have its own" in beside(pilot))
        await pilot.press("J")
        await until(pilot, lambda: isinstance(pilot.app.screen, Question))
        await until_shown(pilot, "theme shop, 1 fact")
        await pilot.press("enter")
        await until(pilot, lambda: "each project has a theme of its own" in said(pilot))
        await until(pilot, lambda: "each project can have its own" not in beside(pilot))
        await pilot.press("J")
        await until(pilot, lambda: isinstance(pilot.app.screen, Question))
        await until_shown(pilot, "written there")
        await pilot.press("enter")
        await until(pilot, lambda: "shop" in [fact.theme for fact in facts_of(path).values()])
        await pilot.press("u")
        await until(pilot, lambda: "shop" not in [fact.theme for fact in facts_of(path).values()])
        await pilot.press("u")
        with Store.open(path, read_only=True) as store:
            await until(pilot, lambda: store.place_themes.is_undecided)


async def test_two_projects_with_one_first_commit_are_joined_where_a_person_says_so(path: Path, tmp_path: Path) -> None:
    shop, copy = make_repository(tmp_path / "shop"), tmp_path / "copy"
    shutil.copytree(shop, copy)
    with Store.open(path) as store:
        store.place_themes.adopt()
        for folder in (shop, copy):
            seen = read_project(folder)
            theme = store.place_themes.theme_of(seen)
            store.projects.note_first_commit(seen)
            store.facts.write(theme, f"V[{theme}.port]: 1", origin=store.projects.place(Origin(way=Way.TOOL), seen))
    async with inspecting(path) as pilot:
        await opened(pilot, "pressure")
        await to_row(pilot, "copy")
        await pilot.press("J")
        await until(pilot, lambda: isinstance(pilot.app.screen, Question))
        assert "are copy and shop one project?" in screen_text(pilot)
        await pilot.press("enter")
        with Store.open(path, read_only=True) as store:
            await until(pilot, lambda: store.projects.get("copy").name == "shop")
