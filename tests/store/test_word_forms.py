"""Other forms of a word in French, German, Spanish, Russian and Arabic: found without indexing anything anew."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_memory_store.language import word_forms
from hermes_memory_store.model import Actor
from hermes_memory_store.store import Store
from hermes_memory_themes import Policies
from hermes_memory_themes.policy import LANGUAGES
from hermes_memory_themes.theme_errors import PolicyError

AGENT = Actor("session", "s-1")

SAID = {
    "fr": ("les déploiements se font le mardi", "quand a lieu le déploiement ?"),
    "de": ("die Verschlüsselungen prüft Anna", "wer prüft die Verschlüsselung?"),
    "es": ("las migraciones se ejecutan de noche", "¿cuándo se ejecuta la migración?"),
    "ru": ("резервные копии серверов хранятся месяц", "сколько хранится копия сервера?"),
    "ar": ("تشغيل الخوادم في فرانكفورت", "أين يتم تشغيل خوادم الشركة؟"),
}


def found_by(store: Store, line: str) -> list[str]:
    return [fact.content for fact in store.search.find("default", line).facts]


def open_store(folder: Path, policy: str = "") -> Store:
    (folder / "memory-themes.toml").write_text(policy, encoding="utf-8")
    return Store.open(folder / "memory.db", policies=Policies.load(folder / "memory-themes.toml"))


@pytest.mark.parametrize("language", SAID)
def test_a_question_finds_other_forms_in_the_language_it_is_asked_in(tmp_path: Path, language: str) -> None:
    fact, question = SAID[language]
    with open_store(tmp_path) as store:
        store.facts.write("default", f"V[team.note]: {fact}", actor=AGENT)
        assert found_by(store, question) == [fact]


def test_an_arabic_noun_is_found_without_the_ending_of_its_object_case(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        store.facts.write("default", "V[limit]: الحد الأقصى مئة طلب", actor=AGENT)
        assert found_by(store, "كم طلبا مسموحا؟") == ["الحد الأقصى مئة طلب"]


def test_a_look_up_finds_other_forms_in_the_languages_of_the_theme(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        store.facts.write("default", "V[a]: die Häuser am Fluss", actor=AGENT)
        assert found_by(store, "Hauses Fluss 99") == found_by(store, "Fluss")
        assert store.search.find("default", "Hauses Fluss").exact == 0
    with open_store(tmp_path, '[defaults]\nlanguages = ["en", "de"]\n') as store:  # nothing is indexed anew for it
        assert store.search.find("default", "Hauses Fluss").exact == 1


def test_the_parts_of_a_german_compound_are_looked_for(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        store.facts.write("default", "V[register]: nur abwärtskompatible Änderungen am Schema", actor=AGENT)
        store.facts.write("default", "V[other]: die Halle hat acht Tore", actor=AGENT)
        found = found_by(store, "welche Schemaänderungen sind erlaubt?")
        assert found == ["nur abwärtskompatible Änderungen am Schema"]


def test_synonyms_are_found_in_all_their_forms_where_the_script_is_their_own(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        store.facts.write("default", "V[a]: за модуль оплаты отвечает Ольга", actor=AGENT)
        store.facts.write("default", "V[b]: اسم قطتنا مشمش", actor=AGENT)
        assert found_by(store, "кто занимается платежами?") == ["за модуль оплаты отвечает Ольга"]
        assert found_by(store, "ما اسم القطة؟") == ["اسم قطتنا مشمش"]


def test_a_question_says_no_in_its_own_language(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        store.facts.write("default", "V[frontend]: Angular, kein NgRx", actor=AGENT)
        assert found_by(store, "was benutzen wir nicht, und warum kein anderes?") == ["Angular, kein NgRx"]


@given(st.text(alphabet="abcdeäs", max_size=20))
def test_the_parts_of_a_compound_are_its_beginning_and_its_end(word: str) -> None:
    for first, last in word_forms.split_compound(word):
        assert word.startswith(first)
        assert word.endswith(last)
        assert 0 <= len(word) - len(first) - len(last) <= 1


def test_an_unknown_language_is_an_error_that_names_the_known_ones(tmp_path: Path) -> None:
    (tmp_path / "memory-themes.toml").write_text('[defaults]\nlanguages = ["en", "xx"]\n', encoding="utf-8")
    with pytest.raises(
        PolicyError, match=r"line 2: languages must be a list of en, fr, de, es, ru, ar, not \['en', 'xx'\]"
    ):
        Policies.load(tmp_path / "memory-themes.toml").for_theme("default")


def test_the_policy_and_the_word_forms_know_the_same_languages() -> None:
    assert set(LANGUAGES) == {"en", *word_forms.load_affixes("endings")}


@given(st.text(max_size=40), st.sampled_from([*word_forms.load_affixes("endings")]))
def test_a_root_begins_the_word_or_what_follows_its_prefix(word: str, language: str) -> None:
    root = word_forms.find_root(word, language)
    assert root is None or root in word
    assert isinstance(word_forms.detect_languages([word]), frozenset)
    assert word_forms.find_forms(word or "a", [language], lambda start: [start]) is not None


def test_forms_of_one_word_are_bounded() -> None:
    endings = sorted(word_forms.endings_of("ru"))
    assert len(endings) > word_forms.MAX_FORMS
    assert len(word_forms.find_forms("сервер", ["ru"], lambda start: [start + end for end in endings])) == 24
