"""`Memory`: the inspector's access to the store. Screens call it, widgets never do.

Three connections keep the screen responsive whatever other processes do: one reads for the screen and waits
for nothing, one reads long listings for worker threads, one writes and may wait for a lock. Every method may
be called from any thread.
"""

from __future__ import annotations

import threading
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeVar

from hermes_memory_bridge.trust import open_store_vault
from hermes_memory_store import errors
from hermes_memory_store.context.read_log import FactReading, ReadLog
from hermes_memory_store.database import driver
from hermes_memory_store.database.db import Db
from hermes_memory_store.database.index_health import retry_without_index
from hermes_memory_store.find.query_syntax import parse_query
from hermes_memory_store.frozen import dataclass
from hermes_memory_store.host_files.file_changes import FILE
from hermes_memory_store.hosts.capture_switch import load_capture_switch
from hermes_memory_store.hosts.host_data import is_client_of
from hermes_memory_store.intake.intake import Writer
from hermes_memory_store.items.project_rows import PLACES
from hermes_memory_store.model import (
    Change,
    ChangeResult,
    Fact,
    FactFilter,
    FactPage,
    FactPurgePlan,
    FactType,
    Gauge,
    ListOrder,
    Millis,
    Query,
    Scope,
    Session,
    Sort,
    ThemeSummary,
    Tier,
    Turn,
    UndoResult,
    Way,
)
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.store import Store
from hermes_memory_store.system import filesystem
from hermes_memory_store.uids import short_uid
from hermes_memory_tui.model import bulk_actions
from hermes_memory_tui.model.bulk_actions import BulkAction, Preview
from hermes_memory_tui.model.working_folder import attribute_to_working_folder, find_working_theme
from hermes_memory_tui.text import display_formats

if TYPE_CHECKING:
    from hermes_memory_store.conversations.fact_uses import FactUse
    from hermes_memory_store.find.ranked_listing import RankedListing
    from hermes_memory_store.journal.undo_choice import UndoChoice
    from hermes_memory_store.relief.file_relief import OptimizeReport

T = TypeVar("T")

SCREEN_WAIT_S = 0.1
"""How long a read for the screen may wait for a lock: a frame or two, then the screen says so and tries again."""

FIRST_PAGE = 100
"""Facts that are painted at once, while the whole listing is still being read."""

MAX_SEARCH_RESULTS = 1_000
"""Facts a search by words lists, best first; nobody reads further down than that."""

MAX_FOLLOWED_CHANGES = 300
"""Changes that are followed one by one; when more came at once, everything is read anew."""


FEW_THEMES = 4
"""Themes whose targets are offered when none is chosen: each costs a millisecond or two."""

RECENT = 20
"""Newest journal rows among which the last change of a fact or a scope is looked for."""


@dataclass(frozen=True, slots=True)
class ListingRequest:
    """What the fact table shows: a place in the tree and a search line."""

    theme: str | None = None
    scopes: frozenset[str | None] = frozenset()
    line: str = ""
    sort: Sort | ListOrder = Sort.UPDATED
    descending: bool = True


@dataclass(frozen=True, slots=True)
class FactListing:
    """The keys of the facts of a request, in order."""

    view: ListingRequest
    keys: array[int]
    total: int
    """How many there are; more than `keys` when the listing was cut off."""
    ranked: bool
    """Best first, because words were searched for."""
    wanted: FactFilter
    seq: int = 0
    """A journal row that everything in it is at least as new as."""
    is_index_damaged: bool = False
    """Whether the facts themselves were read, because their full-text index is damaged."""
    partial: int = 0
    """How many of the total, the last, have only some of the words that were searched for."""
    partial_note: str = ""
    """What is said above those."""


@dataclass(frozen=True, slots=True)
class Overview:
    """Everything besides facts: themes, scopes, gauges and sessions."""

    themes: list[ThemeSummary]
    scopes: list[Scope]
    sessions: list[Session]
    newest: Change | None
    """What happened last to a fact or a scope."""
    seq: int
    """The newest journal row this was read at."""


@dataclass(frozen=True, slots=True)
class FactDetails:
    fact: Fact
    history: list[Change]
    chain: list[Fact]
    readers: list[FactReading]
    """The latest sessions that received it."""
    turns: list[Turn]
    """The captured messages it was written from, without those that were erased."""
    near: tuple[Fact, ...] = ()
    """Facts that say nearly the same under other targets."""
    uses: FactUse | None = None
    """What sessions did with it, once one was given it."""


BY_UNDO = "u undoes."

LEFT_SHOWN = 3
"""Reasons why an undo left something that its message gives; the dialog before it gave more."""


