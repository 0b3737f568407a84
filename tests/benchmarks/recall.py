"""How much of what answers a question comes back within 180 tokens, and among the first five, on LoCoMo.

    python -m tests.benchmarks.recall locomo.json

The file is one of LoCoMo (Maharana et al., 2024; CC BY-NC 4.0): measured with, never copied. *Facts* are its one-line
observations, written in the order of the conversation as an agent would, and asked for as `recall_memory` does; *turns* the
dialogue lines, captured as `Speaker: line`, and asked for as `recall_conversation` does. Of the results, read in order until
their cost, `len(text) / 4 + 2` tokens each, would pass 180, `@180tok` is the share of the question's evidence; `R@5` the share
among the first five. Questions are those of categories 1 to 4.

`in any` is the share that stands in any of the texts at all: no ranking finds more. What only one conversation gains by is luck,
so `--by-conversation` shows each.

Ways: `plain FTS5` (porter, stop words, bm25; the floor), `words` (recall without a model), `vectors` (the local model alone),
`fused` (recall with it). The last two need the extra `local` and the weights. The milliseconds of `fused` include the
question's own vector.
"""

from __future__ import annotations

import argparse
import re
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hermes_memory_bridge.embedding import local_model
from hermes_memory_bridge.embedding.local_nearest import LocalNearest
from hermes_memory_bridge.embedding.query_vector import QueryVector
from hermes_memory_bridge.recall.connection_recall import recall_facts, recall_turns
from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_store.find.vector_file import Vectors
from hermes_memory_store.language.stop_words import stop_forms
from hermes_memory_store.model import Actor, FactType, Millis, Notation
from hermes_memory_store.store import Store
from hermes_memory_store.uids import parse_uid
from hermes_memory_themes import EmbeddingSettings, Policies
from tests.benchmarks.conversation_file import Conversation, EvidenceQuestion, read_conversations

BUDGET = 180
FIRST = 5
TAKEN = 30
POLICY = '[defaults]\nhot_chars = 1000000\nfact_chars = 4000\nquarantine = false\nsecrets = "allow"\n'
"""Everything stays hot and whole: what is measured is the search."""


Question = EvidenceQuestion


@dataclass(frozen=True, slots=True)
class Text:
    """One line that may answer."""

    speaker: str
    text: str
    evidence: frozenset[str]
    session: int
    at: Millis
    """When its session was held."""


@dataclass(frozen=True, slots=True)
class Talk:
    """One conversation as texts of one kind."""

    name: str
    texts: list[Text]
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one way found for one question."""

    talk: str
    question: Question
    within: float
    first: float
    millis: float


Ask = Callable[[Question], list[Text]]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("file", type=Path, help="a LoCoMo file")
    options.add_argument("--by-category", action="store_true")
    options.add_argument("--by-conversation", action="store_true")
    options.add_argument("--model", help="folder of a local model, `none` to measure words alone")
    given = options.parse_args()
    conversations = read_conversations(given.file)
    model = (
        None
        if given.model == "none" or not (given.model or local_model.is_model_installed())
        else local_model.LocalModel.load(given.model)
    )
    print(f"{'':6} {'way':24} {'@180tok':>8} {'R@5':>8} {'p50 ms':>8} {'p95 ms':>8}")
    for kind in ("fact", "turn"):
        found: dict[str, list[Outcome]] = {}
        there: list[float] = []
        for talk in (to_talk(one, kind) for one in conversations):
            all_of_them = frozenset[str]().union(*(text.evidence for text in talk.texts))
            there += [len(question.evidence & all_of_them) / len(question.evidence) for question in talk.questions]
            with asked_of(kind, talk, model) as ways:
                for way, ask in ways.items():
                    found.setdefault(way, []).extend(outcome(ask, talk, question) for question in talk.questions)
        print(f"{kind + 's':6} {'in any':24} {statistics.mean(there):8.4f}")
        for way, some in found.items():
            said(kind, way, some)
            for category in sorted({one.question.category for one in some}) if given.by_category else ():
                part_said(f"category {category}", [one for one in some if one.question.category == category])
            for name in dict.fromkeys(one.talk for one in some) if given.by_conversation else ():
                part_said(name, [one for one in some if one.talk == name])


def said(kind: str, way: str, some: list[Outcome]) -> None:
    """One line of the table."""
    means = statistics.mean(one.within for one in some), statistics.mean(one.first for one in some)
    times = [one.millis for one in some]
    p50, p95 = statistics.median(times), statistics.quantiles(times, n=20)[-1]
    print(f"{kind + 's':6} {way:24} {means[0]:8.4f} {means[1]:8.4f} {p50:8.2f} {p95:8.2f}", flush=True)


def part_said(name: str, some: list[Outcome]) -> None:
    """One line below it."""
    means = statistics.mean(one.within for one in some), statistics.mean(one.first for one in some)
    print(f"{'':6}   {name:22} {means[0]:8.4f} {means[1]:8.4f}", flush=True)


def outcome(ask: Ask, talk: Talk, question: Question) -> Outcome:
    """Ask one question in one way."""
    start = time.perf_counter()
    results = ask(question)
    millis = (time.perf_counter() - start) * 1000
    first = frozenset[str]().union(*(text.evidence for text in results[:FIRST])) & question.evidence
    return Outcome(talk.name, question, covered(question, results), len(first) / len(question.evidence), millis)


@contextmanager
def asked_of(kind: str, talk: Talk, model: local_model.LocalModel | None) -> Iterator[dict[str, Ask]]:
    """A conversation in a store of its own, and the ways to ask it."""
    with tempfile.TemporaryDirectory() as folder:
        policies = Path(folder) / "memory-themes.toml"
        policies.write_text(POLICY, encoding="utf-8")
        now = [min(text.at for text in talk.texts)]
        db = Path(folder) / "memory.db"
        with Store.open(db, clock=lambda: Millis(now[0]), policies=Policies.load(policies)) as store:
            by_id: dict[int, Text] = {}
            for number, text in enumerate(talk.texts):
                now[0] = text.at
                if kind == "fact":
                    said = Notation(FactType.VALUE, f"{text.speaker}.{number}", text.text)
                    scope = f"session {text.session}"
                    wrote = store.facts.write("default", said, scope=scope, actor=Actor("session", text.speaker))
                    by_id[wrote.fact.id] = text
                else:
                    store.turns.add("default", "user", f"{text.speaker}: {text.text}", at=now[0])
                    by_id[int(store.db.value("SELECT max(id) FROM turns"))] = text
            plain = plain_fts5(talk)
            ways: dict[str, Ask] = {"plain FTS5": plain, "words": by_recall(kind, store, by_id, lambda _: None)}
            if model is not None:
                with LocalNearest(store, model, Vectors(db), EmbeddingSettings().floor) as near:
                    near.fill()
                    fused = by_recall(kind, store, by_id, lambda question: to_query_vector(model, near, question))
                    yield ways | {f"vectors, {model.name}": by_vectors(kind, by_id, near), "fused": fused}
            else:
                yield ways


def to_query_vector(model: local_model.LocalModel, near: LocalNearest, question: str) -> QueryVector | None:
    """A question's vector as a tool has it."""
    nearest = near(question)
    return None if nearest is None else QueryVector(model.name, lambda _store, *asked: nearest(*asked))


