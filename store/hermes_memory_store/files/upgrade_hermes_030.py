"""Upgrade of a hermes-memory 0.3.0 file, in place and without losing a row.

A verified backup is written beside the file first. The new store is built separately and then copied into the file
in one transaction, so that a crash at any step leaves either the old memory or the new one, whole. If a process of
hermes-memory writes meanwhile, the upgrade starts again with what it wrote.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from hermes_memory_store import errors
from hermes_memory_store.clock import Clock, system_clock
from hermes_memory_store.conversations.turn_rows import INSERT_SESSION
from hermes_memory_store.database import database_copies
from hermes_memory_store.database.database_copies import Progress
from hermes_memory_store.database.db import LOCK_TIMEOUT_S
from hermes_memory_store.database.schema import APPLICATION_ID
from hermes_memory_store.intake.intake import AdmittedText, SecretVault, to_listed_name, to_masked_name
from hermes_memory_store.items.batch_mutation import ASCII_LOWER, UnindexedMutation, defer_indexing
from hermes_memory_store.items.journal import JournalEntry
from hermes_memory_store.items.mutation import Mutation
from hermes_memory_store.items.name_keys import UNSCOPED, ScopeKey, to_theme_name
from hermes_memory_store.items.project_rows import write_place_choice
from hermes_memory_store.items.tier_columns import (
    COOLED_BY_CLOSING,
    COOLED_BY_PRESSURE,
    cold_columns,
    quarantined_columns,
    superseded_columns,
)
from hermes_memory_store.memory.sessions import HEARTBEAT_MS, LEASE_MS
from hermes_memory_store.model import (
    IMPORT,
    FactType,
    Notation,
    Origin,
    OrphanPolicy,
    ScopeStatus,
    SessionStatus,
    Tier,
    Way,
)
from hermes_memory_store.store import Store
from hermes_memory_store.system.filesystem import file_lock
from hermes_memory_store.upkeep import backup, hermes_030_file
from hermes_memory_store.upkeep.hermes_030_file import TYPES, Hermes030Fact, Hermes030Scope, hermes_030_uid
from hermes_memory_themes import Policies
from hermes_memory_themes.theme_identity import DEFAULT

BACKUP_REASON = "hermes-memory-0.3.0"
"""Part of the backup's name."""

BATCH = 1_000
"""Facts that one change of the journal holds."""

TRIES = 5
"""How often the upgrade begins again because somebody wrote meanwhile."""

TIERS = {"active": Tier.HOT, "cold": Tier.COLD, "archived": Tier.ARCHIVED, "superseded": Tier.SUPERSEDED}

UNNAMED_SESSION = "(unnamed)"
"""hermes-memory accepts an empty session id; a session of ours has a name."""


@dataclass(slots=True)
class UpgradeReport:
    file: Path
    backup: Path | None = None
    """The verified copy of the old file; None when another process had upgraded it already."""
    facts: int = 0
    scopes: int = 0
    sessions: int = 0
    collided: int = 0
    """Facts that stood beside a newer one of the same scope, type and target: kept, superseded by it."""
    revived: int = 0
    """Active facts that hermes-memory had hidden because their scope was over: live again."""
    waiting: int = 0
    """Facts that read like instructions: they wait for a person."""
    masked: int = 0
    """Facts whose secrets were masked; the backup has them."""
    unkept: int = 0
    """Secrets that were masked, and that only the backup keeps."""
    merged_scopes: int = 0
    """Scopes that shared their label with another: their facts are in that one."""


def needs_upgrade(path: str | Path) -> bool:
    """Check whether a file is a memory of hermes-memory 0.3.0. :raises StoreUnreadable: it cannot be read"""
    with database_copies.connect_plainly(Path(path).expanduser()) as conn:
        return hermes_030_file.is_hermes_030(conn)


