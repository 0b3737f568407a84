"""How much of what answers a question comes back within 180 tokens, on LoCoMo, through the store's own search.

    python -m tests.benchmarks.recall locomo.json

The file is one of LoCoMo (Maharana et al., 2024; CC BY-NC 4.0): measured with, never copied. *Facts* are its one-line
observations, written in the order of the conversation as an agent would; *turns* the dialogue lines. A question asks
`store.search.find`; the results are read in order until their cost, `len(text) / 4 + 2` tokens each, would pass 180.
`recall@180tok` is the share of the question's evidence among them, over the questions of categories 1 to 4. Plain FTS5
(porter, stop words, bm25) on the same texts in the same run is the floor.
"""

from __future__ import annotations

import argparse
import json
import re
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hermes_memory_store.asked import STOP_WORDS
from hermes_memory_store.model import Actor, FactType, Millis, Notation
from hermes_memory_store.store import Store
from hermes_memory_themes import Policies

BUDGET = 180
POLICY = '[defaults]\nhot_chars = 1000000\nfact_chars = 4000\nquarantine = false\nsecrets = "allow"\n'
"""Everything stays hot and whole: what is measured is the search."""


@dataclass(frozen=True, slots=True)
class Text:
    """One line that may answer."""

    speaker: str
    text: str
    evidence: frozenset[str]
    session: int


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    evidence: frozenset[str]
    category: int


@dataclass(frozen=True, slots=True)
class Conversation:
    name: str
    texts: list[Text]
    questions: list[Question]
    dates: dict[int, int]
    """When each session was held, UTC milliseconds."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("file", type=Path, help="a LoCoMo file")
    options.add_argument("--by-category", action="store_true")
    given = options.parse_args()
    samples = json.loads(given.file.read_text(encoding="utf-8"))
    print(f"{'':8} {'plain FTS5':>12} {'ours':>12} {'p50 ms':>8} {'p95 ms':>8}")
    for kind, read in (("facts", observations), ("turns", turns)):
        floor, ours, times = [], [], []
        by_category: dict[int, list[float]] = {}
        for sample in samples:
            talk = Conversation(sample["sample_id"], read(sample), list(questions(sample)), dates(sample))
            floor += list(plain_fts5(talk))
            for question, share, millis in measured(talk):
                ours.append(share)
                times.append(millis)
                by_category.setdefault(question.category, []).append(share)
        p95 = statistics.quantiles(times, n=20)[-1]
        row = (statistics.mean(floor), statistics.mean(ours), statistics.median(times), p95)
        print(f"{kind:8} {row[0]:12.4f} {row[1]:12.4f} {row[2]:8.2f} {row[3]:8.2f}")
        if given.by_category:
            print("  " + "  ".join(f"{key}: {statistics.mean(some):.3f}" for key, some in sorted(by_category.items())))


def measured(talk: Conversation) -> Iterator[tuple[Question, float, float]]:
    """Each question with the share of its evidence that came back, and the milliseconds it took."""
    with tempfile.TemporaryDirectory() as folder:
        policies = Path(folder) / "memory-themes.toml"
        policies.write_text(POLICY, encoding="utf-8")
        now = min(talk.dates.values())
        with Store.open(
            Path(folder) / "memory.db", clock=lambda: Millis(now), policies=Policies.load(policies)
        ) as store:
            by_key: dict[tuple[str, str], Text] = {}
            for number, text in enumerate(talk.texts):
                now = talk.dates[text.session]
                said = Notation(FactType.VALUE, f"{text.speaker}.{number}", text.text)
                scope = f"session {text.session}"
                store.facts.write("default", said, scope=scope, actor=Actor("session", text.speaker))
                by_key[scope, said.target] = text
            for question in talk.questions:
                start = time.perf_counter()
                found = store.search.find("default", question.text, limit=30)
                millis = (time.perf_counter() - start) * 1000
                yield question, covered(question, (by_key[str(f.scope), f.target] for f in found.facts)), millis


def covered(question: Question, results: Iterable[Text]) -> float:
    """Share of the evidence among the results that fit the budget."""
    spent, got = 0.0, set[str]()
    for text in results:
        spent += len(text.text) / 4 + 2
        if spent > BUDGET:
            break
        got |= text.evidence & question.evidence
    return len(got) / len(question.evidence)


def plain_fts5(talk: Conversation) -> Iterator[float]:
    """The floor: any word that is not a stop word, ranked by bm25."""
    conn = sqlite3.connect(":memory:")
    conn.execute("CREATE VIRTUAL TABLE texts USING fts5 (text, tokenize = 'porter unicode61')")
    conn.executemany("INSERT INTO texts (rowid, text) VALUES (?, ?)", [(i, t.text) for i, t in enumerate(talk.texts)])
    stops = set(STOP_WORDS.split())
    for question in talk.questions:
        words = [word for word in re.findall(r"\w+", question.text) if word.lower() not in stops]
        expression = " OR ".join(f'"{word}"' for word in words)
        rows = conn.execute("SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY bm25(texts) LIMIT 50", (expression,))
        yield covered(question, (talk.texts[key] for (key,) in rows))
    conn.close()


def sessions(sample: dict[str, Any]) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    number = 1
    while f"session_{number}" in sample["conversation"]:
        yield number, sample["conversation"][f"session_{number}"]
        number += 1


def turns(sample: dict[str, Any]) -> list[Text]:
    return [
        Text(turn["speaker"], turn["text"], frozenset({turn["dia_id"]}), number)
        for number, said in sessions(sample)
        for turn in said
    ]


def observations(sample: dict[str, Any]) -> list[Text]:
    """The observations in the order in which what they rest on was said."""
    found = []
    for name, by_speaker in sample["observation"].items():
        number = int(re.findall(r"\d+", name)[0])
        for speaker, lines in by_speaker.items():
            for text, evidence in lines:
                said = frozenset(re.findall(r"D\d+:\d+", str(evidence)))
                found.append((number, min(int(one.split(":")[1]) for one in said), Text(speaker, text, said, number)))
    return [text for *_, text in sorted(found, key=lambda one: one[:2])]


def questions(sample: dict[str, Any]) -> Iterator[Question]:
    for one in sample["qa"]:
        evidence = frozenset(re.findall(r"D\d+:\d+", " ".join(one["evidence"])))
        if one["category"] in (1, 2, 3, 4) and evidence:
            yield Question(one["question"], evidence, one["category"])


def dates(sample: dict[str, Any]) -> dict[int, int]:
    """`1:56 pm on 8 May, 2023` as UTC milliseconds, per session."""
    found = {}
    for number, _ in sessions(sample):
        text = sample["conversation"][f"session_{number}_date_time"]
        moment = datetime.strptime(text, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        found[number] = int(moment.timestamp() * 1000)
    return found


if __name__ == "__main__":
    main()
