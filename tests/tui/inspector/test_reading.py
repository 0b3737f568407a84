"""Looking at a memory."""

from __future__ import annotations

import array
from collections.abc import Sequence
from pathlib import Path

from textual.app import App, ComposeResult

from hermes_memory_store.model import PERSON, Fact, FactType, Millis, Tier, Uid
from hermes_memory_tui.widgets.fact_table import BLOCK, KEPT, FactTable
from tests.tui.inspector.driving import (
    NOW,
    fill,
    inspecting,
    main_screen,
    said,
    screen_text,
    targets,
    until,
    until_shown,
)


async def test_the_first_frame_shows_facts_tree_and_gauge(tmp_path: Path) -> None:
    fill(tmp_path / "m.db", "C[db.id]: UUID mandatory", scope="schema")
    async with inspecting(tmp_path / "m.db") as pilot:
        text = screen_text(pilot)
    assert "db.id" in text
    assert "UUID mandatory" in text
    assert "schema" in text
    assert "26 / 10,000" not in text
    assert f"{len('C[db.id]: UUID mandatory')} / 10,000" in text


async def test_an_empty_memory_says_how_to_begin(tmp_path: Path) -> None:
    async with inspecting(tmp_path / "new.db") as pilot:
        text = screen_text(pilot)
    assert "This memory is empty." in text
    assert "n: new fact" in text
    assert (tmp_path / "new.db").exists()


async def test_vim_keys_and_arrows_move_the_cursor(tmp_path: Path) -> None:
    fill(tmp_path / "m.db", *(f"V[v.{number}]: {number}" for number in range(5)))
    async with inspecting(tmp_path / "m.db") as pilot:
        table = main_screen(pilot).table
        await pilot.press("j", "down", "k", "down")
        assert table.cursor == 2
        await pilot.press("G")
        assert table.cursor == 4
        await pilot.press("g")
        assert table.cursor == 0


async def test_the_fact_under_the_cursor_shows_its_history_and_what_it_replaced(tmp_path: Path) -> None:
    fill(tmp_path / "m.db", "D[cache]: redis", "D[cache]: none, the database is fast enough")
    async with inspecting(tmp_path / "m.db") as pilot:
        await until(pilot, lambda: "versions" in screen_text(pilot))
        text = screen_text(pilot)
    assert "redis" in text
    assert "create" in text
    assert "by you" in text


async def test_text_of_facts_is_never_markup(tmp_path: Path) -> None:
    fill(tmp_path / "m.db", "V[x]: [bold red]stop[/] [@click=app.quit]here[/] $error")
    async with inspecting(tmp_path / "m.db") as pilot:
        await until(pilot, lambda: screen_text(pilot).count("[bold red]stop[/]") == 2)
        assert "[@click=app.quit]here[/]" in screen_text(pilot)


async def test_choosing_a_scope_shows_its_facts_only(tmp_path: Path) -> None:
    fill(tmp_path / "m.db", "V[in]: 1", scope="one")
    fill(tmp_path / "m.db", "V[out]: 2", scope="two")
    async with inspecting(tmp_path / "m.db") as pilot:
        await pilot.press("t", "j", "j")
        await until(pilot, lambda: targets(pilot) == ["in"])
        await until_shown(pilot, "default › one")


class TableApp(App[None]):
    """A table of a million facts that are made when they are asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Sequence[int]] = []

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return {"dim": "#888888", "hot": "#00ff00", "cold": "#0000ff"}

    def compose(self) -> ComposeResult:
        yield FactTable(self.load, lambda: NOW)

    def load(self, keys: Sequence[int]) -> list[Fact]:
        self.asked.append(keys)
        return [fact(key) for key in keys]


def fact(key: int) -> Fact:
    at = Millis(NOW - key)
    name = Uid(f"{key:032x}")
    return Fact(key, name, "t", None, FactType.VALUE, f"v.{key}", "content", Tier.HOT, False, 10, 3, PERSON, at, at)


async def test_a_million_rows_load_only_what_is_looked_at() -> None:
    app = TableApp()
    async with app.run_test(size=(100, 30)) as pilot:
        table = app.query_one(FactTable)
        table.show(array.array("q", range(1_000_000)), top=True)
        table.focus()
        await pilot.pause()
        await pilot.press("G")
        await pilot.pause()
        assert table.cursor == 999_999
        assert table.fact is not None
        assert table.fact.target == "v.999999"
    assert sum(map(len, app.asked)) <= 4 * BLOCK
    assert KEPT < 10_000


async def test_escape_widens_from_a_scope_to_everything(tmp_path: Path) -> None:
    fill(tmp_path / "m.db", "V[a]: 1", scope="launch")
    fill(tmp_path / "m.db", "V[b]: 1", theme="other")
    async with inspecting(tmp_path / "m.db") as pilot:
        main_screen(pilot).go_to_scope("default", "launch")
        await until(pilot, lambda: targets(pilot) == ["a"])
        await pilot.press("escape", "escape")
        await until(pilot, lambda: sorted(targets(pilot)) == ["a", "b"])


async def test_what_keys_act_on_is_seen_in_a_tiny_terminal(tmp_path: Path) -> None:
    fill(tmp_path / "m.db", "V[headroom]: 1")
    async with inspecting(tmp_path / "m.db", size=(40, 10)) as pilot:
        for size in ((40, 10), (100, 12), (160, 12)):
            await pilot.resize_terminal(*size)
            await until(pilot, lambda size=size: pilot.app.screen.size == size and "headroom" in screen_text(pilot))


async def test_closing_what_is_closed_promises_nothing(tmp_path: Path) -> None:
    fill(tmp_path / "m.db", "V[a]: 1", scope="launch")
    async with inspecting(tmp_path / "m.db") as pilot:
        await pilot.press("o")
        await until(pilot, lambda: "scope launch is already open." in said(pilot))
