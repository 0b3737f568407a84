"""Whose a repository without a remote is: one that was moved stays the same, of two that are both there each is its own."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hermes_memory_store.model import FactFilter, Origin, Way
from hermes_memory_store.places.branch_marks import find_reader
from hermes_memory_store.places.place_reading import read_folder_theme
from hermes_memory_store.places.project_sighting import read_project
from hermes_memory_store.store import Store
from tests.store.test_projects import git, make_repository

Move = Callable[[Path, Path], object]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "memory.db") as store:
        yield store


def theme_at(store: Store, folder: Path) -> str:
    return store.place_themes.theme_of(store.projects.trace(read_project(folder)))


def write_at(store: Store, folder: Path, line: str) -> str:
    """Write a fact as a person does in this folder; return its theme."""
    seen = store.projects.trace(read_project(folder))
    theme = store.place_themes.theme_of(seen)
    with store.attribute(store.projects.place(Origin(way=Way.COMMAND_LINE), seen)):
        store.facts.write(theme, line)
    store.projects.note_first_commit(seen)
    return theme


def all_themes(store: Store, folder: Path) -> set[str]:
    """Return the theme of a folder as each way of finding it does, the last of them the one that writes."""
    with Store.open(store.path, read_only=True) as reading:
        themes = {theme_at(reading, folder)}
        asked = read_folder_theme(reading.db.rows, str(folder))
    return themes | ({asked} if asked else set()) | {theme_at(store, folder)}


def copy(source: Path, target: Path) -> None:
    shutil.copytree(source, target, symlinks=True)


def copy_and_delete(source: Path, target: Path) -> None:
    copy(source, target)
    shutil.rmtree(source)


def copy_without_times_and_delete(source: Path, target: Path) -> None:
    subprocess.run(["cp", "-r", source, target], check=True)
    shutil.rmtree(source)


def archive_and_delete(source: Path, target: Path) -> None:
    packed = shutil.make_archive(str(target), "tar", source)
    shutil.rmtree(source)
    target.mkdir()
    subprocess.run(["tar", "-xf", packed, "-C", target], check=True)


def clone_and_delete(source: Path, target: Path) -> None:
    git(source.parent, "clone", "-q", str(source), str(target))
    shutil.rmtree(source)


def clone_bare_and_delete(source: Path, target: Path) -> None:
    git(source.parent, "clone", "-q", "--bare", str(source), str(target))
    git(target, "remote", "remove", "origin")
    shutil.rmtree(source)


@pytest.mark.parametrize(
    "move",
    [
        os.rename,
        copy_and_delete,
        copy_without_times_and_delete,
        archive_and_delete,
        clone_and_delete,
        clone_bare_and_delete,
    ],
)
def test_a_repository_that_was_moved_keeps_its_theme(store: Store, tmp_path: Path, move: Move) -> None:
    place = make_repository(tmp_path / "shop")
    write_at(store, place, "V[a]: b")
    for name in ("moved", "again", "third"):
        if (place / "HEAD").exists():
            move = os.rename
        move(place, tmp_path / name)
        place = tmp_path / name
        assert all_themes(store, place) == {"shop"}
        git(place, "config", "user.name", "somebody else")
    assert store.names.all_themes() == ["shop"], "no empty theme is left"


def test_a_repository_moved_without_a_first_commit_to_find_keeps_its_theme(store: Store, tmp_path: Path) -> None:
    unborn = make_repository(tmp_path / "unborn", commit=False)
    history = make_repository(tmp_path / "history")
    git(history, "commit", "-q", "--allow-empty", "-m", "second")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{history}", "shallow")
    for folder in (unborn, tmp_path / "shallow"):
        theme = write_at(store, folder, "V[a]: b")
        folder.rename(tmp_path / f"{folder.name}-moved")
        assert all_themes(store, tmp_path / f"{folder.name}-moved") == {theme}


SCENARIOS = {
    "repositories below a renamed folder are not taken for each other": """
        make work/template; clone work/template work/one; clone work/template work/two; clone work/template work/three
        write work/one one; write work/two two; write work/three three; move work projects; is projects/template template
        is projects/one one; is projects/two two; is projects/three three; clone projects/template projects/four
        is projects/four four
    """,
    "a copy is another project while the original is there": """
        make shop; write shop shop; copy shop copy; is copy copy; write copy copy; delete shop; is copy copy
    """,
    "of a copy of one of two with one first commit neither is meant": """
        make shop; write shop shop; copy shop copy; write copy copy; delete shop; copy copy third; delete copy; is third third
    """,
    "a new clone of a template is none that was deleted": """
        make template; clone template old; write old old; delete old; clone template new; is new new
    """,
    "a new clone at the path of one that was moved is another project": """
        make template; clone template shop; write shop shop; move shop old; clone template shop; is shop shop-2; is old shop
    """,
    "a repository that came back from a copy stays itself": """
        make shop; write shop shop; carry shop backup; carry backup shop; is shop shop
        carry-plainly shop backup; carry-plainly backup shop; is shop shop
    """,
    "another remote at the path of a repository is another project": """
        make shop https://example.org/a/shop; write shop shop; delete shop; make shop https://example.org/b/bank; is shop bank
    """,
    "a symbolic link leads to the same project": """
        make shop; write shop shop; link link shop; is link shop; move shop moved; link shop moved; is shop shop
    """,
    "a sibling that is seen first after a move is not taken for the one that was known": """
        make work/template; clone work/template work/one; clone work/template work/two; write work/one one
        move work projects; is projects/two two; is projects/one one
    """,
    "nor is one whose remote was removed": """
        make work/template; clone work/template work/one; clone work/template work/two; git work/one remote remove origin
        git work/two remote remove origin; write work/one one; move work projects; is projects/two two; is projects/one one
    """,
    "a clone whose remote was removed stays in its project when another clone is seen": """
        make origin; clone origin one; clone origin two; clone origin three
        git one remote set-url origin https://example.org/acme/shop; git two remote set-url origin https://example.org/acme/shop
        git three remote set-url origin https://example.org/acme/shop; write one shop; write two shop
        git two remote remove origin; is two shop; find three shop; is two shop; projects shop
    """,
    "a remote that is added joins the clone that has it": """
        make shop; write shop shop; clone shop clone; find clone clone; git shop remote add origin git@example.org:acme/shop
        git clone remote set-url origin https://example.org/acme/shop; is shop shop; find clone shop
    """,
}
"""Steps: `write` and `is` name a folder and the theme that it has, the second by each way of finding it."""


@pytest.mark.parametrize("title", SCENARIOS)
def test_whose_a_repository_is(store: Store, tmp_path: Path, title: str) -> None:
    for number, step in enumerate(SCENARIOS[title].replace("\n", ";").split(";")):
        if step.strip():
            take_step(store, tmp_path, number, *step.split())


def take_step(store: Store, home: Path, number: int, verb: str, name: str, *words: str) -> None:
    folder, other = home / name, home / (words[0] if words else "")
    match verb:
        case "make":
            make_repository(folder, *words)
        case "write":
            assert write_at(store, folder, f"V[a]: {number}") == words[0]
        case "is":
            assert all_themes(store, folder) == {words[0]}
        case "find":
            assert theme_at(store, folder) == words[0]
        case "projects":
            assert [one.project.name for one in store.projects.list()] == [name, *words]
        case "clone":
            git(home, "clone", "-q", str(folder), str(other))
        case "git":
            git(folder, *words)
        case "delete":
            shutil.rmtree(folder)
        case "link":
            folder.symlink_to(other)
        case _:
            {"move": os.rename, "copy": copy, "carry": copy_and_delete, "carry-plainly": copy_without_times_and_delete}[
                verb
            ](folder, other)


@pytest.mark.parametrize("keeps_remote", [True, False])
@pytest.mark.parametrize("packed", [True, False])
def test_clones_of_one_template_are_given_nothing_of_each_other(
    store: Store, tmp_path: Path, keeps_remote: bool, packed: bool
) -> None:
    template = make_repository(tmp_path / "template")
    for name in ("one", "two", "three"):
        git(tmp_path, "clone", "-q", str(template), name)
        if not keeps_remote:
            git(tmp_path / name, "remote", "remove", "origin")
        if packed:
            git(tmp_path / name, "gc", "-q")
        assert write_at(store, tmp_path / name, f"V[a]: {name}") == name
    for name in ("one", "two", "three"):
        assert all_themes(store, tmp_path / name) == {name}
        assert [one.name for one in store.place_themes.readable(name)] == [name, "default", "personal"]


def test_repositories_whose_names_are_no_text_are_told_apart_and_read(store: Store, tmp_path: Path) -> None:
    write_at(store, make_repository(tmp_path / "first"), "V[a]: b")
    odd = Path(os.fsdecode(os.fsencode(tmp_path / "odd") + b"\xff"))
    theme = write_at(store, make_repository(odd), "V[a]: c")
    copy(odd, tmp_path / "copy")
    assert all_themes(store, tmp_path / "copy") == {"copy"}
    copy(tmp_path / "first", odd.with_name(f"{odd.name}-new"))
    assert all_themes(store, odd.with_name(f"{odd.name}-new")) == {f"{theme}-new"}
    assert all_themes(store, odd) == {theme}
    assert find_reader(store.db.rows, str(odd)).branch == read_project(odd).branch


@pytest.mark.parametrize("commit", [True, False])
def test_another_repository_at_the_path_of_one_that_was_moved_is_another_project(
    store: Store, tmp_path: Path, commit: bool
) -> None:
    shop = make_repository(tmp_path / "shop")
    write_at(store, shop, "V[a]: b")
    shop.rename(tmp_path / "old")
    make_repository(shop, commit=False)
    if commit:
        git(shop, "commit", "-q", "--allow-empty", "-m", "the first of another one")
    else:
        assert read_folder_theme(store.db.rows, str(shop)) == ""
    assert all_themes(store, shop) == {"shop-2"}
    assert all_themes(store, tmp_path / "old") == {"shop"}
    assert all_themes(store, shop) == {"shop-2"}


def test_worktrees_follow_a_repository_that_was_moved(store: Store, tmp_path: Path) -> None:
    git(make_repository(tmp_path / "seed").parent, "clone", "-q", "--bare", "seed", "bare")
    git(tmp_path / "bare", "remote", "remove", "origin")
    git(tmp_path / "bare", "worktree", "add", "-q", str(tmp_path / "one"), "main")
    assert write_at(store, tmp_path / "one", "V[a]: b") == "one"
    (tmp_path / "bare").rename(tmp_path / "moved")
    assert all_themes(store, tmp_path / "one") == {"one"}, "its pointer leads nowhere now"
    git(tmp_path / "moved", "worktree", "repair", str(tmp_path / "one"))
    git(tmp_path / "moved", "worktree", "add", "-q", "-b", "next", str(tmp_path / "two"))
    for name in ("one", "two", "moved"):
        assert all_themes(store, tmp_path / name) == {"one"}


def test_a_repository_of_sha256_is_followed_like_any_other(store: Store, tmp_path: Path) -> None:
    shop = tmp_path / "shop"
    shop.mkdir()
    git(shop, "init", "-q", "--object-format=sha256")
    git(shop, "commit", "-q", "--allow-empty", "-m", "one")
    write_at(store, shop, "V[a]: b")
    copy_and_delete(shop, tmp_path / "moved")
    assert all_themes(store, tmp_path / "moved") == {"shop"}


def test_a_folder_in_no_repository_belongs_to_the_nearest_one_above_that_has_a_theme(
    store: Store, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    (notes / "2026" / "may").mkdir(parents=True)
    assert write_at(store, notes, "V[a]: b") == "notes"
    assert all_themes(store, notes / "2026" / "may") == {"notes"}
    repository = make_repository(notes / "code")
    assert all_themes(store, repository) == {"code"}
    assert all_themes(store, tmp_path) == {tmp_path.name.replace("_", "-").lower()}
    assert all_themes(store, notes / "2026") == {"notes"}


def make_mixed(store: Store, tmp_path: Path) -> tuple[Path, Path]:
    """Let a store hold two repositories as one project, with facts of both in one theme, as 0.4.0 left it."""
    one, two = make_repository(tmp_path / "one"), tmp_path / "two"
    copy(one, two)
    write_at(store, one, "V[a]: of one")
    assert write_at(store, two, "V[b]: of two") == "two"
    with closing(sqlite3.connect(store.path)) as conn, conn:
        keys = dict(conn.execute("SELECT name, id FROM projects"))
        conn.execute("DELETE FROM project_aliases WHERE kind IN ('mark', 'twin')")
        conn.execute("UPDATE projects SET joined_id = ? WHERE id = ?", (keys["one"], keys["two"]))
        conn.execute("UPDATE project_aliases SET project_id = ?", (keys["one"],))
    with (
        Store.open(store.path) as older,
        older.attribute(Origin(way=Way.TOOL, project="one", root=str(two), folder=".")),
    ):
        older.facts.write("one", "V[c]: of two")
    return one, two


@pytest.mark.parametrize("first", ["one", "two"])
def test_two_repositories_that_were_one_project_are_told_apart(store: Store, tmp_path: Path, first: str) -> None:
    make_mixed(store, tmp_path)
    with Store.open(store.path) as store:
        for name in (first, "one", "two"):
            assert theme_at(store, tmp_path / name) == name
            assert [one.name for one in store.place_themes.readable(name)] == [name, "default", "personal"]
            assert store.theme_split.count_strays(name) == {"one": 1}
        plan = store.theme_split.plan("one")
        assert [(group.theme, [move.notation for move in group.moves]) for group in plan.groups] == [
            ("two", ["V[c]: of two"])
        ]
        store.theme_split.split(plan)
        told = {one.content for one in store.facts.page(FactFilter(theme="two")).facts}
        assert told == {"of two"}
        assert {one.origin.project for one in store.facts.page(FactFilter(theme="two")).facts} == {"two"}
        assert not store.theme_split.plan("one").groups
        assert store.theme_split.count_strays("one") == store.theme_split.count_strays("two") == {}
        store.undo.last()
        assert len(store.facts.page(FactFilter(theme="one")).facts) == 2
