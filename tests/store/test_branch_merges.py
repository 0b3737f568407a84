"""Which branches are merged: real repositories, every way in which a branch comes in or does not."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_memory_store.places.git_files import find_repository, read_head
from hermes_memory_store.projects.branch_search import RUN_S, ReaderHead, look_at_branches

WHO = {f"GIT_{who}_{what}": "a@b.example" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def git(folder: Path, *words: str, said: bytes = b"") -> str:
    """Run Git, untouched by the settings of whoever runs the tests."""
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", **WHO}
    done = subprocess.run(
        ["git", "-c", "protocol.file.allow=always", *words],
        cwd=folder,
        env=environ,
        check=True,
        capture_output=True,
        input=said,
    )
    return done.stdout.decode().strip()


def commit(folder: Path, name: str, text: str) -> str:
    """Write a file and commit it."""
    (folder / name).write_text(text, encoding="utf-8")
    git(folder, "add", name)
    git(folder, "commit", "-q", "-m", f"{name}: {text[:20]}")
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A repository with two commits on `main`, and `pay` with two of its own; `pay` is checked out."""
    return make_shop(tmp_path / "shop")


def make_shop(folder: Path, *words: str) -> Path:
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main", *words)
    commit(folder, "a.txt", "one\n")
    commit(folder, "b.txt", "two\n")
    git(folder, "switch", "-q", "-c", "pay")
    commit(folder, "pay.txt", "pay 1\n")
    commit(folder, "a.txt", "one\npaid\n")
    return folder


def state(
    folder: Path,
    branch: str,
    at: str,
    *,
    last: str | None = None,
    reader: ReaderHead | None = None,
    was_outside: bool = False,
) -> tuple[str, str | None]:
    """Return the state of a commit of a branch, and the way it was merged."""
    repository = find_repository(os.path.realpath(folder))
    assert repository is not None
    outside = {"": {(branch, at)} if was_outside else set()}
    tips = {} if last is None else {branch: last}
    _, found = look_at_branches(repository.common, {branch: [at]}, tips, outside, [reader] if reader else [])
    target = "" if reader is None else reader.branch or "@"
    (one,) = [one for one in found if one.target == target]
    if (branch, at) not in one.states:
        return "undecided", None
    return one.states[branch, at].state, one.states[branch, at].way


def test_what_was_written_before_the_first_commit_of_a_branch_goes_with_the_branch(shop: Path) -> None:
    fork = git(shop, "rev-parse", "main")
    assert state(shop, "pay", fork) == ("unmerged", None)
    git(shop, "branch", "fresh", "main")
    assert state(shop, "fresh", fork) == ("undecided", None), "nothing was committed on it yet"
    git(shop, "switch", "-q", "main")
    git(shop, "merge", "-q", "--squash", "pay")
    git(shop, "commit", "-q", "-m", "squashed")
    assert state(shop, "pay", fork) == ("merged", "squash")


MERGE, SQUASH, REBASE = ("merged", "merge"), ("merged", "squash"), ("merged", "rebase")

UNMERGED, UNDECIDED = ("unmerged", None), ("undecided", None)

ON_MAIN, SQUASHED = "switch -q main", "merge -q --squash pay; commit -q -m squashed"

MOVED = "switch -q main; write b.txt three"

REBASED = f"{MOVED}; switch -q pay; rebase -q main"

DELETED = "branch -q -D pay"

