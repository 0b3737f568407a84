"""`recall`, `turns` and `why`: what is found for a question, what was captured, and what an agent's words came from."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_memory_store.context.given import GivenItem
from hermes_memory_store.memory_tests.evidence_curve import AnswerShares, CurvePoint, RecallCurve, measure_shares
from hermes_memory_store.model import FactType, Notation
from hermes_memory_store.store import Store
from tests.tui.commands.conftest import Ask, Tell
from tests.tui.commands.test_manual import section


def test_ones_own_tests_are_a_curve_too(db: Path, home: Path, ask: Ask, tell: Tell) -> None:
    with Store.open(db) as store:
        for number in range(20):
            store.facts.write(
                "default", Notation(FactType.VALUE, f"port.{number}", f"the service listens on port {8000 + number}")
            )
    path = home / "memory-tests.toml"
    wanted = ", ".join(f'"V[port.{number}]"' for number in range(20))
    path.write_text(
        f'[[test]]\nname = "ports"\nask = "on which port does a service listen"\ngiven = [{wanted}]\n', encoding="utf-8"
    )
    document = tell("recall", "curve", str(path), "--words", "--budget", "90", "--budget", "2048")
    small, large = document["points"]
    assert 0 < small["answer_words"] < large["answer_words"] == large["told"] == 1.0
    assert document["questions"] == 1
    lines = ask("recall", "curve", str(path), "--words", "--budget", "2048").out.splitlines()
    assert [line.split()[0] for line in lines] == ["tokens", "2,048", "area"]
    assert "100.0%" in lines[1]


def test_the_area_is_one_where_everything_is_given() -> None:
    full_shares = AnswerShares(1.0, 1.0, 1.0, 1.0)
    full = RecallCurve("all", tuple(CurvePoint(budget, full_shares, 10, 1, 2) for budget in (90, 180, 500)), 3)
    half = RecallCurve("half", (CurvePoint(90, AnswerShares(), 10, 1, 2), CurvePoint(180, full_shares, 10, 1, 2)), 3)
    assert full.area == pytest.approx(1.0)
    assert half.area == pytest.approx(0.5)


def test_a_sentence_that_repeats_the_question_tells_its_message_and_answers_little(db: Path) -> None:
    with Store.open(db) as store:
        turn = store.turns.add("default", "user", "Ann: We moved the backups to Lisbon. They run at noon.")

    def shares(line: str) -> AnswerShares:
        item = GivenItem(line, 20, 1.0, turn=turn)
        return measure_shares([item], "where are the backups", "in Lisbon, at noon", lambda _: ["turn"], 2)

    whole = shares("Ann, 8 May: We moved the backups to Lisbon. They run at noon.")
    assert whole == AnswerShares(1.0, 1.0, 0.5, 0.5)
    part = shares("Ann, 8 May: We moved the backups to Lisbon.")
    assert (part.answer_words, part.all_words, part.told) == (0.5, 0.0, whole.told)
    assert part.evidence == pytest.approx(
        0.5 * len("We moved the backups to Lisbon.") / len("We moved the backups to Lisbon. They run at noon.")
    )


@pytest.fixture
def captured(tell: Tell, db: Path) -> None:
    tell("write", "D[a]: b")
    with Store.open(db) as store:
        session = store.sessions.open("default", "one")
        store.turns.add("default", "user", "deploy on Friday", session=session, at=1_000)
        store.turns.add("default", "assistant", "noted:\nFriday it is")


@pytest.mark.usefixtures("captured")
def test_turns_are_erased_by_age_and_only_when_told(tell: Tell, ask: Ask) -> None:
    refused = ask("turns", "--purge")
    assert refused.code == 1
    assert "2 messages would be purged" in refused.err
    assert tell("turns", "--purge", "--older-than", "1d", "--yes") == {"purged": 1, "actions": 0, "unreached": []}
    assert [one["role"] for one in tell("turns")["turns"]] == ["assistant"]
    assert tell("turns", "--purge", "--yes") == {"purged": 1, "actions": 0, "unreached": []}
    assert tell("turns")["turns"] == []


@pytest.mark.usefixtures("captured")
def test_a_purge_by_words_is_refused(ask: Ask) -> None:
    assert "leave QUERY" in ask("turns", "Friday", "--purge", "--yes").err
    assert "--purge" in ask("turns", "--older-than", "1d").err


@pytest.fixture
def told(home: Path, db: Path) -> None:
    with Store.open(db) as store:
        store.facts.write("default", "V[cache.port]: redis listens on 6379")
        who = store.sessions.open("default", "worker", client="claude-code 2.0")
        store.context.status("default", session=who)
        store.reads.flush()
        store.turns.add("default", "assistant", "Sure: redis listens on 6379.", session=who)


@pytest.mark.usefixtures("told")
def test_words_of_a_captured_message_lead_to_the_fact_it_was_given(ask: Ask, tell: Tell) -> None:
    said = ask("why", "redis", "listens on 6379").out
    assert "Said by claude-code #1 at" in said
    assert "V[cache.port]: redis listens on 6379" in said

    document = tell("why", "redis listens on 6379 in kubernetes", "--session", "claude-code")
    assert document["session"] == "worker"
    assert document["unknown"] == ["kubernetes"]
    (source,) = document["sources"]
    assert source["given_at"] is not None
    assert source["fact"]["target"] == "cache.port"
    assert ask("undo", "--change", str(source["change"])).code == 0
    missing = [key for key in (*document, *source) if f"`{key}`" not in section("why")]
    assert not missing


@pytest.mark.usefixtures("told")
def test_what_nothing_explains_is_said(ask: Ask) -> None:
    assert "Nothing in this memory shares rare words with it." in ask("why", "zebra unicorn").out
    assert "nothing to explain" in ask("why", "  ").err
    assert ask("why", "redis", "--session", "nobody").code == 1
