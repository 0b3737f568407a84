"""Which rows of many segments count: of each thing the newest, and what was made beside it without knowing of it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import replace

from hermes_memory_bridge.team.folder.segment import Segment
from hermes_memory_bridge.team.sync_outcome import in_pages
from hermes_memory_store.sync.merge import is_before_ancestors
from hermes_memory_store.sync.wire_format import PURGED, SyncRow


def newest_rows(rows: Iterable[SyncRow]) -> list[SyncRow]:
    """Return the newest version of each thing and those that it does not descend from, oldest first.

    A version says only which sixteen came before it: what is older than all of them counts as known to it.
    """
    newest: dict[str, SyncRow] = {}
    rivals: dict[tuple[str, int, str], SyncRow] = {}
    for row in rows:
        best = newest.setdefault(row.uid, row)
        older, newest[row.uid] = sorted((best, row), key=lambda version: version.rank)
        if older.rank != newest[row.uid].rank:
            rivals[older.uid, older.hlc, older.node] = older
    apart = [row for row in rivals.values() if not is_known_to(newest[row.uid], row)]
    return sorted(itertools.chain(newest.values(), apart), key=lambda row: row.rank)


def is_known_to(newest: SyncRow, row: SyncRow) -> bool:
    """Check whether a version was made with knowledge of another, or makes it void."""
    if newest.state == PURGED or row.hlc in newest.ancestors:
        return True
    return is_before_ancestors(row.hlc, newest.ancestors)


def newest_turns(turns: Iterable[SyncRow]) -> list[SyncRow]:
    """Return each turn once; one that was erased is erased."""
    newest: dict[str, SyncRow] = {}
    for turn in turns:
        if turn.uid not in newest or turn.state == PURGED:
            newest[turn.uid] = turn
    return list(newest.values())


def split_segment(segment: Segment, most_rows: int, most_bytes: int) -> Iterator[Segment]:
    """Return the parts of a segment that is too large; one part at least, which may be empty."""
    rows = in_pages(segment.rows, most_rows, most_bytes)
    turns = in_pages(segment.turns, most_rows, most_bytes)
    for first, turn in list(itertools.zip_longest(rows, turns)) or [(None, None)]:
        yield replace(segment, rows=first or [], turns=turn or [])
