"""Git over the objects of a repository that may belong to anybody: nothing that it configures is ever read or run.

Commands run in an empty repository of our own that only borrows the objects. So the configuration, hooks, attributes,
replacements and grafts of the repository itself mean nothing, and no transport is allowed.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_memory_store.places.git_files import read_shallow_ends

if TYPE_CHECKING:
    import subprocess

MAX_OUTPUT = 64 << 20
"""Bytes of output that are read of one command; what is longer counts as no answer."""

ALWAYS = ("--no-pager", "-c", "core.attributesFile=", "-c", "diff.renames=false", "-c", "diff.algorithm=myers")


class GitFailed(Exception):
    """Git gave no answer: it is not installed, took too long, or an object is missing."""


class BorrowedObjects:
    """An empty repository that borrows the objects of another one."""

    def __init__(self, folder: str, objects: str, *, deadline: float | None = None) -> None:
        """:param deadline: monotonic time at which no further command may run"""
        self._folder = folder
        self._objects = objects
        self._deadline = deadline

    def run(self, *words: str, stdin: bytes = b"", seconds: float = 10.0, codes: tuple[int, ...] = (0,)) -> bytes:
        """Run one command of Git and return what it prints.

        :param codes: exit codes that are answers
        :raises GitFailed: it failed, printed too much, or took too long
        """
        if self._deadline is not None:
            seconds = min(seconds, self._deadline - time.monotonic())
        if seconds <= 0:
            raise GitFailed("no time is left")
        import subprocess  # here, not above: most commands ask Git nothing

        try:
            process = subprocess.Popen(
                ["git", *ALWAYS, *words],
                cwd=self._folder,
                env=self._environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except OSError as error:
            raise GitFailed(str(error)) from error
        killer = threading.Timer(seconds, process.kill)
        killer.start()
        try:
            feeder = threading.Thread(target=feed_process, args=(process, stdin), daemon=True)
            feeder.start()
            assert process.stdout is not None
            text = process.stdout.read(MAX_OUTPUT + 1)
            if len(text) > MAX_OUTPUT:
                process.kill()
            code = process.wait()
            feeder.join()
        finally:
            killer.cancel()
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()
        if code not in codes or len(text) > MAX_OUTPUT:
            raise GitFailed(f"git {words[0]} ended with {code}")
        return text

    def name_commits(self, commits: Iterable[str]) -> None:
        """Give each of these commits, which are here, a ref, so that one walk answers for all of them."""
        lines = [f"{commit} refs/wanted/{commit}\n" for commit in sorted(set(commits))]
        Path(self._folder, "packed-refs").write_text("# pack-refs with: sorted \n" + "".join(lines), encoding="ascii")

    def _environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": self._folder,
            "GIT_DIR": self._folder,
            "GIT_OBJECT_DIRECTORY": self._objects,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_ALLOW_PROTOCOL": "none",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_LITERAL_PATHSPECS": "1",
            "LC_ALL": "C",
        }


def feed_process(process: subprocess.Popen[bytes], text: bytes) -> None:
    """Write a process's standard input and close it; one that has ended reads no more."""
    assert process.stdin is not None
    with suppress(OSError), process.stdin as pipe:
        pipe.write(text)


@contextmanager
def borrow_objects(common: str, *, sha256: bool, deadline: float | None = None) -> Iterator[BorrowedObjects]:
    """Borrow the objects of a repository for the time of the block.

    :param common: the repository's common directory
    :param deadline: monotonic time at which no further command may run
    :raises GitFailed: there are no objects
    """
    objects = os.path.join(common, "objects")
    if not os.path.isdir(objects):
        raise GitFailed("there are no objects")
    import tempfile

    with tempfile.TemporaryDirectory(prefix="hermes-memory-git-") as folder:
        bare = Path(folder)
        for name in ("refs", "objects"):
            (bare / name).mkdir()
        (bare / "HEAD").write_text("ref: refs/heads/none\n", encoding="utf-8")
        kind, version = ("[extensions]\n\tobjectFormat = sha256\n", 1) if sha256 else ("", 0)
        (bare / "config").write_text(
            f"[core]\n\trepositoryFormatVersion = {version}\n\tbare = true\n{kind}", encoding="utf-8"
        )
        ends = read_shallow_ends(common)
        if ends:
            (bare / "shallow").write_text("".join(f"{commit}\n" for commit in ends), encoding="ascii")
        yield BorrowedObjects(folder, objects, deadline=deadline)
