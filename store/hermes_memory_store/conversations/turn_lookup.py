"""Find the captured turns of a session by the names agents use: a whole uid, or a unique beginning or end of one."""

from __future__ import annotations

from collections.abc import Sequence

from hermes_memory_store import errors, uids
from hermes_memory_store.database.db import Db
from hermes_memory_store.memory.fact_lookup import MIN_DIGITS
from hermes_memory_store.model import Session, Uid

MAX_NAMED = 20
"""Turns that one fact may be said to come from."""

UIDS_OF_SESSION = "SELECT uid FROM turns WHERE session_id = (SELECT id FROM sessions WHERE uid = ?) ORDER BY id"


def find_turns_by_name(db: Db, session: Session, names: Sequence[str]) -> tuple[Uid, ...]:
    """Return the uids of a session's turns, oldest first. Those of other sessions are reported as nonexistent.

    :param names: whole uids, or at least `MIN_DIGITS` digits of their beginning or end; hyphens and case do not count
    :raises ArgumentError: a name belongs to none or to several, or there are more than `MAX_NAMED`
    """
    if len(names) > MAX_NAMED:
        raise errors.ArgumentError(f"a fact names at most {MAX_NAMED} turns, not {len(names)}", len(names))
    turn_uids = [uids.format_uid(uid) for (uid,) in db.rows(UIDS_OF_SESSION, (uids.parse_uid(session.uid),))]
    named = {single_turn(name, turn_uids) for name in names}
    return tuple(uid for uid in turn_uids if uid in named)


def single_turn(name: str, turn_uids: Sequence[Uid]) -> Uid:
    """Return the only turn of that name. :raises ArgumentError: there is none, or there are several"""
    shown = errors.shorten_value(name)
    digits = uids.parse_uid_digits(name[:64])
    if digits is None or len(digits) < MIN_DIGITS:
        raise errors.ArgumentError(
            f"turns are named by the uids that memory_turn gives, or by {MIN_DIGITS} or more digits of their beginning "
            f"or end, not {shown!r}",
            name,
        )
    matches = [uid for uid in turn_uids if uids.has_uid_part(uid, digits)]
    if len(matches) != 1:
        how = "several" if matches else "none"
        raise errors.ArgumentError(f"of the captured turns of this session, {how} is called {shown!r}", name)
    return matches[0]
