"""`Store`: opens the file and gives access to its parts.

with Store.open() as store:
    store.facts.write("default", "C[db.id]: UUID mndtry", scope="schema")
    store.search.find("default", "database ids")
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, closing, suppress
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import hermes_memory_store as library
from hermes_memory_store import errors
from hermes_memory_store.access.store_policies import StorePolicies
from hermes_memory_store.clock import Clock, system_clock
from hermes_memory_store.context.read_log import ReadLog
from hermes_memory_store.database import driver
from hermes_memory_store.database.db import LOCK_TIMEOUT_S, Db, translate_sqlite_errors
from hermes_memory_store.database.index_health import index_note, index_troubles
from hermes_memory_store.database.schema import APPLICATION_ID, STORE_VERSION
from hermes_memory_store.database.store_version import newer_store_error
from hermes_memory_store.database.write_ahead_log import find_logs_set_aside
from hermes_memory_store.intake.intake import Intake
from hermes_memory_store.items.journal import Journal
from hermes_memory_store.items.journal_receipt import ReceiptWriter
from hermes_memory_store.items.name_keys import Names
from hermes_memory_store.items.origin_rows import attribute_changes
from hermes_memory_store.items.tier_columns import IS_PROPOSED
from hermes_memory_store.memory.facts import Facts
from hermes_memory_store.memory.scopes import Scopes
from hermes_memory_store.memory.sessions import Sessions
from hermes_memory_store.memory.tiers import Tiers
from hermes_memory_store.model import Origin, ThemeSummary, Tier
from hermes_memory_store.system import filesystem
from hermes_memory_themes import Policies

if TYPE_CHECKING:
    from hermes_memory_store.conversations.fact_uses import FactUses
    from hermes_memory_store.conversations.proposals import Proposals
    from hermes_memory_store.find.embedding_inputs import EmbeddingInputs
    from hermes_memory_store.find.recall import Recall
    from hermes_memory_store.hosts.host_sessions import HostSessions
    from hermes_memory_store.hosts.rules_files import RulesFiles
    from hermes_memory_store.items.kinds import ItemKind
    from hermes_memory_store.memory.scored_writes import ScoredWrites
    from hermes_memory_store.memory.second_look import SecondLook
    from hermes_memory_store.projects.branch_labels import BranchLabels
    from hermes_memory_store.projects.branch_states import BranchStates
    from hermes_memory_store.projects.place_themes import PlaceThemes
    from hermes_memory_store.projects.projects import Projects
    from hermes_memory_store.projects.theme_moves import ThemeMoves, ThemeSplit
    from hermes_memory_store.sync.shared_turns import SharedTurns
    from hermes_memory_store.sync.team_sync import Sync
    from hermes_memory_store.upkeep.fact_citations import FactCitations
    from hermes_memory_store.upkeep.fact_guards import FactGuards
    from hermes_memory_store.upkeep.item_erasure import ItemEraser

COUNTED_TIERS = tuple(sorted(set(Tier) - {Tier.WITHDRAWN}))

TIER_SUMS = ", ".join(f"sum(facts) FILTER (WHERE tier = '{tier}')" for tier in COUNTED_TIERS)

THEME_COUNTS = f"SELECT (SELECT name FROM themes WHERE id = theme_id), {TIER_SUMS} FROM tallies GROUP BY theme_id"
"""The facts of each theme, by tier. The rows stand theme by theme: grouped by tier, too, all of them would be sorted."""

PROPOSED_COUNTS = f"""
    SELECT (SELECT name FROM themes WHERE id = theme_id), count(*) FROM facts INDEXED BY facts_by_creation
    WHERE theme_id IN (SELECT id FROM themes) AND {IS_PROPOSED} GROUP BY theme_id
