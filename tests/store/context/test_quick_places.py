"""The quick reader gives what the context block gives, in every place: projects, what they inherit, the person's, branches."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hermes_memory_store.context.hot_context import HotContext, read_hot_context
from hermes_memory_store.model import Origin, Way
from hermes_memory_store.places.project_sighting import read_project
from hermes_memory_store.store import Store
from tests.store.test_branch_merges import commit, git, make_shop
from tests.store.test_place_themes import make_older

LONG_AFTER_MS = 4_000_000_000_000
"""Later than the files of any repository that a test makes."""


def read(store: Store, folder: Path) -> HotContext:
    found = read_hot_context(str(store.path), str(folder), environ={"HERMES_HOME": str(store.path.parent)})
    assert found is not None
    return found


def write_at(store: Store, folder: Path, line: str, theme: str = "") -> None:
    with store.attribute(store.projects.locate(Origin(way=Way.TOOL), folder)):
        store.facts.write(theme or store.place_themes.theme_of(read_project(folder)), line)


def lines_of_block(store: Store, folder: Path) -> list[str]:
    """What the context block gives an agent in that folder."""
    theme = store.place_themes.theme_of(read_project(folder))
    with store.attribute(store.projects.locate(Origin(way=Way.TOOL), folder)):
        text = store.context.status(theme, record=False).text
    return [line for line in text.splitlines() if line[1:2] == "[" and "t]" not in line]


def test_each_project_is_given_its_own_facts(store: Store, tmp_path: Path) -> None:
    shop, bank = tmp_path / "shop", tmp_path / "bank"
    for folder in (shop, bank):
        folder.mkdir()
        git(folder, "init", "-q", "-b", "main")
        write_at(store, folder, f"D[db]: of {folder.name}")
    (shop / "src").mkdir()
    assert read(store, shop).text_lines == read(store, shop / "src").text_lines == ["D[db]: of shop"]
    assert read(store, bank).theme == "bank"
    assert read(store, tmp_path).text_lines == []


def test_a_new_project_is_given_what_default_says_of_no_known_place(store: Store, tmp_path: Path) -> None:
    store.facts.write("default", "C[tests]: before each commit")
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    git(fresh, "init", "-q")
    assert read(store, fresh).text_lines == ["C[tests]: before each commit"]
    assert read(store, fresh).theme == ""


def test_a_store_whose_person_has_not_chosen_has_one_theme(store: Store, tmp_path: Path) -> None:
    make_older(store.path)
    store.facts.write("default", "C[tests]: before each commit")
    shop = tmp_path / "shop"
    shop.mkdir()
    git(shop, "init", "-q")
    assert read(store, shop).theme == "default"


def test_the_persons_own_facts_take_their_share_and_no_more(store: Store, tmp_path: Path) -> None:
    shop = tmp_path / "shop"
    shop.mkdir()
    git(shop, "init", "-q")
    write_at(store, shop, "D[db]: sqlite")
    for number in range(20):
        store.facts.write("personal", f"V[user.habit.{number}]: works with a keyboard")
    found = read(store, shop)
    own = [cost for line, cost in zip(found.text_lines, found.costs, strict=True) if "user.habit" in line]
    assert found.text_lines[0] == "D[db]: sqlite"
    assert 0 < sum(own) <= 40
    block = lines_of_block(store, shop)  # which counts exactly where it can, so that one more may fit
    assert found.text_lines == block[: len(found.text_lines)]
    assert len(block) - len(found.text_lines) <= 1


def test_a_project_whose_remote_has_changed_since_is_read_in_full(store: Store, tmp_path: Path) -> None:
    shop, other = tmp_path / "shop", tmp_path / "other"
    for folder, url in ((shop, "https://example.com/a/shop.git"), (other, "https://example.com/a/other.git")):
        folder.mkdir()
        git(folder, "init", "-q")
        git(folder, "remote", "add", "origin", url)
        write_at(store, folder, f"D[db]: of {folder.name}")
    git(shop, "remote", "set-url", "origin", "https://example.com/a/other.git")
    store.db.conn.execute("UPDATE project_aliases SET seen_at = ?", (LONG_AFTER_MS,))
    store.db.conn.commit()
    assert read(store, shop).text_lines == ["D[db]: of shop"]  # no newer than what the store saw
    os.utime(shop / ".git" / "config", ns=(LONG_AFTER_MS * 1_000_001, LONG_AFTER_MS * 1_000_001))
    assert read(store, shop).text_lines == ["D[db]: of other"]


@pytest.mark.parametrize("policy", ["mark", "hold", "off"])
def test_facts_of_other_branches_are_labelled_as_in_the_context_block(
    store: Store, tmp_path: Path, policy: str
) -> None:
    (tmp_path / "memory-themes.toml").write_text(f'[defaults]\nbranches = "{policy}"\n', encoding="utf-8")
    store.policies.reload()
    shop = make_shop(tmp_path / "shop")
    write_at(store, shop, "D[pay]: by card")
    write_at(store, shop, "C[pay]: never store numbers")
    git(shop, "switch", "-q", "main")
    write_at(store, shop, "D[db]: sqlite")
    found = read(store, shop)
    assert found.text_lines == lines_of_block(store, shop)
    assert any("(branch pay" in line for line in found.text_lines) is (policy != "off")
    commit(shop, "c.txt", "three\n")
    assert read(store, shop).text_lines == lines_of_block(store, shop)


def make_place(folder: Path, form: str) -> Path:
    """Make a folder in a repository of this form, and return it."""
    source = make_shop(folder / "shop")
    place = folder / "place"
    if form == "ordinary":
        return source
    if form == "worktree":
        git(source, "worktree", "add", "-q", str(place), "main")
    elif form == "bare":
        git(source, "clone", "-q", "--bare", str(source), str(place))
    else:
        outer = make_shop(folder / "outer")
        git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(source), "inner")
        place = outer / "inner"
    return place


@pytest.mark.parametrize("form", ["ordinary", "worktree", "submodule", "bare"])
def test_a_known_project_is_read_without_the_part_of_the_store_that_reads_repositories(
    store: Store, tmp_path: Path, form: str
) -> None:
    shop = make_place(tmp_path, form)
    write_at(store, shop, "D[db]: sqlite")
    config = Path(read_project(shop).common or "") / "config"
    os.utime(config, ns=(LONG_AFTER_MS * 1_000_000, LONG_AFTER_MS * 1_000_000))
    assert read(store, shop).text_lines == ["D[db]: sqlite"], "a configuration that has changed since is read"
    with Store.open(store.path) as later:
        later.projects.recognise(read_project(shop))
    code = (
        "import sys\nfrom hermes_memory_store.context.hot_context import read_hot_context\n"
        "print(read_hot_context(*sys.argv[1:], environ={'HERMES_HOME': '/nowhere'}).text_lines)\n"
        "print(sorted(n for n in sys.modules if n.startswith('hermes')))\n"
        "print({'pathlib', 'dataclasses'} & set(sys.modules))"
    )
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-S", "-c", code, str(store.path), str(shop)]
    told = subprocess.run(command, capture_output=True, text=True, env=env)
    lines, modules, heavy = told.stdout.splitlines()
    assert lines == "['D[db]: sqlite']", told.stderr
    assert "project_sighting" not in modules
    assert "project_sighting" not in modules
    assert heavy == "set()"


@pytest.mark.parametrize(
    "pointer",
    [b"", b"gitdir:", b"gitdir: /nowhere", b"gitdir: .git", b"gitdir: a\0b", b"gitdir: " + b"x" * 9_000, b"\xff"],
)
def test_a_hostile_pointer_is_no_repository(store: Store, tmp_path: Path, pointer: bytes) -> None:
    shop = tmp_path / "shop"
    shop.mkdir()
    (shop / ".git").write_bytes(pointer)
    write_at(store, shop, "D[db]: sqlite")
    assert read(store, shop).text_lines == ["D[db]: sqlite"]


@pytest.mark.parametrize("name", ["HEAD", "commondir", "config", "."])
def test_a_pipe_in_a_repository_is_not_waited_for(store: Store, tmp_path: Path, name: str) -> None:
    shop = make_shop(tmp_path / "shop")
    write_at(store, shop, "D[db]: sqlite")
    file = shop / ".git" / name
    if name == ".":
        file.rename(tmp_path / "gone")
    else:
        file.unlink(missing_ok=True)
    os.mkfifo(file)
    read(store, shop)


def test_a_plain_folder_and_the_home_are_what_they_are_in_the_store(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_at(store, make_shop(tmp_path / "shop"), "D[db]: sqlite")
    store.facts.write("default", "C[tests]: before each commit")
    home, known, fresh = (tmp_path / name for name in ("home", "known", "fresh"))
    for folder in (home, known, fresh):
        folder.mkdir()
    monkeypatch.setenv("HOME", str(home))
    write_at(store, home, "D[shell]: fish")
    write_at(store, known, "D[ui]: textual")
    for folder, theme in ((home, "default"), (known, "known"), (fresh, ""), (Path("/"), "default")):
        assert read(store, folder).theme == theme
        assert store.place_themes.find_known(read_project(folder)) == (theme or None)


def test_projects_that_are_turned_off_read_default(store: Store, tmp_path: Path) -> None:
    shop = tmp_path / "shop"
    shop.mkdir()
    git(shop, "init", "-q", "-b", "main")
    write_at(store, shop, "D[db]: of shop")
    store.facts.write("default", "D[cache]: redis")
    (store.path.parent / "memory-themes.toml").write_text("projects = false\n", encoding="utf-8")
    assert read(store, shop).text_lines == ["D[cache]: redis"]
    assert read(store, shop).theme == "default"
