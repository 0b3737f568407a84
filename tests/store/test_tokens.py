"""The token estimate, against what cl100k really counts.

`token_corpus.json` holds (text, tokens): notation in four languages, code, paths, hosts, CJK, numbers; counted once with the
cl100k_base encoding of the npm package gpt-tokenizer. `token_kinds.json` holds, counted alike, what an estimate that knows
words alone gets wrong.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hermes_memory_store.notation.token_estimate import estimate_tokens

CORPUS: list[tuple[str, int]] = json.loads((Path(__file__).parent / "token_corpus.json").read_text())
KINDS: dict[str, list[tuple[str, int]]] = json.loads((Path(__file__).parent / "token_kinds.json").read_text())


def test_the_corpus_is_never_estimated_below_its_real_count_by_more_than_3_percent() -> None:
    assert len(CORPUS) >= 300
    assert sum(estimate_tokens(text) for text, _ in CORPUS) >= 0.97 * sum(real for _, real in CORPUS)


def test_hardly_any_line_is_estimated_below_its_real_count_by_more_than_3_percent() -> None:
    below = [text for text, real in CORPUS if estimate_tokens(text) < 0.97 * real - 1]
    assert len(below) <= 0.02 * len(CORPUS)


def test_the_estimate_is_not_wasteful() -> None:
    assert sum(estimate_tokens(text) for text, _ in CORPUS) <= 1.25 * sum(real for _, real in CORPUS)


def test_any_budget_of_facts_is_held_in_real_tokens() -> None:
    """Lines packed into 180 estimated tokens never cost more than 3 % above that."""
    spent = real_spent = 0
    for text, real in CORPUS:
        if spent + estimate_tokens(text) > 180:
            assert real_spent <= 1.03 * 180
            spent = real_spent = 0
        spent += estimate_tokens(text)
        real_spent += real


@pytest.mark.parametrize("kind", list(KINDS))
def test_no_kind_of_text_is_estimated_below_its_real_count_by_more_than_3_percent(kind: str) -> None:
    assert sum(estimate_tokens(text) for text, _ in KINDS[kind]) >= 0.97 * sum(real for _, real in KINDS[kind])
