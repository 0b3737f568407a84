"""The projects of agents' folders, read beside the event loop and the writer: a folder may lie on a mount that never answers.

First commits are found in the background, by `root_commit_search.py`; before a write Git runs only as `choose_project` has it.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from hermes_memory_store.places.project_sighting import ProjectSighting, read_project, to_project

T = TypeVar("T")

WAIT_S = 0.25
"""How long a write waits for its folder, which takes 0.2 ms where nothing hangs."""

FRESH_S = 0.001
"""How old a sighting may be for a call that only reads: many that come at once look at the folder once. No `git switch` is
started, reads its index and replaces HEAD in so short a time (4 to 8 ms on a fast machine at rest)."""

MOST_READS = 32
"""Folders that may hang at a time; nothing is known of others then."""

MOST_KNOWN = 1_000
"""Folders remembered for the time when they are gone."""


class ProjectReader:
    """Read the projects of folders, and know of which the first commit is wanted."""

    def __init__(self) -> None:
        self._reading: dict[tuple[str, int | None], asyncio.Future[ProjectSighting | None]] = {}
        self._last: dict[str, ProjectSighting] = {}
        self._newest: tuple[tuple[str, int | None], float, ProjectSighting | None] | None = None
        """What was read last, and when by the monotonic clock."""
        self.without_root: asyncio.Queue[tuple[str, str]] = asyncio.Queue()
        """Common directories of repositories to find the first commits of, and the commits to begin at."""
        self._noticed: set[str] = set()

    async def read(self, folder: str, pid: int | None = None) -> ProjectSighting | None:
        """Return what a folder shows now; None when it belongs to no project.

        One that is gone, or does not answer, is told as it was last seen, without branch and commit.

        :param pid: read the folder only if it is the working folder of this process
        """
        key = (folder, pid)
        reading = self._reading.get(key)
        if reading is None:
            if len(self._reading) >= MOST_READS:
                return self._recall(folder)
            reading = self._reading[key] = run_in_daemon_thread(lambda: see_folder(folder, pid))
            reading.add_done_callback(lambda done: self._note(key, done))
        await asyncio.wait([reading], timeout=WAIT_S)
        if not reading.done():
            return self._recall(folder)
        if reading.exception() is not None:
            return self._recall(folder) or to_project(ProjectSighting(root=os.path.normpath(folder)))
        return reading.result()

    async def read_recent(self, folder: str, pid: int | None = None) -> ProjectSighting | None:
        """Return what a folder shows, as it was a moment ago if that was read then."""
        newest = self._newest
        if newest is not None and newest[0] == (folder, pid) and time.monotonic() - newest[1] < FRESH_S:
            return newest[2]
        return await self.read(folder, pid)

    def notice(self, seen: ProjectSighting | None) -> None:
        """Have the first commit found of a project that is noted by now and has nothing but paths to be known by."""
        if seen is None or seen.remote is not None or seen.common is None or seen.commit is None:
            return
        if seen.common not in self._noticed:
            self._noticed.add(seen.common)
            self.without_root.put_nowait((seen.common, seen.commit))

    def _recall(self, folder: str) -> ProjectSighting | None:
        """Return what a folder showed last, as far as that still holds."""
        seen = self._last.get(folder)
        return None if seen is None else replace(seen, branch=None, commit=None)

    def _note(self, key: tuple[str, int | None], done: asyncio.Future[ProjectSighting | None]) -> None:
        del self._reading[key]
        seen = None if done.exception() is not None else done.result()
        if done.exception() is None:
            self._newest = (key, time.monotonic(), seen)
        if seen is None:
            return
        if len(self._last) >= MOST_KNOWN and key[0] not in self._last:
            self._last.clear()
        self._last[key[0]] = seen


def see_folder(folder: str, pid: int | None) -> ProjectSighting | None:
    """Return what a folder shows; None when it belongs to no project, or is not this process's working folder.

    :raises FileNotFoundError: it is gone
    """
    if pid is not None and not is_working_folder(pid, folder):
        return None
    if not os.path.isdir(folder):
        raise FileNotFoundError(folder)
    return to_project(read_project(folder))


def is_working_folder(pid: int, folder: str) -> bool:
    """Check whether a process works in this folder, as the system tells (Linux), through whatever mounts it has."""
    try:
        return os.path.samestat(os.stat(f"/proc/{pid}/cwd"), os.stat(folder))
    except (OSError, ValueError):
        return False


def run_in_daemon_thread(job: Callable[[], T]) -> asyncio.Future[T]:
    """Run a job on a thread that does not hold up the end of the process; return its result to come."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if future.cancelled():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]

    def work() -> None:
        try:
            outcome = (job(), None)
        except Exception as error:
            outcome = (None, error)  # type: ignore[assignment]
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, *outcome)

    threading.Thread(target=work, name="project reader", daemon=True).start()
    return future
