"""`Memory`: what the inspector knows of the store. Screens call it, widgets never do.

Three connections keep the screen alive whatever other processes do: one reads for the screen and waits for nothing, one
reads long listings for worker threads, one writes and may wait for a lock. Every method may be called from any thread.
"""

from __future__ import annotations

import sqlite3
import threading
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from hermes_memory_store import errors, filesystem
from hermes_memory_store.db import Db
from hermes_memory_store.frozen import dataclass
from hermes_memory_store.model import (
    Change,
    Changed,
    Fact,
    FactFilter,
    FactType,
    Gauge,
    Millis,
    Page,
    Query,
    Scope,
    Session,
    Sort,
    Theme,
    Tier,
)
from hermes_memory_store.query import parse_query
from hermes_memory_store.reads import Reader, Reads
from hermes_memory_store.store import Store
from hermes_memory_store.text import printable
from hermes_memory_store.text_indexes import again_without_index
from hermes_memory_store.uids import short
from hermes_memory_tui import acts, shown
from hermes_memory_tui.acts import Act, Preview

if TYPE_CHECKING:
    from hermes_memory_store.relief import OptimizeReport

T = TypeVar("T")

SCREEN_WAIT_S = 0.1
"""How long a read for the screen may wait for a lock: a frame or two, then the screen says so and tries again."""

FIRST_PAGE = 100
"""Facts that are painted at once, while the whole listing is still being read."""

MOST_FOUND = 1_000
"""Facts a search by words lists, best first; nobody reads further down than that."""

MOST_CHANGES = 300
"""Changes that are followed one by one; when more came at once, everything is read anew."""


FEW_THEMES = 4
"""Themes whose targets are offered when none is chosen: each costs a millisecond or two."""

RECENT = 20
"""Newest journal rows among which the last change of a fact or a scope is looked for."""


@dataclass(frozen=True, slots=True)
class View:
    """What the fact table is to show: a place in the tree, and a search line."""

    theme: str | None = None
    scopes: frozenset[str | None] = frozenset()
    line: str = ""
    sort: Sort = Sort.UPDATED
    descending: bool = True


@dataclass(frozen=True, slots=True)
class Listing:
    """The keys of the facts of a view, in order."""

    view: View
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


@dataclass(frozen=True, slots=True)
class Overview:
    """Everything that is not a fact: whose memory, how full, who is connected."""

    themes: list[Theme]
    scopes: list[Scope]
    sessions: list[Session]
    newest: Change | None
    """What happened last to a fact or a scope."""
    seq: int
    """The newest journal row this was read at."""


@dataclass(frozen=True, slots=True)
class Detail:
    """One fact with where it comes from."""

    fact: Fact
    history: list[Change]
    chain: list[Fact]
    readers: list[Reader]
    """Who was told it last."""


BY_UNDO = "u undoes."


@dataclass(frozen=True, slots=True)
class Done:
    """What a write did: a sentence for the person, and the facts to look at."""

    said: str
    show: str | None = None
    """Uid of the fact to put the cursor on."""
    back: str = BY_UNDO
    """How to take it back."""

    @property
    def sentence(self) -> str:
        """What a person is told."""
        return f"{self.said}. {self.back}" if self.back else f"{self.said}."


FINAL = "Nothing brings that back."

NOT_BY_UNDO = "u does not take that back."


@dataclass(frozen=True, slots=True)
class Unjournaled:
    """Something a person did that is not a change of a fact or a scope, so that the journal cannot take it back."""

    said: str
    """What it did."""
    back: str
    """How to take it back, or that nothing does."""
    seq: int
    """The newest journal row when it was done: undo takes back what is newer first."""
    undo: Callable[[Memory], Done] | None = None
    """Takes it back, where that can be done."""


@dataclass(frozen=True, slots=True)
class Deeds:
    """What a person did here and the journal alone does not tell, for the memory that takes the place of this one."""

    identity: tuple[int, int] | None
    """The file it was done to."""
    unjournaled: tuple[Unjournaled, ...]
    together: dict[int, tuple[int, ...]]
    redo: tuple[tuple[int, ...], ...]


class Interrupted(Exception):
    """A listing was given up."""


