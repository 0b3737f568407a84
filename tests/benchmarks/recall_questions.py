"""Whether the fact that answers a developer's question is given within a budget of tokens, beside others in the same run.

    pip install rank-bm25 hermes-memory==0.3.0     # each is left out where it is missing
    python -m tests.benchmarks.recall_questions [--model FOLDER] [--half kept] [--by category]

The set is `tests/recall_sets/developers`: one memory in four languages. `plain FTS5` is porter, any word, bm25; `rank-bm25`
BM25Okapi over lower-case words; `hermes-memory` its own search. All are packed alike: in their order, until the next fact does
not fit, each line in the fence.
"""

from __future__ import annotations

import argparse
import importlib
import re
import sqlite3
import statistics
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from hermes_memory_bridge.embedding.local_nearest import open_local_nearest
from hermes_memory_store.context.fence import HEAD, MARK
from hermes_memory_store.language.stop_words import stop_forms
from hermes_memory_store.model import PERSON
from hermes_memory_store.notation.token_count import count_tokens, find_counter
from hermes_memory_store.store import Store
from hermes_memory_themes import EmbeddingSettings, Policies
from tests.benchmarks.timing import table
from tests.recall_sets import Half, RecallSet, SetQuestion, load_developer_set

BUDGET = 180
THEME = "default"
POLICY = '[defaults]\nhot_chars = 1000000\nfact_chars = 4000\nquarantine = false\nsecrets = "allow"\n'

Ask = Callable[[str], list[str]]
"""Returns what is given for a question: lines that fit the budget."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--model", help="folder or name of a local model; without it words alone are measured")
    options.add_argument("--half", choices=[half.value for half in Half], help="one half of the questions alone")
    options.add_argument("--by", choices=("category", "language"), help="a column for each")
    options.add_argument("--missed", action="store_true", help="print what words miss")
    given = options.parse_args()
    wanted = load_developer_set()
    questions = wanted.questions if given.half is None else wanted.half(Half(given.half))
    groups = sorted({getattr(one, given.by) for one in questions}) if given.by else []
    rows: list[tuple[object, ...]] = []
    with open_ways(wanted, given.model) as ways:
        for name, ask in ways.items():
            met = []
            for one in questions:
                lines = ask(one.text)
                met.append(one.answer.line in lines)
                if given.missed and name == "words" and not met[-1]:
                    print(f"{one.category:14} {one.language:8} {one.text}  ->  {one.answer.line}")
            parts = [share_of(group, questions, met, given.by) for group in groups]
            rows.append((name, share(met), *parts))
    print(f"{len(questions)} questions, {len(wanted.facts)} facts, {BUDGET} tokens, counted by {find_counter().name}")
    table(("way", "given", *groups), rows)


def share(met: list[bool]) -> str:
    return f"{statistics.mean(met):.2f}" if met else "-"


def share_of(group: str, questions: tuple[SetQuestion, ...], met: list[bool], by: str) -> str:
    return share([hit for one, hit in zip(questions, met, strict=True) if getattr(one, by) == group])


@contextmanager
def open_ways(wanted: RecallSet, model: str | None) -> Iterator[dict[str, Ask]]:
    """Yield the same facts in each of the ways to ask them."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as opened:
        policies = Path(folder) / "memory-themes.toml"
        policies.write_text(POLICY, encoding="utf-8")
        store = opened.enter_context(Store.open(Path(folder) / "memory.db", policies=Policies.load(policies)))
        for fact in wanted.facts:
            store.facts.write(THEME, fact.line, scope=fact.scope, actor=PERSON)
        texts = [fact.line for fact in wanted.facts]
        ways: dict[str, Ask] = {"plain FTS5": lambda line: pack(plain(line))}
        plain = ask_fts5(texts)
        with suppress(ImportError):
            ranked = ask_rank_bm25(texts)
            ways["rank-bm25"] = lambda line: pack(ranked(line))
        with suppress(ImportError):
            other = ask_hermes_memory(Path(folder) / "other.db", wanted)
            ways["hermes-memory 0.3.0"] = lambda line: pack(other(line))
        ways["words"] = lambda line: [item.line for item in store.recall.give([THEME], line, BUDGET).items]
        if model is not None:
            near = open_local_nearest(store, EmbeddingSettings(provider="local", model=model), create=True)
            assert near is not None, f"{model} is not on this machine"
            opened.enter_context(near).fill()
            ways[near.ranked_by] = lambda line: [
                item.line for item in store.recall.give([THEME], line, BUDGET, nearest=near(line)).items
            ]
        yield ways


def pack(lines: list[str]) -> list[str]:
    """The first of some lines that fit the budget."""
    room, fitting = BUDGET - count_tokens(f"{HEAD}\n"), []
    for line in lines:
        room -= count_tokens(f"{MARK}{line}\n")
        if room < 0:
            break
        fitting.append(line)
    return fitting


def ask_fts5(texts: list[str]) -> Ask:
    conn = sqlite3.connect(":memory:")
    conn.execute("CREATE VIRTUAL TABLE texts USING fts5 (text, tokenize = 'porter unicode61')")
    conn.executemany("INSERT INTO texts (rowid, text) VALUES (?, ?)", enumerate(texts))
    stops = stop_forms()

    def ask(line: str) -> list[str]:
        words = [word for word in re.findall(r"\w+", line) if word.lower() not in stops]
        expression = " OR ".join(f'"{word}"' for word in words)
        sql = "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY bm25(texts) LIMIT 50"
        return [texts[key] for (key,) in conn.execute(sql, (expression,))] if words else []

    return ask


def ask_rank_bm25(texts: list[str]) -> Ask:
    index = importlib.import_module("rank_bm25").BM25Okapi([re.findall(r"\w+", text.lower()) for text in texts])

    def ask(line: str) -> list[str]:
        scores = index.get_scores(re.findall(r"\w+", line.lower()))
        best = sorted(range(len(texts)), key=lambda at: -scores[at])[:50]
        return [texts[at] for at in best if scores[at] > 0]

    return ask


def ask_hermes_memory(path: Path, wanted: RecallSet) -> Ask:
    facts = importlib.import_module("hermes_memory.core.facts")
    conn = importlib.import_module("hermes_memory.core.db").get_connection(path)
    for fact in wanted.facts:
        facts.write(conn, fact.line)
        conn.execute("UPDATE facts SET status = 'cold'")  # a full memory refuses to write, and search finds both

    def ask(line: str) -> list[str]:
        try:
            found = facts.search(conn, line, limit=20)
        except sqlite3.Error:  # its search takes what a question contains for syntax
            return []
        return [f"{one['type']}[{one['target']}]: {one['content']}" for one in found]

    return ask


if __name__ == "__main__":
    main()
