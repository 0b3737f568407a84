"""The background sync with the team database.

The database announces changes there, once a second of each theme; whoever was told asks again until nothing more has come. So
a change reaches the other machine within two seconds. Behind a pooler, or where the database is let sleep, it is asked
in one round trip: once a second, and more seldom the longer nothing moves.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from hermes_memory_bridge.team.database.team_server import TeamServer
from hermes_memory_bridge.team.database.team_states import NOT_NAMED, TeamError
from hermes_memory_bridge.team.sync_comparison import JournalReport
from hermes_memory_bridge.team.sync_loop import SyncLoop
from hermes_memory_bridge.team.sync_outcome import ProgressCallback, SyncOutcome
from hermes_memory_bridge.team.sync_run import SyncRun
from hermes_memory_store.model import Uid
from hermes_memory_store.store import Store
from hermes_memory_store.sync.wire_format import PURGED, SyncRow
from hermes_memory_themes import SyncCarrier
from hermes_memory_themes.team_settings import TeamSettings

POLL_S = 1.0
"""How often to ask the database whether something was written elsewhere."""

TURN_STATES = "SELECT * FROM hm.list_turn_states(%s)"

POLL_LISTENING_S = 5.0
"""The same, where the database says so itself."""

ASK_AGAIN_S = 1.5
"""How long after a change the database is asked whether more came: it announces nothing more of the theme for a second, and a
push may have been under way then."""

ASLEEP_S = 600.0
"""After how many seconds without a change no connection is held, where the database is let sleep."""

QUIET_POLLS = ((3_600.0, 60.0), (ASLEEP_S, 15.0))
"""After how many seconds without a change the database is asked how seldom: a thousand idle machines behind a pooler would cost a
core, and none would let a serverless database sleep. What is written here is sent at once all the same."""


def choose_poll_interval(quiet_s: float, least_s: float) -> float:
    """Return how often the database is asked after so many seconds in which nothing was sent or received."""
    return next((max(wait_s, least_s) for after_s, wait_s in QUIET_POLLS if quiet_s >= after_s), least_s)


class Syncer(SyncLoop[TeamServer]):
    """Keep a store and a team database in sync."""

    carrier = SyncCarrier.DATABASE
    words = "team database"

    def __init__(
        self, path: str | Path, find: Callable[[], str | None], *, poll_s: float = POLL_S, **settings: Any
    ) -> None:
        """:param find: returns the DSN, anew for each connection, so that a changed one is noticed
        :param settings: those of `SyncLoop`
        """
        super().__init__(path, **settings)
        self.find = find
        self.poll_s = poll_s
        self._moved_at = time.monotonic()
        self._ask_again_at: float | None = None
        """When to ask whether more came, where that may not be announced."""
        self._settings = TeamSettings()
        self._idle = self._settings.idle
        """What the connection was made for."""
        self._collected: int | None = None
        self._warning: str | None = None
        self._run: SyncRun | None = None

    def status(self) -> dict[str, Any]:
        return {
            **super().status(),
            "collected": self._collected,
            "warning": self._warning,
            "idle": self._settings.idle,
            "asleep": self.is_asleep,
        }

    def connect_carrier(self) -> TeamServer:
        """Connect. :raises TeamError: the database cannot be used now"""
        dsn = self.find()
        if not dsn:
            raise TeamError(NOT_NAMED)
        self._settings = self._reopen_store().policies.team_settings()
        self._idle = self._settings.idle
        return TeamServer(dsn, listen=self._idle == "listen")

    def begin_run(self, store: Store, on_progress: ProgressCallback) -> SyncRun:
        """Return the sync of a store that was opened anew."""
        self._run = SyncRun(store, on_progress=on_progress)
        return self._run

    @property
    def is_asleep(self) -> bool:
        """Check whether nothing moved for so long that the database is let sleep."""
        return self._settings.idle == "sleep" and time.monotonic() - self._moved_at >= ASLEEP_S

    def has_to_disconnect(self) -> bool:
        """Check whether the database is let sleep, or the connection was made for another setting."""
        return self.is_asleep or self._idle != self._settings.idle

    def poll_interval(self) -> float:
        """Return how often the database is asked for changes, in seconds."""
        least_s = self.poll_s
        if self._server is not None and self._server.listening:
            least_s = max(least_s, POLL_LISTENING_S)
        elif self.is_asleep:
            least_s = max(least_s, self._settings.sleep_s)
        return choose_poll_interval(time.monotonic() - self._moved_at, least_s)

    def next_wait(self) -> float:
        """Return how long to wait for a change this time, in seconds: shortly after one, more may have come."""
        listening = self._server is not None and self._server.listening
        if self._ask_again_at is None or not listening:
            return self.poll_interval()
        return max(0.0, self._ask_again_at - time.monotonic())

    def note_outcome(self, server: TeamServer, outcome: SyncOutcome, *, is_by_turn: bool) -> None:
        """Note what the database said of itself, and whether it tells of changes."""
        self._collected, self._warning = server.collected, server.warning
        self._settings = self._reopen_store().policies.team_settings()
        done = outcome.themes.values()
        if not outcome.idle:
            self._moved_at = time.monotonic()
        moved = any(one.pulled for one in done) and not any(one.pushed for one in done)
        if moved and is_by_turn and self._ask_again_at is None:
            server.listening = False  # it did not tell of that: ask every second
        again = not (is_by_turn and outcome.idle)
        self._ask_again_at = time.monotonic() + ASK_AGAIN_S if again else None

    def fetch_digests(
        self, theme: str, wanted: Collection[str]
    ) -> tuple[dict[str, str], dict[str, tuple[int, SyncRow]]]:
        """Return the digest of each row the database has of a theme, and the wanted rows with their sequence numbers."""
        assert self._server is not None
        assert self._run is not None
        digests: dict[str, str] = {}
        rows: dict[str, tuple[int, SyncRow]] = {}
        after, more = 0, not self._run.is_kept_apart(theme)
        while more:
            page = self._server.pull(theme, after)
            digests.update({row.uid: row.digest for _, row in page.rows})
            rows.update({row.uid: (seq, row) for seq, row in page.rows if row.uid in wanted})
            after, more = page.cursor.seq, page.more
            self._look_up()
        return digests, rows

    def compare_journal(self) -> JournalReport | None:
        """Compare this machine's journal with what the database knows of it."""
        assert self._server is not None
        assert self._run is not None
        return self._run.heads.compare(self._server)

    def fetch_turn_states(self, theme: str) -> dict[Uid, bool]:
        """Return whether each turn that the database has of a theme was erased."""
        assert self._server is not None
        assert self._run is not None
        if self._run.is_kept_apart(theme):
            return {}
        named = (self._server.to_name(theme),)
        return {Uid(uid): state == PURGED for uid, state in self._server.rows(TURN_STATES, named)}
