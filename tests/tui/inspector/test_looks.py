"""Widths, colours and characters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from rich.segment import Segment
from textual.css.stylesheet import Stylesheet
from textual.screen import Screen

from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.store import Store
from hermes_memory_tui.inspector import Inspector
from hermes_memory_tui.model.memory import Memory
from hermes_memory_tui.system import palettes
from hermes_memory_tui.text import display_formats
from hermes_memory_tui.widgets.fact_table import FactTable
from hermes_memory_tui.widgets.lists.grid import Grid
from tests.tui.inspector.driving import (
    VIEWS,
    fill,
    frozen,
    inspecting,
    main_screen,
    opened,
    screen_text,
    until,
    until_shown,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    fill(
        tmp_path / "m.db",
        "V[日本.取引時間]: 15:30 まで、昼休みあり",
        "V[emoji]: 👩‍🚀 lands 🚀",
        scope="発売",
    )
    return tmp_path / "m.db"


async def test_every_look_can_be_drawn(path: Path) -> None:
    async with inspecting(path) as pilot:
        for look in pilot.app.available_themes:
            pilot.app.theme = look
            await pilot.pause()
            assert "取引時間" in screen_text(pilot), look


@pytest.mark.parametrize("begun", ["textual-light", "textual-dark"])
async def test_a_look_to_begin_with_is_drawn_as_one_that_is_chosen_later(path: Path, begun: str) -> None:
    def strips(app: Inspector) -> list[list[Segment]]:
        return [list(strip) for strip in app.screen._compositor.render_strips()]

    drawn: dict[str, list[list[Segment]]] = {}
    for look in palettes.LOOKS:
        app = Inspector(Memory(lambda: Store.open(path, clock=frozen)), look=look.name)
        async with app.run_test(size=(140, 38)) as pilot:
            await until(pilot, lambda pilot=pilot: "reads" in screen_text(pilot), "the detail")
            before: list[list[Segment]] = []
            while (now := strips(app)) != before:  # until nothing more is drawn
                before = now
                await pilot.pause(0.3)
            drawn[look.name] = before
    app = Inspector(Memory(lambda: Store.open(path, clock=frozen)), look=begun)
    async with app.run_test(size=(140, 38)) as pilot:
        await until(pilot, lambda: "reads" in screen_text(pilot), "the detail")
        for name, expected in drawn.items():
            app.theme = name
            await until(pilot, lambda expected=expected: strips(app) == expected, name)


async def test_the_styles_are_parsed_once_before_the_first_frame(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def reparse(_: Stylesheet) -> None:
        raise AssertionError("parsed again")

    monkeypatch.setattr(Stylesheet, "reparse", reparse)
    async with inspecting(path) as pilot:
        await until_shown(pilot, "取引時間")


async def test_every_line_fits_the_terminal(path: Path) -> None:
    async with inspecting(path, size=(60, 16)) as pilot:
        for size in ((60, 16), (80, 24), (100, 30), (130, 40), (220, 60)):
            await pilot.resize_terminal(*size)
            await until(pilot, lambda size=size: len(screen_text(pilot).splitlines()) == size[1], f"{size}")
            await until(pilot, lambda size=size: pilot.app.screen.size == size and "取引" in screen_text(pilot))
            lines = screen_text(pilot).splitlines()
            assert {cell_len(line) for line in lines} == {size[0]}


async def test_a_narrow_terminal_reaches_every_pane(path: Path) -> None:
    async with inspecting(path, size=(80, 24)) as pilot:
        assert "themes and scopes" not in screen_text(pilot)
        await pilot.press("t")
        assert "themes and scopes" in screen_text(pilot)
        await pilot.press("enter")
        assert pilot.app.focused is main_screen(pilot).table
        await pilot.press("enter")
        await until(pilot, lambda: "history" in screen_text(pilot))
        await pilot.press("escape")
        assert "history" not in screen_text(pilot)


async def test_resizing_changes_the_layout(path: Path) -> None:
    async with inspecting(path, size=(140, 40)) as pilot:
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: "themes and scopes" not in screen_text(pilot), "one pane")
        await pilot.resize_terminal(140, 40)
        await until(pilot, lambda: "themes and scopes" in screen_text(pilot), "all panes")


@pytest.mark.parametrize("width", range(12))
def test_text_fits_exactly(width: int) -> None:
    for text in ("", "abc", "日本の取引", "a日b本c", "👩‍🚀👩‍🚀", "long enough to be cut"):
        assert cell_len(display_formats.fit_text(text, width)) == width


@pytest.mark.parametrize("width", range(12))
def test_a_name_fits_exactly_and_keeps_its_end(width: int) -> None:
    for text in ("", "abc", "日本の取引時間", "a日b本c日d本e", "release-2026-web"):
        assert cell_len(display_formats.fit_middle(text, width)) == width
    if width >= display_formats.SHORTEST_NAME:
        assert display_formats.fit_middle("release-2026-web", width) != display_formats.fit_middle(
            "release-2026-api", width
        )


async def test_long_scopes_look_different_in_a_narrow_tree(tmp_path: Path) -> None:
    for end in ("frontend", "backend"):
        fill(tmp_path / "m.db", f"V[{end}]: 1", scope=f"checkout-migration-2026-{end}")
    with Store.open(tmp_path / "m.db", clock=frozen) as store:
        store.scopes.close("default", "checkout-migration-2026-backend")
    async with inspecting(tmp_path / "m.db", size=(100, 30)) as pilot:
        tree = main_screen(pilot).tree_pane
        await until(pilot, lambda: tree.row_count == 5)
        width = tree.scrollable_content_region.width
        drawn = ["".join(segment.text for segment in tree.draw_row(row, width, False)) for row in range(5)]
        assert [cell_len(line) for line in drawn] == [width] * 5
        assert sum("frontend" in line for line in drawn) == 1
        assert sum("backend" in line for line in drawn) == 1


@pytest.mark.parametrize(
    ("seconds", "says"),
    [(0, "now"), (59, "59s"), (60, "1m"), (3_599, "59m"), (86_400, "1d"), (86_400 * 45, "1mo"), (86_400 * 800, "2y")],
)
def test_ages(seconds: int, says: str) -> None:
    assert display_formats.format_age(0, seconds * 1000) == says


@pytest.mark.parametrize(
    ("number", "says"),
    [(0, "0"), (999, "999"), (1_000, "1.0k"), (9_960, "10k"), (999_600, "1.0M"), (95_018_000, "95M")],
)
def test_short_counts(number: int, says: str) -> None:
    assert display_formats.abbreviate_number(number) == says
    assert len(says) <= 4


def test_the_look_to_begin_with_is_named_by_the_environment() -> None:
    assert palettes.initial_look({}) == "hermes"
    assert palettes.initial_look({"HERMES_MEMORY_LOOK": "nord"}) == "nord"
    with pytest.raises(ArgumentError, match="no look 'nrod'"):
        palettes.initial_look({"HERMES_MEMORY_LOOK": "nrod"})


EVERY_WIDTH = range(80, 221)
BESIDE_SWITCHES = (80, 89, 90, 104, 128, 140, 159, 160, 180, 200, 220)
"""Between two of these the layout is one, and a list as wide as it can be."""


@pytest.mark.parametrize("name", ["facts", *VIEWS])
async def test_a_wider_terminal_shows_what_a_narrower_one_shows(name: str, tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    fill(path, "V[failover.time]: 9 s", theme="intraday-sre", scope="incident-4412", session="quotes")
    fill(path, "D[tone]: plain sentences", theme="marketing", scope="launch", session="website")
    async with inspecting(path, size=(80, 44)) as pilot:
        if name != "facts":
            await opened(pilot, name)
        before: set[str] = set()
        for width in EVERY_WIDTH if name == "facts" else BESIDE_SWITCHES:
            await pilot.resize_terminal(width, 44)
            await until(pilot, lambda width=width: pilot.app.screen.size.width == width)
            shown = shown_columns(pilot.app.screen)
            assert before <= shown, f"{width}: {before - shown}"
            assert name in ("told", "review", "turns", "files") or "intraday-sre" in screen_text(pilot), width
            before = shown


def shown_columns(screen: Screen[Any]) -> set[str]:
    """The titles of the columns of every list that is seen."""
    titles = set()
    for grid in screen.query(Grid):
        widths = grid.widths(grid.scrollable_content_region.width) if grid.region else []
        titles |= {f"{grid.id}: {column.title}" for column, cells in zip(grid.columns, widths, strict=False) if cells}
    for table in screen.query(FactTable):
        titles |= {text.strip() for text, _ in table._heads(table.scrollable_content_region.width)}
    return titles


async def test_without_colours_all_is_drawn_in_the_two_of_the_terminal(path: Path) -> None:
    app = Inspector(Memory(lambda: Store.open(path, clock=frozen)), look=palettes.initial_look({"NO_COLOR": "1"}))
    async with app.run_test(size=(160, 38)) as pilot:
        for key in ("down", "e", "escape", "t", "0", "3", "5", "6", "ctrl+p"):
            await pilot.press(key)
            await app.workers.wait_for_complete()
            styles = [style for strip in app.screen._compositor.render_strips() for _, style, _ in strip if style]
            assert {style.color for style in styles} | {style.bgcolor for style in styles} <= {None}, key
            assert any(style.reverse for style in styles), f"{key}: what is chosen stands out"
