"""What stands before a session's model at the beginning of a window: at a start, after a compaction, and when it is resumed."""

from __future__ import annotations

from collections.abc import Collection

from hermes_memory_bridge.hook_service.giving import (
    Giving,
    is_clean_verdict,
    is_for_sessions,
    mark_facts,
    pack_lines,
    to_giving,
)
from hermes_memory_store.context.context_block import count_fenced_line, count_left_out_tokens, fence_tokens
from hermes_memory_store.context.given_reasons import FactReasons, GivenReasons, to_given_reasons
from hermes_memory_store.context.start_choice import StartCandidate, StartChoice
from hermes_memory_store.context.start_situation import Situation
from hermes_memory_store.hosts.host_sessions import HostSession
from hermes_memory_store.model import STANDING_TIERS, Fact, FactType, Tier, Uid
from hermes_memory_store.projects.branch_labels import MarkedFact
from hermes_memory_store.store import Store
from hermes_memory_themes.policy import MOST_GIVEN_TOKENS
from hermes_memory_themes.theme_identity import PERSONAL

COMPACTION_SHARE = 3
"""A compaction may take so many times the budget of a start. What a session decided in hours of work is not in the start's
budget, is lost with the conversation, and comes back once a window: 540 tokens, which is a fiftieth of what the smallest
context holds that hosts compact. Codex shows 2,500 tokens whole, Claude Code some 2,500."""

MOST_GONE = 5
"""Facts that do not hold any more of which the target is told; more are counted."""

BINDING_TYPES = (FactType.CONSTRAINT, FactType.DECISION)
"""What a session decided comes back whole, before any other fact."""


DECIDED = 3.0
"""What a fact is worth that the session itself wrote, after a compaction: whoever graded would say that it must know it."""


def choose_window_facts(store: Store, theme: str, situation: Situation, budget: int) -> StartChoice:
    """Choose what a session is given within a budget, fence and the line that counts the others included."""
    return store.injection.choose(
        theme,
        situation,
        budget - fence_tokens(),
        count_line=count_left_out_tokens(),
        is_allowed=is_clean_verdict,
    )


def list_marked_facts(store: Store, choice: StartChoice, candidates: list[StartCandidate]) -> list[MarkedFact]:
    places = choice.places
    by_key = {one.key: one for one in candidates}
    return [
        MarkedFact(fact, places[fact.id].mark if fact.id in places else None, by_key[fact.id].is_lowered)
        for fact in store.injection.load_facts(candidates)
    ]


def make_start_giving(store: Store, theme: str, situation: Situation) -> Giving:
    """Return what a session is given at its start, fence and all within the theme's budget."""
    choice = choose_window_facts(store, theme, situation, store.policies.for_theme(theme).injection_tokens)
    told = list_marked_facts(store, choice, choice.given)
    return to_giving("start", told, to_given_reasons(choice), len(choice.left_out))


def make_compaction_giving(
    store: Store, theme: str, situation: Situation, sessions: Collection[str], since: int
) -> Giving:
    """Return what a session is given after a compaction: what it decided, and the facts worth most where it works.

    :param sessions: names of the sessions that its facts were written by
    :param since: when it began, UTC milliseconds
    """
    budget = min(COMPACTION_SHARE * store.policies.for_theme(theme).injection_tokens, MOST_GIVEN_TOKENS)
    decided = find_session_facts(store, theme, sessions, since)
    known = {one.fact.uid for one in decided}
    choice = choose_window_facts(store, theme, situation, budget)
    given, left_out = (
        [one for one in list_marked_facts(store, choice, some) if one.fact.uid not in known]
        for some in (choice.given, choice.left_out)
    )
    ranked = [
        *(one for one in decided if one.fact.type is FactType.CONSTRAINT),
        *(one for one in given if one.fact.type is FactType.CONSTRAINT),
        *(one for one in decided if one.fact.type is FactType.DECISION),
        *(one for one in given if one.fact.type is not FactType.CONSTRAINT),
        *(one for one in decided if one.fact.type not in BINDING_TYPES),
        *left_out,
    ]
    return pack_giving("compaction", ranked, budget, explain_compaction(choice, decided))


