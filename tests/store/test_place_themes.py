"""Themes of places: each project its own, `default` until a store's person has chosen, and what an agent reads of others."""

from __future__ import annotations

import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hermes_memory_store.errors import UndoConflict
from hermes_memory_store.model import FactFilter, Origin, Way
from hermes_memory_store.places.project_sighting import read_project
from hermes_memory_store.projects.place_themes import Places, Relation
from hermes_memory_store.relief.file_relief import relieve_files
from hermes_memory_store.store import Store
from hermes_memory_themes import Policies

Repository = Callable[[str], Path]


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """Make a repository of some name."""

    def make(name: str) -> Path:
        folder = tmp_path / "work" / name
        folder.mkdir(parents=True)
        subprocess.run(["git", "init", "-q", str(folder)], check=True)
        return folder

    return make


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "memory.db", policies=Policies(tmp_path / "memory-themes.toml")) as store:
        yield store


def theme_at(store: Store, folder: Path) -> str:
    return store.place_themes.theme_of(read_project(folder))


def write_at(store: Store, folder: Path, line: str, theme: str = "default") -> None:
    with store.attribute(store.projects.locate(Origin(way=Way.TOOL), folder)):
        store.facts.write(theme, line)


def make_older(path: Path) -> None:
    """Let a store be one that was there before projects had themes."""
    with closing(sqlite3.connect(path)) as conn, conn:
        conn.execute("UPDATE place_choice SET places = 'default', chosen_at = NULL")


def test_each_project_of_a_new_store_has_a_theme_of_its_own(store: Store, repository: Repository) -> None:
    shop, bank = repository("shop"), repository("bank")
    (shop / "src").mkdir()
    assert theme_at(store, shop) == theme_at(store, shop / "src") == "shop"
    assert theme_at(store, bank) == "bank"
    assert store.place_themes.project_of("shop") == "shop"


