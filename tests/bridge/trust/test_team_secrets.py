"""A secret that comes from the team stands nowhere in the store and its backups, and the team keeps it all the same."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

import pytest

from hermes_memory_bridge.trust import Vault
from hermes_memory_store import uids
from hermes_memory_store.model import FactFilter, Tier, Uid
from hermes_memory_store.sync.content_checks import IntakeCheck
from hermes_memory_store.sync.wire_format import COUNTER_BITS, VersionPayload
from hermes_memory_store.upkeep import backup
from tests.store.conftest import HandClock
from tests.store.team import THEME, Member, Server, converge, load_team_policies

KEY = "ghp_" + "dJFsqX2kC3E3iO6bftOZ1lIJMF7RvwVs2qEK"

NEXT_KEY = "ghp_" + "x9FsqX2kC3E3iO6bftOZ1lIJMF7RvwVs2qEK"

Join = Callable[[str], Member]


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def join(tmp_path: Path) -> Iterator[Join]:
    """Makes a member of the team with a policy for secrets: ann has all in clear, bob keeps them in a vault."""
    with ExitStack() as stack:

        def member(name: str, settings: str = "", vault: str = "file") -> Member:
            folder = tmp_path / name
            folder.mkdir()
            clock = HandClock(1_790_000_000_000 + len(name))
            made = Member(folder / "memory.db", clock, load_team_policies(folder, settings))
            made.store.intake.vault = Vault(folder / "secrets.json", vault)
            made.screen = made.store.sync.content_check = IntakeCheck(made.store.intake)
            stack.callback(lambda: made.store.close())
            return made

        yield member


@pytest.fixture
def ann(join: Join) -> Member:
    return join("ann", "secrets = 'allow'\n")  # type: ignore[call-arg]


@pytest.fixture
def bob(join: Join) -> Member:
    return join("bob")


def write(member: Member, line: str) -> Uid:
    member.clock.forward(1000)
    return member.store.facts.write(THEME, line, scope="release").fact.uid


def find_files_with(member: Member, *words: str) -> list[str]:
    """Files beside a store, but for the vault, that hold one of the words."""
    files = [file for file in member.path.parent.iterdir() if file.is_file() and file.name != "secrets.json"]
    return [file.name for file in files if any(word.encode() in file.read_bytes() for word in words)]


def test_a_secret_of_the_team_stands_in_the_vault_alone(ann: Member, bob: Member, server: Server) -> None:
    uid = write(ann, f"V[ci.token]: {KEY}")
    converge([ann, bob], server)
    backup.create_backup(bob.store, bob.path.with_name("copy.bak"))
    assert bob.store.facts.get(uid).content == "‹secret:ci-token›"
    assert find_files_with(bob, KEY) == []
    for act in (bob.store.facts.pin, bob.store.facts.archive):
        bob.clock.forward(60_000)
        act([uid])
        converge([ann, bob], server)
        assert ann.store.facts.get(uid).content == KEY
    assert ann.store.facts.get(uid).tier is Tier.ARCHIVED
    assert ann.store.sync.standing.digests(THEME) == bob.store.sync.standing.digests(THEME)
    ann.clock.forward(120_000)
    ann.store.facts.edit(uid, NEXT_KEY)
    converge([ann, bob], server)
    bob.store.undo.change(bob.store.journal.changes(uid=uid)[-1].seq)
    bob.clock.forward(180_000)
    converge([ann, bob], server)
    assert ann.store.facts.get(uid).content == KEY
    assert find_files_with(bob, KEY, NEXT_KEY) == []


def test_a_conflict_of_two_secrets_keeps_neither_in_clear(ann: Member, bob: Member, server: Server) -> None:
    uid = write(ann, "V[ci.token]: none")
    converge([ann, bob], server)
    ann.clock.forward(1000)
    ann.store.facts.edit(uid, KEY)
    bob.clock.forward(5000)
    bob.store.facts.edit(uid, "ask the operator")
    converge([ann, bob], server)
    bob.store.sync.inbox.apply(THEME, list(enumerate(server.accepted)), cursor=bob.store.sync.inbox.cursor(THEME))
    assert len(bob.store.sync.standing.conflicts(THEME)) == 1
    assert find_files_with(bob, KEY) == []


def test_the_same_secret_from_two_machines_is_no_conflict(ann: Member, bob: Member, server: Server) -> None:
    uid = write(ann, f"V[ci.token]: {KEY}")
    converge([ann, bob], server)
    ann.clock.forward(1000)
    ann.store.facts.archive([uid])
    bob.clock.forward(5000)
    bob.store.facts.archive([uid])
    converge([ann, bob], server)
    assert ann.store.sync.standing.conflicts() == bob.store.sync.standing.conflicts() == []
    assert ann.store.facts.get(uid).content == KEY


def test_a_secret_that_the_theme_refuses_is_kept_in_no_form(ann: Member, join: Join, server: Server) -> None:
    eve = join("eve", "secrets = 'refuse'\n")  # type: ignore[call-arg]
    write(ann, f"V[ci.token]: {KEY}")
    uid = write(ann, f"V[{NEXT_KEY}]: a name")
    converge([ann, eve], server)
    assert len(eve.store.sync.standing.hidden_versions()) == 2
    assert find_files_with(eve, KEY, NEXT_KEY) == []
    assert eve.store.sync.mask_stored() == ()
    eve.store.sync.outbox.mark_all_unsent(THEME)
    converge([ann, eve], server)
    assert ann.store.facts.get(uid).target == NEXT_KEY
    assert {row.content for _, row in server.rows.values() if row.kind == "fact"} == {KEY, "a name"}


def test_a_secret_that_is_shown_after_a_change_of_policy_is_not_sent_without_its_words(
    ann: Member, join: Join, server: Server
) -> None:
    eve = join("eve", "secrets = 'refuse'\n")  # type: ignore[call-arg]
    uid = write(ann, f"V[ci.token]: {KEY}")
    converge([ann, eve], server)
    load_team_policies(eve.path.parent, "secrets = 'mask'\n")
    assert eve.store.sync.inbox.recheck_hidden() == 1
    assert eve.store.facts.get(uid).content == "‹secret:not-kept›"
    eve.store.facts.archive([uid])
    eve.clock.forward(60_000)
    write(eve, "V[port]: 5432")
    converge([ann, eve], server)
    assert ann.store.facts.get(uid).content == KEY


def test_what_is_held_back_is_held_without_its_secret(ann: Member, bob: Member, server: Server) -> None:
    uid = write(ann, f"V[ci.token]: {KEY}")
    converge([ann, bob], server)
    hold_ahead(bob, server, uid, NEXT_KEY)
    assert find_files_with(bob, KEY, NEXT_KEY) == []
    assert [row.content for row in bob.store.sync.outbox.held_rows(THEME, "bob")] == [NEXT_KEY]
    bob.clock.forward(3_700_000)
    assert bob.store.sync.inbox.admit_held() == 1
    assert bob.store.sync.standing.digests(THEME)[uid] == server.rows[uid][1].digest
    assert find_files_with(bob, KEY, NEXT_KEY) == []


def hold_ahead(member: Member, server: Server, uid: Uid, content: str) -> None:
    """Let a version come whose clock runs an hour ahead."""
    _, row = server.rows[uid]
    server.push(
        [replace(row, hlc=(member.clock.now + 3_600_000) << COUNTER_BITS, content=content, ancestors=(row.hlc,))]
    )
    member.pull(server)
    assert len(member.store.sync.standing.held_versions()) == 1


def test_a_held_secret_that_a_person_brings_back_is_sent_as_it_came(ann: Member, bob: Member, server: Server) -> None:
    uid = write(ann, "V[ci.token]: none")
    converge([ann, bob], server)
    _, row = server.rows[uid]
    hold_ahead(bob, server, uid, KEY)
    bob.clock.forward(60_000)
    repaired = replace(row, hlc=bob.clock.now << COUNTER_BITS, content="ask the operator", ancestors=(row.hlc,))
    server.rows[uid] = (server.seq + 1, repaired)
    server.seq += 1
    bob.pull(server)
    assert bob.store.facts.get(uid).content == "ask the operator"
    bob.clock.forward(1000)
    bob.store.sync.standing.resolve(uid, "theirs")
    assert bob.store.facts.get(uid).content == "‹secret:ci-token›"
    converge([ann, bob], server)
    assert ann.store.facts.get(uid).content == KEY
    assert find_files_with(bob, KEY) == []


def test_what_is_held_back_and_refused_is_admitted_hidden_once_its_time_has_come(
    ann: Member, join: Join, server: Server
) -> None:
    eve = join("eve")
    uid = write(ann, "V[port]: 5432")
    converge([ann, eve], server)
    eve.guard()
    hold_ahead(eve, server, uid, "unspeakable")
    assert [row.content for row in eve.store.sync.outbox.held_rows(THEME, "eve")] == ["unspeakable"]
    eve.clock.forward(3_700_000)
    assert eve.store.sync.inbox.admit_held() == 1
    assert [one.why for one in eve.store.sync.standing.hidden_versions()] == ["it must not be said"]
    assert eve.store.sync.standing.digests(THEME)[uid] == server.rows[uid][1].digest


def test_a_clear_text_of_an_earlier_version_that_loses_before_it_is_masked_is_kept_without_its_secret(
    ann: Member, bob: Member, server: Server
) -> None:
    uid = write(ann, f"V[ci.token]: {KEY}")
    converge([ann, bob], server)
    put_clear_texts_back(bob.path, uid)
    ann.clock.forward(60_000)
    _, row = server.rows[uid]
    server.push([replace(row, hlc=ann.clock.now << COUNTER_BITS, content="ask the operator", ancestors=())])
    bob.clock.forward(60_000)
    bob.pull(server)
    assert len(bob.store.sync.standing.conflicts(THEME)) == 1
    bob.store.sync.mask_stored()
    assert find_files_with(bob, KEY) == []
    bob.clock.forward(1000)
    bob.store.sync.standing.resolve(uid, "theirs")
    converge([ann, bob], server)
    assert ann.store.facts.get(uid).content == KEY


def test_a_vault_is_asked_while_other_programs_may_write(ann: Member, bob: Member, server: Server) -> None:
    uid = write(ann, f"V[ci.token]: {KEY}")
    converge([ann, bob], server)
    reveal, blocked = bob.screen.reveal, []

    def reveal_slowly(theme: str, masked: str) -> str:
        blocked.append(bob.store.db.conn.in_transaction)
        return reveal(theme, masked)

    bob.screen.reveal = reveal_slowly  # type: ignore[method-assign]
    bob.clock.forward(60_000)
    bob.store.facts.archive([uid])
    converge([ann, bob], server)
    assert blocked == [False]
    assert ann.store.facts.get(uid).content == KEY


@pytest.mark.parametrize("how", ["forgotten", "never kept"])
def test_a_secret_that_is_kept_no_more_is_neither_sent_nor_overwritten(
    how: str, ann: Member, bob: Member, join: Join, server: Server
) -> None:
    here = bob if how == "forgotten" else join("carl", "", "keyring")  # type: ignore[call-arg]
    if how == "never kept":
        here.store.intake.vault = None
        here.screen = here.store.sync.content_check = IntakeCheck(here.store.intake)
    uid = write(ann, f"V[ci.token]: {KEY}")
    converge([ann, here], server)
    if how == "forgotten":
        assert isinstance(here.store.intake.vault, Vault)
        here.store.intake.vault.forget(THEME, "ci-token")
    here.clock.forward(60_000)
    here.store.facts.archive([uid])
    write(here, "V[port]: 5432")
    here.store.sync.outbox.mark_all_unsent(THEME)
    converge([ann, here], server)
    assert ann.store.facts.get(uid).content == KEY
    assert {fact.target for fact in ann.store.facts.page(FactFilter()).facts} >= {"port"}
    assert here.store.sync.outbox.pending_counts() == {THEME: 0}
    assert here.store.facts.get(uid).tier is Tier.ARCHIVED
    assert find_files_with(here, KEY) == []
    ann.clock.forward(120_000)
    ann.store.facts.edit(uid, "ask the operator")
    converge([ann, here], server)
    assert here.store.facts.get(uid).content == "ask the operator"


def put_clear_texts_back(path: Path, uid: str) -> None:
    """Write what 0.4.0 stored: the clear text of a masked version, and of one that it was before."""
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        (shadow,) = conn.execute("SELECT shadow FROM sync_rows WHERE uid = ?", (uids.parse_uid(uid),)).fetchone()
        payload = VersionPayload.from_json(shadow)
        found = [payload.checked.masked_content, None, None, False]
        old = (
            VersionPayload(payload.kind, KEY, payload.attrs, payload.state).to_json()[:-1] + ',["%s",null,null,false]]'
        )
        conn.execute("UPDATE sync_rows SET shadow = ? WHERE uid = ?", (old % found[0], uids.parse_uid(uid)))
        (theme_id,) = conn.execute("SELECT theme_id FROM sync_rows LIMIT 1").fetchone()
        conn.execute(
            "INSERT INTO sync_masked VALUES (?, ?, 'it was ‹secret:ci-token›', ?)",
            (theme_id, uids.parse_uid(uid), f"it was {KEY}"),
        )


def test_clear_texts_of_an_earlier_version_go_from_the_store_and_its_backups(
    ann: Member, bob: Member, server: Server
) -> None:
    uid = write(ann, f"V[ci.token]: {KEY}")
    converge([ann, bob], server)
    put_clear_texts_back(bob.path, uid)
    backup.create_backup(bob.store, bob.path.with_name("copy.bak"))
    gone = bob.path.parent / "away"
    gone.mkdir()
    backup.create_backup(bob.store, gone / "other.bak")
    (gone / "other.bak").unlink()
    gone.rmdir()  # a disk that is not mounted
    assert len(find_files_with(bob, KEY)) >= 2

    assert bob.store.sync.mask_stored() == (str(gone / "other.bak"),)

    assert find_files_with(bob, KEY) == []
    assert bob.store.sync.mask_stored() == ()
    bob.clock.forward(60_000)
    bob.store.facts.archive([uid])
    converge([ann, bob], server)
    assert ann.store.facts.get(uid).content == KEY
    assert ann.store.facts.get(uid).tier is Tier.ARCHIVED
    assert ann.store.sync.standing.digests(THEME) == bob.store.sync.standing.digests(THEME)


def test_a_purge_of_another_fact_cleans_backups_of_an_earlier_version(ann: Member, bob: Member, server: Server) -> None:
    uid, other = write(ann, f"V[ci.token]: {KEY}"), write(bob, "V[port]: 5432")
    converge([ann, bob], server)
    put_clear_texts_back(bob.path, uid)
    backup.create_backup(bob.store, bob.path.with_name("copy.bak"))
    bob.store.purge.erase([other])
    assert "copy.bak" not in find_files_with(bob, KEY)
