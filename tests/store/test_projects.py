"""A project is recognised by its remote, else its first commit, else its path; Git's files are read, never run."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_memory_store import errors
from hermes_memory_store.model import FactFilter, Origin, Way
from hermes_memory_store.places.project_sighting import normalise_remote, parse_remote_urls, read_project
from hermes_memory_store.projects.project_repair import find_project_faults, repair_projects
from hermes_memory_store.store import Store

TOOL = Origin(way=Way.TOOL)

IDENTITY = {
    **{name: f"{name}@example.org" for name in ("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL")},
    **dict.fromkeys(("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"), "A"),
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


def git(folder: Path, *words: str) -> str:
    """Run Git as a person would."""
    done = subprocess.run(
        ["git", "-C", str(folder), *words], env=os.environ | IDENTITY, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def make_repository(folder: Path, remote: str | None = None, *, commit: bool = True) -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    if commit:
        git(folder, "commit", "-q", "--allow-empty", "-m", f"first of {folder.name}")
    if remote is not None:
        git(folder, "remote", "add", "origin", remote)
    return folder


def name_of(store: Store, folder: Path) -> str | None:
    return store.projects.locate(TOOL, folder).project


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/acme/shop",
        "https://github.com/acme/shop.git/",
        "https://me@GitHub.com:443/acme/shop.git",
        "https://me:p%40ss@github.com/Acme/Shop",
        "https://me:pa/ss@github.com/acme/shop",
        "https://me:12/pa@github.com/acme/shop",
        "http://github.com:80//acme//shop",
        "git@github.com:acme/shop.git",
        "github.com:/acme/shop",
        "me:pass@github.com:acme/shop",
        "me:pa/ss@github.com:acme/shop.git",
        "ssh://git@github.com:22/acme/shop.git",
        "ssh://git@ssh.github.com:443/acme/shop.git",
        "git+ssh://git@github.com/acme/shop",
        "git://github.com./acme/shop.git?token=abc#x",
    ],
)
def test_all_forms_of_a_remote_agree(url: str) -> None:
    assert normalise_remote(url) == "github.com/acme/shop"


@pytest.mark.parametrize(
    ("url", "normal"),
    [
        ("https://git.example.org:8443/a/b.git", "git.example.org:8443/a/b"),
        ("ssh://git@git.example.org:2222/a/B.git", "git.example.org/a/B"),
        ("https://例え.jp/会社/店", "例え.jp/会社/店"),
        ("ssh://[2001:db8::1]:22/a/b", "2001:db8::1/a/b"),
        ("[git@2001:db8::1]:a/b", "2001:db8::1/a/b"),
        ("git@[2001:db8::1]:a/b", "2001:db8::1/a/b"),
        ("/srv/git/shop.git", "file:/srv/git/shop"),
        ("file:///srv/git/shop/.git", "file:/srv/git/shop"),
        ("../elsewhere", None),
        ("", None),
        ("https://", None),
        ("https://host", None),
        ("https://host/a\nb", None),
        ("x" * 5_000, None),
    ],
)
def test_other_remotes(url: str, normal: str | None) -> None:
    assert normalise_remote(url) == normal


@given(st.text(max_size=200) | st.from_regex(r"(https?|ssh)://[^ ]{0,80}", fullmatch=True))
def test_any_text_is_a_remote_or_none(url: str) -> None:
    normal = normalise_remote(url)
    assert normal is None or (normal and normal.isprintable())


WORD = st.text("abcXYZ019-_.~!$", min_size=1, max_size=12)


@given(
    user=WORD,
    password=st.text("abcXYZ019-_.~!$@/:#?%", min_size=6, max_size=24),
    scheme=st.sampled_from(["https", "ssh"]),
)
def test_no_password_survives(user: str, password: str, scheme: str) -> None:
    secret = f"S3cr{password}"
    normal = normalise_remote(f"{scheme}://{user}:{secret}@host.example/a/b")
    assert normal is None or "S3cr" not in normal


@given(st.text(max_size=300) | st.from_regex(r'(\[remote "[a-z]{1,3}"\]\n\turl = [^\n]{0,30}\n){1,3}', fullmatch=True))
def test_any_text_is_a_configuration(text: str) -> None:
    assert all(parse_remote_urls(text).values())


def test_a_configuration_is_read_as_git_reads_it() -> None:
    text = (
        '[core]\n\turl = no\n[Remote "a b"] URL = "x;y" ; why\n\turl = second\n[remote.Old]\nurl=z\\\n9\n'
        '[branch "remote"]\nurl = no\n[remote "q\\"t"]\n url = "t\\tb" # x\n'
    )
    assert parse_remote_urls(text) == {"a b": "x;y", "Old": "z9", 'q"t': "t\tb"}


def test_branch_and_commit_are_what_git_says(tmp_path: Path) -> None:
    shop = make_repository(tmp_path / "shop", "git@github.com:acme/shop.git")
    (shop / "src").mkdir()
    seen = read_project(shop / "src")
    assert (seen.root, seen.folder, seen.branch) == (str(shop), "src", "main")
    assert (seen.remote, seen.commit) == ("github.com/acme/shop", git(shop, "rev-parse", "HEAD"))
    git(shop, "checkout", "-q", "-b", "feature/größe")
    for number in range(30):
        git(shop, "update-ref", f"refs/heads/other/{number:02}", "HEAD")
    git(shop, "commit", "-q", "--allow-empty", "-m", "second")
    git(shop, "pack-refs", "--all")
    assert (read_project(shop).branch, read_project(shop).commit) == ("feature/größe", git(shop, "rev-parse", "HEAD"))
    git(shop, "checkout", "-q", "--detach", "main")
    assert (read_project(shop).branch, read_project(shop).commit) == (None, git(shop, "rev-parse", "main"))


@given(
    names=st.sets(st.text("abz/", min_size=1, max_size=6).map(lambda name: name.strip("/").replace("//", "/") or "a"))
)
def test_every_packed_ref_is_found(names: set[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    from hermes_memory_store.places.git_files import find_packed_ref

    path = tmp_path_factory.mktemp("refs") / "packed-refs"
    refs = {f"refs/heads/{name}": f"{number:040x}" for number, name in enumerate(sorted(names))}
    lines = [f"{commit} {ref}\n^{'0' * 40}\n" for ref, commit in sorted(refs.items())]
    for head in ("# pack-refs with: peeled fully-peeled sorted \n", "# pack-refs with: peeled\n"):
        path.write_text(head + "".join(lines), encoding="utf-8")
        assert {ref: find_packed_ref(str(path), ref.encode()) for ref in refs} == refs
        assert find_packed_ref(str(path), b"refs/heads/absent") is None


def test_an_unborn_branch_has_no_commit(tmp_path: Path) -> None:
    seen = read_project(make_repository(tmp_path / "new", commit=False))
    assert (seen.branch, seen.commit) == ("main", None)


def test_worktrees_share_a_project_and_forks_do_not(store: Store, tmp_path: Path) -> None:
    shop = make_repository(tmp_path / "shop", "git@github.com:acme/shop.git")
    git(shop, "worktree", "add", "-q", str(tmp_path / "hotfix"))
    git(tmp_path, "clone", "-q", str(shop), "fork")
    git(tmp_path / "fork", "remote", "set-url", "origin", "https://github.com/me/shop")
    assert [name_of(store, tmp_path / name) for name in ("shop", "hotfix", "fork")] == ["shop", "shop", "shop-2"]
    assert read_project(tmp_path / "hotfix").branch == "hotfix"
    git(tmp_path, "clone", "-q", str(shop), "again")
    git(tmp_path / "again", "remote", "set-url", "origin", "https://github.com/acme/shop")
    assert name_of(store, tmp_path / "again") == "shop"


def test_identities_that_appear_later_join(store: Store, tmp_path: Path) -> None:
    place = tmp_path / "店 shop"
    place.mkdir()
    assert name_of(store, place) == "店 shop"
    git(place, "init", "-q", "-b", "main")
    assert name_of(store, place) == "店 shop"
    git(place, "remote", "add", "origin", "https://me:secret@example.org/a/store.git")
    assert name_of(store, place) == "店 shop"
    git(place, "remote", "set-url", "origin", "https://example.org/b/renamed.git")
    assert name_of(store, place) == "店 shop"
    make_repository(tmp_path / "clone", "git@example.org:a/store")
    assert name_of(store, tmp_path / "clone") == "店 shop"
    project = store.projects.get("店 SHOP")
    assert set(project.remotes) == {"example.org/a/store", "example.org/b/renamed"}
    assert not any("secret" in str(row) for row in store.db.rows("SELECT * FROM project_aliases"))


def test_two_known_projects_that_turn_out_to_be_one_are_merged(store: Store, tmp_path: Path) -> None:
    make_repository(tmp_path / "one", "https://example.org/a/shop")
    late = make_repository(tmp_path / "late")
    facts = [
        store.facts.write("default", f"V[n{number}]: x", origin=store.projects.locate(TOOL, folder)).fact
        for number, folder in enumerate((tmp_path / "one", late))
    ]
    assert [fact.origin.project for fact in facts] == ["shop", "late"]
    git(late, "remote", "add", "origin", "git@example.org:a/shop")
    assert name_of(store, late) == "shop"
    assert store.facts.get(facts[1].uid).origin.project == "shop"
    assert store.projects.get("late").name == "shop"
    assert store.journal.verify().ok
    other = make_repository(tmp_path / "x" / "late")
    assert name_of(store, other) == "late-2", "a name is never used again"


def test_the_first_commit_is_found_in_the_background(store: Store, tmp_path: Path) -> None:
    shop = make_repository(tmp_path / "shop")
    assert name_of(store, shop) == "shop"
    store.projects.note_first_commit(read_project(shop))
    assert store.projects.get("shop").roots == (git(shop, "rev-list", "--max-parents=0", "HEAD"),)
    subprocess.run(["cp", "-r", str(shop), str(tmp_path / "copy")], check=True)
    assert name_of(store, tmp_path / "copy") == "copy"
    store.projects.note_first_commit(read_project(tmp_path / "copy"))
    assert name_of(store, tmp_path / "copy") == "copy", "both are there"
    assert not store.projects.lacks_root(str(tmp_path / "copy" / ".git"))


def test_nothing_that_a_repository_configures_is_run(store: Store, tmp_path: Path) -> None:
    shop = make_repository(tmp_path / "shop")
    trap, ran = tmp_path / "trap.sh", tmp_path / "ran"
    trap.write_text(f"#!/bin/sh\ntouch {ran}\n", encoding="utf-8")
    trap.chmod(0o755)
    for key in (
        "core.fsmonitor",
        "core.pager",
        "core.sshCommand",
        "core.gitProxy",
        "core.alternateRefsCommand",
        "core.editor",
    ):
        git(shop, "config", key, str(trap))
    git(shop, "config", "core.hooksPath", str(tmp_path))
    git(shop, "config", "extensions.partialClone", "origin")
    ran.unlink(missing_ok=True)
    assert name_of(store, shop) == "shop"
    store.projects.note_first_commit(read_project(shop))
    assert store.projects.get("shop").roots
    shop.rename(tmp_path / "moved")
    assert store.projects.trace(read_project(tmp_path / "moved")).root == str(tmp_path / "moved")
    subprocess.run(["cp", "-r", str(tmp_path / "moved"), str(shop)], check=True)
    (tmp_path / "moved").rename(tmp_path / "gone.tmp")
    assert store.projects.trace(read_project(shop)).first_commit
    assert not ran.exists()


def test_a_shallow_clone_has_no_known_root(store: Store, tmp_path: Path) -> None:
    shop = make_repository(tmp_path / "shop")
    git(shop, "commit", "-q", "--allow-empty", "-m", "second")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{shop}", "shallow")
    git(tmp_path / "shallow", "remote", "remove", "origin")
    name_of(store, tmp_path / "shallow")
    store.projects.note_first_commit(read_project(tmp_path / "shallow"))
    assert store.projects.lacks_root(str(tmp_path / "shallow" / ".git"))


def test_odd_folders_are_projects_by_their_path(store: Store, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    for number, content in enumerate((b"gitdir: /nowhere\n", b"gitdir: ../file\n", b"\0" * 9_000, b"gitdir: \n")):
        (tmp_path / f"bad{number}").mkdir()
        (tmp_path / f"bad{number}" / ".git").write_bytes(content)
        assert read_project(tmp_path / f"bad{number}").common is None
    pipes = tmp_path / "pipes" / ".git"
    pipes.mkdir(parents=True)
    for name in ("HEAD", "config", "commondir", "packed-refs"):
        os.mkfifo(pipes / name)
    seen = read_project(tmp_path / "pipes")
    assert (seen.branch, seen.commit, seen.remote) == (None, None, None)
    for odd in (tmp_path / "gone" / "deep", tmp_path / "file", "/", "", "a\0b", "x" * 5_000, os.fsdecode(b"/tmp/\xff")):
        origin = store.projects.locate(TOOL, odd)
        assert origin.project
        assert store.facts.write("default", "V[a]: b", origin=origin).fact
    assert name_of(store, Path("/")) == "project"


def test_a_hostile_head_leads_nowhere(tmp_path: Path) -> None:
    shop = make_repository(tmp_path / "shop")
    (tmp_path / "secret").write_text("a" * 40, encoding="utf-8")
    for head in (
        b"ref: ../../../secret\n",
        b"ref: refs/heads/../../../secret\n",
        b"ref: refs/heads/a\x1b[31m\n",
        b"junk",
        b"",
    ):
        (shop / ".git" / "HEAD").write_bytes(head)
        assert (read_project(shop).branch, read_project(shop).commit) == (None, None)
    (shop / ".git" / "HEAD").unlink()
    (shop / ".git" / "HEAD").symlink_to("refs/heads/main")
    assert read_project(shop).branch == "main"


def test_a_submodule_and_a_bare_repository_are_projects_of_their_own(store: Store, tmp_path: Path) -> None:
    part, whole = make_repository(tmp_path / "part"), make_repository(tmp_path / "whole")
    git(whole, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(part), "lib")
    git(tmp_path, "clone", "-q", "--bare", str(whole), "bare.git")
    names = [
        name_of(store, folder) for folder in (whole, whole / "lib", tmp_path / "bare.git", whole / ".git" / "hooks")
    ]
    assert names == ["whole", "lib", "bare", "whole"]


def test_a_read_only_store_knows_a_new_worktree_by_its_repository(path: Path, store: Store, tmp_path: Path) -> None:
    shop = make_repository(tmp_path / "shop")
    store.projects.locate(Origin(), shop)
    git(shop, "worktree", "add", "-q", "-b", "feature", str(tmp_path / "feature"))
    with Store.open(path, read_only=True) as reading:
        assert reading.projects.recognise(read_project(tmp_path / "feature")) == "shop"


def test_a_read_only_store_names_no_new_project(path: Path, store: Store, tmp_path: Path) -> None:
    shop = make_repository(tmp_path / "shop")
    with Store.open(path, read_only=True) as reading:
        assert reading.projects.locate(TOOL, shop).project is None
        name_of(store, shop)
        assert reading.projects.locate(TOOL, shop).project == "shop"


def test_a_project_that_nobody_knows_is_refused(store: Store) -> None:
    with pytest.raises(errors.QueryError, match="no project is called 'x'"):
        store.projects.get("x")


def test_a_session_is_named_by_client_project_and_number(store: Store, tmp_path: Path) -> None:
    shop = name_of(store, make_repository(tmp_path / "shop"))
    titles = [
        store.sessions.open("default", name, client="claude-code 2.1", project=shop).title for name in ("a", "b", "a")
    ]
    assert titles == ["claude-code · shop #1", "claude-code · shop #2", "claude-code · shop #1"]
    assert store.sessions.open("default", "c", client="claude-code").title == "claude-code #1"
    fact = store.facts.write("default", "V[a]: b", session=store.sessions.get("default", "b")).fact
    assert (fact.origin.title, fact.origin.project) == ("claude-code · shop #2", "shop")


def test_a_renamed_project_keeps_its_old_name_for_good(store: Store, tmp_path: Path) -> None:
    shop, other = tmp_path / "shop", tmp_path / "elsewhere" / "shop"
    shop.mkdir()
    other.mkdir(parents=True)
    origin = store.projects.locate(Origin(way=Way.TOOL), shop)
    session = store.sessions.open("default", "one", client="claude-code", project=origin.project)
    fact = store.facts.write("default", "V[a]: x", session=session, origin=origin).fact
    assert session.title == "claude-code · shop #1"

    assert store.projects.rename("SHOP", "  Marché \u0301 ").name == "Marché \u0301"
    assert store.projects.rename("shop", "магазин").name == "магазин"
    for name in ("shop", "Marché \u0301", "магазин"):
        assert store.projects.get(name).name == "магазин"
        assert [one.uid for one in store.facts.page(FactFilter(projects=frozenset({name}))).facts] == [fact.uid]
    again = store.facts.get(fact.uid)
    assert (again.origin.project, again.actor.title) == ("магазин", "claude-code · магазин #1")
    assert store.projects.locate(Origin(), shop).project == "магазин"

    assert store.projects.locate(Origin(), other).project == "shop-2", "the name of another project, once and for good"
    for taken in ("Shop-2", "", "  ", "a\u200bb", "x" * 121):
        with pytest.raises(errors.ArgumentError):
            store.projects.rename("магазин", taken)
    with pytest.raises(errors.ArgumentError):
        store.projects.rename("shop-2", "marché \u0301")
    with pytest.raises(errors.QueryError):
        store.projects.rename("none", "x")
    assert store.projects.rename("магазин", "shop").name == "shop"
    assert store.projects.rename("shop", "Shop").name == "Shop"
    assert store.projects.get("магазин").name == "Shop"


def test_projects_are_listed_with_what_came_from_them(store: Store, tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / name).mkdir()
        origin = store.projects.locate(Origin(way=Way.TOOL), tmp_path / name)
        session = store.sessions.open("default", f"in-{name}", client="codex", project=origin.project)
        store.facts.write("default", f"V[{name}]: x", session=session, origin=origin)
    store.facts.write("default", "V[c]: x", origin=origin)
    store.facts.write("other", "V[c]: x", origin=origin)
    store.undo.last()
    store.projects.locate(Origin(), tmp_path)
    told = {one.project.name: (one.facts, one.sessions) for one in store.projects.list()}
    assert told == {"a": (2, 1), "b": (1, 1), tmp_path.name: (0, 0)}
    assert [one.project.name for one in store.projects.list("default")] == ["a", "b"]
    store.projects.rename("b", "a2")
    assert [one.project.name for one in store.projects.list("default")] == ["a", "a2"]


def test_trust_that_ended_comes_back_from_no_backup(store: Store, tmp_path: Path) -> None:
    seen = read_project(make_repository(tmp_path / "shop"))
    assert store.projects.trust(seen).is_trusted
    with closing(sqlite3.connect(store.path)) as conn, closing(sqlite3.connect(tmp_path / "old.db")) as old:
        conn.backup(old)
        assert not store.projects.trust(seen, trusted=False).is_trusted
        assert find_project_faults(conn, [old]) == []
        repair_projects(conn, [old], 0)
        conn.commit()
    assert not store.projects.is_trusted(seen)
