"""The check that scores: orders of the closed list, claims, and a score, each verdict explained in words.

It is for single writes, beside the rules of `injection_check.py`, which every write passes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hermes_memory_store.intake.injection_check import find_suspicion, to_name_sentence
from hermes_memory_store.intake.injection_rules import explain_injection_rule
from hermes_memory_store.intake.scoring.claim_patterns import CLAIM_KINDS
from hermes_memory_store.intake.scoring.order_patterns import ORDER_KINDS
from hermes_memory_store.intake.scoring.orders import Order, find_orders_and_claims, is_carried_by
from hermes_memory_store.intake.scoring.scorer import compute_score, find_strongest_signals, load_weights
from hermes_memory_store.intake.scoring.text_features import find_features
from hermes_memory_store.intake.text_folding import find_readings
from hermes_memory_store.model import Suspicion

RECENT_FACTS = 6
"""Facts of a session that are read together with a new one: an attack in more pieces is seldom put together again."""

LONGEST_READ = 4_000
"""Characters of a content that are read, from each end: ten times the longest fact by default."""

SIGNAL_MEANINGS = {
    "you": "speaks to its reader",
    "agent": "speaks of agents",
    "authority": "claims an authority",
    "sanction": "claims that something is allowed",
    "may": "gives rights",
    "grant": "gives rights",
    "root": "gives the highest rights",
    "obey": "asks to be obeyed",
    "orders": "speaks of the reader's instructions",
    "disable": "switches something off",
    "check": "is about a check",
    "safety-down": "switches a check off",
    "no-approval": "does without an approval",
    "insecure": "makes something insecure",
    "send": "sends something",
    "reveal": "shows something",
    "sensitive": "is about private data",
    "secret-path": "is about files with secrets",
    "outside": "is about others outside",
    "webaddr": "names an address",
    "mailaddr": "names a mailbox",
    "pay": "is about money",
    "account-number": "names an account",
    "amount": "names an amount",
    "install": "installs something",
    "pipe-shell": "runs what it downloads",
    "tool": "is about a tool",
    "snake": "is about a tool",
    "alter": "alters something",
    "agent-file": "is about an agent's files",
    "hide": "hides something",
    "tell": "says what is told to whom",
    "when": "waits for a moment",
    "always": "is for always",
    "now": "is urgent",
    "persona": "says who the reader is",
    "prefer": "claims a wish",
    "quote-person": "speaks for the person",
    "speaker": "pretends to be a conversation",
    "markup": "pretends to be a message of the system",
    "this-note": "speaks of itself",
    "spread": "spreads something",
    "everywhere": "is for everywhere",
    "destroy": "deletes something",
    "promote": "advertises something",
    "code-word": "waits for a word",
    "claim-normal": "says that something is harmless",
    "untrue": "has something pretended",
    "open": "opens something",
}
"""What a signal says in a verdict."""

NUMBER = re.compile(r"[._-]?(?:\d+|[a-z])$")
"""What is left out where targets are compared: `part.1`, `k2`, `step.b`."""

SHORT_NAME = 2
"""Characters of a target that names nothing: `x`, `p1`."""

QUESTION = re.compile(
    r"(?i)\s*(why|what|when|where|which|who|how|is|are|does|do|did|should|can|could)\b[^.!?\n]*\?\s*$"
)
"""One sentence that asks: it may name a switched-off check, and orders nothing."""

SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|\n+")

WRAPPED_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|\n\s*\n|\n(?=\s*(?:[-*•]|\d+[.)])\s)")
"""A line break within a paragraph ends no sentence, but before an item of a list."""

GENERAL = re.compile(
    r"\b(all|any|every\w*|always|never|without|when\w*|before|after|from now|agents?|assistants?|you)\b"
)

FEWEST_SIGNALS = 2
"""Signals that a score must name: one alone is what a text is about. Costs 4 of 760 attacks of the corpus, and spares facts in
scripts that the corpus has few of."""

MOST_SIGNALS = 3
"""Signals that a verdict names."""


def find_scored_suspicion(
    target: str,
    content: str,
    *,
    person_turns: Sequence[str] = (),
    other_turns: Sequence[str] = (),
    recent_facts: Sequence[tuple[str, str]] = (),
) -> Suspicion | None:
    """Return why a single write must wait for the person; None for an ordinary fact, or one his own words carry.

    :param person_turns: what the person himself said in this session, as captured
    :param other_turns: what tools and pages said in it: what only they said waits at a lower score
    :param recent_facts: targets and contents this session wrote before, oldest first, for what it writes in pieces
    """
    content = content if len(content) <= 2 * LONGEST_READ else f"{content[:LONGEST_READ]} {content[-LONGEST_READ:]}"
    found = find_own_suspicion(target, content, person_turns, other_turns)
    if found is not None or not recent_facts:
        return found
    pieces = [piece for name, piece in recent_facts[-RECENT_FACTS:] if is_same_subject(name, target, content)]
    return find_joined_suspicion(target, content, pieces, person_turns) if pieces else None


def is_same_subject(earlier: str, target: str, content: str) -> bool:
    """Check whether a fact may go on with an earlier one: numbered like it, named within it, or hardly named at all."""
    stems = {NUMBER.sub("", name.casefold()) for name in (earlier, target)}
    return len(stems) == 1 or max(map(len, (earlier, target))) <= SHORT_NAME or earlier.casefold() in content.casefold()


def find_sentence_suspicion(text: str) -> Suspicion | None:
    """Return the first sentence's order or claim of a message: length is no evidence, so nothing is scored."""
    for sentence in dict.fromkeys([*SENTENCE_END.split(text), *WRAPPED_SENTENCE_END.split(text)]):
        if found := find_orders_and_claims(sentence):
            return to_order_suspicion(found)
    return None


