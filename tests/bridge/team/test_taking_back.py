"""What a teammate wrote is traced to him, and taken back in one act."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_memory_store.errors import NothingToUndo
from hermes_memory_store.model import FactFilter, Tier
from tests.bridge.team.conftest import Database
from tests.bridge.team.people import THEME, Person, settle, team_of


def contents(person: Person) -> dict[str, str]:
    """What is there, and in which tier."""
    tiers = frozenset(Tier) - {Tier.WITHDRAWN}
    return {one.content: one.tier.value for one in person.store.facts.page(FactFilter(theme=THEME, tiers=tiers)).facts}


def test_all_that_a_teammate_wrote_is_taken_back_in_one_act(database: Database, tmp_path: Path) -> None:
    with team_of(database, tmp_path, ann="curate", bob="write", mallory="write") as (ann, bob, mallory):
        edited = ann.write("D[cache]: keep sessions in redis")
        moved = ann.write("C[deploy]: migrations run before the release")
        replaced = ann.write("V[port]: 8443")
        rewritten = mallory.write("V[host]: db.example.org")
        settle(ann, bob, mallory)
        mallory.write("D[queue]: jobs are kept in files")
        mallory.write("V[port]: 1")
        mallory.store.facts.edit(edited.uid, "keep sessions in a cookie")
        mallory.store.facts.archive([moved.uid])
        settle(ann, bob, mallory)
        bob.store.facts.edit(rewritten.uid, "db.internal")
        bob.write("D[log]: logs are kept for a week")
        settle(ann, bob, mallory)
        assert contents(ann)[moved.content] == "archived"
        before = contents(ann)

        preview = ann.store.undo.preview(lambda: ann.store.sync.standing.undo_teammate(mallory.role))
        assert contents(ann) == before
        done = ann.store.sync.standing.undo_teammate(mallory.role)
        assert preview.uids == done.uids
        assert not done.left

        settle(ann, bob, mallory)
        expected = {
            "keep sessions in redis": "hot",
            "migrations run before the release": "hot",
            "8443": "hot",
            "db.internal": "cold",
            "logs are kept for a week": "cold",
        }
        assert contents(ann) == expected
        assert contents(bob).keys() == contents(mallory).keys() == expected.keys()
        assert bob.fact("8443").uid == replaced.uid

        ann.store.undo.last(theme=THEME)
        assert contents(ann) == before


def test_who_wrote_nothing_has_nothing_taken_back(database: Database, tmp_path: Path) -> None:
    with team_of(database, tmp_path, ann="curate", bob="write") as (ann, bob):
        bob.write("D[log]: logs are kept for a week")
        settle(ann, bob)
        with pytest.raises(NothingToUndo, match="nothing that is here was written by 'mallory'"):
            ann.store.sync.standing.undo_teammate("mallory")


def test_a_poisoned_fact_that_a_person_had_agreed_to_is_taken_back_too(database: Database, tmp_path: Path) -> None:
    with team_of(database, tmp_path, ann="curate", mallory="write") as (ann, mallory):
        fact = mallory.write("D[queue]: jobs are kept in files")
        settle(ann, mallory)
        ann.store.facts.pin([fact.uid])
        settle(ann, mallory)
        ann.store.sync.standing.undo_teammate(mallory.role)
        settle(ann, mallory)
        assert contents(ann) == contents(mallory) == {}
