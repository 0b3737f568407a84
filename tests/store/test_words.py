"""Words as search compares them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_memory_store.language.stemmer import stem_completions, stem_word
from hermes_memory_store.language.tokenizer import MAX_WORD, fold_accents, index_terms, to_index_text


@pytest.mark.parametrize(
    "family",
    [
        "deploy deploys deployed deploying deployment deployments",
        "authenticate authenticated authentication",
        "decide decides decided deciding",
        "family families",
        "hop hopped hopping",
        "relate related relational",
        "go going went gone",
        "buy buys bought",
    ],
)
def test_forms_of_a_word_share_their_stem(family: str) -> None:
    assert len({stem_word(word) for word in family.split()}) == 1


@pytest.mark.parametrize(("one", "other"), [("universe", "unicorn"), ("news", "newer"), ("sha256", "sha512")])
def test_other_words_do_not(one: str, other: str) -> None:
    assert stem_word(one) != stem_word(other)


def test_a_word_typed_into_its_ending_leads_to_the_whole_word() -> None:
    assert stem_word("deployment") in {stem_word(word) for word in stem_completions("deploymen")}
    assert stem_word("university") in {stem_word(word) for word in stem_completions("universi")}
    assert stem_word("went") in {stem_word(word) for word in stem_completions("wen")}


def test_case_and_accents_fold_away_in_every_way_to_write_them() -> None:
    assert fold_accents("DÉPLOIEMENT") == fold_accents("de\u0301ploiement") == "deploiement"
    assert fold_accents("Straße Æther œuvre Łódź") == "strasse aether oeuvre lodz"


def test_dotted_and_joined_names_fall_apart_into_words() -> None:
    assert index_terms("api.example_host-2") == [stem_word("api"), stem_word("example"), stem_word("host"), "2"]


def test_scripts_without_spaces_give_pairs_and_a_last_character() -> None:
    assert index_terms("日本語") == ["日本", "本語", "語"]
    assert index_terms("한국어 검색") == ["한국", "국어", "어", "검색", "색"]
    assert index_terms("AES暗号")[1:] == ["暗号", "号"]


def test_japanese_voicing_and_hangul_survive_folding() -> None:
    assert fold_accents("が") == "が"
    assert fold_accents("한") == "한"


def test_an_indic_word_stays_whole() -> None:
    assert index_terms("हिन्दी") == ["हिन्दी"]


def test_long_words_count_by_their_beginning() -> None:
    assert index_terms("a" * 10_000) == ["a" * MAX_WORD]


def test_nothing_unprintable_becomes_a_word() -> None:
    assert index_terms("a\x00b\ud800\ue000c") == ["a", "b", "c"]


@given(st.text())
def test_the_text_of_the_index_holds_exactly_the_terms(text: str) -> None:
    assert to_index_text(text).split(" ") == (index_terms(text) or [""])
