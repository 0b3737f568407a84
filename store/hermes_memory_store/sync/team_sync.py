"""The store's side of team sync: what is to be sent, what was received, what stands here, and who this store is in its team.

No network: a syncer calls `outbox.pending_rows`, sends, calls `outbox.acknowledge` or `outbox.mark_rejected`, pulls, and passes
the rows to `inbox.apply`.
"""

from __future__ import annotations

import uuid

from hermes_memory_store import errors
from hermes_memory_store.clock import Clock
from hermes_memory_store.database.db import Db
from hermes_memory_store.intake.intake import Intake
from hermes_memory_store.items.journal import Journal
from hermes_memory_store.items.name_keys import Names, to_theme_name
from hermes_memory_store.memory.tiers import Tiers
from hermes_memory_store.model import Uid
from hermes_memory_store.sync.conflicts import Standing
from hermes_memory_store.sync.standing import mask_stored_versions
from hermes_memory_store.sync.team_inbox import TeamInbox
from hermes_memory_store.sync.team_outbox import TeamOutbox
from hermes_memory_store.sync.tracking import Tracking
from hermes_memory_store.sync.versions import (
    UNSENT_AHEAD,
    ensure_node,
    lower_sent_clocks,
    rename_unsent_versions,
    restamp_unsent_versions,
)
from hermes_memory_store.upkeep.purge import Purge
from hermes_memory_themes import Policies, SyncCarrier

CLOCK_CHANGE_MS = 500
"""A change of the clocks' distance that is worth writing down."""

CLOCK_STEP_BACK_MS = 60_000
"""From where on a present that is earlier than the one before is worth looking for versions that were stamped meanwhile."""

TEAM_NAMES = "SELECT name, team_name FROM sync_themes JOIN themes ON themes.id = theme_id WHERE team_name IS NOT NULL"

SET_TEAM_NAME = """
    UPDATE sync_themes SET team_name = nullif(?, (SELECT name FROM themes WHERE id = theme_id)) WHERE theme_id = ?
"""

TAKE_LEASE = """
    UPDATE sync_store SET holder = ?1, held_until = ?2 + ?3, held_ms = ?3
    WHERE holder IS NULL OR holder = ?1 OR held_until <= ?2 OR held_until > ?2 + held_ms
"""
"""A lease that ends later than it may was made before the clock was set back."""

MASKED_TABLES = ("sync_rows", "sync_masked")


