"""Make the pictures: `python screenshots/make.py` writes every SVG beside this file (PNGs too, with --png).

They show the demo store at its own moment, so the same program makes the same pictures.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

os.environ["TEXTUAL_ANIMATIONS"] = "none"
os.environ["TZ"] = "UTC"

from textual.pilot import Pilot

from hermes_memory_tui.demo import day
from hermes_memory_tui.inspector import Inspector
from hermes_memory_tui.memory import Memory

FOLDER = Path(__file__).parent

Steps = Callable[[Pilot[int]], Awaitable[None]]


@dataclass(frozen=True)
class Picture:
    """One picture: what is done before it is taken, at what size, in which look."""

    name: str
    keys: tuple[str, ...] = ()
    size: tuple[int, int] = (140, 38)
    look: str = "hermes"
    theme: str | None = "intraday-sre"


PICTURES = (
    Picture("inspector", ("down",)),
    Picture("search", ("slash", *"type:decision,value tier:all", "enter"), theme=None),
    Picture("edit", ("down", "e", "end", *", in writing")),
    Picture("help", ("question_mark",)),
    Picture("narrow", ("down",), size=(80, 24)),
    Picture("middle", ("down", "down"), size=(110, 34)),
    Picture("ansi", ("down",), look="ansi-dark"),
    Picture("light", ("down",), look="catppuccin-latte"),
    Picture("contrast", ("down",), look="high-contrast"),
)


async def take(picture: Picture, folder: Path) -> str:
    """One picture as SVG."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "memory.db"
        clock = day.make(path)
        app = Inspector(Memory(lambda: day.open_store(path, clock)), picture.theme, look=picture.look)
        async with app.run_test(size=picture.size) as pilot:
            app.screen.title_bar.file = "~/.hermes/memory.db"  # type: ignore[attr-defined]
            for key in picture.keys:
                await pilot.press("space" if key == " " else key)
            await settled(pilot)
            svg = app.export_screenshot(title="hermes-memory-tui", simplify=True)
    (folder / f"{picture.name}.svg").write_text(stable(svg), encoding="utf-8")
    return stable(svg)


async def settled(pilot: Pilot[int]) -> None:
    """Wait for workers and for the pauses before search and detail."""
    await pilot.pause(0.15)
    await pilot.app.workers.wait_for_complete()
    await pilot.pause(0.15)


def stable(svg: str) -> str:
    """The SVG without the random part of its identifiers."""
    return re.sub(r"terminal-\d+", "terminal", svg)


def png(svg: Path) -> None:
    """A PNG beside an SVG. The converter drops leading spaces unless told to keep them."""
    kept = svg.read_text(encoding="utf-8").replace("<text ", '<text xml:space="preserve" ')
    subprocess.run(["rsvg-convert", "-o", str(svg.with_suffix(".png"))], input=kept.encode(), check=True)


def main(names: list[str]) -> None:
    """Take the named pictures, all when none is named; `--png` among the names converts them as well."""
    converted = "--png" in names and shutil.which("rsvg-convert")
    wanted = {name for name in names if name != "--png"} or {picture.name for picture in PICTURES}
    for picture in PICTURES:
        if picture.name in wanted:
            asyncio.run(take(picture, FOLDER))
            if converted:
                png(FOLDER / f"{picture.name}.svg")
            print(FOLDER / f"{picture.name}.svg")


if __name__ == "__main__":
    main(sys.argv[1:])