@dataclass(frozen=True, slots=True)
class ActionResult:
    """The result of a write: a message for the person and the facts to focus."""

    said: str
    show: str | None = None
    """Uid of the fact to put the cursor on."""
    back: str = BY_UNDO
    """How to undo it."""

    @property
    def message(self) -> str:
        return f"{self.said}. {self.back}" if self.back else f"{self.said}."


FINAL = "This cannot be undone."

NOT_BY_UNDO = "Not undoable with u."


@dataclass(frozen=True, slots=True)
class UnjournaledAction:
    """An action of the person that changes no fact or scope, so that the journal cannot undo it."""

    said: str
    """What it did."""
    back: str
    """How to take it back, or that nothing does."""
    seq: int
    """The newest journal row when it was done: undo takes back what is newer first."""
    undo: Callable[[Memory], ActionResult] | None = None
    """Takes it back, where that can be done."""
    changes: frozenset[int] = frozenset()
    """What the journal holds of it."""


@dataclass(frozen=True, slots=True)
class UndoHistory:
    """The person's actions that the journal does not record, for the memory that replaces this one."""

    identity: tuple[int, int] | None
    """The file it was done to."""
    unjournaled: tuple[UnjournaledAction, ...]
    redo: tuple[tuple[int, ...], ...]


class ListingInterrupted(Exception):
    """Raised when a listing was interrupted."""


def list_scopes(store: Store, theme: str | None = None) -> list[Scope]:
    """Return the scopes that hold facts: one whose facts were all purged or moved away is no place to go to."""
    return [scope for scope in store.scopes.list(theme) if scope.facts]


