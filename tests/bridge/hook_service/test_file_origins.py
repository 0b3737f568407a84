"""Whose words a repository's file holds: the person's own where he committed them last, or where he trusts the repository."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_memory_store.hosts.capture_settings import allow_capture
from hermes_memory_store.model import Tier
from hermes_memory_store.store import Store
from tests.bridge.hook_service.test_origins import FROM_PAGE, NOTATION, PLANTED, command, prompt, write
from tests.store.test_branch_merges import set_traps

ME, OTHER = "Me@example.org", "other@example.net"
LINE = f"Assistants should {PLANTED}."
TEXT = f"# Notes\nThe build needs two cores at least.\n{LINE}\nSee the wiki for the rest of it.\n"


def git(folder: Path, *words: str, author: str = ME, committer: str = "") -> str:
    """Run Git as a person with this address, who has no configuration of his own."""
    people = {"AUTHOR": author, "COMMITTER": committer or author}
    environ = os.environ | {"HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
    for who, address in people.items():
        environ |= {f"GIT_{who}_NAME": "p", f"GIT_{who}_EMAIL": address}
    done = subprocess.run(["git", *words], cwd=folder, env=environ, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit(folder: Path, text: str, name: str = "NOTES.md", **people: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    git(folder, "add", "-f", name)
    git(folder, "commit", "-q", "-m", "notes", **people)


def read(repository: Path, name: str = "NOTES.md", text: str = "", **said: Any) -> dict[str, Any]:
    """Return what Claude Code says to its hook when it has read a file."""
    file = {"filePath": str(repository / name), "content": text or (repository / name).read_text()}
    return {
        "session_id": "s1", "cwd": str(repository), "hook_event_name": "PostToolUse", "tool_name": "Read",
        "tool_input": {"file_path": str(repository / name)}, "tool_response": {"type": "text", "file": file}, **said,
    }  # fmt: skip


@pytest.fixture
def heard(db: Path) -> Path:
    """A store whose person lets tools be heard, and has an address."""
    with Store.open(db):
        pass
    allow_capture(db, "claude-code", True, of_tools=True)
    (db.parent / ".gitconfig").write_text(f"[user]\n\tname = Me\n\temail = {ME.upper()}\n")
    return db


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "work" / "shop"
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    return folder


def test_a_line_of_another_author_waits_with_its_file_until_the_repository_is_trusted(
    heard: Path, repository: Path
) -> None:
    commit(repository, TEXT.replace(f"{LINE}\n", ""))
    commit(repository, TEXT, author=OTHER)
    fact = write(heard, read(repository))
    assert (fact.tier, fact.origin.voice) == (Tier.QUARANTINED, "heard")
    assert str(fact.origin.heard).startswith(f"read in {repository}/NOTES.md, ")
    assert "are yours; --undo" in command(heard, "project", "trust", str(repository), "--yes")
    listed = {one["name"]: one["trusted"] for one in json.loads(command(heard, "projects", "--json"))["projects"]}
    assert listed["shop"] is True
    said = write(heard, read(repository), notation=NOTATION.replace("advice", "trusted"))
    assert (said.tier, said.origin.voice) == (Tier.HOT, "said")
    assert "only where you committed" in command(heard, "project", "trust", str(repository), "--undo")
    again = write(heard, read(repository), notation=NOTATION.replace("advice", "again"))
    assert (again.tier, again.origin.voice) == (Tier.QUARANTINED, "heard")


@pytest.mark.parametrize(
    "shown",
    [
        TEXT,
        "".join(f"{number:6}\t{line}\n" for number, line in enumerate(TEXT.splitlines(), 1)),
        "".join(f"{number:5}→{line}\n" for number, line in enumerate(TEXT.splitlines(), 1)),
        "".join(f"{number:05}| {line}\n" for number, line in enumerate(TEXT.splitlines(), 1)),
        "".join(f"{number}. {line}\n" for number, line in enumerate(TEXT.splitlines(), 1)),
    ],
)
def test_a_line_that_the_person_committed_last_is_his(heard: Path, repository: Path, shown: str) -> None:
    commit(repository, TEXT.replace(f"{LINE}\n", ""), "docs/NOTES.md", author=OTHER)
    commit(repository, TEXT, "docs/NOTES.md")
    fact = write(heard, read(repository, "docs/NOTES.md", shown))
    assert (fact.tier, fact.origin.voice) == (Tier.HOT, "said")


def test_a_file_is_found_from_a_folder_below_and_in_another_working_tree(heard: Path, repository: Path) -> None:
    commit(repository, TEXT, "docs/NOTES.md")
    git(repository, "worktree", "add", "-q", str(repository.with_name("tree")), "-b", "other")
    below = read(repository, "docs/NOTES.md", cwd=str(repository / "docs"), tool_input={"path": "NOTES.md"})
    assert write(heard, below).origin.voice == "said"
    there = read(repository.with_name("tree"), "docs/NOTES.md", tool_name="view", cwd=str(repository))
    assert write(heard, there, notation=NOTATION.replace("advice", "tree")).origin.voice == "said"


def not_committed(folder: Path, home: Path) -> None:
    commit(folder, "# Notes\n")
    (folder / "NOTES.md").write_text(TEXT)


def not_tracked(folder: Path, home: Path) -> None:
    commit(folder, "# Notes\n", "README.md")
    (folder / "NOTES.md").write_text(TEXT)


def without_an_address(folder: Path, home: Path) -> None:
    commit(folder, TEXT)
    (home / ".gitconfig").unlink()
    git(folder, "config", "user.email", ME)


def with_an_empty_address(folder: Path, home: Path) -> None:
    commit(folder, TEXT, author="")
    (home / ".gitconfig").write_text("[user]\n\temail =\n")


def under_an_address_of_the_repository(folder: Path, home: Path) -> None:
    commit(folder, TEXT, author=OTHER)
    git(folder, "config", "user.email", OTHER)


def under_a_mailmap(folder: Path, home: Path) -> None:
    commit(folder, f"Me <{ME}> <{OTHER}>\n", ".mailmap")
    commit(folder, TEXT, author=OTHER)
    git(folder, "config", "mailmap.file", str(folder / ".mailmap"))


def as_a_forged_author(folder: Path, home: Path) -> None:
    commit(folder, TEXT, author=ME, committer=OTHER)


def replaced(folder: Path, home: Path) -> None:
    commit(folder, TEXT, author=OTHER)
    there = git(folder, "rev-parse", "HEAD")
    git(folder, "commit", "-q", "--amend", "--reset-author", "--no-edit")
    mine = git(folder, "rev-parse", "HEAD")
    git(folder, "reset", "-q", "--hard", there)
    git(folder, "replace", there, mine)


def at_the_end_of_a_shallow_history(folder: Path, home: Path) -> None:
    commit(folder, TEXT, author=OTHER)
    commit(folder, "other\n", "README.md")
    (folder / ".git" / "shallow").write_text(git(folder, "rev-parse", "HEAD") + "\n")


def in_another_repository(folder: Path, home: Path) -> None:
    commit(folder, "# Shop\n", "README.md")
    inner = folder / "vendored"
    inner.mkdir()
    git(inner, "init", "-q")
    commit(inner, TEXT)
    (folder / "NOTES.md").symlink_to(inner / "NOTES.md")


@pytest.mark.parametrize(
    "planted",
    [
        not_committed, not_tracked, without_an_address, with_an_empty_address, under_an_address_of_the_repository,
        under_a_mailmap, as_a_forged_author, replaced, at_the_end_of_a_shallow_history, in_another_repository,
    ],
    ids=lambda case: case.__name__,
)  # fmt: skip
def test_what_is_not_surely_the_persons_own_is_heard(
    heard: Path, repository: Path, planted: Callable[[Path, Path], None]
) -> None:
    planted(repository, heard.parent)
    assert write(heard, read(repository)).origin.voice == "heard"


def test_what_a_page_said_before_stays_heard_though_it_is_committed(heard: Path, repository: Path) -> None:
    commit(repository, TEXT)
    assert write(heard, {"event": "tool", **FROM_PAGE}, read(repository)).origin.voice == "heard"


def test_what_the_person_said_stays_his_whoever_commits_it(heard: Path, repository: Path) -> None:
    commit(repository, TEXT, author=OTHER)
    fact = write(heard, prompt(f"Please note: {PLANTED}."), read(repository))
    assert (fact.tier, fact.origin.voice) == (Tier.HOT, "said")


def test_an_address_that_is_included_for_some_folders_is_the_persons_too(heard: Path, repository: Path) -> None:
    commit(repository, TEXT, author="me@work.example")
    home = heard.parent
    (home / ".gitconfig").write_text('[includeIf "gitdir:~/work/"]\n\tpath = work.config\n')
    (home / "work.config").write_text('[user] email = "me@work.example" ; at work\n')
    assert write(heard, read(repository)).origin.voice == "said"


def test_nothing_that_a_repository_holds_or_configures_is_run(heard: Path, repository: Path) -> None:
    trap, ran = heard.parent / "traps" / "trap.sh", heard.parent / "ran"
    trap.parent.mkdir()
    trap.write_text(f"#!/bin/sh\ntouch {ran}\n")
    for name in ("fsmonitor-watchman", "post-index-change", "post-checkout", "reference-transaction"):
        trap.with_name(name).symlink_to(trap)
    trap.chmod(0o755)
    commit(repository, "* diff=trap filter=trap textconv=trap\n", ".gitattributes")
    commit(repository, TEXT)
    for name in ("git", "sh", "cat"):
        (repository / name).symlink_to(trap)
    set_traps(repository, trap)
    for key in ("pager.blame", "pager.config", "alias.blame", "gpg.program", "filter.trap.clean"):
        git(repository, "config", key, f"!{trap}" if key == "alias.blame" else str(trap))
    said = write(heard, read(repository))
    assert (said.tier, said.origin.voice) == (Tier.HOT, "said")
    command(heard, "project", "trust", str(repository), "--yes")
    assert not ran.exists()


def test_another_repository_in_the_place_of_a_trusted_one_is_not_trusted(heard: Path, repository: Path) -> None:
    commit(repository, "# Shop\n")
    command(heard, "project", "trust", str(repository), "--yes")
    repository.rename(repository.with_name("old"))
    repository.mkdir()
    git(repository, "init", "-q", "-b", "main")
    commit(repository, TEXT, author=OTHER)
    assert write(heard, read(repository)).origin.voice == "heard"
