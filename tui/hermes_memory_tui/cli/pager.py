"""What is longer than the terminal goes through a pager, as with git: `$PAGER`, else `less`."""

from __future__ import annotations

import io
import os
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess

LESS = "FRX"
"""Options of less unless `$LESS` has others, git's own: quit where all fits, pass colours on, leave the text on the screen."""


@contextmanager
def paged_output() -> Iterator[None]:
    """Send standard output through the pager while this is open, once it is longer than the terminal.

    Into a pipe or a file, without a pager, or with `PAGER=cat`, nothing changes.
    """
    pager = find_pager() if sys.stdout.isatty() and os.environ.get("TERM") != "dumb" else []
    if not pager:
        yield
        return
    terminal = sys.stdout
    terminal.flush()
    raw = PagerStream(pager, terminal.fileno())
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(raw), terminal.encoding, terminal.errors, line_buffering=True)
    try:
        yield
    finally:
        paged, sys.stdout = sys.stdout, terminal
        with suppress(BrokenPipeError):  # the person left the pager before the end
            paged.close()
        raw.wait()


def find_pager() -> list[str]:
    """Return the command of the pager; empty for none, or for one whose quotes do not close."""
    try:
        words = shlex.split(os.environ.get("PAGER", "less"))
    except ValueError:
        return []
    return words if words and words[0] != "cat" and shutil.which(words[0]) else []


class PagerStream(io.RawIOBase):
    """Holds a screenful back, and starts the pager with the first line that goes beyond it."""

    def __init__(self, pager: list[str], terminal: int) -> None:
        self._pager = pager
        self._terminal = terminal
        self._buffer = bytearray()
        self._process: subprocess.Popen[bytes] | None = None
        self._errors, self._notes = sys.stderr, io.StringIO()

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        """Colours and folding are those of the terminal behind the pager."""
        return True

    def fileno(self) -> int:
        return self._terminal

    def write(self, data: bytes, /) -> int:  # type: ignore[override]  # bytes are what a buffered writer hands on
        size = len(data)
        if self._process is None:
            self._buffer += data
            if self._buffer.count(b"\n") < shutil.get_terminal_size().lines:
                return size
            import subprocess  # here, not above: hardly any list is longer than a screen

            self._process = subprocess.Popen(
                self._pager, stdin=subprocess.PIPE, env={"LESS": LESS, "LESSCHARSET": "utf-8", **os.environ}
            )
            sys.stderr.flush()
            sys.stderr = self._notes  # the screen is the pager's now
            data = bytes(self._buffer)
        assert self._process.stdin is not None
        self._process.stdin.write(data)
        self._process.stdin.flush()
        return size

    def close(self) -> None:
        if not self.closed and self._process is None:
            while self._buffer:
                del self._buffer[: os.write(self._terminal, self._buffer)]
        super().close()

    def wait(self) -> None:
        """Wait until the person leaves the pager, then print what was said beside the output."""
        if self._process is None:
            return
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        while True:
            with suppress(KeyboardInterrupt):  # it is the pager's: it stops a search there
                self._process.wait()
                break
        sys.stderr = self._errors
        sys.stderr.write(self._notes.getvalue())
