"""Turns of somebody else's memory that may answer a question, as a store in this process's memory: as `gathered.py` for facts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hermes_memory_store import errors, fulltext
from hermes_memory_store.clock import Clock
from hermes_memory_store.gathered import filling, numbers
from hermes_memory_store.items import TURN
from hermes_memory_store.journal import Entry
from hermes_memory_store.malformed import moment
from hermes_memory_store.schema import THEME_SHIFT
from hermes_memory_store.store import Store
from hermes_memory_store.turn_rows import INSERT_TURN, SaidTurn, checked_turn, session_of_turn
from hermes_memory_themes import Policies


@dataclass(frozen=True, slots=True)
class ForeignTurn:
    """A turn of somebody else's memory."""

    said: SaidTurn
    between: int
    """Turns that were captured between the one before it in the list and this one."""


def gathered_turns(theme: str, turns: Sequence[ForeignTurn], *, total: int, policies: Policies, clock: Clock) -> Store:
    """A store that holds these turns of one theme, in the order they were captured. What is no turn is left out.

    :param total: turns there are of the theme, from which follows how much a word tells
    """
    with filling(theme, policies, clock) as (store, conn, theme_id):
        store.turns.stands_for = total
        unjournaled: list[Entry] = []
        for one, number in zip(turns, numbers([one.between for one in turns], total), strict=True):
            try:
                said = checked_turn(one.said)
                at = moment(said.at)
            except (errors.StoreError, ValueError, TypeError, AttributeError):
                continue
            session = said.session and session_of_turn(conn, theme_id, said.session, at, 0, unjournaled)
            key = (theme_id << THEME_SHIFT) + number
            conn.execute(INSERT_TURN, (key, said.uid, theme_id, session or None, said.role, said.content, at))
            fulltext.insert_terms(conn, TURN, [(key, said.content)])
    return store