WAYS: list[tuple[str, tuple[str, str | None] | None, tuple[str, str | None]]] = [
    ("status", UNMERGED, UNMERGED),
    (f"{ON_MAIN}; merge -q --no-ff --no-edit pay", MERGE, MERGE),
    (f"{ON_MAIN}; merge -q --no-ff --no-edit pay; {DELETED}", MERGE, MERGE),
    (f"{ON_MAIN}; merge -q --ff-only pay", MERGE, MERGE),
    (f"{ON_MAIN}; merge -q --ff-only pay; {DELETED}", MERGE, MERGE),
    (f"{ON_MAIN}; {SQUASHED}; write c.txt later", SQUASH, SQUASH),
    (f"{MOVED}; {SQUASHED}; write c.txt later", SQUASH, SQUASH),
    (f"{REBASED}; {ON_MAIN}; merge -q --ff-only pay; write c.txt later", REBASE, REBASE),
    (f"{REBASED}; {ON_MAIN}; merge -q --ff-only pay; write c.txt later; {DELETED}", REBASE, REBASE),
    (REBASED, None, UNMERGED),
    (f"{MOVED}; cherry-pick FIRST", REBASE, UNMERGED),
    (f"{MOVED}; cherry-pick FIRST; cherry-pick LAST", REBASE, REBASE),
    (f"{ON_MAIN}; merge -q --no-ff --no-edit FIRST", MERGE, UNMERGED),
    (f"{ON_MAIN}; merge -q --no-ff --no-edit pay; revert --no-edit -m 1 HEAD", None, MERGE),
    (f"{ON_MAIN}; {DELETED}", None, UNDECIDED),
]
"""Commands after which the first and the last commit of `pay` are in these states; None: it is not asked."""


def run_script(folder: Path, script: str, names: dict[str, str]) -> None:
    """Run commands of Git, and `write FILE TEXT`, which commits a file."""
    for line in script.split("; "):
        words = [names.get(word, word) for word in line.split()]
        if words[0] == "write":
            commit(folder, words[1], words[2] + "\n")
        else:
            git(folder, *words)


@pytest.mark.parametrize(("script", "of_first", "of_last"), WAYS)
def test_each_way_in_which_a_branch_comes_in_or_does_not(
    shop: Path, script: str, of_first: tuple[str, str | None] | None, of_last: tuple[str, str | None]
) -> None:
    first, last = git(shop, "rev-parse", "pay~1"), git(shop, "rev-parse", "pay")
    run_script(shop, script, {"FIRST": first, "LAST": last})
    assert state(shop, "pay", last) == of_last
    assert of_first is None or state(shop, "pay", first) == of_first


@pytest.mark.parametrize("way", [ON_MAIN, MOVED])
def test_where_a_squashed_branch_that_is_gone_was_last_seen_is_known(shop: Path, way: str) -> None:
    first, last = git(shop, "rev-parse", "pay~1"), git(shop, "rev-parse", "pay")
    run_script(shop, f"{way}; {SQUASHED}; write c.txt later; {DELETED}", {})
    assert state(shop, "pay", last) == state(shop, "pay", first, last=last) == SQUASH


def test_a_squash_with_edits_is_unmerged_while_the_branch_is_there_and_undecided_after(shop: Path) -> None:
    last = git(shop, "rev-parse", "pay")
    run_script(shop, f"{ON_MAIN}; merge -q --squash pay", {})
    (shop / "pay.txt").write_text("pay 1, but better\n", encoding="utf-8")
    git(shop, "commit", "-q", "-a", "-m", "squashed, edited")
    assert state(shop, "pay", last) == UNMERGED
    git(shop, *DELETED.split())
    assert state(shop, "pay", last, last=last) == UNDECIDED


def test_a_branch_that_brought_the_default_branch_in_before_its_squash(shop: Path) -> None:
    run_script(shop, f"{MOVED}; switch -q pay; merge -q --no-edit main; write pay.txt more", {})
    last = git(shop, "rev-parse", "pay")
    assert state(shop, "pay", last) == UNMERGED
    run_script(shop, f"{ON_MAIN}; write c.txt between; {SQUASHED}", {})
    assert state(shop, "pay", last) == SQUASH


def test_a_branch_that_changed_nothing_in_the_end_was_not_squashed(shop: Path) -> None:
    run_script(shop, "revert --no-edit HEAD; revert --no-edit HEAD~2", {})
    assert state(shop, "pay", git(shop, "rev-parse", "pay")) == UNMERGED


