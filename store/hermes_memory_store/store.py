"""`Store`: opens the file, and hands out the nouns.

with Store.open() as store:
    store.facts.write("default", "C[db.id]: UUID mndtry", scope="schema")
    store.search.find("default", "database ids")
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from contextlib import closing
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from hermes_memory_store import errors, filesystem
from hermes_memory_store.clock import Clock, system_clock
from hermes_memory_store.db import LOCK_TIMEOUT_S, Db, translating
from hermes_memory_store.facts import Facts
from hermes_memory_store.injection import Injections
from hermes_memory_store.journal import Journal
from hermes_memory_store.model import Theme, Tier
from hermes_memory_store.names import Names
from hermes_memory_store.policies import StorePolicies
from hermes_memory_store.reads import Reads
from hermes_memory_store.schema import APPLICATION_ID, STORE_VERSION
from hermes_memory_store.scopes import Scopes
from hermes_memory_store.sessions import Sessions
from hermes_memory_store.text_indexes import note_of, troubles
from hermes_memory_store.tiers import Tiers
from hermes_memory_themes import Policies

if TYPE_CHECKING:
    from hermes_memory_store.calls import Calls
    from hermes_memory_store.credentials import Credentials
    from hermes_memory_store.erasing import ItemEraser
    from hermes_memory_store.items import ItemKind
    from hermes_memory_store.pressure import Pressure
    from hermes_memory_store.purge import Purge
    from hermes_memory_store.recorder import Recorder
    from hermes_memory_store.sayings import Sayings
    from hermes_memory_store.search import Search
    from hermes_memory_store.shared_turns import SharedTurns
    from hermes_memory_store.sources import Sources
    from hermes_memory_store.sync import Sync
    from hermes_memory_store.turns import Turns
    from hermes_memory_store.undo import Undo


class Store:
    """One open memory file. Threads may share it; other processes may have it open at the same time."""

    def __init__(self, db: Db, clock: Clock, policies: Policies, reads: Reads | None = None) -> None:
        self.db = db
        self.path = db.path
        self.kept: Path | None = None
        """The verified backup of the older version, when opening brought the store up to date."""
        self.clock = clock
        self.policies = policies
        self.names = Names(db)
        self.journal = Journal(db, self.names, clock)
        self.reads = reads or Reads(db, self.names, clock)
        self.tiers = Tiers(db, self.names, self.journal, policies)
        self.scopes = Scopes(db, self.names, self.journal)
        self.sessions = Sessions(db, self.names, self.journal, clock, self.tiers)
        self.facts = Facts(db, self.names, self.journal, policies, self.tiers, self.sessions)
        self.injection = Injections(db, self.names, self.tiers, policies, self.reads)
        db.before_commit(self._stamp)

    # The nouns below are imported when they are first asked for: a command that needs none of them starts 25 ms sooner.

    @cached_property
    def search(self) -> Search:
        """Finding facts."""
        from hermes_memory_store.search import Search

        return Search(self.db, self.names, self.reads, self.clock)

    @cached_property
    def calls(self) -> Calls:
        """What calls that may come twice were answered."""
        from hermes_memory_store.calls import Calls

        return Calls(self.db, self.clock)

    @cached_property
    def credentials(self) -> Credentials:
        """Tokens for the bridge."""
        from hermes_memory_store.credentials import Credentials

        return Credentials(self.db, self.names, self.journal, self.clock)

    @cached_property
    def sources(self) -> Sources:
        """What a person has ruled about where facts come from."""
        from hermes_memory_store.sources import Sources

        return Sources(self.db, self.names, self.journal)

    @cached_property
    def sync(self) -> Sync:
        """What waits to be sent to the team, and what came from it."""
        from hermes_memory_store.sync import Sync

        return Sync(self.db, self.names, self.journal, self.policies, self.clock, self.tiers, self.purge)

    @cached_property
    def turns(self) -> Turns:
        """What was said."""
        from hermes_memory_store.turns import Turns

        return Turns(self.db, self.names, self.journal, self.clock, self.eraser)

    @cached_property
    def shared_turns(self) -> SharedTurns:
        """What was said and is shared with the team."""
        from hermes_memory_store.shared_turns import SharedTurns

        return SharedTurns(self.db, self.names, self.journal, self.policies, self.clock, self.turns, lambda: self.sync)

    @cached_property
    def sayings(self) -> Sayings:
        """What facts and turns say, for whoever makes vectors of it."""
        from hermes_memory_store.sayings import Sayings

        return Sayings(self.db, self.names)

    @cached_property
    def undo(self) -> Undo:
        """Taking changes back."""
        from hermes_memory_store.undo import Undo

        return Undo(self.db, self.names, self.journal)

    @cached_property
    def purge(self) -> Purge:
        """Erasing for good."""
        from hermes_memory_store.purge import Purge

        return Purge(self.db, self.names, self.journal, self.eraser)

    @cached_property
    def eraser(self) -> ItemEraser:
        """Erasing what a purge left of facts and turns."""
        from hermes_memory_store.erasing import ItemEraser

        return ItemEraser(self.db, self._erase_from_copies)

    @cached_property
    def pressure(self) -> Pressure:
        """What relief would do, and how full the hot tiers were."""
        from hermes_memory_store.pressure import Pressure

        return Pressure(self.db, self.names, self.journal, self.tiers)

    @cached_property
    def recorder(self) -> Recorder:
        """What sessions were told."""
        from hermes_memory_store.recorder import Recorder

        return Recorder(self.db, self.names, self.journal)

    @classmethod
    def open(
        cls,
        path: str | Path | None = None,
        *,
        read_only: bool = False,
        create: bool = True,
        force: bool = False,
        clock: Clock = system_clock,
        policies: Policies | None = None,
        lock_timeout_s: float = LOCK_TIMEOUT_S,
    ) -> Self:
        """Open a store, creating it when there is none, unless it is opened `read_only` or without `create`.

        :param path: the file; `$HERMES_MEMORY_DB`, else `~/.hermes/memory.db`
        :param create: False refuses a path where there is no store, and leaves it as it is
        :param force: open it on a network file system all the same
        :param lock_timeout_s: how long a write waits for other processes
        :raises FileError: StoreNeedsUpgrade for a hermes-memory 0.3.0 file, StoreMissing, StoreOlder, StoreTooNew, …
        :raises PolicyInvalid: memory-themes.toml says something that cannot be
        """
        policies = policies if policies is not None else StorePolicies.load()
        place = Path(path).expanduser() if path is not None else filesystem.default_path()
        if read_only or not create:
            refuse_missing(place)
        refuse_folder(place)
        if not force:
            filesystem.refuse_network(place)
        if is_missing(place):
            create_store(place)
        db = Db(place, read_only=read_only, lock_timeout_s=lock_timeout_s)
        try:
            kept = check(db, clock)
            keep_log_ahead(db)
        except BaseException:
            db.close()
            raise
        store = cls(db, clock, policies)
        store.kept = kept
        return store

    def reader(self, *, noting: bool = True) -> Self:
        """A second connection that only reads, for another thread. What it hands out is noted with what this one does.

        :param noting: not for a person's own looking about, which must not count as an agent's reading
        """
        return type(self)(Db(self.path, read_only=True), self.clock, self.policies, self.reads if noting else None)

    def themes(self) -> list[Theme]:
        """Every theme that was ever written to, with its gauge and counts."""
        counts: dict[str, dict[Tier, int]] = {}
        for name, tier, facts in self.db.rows(
            "SELECT t.name, y.tier, sum(y.facts) FROM tallies y JOIN themes t ON t.id = y.theme_id"
            " WHERE y.facts > 0 AND y.tier <> 'withdrawn' GROUP BY t.name, y.tier"
        ):
            counts.setdefault(name, {})[Tier(tier)] = facts
        scopes = dict(
            self.db.rows(
                "SELECT t.name, count(*) FROM scopes s JOIN themes t ON t.id = s.theme_id"
                " WHERE s.status IN ('open', 'cooling') AND s.label <> '' GROUP BY t.name"
            )
        )
        return [
            Theme(name, self.tiers.gauge(name), counts.get(name, {}), scopes.get(name, 0))
            for name in self.names.all_themes()
        ]

    def _stamp(self, conn: sqlite3.Connection) -> None:
        """Give what was changed in tracked themes its version, in the transaction that changed it."""
        if conn.execute("SELECT 1 FROM sync_changed LIMIT 1").fetchone():
            self.sync.stamp(conn)

    def _erase_from_copies(
        self, kind: ItemKind, wanted: Collection[bytes], everywhere: Collection[bytes]
    ) -> list[Path]:
        """Erase items from what lies beside the store, as `ItemEraser` asks for it."""
        from hermes_memory_store import backup, relief_undo, vectors

        unreached = [] if vectors.erase(self.path, wanted) else [vectors.place(self.path)]
        for copy in backup.known_backups(self.path):
            if not backup.purge_from(copy, wanted, kind, everywhere=everywhere):
                unreached.append(copy)
        return [*unreached, *relief_undo.purge_from_copies(self.path, wanted)]

    def index_notes(self) -> list[str]:
        """What should be said beside an answer that was found by words: which full-text index is damaged, and what to do."""
        return [note_of(name) for name in troubles(self.db.conn)]

    def data_version(self) -> int:
        """Changes whenever another connection has committed; costs microseconds, so it may be polled."""
        return int(self.db.value("PRAGMA data_version"))

    def close(self) -> None:
        """Write what was gathered about reads, and close the file."""
        try:
            if not self.db.read_only:
                self.reads.flush()
        finally:
            self.db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def is_missing(path: Path) -> bool:
    """Whether there is no store yet: no file, or one without a byte in it."""
    try:
        return path.stat().st_size == 0
    except FileNotFoundError:
        return True
    except OSError as error:
        raise errors.StoreUnreadable(f"{path} cannot be opened: {error.strerror or error}", path) from error


def refuse_missing(path: Path) -> None:
    """:raises StoreMissing: when there is no store at `path`, which stays as it is"""
    refuse_folder(path)
    if is_missing(path):
        found = f"{path} is empty and holds no memory yet" if path.exists() else f"there is no memory at {path}"
        raise errors.StoreMissing(f"{found}; name another file with --db, or write a fact to create it", path)


def refuse_folder(path: Path) -> None:
    """:raises StoreUnreadable: when `path` is a folder"""
    if path.is_dir():
        raise errors.StoreUnreadable(f"{path} is a folder; name the file of a memory in it", path)


def create_store(path: Path) -> None:
    """Make an empty store; several processes may try at once."""
    filesystem.create_private(path)
    with filesystem.file_lock(path):
        db = Db(path)
        try:
            if version_of(db) == (APPLICATION_ID, STORE_VERSION):
                return
            from hermes_memory_store.migrations import migrate

            with db.lock, translating(path):
                db.conn.execute("PRAGMA journal_mode = WAL")
                migrate(db.conn)
        finally:
            db.close()


def keep_log_ahead(db: Db) -> None:
    """A backup that was put back by hand is no longer in WAL mode, in which readers and writers do not wait for each other."""
    if not db.read_only and db.value("PRAGMA journal_mode") != "wal":
        with filesystem.file_lock(db.path), db.lock, translating(db.path):
            db.conn.execute("PRAGMA journal_mode = WAL")


def check(db: Db, clock: Clock) -> Path | None:
    """See to it that the file is a store of this version; the backup, when it was of an older one.

    :raises FileError: when the file is not a store this program can use as it is
    """
    application, version = version_of(db)
    if application != APPLICATION_ID and not db.read_only and is_unfinished(tables_of(db), application):
        # It may be in the making: whoever creates a store holds this lock until it is whole.
        with filesystem.file_lock(db.path):
            application, version = version_of(db)
    if application == APPLICATION_ID and version == STORE_VERSION:
        return None
    if application == APPLICATION_ID and version > STORE_VERSION:
        raise errors.StoreTooNew(
            f"{db.path} was written by a newer version (store {version}, this program knows {STORE_VERSION}); "
            "nothing was touched, please upgrade hermes-memory-tui",
            db.path,
        )
    if application == APPLICATION_ID and version > 0:
        return bring_up(db, version, clock)
    tables = tables_of(db)
    if {"facts", "scopes", "facts_fts"} <= tables:
        raise errors.StoreNeedsUpgrade(
            f"{db.path} is a memory of hermes-memory 0.3.0; upgrade it with a backup beside it, or open a copy", db.path
        )
    if is_unfinished(tables, application):
        if db.read_only:
            raise errors.StoreUnfinished(
                f"the creation of {db.path} was cut off; open it once for writing to finish it", db.path
            )
        finish_creation(db)
        return None
    raise errors.StoreUnreadable(
        f"{db.path} is an SQLite database of another program; choose another file with --db", db.path
    )


def bring_up(db: Db, version: int, clock: Clock) -> Path | None:
    """Migrate a store of an older version, behind a verified backup beside it; the backup, unless somebody else just did.

    :raises StoreOlder: when it is open for reading only
    """
    if db.read_only:
        raise errors.StoreOlder(
            f"{db.path} was written by an older version (store {version}); open it once for writing to bring it up to date",
            db.path,
        )
    from hermes_memory_store.backup import beside, copy_of
    from hermes_memory_store.migrations import migrate

    with filesystem.file_lock(db.path), db.lock, translating(db.path):
        if version_of(db) != (APPLICATION_ID, STORE_VERSION):
            now = clock()
            kept = copy_of(db.path, beside(db.path, f"version-{version}", now), why="upgrade", now=now).file
            migrate(db.conn)
            return kept
    return None


def copy_brought_up(path: Path, target: Path) -> None:
    """Make a copy of a store of an older version, and migrate the copy; the store itself is only read.

    :raises FileError: StoreUnreadable, DiskFull, …
    """
    from hermes_memory_store.copies import create_exclusively
    from hermes_memory_store.migrations import migrate

    create_exclusively(target)
    with closing(Db(path, read_only=True)) as old, closing(Db(target)) as new, translating(target):
        old.conn.backup(new.conn)
        migrate(new.conn)


def is_unfinished(tables: set[str], application: int) -> bool:
    """Whether these are the tables of a creation that was cut off before the version number was written."""
    if application not in (0, APPLICATION_ID):
        return False
    return not tables or "_sqlite_migrations" in tables


def finish_creation(db: Db) -> None:
    """Finish a creation that was cut off, unless somebody else just did."""
    from hermes_memory_store.migrations import migrate

    with filesystem.file_lock(db.path), db.lock, translating(db.path):
        if version_of(db) != (APPLICATION_ID, STORE_VERSION):
            db.conn.execute("PRAGMA journal_mode = WAL")
            migrate(db.conn)


def tables_of(db: Db) -> set[str]:
    """Names of the tables in the file."""
    return {row[0] for row in db.rows("SELECT name FROM sqlite_master WHERE type = 'table'")}


def version_of(db: Db) -> tuple[int, int]:
    """Application id and store version of the file."""
    try:
        return int(db.value("PRAGMA application_id")), int(db.value("PRAGMA user_version"))
    except sqlite3.Error as error:
        raise errors.StoreUnreadable(f"{db.path} is not a readable SQLite database ({error})", db.path) from error
