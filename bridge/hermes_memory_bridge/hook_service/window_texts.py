"""What stands before a session's model at the beginning of a window: at a start, after a compaction, and when it is resumed."""

from __future__ import annotations

from collections.abc import Collection

from hermes_memory_bridge.hook_service.giving import (
    Giving,
    is_for_sessions,
    line_tokens,
    mark_facts,
    pack_lines,
    to_giving,
)
from hermes_memory_store.hosts.host_sessions import HostSession
from hermes_memory_store.model import STANDING_TIERS, Fact, FactType, Tier, Uid
from hermes_memory_store.projects.branch_labels import MarkedFact
from hermes_memory_store.quick.hot_context import COUNT_TOKENS, format_left_out
from hermes_memory_store.store import Store
from hermes_memory_themes.theme_identity import PERSONAL

COMPACTION_SHARE = 3
"""A compaction may take so many times the budget of a start. What a session decided in hours of work is not in the start's
budget, is lost with the conversation, and comes back once a window: 540 tokens, which is a fiftieth of what the smallest
context holds that hosts compact. Codex shows 2,500 tokens whole, Claude Code some 2,500."""

MOST_GONE = 5
"""Facts that do not hold any more of which the target is told; more are counted."""

BINDING_TYPES = (FactType.CONSTRAINT, FactType.DECISION)
"""What a session decided comes back whole, before any other fact."""


def list_hot_facts(store: Store, theme: str) -> list[MarkedFact]:
    """Return the hot facts that a session of this theme may be given, those that matter most first."""
    return mark_facts(store, store.injection.ranked_facts(theme))


def make_start_giving(store: Store, theme: str) -> Giving:
    """Return what a session is given at its start, fence and all within the theme's budget."""
    return pack_giving("start", list_hot_facts(store, theme), store.policies.for_theme(theme).injection_tokens)


def make_compaction_giving(store: Store, theme: str, sessions: Collection[str], since: int) -> Giving:
    """Return what a session is given after a compaction: what it decided, and the hot facts.

    :param sessions: names of the sessions that its facts were written by
    :param since: when it began, UTC milliseconds
    """
    decided = find_session_facts(store, theme, sessions, since)
    known = {one.fact.uid for one in decided}
    hot = [one for one in list_hot_facts(store, theme) if one.fact.uid not in known]
    ranked = [
        *(one for one in decided if one.fact.type is FactType.CONSTRAINT),
        *(one for one in hot if one.fact.type is FactType.CONSTRAINT),
        *(one for one in decided if one.fact.type is FactType.DECISION),
        *(one for one in hot if one.fact.type is not FactType.CONSTRAINT),
        *(one for one in decided if one.fact.type not in BINDING_TYPES),
    ]
    budget = COMPACTION_SHARE * store.policies.for_theme(theme).injection_tokens
    return pack_giving("compaction", ranked, budget)


def make_resume_giving(store: Store, theme: str, known: HostSession) -> Giving:
    """Return what changed of what a session was given: new facts, changed ones, and those that do not hold any more."""
    given = store.host_sessions.given_facts(known)
    budget = store.policies.for_theme(theme).injection_tokens
    packed = make_start_giving(store, theme).facts
    now = {fact.uid: fact for fact in store.facts.by_uids(given).values()}
    standing = {uid for uid, fact in now.items() if fact.tier in STANDING_TIERS and is_for_sessions(fact)}
    hot = [now[uid] for uid in given if uid in standing and now[uid].tier is Tier.HOT]
    changed = [fact for fact in hot if fact.updated_at > given[fact.uid]]
    since = known.given_at or known.window_at
    fresh = [fact for fact in packed if fact.uid not in given and fact.updated_at >= since]
    gone: list[Uid] = [uid for uid in given if uid not in standing]
    told = pack_lines(mark_facts(store, [*changed, *fresh]), budget, reserve=COUNT_TOKENS)
    facts, lines = tuple(one.fact for one in told), [one.line for one in told]
    if gone:
        replaced = {fact.target.casefold() for fact in facts}
        lines += format_gone([now[uid] for uid in gone if uid in now], replaced, len(gone))
    return Giving("resume", facts, tuple(lines), tuple(gone))


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


def pack_giving(kind: str, ranked: list[MarkedFact], budget: int) -> Giving:
    """Return the facts that fit into a budget, and a line that counts the others."""
    told = pack_lines(ranked, budget)
    if len(told) == len(ranked):
        return to_giving(kind, told)
    told = pack_lines(ranked, budget, reserve=line_tokens(format_left_out(len(ranked))))
    given = to_giving(kind, told)
    return Giving(kind, given.facts, (*given.lines, format_left_out(len(ranked) - len(told))))