def test_a_squash_of_binary_files_is_known_by_their_content(shop: Path) -> None:
    (shop / "x.bin").write_bytes(b"\0\1\2")
    git(shop, "add", ".")
    git(shop, "commit", "-q", "-m", "binary")
    last = git(shop, "rev-parse", "pay")
    git(shop, "switch", "-q", "main")
    commit(shop, "c.txt", "moved\n")
    git(shop, "checkout", "pay", "--", ".")
    (shop / "x.bin").write_bytes(b"\0\1\3")
    git(shop, "add", ".")
    git(shop, "commit", "-q", "-m", "another binary")
    assert state(shop, "pay", last) == ("unmerged", None)


def test_a_commit_that_is_not_here_is_undecided(shop: Path) -> None:
    assert state(shop, "pay", "1" * 40) == ("undecided", None)


def test_a_shallow_clone_knows_what_came_in_and_nothing_else(shop: Path, tmp_path: Path) -> None:
    last = git(shop, "rev-parse", "pay")
    git(tmp_path, "clone", "-q", "--depth", "1", "--no-single-branch", "-b", "main", f"file://{shop}", "shallow")
    assert state(tmp_path / "shallow", "pay", last) == ("undecided", None)
    git(shop, "switch", "-q", "main")
    git(shop, "merge", "-q", "--no-ff", "--no-edit", "pay")
    git(tmp_path, "clone", "-q", "--depth", "2", "-b", "main", f"file://{shop}", "deeper")
    assert state(tmp_path / "deeper", "pay", last) == ("merged", "merge")


def test_a_clone_knows_the_default_branch_and_the_branches_of_its_remote(shop: Path, tmp_path: Path) -> None:
    last = git(shop, "rev-parse", "pay")
    git(shop, "branch", "-m", "main", "develop")
    git(shop, "switch", "-q", "develop")
    git(tmp_path, "clone", "-q", f"file://{shop}", "clone")
    clone = tmp_path / "clone"
    assert state(clone, "pay", last) == ("unmerged", None)
    git(shop, "merge", "-q", "--no-ff", "--no-edit", "pay")
    git(clone, "fetch", "-q")
    assert state(clone, "pay", last) == ("merged", "merge"), "the remote's default branch counts"
    assert read_head(find_repository(os.path.realpath(clone)))[0] == "develop"  # type: ignore[arg-type]


def test_worktrees_submodules_and_bare_repositories(shop: Path, tmp_path: Path) -> None:
    last = git(shop, "rev-parse", "pay")
    git(shop, "worktree", "add", "-q", str(tmp_path / "tree"), "main")
    assert state(tmp_path / "tree", "pay", last) == ("unmerged", None)
    git(tmp_path / "tree", "merge", "-q", "--no-ff", "--no-edit", "pay")
    assert state(tmp_path / "tree", "pay", last) == ("merged", "merge")
    git(tmp_path, "clone", "-q", "--bare", str(shop), "bare.git")
    assert state(tmp_path / "bare.git", "pay", last) == ("merged", "merge")
    git(shop, "switch", "-q", "--detach", "pay")
    git(tmp_path / "tree", "checkout", "-q", "--detach")
    git(shop, "switch", "-q", "main")  # what a clone takes for the default branch
    outer = make_shop(tmp_path / "outer")
    git(outer, "submodule", "add", "-q", f"file://{shop}", "sub")
    assert state(outer / "sub", "pay", last) == ("merged", "merge")


def test_objects_that_a_clone_shares_with_another_repository(shop: Path, tmp_path: Path) -> None:
    last = git(shop, "rev-parse", "pay")
    git(shop, "switch", "-q", "main")
    git(tmp_path, "clone", "-q", "--shared", str(shop), "shared")
    assert state(tmp_path / "shared", "pay", last) == ("unmerged", None)
    git(shop, "merge", "-q", "--no-ff", "--no-edit", "pay")
    git(tmp_path / "shared", "fetch", "-q")
    assert state(tmp_path / "shared", "pay", last) == ("merged", "merge")