"""

GUARDED_FACTS = "SELECT uid, guards FROM facts WHERE guards IS NOT NULL ORDER BY uid"


class Store:
    """One open memory file. Threads may share it; other processes may have it open at the same time."""

    def __init__(
        self, db: Db, clock: Clock, policies: Policies, reads: ReadLog | None = None, intake: Intake | None = None
    ) -> None:
        self.db = db
        self.path = db.path
        self.kept: Path | None = None
        """The verified backup of the older version, when opening brought the store up to date."""
        self.clock = clock
        self.policies = policies
        self.names = Names(db)
        self.journal = Journal(db, self.names, clock)
        self.intake = intake or self._make_intake()
        """What every text passes on its way in; a reader shares it with the store it reads for."""
        self.reads = reads or ReadLog(db, self.names, clock)
        self.tiers = Tiers(db, self.names, self.journal, policies)
        self.scopes = Scopes(db, self.names, self.journal, self.intake)
        self.sessions = Sessions(db, self.names, self.journal, clock, self.tiers, self.intake)
        self.facts = Facts(db, self.names, self.journal, policies, self.tiers, self.sessions, self.intake)
        db.before_commit(self._complete_change)
        db.rescue = self._rescue
        self._receipts = ReceiptWriter(db)
        self._guarded: list[tuple[bytes, str]] | None = None
        """What the copy of the guards holds; None until the first write."""

    def _make_intake(self) -> Intake:
        intake = Intake(self.policies, lambda theme, source: self.sources.rule(theme, source))
        intake.load_session_words = lambda *words: self.scored_writes.load_words(*words)
        return intake

    # The nouns below are imported when they are first asked for, public ones by `library` itself: most commands need few of them.

    @cached_property
    def branch_labels(self) -> BranchLabels:
        """What is said of facts that were written on other branches."""
        from hermes_memory_store.projects.branch_labels import BranchLabels

        return BranchLabels(self.db, self.names, self.policies)

    @property
    def injection(self) -> library.ContextBlocks:
        """The former name of `context`; it goes with the next release."""
        import warnings

        warnings.warn("Store.injection is Store.context now", DeprecationWarning, stacklevel=2)
        return self.context

    @cached_property
    def context(self) -> library.ContextBlocks:
        """The text that an agent receives at the start."""
        return library.ContextBlocks(
            self.db, self.names, self.tiers, self.policies, self.reads, self.branch_labels, self.clock
        )

    @cached_property
    def search(self) -> library.Search:
        """Search for facts."""
        return library.Search(self.db, self.names, self.reads, self.clock, self.policies)

    @cached_property
    def recall(self) -> Recall:
        """The facts and turns that answer a question."""
        from hermes_memory_store.find.recall import Recall
        from hermes_memory_store.find.touched_facts import find_touched_facts

        find_touched = partial(find_touched_facts, self.db, self.names, limit=1)
        return Recall(
            self.db,
            self.search,
            self.turns,
            self.clock,
            lambda theme: self.place_themes.project_of(theme),
            find_touched,
        )

    @property
    def session_start(self) -> library.ContextBlocks:
        """What a session is given at its start."""
        return self.context

    @cached_property
    def fact_uses(self) -> FactUses:
        """What sessions did with the facts they were given."""
        from hermes_memory_store.conversations.fact_uses import FactUses

        return FactUses(self.db, self.names, self.reads)

    @cached_property
    def idempotency_keys(self) -> library.IdempotencyKeys:
        """Answers of calls that may be repeated, by idempotency key."""
        return library.IdempotencyKeys(self.db, self.clock)

    @cached_property
    def scored_writes(self) -> ScoredWrites:
        """What was said in the sessions of single writes of agents, which are scored with it."""
        from hermes_memory_store.memory.scored_writes import ScoredWrites

        return ScoredWrites(self.db)

    @cached_property
    def second_look(self) -> SecondLook:
        """What today's rules find in what came in before."""
        from hermes_memory_store.memory.second_look import SecondLook

        return SecondLook(self.db, self.names, self.policies)

    @cached_property
    def credentials(self) -> library.Credentials:
        """Access tokens for the bridge."""
        return library.Credentials(self.db, self.names, self.journal, self.clock)

    @cached_property
    def sources(self) -> library.Sources:
        """Rules for the sources of facts."""
        return library.Sources(self.db, self.names, self.journal)

    @cached_property
    def sync(self) -> Sync:
        """The store's side of team sync: versions to send, versions received, conflicts."""
        from hermes_memory_store.sync.team_sync import Sync

        return Sync(self.db, self.names, self.journal, self.policies, self.clock, self.tiers, self.purge, self.intake)

    @cached_property
    def turns(self) -> library.Turns:
        """Captured turns."""
        from hermes_memory_store.places.project_sighting import read_project

        return library.Turns(
            self.db,
            self.names,
            self.journal,
            self.clock,
            self.eraser,
            self.intake,
            lambda folder: self.place_themes.find_known(read_project(folder) if folder else None),
            lambda: self.purge,
        )

    @cached_property
    def proposals(self) -> Proposals:
        """Facts that captured turns state, for a person to let in."""
        from hermes_memory_store.conversations.proposals import Proposals

        return Proposals(self.db, self.turns, self.facts)

    @cached_property
    def shared_turns(self) -> SharedTurns:
        """Captured turns shared with the team."""
        from hermes_memory_store.sync.shared_turns import SharedTurns

        return SharedTurns(self.db, self.names, self.journal, self.policies, self.clock, self.turns, lambda: self.sync)

    @cached_property
    def embedding_inputs(self) -> EmbeddingInputs:
        """The texts of facts and turns to embed."""
        from hermes_memory_store.find.embedding_inputs import EmbeddingInputs

        return EmbeddingInputs(self.db, self.names)

    @cached_property
    def undo(self) -> library.Undo:
        """Undo and redo of changes."""
        return library.Undo(self.db, self.names, self.journal)

    @cached_property
    def projects(self) -> Projects:
        """Projects and what they are recognised by."""
        from hermes_memory_store.projects.projects import Projects

        return Projects(self.db, self.names, self.clock)

    @cached_property
    def branch_states(self) -> BranchStates:
        """What is known of the branches that facts were written on."""
        from hermes_memory_store.projects.branch_states import BranchStates

        return BranchStates(self.db, self.names, self.journal, self.clock)

    @cached_property
    def place_themes(self) -> PlaceThemes:
        """Themes of places: each project's own, and what an agent there reads."""
        from hermes_memory_store.projects.place_themes import PlaceThemes

        return PlaceThemes(self.db, self.names, self.journal, self.policies, self.clock, lambda: self.projects)

    @cached_property
    def theme_moves(self) -> ThemeMoves:
        """Facts moved to other themes."""
        from hermes_memory_store.projects.theme_moves import ThemeMoves

        return ThemeMoves(self.db, self.names, self.journal)

    @cached_property
    def theme_split(self) -> ThemeSplit:
        """The split of a theme by projects."""
        from hermes_memory_store.projects.theme_moves import ThemeSplit

        return ThemeSplit(self.db, self.names, self.place_themes, self.theme_moves)

    @cached_property
    def host_sessions(self) -> HostSessions:
        """Sessions of hosts, and what was heard of each host."""
        from hermes_memory_store.hosts.host_sessions import HostSessions

        return HostSessions(self.db, self.names, self.clock)

    @cached_property
    def guards(self) -> FactGuards:
        """What a person wants to be asked about before agents do it."""
        from hermes_memory_store.upkeep.fact_guards import FactGuards

        return FactGuards(self.db, self.names, self.journal, self.intake)

    @cached_property
    def citations(self) -> FactCitations:
        """What facts cite, and whether it still stands there."""
        from hermes_memory_store.upkeep.fact_citations import FactCitations

        return FactCitations(self.db, self.names, self.journal)

    @cached_property
    def rules_files(self) -> RulesFiles:
        """Files with hot facts in workspaces, for hosts whose hooks give nothing."""
        from hermes_memory_store.hosts.rules_files import RulesFiles

        return RulesFiles(self.db, self.names, self.clock)

    @cached_property
    def purge(self) -> library.Purge:
        """Permanent erasure."""
        return library.Purge(self.db, self.names, self.journal, self.eraser, self.reads, lambda: self.turns)

    @cached_property
    def eraser(self) -> ItemEraser:
        """Erasing what a purge left of facts and turns."""
        from hermes_memory_store.upkeep.item_erasure import ItemEraser

        return ItemEraser(self.db, self._erase_from_copies, self._count_backups)

    @cached_property
    def pressure(self) -> library.Pressure:
        """Planned relief, and the history of the hot tiers."""
        return library.Pressure(self.db, self.names, self.journal, self.tiers)

    @cached_property
    def context_records(self) -> library.ContextRecords:
        """Records of what each session was given."""
        return library.ContextRecords(self.db, self.names, self.journal)

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
        :param create: False refuses a path without a store and leaves it as it is
        :param force: open it on a network file system all the same
        :param lock_timeout_s: how long a write waits for other processes
        :raises FileError: StoreNeedsUpgrade for a hermes-memory 0.3.0 file, StoreMissing, StoreOlder, StoreTooNew, …
        :raises PolicyInvalid: memory-themes.toml is invalid
        """
        policies = policies if policies is not None else StorePolicies.load()
        place = Path(path).expanduser() if path is not None else filesystem.default_store_path()
        if read_only or not create:
            refuse_missing_store(place)
        refuse_store_folder(place)
        if not force:
            filesystem.refuse_network_path(place)
        if is_store_missing(place):
            create_store(place)
        db = Db(place, read_only=read_only, lock_timeout_s=lock_timeout_s)
        try:
            backup = ensure_current_version(db, clock)
            ensure_wal_mode(db)
            if not read_only:
                db.hold_log()
        except BaseException:
            db.close()
            raise
        store = cls(db, clock, policies)
        store.kept = backup
        policies.project_checks.append(store._is_project_theme)
        return store

    def reader(self, *, noting: bool = True) -> Self:
        """Open a second, read-only connection for another thread. Its reads are logged with this one's.

        :param noting: False when a person browses, which must not count as an agent's reading
        """
        return type(self)(
            Db(self.path, read_only=True), self.clock, self.policies, self.reads if noting else None, self.intake
        )

    def themes(self) -> list[ThemeSummary]:
        """Return every theme that was ever written to, with its gauge and counts."""
        counts = {
            name: {tier: facts for tier, facts in zip(COUNTED_TIERS, row, strict=True) if facts}
            for name, *row in self.db.rows(THEME_COUNTS)
        }
        scopes = dict(
            self.db.rows(
                "SELECT t.name, count(*) FROM scopes s JOIN themes t ON t.id = s.theme_id"
                " WHERE s.status IN ('open', 'cooling') AND s.label <> '' GROUP BY t.name"
            )
        )
        proposed = dict(self.db.rows(PROPOSED_COUNTS))
        return [
            ThemeSummary(name, self.tiers.gauge(name), counts.get(name, {}), scopes.get(name, 0), proposed.get(name, 0))
            for name in self.names.all_themes()
        ]

    def _complete_change(self, conn: driver.Connection) -> None:
        """Give versions to what changed in tracked themes, and keep the files that follow facts as they should be."""
        has_unstamped, has_stale_files = conn.execute(
            "SELECT EXISTS (SELECT 1 FROM sync_changed), EXISTS (SELECT 1 FROM rules_files WHERE stale = 1)"
        ).fetchone()
        if has_unstamped:
            self.sync.stamp(conn)
        if has_stale_files:
            from hermes_memory_store.hosts.rules_files import erase_stale_files

            erase_stale_files(conn)
        guarded = conn.execute(GUARDED_FACTS).fetchall()
        if guarded != self._guarded:
            from hermes_memory_store.upkeep.fact_guards import follow_guards

            follow_guards(conn, self.path, guarded)
            self._guarded = guarded

    def _is_project_theme(self, theme: str) -> bool:
        return self.db.value("SELECT 1 FROM place_themes WHERE theme = ?", (theme,)) is not None

    def _count_backups(self, fact_uids: Collection[bytes]) -> int:
        from hermes_memory_store.upkeep import backup

        return sum(backup.has_items(copy, fact_uids) for copy in backup.find_backups(self.path))

    def _rescue(self) -> str:
        """Save the content of the open file, which has lost its name, before it is lost for good."""
        from hermes_memory_store.upkeep.backup import rescue_content

        return rescue_content(self.db.conn, self.path, self.clock())

    def _erase_from_copies(
        self, kind: ItemKind, item_uids: Collection[bytes], everywhere: Collection[bytes]
    ) -> list[Path]:
        from hermes_memory_store.find import vector_file
        from hermes_memory_store.host_files import memory_file_copies
        from hermes_memory_store.hosts.rules_files import find_stale_files
        from hermes_memory_store.sync.standing import mask_stored_versions
        from hermes_memory_store.upkeep import backup

        unreached = [] if vector_file.erase_vectors(self.path, item_uids) else [vector_file.vector_file_path(self.path)]
        for copy in backup.find_backups(self.path):
            if not backup.purge_facts_from_backup(
                copy, item_uids, kind, everywhere=everywhere, mask=mask_stored_versions
            ):
                unreached.append(copy)
        for log in find_logs_set_aside(self.path):  # whole: a log cannot be read without its file
            log.unlink(missing_ok=True)
            log.with_suffix(".shm").unlink(missing_ok=True)
        unreached += find_stale_files(self.db)
        return [*unreached, *memory_file_copies.purge_facts_from_copies(self.path, item_uids)]

    @property
    def origin(self) -> Origin:
        """The origin of changes that nobody attributes; a library's unless a program sets its own."""
        return self.names.origins.default

    @origin.setter
    def origin(self, origin: Origin) -> None:
        self.names.origins.default, self.names.origins.find_default = origin, None

    def set_origin_source(self, find: Callable[[], Origin]) -> None:
        """Ask a function, within its transaction, for the origin of each change that nobody attributes."""
        self.names.origins.find_default = find

    def attribute(self, origin: Origin) -> AbstractContextManager[None]:
        """Attribute every change that this thread or task makes within the block to an origin.

        >>> with store.attribute(Origin(way=Way.HOOK, client="my-agent")):
        ...     store.facts.write("ops", "V[port]: 5432").fact.origin.client
        'my-agent'
        """
        return attribute_changes(origin)

    def index_notes(self) -> list[str]:
        """Return the notes to show beside search results: which full-text index is damaged, and what to do."""
        return [index_note(name) for name in index_troubles(self.db.conn)]

    def data_version(self) -> int:
        """Return a number that changes when another connection commits; it costs microseconds, so it may be polled."""
        return int(self.db.value("PRAGMA data_version"))

    def close(self) -> None:
        """Write the pending read notes, where the file can still be written, and close it."""
        if self._is_project_theme in self.policies.project_checks:
            self.policies.project_checks.remove(self._is_project_theme)
        try:
            if not self.db.read_only:
                with suppress(errors.StoreReplaced, errors.StoreTooNew):
                    self.reads.flush()
                    self._receipts.close()
        finally:
            self.db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def is_store_missing(path: Path) -> bool:
    """Check whether there is no store yet: no file, or an empty one."""
    try:
        return path.stat().st_size == 0
    except FileNotFoundError:
        return True
    except OSError as error:
        raise errors.StoreUnreadable(f"{path} cannot be opened: {error.strerror or error}", path) from error


