"""What a search knows beside the words themselves: synonyms of the field, translations of them, and typing errors."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_memory_store.find.query_terms import (
    EXACT,
    MAX_NEAR,
    add_synonyms,
    settle_near_terms,
    to_query_terms,
)
from hermes_memory_store.find.vocabulary import MAX_WALKED, Vocabulary
from hermes_memory_store.language import synonyms, typos
from hermes_memory_store.language.tokenizer import index_terms, is_unspaced
from hermes_memory_store.model import Actor
from hermes_memory_store.store import Store
from tests.tools.synonym_table import SOURCE, make_table

AGENT = Actor("session", "s-1")

FACTS = {
    "auth.method": "JWT with an expiry of 15 minutes",
    "db.main": "PostgreSQL 16 listens at 5433",
    "messaging": "RabbitMQ carries every event between services",
    "cluster": "k8s 1.29, three nodes at Hetzner",
    "design": "the Figma file is called Atlas",
    "hosting": "数据库放在法兰克福",
    "config.key": "max_conn is 250, set with setMaxConn in release v1234",
}


@pytest.fixture
def team(store: Store) -> Store:
    store.facts.write_many("default", [(f"V[{target}]: {text}", None) for target, text in FACTS.items()], actor=AGENT)
    return store


def targets(store: Store, line: str, theme: str = "default") -> list[str]:
    return [fact.target for fact in store.search.find(theme, line).facts]


@pytest.mark.parametrize(
    ("line", "target"),
    [
        ("what do we use for login?", "auth.method"),
        ("how do people sign in?", "auth.method"),
        ("which queue do we have?", "messaging"),
        ("how is kubernetes hosted?", "cluster"),
        ("wo liegt unsere Datenbank?", "db.main"),
        ("数据库在哪个城市？", "hosting"),
        ("where is the database?", "hosting"),
    ],
)
def test_a_question_finds_what_its_words_are_called_otherwise(team: Store, line: str, target: str) -> None:
    assert target in targets(team, line)


@pytest.mark.parametrize(
    ("line", "target"),
    [
        ("which postgress version do we run?", "db.main"),
        ("where is the kuberentes cluster", "cluster"),
        ("kuberentes", "cluster"),
        ("rabitmq", "messaging"),
        ("who carries the evnets of our servces?", "messaging"),
        ("how is the figam file called?", "design"),
        ("fgima file", "design"),
    ],
)
def test_a_typing_error_inside_a_word_finds_what_was_meant(team: Store, line: str, target: str) -> None:
    assert targets(team, line)[0] == target


@pytest.mark.parametrize("line", ["v1235", "setMaxConm", "conmm_mox", "54333", "figna.filex2"])
def test_identifiers_and_numbers_are_not_bent(team: Store, line: str) -> None:
    assert targets(team, line) == []


def test_a_look_up_whose_words_hit_is_answered_by_them_alone(team: Store) -> None:
    team.facts.write("default", "V[a]: the login page is blue", actor=AGENT)
    assert targets(team, "login") == ["a"]


def test_a_word_without_hits_is_looked_up_by_its_synonyms(team: Store) -> None:
    assert targets(team, "login") == ["auth.method"]
    assert team.search.find("default", "login").exact == 0


def test_the_answer_says_what_was_looked_for_instead(team: Store) -> None:
    assert team.search.find("default", "which postgress version do we run?").meant["postgress"][0] == "postgresql"
    assert "auth" in team.search.find("default", "login").meant["login"]
    assert team.search.find("default", "figma").meant == {}


def test_what_was_meant_in_one_theme_shows_in_no_other(team: Store) -> None:
    team.facts.write("other", "V[notes]: in markdown")
    meant = [team.search.find(theme, "which postgress do we run?").meant for theme in ("default", "other")]
    assert ["postgress" in words for words in meant] == [True, False]


def test_the_word_itself_ranks_before_its_synonyms(team: Store) -> None:
    team.facts.write("default", "V[first]: login is at the top of the page", actor=AGENT)
    team.facts.write("default", "V[second]: authentication is at the top of the page", actor=AGENT)
    found = targets(team, "where is the login?")
    assert found.index("first") < found.index("second")


def test_words_of_other_themes_are_no_corrections(team: Store) -> None:
    team.facts.write("other", "V[a]: nothing of that kind", actor=AGENT)
    assert targets(team, "kuberentes", "other") == []
    team.facts.write("other", "V[b]: kubernetis", actor=AGENT)
    assert targets(team, "kuberentes", "other") == ["b"]


def test_turns_are_found_by_synonyms_and_despite_typing_errors(team: Store) -> None:
    for text in ("We moved the cluster to Kubernetes", "RabbitMQ is down again", "die Einstellungen liegen im Vault"):
        team.turns.add("default", "user", text)

    def best(line: str) -> str:
        return team.turns.search("default", line)[0].turn.content

    assert best("when did we start to use k8s?") == "We moved the cluster to Kubernetes"
    assert best("what happened to our kuberentes thing?") == "We moved the cluster to Kubernetes"
    assert best("is the message queue running?") == "RabbitMQ is down again"
    assert best("wo liegt die Einstellung?") == "die Einstellungen liegen im Vault"


def test_turns_have_a_vocabulary_too(team: Store) -> None:
    team.turns.add("default", "user", "We moved to Kubernetes")
    found = Vocabulary(team.db, "turns_text", [(0, 1 << 62)])
    assert found.beginning_with("kub", 5) == ["kubernet"]
    assert found.among(["move", "kubernet", "absent"]) == ["move", "kubernet"]


def test_what_stands_for_a_word_is_bounded_and_in_scripts_that_the_index_has(team: Store) -> None:
    def near_terms(index: str) -> list[str]:
        look = to_query_terms(["where", "is", "the", "database?"], (), ())
        add_synonyms(look)
        (word,) = look.words
        settle_near_terms(look, [], Vocabulary(team.db, index, [(0, 1 << 62)]))
        return [terms[0] for terms in word.phrases] + [term for term, fit in word.terms.items() if fit < EXACT]

    assert 5 < len(near_terms("facts_text")) <= MAX_NEAR + 5
    assert any(map(is_unspaced, near_terms("facts_text")))
    assert not any(map(is_unspaced, near_terms("turns_text")))


def test_a_walk_through_a_vocabulary_is_bounded(store: Store) -> None:
    words = " ".join(f"abc{n:04d}" for n in range(2 * MAX_WALKED))
    for at in range(0, len(words), 4_000):
        store.turns.add("default", "user", words[at : at + 4_000])
    found = list(Vocabulary(store.db, "turns_text", [(0, 1 << 62)]).walk("abc"))
    assert len(found) == MAX_WALKED
    assert found == sorted(set(found))


def test_the_table_is_made_of_its_source() -> None:
    table = make_table(SOURCE.read_text(encoding="utf-8"))
    assert table == synonyms.FILE.read_text(encoding="utf-8"), "run python -m tests.tools.synonym_table"


def test_synonyms_hold_in_both_directions() -> None:
    for member in synonyms.load_groups():
        for other in synonyms.find_synonyms(tuple(member.split(" "))):
            assert " ".join(other) != member
            assert " ".join(other) in synonyms.load_groups()


@given(st.text(alphabet="abcde", min_size=5, max_size=9), st.text(alphabet="abcde", min_size=5, max_size=9))
def test_no_more_errors_are_counted_than_letters_differ(word: str, term: str) -> None:
    errors = typos.count_errors(word, term, 2)
    assert typos.count_errors(word, word, 2) == 0
    if errors == 0:
        assert word.startswith(term)
        assert word[len(term) :] in typos.ENDINGS
    assert min(3, len(term) - len(word)) <= errors


@given(st.text(alphabet="abcdefghij", min_size=5, max_size=12), st.data())
def test_one_error_in_a_word_is_corrected(word: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(typos.HEAD, len(word) - 2))
    kind = data.draw(st.sampled_from(["less", "more", "other", "swapped"]))
    letter = data.draw(st.sampled_from("abcdefghij"))
    wrong = {
        "less": word[:at] + word[at + 1 :],
        "more": word[:at] + letter + word[at:],
        "other": word[:at] + letter + word[at + 1 :],
        "swapped": word[:at] + word[at + 1] + word[at] + word[at + 2 :],
    }[kind]
    if not typos.is_correctable(wrong):
        return
    (term,) = index_terms(word)
    known = {term}
    found = typos.find_corrections(
        wrong,
        lambda start: [one for one in known if one.startswith(start)],
        lambda terms: [one for one in terms if one in known],
    )
    assert found == [term] or wrong == word


@pytest.mark.parametrize(
    "line",
    [
        "x" * 10_000_000,
        "数据库" * 100_000,
        "🙂",
        "🙂 kuberentes 数据库 база!",
        "a",
        "库",
        'NEAR("a" b) AND OR NOT *',
        "- - -",
        "ё" * 500,
    ],
)
def test_any_question_is_answered_in_bounded_work(team: Store, line: str) -> None:
    for text in (line, f"what about {line} here?"):
        assert len(team.search.find("default", text, limit=5).facts) <= 5
        assert len(team.turns.search("default", text, limit=5)) <= 5


@given(st.text(max_size=60))
def test_any_line_is_answered(text: str) -> None:
    list(synonyms.find_unspaced(unicodedata.normalize("NFC", text)))
    assert typos.is_correctable(text) in (True, False)