class Sync(Tracking):
    """This store among the others that share themes. Times of the server are milliseconds."""

    def __init__(
        self,
        db: Db,
        names: Names,
        journal: Journal,
        policies: Policies,
        clock: Clock,
        tiers: Tiers,
        purge: Purge,
        intake: Intake,
    ) -> None:
        super().__init__(db, names, journal, policies, clock, intake)
        self.outbox = TeamOutbox(self)
        """What is to be sent."""
        self.inbox = TeamInbox(self, tiers, purge)
        """What was received."""
        self.standing = Standing(self)
        """What stands here, and what does not."""
        self._purge = purge
        self._checked_at_ms: int | None = None
        """The highest present at which no version that had been sent ran ahead of it, as far as this process knows."""

    def renew_node(self) -> Uid:
        """Take a new name: this store is a copy of one that continues by itself. Unsent versions are restamped."""
        with self.db.write_transaction() as conn:
            ensure_node(conn)
            conn.execute("UPDATE sync_store SET node = ?", (uuid.uuid4().bytes,))
            rename_unsent_versions(conn, self.clock())
        return self.node

    def team_names(self) -> dict[str, str]:
        """Return the names that themes have in the team's database, of those that have another one there."""
        return dict(self.db.rows(TEAM_NAMES))

    def set_team_name(self, theme: str, name: str) -> None:
        """Set the name that a theme has in the team's database. Here it keeps its own; what was exchanged is offered anew."""
        theme_id = self.track(theme)
        with self.db.write_transaction() as conn:
            conn.execute(SET_TEAM_NAME, (to_theme_name(name), theme_id))
            if self.inbox.cursor(theme).seq:
                self.outbox.mark_all_unsent(theme)

    def rename_in_team(self, theme: str, name: str) -> str:
        """Choose the name under which a theme is exchanged with the team's database; return its normal form.

        :raises ArgumentError: it is not exchanged that way, was exchanged under a name already, or another theme has that one
        """
        name = to_theme_name(name)
        shared, names = self.themes(SyncCarrier.DATABASE), self.team_names()
        if theme not in shared:
            raise errors.ArgumentError(
                f"theme {theme} is not exchanged with a team database: see memory-themes.toml", theme
            )
        if self.inbox.cursor(theme).seq:
            raise errors.ArgumentError(
                f"theme {theme} is exchanged as {names.get(theme, theme)} already, and stays it", theme
            )
        if name in {names.get(other, other) for other in shared if other != theme}:
            raise errors.ArgumentError(f"another theme of this machine is exchanged as {name}", name)
        self.set_team_name(theme, name)
        return name

    def note_server_time(self, server_ms: int) -> int:
        """Note the server's time; return how many milliseconds it is ahead of this machine's clock."""
        ahead = server_ms - self.clock()
        if abs(ahead - (self.db.value("SELECT ahead_ms FROM sync_store") or 0)) >= CLOCK_CHANGE_MS:
            with self.db.write_transaction() as conn:
                ensure_node(conn)
                conn.execute("UPDATE sync_store SET ahead_ms = ?", (ahead,))
        return ahead

    def restamp_future(self) -> int:
        """Restamp versions stamped further ahead than the server accepts; return how many.

        `note_server_time` comes first: a stamp is only lowered by a time that the server has reported just now. Pending
        versions get a stamp of the present, above the versions they were made from. Versions sent while a clock ran
        ahead are lowered and sent again; nothing is lowered that either of the two clocks allows.
        """
        with self.db.snapshot() as conn:
            clocks = self.clocks(conn)
            unsent = conn.execute(f"{UNSENT_AHEAD} LIMIT 1", (clocks.acceptable,)).fetchone()
        present_ms = max(clocks.own_ms, clocks.server_ms)
        went_back = self._checked_at_ms is None or present_ms < self._checked_at_ms - CLOCK_STEP_BACK_MS
        count = 0
        if went_back or unsent is not None:
            with self.db.write_transaction() as conn:
                self.stamp(conn)
                count = lower_sent_clocks(conn, clocks, self.find_folder_themes(conn)) if went_back else 0
                count += restamp_unsent_versions(conn, clocks, self.find_folder_themes(conn))
        self._checked_at_ms = present_ms if went_back else max(present_ms, self._checked_at_ms or 0)
        return count

    def try_lease(self, holder: str, ttl_ms: int) -> bool:
        """Become, or remain, the only syncer of this store for that long."""
        with self.db.write_transaction() as conn:
            ensure_node(conn)
            return conn.execute(TAKE_LEASE, (holder, self.clock(), ttl_ms)).rowcount == 1

    def release_lease(self, holder: str) -> None:
        """Release the lease, so that another syncer may begin at once."""
        with self.db.write_transaction() as conn:
            conn.execute("UPDATE sync_store SET holder = NULL, held_until = 0 WHERE holder = ?", (holder,))

    def mask_stored(self) -> tuple[str, ...]:
        """Take the clear texts out that earlier versions stored; return the copies of the store that still hold them."""
        with self.db.snapshot() as conn:
            if not mask_stored_versions(conn, MASKED_TABLES, is_trial=True):
                return ()
        self._purge.finish(())  # the copies first: who is cut off finds the store as it was, and begins again
        with self.db.write_transaction() as conn:
            mask_stored_versions(conn, MASKED_TABLES)
        return self._purge.finish(())
