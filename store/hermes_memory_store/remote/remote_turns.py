"""Remote turns: turns of another memory in a temporary in-memory store, like `remote_facts.py` for facts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hermes_memory_store import errors
from hermes_memory_store.clock import Clock
from hermes_memory_store.conversations.turn_rows import INSERT_TURN, PortableTurn, ensure_turn_session, validate_turn
from hermes_memory_store.database.schema import THEME_SHIFT
from hermes_memory_store.items import fulltext
from hermes_memory_store.items.journal import JournalEntry
from hermes_memory_store.items.kinds import TURN
from hermes_memory_store.remote.remote_facts import fill_memory_store, remote_row_numbers
from hermes_memory_store.store import Store
from hermes_memory_store.sync.wire_format import validate_row_time
from hermes_memory_themes import Policies


@dataclass(frozen=True, slots=True)
class RemoteTurn:
    """A turn of another memory."""

    said: PortableTurn
    between: int
    """Turns that were captured between the one before it in the list and this one."""


def build_remote_turn_store(
    theme: str, turns: Sequence[RemoteTurn], *, total: int, policies: Policies, clock: Clock
) -> Store:
    """Build a store that holds these turns of one theme, in the order of capture; skip malformed ones.

    :param total: number of turns of the theme there, from which the weight of a word follows
    """
    with fill_memory_store(theme, policies, clock) as (store, conn, theme_id):
        store.turns.stands_for = total
        unjournaled: list[JournalEntry] = []
        for turn, number in zip(turns, remote_row_numbers([turn.between for turn in turns], total), strict=True):
            try:
                portable = validate_turn(turn.said)
                at = validate_row_time(portable.at)
            except (errors.StoreError, ValueError, TypeError, AttributeError):
                continue
            session = portable.session and ensure_turn_session(conn, theme_id, portable.session, at, 0, unjournaled)
            key = (theme_id << THEME_SHIFT) + number
            conn.execute(
                INSERT_TURN,
                (key, portable.uid, theme_id, session or None, portable.role, portable.content, at, None, None),
            )
            fulltext.insert_index_terms(conn, TURN, [(key, portable.content)])
    return store
