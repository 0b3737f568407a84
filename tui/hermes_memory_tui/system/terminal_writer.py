"""`TerminalWriter`: the thread that writes to the terminal, and watches whether it is still there.

Textual's own is fed through a bounded queue. When the terminal is lost, that thread dies at the first write, and the
main thread waits forever for room in the queue: signals are no longer handled.
"""

from __future__ import annotations

import os
import select
import signal
import termios
import threading
import time
from collections.abc import Callable

from rich.color import ColorSystem
from textual._compositor import CompositorUpdate

from hermes_memory_tui.system.screen_cells import ScreenCells

CHECK_INTERVAL_S = 0.5
"""How often to check whether the terminal is still there, and whether whoever waits for it still should."""

SSH_RATE = 12_000
"""Bytes of frames a second at most over ssh, which takes in megabytes that a slow line delivers a minute later."""

MAX_PAUSE_S = 0.25

SYNCHRONISED = "\x1b[?2026h", "\x1b[?2026l"
"""Around a frame, for a terminal that shows it all at once."""


class TerminalWriter:
    """Writes pieces in their order, and between them the latest frame.

    It has a thread and is none: each Python adds names of its own to `Thread`.
    """

    def __init__(
        self, handle: int, encoding: str, cells: ScreenCells, on_failure: Callable[[Exception], object]
    ) -> None:
        """Write to an open terminal. :param on_failure: called in this thread with what is wrong in the program"""
        self._thread = threading.Thread(target=self._run, name="terminal-output", daemon=True)
        self.lost = threading.Event()
        """Whether nobody takes what is written."""
        self.is_synchronised = False
        self._handle = handle
        self._encoding = encoding
        self._cells = cells
        self._on_failure = on_failure
        self._changed = threading.Condition()
        self._pieces: list[str] = []
        self._is_drawing = self._has_frame = self._is_ending = False
        self._next_frame_at = 0.0

    def start(self) -> None:
        self._thread.start()

    def write(self, text: str) -> None:
        with self._changed:
            self._pieces.append(text)
            self._changed.notify_all()

    def show(
        self, update: CompositorUpdate, size: tuple[int, int], cursor: tuple[int, int], colours: ColorSystem
    ) -> None:
        """Show what an update draws; what is drawn over before the terminal takes it is never sent."""
        with self._changed:
            self._cells.put(update, size, cursor, colours)
            self._has_frame = True
            self._changed.notify_all()

    def redraw(self) -> None:
        """Send the whole screen, and frames from now on; what was written before comes before."""
        with self._changed:
            self._cells.forget_shown()
            self._is_drawing = self._has_frame = True
            self._changed.notify_all()

    def stop_drawing(self) -> None:
        with self._changed:
            self._is_drawing = False

    def stop(self) -> None:
        """Wait until everything is written, unless nobody reads it."""
        with self._changed:
            self._is_ending = True
            self._changed.notify_all()
        while self._thread.is_alive() and not self.lost.is_set():
            self._thread.join(CHECK_INTERVAL_S)

    def _run(self) -> None:
        try:
            while not self.lost.is_set():
                with self._changed:
                    if not (self._pieces or self._is_ending) and (wait_s := self._frame_wait_s):
                        self._changed.wait(wait_s)
                    text, is_last = self._take_text(), self._is_ending
                if not text:
                    termios.tcgetattr(self._handle)  # refused once the terminal has gone
                self._write(text)
                if is_last:
                    return
        except (OSError, termios.error):
            self.lost.set()
            os.kill(os.getpid(), signal.SIGHUP)
        except Exception as error:
            self.lost.set()
            self._on_failure(error)

    @property
    def _frame_wait_s(self) -> float:
        """Seconds until a frame may go; not before something changes when there is none."""
        if not (self._is_drawing and self._has_frame):
            return CHECK_INTERVAL_S
        return max(0.0, self._next_frame_at - time.monotonic())

    def _take_text(self) -> str:
        text = "".join(self._pieces)
        self._pieces.clear()
        if self._frame_wait_s == 0:
            self._has_frame = False
            if frame := self._cells.take():
                text += frame.join(SYNCHRONISED) if self.is_synchronised else frame
                if "SSH_CONNECTION" in os.environ:
                    self._next_frame_at = time.monotonic() + min(len(frame) / SSH_RATE, MAX_PAUSE_S)
        return text

    def _write(self, text: str) -> None:
        # To the system itself: a file would be locked by a write that never ends when the interpreter wants to flush it.
        rest = text.encode(self._encoding, "replace")
        while rest and not self.lost.is_set():
            try:
                rest = rest[os.write(self._handle, rest) :]
            except BlockingIOError:  # another program that shares the terminal made it so
                select.select([], [self._handle], [], CHECK_INTERVAL_S)