def refuse_missing_store(path: Path) -> None:
    """Check that there is a store at `path`. :raises StoreMissing: there is none; the path stays as it is"""
    refuse_store_folder(path)
    if is_store_missing(path):
        problem = f"{path} is empty and holds no memory yet" if path.exists() else f"there is no memory at {path}"
        raise errors.StoreMissing(f"{problem}; name another file with --db, or write a fact to create it", path)


def refuse_store_folder(path: Path) -> None:
    """Check that `path` is not a folder. :raises StoreUnreadable: it is one"""
    if path.is_dir():
        raise errors.StoreUnreadable(f"{path} is a folder; name the file of a memory in it", path)


def create_store(path: Path) -> None:
    """Create an empty store; several processes may try at once."""
    filesystem.create_private_file(path)
    with filesystem.file_lock(path), closing(Db(path)) as db:
        finish_creation(db)


def ensure_wal_mode(db: Db) -> None:
    """Restore WAL mode, which a backup copied into place by hand lacks: readers and writers do not wait for each other in it."""
    if not db.read_only and db.value("PRAGMA journal_mode") != "wal":
        with filesystem.file_lock(db.path), db.lock, translate_sqlite_errors(db.path):
            db.conn.execute("PRAGMA journal_mode = WAL")
            db.conn.execute("PRAGMA schema_version").fetchone()  # makes the log


