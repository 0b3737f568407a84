"""Which memory a folder has on the command line, and what is said where it has none."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hermes_memory_store.places.project_sighting import read_project
from hermes_memory_store.store import Store
from tests.processes import PATIENCE_S
from tests.store.test_projects import make_repository
from tests.tui.commands.conftest import Ask, Tell


def test_an_empty_answer_says_which_other_themes_have_facts(
    ask: Ask, tell: Tell, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("shop", "bank"):
        monkeypatch.chdir(make_repository(home / name))
        tell("write", f"V[{name}.port]: 1")
    tell("write", "V[x]: 1", "--theme", "ops")
    tell("write", "V[y]: 1", "--theme", "ops")
    monkeypatch.chdir(make_repository(home / "empty"))
    others = "other themes have facts: ops (2), bank (1), shop (1)"
    assert others in ask("facts").err
    assert others in ask("search", "port").err
    assert others in ask("status").out
    assert tell("status")["other_themes"] == {"ops": 2, "bank": 1, "shop": 1}
    assert others in tell("facts")["note"]
    assert "other themes" not in ask("facts", "--all-themes", "nowhere").err
    monkeypatch.chdir(home / "shop")
    assert "other themes" not in ask("status").out
    assert "other themes" not in ask("facts").err


@pytest.mark.parametrize("way", ["moved", "copied"])
def test_a_moved_repository_is_recognised_although_no_agent_was_ever_there(
    ask: Ask, tell: Tell, home: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    shop = make_repository(home / "shop")
    monkeypatch.chdir(shop)
    tell("write", "V[port]: 1")
    monkeypatch.chdir(home)
    if way == "copied":
        shutil.copytree(shop, home / way)
        shutil.rmtree(shop)
    else:
        shop.rename(home / way)
    monkeypatch.chdir(home / way)
    assert tell("status")["theme"] == "shop"
    assert tell("facts")["total"] == 1
    tell("write", "V[host]: a")
    assert [one["name"] for one in tell("themes")["themes"]] == ["shop"]
    assert [one["name"] for one in tell("projects")["projects"]] == ["shop"]


def test_what_is_written_at_home_belongs_to_no_project(
    ask: Ask, tell: Tell, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    assert tell("write", "V[port]: 1")["theme"] == "default"
    assert tell("projects")["projects"] == []
    (home / "notes" / "may").mkdir(parents=True)
    monkeypatch.chdir(home / "notes")
    assert "V[port]: 1" in ask("facts").out, "what was written in no project is read everywhere"
    tell("write", "V[host]: a")
    monkeypatch.chdir(home / "notes" / "may")
    assert tell("status")["theme"] == "notes"
    assert tell("facts")["total"] == 2


def test_a_person_says_that_a_copy_and_its_original_are_one(
    ask: Ask, tell: Tell, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = make_repository(home / "shop")
    monkeypatch.chdir(shop)
    tell("write", "V[port]: 1")
    shutil.copytree(shop, home / "copy")
    monkeypatch.chdir(home / "copy")
    tell("write", "V[host]: a")
    assert tell("facts")["total"] == 1
    status = ask("status").out
    assert "shop has the same first commit; if it is the same project: hermes-memory-tui projects --join copy shop" in (
        status
    )
    assert tell("status")["twins"] == ["shop"]
    assert tell("projects", "--join", "copy", "shop")["name"] == "shop"
    for folder in (shop, home / "copy"):
        monkeypatch.chdir(folder)
        assert tell("facts")["total"] == 2
        assert tell("status")["theme"] == "shop"
        assert tell("status")["twins"] == []
    assert ask("projects", "--join", "copy", "shop").code == 1
    assert ask("projects", "--join", "nothing", "shop").code == 1


def test_a_repository_is_trusted_after_a_question_and_until_that_is_undone(
    ask: Ask, tell: Tell, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = make_repository(home / "shop")
    monkeypatch.chdir(shop)
    tell("write", "V[port]: 1")

    def is_trusted() -> bool:
        return bool(tell("projects")["projects"][0]["trusted"])

    assert ask("project", "trust").code == 2, "nobody answers"
    assert not is_trusted()
    assert tell("projects", "trust", "--yes")["trusted"] is True
    assert is_trusted()
    assert ask("project", "trust").code == 0, "it was asked once"
    shop.rename(home / "moved")
    make_repository(shop)
    assert tell("project", "trust", str(shop), "--undo")["trusted"] is False, "another repository"
    assert is_trusted()
    assert tell("project", "trust", str(home / "moved"), "--undo")["name"] == "shop"
    assert not is_trusted()
    assert ask("project", "trust", str(home), "--yes").code == 1, "no repository"
    assert ask("project", "trust", "nowhere", "--yes").code == 2


def test_the_question_about_trust_is_answered_with_no_by_default(home: Path, db: Path) -> None:
    shop = make_repository(home / "shop")
    with Store.open(db):
        pass
    words = [sys.executable, "-m", "hermes_memory_tui", "--db", str(db), "project", "trust", str(shop)]
    ours, theirs = pty.openpty()
    os.write(ours, b"\n")
    asked = subprocess.run(words, stdin=theirs, stdout=theirs, stderr=theirs, check=False, timeout=PATIENCE_S)
    shown = os.read(ours, 4_096).decode()
    os.close(ours), os.close(theirs)
    assert asked.returncode == 130
    assert f"Shall the words of whoever commits to {shop} count as yours? [y/N]" in " ".join(shown.split())
    with Store.open(db, read_only=True) as store:
        assert not store.projects.is_trusted(read_project(shop))
