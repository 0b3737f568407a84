"""The view of the team: what leaves this machine, which is nothing until a person says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tui.inspector.driving import beside, fill, inspecting, opened, rows_of, until


async def test_every_theme_says_whether_it_may_be_shared(
    path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(path, "V[a]: 1", theme="ops")
    fill(path, "V[b]: 1", theme="marketing")
    async with inspecting(path) as pilot:
        view = await opened(pilot, "team")
        assert sorted(row.split("  ")[1] for row in rows_of(view)) == ["marketing", "ops"]
        assert all("stays on this machine" in row for row in rows_of(view))
        await until(pilot, lambda: "This version keeps every memory on this machine." in beside(pilot))
        assert "none runs" in beside(pilot)
        await pilot.press("j", "enter", "j", "k", "escape")
        assert pilot.app.screen is view


async def test_an_empty_memory_says_so(path: Path) -> None:
    async with inspecting(path) as pilot:
        view = await opened(pilot, "team")
        assert rows_of(view) == []
        await pilot.press("enter", "u", "y")
        await until(pilot, lambda: "hermes-memory-bridge install-service" in beside(pilot))
