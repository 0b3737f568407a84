"""Changing a memory by hand: every change is journaled as the person's, and can be taken back."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from hermes_memory_store.model import FactFilter, Tier
from hermes_memory_store.store import Store
from hermes_memory_tui.screens.fact_editor import FactEditor, NewFactEditor
from tests.tui.inspector.driving import (
    fill,
    inspecting,
    main_screen,
    said,
    screen_text,
    shown_facts,
    targets,
    type_text,
    until,
    until_shown,
)


def facts_of(path: Path) -> dict[str, tuple[str, Tier]]:
    """Content and tier of every fact that is not withdrawn, by target."""
    with Store.open(path, read_only=True) as store:
        found = store.facts.by_ids(list(store.facts.ids(FactFilter(tiers=frozenset()))))
        return {fact.target: (fact.content, fact.tier) for fact in found}


async def test_an_edit_is_saved_journaled_and_undone(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    fill(path, "D[cache]: redis")
    async with inspecting(path) as pilot:
        await pilot.press("e")
        await until(pilot, lambda: isinstance(pilot.app.screen, FactEditor))
        await type_text(pilot, " 7")
        await until_shown(pilot, "redis 7")
        await until_shown(pilot, "7 of 400")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: facts_of(path)["cache"][0] == "redis 7")
        await until(pilot, lambda: pilot.app.screen is main_screen(pilot))
        await pilot.press("u")
        await until(pilot, lambda: facts_of(path)["cache"][0] == "redis")
        await until(pilot, lambda: "undone: edit of D[cache]" in said(pilot))
        await pilot.press("ctrl+r")
        await until(pilot, lambda: facts_of(path)["cache"][0] == "redis 7")
    with Store.open(path, read_only=True) as store:
        assert [str(change.actor) for change in store.journal.changes()][1:] == ["person"] * 3


async def test_a_new_fact_goes_to_the_chosen_scope(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    fill(path, "V[a]: 1", scope="launch")
    async with inspecting(path) as pilot:
        await pilot.press("t", "j", "j", "n")
        await until(pilot, lambda: isinstance(pilot.app.screen, NewFactEditor))
        await type_text(pilot, "C[db.id]: UUID")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: targets(pilot) == ["db.id", "a"])
        assert shown_facts(pilot)[0].scope == "launch"


async def test_what_cannot_be_stored_is_said_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    fill(path, "V[a]: 1")
    async with inspecting(path) as pilot:
        await pilot.press("e")
        await until(pilot, lambda: isinstance(pilot.app.screen, FactEditor))
        editor = pilot.app.screen
        assert isinstance(editor, FactEditor)
        editor.area.text = "x" * 401
        await until(pilot, lambda: "401" in screen_text(pilot))
        await pilot.press("ctrl+s")
        assert pilot.app.screen is editor
        assert editor.area.text == "x" * 401
    assert facts_of(path)["a"][0] == "1"


async def test_leaving_the_editor_keeps_the_draft(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    fill(path, "V[a]: 1")
    async with inspecting(path) as pilot:
        await pilot.press("e")
        await until(pilot, lambda: isinstance(pilot.app.screen, FactEditor))
        await type_text(pilot, "23")
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is main_screen(pilot))
        await pilot.press("q")
        await pilot.pause()
        assert "Unsaved changes" in said(pilot)
        await pilot.press("e")
        await until(pilot, lambda: isinstance(pilot.app.screen, FactEditor))
        assert pilot.app.screen.area.text == "123"  # type: ignore[attr-defined]
    assert facts_of(path)["a"][0] == "1"


async def test_a_fact_changed_meanwhile_is_never_overwritten_in_silence(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    fill(path, "D[cache]: redis")
    async with inspecting(path) as pilot:
        await pilot.press("e")
        await until(pilot, lambda: isinstance(pilot.app.screen, FactEditor))
        editor = pilot.app.screen
        assert isinstance(editor, FactEditor)
        await type_text(pilot, ", mine")
        with Store.open(path) as other:
            other.facts.edit(shown_facts(pilot)[0].uid, "redis, theirs")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "Changed by" in screen_text(pilot))
        assert facts_of(path)["cache"][0] == "redis, theirs"
        assert editor.area.text == "redis, mine"
        await until_shown(pilot, "theirs")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: facts_of(path)["cache"][0] == "redis, mine")


async def test_archive_restore_and_pin_work_from_the_keyboard(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    fill(path, "V[a]: 1", "V[b]: 2")
    async with inspecting(path) as pilot:
        await pilot.press("a")
        await until(pilot, lambda: targets(pilot) == ["a"])
        assert facts_of(path)["b"][1] is Tier.ARCHIVED
        await pilot.press("u")
        await until(pilot, lambda: sorted(targets(pilot)) == ["a", "b"])
        await pilot.press("p")
        await until(pilot, lambda: any(fact.pinned for fact in shown_facts(pilot)))
        await pilot.press("p")
        await until(pilot, lambda: not any(fact.pinned for fact in shown_facts(pilot)))


async def test_closing_and_reopening_a_scope(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    fill(path, "V[a]: 1", scope="launch")
    async with inspecting(path) as pilot:
        await pilot.press("c")
        await until(pilot, lambda: "closed" in screen_text(pilot))
        assert facts_of(path)["a"][1] is Tier.COLD
        await pilot.press("o")
        await until(pilot, lambda: facts_of(path)["a"][1] is Tier.HOT)


async def test_undo_takes_back_what_the_person_did_not_what_an_agent_did(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    fill(path, "V[a]: 1")
    async with inspecting(path) as pilot:
        await pilot.press("a")
        await until(pilot, lambda: facts_of(path)["a"][1] is Tier.ARCHIVED)
        fill(path, "V[agents]: own", session="worker")
        await until(pilot, lambda: "agents" in targets(pilot))
        await pilot.press("u")
        await until(pilot, lambda: facts_of(path)["a"][1] is Tier.HOT)
        await until(pilot, lambda: "undone: archive of V[a], by you in theme " in said(pilot))
        assert "of worker is newer and stays: U on it in 6 undoes it" in said(pilot)
        assert facts_of(path)["agents"] == ("own", Tier.HOT)
        while targets(pilot)[main_screen(pilot).table.cursor] != "agents":
            await pilot.press("j" if main_screen(pilot).table.cursor == 0 else "g")
        await pilot.press("U")
        await until(pilot, lambda: "agents" not in facts_of(path))


async def test_undo_in_a_chosen_theme_leaves_the_newer_change_of_another(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    fill(path, "V[a]: 1", theme="ops")
    fill(path, "V[b]: 1", theme="shop")
    async with inspecting(path, theme="ops") as pilot:
        await pilot.press("u")
        await until(pilot, lambda: "undone: create of V[a], by you in theme ops" in said(pilot))
        await pilot.press("u")
        await until(pilot, lambda: "nothing to undo in theme 'ops'" in said(pilot))
    assert set(facts_of(path)) == {"b"}


async def test_undo_finds_the_persons_change_however_much_others_wrote_since(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    fill(path, "V[a]: 1", "V[b]: 1")
    with Store.open(path) as store:
        known = {fact.target: fact.uid for fact in store.facts.page(FactFilter()).facts}
        store.facts.archive([known["a"]])
        for _ in range(5):
            store.facts.archive([known["b"]])
            store.undo.last()
    fill(path, *(f"V[agents.{number}]: {number}" for number in range(400)), session="worker")
    async with inspecting(path) as pilot:
        await pilot.press("u")
        await until(pilot, lambda: "undone: archive of V[a]" in said(pilot))
    assert facts_of(path)["a"][1] is Tier.HOT
    assert len(facts_of(path)) == 402


async def test_a_locked_store_neither_freezes_the_screen_nor_loses_the_text(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    fill(path, "V[a]: 1", "V[b]: 2")
    holder = sqlite3.connect(path, isolation_level=None)
    async with inspecting(path, wait_s=1.0) as pilot:
        await pilot.press("e")
        await until(pilot, lambda: isinstance(pilot.app.screen, FactEditor))
        editor = pilot.app.screen
        assert isinstance(editor, FactEditor)
        holder.execute("BEGIN IMMEDIATE")
        await type_text(pilot, "23")
        await pilot.press("ctrl+s")
        await type_text(pilot, "4")
        assert editor.area.text.endswith("234")
        await until(pilot, lambda: "is locked by" in screen_text(pilot))
        holder.execute("ROLLBACK")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: facts_of(path)["b"][0] == "2234")
    holder.close()


async def test_no_key_fails_on_an_empty_memory(tmp_path: Path) -> None:
    async with inspecting(tmp_path / "m.db") as pilot:
        for key in ("a", "r", "p", "e", "u", "U", "c", "o", "y", "Y", "space"):
            await pilot.press(key)
            await pilot.pause()
            assert "This memory is empty." in screen_text(pilot), key
