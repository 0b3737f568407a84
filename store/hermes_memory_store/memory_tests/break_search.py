"""Find the change in the journal that broke a test: a binary search over a copy that is rewound step by step."""

from __future__ import annotations

import tempfile
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hermes_memory_store.clock import format_iso_time
from hermes_memory_store.context.given import MakeNearest
from hermes_memory_store.database.database_copies import Progress
from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.intake.intake import Writer
from hermes_memory_store.journal import rewind
from hermes_memory_store.memory_tests.case_run import CaseOutcome, CaseRunner, CaseStatus
from hermes_memory_store.memory_tests.memory_case import ExpectedBy, MemoryCase
from hermes_memory_store.model import Change, Millis
from hermes_memory_store.store import Store
from hermes_memory_store.uids import parse_uid
from hermes_memory_themes.theme_identity import DEFAULT

EVEN_LOOKS = 64
"""Moments, evenly apart, at which it is looked whether the test passed once."""

MOST_TOUCHES = 500
"""Newest changes of what the test names, before which it is looked, too."""

ENDS = "SELECT max(seq) FROM journal GROUP BY change ORDER BY 1"
"""The last row of each change, oldest first."""

NEWEST_MOMENT = "SELECT at FROM journal ORDER BY seq DESC LIMIT 1"

PURGES = "SELECT change, min(at) FROM journal WHERE op = 'purge' GROUP BY change ORDER BY 1 DESC"

MOST_PURGES = 3
"""Purges that a message names."""

TOUCHES = """
    SELECT seq FROM journal WHERE entity = 'fact' AND uid IN (
      SELECT uid FROM journal WHERE entity = 'fact' AND (after ->> 'target' = ?1
        OR ?2 IS NOT NULL AND (instr(lower(after ->> 'content'), ?2) OR instr(lower(before ->> 'content'), ?2)))
    ) ORDER BY seq DESC LIMIT ?3
"""

TOUCHES_OF_ONE = "SELECT seq FROM journal WHERE entity = 'fact' AND uid = ? ORDER BY seq DESC LIMIT ?"


class CopiedMemory:
    """A copy of a store, whose time stands still at the moment of its state."""

    def __init__(self, path: Path, original: Store) -> None:
        self.now = original.clock()
        self.store = Store.open(path, force=True, clock=lambda: self.now, policies=original.policies)

    def rewind(self, last: int) -> None:
        """Rewind to the state after row `last` of the journal; 0 is before the first. :raises JournalBroken: it was altered"""
        self.now = self.store.db.value("SELECT at FROM journal WHERE seq = ?", (last,)) or Millis(0)
        rewind.rewind(self.store, self.now, last)
        self.store.names.forget()  # what it knows may have gone


@contextmanager
def open_memory_copy(store: Store) -> Iterator[CopiedMemory]:
    """Yield a copy of a store that is gone afterwards. :raises FileError: DiskFull without room for it"""
    with tempfile.TemporaryDirectory(prefix="hermes-memory-test-") as folder:
        path = Path(folder) / "memory.db"
        rewind.copy_unverified(store.path, path)
        copied = CopiedMemory(path, store)
        with copied.store as made:
            made.db.conn.execute("PRAGMA synchronous = OFF")  # nobody needs this file after a crash
            made.rules_files.disown()
            made.intake.writer = Writer.PERSON
            yield copied


@dataclass(frozen=True, slots=True)
class BreakingChange:
    case: MemoryCase
    rows: tuple[Change, ...]
    """Its rows in the journal, in their order."""
    before: CaseOutcome
    after: CaseOutcome
    looks: int
    """Moments at which the test was run."""

    @property
    def number(self) -> int:
        return self.rows[0].change


class PassedHere(Exception):
    """A test passes at a place: the copy goes back to where it was."""


def find_breaking_change(
    store: Store,
    case: MemoryCase,
    *,
    theme: str = DEFAULT,
    make_nearest: MakeNearest | None = None,
    good: Millis | None = None,
    progress: Progress | None = None,
) -> BreakingChange | None:
    """Find the change that broke a test; None when the test passes.

    :param theme: make_nearest: as for `CaseRunner`
    :param good: a moment at which it passed; it is looked for unless given
    :param progress: called with the moments looked at so far, and how many that will be about
    :raises ArgumentError: it passed at no moment that was looked at, or not at that one; or only time broke it
    :raises JournalBroken: the journal was altered
    """
    with open_memory_copy(store) as copied:
        search = BreakSearch(copied, case, CaseRunner(copied.store, theme, make_nearest), progress)
        with copied.store.db.write_transaction():
            return search.find(good)


