"""Why each fact of a context record was given, and which others were left out: as `injections.reasons` keeps it, in JSON.

Numbers, names of parts and uids alone: nothing of a fact's text, so that a purge has nothing to erase here.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from hermes_memory_store import uids
from hermes_memory_store.context.start_choice import StartCandidate, StartChoice
from hermes_memory_store.frozen import dataclass
from hermes_memory_store.model import Fact, Uid

MOST_LEFT_OUT = 12
"""Facts left out that a record keeps, those best per token."""


@dataclass(frozen=True, slots=True)
class FactReasons:
    """What one fact was worth when a session was given others, or it."""

    uid: Uid
    value: float
    """Sum of the parts."""
    tokens: int
    """Of its line."""
    parts: tuple[tuple[str, float], ...]
    """What each reason added, or took: `scope`, `pinned`, `unused` …"""


@dataclass(frozen=True, slots=True)
class GivenReasons:
    """The facts of a context record, in its order, and the best of those left out, best first."""

    given: tuple[FactReasons, ...] = ()
    left_out: tuple[FactReasons, ...] = ()

    def limited_to(self, facts: Sequence[Fact]) -> GivenReasons:
        """Return the reasons where only these facts are given in the end; the others are left out."""
        wanted = {fact.uid for fact in facts}
        left_out = [one for one in (*self.given, *self.left_out) if one.uid not in wanted]
        by_uid = {one.uid: one for one in (*self.left_out, *self.given)}
        given = tuple(by_uid[fact.uid] for fact in facts if fact.uid in by_uid)
        return GivenReasons(given, tuple(left_out[:MOST_LEFT_OUT]))

    def to_json(self) -> str:
        """Return the reasons as they are stored."""
        return json.dumps(
            {
                key: [[one.uid, one.value, one.tokens, one.parts] for one in facts]
                for key, facts in (("given", self.given), ("left_out", self.left_out))
            },
            separators=(",", ":"),
        )


@lru_cache(maxsize=16)
def parse_given_reasons(text: str | None) -> GivenReasons | None:
    """Return stored reasons; None where none are, or where they cannot be read."""
    try:
        said: Any = json.loads(text or "null")
        return (
            None
            if said is None
            else GivenReasons(*(tuple(map(to_fact_reasons, said[key])) for key in ("given", "left_out")))
        )
    except (ValueError, TypeError, KeyError, IndexError):
        return None


def to_fact_reasons(said: list[Any]) -> FactReasons:
    """Return one entry of stored reasons. :raises TypeError: ValueError; it is none"""
    uid, value, tokens, parts = said
    return FactReasons(
        Uid(str(uid)), float(value), int(tokens), tuple((str(name), float(part)) for name, part in parts)
    )


def to_given_reasons(choice: StartChoice) -> GivenReasons:
    """Return the reasons of a choice."""

    def reasons_of(one: StartCandidate) -> FactReasons:
        parts = tuple([(name, round(value, 2)) for name, value in one.parts])
        return FactReasons(uids.format_uid(one.uid), round(one.value, 2), one.cost, parts)

    return GivenReasons(tuple(map(reasons_of, choice.given)), tuple(map(reasons_of, choice.left_out[:MOST_LEFT_OUT])))
