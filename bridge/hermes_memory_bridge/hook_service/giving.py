"""What a session is given at once: facts below the fence, within a budget of tokens that counts every word of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from hermes_memory_store.context.context_block import count_fenced_line, fence_tokens
from hermes_memory_store.context.fact_packing import MOST_GIVEN_BYTES
from hermes_memory_store.context.fence import format_fenced_text
from hermes_memory_store.context.given_reasons import GivenReasons
from hermes_memory_store.context.hot_context import format_left_out
from hermes_memory_store.frozen import dataclass
from hermes_memory_store.intake.intake import is_admitted
from hermes_memory_store.model import Fact, Uid
from hermes_memory_store.places.place_reading import PERSONAL_TOKENS
from hermes_memory_store.projects.branch_labels import MarkedFact
from hermes_memory_store.store import Store
from hermes_memory_themes.theme_identity import PERSONAL


@dataclass(frozen=True, slots=True)
class Giving:
    """Facts that are given together, and why."""

    kind: str
    """`start`, `prompt`, `compaction` or `resume`."""
    facts: tuple[Fact, ...] = ()
    lines: tuple[str, ...] = ()
    """What is told, those of `facts` first, without the fence and the line that counts what is left out."""
    gone: tuple[Uid, ...] = ()
    """Facts given before of which the session is told now that they do not hold."""
    reasons: GivenReasons | None = None
    """Why these facts, and why not others, where they were valued."""
    left_out: int = 0

    @property
    def all_lines(self) -> tuple[str, ...]:
        """Everything told below the fence."""
        return (*self.lines, format_left_out(self.left_out)) if self.left_out else self.lines

    @property
    def tokens(self) -> int:
        return fence_tokens() + sum(map(count_fenced_line, self.all_lines)) if self.all_lines else 0


def pack_lines(ranked: Iterable[MarkedFact], budget: int, *, reserve: int = 0) -> list[MarkedFact]:
    """Return the facts that fit below a fence, in order. One that is too long leaves its place to shorter ones after it.

    The person's own facts take at most `PERSONAL_TOKENS`.

    :param budget: tokens in all
    :param reserve: tokens of it that stay free
    """
    left = budget - reserve - fence_tokens()
    ranked = list(ranked)
    chosen: set[Uid] = set()
    room = min(PERSONAL_TOKENS, left)
    for one in ranked:
        cost = count_fenced_line(one.line)
        if one.fact.theme == PERSONAL and cost <= room:
            chosen.add(one.fact.uid)
            room -= cost
            left -= cost
    for one in ranked:
        cost = count_fenced_line(one.line)
        if one.fact.theme != PERSONAL and cost <= left:
            chosen.add(one.fact.uid)
            left -= cost
    return [one for one in ranked if one.fact.uid in chosen]


def mark_facts(store: Store, facts: Iterable[Fact]) -> list[MarkedFact]:
    """Return the facts that a session may be given, with the labels of their branches; those of unmerged ones come last.

    What is suspicious, and what a theme holds back, is left out.
    """
    given = store.branch_labels.mark([fact for fact in facts if is_for_sessions(fact)]).given
    return [one for one in given if not one.is_lowered] + [one for one in given if one.is_lowered]


def to_giving(kind: str, told: Sequence[MarkedFact], reasons: GivenReasons | None = None, left_out: int = 0) -> Giving:
    facts, lines = tuple(one.fact for one in told), tuple(one.line for one in told)
    return Giving(kind, facts, lines, reasons=reasons, left_out=left_out)


def is_for_sessions(fact: Fact) -> bool:
    """Check whether a fact may be given: nothing suspicious in it, unless a person let it in."""
    return is_clean_verdict(fact.verdict)


def is_clean_verdict(verdict: str | None) -> bool:
    return verdict is None or is_admitted(verdict)


def join_givings(givings: Sequence[Giving]) -> str:
    """Return the text of several givings below one fence."""
    lines = [line for giving in givings for line in giving.all_lines]
    return format_fenced_text("\n".join(lines)) if lines else ""


def fit_givings(givings: Sequence[Giving]) -> list[Giving]:
    """Return givings that every host shows whole together: facts are left out from the end of the first, then of the next."""
    fitting = list(givings)
    for place in range(len(fitting)):
        while (giving := fitting[place]).facts and len(join_givings(fitting).encode()) > MOST_GIVEN_BYTES:
            last = len(giving.facts) - 1
            facts, lines = giving.facts[:last], giving.lines[:last] + giving.lines[last + 1 :]
            reasons = giving.reasons and giving.reasons.limited_to(facts)
            left_out = giving.left_out + 1
            fitting[place] = replace(giving, facts=facts, lines=lines, reasons=reasons, left_out=left_out)
    return fitting
