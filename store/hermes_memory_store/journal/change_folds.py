"""The journal folded: one entry for each change, however many rows it has.

A close of a scope is one row for the scope and one for each fact that cools; an import is two thousand. The rows of a
change are consecutive, so that the next change is found by its number and what lies between is not read. Changes that
one action makes in pieces, an undo of several changes, the batches of an import and the sessions of a backfill, are one fold.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hermes_memory_store.database.db import Db
from hermes_memory_store.items.journal import COLUMNS
from hermes_memory_store.model import IMPORT, Change, Millis, Way
from hermes_memory_store.operations import lead_rank
from hermes_memory_store.store import Store

UNDO_GAP_MS = 100
"""Undos that follow each other within this time are of one action: nobody presses a key that fast. So are those of one action,
however long each takes: a batch of an import may hold thousands of facts."""

IMPORT_GAP_MS = 10_000
"""Batches of one import; each may hold thousands of facts."""

MOST_COUNTED = 20_000
"""Rows of a fold of which is counted what happened: above, only how many there are."""

HEADS = "SELECT seq, at, theme_id, actor_id, change, undoes, origin_id FROM journal WHERE seq BETWEEN ? AND ?"

KINDS = """
    WITH spans (first, last) AS (VALUES {spans})
    SELECT first, entity, op, count(*), min(seq) FROM spans CROSS JOIN journal ON seq BETWEEN first AND last
    GROUP BY first, entity, op ORDER BY min(seq)
