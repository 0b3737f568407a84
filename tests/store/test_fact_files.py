"""A fact's file is read as it was written; whatever else stands in one is named, and never raises."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_memory_store.files.fact_files import (
    CommittedChange,
    CommittedFacts,
    FactFile,
    format_fact_file,
    is_asked_again,
    parse_fact_file,
    parse_fact_files,
    to_fact_path,
)
from hermes_memory_store.files.repository_facts import RepositoryFacts
from hermes_memory_store.model import PERSON, Fact, FactType, Millis, Notation, Tier, Uid
from hermes_memory_store.places.citations import Citation, cite_other, format_citations
from hermes_memory_store.places.project_sighting import read_project
from hermes_memory_store.store import Store
from tests.store.test_projects import make_repository

UID = Uid("01a22aa8-0199-7001-84bb-000000000001")
PATH = to_fact_path(UID)


def make_file(content: str, at: int = 0, target: str = "db.port") -> FactFile:
    notation = Notation(FactType.VALUE, target, content)
    return FactFile(PATH, UID, notation, None, None, None, (), CommittedChange("", at, "by Ana"), "main")


@given(st.text(st.characters(exclude_categories=("C", "Zl", "Zp")), min_size=1, max_size=80), st.booleans())
def test_file_is_read_as_it_was_written(content: str, is_cited: bool) -> None:
    content = " ".join(content.split()) or "x"
    cited = Citation("lines", "src/db port.py", 3, 4, "ab", "", (1, 2, 3))
    fact = as_fact(content, format_citations([cited, cite_other("commit", "abcdef12")] if is_cited else []))
    text = format_fact_file(fact, "ab" * 20)
    file, mistakes = parse_fact_file(PATH, text.encode())
    assert mistakes == []
    assert file is not None
    assert (file.notation.content, file.cites, file.scope, file.project) == (content, fact.cites, "schema", "ab" * 20)
    assert format_fact_file(replace(fact, content=file.notation.content, cites=file.cites), file.project) == text


def as_fact(content: str, cites: str | None) -> Fact:
    words = ("ops", "schema", FactType.VALUE, "db.port", content, Tier.HOT, False, 9, 9, PERSON, Millis(0), Millis(0))
    return Fact(1, UID, *words, cites=cites)


def test_no_command_and_no_message_is_written_or_read() -> None:
    fact = as_fact("5432", format_citations([cite_other("command", "make lint"), cite_other("turn", str(UID))]))
    assert "cites" not in format_fact_file(fact, None)
    file, mistakes = parse_fact_file(PATH, f'V[a]: b\ncites: {{"command":"rm -rf /"}}\nid: {UID}\n'.encode())
    assert file is not None
    assert file.cites is None
    assert len(mistakes) == 1


@given(st.binary(max_size=200))
def test_any_bytes_are_named_or_read(content: bytes) -> None:
    for text in (content, b"V[a]: b\nid: " + str(UID).encode() + b"\n" + content):
        file, mistakes = parse_fact_file(PATH, text)
        assert (file is None) <= bool(mistakes)


def test_secret_is_never_repeated() -> None:
    _, mistakes = parse_fact_file(PATH, b"V[key AKIAIOSFODNN7EXAMPLE wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY\n")
    assert [mistake.message for mistake in mistakes] == ["it holds a secret, and is no fact"]
    assert "AKIA" not in make_file("AKIAIOSFODNN7EXAMPLE").label


def test_facts_of_another_project_are_refused_by_name() -> None:
    text = f"V[a]: b\nid: {UID}\nproject: {'ab' * 20}\n".encode()
    files, mistakes = parse_fact_files({PATH: text}, {"ab" * 20})
    assert files == []
    assert str(UID) in mistakes[0].message


@pytest.mark.parametrize(
    ("content", "is_asked"),
    [
        ("5432", False),
        ("Redis streams behind the gateway", False),
        ("never on a Friday", True),
        ("tests must pass", True),
        ("agents may push to main", True),
        ("deploys need no approval", True),
        ("der Agent darf nach main pushen", True),
        ("siempre con revisión", True),
    ],
)
def test_order_or_permission_is_asked_again(content: str, is_asked: bool) -> None:
    assert is_asked_again(make_file(content)) is is_asked
    assert is_asked_again(replace(make_file(content), guards=("ask run git push*",)))


def test_later_change_wins_by_the_clock_of_a_team(store: Store, tmp_path: Path) -> None:
    exchange = RepositoryFacts(store, read_project(make_repository(tmp_path / "shop")))
    exchange.keep_answer(True)
    exchange.pull(exchange.plan_pull(CommittedFacts("main", [make_file("5432", store.clock() - 60_000)])))
    assert store.facts.get(UID).content == "5432"
    (row,) = store.sync.outbox.pending_rows(exchange.theme)
    assert row.uid == UID
    for age, count in ((60_000, 0), (-60_000, 1), (-9 * 86_400_000, 0)):
        plan = exchange.plan_pull(CommittedFacts("main", [make_file("5433", store.clock() - age)]))
        assert len(plan.changed) == count, age


def test_yes_lets_in_what_was_proposed_before(store: Store, tmp_path: Path) -> None:
    exchange = RepositoryFacts(store, read_project(make_repository(tmp_path / "shop")))
    committed = CommittedFacts("main", [make_file("5432", 1_000)])
    exchange.follow(committed)
    assert [(row.fact.uid, row.why) for row in store.facts.quarantine_queue()] == [(UID, "proposed")]
    assert exchange.plan_pull(committed).proposed == committed.files
    exchange.follow(committed)
    assert len(store.facts.quarantine_queue()) == 1
    exchange.keep_answer(False)
    exchange.follow(CommittedFacts("main", [make_file("5433", 2_000)]))
    assert store.facts.quarantine_queue()[0].fact.content == "5432"
    exchange.keep_answer(True)
    exchange.follow(committed)
    assert store.facts.get(UID).tier == "hot"
    store.facts.archive(UID)
    assert exchange.plan_pull(committed) == type(exchange.plan_pull(committed))(is_agreed=True), (
        "what is here stays as it is"
    )


def test_fact_of_another_theme_is_never_changed(store: Store, tmp_path: Path) -> None:
    fact = store.facts.write("mine", "V[db.port]: 1").fact
    exchange = RepositoryFacts(store, read_project(make_repository(tmp_path / "shop")))
    file = replace(make_file("2", store.clock()), uid=fact.uid, path=to_fact_path(fact.uid))
    plan = exchange.pull(
        exchange.plan_pull(CommittedFacts("main", [file], removed={fact.uid: file.change}), agreed=True)
    )
    assert "of theme mine here" in plan.mistakes[0].message
    assert store.facts.get(fact.uid).content == "1"


def test_fact_of_the_persons_own_is_replaced_after_a_question_only(store: Store, tmp_path: Path) -> None:
    exchange = RepositoryFacts(store, read_project(make_repository(tmp_path / "shop")))
    exchange.keep_answer(True)
    own = store.facts.write(exchange.theme, "V[db.port]: 1").fact
    committed = CommittedFacts("main", [make_file("2", store.clock() + 1_000)])
    exchange.follow(committed)
    assert store.facts.get(own.uid).tier == "hot"
    assert store.facts.get(UID).tier == "quarantined"
    exchange.pull(exchange.plan_pull(committed, agreed=True))
    assert (store.facts.get(own.uid).tier, store.facts.get(UID).tier) == ("superseded", "hot")
    assert exchange.plan_pull(CommittedFacts("main", [replace(committed.files[0], uid=Uid(UID[:-1] + "7"))])).new == []
    # What the repository itself replaces, under another id, is no question.
    other = replace(make_file("3", store.clock() + 2_000), uid=Uid(UID[:-1] + "2"))
    exchange.follow(CommittedFacts("main", [other], removed={UID: CommittedChange("", store.clock() + 2_000)}))
    assert (store.facts.get(other.uid).tier, store.facts.by_uids([UID])[UID].tier) == ("hot", "withdrawn")
