"""`undo` takes back this person's newest change in this theme, says what, whose and where, and asks where it cannot tell."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_memory_store.store import Store

from .conftest import Ask, Tell

ENTRIES = "\n§\n".join(f"V[port.{number}]: the service {number} listens on {5000 + number}" for number in range(40))


@pytest.fixture
def ports(home: Path, db: Path) -> tuple[int, int]:
    with Store.open(db) as store:
        mine = store.facts.write("default", "V[port]: 5432").seqs[0]
        agent = store.sessions.open("default", "claude-code#1")
        theirs = store.facts.write("default", "V[host]: db1", session=agent).seqs[0]
        store.facts.write("shop", "V[tax]: 19")
    return mine, theirs


def listed(tell: Tell, theme: str = "default") -> set[str]:
    return {fact["notation"] for fact in tell("facts", "--theme", theme)["facts"]}


def test_without_a_terminal_undo_refuses_where_somebody_elses_change_is_newer(
    ask: Ask, tell: Tell, ports: tuple[int, int]
) -> None:
    mine, theirs = ports
    refused = ask("undo")
    assert refused.code == 1
    assert f"change {theirs} by claude-code#1 in theme default: create V[host]: db1" in refused.err
    assert f"change {mine} by you in theme default: create V[port]: 5432" in refused.err
    assert f"--change {mine}" in refused.err
    assert "--leave-conflicts" not in refused.err
    assert "--any" in refused.err
    assert ask("undo", "--json").error["code"] == "undo.conflict"
    assert ask("undo", "--dry-run").code == 1
    assert len(listed(tell)) == 2


def test_any_takes_the_newest_in_the_theme_and_says_what_whose_and_where(
    ask: Ask, tell: Tell, ports: tuple[int, int]
) -> None:
    mine, theirs = ports
    planned = tell("undo", "--any", "--dry-run")
    done = tell("undo", "--any")
    for answer in (planned, done):
        (action,) = answer["actions"]
        assert (action["first"], action["actor"], action["themes"], action["own"], action["said"]) == (
            theirs, "session:claude-code#1", ["default"], False, "create V[host]: db1",
        )  # fmt: skip
    assert listed(tell) == {"V[port]: 5432"}
    shown = ask("undo").out
    assert f"undone: change {mine} by you in theme default: create V[port]: 5432" in shown
    assert listed(tell, "shop") == {"V[tax]: 19"}
    nothing = ask("undo")
    assert nothing.code == 1
    assert "nothing to undo in theme 'default'" in nothing.err
    assert "by you in theme shop: create V[tax]: 19" in nothing.err


def test_several_are_refused_alike_and_any_takes_them_in_order(ask: Ask, tell: Tell, ports: tuple[int, int]) -> None:
    assert ask("undo", "--last", "2").code == 1
    assert [action["first"] for action in tell("undo", "--last", "2", "--any")["actions"]] == [*ports][::-1]
    assert listed(tell) == set()


@pytest.mark.parametrize("other", ["--session", "--change", "--teammate"])
def test_any_goes_with_last_alone(ask: Ask, ports: tuple[int, int], other: str) -> None:
    assert ask("undo", "--any", other, "1").code == 2


def test_what_a_person_wrote_about_themselves_in_a_project_is_their_newest(tell: Tell, home: Path) -> None:
    tell("write", "V[port]: 5432")
    told = tell("write", "C[user.tone]: short answers")
    assert tell("undo")["actions"][0]["themes"] == [told["theme"]]
    assert listed(tell) == {"V[port]: 5432"}


def test_undo_takes_what_optimize_moved_back_as_one_files_included(ask: Ask, tell: Tell, home: Path) -> None:
    file = home / ".hermes" / "memories" / "MEMORY.md"
    file.parent.mkdir(parents=True)
    file.write_text(ENTRIES)
    tell("write", "V[tax]: 19")
    shown = ask("optimize").out
    assert file.read_text() != ENTRIES
    assert shown.splitlines()[-1].startswith("undo: hermes-memory-tui undo --change ")

    assert tell("undo", "--dry-run")["files"] == [str(file)]
    assert file.read_text() != ENTRIES
    done = ask("undo").out

    assert f"{file} is as before the relief" in done
    assert file.read_text() == ENTRIES
    assert listed(tell) == {"V[tax]: 19"}
    assert tell("undo")["files"] == []
    assert listed(tell) == set()


def test_the_undo_that_optimize_names_works_and_leaves_a_file_that_was_changed_since(
    ask: Ask, tell: Tell, home: Path
) -> None:
    file = home / ".hermes" / "memories" / "MEMORY.md"
    file.parent.mkdir(parents=True)
    file.write_text(ENTRIES)
    named = tell("optimize")["undo"].split()[1:]
    relieved = file.read_text()
    file.write_text(f"{relieved}\n§\nwritten since")
    moved = listed(tell)

    refused = ask(*named)
    assert refused.code == 1
    assert "changed since the relief; nothing was taken back" in refused.err
    assert listed(tell) == moved
    assert file.read_text().endswith("written since")

    file.write_text(relieved)
    assert tell(*named)["files"] == [str(file)]
    assert (file.read_text(), listed(tell)) == (ENTRIES, set())
