"""Log of recent tool calls, in memory only, for live followers; lost when the bridge stops.

Logging a call takes microseconds. Its subject is checked for secrets when it is shown, not when it is logged.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict, deque
from collections.abc import Set
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from hermes_memory_bridge.toolkit.arguments import Arguments
from hermes_memory_store.clock import Clock, system_clock
from hermes_memory_store.compact_json import to_members
from hermes_memory_store.intake.detectors.secrets import find_secrets
from hermes_memory_store.intake.intake import to_listed_name
from hermes_memory_store.intake.spans import replace_text_spans
from hermes_memory_store.items.origin_rows import ERASED
from hermes_memory_store.safe_text import to_printable

if TYPE_CHECKING:
    from hermes_memory_bridge.toolkit.connection import Connection
    from hermes_memory_bridge.toolkit.tool_spec import ToolSpec

MOST_CALLS = 2_000
"""Maximum number of calls in the log."""

MOST_SESSIONS = 4_000
"""Maximum number of sessions with call counts, twice as many as the bridge serves at a time; the least recent are dropped."""

MOST_SUBJECT_CHARS = 120
"""Maximum length of a displayed subject, in characters."""

MOST_NAME = 256
"""Characters of a session's name, as in the store."""

MOST_CHECKED_CHARS = 1_000
"""Characters of it that are stored, and checked for secrets when it is shown."""

MOST_NUMBER = 10**18

HIDDEN = "‹secret›"

MINUTE_S = 60

UID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")


@dataclass(frozen=True, slots=True)
class CallSubject:
    """The subject of a call: the beginning of the raw text, on one line."""

    text: str
    target: str = ""
    """Target of a fact: some targets mark the content as a secret."""
    lead: int = 0
    """Characters before a fact's content."""

    def to_display_text(self) -> str | None:
        """Return the subject for display: short, printable and without secrets. None when there is nothing to show."""
        lead, text = self.text[: self.lead], self.text[self.lead :]
        text = to_printable(
            lead + replace_text_spans(text, ((span, HIDDEN) for span in find_secrets(self.target, text)))
        )
        return (text if len(text) <= MOST_SUBJECT_CHARS else text[: MOST_SUBJECT_CHARS - 1] + "…") or None


@dataclass(frozen=True, slots=True)
class CallRecord:
    number: int
    """Increases by one with every call that this bridge answers."""
    at: int
    """Time of the answer, UTC milliseconds."""
    theme: str
    session: str
    title: str | None
    """The session's name for a person; None before its first answer."""
    client: str | None
    tool: str
    subject: CallSubject | None
    outcome: str
    """`ok`, the code of its refusal, or `cancelled`: the caller no longer waited for the answer."""
    hits: int | None
    """Number of facts or turns returned; None for a tool that returns none."""
    ms: float
    uids: frozenset[str]
    """Of all that its result names."""

    def about(self, erased: Set[str] = frozenset(), erased_at: int = 0) -> str | None:
        """Return the query, notation or scope that was given; never a secret, nor what may belong to an erased fact."""
        if self.subject is None:
            return None
        # Nobody knows whose words stood in a call that found nothing before the last fact was erased.
        is_erased = self.uids & erased if self.uids else self.at <= erased_at
        return ERASED if is_erased else self.subject.to_display_text()

    def as_dict(self, erased: Set[str], erased_at: int) -> dict[str, Any]:
        """Return the call as a JSON object, with `about`."""
        return {
            **to_members(self, "number at theme session title client tool"),
            "about": self.about(erased, erased_at),
            **to_members(self, "outcome hits ms"),
        }


@dataclass(frozen=True, slots=True)
class SessionCallCounts:
    calls: int = 0
    calls_per_minute: int = 0
    """Calls of the last 60 s."""
    reads: int = 0
    """Calls of tools that only read."""
    writes: int = 0
    """Calls of all other tools, including refused ones."""


class SessionTally:
    __slots__ = ("reads", "seconds", "writes")

    def __init__(self) -> None:
        self.reads = 0
        self.writes = 0
        self.seconds: deque[list[int]] = deque(maxlen=MINUTE_S)
        """Seconds in which there were calls, and how many."""

    def count(self, *, reads: bool, second: int) -> None:
        if reads:
            self.reads += 1
        else:
            self.writes += 1
        if self.seconds and self.seconds[-1][0] == second:
            self.seconds[-1][1] += 1
        else:
            self.seconds.append([second, 1])

    def counts(self, second: int) -> SessionCallCounts:
        lately = sum(calls for when, calls in self.seconds if second - MINUTE_S < when)
        return SessionCallCounts(self.reads + self.writes, lately, self.reads, self.writes)


