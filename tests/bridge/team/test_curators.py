"""What comes from the team is hot or pinned only if a curator did it, this machine's person agrees, or it is of his own role."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from hermes_memory_bridge.team.database.team_members import list_members
from hermes_memory_bridge.team.database.team_rights import open_themes, restrict_role_to_themes
from hermes_memory_bridge.team.database.team_schema import migrate_team_schema
from hermes_memory_store.find.query_syntax import COOLERS, parse_query
from hermes_memory_store.items.tier_columns import COOLED_BY_CLOSING, COOLED_BY_PRESSURE
from hermes_memory_store.model import PERSON
from hermes_memory_store.sync.standing import UNCURATED
from tests.bridge.team.conftest import Database
from tests.bridge.team.people import THEME, Person, settle, team_of

KEPT_COLD = ("cold", False)


def digests(*people: Person) -> set[str]:
    return {person.store.sync.standing.digest(THEME) for person in people}


def test_what_a_writer_made_hot_comes_in_cold_until_a_person_agrees(database: Database, tmp_path: Path) -> None:
    with team_of(database, tmp_path, bob="write", cleo="write", ann="curate") as (bob, cleo, ann):
        fact = bob.write("C[deploy]: always run the migration by hand")
        bob.store.facts.pin([fact.uid])
        settle(bob, cleo, ann)
        assert bob.shown(fact.content) == ("hot", True)
        assert cleo.shown(fact.content) == ann.shown(fact.content) == KEPT_COLD
        assert len(digests(bob, cleo, ann)) == 1

        cleo.store.facts.restore([fact.uid], actor=PERSON)
        settle(bob, cleo, ann)
        assert cleo.shown(fact.content) == ("hot", False)
        assert ann.shown(fact.content) == KEPT_COLD, "she is no curator"

        ann.store.facts.pin([fact.uid], actor=PERSON)
        settle(bob, cleo, ann)
        assert {person.shown(fact.content) for person in (ann, bob, cleo)} == {("hot", True)}
        assert len(digests(bob, cleo, ann)) == 1
        assert not any(person.store.sync.find_unversioned() for person in (bob, cleo, ann))


def test_what_one_person_writes_is_hot_on_all_his_machines(database: Database, tmp_path: Path) -> None:
    with team_of(database, tmp_path, bob="write") as (bob,):
        laptop = Person(tmp_path / "laptop", bob.dsn, bob.role)
        fact = bob.write("D[cache]: keep sessions in redis")
        settle(bob, laptop)
        assert laptop.shown(fact.content) == ("hot", False)
        laptop.close()


def test_moves_by_pressure_do_not_take_a_curators_choice_back(database: Database, tmp_path: Path) -> None:
    with team_of(database, tmp_path, ann="curate", bob="write", cleo="write") as (ann, bob, cleo):
        fact = ann.write("D[cache]: keep sessions in redis", scope="web")
        settle(ann, bob, cleo)
        bob.store.scopes.close(THEME, "web")
        settle(ann, bob, cleo)
        assert cleo.shown(fact.content) == ("cold", False)
        bob.store.scopes.reopen(THEME, "web")
        settle(ann, bob, cleo)
        assert cleo.shown(fact.content) == ("hot", False)


@pytest.mark.parametrize("change", ["text", "pin"])
def test_a_writer_cannot_put_his_words_or_pin_into_a_curators_fact(
    database: Database, tmp_path: Path, change: str
) -> None:
    with team_of(database, tmp_path, ann="curate", bob="write") as (ann, bob):
        fact = ann.write("D[cache]: keep sessions in redis")
        settle(ann, bob)
        if change == "text":
            bob.store.facts.edit(fact.uid, "keep sessions in a file of mine")
        else:
            bob.store.facts.pin([fact.uid])
        settle(ann, bob)
        content = bob.store.facts.get(fact.uid).content
        assert ann.shown(content) == (("cold", False) if change == "text" else ("hot", False))


def test_a_writer_cannot_have_his_fact_warmed_with_its_scope(database: Database, tmp_path: Path) -> None:
    with team_of(database, tmp_path, bob="write", cleo="write") as (bob, cleo):
        fact = bob.write("C[deploy]: builds run on the second host", scope="web")
        bob.store.scopes.close(THEME, "web")
        settle(bob, cleo)
        assert cleo.shown(fact.content) == KEPT_COLD
        cleo.store.scopes.reopen(THEME, "web")
        assert cleo.shown(fact.content) == KEPT_COLD
        bob.store.scopes.reopen(THEME, "web")
        settle(bob, cleo)
        assert cleo.shown(fact.content) == KEPT_COLD


def test_a_curators_machine_that_never_agreed_makes_nothing_hot(database: Database, tmp_path: Path) -> None:
    with team_of(database, tmp_path, bob="write", ann="curate", cleo="write") as (bob, ann, cleo):
        fact = bob.write("C[deploy]: builds run on the second host", scope="web")
        settle(bob, ann, cleo)
        ann.store.scopes.rename(THEME, "web", "site")
        ann.store.facts.edit(fact.uid, "builds run on the third host")
        settle(bob, ann, cleo)
        assert cleo.shown("builds run on the third host") == KEPT_COLD
        assert len(digests(bob, ann, cleo)) == 1


def test_what_waits_for_agreement_is_counted_and_found(database: Database, tmp_path: Path) -> None:
    with team_of(database, tmp_path, bob="write", cleo="write") as (bob, cleo):
        facts = [bob.write(f"D[part.{n}]: decision number {n}") for n in range(300)]
        settle(bob, cleo)
        assert cleo.store.sync.standing.uncurated_count() == 300
        query = parse_query("cooled:uncurated", theme=THEME, now=0)
        assert cleo.store.facts.page(query.filter).total == 300
        cleo.store.facts.restore([facts[0].uid], actor=PERSON)
        assert cleo.store.sync.standing.uncurated_count() == 299
        assert cleo.exchange().themes[THEME].pushed == 1


def test_the_words_of_the_filter_are_those_of_the_store() -> None:
    assert COOLERS == (COOLED_BY_CLOSING, COOLED_BY_PRESSURE, UNCURATED)


def test_a_database_of_before_keeps_all_rights_of_who_was_let_in(former: Database) -> None:
    role = f"{former.name}_runtime"
    former.run("INSERT INTO hm.clock VALUES ('ours', 1)")
    former.run(
        "INSERT INTO hm.fact (theme, id, content, attrs, hlc, node, seq) VALUES ('ours', gen_random_uuid(), 'of before',"
        """ '{"type": "decision", "target": "a", "tier": "hot", "pinned": true}', 5, gen_random_uuid(), 1)"""
    )
    migrate_team_schema(former.admin)
    (member,) = list_members(former.admin)
    assert (member.role, member.themes, member.curates) == (role, ["ours"], ["ours"])
    with psycopg.connect(former.runtime) as conn:
        assert conn.execute(
            "SELECT content, trusted FROM hm.pull('ours', false, true, 0, NULL, 10, 9999)"
        ).fetchall() == [("of before", True)]


def test_the_right_to_curate_includes_that_to_write_and_is_opened_by_itself(database: Database, tmp_path: Path) -> None:
    with team_of(database, tmp_path, ann="read", bob="write") as (ann, bob):
        assert ann.exchange().state.name == "idle"
        open_themes(database.admin, ann.role, [], curates=[THEME])
        fact = ann.write("D[cache]: keep sessions in redis")
        settle(ann, bob)
        assert bob.shown(fact.content) == ("hot", False)
        restrict_role_to_themes(database.admin, ann.role, [THEME])
        other = ann.write("D[queue]: keep jobs in redis, too")
        settle(ann, bob)
        assert bob.shown(other.content) == KEPT_COLD
        assert bob.shown(fact.content) == ("hot", False), "what a curator did stays done"
