"""`TerminalWriter`: the thread that writes to the terminal, and watches whether it is still there.

Textual's own is fed through a bounded queue. When the terminal is lost, that thread dies at the first write, and the
main thread waits forever for room in the queue: signals are no longer handled. It also sends every frame, however far
behind the line is.
"""

from __future__ import annotations

import os
import select
import signal
import termios
import threading
import time
from collections import deque
from collections.abc import Callable

from hermes_memory_tui.system.line_pace import LinePace
from hermes_memory_tui.system.screen_cells import ScreenCells

LOOK_S = 0.5
"""How often to look whether the terminal is still there, and whether whoever waits for it still should."""

MOST_QUEUED = 30
"""Pieces of output, besides the frames, that may wait for the terminal."""

LAST_ANSWER_S = 0.7
"""How long the end waits for an answer that is under way: the shell would take it for something typed."""

SYNC = "\x1b[?2026h", "\x1b[?2026l"
"""Around a frame, for a terminal that shows it all at once."""


class TerminalWriter:
    """Writes pieces in their order, and between them the latest frame.

    It has a thread and is none: each Python adds names of its own to `Thread`.
    """

    def __init__(
        self,
        handle: int,
        encoding: str,
        cells: ScreenCells,
        pace: LinePace,
        on_failure: Callable[[Exception], object],
    ) -> None:
        """Write to an open terminal.

        :param on_failure: called in this thread with what is wrong in the program
        """
        self._thread = threading.Thread(target=self._run, name="terminal-output", daemon=True)
        self.lost = threading.Event()
        """Whether nobody takes what is written."""
        self.is_synchronised = False
        """Whether the terminal takes a frame as one."""
        self._handle = handle
        self._encoding = encoding
        self._cells = cells
        self._pace = pace
        self._on_failure = on_failure
        self._changed = threading.Condition()
        self._pieces: deque[str] = deque()
        self._is_drawing = False
        self._has_frame = False
        self._is_cut = False
        """Whether all that is new of the latest frame is sent but what waits until no key is held."""
        self._is_writing = False
        self._ends = False

    def start(self) -> None:
        self._thread.start()

    def write(self, text: str) -> None:
        """Queue a piece of output; waits while the queue is full."""
        with self._changed:
            while len(self._pieces) >= MOST_QUEUED and not self.lost.is_set():
                self._changed.wait(LOOK_S)
            self._pieces.append(text)
            self._changed.notify_all()

    def ask(self) -> None:
        """Find out whether the terminal answers."""
        with self._changed:
            self._pieces.append(self._pace.ask_first())
            self._changed.notify_all()

    def start_drawing(self) -> None:
        """Send frames from now on, the first as a whole; what was written before comes before."""
        with self._changed:
            self._cells.forget_shown()
            self._is_drawing = self._has_frame = True
            self._is_cut = False
            self._changed.notify_all()

    def stop_drawing(self) -> None:
        """Send no more frames, and wait for one that is being written and for the answer to it."""
        until = time.monotonic() + LAST_ANSWER_S
        with self._changed:
            self._is_drawing = False
            while (self._is_writing or self._pace.is_asking) and not self.lost.is_set():
                if (rest_s := until - time.monotonic()) <= 0:
                    return
                self._changed.wait(rest_s)

    def show(self) -> None:
        """Send what the cells hold, as soon as the line takes it."""
        with self._changed:
            self._has_frame, self._is_cut = True, False
            # One that may go at once is made here: the thread would first have to wait for the app to rest.
            if not (self._is_writing or self._pieces) and self._frame_wait_s() == 0 and (frame := self._frame()):
                self._pieces.append(frame)
            self._changed.notify_all()

    @property
    def round_trip_s(self) -> float | None:
        """Seconds until the terminal answers at the soonest; None while nothing has been answered."""
        with self._changed:
            return self._pace.round_trip_s

    @property
    def rest_s(self) -> float:
        """Seconds after the last key after which none is held."""
        with self._changed:
            return self._pace.rest_s

    @property
    def holds_back(self) -> bool:
        """Whether little more than the chosen line of a list is sent: a key is held, and the line is slow."""
        with self._changed:
            return self._pace.most is not None

    def press(self) -> None:
        """Note that a key was pressed."""
        with self._changed:
            self._pace.press()

    def answer(self, question: str) -> None:
        """Note that the terminal has answered."""
        with self._changed:
            self._pace.answer(question)
            self._changed.notify_all()

    def stop(self) -> None:
        """Wait until everything is written, unless nobody reads it."""
        with self._changed:
            self._ends = True
            self._changed.notify_all()
        while self._thread.is_alive() and not self.lost.is_set():
            self._thread.join(LOOK_S)

    def _run(self) -> None:
        try:
            while not self.lost.is_set():
                text, ends = self._next()
                self._write(text)
                if ends:
                    return
        except (OSError, termios.error):
            self.lost.set()
            os.kill(os.getpid(), signal.SIGHUP)
        except Exception as error:
            self.lost.set()
            self._on_failure(error)

    def _next(self) -> tuple[str, bool]:
        """Return what is to be written, at the latest after a while, and whether it is the last."""
        with self._changed:
            self._is_writing = False
            self._changed.notify_all()
            wait_s = self._frame_wait_s()
            if not (self._pieces or self._ends or wait_s == 0):
                self._changed.wait(min(wait_s, LOOK_S))
                wait_s = self._frame_wait_s()
            text = "".join(self._pieces)
            self._pieces.clear()
            if wait_s == 0:
                text += self._frame()
            self._is_writing = bool(text)
            if not text:
                termios.tcgetattr(self._handle)  # refused once the terminal has gone
            return text, self._ends

    def _frame_wait_s(self) -> float:
        """Return how long the line needs until it can take a frame; 0 when one may go."""
        if not (self._is_drawing and self._has_frame):
            return LOOK_S
        return max(self._pace.wait_s(), self._pace.held_s if self._is_cut else 0.0)

    def _frame(self) -> str:
        is_slow = self._pace.is_slow
        frame = self._cells.take(self._pace.most, is_brief=is_slow)
        self._has_frame = self._is_cut = self._cells.is_behind
        if frame:
            # A frame that takes the line half a second is better seen as it comes.
            begin, end = SYNC if self.is_synchronised and not is_slow else ("", "")
            frame = begin + frame + end + self._pace.question
            self._pace.send(len(frame))
        return frame

    def _write(self, text: str) -> None:
        # To the system itself: a file would be locked by a write that never ends when the interpreter wants to flush it.
        rest = text.encode(self._encoding, "replace")
        while rest and not self.lost.is_set():
            try:
                rest = rest[os.write(self._handle, rest) :]
            except BlockingIOError:  # another program that shares the terminal made it so
                select.select([], [self._handle], [], LOOK_S)
