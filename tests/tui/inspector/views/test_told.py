"""The view of what an agent is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_memory_store.model import Tier
from hermes_memory_store.store import Store
from tests.tui.inspector.driving import (
    beside,
    facts_of,
    fill,
    frozen,
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
    fill(path, "C[deploy]: never on friday", "D[cache]: redis", "V[port]: 6379", theme="ops")
    fill(path, "V[tone]: plain", theme="marketing")
    return path


async def test_the_text_is_what_an_agent_is_told_word_for_word(path: Path) -> None:
    with Store.open(path, clock=frozen) as store:
        told = store.context.status("ops", record=False).text
    async with inspecting(path, "ops") as pilot:
        await opened(pilot, "told")
        await until(pilot, lambda: told in beside(pilot))
    with Store.open(path) as store:
        assert store.context_records.list() == [], "a person who looks is no agent that was told"


async def test_pinning_a_fact_puts_it_first(path: Path) -> None:
    async with inspecting(path, "ops") as pilot:
        view = await opened(pilot, "told")
        await to_row(pilot, "V[port]")
        await pilot.press("p")
        await until(pilot, lambda: facts_of(path)["port"].pinned)
        await until(pilot, lambda: "V[port]" in rows_of(view)[0])
        assert "pinned" in rows_of(view)[0]
        await to_row(pilot, "V[port]")
        await pilot.press("p")
        await until(pilot, lambda: not facts_of(path)["port"].pinned)
        await until(pilot, lambda: "C[deploy]" in rows_of(view)[0])


async def test_cooling_and_archiving_take_a_fact_out(path: Path) -> None:
    async with inspecting(path, "ops") as pilot:
        view = await opened(pilot, "told")
        await to_row(pilot, "V[port]")
        await pilot.press("W")
        await until(pilot, lambda: facts_of(path)["port"].tier is Tier.COLD)
        await until(pilot, lambda: len(rows_of(view)) == 2 and "port" not in beside(pilot))
        await until(pilot, lambda: "V[port] cooled" in said(pilot))
        await to_row(pilot, "D[cache]")
        await pilot.press("a")
        await until(pilot, lambda: facts_of(path)["cache"].tier is Tier.ARCHIVED)
        await until(pilot, lambda: len(rows_of(view)) == 1)
        await pilot.press("u")
        await until(pilot, lambda: facts_of(path)["cache"].tier is Tier.HOT)
        await pilot.press("u")
        await until(pilot, lambda: facts_of(path)["port"].tier is Tier.HOT)
        await pilot.press("ctrl+r")
        await until(pilot, lambda: facts_of(path)["port"].tier is Tier.COLD)


@pytest.mark.parametrize(("there", "back"), [("l", "h"), ("right", "left")])
async def test_the_themes_one_after_the_other(path: Path, there: str, back: str) -> None:
    async with inspecting(path, "ops") as pilot:
        view = await opened(pilot, "told")
        await until(pilot, lambda: "context of ops" in screen_text(pilot))
        await pilot.press(there)
        await until(pilot, lambda: "V[tone]" in rows_of(view)[0])
        await until_shown(pilot, "context of marketing")
        await pilot.press(back)
        await until(pilot, lambda: "C[deploy]" in rows_of(view)[0])


async def test_what_does_not_fit_is_shown_as_left_out(path: Path) -> None:
    fill(path, *(f"V[filler.{number}]: {'word ' * 30}{number}" for number in range(12)), theme="ops")
    async with inspecting(path, "ops") as pilot:
        view = await opened(pilot, "told")
        left = [row for row in rows_of(view) if "○ out" in row]
        assert left
        await until(pilot, lambda: f"(+{len(left)} more: memory_search)" in beside(pilot))
        assert f"{len(left)} omitted" in str(view.grid.border_subtitle)


async def test_a_theme_without_hot_facts_says_so(path: Path) -> None:
    async with inspecting(path, "marketing") as pilot:
        view = await opened(pilot, "told")
        await to_row(pilot, "V[tone]")
        await pilot.press("W")
        await until(pilot, lambda: rows_of(view) == [])
        await until(pilot, lambda: "contains only the rules" in screen_text(pilot))
        await pilot.press("p", "W", "a", "y")
        assert "(no active facts)" in beside(pilot)


async def test_the_selected_fact_says_why_it_is_given_or_is_not(path: Path) -> None:
    fill(path, "V[port.limit]: at most 900 connections !", theme="ops")
    fill(path, *(f"V[filler.{number}]: {'word ' * 30}{number}" for number in range(12)), theme="ops")
    async with inspecting(path, "ops") as pilot:
        view = await opened(pilot, "told")
        await to_row(pilot, "V[port.limit]")
        await until(pilot, lambda: "critical   marked ! as critical" in beside(pilot))
        assert "why this" in beside(pilot)
        assert "a token" in beside(pilot)
        row = next(row for row in rows_of(view) if "V[port.limit]" in row)
        assert "critical" in row
        left = next(row for row in rows_of(view) if "○ out" in row)
        await to_row(pilot, left[left.index("V[filler") : left.index("]: ") + 1])
        await until(pilot, lambda: "why not" in beside(pilot))
        assert "others are worth more a token" in beside(pilot)
        given = [row for row in rows_of(view) if "● in" in row]
        assert rows_of(view)[: len(given)] == given, "what is left out stands below what is given"
