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

REST_S = 0.06
"""So long after a key the cursor rests, unless it is known sooner."""

HELD_S = 0.1
"""A key that comes sooner after the one before is held: keyboards repeat every 25 to 50 ms."""

LATE = 1.15
"""How much later than those before the next one of a held key may come. The line may carry keys unevenly."""

SOONEST_S = 0.03
"""How late it may be at least."""

GAPS = 8
"""Times between keys that are remembered."""

LONG_FRAME_S = 0.16
"""A frame that takes the line longer is not sent while keys are held: the last one would have to wait for it."""

IDLE_PART = 0.7
"""The part of the time that a slow line is left idle while keys are held, so that the last frame mostly finds it free."""

SELDOM_S = 0.6
"""The longest time between frames while keys are held, whatever the line seems to need."""

BRIEF_S = 0.02
"""A frame that takes the line so long makes no other wait that anybody would notice."""

SLOW = 8_000.0
"""Bytes a second below which a line is slow."""

MOST_BURSTS = 8
"""How often in a row a line must seem slow: whatever else it is late for makes it seem so, the more the less it carried."""

TELLING = 200
"""Bytes of which a quick answer says that the line is not slow."""

QUEUED_S = 0.5
"""What may wait on the line, in seconds that it takes, when no key is held and so nothing newer is expected."""

QUICK_S = 0.02
"""An answer that is late by less says only that the line is fast."""

MOST_UNASKED = 12_000
"""Bytes that may be on the line before anything is answered, two screens."""

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
        self._sent: deque[tuple[float, int]] = deque()
        # When each frame was sent that is not answered, and its size.
        self._on_line = 0
        self._unasked = 0
        """What was sent before anything was answered: it may be on the line before the first frame that is."""
        self.question = ""
        """What a frame ends with; empty while nothing has been answered."""
        self._lost = 0
        self._round_trip_s: float | None = None
        self._rate: float | None = None
        self._answered_at = 0.0
        self._burst, self._burst_at = 0, 0.0
        """What the line carried without a pause, and since when."""
        self._bursts: deque[tuple[int, float]] = deque(maxlen=MOST_BURSTS)
        self._pause_until = 0.0
        self._free_at = 0.0
        """When the line has carried all that was sent, as far as is known, and was idle for its part of the time."""
        self._last_key_at = 0.0
        self._gaps: deque[float] = deque(maxlen=GAPS)

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
        now = self._clock()
        if now - self._last_key_at < HELD_S:
            self._gaps.append(now - self._last_key_at)
        else:
            self._gaps.clear()
        self._last_key_at = now

    @property
    def rest_s(self) -> float:
        """Seconds after the last key after which the cursor rests, as fast as keys come."""
        return min(self._repeat_s, REST_S) if self._gaps else REST_S

    @property
    def held_s(self) -> float:
        """Seconds until the last key was not held, if none follows; 0 when none is held."""
        return max(0.0, self._last_key_at + self._repeat_s - self._clock()) if self._gaps else 0.0

    @property
    def _repeat_s(self) -> float:
        return max(SOONEST_S, max(self._gaps) * LATE)

    @property
    def is_slow(self) -> bool:
        """Whether the line is known to be slow."""
        return self._rate is not None and self._rate < SLOW

    @property
    def most(self) -> int | None:
        """Characters that the next frame may have, because a key is held and the line is slow; None for any number."""
        return int(self._rate * LONG_FRAME_S) if self._rate is not None and self.is_slow and self.held_s else None

    def ask_first(self) -> str:
        """Return the question that finds out whether the terminal answers; before anything else is sent."""
        self._sent.append((self._clock(), 0))
        return ASK_CURSOR

    def send(self, size: int) -> None:
        """Note that a frame goes out, with a question if there is one."""
        now = self._clock()
        if not self.question:
            self._unasked = min(self._unasked + size, MOST_UNASKED)
            if self._is_remote:
                self._pause_until = now + min(size / SLOWEST, LONGEST_PAUSE_S)
            return
        takes_s = size / self._rate if self._rate is not None and self.is_slow else 0.0
        idle_s = takes_s * IDLE_PART / (1 - IDLE_PART) if takes_s > BRIEF_S else 0.0
        self._free_at = min(max(self._free_at, now) + takes_s + idle_s, now + SELDOM_S)
        self._on_line += size
        self._sent.append((now, size))

    def answer(self, question: str) -> None:
        """Note that the terminal has drawn the oldest frame on the line, as its answer to a question says."""
        now = self._clock()
        if not self.question or question == ASK_CURSOR != self.question:
            if self._sent and self._round_trip_s is None:
                self._round_trip_s = now - self._sent[0][0]
            self.question = question
            self._sent.clear()
            self._on_line = 0
        if question != self.question:
            return
        self._lost = 0
        if not self._sent:
            return
        at, size = self._sent.popleft()
        self._on_line -= size
        if self._round_trip_s is None or now - at < self._round_trip_s:
            self._round_trip_s = now - at
        previous_at, self._answered_at = self._answered_at, now
        if self._unasked:
            self._unasked = 0
            return
        if at + self._round_trip_s >= previous_at:
            self._burst, self._burst_at = 0, at + self._round_trip_s
        self._burst += size
        took_s = now - self._burst_at
        if took_s > QUICK_S or self._burst >= TELLING:
            self._bursts.append((self._burst, self._burst / max(took_s, QUICK_S)))
            longest = max(size for size, _ in self._bursts)
            self._rate = max(rate for size, rate in self._bursts if size >= longest / 2)

    def wait_s(self) -> float:
        """Return how long the next frame must wait if nothing is answered meanwhile; 0 when it may go."""
        now = self._clock()
        if not self.question:
            return max(0.0, self._pause_until - now)
        held_s, rate = self.held_s, self._rate or 0.0
        if not self._sent or self._on_line <= rate * ((self._round_trip_s or 0.0) + (0.0 if held_s else QUEUED_S)):
            return min(max(0.0, self._free_at - now), held_s)
        rest = self._sent[0][0] + PATIENCE_S + (self._unasked + self._on_line) / max(rate, SLOWEST) - now
        if rest <= 0:
            self._give_up_waiting()
        return max(0.0, min(rest, held_s) if held_s else rest)

    def _give_up_waiting(self) -> None:
        # Once may be a line that hung. A terminal that has changed, as another client of tmux, may answer no more.
        self._sent.clear()
        self._on_line = self._unasked = 0
        self._lost += 1
        if self._lost > 1:
            self.question = ""
