"""The table: its columns, its head, and marks."""

from __future__ import annotations

import random
from array import array
from pathlib import Path

import pytest
from rich.segment import Segment
from textual.app import App, ComposeResult
from textual.containers import Vertical
from textual.pilot import Pilot

from hermes_memory_store.model import ListOrder, Millis
from hermes_memory_store.store import Store
from hermes_memory_tui.dialogs.confirm_dialog import Confirmation
from hermes_memory_tui.widgets.lists import marked_list
from hermes_memory_tui.widgets.lists.line_list import LineList
from tests.tui.inspector.driving import (
    NOW,
    fill,
    inspecting,
    main_screen,
    said,
    screen_text,
    send,
    targets,
    until,
    until_shown,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    fill(tmp_path / "m.db", *(f"V[{letter}]: number {letter}" for letter in "abcdef"), scope="launch", session="worker")
    return tmp_path / "m.db"


def marked(path: Path, keys: dict[int, None]) -> str:
    with Store.open(path, read_only=True) as store:
        return "".join(sorted(fact.target for fact in store.facts.by_ids(list(keys))))


async def test_a_range_is_marked_from_the_last_marked_fact(path: Path) -> None:
    async with inspecting(path) as pilot:
        table = main_screen(pilot).table
        await pilot.press("j", "space", "j", "j", "V")
        assert marked(path, table.marked) == "bcde"
        await pilot.press("g", "V")
        assert marked(path, table.marked) == "bcdef"
        await until_shown(pilot, "5 marked")
        await pilot.press("minus", "G", "V")
        assert marked(path, table.marked) == "a"


async def test_all_are_marked_and_what_is_done_is_done_to_all(path: Path) -> None:
    async with inspecting(path) as pilot:
        await pilot.press("asterisk")
        await until(pilot, lambda: "6 facts marked" in said(pilot))
        await pilot.press("p")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirmation))
        await pilot.press("enter")
        await until(pilot, lambda: screen_text(pilot).count("⚑") == 6)
        assert main_screen(pilot).table.marked == {}


async def test_marks_are_bounded_and_that_is_said(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marked_list, "MOST_MARKED", 4)
    async with inspecting(path) as pilot:
        await pilot.press("asterisk")
        await until(pilot, lambda: "There are 6 facts here; the first 4 are marked" in said(pilot))
        assert marked(path, main_screen(pilot).table.marked) == "cdef"


async def test_marking_a_million_rows_takes_no_objects(path: Path) -> None:
    async with inspecting(path) as pilot:
        table = main_screen(pilot).table
        table.keys = array("q", range(1, 1_000_001))
        table.action_mark_all()
        assert len(table.marked) == marked_list.MOST_MARKED
        await until(pilot, lambda: "There are 1,000,000 facts here" in said(pilot))
        table.action_unmark()


def head_and_row(pilot: Pilot[int]) -> list[str]:
    lines = screen_text(pilot).splitlines()
    place = next(place for place, line in enumerate(lines) if " target " in line and " content " in line)
    return lines[place : place + 2]


async def test_the_column_that_the_list_is_ordered_by_is_shown(path: Path) -> None:
    async with inspecting(path, size=(180, 30)) as pilot:
        head = screen_text(pilot).splitlines()[3]
        assert "scope" in head
        assert "reads" not in head
        main_screen(pilot)._sort_by(ListOrder.READS, True)
        await until(pilot, lambda: "reads" in screen_text(pilot).splitlines()[3])
    async with inspecting(path, size=(180, 30)) as pilot:
        await until(pilot, lambda: "reads▼" in screen_text(pilot).splitlines()[3])
        head, row = screen_text(pilot).splitlines()[3:5]
        assert head.index("reads▼") + 5 == row.index("0 ", head.index("reads"))


async def test_the_head_is_there_only_where_there_is_room_and_clicks_find_their_row(path: Path) -> None:
    async with inspecting(path, size=(50, 30)) as pilot:
        assert "content" not in screen_text(pilot)
        await pilot.resize_terminal(180, 30)
        await until(pilot, lambda: "content" in screen_text(pilot))
        await pilot.click("#facts", offset=(10, 3))
        assert main_screen(pilot).table.cursor == 1
        await pilot.click("#facts", offset=(2, 1))
        assert main_screen(pilot).table.cursor == 1


