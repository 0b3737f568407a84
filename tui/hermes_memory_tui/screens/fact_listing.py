"""`ListingScreen`: keeps the facts of the selected place up to date with the changes of other processes.

A first page is painted at once; the whole listing follows from a worker thread. When somebody commits, the
journal says which facts changed, and only those rows move. The cursor stays on its fact.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.content import Content
from textual.events import ScreenResume
from textual.timer import Timer
from textual.worker import Worker

from hermes_memory_store.errors import StoreError, UnknownFact
from hermes_memory_store.model import Change, Fact, ListOrder, Sort

if TYPE_CHECKING:
    from hermes_memory_tui.widgets.filter_line import FilterLine, SearchInput

from hermes_memory_tui.model.memory import (
    FIRST_PAGE,
    MAX_FOLLOWED_CHANGES,
    FactListing,
    ListingInterrupted,
    ListingRequest,
    Memory,
    Overview,
    matches_filter,
)
from hermes_memory_tui.screens import listing_updates
from hermes_memory_tui.screens.facts_panes import MainPanes
from hermes_memory_tui.system import inspector_settings, inspector_state, palettes
from hermes_memory_tui.system.inspector_state import InspectorState
from hermes_memory_tui.text import display_formats, fact_columns
from hermes_memory_tui.text.highlight import SearchHighlighter
from hermes_memory_tui.widgets.fact_table import FactTable
from hermes_memory_tui.widgets.scope_tree import ScopeTree
from hermes_memory_tui.widgets.title_bar import update_title_bar

BENEATH_S = 30.0
"""How often changes are followed while another view hides this screen; all are followed before it is seen again."""

AGES_S = 5.0
"""How often ages are drawn anew."""

DETAIL_DELAY_S = 0.06
"""So long after a key the detail is loaded: while a key is held, it would be drawn for nothing."""

FOLLOWED = 64
"""Facts changed at once that are followed row by row; with more, the listing is read anew."""

REST = 4
"""A listing is not read again before this many times its own reading time has passed."""


class ListingScreen(MainPanes):
    """The data of the facts screen. The person's actions are in `MainScreen`."""

    def __init__(self, memory: Memory, overview: Overview, theme: str | None) -> None:
        super().__init__(memory, overview)
        self._theme = theme
        self.kept = InspectorState(
            inspector_settings.inspector_folder() / inspector_state.FILE_NAME, read_only=memory.read_only
        )
        self._view = replace(ListingRequest(), **self._saved_order())
        self._listing = FactListing(self._view, array("q"), 0, False, memory.parse_request(self._view).filter)
        self._seq = overview.seq
        self._worker: Worker[None] | None = None
        self._stale = False
        self._missed = False
        """Whether there are changes that were not followed, because following is paused or another view is open."""
        self._was_seen = False
        self._followed_at = 0.0
        self._read_again_at = 0.0
        self._detail_timer: Timer | None = None
        self._detailed: object = None
        self._flashes: dict[int, str] = {}
        self._trouble: StoreError | None = None
        self._wanted_uid: str | None = None

        self._fill_first_frame()

    @property
    def named_theme(self) -> str | None:
        """The theme that the person named at the start."""
        return self._theme

    def _fill_first_frame(self) -> None:
        """Fill in the content of the first frame before the first layout."""
        self._allot_hues()
        self.tree_pane.show(self.overview.themes, self.overview.scopes)
        names = [theme.name for theme in self.overview.themes]
        if self._theme in names:
            self.tree_pane.choose(str(self._theme))
        self.show_listing(self._current_request())
        self.show_overview()

    def on_mount(self) -> None:
        self.call_after_refresh(self._load_remaining)
        self.set_interval(AGES_S, self._redraw_ages_at_rest)

    # What is looked at

    def on_scope_tree_place_selected(self, _: ScopeTree.PlaceSelected) -> None:
        view = self._current_request()
        if view != self._view:
            self.show_listing(view)
            self.show_gauge()

    def on_filter_line_query_changed(self, _: FilterLine.QueryChanged) -> None:
        if self.line != self._view.line:
            self.show_listing(self._current_request())

    async def action_search(self) -> None:
        await super().action_search()
        if self.filter_line is not None:
            self.filter_line.set_sources(self.filter_values, lambda: self.kept.lines)

    def on_search_input_exited(self, message: SearchInput.Exited) -> None:
        if not message.cleared:
            self.kept.add_line(self.line)
        if self.line != self._view.line:  # the next key is meant for what was asked, not for what was shown before
            self.show_listing(self._current_request())

    def filter_values(self, name: str, prefix: str) -> Sequence[str]:
        from hermes_memory_tui.text import query_completion

        theme = self._view.theme
        try:
            match name:
                case "scope":
                    labels = (scope.label for scope in self.overview.scopes if theme in (None, scope.theme))
                    return list(dict.fromkeys(labels))
                case "target":
                    return self.memory.targets(theme, prefix, query_completion.MAX_COMPLETIONS)
                case "by":
                    return self.memory.authors(theme, prefix, query_completion.MAX_COMPLETIONS)
                case "in":
                    return self.memory.projects(theme, prefix, query_completion.MAX_COMPLETIONS)
        except StoreError:
            return ()
        return query_completion.fixed_filter_values(name)

    def action_sort(self) -> None:
        from hermes_memory_tui.dialogs.picker import Picker
        from hermes_memory_tui.widgets.lists.pick_list import Choice

        names = {f"{sort.name} {descending}": (sort, descending) for sort, descending in fact_columns.ORDERS}
        choices = [Choice(name, fact_columns.ORDERS[order]) for name, order in names.items()]

        at = f"{self._view.sort.name} {self._view.descending}"
        self.ask_then(Picker("sort order", choices, at=at), lambda name: self._sort_by(*names[name]))

    def on_fact_table_head_clicked(self, message: FactTable.HeadClicked) -> None:
        """Order by a column, and the other way round when it is in that order already."""
        view = self._view
        self._sort_by(message.sort, fact_columns.next_order(view.sort, view.descending, message.sort))

    def _sort_by(self, sort: Sort | ListOrder, descending: bool) -> None:
        self.kept.set_order(sort.value, descending)
        self.show_listing(replace(self._view, sort=sort, descending=descending))

    def _saved_order(self) -> dict[str, Any]:
        kept_order = self.kept.order
        for sort, descending in fact_columns.ORDERS:
            if kept_order == (sort.value, descending):
                return {"sort": sort, "descending": descending}
        return {}

    def _current_request(self) -> ListingRequest:
        place = self.tree_pane.place
        theme = place.theme.name if place.theme else None
        scopes: frozenset[str | None] = frozenset()
        if place.unscoped:
            scopes = frozenset({None})
        elif place.scope is not None:
            scopes = frozenset({place.scope.label})
        return replace(self._view, theme=theme, scopes=scopes, line=self.line)

    def show_listing(self, view: ListingRequest) -> None:
        """Show another request from its top: its first page now, the rest once read."""
        self._view = view
        self.table.marks = SearchHighlighter(view.line)
        self.table.hues = self._hues() if view.theme is None else {}
        self.table.is_newest_first = view.sort is Sort.UPDATED and view.descending and not view.line
        if self.table.marked:
            self.table.action_unmark()
        try:
            query = self.memory.parse_request(view)
            self.table.order = None if query.has_text else (view.sort, view.descending)
            self.table.columns = fact_columns.DEFAULT if query.has_text else fact_columns.column_names(view.sort)
            if not query.has_text and isinstance(view.sort, Sort):
                page = self.memory.first_page(view)
                keys = array("q", (fact.id for fact in page.facts))
                self._listing = FactListing(view, keys, page.total, False, query.filter)
                self._explain_emptiness()
                self.table.show(keys, page.facts, top=True)
                self._show_count()
                if view.line:
                    self._show_detail()
                if page.total <= FIRST_PAGE or not self.is_running:
                    return
        except StoreError as error:
            self._no_listing(view, error)
            return
        self.read_listing()

    def _allot_hues(self) -> None:
        """Give new themes their colours, for this run and the next ones."""
        names = [theme.name for theme in self.overview.themes]
        self.kept.set_hues(palettes.allot_hues(names, self.kept.hues))

    def _hues(self) -> dict[str, int]:
        names = [theme.name for theme in self.overview.themes]
        return palettes.theme_hues(names) if len(names) > 1 else {}

    def read_listing(self) -> None:
        """Read the whole listing of the current request in a worker thread."""
        self.memory.interrupt()
        self._stale = False
        self._worker = self.run_worker(
            partial(self._read_listing, self._view), thread=True, group="listing", exclusive=True
        )

    def _read_listing(self, view: ListingRequest) -> None:
        started = time.monotonic()
        try:
            listing = self.memory.load_listing(view)
        except ListingInterrupted:
            return
        except StoreError as error:
            self.app.call_from_thread(self._no_listing, view, error)
            return
        self.app.call_from_thread(self._show_listing, listing, time.monotonic() - started)

    def _no_listing(self, view: ListingRequest, error: StoreError) -> None:
        if view != self._view:
            return
        if view.line and self.filter_line is not None:
            self.filter_line.show_query_error(str(error))
        else:
            self.show_error(error)

    def _show_listing(self, listing: FactListing, took: float) -> None:
        self._read_again_at = time.monotonic() + REST * took
        if listing.view != self._view:
            return
        fresh = listing.view != self._listing.view
        self._listing = listing
        self._explain_emptiness()
        note = (listing.total - listing.partial, listing.partial_note) if listing.partial else None
        self.table.show(listing.keys, top=fresh, note=note)
        self._show_count()
        if fresh:
            self._show_detail()  # with the facts, in one frame: typing has rested already
        if listing.seq < self._seq:
            self._follow_rows(self.memory.changes(listing.seq), flash=False)
        self._move_to_wanted_fact()
        self.table.flash(self._flashes)
        self._flashes = {}

    # What others change

    def _load_remaining(self) -> None:
        """Load the remaining rows and scopes.

        The first frame has only a first page and the scopes of one theme: all that is visible of them.
        """
        if self.memory.is_closed:
            return
        if self._listing.total > len(self.table.keys) or self._view.line:
            self.read_listing()
        self._missed = True
        self.follow_missed()
        if self._detailed is None:  # what was posted before the screen ran is lost
            self.show_detail_soon()

    def check_for_changes(self) -> None:
        """Find out whether anybody changed the store, for every view, and follow that."""
        if self.memory.is_closed:
            return
        if self.is_current:
            self.title_bar.capture_stop = self.memory.find_capture_stop()
        try:
            file = self.memory.files
            changed = self.memory.poll_commits()
            if self.memory.files != file:
                self._reload_replaced_file()
            elif self._is_paused() or (not self.is_current and time.monotonic() - self._followed_at < BENEATH_S):
                self._missed |= changed
            elif changed or self._missed or self._trouble is not None:
                self.follow_changes()
        except StoreError as error:
            self.show_read_error(error)
            return
        self.show_read_error(None)
        is_seen = self.is_current or len(self.table.keys) <= listing_updates.LONG
        if self._stale and is_seen and time.monotonic() >= self._read_again_at and not self._is_reading():
            self.read_listing()

    def _is_paused(self) -> bool:
        app: Any = self.app
        self.title_bar.paused = app.pause_note
        self.gathering.show()
        return bool(self.title_bar.paused)

    def on_following_toggled(self) -> None:
        self.check_for_changes()

    def _reload_replaced_file(self) -> None:
        """Reload everything after the file was replaced: no earlier data is valid."""
        self._seq = 0
        self.table.forget()
        self.follow_changes()
        self.show_listing(self._view)

    def _is_reading(self) -> bool:
        return self._worker is not None and not self._worker.is_finished

    def try_follow_changes(self) -> None:
        try:
            self.follow_changes()
        except StoreError as error:
            self.show_read_error(error)

    def follow_missed(self) -> None:
        """Follow what changed while another view hid this screen."""
        if self._missed and not self._is_paused():
            self.try_follow_changes()

    def follow_changes(self) -> None:
        """Update the screen to the current state of the store. :raises StoreError: when it cannot be read"""
        self._missed, self._followed_at = False, time.monotonic()
        overview = self.memory.overview()
        changes = self.memory.changes(self._seq)
        self.overview = overview
        self.tree_pane.show(overview.themes, overview.scopes)
        self.show_overview()
        if not changes:
            return
        self._seq = max(overview.seq, changes[-1].seq)
        self._follow_rows(changes, flash=True)
        self.show_detail_soon()

    def _follow_rows(self, changes: Sequence[Change], *, flash: bool) -> None:
        touched = {change.uid: change.op == "create" for change in reversed(changes) if change.entity == "fact"}
        if len(changes) > MAX_FOLLOWED_CHANGES or len(touched) > FOLLOWED:  # there may be more, of facts, too
            self.table.forget()
            self._stale = True
            return
        if not touched:
            return
        facts, lost = self._facts_of(touched)
        dated = {change.uid for change in changes if change.after is not None and "updated_at" in change.after}
        top = self.table.fact_at(0)
        newest = top.updated_at if top is not None else 0
        self.table.forget(fact.id for fact in facts)
        self.facts_changed(facts)
        fits = [fact for fact in facts if matches_filter(self._listing.wanted, fact)]
        marks = {fact.id: "+" if touched[fact.uid] else "~" for fact in fits}
        new = {fact.id for fact in facts if touched[fact.uid]}
        again = {fact.id for fact in facts if fact.uid in dated}
        if lost or self._listing.ranked or not self._move_rows(facts, {fact.id for fact in fits}, new, again, newest):
            self._stale = True
            if flash:
                self._flashes |= marks
        elif flash:
            self.table.flash(marks)

    def _facts_of(self, uids: Iterable[str]) -> tuple[list[Fact], bool]:
        facts, lost = [], False
        for uid in uids:
            try:
                facts.append(self.memory.fact(uid))
            except UnknownFact:
                lost = True
        return facts, lost

    def _move_rows(self, facts: list[Fact], fits: set[int], new: set[int], dated: set[int], newest: int) -> bool:
        """Move changed rows to their new positions; False when the listing must be read again.

        New rows appear at the top even then: reading a million keys takes a second on a busy machine.
        """
        moved = listing_updates.move_changed_rows(self._listing, facts, fits, new, dated, newest=newest)
        exact = moved is not None
        if moved is None and new:
            added = [fact for fact in facts if fact.id in new]
            moved = listing_updates.move_changed_rows(self._listing, added, fits, new, dated, newest=newest)
        if moved is None:
            return False
        self._listing = moved
        self._explain_emptiness()
        self.table.show(moved.keys, facts)
        self._show_count()
        return exact

    def go_to_fact(self, uid: str) -> None:
        """Move the cursor to a fact as soon as the listing contains it."""
        self._wanted_uid = uid
        self._move_to_wanted_fact()

    def _move_to_wanted_fact(self) -> None:
        if self._wanted_uid is None:
            return
        try:
            fact = self.memory.fact(self._wanted_uid)
        except UnknownFact:
            self._wanted_uid = None
            return
        row = listing_updates.row_of_key(self.table.keys, fact.id)
        if row is not None:
            self.table.cursor = row
        if row is not None or not matches_filter(self._listing.wanted, fact):
            self._wanted_uid = None

    def facts_changed(self, facts: Sequence[Fact]) -> None:
        """Handle facts that somebody just changed; a screen that shows one of them may react."""

    # What is shown of it

    def load_facts(self, keys: Sequence[int]) -> list[Fact] | None:
        try:
            return self.memory.facts(keys)
        except StoreError as error:
            self.call_later(self.show_read_error, error)
            return None

    def on_line_list_moved(self, message: FactTable.Moved) -> None:
        if message.list is self.table and self._detailed != self._detail_key():
            self.show_detail_soon()

    def on_marked_list_marks_changed(self, _: FactTable.MarksChanged) -> None:
        self.show_counts()

    def show_detail_soon(self) -> None:
        """Load the fact under the cursor in full once the cursor rests."""
        if not self.is_running:
            return
        if self._detail_timer is not None:
            self._detail_timer.stop()
        self._detail_timer = self.set_timer(DETAIL_DELAY_S, self._show_detail)

    def _detail_key(self) -> object:
        """Return what the detail pane depends on: the fact under the cursor, the journal position, the search line."""
        fact = self.table.fact
        return (None if fact is None else fact.uid, self._seq, self._view.line)

    def _show_detail(self) -> None:
        self._detailed = self._detail_key()
        fact = self.table.fact
        now = self.memory.now()
        if fact is None:
            self.detail_pane.show(None, [], [], now)
            return
        try:
            detail = self.memory.detail(fact.uid)
        except UnknownFact:
            self.detail_pane.show(None, [], [], now)
        except StoreError as error:
            self.show_read_error(error)
        else:
            self.detail_pane.show(
                detail.fact,
                detail.history,
                detail.chain,
                now,
                self.table.marks,
                detail.readers,
                detail.turns,
                detail.near,
                detail.uses,
            )
            citing = [] if self.memory.is_past else self.table.list_citing()
            if citing:
                self.run_worker(
                    partial(self._read_cited, detail.fact, citing), thread=True, group="cited", exclusive=True
                )
        self.show_gauge()

    def _read_cited(self, fact: Fact, citing: Sequence[Fact]) -> None:
        """Read what facts cite, in a thread: files may be on a slow disk, and Git takes a while."""
        from hermes_memory_store.upkeep.fact_citations import FactCitations

        stale = {other.uid for other in citing if FactCitations.check_in_place(other).is_stale}
        self.app.call_from_thread(self.table.note_stale, stale)
        if fact.cites is not None:
            self.app.call_from_thread(self.detail_pane.show_cited, fact.uid, FactCitations.find_places(fact))

    def show_overview(self) -> None:
        """Update agents, gauge and title from the overview."""
        self._allot_hues()
        now = self.memory.now()
        self.agents_pane.now = now
        self.agents_pane.sessions = self.overview.sessions
        update_title_bar(self.title_bar, self.memory, self.overview, self.tree_pane.place.title)
        self.strip.waiting = display_formats.quarantined_count(self.overview.themes)
        self.show_gauge()

    def show_gauge(self) -> None:
        """Show the gauge of the selected theme, else of the theme of the fact under the cursor."""
        place = self.tree_pane.place
        self.title_bar.place = place.title
        fact = self.table.fact
        name = place.theme.name if place.theme else fact.theme if fact else None
        gauges = {theme.name: theme.gauge for theme in self.overview.themes}
        self.gauge_pane.gauge = gauges.get(name) if name else None

    def show_counts(self) -> None:
        """Show the number of facts in the table's border."""
        listing = self._listing
        view = listing.view
        order = "best first" if listing.ranked else fact_columns.ORDERS[view.sort, view.descending]
        title: Any = Content(f"facts · {self.tree_pane.place.title}")  # a string would be taken for markup
        self.table.border_title = title
        marked = f"{display_formats.format_count(len(self.table.marked))} marked · " if self.table.marked else ""
        purged = 0 if view.line or view.scopes else self.memory.count_purged_since(view.theme)
        missing = f" · {display_formats.format_count(purged)} purged since" if purged else ""
        some = f", {display_formats.format_count(listing.partial)} in part" if listing.partial else ""
        whole = display_formats.pluralise(listing.total - listing.partial, "fact")
        self.table.set_subtitle(f"{marked}{whole}{some}, {order}{missing}")

    def _show_count(self) -> None:
        self.show_counts()
        if self.filter_line is not None:
            note = " · index damaged: doctor --repair" if self._listing.is_index_damaged else ""
            whole = display_formats.format_count(self._listing.total - self._listing.partial)
            some = f", {display_formats.format_count(self._listing.partial)} in part" if self._listing.partial else ""
            self.filter_line.show_match_count(f"{whole} found{some}{note}" if self._view.line else "")

    def _explain_emptiness(self) -> None:
        if self._view.line:
            empty = (
                f"No match for {self._view.line!r}.",
                "",
                "esc: clear filter",
                "tier:all includes archived and superseded facts",
            )
        elif self.overview.themes:
            empty = ("No facts.", "", "n: new fact", "/ tier:all includes archived and superseded facts")
        else:
            empty = (
                "This memory is empty.",
                "",
                "n: new fact",
                "or connect an agent: hermes-memory-bridge connect HOST",
            )
        self.table.empty = empty

    def on_screen_resume(self, event: ScreenResume) -> None:
        event.refresh_styles = self._was_seen  # each widget was given its styles when it was mounted, just before
        self._was_seen = True
        self.follow_missed()
        self._redraw_ages()
        self.gathering.show()

    def show_pending(self) -> None:
        self.table.show_pending(self.gathering.pending)

    def _redraw_ages_at_rest(self) -> None:
        app: Any = self.app
        if app.is_at_rest:
            self._redraw_ages()

    def _redraw_ages(self) -> None:
        if self.memory.is_closed or not self.is_current:
            return
        self.table.redraw_ages()
        self.detail_pane.redraw_ages(self.memory.now())
        self.show_overview()

    def show_read_error(self, error: StoreError | None) -> None:
        """Show in the title that the store cannot be read, for as long as that lasts."""
        previous, self._trouble = self._trouble, error
        self.title_bar.trouble = "" if error is None else str(error)
        if error is not None and previous is None:
            self.show_error(error)
        elif error is None and previous is not None:
            self.notify("The store is readable again.", timeout=3)
            self.table.forget()
