"""Searching and filtering with the store's own search language."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.events import Key

from hermes_memory_store.model import FactFilter
from hermes_memory_store.store import Store
from hermes_memory_tui.screens import fact_listing
from tests.tui.inspector.driving import (
    fill,
    inspecting,
    main_screen,
    screen_text,
    targets,
    type_text,
    until,
    until_shown,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    fill(tmp_path / "m.db", "D[deploy]: blue green", "V[build.no]: 8140", scope="release")
    fill(tmp_path / "m.db", "C[auth.login]: authentication by passkey", "V[port]: 8443", scope="login")
    return tmp_path / "m.db"


FOUND = {
    "green": ["deploy"],
    "type:value": ["build.no", "port"],
    "scope:login type:constraint": ["auth.login"],
    "auth": ["auth.login"],
    '"blue green"': ["deploy"],
    "target:build": ["build.no"],
    "8443 OR * NEAR(": ["port"],
}


async def test_a_line_finds(path: Path) -> None:
    async with inspecting(path) as pilot:
        await pilot.press("slash")
        filter_line = main_screen(pilot).filter_line
        assert filter_line is not None
        for line, found in FOUND.items():
            filter_line.input.value = line
            await until(pilot, lambda found=found: sorted(targets(pilot)) == found, f"finding {found} for {line}")


async def test_what_matches_some_of_the_words_stands_below_a_line(path: Path) -> None:
    fill(path, "D[green.deploy]: rollback", "D[blue.deploy]: rollback", "D[grey.deploy]: canary")
    async with inspecting(path) as pilot:
        await pilot.press("slash")
        await type_text(pilot, "deploy rollback green")
        await until(pilot, lambda: "1 found, 3 in part" in screen_text(pilot))
        table = main_screen(pilot).table
        rows = [line.strip("│ ") for line in screen_text(pilot).splitlines()]
        note = next(row for row, line in enumerate(rows) if "── 3 match some of the words ──" in line)
        assert "rollback" in rows[note - 1]
        assert table.fact is not None
        assert table.fact.target == "green.deploy"
        assert "1 fact, 3 in part, best first" in str(table.border_subtitle)
        await pilot.press("enter", "down")
        assert table.cursor == 2
        await pilot.press("asterisk")
        assert len(table.marked) == 4
        await pilot.press("up")
        assert table.cursor == 0
        await pilot.press("slash")
        await type_text(pilot, "deploy rollback green zebra")
        await until(pilot, lambda: "no fact has every word; 4 match some" in screen_text(pilot))
        assert table.cursor == 1


@pytest.mark.parametrize("line", ["passkey", "scope:login type:constraint"])
async def test_the_first_fact_that_is_found_is_shown_with_the_list(
    path: Path, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fact_listing, "DETAIL_DELAY_S", 1_000.0)  # that the cursor rests is not waited for
    async with inspecting(path) as pilot:
        await pilot.press("slash")
        filter_line = main_screen(pilot).filter_line
        assert filter_line is not None
        filter_line.input.value = line
        await until(pilot, lambda: targets(pilot) == ["auth.login"])
        await until(pilot, lambda: "C[auth.login]" in screen_text(pilot))


async def test_a_wrong_filter_says_what_would_have_been_right_and_changes_nothing(path: Path) -> None:
    async with inspecting(path) as pilot:
        await until(pilot, lambda: len(targets(pilot)) == 4)
        await pilot.press("slash")
        filter_line = main_screen(pilot).filter_line
        assert filter_line is not None
        # At once, not letter by letter: on a busy machine "sco" alone would be searched for, and found nowhere.
        filter_line.input.value = "scope:relase"
        await until(pilot, lambda: "did you mean 'release'?" in screen_text(pilot))
        assert len(targets(pilot)) == 4


async def test_escape_shows_everything_again(path: Path) -> None:
    async with inspecting(path) as pilot:
        await pilot.press("slash", *"green", "enter")
        await until(pilot, lambda: targets(pilot) == ["deploy"])
        assert pilot.app.focused is main_screen(pilot).table
        await pilot.press("escape")
        await until(pilot, lambda: len(targets(pilot)) == 4)


async def test_letters_typed_into_the_line_do_nothing_else(path: Path) -> None:
    async with inspecting(path) as pilot:
        await pilot.press("slash")
        await type_text(pilot, "quae/")
        await until(pilot, lambda: "No match for 'quae/'." in screen_text(pilot))
        assert main_screen(pilot).line == "quae/"
        assert pilot.app.is_running


async def test_the_order_changes_with_s(path: Path) -> None:
    async with inspecting(path) as pilot:
        before = targets(pilot)
        await pilot.press("s")
        await until(pilot, lambda: "by target, z to a" in screen_text(pilot))
        await pilot.press("j", "j", "j", "j", "enter")
        await until(pilot, lambda: targets(pilot) == sorted(before))
        await until_shown(pilot, "by target, a to z")
        await pilot.press("s", "j", "enter")
        await until(pilot, lambda: targets(pilot) == sorted(before, reverse=True))
    async with inspecting(path) as pilot:
        assert targets(pilot) == sorted(before, reverse=True)


async def test_a_person_who_looks_about_does_not_count_as_a_reader(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    fill(path, "D[cache]: redis")
    async with inspecting(path) as pilot:
        await pilot.press("slash")
        await type_text(pilot, "redis")
        await pilot.press("enter")
        await until(pilot, lambda: "1 found" in screen_text(pilot))
        await pilot.press("4")
        await until(pilot, lambda: "context block" in screen_text(pilot))
    with Store.open(path) as store:
        assert store.facts.by_ids(list(store.facts.ids(FactFilter())))[0].reads == 0
        assert store.context_records.list() == []


async def test_a_key_right_after_a_search_is_meant_for_what_it_found(path: Path) -> None:
    async with inspecting(path) as pilot:
        await pilot.press("slash")
        main = main_screen(pilot)
        for key in "target:build":
            pilot.app.post_message(Key(key, key))
        pilot.app.post_message(Key("enter", "\r"))
        await until(pilot, lambda: main.focused is main.table)
        fact = main.table.fact
        assert fact is not None
        assert fact.target == "build.no"
