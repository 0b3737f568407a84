"""Upgrade of a hermes-memory 0.3.0 file, in place and without losing a row.

A verified backup is written beside the file first. The new store is built apart from it and then poured into the file
in one transaction, so that a crash at any step leaves either the old memory or the new one, whole. If a process of
hermes-memory writes meanwhile, the upgrade begins again with what it wrote.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from hermes_memory_store import backup, copies, errors, hermes_file
from hermes_memory_store.clock import Clock, system_clock
from hermes_memory_store.copies import Progress
from hermes_memory_store.db import LOCK_TIMEOUT_S
from hermes_memory_store.filesystem import file_lock
from hermes_memory_store.hermes_file import TYPES, OldFact, OldScope, uid_of
from hermes_memory_store.journal import Entry
from hermes_memory_store.model import IMPORT, FactType, Notation, OrphanPolicy, ScopeStatus, SessionStatus, Tier
from hermes_memory_store.names import UNSCOPED, ScopeKey
from hermes_memory_store.records import Mutation
from hermes_memory_store.schema import APPLICATION_ID
from hermes_memory_store.scopes import COOLED_BY_CLOSING
from hermes_memory_store.sessions import HEARTBEAT_MS, LEASE_MS
from hermes_memory_store.store import Store
from hermes_memory_store.tiers import COOLED_BY_PRESSURE
from hermes_memory_store.turn_rows import INSERT_SESSION
from hermes_memory_store.unindexed import ASCII_LOWER, Unindexed, rebuilding
from hermes_memory_themes import Policies

WHY = "hermes-memory-0.3.0"
"""Part of the backup's name."""

BATCH = 1_000
"""Facts that one change of the journal holds."""

TRIES = 5
"""How often the upgrade begins again because somebody wrote meanwhile."""

TIERS = {"active": Tier.HOT, "cold": Tier.COLD, "archived": Tier.ARCHIVED, "superseded": Tier.SUPERSEDED}

NAMELESS = "(unnamed)"
"""hermes-memory accepts an empty session id; a session of ours has a name."""


@dataclass(slots=True)
class UpgradeReport:
    """What an upgrade brought over."""

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
    merged_scopes: int = 0
    """Scopes that shared their label with another: their facts are in that one."""


def needs_upgrade(path: str | Path) -> bool:
    """Whether a file is a memory of hermes-memory 0.3.0. :raises StoreUnreadable: when it cannot be read"""
    with copies.connected(Path(path).expanduser()) as conn:
        return hermes_file.recognise(conn)


def upgrade(
    path: str | Path,
    *,
    theme: str = "default",
    clock: Clock = system_clock,
    policies: Policies | None = None,
    progress: Progress | None = None,
    lock_timeout_s: float = LOCK_TIMEOUT_S,
) -> UpgradeReport:
    """Turn a hermes-memory 0.3.0 file into a store, in place.

    :param theme: whose memory it becomes; hermes-memory knows no themes
    :param progress: called with the facts brought over so far and how many there are
    :param lock_timeout_s: how long to wait for a process that holds the file locked
    :raises ArgumentError: when the file is something else
    :raises FileError: DiskFull, StoreLocked, StoreUnreadable, …; the file is as it was then
    """
    place = Path(path).expanduser().absolute()
    if not place.is_file():
        raise errors.StoreUnreadable(f"there is no memory at {place}", place)
    with file_lock(place):
        with copies.connected(place, "rw") as conn:
            if conn.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID:
                return UpgradeReport(place)
            if not hermes_file.recognise(conn):
                raise errors.ArgumentError(
                    f"{place} is not a memory of hermes-memory 0.3.0; nothing was changed", place
                )
            make_private(place)
            conn.execute("PRAGMA journal_mode = WAL")
        kept = backup.beside(place, WHY, clock())
        try:
            for _ in range(TRIES):
                with copies.connected(place) as watching, backup.in_the_making(place) as made:
                    version = data_version(watching)
                    backup.copy_of(place, kept, why=WHY, now=clock(), overwrite=True)
                    report = build(kept, made, UpgradeReport(place, kept), theme, clock, policies, progress)
                    try:
                        unchanged = partial(is_unchanged, watching, version)
                        copies.pour(made, place, unchanged=unchanged, lock_timeout_s=lock_timeout_s)
                        break
                    except copies.SourceChanged:
                        continue
            else:
                raise errors.StoreLocked(f"{place} is written all the time; stop hermes-memory, then try again", place)
        except BaseException:
            # It would only be one more copy of a memory that is still where it was.
            if needs_upgrade(place):
                kept.unlink(missing_ok=True)
            raise
        empty_log(place)
    return report