def find_name_orders(name: str) -> list[Order]:
    """Return the orders and claims of a name. What switches one check off is often the work itself, unless it is general."""
    sentence = to_name_sentence(name)
    found = [*find_orders_and_claims(sentence), *find_orders_and_claims(name)] if sentence else []
    return [order for order in found if order.kind != "disable" or GENERAL.search(sentence.casefold())]


def find_own_suspicion(
    target: str, content: str, person_turns: Sequence[str], other_turns: Sequence[str] = ()
) -> Suspicion | None:
    """Return why one text must wait, without what was written before it."""
    orders = [*find_orders_and_claims(content), *find_name_orders(target)]
    waiting = [order for order in orders if not is_carried_by(person_turns, order)]
    if waiting:
        return to_order_suspicion(waiting)
    if orders or (person_turns and is_carried_by(person_turns, Order("", "", content.casefold()))):
        return None
    if QUESTION.match(content):
        return None
    weights = load_weights()
    quoted = bool(other_turns) and is_carried_by(other_turns, Order("", "", content.casefold()))
    threshold = weights.quoted_threshold if quoted else weights.threshold
    for reading in find_readings(content):
        features = find_features(target, reading)
        if compute_score(features, weights) >= threshold:
            names = find_strongest_signals(features, weights)
            said = dict.fromkeys(name for name in names if name in SIGNAL_MEANINGS)
            if len(said) >= FEWEST_SIGNALS:
                rule = f"score:{'+'.join([*said][:MOST_SIGNALS])}"
                return Suspicion(rule, explain_scored_rule(rule))
    return None


def find_joined_suspicion(
    target: str, content: str, pieces: Sequence[str], person_turns: Sequence[str]
) -> Suspicion | None:
    """Return why a text must wait together with what its session wrote before.

    Only what the new piece brings about counts: orders that the earlier ones give alone have been judged.
    """
    for gap in (" ", ""):
        text, before = gap.join([*pieces, content]), gap.join(pieces)
        ruled = find_suspicion(target, text)
        if ruled is not None and find_suspicion("", before) is None:
            return ruled
        joined = [order for order in find_orders_and_claims(text) if not is_carried_by(person_turns, order)]
        if joined:
            known = {order.kind for order in find_orders_and_claims(before)}
            joined = [order for order in joined if order.kind not in known]
        if joined:
            return to_order_suspicion(joined)
    return None


def to_order_suspicion(orders: Sequence[Order]) -> Suspicion:
    """Return the suspicion that names these orders."""
    rule = f"order:{'+'.join(order.kind for order in orders)}"
    return Suspicion(rule, explain_scored_rule(rule))


def explain_rule(rule: str) -> str:
    """Explain in words what a fact does that waits for a rule of either check."""
    return explain_scored_rule(rule) if rule.startswith(("order:", "score:")) else explain_injection_rule(rule)


def explain_scored_rule(rule: str) -> str:
    """Explain in words what a fact does that waits for this rule: `order:hide+pay`, `score:authority+send`."""
    how, _, names = rule.partition(":")
    meanings = SIGNAL_MEANINGS if how == "score" else {kind.name: kind.what for kind in (*ORDER_KINDS, *CLAIM_KINDS)}
    said = dict.fromkeys(meanings.get(name, name) for name in names.split("+") if name)
    return "; ".join(said) or "reads like known attacks"
