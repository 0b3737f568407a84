"""What agents captured, listed, found and erased from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_memory_store.store import Store
from tests.tui.commands.conftest import Ask, Tell


@pytest.fixture
def captured(tell: Tell, db: Path) -> None:
    tell("write", "D[a]: b")
    with Store.open(db) as store:
        session = store.sessions.open("default", "one")
        store.turns.add("default", "user", "deploy on Friday", session=session, at=1_000)
        store.turns.add("default", "assistant", "noted:\nFriday it is")


@pytest.mark.usefixtures("captured")
def test_turns_are_listed_and_found(tell: Tell) -> None:
    assert [one["content"] for one in tell("turns")["turns"]] == ["noted:\nFriday it is", "deploy on Friday"]
    (found,) = tell("turns", "deploying")["turns"]
    assert (found["role"], found["session"], found["score"]) == ("user", "one", 1.0)
    assert len(tell("turns", "--session", "one")["turns"]) == 1
    assert len(tell("turns", "--limit", "1")["turns"]) == 1


@pytest.mark.usefixtures("captured")
def test_turns_are_erased_by_age_and_only_when_told(tell: Tell, process: Ask) -> None:
    refused = process("turns", "--purge")
    assert refused.code == 1
    assert "2 messages would be purged" in refused.err
    assert tell("turns", "--purge", "--older-than", "1d", "--yes") == {"purged": 1, "unreached": []}
    assert [one["role"] for one in tell("turns")["turns"]] == ["assistant"]
    assert tell("turns", "--purge", "--yes") == {"purged": 1, "unreached": []}
    assert tell("turns")["turns"] == []


@pytest.mark.usefixtures("captured")
def test_a_purge_by_words_is_refused(process: Ask) -> None:
    assert "leave QUERY" in process("turns", "Friday", "--purge", "--yes").err
    assert "--purge" in process("turns", "--older-than", "1d").err
