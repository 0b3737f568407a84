"""Tracking: the themes whose writes get versions, and what every part of sync asks: clocks, secrets, how versions are shown."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from hermes_memory_store import errors, uids
from hermes_memory_store.clock import Clock
from hermes_memory_store.database.db import Db
from hermes_memory_store.database.schema import THEME_SHIFT
from hermes_memory_store.intake.intake import Intake
from hermes_memory_store.items.journal import Journal
from hermes_memory_store.items.name_keys import Names, to_theme_name
from hermes_memory_store.model import Uid
from hermes_memory_store.sync.apply import HeldRows, ShadowSettler
from hermes_memory_store.sync.content_checks import ContentCheck, IntakeCheck, check_versions
from hermes_memory_store.sync.hybrid_clock import PhysicalClocks
from hermes_memory_store.sync.standing import find_held
from hermes_memory_store.sync.team_origins import attach_authors, attach_origins
from hermes_memory_store.sync.versions import ensure_node, find_unversioned_things, physical_clocks, stamp_versions
from hermes_memory_store.sync.wire_format import (
    CheckedVersion,
    SyncRow,
    VersionPayload,
    canonical_text_digest,
    mask_row,
)
from hermes_memory_themes import Policies, SyncCarrier

ENROLLED_AT_ONCE = 2_000
"""Facts that get their first version in one transaction, so that others get their turn."""

HAS_SHADOW = "SELECT 1 FROM sync_rows WHERE theme_id = ? AND shadow IS NOT NULL LIMIT 1"

HAS_HELD = "SELECT 1 FROM sync_conflicts WHERE theme_id = ? AND why = 'ahead' LIMIT 1"

TRACKED = "SELECT theme_id, name FROM sync_themes JOIN themes ON themes.id = theme_id WHERE {where} ORDER BY name"

NOTE_CHANGED = "INSERT OR IGNORE INTO sync_changed"


class Tracking:
    """Track the themes whose policy says `sync`, and stamp what is changed in them."""

    def __init__(
        self, db: Db, names: Names, journal: Journal, policies: Policies, clock: Clock, intake: Intake
    ) -> None:
        self.db = db
        self.names = names
        self.journal = journal
        self.policies = policies
        self.clock = clock
        self.content_check: ContentCheck = IntakeCheck(intake)
        """What checks versions from other machines before they are shown."""

    @property
    def node(self) -> Uid:
        """Return the name of this store among the others."""
        node = self.db.value("SELECT node FROM sync_store")
        if node is None:
            with self.db.write_transaction() as conn:
                node = ensure_node(conn)
        return uids.format_uid(node)

    def themes(self, carrier: SyncCarrier | None = None) -> list[str]:
        """Return the themes whose policy says sync, by name. Tracks their writes from the first call on.

        :param carrier: only those that are exchanged this way
        """
        names = {*self.names.all_themes(), *self.policies.theme_names()}
        carriers = {name: self.policies.for_theme(name).carrier for name in names}
        shared = sorted(name for name, by in carriers.items() if by is not None and carrier in (None, by))
        ready = {name for _, name in self.db.rows(TRACKED.format(where="ready = 1"))}
        for name in shared:
            if name not in ready and not self.db.read_only:
                self._enrol(name)
        return shared

    def track(self, theme: str) -> int:
        """Return the key of a theme; its writes are tracked from now on."""
        theme_id = self.names.theme_or_none(theme)
        is_ready = "SELECT 1 FROM sync_themes WHERE theme_id = ? AND ready = 1"
        if theme_id is not None and self.db.value(is_ready, (theme_id,)):
            return theme_id
        return self._enrol(theme)

    def find_tracked(self, conn: sqlite3.Connection, theme: str | None = None) -> list[tuple[int, str]]:
        """Return the keys and names of the tracked themes, or of one."""
        return conn.execute(TRACKED.format(where="?1 IS NULL OR name = ?1"), (theme,)).fetchall()

    def clocks(self, conn: sqlite3.Connection) -> PhysicalClocks:
        """Return this machine's clock, and the server's as far as it is known."""
        return physical_clocks(conn, self.clock())

    def find_folder_themes(self, conn: sqlite3.Connection) -> list[int]:
        """Return the keys of the themes that travel through a folder."""
        return [key for key, name in self.find_tracked(conn) if self.is_history(name)]

    def is_history(self, theme: str) -> bool:
        """Check whether old versions of a theme may come again: a folder keeps them, a database has what stands now."""
        return self.policies.for_theme(theme).carrier is SyncCarrier.FOLDER

    def stamp(self, conn: sqlite3.Connection) -> None:
        """Give what was noted as changed its versions, at the end of the transaction that changed it."""
        changed = "SELECT DISTINCT theme_id, name FROM sync_changed JOIN themes ON themes.id = theme_id"
        for theme_id, theme in conn.execute(changed).fetchall():
            touched = stamp_versions(conn, theme_id, theme, self.clock(), is_history=self.is_history(theme))
            if conn.execute(HAS_SHADOW, (theme_id,)).fetchone():
                self.settle(conn, theme_id, theme, touched)

    def settle(
        self,
        conn: sqlite3.Connection,
        theme_id: int,
        theme: str,
        touched: set[bytes],
        arrived: Mapping[bytes, VersionPayload] | None = None,
        rows: Iterable[SyncRow] = (),
    ) -> int:
        """Show what these facts affect; return how many conflicts that made. :param rows: that have just come"""
        settler = ShadowSettler(conn, self.names, self.journal, theme_id, theme, self.clock(), rows)
        settler.settle(touched, arrived)
        return settler.conflicts

    def find_unversioned(self) -> dict[int, list[bytes | str]]:
        """Find things that differ from their newest version without a pending one, by the key of their theme."""
        with self.db.snapshot() as conn:
            ready = conn.execute(TRACKED.format(where="ready = 1")).fetchall()
            by_theme = {theme_id: find_unversioned_things(conn, theme_id) for theme_id, _ in ready}
        return {theme_id: things for theme_id, things in by_theme.items() if things}

    def to_outgoing(self, conn: sqlite3.Connection, theme_id: int, rows: list[SyncRow], author: str) -> list[SyncRow]:
        """Return rows to send with their origins, and with whose they are where the carrier cannot say it."""
        rows = attach_origins(conn, self.names, theme_id, rows)
        return attach_authors(conn, theme_id, rows, author) if author else rows

    def reveal(self, row: SyncRow, checked: CheckedVersion) -> SyncRow | None:
        """Return a version with the secrets that are masked here; None where they are kept no more.

        Not inside a transaction: a keyring may take its time.
        """
        if checked.hidden_because is not None:
            return row if row.content_digest == checked.clear_digest else None
        if checked.masked_content is None:
            return row
        try:
            clear = self.content_check.reveal(row.theme, checked.masked_content)
        except errors.FileError:  # the vault does not answer now
            return None
        return replace(row, content=clear) if canonical_text_digest(clear) == checked.clear_digest else None

    def reveal_all(self, rows: Sequence[SyncRow], checked: Sequence[CheckedVersion]) -> list[SyncRow]:
        """Return those of these versions whose secrets are kept here."""
        return [row for row in map(self.reveal, rows, checked) if row is not None]

    def load_held(self, theme_id: int, theme: str, things: Collection[str]) -> HeldRows:
        """Return those of these things that have a held version, with the results of its content check, as `reveal` does."""
        if not self.db.value(HAS_HELD, (theme_id,)):
            return {}
        with self.db.snapshot() as conn:
            ahead = [version for version in find_held(conn, theme) if version.row.uid in things]
        clear = [self.reveal(version.row, version.checked) for version in ahead]
        rows = [row or version.row for row, version in zip(clear, ahead, strict=True)]
        checked = check_versions(self.db, self.names, self.content_check, theme_id, theme, rows)
        by_uid: dict[bytes, list[tuple[SyncRow, CheckedVersion]]] = {}
        for version, row, result in zip(ahead, clear, checked, strict=True):
            shown = (version.row, version.checked) if row is None else (mask_row(row, result), result)
            by_uid.setdefault(uids.parse_uid(version.row.uid), []).append(shown)
        return by_uid

    def _enrol(self, theme: str) -> int:
        """Track a theme, and give its existing content a first version, in many short transactions."""
        done = False
        while not done:
            with self.db.write_transaction() as conn:
                theme_id = self.names.theme_or_none(theme) or self.names.theme_for_writing(
                    conn, to_theme_name(theme), self.journal.now(conn)
                )
                conn.execute("INSERT OR IGNORE INTO sync_themes (theme_id) VALUES (?)", (theme_id,))
                done = enrol_some(conn, theme_id)
        return theme_id


def enrol_some(conn: sqlite3.Connection, theme_id: int) -> bool:
    """Note some of the existing content of a theme as changed; return whether that was the last of it."""
    (last,) = conn.execute("SELECT enrolled FROM sync_themes WHERE theme_id = ?", (theme_id,)).fetchone()
    facts = conn.execute(
        "SELECT id, uid FROM facts WHERE id > ? AND theme_id = ? ORDER BY id LIMIT ?",
        (max(last, theme_id << THEME_SHIFT), theme_id, ENROLLED_AT_ONCE),
    ).fetchall()
    conn.executemany(f"{NOTE_CHANGED} VALUES (?, ?)", [(theme_id, uid) for _, uid in facts])
    if len(facts) == ENROLLED_AT_ONCE:
        conn.execute("UPDATE sync_themes SET enrolled = ? WHERE theme_id = ?", (facts[-1][0], theme_id))
        return False
    conn.execute(f"{NOTE_CHANGED} SELECT theme_id, label FROM scopes WHERE label <> '' AND theme_id = ?", (theme_id,))
    conn.execute(f"{NOTE_CHANGED} SELECT theme_id, uid FROM tombstones WHERE theme_id = ?", (theme_id,))
    conn.execute("UPDATE sync_themes SET ready = 1 WHERE theme_id = ?", (theme_id,))
    return True