class Memory:
    """One store, as the inspector uses it."""

    is_past: ClassVar[bool] = False
    """Whether it shows a moment of the past, where nothing changes."""
    band: str = ""
    """Which moment it shows, for the title; empty in the present."""

    def __init__(self, open_store: Callable[[], Store]) -> None:
        self._open_store = open_store
        self._redo: list[tuple[int, ...]] = []
        """Rows of the undos that can be done again, each with those that were made in one go."""
        self._passed: set[int] = set()
        """Changes whose undo was refused, which the person was told; `undo` comes to what is before them."""
        self._unjournaled: list[UnjournaledAction] = []
        """What a person did here that the journal does not hold, and `undo` has not come to yet."""
        self._refused: UnjournaledAction | None = None
        """The one of these that `undo` could not take back just now, which it said."""
        self._closed = False
        self._looking = threading.Lock()
        self._views: Store | None = None
        self._opening = threading.Lock()
        self.purged: dict[str, int] = {}
        """Facts of each theme that were there at the moment that is shown, and are missing because they were purged since."""
        self._long_reader: Store | None = None
        self.epoch = 0
        """Rises whenever anybody committed, and when another file came to stand at the path."""
        self.files = 0
        """How many files were opened: another one may come to stand at the same path."""
        self.on_close: Callable[[], None] | None = None
        """What is to be done when it is closed for good."""
        self._connect()
        self.shown_path = self.path
        """The file as the person knows it."""

    @classmethod
    def open(cls, path: str | Path | None, *, read_only: bool = False) -> Memory:
        """Open a store, creating it when missing; where nothing can be written, open it for reading only.

        :raises FileError: when it cannot be used as it is
        """

        def open_store() -> Store:
            try:
                return Store.open(path, read_only=read_only)
            except (errors.DiskFull, errors.StoreReadOnly) as error:
                with suppress(errors.StoreMissing):
                    return Store.open(path, read_only=True)
                raise error

        return cls(open_store)

    def _connect(self) -> None:
        store = self._open_store()
        store.intake.writer, store.intake.open_vault = Writer.PERSON, partial(open_store_vault, store.path)
        attribute_to_working_folder(store, Way.SCREEN)
        screen = store.reader(noting=False)
        screen.db.lock_timeout_s = SCREEN_WAIT_S
        self.store, self._screen = store, screen
        self.files += 1
        self._redo.clear()  # rows of the file that stood here before
        self._unjournaled.clear()
        self._passed.clear()
        self.path = store.path
        self.read_only = store.db.read_only
        self.write_refusal = store.db.write_refusal
        self.kept = store.kept
        self._identity = filesystem.file_identity(self.path)
        self._newest_seq = 0
        self._version = screen.data_version()
        self.epoch += 1

    @property
    def undo_history(self) -> UndoHistory:
        """The undo history of this memory, for `adopt_undo_history`; available after closing, too."""
        return UndoHistory(self._identity, tuple(self._unjournaled), tuple(self._redo))

    def adopt_undo_history(self, deeds: UndoHistory) -> None:
        """Continue the undo history of another memory of the same file; that of another file is ignored."""
        if deeds.identity == self._identity:
            self._unjournaled[:] = deeds.unjournaled
            self._redo[:] = deeds.redo

    @property
    def is_closed(self) -> bool:
        """Whether the memory was closed permanently; a screen may outlive it briefly."""
        return self._closed

    def close(self) -> None:
        self.interrupt()
        self._closed = True
        self._close(self._stores())
        if self.on_close is not None:
            self.on_close()

    def _stores(self) -> list[Store]:
        """Return all connections, the writer last.

        SQLite removes the write-ahead log only when the writer is the last to close.
        """
        with self._opening:
            readers = self._other_readers()
            self._views = self._long_reader = None
        return [self._screen, *readers, self.store]

    def _other_readers(self) -> list[Store]:
        """Return the connections that are open besides those of the screen and of the writer."""
        return [store for store in (self._long_reader, self._views) if store is not None]

    @property
    def _listings(self) -> Store:
        """The connection that reads long listings, opened with the first of them: the first frame comes before."""
        with self._opening:
            if self._closed:
                raise driver.ProgrammingError("the memory is closed")
            if self._long_reader is None:
                self._long_reader = self.store.reader(noting=False)
            return self._long_reader

    def _close(self, stores: Iterable[Store]) -> None:
        for store in stores:
            store.close()

    # What is there

    def read_view(self, job: Callable[[Store], T]) -> T:
        """Run a read job for a view in the calling thread, which is none of the app; one at a time."""
        with self._looking:
            if self._closed:  # a reader opened now would make a log that nobody tidies away
                raise driver.ProgrammingError("the memory is closed")
            if self._views is None:
                self._views = self.store.reader(noting=False)
            return job(self._views)

    def read_now(self, job: Callable[[Store], T]) -> T:
        """Run a short read job on the app's thread, where no job of a view may be waited for."""
        return job(self._screen)

    @contextmanager
    def open_reader(self) -> Iterator[Store]:
        """Open a separate read-only connection for long reads."""
        store = self.store.reader(noting=False)
        try:
            yield store
        finally:
            store.close()

    def newest_seq(self) -> int:
        """Return the number of the last change; the last that is known while the file cannot be read.

        That it cannot is said where changes are followed.
        """
        with suppress(errors.StoreError):
            self._newest_seq = self._screen.journal.last_seq()
        return self._newest_seq

    def now(self) -> Millis:
        """Return the current time by the store's clock."""
        return self.store.clock()

    def find_capture_stop(self) -> str:
        """Return why nothing of what agents are told is kept, in a few words; empty when something may be."""
        stop = load_capture_switch(self.shown_path).find_general_stop(self.now())
        return stop.partition(",")[0]

    def parse_request(self, view: ListingRequest) -> Query:
        """Parse the search line of a request, confined to its place. :raises QueryError:"""
        query = parse_query(view.line, theme=view.theme, now=self.now())
        return replace(query, filter=replace(query.filter, scopes=query.filter.scopes or view.scopes))

    def first_page(self, view: ListingRequest) -> FactPage:
        """Return the first facts of a request without search words, in an order of pages, and their total number."""
        return self._screen.facts.page(
            self.parse_request(view).filter, sort=Sort(view.sort), descending=view.descending, limit=FIRST_PAGE
        )

    def load_listing(self, view: ListingRequest) -> FactListing:
        """Return every fact of a request. May take a second for a million facts: call it from a worker thread.

        :raises Interrupted: when `interrupt` was called meanwhile
        """
        listings = None
        try:
            listings = self._listings
            return self._load_listing(view)
        except driver.OperationalError as error:
            if error.sqlite_errorcode == driver.SQLITE_INTERRUPT:
                raise ListingInterrupted from error
            raise
        except driver.ProgrammingError as error:
            if self._closed or self._long_reader is not listings:
                raise ListingInterrupted from error
            raise

    def interrupt(self) -> None:
        """Interrupt the listing being read, because another one is requested."""
        if not self._closed and self._long_reader is not None:
            self._long_reader.db.conn.interrupt()

    def _load_listing(self, view: ListingRequest) -> FactListing:
        query = self.parse_request(view)
        seq = self._listings.journal.last_seq()
        if query.has_text:
            ranked = self._rank_listing(view)
            keys = array("q", (fact.id for fact in ranked.facts))
            return FactListing(
                view,
                keys,
                max(ranked.total, len(keys)),
                True,
                query.filter,
                seq,
                is_index_damaged=ranked.note is not None,
                partial=ranked.partial,
                partial_note=ranked.partial_note,
            )
        keys = self._listings.facts.ids(query.filter, sort=view.sort, descending=view.descending)
        return FactListing(view, keys, len(keys), False, query.filter, seq)

    def _rank_listing(self, view: ListingRequest) -> RankedListing:
        """Return the facts of a request with search words, as every tool ranks them."""
        from hermes_memory_store.find.ranked_listing import list_ranked_facts

        line, scope = view.line, None
        if view.scopes and not parse_query(line, now=self.now()).filter.scopes:
            (first, *rest) = view.scopes
            if rest or first is None:
                line += " scope:" + ",".join(f'"{label or ""}"' for label in view.scopes)
            else:
                scope = first
        listings = self._listings
        return list_ranked_facts(
            listings.search, listings.recall, view.theme, line, scope=scope, limit=MAX_SEARCH_RESULTS
        )

    def facts(self, keys: Sequence[int]) -> list[Fact]:
        return self._screen.facts.by_ids(keys)

    def export(
        self,
        keys: Sequence[int],
        file: str,
        *,
        columns: Sequence[str],
        replace: bool,
        progress: Callable[[int], None],
    ) -> int:
        """Export facts to a file and return their number. Takes seconds for many: call it from a worker thread.

        :param columns: names of the columns that CSV has, besides the target and the content
        """
        from hermes_memory_tui.model import fact_export

        return fact_export.export_facts(self.store, keys, file, columns=columns, replace=replace, progress=progress)

    def fact(self, uid: str) -> Fact:
        return self._screen.facts.get(uid)

    def detail(self, uid: str) -> FactDetails:
        facts = self._screen.facts
        fact = facts.get(uid)
        # The reading connection knows the notes that were written, not those this process still gathers.
        readers = ReadLog(self._screen.db, self._screen.names, self._screen.clock).readers(fact.uid)
        turns = self._screen.turns.by_uids(fact.origin.turns)
        near = facts.near_duplicates(uid)
        uses = next((use for use in self._screen.fact_uses.of_facts([fact.id]) if use.given), None)
        return FactDetails(fact, facts.history(uid), facts.chain(uid), readers, turns, near, uses)

    def overview(self) -> Overview:
        """Return the themes, their scopes, and active sessions."""
        return self._overview(lambda _: list_scopes(self._screen))

    def summary(self) -> Overview:
        """Return the overview without scopes: what a title needs."""
        return self._overview(lambda _: [])

    def first_overview(self, theme: str | None) -> Overview:
        """Return the overview with only the scopes of the first frame: those of the theme that starts expanded."""

        def seen(themes: list[ThemeSummary]) -> list[Scope]:
            unfolded = themes[0].name if len(themes) == 1 else theme
            return [] if unfolded is None else list_scopes(self._screen, unfolded)

        return self._overview(seen)

    def _overview(self, scopes: Callable[[list[ThemeSummary]], list[Scope]]) -> Overview:
        screen = self._screen
        sessions = screen.sessions.list(most_ended=0)
        with screen.db.snapshot():
            recent: list[Change] = []
            newest: Change | None = None
            for most in (1, RECENT):  # the newest row alone is nearly always about a fact
                recent = screen.journal.changes(limit=most, newest_first=True)
                newest = next((change for change in recent if change.entity in ("fact", "scope", PLACES)), None)
                if newest is not None:
                    break
            seq = recent[0].seq if recent else 0
            themes = screen.themes()
            return Overview(themes, scopes(themes), sessions, newest, seq)

    def count_purged_since(self, theme: str | None = None) -> int:
        """Return how many facts of a theme, or of all, a moment of the past lacks because they were purged since."""
        return sum(self.purged.values()) if theme is None else self.purged.get(theme, 0)

    def gauge(self, theme: str) -> Gauge:
        """Return how full a theme's hot tier is."""
        return self._screen.tiers.gauge(theme)

    def targets(self, theme: str | None, prefix: str, most: int) -> list[str]:
        """Return targets with this prefix in a theme, or in the first few themes."""
        names = self._screen.names
        themes = [theme] if theme is not None else names.all_themes()[:FEW_THEMES]
        return list(dict.fromkeys(target for name in themes for target in names.targets(name, prefix, most)))[:most]

    def authors(self, theme: str | None, prefix: str, most: int) -> list[str]:
        """Return possible authors of facts: session names with this prefix, and kinds of actors."""
        return self._screen.names.authors(prefix, most, theme)

    def projects(self, theme: str | None, prefix: str, most: int) -> list[str]:
        """Return the names of projects with this prefix that facts of a theme come from."""
        names = self._screen.names
        return names.origins.names_beginning(None if theme is None else names.theme_or_none(theme) or 0, prefix, most)

    def changes(self, since: int) -> list[Change]:
        """Return journal rows after `since`, oldest first, at most one more than `MAX_FOLLOWED_CHANGES`."""
        return self._screen.journal.changes(since=since, limit=MAX_FOLLOWED_CHANGES + 1)

    def poll_commits(self) -> bool:
        """Return whether anybody committed since the last call. Costs microseconds.

        :raises StoreUnreadable: when the file is gone; a file that came back is opened again
        """
        identity = filesystem.file_identity(self.path)
        if identity is None:
            message = f"{self.path} no longer exists or cannot be reached; showing the last data read"
            raise errors.StoreUnreadable(message, self.path)
        if identity != self._identity or (self.write_refusal and not filesystem.find_write_refusal(self.path.parent)):
            # The old connections stay until the new ones are there: what cannot be opened must not end the app.
            self.interrupt()
            before = self._stores()
            self._connect()
            self._close(before)
            return True
        version = self._screen.data_version()
        if version == self._version:
            return False
        self._version = version
        for store in (self._screen, *self._other_readers()):
            store.names.forget_titles()
        self.epoch += 1
        return True

    # What a person does

    def add_fact(self, theme: str, line: str, scope: str | None, *, confirmed: bool = False) -> ActionResult:
        """Write a new fact. :param confirmed: the person agreed to mask secrets and to remove hidden characters"""
        with self._person_store() as store:
            result = store.facts.write(theme, line, scope=scope, confirmed=confirmed)
        message = f"{display_formats.fact_name(result.fact)} " + ("written" if result.created else "already exists")
        if result.masked:
            message += f", masked: {', '.join(result.masked)}"
        if result.unkept:
            message += (
                f", {display_formats.pluralise(result.unkept, 'secret')} masked and not kept, the value is gone: keep it"
                " yourself (no keyring can be reached)"
            )
        if result.superseded:
            message += f", replaces {display_formats.pluralise(len(result.superseded), 'fact')}"
        if result.near:
            message += f", close to {', '.join(display_formats.fact_name(other) for other in result.near)}"
        if result.closed:
            message += f", closes {', '.join(result.closed)}"
        return ActionResult(message, result.fact.uid)

    @retry_without_index
    def edit_fact(
        self, base: Fact, content: str, *, confirmed: bool = False, cites: Sequence[str] | None = None
    ) -> ActionResult:
        """Replace a fact's content, provided it is unchanged since the person started editing.

        :param confirmed: as for `add_fact`
        :param cites: the lines and addresses that it cites from now on; as before unless given
        :raises FactConflict: when somebody changed it meanwhile
        """
        with self._person_store() as store, store.journal.join_changes():
            fact = store.facts.get(base.uid)
            if fact.content != base.content:
                raise errors.FactConflict(
                    f"{display_formats.fact_name(base)} was changed by {display_formats.actor_name(fact.actor)} meanwhile",
                    base.uid,
                )
            store.facts.edit(base.uid, content, confirmed=confirmed)
            if cites is not None:
                store.citations.cite_only(store.facts.get(base.uid), cites, base.origin.root or str(Path.cwd()))
        return ActionResult(f"{display_formats.fact_name(base)} edited", base.uid)

    def preview_scope(self, theme: str, label: str) -> Preview:
        plan = self.store.purge.preview(theme, scope=label)
        facts = self.store.facts
        all_of_it = FactFilter(theme=theme, scopes=frozenset({label}), tiers=frozenset(Tier) - {Tier.WITHDRAWN})
        # The hot tier is bounded, the rest is not: only what is hot is read, for the gauge.
        hot = facts.by_ids(facts.ids(replace(all_of_it, tiers=frozenset({Tier.HOT}))))
        types = {kind: facts.count(replace(all_of_it, types=frozenset({kind}))) for kind in FactType}
        return replace(
            bulk_actions.preview_bulk_action(self.store, bulk_actions.PURGE, hot, scope=label),
            facts=plan.total,
            tiers=plan.by_tier,
            types={kind: number for kind, number in types.items() if number},
            samples=facts.page(all_of_it, limit=bulk_actions.MAX_SAMPLES).facts,
            purge=plan.erasure,
        )

    def find_folder_theme(self) -> str:
        with self._person_store() as store:
            return find_working_theme(store)

    def run_action(self, act: BulkAction, facts: Sequence[Fact]) -> ActionResult:
        """Run an action as one change. :raises StoreError: in that case nothing was changed"""
        if not facts:
            return ActionResult("selection no longer exists", back="")
        with self._person_store() as store:
            answer = act.run(store, [fact.uid for fact in facts])
        name = display_formats.fact_name(facts[0]) if len(facts) == 1 else display_formats.pluralise(len(facts), "fact")
        message = f"{name} {act.done}"
        if act.final:
            return self.record_unjournaled(ActionResult(message + unreached_copies_note(answer), back=FINAL))
        if isinstance(answer, ChangeResult) and not answer.uids:
            return ActionResult(f"{name} unchanged", back="")
        return ActionResult(message)

    def purge_scope(self, theme: str, label: str) -> ActionResult:
        with self._person_store() as store:
            plan = store.purge.execute(theme, scope=label)
        message = f"{display_formats.pluralise(plan.total, 'fact')} of scope {label} purged"
        return self.record_unjournaled(
            ActionResult(message + unreached_copies_note((plan.total, plan.unreached)), back=FINAL)
        )

    def close_scope(self, theme: str, label: str) -> ActionResult:
        """Close a scope; its hot facts become cold."""
        with self._person_store() as store:
            return describe_scope_change(store.scopes.close(theme, label), label, "closed", "closed", "cooled")

    def reopen_scope(self, theme: str, label: str) -> ActionResult:
        """Reopen a scope; facts cooled by closing it become hot again."""
        with self._person_store() as store:
            return describe_scope_change(store.scopes.reopen(theme, label), label, "open", "reopened", "warmed")

    def undo(self, theme: str | None = None) -> ActionResult:
        """Undo the newest change by the person that is still in effect in a theme, or in all. What agents changed since stays.

        Newer actions that are not in the journal come first: they are undone in their own way; where that is not
        possible or is refused, this is reported once and nothing else is undone instead.

        :raises NothingToUndo:
        :raises UndoConflict:
        """
        choice, themes = self._undo_choice, [] if theme is None else [theme]
        refused, self._refused = self._refused, None
        while True:
            newest = next(iter(choice.newest(themes, passed=self._passed)), None)
            if not self._unjournaled or (newest is not None and newest.last > self._unjournaled[-1].seq):
                break
            last = self._unjournaled[-1]
            before = newest is not None or len(self._unjournaled) > 1
            if last.undo is None:
                self._unjournaled.pop()
                more = " u again undoes your previous change." if before else ""
                raise errors.NothingToUndo(f"{last.said}. {last.back}{more}")
            try:
                done = last.undo(self)
            except errors.StoreError as error:
                if last is not refused:
                    self._refused = last
                    more = ", or undoes your previous change" if before else ""
                    message = f"{error.message}. u again retries it{more}"
                    raise errors.UndoConflict(message, error.value) from error
                if not before:
                    self._refused = last
                    raise
                self._unjournaled.pop()  # the person was told, and nothing became of it
                self._passed |= last.changes
                continue
            self._unjournaled.pop()
            return done
        if newest is None:
            raise errors.NothingToUndo("nothing to undo" if theme is None else f"nothing to undo in theme {theme!r}")
        done = self.undo_change(newest.lead, newest.changes)
        other = next(iter(choice.newest(themes, is_own=False)), newest)
        if other.last < newest.last:
            return done
        actor = display_formats.actor_name(other.lead.actor)
        return replace(
            done, said=f"{done.said}; change {other.first} of {actor} is newer and stays: U on it in 6 undoes it"
        )

    def record_unjournaled(
        self,
        done: ActionResult,
        undo: Callable[[Memory], ActionResult] | None = None,
        changes: frozenset[int] = frozenset(),
    ) -> ActionResult:
        """Record an action that the journal does not contain.

        :param undo: reverts it
        :param changes: what the journal does contain of it
        """
        back = done.back or NOT_BY_UNDO
        self._unjournaled.append(UnjournaledAction(done.said, back, self._screen.journal.last_seq(), undo, changes))
        return replace(done, back=back)

    @retry_without_index
    def undo_change(self, change: Change, changes: Sequence[int] = ()) -> ActionResult:
        """Undo one change, whoever made it.

        :param changes: numbers of the changes that belong together with it, oldest first
        :raises UndoConflict: when later changes depend on it
        """
        undone = self._undo_choice.undo(changes or (change.change,))
        self._note_redo(undone)
        deed = self._describe_undo(change, undone.uids)
        if undone.files:
            facts = display_formats.pluralise(len(undone.uids), "fact")
            names = " and ".join(path.name for path in undone.files)
            deed = f"{names} as before the relief, {facts} removed from the memory"
        actor = "you" if change.is_own else display_formats.actor_name(change.actor)
        folds = self._undo_choice.folds
        where = " and ".join(sorted({theme for fold in folds.of_rows(undone.undone) for theme in folds.themes(fold)}))
        message = f"undone: {deed}, by {actor} in theme {to_printable(where)}{left_note(undone.left)}"
        return ActionResult(message, first_fact_uid(change), "ctrl+r redoes.")

    def preview_undo_change(self, change: Change, changes: Sequence[int] = ()) -> tuple[str, ...]:
        """Return what `undo_change` would leave as it is, and why, without undoing anything.

        :raises NothingToUndo: UndoConflict, as `undo_change`
        """
        return self._undo_choice.undo(changes or (change.change,), dry_run=True).left

    def preview_undo_session(self, theme: str, name: str) -> UndoResult:
        """Return what `undo_session` would undo and leave, without undoing anything.

        :raises NothingToUndo: UndoConflict, as `undo_session`
        """
        return self.store.undo.preview(lambda: self.store.undo.session(name, theme=theme, leaving=True))

    def preview_undo_teammate(self, role: str) -> UndoResult:
        """Return what taking back all that a teammate wrote would do, without doing it.

        :raises NothingToUndo: he wrote nothing that is here
        """
        return self.store.undo.preview(lambda: self.store.sync.standing.undo_teammate(role))

    def undo_session(self, theme: str, name: str) -> ActionResult:
        """Undo every change by a session that is still in effect.

        :raises NothingToUndo:
        :raises UndoConflict:
        """
        undone = self.store.undo.session(name, theme=theme, leaving=True)
        title = self.store.names.title_in_theme(theme, name)
        self._note_redo(undone)
        message = f"{display_formats.pluralise(len(undone.undone), 'change')} of {to_printable(title or name)} undone"
        return ActionResult(message + left_note(undone.left), back="ctrl+r redoes.")

    def _note_redo(self, undone: UndoResult) -> None:
        rows = self.store.journal.numbers(until=undone.seqs[-1] + 1, limit=len(undone.seqs))
        self._redo.append(tuple(sorted({change for _, change in rows})))

    @retry_without_index
    def redo(self) -> ActionResult:
        """Redo the last undo, provided nothing else was written here since."""
        if not self._redo:
            raise errors.NothingToUndo("nothing to redo")
        redone = self.store.undo.changes(self._redo[-1])
        undo = self.store.journal.get(self._redo.pop()[0])
        first = undo if undo.undoes is None else self.store.journal.get(undo.undoes)
        message = f"redone: {self._describe_undo(first, redone.uids)}{left_note(redone.left)}"
        return ActionResult(message, first_fact_uid(first))

    def newest_change_of(self, fact: Fact) -> Change:
        """Return the newest change of a fact that is still in effect. :raises NothingToUndo:"""
        for change in reversed(self.store.facts.history(fact.uid)):
            if change.undoes is None and not self.store.undo.is_undone(change.change):
                return change
        raise errors.NothingToUndo(f"nothing left to undo on {display_formats.fact_name(fact)}")

    def run_write(
        self, act: Callable[[Store], T], message: str | Callable[[T], str], *, back: str = BY_UNDO
    ) -> ActionResult:
        """Run any write as the person and return its result.

        When it changed no fact and no scope, it is recorded as not covered by undo.

        :param back: how to revert it
        """
        with self._person_store() as store:
            before = store.journal.last_seq()
            result = act(store)
            mine = [row for row in store.journal.changes(since=before) if row.actor.kind == "person"]
        done = ActionResult(message if isinstance(message, str) else message(result), back=back)
        if any(row.entity in ("fact", "scope", PLACES, FILE) for row in mine):
            return done
        return self.record_unjournaled(replace(done, back="" if back == BY_UNDO else back))

    def relieve_files(self, theme: str, home: Path, describe: Callable[[OptimizeReport], str]) -> ActionResult:
        """Relieve the host's files; `undo` restores them and reverts the facts that were moved to the store."""
        from hermes_memory_store.relief.file_relief import relieve_files

        with self._person_store() as store:
            report = relieve_files(store, theme, home=home)
        rows = (*report.memory.changes, *report.user.changes)
        changes = frozenset(self.store.journal.get(seq).change for seq in rows)
        undo = partial(Memory._restore_files, report=report, changes=changes)
        return self.record_unjournaled(ActionResult(describe(report)), undo, changes)

    def _restore_files(self, report: OptimizeReport, changes: frozenset[int]) -> ActionResult:
        from hermes_memory_store.host_files.memory_file_copies import MemoryFileCopy, restore_memory_file_copy

        if changes:
            return self.undo_change(self.store.journal.get(min(changes)), sorted(changes))
        ours = [(file.path, file.copy) for file in (report.memory, report.user) if file.copy is not None]
        if not ours:
            raise errors.NothingToUndo("that relief changed no file")
        for path, copy in ours:
            if restore_memory_file_copy(MemoryFileCopy.of(copy)) == "changed":
                raise errors.UndoConflict(f"{path} changed since the relief; the text before it is in {copy}", path)
        return ActionResult(f"undone: {' and '.join(path.name for path, _ in ours)} as before the relief", back="")

    @retry_without_index
    def run_grouped_write(self, act: Callable[[Store], T], message: str | Callable[[T], str]) -> ActionResult:
        """Run a write of several changes, all or none; undo reverts them together."""
        with self._person_store() as store, store.journal.join_changes():
            before = store.journal.last_seq()
            result = act(store)
            made = store.journal.last_seq() > before
        text = message if isinstance(message, str) else message(result)
        return ActionResult(text) if made else ActionResult(text, back="")

    @property
    def _undo_choice(self) -> UndoChoice:
        from hermes_memory_store.journal.undo_choice import UndoChoice

        return UndoChoice(self.store)

    @property
    def _db(self) -> Db:
        return self.store.db

    @contextmanager
    def _person_store(self) -> Iterator[Store]:
        yield self.store
        self._redo.clear()
        self._refused = None

    def _describe_undo(self, change: Change, uids: Iterable[str]) -> str:
        facts = [uid for uid in uids if uid != change.uid]
        if change.entity == "scope":
            label = (change.after or {}).get("label") or self._scope_label(change.uid)
            return f"{change.op} of scope {label}"
        if change.entity == PLACES:
            return f"the choice of {(change.after or {}).get('places', 'themes')} for places"
        if change.entity == FILE:
            return f"{change.op} of an entry of {Path((change.after or {}).get('path', '?')).name}"
        more = f" and {len(facts):,} more" if facts else ""
        return f"{change.op} of {self._fact_label(change.uid)}{more}"

    def _fact_label(self, uid: str) -> str:
        """Return the name of a fact from its first journal row, which exists even when its creation was undone."""
        first = self.store.journal.changes(uid=uid, limit=1)[0].after or {}
        return to_printable(f"{first['type']}[{first['target']}]") if "target" in first else f"fact {short_uid(uid)}"

    def _scope_label(self, uid: str) -> str:
        return next((scope.label for scope in self.store.scopes.list() if scope.uid == uid), short_uid(uid))


