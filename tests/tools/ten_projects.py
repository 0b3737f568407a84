"""Many repositories written to at once through shims of their own: nothing in the wrong one, nothing lost.

    python -m tests.tools.ten_projects [REPOSITORIES] [WRITES]

All of them write the same targets, so that facts that were mixed would overwrite each other. Some repositories have names that
are those of other kinds of themes, some are called alike, and each has a worktree and a folder to start in.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hermes_memory_store.model import FactFilter, Tier
from hermes_memory_store.places.project_sighting import read_project
from hermes_memory_store.store import Store
from tests.bridge.running import Shim, bridge

NAMES = ("shop", "worker-3", "test-x", "user-api", "bank", "default", "personal", "日本", "shop", "cron-7")
"""Of the repositories; two are called alike."""

MARK = "of repository {}:"
"""Begins the content of each fact."""


@dataclass(frozen=True)
class Figures:
    """What came of it."""

    written: int
    lost: int
    wrong: int
    """Facts that were given, found or stored in another repository than the one they were written in."""
    empty: int
    """Sessions that got nothing."""
    themes: int
    """Distinct themes of the repositories."""
    seconds: float


@dataclass(frozen=True)
class Place:
    """A repository, and other folders of it."""

    number: int
    folders: tuple[Path, Path, Path]


def make_places(home: Path, count: int) -> list[Place]:
    """Make repositories, each with a folder in it and a worktree beside it."""
    return [make_place(home, number) for number in range(count)]


def make_place(home: Path, number: int) -> Place:
    root = home / f"work{number}" / NAMES[number % len(NAMES)]
    tree = root.parent / "tree"
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    git = ["git", "-C", str(root), "-c", "user.name=a", "-c", "user.email=a@b.example"]
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", f"first {number}"], check=True)
    subprocess.run([*git, "worktree", "add", "-q", str(tree)], check=True)
    (root / "src").mkdir()
    return Place(number, (root, root / "src", tree))


def write_facts(db: Path, place: Place, writes: int) -> None:
    """Write the facts of a repository through a shim that was started in it."""
    with Shim(db, cwd=place.folders[0]) as shim:
        shim.open("claude-code")
        for number in range(writes):
            answer = shim.call("memory_write", content=f"V[port{number}]: {MARK.format(place.number)} {number}")
            assert "error" not in data(answer), answer
        assert shim.close() == 0


def read_facts(db: Path, place: Place, folder: Path) -> list[str]:
    """Return the contents of all that a session in a folder is given and finds."""
    with Shim(db, cwd=folder) as shim:
        shim.open("claude-code")
        told = data(shim.call("memory_status"))["facts"]
        found = data(shim.call("memory_search", query="repository", limit=20))["facts"]
        assert shim.close() == 0
    assert place is not None
    return [fact["content"] for fact in (*told, *found)] if told else []


def data(answer: dict[str, Any]) -> dict[str, Any]:
    said: dict[str, Any] = answer["result"]["structuredContent"]
    return said


def run_projects(home: Path, repositories: int, writes: int) -> Figures:
    """Write to all repositories at once, then read from a session in each of their folders."""
    begun, db = time.monotonic(), home / "memory.db"
    places = make_places(home, repositories)
    with bridge(db), ThreadPoolExecutor(repositories) as threads:
        for done in [threads.submit(write_facts, db, place, writes) for place in places]:
            done.result()
        sessions = [(place, folder) for place in places for folder in place.folders]
        given = list(threads.map(lambda one: (one[0], read_facts(db, *one)), sessions))
    wrong = sum(not content.startswith(MARK.format(place.number)) for place, told in given for content in told)
    kept, themes = 0, set()
    with Store.open(db) as store:
        for place in places:
            theme = store.place_themes.theme_of(read_project(place.folders[0]))
            themes.add(theme)
            facts = store.facts.by_ids(
                store.facts.ids(FactFilter(theme=theme, tiers=frozenset({Tier.HOT, Tier.COLD, Tier.ARCHIVED})))
            )
            mine = [fact for fact in facts if fact.content.startswith(MARK.format(place.number))]
            kept += len({fact.target for fact in mine})
            wrong += len(facts) - len(mine)
    written = repositories * writes
    empty = sum(not told for _, told in given)
    return Figures(written, written - kept, wrong, empty, len(themes), time.monotonic() - begun)


if __name__ == "__main__":
    sizes = [int(word) for word in sys.argv[1:]]
    with tempfile.TemporaryDirectory(prefix="hm-") as made:
        print(run_projects(Path(made), *(sizes + [10, 1_000][len(sizes) :])))