def ensure_current_version(db: Db, clock: Clock) -> Path | None:
    """Ensure that the file is a store of this version; return the backup of an older one. :raises FileError: it is none"""
    application, version = file_version(db)
    if application != APPLICATION_ID and not db.read_only and is_creation_unfinished(table_names(db), application):
        # It may be in the making: whoever creates a store holds this lock until it is whole.
        with filesystem.file_lock(db.path):
            application, version = file_version(db)
    if application == APPLICATION_ID and version == STORE_VERSION:
        return None
    if application == APPLICATION_ID and version > STORE_VERSION:
        raise newer_store_error(db.conn, db.path, version)
    if application == APPLICATION_ID and version > 0:
        return migrate_behind_backup(db, version, clock)
    tables = table_names(db)
    if {"facts", "scopes", "facts_fts"} <= tables:
        raise errors.StoreNeedsUpgrade(
            f"{db.path} is a memory of hermes-memory 0.3.0; upgrade it with a backup beside it, or open a copy", db.path
        )
    if is_creation_unfinished(tables, application):
        if db.read_only:
            raise errors.StoreUnfinished(
                f"the creation of {db.path} was cut off; open it once for writing to finish it", db.path
            )
        with filesystem.file_lock(db.path):
            finish_creation(db)
        return None
    raise errors.StoreUnreadable(
        f"{db.path} is an SQLite database of another program; choose another file with --db", db.path
    )


