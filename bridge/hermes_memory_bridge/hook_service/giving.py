"""What a session is given at once: facts below the fence, within a budget of tokens that counts every word of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from hermes_memory_store.context.context_block import count_fence, count_fenced_line
from hermes_memory_store.context.fence import format_chat_notice, format_fenced_text
from hermes_memory_store.context.given import GivenReasons
from hermes_memory_store.context.packing import Budget, count_fitting, format_left_out
from hermes_memory_store.frozen import dataclass
from hermes_memory_store.model import Fact, Uid
from hermes_memory_store.projects.branch_labels import MarkedFact
from hermes_memory_store.store import Store
from hermes_memory_themes.theme_identity import PERSONAL


@dataclass(frozen=True, slots=True)
class Giving:
    """Facts that are given together, and why."""

    kind: str
    """`start`, `prompt`, `compaction`, `resume` or `moment`."""
    facts: tuple[Fact, ...] = ()
    lines: tuple[str, ...] = ()
    """What is told, those of `facts` first, without the fence and the line that counts what is left out."""
    gone: tuple[Uid, ...] = ()
    """Facts given before of which the session is told now that they do not hold."""
    reasons: GivenReasons | None = None
    """Why these facts, and why not others, where they were valued."""
    left_out: int = 0
    why: str = ""
    """What it follows, at a moment."""

    @property
    def all_lines(self) -> tuple[str, ...]:
        """Everything told below the fence."""
        return (*self.lines, format_left_out(self.left_out)) if self.left_out else self.lines

    @property
    def tokens(self) -> int:
        return count_fence() + sum(map(count_fenced_line, self.all_lines)) if self.all_lines else 0

    def cut(self, count: int) -> Giving:
        """Return the first of the facts alone; the others are left out."""
        if count == len(self.facts):
            return self
        facts = self.facts[:count]
        lines = self.lines[:count] + self.lines[len(self.facts) :]
        reasons = self.reasons and self.reasons.limited_to(facts)
        return replace(
            self, facts=facts, lines=lines, reasons=reasons, left_out=self.left_out + len(self.facts) - count
        )


def pack_lines(ranked: Sequence[MarkedFact], tokens: int) -> list[MarkedFact]:
    """Return the facts that fit below a fence, in order; the person's own find room first."""
    budget = Budget(tokens - count_fence())
    fitting = {
        mark.fact.uid
        for mark in sorted(ranked, key=lambda mark: mark.fact.theme != PERSONAL)
        if budget.take(count_fenced_line(mark.line), is_of_person=mark.fact.theme == PERSONAL)
    }
    return [mark for mark in ranked if mark.fact.uid in fitting]


def mark_facts(store: Store, facts: Iterable[Fact]) -> list[MarkedFact]:
    """Return the facts that a session may be given, with the labels of their branches; those of unmerged ones come last.

    What is suspicious or not as it was written, and what a theme holds back, is left out.
    """
    marked = store.branch_labels.mark(store.facts.as_written([fact for fact in facts if fact.is_clean])).given
    return sorted(marked, key=lambda mark: mark.is_lowered)


def to_giving(
    kind: str, marked: Sequence[MarkedFact], reasons: GivenReasons | None = None, left_out: int = 0
) -> Giving:
    facts, lines = tuple(mark.fact for mark in marked), tuple(mark.line for mark in marked)
    return Giving(kind, facts, lines, reasons=reasons, left_out=left_out)


def join_givings(givings: Sequence[Giving]) -> str:
    """Return the text of several givings below one fence."""
    lines = [line for giving in givings for line in giving.all_lines]
    return format_fenced_text("\n".join(lines)) if lines else ""


def format_givings_notice(givings: Sequence[Giving]) -> str:
    """Return what the person sees of givings in the chat: something where a window begins."""
    if not any(giving.kind in ("start", "compaction", "resume") for giving in givings):
        return ""
    return format_chat_notice([fact.target for giving in givings for fact in giving.facts])


def fit_givings(givings: Sequence[Giving]) -> list[Giving]:
    """Return givings that every host shows whole together: facts are left out from the end of the first, then of the next."""
    fitting = list(givings)
    for place, giving in enumerate(givings):

        def to_text(count: int, place: int = place, giving: Giving = giving) -> str:
            return join_givings([*fitting[:place], giving.cut(count), *fitting[place + 1 :]])

        fitting[place] = giving.cut(count_fitting(len(giving.facts), to_text))
    return fitting
