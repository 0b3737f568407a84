"""What the inspector sends to a terminal, in bytes, and how far behind the last frame is on a slow line.

    python -m tests.benchmarks.terminal_line STORE [--rate 9600]

A pseudo-terminal of 140x40 at the end of an ssh connection that takes in any number of bytes. The floor is a whole screen
of the same program (ctrl+l), in the same run. On the slow line a key is held for five seconds; what counts is the time
from its release to the last byte that is drawn, the way of the key to the program included.
"""

from __future__ import annotations

import argparse
import os
import pty
import select
import signal
import statistics
import struct
import sys
import termios
import time
from collections import deque
from fcntl import ioctl
from pathlib import Path

from tests.benchmarks.inspector import INSPECTOR

COLUMNS, ROWS = 140, 40

LATENCY_S = 0.1
"""There and back."""

DOWN = b"\x1b[B"

REPEAT_S = 0.033

HELD_S = 5.0

TIMES = 4
"""How often a key is held."""


class Line:
    """The inspector at the end of a line of a rate in bytes a second."""

    def __init__(self, store: Path, rate: float) -> None:
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="xterm-256color", COLORTERM="truecolor", SSH_CONNECTION="remote")
            os.execv(sys.executable, [sys.executable, "-c", INSPECTOR, str(store)])
        ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self._rate = rate
        self._free_at = 0.0
        self.drawn_at = 0.0
        self._down: deque[tuple[float, bytes]] = deque()
        self._up: deque[tuple[float, bytes]] = deque()

    def close(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)

    def type(self, key: bytes) -> None:
        self._up.append((time.monotonic() + LATENCY_S / 2, key))

    def carry(self, seconds: float) -> bytes:
        """Carry both ways for a while, and return what was drawn."""
        drawn, until = b"", time.monotonic() + seconds
        while (now := time.monotonic()) < until:
            while self._up and self._up[0][0] <= now:
                os.write(self.fd, self._up.popleft()[1])
            if select.select([self.fd], [], [], 0.002)[0]:
                data = os.read(self.fd, 65_536)
                self._free_at = max(self._free_at, now) + len(data) / self._rate
                self._down.append((self._free_at + LATENCY_S / 2, data))
            while self._down and self._down[0][0] <= now:
                data = self._down.popleft()[1]
                drawn += data
                self.drawn_at = now
        return drawn

    def hold(self, key: bytes, seconds: float) -> None:
        """Hold a key."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.type(key)
            self.carry(REPEAT_S)


def measure_bytes(store: Path) -> None:
    """Print what keys cost on a fast line."""
    line = Line(store, rate=1e9)
    try:
        line.carry(3)
        line.type(b"\x0c")
        whole = len(line.carry(1))
        print(f"whole screen: {whole:,} bytes")
        for name, keys in (("cursor key at rest, with the detail", [DOWN] * 12), ("view", [*b"23456702345670234"])):
            sizes = []
            for key in keys:
                line.type(key if isinstance(key, bytes) else bytes([key]))
                sizes.append(len(line.carry(0.6)))
            median = statistics.median(sizes)
            print(f"{name}: median {median:,.0f} ({median / whole:.2f} of the screen), most {max(sizes):,}")
    finally:
        line.close()


def measure_lag(store: Path, rate: float) -> None:
    """Print how late the last frame is on a slow line."""
    line = Line(store, rate)
    try:
        line.carry(12)
        for _ in range(TIMES):
            line.hold(DOWN, HELD_S)
            released = time.monotonic()
            line.carry(8)
            print(
                f"held for {HELD_S:.0f} s: the last frame is drawn {line.drawn_at - released:.2f} s after the release"
            )
    finally:
        line.close()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("store", type=Path)
    options.add_argument("--rate", type=float, default=9_600.0, help="bytes a second")
    arguments = options.parse_args()
    measure_bytes(arguments.store)
    measure_lag(arguments.store, arguments.rate)


if __name__ == "__main__":
    main()