def build(
    kept: Path,
    made: Path,
    report: UpgradeReport,
    theme: str,
    clock: Clock,
    policies: Policies | None,
    progress: Progress | None,
) -> UpgradeReport:
    """Build the new store from the backup of the old file, and verify it."""
    with copies.connected(kept) as old:
        old.text_factory = lossless
        with Store.open(made, force=True, clock=clock, policies=policies) as new:
            # The file is thrown away if anything stops us, and poured over under full durability if nothing does.
            new.db.conn.execute("PRAGMA synchronous = OFF")
            Builder(old, new, theme, report).build(progress)
    with copies.connected(made) as conn:
        copies.verify(conn, made)
    return report


def data_version(watching: sqlite3.Connection) -> int:
    """Changes whenever another connection has committed."""
    return int(watching.execute("PRAGMA data_version").fetchone()[0])


def is_unchanged(watching: sqlite3.Connection, version: int) -> bool:
    """Whether nobody has committed since."""
    return data_version(watching) == version


def empty_log(place: Path) -> None:
    """Empty the write-ahead log; when a reader holds it, whoever closes last does."""
    with copies.connected(place, "rw") as conn:
        conn.execute("PRAGMA busy_timeout = 0")
        conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def make_private(place: Path) -> None:
    """hermes-memory leaves its file readable by everybody; a log beside it takes after the file when it is made."""
    for ending in ("", "-wal", "-shm"):
        part = place.with_name(place.name + ending)
        if part.exists():
            os.chmod(part, 0o600)


def lossless(text: bytes) -> str:
    """Text of any bytes: what is not UTF-8 is marked, instead of making its whole row unreadable."""
    return text.decode("utf-8", "replace")


