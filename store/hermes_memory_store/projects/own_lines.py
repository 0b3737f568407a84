"""The lines of a repository's file that are the person's own: he committed them last, or trusts whoever may commit there.

Only what is committed counts, and only by addresses of his own configuration: agents fill working trees, and what a repository
says of him may be anybody's.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from itertools import islice

from hermes_memory_store.places.git_files import find_repository, read_bounded, read_head, read_shallow_ends
from hermes_memory_store.places.project_sighting import MAX_CONFIG, ProjectSighting, iterate_config_values
from hermes_memory_store.projects.borrowed_objects import GitFailed, borrow_objects
from hermes_memory_store.projects.git_exclude import is_repository_sound
from hermes_memory_store.safe_text import lazy_pattern

BLAME_S = 5.0

MAX_FILES = 10
"""Files of the person's configuration, with those that it includes."""

NUMBER = lazy_pattern(r"\d+ ?[\t→|:.]\s*")
"""What a tool puts before a line that it shows."""


def find_own_lines(seen: ProjectSighting, file: str, text: str, *, is_trusted: bool) -> str:
    """Return those lines of what a tool read in a file of a repository that are the person's own."""
    path = os.path.realpath(file)
    repository = find_repository(os.path.dirname(path))
    if repository is None or repository.common != seen.common or not is_repository_sound(repository):
        return ""
    commit, addresses, deadline = read_head(repository)[1] or "", {*iterate_own_addresses()}, time.monotonic() + BLAME_S
    try:
        with borrow_objects(repository.common, sha256=len(commit) == 64, deadline=deadline) as git:
            blame = git.run("blame", "--porcelain", commit, "--", os.path.relpath(path, repository.root))
    except GitFailed:
        return ""
    own: set[str] = set()
    people = {end: {""} for end in read_shallow_ends(repository.common)}
    commit = ""
    for line in blame.decode("utf-8", "replace").split("\n"):
        key, _, value = line.partition(" ")
        if line.startswith("\t"):
            if is_trusted or people[commit] <= addresses:
                own.add(line.strip())
            commit = ""
        elif not commit:
            commit = key
        elif key in ("author-mail", "committer-mail"):
            people.setdefault(commit, set()).add(value.strip("<>").lower())
    lines = [(line.strip(), NUMBER.sub("", line.strip(), 1)) for line in text.splitlines()]
    return "\n".join(line if line in own else bare for line, bare in lines if {line, bare} & own)


def iterate_own_addresses() -> Iterator[str]:
    """Yield the addresses that the person's own configuration names, under whatever condition it includes them."""
    files = ["~/.gitconfig", os.path.join(os.environ.get("XDG_CONFIG_HOME") or "~/.config", "git/config")]
    if "GIT_CONFIG_GLOBAL" in os.environ:
        files = [os.environ["GIT_CONFIG_GLOBAL"]]
    for file in map(os.path.expanduser, islice(files, MAX_FILES)):
        text = (read_bounded(file, MAX_CONFIG) or b"").decode("utf-8", "replace")
        for section, _, key, value in iterate_config_values(text):
            if (section, key) == ("user", "email") and value:
                yield value.lower()
            elif section in ("include", "includeif") and key == "path":
                files.append(os.path.join(os.path.dirname(file), os.path.expanduser(value)))
