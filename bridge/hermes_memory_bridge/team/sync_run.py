"""One sync between a store and the team database: greet, pull what is new there, push what is new here.

It may be interrupted anywhere and restarted: what was sent but not acknowledged is sent again, which changes
nothing.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from hermes_memory_bridge.team.database.lock_holders import to_held_state
from hermes_memory_bridge.team.database.team_server import (
    BATCH,
    DATA_ERRORS,
    LOAD,
    LOAD_BYTES,
    PAGE,
    Greeting,
    KnownTheme,
    PushResult,
    RowPage,
    TeamServer,
    ThemeNews,
    new_push_token,
)
from hermes_memory_bridge.team.database.team_states import (
    CLOSED,
    COMPLETE_STATES,
    DENIED,
    HELD,
    IDLE,
    OTHER_PROJECT,
    READ_ONLY,
    SKEW_MS,
    TeamError,
    TeamState,
    to_clock_skew_state,
    to_closed_state,
    to_other_project_state,
    to_taken_name_state,
)
from hermes_memory_bridge.team.kept_heads import KeptHeads
from hermes_memory_bridge.team.shared_conflicts import SharedConflicts
from hermes_memory_bridge.team.sync_outcome import (
    ProgressCallback,
    SyncOutcome,
    ThemeSyncCount,
    take_bytes,
    to_theme_state,
)
from hermes_memory_store.backoff import Backoff
from hermes_memory_store.chunking import in_chunks
from hermes_memory_store.model import Uid
from hermes_memory_store.store import Store
from hermes_memory_store.sync.shared_turns import ThemeSharing
from hermes_memory_store.sync.wire_format import COUNTER_BITS, PullCursor, PullListing, SyncRow
from hermes_memory_themes import SyncCarrier
from hermes_memory_themes.theme_identity import find_normal_form

log = logging.getLogger(__name__)

LEAST_PAGE = 100

LAST_SEQUENCE = (1 << 62) - 1
"""A place in a theme behind which there is nothing."""

WRITE_LOCK_S = 0.15
"""How long taking rows in may keep local writers waiting; pages grow and shrink to keep to it."""

TOKENS = 1_000
"""Pushes of this process that are remembered: one whose answer was lost is ours, and no copy's."""

TURNS_S = 1.0
"""How long turns are exchanged before facts have their turn again."""

RECHECKED_TURNS = 2_000
"""Turns that were left out and are asked for again."""

MOST_ROUNDS = 8
"""Rounds of pushing a theme in one exchange while others push to it; the rest waits for the next."""

DENIED_S = 60.0
"""How long a theme that this role may not write to is left alone."""

TOLD_S = 3_600.0
"""How long it is told that a member held a theme and was disconnected."""

AGAIN_S, SELDOM_S = 60.0, 3_600.0
"""After what time what the database refused is sent again: a minute at first, each time twice as long, an hour at most."""

STEPPED_MS = 1_000
"""A step of this machine's clock after which the database is asked for its time before anything else."""


