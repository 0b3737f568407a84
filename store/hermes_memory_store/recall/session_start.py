"""What a session is given at its start: the facts worth most for where it works, within a budget of tokens."""

from __future__ import annotations

from hermes_memory_store.clock import Clock
from hermes_memory_store.context.context_block import ContextBlocks, count_left_out_tokens, fence_tokens
from hermes_memory_store.context.start_choice import StartCandidate
from hermes_memory_store.context.start_situation import Situation
from hermes_memory_store.model import Fact
from hermes_memory_store.recall.given import Given, GivenItem, RankReason, StartSituation


class SessionStart:
    """Choose what a session is given at its start."""

    def __init__(self, blocks: ContextBlocks, clock: Clock) -> None:
        self._blocks = blocks
        self._clock = clock

    def give(self, situation: StartSituation, budget: int) -> Given:
        """Return the facts that a session in this situation is given within `budget` tokens, fence included.

        It is what its hook gives, and `memory_status` between its other lines.
        """
        choice = self._blocks.choose(
            situation.theme,
            Situation(
                self._clock() if situation.at is None else situation.at,
                folder=situation.folder,
                branch=situation.branch,
                scope=situation.scope,
                session=situation.session,
                message=situation.message,
            ),
            budget - fence_tokens(),
            count_line=count_left_out_tokens(),
        )
        facts = {fact.id: fact for fact in self._blocks.load_facts([*choice.given, *choice.left_out])}

        def to_item(one: StartCandidate) -> GivenItem:
            fact: Fact = facts[one.key]
            place = choice.places.get(one.key)
            line = fact.notation if place is None else f"{fact.notation} {place.mark.label}"
            reasons = tuple(RankReason(name, value) for name, value in one.parts)
            return GivenItem(line, one.cost, one.value, fact=fact, reasons=reasons)

        items, left_out = (
            [to_item(one) for one in some if one.key in facts] for some in (choice.given, choice.left_out)
        )
        spent = fence_tokens() + choice.tokens + (count_left_out_tokens() if left_out else 0) if items else 0
        return Given(tuple(items), tuple(left_out), spent)
