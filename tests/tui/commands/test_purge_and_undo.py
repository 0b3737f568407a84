"""`purge UID...` and `undo` on the command line: what goes is shown first, and what stays is named with the reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hermes_memory_store.store import Store

from .conftest import Ask, Tell

KEY = "k7Rw2Qp9xLeaked"


@pytest.fixture
def leaked(home: Path, db: Path) -> str:
    """The uid of a fact with a key in it, that a session wrote beside other things."""
    with Store.open(db) as store:
        agent = store.sessions.open("default", "agent")
        fact = store.facts.write("default", f"V[key]: {KEY}", session=agent, scope="deploy").fact
        store.facts.write("default", "V[port]: 5432", session=agent)
        store.turns.add("default", "user", f"take {KEY}", session=agent)
        store.facts.pin(store.facts.write("default", "D[cache]: redis", session=agent).fact.uid)
        return fact.uid


def test_a_dry_run_shows_what_a_purge_of_one_fact_would_erase(ask: Ask, tell: Tell, leaked: str) -> None:
    shown = ask("purge", leaked[-8:], "--dry-run")

    assert shown.out.startswith("1 fact would be purged: 1 version, 1 captured message, ")
    assert f"V[key]: {KEY}" in shown.out
    assert f"user (agent): take {KEY}" in shown.out
    planned = tell("purge", leaked[:18], "--dry-run")
    assert (planned["total"], planned["dry_run"], planned["facts"], len(planned["turns"])) == (1, True, [leaked], 1)
    assert tell("fact", leaked)["content"] == KEY


def test_without_a_terminal_and_without_yes_nothing_is_purged(ask: Ask, tell: Tell, leaked: str) -> None:
    refused = ask("purge", leaked)

    assert refused.code != 0
    assert "1 fact would be purged; pass --yes" in refused.err
    assert tell("fact", leaked)["content"] == KEY


def test_a_purged_fact_leaves_no_byte_in_the_folder(ask: Ask, leaked: str, home: Path) -> None:
    assert ask("backup", str(home / "copy.bak")).code == 0

    done = ask("purge", leaked[-8:], "--yes")

    assert done.out.startswith("1 fact purged: 1 version, 1 captured message, ")
    assert "from 1 backup," in done.out
    assert [file.name for file in home.rglob("*") if file.is_file() and KEY.encode() in file.read_bytes()] == []


@pytest.mark.parametrize("option", [["--scope", "deploy"], ["--tier", "hot"]])
def test_a_purge_of_a_scope_or_a_theme_erases_as_one_of_single_facts(
    ask: Ask, tell: Tell, leaked: str, home: Path, option: list[str]
) -> None:
    assert ask("backup", str(home / "copy.bak")).code == 0
    shown = ask("purge", *option, "--dry-run").out
    assert "1 captured message, " in shown
    assert f"user (agent): take {KEY}" in shown
    assert f"V[key]: {KEY}" in shown

    done = tell("purge", *option, "--yes")

    assert (len(done["turns"]), done["backups"], leaked in done["facts"]) == (1, 1, True)
    assert [file.name for file in home.rglob("*") if file.is_file() and KEY.encode() in file.read_bytes()] == []


def test_a_purge_of_a_scope_can_keep_captured_messages(tell: Tell, leaked: str) -> None:
    assert tell("purge", "--scope", "deploy", "--yes", "--keep-turns")["turns"] == []
    assert len(tell("turns")["turns"]) == 1


def test_captured_messages_can_be_kept(tell: Tell, leaked: str) -> None:
    assert tell("purge", leaked, "--yes", "--keep-turns")["turns"] == []
    assert len(tell("turns")["turns"]) == 1


def test_a_uid_and_a_scope_exclude_each_other(ask: Ask, tell: Tell, leaked: str) -> None:
    for options in (["--scope", "deploy"], ["--tier", "hot"], ["--older-than", "1d"]):
        assert "leave --scope" in ask("purge", leaked, "--yes", *options).err
    assert tell("fact", leaked)["content"] == KEY


def test_undo_of_a_purge_is_refused_in_words(ask: Ask, tell: Tell, leaked: str) -> None:
    tell("purge", leaked, "--yes")
    rows = [json.loads(line) for line in ask("log", "--json").out.splitlines()]
    newest = max(row["seq"] for row in rows if row["op"] == "purge" and row["entity"] == "fact")

    assert "is a purge, which cannot be undone" in ask("undo", "--change", str(newest)).err


def test_undo_after_a_purge_names_the_change_before_and_leaves_it(ask: Ask, tell: Tell, leaked: str) -> None:
    written = tell("write", "V[cache]: redis")
    tell("purge", leaked, "--yes")

    refused = ask("undo")

    assert refused.code == 1
    assert "your newest change in theme 'default' is a purge, which cannot be undone" in refused.err
    number = refused.err.split("pass --change ")[1].split()[0]
    assert tell("fact", written["uid"])["tier"] == "hot"
    assert ask("undo", "--change", number).code == 0
    assert ask("fact", written["uid"]).code == 1


def test_a_session_is_undone_but_for_what_a_person_pinned(ask: Ask, tell: Tell, leaked: str) -> None:
    refused = ask("undo", "--session", "agent")
    assert refused.code != 0
    assert "D[cache]" in refused.err
    assert "pass --leave-conflicts" in refused.err
    planned = tell("undo", "--session", "agent", "--leave-conflicts", "--dry-run")
    assert tell("fact", leaked)["content"] == KEY

    done = tell("undo", "--session", "agent", "--leave-conflicts")

    assert (done["undone"], done["left"]) == (planned["undone"], planned["left"])
    assert (planned["dry_run"], planned["changes"]) == (True, [])
    assert any("D[cache]" in why and "pin" in why for why in done["left"])
    assert any("scope 'deploy'" in why and "1 fact is in it" in why for why in done["left"])
    assert [fact["target"] for fact in tell("facts")["facts"]] == ["cache"]
