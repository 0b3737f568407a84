"""Make the pictures: `python screenshots/make.py` writes every one beside this file, `… make.py scopes demo` only those.

They show the demo's home folder at its own moment, so the same program makes the same pictures, byte for byte: time stands
still, and what is otherwise drawn by chance (identifiers, hashes) comes from a seeded source. Every view is taken in a wide
and a narrow terminal, dark and light; `demo.svg` moves.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

os.environ["TEXTUAL_ANIMATIONS"] = "none"
os.environ["TZ"] = "UTC"

from textual.pilot import Pilot

from hermes_memory_store import uids
from hermes_memory_store.diagnostics.file_holders import Holder
from hermes_memory_tui.demo import demo_day, demo_home
from hermes_memory_tui.inspector import Inspector
from hermes_memory_tui.model.memory import Memory
from hermes_memory_tui.views import agents_view
from hermes_memory_tui.widgets import fact_table

sys.path.insert(0, str(Path(__file__).parent))
from moving import Frame, join_frames

FOLDER = Path(__file__).parent

WIDE, NARROW, MOVING = (160, 42), (80, 24), (120, 32)


@dataclass(frozen=True)
class Picture:
    """One picture: what is done before it is taken, at what size, in which look."""

    name: str
    keys: tuple[str, ...] = ()
    size: tuple[int, int] = WIDE
    look: str = "hermes"
    theme: str | None = "intraday-sre"


VIEWS = (
    Picture("now", ("0",), theme=None),
    Picture("facts", ("down",)),
    Picture("scopes", ("2", "down")),
    Picture("pressure", ("3", "down")),
    Picture("context", ("4", "down")),
    Picture("agents", ("5", "down")),
    Picture("flight-recorder", ("5", "down", "enter", "l", "l")),
    Picture("journal", ("6", "down", "down", "down", "down")),
    Picture("review", ("7",)),
    Picture("files", ("f7", *["down"] * 5)),
    Picture("conversations", ("f8",)),
    Picture("team", ("f9",)),
)

ALONE = (
    Picture("now-200", ("0",), size=(200, 50), theme=None),
    Picture("basket", ("b", "p", "down", "W", "down", "a", "B")),
    Picture("palette", ("ctrl+p", *"scope")),
    Picture("search", ("slash", *"pool tier:all", "enter"), theme=None),
    Picture("edit", ("down", "e", "end", *", in writing")),
    Picture("purge", ("2", "down", "P")),
    Picture("undo-agent", ("5", "down", "U")),
    Picture("preview", ("space", "space", "space", "a")),
    Picture("help", ("question_mark",)),
    Picture("middle", ("down", "down"), size=(110, 34)),
    Picture("ansi", ("down",), look="ansi-dark"),
    Picture("contrast", ("down",), look="high-contrast"),
    Picture("no-colour", ("down",), look="no-colour"),
)


@dataclass(frozen=True)
class Scene:
    """A moment of the moving picture: what is pressed, what is said of it, and the seconds that it stands."""

    keys: tuple[str, ...]
    text: str
    seconds: float
    event: Callable[[Path], None] = lambda _: None
    """What happens before, from outside: it gets the store's file."""
    sign: str = ""
    """What the screen shows once it has happened."""


def write_wrong_fact(path: Path) -> None:
    """Let an agent write a fact that is not true, and another one be given it, while the person watches."""
    clock = demo_day.DemoClock(demo_day.NOW - 4_000)
    with demo_day.open_demo_store(path, clock) as store:
        writer = demo_day.open_demo_session(store, "intraday-sre", "7e02b8d4-51c9-4f37-a6d0-93e8c1f4b265")
        reader = demo_day.open_demo_session(store, "intraday-sre")
        line, origin = "V[srv.primary]: pg-4 in zone a; pg-7 follows", demo_day.demo_origin("intraday-sre")
        store.facts.write("intraday-sre", line, scope="db-failover", session=writer, origin=origin)
        clock.now = demo_day.NOW
        store.search.find("intraday-sre", "srv.primary", session=reader, limit=1)
        store.reads.flush()


SCENES = (
    Scene((), "Agents share one memory. You watch.", 2.0),
    Scene((), "A fact arrives, live. It is wrong.", 2.2, write_wrong_fact, "pg-4 in zone a"),
    Scene(("enter", "z"), "Who wrote it, from where, and whom it was given to.", 3.0),
    Scene(("z", "U"), "Taken back: what it had replaced stands again.", 3.0),
)


def pictures() -> Iterator[Picture]:
    """All of them; a view's narrow and light pictures are named after it."""
    for view in VIEWS:
        yield view
        yield replace(view, name=f"{view.name}-80", size=NARROW)
        yield replace(view, name=f"{view.name}-light", look="hermes-light")
        yield replace(view, name=f"{view.name}-80-light", size=NARROW, look="hermes-light")
    yield from ALONE