def describe_scope_change(changed: ChangeResult, label: str, state: str, done: str, moved: str) -> ActionResult:
    name = f"scope {to_printable(label)}"
    if not changed.seqs:
        return ActionResult(f"{name} is already {state}", back="")
    return ActionResult(f"{name} {done}, {display_formats.pluralise(len(changed.uids), 'fact')} {moved}")


def left_note(reasons: Iterable[str]) -> str:
    left = list(dict.fromkeys(reasons))
    if not left:
        return ""
    from hermes_memory_tui.text.undo_refusals import format_refusal

    more = f"; and {len(left) - LEFT_SHOWN} more" if len(left) > LEFT_SHOWN else ""
    return (
        f"; {len(left)} left as is: {'; '.join(to_printable(format_refusal(text)) for text in left[:LEFT_SHOWN])}{more}"
    )


def unreached_copies_note(answer: object) -> str:
    """Return a note on the copies that a purge could not reach, and on names that hold the same words."""
    if isinstance(answer, FactPurgePlan) and answer.lasting:
        note = f"; the same words stay in {', '.join(answer.lasting)}"
        return note + unreached_copies_note(replace(answer, lasting=()))
    match answer:
        case (int(), tuple() as copies) | FactPurgePlan(unreached=copies) if copies:
            return f"; not removed from {', '.join(map(str, copies))}, which could not be cleaned"
    return ""