def test_no_folder_the_root_and_the_home_are_no_project(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert store.place_themes.theme_of(None) == "default"
    assert theme_at(store, Path("/")) == theme_at(store, tmp_path) == "default"


@pytest.mark.parametrize("name", ["worker-3", "test-x", "user-api", "bench", "cron-1", "support-dm"])
def test_the_theme_of_a_project_has_no_other_kinds_policy(
    store: Store, repository: Repository, name: str, tmp_path: Path
) -> None:
    kinds = "\n".join(f"[kinds.{kind}]\nretention_days = 1" for kind in ("worker", "user", "bench"))
    (tmp_path / "memory-themes.toml").write_text(kinds)
    store.policies.reload()
    assert store.policies.for_theme(name).retention_days == 1
    assert theme_at(store, repository(name)) == name
    assert store.policies.for_theme(name).retention_days == 7


@pytest.mark.parametrize(
    ("name", "theme"),
    [
        ("日本", "project"),
        ("default", "default-2"),
        ("personal", "personal-2"),
        ("Shop_API v2", "shop-api-v2"),
        ("x" * 90, "x" * 64),
    ],
)
def test_a_project_whose_name_cannot_be_a_theme_gets_one_that_can(
    store: Store, repository: Repository, name: str, theme: str
) -> None:
    assert theme_at(store, repository(name)) == theme


def test_a_theme_that_is_there_is_never_that_of_a_new_project(store: Store, repository: Repository) -> None:
    store.facts.write("shop", "V[till]: 3")
    assert theme_at(store, repository("shop")) == "shop-2"


def test_a_store_that_was_there_keeps_default_until_its_person_chooses(tmp_path: Path, repository: Repository) -> None:
    path, shop = tmp_path / "older.db", repository("shop")
    Store.open(path).close()
    make_older(path)
    with Store.open(path) as store:
        assert theme_at(store, shop) == "default"
        assert store.place_themes.is_undecided
        assert [one.relation for one in store.place_themes.readable("default")] == [Relation.OWN]
        (seq,) = store.place_themes.adopt()
        assert theme_at(store, shop) == "shop"
        assert not store.place_themes.is_undecided
        assert store.place_themes.adopt() == ()
        store.undo.change(seq)
        assert store.place_themes.choice is Places.DEFAULT
        assert store.place_themes.is_undecided
        assert theme_at(store, shop) == "default"
        store.undo.redo()
        assert theme_at(store, shop) == "shop"


def test_an_older_choice_is_not_undone_beneath_a_newer_one(tmp_path: Path) -> None:
    path = tmp_path / "older.db"
    Store.open(path).close()
    make_older(path)
    with Store.open(path) as store:
        (kept,) = store.place_themes.keep_default()
        assert not store.place_themes.is_undecided
        store.place_themes.adopt()
        with pytest.raises(UndoConflict, match="undo that first"):
            store.undo.change(kept)
        store.undo.last(2)
        assert store.place_themes.is_undecided


def test_the_switch_in_the_policies_turns_projects_off(store: Store, repository: Repository, tmp_path: Path) -> None:
    (tmp_path / "memory-themes.toml").write_text("projects = false\n")
    store.policies.reload()
    assert theme_at(store, repository("shop")) == "default"
    assert [one.name for one in store.place_themes.readable("shop")] == ["shop"]


def test_a_project_reads_what_default_says_of_it_and_not_of_others(store: Store, repository: Repository) -> None:
    shop, bank = repository("shop"), repository("bank")
    write_at(store, shop, "D[db]: Postgres")
    write_at(store, bank, "D[ledger]: double entry")
    store.facts.write("default", "C[style]: short names")
    for theme, others in ((theme_at(store, shop), "db"), (theme_at(store, bank), "ledger")):
        _, inherited, _ = store.place_themes.readable(theme)
        assert {fact.target for fact in store.facts.page(inherited.filter).facts} == {others, "style"}


@pytest.mark.parametrize(
    ("before", "after", "given"),
    [
        ("D[db]: Postgres", "D[db]: SQLite", False),
        ("D[db]: Postgres", "~[db]: none any more", False),
        ("?[db]: which", "D[db]: SQLite", False),
        ("D[db]: Postgres", "V[db]: 5432", True),
    ],
)
def test_what_a_project_says_otherwise_is_not_inherited(
    store: Store, repository: Repository, before: str, after: str, given: bool
) -> None:
    shop = repository("shop")
    write_at(store, shop, before)
    theme = theme_at(store, shop)
    write_at(store, shop, after, theme)
    _, inherited, _ = store.place_themes.readable(theme)
    assert bool(store.facts.page(inherited.filter).facts) is given
    assert bool(store.search.find(None, "db type:C type:D type:? tier:hot").facts)


def test_projects_that_turn_out_to_be_one_keep_both_themes_readable(store: Store, repository: Repository) -> None:
    clone, other = repository("shop"), repository("elsewhere")
    subprocess.run(["git", "-C", str(clone), "remote", "add", "origin", "git@github.com:acme/shop.git"], check=True)
    first, second = theme_at(store, clone), theme_at(store, other)
    assert first != second
    subprocess.run(["git", "-C", str(other), "remote", "add", "origin", "https://github.com/acme/shop"], check=True)
    assert theme_at(store, other) == first
    assert [(one.name, one.relation.value) for one in store.place_themes.readable(first)] == [
        (first, "own"),
        (second, "joined"),
        ("default", "inherited"),
        ("personal", "personal"),
    ]


def test_a_worktree_and_a_first_remote_keep_the_theme(store: Store, repository: Repository, tmp_path: Path) -> None:
    shop = repository("shop")
    theme = theme_at(store, shop)
    git = ["git", "-C", str(shop), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    subprocess.run([*git, "worktree", "add", "-q", str(tmp_path / "tree")], check=True)
    assert theme_at(store, tmp_path / "tree") == theme
    subprocess.run([*git, "remote", "add", "origin", "git@github.com:acme/other.git"], check=True)
    assert theme_at(store, shop) == theme_at(store, tmp_path / "tree") == theme


def test_a_sealed_agent_reads_no_theme_but_its_own(store: Store, repository: Repository) -> None:
    theme = theme_at(store, repository("shop"))
    assert [one.name for one in store.place_themes.readable(theme, sealed=True, personal=False)] == [theme]
    assert [one.name for one in store.place_themes.readable(theme, sealed=True)] == [theme, "personal"]


def test_a_reader_names_the_theme_that_a_new_project_would_have(
    store: Store, repository: Repository, tmp_path: Path
) -> None:
    shop = repository("shop")
    with Store.open(tmp_path / "memory.db", read_only=True) as reader:
        assert theme_at(reader, shop) == "shop"
        assert reader.place_themes.project_of("shop") is None


def test_user_md_of_a_projects_host_is_the_persons_own(store: Store, repository: Repository, tmp_path: Path) -> None:
    theme, memories = theme_at(store, repository("shop")), tmp_path / "host" / "memories"
    memories.mkdir(parents=True)
    (memories / "MEMORY.md").write_text("D[db]: Postgres")
    (memories / "USER.md").write_text("V[editor]: vim")
    relieve_files(store, theme, home=tmp_path / "host", threshold_pct=0)
    found = {fact.target: fact.theme for fact in store.facts.page(FactFilter()).facts}
    assert found == {"db": theme, "editor": "personal"}
