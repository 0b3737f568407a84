"""`Terminal`: the driver of a real terminal, which does not outlive it.

Textual's own hands its output to a thread through a short queue. When the terminal goes away that thread dies of the first
write, and the main thread waits for ever for room in the queue: no signal is heard any more.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import threading
from queue import Empty, Full, Queue

from textual.drivers.linux_driver import LinuxDriver

MOST_QUEUED = 30
"""Pieces of output that may wait for the terminal."""

LOOK_S = 0.5
"""How often to look whether the terminal is still there, and whether whoever waits for it still should."""


class Terminal(LinuxDriver):
    """As Textual's, with an output that can be given up. A terminal that has gone counts as SIGHUP."""

    _output: Output | None = None

    def start_application_mode(self) -> None:
        assert sys.__stderr__ is not None  # which is drawn on
        self._output = Output(sys.__stderr__.fileno(), sys.__stderr__.encoding)
        self._output.start()
        super().start_application_mode()  # type: ignore[no-untyped-call]  # Textual left its type out

    def write(self, data: str) -> None:
        if self._output is not None:
            self._output.write(data)

    def run_input_thread(self) -> None:
        try:
            super().run_input_thread()
        except OSError:
            self.give_up()

    def close(self) -> None:
        super().close()
        if self._output is not None:
            self._output.stop()
            self._output = None

    def give_up(self) -> None:
        """Write nothing any more, and wait for nothing that was to be written. May be called from any thread."""
        output = self._output
        if output is not None:
            output.lost.set()


class Output(threading.Thread):
    """Writes to the terminal, and looks whether it is still there."""

    def __init__(self, handle: int, encoding: str) -> None:
        super().__init__(daemon=True, name="terminal-output")
        self.lost = threading.Event()
        """Whether nobody takes what is written."""
        self._handle = handle
        self._encoding = encoding
        self._queue: Queue[str | None] = Queue(MOST_QUEUED)

    def write(self, text: str | None) -> None:
        """Hand over a piece; it waits while many are on their way."""
        while not self.lost.is_set():
            try:
                self._queue.put(text, timeout=LOOK_S)
            except Full:
                continue
            return

    def stop(self) -> None:
        """Wait until everything is written, unless nobody takes it."""
        self.write(None)
        while self.is_alive() and not self.lost.is_set():
            self.join(LOOK_S)

    def run(self) -> None:
        try:
            while not self.lost.is_set():
                pieces = self._waiting()
                self._write("".join(piece for piece in pieces if piece is not None))
                if None in pieces:
                    return
        except (OSError, termios.error):
            self.lost.set()
            os.kill(os.getpid(), signal.SIGHUP)

    def _waiting(self) -> list[str | None]:
        """The pieces that wait, at least one; none when nothing came for a while."""
        try:
            pieces = [self._queue.get(timeout=LOOK_S)]
        except Empty:
            termios.tcgetattr(self._handle)  # refused once the terminal has gone
            return []
        while pieces[-1] is not None and not self._queue.empty():
            pieces.append(self._queue.get())
        return pieces

    def _write(self, text: str) -> None:
        # To the system itself: a file would be locked by a write that never ends when the interpreter wants to flush it.
        rest = text.encode(self._encoding, "backslashreplace")
        while rest and not self.lost.is_set():
            try:
                rest = rest[os.write(self._handle, rest) :]
            except BlockingIOError:  # another program that shares the terminal made it so
                select.select([], [self._handle], [], LOOK_S)
