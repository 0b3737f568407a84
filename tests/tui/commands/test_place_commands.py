"""The command line takes the theme of the folder's project, says so, and chooses, splits and moves with a plan first."""

from __future__ import annotations

import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from tests.tui.commands.conftest import Ask, Tell


@pytest.fixture
def shop(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = home / "shop"
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def older(db: Path, tell: Tell, shop: Path) -> Path:
    """A store that was there before projects had themes, with a fact of the shop."""
    tell("themes") if db.exists() else tell("write", "V[first]: 1", "--theme", "other")
    with closing(sqlite3.connect(db)) as conn, conn:
        conn.execute("UPDATE place_choice SET places = 'default', chosen_at = NULL")
    tell("write", "D[db]: Postgres")
    return db


def test_a_command_says_which_project_it_took_and_only_then(ask: Ask, shop: Path) -> None:
    answer = ask("write", "D[db]: Postgres")
    assert answer.code == 0
    assert answer.err.splitlines()[-1] == "project shop"
    assert ask("search", "postgres").err == "project shop\n"
    assert "project" not in ask("search", "postgres", "--json").err
    assert ask("search", "postgres", "--theme", "shop").err == ""
    assert ask("search", "postgres", "--theme", "shop").out


def test_the_environment_wins_over_the_folder(
    ask: Ask, tell: Tell, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HERMES_MEMORY_THEME", "marketing")
    tell("write", "D[db]: Postgres")
    assert tell("status")["theme"] == "marketing"


def test_an_older_store_is_chosen_for_split_and_undone(ask: Ask, tell: Tell, older: Path) -> None:
    said = ask("status")
    assert "theme adopt" in said.out
    assert tell("status")["undecided"] is True
    plan = tell("theme", "adopt", "--dry-run")
    assert plan["projects"] == [{"project": "shop", "theme": "shop-2" if plan["unplaced"] else "shop", "facts": 1}]
    assert ask("theme", "adopt").code == 2, "nobody can be asked here"
    (seq,) = tell("theme", "adopt", "--yes")["changes"]
    assert tell("status")["theme"] == "shop"
    assert "D[db]: Postgres" in tell("status")["text"]
    assert tell("search", "postgres")["total"] == 1
    split = tell("theme", "split", "--yes")
    assert [group["theme"] for group in split["groups"]] == ["shop"]
    assert [fact["theme"] for fact in tell("search", "postgres")["facts"]] == ["shop"]
    tell("undo", "--change", str(split["change"]))
    assert [fact["theme"] for fact in tell("search", "postgres")["facts"]] == ["default"]
    tell("undo", "--change", str(seq))
    assert tell("status")["theme"] == "default"
    tell("theme", "adopt", "--keep-default")
    assert tell("status")["undecided"] is False


def test_a_fact_is_moved_to_the_personal_theme_by_hand(tell: Tell, shop: Path) -> None:
    uid = tell("write", "V[editor]: vim")["uid"]
    assert tell("theme", "move", uid, "--to", "personal")["theme"] == "personal"
    assert [fact["theme"] for fact in tell("search", "vim")["facts"]] == ["personal"]
    assert "V[editor]: vim" in tell("status")["text"]
