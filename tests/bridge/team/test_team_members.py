"""Members are invited by a code that works once, have rights to themes that end, and are let go again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from hermes_memory_bridge.team.database.team_members import (
    invite_member,
    list_members,
    redeem_invitation,
    revoke_member,
)
from hermes_memory_bridge.team.database.team_rights import restrict_role_to_themes
from hermes_memory_bridge.team.database.team_server import TeamServer, new_push_token
from hermes_memory_bridge.team.database.team_states import TeamError
from hermes_memory_bridge.team.dsn import VARIABLE as DSN_VARIABLE
from hermes_memory_bridge.trust.system_keyring import VaultError
from hermes_memory_store.errors import ArgumentError
from tests.bridge.running import until
from tests.bridge.team.conftest import Database
from tests.bridge.team.machines import Machine, team
from tests.bridge.team.side import Side


@pytest.fixture
def ann(database: Database) -> Iterator[str]:
    """A name nobody has, whom the server asks for a password."""
    name = f"ann_{database.name}"
    file = Path(str(database.one("SHOW hba_file")))
    before = file.read_text()
    file.write_text(f"local all {name} scram-sha-256\n{before}")
    database.run("SELECT pg_reload_conf()")
    asked = "SELECT count(*) FROM pg_hba_file_rules WHERE user_name = ARRAY[%s]"
    until(lambda: database.one(asked, name) == 1, "the rule")
    yield name
    with psycopg.connect(database.admin, autocommit=True) as conn:
        if conn.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (name,)).fetchone():
            conn.execute(sql.SQL("DROP OWNED BY {}; DROP ROLE {}").format(*[sql.Identifier(name)] * 2))
    file.write_text(before)
    database.run("SELECT pg_reload_conf()")


def redeem(code: str) -> str:
    """The DSN of a machine that has a place for it."""
    return redeem_invitation(code, [].append)


def without_vault_file(machine: Machine) -> dict[str, str]:
    """The environment of a machine on which nobody has allowed a file of secrets."""
    environment = {
        name: value for name, value in os.environ.items() if name not in (DSN_VARIABLE, "HERMES_MEMORY_SECRETS")
    }
    return environment | {"HOME": str(machine.home), "HERMES_HOME": str(machine.home)}


def push(dsn: str, theme: str) -> None:
    side = Side(theme)
    side.write(theme, "written")
    with TeamServer(dsn) as server:
        server.push(theme, side.node, side.pending_rows(theme), new_push_token())


def test_a_code_works_once_and_leaves_a_password_that_nobody_saw(database: Database, ann: str) -> None:
    code = invite_member(database.admin, ann)
    dsn = redeem(code)
    push(dsn, "ours")
    assert str(database.one("SELECT pushed_by FROM hm.item")).startswith(f"{ann}/")
    with pytest.raises(psycopg.OperationalError):
        redeem(code)
    push(dsn, "ours")


def test_a_code_outlives_a_machine_that_cannot_keep_its_password(database: Database, ann: str) -> None:
    code = invite_member(database.admin, ann)

    def refuse(dsn: str) -> None:
        raise VaultError("no keyring")

    with pytest.raises(VaultError):
        redeem_invitation(code, refuse)
    push(redeem(code), "ours")


def test_a_second_code_ends_the_first_and_what_it_led_to_and_keeps_the_rights(database: Database, ann: str) -> None:
    lost = invite_member(database.admin, ann, themes=["ours"])
    code = invite_member(database.admin, ann)
    with pytest.raises(psycopg.OperationalError):
        redeem(lost)
    dsn = redeem(code)
    with psycopg.connect(dsn) as open_before:
        again = redeem(invite_member(database.admin, ann, themes=["ours"], reads=["theirs"]))
        with pytest.raises(psycopg.OperationalError):
            open_before.execute("SELECT 1")
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(dsn)
    push(again, "ours")
    (member,) = [one for one in list_members(database.admin) if one.role == ann]
    assert (member.themes, member.reads) == (["ours"], ["theirs"])


def test_a_revoked_person_reads_so_and_can_be_invited_again(database: Database, ann: str, tmp_path: Path) -> None:
    dsn = redeem(invite_member(database.admin, ann, themes=["ours"]))
    revoke_member(database.admin, ann)
    with pytest.raises(TeamError, match="its owner revoked them"):
        TeamServer(dsn)
    push(redeem(invite_member(database.admin, ann, themes=["ours"])), "ours")


def test_a_role_that_no_invitation_made_is_left_as_it_is(database: Database) -> None:
    with pytest.raises(ArgumentError, match="that no invitation made"):
        invite_member(database.admin, f"{database.name}_runtime")
    push(database.runtime, "ours")


def test_rights_to_themes_are_read_and_write_and_end(database: Database, ann: str) -> None:
    push(database.admin, "theirs")
    soon = datetime.now(UTC) + timedelta(hours=1)
    dsn = redeem(invite_member(database.admin, ann, themes=["ours"], reads=["theirs"], until=soon))
    push(dsn, "ours")
    for theme in ("theirs", "another"):
        with pytest.raises(TeamError, match="may not write to this theme") as caught:
            push(dsn, theme)
        assert caught.value.state.name == "denied"
    with TeamServer(dsn) as server:
        assert [len(server.pull(theme, 0).rows) for theme in ("ours", "theirs", "another")] == [1, 1, 0]
    assert {one.role: (one.themes, one.reads, one.until is not None) for one in list_members(database.admin)} == {
        ann: (["ours"], ["theirs"], True),
        f"{database.name}_runtime": (["*"], [], False),
    }
    database.run("UPDATE hm.member SET until = now() - interval '1 second'")
    with TeamServer(dsn) as server:
        assert server.pull("ours", 0).rows == []
    with pytest.raises(TeamError, match="may not write"):
        push(dsn, "ours")
    restrict_role_to_themes(database.admin, ann, [])
    push(dsn, "another")


def test_who_is_let_go_may_nothing_and_what_he_brought_stays(database: Database, ann: str) -> None:
    dsn = redeem(invite_member(database.admin, ann))
    push(dsn, "ours")
    assert revoke_member(database.admin, ann) == []
    with pytest.raises(TeamError):
        TeamServer(dsn)
    assert database.one("SELECT count(*) FROM hm.item") == 1
    assert [one.role for one in list_members(database.admin)] == [f"{database.name}_runtime"]
    with pytest.raises(ArgumentError, match="no role 'nobody'"):
        revoke_member(database.admin, "nobody")


def test_a_group_that_still_lets_in_is_named(database: Database, ann: str) -> None:
    invite_member(database.admin, ann)
    group = f"{database.name}_runtime"
    database.run(f"GRANT {group} TO {ann}")
    assert revoke_member(database.admin, ann) == [group]


@pytest.mark.parametrize("name", ["", "Ann", "ann b", "1ann", 'a"; DROP ROLE x; --', "x" * 64])
def test_a_name_that_is_no_role_is_refused(database: Database, name: str) -> None:
    with pytest.raises(ArgumentError, match="is no name for a role"):
        invite_member(database.admin, name)


@pytest.mark.parametrize("code", ["hm1.", "hm1.AAAA", "hm1.e30", "hm1.bm8gSlNPTg", "hm1.é"])
def test_half_a_code_is_said(code: str) -> None:
    with pytest.raises(ArgumentError, match="no whole code"):
        redeem(code)


def test_rights_to_every_theme_may_end_too(database: Database) -> None:
    push(database.runtime, "ours")
    restrict_role_to_themes(database.admin, f"{database.name}_runtime", [], until=datetime.now(UTC))
    with pytest.raises(TeamError, match="may not write to this theme"):
        push(database.runtime, "ours")


@pytest.mark.slow
def test_a_person_is_invited_by_the_command_line(database: Database, ann: str, tmp_path: Path) -> None:
    with team(tmp_path, None) as (here,):
        ended = here.command("team", "invite", ann, "ours", "--until", "2020-01-01", given=database.admin)
        assert (ended.returncode, "--until 2020-01-01 is past" in ended.stderr) == (1, True)
        done = here.command(
            "team", "invite", ann, "ours", "--read", "theirs", "--until", "2999-01-01", given=database.admin
        )
        code = done.stdout.strip()
        assert code.startswith("hm1."), done.stderr
        connected = here.command("team", "connect", "-", given=code + "\n")
        assert connected.returncode == 0, connected.stderr
        assert code not in connected.stdout + connected.stderr
        again = here.command("team", "connect", "-", given=code + "\n")
        assert (again.returncode, "was used already" in again.stderr) == (1, True)
        listed = here.command("team", "members", given=database.admin)
        assert f"{ann}: ours; theirs (only reading), until 2999-01-01" in listed.stdout
        assert (
            here.command("team", "revoke", ann, given=database.admin).stdout.strip() == f"{ann} has no rights any more"
        )


@pytest.mark.slow
def test_a_new_machine_without_a_keyring_loses_no_code(
    database: Database, ann: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
    monkeypatch.setattr(Machine, "environment", property(without_vault_file))
    code = invite_member(database.admin, ann)
    with team(tmp_path, None) as (here,):
        refused = here.run_program("team", "connect", "-", given=code + "\n")
        assert (refused.returncode, "secret allow-file" in refused.stderr) == (1, True)
        allowed = here.run_program("secret", "allow-file")
        assert allowed.returncode == 0, allowed.stderr
        connected = here.run_program("team", "connect", "-", given=code + "\n")
        assert connected.returncode == 0, connected.stderr
        revoke_member(database.admin, ann)
        assert "its owner revoked them" in here.run_program("team", "status").stderr
