"""What agents have called lately, in memory only: for whoever follows them live, and gone with the bridge.

Noting a call takes microseconds. What a call was about is looked through for secrets when it is told, not when it is noted.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from hermes_memory_bridge.arguments import Arguments
from hermes_memory_bridge.trust.secrets import find_secrets
from hermes_memory_bridge.trust.spans import replace_spans
from hermes_memory_store.clock import Clock, system_clock
from hermes_memory_store.text import printable

if TYPE_CHECKING:
    from hermes_memory_bridge.connection import Connection
    from hermes_memory_bridge.tools.spec import ToolSpec

MOST = 2_000
"""Calls that are kept."""

MOST_SESSIONS = 4_000
"""Sessions whose calls are counted: twice as many as the bridge serves at a time. Those that called last stay."""

MOST_ABOUT = 120
"""Characters of what a call is about."""

MOST_NAME = 256
"""Characters of a session's name, as in the store."""

LOOKED_THROUGH = 1_000
"""Characters of it that are kept, and looked through for secrets when it is told."""

MOST_NUMBER = 10**18

HIDDEN = "‹secret›"

MINUTE_S = 60


@dataclass(frozen=True, slots=True)
class Said:
    """What a call is about, as it came: its beginning, in one line."""

    text: str
    target: str = ""
    """Of a fact: some targets say that the content is a secret."""
    lead: int = 0
    """Characters before a fact's content."""

    def shown(self) -> str | None:
        """As it may be shown: short, printable, and without a secret. None when there is nothing to show."""
        lead, text = self.text[: self.lead], self.text[self.lead :]
        text = printable(lead + replace_spans(text, ((span, HIDDEN) for span in find_secrets(self.target, text))))
        return (text if len(text) <= MOST_ABOUT else text[: MOST_ABOUT - 1] + "…") or None


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool."""

    number: int
    """Rises by one with every call that this bridge has answered."""
    at: int
    """When it was answered, UTC milliseconds."""
    theme: str
    session: str
    client: str | None
    tool: str
    said: Said | None
    outcome: str
    """`ok`, the code of its refusal, or `cancelled`: nobody waited for the answer any more."""
    hits: int | None
    """Facts, or turns, that it returned; None for a tool that returns none."""
    ms: float

    def about(self) -> str | None:
        """The question, notation or scope that was given; never a secret."""
        return None if self.said is None else self.said.shown()

    def as_dict(self) -> dict[str, Any]:
        """The call as JSON tells it."""
        return {
            "number": self.number,
            "at": self.at,
            "theme": self.theme,
            "session": self.session,
            "client": self.client,
            "tool": self.tool,
            "about": self.about(),
            "outcome": self.outcome,
            "hits": self.hits,
            "ms": self.ms,
        }


@dataclass(frozen=True, slots=True)
class Counts:
    """How much a session has called."""

    calls: int = 0
    calls_per_minute: int = 0
    """Calls of the last 60 s."""
    reads: int = 0
    """Calls of tools that only read."""
    writes: int = 0
    """Calls of the others, refused ones among them."""


class Tally:
    """Counts the calls of one session."""

    __slots__ = ("reads", "seconds", "writes")

    def __init__(self) -> None:
        self.reads = 0
        self.writes = 0
        self.seconds: deque[list[int]] = deque(maxlen=MINUTE_S)
        """Seconds in which there were calls, and how many."""

    def count(self, *, reads: bool, second: int) -> None:
        """One more."""
        if reads:
            self.reads += 1
        else:
            self.writes += 1
        if self.seconds and self.seconds[-1][0] == second:
            self.seconds[-1][1] += 1
        else:
            self.seconds.append([second, 1])

    def counts(self, second: int) -> Counts:
        """What was counted until now."""
        lately = sum(calls for when, calls in self.seconds if second - MINUTE_S < when)
        return Counts(self.reads + self.writes, lately, self.reads, self.writes)


class CallLog:
    """The last calls, and the counts of the sessions that made them. Any thread may use it."""

    def __init__(self, most: int = MOST, clock: Clock = system_clock) -> None:
        """:param most: calls that are kept; older ones make room"""
        self._clock = clock
        self._lock = threading.Lock()
        self._calls: deque[Call] = deque(maxlen=most)
        self._tallies: OrderedDict[tuple[str, str], Tally] = OrderedDict()
        self._last = 0

    @property
    def last(self) -> int:
        """Number of the last call; 0 when there was none."""
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
        """A call was answered. :param data: its answer, when it was carried out"""
        now = self._clock()
        theme, session, said = connection.theme, session_of(connection, arguments, data), said_of(spec, arguments, data)
        with self._lock:
            self._last += 1
            self._calls.append(
                Call(
                    self._last,
                    now,
                    theme,
                    session,
                    connection.client,
                    spec.name,
                    said,
                    outcome,
                    hits_of(data),
                    round(seconds * 1000, 3),
                )
            )
            tally = self._tallies.get((theme, session))
            if tally is None:
                tally = self._tallies[theme, session] = Tally()
                if len(self._tallies) > MOST_SESSIONS:
                    self._tallies.popitem(last=False)
            self._tallies.move_to_end((theme, session))
            tally.count(reads=spec.reads_only, second=now // 1000)

    def since(
        self, number: int, *, theme: str | None = None, session: str | None = None, limit: int | None = None
    ) -> list[Call]:
        """The calls after that number which are still kept, oldest first. :param limit: only the newest of them"""
        with self._lock:
            newest = list(takewhile(lambda call: call.number > number, reversed(self._calls)))
        wanted = [one for one in newest if theme in (None, one.theme) and session in (None, one.session)]
        return wanted[:limit][::-1]

    def counted(self, theme: str, session: str) -> Counts:
        """How much a session has called; nothing for one that has not called for long."""
        with self._lock:
            tally = self._tallies.get((theme, session))
            return Counts() if tally is None else tally.counts(self._clock() // 1000)


def session_of(connection: Connection, arguments: Arguments, data: dict[str, Any] | None) -> str:
    """Name of the session a call belongs to, or opened; the connection's own when it names none."""
    name = (data or {}).get("session_id") or arguments.get("session_id")
    if not isinstance(name, str) or not name:
        return connection.name
    return printable(name[:MOST_NAME])


def said_of(spec: ToolSpec, arguments: Arguments, data: dict[str, Any] | None) -> Said | None:
    """What a call is about: the fact as it was kept, else the argument that its tool names for that."""
    fact = (data or {}).get("fact")
    if fact is not None:
        return Said(beginning(fact["notation"]), fact["target"], len(fact["notation"]) - len(fact["content"]))
    value = arguments.get(spec.about) if spec.about is not None else None
    if isinstance(value, str):
        return Said(beginning(value))
    return Said(f"{spec.about} {value}") if type(value) is int and abs(value) < MOST_NUMBER else None


def beginning(text: str) -> str:
    """What is kept of a text, in one line. A word that was cut is left out: half a secret is not recognised as one."""
    words = text[:LOOKED_THROUGH].split()
    return " ".join(words if len(text) <= LOOKED_THROUGH else words[:-1])


def hits_of(data: dict[str, Any] | None) -> int | None:
    """How many facts or turns an answer holds, when it says so."""
    if data is None:
        return None
    facts = data.get("facts")
    return len(facts) if isinstance(facts, list) else data.get("count")
