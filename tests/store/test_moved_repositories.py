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


def test_repositories_below_a_renamed_folder_are_not_taken_for_each_other(store: Store, tmp_path: Path) -> None:
    template = make_repository(tmp_path / "work" / "template")
    names = ["one", "two", "three"]
    for name in names:
        git(tmp_path / "work", "clone", "-q", str(template), name)
        assert write_at(store, tmp_path / "work" / name, f"V[a]: {name}") == name
    (tmp_path / "work").rename(tmp_path / "projects")
    assert all_themes(store, tmp_path / "projects" / "template") == {"template"}, "nobody had seen it before"
    for name in names:
        assert all_themes(store, tmp_path / "projects" / name) == {name}
    git(tmp_path / "projects", "clone", "-q", "template", "four")
    assert all_themes(store, tmp_path / "projects" / "four") == {"four"}


@pytest.mark.parametrize("keeps_remote", [True, False])
def test_a_sibling_that_is_seen_first_after_a_move_is_not_taken_for_the_one_that_was_known(
    store: Store, tmp_path: Path, keeps_remote: bool
) -> None:
    template = make_repository(tmp_path / "work" / "template")
    for name in ("one", "two"):
        git(tmp_path / "work", "clone", "-q", str(template), name)
        if not keeps_remote:
            git(tmp_path / "work" / name, "remote", "remove", "origin")
    write_at(store, tmp_path / "work" / "one", "V[a]: b")
    (tmp_path / "work").rename(tmp_path / "projects")
    assert all_themes(store, tmp_path / "projects" / "two") == {"two"}
    assert all_themes(store, tmp_path / "projects" / "one") == {"one"}


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


def test_a_copy_is_another_project_while_the_original_is_there(store: Store, tmp_path: Path) -> None:
    shop = make_repository(tmp_path / "shop")
    write_at(store, shop, "V[a]: b")
    copy(shop, tmp_path / "copy")
    assert all_themes(store, tmp_path / "copy") == {"copy"}
    write_at(store, tmp_path / "copy", "V[a]: c")
    shutil.rmtree(shop)
    assert all_themes(store, tmp_path / "copy") == {"copy"}
    copy(tmp_path / "copy", tmp_path / "third")
    shutil.rmtree(tmp_path / "copy")
    assert all_themes(store, tmp_path / "third") == {"third"}, "two have that first commit, so neither is meant"


def test_a_new_clone_of_a_template_is_none_that_was_deleted(store: Store, tmp_path: Path) -> None:
    template = make_repository(tmp_path / "template")
    git(tmp_path, "clone", "-q", str(template), "old")
    write_at(store, tmp_path / "old", "V[a]: b")
    shutil.rmtree(tmp_path / "old")
    git(tmp_path, "clone", "-q", str(template), "new")
    assert all_themes(store, tmp_path / "new") == {"new"}


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


def test_a_new_clone_at_the_path_of_one_that_was_moved_is_another_project(store: Store, tmp_path: Path) -> None:
    template = make_repository(tmp_path / "template")
    git(tmp_path, "clone", "-q", str(template), "shop")
    write_at(store, tmp_path / "shop", "V[a]: b")
    (tmp_path / "shop").rename(tmp_path / "old")
    git(tmp_path, "clone", "-q", str(template), "shop")
    assert all_themes(store, tmp_path / "shop") == {"shop-2"}
    assert all_themes(store, tmp_path / "old") == {"shop"}


def test_a_repository_that_came_back_from_a_copy_stays_itself(store: Store, tmp_path: Path) -> None:
    shop = make_repository(tmp_path / "shop")
    write_at(store, shop, "V[a]: b")
    for way in (copy_and_delete, copy_without_times_and_delete):
        way(shop, tmp_path / "backup")
        way(tmp_path / "backup", shop)
        assert all_themes(store, shop) == {"shop"}


def test_another_remote_at_the_path_of_a_repository_is_another_project(store: Store, tmp_path: Path) -> None:
    shop = make_repository(tmp_path / "shop", "https://example.org/a/shop")
    write_at(store, shop, "V[a]: b")
    shutil.rmtree(shop)
    make_repository(shop, "https://example.org/b/bank")
    assert all_themes(store, shop) == {"bank"}


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


def test_a_remote_that_is_added_joins_the_clone_that_has_it(store: Store, tmp_path: Path) -> None:
    shop = make_repository(tmp_path / "shop")
    write_at(store, shop, "V[a]: b")
    git(tmp_path, "clone", "-q", str(shop), "clone")
    assert theme_at(store, tmp_path / "clone") == "clone"
    git(shop, "remote", "add", "origin", "git@example.org:acme/shop")
    git(tmp_path / "clone", "remote", "set-url", "origin", "https://example.org/acme/shop")
    assert all_themes(store, shop) == {"shop"}
    assert theme_at(store, tmp_path / "clone") == "shop"


def test_a_repository_of_sha256_is_followed_like_any_other(store: Store, tmp_path: Path) -> None:
    shop = tmp_path / "shop"
    shop.mkdir()
    git(shop, "init", "-q", "--object-format=sha256")
    git(shop, "commit", "-q", "--allow-empty", "-m", "one")
    write_at(store, shop, "V[a]: b")
    copy_and_delete(shop, tmp_path / "moved")
    assert all_themes(store, tmp_path / "moved") == {"shop"}


def test_a_symbolic_link_leads_to_the_same_project(store: Store, tmp_path: Path) -> None:
    shop = make_repository(tmp_path / "shop")
    write_at(store, shop, "V[a]: b")
    (tmp_path / "link").symlink_to(shop)
    assert all_themes(store, tmp_path / "link") == {"shop"}
    shop.rename(tmp_path / "moved")
    shop.symlink_to(tmp_path / "moved")
    assert all_themes(store, shop) == {"shop"}


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


def test_a_clone_whose_remote_was_removed_stays_in_its_project_when_another_clone_is_seen(
    store: Store, tmp_path: Path
) -> None:
    origin = make_repository(tmp_path / "origin")
    for name in ("one", "two", "three"):
        git(tmp_path, "clone", "-q", str(origin), name)
        git(tmp_path / name, "remote", "set-url", "origin", "https://example.org/acme/shop")
    write_at(store, tmp_path / "one", "V[a]: b")
    write_at(store, tmp_path / "two", "V[b]: c")
    git(tmp_path / "two", "remote", "remove", "origin")
    assert all_themes(store, tmp_path / "two") == {"shop"}
    assert theme_at(store, tmp_path / "three") == "shop"
    assert all_themes(store, tmp_path / "two") == {"shop"}
    assert [one.project.name for one in store.projects.list()] == ["shop"]


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