async def test_the_head_and_the_scope_are_there_beside_the_detail_too(path: Path) -> None:
    async with inspecting(path, size=(80, 30)) as pilot:
        for width in (80, 89, 90, 100, 107, 108, 140):
            await pilot.resize_terminal(width, 30)
            await until(pilot, lambda width=width: pilot.app.screen.size.width == width, f"{width} columns")
            await until(pilot, lambda: " scope " in head_and_row(pilot)[0])
            head, row = head_and_row(pilot)
            assert "launch" in row[head.index(" scope ") :]


async def test_the_last_row_can_be_seen_below_the_head(tmp_path: Path) -> None:
    fill(tmp_path / "m.db", *(f"V[v.{number}]: {number}" for number in range(60)))
    async with inspecting(tmp_path / "m.db", size=(180, 24)) as pilot:
        await pilot.press("G")
        await until(pilot, lambda: " v.0 " in screen_text(pilot))
        await pilot.press("g")
        await until(pilot, lambda: targets(pilot)[0] in screen_text(pilot))


@pytest.mark.parametrize("seed", range(3))
async def test_what_was_scrolled_looks_as_if_it_were_drawn_anew(tmp_path: Path, seed: int) -> None:
    fill(tmp_path / "m.db", *(f"V[n{number}]: {number}" for number in range(150)))
    async with inspecting(tmp_path / "m.db", size=(100, 30)) as pilot:
        table = main_screen(pilot).table
        await until(pilot, lambda: table.row_count == 150)
        keys = random.Random(seed)
        await pilot.press("G" if seed else "j")
        for _ in range(40):
            key = keys.choice(
                ["j", "j", "k", "k", "ctrl+d", "ctrl+u", "pagedown", "pageup", "space", "G", "g", "wheel"]
            )
            if key == "wheel":
                table.scroll_relative(y=keys.choice([-3, 3]), animate=False)
            for _ in range(keys.choice([1, 2, 12])):
                if key != "wheel":
                    send(pilot, key)
            await pilot.pause()
            for widget in (table, table.vertical_scrollbar):
                whole = widget.outer_size.region
                shown = [list(line) for line in widget.render_lines(whole)]
                widget._styles_cache.clear()
                table.rows_changed()
                assert shown == [list(line) for line in widget.render_lines(whole)], key


@pytest.mark.parametrize("key", ["pagedown", "pageup"])
async def test_the_page_that_comes_next_is_drawn_before_it_is_asked_for(
    tmp_path: Path, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path / "m.db", *(f"V[n{number}]: {number}" for number in range(150)))
    async with inspecting(tmp_path / "m.db", size=(100, 30)) as pilot:
        table = main_screen(pilot).table
        await until(
            pilot, lambda: table.row_count == 150 and not list(pilot.app.workers), "reading, which draws all anew"
        )
        await pilot.press(*(["pagedown"] if key == "pagedown" else ["G", "pageup", "pageup"]))
        table.rows_changed()
        drawn: set[int] = set()
        draw_row = table.draw_row
        monkeypatch.setattr(table, "draw_row", lambda row, *more: drawn.add(row) or draw_row(row, *more))
        await pilot.press(key)
        height = table.scrollable_content_region.height - table.head_lines
        seen = range(table.scroll_offset.y, table.scroll_offset.y + height)
        ahead = range(seen.stop, seen.stop + height) if key == "pagedown" else range(seen.start - height, seen.start)
        await until(pilot, lambda: drawn.issuperset(ahead), "drawing what is not on the screen yet")
        drawn.clear()
        await pilot.press(key)
        await pilot.pause()
        seen = range(table.scroll_offset.y, table.scroll_offset.y + height)
        assert drawn & set(seen) <= {table.cursor}


