"""Through a folder a team has one list of conflicts and names whose words they are, as through a database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_memory_bridge.team.folder import theme_exchange
from hermes_memory_store.model import PERSON, FactFilter, Tier
from tests.bridge.team.conftest import Database
from tests.bridge.team.folder.laptops import THEME, Laptop, Maker, settle, words_in
from tests.bridge.team.people import Person, team_of
from tests.bridge.team.people import settle as settle_people

NAMES = ("ann", "bob", "cleo")

Machine = Laptop | Person

Team = list[Machine]


@pytest.fixture(params=["database", "folder"])
def team(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Team]:
    """Return three machines around a carrier."""
    if request.param == "folder":
        make: Maker = request.getfixturevalue("make")
        yield [make(name=name) for name in NAMES]
        return
    database: Database = request.getfixturevalue("database")
    with team_of(database, tmp_path, ann="curate", bob="curate", cleo="curate") as people:
        yield [*people]


def exchange(*machines: Machine) -> None:
    """Exchange until nothing is left; some may stay away."""
    people = [one for one in machines if isinstance(one, Person)]
    settle_people(*people)
    settle(*(one for one in machines if isinstance(one, Laptop))) if len(people) < len(machines) else None


def name_of(machine: Machine) -> str:
    return machine.role if isinstance(machine, Person) else machine.name


def lost(machine: Machine) -> list[tuple[str | None, str | None]]:
    """What stands and what lost, of each conflict."""
    return sorted((one.mine.content, one.theirs.content) for one in machine.store.sync.standing.conflicts(THEME))


def write(machine: Machine, notation: str) -> str:
    return str(machine.store.facts.write(THEME, notation, actor=PERSON).fact.uid)


def edit(machine: Machine, uid: str, content: str) -> None:
    """Edit in a millisecond of its own: of two in the same, not the later but the machine of the greater name wins."""
    begin = machine.store.clock()
    while machine.store.clock() == begin:
        pass
    machine.store.facts.edit(uid, content)  # type: ignore[arg-type]


def authors(machine: Machine, uid: str) -> list[tuple[str, str]]:
    """Who changed a fact, oldest change first."""
    return [(one.actor.kind, one.actor.name) for one in machine.store.facts.history([uid])]  # type: ignore[list-item]


def contents(machine: Machine) -> dict[str, str]:
    """What is there, and in which tier."""
    tiers = frozenset(Tier) - {Tier.WITHDRAWN}
    page = machine.store.facts.page(FactFilter(theme=THEME, tiers=tiers))
    return {one.content: one.tier.value for one in page.facts}


def edit_at_once(*machines: Machine) -> str:
    """Two edit a fact without knowing of each other, and the first of them hears of the winner before he told of his."""
    uid = write(machines[0], "D[cache]: keep sessions in redis")
    exchange(*machines)
    edit(machines[0], uid, "keep sessions in memory")
    edit(machines[1], uid, "keep sessions in files")
    exchange(machines[1])
    return uid


def test_what_lost_before_it_was_told_is_listed_by_all(team: Team) -> None:
    ann, bob, cleo = team
    edit_at_once(ann, bob, cleo)
    exchange(ann, bob, cleo)
    assert lost(ann) == lost(bob) == lost(cleo)
    assert len(lost(cleo)) == 1
    assert set(lost(cleo)[0]) == {"keep sessions in memory", "keep sessions in files"}


@pytest.mark.parametrize("keep", ["mine", "theirs", "both"])
def test_a_decision_of_anybody_settles_it_for_all(team: Team, keep: str) -> None:
    ann, bob, cleo = team
    uid = edit_at_once(ann, bob, cleo)
    exchange(ann, bob, cleo)
    cleo.store.sync.standing.resolve(uid, keep, theme=THEME)  # type: ignore[arg-type]
    exchange(cleo, ann, bob)
    assert lost(ann) == lost(bob) == lost(cleo) == []
    exchange(ann, bob, cleo)
    assert lost(ann) == lost(bob) == lost(cleo) == []


def test_what_was_made_from_a_loser_stands_for_it(team: Team) -> None:
    ann, bob, cleo = team
    uid = edit_at_once(ann, bob, cleo)
    edit(bob, uid, "keep sessions in two files")
    edit(bob, uid, "keep sessions in three files")
    exchange(ann, bob, cleo)
    assert lost(ann) == lost(bob) == lost(cleo)
    assert len(lost(ann)) == 1


def test_two_who_say_the_same_are_one_conflict_and_are_settled_together(team: Team) -> None:
    ann, bob, cleo = team
    uid = write(ann, "D[cache]: keep sessions in redis")
    exchange(ann, bob, cleo)
    edit(ann, uid, "keep sessions in files")
    edit(bob, uid, "keep sessions in files")
    edit(cleo, uid, "keep sessions in memory")
    exchange(cleo, ann, bob)
    assert lost(ann) == lost(bob) == lost(cleo)
    assert len(lost(ann)) == 1
    bob.store.sync.standing.resolve(uid, "mine", theme=THEME)  # type: ignore[arg-type]
    exchange(cleo, ann, bob)
    exchange(ann, bob, cleo)
    assert lost(ann) == lost(bob) == lost(cleo) == []


def test_what_was_said_again_and_taken_back_before_it_was_told_is_listed_by_all_or_none(team: Team) -> None:
    ann, bob, cleo = team
    uid = edit_at_once(ann, bob, cleo)
    exchange(ann, bob, cleo)
    assert len(lost(ann)) == 1
    edit(ann, uid, "keep sessions in memory")
    edit(ann, uid, "keep sessions in a cookie")
    exchange(ann, bob, cleo)
    assert lost(ann) == lost(bob) == lost(cleo)


def decide_and_say_the_same(team: Team) -> str:
    """One decides, and another one says the same later, without knowing what was decided."""
    ann, bob, cleo = team
    uid = edit_at_once(ann, bob, cleo)
    exchange(ann, bob, cleo)
    assert len(lost(ann)) == 1
    ann.store.sync.standing.resolve(uid, "mine", theme=THEME)  # type: ignore[arg-type]
    edit(cleo, uid, "x y z")
    edit(cleo, uid, "keep sessions in files")
    exchange(cleo)
    return uid


def test_a_decision_is_not_forgotten_for_an_equal_version_that_does_not_know_it(team: Team) -> None:
    uid = decide_and_say_the_same(team)
    said = team[2].store.facts.get(uid)  # type: ignore[arg-type]
    exchange(*team)
    exchange(*team)
    assert [lost(one) for one in team] == [[], [], []]
    stands = [one.store.facts.get(uid) for one in team]  # type: ignore[arg-type]
    assert {(one.content, one.tier, one.updated_at) for one in stands} == {(said.content, said.tier, said.updated_at)}
    digests = [one.store.sync.standing.digests(THEME) for one in team]
    assert digests[0] == digests[1] == digests[2]
    exchange(*team)
    assert [one.store.sync.standing.digests(THEME) for one in team] == digests


def test_what_was_purged_stays_so_when_a_decision_meets_an_equal_version(team: Team) -> None:
    uid = decide_and_say_the_same(team)
    exchange(team[0])
    team[1].store.purge.erase([uid])  # type: ignore[list-item]
    exchange(*team)
    exchange(*team)
    assert [(lost(one), contents(one)) for one in team] == [([], {})] * 3


def test_two_who_say_the_same_and_each_know_what_the_other_does_not_agree_by_one_version(team: Team) -> None:
    ann, bob, cleo = team
    uid = write(ann, "D[cache]: keep sessions in redis")
    exchange(*team)
    for one in (ann, bob):  # each says something first that the other has not heard of
        edit(one, uid, f"keep sessions with {name_of(one)}")
        assert one.store.sync.outbox.pending_rows(THEME)
        edit(one, uid, "keep sessions in files")
    exchange(bob)
    exchange(ann)
    made = ann.store.sync.standing.digests(THEME)
    exchange(cleo, bob, ann)
    exchange(*team)
    assert [lost(one) for one in team] == [[], [], []]
    assert [one.store.sync.standing.digests(THEME) for one in team] == [made] * 3


def test_who_may_only_read_makes_no_version_of_what_came_that_waits_for_ever(
    database: Database, tmp_path: Path
) -> None:
    with team_of(database, tmp_path, ann="read", bob="curate") as (ann, bob):
        uid = write(bob, "D[cache]: keep sessions in redis")
        exchange(bob, ann)
        for content in ("keep sessions in a cookie", "keep sessions in files"):
            edit(ann, uid, content)
            exchange(ann)
        edit(bob, uid, "x y z")
        edit(bob, uid, "keep sessions in files")
        exchange(bob, ann)
        assert ann.store.sync.outbox.unsent_counts() == {}
        edit(bob, uid, "keep sessions in memory")
        exchange(bob, ann)
        assert lost(ann) == lost(bob) == []


def test_the_same_edit_of_two_makes_no_further_version(team: Team) -> None:
    ann, bob, cleo = team
    uid = write(ann, "D[cache]: keep sessions in redis")
    exchange(ann, bob, cleo)
    edit(ann, uid, "keep sessions in files")
    edit(bob, uid, "keep sessions in files")
    exchange(bob)
    made = bob.store.sync.standing.digests(THEME)
    exchange(ann, bob, cleo)
    exchange(ann, bob, cleo)
    assert (
        ann.store.sync.standing.digests(THEME)
        == bob.store.sync.standing.digests(THEME)
        == cleo.store.sync.standing.digests(THEME)
        == made
    )


def test_each_change_names_who_made_it_and_whose_words_they_are(team: Team) -> None:
    ann, bob, cleo = team
    uid = write(ann, "D[cache]: keep sessions in redis")
    exchange(ann, bob, cleo)
    edit(bob, uid, "keep sessions in files")
    exchange(ann, bob, cleo)
    cleo.store.facts.archive([uid])  # type: ignore[list-item]
    exchange(ann, bob, cleo)
    here, there = ("sync", name_of(bob)), ("sync", name_of(cleo))
    assert authors(ann, uid) == [("person", ""), here, there]
    assert authors(bob, uid)[::2] == [("sync", name_of(ann)), there]
    assert authors(cleo, uid)[:2] == [("sync", name_of(ann)), here]


def test_what_a_teammate_wrote_is_found_by_its_name_and_taken_back_in_one_act(team: Team) -> None:
    ann, bob, cleo = team
    edited = write(ann, "D[cache]: keep sessions in redis")
    exchange(ann, bob, cleo)
    write(cleo, "D[queue]: jobs are kept in files")
    edit(cleo, edited, "keep sessions in a cookie")
    write(bob, "D[log]: logs are kept for a week")
    exchange(ann, bob, cleo)
    found = ann.store.facts.ids(FactFilter(theme=THEME, by=name_of(cleo)))
    assert {one.content for one in ann.store.facts.by_ids(found)} == {"jobs are kept in files"}
    ann.store.sync.standing.undo_teammate(name_of(cleo))  # type: ignore[arg-type]
    exchange(ann, bob, cleo)
    expected = {"keep sessions in redis", "logs are kept for a week"}
    assert contents(ann).keys() == contents(bob).keys() == contents(cleo).keys() == expected


def test_a_purge_takes_what_lost_out_of_every_segment(make: Maker) -> None:
    ann, bob, cleo = (make(name=name) for name in NAMES)
    uid = edit_at_once(ann, bob, cleo)
    exchange(ann, bob, cleo)
    assert "sessions in memory" in words_in(ann)
    assert "sessions in files" in words_in(ann)
    bob.store.purge.erase([uid])
    exchange(bob, ann, cleo)
    assert lost(ann) == lost(bob) == lost(cleo) == []
    assert "sessions in" not in words_in(ann)


def test_an_exchange_with_nothing_new_writes_nothing(make: Maker) -> None:
    ann, bob, cleo = (make(name=name) for name in NAMES)
    edit_at_once(ann, bob, cleo)
    exchange(ann, bob, cleo)
    before = {path: path.read_bytes() for path in ann.files()}
    for one in (ann, bob, cleo, ann, bob, cleo):
        one.restart()
        assert one.sync().idle
    assert {path: path.read_bytes() for path in ann.files()} == before


def test_who_comes_late_has_the_same_list(make: Maker) -> None:
    ann, bob, cleo = (make(name=name) for name in NAMES)
    edit_at_once(ann, bob, cleo)
    exchange(ann, bob, cleo)
    late = make(name="late")
    exchange(late)
    assert lost(late) == lost(ann) != []


def test_what_the_folder_lost_of_a_conflict_is_written_again(make: Maker) -> None:
    ann, bob, cleo = (make(name=name) for name in NAMES)
    edit_at_once(ann, bob, cleo)
    exchange(ann, bob, cleo)
    for path in ann.files():
        path.unlink()
    exchange(ann, bob, cleo)
    late = make(name="late")
    exchange(late)
    assert lost(late) == lost(ann) != []


def test_a_decided_loser_leaves_the_folder_when_its_segment_is_merged(
    make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(theme_exchange, "MOST_SMALL", 2)
    ann, bob, cleo = (make(name=name) for name in NAMES)
    uid = edit_at_once(ann, bob, cleo)
    exchange(ann, bob, cleo)
    ann.store.sync.standing.resolve(uid, "mine", theme=THEME)  # type: ignore[arg-type]
    for n in range(4):
        write(ann, f"V[port{n}]: {n}")
        exchange(ann, bob, cleo)
    assert "sessions in memory" not in words_in(ann)
    late = make(name="late")
    exchange(late)
    assert lost(late) == lost(ann) == []


def test_a_row_keeps_its_author_when_another_machine_writes_its_segment_anew(make: Maker) -> None:
    ann, bob, cleo = (make(name=name) for name in NAMES)
    kept, gone = write(ann, "D[cache]: keep sessions in redis"), write(ann, "V[key]: a xylophone")
    exchange(ann, bob)
    bob.store.purge.erase([gone])
    bob.sync()  # ann does not come: her segment is written by bob
    exchange(cleo)
    assert authors(cleo, kept) == [("sync", "ann")]
    assert cleo.store.facts.get(kept).origin.teammate == f"ann/{ann.store.sync.node[:8]}"  # type: ignore[arg-type]


def test_what_another_wrote_is_offered_again_under_its_author(make: Maker) -> None:
    ann, bob, cleo = (make(name=name) for name in NAMES)
    uid = write(ann, "D[cache]: keep sessions in redis")
    exchange(ann, bob)
    edit(bob, uid, "keep sessions in files")
    exchange(ann, bob)
    bob.store.facts.archive([uid])  # type: ignore[list-item]
    exchange(ann, bob)
    for path in ann.files():
        path.unlink()
    exchange(ann)
    exchange(cleo)
    assert authors(cleo, uid) == [("sync", "bob")]
    assert cleo.store.facts.get(uid).origin.teammate == f"ann/{ann.store.sync.node[:8]}"  # type: ignore[arg-type]