class BreakSearch:
    """Walk back to where the test passed, then halve the distance."""

    def __init__(
        self, copied: CopiedMemory, case: MemoryCase, runner: CaseRunner, progress: Progress | None = None
    ) -> None:
        self._copied = copied
        self._db = copied.store.db
        self._case = case
        self._runner = runner
        self._progress = progress
        self._looks = 0
        self._ends = [0, *(seq for (seq,) in self._db.rows(ENDS))]
        """Rows after which nothing is half done; the place in this list counts changes."""
        self._after: CaseOutcome | None = None
        self._purges: list[tuple[int, int]] = self._db.rows(PURGES)
        """Number and time of the changes that purged, newest first, which the journal forgets where it is rewound."""

    def find(self, good: Millis | None) -> BreakingChange | None:
        newest = len(self._ends) - 1
        self._after = self._runner.run(self._case)
        if self._after.status is CaseStatus.PASSED:
            return None
        self._refuse_passing_of_time()
        bad = newest
        for place in self._places(newest, good):
            outcome = self._look(place)
            if outcome.status is CaseStatus.PASSED:
                return self._halve(place, bad, outcome)
            bad = place
        name = self._case.name
        message = f"{name!r} passed at none of {self._looks} moments of {newest} changes; name one with --good TIME"
        if good is not None:
            message = f"{name!r} did not pass at {format_iso_time(good)} either; name an earlier --good"
        raise ArgumentError(message + self._describe_purges(), name)

    def _refuse_passing_of_time(self) -> None:
        """Check that the test did not pass right after the newest change. :raises ArgumentError: then no change broke it"""
        now, newest = self._copied.now, self._db.value(NEWEST_MOMENT) or 0
        self._copied.now = Millis(newest)
        is_passing = self._runner.run(self._case).status is CaseStatus.PASSED
        self._copied.now = now
        if is_passing:
            passed = f"it still passed after the newest one, at {format_iso_time(newest)}"
            problem = (
                f"no change broke {self._case.name!r}: {passed}, and fails because of the time that has passed since"
            )
            raise ArgumentError(problem, self._case.name)

    def _halve(self, good: int, bad: int, before: CaseOutcome) -> BreakingChange:
        """Return the change between: it passes at the place `good` and not at `bad`, where the copy stands."""
        while bad - good > 1:
            middle = (good + bad) // 2
            outcome = self._look(middle)
            if outcome.status is CaseStatus.PASSED:
                good, before = middle, outcome
            else:
                bad = middle
        assert self._after is not None
        rows = self._copied.store.journal.changes(since=self._ends[good], until=self._ends[bad] + 1)
        return BreakingChange(self._case, tuple(rows), before, self._after, self._looks)

    def _look(self, place: int) -> CaseOutcome:
        """Rewind to a place and run the test: the copy stays there if it does not pass, else it stays where it was."""
        self._looks += 1
        if self._progress is not None:
            self._progress(self._looks, self._looks + 10)
        now = self._copied.now
        try:
            with self._db.savepoint(self._db.conn):
                self._copied.rewind(self._ends[place])
                outcome = self._runner.run(self._case)
                if outcome.status is CaseStatus.PASSED:
                    raise PassedHere
            self._after = outcome
        except PassedHere:
            self._copied.now = now
        return outcome

    def _places(self, newest: int, good: Millis | None) -> list[int]:
        if good is not None:
            last = rewind.last_change_before(self._copied.store, good)
            return [min(bisect_right(self._ends, last) - 1, newest - 1)]
        doubling = (newest - (1 << power) for power in range(newest.bit_length()))
        even = (newest * step // EVEN_LOOKS for step in range(EVEN_LOOKS))
        touched = [bisect_right(self._ends, seq - 1) for seq in self._touches()]
        places = {*doubling, *even, *touched, *(after - 1 for after in touched)}
        return sorted((place for place in places if 0 <= place < newest), reverse=True)

    def _touches(self) -> list[int]:
        """Return rows that changed what the test names, or named so at some time."""
        rows: set[int] = set()
        for expectation in (*self._case.given, *self._case.never):
            if expectation.by is ExpectedBy.UID:
                uids = [parse_uid(fact.uid) for fact in self._runner.find_facts(expectation)]
                rows.update(seq for uid in uids for (seq,) in self._db.rows(TOUCHES_OF_ONE, (uid, MOST_TOUCHES)))
                continue
            words = expectation.text.strip().lower() if expectation.by is ExpectedBy.WORDS else None
            rows.update(seq for (seq,) in self._db.rows(TOUCHES, (expectation.target, words, MOST_TOUCHES)))
        return sorted(rows, reverse=True)[:MOST_TOUCHES]

    def _describe_purges(self) -> str:
        """Return a sentence on what was purged: no past state has it, so that it may be what is missing."""
        if not self._purges:
            return ""
        newest = ", ".join(f"{number} ({format_iso_time(at)})" for number, at in self._purges[:MOST_PURGES])
        more = f" and {len(self._purges) - MOST_PURGES} more" if len(self._purges) > MOST_PURGES else ""
        return f". What was purged cannot be looked at again, and may be what it misses: change {newest}{more}"