def test_readers_on_other_branches(shop: Path) -> None:
    last = git(shop, "rev-parse", "pay")
    git(shop, "switch", "-q", "-c", "stacked")
    on_top = commit(shop, "d.txt", "stacked\n")
    assert state(shop, "pay", last, reader=ReaderHead("stacked", on_top)) == ("merged", "merge")
    git(shop, "switch", "-q", "-c", "beside", "main")
    beside = commit(shop, "e.txt", "beside\n")
    assert state(shop, "pay", last, reader=ReaderHead("beside", beside)) == ("unmerged", None)
    assert state(shop, "pay", last, reader=ReaderHead(None, on_top)) == ("merged", "merge")


def test_what_was_written_at_a_detached_head(shop: Path) -> None:
    git(shop, "switch", "-q", "--detach", "main")
    lost = commit(shop, "d.txt", "detached\n")
    assert state(shop, "", lost) == ("undecided", None)
    git(shop, "switch", "-q", "main")
    git(shop, "merge", "-q", "--no-ff", "--no-edit", lost)
    assert state(shop, "", lost) == ("merged", "merge")


def test_repositories_without_commits_without_a_default_branch_or_without_objects(tmp_path: Path, shop: Path) -> None:
    (tmp_path / "empty").mkdir()
    git(tmp_path / "empty", "init", "-q", "-b", "main")
    assert state(tmp_path / "empty", "pay", "1" * 40) == ("undecided", None)
    last = git(shop, "rev-parse", "pay")
    git(shop, "branch", "-m", "main", "odd")
    assert state(shop, "pay", last) == ("undecided", None), "nothing says which branch is the default one"
    git(shop, "branch", "-m", "odd", "main")
    shutil.rmtree(shop / ".git" / "objects")
    assert state(shop, "pay", last) == ("undecided", None)


def test_packed_refs(shop: Path) -> None:
    last = git(shop, "rev-parse", "pay")
    git(shop, "pack-refs", "--all")
    git(shop, "gc", "-q")
    assert state(shop, "pay", last) == ("unmerged", None)


def test_sha256_repositories(tmp_path: Path) -> None:
    shop = make_shop(tmp_path / "shop", "--object-format=sha256")
    last = git(shop, "rev-parse", "pay")
    assert state(shop, "pay", last) == ("unmerged", None)
    git(shop, "switch", "-q", "main")
    commit(shop, "b.txt", "moved\n")
    git(shop, "merge", "-q", "--squash", "pay")
    git(shop, "commit", "-q", "-m", "squashed")
    assert state(shop, "pay", last) == ("merged", "squash")


def test_a_commit_that_was_outside_once_and_is_inside_now_came_in(shop: Path) -> None:
    last = git(shop, "rev-parse", "pay")
    git(shop, "branch", "-q", "again", "pay")
    git(shop, "switch", "-q", "main")
    git(shop, "merge", "-q", "--ff-only", "pay")
    assert state(shop, "again", last) == ("undecided", None), "a branch that began there and has nothing of its own"
    assert state(shop, "again", last, was_outside=True) == ("merged", "merge")


def set_traps(shop: Path, trap: Path) -> None:
    for key in (
        *(
            "core.fsmonitor",
            "core.pager",
            "core.sshCommand",
            "core.gitProxy",
            "core.alternateRefsCommand",
            "core.editor",
        ),
        *("diff.external", "diff.trap.textconv", "diff.trap.command", "filter.trap.smudge", "filter.trap.process"),
        *("merge.trap.driver", "credential.helper", "uploadpack.packObjectsHook", "pager.diff-tree", "alias.rev-list"),
    ):
        git(shop, "config", key, f"!{trap}" if key.startswith("alias") else str(trap))
    git(shop, "config", "core.hooksPath", str(trap.parent))
    git(shop, "config", "extensions.partialClone", "origin")
    git(shop, "config", "remote.origin.url", f"ext::{trap}")
    git(shop, "config", "remote.origin.promisor", "true")
    (shop / ".git" / "info").mkdir(exist_ok=True)
    (shop / ".git" / "info" / "attributes").write_text("* diff=trap filter=trap merge=trap\n", encoding="utf-8")