def upgrade_hermes_030(
    path: str | Path,
    *,
    theme: str = "default",
    clock: Clock = system_clock,
    policies: Policies | None = None,
    vault: SecretVault | None = None,
    progress: Progress | None = None,
    lock_timeout_s: float = LOCK_TIMEOUT_S,
) -> UpgradeReport:
    """Convert a hermes-memory 0.3.0 file to a store, in place.

    :param theme: whose memory it becomes; hermes-memory knows no themes
    :param vault: keeps the secrets that are masked
    :param progress: called with the facts converted so far and the total
    :param lock_timeout_s: how long to wait for a process that holds the file locked
    :raises ArgumentError: when the file is something else
    :raises ThemeInvalid: no agent can have this theme; the file is as it was then
    :raises FileError: DiskFull, StoreLocked, StoreUnreadable, …; the file is as it was then
    """
    theme, place = to_theme_name(theme), Path(path).expanduser().absolute()
    if not place.is_file():
        raise errors.StoreUnreadable(f"there is no memory at {place}", place)
    with file_lock(place):
        with database_copies.connect_plainly(place, "rw") as conn:
            if conn.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID:
                return UpgradeReport(place)
            if not hermes_030_file.is_hermes_030(conn):
                raise errors.ArgumentError(
                    f"{place} is not a memory of hermes-memory 0.3.0; nothing was changed", place
                )
            for ending in ("", "-wal", "-shm"):  # a log gets the permissions of the file when it is created
                part = place.with_name(place.name + ending)
                if part.exists():
                    part.chmod(0o600)
            conn.execute("PRAGMA journal_mode = WAL")
        backup_path = backup.default_backup_path(place, BACKUP_REASON, clock())
        try:
            for _ in range(TRIES):
                with database_copies.connect_plainly(place) as watching, backup.temporary_copy(place) as made:
                    is_unchanged = database_copies.watch_writes(watching)
                    backup.back_up_file(place, backup_path, reason=BACKUP_REASON, now=clock(), overwrite=True)
                    report = build_upgraded_store(
                        backup_path, made, UpgradeReport(place, backup_path), theme, clock, policies, vault, progress
                    )
                    try:
                        database_copies.overwrite_database(
                            made, place, unchanged=is_unchanged, lock_timeout_s=lock_timeout_s
                        )
                        break
                    except database_copies.SourceChanged:
                        continue
            else:
                raise errors.StoreLocked(f"{place} is written all the time; stop hermes-memory, then try again", place)
        except BaseException:
            # It would only be one more copy of a memory that is still where it was.
            if needs_upgrade(place):
                backup_path.unlink(missing_ok=True)
            raise
        with database_copies.connect_plainly(place, "rw") as conn:
            # When a reader holds the log, the last process to close the file empties it.
            conn.execute("PRAGMA busy_timeout = 0")
            conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return report


def build_upgraded_store(
    backup_path: Path,
    made: Path,
    report: UpgradeReport,
    theme: str,
    clock: Clock,
    policies: Policies | None,
    vault: SecretVault | None,
    progress: Progress | None,
) -> UpgradeReport:
    with database_copies.connect_plainly(backup_path) as old:
        old.text_factory = decode_lossless
        with Store.open(made, force=True, clock=clock, policies=policies) as new:
            # The file is thrown away if anything stops us, and poured over under full durability if nothing does.
            new.db.conn.execute("PRAGMA synchronous = OFF")
            new.intake.vault = vault
            UpgradeBuilder(old, new, theme, report).build(progress)
    with database_copies.connect_plainly(made) as conn:
        database_copies.verify_database(conn, made)
    return report


