"""Tests that are proposed, and how they are written."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_memory_store.errors import CaseFileError
from hermes_memory_store.memory_tests.case_file import append_case, format_case, parse_cases, read_case_file
from hermes_memory_store.memory_tests.case_proposals import propose_cases
from hermes_memory_store.memory_tests.case_run import CaseRunner, CaseStatus
from hermes_memory_store.memory_tests.memory_case import CaseStart, MemoryCase, parse_expectation
from hermes_memory_store.model import Session
from hermes_memory_store.store import Store
from tests.examples import example_count
from tests.store.conftest import HandClock

THEME = "default"


@pytest.fixture
def session(store: Store, clock: HandClock) -> Session:
    store.facts.write(THEME, "D[auth.method]: session cookies", scope="login")
    store.facts.write(THEME, "V[db.port]: 5432", scope="schema")
    clock.forward(1000)
    return store.sessions.open(THEME, "agent")


def ask(store: Store, session: Session, clock: HandClock, question: str) -> None:
    """Ask as an agent does, so that the flight recorder holds it."""
    found = store.search.find(THEME, question, record=False)
    store.reads.note("search", THEME, found.facts, session=session, why=question)
    store.reads.flush()
    clock.forward(1000)


def propose(store: Store) -> dict[str, tuple[list[str], list[str], str]]:
    found = propose_cases(store, THEME)
    return {case.name: ([one.text for one in case.given], [one.text for one in case.never], why) for case, why in found}


def test_a_replacement_after_an_answer_makes_a_test(store: Store, session: Session, clock: HandClock) -> None:
    ask(store, session, clock, "auth method")
    store.facts.write(THEME, "D[auth.method]: SAML", scope="login", session=session)
    assert propose(store) == {
        "auth method": (
            ["D[auth.method]: SAML"],
            ["D[auth.method]: session cookies"],
            "replaced after it was given",
        )
    }


def test_an_edit_and_an_archiving_are_corrections_too(store: Store, session: Session, clock: HandClock) -> None:
    ask(store, session, clock, "auth method")
    ask(store, session, clock, "db port")
    fact, port = (store.search.find(THEME, words, record=False).facts[0] for words in ("cookies", "5432"))
    store.facts.edit(fact.uid, "tokens of an hour")
    store.facts.archive(port.uid)
    found = propose(store)
    assert found["auth method"][:2] == (["D[auth.method]: tokens of an hour"], ["D[auth.method]: session cookies"])
    assert found["db port"] == ([], ["V[db.port]: 5432"], "taken away after it was given")


def test_what_the_session_used_after_it_was_given_makes_a_test(
    store: Store, session: Session, clock: HandClock
) -> None:
    ask(store, session, clock, "db port")
    ask(store, session, clock, "auth method")
    port = store.search.find(THEME, "5432", record=False).facts[0]
    with store.db.write_transaction() as conn:
        conn.execute(
            "INSERT INTO fact_uses (fact_id, given, used, last_used_at) VALUES (?, 1, 1, ?)", (port.id, clock.now)
        )
    assert propose(store) == {"db port": (["V[db.port]: 5432"], [], "used after it was given")}


def test_pinned_facts_make_a_start_of_their_scope(store: Store, session: Session) -> None:
    fact = store.search.find(THEME, "cookies", record=False).facts[0]
    store.facts.pin(fact.uid)
    assert propose(store) == {
        "what is pinned is given at the start in login": (["D[auth.method]: session cookies"], [], "pinned")
    }


def test_what_the_file_holds_is_not_proposed_again(store: Store, session: Session, clock: HandClock) -> None:
    ask(store, session, clock, "auth method")
    store.facts.write(THEME, "D[auth.method]: SAML", scope="login", session=session)
    store.facts.pin(store.search.find(THEME, "5432", record=False).facts[0].uid)
    text = "".join(format_case(case, comment=reason) for case, reason in propose_cases(store, THEME))
    known = parse_cases(text)
    assert len(known) == 2
    assert propose_cases(store, THEME, known) == []
    assert all(one.status is CaseStatus.PASSED for one in CaseRunner(store).run_all(known))


TEXT = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=40).map(
    lambda text: f"a{text}".strip()
)


@settings(max_examples=example_count(100), deadline=None)
@given(
    TEXT,
    st.none() | TEXT,
    st.lists(TEXT, min_size=1, max_size=3, unique_by=str.casefold),
    st.none() | st.integers(20, 9000),
    st.none() | TEXT,
)
def test_what_is_written_reads_back(
    name: str, scope: str | None, wanted: list[str], tokens: int | None, why: str | None
) -> None:
    given_ = tuple(map(parse_expectation, wanted))
    start = CaseStart(scope=scope)
    case = MemoryCase(name, start=start, theme="shop", tokens=tokens, given=given_)
    (found,) = parse_cases(format_case(case, comment=why))
    assert (found.name, found.start, found.theme, found.tokens) == (name, start, "shop", tokens)
    assert [one.text for one in found.given] == wanted


def test_a_test_is_added_below_what_stands_there(tmp_path: Path) -> None:
    path = tmp_path / "memory-tests.toml"
    first = MemoryCase("a question", ask="a question", given=(parse_expectation("D[db.id]"),))
    append_case(path, first)
    path.write_text(path.read_text().rstrip() + "  # mine, without an end of line")
    append_case(path, MemoryCase("another", ask="a question", never=(parse_expectation("5432"),)), comment="by hand")
    assert "# mine, without an end of line\n" in path.read_text()
    assert [case.name for case in read_case_file(path).cases] == ["a question", "another"]


def test_nothing_is_added_to_a_file_with_mistakes_nor_a_name_twice(tmp_path: Path) -> None:
    path = tmp_path / "memory-tests.toml"
    case = MemoryCase("named", ask="a question", given=(parse_expectation("D[db.id]"),))
    append_case(path, case)
    before = path.read_text()
    with pytest.raises(CaseFileError, match="the name 'named'"):
        append_case(path, case)
    assert path.read_text() == before
    path.write_text("[[test]]\nask = 5\n")
    with pytest.raises(CaseFileError, match=":2: "):
        append_case(path, case)
    assert path.read_text() == "[[test]]\nask = 5\n"
