"""States of the team database in words: none of its problems ever reaches an agent's read or write.

No text of a driver is passed on: it names hosts and users.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hermes_memory_store.errors import StoreError
from hermes_memory_store.installation import to_install_command
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.sync.standing import format_time_span

SKEW_MS = 300_000
"""Clocks further apart than this are told to the person; the database refuses rows from further ahead."""


@dataclass(frozen=True, slots=True)
class TeamState:
    name: str
    """Stable, for programs."""
    words: str
    """For a person: what is wrong and what to do."""

    def as_dict(self) -> dict[str, Any]:
        return {"state": self.name, "words": self.words}


IDLE = TeamState("idle", "everything is exchanged")
STARTING = TeamState("starting", "not yet connected")
FETCHING = TeamState("fetching", "still being fetched for the first time; not all of it is here")
EXCHANGING = TeamState("exchanging", "rows are on their way")
PAUSED = TeamState("paused", "paused by a person; `hermes-memory-bridge sync resume` goes on")
ELSEWHERE = TeamState("elsewhere", "another process exchanges for this store")
NOT_NAMED = TeamState("not connected", "no team database is named; `hermes-memory-bridge team connect` names one")
NO_DRIVER = TeamState("no driver", f"psycopg is missing: {to_install_command('team')}")

DOWN = TeamState("unreachable", "the team database does not answer; what is written here waits")
SLOW = TeamState("slow", "the team database took too long and was left; what is written here waits")
FULL = TeamState("full", "the team database has no free connection; tried again later")
READ_ONLY = TeamState("read-only", "the team database takes no writes now (a standby?); what is written here waits")
LOGIN = TeamState(
    "refused",
    "the team database refused user or password, as it does once a newer code was given; `team connect` names others",
)
NO_DATABASE = TeamState("no database", "the team's server has no database of that name; look at the DSN")
TLS = TeamState("tls", "the TLS connection was not accepted: look at sslmode, the certificate and its authority")
BAD_DSN = TeamState(
    "bad dsn", "neither a code of an invitation nor a DSN that is understood; `team connect` asks for another"
)
NOT_MIGRATED = TeamState("not migrated", "the team database has no tables of ours: its owner runs `team migrate` once")
DENIED = TeamState(
    "denied",
    "this role has no rights in the team database: its owner revoked them, or has not let it in yet, which `team invite NAME`"
    " or `team migrate --runtime-role ROLE` does; what is written here waits",
)
NOT_A_WRITER = TeamState(
    "denied",
    "this role may not write to this theme, or may no longer: ask the owner of the team database; what is written waits",
)
OTHER_PROJECT = TeamState(
    "other project",
    "the team database takes nothing of this theme, which is another project's there; what is written waits",
)
HELD = TeamState("held", "another transaction has locked this theme in the team database; what is written waits")
DISK = TeamState("disk full", "the team database has no space left; what is written here waits")
FAULT = TeamState("fault", "the team database answered with an error")


COMPLETE_STATES = ("idle", "clock")
"""Names of the states in which an exchange has done all it could."""

CLOSED = "closed"
"""Name of the state of a theme that is not open to this role."""


def to_other_project_state(theme: str, other: str) -> TeamState:
    """Return the state of a theme under whose name the team has another project.

    :param other: what that one is recognised by
    """
    return TeamState(
        OTHER_PROJECT.name,
        f"the team has another project under this name, {to_printable(other.partition(' ')[2])}; nothing of this theme is"
        f" exchanged until it has another name in the team: `hermes-memory-bridge sync rename {theme} NAME` gives it one, and"
        " the owner of the database opens that (`team open ROLE NAME`); or until `sync = false` in memory-themes.toml",
    )


def to_taken_name_state(name: str) -> TeamState:
    """Return the state of a theme that the team knows under a name which is not free on this machine."""
    return TeamState(
        OTHER_PROJECT.name,
        f"the team knows this project as theme {to_printable(name)}, and another theme of this machine is exchanged under that"
        " name; nothing of this one is exchanged until `sync = false` is set for one of the two in memory-themes.toml",
    )


def to_closed_state(themes: Sequence[str]) -> TeamState:
    """Return the state when these themes are not open to this role."""
    named = ", ".join(themes)
    words = f"not open to this role in the team database: {named}; its owner opens a theme with `team open ROLE THEME`"
    return TeamState(CLOSED, f"{words}; what is written waits")


def to_incomplete_state(state: TeamState, *, waiting: int, refused: int, held_back: int, behind: int = 0) -> TeamState:
    """Return the state when a sync did all it could, and rows are left.

    :param state: the state to return when none are left
    :param waiting: rows to be pushed
    :param held_back: rows from the team whose clock is ahead
    :param behind: rows to be pulled
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
    reason = "" if state.name == IDLE.name else f" ({state.words})"
    return TeamState("incomplete", f"not everything is exchanged: {left}{reason}")