@contextmanager
def nothing_by_chance(place: Path) -> Iterator[None]:
    """Random bytes from a seed, one process that holds the file, and the demo's own home."""
    kept_bytes, kept_holders, kept_home = os.urandom, agents_view.find_holders, os.environ.get("HERMES_HOME")
    os.urandom = random.Random(1).randbytes
    uids._last = 0
    agents_view.find_holders = lambda _: [Holder(4711, "hermes-memory-tui", demo_day.NOW - 42 * 60_000)]
    os.environ["HERMES_HOME"] = str(place)
    try:
        yield
    finally:
        os.urandom, agents_view.find_holders = kept_bytes, kept_holders
        if kept_home is None:
            del os.environ["HERMES_HOME"]
        else:
            os.environ["HERMES_HOME"] = kept_home


HOST_FILES = {
    ".claude/CLAUDE.md": "# Me\n\n- Answer in British English\n- Ask before you delete anything\n",
    ".claude/projects/{slug}/memory/MEMORY.md": "# Memory\n\n- the drill runs on the second Monday\n",
    ".codex/memories/memory_summary.md": "v1\n- likes short answers\n",
    "quotes/CLAUDE.md": (
        "# Quotes\n\nPrices as they are seen by the auction.\n\n## Failover\n\n- Failover time: target is 20 s\n"
        "- Never promote a replica that lags more than 5 s behind\n\n## Rules\n\n- See @docs/style.md\n"
    ),
    "quotes/docs/style.md": "- Times are UTC, in ISO 8601\n",
    "quotes/AGENTS.md": "# Quotes\n\n- Write access is granted for one hour and logged\n- Run `make check`\n",
}


@contextmanager
def host_files(made: Path) -> Iterator[None]:
    """A home in which Claude Code and Codex have their files, and a project to work in."""
    folder, home = Path.cwd(), os.environ["HOME"]
    slug = re.sub("[^A-Za-z0-9]", "-", os.path.realpath(made / "quotes"))
    for name, text in HOST_FILES.items():
        path = made / name.replace("{slug}", slug)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (made / "quotes" / ".git").mkdir()
    (made / "quotes" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    os.environ["HOME"] = str(made)
    os.chdir(made / "quotes")
    try:
        yield
    finally:
        os.environ["HOME"] = home
        os.chdir(folder)


@asynccontextmanager
async def stage(picture: Picture) -> AsyncIterator[tuple[Pilot[int], Callable[[], str]]]:
    """The inspector on the demo's home, and what takes a picture of it as SVG."""
    with (
        tempfile.TemporaryDirectory() as made,
        nothing_by_chance(Path(made) / ".hermes"),
        host_files(Path(made)) if picture.name.startswith("files") else nullcontext(),
    ):
        path = demo_home.make_demo_home(Path(made) / ".hermes")
        memory = Memory(lambda: demo_day.open_demo_store(path, demo_day.DemoClock()))
        memory.shown_path = Path.home() / ".hermes" / "memory.db"
        app = Inspector(memory, picture.theme, look=picture.look)
        async with app.run_test(size=picture.size, notifications=True) as pilot:
            await settled(pilot)
            yield pilot, lambda: stable(app.export_screenshot(title="hermes-memory-tui", simplify=True), made)


async def press(pilot: Pilot[int], keys: Sequence[str]) -> None:
    """Press keys, and wait until nothing changes any more."""
    for key in keys:
        await pilot.press("space" if key == " " else key)
        if len(key) == 1 and key.isdigit():
            await settled(pilot)
    await settled(pilot)


async def take(picture: Picture, folder: Path) -> str:
    """One picture as SVG."""
    async with stage(picture) as (pilot, shot):
        await press(pilot, picture.keys)
        svg = shot()
    (folder / f"{picture.name}.svg").write_text(svg, encoding="utf-8")
    return svg


async def take_moving(folder: Path) -> str:
    """The moving picture of the demo as SVG: one story, with the keys as they are pressed."""
    async with stage(Picture("demo", size=MOVING)) as (pilot, shot):
        frames = []
        fact_table.FLASH_S = 60.0  # the mark of a new fact stays for the picture
        for scene in SCENES:
            scene.event(pilot.app.main.memory.path)
            while scene.sign not in stable(shot(), "").replace("&#160;", " "):
                await pilot.pause(0.05)
            await press(pilot, scene.keys)
            frames.append(Frame(shot(), scene.seconds, scene.keys, scene.text))
    svg = join_frames(frames)
    (folder / "demo.svg").write_text(svg, encoding="utf-8")
    return svg


async def settled(pilot: Pilot[int]) -> None:
    """Wait until two looks at the screen are alike, workers and pauses included."""
    before = ""
    while before != (before := stable(pilot.app.export_screenshot(simplify=True), "")):
        await pilot.app.workers.wait_for_complete()
        await pilot.pause(0.25)


def stable(svg: str, made: str) -> str:
    """The SVG without the random part of its identifiers, and without the folder it was made in."""
    svg = re.sub(r"terminal-\d+", "terminal", svg)
    return svg.replace(made, "~") if made else svg


def main(names: list[str]) -> None:
    """Take the named pictures, all when none is named."""
    for picture in pictures():
        if not names or picture.name in names:
            asyncio.run(take(picture, FOLDER))
            print(FOLDER / f"{picture.name}.svg")
    if not names or "demo" in names:
        asyncio.run(take_moving(FOLDER))
        print(FOLDER / "demo.svg")


if __name__ == "__main__":
    main(sys.argv[1:])
