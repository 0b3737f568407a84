"""A conversation in a store of its own: its turns captured, what was noted of it written as facts, as an agent would."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from hermes_memory_store.context.given import GivenItem, MakeNearest
from hermes_memory_store.memory_tests.evidence_curve import AnswerShares, ShareAt, measure_shares
from hermes_memory_store.model import FactType, Millis, Notation, Origin, Uid, Way
from hermes_memory_store.store import Store
from hermes_memory_themes import Policies
from tests.benchmarks.conversation_file import Conversation, EvidenceQuestion, NotedFact

THEME = "default"

POLICY = '[defaults]\nhot_chars = 1000000\nfact_chars = 4000\nquarantine = false\nsecrets = "allow"\n'
"""Everything stays hot and whole: what is measured is the recall."""

MOST_LATER = 2
"""Turns between the last one that a fact rests on and its writing, at most, where the store finds its links: 0, 1, 2, 0 …"""


@dataclass(frozen=True, slots=True)
class ConversationStore:
    """A store that holds one conversation."""

    store: Store
    evidence: dict[Uid, frozenset[str]]
    """Ids of turns by the uid of the turn, or of the fact that rests on them."""

    def to_question(
        self, question: EvidenceQuestion, kinds: tuple[str, ...], make_nearest: MakeNearest | None = None
    ) -> ShareAt:
        """Return a question to this store. :param make_nearest: finds by meaning; None for words alone"""

        def share_at(budget: int) -> tuple[AnswerShares, int]:
            nearest = None if make_nearest is None else make_nearest(question.text)
            given = self.store.recall.give([THEME], question.text, budget, kinds=kinds, nearest=nearest)

            def find_evidence(item: GivenItem) -> frozenset[str]:
                return self.evidence[item.uid] & question.evidence

            most = len(question.evidence)
            return measure_shares(given.items, question.text, question.answer, find_evidence, most), given.tokens

        return share_at


@contextmanager
def open_conversation_store(
    conversation: Conversation, *, facts: bool = True, turns: bool = True, are_links_named: bool = True
) -> Iterator[ConversationStore]:
    """Yield a conversation in a temporary store.

    :param facts: turns: whether it holds them
    :param are_links_named: the file says which turns a fact rests on; else the store finds them, from those just before
    """
    with tempfile.TemporaryDirectory() as folder:
        policies = Path(folder) / "memory-themes.toml"
        policies.write_text(POLICY, encoding="utf-8")
        now = [conversation.turns[0].at if conversation.turns else Millis(0)]
        with Store.open(Path(folder) / "memory.db", clock=lambda: now[0], policies=Policies.load(policies)) as store:
            yield ConversationStore(store, write_conversation(store, conversation, now, facts, turns, are_links_named))


def write_conversation(
    store: Store, conversation: Conversation, now: list[Millis], facts: bool, turns: bool, are_links_named: bool
) -> dict[Uid, frozenset[str]]:
    """Write a conversation as it went; return what each uid stands for. :param now: the store's clock"""
    session = store.sessions.open(THEME, "conversation")
    evidence: dict[Uid, frozenset[str]] = {}
    uids: dict[str, Uid] = {}
    waiting = place_facts(conversation, 0 if are_links_named else MOST_LATER) if facts else {}
    number = 0
    for place, said in enumerate(conversation.turns):
        now[0] = said.at
        if turns:
            turn = store.turns.add(THEME, "user", f"{said.speaker}: {said.text}", session=session, at=said.at)
            evidence[turn.uid], uids[said.id] = frozenset({said.id}), turn.uid
        for noted in waiting.get(place, ()):
            number += 1
            origin = Origin(Way.LIBRARY)
            if are_links_named:
                origin = replace(origin, turns=tuple(uids[one] for one in sorted(noted.turns) if one in uids))
            line = Notation(FactType.VALUE, f"{noted.speaker}.{number}", noted.text)
            scope = f"session {noted.session}"
            written = store.facts.write(THEME, line, scope=scope, session=session, origin=origin)
            evidence[written.fact.uid] = noted.turns
    return evidence


def place_facts(conversation: Conversation, most_later: int) -> dict[int, list[NotedFact]]:
    """Return what is noted after each turn, by the turn's place. :param most_later: see `MOST_LATER`"""
    places = {turn.id: place for place, turn in enumerate(conversation.turns)}
    last = len(conversation.turns) - 1
    found: dict[int, list[NotedFact]] = {}
    for number, noted in enumerate(conversation.facts):
        rests_on = max((places[turn] for turn in noted.turns if turn in places), default=last)
        found.setdefault(min(last, rests_on + number % (most_later + 1)), []).append(noted)
    return found