def matches_filter(criteria: FactFilter, fact: Fact) -> bool:
    """Check whether a fact matches a filter, so that one change does not require reading the whole listing again."""
    target = None if criteria.target is None else criteria.target.casefold()
    return (
        (criteria.theme is None or fact.theme == criteria.theme)
        and (not criteria.scopes or fact.scope in criteria.scopes)
        and (not criteria.types or fact.type in criteria.types)
        and fact.tier in (criteria.tiers or frozenset(Tier))
        and (target is None or fact.target.casefold() == target or fact.target.casefold().startswith(f"{target}."))
        and (criteria.before is None or fact.updated_at < criteria.before)
        and (criteria.after is None or fact.updated_at >= criteria.after)
        and (
            criteria.by is None
            or criteria.by in (fact.actor.kind, fact.actor.name, fact.origin.client, fact.origin.title)
            or criteria.by in (fact.origin.teammate, (fact.origin.teammate or "").partition("/")[0])
        )
        and (not criteria.ways or fact.origin.way in criteria.ways)
        and (not criteria.projects or fact.origin.project in criteria.projects)
        and (not criteria.branches or fact.origin.branch in criteria.branches)
        and (not criteria.clients or is_client_of(fact.origin.client or "", criteria.clients))
        and (criteria.pinned is None or fact.pinned == criteria.pinned)
        and (criteria.read is None or (fact.reads > 0) == criteria.read)
    )


def first_fact_uid(change: Change) -> str | None:
    """Return the uid of the changed fact, or None when the change is not about a fact."""
    return change.uid if change.entity == "fact" else None
