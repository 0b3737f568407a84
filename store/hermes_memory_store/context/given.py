"""What is given of a memory, item by item, with the reasons: for tools, hooks, tests of a memory and the flight recorder.

The reasons of a context record are numbers, names of parts and uids (`injections.reasons`): nothing of a fact's text, so that
a purge has nothing to erase there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache
from typing import Any, Protocol

from hermes_memory_store.frozen import dataclass
from hermes_memory_store.model import Fact, Millis, Turn, Uid
from hermes_memory_store.places.branch_marks import BranchMark
from hermes_memory_store.projects.branch_labels import MarkedFacts

Nearest = Callable[[str, str, int, Collection[int]], list[tuple[int, float]]]
"""(`fact` or `turn`, theme, limit, keys) → (key, cosine similarity) of the nearest to the question, best first; and of these
keys, however far they are. It answers from the vectors that are there and waits for nothing."""

Mark = Callable[[Sequence[Fact]], MarkedFacts]
"""Facts → the same with the labels of their branches, without those that are held back."""


class MakeNearest(Protocol):
    """Makes what finds the nearest to a question by meaning, as the bridge's `LocalNearest` does."""

    @property
    def ranked_by(self) -> str:
        """The rankings in words, with the model."""

    def prepare(self, questions: Iterable[str], /) -> None:
        """Make ready for many questions at once."""

    def __call__(self, question: str, /) -> Nearest | None:
        """Return what finds the nearest to a question; None where words alone answer it."""


WORDS_ONLY = "words only"
"""What an answer says that no model had a part in."""

NOTHING_TOUCHES = "nothing in memory touches this"
"""What an answer says that gives nothing."""


@dataclass(frozen=True, slots=True)
class RankReason:
    """One thing that raised or lowered an item's rank."""

    name: str
    """For a question: `every word` of a look-up, `words`, `beside` (those of what it was written from, or was written from it),
    `meaning`, `branch` (of one that is not merged).
    At a start: `pinned`, `critical`, `scope`, `branch`, `person`, `unknown`, `used`, `unused`, `age` and others."""
    value: float
    """What it added, in the units of the score; below 0 what it took."""


@dataclass(frozen=True, slots=True)
class GivenItem:
    """A fact, or the best sentences of a turn."""

    line: str
    """As it is given, without the fence: the fact in MEMORY_SPEC's notation, or who said it, when and what."""
    tokens: int
    """Of the line in its fence."""
    score: float
    """Comparable within one answer."""
    fact: Fact | None = None
    turn: Turn | None = None
    """One of both."""
    reasons: tuple[RankReason, ...] = ()
    sources: tuple[Uid, ...] = ()
    """Of a fact: the ranked turns that it was most likely written from."""
    mark: BranchMark | None = None
    """Of a fact whose branch is not known to be merged; its line ends with the label."""

    @property
    def uid(self) -> Uid:
        item = self.fact or self.turn
        assert item is not None
        return item.uid


@dataclass(frozen=True, slots=True)
class Given:
    """What is given at once, best first, within a budget."""

    items: tuple[GivenItem, ...] = ()
    left_out: tuple[GivenItem, ...] = ()
    """Ranked candidates that did not fit or were told by another item, best first."""
    tokens: int = 0
    """Of everything, with the fence."""
    ranked_by: str = WORDS_ONLY
    note: str | None = None
    """What is wrong with an index, if anything."""
    exact: int = 0
    """How many of the first have every word of a look-up."""
    held_note: str | None = None
    """Says how many facts of unmerged branches are held back, and how to see them."""
    total: int = 0
    """Facts that match."""
    more: bool = False
    """Whether there are more than `total` says."""


@dataclass(frozen=True, slots=True)
class StartSituation:
    """Where and when a session starts, as far as it is known."""

    theme: str
    folder: str = ""
    branch: str | None = None
    scope: str | None = None
    message: str = ""
    """What its user said last."""
    session: str | None = None
    """The name of our session, where it has one."""
    at: Millis | None = None
    """UTC milliseconds; now unless given."""


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
        remaining = {fact.uid for fact in facts}
        left_out = [reasons for reasons in (*self.given, *self.left_out) if reasons.uid not in remaining]
        by_uid = {reasons.uid: reasons for reasons in (*self.left_out, *self.given)}
        return GivenReasons(
            tuple(by_uid[fact.uid] for fact in facts if fact.uid in by_uid), tuple(left_out[:MOST_LEFT_OUT])
        )

    def to_json(self) -> str:
        return json.dumps(
            {
                key: [[reasons.uid, reasons.value, reasons.tokens, reasons.parts] for reasons in facts]
                for key, facts in (("given", self.given), ("left_out", self.left_out))
            },
            separators=(",", ":"),
        )


@lru_cache(maxsize=16)
def parse_given_reasons(text: str | None) -> GivenReasons | None:
    """Return stored reasons; None where none are, or where they cannot be read."""

    def to_reasons(uid: Any, value: Any, tokens: Any, parts: Any) -> FactReasons:
        named = tuple((str(name), float(part)) for name, part in parts)
        return FactReasons(Uid(str(uid)), float(value), int(tokens), named)

    try:
        document: Any = json.loads(text or "null")
        if document is None:
            return None
        return GivenReasons(*(tuple(to_reasons(*entry) for entry in document[key]) for key in ("given", "left_out")))
    except (ValueError, TypeError, KeyError, IndexError):
        return None