class UpgradeBuilder:
    """Build the new store from the old file's rows, all of them journaled as an import."""

    def __init__(self, old: sqlite3.Connection, new: Store, theme: str, report: UpgradeReport) -> None:
        self._old = old
        self._new = new
        self._theme = to_theme_name(theme)
        self._scopes: dict[str, ScopeKey] = {}
        self._over: set[str] = set()
        self._report = report

    def build(self, progress: Progress | None) -> None:
        total = self._old.execute("SELECT count(*) FROM facts").fetchone()[0]
        with self._new.db.write_transaction() as conn, defer_indexing(conn):
            # What was there has one theme for every place until somebody chooses.
            write_place_choice(conn, DEFAULT, None)
            change = self._change(conn)
            theme_id = self._new.names.theme_for_writing(conn, self._theme, change.now)
            self._import_scopes(change, theme_id)
            change.record()
            standing = self._find_standing()
            facts = hermes_030_file.read_hermes_030_facts(self._old)
            while batch := list(islice(facts, BATCH)):
                change = self._change(conn)
                for fact in batch:
                    self._import_fact(change, theme_id, fact, standing)
                change.record()
                if progress is not None:
                    progress(self._report.facts, total)
            change = self._change(conn)
            self._import_sessions(change, theme_id)
            change.record()
        if self._report.facts != total:
            raise errors.StoreUnreadable(f"{self._report.facts} of {total} facts could be read", self._report.file)

    def _change(self, conn: sqlite3.Connection) -> Mutation:
        return UnindexedMutation(conn, self._new.names, self._new.journal, IMPORT, Origin(way=Way.IMPORT))

    def _import_scopes(self, change: Mutation, theme_id: int) -> None:
        by_label: dict[AdmittedText, list[Hermes030Scope]] = {}
        for scope in hermes_030_file.read_hermes_030_scopes(self._old):
            by_label.setdefault(to_listed_name(scope.label), []).append(scope)
            self._report.scopes += 1
            if scope.closing is not None:
                self._over.add(scope.id)
        for label, group in by_label.items():
            self._report.merged_scopes += len(group) - 1
            lives_on = group[-1]
            opened_at = min(scope.created_at for scope in group) * 1000
            if label == UNSCOPED:
                key = change.scope_for_writing(theme_id, None)
            else:
                key = change.insert_scope(theme_id, label, uid=hermes_030_uid(lives_on.id), at=opened_at)
                if lives_on.closing is not None:
                    closed_at, closed_by = lives_on.closing
                    change.update_scope(
                        key.id, "close", status=ScopeStatus.CLOSED, closed_at=closed_at, closed_by=closed_by
                    )
                    key = ScopeKey(key.id, key.uid, label, ScopeStatus.CLOSED)
            self._scopes.update((scope.id, key) for scope in group)

    def _find_standing(self) -> dict[tuple[Any, ...], str]:
        """Find the one fact that will stand for each scope, type and target: the newest."""
        newest: dict[tuple[Any, ...], tuple[int, str]] = {}
        for fact in hermes_030_file.read_hermes_030_facts(self._old):
            place = self._place(fact)
            # Oldest first: of two that were written within one second, the later row is the newer fact.
            if fact.status != "superseded" and (place not in newest or fact.updated_at >= newest[place][0]):
                newest[place] = (fact.updated_at, fact.id)
        return {place: old for place, (_, old) in newest.items()}

    def _place(self, fact: Hermes030Fact) -> tuple[Any, ...]:
        scope = self._scopes.get(fact.scope_id) if fact.scope_id else None
        target = to_masked_name(to_column_text(fact.target)).translate(ASCII_LOWER)
        return scope.id if scope else None, fact.type, target

    def _import_fact(
        self, change: Mutation, theme_id: int, fact: Hermes030Fact, standing: dict[tuple[Any, ...], str]
    ) -> None:
        scope = self._scopes.get(fact.scope_id or "") or change.scope_for_writing(theme_id, None)
        tier, successor = TIERS[fact.status], hermes_030_file.find_hermes_030_successor(self._old, fact)
        if tier is not Tier.SUPERSEDED and standing[self._place(fact)] != fact.id:
            tier, successor = Tier.SUPERSEDED, standing[self._place(fact)]
            self._report.collided += 1
        attributes: dict[str, Any] = {
            "tier": tier.value,
            "created_at": fact.created_at * 1000,
            "updated_at": fact.updated_at * 1000,
        }
        if successor is not None and tier is Tier.SUPERSEDED:
            attributes |= superseded_columns(hermes_030_uid(successor))
        if tier is Tier.COLD:
            attributes |= cold_columns(COOLED_BY_CLOSING if fact.scope_id in self._over else COOLED_BY_PRESSURE)
        self._report.revived += tier is Tier.HOT and fact.scope_id in self._over
        notation = Notation(FactType(TYPES[fact.type]), to_column_text(fact.target), to_column_text(fact.content))
        admission = self._new.intake.admit_upgraded(self._theme, notation)
        self._report.masked += bool(admission.masked_names or admission.unkept)
        self._report.unkept += admission.unkept
        if admission.suspicion is not None and tier is not Tier.SUPERSEDED:
            attributes |= quarantined_columns(admission.suspicion.rule)
            self._report.waiting += 1
        row = change.insert_fact(theme_id, scope, admission.facts[0], uid=hermes_030_uid(fact.id), **attributes)
        if fact.access_count:
            read_at = (fact.last_accessed or fact.updated_at) * 1000
            change.conn.execute("INSERT INTO reads VALUES (?, ?, ?)", (row.id, fact.access_count, read_at))
        self._report.facts += 1

    def _import_sessions(self, change: Mutation, theme_id: int) -> None:
        """Import sessions, so that a client that returns under the same name resumes its session."""
        closed, policy = SessionStatus.CLOSED.value, OrphanPolicy.CHECKPOINT_AND_CLOSE.value
        for session in hermes_030_file.read_hermes_030_sessions(self._old):
            scope = self._scopes.get(session.active_scope_id or "")
            scope_id = scope.id if scope is not None and scope.status == ScopeStatus.OPEN else None
            uid, name = hermes_030_uid(session.id), to_listed_name(session.id or UNNAMED_SESSION)
            started_at, turn = session.started_at * 1000, session.last_turn
            columns = (uid, theme_id, name, closed, started_at, HEARTBEAT_MS, LEASE_MS, turn, scope_id, policy)
            change.conn.execute(INSERT_SESSION, (*columns, change.now))
            words = {"name": name, "client": None, "status": closed, "turn": turn, "started_at": started_at}
            change.entries.append(JournalEntry("open", "session", uid, theme_id, None, words))
            self._report.sessions += 1


def decode_lossless(text: bytes) -> str:
    """Decode text of any bytes: invalid UTF-8 is marked instead of making its whole row unreadable."""
    return text.decode("utf-8", "replace")


def to_column_text(value: Any) -> str:
    """Return the value of a text column as text, whatever it holds."""
    return decode_lossless(value) if isinstance(value, bytes) else str(value)
