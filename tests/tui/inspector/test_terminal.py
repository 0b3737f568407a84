"""A terminal that goes away, or that nobody reads: the inspector ends all the same, and leaves nothing."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import shlex
import signal
import struct
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.tui.commands.conftest import COMMAND
from tests.tui.inspector.driving import fill

PATIENCE_S = 30.0

ENDS_S = 10.0
"""Far more than it takes; without care it is for ever."""

FULL_S = 1.5
"""How long keys are pressed until more is drawn than a terminal keeps for who does not read it."""


class Window:
    """A terminal in which a shell runs the inspector, as a grandchild: the hangup reaches the shell first."""

    def __init__(self, folder: Path, first: str) -> None:
        fill(folder / "memory.db", "C[db.id]: UUID mndtry")
        env = os.environ | {"TERM": "xterm-256color", "HOME": str(folder), "HERMES_HOME": str(folder)}
        env["TMPDIR"] = str(folder)
        self.shell, self.handle = pty.fork()
        if not self.shell:
            line = shlex.join([*COMMAND, "--db", str(folder / "memory.db")])
            os.execvpe("sh", ["sh", "-c", f"{first}; {line}; echo"], env)
        fcntl.ioctl(self.handle, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self.until_shown("mndtry")
        (self.program,) = psutil.Process(self.shell).children()

    def until_shown(self, text: str) -> None:
        seen, deadline = b"", time.monotonic() + PATIENCE_S
        while text.encode() not in seen:
            assert time.monotonic() < deadline, seen[-2000:]
            if select.select([self.handle], [], [], 0.1)[0]:
                seen += os.read(self.handle, 65_536)

    def overflow(self) -> None:
        """Have so much drawn that the program waits for somebody to read it."""
        until = time.monotonic() + FULL_S
        while time.monotonic() < until:
            os.write(self.handle, b"4123")
            time.sleep(0.05)

    def close(self) -> None:
        if self.handle >= 0:
            os.close(self.handle)
            self.handle = -1

    def ends(self) -> bool:
        """Whether the program ends in time."""
        deadline = time.monotonic() + ENDS_S
        while time.monotonic() < deadline:
            if not self.program.is_running() or self.program.status() == psutil.STATUS_ZOMBIE:
                return True
            time.sleep(0.05)
        return False


@contextmanager
def opened(folder: Path, first: str = ":") -> Iterator[Window]:
    """A window whose shell does something else first."""
    window = Window(folder, first)
    try:
        yield window
    finally:
        if window.program.is_running():
            window.program.kill()
        window.close()
        os.waitpid(window.shell, 0)


@pytest.fixture
def window(tmp_path: Path) -> Iterator[Window]:
    with opened(tmp_path) as made:
        yield made


def beside(folder: Path) -> list[str]:
    """What SQLite left beside the file."""
    return [file.name for file in folder.glob("memory.db-*")]


@pytest.mark.slow
@pytest.mark.parametrize("keys", [b"", b"jjjj", b"4123", b"?"])
def test_it_ends_with_its_terminal(window: Window, tmp_path: Path, keys: bytes) -> None:
    os.write(window.handle, keys)
    window.close()
    assert window.ends()
    assert beside(tmp_path) == []


@pytest.mark.slow
def test_it_ends_with_its_terminal_while_it_waits_to_draw(window: Window, tmp_path: Path) -> None:
    window.overflow()
    window.close()
    assert window.ends()
    assert beside(tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_while_nobody_reads_what_it_draws(
    window: Window, tmp_path: Path, number: signal.Signals
) -> None:
    window.overflow()
    window.program.send_signal(number)
    assert window.ends()
    assert beside(tmp_path) == []


@pytest.mark.slow
def test_a_terminal_that_goes_without_a_signal_ends_it(tmp_path: Path) -> None:
    """A shell that lives on keeps the hangup from what it runs."""
    with opened(tmp_path, "trap '' HUP") as window:
        window.close()
        assert window.ends()
    assert beside(tmp_path) == []
