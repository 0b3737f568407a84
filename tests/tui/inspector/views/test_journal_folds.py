"""The journal folded by change."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from hermes_memory_store.model import PERSON, Millis, ScopeStatus, Tier
from hermes_memory_store.store import Store
from hermes_memory_tui.dialogs.question import Question
from hermes_memory_tui.model import journal_pages
from tests.bridge.backfill.test_backfill import bring, write_claude
from tests.tui.inspector.driving import (
    NOW,
    beside,
    facts_of,
    fill,
    inspecting,
    opened,
    rows_of,
    said,
    scopes_of,
    screen_text,
    to_row,
    type_text,
    until,
    until_shown,
)


@pytest.fixture
def path(path: Path) -> Path:
    hours = count(1)
    with Store.open(path, clock=lambda: Millis(NOW - 100 * 3_600_000 + next(hours) * 3_600_000)) as store:
        store.facts.write_many("ops", [(f"V[p{number}]: {number}", "payments") for number in range(10)], actor=PERSON)
        store.scopes.close("ops", "payments")
        for letter in "abc":
            store.facts.write("ops", f"V[{letter}]: 1")
    return path


async def test_a_close_is_one_line_that_unfolds_in_place_and_folds_again(path: Path) -> None:
    async with inspecting(path) as pilot:
        view = await opened(pilot, "journal")
        folded = rows_of(view)
        assert len(folded) == 5
        await to_row(pilot, "payments: 10 facts cooled")
        await until(pilot, lambda: "what happened" in beside(pilot))
        assert "V[p7]: 7" in beside(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: len(rows_of(view)) == 16)
        assert sum("├ V[p" in row for row in rows_of(view)) == 9
        assert "▾ payments" in rows_of(view)[view.grid.cursor]
        await pilot.press("j", "j")
        await until(pilot, lambda: "cooled_by" in beside(pilot) or "tier" in beside(pilot))
        await pilot.press("k", "k", "enter")
        await until(pilot, lambda: rows_of(view) == folded)


async def test_undo_takes_back_the_whole_change_from_its_line_and_from_any_row_of_it(path: Path) -> None:
    async with inspecting(path, size=(140, 50)) as pilot:
        view = await opened(pilot, "journal")
        await to_row(pilot, "payments: 10 facts cooled")
        await pilot.press("enter")
        await until(pilot, lambda: len(rows_of(view)) == 16)
        await pilot.press("j", "j", "j", "U")
        await until(pilot, lambda: isinstance(pilot.app.screen, Question))
        await until_shown(pilot, "This change has 11 rows")
        assert all(f"V[p{number}]" in screen_text(pilot) for number in range(10))
        await pilot.press("enter")
        await until(pilot, lambda: scopes_of(path)["payments"].status is ScopeStatus.OPEN)
        assert facts_of(path)["p3"].tier is Tier.HOT
        await pilot.press("ctrl+r")
        await until(pilot, lambda: scopes_of(path)["payments"].status is ScopeStatus.CLOSED)


async def test_what_cannot_be_undone_is_said_and_not_asked_for(path: Path) -> None:
    with Store.open(path, clock=lambda: NOW) as store:
        for number in range(10):
            store.facts.archive(facts_of(path)[f"p{number}"].uid)
    async with inspecting(path, size=(140, 50)) as pilot:
        view = await opened(pilot, "journal")
        await to_row(pilot, "payments: 10 facts cooled")
        await pilot.press("U")
        await until(pilot, lambda: "ndo change" in said(pilot))
        assert pilot.app.screen is view


async def test_an_undo_of_three_is_one_line_and_is_taken_back_as_one(path: Path) -> None:
    with Store.open(path, clock=lambda: NOW) as store:
        store.undo.last(3, theme="ops")
    async with inspecting(path) as pilot:
        view = await opened(pilot, "journal")
        await until(pilot, lambda: "undo of 3" in rows_of(view)[0])
        assert "a" not in facts_of(path)
        await pilot.press("U")
        await until(pilot, lambda: isinstance(pilot.app.screen, Question))
        await pilot.press("enter")
        await until(pilot, lambda: {"a", "b", "c"} <= facts_of(path).keys())


async def test_a_number_shows_its_row_within_its_change(path: Path) -> None:
    async with inspecting(path) as pilot:
        view = await opened(pilot, "journal")
        await pilot.press("slash")
        await type_text(pilot, "#15")
        await pilot.press("enter")
        await until(pilot, lambda: any(row.strip().startswith("15  ") for row in rows_of(view)))
        assert "payments: 10 facts cooled" in rows_of(view)[0]


async def test_of_a_great_change_the_rest_is_read_when_asked_for(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hermes_memory_tui.views.journal_view.UNFOLDED_ROWS", 3)
    assert journal_pages.UNFOLDED_ROWS > 3
    async with inspecting(path) as pilot:
        view = await opened(pilot, "journal")
        await to_row(pilot, "payments: 10 facts cooled")
        await pilot.press("enter")
        await until(pilot, lambda: any("8 rows more: enter" in row for row in rows_of(view)))
        await pilot.press(*"jjjj", "enter")
        await until(pilot, lambda: len(rows_of(view)) == 5 + 11)


async def test_what_is_unfolded_stays_so_while_others_write(path: Path) -> None:
    async with inspecting(path) as pilot:
        view = await opened(pilot, "journal")
        await to_row(pilot, "payments: 10 facts cooled")
        await pilot.press("enter")
        await until(pilot, lambda: len(rows_of(view)) == 16)
        fill(path, "V[x]: 1")
        await until(pilot, lambda: "1 new, g" in screen_text(pilot))
        assert len(rows_of(view)) == 17


async def test_a_row_has_the_hue_of_its_own_theme(path: Path) -> None:
    with Store.open(path) as store, store.journal.join_changes():
        store.facts.write("ops", "V[x]: 1")
        store.facts.write("hr", "V[y]: 1")
    async with inspecting(path) as pilot:
        view = await opened(pilot, "journal")
        await pilot.press("enter")
        await until(pilot, lambda: len(rows_of(view)) == 8)
        assert view.grid.rows[0].cells[2] == view.grid.rows[2].cells[2] != view.grid.rows[1].cells[2]


@pytest.mark.parametrize("keys", [("u",), ("U",)])
async def test_a_backfill_is_one_line_that_is_erased_after_a_question(
    path: Path, tmp_path: Path, keys: tuple[str, ...]
) -> None:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    write_claude(tmp_path, str(tmp_path / "shop"), "which port is the shop on", "it is on 8443 here")
    with Store.open(path, clock=lambda: NOW) as store:
        bring(store, tmp_path)
    async with inspecting(path) as pilot:
        view = await opened(pilot, "journal")
        assert "backfill" in rows_of(view)[0]
        assert "2 messages" in rows_of(view)[0]
        await pilot.press(*keys)
        await until(pilot, lambda: isinstance(pilot.app.screen, Question))
        await until_shown(pilot, "erases 2 messages of 1 session that the backfill of")
        await pilot.press("escape", *keys)
        await until(pilot, lambda: isinstance(pilot.app.screen, Question))
        await pilot.press("enter")
        await until(pilot, lambda: "2 messages of a backfill erased" in said(pilot))
        with Store.open(path, read_only=True) as reading:
            assert reading.turns.list("shop") == []
