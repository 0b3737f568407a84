"""What stands before a session's model at the beginning of a window: at a start, after a compaction, and when it is resumed."""

from __future__ import annotations

from collections.abc import Collection

from hermes_memory_bridge.hook_service.giving import (
    Giving,
    mark_facts,
    pack_lines,
    to_giving,
)
from hermes_memory_store.context.context_block import count_fenced_line, count_left_out_line, to_given_reasons
from hermes_memory_store.context.given import FactReasons, GivenReasons
from hermes_memory_store.context.start_choice import StartCandidate, StartChoice
from hermes_memory_store.context.start_situation import Situation
from hermes_memory_store.hosts.host_sessions import HostSession
from hermes_memory_store.model import STANDING_TIERS, Fact, FactType, Tier, Uid, is_clean_verdict
from hermes_memory_store.projects.branch_labels import MarkedFact, to_marked_fact
from hermes_memory_store.store import Store
from hermes_memory_themes.policy import MOST_GIVEN_TOKENS
from hermes_memory_themes.theme_identity import PERSONAL

COMPACTION_SHARE = 3
"""A compaction may take so many times the budget of a start: what a session decided in hours of work is lost with the
conversation, and comes back once a window."""

MOST_GONE = 5
"""Facts that do not hold any more of which the target is told; more are counted."""

BINDING_TYPES = (FactType.CONSTRAINT, FactType.DECISION)
"""What a session decided comes back whole, before any other fact."""


DECIDED = 3.0
"""What a fact is worth that the session itself wrote, after a compaction: whoever graded would say that it must know it."""


def list_marked_facts(store: Store, choice: StartChoice, candidates: list[StartCandidate]) -> list[MarkedFact]:
    places = choice.places
    return [to_marked_fact(fact, places.get(fact.id)) for fact in store.context.load_facts(candidates)]


def make_start_giving(store: Store, theme: str, situation: Situation) -> Giving:
    """Return what a session is given at its start, fence and all within the theme's budget."""
    budget = store.policies.for_theme(theme).injection_tokens
    choice = store.context.choose_fenced(theme, situation, budget, is_allowed=is_clean_verdict)
    marked = list_marked_facts(store, choice, choice.given)
    return to_giving("start", marked, to_given_reasons(choice), len(choice.left_out))


def make_compaction_giving(
    store: Store, theme: str, situation: Situation, sessions: Collection[str], since: int
) -> Giving:
    """Return what a session is given after a compaction: what it decided, and the facts worth most where it works.

    :param sessions: names of the sessions that its facts were written by
    :param since: when it began, UTC milliseconds
    """
    budget = min(COMPACTION_SHARE * store.policies.for_theme(theme).injection_tokens, MOST_GIVEN_TOKENS)
    decided = find_session_facts(store, theme, sessions, since)
    choice = store.context.choose_fenced(theme, situation, budget, is_allowed=is_clean_verdict)
    own = {mark.fact.uid for mark in decided}
    offered, left_out = (
        [fact for fact in list_marked_facts(store, choice, candidates) if fact.fact.uid not in own]
        for candidates in (choice.given, choice.left_out)
    )
    ranked = [
        *(mark for mark in decided if mark.fact.type is FactType.CONSTRAINT),
        *(mark for mark in offered if mark.fact.type is FactType.CONSTRAINT),
        *(mark for mark in decided if mark.fact.type is FactType.DECISION),
        *(mark for mark in offered if mark.fact.type is not FactType.CONSTRAINT),
        *(mark for mark in decided if mark.fact.type not in BINDING_TYPES),
        *left_out,
    ]
    packed = pack_lines(ranked, budget)
    if len(packed) < len(ranked):
        packed = pack_lines(ranked, budget - count_left_out_line())
    reasons = explain_compaction(choice, decided).limited_to([mark.fact for mark in packed])
    return to_giving("compaction", packed, reasons, len(ranked) - len(packed))


def explain_compaction(choice: StartChoice, decided: list[MarkedFact]) -> GivenReasons:
    reasons = to_given_reasons(choice)
    own = {mark.fact.uid: count_fenced_line(mark.line) for mark in decided}
    written = [FactReasons(uid, DECIDED, tokens, (("session", DECIDED),)) for uid, tokens in own.items()]
    offered, left_out = ([mark for mark in some if mark.uid not in own] for some in (reasons.given, reasons.left_out))
    return GivenReasons((*written, *offered), tuple(left_out))


def make_resume_giving(store: Store, theme: str, situation: Situation, host_session: HostSession) -> Giving:
    """Return what changed of what a session was given: new facts, changed ones, and those that do not hold any more."""
    earlier = store.host_sessions.given_facts(host_session)
    budget = store.policies.for_theme(theme).injection_tokens
    started = make_start_giving(store, theme, situation)
    present = {fact.uid: fact for fact in store.facts.by_uids(earlier).values()}
    valid = {uid for uid, fact in present.items() if fact.tier in STANDING_TIERS and fact.is_clean}
    hot = [present[uid] for uid in earlier if uid in valid and present[uid].tier is Tier.HOT]
    changed = [fact for fact in hot if fact.updated_at > earlier[fact.uid]]
    since = host_session.given_at or host_session.window_at
    fresh = [fact for fact in started.facts if fact.uid not in earlier and fact.updated_at >= since]
    invalid: list[Uid] = [uid for uid in earlier if uid not in valid]
    ranked = mark_facts(store, [*changed, *fresh])
    packed = pack_lines(ranked, budget - count_left_out_line())
    facts, lines = tuple(mark.fact for mark in packed), [mark.line for mark in packed]
    if invalid:
        replaced = {fact.target.casefold() for fact in facts}
        lines += format_gone([present[uid] for uid in invalid if uid in present], replaced, len(invalid))
    reasons = started.reasons and started.reasons.limited_to(facts)
    return Giving("resume", facts, tuple(lines), tuple(invalid), reasons, len(ranked) - len(packed))


def format_gone(former: list[Fact], replaced: Collection[str], count: int) -> list[str]:
    """Return the lines that say which facts do not hold any more.

    What was purged, quarantined or undone is not named, but counted.

    :param former: those of them that are still in the store
    :param replaced: targets of which the session is told something new
    :param count: how many there are in all
    """
    named = [fact for fact in former if fact.tier is Tier.SUPERSEDED and fact.is_clean]
    lines = [f"~[{fact.target}]: superseded" for fact in named if fact.target.casefold() not in replaced]
    rest = count - len(named) + len(lines[MOST_GONE:])
    return [*lines[:MOST_GONE], f"({rest} given before no longer hold{'s' if rest == 1 else ''})"] if rest else lines


def find_session_facts(store: Store, theme: str, sessions: Collection[str], since: int) -> list[MarkedFact]:
    """Return the standing facts that these sessions wrote, in their theme or among the person's own, the newest first."""
    themes = {theme, PERSONAL} & {readable.name for readable in store.place_themes.readable(theme)}
    written = [uid for name in themes for uid in store.host_sessions.facts_written(name, sessions, since)]
    facts = sorted(store.facts.by_uids(written).values(), key=lambda fact: -fact.updated_at)
    return mark_facts(store, facts)
