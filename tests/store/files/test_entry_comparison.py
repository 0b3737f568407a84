"""Entries of hosts' files against facts: the same, the opposite, or nothing to do with each other."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from hermes_memory_store.find.fact_comparison import FactComparer, compare_entry
from hermes_memory_store.host_files.memory_entries import split_entries
from hermes_memory_store.model import Fact
from hermes_memory_store.store import Store

KEPT = Path(__file__).with_name("kept_cases.txt")

DOCS = Path(__file__).parents[3] / "docs"


class KeptRow(NamedTuple):
    """What an entry says of a fact: `o` the opposite, `s` the same, `-` neither."""

    expected: str
    notation: str
    entry: str
    heading: str
    half: str = ""

    def compare(self, fact: Fact) -> str:
        comparison = compare_entry(fact, self.entry, [self.heading] if self.heading else [])
        return comparison.outcome[:1] if comparison else "-"


def load_kept_rows() -> list[KeptRow]:
    lines = KEPT.read_text(encoding="utf-8").splitlines()
    return [KeptRow(*line.split("\t")) for line in lines if not line.startswith("#")]


@pytest.mark.parametrize("row", [row for row in load_kept_rows() if row.half == "first"])
def test_an_entry_says_the_same_as_a_fact_or_the_opposite(store: Store, row: KeptRow) -> None:
    assert row.compare(store.facts.write("ops", row.notation).fact) == row.expected


@pytest.mark.parametrize(("half", "least"), [("", 51), ("choosing", 25), ("judging", 14)])
def test_contradictions_in_the_words_of_real_files_are_told(half: str, least: int, store: Store) -> None:
    rows = [row for row in load_kept_rows() if row.half == half]
    outcomes = [
        (row.expected, row.compare(store.facts.write(f"t{n}", row.notation).fact)) for n, row in enumerate(rows)
    ]
    assert outcomes.count(("o", "o")) >= least
    assert {told for expected, told in outcomes if expected == "-"} <= {"-"}
    assert ("s", "o") not in outcomes
    assert half or outcomes.count(("s", "s")) == 8


def test_the_documents_of_this_project_contradict_few_facts_of_others(store: Store) -> None:
    rows = [row for row in load_kept_rows() if not row.half]
    facts = [store.facts.write(f"t{n}", row.notation).fact for n, row in enumerate(rows)]
    comparer = FactComparer(facts)
    texts = [path.read_text(encoding="utf-8") for path in sorted(DOCS.glob("*.md"))]
    entries = [entry for text in texts for entry in split_entries(text)]
    contradicting = [
        entry for entry in entries if any(c.outcome == "opposite" for c in comparer.compare(entry.text, entry.headings))
    ]
    assert len(entries) > 500
    assert len(contradicting) <= 0.05 * len(entries)