def by_vectors(kind: str, by_id: dict[int, Text], near: LocalNearest) -> Ask:
    """The nearest alone."""

    def ask(question: Question) -> list[Text]:
        nearest = near(question.text)
        return [] if nearest is None else [by_id[key] for key, _ in nearest(kind, "default", TAKEN, ())]

    return ask


def by_recall(kind: str, store: Store, by_id: dict[int, Text], asked: Callable[[str], QueryVector | None]) -> Ask:
    """As the tool does it."""
    uids = {one.uid: by_id[one.id] for one in store.embedding_inputs.page(kind, 0, 100_000)}
    connection = Connection(store, "default")

    def ask(question: Question) -> list[Text]:
        view = connection.with_store(store, asked(question.text))
        found = (recall_facts if kind == "fact" else recall_turns)(view, ["default"], question.text, TAKEN)
        return [uids[parse_uid(item.uid)] for item in found.items]

    return ask


def covered(question: Question, results: Iterable[Text]) -> float:
    """Share of the evidence among the results that fit the budget."""
    spent, got = 0.0, set[str]()
    for text in results:
        spent += len(text.text) / 4 + 2
        if spent > BUDGET:
            break
        got |= text.evidence & question.evidence
    return len(got) / len(question.evidence)


def plain_fts5(talk: Talk) -> Ask:
    """The floor: any word that is not a stop word, ranked by bm25."""
    conn = sqlite3.connect(":memory:")
    conn.execute("CREATE VIRTUAL TABLE texts USING fts5 (text, tokenize = 'porter unicode61')")
    conn.executemany("INSERT INTO texts (rowid, text) VALUES (?, ?)", [(i, t.text) for i, t in enumerate(talk.texts)])
    stops = stop_forms()

    def ask(question: Question) -> list[Text]:
        words = [word for word in re.findall(r"\w+", question.text) if word.lower() not in stops]
        expression = " OR ".join(f'"{word}"' for word in words)
        rows = conn.execute("SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY bm25(texts) LIMIT 50", (expression,))
        return [talk.texts[key] for (key,) in rows]

    return ask


def to_talk(conversation: Conversation, kind: str) -> Talk:
    """Return a conversation's facts, or its turns, as texts in the order in which they were said."""
    held: dict[int, Millis] = {}
    for turn in conversation.turns:
        held.setdefault(turn.session, turn.at)
    if kind == "fact":
        texts = [Text(one.speaker, one.text, one.turns, one.session, held[one.session]) for one in conversation.facts]
    else:
        texts = [
            Text(one.speaker, one.text, frozenset({one.id}), one.session, held[one.session])
            for one in conversation.turns
        ]
    return Talk(conversation.name, texts, conversation.questions)


if __name__ == "__main__":
    main()
