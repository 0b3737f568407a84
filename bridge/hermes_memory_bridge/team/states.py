"""What can be wrong with a team database, as a state in words: nothing of it ever reaches an agent's read or write.

No text of a driver is passed on: it names hosts and users.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from hermes_memory_store.errors import StoreError
from hermes_memory_store.held_back import span

SKEW_MS = 300_000
"""Clocks further apart than this are told to the person; the database refuses rows from further ahead."""


@dataclass(frozen=True, slots=True)
class State:
    """How the exchange does."""

    name: str
    """Stable, for programs."""
    words: str
    """For a person: what is wrong and what to do."""

    def as_dict(self) -> dict[str, Any]:
        """As commands print it."""
        return {"state": self.name, "words": self.words}


IDLE = State("idle", "everything is exchanged")
STARTING = State("starting", "not yet connected")
FETCHING = State("fetching", "still being fetched for the first time; not all of it is here")
EXCHANGING = State("exchanging", "rows are on their way")
PAUSED = State("paused", "paused by a person; `hermes-memory-bridge sync resume` goes on")
ELSEWHERE = State("elsewhere", "another process exchanges for this store")
NOT_NAMED = State("not connected", "no team database is named; `hermes-memory-bridge team connect` names one")
NO_DRIVER = State("no driver", "psycopg is missing: pip install 'hermes-memory-tui[team]'")

DOWN = State("unreachable", "the team database does not answer; what is written here waits")
SLOW = State("slow", "the team database took too long and was left; what is written here waits")
FULL = State("full", "the team database has no free connection; tried again later")
READ_ONLY = State("read-only", "the team database takes no writes now (a standby?); what is written here waits")
LOGIN = State("refused", "the team database refused user or password; `team connect DSN` names others")
NO_DATABASE = State("no database", "the team's server has no database of that name; look at the DSN")
TLS = State("tls", "the TLS connection was not accepted: look at sslmode, the certificate and its authority")
BAD_DSN = State("bad dsn", "the DSN is not understood; `team connect DSN` names another")
NOT_MIGRATED = State(
    "not migrated", "the team database has no tables of ours: run `team migrate --admin-dsn DSN` once, as its owner"
)
DENIED = State("denied", "this role may not do that in the team database: run `team migrate` with --runtime-role ROLE")
COUNTER = State(
    "counter",
    "the team database numbers changes by a counter that was set back: its owner must set hm.clock.seq to the highest seq in "
    "hm.fact, hm.turn and hm.mark of the theme; what is written here waits",
)
DISK = State("disk full", "the team database has no space left; what is written here waits")
FAULT = State("fault", "the team database answered with an error")


def incomplete(state: State, *, waiting: int, refused: int, held_back: int, behind: int = 0) -> State:
    """What to say where an exchange did all it could, and rows are left.

    :param state: what there is to say where none are
    :param waiting: rows to be sent
    :param held_back: rows from the team whose clock is ahead
    :param behind: rows to be fetched
    """
    counts = (
        (waiting, "to be sent"),
        (refused, "refused by the team database, and tried again"),
        (held_back, "from the team held back, since its clock is ahead"),
        (behind, "to be fetched"),
    )
    left = ", ".join(f"{count} {words}" for count, words in counts if count)
    if not left:
        return state
    why = "" if state.name == IDLE.name else f" ({state.words})"
    return State("incomplete", f"not everything is exchanged: {left}{why}")


class TeamError(StoreError):
    """The team database cannot be used now; `state` says how."""

    code = "team.unavailable"

    def __init__(self, state: State, detail: str = "") -> None:
        super().__init__(f"{state.words} ({detail})" if detail else state.words)
        self.state = State(state.name, self.message)


class Overdue(TimeoutError):
    """The database did not answer in time, and its connection was cut."""


def skewed(offset_ms: int) -> State | None:
    """What to say of clocks that differ by so much. :param offset_ms: the server's time less this machine's"""
    if abs(offset_ms) <= SKEW_MS:
        return None
    distance = span(round(abs(offset_ms) / 60_000) * 60_000)
    way = "behind" if offset_ms > 0 else "ahead of"
    return State("clock", f"this machine's clock is {distance} {way} the team's; rows are exchanged, set the clock")


def wrong_version(found: int, known: int) -> State:
    """What to say of a schema of another version."""
    if found < known:
        return State(
            "old schema", f"the team database is at version {found}, this program needs {known}: `team migrate`"
        )
    return State("new schema", f"the team database is at version {found}, this program knows {known}: upgrade it")


SQLSTATES: tuple[tuple[str, State], ...] = (
    ("28", LOGIN),
    ("3D000", NO_DATABASE),
    ("3F000", NOT_MIGRATED),
    ("42P01", NOT_MIGRATED),
    ("42703", NOT_MIGRATED),
    ("42501", DENIED),
    ("53300", FULL),
    ("53400", FULL),
    ("53100", DISK),
    ("25006", READ_ONLY),
    ("57014", SLOW),
    ("55P03", SLOW),
    ("57", DOWN),
    ("08", DOWN),
)
"""By the beginning of the error's code."""

SAYINGS: tuple[tuple[str, State], ...] = (
    (r"invalid (\w+ value|connection option|dsn|URI|integer|percent|port)|missing \"=\"", BAD_DSN),
    (r"too many clients|too many connections|remaining connection slots|no more connections|max_client_conn", FULL),
    (r"password|authentication|pg_hba|role .* does not exist", LOGIN),
    (r"database .* does not exist", NO_DATABASE),
    (r"read-only|not read-write|standby", READ_ONLY),
    (r"SSL|TLS|certificate", TLS),
    (r"timeout|timed out", SLOW),
)
"""By what is said where there is no code: libpq gives none for a connection that could not be made."""


def state_of(error: BaseException) -> State:
    """The state an error stands for."""
    if isinstance(error, TeamError):
        return error.state
    if isinstance(error, TimeoutError):
        return SLOW
    code = getattr(error, "sqlstate", None) or ""
    for begin, state in SQLSTATES:
        if code.startswith(begin):
            return state
    if not code:
        said = str(error)
        for pattern, state in SAYINGS:
            if re.search(pattern, said, re.IGNORECASE):
                return state
    if code:
        return State(FAULT.name, f"{FAULT.words} (SQLSTATE {code})")
    return DOWN
