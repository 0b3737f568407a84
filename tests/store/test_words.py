"""Words as search compares them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_memory_store.stems import completions, stem
from hermes_memory_store.words import MAX_WORD, fold, indexed, indexed_text


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
    assert len({stem(word) for word in family.split()}) == 1


@pytest.mark.parametrize(("one", "other"), [("universe", "unicorn"), ("news", "newer"), ("sha256", "sha512")])
def test_other_words_do_not(one: str, other: str) -> None:
    assert stem(one) != stem(other)


def test_a_word_typed_into_its_ending_leads_to_the_whole_word() -> None:
    assert stem("deployment") in {stem(word) for word in completions("deploymen")}
    assert stem("university") in {stem(word) for word in completions("universi")}
    assert stem("went") in {stem(word) for word in completions("wen")}


def test_case_and_accents_fold_away_in_every_way_to_write_them() -> None:
    assert fold("DÉPLOIEMENT") == fold("de\u0301ploiement") == "deploiement"
    assert fold("Straße Æther œuvre Łódź") == "strasse aether oeuvre lodz"


def test_dotted_and_joined_names_fall_apart_into_words() -> None:
    assert indexed("api.example_host-2") == [stem("api"), stem("example"), stem("host"), "2"]


def test_scripts_without_spaces_give_pairs_and_a_last_character() -> None:
    assert indexed("日本語") == ["日本", "本語", "語"]
    assert indexed("한국어 검색") == ["한국", "국어", "어", "검색", "색"]
    assert indexed("AES暗号")[1:] == ["暗号", "号"]


def test_japanese_voicing_and_hangul_survive_folding() -> None:
    assert fold("が") == "が"
    assert fold("한") == "한"


def test_an_indic_word_stays_whole() -> None:
    assert indexed("हिन्दी") == ["हिन्दी"]


def test_long_words_count_by_their_beginning() -> None:
    assert indexed("a" * 10_000) == ["a" * MAX_WORD]


def test_nothing_unprintable_becomes_a_word() -> None:
    assert indexed("a\x00b\ud800\ue000c") == ["a", "b", "c"]


@given(st.text())
def test_the_text_of_the_index_holds_exactly_the_terms(text: str) -> None:
    assert indexed_text(text).split(" ") == (indexed(text) or [""])