def damage_refs(shop: Path) -> None:
    heads = shop / ".git" / "refs" / "heads"
    (heads / "ring").write_text("ref: refs/heads/gnir\n", encoding="utf-8")
    (heads / "gnir").write_text("ref: refs/heads/ring\n", encoding="utf-8")
    os.mkfifo(heads / "pipe")
    (heads / "up").symlink_to("/etc/passwd")
    packed = "".join(f"{'1' * 40} refs/heads/x{number:06}\n" for number in range(100_000))
    (shop / ".git" / "packed-refs").write_text(
        "# pack-refs with: peeled fully-peeled sorted \n" + packed, encoding="utf-8"
    )


@pytest.mark.parametrize("hostile", [set_traps, lambda shop, _: damage_refs(shop)])
def test_a_hostile_repository_runs_nothing(shop: Path, tmp_path: Path, hostile: Callable[[Path, Path], None]) -> None:
    trap, ran = tmp_path / "traps" / "trap.sh", tmp_path / "ran"
    trap.parent.mkdir()
    trap.write_text(f"#!/bin/sh\ntouch {ran}\n", encoding="utf-8")
    trap.chmod(0o755)
    git(shop, "switch", "-q", "main")
    commit(shop, "b.txt", "moved\n")
    git(shop, "merge", "-q", "--squash", "pay")
    git(shop, "commit", "-q", "-m", "squashed")
    last = git(shop, "rev-parse", "pay")
    hostile(shop, trap)
    ran.unlink(missing_ok=True)
    before = sorted(str(path) for path in (shop / ".git").rglob("*"))
    assert state(shop, "pay", last) == ("merged", "squash")
    for odd in (
        "ring",
        "pipe",
        "up",
        "../../../etc/passwd",
        "a b",
        "a\nb",
        "-x",
        "--exec=x",
        "é\u202e",
        "x" * 300,
        "x000001",
    ):
        assert state(shop, odd, last)[0] in ("undecided", "merged")
    assert not ran.exists()
    assert sorted(str(path) for path in (shop / ".git").rglob("*")) == before, "nothing was written into it"


def test_replacements_and_grafts_mean_nothing(shop: Path) -> None:
    last, main = git(shop, "rev-parse", "pay"), git(shop, "rev-parse", "main")
    git(shop, "replace", "--graft", main, git(shop, "rev-parse", "main~1"), last)
    (shop / ".git" / "info").mkdir(exist_ok=True)
    (shop / ".git" / "info" / "grafts").write_text(f"{main} {last}\n", encoding="utf-8")
    assert state(shop, "pay", last) == ("unmerged", None)


@pytest.mark.long
def test_a_repository_with_100_000_commits_is_answered_within_its_deadlines(tmp_path: Path) -> None:
    shop = tmp_path / "shop"
    shop.mkdir()
    git(shop, "init", "-q", "-b", "main")
    git(shop, "fast-import", "--quiet", said=make_history(100_000))
    git(shop, "reset", "-q", "--hard")
    git(shop, "branch", "merged", "main~50000")
    git(shop, "switch", "-q", "-c", "pay", "main~60000")
    last = commit(shop, "pay.txt", "pay 1\n")
    for branch, at, expected in (
        ("pay", last, ("unmerged", None)),
        ("merged", git(shop, "rev-parse", "main~70000"), ("merged", "merge")),
    ):
        began = time.monotonic()
        assert state(shop, branch, at) == expected
        assert time.monotonic() - began < RUN_S
    git(shop, "switch", "-q", "main")
    git(shop, "merge", "-q", "--squash", "pay")
    git(shop, "commit", "-q", "-m", "squashed")
    assert state(shop, "pay", last) == ("merged", "squash")


def make_history(count: int) -> bytes:
    """Return a stream for `git fast-import`: so many commits on `main`, over a thousand files."""
    pieces = []
    for number in range(count):
        text = f"{number}\n"
        pieces.append(
            f"commit refs/heads/main\ncommitter A <a@b.example> {1_600_000_000 + number} +0000\ndata 1\nx\n"
            f"M 644 inline d{number % 10}/f{number % 1000}.txt\ndata {len(text)}\n{text}\n"
        )
    return "".join(pieces).encode()