async def test_only_rows_whose_age_reads_differently_are_drawn_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    present = [NOW]
    async with inspecting(path, size=(180, 30), clock=lambda: present[0]) as pilot:
        table = main_screen(pilot).table
        present[0] = Millis(NOW + 3 * 3_600_000)
        table.redraw_ages()
        await until(pilot, lambda: screen_text(pilot).count("  3h ") == 6)
        drawn: list[int] = []
        draw_row = table.draw_row
        monkeypatch.setattr(table, "draw_row", lambda row, *more: drawn.append(row) or draw_row(row, *more))
        present[0] = Millis(present[0] + 60_000)
        table.redraw_ages()
        await pilot.pause()
        assert drawn == []


async def test_a_click_on_a_head_orders_by_its_column_and_a_second_one_the_other_way(path: Path) -> None:
    fill(path, "V[z]: 1", scope="alpha", session="worker")
    fill(path, "C[y]: " + "very long " * 20, scope="item 10", session="worker")
    fill(path, "V[x]: 1", scope="item 9", session="worker")
    async with inspecting(path, size=(240, 40)) as pilot:
        table = main_screen(pilot).table

        async def click(title: str) -> None:
            head = next(line for line in screen_text(pilot).splitlines() if " target" in line and "content" in line)
            where = head[table.region.x :].index(f" {title}") + 1
            await pilot.click("#facts", offset=(where, table.gutter.top))

        await click("scope")
        await until(pilot, lambda: targets(pilot)[:3] == ["z", "x", "y"])
        await until_shown(pilot, "scope▲")
        await click("scope")
        await until(pilot, lambda: targets(pilot)[-3:] == ["y", "x", "z"])
        await until_shown(pilot, "scope▼")
        await until_shown(pilot, "by scope, z to a")
        await click("target")
        await until(pilot, lambda: targets(pilot)[0] == "a")
        await click("age")
        await until(pilot, lambda: targets(pilot)[0] == "x")
        await click("content")
        assert main_screen(pilot)._view.sort.value == "updated"
        await click("type")
        await until(pilot, lambda: targets(pilot)[0] == "y")
        assert main_screen(pilot).kept.order == ("type", True)


class Numbers(LineList):
    @property
    def row_count(self) -> int:
        return 3

    def draw_row(self, row: int, width: int, selected: bool) -> list[Segment]:
        return [Segment(str(row).ljust(width), self.ink())]

    def _under_cursor(self, segments: list[Segment]) -> list[Segment]:
        return segments


class Framed(App[None]):
    """A list above something that leaves it what lines there are."""

    CSS = "Numbers { height: 1fr; border: round red; } #foot { height: 8; }"

    def compose(self) -> ComposeResult:
        yield Numbers()
        yield Vertical(id="foot")


async def test_a_list_that_had_no_line_draws_its_frame_right_once_it_has_some() -> None:
    async with Framed().run_test(size=(40, 10)) as pilot:
        assert pilot.app.query_one(Numbers).outer_size.height == 2
        await pilot.resize_terminal(40, 16)

        def is_framed() -> bool:
            strips = pilot.app.screen._compositor.render_strips(pilot.app.size)
            return [strip.text[:2] for strip in strips[1:4]] == ["│0", "│1", "│2"]

        await until(pilot, is_framed)


async def test_facts_that_were_never_in_a_context_are_found(path: Path) -> None:
    with Store.open(path, clock=lambda: NOW) as store:
        store.context.status("default", session=store.sessions.get("default", "worker"))
    fill(path, "V[g]: new", scope="launch", session="worker")
    async with inspecting(path, size=(160, 40)) as pilot:
        main_screen(pilot)._sort_by(ListOrder.READ_AT, True)
        await until(pilot, lambda: any("never" in line for line in screen_text(pilot).splitlines() if " new" in line))
        await pilot.press("slash", *"read", "colon", *"never", "enter")
        await until(pilot, lambda: targets(pilot) == ["g"])


async def test_a_list_scrolls_by_three_rows_when_its_cursor_leaves_what_is_seen(tmp_path: Path) -> None:
    fill(tmp_path / "m.db", *(f"V[nr{number:03}]: {number}" for number in range(90)))
    async with inspecting(tmp_path / "m.db") as pilot:
        table = main_screen(pilot).table
        for key in ("down", "up"):
            await pilot.press(*[key] * 60)
            lines = set[int]()
            for _ in range(6):
                await pilot.press(key)
                lines.add(table.cursor - table.scroll_offset.y)
            assert len(lines) == 3
