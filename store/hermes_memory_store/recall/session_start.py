"""What a session is given at its start: the hot facts worth most for where it works, within a budget of tokens."""

from __future__ import annotations

from hermes_memory_store.context.context_block import ContextBlocks
from hermes_memory_store.quick.fact_packing import pack_facts
from hermes_memory_store.recall.given import Given, StartSituation
from hermes_memory_store.recall.recall import count_line_tokens, fact_item


class SessionStart:
    """Choose what a session is given at its start."""

    def __init__(self, blocks: ContextBlocks) -> None:
        self._blocks = blocks

    def give(self, situation: StartSituation, budget: int) -> Given:
        """Return the facts that a session in this situation is given within `budget` tokens, fence included."""
        items = [fact_item(fact, 0.0) for fact in self._blocks.ranked_facts(situation.theme)]
        by_key = dict(enumerate(items))
        fence = count_line_tokens("")
        keys, spent = pack_facts([(key, item.tokens) for key, item in by_key.items()], budget - fence)
        left_out = tuple(item for key, item in by_key.items() if key not in keys)
        return Given(tuple(by_key[key] for key in keys), left_out, spent + fence if keys else 0)
