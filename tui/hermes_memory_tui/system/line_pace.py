"""`LinePace`: when the next frame may be sent, so that none waits behind others on the line.

Over ssh the system takes in megabytes that the line delivers a minute later: held keys would be seen to move long
after they were released. So the terminal is asked after each frame where its cursor is, and it answers when it has
drawn the frame. Frames are drawn meanwhile, but only the latest is sent.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

ASK_CURSOR = "\x1b[6n"
"""Asks where the cursor is (CPR); nearly every terminal answers."""

ASK_MODE = "\x1b[?2026$p"
"""Asks whether frames are synchronised (DECRQM), for a terminal that answers only this, which Textual asks, too."""

PATIENCE_S = 2.0
"""An answer that takes longer, beside what the line needs for the bytes, is lost."""

SLOWEST = 2_400.0
"""Bytes a second of a line whose speed is not known."""

HELD_S = 0.08
"""A key so soon after the one before is held; keyboards repeat every 25 to 50 ms."""

LONG_FRAME_S = 0.25
"""A frame that takes the line longer is sent seldom while keys are held: the last one would have to wait for it."""

SELDOM_S = 1.5
"""How often a long frame is sent while keys are held."""

LONGEST_PAUSE_S = 0.25
"""The longest wait between frames on a line that answers nothing."""


class LinePace:
    """What is on the line, and how fast it goes. All times are in seconds, all sizes in bytes."""

    def __init__(self, *, is_remote: bool, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin with a line of which nothing is known.

        :param is_remote: whether frames are held back when nothing is ever answered
        """
        self._is_remote = is_remote
        self._clock = clock
        self._sent: deque[tuple[float, int, int]] = deque()
        # When it was sent, its size, and what was on the line with it.
        self._on_line = 0
        self.question = ""
        """What a frame ends with; empty while nothing has been answered."""
        self._lost = 0
        self._round_trip_s: float | None = None
        self._rate: float | None = None
        self._pause_until = 0.0
        self._last_key_at = 0.0
        self._last_sent_at = 0.0
        self._last_size = 0

    @property
    def is_asking(self) -> bool:
        """Whether an answer is outstanding."""
        return bool(self.question and self._sent)

    @property
    def round_trip_s(self) -> float | None:
        """The quickest answer so far; None while nothing has been answered."""
        return self._round_trip_s

    def press(self) -> None:
        """Note that a key was pressed."""
        self._last_key_at = self._clock()

    def ask_first(self) -> str:
        """Return the question that finds out whether the terminal answers; before anything else is sent."""
        self._sent.append((self._clock(), 0, 0))
        return ASK_CURSOR

    def send(self, size: int) -> None:
        """Note that a frame goes out, with a question if there is one."""
        now = self._clock()
        self._last_sent_at, self._last_size = now, size
        if self.question:
            self._on_line += size
            self._sent.append((now, size, self._on_line))
        elif self._is_remote:
            self._pause_until = now + min(size / SLOWEST, LONGEST_PAUSE_S)

    def answer(self, question: str) -> None:
        """Note that the terminal has drawn the oldest frame on the line, as its answer to a question says."""
        if not self.question or question == ASK_CURSOR != self.question:
            self.question = question
            self._sent.clear()
            self._on_line = 0
        if question != self.question:
            return
        self._lost = 0
        if not self._sent:
            return
        at, size, on_line = self._sent.popleft()
        took_s = self._clock() - at
        if self._round_trip_s is None or took_s < self._round_trip_s:
            self._round_trip_s = took_s
        elif took_s - self._round_trip_s > 0.02:
            self._rate = on_line / (took_s - self._round_trip_s)
        self._on_line -= size

    def wait_s(self) -> float:
        """Return how long the next frame must wait if nothing is answered meanwhile; 0 when it may go."""
        now = self._clock()
        if not self.question:
            return max(0.0, self._pause_until - now)
        if not self._sent or self._on_line <= (self._rate or 0.0) * (self._round_trip_s or 0.0):
            return max(0.0, self._held_until() - now)
        rest = self._sent[0][0] + PATIENCE_S + self._on_line / SLOWEST - now
        if rest <= 0:
            self._give_up_waiting()
        return max(0.0, rest)

    def _held_until(self) -> float:
        """Return when a long frame may go at the earliest."""
        if self._rate is None or self._last_size / self._rate <= LONG_FRAME_S:
            return 0.0
        return min(self._last_key_at + HELD_S, self._last_sent_at + SELDOM_S)

    def _give_up_waiting(self) -> None:
        # Once may be a line that hung. A terminal that has changed, as another client of tmux, may answer no more.
        self._sent.clear()
        self._on_line = 0
        self._lost += 1
        if self._lost > 1:
            self.question = ""