class CallLog:
    """Keep the latest calls, and the call counts of their sessions. Thread-safe."""

    def __init__(self, most: int = MOST_CALLS, clock: Clock = system_clock) -> None:
        """:param most: number of calls to keep; the oldest are dropped"""
        self._clock = clock
        self._lock = threading.Lock()
        self._calls: deque[CallRecord] = deque(maxlen=most)
        self._tallies: OrderedDict[tuple[str, str], SessionTally] = OrderedDict()
        self._last = 0

    @property
    def last(self) -> int:
        """Return the number of the latest call; 0 when there was none."""
        return self._last

    def note(
        self,
        connection: Connection,
        spec: ToolSpec,
        arguments: Arguments,
        data: dict[str, Any] | None,
        outcome: str,
        seconds: float,
    ) -> None:
        """Log a finished call. :param data: its result, when it was executed"""
        now = self._clock()
        theme, session, said = (
            connection.theme,
            find_call_session(connection, arguments, data),
            find_call_subject(spec, arguments, data),
        )
        with self._lock:
            self._last += 1
            self._calls.append(
                CallRecord(
                    self._last,
                    now,
                    theme,
                    session,
                    (data or {}).get("title") or connection.session_title(session),
                    connection.client,
                    spec.name,
                    said,
                    outcome,
                    count_hits(data),
                    round(seconds * 1000, 3),
                    frozenset(UID.findall(str(data))),
                )
            )
            tally = self._tallies.get((theme, session))
            if tally is None:
                tally = self._tallies[theme, session] = SessionTally()
                if len(self._tallies) > MOST_SESSIONS:
                    self._tallies.popitem(last=False)
            self._tallies.move_to_end((theme, session))
            tally.count(reads=spec.reads_only, second=now // 1000)

    def since(
        self, number: int, *, theme: str | None = None, session: str | None = None, limit: int | None = None
    ) -> list[CallRecord]:
        """Return the calls logged after a number, oldest first. :param limit: only the newest of them"""
        with self._lock:
            newest = list(takewhile(lambda call: call.number > number, reversed(self._calls)))
        calls = [call for call in newest if theme in (None, call.theme) and session in (None, call.session)]
        return calls[:limit][::-1]

    def session_counts(self, theme: str, session: str) -> SessionCallCounts:
        """Return the call counts of a session; zero for one that has not called for a long time."""
        with self._lock:
            tally = self._tallies.get((theme, session))
            return SessionCallCounts() if tally is None else tally.counts(self._clock() // 1000)


def find_call_session(connection: Connection, arguments: Arguments, data: dict[str, Any] | None) -> str:
    """Return the name of the session a call belongs to or opened; the connection's own when it names none."""
    name = (data or {}).get("session_id") or arguments.get("session_id")
    if not isinstance(name, str) or not name:
        return connection.name
    return to_listed_name(connection.session_name(name)[:MOST_NAME])


def find_call_subject(spec: ToolSpec, arguments: Arguments, data: dict[str, Any] | None) -> CallSubject | None:
    """Return the subject of a call: the fact as stored, else the argument that its tool declares as the subject."""
    fact = (data or {}).get("fact")
    if fact is not None:
        return CallSubject(
            to_subject_line(fact["notation"]), fact["target"], len(fact["notation"]) - len(fact["content"])
        )
    value = arguments.get(spec.about) if spec.about is not None else None
    if isinstance(value, str):
        return CallSubject(to_subject_line(value))
    return CallSubject(f"{spec.about} {value}") if type(value) is int and abs(value) < MOST_NUMBER else None


def to_subject_line(text: str) -> str:
    """Return the beginning of a text on one line.

    A truncated word is dropped: half a secret would not be recognised as one.
    """
    words = text[:MOST_CHECKED_CHARS].split()
    return " ".join(words if len(text) <= MOST_CHECKED_CHARS else words[:-1])


def count_hits(data: dict[str, Any] | None) -> int | None:
    """Return the number of facts or turns in a result, if it gives one."""
    if data is None:
        return None
    facts = data.get("facts")
    return len(facts) if isinstance(facts, list) else data.get("count")
