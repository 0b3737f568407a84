"""The command line says where facts came from, and finds sessions and projects by the names people know."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from hermes_memory_store.model import FactFilter, Origin, Way
from hermes_memory_store.store import Store
from tests.tui.commands.conftest import Ask, Tell

NAMES = ("0199aaaa-0000-7000-8000-000000000001", "0199bbbb-0000-7000-8000-000000000002")


@pytest.fixture
def shop(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = home / "shop"
    (folder / ".git" / "refs" / "heads").mkdir(parents=True)
    (folder / ".git" / "objects").mkdir()
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / ".git" / "refs" / "heads" / "main").write_text("4f1c2d9be07a63518c24d0f7a9b86e3351d2c704\n")
    (folder / ".git" / "config").write_text('[remote "origin"]\n\turl = https://anna:pw@example.org/acme/shop.git\n')
    (folder / "api").mkdir()
    monkeypatch.chdir(folder / "api")
    return folder


@pytest.fixture
def sessions(shop: Path, tell: Tell) -> list[str]:
    """Two sessions of one client; the first wrote a fact from what was said. Returns the uids of their facts."""
    tell("write", "V[own]: mine")
    facts = []
    with Store.open(shop.parent / "memory.db") as store:
        for number, name in enumerate(NAMES):
            session = store.sessions.open("shop", name, client="claude-code", client_version="2.1", project="shop")
            for word in ("first", "second") if not number else ():
                store.turns.add("shop", "user", f"the {word} \x1b[31mmessage", session=session)
            origin = Origin(way=Way.TOOL, peer="uid 1000, pid 77", program="/usr/bin/node", branch="main")
            facts.append(store.facts.write("shop", f"V[n{number}]: x", session=session, origin=origin).fact.uid)
    return facts


def test_a_write_carries_way_project_folder_and_branch(shop: Path, tell: Tell, ask: Ask) -> None:
    uid = tell("write", "D[db]: sqlite")["uid"]
    origin = tell("fact", uid)["origin"]
    assert origin == {
        "way": "command-line", "project": "shop", "root": str(shop), "folder": "api", "branch": "main",
        "commit": "4f1c2d9be07a63518c24d0f7a9b86e3351d2c704",
    }  # fmt: skip
    said = ask("fact", uid).out
    for line in ("from     the command line", "project  shop", "branch   main at 4f1c2d9be07a", f"folder   {shop}/api"):
        assert line in said
    assert "pw" not in ask("projects").out
    assert "[command-line, shop, main]" in ask("history", uid).out
    assert tell("history", uid)["changes"][0]["origin"]["branch"] == "main"


def test_a_folder_that_is_gone_hinders_no_write(home: Path, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    run = "import os, sys; os.rmdir(os.getcwd()); from hermes_memory_tui.__main__ import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", run, "--db", str(tmp_path / "m.db"), "write", "V[a]: x"], cwd=gone, capture_output=True
    )
    assert done.returncode == 0, done.stderr
    with Store.open(tmp_path / "m.db", read_only=True) as store:
        assert store.facts.page(FactFilter()).facts[0].origin == Origin(way=Way.COMMAND_LINE)


def test_a_try_writes_nothing(shop: Path, tell: Tell) -> None:
    with Store.open(shop.parent / "memory.db") as store:
        store.facts.write("default", "V[a]: x")
    tell("undo", "--dry-run", "--theme", "default")
    assert tell("projects")["projects"] == []


def test_an_import_names_its_file_and_line(shop: Path, tell: Tell, ask: Ask) -> None:
    notes = shop / "api" / "notes.txt"
    notes.write_text("# Notes\nV[a]: 1\n\nV[b]: 2\n")
    tell("import", "notes.txt")
    found = {fact["target"]: fact for fact in tell("facts", "from:import")["facts"]}
    assert [(found[name]["origin"]["file"], found[name]["origin"]["line"]) for name in "ab"] == [
        (str(notes), 2), (str(notes), 4),
    ]  # fmt: skip
    assert f"an import of {notes}, line 4" in ask("fact", found["b"]["uid"]).out


def test_what_is_read_from_a_pipe_has_no_made_up_file(home: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hermes_memory_tui", "--db", str(tmp_path / "m.db"), "import", "-"]
    subprocess.run(command, input=b"V[a]: 1\n", check=True, capture_output=True)
    with Store.open(tmp_path / "m.db", read_only=True) as store:
        origin = store.facts.page(FactFilter()).facts[0].origin
    assert (origin.way, origin.file, origin.line) == (Way.IMPORT, "standard input", 1)


def test_sessions_are_shown_by_title_and_found_by_any_name(sessions: list[str], ask: Ask, tell: Tell) -> None:
    told = ask("sessions").out
    assert "claude-code · shop #1" in told
    assert NAMES[0] not in told
    assert {(one["name"], one["title"], one["number"]) for one in tell("sessions")["sessions"]} == {
        (NAMES[0], "claude-code · shop #1", 1), (NAMES[1], "claude-code · shop #2", 2),
    }  # fmt: skip
    assert "[claude-code · shop #1]" in ask("search", "x").out
    assert "claude-code · shop #2" in ask("log").out
    for name in (*NAMES, "session:0199"):
        assert name not in ask("history", sessions[0]).out + ask("fact", sessions[1]).out.replace(
            f"id       {NAMES[1]}", ""
        )
    for name in (NAMES[0], "0199a", "claude-code · shop #1", "Claude-Code shop 1"):
        assert [turn["session"] for turn in tell("turns", "--session", name)["turns"]] == [NAMES[0]] * 2
    ambiguous = ask("turns", "--session", "claude", "--json")
    assert (ambiguous.code, ambiguous.error["code"]) == (1, "session.ambiguous")
    assert "claude-code · shop #2" in ambiguous.error["message"]
    assert sessions[1] in tell("undo", "--session", "claude-code/shop#2")["changed"]


def test_a_fact_leads_to_the_messages_it_was_written_from(sessions: list[str], ask: Ask, tell: Tell) -> None:
    said = ask("fact", sessions[0]).out
    for part in (
        "session  claude-code · shop #1", f"id       {NAMES[0]}", "client   claude-code 2.1 (as it says)",
        "seen     uid 1000, pid 77, /usr/bin/node (by the bridge)", "2 captured messages", "user: the second",
    ):  # fmt: skip
        assert part in said
    assert "\x1b" not in said
    found = tell("turns", "--fact", sessions[0])["turns"]
    assert [turn["content"].split()[1] for turn in found] == ["first", "second"]
    assert found[0]["session_title"] == "claude-code · shop #1"
    tell("turns", "--purge", "--yes")
    assert "0 captured messages, 2 more erased since" in ask("fact", sessions[0]).out
    assert tell("turns", "--fact", sessions[0])["turns"] == []
    assert ask("turns", "--fact", sessions[0], "--session", "x").code == 1


def test_what_is_older_than_origins_says_so(home: Path, tell: Tell, ask: Ask) -> None:
    uid = tell("write", "V[a]: x")["uid"]
    with Store.open(home / "memory.db") as store, store.db.write_transaction() as conn:
        conn.execute("UPDATE facts SET origin_id = NULL")
    assert "from     unknown" in ask("fact", uid).out
    assert tell("fact", uid)["origin"] == {"way": "unknown"}


def test_a_project_is_renamed_for_people_and_found_by_both_names(sessions: list[str], ask: Ask, tell: Tell) -> None:
    (before,) = tell("projects")["projects"]
    assert (before["name"], before["remotes"]) == ("shop", ["example.org/acme/shop"])
    assert (before["facts"], before["sessions"]) == (3, 2)
    assert tell("projects", "--rename", "shop", "магазин") == {
        "renamed": "shop", "name": "магазин", "uid": before["uid"],
    }  # fmt: skip
    assert "claude-code · магазин #1" in ask("sessions").out
    for name in ("shop", "магазин"):
        assert [fact["target"] for fact in tell("facts", f"in:{name}")["facts"]] == ["n1", "n0", "own"]
    for wrong in ("", "a\u200bb"):
        assert ask("projects", "--rename", "shop", wrong).code == 1
    assert ask("projects", "--rename", "none", "x").code == 1
    assert ask("projects", "--rename", "shop", "x", "--all-themes").code == 1


def test_a_fact_that_was_changed_in_the_file_is_shown_with_a_warning(ask: Ask, db: Path) -> None:
    ask("write", "V[port]: 5432")
    with closing(sqlite3.connect(db)) as conn, conn:
        conn.execute("UPDATE facts SET content = '6666'")
    for words in (["facts"], ["search", "port"], ["export"]):
        answer = ask(*words)
        assert "6666" in answer.out
        assert "1 fact changed behind the memory's back" in answer.out + answer.err
    ask("doctor", "--repair")
    assert "behind" not in ask("facts").err + ask("export").err
