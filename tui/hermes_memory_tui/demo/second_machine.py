"""The demo's second machine: a memory of its own that shares a theme through a folder, as a laptop of the same person would.

    python -m hermes_memory_tui.demo.second_machine STORE

It waits for the bridge, shares the theme, writes some facts, and edits one that was edited on the first machine at the same
time, which is for a person to decide. It works until its standard input is closed. What hinders it stands in `demo_home.NOTE`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from hermes_memory_bridge.daemon.control import ask_bridge
from hermes_memory_bridge.team.database.team_states import TeamError
from hermes_memory_bridge.team.folder.folder_keys import FolderKeys, new_theme_key
from hermes_memory_bridge.team.folder.folder_run import FolderRun
from hermes_memory_bridge.team.folder.folder_state import FolderSettings
from hermes_memory_bridge.team.folder.segment import ThemeKey, make_cipher
from hermes_memory_bridge.team.folder.shared_folder import SharedFolder, mark_folder
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_store.errors import StoreError
from hermes_memory_store.model import FactFilter, Origin, Way
from hermes_memory_store.store import Store
from hermes_memory_themes import Policies
from hermes_memory_themes.policy import FILE_NAME
from hermes_memory_tui.demo import demo_day, demo_home
from hermes_memory_tui.demo.simulated_agent import LOOK_S, is_stdin_closed

MACHINE, THEME = "thinkpad-maya", "marketing"

FOLDER = "shared"
"""The shared folder, within the demo's home."""

POLICY = f'\n[themes.{THEME}]\nsync = "folder"\n'

CONTESTED = ("video.length", "90 s: the first cut needs the room", "40 s: three of five viewers left after that")
"""A target, and what is said of it at the same time on the first machine and, a moment later, on the second: what is later
stands, and the other is kept for a person."""

NEWS = (
    ("spring-launch", "V[booth.size]: 3 by 2 m, a table and one screen; talked over on the train"),
    ("spring-launch", "D[demo.order]: the lost decision first, then how it is found again"),
    ("case-studies", "V[case.next]: Thursday 11:00 with the people of the harbour project"),
    ("spring-launch", "?[flyer.paper]: is recycled paper there in time? the printer calls back"),
    ("spring-launch", "D[flyer.paper]: recycled, 170 g; the printer has it in stock"),
)
"""What is written there, one after the other."""

PAUSE_S = 6.0
"""Between two facts."""

POLL_S = 1.0


def run_second_machine(store: str) -> None:
    """Share the theme, and write until standard input is closed."""
    paths, home, key = BridgePaths.of(store), Path(store).parent, new_theme_key()
    try:
        make_cipher(key)
        while not os.path.exists(paths.line):  # noqa: PTH110 - as the agents look
            if is_stdin_closed(LOOK_S):
                return
        share_theme(paths, home, key)
    except (TeamError, StoreError) as error:
        (home / demo_home.NOTE).write_text(error.message, encoding="utf-8")
        return
    laptop = home / MACHINE
    laptop.mkdir(mode=0o700)
    (laptop / FILE_NAME).write_text(demo_day.POLICIES + POLICY, encoding="utf-8")
    with Store.open(laptop / "memory.db", policies=Policies.load(laptop / FILE_NAME)) as there:
        keys = FolderKeys(BridgePaths.of(laptop / "memory.db"))
        keys.hold(THEME, key)
        there.origin = Origin(way=Way.TOOL)
        run = FolderRun(there, keys, laptop, on_progress=lambda: None, author=MACHINE)
        work(there, store, run, SharedFolder(home / FOLDER))


def share_theme(paths: BridgePaths, home: Path, key: ThemeKey) -> None:
    """Set the first machine up, as `folder share` and a line in its policies do.

    :raises TeamError: StoreError, it cannot be set up
    """
    folder = home / FOLDER
    folder.mkdir(mode=0o700)
    mark_folder(folder)
    FolderKeys(paths).keep(THEME, key)
    FolderSettings(str(folder)).save(paths)
    with (home / FILE_NAME).open("a", encoding="utf-8") as policies:
        policies.write(POLICY)
    ask_bridge(paths, "sync", action="connect")


def work(there: Store, store: str, run: FolderRun, folder: SharedFolder) -> None:
    """Exchange once a second; write a fact now and then, and contradict the first machine once."""
    news, left_s, is_contested = list(NEWS), PAUSE_S, False
    while not is_stdin_closed(POLL_S):
        run.expire_backoffs()
        run.run(folder)
        left_s -= POLL_S
        if not is_contested:
            is_contested = contradict(there, store)
        elif news and left_s <= 0:
            scope, line = news.pop(0)
            session = demo_day.open_demo_session(there, THEME)
            there.facts.write(THEME, line, scope=scope, session=session, origin=demo_day.demo_origin(THEME))
            left_s = PAUSE_S


def contradict(there: Store, store: str) -> bool:
    """Say something else on each machine before either hears of the other; return whether the fact was there."""
    target, first_said, then_said = CONTESTED
    facts = there.facts.page(FactFilter(theme=THEME, target=target), limit=1).facts
    if not facts:
        return False
    with Store.open(store) as first:
        first.facts.edit(facts[0].uid, first_said)
    there.facts.edit(facts[0].uid, then_said)
    return True


if __name__ == "__main__":
    try:
        run_second_machine(sys.argv[1])
    except KeyboardInterrupt:
        sys.exit(0)
