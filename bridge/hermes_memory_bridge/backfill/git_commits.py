"""Commit messages as what their authors said: a repository's default branch is a session, and so is what another one adds."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterable, Iterator

from hermes_memory_bridge.backfill.disk_sessions import NO_END, DiskSession, SkippedFile
from hermes_memory_bridge.hook_service.transcripts.transcript_file import TranscriptMessage
from hermes_memory_store.chunking import in_chunks
from hermes_memory_store.places.git_files import find_default_branch, find_repository, read_default_tips, read_head
from hermes_memory_store.projects.borrowed_objects import GitFailed, borrow_objects
from hermes_memory_store.projects.git_exclude import is_repository_sound
from hermes_memory_store.projects.own_lines import iterate_own_addresses

GIT = "git"

FORMAT = "%x00".join(("%H", "%at", "%an", "%ae", "%ce", "%P", "%B"))

TRAILER = re.compile(r"^(?:[a-z-]+-by|cc|change-id|git-svn-id): .*$\n?", re.IGNORECASE | re.MULTILINE)


def find_git_sessions(folders: Iterable[str], skipped: list[SkippedFile]) -> list[DiskSession]:
    """Find the histories of the repositories that these folders are in, each once."""
    sessions: dict[str, DiskSession] = {}
    for folder in dict.fromkeys(folders):
        repository = find_repository(os.path.realpath(folder).removesuffix("/.git"))
        if repository is None or not (repository.root == repository.git_dir or is_repository_sound(repository)):
            skipped.append(SkippedFile(GIT, folder, "it is in no Git repository"))
            continue
        for branch in dict.fromkeys((find_default_branch(repository), read_head(repository)[0])):
            key = hashlib.blake2b(f"{repository.common}\0{branch}".encode(errors="replace"), digest_size=8).hexdigest()
            words = (GIT, repository.common, f"{GIT}-{key}", repository.root, branch or "", "", 0, NO_END)
            sessions.setdefault(key, DiskSession(*words))
    return [*sessions.values()]


def read_commits(disk: DiskSession) -> Iterator[TranscriptMessage]:
    """Read the messages of a history's commits, the oldest first. :raises OSError: with why they cannot be read"""
    repository = find_repository(disk.folder)
    if repository is None or shutil.which("git") is None:
        raise OSError(0, "Git is not installed, which reads its commits" if repository else "it is gone")
    default, (_, head) = find_default_branch(repository), read_head(repository)
    ends = read_default_tips(repository, default) if default else ()
    tips, without = (ends, ()) if default and disk.branch == default else ((head,) if head else (), ends)
    if not tips:
        raise OSError(0, "it has no commits, or keeps its branches in a form that is not read here")
    own_addresses = {*iterate_own_addresses()}
    try:
        with borrow_objects(repository.common, sha256=len(tips[0]) == 64) as git:
            walk = git.run("rev-list", "--reverse", *tips, "--not", *without, "--", seconds=120.0)
            for commits in in_chunks(walk.decode("ascii").split()):
                words = ("log", "--no-walk=unsorted", "--stdin", "-z", f"--format={FORMAT}")
                output = git.run(*words, stdin="\n".join(commits).encode(), seconds=120.0)
                values = iter(output.decode("utf-8", "replace").split("\0"))
                for commit, at, author, *addresses, parents, message in zip(*[values] * 7, strict=False):
                    subject, _, body = TRAILER.sub("", message).strip().partition("\n")
                    if author.endswith("[bot]") or not subject or (" " in parents and not body):
                        continue
                    is_own = "co-authored-by:" not in message.lower() and {*map(str.lower, addresses)} <= own_addresses
                    text = f"{author}: {subject}\n{body}".strip() + f"\n(commit {commit[:12]})"
                    yield TranscriptMessage("user" if is_own else "tool", text, max(1, int(at or 0) * 1000), commit)
    except GitFailed as error:
        raise OSError(0, f"Git cannot read its commits: {error}") from error
