"""Every screen says that capture is stopped, as soon as it is."""

from __future__ import annotations

from pathlib import Path

from hermes_memory_store.hosts.capture_settings import pause_capture, resume_capture, switch_capture
from tests.tui.inspector.driving import VIEWS, fill, inspecting, opened, screen_text, until


async def test_the_facts_screen_says_that_capture_is_stopped(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    fill(path, "D[cache]: redis")
    async with inspecting(path) as pilot:
        assert "capture" not in screen_text(pilot).splitlines()[0]
        pause_capture(path)
        await until(pilot, lambda: "capture paused until resumed" in screen_text(pilot).splitlines()[0])
        switch_capture(path, off=True)
        resume_capture(path)
        await until(pilot, lambda: "capture off everywhere" in screen_text(pilot).splitlines()[0])
        switch_capture(path, off=False)
        await until(pilot, lambda: "capture" not in screen_text(pilot).splitlines()[0])


async def test_each_view_says_that_capture_is_stopped(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    fill(path, "D[cache]: redis")
    switch_capture(path, off=True)
    async with inspecting(path) as pilot:
        for view in VIEWS:
            await opened(pilot, view)
            await until(pilot, lambda: "capture off everywhere" in screen_text(pilot).splitlines()[0])
