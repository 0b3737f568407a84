"""The facts that a prompt is answered with: those that it touches, and that the session does not have before it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hermes_memory_bridge.hook_service.giving import Giving, mark_facts, pack_lines, to_giving
from hermes_memory_bridge.tools.context_tools import to_plain_words
from hermes_memory_store.find.touched_facts import TouchedFact, find_touched_facts
from hermes_memory_store.model import Fact, Millis, Uid
from hermes_memory_store.store import Store

AVERAGE_TOKENS = 60
"""What prompts may be given on average over a session."""

MOST_TOKENS = 120
"""What one prompt may be given."""

MOST_FACTS = 5

LOOKED_AT = 12
"""Facts among which those are that the session does not have yet."""


def make_prompt_giving(store: Store, theme: str, message: str, given: Mapping[Uid, Millis], budget: int) -> Giving:
    """Return the facts that a message touches and that the session does not have before it.

    :param given: what it has before it, and when each had been changed last
    :param budget: tokens that this prompt may be given
    """
    matches = [fact for fact in find_message_facts(store, theme, message) if given.get(fact.uid, -1) < fact.updated_at]
    return to_giving("prompt", pack_lines(mark_facts(store, matches)[:MOST_FACTS], min(budget, MOST_TOKENS)))


def find_message_facts(store: Store, theme: str, message: str) -> list[Fact]:
    """Return the facts that a message touches and that a session of this theme may be given, in the order of recall.

    They are those of its own theme and of what is read from there. What a message touches is narrower than what answers it:
    nobody asked.
    """
    words = to_plain_words(message)
    facts = [match.fact for match in find_readable_facts(store, theme, words)]
    if len(facts) < 2:
        return facts
    sources = [source.name for source in store.place_themes.readable(theme)]
    ranked = store.recall.rank(sources, words, kinds=("fact",)).items
    places = {item.uid: place for place, item in enumerate(ranked)}
    return sorted(facts, key=lambda fact: places.get(fact.uid, len(places)))


def find_readable_facts(
    store: Store, theme: str, words: str, to_part: Callable[[str], str] | None = None
) -> list[TouchedFact]:
    """Return the facts that plain words touch and that a session of this theme may be given, those that fit best first.

    :param to_part: see `find_touched_facts`
    """
    if not words:
        return []
    touched = [
        match
        for source in store.place_themes.readable(theme)
        for match in find_touched_facts(store.db, store.names, source.name, words, limit=LOOKED_AT, to_part=to_part)
        if match.fact.is_clean
        and (source.seen_from is None or store.place_themes.is_seen(match.fact, source.seen_from))
    ]
    return sorted(touched, key=lambda match: -match.fit)[:LOOKED_AT]
