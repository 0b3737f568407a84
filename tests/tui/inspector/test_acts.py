"""Acts on several facts: shown before they are done, by the store's own rules, and taken back whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_memory_store.model import FactFilter, Tier
from hermes_memory_store.store import Store
from hermes_memory_tui.dialogs.confirm_dialog import Confirmation
from hermes_memory_tui.dialogs.picker import Picker
from hermes_memory_tui.model import bulk_actions
from hermes_memory_tui.screens.fact_editor import FactEditor
from tests.tui.inspector.driving import (
    fill,
    inspecting,
    main_screen,
    said,
    screen_text,
    targets,
    type_text,
    until,
    until_shown,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    fill(tmp_path / "m.db", "V[b]: two elsewhere", scope="later")
    fill(tmp_path / "m.db", "V[a]: one", "V[b]: two", "D[c]: three [red]", scope="launch")
    return tmp_path / "m.db"


def tiers(path: Path) -> dict[str, str]:
    with Store.open(path, read_only=True) as store:
        found = store.facts.by_ids(list(store.facts.ids(FactFilter(tiers=frozenset()))))
        return {f"{fact.scope} {fact.target}": fact.tier.value for fact in found}


def verified(path: Path) -> bool:
    with Store.open(path, read_only=True) as store:
        return store.journal.verify().ok


async def test_several_are_shown_before_and_undone_together(path: Path) -> None:
    before = tiers(path)
    async with inspecting(path) as pilot:
        await pilot.press("space", "space", "a")
        await until(pilot, lambda: "archive · 2 facts" in screen_text(pilot))
        text = screen_text(pilot)
        assert "1 value, 1 decision" in text or "1 decision, 1 value" in text
        assert "three [red]" in text
        assert text.count("hot fact") == 2
        assert tiers(path) == before
        await pilot.press("escape")
        assert tiers(path) == before
        await pilot.press("a")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirmation))
        await pilot.press("enter")
        await until(pilot, lambda: list(tiers(path).values()).count("archived") == 2)
        await until(pilot, lambda: "2 facts archived. u undoes." in said(pilot))
        await pilot.press("u")
        await until(pilot, lambda: tiers(path) == before)
    assert verified(path)


async def test_one_fact_is_cooled_and_warmed_at_once(path: Path) -> None:
    async with inspecting(path) as pilot:
        await pilot.press("W")
        await until(pilot, lambda: tiers(path)["launch c"] == "cold")
        await pilot.press("w")
        await until(pilot, lambda: tiers(path)["launch c"] == "hot")


async def test_what_becomes_superseded_is_said_before(path: Path) -> None:
    fill(path, "V[b]: two, once more", "V[a]: one, once more", scope="launch")
    async with inspecting(path) as pilot:
        await pilot.press("slash")
        await type_text(pilot, "tier:superseded")
        await until(pilot, lambda: len(targets(pilot)) == 2)
        await pilot.press("enter", "asterisk", "r")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirmation))
        await until_shown(pilot, "V[b] superseded")


async def test_a_conflict_is_said_before_and_cannot_be_done(path: Path) -> None:
    async with inspecting(path) as pilot:
        await pilot.press("space", "space", "m")
        await until(pilot, lambda: isinstance(pilot.app.screen, Picker))
        await pilot.press(*"later", "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirmation))
        await until(pilot, lambda: "Would fail: scope 'later' already has V[b]" in screen_text(pilot))
        await pilot.press("enter")
        assert isinstance(pilot.app.screen, Confirmation)
        await pilot.press("escape")
        assert "launch b" in tiers(path)


async def test_a_fact_moves_to_a_new_scope(path: Path) -> None:
    async with inspecting(path) as pilot:
        await pilot.press("m")
        await until(pilot, lambda: isinstance(pilot.app.screen, Picker))
        await type_text(pilot, "week 9")
        await until(pilot, lambda: "new scope" in screen_text(pilot))
        await pilot.press("enter")
        await until(pilot, lambda: "week 9 c" in tiers(path))
        await until(pilot, lambda: "D[c] moved to scope 'week 9'. u undoes." in said(pilot))
        await pilot.press("m", *"nosc", "enter")
        await until(pilot, lambda: "None c" in tiers(path))


async def test_purge_is_armed_by_typing_how_many(path: Path) -> None:
    async with inspecting(path) as pilot:
        await pilot.press("space", "space", "P")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirmation))
        await until(pilot, lambda: "Type the number of facts, 2" in screen_text(pilot))
        await pilot.press("enter", "3", "enter")
        await until(pilot, lambda: "3 is not 2" in screen_text(pilot))
        assert isinstance(pilot.app.screen, Confirmation)
        assert len(tiers(path)) == 4
        await pilot.press("backspace", "2")
        await until(pilot, lambda: "enter: purge now" in screen_text(pilot))
        await pilot.press("enter")
        await until(pilot, lambda: sorted(tiers(path)) == ["later b", "launch a"])
        await until(pilot, lambda: "2 facts purged. This cannot be undone." in said(pilot))
    assert b"three" not in path.read_bytes()
    assert verified(path)


async def test_a_purge_asks_first_and_names_few_places_of_the_same_words(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    fill(path, *(f"V[place{number}]: the cellar of the old mill" for number in range(9)))
    async with inspecting(path) as pilot:
        await pilot.press("P")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirmation))
        await until(pilot, lambda: "and 4 more; ctrl+o shows them" in " ".join(screen_text(pilot).split()))
        lines = screen_text(pilot).splitlines()
        question, places = (
            next(place for place, line in enumerate(lines) if text in line)
            for text in ("This cannot be undone.", "The same words")
        )
        assert question < places
        await pilot.press("ctrl+o")
        await until(pilot, lambda: all(f"V[place{number}]" in screen_text(pilot) for number in range(9)))
        assert "more; ctrl+o" not in screen_text(pilot)


async def test_a_purge_takes_what_was_typed_about_the_fact_with_it(path: Path, tmp_path: Path) -> None:
    state = tmp_path / ".hermes" / "inspector-state.json"
    async with inspecting(path) as pilot:
        await pilot.press("e")
        await until(pilot, lambda: isinstance(pilot.app.screen, FactEditor))
        await pilot.press(*"typed", "escape")
        await until(pilot, lambda: "typed" in state.read_text())
        await pilot.press("P")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirmation))
        await pilot.press("1", "enter")
        await until(pilot, lambda: "launch c" not in tiers(path))
        await until(pilot, lambda: "typed" not in state.read_text())
        assert main_screen(pilot).drafts.unsaved == {}


async def test_a_whole_scope_is_purged_by_its_name(path: Path) -> None:
    async with inspecting(path) as pilot:
        screen = main_screen(pilot)
        screen.tree_pane.focus()
        while screen.tree_pane.place.scope is None or screen.tree_pane.place.scope.label != "launch":
            await pilot.press("j")
        await pilot.press("P")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirmation))
        await pilot.press("3", "enter")
        assert len(tiers(path)) == 4
        await pilot.press("backspace", *"launch", "enter")
        await until(pilot, lambda: list(tiers(path)) == ["later b"])


async def test_what_is_gone_meanwhile_is_said(path: Path) -> None:
    async with inspecting(path) as pilot:
        screen = main_screen(pilot)
        keys = screen.table.selected_keys
        with Store.open(path) as store:
            store.purge.erase([fact.uid for fact in store.facts.by_ids(keys)])
        screen.on_chosen(lambda _: bulk_actions.ARCHIVE, keys)
        await until(pilot, lambda: "selection no longer exists" in said(pilot))
        screen.on_chosen(lambda _: bulk_actions.ARCHIVE, [*keys, *keys])
        await until(pilot, lambda: "Nothing selected" in said(pilot))


async def test_facts_of_several_themes_are_not_moved_together(path: Path) -> None:
    fill(path, "V[x]: other", theme="ops")
    async with inspecting(path) as pilot:
        await pilot.press("asterisk", "m", *"nosc", "enter")
        await until(pilot, lambda: "to several themes" in said(pilot))


async def test_nothing_of_it_is_offered_when_reading_only(path: Path) -> None:
    async with inspecting(path, read_only=True) as pilot:
        await pilot.press("space", "space", "P", "w", "W", "m", "a", "e", "n")
        await pilot.pause()
        assert pilot.app.screen is main_screen(pilot)
        assert "Archive" not in screen_text(pilot)
        await until_shown(pilot, "read-only")
        assert set(tiers(path).values()) == {Tier.HOT.value}


async def test_many_thousands_are_counted_and_done(tmp_path: Path) -> None:
    with Store.open(tmp_path / "m.db") as store:
        lines = [(f"V[n.{number}]: {number}", None) for number in range(6_000)]
        from hermes_memory_store.model import PERSON

        store.facts.write_many("default", lines, actor=PERSON)
    async with inspecting(tmp_path / "m.db") as pilot:
        table = main_screen(pilot).table
        await until(pilot, lambda: table.row_count == 6_000)
        await pilot.press("asterisk", "a")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirmation))
        await until(pilot, lambda: "Too many facts for a dry run" in screen_text(pilot))
        await pilot.press("end")
        await until(pilot, lambda: "and 5,000 more" in screen_text(pilot))
        await pilot.press("enter")
        await until(pilot, lambda: table.row_count == 0)