class TeamError(StoreError):
    """The team database cannot be used now; `state` says why."""

    code = "team.unavailable"

    def __init__(self, state: TeamState, detail: str = "") -> None:
        super().__init__(f"{state.words} ({detail})" if detail else state.words)
        self.state = TeamState(state.name, self.message)


class AnswerOverdue(TimeoutError):
    """The database did not answer in time, and its connection was cut."""


def to_clock_skew_state(offset_ms: int) -> TeamState | None:
    """Return the state for a clock difference. :param offset_ms: the server's time less this machine's"""
    if abs(offset_ms) <= SKEW_MS:
        return None
    distance = format_time_span(round(abs(offset_ms) / 60_000) * 60_000)
    way = "behind" if offset_ms > 0 else "ahead of"
    return TeamState("clock", f"this machine's clock is {distance} {way} the team's; rows are exchanged, set the clock")


def to_wrong_version_state(present: int, own: int) -> TeamState:
    if present < own:
        return TeamState(
            "old schema", f"the team database is at version {present}, this program needs {own}: `team migrate`"
        )
    return TeamState("new schema", f"the team database is at version {present}, this program knows {own}: upgrade it")


INVITATION = "hm1."
"""Begins a code of an invitation; what follows is a DSN, and nothing to be passed on openly."""

DENIED_CODE, MAY_NOT_WRITE = "42501", "may not write to this theme"
"""How `hm.tick` refuses."""

OTHER_PROJECT_CODE = "HM001"
"""How `hm.claim` refuses."""

SQLSTATES: tuple[tuple[str, TeamState], ...] = (
    ("28", LOGIN),
    ("3D000", NO_DATABASE),
    ("3F000", NOT_MIGRATED),
    ("42P01", NOT_MIGRATED),
    ("42703", NOT_MIGRATED),
    ("42501", DENIED),
    ("53300", FULL),
    ("53400", FULL),
    ("53100", DISK),
    (OTHER_PROJECT_CODE, OTHER_PROJECT),
    ("25006", READ_ONLY),
    ("57014", SLOW),
    ("55P03", HELD),
    ("57", DOWN),
    ("08", DOWN),
)
"""By the beginning of the error's code."""

STATE_SENTENCES: tuple[tuple[str, TeamState], ...] = (
    (r"invalid (\w+ value|connection option|dsn|URI|integer|percent|port)|missing \"=\"", BAD_DSN),
    (r"too many clients|too many connections|remaining connection slots|no more connections|max_client_conn", FULL),
    (r"password|authentication|pg_hba|role .* does not exist", LOGIN),
    (r"database .* does not exist", NO_DATABASE),
    (r"read-only|not read-write|standby", READ_ONLY),
    (r"SSL|TLS|certificate", TLS),
    (r"timeout|timed out", SLOW),
)
"""By what is said where there is no code: libpq gives none for a connection that could not be made."""


def to_team_state(error: BaseException) -> TeamState:
    if isinstance(error, TeamError):
        return error.state
    if isinstance(error, TimeoutError):
        return SLOW
    code = getattr(error, "sqlstate", None) or ""
    if code == DENIED_CODE and MAY_NOT_WRITE in str(error):
        return NOT_A_WRITER
    for begin, state in SQLSTATES:
        if code.startswith(begin):
            return state
    if not code:
        message = str(error)
        for pattern, state in STATE_SENTENCES:
            if re.search(pattern, message, re.IGNORECASE):
                return state
    if code:
        return TeamState(FAULT.name, f"{FAULT.words} (SQLSTATE {code})")
    return DOWN
