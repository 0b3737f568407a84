"""The screens as they are drawn, compared with the pictures in `pictures/`.

    UPDATE_PICTURES=1 pytest tests/tui/inspector/test_pictures.py

writes them anew; look at every one that changed before it is committed.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.tui.inspector.driving import fill, inspecting, main_screen, screen_text, until

PICTURES = Path(__file__).parent / "pictures"

STEPS = {
    "wide": ((140, 36), ()),
    "middle": ((100, 32), ()),
    "narrow": ((80, 24), ()),
    "narrow_scopes": ((80, 24), ("t",)),
    "search": ((140, 36), ("slash", *"type", "colon", *"value", "enter")),
    "edit": ((140, 36), ("e", "end", "x")),
    "purge": ((80, 30), ("space", "space", "space", "P")),
    "line": ((140, 36), ("slash", *"type", "colon", "tab", "tab", "tab")),
    "help": ((100, 40), ("question_mark",)),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "m.db"
    fill(path, "C[deploy.window]: never between 09:30 and 10:00", "D[cache]: redis", scope="release", theme="ops")
    fill(path, "D[cache]: none, the database is fast enough", scope="release", theme="ops")
    fill(path, "V[日本.取引時間]: 09:00–15:30 JST", "?[owner]: who renews the certificate?", theme="ops")
    fill(path, "V[tone]: plain sentences", scope="launch", theme="marketing")
    return path


@pytest.mark.parametrize("name", STEPS)
async def test_the_screen_looks_as_it_did(name: str, path: Path) -> None:
    size, keys = STEPS[name]
    async with inspecting(path, "ops", size=size) as pilot:
        screen = main_screen(pilot)
        screen.memory.shown_path = Path("~/memory.db")
        screen.title_bar.file = "~/memory.db"
        await until(pilot, lambda: name == "narrow_scopes" or "ops" in screen_text(pilot))
        await pilot.press(*keys)
        await at_rest(pilot)
        svg = drawn(pilot)
    kept = PICTURES / f"{name}.svg"
    if os.environ.get("UPDATE_PICTURES"):
        kept.parent.mkdir(exist_ok=True)
        kept.write_text(svg, encoding="utf-8")
    assert svg == kept.read_text(encoding="utf-8"), f"{name} is drawn differently; see the top of this file"


async def at_rest(pilot: Pilot[int]) -> None:
    """Wait until three looks at the screen are alike, workers and pauses included."""
    looks = ["", " ", drawn(pilot)]
    while len(set(looks[-3:])) > 1:
        await pilot.app.workers.wait_for_complete()
        await pilot.pause(0.2)
        looks.append(drawn(pilot))


def drawn(pilot: Pilot[int]) -> str:
    """The screen as SVG, without what differs from run to run: identifiers of the picture, and the facts' own."""
    svg = pilot.app.export_screenshot(title="hermes-memory-tui", simplify=True)
    svg = re.sub(r"terminal-\d+", "terminal", svg)
    svg = re.sub(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "0" * 8, svg)
    svg = re.sub(r"(?<=fact&#160;)[0-9a-f]{8}\b", "0" * 8, svg)
    return re.sub(r"\b[0-9a-f]{20}\b", "0" * 20, re.sub(r"\b[0-9a-f]{12}\b", "0" * 12, svg))