class Builder:
    """Builds the new store from the old file's rows, all of them journaled as an import."""

    def __init__(self, old: sqlite3.Connection, new: Store, theme: str, report: UpgradeReport) -> None:
        self._old = old
        self._new = new
        self._theme = theme
        self._scopes: dict[str, ScopeKey] = {}
        self._over: set[str] = set()
        self._report = report

    def build(self, progress: Progress | None) -> None:
        """Bring everything over, and count it."""
        total = self._old.execute("SELECT count(*) FROM facts").fetchone()[0]
        with self._new.db.writing() as conn, rebuilding(conn):
            change = self._change(conn)
            theme_id = self._new.names.theme_for_writing(conn, self._theme, change.now)
            self._bring_scopes(change, theme_id)
            change.record()
            standing = self._standing()
            facts = hermes_file.facts(self._old)
            while batch := list(islice(facts, BATCH)):
                change = self._change(conn)
                for fact in batch:
                    self._bring_fact(change, theme_id, fact, standing)
                change.record()
                if progress is not None:
                    progress(self._report.facts, total)
            change = self._change(conn)
            self._bring_sessions(change, theme_id)
            change.record()
        if self._report.facts != total:
            raise errors.StoreUnreadable(f"{self._report.facts} of {total} facts could be read", self._report.file)

    def _change(self, conn: sqlite3.Connection) -> Mutation:
        return Unindexed(conn, self._new.names, self._new.journal, IMPORT)

    def _bring_scopes(self, change: Mutation, theme_id: int) -> None:
        by_label: dict[str, list[OldScope]] = {}
        for scope in hermes_file.scopes(self._old):
            by_label.setdefault(scope.label, []).append(scope)
            self._report.scopes += 1
            if scope.status != "active":
                self._over.add(scope.id)
        for label, group in by_label.items():
            self._report.merged_scopes += len(group) - 1
            key = self._bring_scope(change, theme_id, label, group)
            self._scopes.update((scope.id, key) for scope in group)

    def _bring_scope(self, change: Mutation, theme_id: int, label: str, group: list[OldScope]) -> ScopeKey:
        if label == UNSCOPED:
            return change.scope_for_writing(theme_id, UNSCOPED)
        lives_on = group[-1]
        opened_at = min(scope.created_at for scope in group) * 1000
        key = change.insert_scope(theme_id, label, uid=uid_of(lives_on.id), at=opened_at)
        if lives_on.status == "active":
            return key
        closed_at = (lives_on.closed_at or lives_on.last_referenced) * 1000
        why = "done" if lives_on.status == "closed" else IMPORT.kind
        change.update_scope(key.id, "close", status=ScopeStatus.CLOSED, closed_at=closed_at, closed_by=why)
        return ScopeKey(key.id, key.uid, label, ScopeStatus.CLOSED)

    def _standing(self) -> dict[tuple[Any, ...], str]:
        """The one fact that will stand for each scope, type and target: the newest."""
        newest: dict[tuple[Any, ...], tuple[int, str]] = {}
        for fact in hermes_file.facts(self._old):
            place = self._place(fact)
            # Oldest first: of two that were written within one second, the later row is the newer fact.
            if fact.status != "superseded" and (place not in newest or fact.updated_at >= newest[place][0]):
                newest[place] = (fact.updated_at, fact.id)
        return {place: old for place, (_, old) in newest.items()}

    def _place(self, fact: OldFact) -> tuple[Any, ...]:
        scope = self._scopes.get(fact.scope_id) if fact.scope_id else None
        return (scope.id if scope else None, fact.type, str(fact.target).translate(ASCII_LOWER))

    def _bring_fact(self, change: Mutation, theme_id: int, fact: OldFact, standing: dict[tuple[Any, ...], str]) -> None:
        scope = self._scopes.get(fact.scope_id or "") or change.scope_for_writing(theme_id, UNSCOPED)
        tier, successor = TIERS[fact.status], self._successor(fact)
        if tier is not Tier.SUPERSEDED and standing[self._place(fact)] != fact.id:
            tier, successor = Tier.SUPERSEDED, standing[self._place(fact)]
            self._report.collided += 1
        given: dict[str, Any] = {
            "tier": tier.value,
            "created_at": fact.created_at * 1000,
            "updated_at": fact.updated_at * 1000,
        }
        if successor is not None and tier is Tier.SUPERSEDED:
            given["superseded_by"] = uid_of(successor)
        if tier is Tier.COLD:
            given["cooled_by"] = COOLED_BY_CLOSING if fact.scope_id in self._over else COOLED_BY_PRESSURE
        if tier is Tier.HOT and fact.scope_id in self._over:
            self._report.revived += 1
        said = Notation(FactType(TYPES[fact.type]), as_text(fact.target), as_text(fact.content))
        row = change.insert_fact(theme_id, scope, said, uid=uid_of(fact.id), **given)
        if fact.access_count:
            read_at = (fact.last_accessed or fact.updated_at) * 1000
            change.conn.execute("INSERT INTO reads VALUES (?, ?, ?)", (row.id, fact.access_count, read_at))
        self._report.facts += 1

    def _successor(self, fact: OldFact) -> str | None:
        """What replaced it, if that was not purged since."""
        if fact.superseded_by is None:
            return None
        row = self._old.execute("SELECT id FROM facts WHERE id = ?", (fact.superseded_by,)).fetchone()
        return row[0] if row else None

    def _bring_sessions(self, change: Mutation, theme_id: int) -> None:
        """A session is taken up again where it was when its client comes back under the same name."""
        for session in hermes_file.sessions(self._old):
            scope = self._scopes.get(session.active_scope_id or "")
            present = scope.id if scope is not None and scope.status == ScopeStatus.OPEN else None
            started_at, uid, name = session.started_at * 1000, uid_of(session.id), session.id or NAMELESS
            row = (uid, theme_id, name, SessionStatus.CLOSED.value, started_at, HEARTBEAT_MS, LEASE_MS)
            change.conn.execute(
                INSERT_SESSION,
                (*row, session.last_turn, present, OrphanPolicy.CHECKPOINT_AND_CLOSE.value, change.now),
            )
            said: dict[str, Any] = {"name": name, "client": None, "status": SessionStatus.CLOSED.value}
            said |= {"turn": session.last_turn, "started_at": started_at}
            change.entries.append(Entry("open", "session", uid, theme_id, None, said))
            self._report.sessions += 1


def as_text(value: Any) -> str:
    """A column that should hold text, whatever it holds."""
    return lossless(value) if isinstance(value, bytes) else str(value)


def counted(report: UpgradeReport) -> Iterable[str]:
    """The report as sentences for a person."""
    if report.backup is None:
        return [f"{report.file} was upgraded already"]
    said = [f"{report.facts} facts, {report.scopes} scopes and {report.sessions} sessions brought over"]
    if report.collided:
        said.append(f"{report.collided} facts stood beside a newer one of the same target and are superseded by it")
    if report.revived:
        said.append(f"{report.revived} facts that were hidden by a finished scope are live again")
    return [*said, f"the old file is kept as {report.backup}"]
