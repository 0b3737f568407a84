"""The background sync: one thread of the bridge, with a store of its own, which isolates all remote trouble.

It checks the store four times a second, which costs microseconds, and the carrier as often as that needs. While the
carrier is away, the sync retries with growing delays.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from hermes_memory_bridge.team.database.team_states import (
    CLOSED,
    COMPLETE_STATES,
    ELSEWHERE,
    EXCHANGING,
    FETCHING,
    IDLE,
    OTHER_PROJECT,
    PAUSED,
    STARTING,
    TeamError,
    TeamState,
    to_incomplete_state,
)
from hermes_memory_bridge.team.sync_comparison import JournalReport, SyncComparison, ThemeDifferences
from hermes_memory_bridge.team.sync_outcome import ProgressCallback, SyncOutcome
from hermes_memory_bridge.trust import Vault
from hermes_memory_store.backoff import Backoff
from hermes_memory_store.clock import Clock, system_clock
from hermes_memory_store.errors import StoreError
from hermes_memory_store.model import Uid
from hermes_memory_store.store import Store
from hermes_memory_store.sync.wire_format import HiddenVersion, RejectedRow, SyncRow
from hermes_memory_themes import SyncCarrier

log = logging.getLogger(__name__)

LOOK_S = 0.25
"""How often to look whether something was written here."""

FIRST_WAIT_S = 1.0

LONGEST_WAIT_S = 60.0

LEASE_MS = 60_000

RENEW_S = 20.0

LEASE_HOLDER = "bridge"
"""A store has one bridge, which its lock file holds; one that takes its place after a crash need not wait for the lease."""

SYNCING_STATES = (*COMPLETE_STATES, CLOSED, OTHER_PROJECT.name, "incomplete", "exchanging")
"""States in which rows are exchanged."""

REPORT_ROWS = 20
"""Rows that a report names: of those refused there, and of those kept aside here."""

RECHECK_S = 600.0
"""How often what is kept aside is screened anew: a keyring may be open by now, or a policy another."""


class SyncStopped(Exception):
    """The syncer was told to stop in the middle of a sync."""


@dataclass(frozen=True, slots=True)
class UnsyncedRows:
    """Rows of one theme that a sync left: refused there, held back here."""

    refused: int = 0
    held_back: int = 0


class SyncConnection(Protocol):
    listening: bool
    """Whether changes are told at once."""

    def wait_for_notification(self, themes: Sequence[str], within_s: float) -> bool:
        """Wait until another machine has changed one of these themes; return whether one has."""

    def interrupt(self) -> None:
        """Interrupt what waits, from another thread."""

    def close(self) -> None:
        """Disconnect."""


ConnectionT = TypeVar("ConnectionT", bound=SyncConnection)

RunConnection = TypeVar("RunConnection", bound=SyncConnection, contravariant=True)


class CarrierRun(Protocol[RunConnection]):
    """Sync the rows of one store, again and again, over any connection of one kind."""

    outcome: SyncOutcome

    def run(self, server: RunConnection) -> SyncOutcome:
        """Sync until nothing is left."""

    def expire_backoffs(self) -> None:
        """End all delays before the next sync: a person asks for it."""


class SyncLoop(ABC, Generic[ConnectionT]):
    """Keep the themes of a store that one carrier carries in sync."""

    carrier: SyncCarrier
    words: str
    """What carries the rows, for the log."""

    def __init__(
        self,
        path: str | Path,
        *,
        holder: str = LEASE_HOLDER,
        paused: bool = False,
        open_store: Callable[[Path], Store] = Store.open,
        clock: Clock = system_clock,
        vault: Vault | None = None,
    ) -> None:
        """:param vault: keeps the secrets that are masked in what comes from the team"""
        self.path = Path(path)
        self.holder = holder
        self.open_store = open_store
        self.clock = clock
        self.vault = vault
        self.report: dict[str, Any] = {"themes": [], "conflicts": 0, "refused": [], "offset_ms": None, "node": None}
        self.state = PAUSED if paused else STARTING
        self.begun = 0
        self.exchanges = 0
        """Number of the last exchange that came to an end, well or not."""
        self.last_at: int | None = None
        """When the last one ended well."""
        self.next_at: int | None = None
        self._paused = paused
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._jobs: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = queue.SimpleQueue()
        self._server: ConnectionT | None = None
        self._store: Store | None = None
        self._exchange: CarrierRun[ConnectionT] | None = None
        self._leased_until = 0.0
        self._look_again_at = 0.0
        self._themes: list[str] = []
        self._hurry = False
        """Whether a person asked, so that nothing is left alone for a while."""
        self._left: dict[str, UnsyncedRows] = {}
        """What is left of each theme, as of the last exchange that ended."""
        self._by_turn = False
        """Whether the exchange was due, and nobody had told of anything new."""
        self._thread = threading.Thread(target=self._sync_until_stopped, name="syncer", daemon=True)

    # What each carrier has of its own.

    @abstractmethod
    def connect_carrier(self) -> ConnectionT:
        """Connect. :raises TeamError: it cannot be reached now"""

    @abstractmethod
    def begin_run(self, store: Store, on_progress: ProgressCallback) -> CarrierRun[ConnectionT]:
        """Return the sync of a store that was opened anew."""

    @abstractmethod
    def fetch_digests(
        self, theme: str, wanted: Collection[str]
    ) -> tuple[dict[str, str], dict[str, tuple[int, SyncRow]]]:
        """Return the digest of each row the carrier has of a theme, and the wanted rows with their sequence numbers."""

    @abstractmethod
    def fetch_turn_states(self, theme: str) -> dict[Uid, bool]:
        """Return whether each turn that the carrier has of a theme was erased."""

    def compare_journal(self) -> JournalReport | None:
        """Compare this machine's journal with what the carrier knows of it; None when it keeps nothing of it."""
        return None

    @abstractmethod
    def poll_interval(self) -> float:
        """Return how long to wait for a change before the carrier is asked, in seconds."""

    def has_to_disconnect(self) -> bool:
        """Check whether no connection is held until the carrier is asked again."""
        return False

    def next_wait(self) -> float:
        """Return how long to wait for a change this time, in seconds."""
        return self.poll_interval()

    def note_outcome(self, server: ConnectionT, outcome: SyncOutcome, *, is_by_turn: bool) -> None:
        """Note a sync that came to an end. :param is_by_turn: it was due, and nobody had told of anything new"""

    # What other threads may call.

    def start(self) -> None:
        self._thread.start()

    def stop(self, within_s: float = 2.0) -> None:
        """Stop the thread; a running sync is cut off, which costs nothing but its repetition."""
        self._stop.set()
        self._wake.set()
        server = self._server
        if server is not None:
            server.interrupt()
        if self._thread.is_alive():
            self._thread.join(within_s)

    def run_now(self) -> int:
        """Sync at once; return the number of the sync that will include everything present now."""
        self._hurry = True
        self._wake.set()
        return self.begun + 1

    def pause(self, paused: bool) -> None:
        self._paused = paused
        self.state = PAUSED if paused else STARTING
        self._wake.set()

    def status(self) -> dict[str, Any]:
        return {
            "configured": True,
            **self.state.as_dict(),
            "paused": self._paused,
            "exchanges": self.exchanges,
            "last_exchange": self.last_at,
            "next_try": self.next_at,
            "listening": self._server is not None and self._server.listening,
            "poll_s": self.poll_interval(),
            **self.report,
        }

    def heads(self) -> dict[str, int]:
        """Return the database's position in each theme as of the last sync; empty while there is none."""
        return (
            {entry["theme"]: entry["server"] for entry in self.report["themes"] if entry["state"] != OTHER_PROJECT.name}
            if self.state.name in SYNCING_STATES
            else {}
        )

    def verify(self) -> Future[SyncComparison]:
        """Compare both sides of every theme row by row, and the journal with what the carrier knows of it."""
        done: Future[SyncComparison] = Future()
        self._jobs.put((self._compare, done))
        self._wake.set()
        return done

    # The thread.

    def _sync_until_stopped(self) -> None:
        backoff = Backoff(FIRST_WAIT_S, LONGEST_WAIT_S, jitter=0.5)
        while not self._stop.is_set():
            seen = -1
            self.begun += 1
            more = False
            try:
                if self._may_exchange():
                    seen = self._run_once()
                    more = self._exchange is not None and self._exchange.outcome.more
                backoff.reset()
                wait_s = self.next_wait()
            except SyncStopped:
                break
            except (TeamError, StoreError) as error:
                wait_s = self._note_failure(error, backoff)
            except Exception:  # a bug of ours must not end the exchange for good, nor reach an agent
                log.exception("an exchange failed")
                wait_s = self._note_failure(TeamError(TeamState("fault", "an exchange failed; see the log")), backoff)
            if not more:
                self.exchanges = self.begun
            self._run_jobs()
            if self.has_to_disconnect():
                self._disconnect()
            self._rest(0.0 if more else wait_s, seen)
        self._release_lease()

    def _may_exchange(self) -> bool:
        if self._paused:
            self.state = PAUSED
            self._disconnect()
            return False
        store = self._reopen_store()
        if time.monotonic() + LEASE_MS / 1000 - RENEW_S > self._leased_until:
            if not store.sync.try_lease(self.holder, LEASE_MS):
                self.state = ELSEWHERE
                self._leased_until = 0.0
                self._disconnect()
                return False
            self._leased_until = time.monotonic() + LEASE_MS / 1000
        return True

    def _run_once(self) -> int:
        """Run one sync; return the store's data version before it."""
        store = self._reopen_store()
        seen = store.data_version()
        assert self._exchange is not None
        if time.monotonic() >= self._look_again_at:
            self._look_again_at = time.monotonic() + RECHECK_S
            store.sync.inbox.recheck_hidden()
        if self._server is None:
            self._server = self.connect_carrier()
        if self.report["node"] is None:
            self._report(self._exchange.outcome)
        if self._hurry:
            self._hurry = False
            self._exchange.expire_backoffs()
        outcome = self._exchange.run(self._server)
        is_by_turn = self._by_turn and self._themes == list(outcome.themes)
        self._themes = list(outcome.themes)
        self.note_outcome(self._server, outcome, is_by_turn=is_by_turn)
        self.last_at = self.clock()
        self.next_at = None
        if (outcome.state, seen) != self._told_of or self.state is EXCHANGING or not outcome.idle:
            self._report(outcome)
            self._told_of = (outcome.state, seen)
        state = self._to_reported_state(outcome.state)
        if self.state.name not in (state.name, EXCHANGING.name):
            log.info("%s: %s", self.words, state.words)
        self.state = state
        return seen

    _told_of: tuple[TeamState, int] = (STARTING, -1)

    def _to_reported_state(self, state: TeamState) -> TeamState:
        """Return the state after a sync: where rows are left, not everything is synced."""
        if state.name not in COMPLETE_STATES:
            return state
        themes = self.report["themes"]
        return to_incomplete_state(
            state,
            waiting=sum(entry["waiting"] + (entry["turns"] or 0) for entry in themes),
            refused=sum(entry["refused"] for entry in themes),
            held_back=sum(entry["held_back"] for entry in themes),
            behind=sum(entry["behind"] for entry in themes),
        )

    def _note_failure(self, error: TeamError | StoreError, backoff: Backoff) -> float:
        """Report a failure once; return how long to wait before the next attempt."""
        if self._stop.is_set():
            return 0.0
        state = error.state if isinstance(error, TeamError) else TeamState("memory", error.message)
        if state.name != self.state.name:
            log.warning("%s: %s", self.words, state.words)
        self._disconnect()
        self.state = state
        wait_s = backoff.fail()
        self.next_at = self.clock() + round(wait_s * 1000)
        if self._exchange is not None:
            try:
                self._report(self._exchange.outcome)
            except StoreError:
                log.info("the store could not be asked how much waits")
        return wait_s

    def _rest(self, wait_s: float, seen: int) -> None:
        """Wait for the next run or a local write; after a failure only for the next run."""
        until = time.monotonic() + wait_s
        server = self._server
        self._by_turn = False
        while not self._stop.is_set() and (rest_s := until - time.monotonic()) > 0:
            if server is not None and server.listening and seen >= 0:
                if (
                    server.wait_for_notification(self._themes, min(LOOK_S, rest_s))
                    or not server.listening
                    or self._wake.is_set()
                ):
                    break
            elif self._wake.wait(min(LOOK_S, rest_s) if seen >= 0 else rest_s):
                break
            store = self._store if seen >= 0 else None
            if store is not None and (store.data_version() != seen or store.policies.is_outdated()):
                break
        else:
            self._by_turn = wait_s > 0 and seen >= 0
        self._wake.clear()

    def _run_jobs(self) -> None:
        while True:
            try:
                job, done = self._jobs.get_nowait()
            except queue.Empty:
                return
            try:
                done.set_result(job())
            except Exception as error:
                done.set_exception(error)

    def _compare(self) -> SyncComparison:
        if not self._may_exchange():
            raise TeamError(self.state)
        self._run_once()
        sync = self._reopen_store().sync
        shared = self._find_shared_turn_themes()
        differences = []
        for theme in sync.themes(self.carrier):
            held_uids = {version.uid for version in sync.standing.held_versions(theme)}
            there, of_held = self.fetch_digests(theme, held_uids)
            if held_uids and sync.inbox.release_held(theme, of_held):
                # What is offered again was written by this very connection, which the exchange would not notice.
                self._exchange = self.begin_run(self._reopen_store(), self._look_up)
                self._told_of = (STARTING, -1)
                self._run_once()
                held_uids = {version.uid for version in sync.standing.held_versions(theme)}
                there, _ = self.fetch_digests(theme, held_uids)
            refused = {version.row.uid for version in sync.outbox.rejected_rows(theme)}
            pending = refused | {row.uid for row in sync.outbox.pending_rows(theme, limit=1_000_000)}
            count = len(pending)
            here = {uid: digest for uid, digest in sync.standing.digests(theme).items() if uid not in pending}
            if theme in shared:
                talk = self._reopen_store().shared_turns
                there |= {
                    uid: compute_turn_digest(is_erased) for uid, is_erased in self.fetch_turn_states(theme).items()
                }
                here |= {uid: compute_turn_digest(is_erased) for uid, is_erased in talk.states(theme).items()}
                pending |= talk.unsent(theme)
                not_taken = {version.uid for version in talk.rejected_turns() if version.theme == theme}
                refused |= not_taken
                count += talk.pending_turn_count(theme) + len(not_taken)
            both = (here.keys() & there.keys()) - held_uids
            differences.append(
                ThemeDifferences(
                    theme,
                    len(there),
                    differ=sorted(uid for uid in both if here[uid] != there[uid]),
                    only_here=sorted(here.keys() - there.keys()),
                    only_there=sorted(there.keys() - here.keys() - pending - held_uids),
                    waiting=count,
                    refused=sorted(refused),
                    held_back=sorted(held_uids),
                )
            )
        return SyncComparison(differences, self.compare_journal())

    def _find_shared_turn_themes(self) -> list[str]:
        store = self._reopen_store()
        return [shared.theme for shared in store.shared_turns.themes(store.sync.themes(self.carrier)) if shared.on]

    def _look_up(self) -> None:
        """Check for a stop between two steps of a long sync, report progress, and renew the lease."""
        if self._stop.is_set():
            raise SyncStopped
        if self._exchange is not None and not self._exchange.outcome.idle:
            if time.monotonic() - self._told > LOOK_S:
                self.state = EXCHANGING
                self._report_progress(self._exchange.outcome)
            if time.monotonic() > self._leased_until - RENEW_S and self._store is not None:
                self._store.sync.try_lease(self.holder, LEASE_MS)
                self._leased_until = time.monotonic() + LEASE_MS / 1000

    _told = 0.0

    def _report(self, outcome: SyncOutcome) -> None:
        """Write the report that other threads read."""
        sync, talk = self._reopen_store().sync, self._reopen_store().shared_turns
        refused, aside = (
            [*map(to_held_back_row, sync.outbox.rejected_rows()), *talk.rejected_turns()],
            [*sync.standing.hidden_versions(), *talk.skipped_turns()],
        )
        held_versions = sync.standing.held_versions()
        self._left = {
            theme: UnsyncedRows(
                sum(row.theme == theme for row in refused), sum(row.theme == theme for row in held_versions)
            )
            for theme in {row.theme for row in (*refused, *held_versions)}
        }
        self._report_progress(outcome)
        self.report = {
            **self.report,
            "conflicts": len(sync.standing.conflicts()),
            "refused_count": len(refused),
            "refused": [{"theme": row.theme, "uid": row.uid, "why": row.why} for row in refused[-REPORT_ROWS:]],
            "review": sync.standing.quarantined_count(),
            "uncurated": sync.standing.uncurated_count(),
            "aside_count": len(aside),
            "aside": [
                {"theme": row.theme, "uid": row.uid, "kind": row.kind, "why": row.why} for row in aside[-REPORT_ROWS:]
            ],
        }

    def _report_progress(self, outcome: SyncOutcome) -> None:
        """Report how far the sync is.

        Rows left for a person are looked up only when it has ended: several times a second would be too often.
        """
        self._told = time.monotonic()
        sync, talk = self._reopen_store().sync, self._reopen_store().shared_turns
        pending, fetched = sync.outbox.pending_counts(), sync.inbox.fetched_themes()
        shared = [one.theme for one in talk.themes(sync.themes(self.carrier))]
        names = sync.team_names() if self.carrier is SyncCarrier.DATABASE else {}
        rows = []
        for theme in sync.themes(self.carrier):
            cursor, done = sync.inbox.cursor(theme), outcome.themes.get(theme)
            there = max(cursor.seq, done.server_seq if done else 0)
            nothing_there = done is not None and not done.server_seq
            left, turns_waiting = (
                self._left.get(theme, UnsyncedRows()),
                talk.pending_turn_count(theme) if theme in shared else None,
            )
            state = (done and done.state) or (
                to_incomplete_state(
                    IDLE,
                    waiting=pending.get(theme, 0) + (turns_waiting or 0),
                    refused=left.refused,
                    held_back=left.held_back,
                    behind=there - cursor.seq,
                )
                if theme in fetched or nothing_there
                else FETCHING
            )
            rows.append(
                {
                    "theme": theme,
                    "team_name": names.get(theme),
                    **state.as_dict(),
                    "waiting": pending.get(theme, 0),
                    "cursor": cursor.seq,
                    "server": there,
                    "behind": there - cursor.seq,
                    "pulled": done.pulled if done else 0,
                    "pushed": done.pushed if done else 0,
                    "turns": turns_waiting,
                    "refused": left.refused,
                    "held_back": left.held_back,
                    "unreached": sorted(done.unreached) if done else [],
                }
            )
        self.report = {**self.report, "node": sync.node, "offset_ms": outcome.offset_ms, "themes": rows}

    def _reopen_store(self) -> Store:
        """Return the store, reopened when its file was replaced."""
        if self._store is not None and self._store.db.has_lost_name():
            log.info("the memory was replaced by another file; it is opened anew")
            self._close_store()
        if self._store is None:
            store = self.open_store(self.path)
            store.intake.vault = self.vault
            self._store = store
            self._look_again_at = 0.0
            self._exchange = self.begin_run(store, self._look_up)
            self._leased_until = 0.0
        return self._store

    def _close_store(self) -> None:
        store, self._store, self._exchange = self._store, None, None
        if store is not None:
            store.close()

    def _disconnect(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.close()

    def _release_lease(self) -> None:
        self._disconnect()
        try:
            if self._store is not None and self._leased_until:
                self._store.sync.release_lease(self.holder)
            self._close_store()
        except StoreError as error:
            log.warning("the memory could not be left properly: %s", error.message)
        while not self._jobs.empty():
            _, done = self._jobs.get_nowait()
            done.cancel()


def to_held_back_row(rejected: RejectedRow) -> HiddenVersion:
    """Return a refused version in the form in which held-back rows are reported."""
    return HiddenVersion(rejected.row.theme, rejected.row.uid, rejected.row.kind, rejected.why)


def compute_turn_digest(erased: bool) -> str:
    """Return the comparable part of a turn, which never changes."""
    return "erased" if erased else "kept"