"""

SPANS_AT_ONCE = 500
"""Folds whose rows are asked for by one statement."""

HEADS_AT_ONCE = 128
"""Rows that are read without their texts when one of them is wanted: its neighbours are wanted next."""

MOST_HEADS = 50_000
"""Rows without their texts that are held at once."""


@dataclass(frozen=True, slots=True)
class FoldPart:
    """What a change did to several things of one kind."""

    entity: str
    op: str
    rows: int


@dataclass(frozen=True, slots=True)
class ChangeFold:
    """One change as a person thinks of it: consecutive rows of the journal."""

    first: int
    """Number of its oldest row."""
    last: int
    changes: tuple[int, ...]
    """Numbers of its changes, oldest first: undo takes back each of them."""
    lead: Change
    """The row that says best what it was."""
    parts: tuple[FoldPart, ...]
    """What happened to how many, the kind of `lead` first; empty for more than `MOST_COUNTED` rows."""

    @property
    def size(self) -> int:
        return self.last - self.first + 1


class JournalHead(NamedTuple):
    seq: int
    at: Millis
    theme: int
    actor: int
    change: int
    undoes: int | None
    origin: int | None


class Span(NamedTuple):
    """The rows of one change, or of changes that belong together."""

    first: int
    last: int
    changes: tuple[int, ...]


class ChangeFolds:
    def __init__(self, store: Store) -> None:
        self._db: Db = store.db
        self._journal = store.journal
        self._names = store.names
        self._is_import = {key for (key,) in store.db.rows("SELECT id FROM actors WHERE kind = ?", (IMPORT.kind,))}
        self._is_history = {key for (key,) in store.db.rows("SELECT id FROM origins WHERE way = ?", (Way.HISTORY,))}
        self._heads: dict[int, JournalHead] = {}
        self._asked = 0

    def newest(
        self,
        limit: int,
        *,
        until: int | None = None,
        about: Collection[str] = (),
        theme: str | None = None,
        actor: str | None = None,
        ops: Collection[str] = (),
        entities: Collection[str] = (),
    ) -> list[ChangeFold]:
        """Return the newest folds that hold a row that matches, newest first.

        :param until: only rows before this one
        :param about: only changes of one of these uids
        :raises UnknownTheme: UnknownSession; a name that nobody has
        """
        start = self._journal.last_seq() + 1 if until is None else until
        spans: list[Span] = []
        while len(spans) < limit:
            missing = limit - len(spans)
            numbers = self._journal.numbers(
                until=start, about=about, theme=theme, actor=actor, ops=ops, entities=entities, limit=missing
            )
            for seq, change in numbers:
                if seq < start:
                    span = self._span(seq, change)
                    spans.append(span)
                    start = span.first
            if len(numbers) < missing:
                break
        return self._describe(spans[:limit])

    def after(self, last: int, *, theme: str | None = None) -> Iterator[ChangeFold]:
        """Yield the folds after a row, oldest first; one that began before it is given whole. :raises UnknownTheme:"""
        theme_id = None if theme is None else self._names.theme(theme)
        while (head := self._head(last + 1)) is not None:
            span = self._span(head.seq, head.change)
            last = span.last
            if theme_id is None or head.theme == theme_id:
                yield from self._describe([span])

    def themes(self, fold: ChangeFold) -> list[str]:
        sql = "SELECT DISTINCT theme_id FROM journal WHERE seq BETWEEN ? AND ?"
        return sorted(self._names.theme_name(theme) for (theme,) in self._db.rows(sql, (fold.first, fold.last)))

    def of_row(self, seq: int) -> ChangeFold:
        """Return the fold of a row. :raises UnknownChange:"""
        return self.of_rows([seq])[0]

    def of_rows(self, numbers: Iterable[int]) -> list[ChangeFold]:
        """Return the folds of rows, each once, in their order. :raises UnknownChange:"""
        spans: list[Span] = []
        for seq in numbers:
            if not any(span.first <= seq <= span.last for span in spans[-1:]):
                spans.append(self._span(seq, self._journal.get(seq).change))
        return self._describe(dict.fromkeys(spans))

    # Where a change ends

    def _head(self, seq: int) -> JournalHead | None:
        if seq not in self._heads:
            if len(self._heads) > MOST_HEADS:
                self._heads.clear()
            # A step over a change of thousands of rows ends far away, where no neighbour is wanted.
            begin = seq - seq % HEADS_AT_ONCE
            is_near = abs(seq - self._asked) <= HEADS_AT_ONCE
            bounds = (begin, begin + HEADS_AT_ONCE - 1) if is_near else (seq, seq)
            self._heads |= {row[0]: JournalHead(*row) for row in self._db.rows(HEADS, bounds)}
        self._asked = seq
        return self._heads.get(seq)

    def _span(self, seq: int, change: int) -> Span:
        first, last = self._head(change), self._last_row(change, seq)
        if first is None:  # a damaged journal: what there is of the change is shown
            return Span(seq, last, (change,))
        changes = [change]
        begin, end = first, self._head(last) or first
        while (before := self._change_before(begin)) is not None and self._is_one_action(before, begin):
            changes.insert(0, before.seq)
            begin = before
        while (after := self._head(end.seq + 1)) is not None and self._is_one_action(end, after):
            changes.append(after.seq)
            end = self._head(self._last_row(after.seq, after.seq)) or after
        return Span(begin.seq, end.seq, tuple(changes))

    def _change_before(self, head: JournalHead) -> JournalHead | None:
        row = self._head(head.seq - 1)
        return None if row is None else self._head(row.change)

    def _last_row(self, change: int, last: int) -> int:
        """Return the last row of a change by doubling steps: a change of a million rows takes forty look-ups."""
        step = 1
        while (row := self._head(last + step)) is not None and row.change == change:
            last, step = row.seq, 2 * step
        while step > 1:
            step //= 2
            row = self._head(last + step)
            if row is not None and row.change == change:
                last = row.seq
        return last

    def _is_one_action(self, earlier: JournalHead, next_one: JournalHead) -> bool:
        if {earlier.origin, next_one.origin} <= self._is_history:
            return next_one.at - earlier.at <= IMPORT_GAP_MS
        if (earlier.theme, earlier.actor, earlier.origin) != (next_one.theme, next_one.actor, next_one.origin):
            return False
        if earlier.undoes is not None and next_one.undoes is not None:
            undone = sorted(
                head for head in (self._head(earlier.undoes), self._head(next_one.undoes)) if head is not None
            )
            is_soon = next_one.at - earlier.at <= UNDO_GAP_MS or (len(undone) == 2 and self._is_one_action(*undone))
            return is_soon and self._is_redo(earlier) == self._is_redo(next_one)
        is_import = earlier.actor in self._is_import and earlier.undoes is None and next_one.undoes is None
        return is_import and next_one.at - earlier.at <= IMPORT_GAP_MS

    def _is_redo(self, head: JournalHead) -> bool:
        undone = None if head.undoes is None else self._head(head.undoes)
        return undone is not None and undone.undoes is not None

    # What a change is

    def _describe(self, spans: Iterable[Span]) -> list[ChangeFold]:
        spans = list(spans)
        kinds = self._kinds([span for span in spans if 0 < span.last - span.first < MOST_COUNTED])
        leads = {span: kinds[span.first][0][1] if span.first in kinds else span.last for span in spans}
        rows = self._load_rows(leads.values())
        folds = []
        for span in spans:
            lead = rows[leads[span]]
            parts = [part for part, _ in kinds.get(span.first, ())] or [FoldPart(lead.entity, lead.op, 1)]
            folds.append(ChangeFold(*span, lead, () if span.last - span.first >= MOST_COUNTED else tuple(parts)))
        return folds

    def _kinds(self, spans: Sequence[Span]) -> dict[int, list[tuple[FoldPart, int]]]:
        """Return what happened in each span, by its first row, with the number of the first row of each kind.

        The most telling kind of a span comes first.
        """
        kinds: dict[int, list[tuple[FoldPart, int]]] = {}
        for start in range(0, len(spans), SPANS_AT_ONCE):
            some = spans[start : start + SPANS_AT_ONCE]
            sql = KINDS.format(spans=", ".join(["(?, ?)"] * len(some)))
            for row in self._db.rows(sql, [bound for span in some for bound in (span.first, span.last)]):
                kinds.setdefault(row[0], []).append((FoldPart(*row[1:4]), row[4]))
        for parts in kinds.values():
            parts.sort(key=lambda part_and_row: lead_rank(part_and_row[0].entity, part_and_row[0].op))
        return kinds

    def _load_rows(self, numbers: Iterable[int]) -> dict[int, Change]:
        ordered = sorted(numbers)
        changes: dict[int, Change] = {}
        for start in range(0, len(ordered), SPANS_AT_ONCE):
            some = ordered[start : start + SPANS_AT_ONCE]
            sql = f"SELECT {COLUMNS} FROM journal WHERE seq IN ({', '.join('?' * len(some))})"
            changes |= {row[0]: self._journal.change(row) for row in self._db.rows(sql, some)}
        return changes