class SyncRun:
    """Sync the rows of one store, again and again, over any connection."""

    def __init__(self, store: Store, *, on_progress: ProgressCallback = lambda: None) -> None:
        """:param on_progress: called after each page and batch; what it raises ends the sync"""
        self.store = store
        self.on_progress = on_progress
        self.outcome = SyncOutcome()
        self._tokens: deque[str] = deque(maxlen=TOKENS)
        self._observed: int | None = None
        self._offset_ms = 0
        self._greeted: TeamServer | None = None
        self._said: Greeting | None = None
        self._page = LEAST_PAGE
        self._greeted_at = (0, 0.0)
        """When the database said its time last: by this machine's clock, in milliseconds, and by one that nobody sets."""
        self._denied: dict[str, tuple[float, TeamState]] = {}
        self._ended: dict[str, tuple[float, TeamState]] = {}
        """Themes that somebody held until he was disconnected, and until when that is told."""
        self._refused = Backoff(AGAIN_S, SELDOM_S)
        self._forgotten: dict[str, int] = {}
        self._apart: dict[str, TeamState] = {}
        """Themes that are not exchanged: the team has other projects under their names, or their names are not free here."""
        self._names: Mapping[str, str] = {}
        """Names of themes in the team's database, as of the last greeting."""
        self._closed: frozenset[str] = frozenset()
        """Themes that are not open to this role."""
        self._left = False
        self._sharing: list[ThemeSharing] | None = None
        """Themes whose captured turns were exchanged last."""
        self._conflicts = SharedConflicts(store)
        self.heads = KeptHeads(store)
        self._sent_at: int | None = None
        """The store's version up to which everything was sent: asking for more costs a write, so it is not done idly."""

    def run(self, server: TeamServer) -> SyncOutcome:
        """Sync until nothing is left. :raises TeamError: the database cannot be used now"""
        sync = self.store.sync
        cursors = {theme: sync.inbox.cursor(theme) for theme in sync.themes(SyncCarrier.DATABASE)}
        self.outcome = outcome = SyncOutcome()
        self._try_refused_again()
        server.names = sync.team_names()
        server.listen_to(cursors)  # before it is asked, so that nothing is missed in between
        greeting = self._greet(server, [KnownTheme(theme, cursor) for theme, cursor in cursors.items()])
        for theme, cursor in cursors.items():
            until, reason = self._ended.get(theme, (0.0, None))
            outcome.themes[theme] = ThemeSyncCount(
                server_seq=cursor.seq, state=reason if time.monotonic() < until else None
            )
        self._note_closed(server, greeting.closed)
        for theme in self._apart.keys() & cursors.keys():
            outcome.themes[theme].state, outcome.state = self._apart[theme], to_theme_state(theme, self._apart[theme])
        self._compare_versions(server, greeting)
        for news in greeting.news:
            outcome.themes[news.theme].server_seq = news.seq
        for news in greeting.news:
            self._pull(server, news.theme)
            self._forget_deleted(news)
        outcome.admitted = sync.inbox.admit_held()
        changed = {news.theme for news in greeting.news}
        self._note_fetched()
        shared = self._with_turns()
        version = self.store.data_version()
        if self._sent_at == version and not greeting.news and not self._turns_behind(shared):
            return outcome
        self._left = False
        for theme in outcome.themes:
            if self._is_left_alone(theme, theme):
                continue
            if greeting.read_only:
                if sync.outbox.pending_rows(theme, limit=1):
                    outcome.state = READ_ONLY
                continue
            with self._tolerate_denial(server, theme, theme):
                self._left = self._push(server, theme) or self._left
                self._exchange_conflicts(server, theme, is_changed=theme in changed)
        self._note_fetched()
        outcome.more = self._sync_turns(server, shared, read_only=greeting.read_only) or outcome.more
        if not self._left and not outcome.more and outcome.state.name in (*COMPLETE_STATES, CLOSED, OTHER_PROJECT.name):
            self._sent_at = version
        return outcome

    def expire_backoffs(self) -> None:
        """End all delays before the next sync: a person asks for it."""
        self._denied.clear()
        self._refused.hurry()
        self._said = None

    def is_kept_apart(self, theme: str) -> bool:
        """Check whether the team's theme of this name is another one, of which nothing may come here."""
        return theme in self._apart

    def _try_refused_again(self) -> None:
        """Queue rows that the database refused for another attempt, when that is due."""
        if not self._refused.is_due:
            return
        if self.store.sync.outbox.retry_rejected() + self.store.shared_turns.retry_rejected():
            self._sent_at = None
            self._refused.fail()
        else:
            self._refused.reset()

    def _note_closed(self, server: TeamServer, closed: frozenset[str]) -> None:
        """Note the themes that are not open to this role; what waits is sent once they are."""
        state = to_closed_state(sorted(map(server.to_name, closed)))
        if closed != self._closed:
            self._closed, self._sent_at = closed, None
            if closed:
                log.warning("%s", state.words)
        if closed:
            self.outcome.state = state
        for theme in closed:
            self.outcome.themes[theme].state = to_closed_state([server.to_name(theme)])

    def _is_left_alone(self, theme: str, subject: str) -> bool:
        """Check whether nothing of a theme, or of a part of it, is exchanged now."""
        return theme in self._closed or theme in self._apart or self._is_denied(theme, subject)

    def _is_denied(self, theme: str, subject: str) -> bool:
        """Check whether a theme is skipped because access to it was denied a short while ago."""
        until, state = self._denied.get(subject, (0.0, DENIED))
        if time.monotonic() >= until:
            return False
        self.outcome.themes[theme].state, self.outcome.state = state, to_theme_state(theme, state)
        return True

    @contextmanager
    def _tolerate_denial(self, server: TeamServer, theme: str, subject: str) -> Iterator[None]:
        """Tolerate in one part of a sync that access to it is denied, or that somebody holds it, while all others go on."""
        try:
            yield
            self._denied.pop(subject, None)
        except TeamError as error:
            is_other = error.state.name == OTHER_PROJECT.name
            if error.state.name == HELD.name:
                self._release(server, theme, subject)
                return
            if error.state.name != DENIED.name and not is_other:
                raise
            is_new = subject not in self._denied
            if is_new:
                log.warning("%s: %s", subject, error.message)
            if (
                is_other
            ):  # since the greeting, somebody was the first to say whose project the theme is: it is asked for again
                self._said, self._left = None, True
                self.outcome.more = self.outcome.more or is_new
            self._denied[subject] = time.monotonic() + (0.0 if is_other and is_new else DENIED_S), error.state
            self.outcome.themes[theme].state, self.outcome.state = error.state, to_theme_state(theme, error.state)

    def _release(self, server: TeamServer, theme: str, what: str) -> None:
        """Name who holds a theme, and have him disconnected once he does for too long; it is tried again at once."""
        holders = server.release(theme)
        state, outcome = to_held_state(holders), self.outcome
        outcome.themes[theme].state, outcome.state = state, to_theme_state(theme, state)
        self._left = True
        if any(holder.ended is False for holder in holders):
            self._denied[what] = time.monotonic() + DENIED_S, state
        else:
            outcome.more = True
        if any(holder.ended for holder in holders):
            self._ended[theme] = time.monotonic() + TOLD_S, state
        if any(holder.ended is not None for holder in holders):
            log.warning("%s: %s", what, state.words)

    def _greet(self, server: TeamServer, themes: Sequence[KnownTheme]) -> Greeting:
        """Return the database's greeting with its state of these themes; the previous one if nothing changed."""
        outcome, states = self.outcome, self._said
        # While the clocks are apart the time is asked for again: it tells when they are right.
        is_known = server is self._greeted and not self._has_stepped() and to_clock_skew_state(self._offset_ms) is None
        is_known = is_known and server.names == self._names
        open_themes = [theme for theme in themes if theme.theme not in self._apart]
        if states is not None and is_known and server.is_unchanged(open_themes):
            greeting, outcome.offset_ms = replace(states, news=[]), self._offset_ms
        else:
            sent = self.store.clock()
            projects = self.store.place_themes
            claiming = [replace(theme, claims=projects.list_identities(theme.theme)) for theme in themes]
            greeting = server.greet(self.store.sync.node, claiming)
            self._observe(greeting.server_ms, (sent + self.store.clock()) // 2)
            greeting = self._name_themes(server, greeting, [theme.theme for theme in themes])
            self._greeted, self._said = server, greeting
        outcome.state = to_clock_skew_state(outcome.offset_ms) or IDLE
        return greeting

    def _name_themes(self, server: TeamServer, greeting: Greeting, themes: Sequence[str]) -> Greeting:
        """Keep the names that the team has for themes, and which are kept apart; return the greeting with the names of here."""
        sync = self.store.sync
        apart = {theme: to_other_project_state(theme, other) for theme, other in greeting.others.items()}
        taken = {server.to_name(theme) for theme in themes if theme not in greeting.names and theme not in apart}
        for theme, name in greeting.names.items():
            if name in taken or find_normal_form(name) != name:
                apart[theme] = to_taken_name_state(name)
                continue
            taken.add(name)
            sync.set_team_name(theme, name)
            log.info("the team knows the project of theme %s as %s", theme, name)
        if apart != self._apart:
            self._apart, self._sent_at = apart, None
            for theme, state in apart.items():
                log.warning("theme %s: %s", theme, state.words)
        server.names = self._names = sync.team_names()
        here = {server.to_name(theme): theme for theme in themes if theme not in apart}
        news = [replace(one, theme=here[one.theme]) for one in greeting.news if one.theme in here]
        return replace(greeting, news=news, closed=frozenset(here[name] for name in greeting.closed if name in here))

    def _has_stepped(self) -> bool:
        """Check whether this machine's clock was set since the database reported its time."""
        then_ms, began = self._greeted_at
        passed_ms = (time.monotonic() - began) * 1_000
        return abs(self.store.clock() - then_ms - passed_ms) > STEPPED_MS

    def _observe(self, server_ms: int, here_ms: int) -> None:
        """Note the database's time, and restamp what its clock does not accept.

        :param here_ms: this machine's time, then
        """
        sync, offset_ms = self.store.sync, server_ms - here_ms
        self._greeted_at = here_ms, time.monotonic()
        self.outcome.offset_ms = self._offset_ms = offset_ms
        if self._observed is None or abs(offset_ms - self._observed) > 1_000:
            self._observed = offset_ms
            sync.note_server_time(server_ms)
        if count := sync.restamp_future():
            log.warning("%d versions were stamped by a clock that ran ahead; they are stamped anew", count)
            self._sent_at = None

    def _compare_versions(self, server: TeamServer, greeting: Greeting) -> None:
        """Detect whether the database lost data, and whether this store is a copy of one still in use."""
        sync, news = self.store.sync, greeting.news
        cursors = {theme.theme: sync.inbox.cursor(theme.theme) for theme in news}
        unknown = [
            theme
            for theme in news
            if theme.mine and theme.mine[0] > cursors[theme.theme].seq and theme.mine[1] not in self._tokens
        ]
        if any(theme.whole or is_behind_tombstones(cursors[theme.theme], theme.gc_seq) for theme in unknown):
            former = sync.node
            sync.renew_node()
            log.warning("this memory is a copy, or was cut off while it sent; it goes on under a name of its own")
            if not greeting.read_only:
                self.heads.carry_over(server, former)
        for theme in news:
            if not theme.whole and not is_behind_tombstones(cursors[theme.theme], theme.gc_seq):
                count = sync.outbox.mark_all_unsent(theme.theme)
                log.warning(
                    "the team database lost changes of theme %s (a fail-over or a restore): %d rows are offered again",
                    theme.theme,
                    count,
                )

    def _pull(self, server: TeamServer, theme: str) -> None:
        sync, count = self.store.sync, self.outcome.themes[theme]
        more = True
        # Who begins at the start misses only what is collected after it began.
        collected: int | None = None if not sync.inbox.cursor(theme).seq else 0
        while more:
            cursor = sync.inbox.cursor(theme)
            page: RowPage = server.pull(theme, cursor.seq, self._page)
            collected = page.gc_seq if collected is None else collected
            if is_behind_tombstones(cursor, page.gc_seq) and page.gc_seq > collected:
                self._list(server, theme, cursor)
                return
            self._apply(theme, page, page.cursor)
            count.server_seq = max(count.server_seq, page.cursor.seq)
            more = page.more

    def _apply(self, theme: str, page: RowPage, cursor: PullCursor, listing: PullListing | None = None) -> None:
        """Apply one page; size the next one by what a transaction may take."""
        count = self.outcome.themes[theme]
        began = time.perf_counter()
        applied = self.store.sync.inbox.apply(theme, page.rows, cursor=cursor, listing=listing)
        taken_s = time.perf_counter() - began
        if len(page.rows) == self._page:
            self._page = max(LEAST_PAGE, min(PAGE, int(self._page * min(2.0, WRITE_LOCK_S / max(taken_s, 0.001)))))
        count.pulled += len(page.rows)
        count.conflicts += applied.conflicts
        count.unreached.update(applied.unreached)
        self.on_progress()

    def _exchange_conflicts(self, server: TeamServer, theme: str, *, is_changed: bool) -> None:
        """Share what lost here, and list what lost elsewhere: nobody decides about another list than the others."""
        self.outcome.themes[theme].conflicts += self._conflicts.exchange(server, theme, is_changed=is_changed)

    def _list(self, server: TeamServer, theme: str, cursor: PullCursor) -> None:
        """Pull everything the database has, from the start.

        Deleted rows were removed there that this store has not seen: what it had from there and no longer finds there
        was deleted. The cursor moves last: an interrupted run continues where the list was, or starts over.
        """
        sync, count = self.store.sync, self.outcome.themes[theme]
        listing = self._resume_listing(server, theme)
        more = is_behind_tombstones(
            cursor, listing.gc_seq
        )  # else it is another database by now, which the next greeting finds out
        while more:
            page = server.pull(theme, listing.seq, self._page)
            if page.gc_seq != listing.gc_seq:
                # What was listed may have been deleted since, and its tombstone removed.
                sync.inbox.forget_listing(theme)
                self._list(server, theme, cursor)
                return
            listing, more = replace(listing, seq=page.cursor.seq), page.more
            self._apply(theme, page, cursor, listing)
            if not more:
                removed = sync.inbox.save_listed(theme, page.cursor)
                count.server_seq = max(count.server_seq, page.cursor.seq)
                log.info("theme %s was listed after a long time away; %d were deleted meanwhile", theme, removed)

    def _resume_listing(self, server: TeamServer, theme: str) -> PullListing:
        """Return the interrupted listing if the database still has all that was listed, else one from the start."""
        sync = self.store.sync
        listing = sync.inbox.load_listing(theme)
        if listing is not None and listing.seq <= listing.head.seq and listing.head.mark_seq is not None:
            lost = [news for news in server.greet(sync.node, [KnownTheme(theme, listing.head)]).news if not news.whole]
            if not lost:
                return listing
        sync.inbox.forget_listing(theme)
        there = server.pull(theme, LAST_SEQUENCE, 1)
        return PullListing(0, there.gc_seq, there.cursor)

    def _note_fetched(self) -> None:
        """Note that all themes were pulled completely.

        One of which nothing was seen may be hidden from this role; its first push tells.
        """
        sync = self.store.sync
        for theme in self.outcome.themes.keys() - sync.inbox.fetched_themes():
            if sync.inbox.cursor(theme).seq:
                sync.inbox.note_fetched(theme)

    def _forget_deleted(self, news: ThemeNews) -> None:
        """Remove deleted rows that the database removed: both sides are to hold the same."""
        if news.gc_seq > self._forgotten.get(news.theme, 0):
            self.store.sync.inbox.forget_deleted(news.theme, news.gc_seq)
            self._forgotten[news.theme] = news.gc_seq

    def _push(self, server: TeamServer, theme: str) -> bool:
        """Push pending rows; return whether some of them are left for the next sync."""
        sync = self.store.sync
        rows = self._sendable(theme, BATCH)
        pending = sync.outbox.pending_counts()[theme] if len(rows) == BATCH else len(rows)
        rounds, asked_again = MOST_ROUNDS + pending // BATCH, False
        while rows:
            if pending >= LOAD:
                rows = self._sendable(theme, LOAD)
            rows = take_bytes(rows, LOAD_BYTES)
            behind = False
            for pushed in self._offer(server, theme, rows):
                behind = self._acknowledge(theme, pushed) or behind
                self._take_winners(server, theme, [row for row, seq in pushed.accepted if seq is None])
                self.on_progress()
                if pushed.ahead:  # its clock went back since it said its time
                    self._observe(pushed.server_ms, self.store.clock())
                    if asked_again:  # and goes on jumping
                        return True
                    asked_again = True
            if behind:
                self._pull(server, theme)
            pending -= len(rows)
            rounds -= 1
            if not rounds:
                return True
            rows = self._sendable(theme, BATCH)
        return sync.outbox.pending_counts()[theme] > 0

    def _sendable(self, theme: str, limit: int) -> list[SyncRow]:
        """Return the pending rows that the database accepts now.

        A row stamped ahead of its clock, because it was made from a version that is, comes last and stays pending:
        pushing it would advance the clock of the theme for nothing.
        """
        latest_ms = self.store.clock() + self._offset_ms + SKEW_MS
        pending = self.store.sync.outbox.pending_rows(theme, limit=limit)
        rows = [row for row in pending if row.hlc >> COUNTER_BITS <= latest_ms]
        if len(rows) < len(pending):
            self._said = None  # the next exchange asks for the time again
        return rows

    def _with_turns(self) -> list[ThemeSharing]:
        shared = self.store.shared_turns.themes(list(self.outcome.themes))
        if shared != self._sharing:
            self._sent_at = None
        return shared

    def _turns_behind(self, shared: Sequence[ThemeSharing]) -> bool:
        sync, turns_of = self.store.sync, self.store.shared_turns
        return any(turns_of.cursor(entry.theme) < sync.inbox.cursor(entry.theme).seq for entry in shared)

    def _sync_turns(self, server: TeamServer, shared: Sequence[ThemeSharing], *, read_only: bool) -> bool:
        """Sync turns for a short while, after the facts of all themes; return whether some are left."""
        until = time.monotonic() + TURNS_S
        left, first, self._sharing = False, self._sharing is None, list(shared)
        for theme, on in ((entry.theme, entry.on) for entry in shared):
            subject = f"the turns of theme {theme}"
            if self._is_left_alone(theme, subject):
                continue
            with self._tolerate_denial(server, theme, subject):
                if first and on:
                    self._look_again(server, theme)
                left = self._pull_turns(server, theme, until) or left
                if not read_only:
                    left = self._push_turns(server, theme, until) or left
                elif self.store.shared_turns.pending_turns(theme, limit=1):
                    self.outcome.state = READ_ONLY
            if first or self.outcome.themes[theme].turns_pulled:
                self.outcome.themes[theme].unreached.update(self.store.turns.scrub())
        return left

    def _look_again(self, server: TeamServer, theme: str) -> None:
        """Request again what was left out: a keyring may be open by now, or a policy may have changed."""
        shared = self.store.shared_turns
        named = [turn.uid for turn in shared.skipped_turns(theme)][:RECHECKED_TURNS]
        for some in in_chunks(named, BATCH):
            shared.apply(theme, server.fetch_rows(theme, some), upto=shared.cursor(theme), again=True)
            self.on_progress()

    def _pull_turns(self, server: TeamServer, theme: str, until: float) -> bool:
        """Pull turns up to where facts were pulled; return whether some are left for the next sync."""
        shared, upto = self.store.shared_turns, self.store.sync.inbox.cursor(theme).seq
        while (after := shared.cursor(theme)) < upto:
            page = server.pull_turns(theme, after, upto, live=shared.is_sharing(theme))
            rows = [row for _, row in page.rows]
            shared.apply(theme, rows, upto=page.cursor.seq, whole=not page.more)
            self.outcome.themes[theme].turns_pulled += len(rows)
            self.on_progress()
            if time.monotonic() > until and page.more:
                return True
        return False

    def _push_turns(self, server: TeamServer, theme: str, until: float) -> bool:
        """Push pending turns and erasures; return whether some of them are left for the next sync."""
        shared = self.store.shared_turns
        while rows := shared.pending_turns(theme, limit=BATCH):
            for pushed in self._offer(server, theme, rows):
                if self._skip_rows(theme, pushed):
                    self._pull(server, theme)
                sent = [row for row, _ in pushed.accepted]
                shared.acknowledge(theme, sent, base=pushed.base, end=pushed.end)
                self.outcome.themes[theme].turns_pushed += len(sent)
                self.on_progress()
            if self._pull_turns(server, theme, until) or time.monotonic() > until:
                return True
        return False

    def _offer(self, server: TeamServer, theme: str, rows: Sequence[SyncRow]) -> list[PushResult]:
        """Push rows; one that the database rejects is found by bisection, noted, and blocks nothing."""
        token = new_push_token()
        self._tokens.append(token)
        new_head = self.heads.renew(server)
        try:
            pushed = server.push(theme, self.store.sync.node, rows, token, clock=self.store.clock, new_head=new_head)
            self.heads.note(new_head)
            return [pushed]
        except DATA_ERRORS as error:
            if len(rows) == 1:
                self._note_rejected(rows[0], format_rejection_reason(error))
                return []
        half = len(rows) // 2
        return [pushed for part in (rows[:half], rows[half:]) for pushed in self._offer(server, theme, part)]

    def _note_rejected(self, row: SyncRow, reason: str) -> None:
        """Note that the database will not have a row."""
        if row.kind == "turn":
            self.store.shared_turns.mark_rejected(row.theme, row.uid, reason)
        else:
            self.store.sync.outbox.mark_rejected(row.theme, row.uid, row.hlc, reason)
        self.outcome.themes[row.theme].refused += 1
        log.warning("the team database will not have %s %s of theme %s: %s", row.kind, row.uid, row.theme, reason)

    def _acknowledge(self, theme: str, pushed: PushResult) -> bool:
        """Note accepted rows; return whether others pushed meanwhile, so that the theme must be pulled first."""
        sync, count = self.store.sync, self.outcome.themes[theme]
        sent: list[tuple[Uid, int]] = [(row.uid, row.hlc) for row, _ in pushed.accepted]
        sync.outbox.acknowledge(theme, sent, [seq for _, seq in pushed.accepted])
        count.pushed += len(sent)
        return self._skip_rows(theme, pushed)

    def _take_winners(self, server: TeamServer, theme: str, lost: Sequence[SyncRow]) -> None:
        """Apply the versions that won over pushed ones.

        They may lie where this store has pulled already: what it has was stamped by a clock that ran ahead, and seemed
        newer.
        """
        sync, count = self.store.sync, self.outcome.themes[theme]
        for some in in_chunks(list(lost), BATCH):
            if rows := server.winners(theme, some):
                applied = sync.inbox.apply(theme, rows, cursor=sync.inbox.cursor(theme))
                count.pulled += len(rows)
                count.conflicts += applied.conflicts
                count.unreached.update(applied.unreached)

    def _skip_rows(self, theme: str, pushed: PushResult) -> bool:
        """Skip rows this store pushed itself, which need no pull; return whether others pushed before.

        If they did, the theme needs a pull.
        """
        sync, count = self.store.sync, self.outcome.themes[theme]
        count.server_seq = max(count.server_seq, pushed.end)
        if sync.inbox.cursor(theme).seq != pushed.base:
            return True
        sync.inbox.apply(theme, [], cursor=PullCursor(pushed.end, pushed.end, Uid(pushed.token)))
        return False


def is_behind_tombstones(cursor: PullCursor, gc_seq: int) -> bool:
    """Check whether deleted rows were removed that a store has not seen.

    A store that has seen nothing has nothing to delete.
    """
    return 0 < cursor.seq < gc_seq


def format_rejection_reason(error: BaseException) -> str:
    """Return why a row was refused, without repeating the row."""
    if isinstance(error, UnicodeError):
        return "it holds half of a character (a lone surrogate), which no database keeps"
    message = getattr(getattr(error, "diag", None), "message_primary", None) or str(error).partition("\n")[0]
    if "NUL" in message or "\\u0000" in message:
        return "it holds a NUL character, which PostgreSQL does not keep"
    return str(message)[:200]