def explain_compaction(choice: StartChoice, decided: list[MarkedFact]) -> GivenReasons:
    reasons = to_given_reasons(choice)
    own = {one.fact.uid: count_fenced_line(one.line) for one in decided}
    written = [FactReasons(uid, DECIDED, tokens, (("session", DECIDED),)) for uid, tokens in own.items()]
    given, left_out = ([one for one in some if one.uid not in own] for some in (reasons.given, reasons.left_out))
    return GivenReasons((*written, *given), tuple(left_out))


def make_resume_giving(store: Store, theme: str, situation: Situation, known: HostSession) -> Giving:
    """Return what changed of what a session was given: new facts, changed ones, and those that do not hold any more."""
    given = store.host_sessions.given_facts(known)
    budget = store.policies.for_theme(theme).injection_tokens
    started = make_start_giving(store, theme, situation)
    now = {fact.uid: fact for fact in store.facts.by_uids(given).values()}
    standing = {uid for uid, fact in now.items() if fact.tier in STANDING_TIERS and is_for_sessions(fact)}
    hot = [now[uid] for uid in given if uid in standing and now[uid].tier is Tier.HOT]
    changed = [fact for fact in hot if fact.updated_at > given[fact.uid]]
    since = known.given_at or known.window_at
    fresh = [fact for fact in started.facts if fact.uid not in given and fact.updated_at >= since]
    gone: list[Uid] = [uid for uid in given if uid not in standing]
    ranked = mark_facts(store, [*changed, *fresh])
    told = pack_lines(ranked, budget, reserve=count_left_out_tokens())
    facts, lines = tuple(one.fact for one in told), [one.line for one in told]
    if gone:
        replaced = {fact.target.casefold() for fact in facts}
        lines += format_gone([now[uid] for uid in gone if uid in now], replaced, len(gone))
    reasons = started.reasons and started.reasons.limited_to(facts)
    return Giving("resume", facts, tuple(lines), tuple(gone), reasons, len(ranked) - len(told))


def format_gone(former: list[Fact], replaced: Collection[str], count: int) -> list[str]:
    """Return the lines that say which facts do not hold any more.

    What was purged, quarantined or undone is not named, but counted.

    :param former: those of them that are still in the store
    :param replaced: targets of which the session is told something new
    :param count: how many there are in all
    """
    named = [fact for fact in former if fact.tier is Tier.SUPERSEDED and is_for_sessions(fact)]
    lines = [f"~[{fact.target}]: superseded" for fact in named if fact.target.casefold() not in replaced]
    rest = count - len(named) + len(lines[MOST_GONE:])
    return [*lines[:MOST_GONE], f"({rest} given before no longer hold{'s' if rest == 1 else ''})"] if rest else lines


def find_session_facts(store: Store, theme: str, sessions: Collection[str], since: int) -> list[MarkedFact]:
    """Return the standing facts that these sessions wrote, in their theme or among the person's own, the newest first."""
    themes = {theme, PERSONAL} & {one.name for one in store.place_themes.readable(theme)}
    written = [uid for whose in themes for uid in store.host_sessions.facts_written(whose, sessions, since)]
    facts = sorted(store.facts.by_uids(written).values(), key=lambda fact: -fact.updated_at)
    return mark_facts(store, facts)


def pack_giving(kind: str, ranked: list[MarkedFact], budget: int, reasons: GivenReasons) -> Giving:
    """Return the facts that fit into a budget, and a line that counts the others."""
    told = pack_lines(ranked, budget)
    if len(told) < len(ranked):
        told = pack_lines(ranked, budget, reserve=count_left_out_tokens())
    return to_giving(kind, told, reasons.limited_to([one.fact for one in told]), len(ranked) - len(told))
