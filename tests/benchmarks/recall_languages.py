"""How often the fact that answers a question comes back, in five languages of other scripts, beside plain trigram FTS5.

    python -m tests.benchmarks.recall_languages

The sets are `tests/recall_sets`: what a software team and a person would have an agent remember in that language, and questions
of the kind people ask agents. Numbers are chosen on the choosing half; the kept half, most of it daily life, judges. Facts are
asked for as `recall_memory` does without a model, turns as `recall_conversation` does. `trigram` is FTS5 with
`tokenize = 'trigram'`, asked for any trigram of the question and ranked by bm25.
"""

from __future__ import annotations

import sqlite3
import statistics
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hermes_memory_store.model import Actor, FactType, Notation
from hermes_memory_store.store import Store
from tests.benchmarks.timing import table
from tests.recall_sets import Half, SetQuestion, load_language_set

LANGUAGES = ("chinese", "japanese", "korean", "russian", "arabic")
TAKEN = 20

Ask = Callable[[str], list[str]]


@dataclass(frozen=True, slots=True)
class Score:
    """How one way did: shares of the questions, and the mean reciprocal rank."""

    at_1: float
    at_5: float
    mrr: float


@contextmanager
def ways_to_ask(facts: list[str]) -> Iterator[dict[str, Ask]]:
    """The same texts as facts, as turns and in plain trigram FTS5."""
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "memory.db") as store:
        for number, text in enumerate(facts):
            said = Notation(FactType.VALUE, f"note.{number}", text)
            store.facts.write("default", said, scope="team", actor=Actor("session", "benchmark"))
            store.turns.add("default", "user", text)

        def ask_facts(question: str) -> list[str]:
            return [fact.content for fact in store.search.find("default", question, limit=TAKEN, record=False).facts]

        def ask_turns(question: str) -> list[str]:
            return [hit.turn.content for hit in store.turns.search("default", question, limit=TAKEN)]

        yield {"trigram": trigram_fts5(facts), "facts": ask_facts, "turns": ask_turns}


def trigram_fts5(facts: list[str]) -> Ask:
    """Plain FTS5 of trigrams, asked for any of them."""
    conn = sqlite3.connect(":memory:")
    conn.execute("CREATE VIRTUAL TABLE texts USING fts5 (text, tokenize = 'trigram')")
    conn.executemany("INSERT INTO texts (rowid, text) VALUES (?, ?)", enumerate(facts))

    def ask(question: str) -> list[str]:
        trigrams = dict.fromkeys(question[at : at + 3] for at in range(len(question) - 2))
        expression = " OR ".join('"' + one.replace('"', '""') + '"' for one in trigrams)
        rows = conn.execute(
            "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY bm25(texts) LIMIT ?", (expression, TAKEN)
        )
        return [facts[key] for (key,) in rows]

    return ask


def score(ask: Ask, questions: Sequence[SetQuestion]) -> Score:
    """Ask every question in one way."""
    ranks = []
    for question in questions:
        found = ask(question.text)
        ranks.append(found.index(question.answer.line) + 1 if question.answer.line in found else 0)
    return Score(
        statistics.fmean(rank == 1 for rank in ranks),
        statistics.fmean(0 < rank <= 5 for rank in ranks),
        statistics.mean(1 / rank if rank else 0.0 for rank in ranks),
    )


def main() -> None:
    rows: list[tuple[object, ...]] = []
    for language in LANGUAGES:
        wanted = load_language_set(language)
        with ways_to_ask([fact.line for fact in wanted.facts]) as ways:
            for half in Half:
                for way, ask in ways.items():
                    one = score(ask, wanted.half(half))
                    rows.append((language, half, way, one.at_1, one.at_5, one.mrr))
    table(("language", "half", "way", "first", "first five", "reciprocal rank"), rows)


if __name__ == "__main__":
    main()