def migrate_behind_backup(db: Db, version: int, clock: Clock) -> Path | None:
    """Migrate an older store after a verified backup beside it; return the backup, None when another process was faster.

    :raises StoreOlder: it is open for reading only
    """
    if db.read_only:
        raise errors.StoreOlder(
            f"{db.path} was written by an older version (store {version}); open it once for writing to bring it up to date",
            db.path,
        )
    from hermes_memory_store.database.migrations import migrate_store
    from hermes_memory_store.upkeep.backup import back_up_file, default_backup_path

    with filesystem.file_lock(db.path), db.lock, translate_sqlite_errors(db.path):
        if file_version(db) != (APPLICATION_ID, STORE_VERSION):
            now = clock()
            backup = back_up_file(
                db.path, default_backup_path(db.path, f"version-{version}", now), reason="upgrade", now=now
            ).file
            migrate_store(db.conn)
            return backup
    return None


def copy_migrated(path: Path, target: Path) -> None:
    """Copy a store of an older version and migrate the copy; the store itself is only read. :raises FileError: it fails"""
    from hermes_memory_store.database.database_copies import create_private_exclusively
    from hermes_memory_store.database.migrations import migrate_store

    create_private_exclusively(target)
    with closing(Db(path, read_only=True)) as old, closing(Db(target)) as new, translate_sqlite_errors(target):
        old.conn.backup(new.conn)
        migrate_store(new.conn)


def is_creation_unfinished(tables: set[str], application: int) -> bool:
    """Check whether these tables are those of a creation interrupted before the version number was written."""
    return application in (0, APPLICATION_ID) and (not tables or "_sqlite_migrations" in tables)


def finish_creation(db: Db) -> None:
    """Make the tables of a new store, unless another process has just done so. The caller holds the file lock."""
    from hermes_memory_store.database.migrations import migrate_store

    with db.lock, translate_sqlite_errors(db.path):
        if file_version(db) != (APPLICATION_ID, STORE_VERSION):
            db.conn.execute("PRAGMA journal_mode = WAL")
            migrate_store(db.conn)


def table_names(db: Db) -> set[str]:
    return {row[0] for row in db.rows("SELECT name FROM sqlite_master WHERE type = 'table'")}


def file_version(db: Db) -> tuple[int, int]:
    """Return the application id and the store version of the file."""
    try:
        return int(db.value("PRAGMA application_id")), int(db.value("PRAGMA user_version"))
    except driver.Error as error:
        raise errors.StoreUnreadable(f"{db.path} is not a readable SQLite database ({error})", db.path) from error