class Memory:
    """One store as the inspector uses it."""

    def __init__(self, open_store: Callable[[], Store]) -> None:
        self._open_store = open_store
        self._redo: list[tuple[int, ...]] = []
        """Rows of the undos that can be done again, each with those that were made in one go."""
        self._together: dict[int, tuple[int, ...]] = {}
        """Changes a person made in one go, by each of them: undo takes all of them back."""
        self._unjournaled: list[Unjournaled] = []
        """What a person did here that the journal does not hold, and `undo` has not come to yet."""
        self._refused: Unjournaled | None = None
        """The one of these that `undo` could not take back just now, which it said."""
        self._closed = False
        self._looking = threading.Lock()
        self._views: Store | None = None
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
        """Open a store, creating it when there is none. :raises FileError: when it cannot be used as it is"""
        return cls(lambda: Store.open(path, read_only=read_only))

    def _connect(self) -> None:
        store = self._open_store()
        screen, listings = store.reader(noting=False), store.reader(noting=False)
        screen.db.lock_timeout_s = SCREEN_WAIT_S
        self._store, self._screen, self._listings = store, screen, listings
        self.files += 1
        self._redo.clear()  # rows of the file that stood here before
        self._unjournaled.clear()
        self._together.clear()
        self.path = store.path
        self.read_only = store.db.read_only
        self.kept = store.kept
        self._identity = filesystem.identity(self.path)
        self._version = screen.data_version()
        self.epoch += 1

    @property
    def deeds(self) -> Deeds:
        """What was done here, for `take_over`; a closed memory still knows it."""
        return Deeds(self._identity, tuple(self._unjournaled), dict(self._together), tuple(self._redo))

    def take_over(self, deeds: Deeds) -> None:
        """Go on where another memory of the same file left off; of another file it means nothing."""
        if deeds.identity == self._identity:
            self._unjournaled[:] = deeds.unjournaled
            self._together = dict(deeds.together)
            self._redo[:] = deeds.redo

    @property
    def is_closed(self) -> bool:
        """Whether it was closed for good; a screen may outlive it by a moment."""
        return self._closed

    def close(self) -> None:
        """Close all connections, for good."""
        self.interrupt()
        self._closed = True
        self._close(self._stores())
        if self.on_close is not None:
            self.on_close()

    def _stores(self) -> list[Store]:
        """All connections, the one that writes last: SQLite tidies the log away only when that one is the last to close."""
        views, self._views = self._views, None
        return [self._screen, self._listings, *([views] if views is not None else []), self._store]

    def _close(self, stores: Iterable[Store]) -> None:
        for store in stores:
            store.close()

    # What is there

    def look(self, job: Callable[[Store], T]) -> T:
        """Run a job that reads for a view, in the thread that calls it; one at a time."""
        with self._looking:
            if self._closed:  # a reader opened now would make a log that nobody tidies away
                raise sqlite3.ProgrammingError("the memory is closed")
            if self._views is None:
                self._views = self._store.reader(noting=False)
            return job(self._views)

    @contextmanager
    def apart(self) -> Iterator[Store]:
        """A connection of its own that only reads, for what takes long."""
        store = self._store.reader(noting=False)
        try:
            yield store
        finally:
            store.db.close()

    def now(self) -> Millis:
        """The present, by the store's clock."""
        return self._store.clock()

    def query(self, view: View) -> Query:
        """The search line of a view, confined to its place. :raises QueryError:"""
        query = parse_query(view.line, theme=view.theme, now=self.now())
        return replace(query, filter=replace(query.filter, scopes=query.filter.scopes or view.scopes))

    def first_page(self, view: View) -> Page:
        """The facts at the top of a view without words, and how many there are."""
        return self._screen.facts.page(
            self.query(view).filter, sort=view.sort, descending=view.descending, limit=FIRST_PAGE
        )

    def listing(self, view: View) -> Listing:
        """Every fact of a view. May take a second at a million facts: call it from a worker thread.

        :raises Interrupted: when `interrupt` was called meanwhile
        """
        listings = self._listings
        try:
            return self._listing(view)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
                raise Interrupted from error
            raise
        except sqlite3.ProgrammingError as error:
            if self._closed or self._listings is not listings:
                raise Interrupted from error
            raise

    def interrupt(self) -> None:
        """Give up a listing that is being read, because another one is wanted."""
        if not self._closed:
            self._listings.db.conn.interrupt()

    def _listing(self, view: View) -> Listing:
        query = self.query(view)
        seq = self._listings.journal.last_seq()
        if query.has_text:
            found = self._listings.search.find(view.theme, query, limit=MOST_FOUND)
            keys = array("q", (fact.id for fact in found.facts))
            return Listing(
                view,
                keys,
                max(found.total, len(keys)),
                True,
                query.filter,
                seq,
                is_index_damaged=found.note is not None,
            )
        keys = self._listings.facts.ids(query.filter, sort=view.sort, descending=view.descending)
        return Listing(view, keys, len(keys), False, query.filter, seq)

    def facts(self, keys: Sequence[int]) -> list[Fact]:
        """Facts by key, for drawing rows."""
        return self._screen.facts.by_ids(keys)

    def export(self, keys: Sequence[int], file: str, *, replace: bool, progress: Callable[[int], None]) -> int:
        """Write facts to a file; how many. Takes seconds for many: call it from a worker thread."""
        from hermes_memory_tui import exporting

        return exporting.export(self._store, keys, file, replace=replace, progress=progress)

    def fact(self, uid: str) -> Fact:
        """One fact as it stands now."""
        return self._screen.facts.get(uid)

    def detail(self, uid: str) -> Detail:
        """One fact with its history and the facts it replaced."""
        facts = self._screen.facts
        fact = facts.get(uid)
        # The reading connection knows the notes that were written, not those this process still gathers.
        readers = Reads(self._screen.db, self._screen.names, self._screen.clock).readers(fact.uid)
        return Detail(fact, facts.history(uid), facts.chain(uid), readers)

    def overview(self) -> Overview:
        """Themes, their scopes, and running sessions."""
        return self._overview(lambda _: self._screen.scopes.list())

    def first_overview(self, theme: str | None) -> Overview:
        """The same with no scopes but those the first frame shows: of the theme that begins unfolded."""

        def seen(themes: list[Theme]) -> list[Scope]:
            unfolded = themes[0].name if len(themes) == 1 else theme
            return [] if unfolded is None else self._screen.scopes.list(unfolded)

        return self._overview(seen)

    def _overview(self, scopes: Callable[[list[Theme]], list[Scope]]) -> Overview:
        screen = self._screen
        sessions = [session for session in screen.sessions.list() if session.ended_at is None]
        with screen.db.snapshot():
            recent = screen.journal.changes(limit=RECENT, newest_first=True)
            newest = next((change for change in recent if change.entity in ("fact", "scope")), None)
            seq = recent[0].seq if recent else 0
            themes = screen.themes()
            return Overview(themes, scopes(themes), sessions, newest, seq)

    def gauge(self, theme: str) -> Gauge:
        """How full a theme's hot tier is."""
        return self._screen.tiers.gauge(theme)

    def limit(self, theme: str) -> int:
        """Characters a fact's content may have in a theme."""
        return self._store.policies.for_theme(theme).fact_chars

    def targets(self, theme: str | None, begun: str, most: int) -> list[str]:
        """Targets of a theme, or of the first few themes, that begin with these characters."""
        names = self._screen.names
        themes = [theme] if theme is not None else names.all_themes()[:FEW_THEMES]
        return list(dict.fromkeys(target for one in themes for target in names.targets(one, begun, most)))[:most]

    def authors(self, theme: str | None, begun: str, most: int) -> list[str]:
        """Who may have written facts: sessions whose names begin with these characters, and kinds of actors."""
        return self._screen.names.authors(begun, most, theme)

    def changes(self, since: int) -> list[Change]:
        """Journal rows after `since`, oldest first, at most one more than `MOST_CHANGES`."""
        return self._screen.journal.changes(since=since, limit=MOST_CHANGES + 1)

    def changed(self) -> bool:
        """Whether anybody committed since the last call. Costs microseconds.

        :raises StoreUnreadable: when the file is gone; a file that came back is opened again
        """
        found = filesystem.identity(self.path)
        if found is None:
            raise errors.StoreUnreadable(f"{self.path} is gone; what you see is what was read last", self.path)
        if found != self._identity:
            # The old connections stay until the new ones are there: what cannot be opened must not end the app.
            before = self._stores()
            self.interrupt()
            self._connect()
            self._close(before)
            return True
        version = self._screen.data_version()
        if version == self._version:
            return False
        self._version = version
        self.epoch += 1
        return True

    # What a person does

    def add(self, theme: str, line: str, scope: str | None) -> Done:
        """Write a new fact."""
        with self._acting() as store:
            result = store.facts.write(theme, line, scope=scope)
        said = f"{shown.name(result.fact)} " + ("written" if result.created else "was there already")
        if result.superseded:
            said += f", replaces {shown.plural(len(result.superseded), 'fact')}"
        if result.closed:
            said += f", closes {', '.join(result.closed)}"
        return Done(said, result.fact.uid)

    @again_without_index
    def edit(self, base: Fact, content: str) -> Done:
        """Give a fact another content, provided it still says what the person saw when they began.

        :raises FactConflict: when somebody changed it meanwhile
        """
        with self._acting() as store, store.db.writing():
            stands = store.facts.get(base.uid)
            if stands.content != base.content:
                raise errors.FactConflict(
                    f"{shown.name(base)} was changed by {shown.who(stands.actor)} meanwhile", base.uid
                )
            store.facts.edit(base.uid, content)
        return Done(f"{shown.name(base)} edited", base.uid)

    def chosen(self, keys: Sequence[int]) -> list[Fact]:
        """Facts by key as they stand for a write. May take a second for many thousands: call it from a worker thread."""
        return self._store.facts.by_ids(keys)

    def preview(self, act: Act, facts: Sequence[Fact]) -> Preview:
        """What an act on these facts would change. May take a second: call it from a worker thread."""
        return acts.preview(self._store, act, facts)

    def preview_scope(self, theme: str, label: str) -> Preview:
        """What erasing a whole scope would take."""
        plan = self._store.purge.preview(theme, scope=label)
        facts = self._store.facts
        all_of_it = FactFilter(theme=theme, scopes=frozenset({label}), tiers=frozenset(Tier) - {Tier.WITHDRAWN})
        # The hot tier is bounded, the rest is not: only what is hot is read, for the gauge.
        hot = facts.by_ids(facts.ids(replace(all_of_it, tiers=frozenset({Tier.HOT}))))
        types = {kind: facts.count(replace(all_of_it, types=frozenset({kind}))) for kind in FactType}
        return replace(
            acts.preview(self._store, acts.PURGE, hot, scope=label),
            facts=plan.total,
            tiers=plan.by_tier,
            types={kind: number for kind, number in types.items() if number},
            samples=facts.page(all_of_it, limit=acts.MOST_SAMPLES).facts,
        )

    def act(self, act: Act, facts: Sequence[Fact]) -> Done:
        """Do it, as one change. :raises StoreError: nothing was changed then"""
        if not facts:
            return Done("what you chose is gone", back="")
        with self._acting() as store:
            answer = act.run(store, [fact.uid for fact in facts])
        what = shown.name(facts[0]) if len(facts) == 1 else shown.plural(len(facts), "fact")
        said = f"{what} {act.done}"
        if act.final:
            return self.note(Done(said + unreached(answer), back=FINAL))
        if isinstance(answer, Changed) and not answer.uids:
            return Done(f"{what} stays as it is" if len(facts) == 1 else f"{what} stay as they are", back="")
        return Done(said)

    def purge_scope(self, theme: str, label: str) -> Done:
        """Erase everything in a scope for good."""
        with self._acting() as store:
            plan = store.purge.run(theme, scope=label)
        said = f"{shown.plural(plan.total, 'fact')} of scope {label} erased for good"
        return self.note(Done(said + unreached((plan.total, plan.unreached)), back=FINAL))

    def close_scope(self, theme: str, label: str) -> Done:
        """Close a scope; its hot facts cool."""
        with self._acting() as store:
            changed = store.scopes.close(theme, label)
        if not changed.seqs:
            return Done(f"scope {printable(label)} is closed already", back="")
        return Done(f"scope {printable(label)} closed, {shown.plural(len(changed.uids), 'fact')} cooled")

    def reopen_scope(self, theme: str, label: str) -> Done:
        """Open a scope again; what its closing cooled is warm again."""
        with self._acting() as store:
            changed = store.scopes.reopen(theme, label)
        if not changed.seqs:
            return Done(f"scope {printable(label)} is open already", back="")
        return Done(f"scope {printable(label)} reopened, {shown.plural(len(changed.uids), 'fact')} warmed")

    def undo(self) -> Done:
        """Take back the newest change a person made that still holds. An agent's changes are left alone.

        What the person did since and the journal does not hold comes first: it is taken back in its own way, or, where there
        is none or it is refused, that is said once and nothing else is taken back in its place.

        :raises NothingToUndo: UndoConflict
        """
        newest = self._newest_of_person()
        refused, self._refused = self._refused, None
        while self._unjournaled and (newest is None or newest.seq <= self._unjournaled[-1].seq):
            last = self._unjournaled[-1]
            before = newest is not None or len(self._unjournaled) > 1
            if last.undo is None:
                self._unjournaled.pop()
                more = " u again takes back your change before it." if before else ""
                raise errors.NothingToUndo(f"{last.said}. {last.back}{more}")
            try:
                done = last.undo(self)
            except errors.StoreError as error:
                if last is not refused:
                    self._refused = last
                    more = ", or your change before it" if before else ""
                    said = f"{error.message}. u again takes it back if that can be done then{more}"
                    raise errors.UndoConflict(said, error.value) from error
                if not before:
                    self._refused = last
                    raise
                self._unjournaled.pop()  # the person was told, and nothing became of it
                continue
            self._unjournaled.pop()
            return done
        if newest is None:
            raise errors.NothingToUndo("nothing of yours to undo")
        return self.undo_change(newest)

    def _newest_of_person(self) -> Change | None:
        """The newest change of a person that still holds."""
        journal, before = self._store.journal, None
        while (change := journal.newest_by("person", entities=("fact", "scope"), before=before)) is not None:
            if not self._store.undo.is_undone(change.change):
                return change
            before = change.change  # the rows of one change stand one after the other
        return None

    def note(self, done: Done, undo: Callable[[Memory], Done] | None = None) -> Done:
        """Remember something that was done and that the journal does not hold. :param undo: takes it back"""
        back = done.back or NOT_BY_UNDO
        self._unjournaled.append(Unjournaled(done.said, back, self._screen.journal.last_seq(), undo))
        return replace(done, back=back)

    @again_without_index
    def undo_change(self, change: Change) -> Done:
        """Take back one change, whoever made it. :raises UndoConflict: when later changes stand on it"""
        together = self._together.get(change.change, (change.change,))
        with self._store.db.writing():
            undone = [self._store.undo.change(one) for one in reversed(together)]
        self._redo.append(tuple(one.seqs[0] for one in undone))
        uids = {uid: None for one in undone for uid in one.uids}
        return Done(f"undone: {self._told(change, uids)}", first_fact(change), "ctrl+r redoes.")

    def undo_session(self, theme: str, name: str) -> Done:
        """Take back everything a session wrote that still holds. :raises NothingToUndo: UndoConflict"""
        undone = self._store.undo.session(name, theme=theme, leaving=True)
        rows = [self._store.journal.one(seq) for seq in undone.seqs]
        self._redo.append(tuple(dict.fromkeys(row.change for row in rows)))
        said = f"{shown.plural(len(undone.undone), 'change')} of {printable(name)} taken back"
        if undone.left:
            said += f"; {len(undone.left)} left, because somebody built on them: {undone.left[0]}"
        return Done(said, back="ctrl+r redoes.")

    @again_without_index
    def redo(self) -> Done:
        """Do again what was undone last, provided nothing else was written here since."""
        if not self._redo:
            raise errors.NothingToUndo("nothing to redo")
        rows = [self._store.journal.one(seq) for seq in self._redo[-1]]
        with self._store.db.writing():
            redone = [self._store.undo.change(row.seq) for row in reversed(rows)]
        self._redo.pop()
        first = rows[0] if rows[0].undoes is None else self._store.journal.one(rows[0].undoes)
        uids = {uid: None for one in redone for uid in one.uids}
        return Done(f"redone: {self._told(first, uids)}", first_fact(first))

    def newest_of(self, fact: Fact) -> Change:
        """The newest change of a fact that still holds. :raises NothingToUndo:"""
        for change in reversed(self._store.facts.history(fact.uid)):
            if change.undoes is None and not self._store.undo.is_undone(change.change):
                return change
        raise errors.NothingToUndo(f"nothing left to undo on {shown.name(fact)}")

    def do(self, act: Callable[[Store], T], said: str | Callable[[T], str], *, back: str = BY_UNDO) -> Done:
        """Run any write as the person's, and say what it did; where it changed no fact and no scope, that undo has no part in it.

        :param back: how to take it back
        """
        with self._acting() as store:
            before = store.journal.last_seq()
            result = act(store)
            mine = [row for row in store.journal.changes(since=before) if row.actor.kind == "person"]
        done = Done(said if isinstance(said, str) else said(result), back=back)
        if any(row.entity in ("fact", "scope") for row in mine):
            return done
        return self.note(replace(done, back="" if back == BY_UNDO else back))

    def relieve_files(self, theme: str, home: Path, said: Callable[[OptimizeReport], str]) -> Done:
        """Relieve the host's files; `undo` puts them back, and takes back the facts that were moved here."""
        from hermes_memory_store.relief import optimize

        with self._acting() as store:
            report = optimize(store, theme, home=home)
        return self.note(Done(said(report)), partial(Memory._put_files_back, home=home, report=report))

    def _put_files_back(self, home: Path, report: OptimizeReport) -> Done:
        from hermes_memory_store import relief_undo

        ours = [one for one in (report.memory, report.user) if one.copy is not None]
        if not ours:
            raise errors.NothingToUndo("that relief changed no file")
        for one in ours:
            newest = relief_undo.copies(one.path)[:1]
            if not newest or newest[0].path != one.copy:
                raise errors.UndoConflict(
                    f"{one.path} was relieved again, or put back, since; hermes-memory-tui optimize --undo takes the newest "
                    "relief back",
                    one.path,
                )
        done = relief_undo.undo_relief(home)
        said = f"undone: {' and '.join(path.name for path in done.restored)} as before the relief"
        if done.changed_since:
            names = " and ".join(path.name for path in done.changed_since)
            return Done(f"{said}; {names} was written to since and left alone, so the moved facts stay", back="")
        rows = [seq for one in ours for seq in one.changes]
        try:
            with self._store.db.writing():
                for seq in reversed(rows):
                    if not self._store.undo.is_undone(self._store.journal.one(seq).change):
                        self._store.undo.change(seq)
        except errors.StoreError as error:
            return Done(f"{said}; the facts it moved stay here: {error}", back="")
        return Done(f"{said}, {shown.plural(report.migrated, 'fact')} taken back from the memory", back="")

    @again_without_index
    def do_together(self, act: Callable[[Store], T], said: str | Callable[[T], str]) -> Done:
        """Run a write that makes several changes, all or none, which undo takes back at once."""
        with self._acting() as store, store.db.writing():
            before = store.journal.last_seq()
            result = act(store)
            made = tuple(dict.fromkeys(row.change for row in store.journal.changes(since=before)))
        self._together |= dict.fromkeys(made, made)
        return Done(said if isinstance(said, str) else said(result))

    @property
    def _db(self) -> Db:
        return self._store.db

    @contextmanager
    def _acting(self) -> Iterator[Store]:
        yield self._store
        self._redo.clear()
        self._refused = None

    def _told(self, change: Change, uids: Iterable[str]) -> str:
        facts = [uid for uid in uids if uid != change.uid]
        if change.entity == "scope":
            label = (change.after or {}).get("label") or self._label(change.uid)
            return f"{change.op} of scope {label}"
        more = f" and {shown.plural(len(facts), 'more')}" if facts else ""
        return f"{change.op} of {self._named(change.uid)}{more}"

    def _named(self, uid: str) -> str:
        """A fact by its first journal row, which is there even when its creation was undone."""
        first = self._store.journal.changes(uid=uid, limit=1)[0].after or {}
        return printable(f"{first['type']}[{first['target']}]") if "target" in first else f"fact {short(uid)}"

    def _label(self, uid: str) -> str:
        return next((scope.label for scope in self._store.scopes.list() if scope.uid == uid), short(uid))


def unreached(answer: object) -> str:
    """What a purge could not reach, in words."""
    match answer:
        case (int(), tuple() as copies) if copies:
            return f"; still in {', '.join(map(str, copies))}, which could not be cleaned"
    return ""


def lets_through(wanted: FactFilter, fact: Fact) -> bool:
    """Whether a filter lets a fact through, so that one change need not read a whole listing anew."""
    target = None if wanted.target is None else wanted.target.casefold()
    return (
        (wanted.theme is None or fact.theme == wanted.theme)
        and (not wanted.scopes or fact.scope in wanted.scopes)
        and (not wanted.types or fact.type in wanted.types)
        and fact.tier in (wanted.tiers or frozenset(Tier))
        and (target is None or fact.target.casefold() == target or fact.target.casefold().startswith(f"{target}."))
        and (wanted.before is None or fact.updated_at < wanted.before)
        and (wanted.after is None or fact.updated_at >= wanted.after)
        and (wanted.by is None or wanted.by in (fact.actor.kind, fact.actor.name))
        and (wanted.pinned is None or fact.pinned == wanted.pinned)
    )


def first_fact(change: Change) -> str | None:
    """The fact a change began with, if it was one."""
    return change.uid if change.entity == "fact" else None
