"""What a person types or presses is answered: one key means one thing, and what was typed is not lost."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from hermes_memory_store.store import Store
from hermes_memory_tui.dialogs.confirm_dialog import Confirmation
from hermes_memory_tui.dialogs.question import Question
from hermes_memory_tui.keymap_actions import all_bindings
from hermes_memory_tui.screens.fact_editor import NewFactEditor
from hermes_memory_tui.screens.facts_screen import MainScreen

from .driving import NOW, fill, inspecting, opened, said, screen_text, to_row, until


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


PUTS_AWAY = {"archive", "refuse"}
LETS_IN = {"restore", "approve"}


def test_a_key_that_puts_away_in_one_view_never_lets_in_in_another() -> None:
    keys: dict[str, set[str]] = defaultdict(set)
    for _, binding in all_bindings():
        for key in binding.key.split(","):
            keys[key].add(binding.action)
    assert not {key: acts for key, acts in keys.items() if acts & PUTS_AWAY and acts & LETS_IN}


async def test_enter_without_an_answer_is_answered(path: Path) -> None:
    fill(path, "V[a]: 1")
    async with inspecting(path) as pilot:
        pilot.app.push_screen(Question("name it", type_in="as"))
        await pilot.press("enter")
        await until(pilot, lambda: "Type something first" in screen_text(pilot))
        pilot.app.push_screen(Question("erase", armed_by="payments"))
        await pilot.press(*"pay", "enter")
        await until(pilot, lambda: "pay is not payments" in screen_text(pilot))


async def test_renaming_a_scope_to_a_name_that_is_taken_keeps_what_was_typed(path: Path) -> None:
    fill(path, "V[a]: 1", scope="payments")
    fill(path, "V[b]: 1", scope="invoices")
    async with inspecting(path) as pilot:
        await opened(pilot, "scopes")
        await to_row(pilot, "payments")
        await pilot.press("N", "ctrl+u", *"invoices", "enter")
        await until(pilot, lambda: "scope invoices exists" in screen_text(pilot))
        question = pilot.app.screen
        assert isinstance(question, Question)
        assert question.line is not None
        assert question.line.value == "invoices"
        await pilot.press("2", "enter")
        await until(pilot, lambda: "is now invoices2" in said(pilot))


async def test_a_new_fact_in_all_themes_asks_for_the_theme(path: Path) -> None:
    fill(path, "V[a]: 1", theme="shop")
    fill(path, "V[b]: 1", theme="clinic")
    async with inspecting(path) as pilot:
        await pilot.press("n")
        await until(pilot, lambda: "theme of the new fact" in screen_text(pilot))
        await pilot.press(*"clin", "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, NewFactEditor))
        assert "clinic" in screen_text(pilot)


async def test_the_only_theme_is_not_asked_for(path: Path) -> None:
    fill(path, "V[a]: 1", theme="shop")
    async with inspecting(path) as pilot:
        await pilot.press("n")
        await until(pilot, lambda: isinstance(pilot.app.screen, NewFactEditor))
        assert "shop" in screen_text(pilot)


async def test_ages_in_the_detail_go_on(path: Path) -> None:
    now = [NOW]
    with Store.open(path, clock=lambda: now[0]) as store:
        store.facts.write("default", "V[a]: 1")
    async with inspecting(path, clock=lambda: now[0]) as pilot:
        main = pilot.app.screen
        assert isinstance(main, MainScreen)
        await until(pilot, lambda: "(now)" in screen_text(pilot))
        now[0] = type(NOW)(NOW + 5 * 60_000)
        main._redraw_ages()
        await until(pilot, lambda: "(5m)" in screen_text(pilot))


async def test_a_preview_opens_to_the_last_fact(path: Path) -> None:
    fill(path, *(f"V[fact.{number}]: 1" for number in range(94)))
    async with inspecting(path) as pilot:
        await pilot.press("asterisk", "a")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirmation))
        await until(pilot, lambda: "V[fact.93]" in screen_text(pilot))
        assert "V[fact.0]" not in screen_text(pilot)
        await pilot.press("end")
        await until(pilot, lambda: "V[fact.0]" in screen_text(pilot))
