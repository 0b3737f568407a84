"""One list for all views: filter, order, marks, columns and export work alike in each."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from hermes_memory_store.store import Store
from hermes_memory_tui.dialogs.picker import Picker
from hermes_memory_tui.dialogs.question import Question
from tests.tui.inspector.driving import (
    VIEWS,
    facts_of,
    fill,
    frozen,
    inspecting,
    opened,
    rows_of,
    said,
    scopes_of,
    screen_text,
    type_text,
    until,
    until_shown,
)

LABELS = ("q10", "q2", "payments", "api", "pay-later")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "memory.db"
    for number, label in enumerate(LABELS):
        fill(path, *(f"V[{label}.{n}]: {n}" for n in range(number + 1)), scope=label)
    return path


def labels(view: object) -> list[str]:
    return [row.cells[3].text for row in view.grid.rows]  # type: ignore[attr-defined]


async def test_typing_filters_the_list_and_escape_brings_it_back(path: Path) -> None:
    async with inspecting(path) as pilot:
        view = await opened(pilot, "scopes")
        await pilot.press("slash", *"pay")
        await until(pilot, lambda: sorted(labels(view)) == ["pay-later", "payments"])
        await until(pilot, lambda: "2 of 5" in screen_text(pilot))
        await pilot.press("enter", "escape")
        await until(pilot, lambda: len(labels(view)) == 5)


async def test_a_filter_without_a_match_says_so(path: Path) -> None:
    async with inspecting(path) as pilot:
        await opened(pilot, "scopes")
        await pilot.press("slash", *"zebra", "enter")
        await until(pilot, lambda: "Nothing matches." in screen_text(pilot))


async def test_a_filter_stays_while_others_write(path: Path) -> None:
    async with inspecting(path) as pilot:
        view = await opened(pilot, "scopes")
        await pilot.press("slash", *"pay", "enter")
        await until(pilot, lambda: len(labels(view)) == 2)
        fill(path, "V[a]: 1", scope="payroll")
        await until(pilot, lambda: len(labels(view)) == 3)


async def test_an_order_is_chosen_in_natural_order_and_kept(path: Path) -> None:
    async with inspecting(path) as pilot:
        view = await opened(pilot, "scopes")
        await pilot.press("s")
        await until(pilot, lambda: isinstance(pilot.app.screen, Picker))
        await pilot.press("slash", *"scope ▲", "enter")
        await until(pilot, lambda: labels(view) == ["api", "pay-later", "payments", "q2", "q10"])
        await until_shown(pilot, "scope▲")
    async with inspecting(path) as pilot:
        view = await opened(pilot, "scopes")
        await until(pilot, lambda: labels(view) == ["api", "pay-later", "payments", "q2", "q10"])


async def test_a_click_on_a_head_sorts_by_it_and_another_turns_it(path: Path) -> None:
    async with inspecting(path) as pilot:
        view = await opened(pilot, "scopes")
        x = screen_text(pilot).splitlines()[3].index("hot") - view.grid.region.x - view.grid.gutter.left
        await pilot.click(view.grid, offset=(x + 1, 1))
        await until(pilot, lambda: labels(view) == list(LABELS))
        await pilot.click(view.grid, offset=(x + 1, 1))
        await until(pilot, lambda: labels(view) == list(reversed(LABELS)))


@pytest.mark.parametrize("name", ["one.csv", "one.jsonl", "one.md"])
async def test_what_is_shown_is_what_is_exported(path: Path, tmp_path: Path, name: str) -> None:
    async with inspecting(path) as pilot:
        view = await opened(pilot, "scopes")
        await pilot.press("slash", *"pay", "enter")
        await until(pilot, lambda: len(labels(view)) == 2)
        await pilot.press("x")
        await until(pilot, lambda: isinstance(pilot.app.screen, Question))
        await type_text(pilot, str(tmp_path / name))
        await pilot.press("enter")
        await until(pilot, lambda: "2 rows written" in said(pilot))
        shown = labels(view)
    text = (tmp_path / name).read_text(encoding="utf-8")
    if name.endswith("csv"):
        assert [row["scope"] for row in csv.DictReader(text.splitlines())] == shown
    elif name.endswith("jsonl"):
        assert [json.loads(line)["scope"] for line in text.splitlines()] == shown
    else:
        assert len(text.splitlines()) == 4


async def test_marked_scopes_are_closed_in_one_change_that_one_undo_takes_back(path: Path) -> None:
    async with inspecting(path) as pilot:
        view = await opened(pilot, "scopes")
        await pilot.press("slash", *"pay", "enter", "asterisk", "c")
        await until(pilot, lambda: "close 2 scopes" in screen_text(pilot))
        await pilot.press("enter")
        await until(pilot, lambda: sum(one.status.value == "closed" for one in scopes_of(path).values()) == 2)
        await until(pilot, lambda: not view.grid.marked)
        await pilot.press("u")
        await until(pilot, lambda: all(one.status.value == "open" for one in scopes_of(path).values()))


async def test_marked_scopes_are_merged_into_another_at_once(path: Path) -> None:
    async with inspecting(path) as pilot:
        await opened(pilot, "scopes")
        await pilot.press("slash", *"pay", "enter", "asterisk", "m")
        await until(pilot, lambda: isinstance(pilot.app.screen, Picker))
        await pilot.press(*"api", "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, Question))
        await pilot.press("enter")
        await until(pilot, lambda: all(fact.scope == "api" for fact in facts_of(path).values() if "pay" in fact.target))
        await pilot.press("u")
        await until(pilot, lambda: sum(fact.scope == "api" for fact in facts_of(path).values()) == 4)


async def test_marks_of_rows_that_are_gone_go_with_them(path: Path) -> None:
    async with inspecting(path) as pilot:
        view = await opened(pilot, "scopes")
        await pilot.press("asterisk")
        await until(pilot, lambda: len(view.grid.marked) == 5)
        with Store.open(path, clock=frozen) as store:
            store.scopes.merge("default", "q10", "q2")
        await until(pilot, lambda: len(view.grid.marked) == 4)


async def test_every_view_filters(path: Path) -> None:
    async with inspecting(path, size=(100, 30)) as pilot:
        for name in VIEWS:
            view = await opened(pilot, name)
            before = rows_of(view)
            await pilot.press("slash")
            await until(pilot, lambda: getattr(pilot.app.focused, "id", "") == "filter-input", f"the line of {name}")
            await pilot.press(*"zzzz", "enter", "escape", "escape")
            await until(pilot, lambda view=view, before=before: pilot.app.screen is not view or rows_of(view) == before)


async def test_escape_in_the_line_clears_it_and_gives_the_keys_back_to_the_list(path: Path) -> None:
    async with inspecting(path) as pilot:
        view = await opened(pilot, "scopes")
        await pilot.press("slash", *"pay", "escape")
        await until(pilot, lambda: pilot.app.focused is view.grid)
        assert len(labels(view)) == 5
        await pilot.press("6")
        await until(pilot, lambda: getattr(pilot.app.screen, "NAME", "") == "journal")
