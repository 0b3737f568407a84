"""Origins of facts that come from a team and are not shown at once, and what others may not say of projects."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_memory_store import uids
from hermes_memory_store.items.origin_rows import to_origin_words
from hermes_memory_store.items.project_rows import ensure_project
from hermes_memory_store.model import PERSON, Origin, Uid, Way
from hermes_memory_store.sync.hybrid_clock import AHEAD_MS
from hermes_memory_store.sync.team_origins import TEAM_ORIGIN, parse_team_origin, to_sync_origin
from hermes_memory_store.sync.wire_format import PullCursor, SyncRow

from .team import OPEN, THEME, Member, Server, converge, joining_members, load_team_policies

TOOL = Origin(Way.TOOL, client="claude-code")


@pytest.fixture
def join(tmp_path: Path) -> Iterator[Callable[[], Member]]:
    """Makes a member of the team, with a clock of its own."""
    with joining_members(tmp_path, load_team_policies(tmp_path)) as member:
        yield member


def write(member: Member, line: str) -> Uid:
    return member.store.facts.write(THEME, line, origin=TOOL).fact.uid


def kept(member: Member) -> int:
    return int(member.store.db.value("SELECT count(*) FROM sync_origins"))


def check(member: Member, uid: Uid) -> None:
    """The fact is shown with its origin, which is kept nowhere else, and the journal agrees."""
    origin = member.store.facts.get(uid).origin
    assert (origin.way, origin.team_way, origin.client) == (Way.TEAM, "tool", "claude-code")
    assert kept(member) == 0
    assert member.store.journal.verify().ok


def test_a_fact_that_is_hidden_first_keeps_its_origin_until_it_is_shown(ann: Member, bob: Member) -> None:
    bob.guard()
    uid = write(ann, "D[cache]: unspeakable")
    converge([ann, bob], Server())
    assert kept(bob) == 1
    bob.reopen()
    bob.screen = bob.store.sync.content_check = OPEN
    assert bob.store.sync.inbox.recheck_hidden() == 1
    check(bob, uid)


def test_a_fact_of_the_future_keeps_its_origin_until_its_time_has_come(ann: Member, bob: Member) -> None:
    uid = write(ann, "D[cache]: redis")
    (row, *_) = [row for row in ann.store.sync.outbox.pending_rows(THEME) if row.kind == "fact"]
    ahead = bob.clock() + 2 * AHEAD_MS
    bob.store.sync.inbox.apply(THEME, [(1, replace(row, hlc=ahead << 16))], cursor=PullCursor(1))
    assert kept(bob) == 1
    bob.clock.forward(2 * AHEAD_MS)
    bob.store.sync.note_server_time(bob.clock())
    assert bob.store.sync.inbox.admit_held() == 1
    check(bob, uid)


def test_a_fact_that_was_deleted_first_comes_back_with_its_origin(ann: Member, bob: Member) -> None:
    uid = write(ann, "D[cache]: redis")
    server = Server()
    converge([ann], server)
    ann.store.undo.last(theme=THEME)
    converge([ann, bob], server)
    assert kept(bob) == 1
    ann.store.undo.redo(theme=THEME)
    converge([ann, bob], server)
    check(bob, uid)


def test_a_purge_erases_the_origin_that_waits(ann: Member, bob: Member) -> None:
    bob.guard()
    uid = write(ann, "D[cache]: unspeakable")
    server = Server()
    converge([ann, bob], server)
    assert kept(bob) == 1
    ann.store.purge.execute_facts(uid)
    converge([ann, bob], server)
    assert kept(bob) == 0
    assert [row.origin for _, row in server.rows.values() if row.uid == uid] == [None]


def test_an_origin_that_waits_goes_with_the_versions_of_its_fact(ann: Member, bob: Member) -> None:
    uid = write(ann, "D[cache]: redis")
    server = Server()
    converge([ann], server)
    ann.store.undo.last(theme=THEME)
    converge([ann, bob], server)
    assert kept(bob) == 1
    bob.store.sync.inbox.forget_deleted(THEME, server.rows[uid][0])
    assert kept(bob) == 0


class TestProjects:
    """What a teammate says of a project alters none that this machine has seen."""

    def words(self, uid: bytes, **given: Any) -> dict[str, Any]:
        return {"uid": uids.format_uid(uid), "name": "shop", **given}

    def test_a_project_seen_here_takes_no_identity_from_others(self, ann: Member, tmp_path: Path) -> None:
        (tmp_path / "shop").mkdir()
        name = ann.store.projects.locate(Origin(Way.TOOL), tmp_path / "shop").project
        project = ann.store.projects.get(str(name))
        words = self.words(uids.parse_uid(project.uid), remotes=["evil.example.com/shop"])
        with ann.store.db.write_transaction() as conn:
            ensure_project(conn, words, 1)
        assert ann.store.projects.get(str(name)).remotes == ()

    def test_two_projects_seen_here_are_never_joined_by_others(self, ann: Member, tmp_path: Path) -> None:
        names = []
        for one in ("shop", "tax"):
            (tmp_path / one).mkdir()
            names.append(str(ann.store.projects.locate(Origin(Way.TOOL), tmp_path / one).project))
        shop, tax = (ann.store.projects.get(name) for name in names)
        with ann.store.db.write_transaction() as conn:
            conn.execute(
                "INSERT INTO project_aliases SELECT 'remote', 'git.example.com/tax', id, 1 FROM projects WHERE uid = ?",
                (uids.parse_uid(tax.uid),),
            )
            ensure_project(conn, self.words(uids.parse_uid(shop.uid), remotes=["git.example.com/tax"]), 1)
        assert ann.store.projects.get(names[0]).uid == shop.uid

    def test_a_project_of_others_gains_identities(self, ann: Member) -> None:
        uid = uids.new_uid(1)
        with ann.store.db.write_transaction() as conn:
            first = ensure_project(conn, self.words(uid), 1)
            assert ensure_project(conn, self.words(uid, remotes=["git.example.com/shop"]), 2) == first
            assert ensure_project(conn, self.words(uids.new_uid(2), remotes=["git.example.com/shop"]), 3) == first


WORDS = ["way", "session", "client", "root", "file", "line", "turns", "project", "uid", "name", "verdict"]

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=5),
    max_leaves=12,
)


@given(words=JSON)
def test_whatever_a_row_claims_it_is_a_teammates(words: Any) -> None:
    said = parse_team_origin(words, "ann/12345678").origin
    assert (said.way, said.teammate, said.root) == (Way.TEAM, "ann/12345678", None)


@given(
    words=st.fixed_dictionaries(
        {"way": st.sampled_from(["tool", "screen", "import"])},
        optional={"client": st.text(min_size=1), "branch": st.text(min_size=1), "line": st.integers(min_value=1)},
    )
)
def test_what_came_from_a_teammate_is_told_on_in_his_words(words: dict[str, Any]) -> None:
    received = parse_team_origin(words, "ann/12345678").origin
    assert to_sync_origin(to_origin_words(received, local=False), None) == words


def test_of_a_fact_of_which_nothing_is_known_nothing_is_sent(ann: Member) -> None:
    ann.store.facts.write(THEME, "D[cache]: redis", origin=TEAM_ORIGIN, actor=PERSON)
    rows: list[SyncRow] = ann.store.sync.outbox.pending_rows(THEME)
    assert [row.origin for row in rows if row.kind == "fact"] == [None]
