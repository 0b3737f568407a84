"""What a folder shows of its project at one moment: identities, branch and commit."""

from __future__ import annotations

import os

from hermes_memory_store.frozen import dataclass
from hermes_memory_store.places.git_files import find_repository, is_nowhere, read_head, read_mark
from hermes_memory_store.places.remote_urls import read_remote


@dataclass(frozen=True, slots=True)
class ProjectSighting:
    """A project as one folder shows it."""

    root: str
    """The working tree, or the folder itself where there is no repository; absolute, without symbolic links."""
    folder: str = "."
    """The folder, relative to `root`."""
    common: str | None = None
    """The directory that all working trees of the repository share; None: there is no repository."""
    remote: str | None = None
    """The remote's normalised URL; None where that is a folder of this machine, from which many may be made."""
    mark: str | None = None
    """What stays the same where the repository is moved; see `read_mark`."""
    branch: str | None = None
    commit: str | None = None
    first_commit: str | None = None
    """The first commit, where it was looked for: see `choose_project`."""

    @property
    def label(self) -> str:
        """What people would call it."""
        return (
            os.path.basename(self.root).removesuffix(".git") if self.remote is None else self.remote.rpartition("/")[2]
        )

    @property
    def identities(self) -> tuple[tuple[str, str], ...]:
        """Kinds and values by which it is recognised here."""
        identities = (("remote", self.remote), ("mark", self.mark), ("dir", self.common), ("path", self.root))
        return tuple((kind, value) for kind, value in identities if value is not None)


def read_project(folder: str | os.PathLike[str]) -> ProjectSighting:
    """Read what a folder shows of its project: a dozen small files at most, and no process.

    It never raises for an odd folder: one that is gone or unreadable is a project by its path.
    """
    path = os.fspath(folder).replace("\0", "")
    try:
        place = os.path.realpath(path)
    except OSError:
        place = os.path.abspath(path)
    repository = find_repository(place)
    if repository is None:
        return ProjectSighting(root=place)
    branch, commit = read_head(repository)
    return ProjectSighting(
        root=repository.root,
        folder=os.path.relpath(place, repository.root),
        common=repository.common,
        remote=read_remote(repository.common)[0],
        mark=read_mark(repository.common),
        branch=branch,
        commit=commit,
    )


def to_project(seen: ProjectSighting | None) -> ProjectSighting | None:
    """Return a sighting unless its folder is where programs are started that work nowhere."""
    return None if seen is None or (seen.common is None and is_nowhere(seen.root)) else seen
