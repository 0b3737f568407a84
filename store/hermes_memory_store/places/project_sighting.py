"""What a folder shows of its project at one moment: identities, branch and commit.

A remote has one form, however a clone spells it: `github.com/acme/shop`. Never with a user or a password.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from urllib.parse import unquote

from hermes_memory_store.frozen import dataclass
from hermes_memory_store.places.git_files import find_repository, is_nowhere, read_bounded, read_head, read_mark
from hermes_memory_store.safe_text import lazy_pattern

MAX_CONFIG = 1 << 20
"""Bytes of a configuration that is read: Git itself writes a few hundred, and one entry for each branch."""

SECTION = lazy_pattern(r'\[\s*(?P<name>[A-Za-z0-9.-]+)(?:\s+"(?P<sub>(?:[^"\\\n]|\\.)*)")?\s*\]')

ESCAPES = {"n": "\n", "t": "\t", "b": "\b"}

URL = lazy_pattern(r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<rest>.*)", re.IGNORECASE)

SSH_SCHEMES = frozenset({"ssh", "git+ssh", "ssh+git"})

PORTS = {"https": "443", "http": "80", "git": "9418", "ftp": "21", "ftps": "990"}
"""Default ports. That of SSH is never part of an identity: the web and SSH of one server have different ports."""

SAME_HOSTS = {
    "ssh.github.com": "github.com",
    "altssh.gitlab.com": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org",
    "www.github.com": "github.com",
}
"""Other names of a host, by which SSH passes firewalls."""

CASELESS_HOSTS = frozenset({"github.com", "gitlab.com", "bitbucket.org", "codeberg.org"})
"""Hosts for which `Acme/Shop` and `acme/shop` are the same."""

MAX_URL = 2_000
"""Characters of a URL that is read: longer than any host accepts."""


def read_remote(common: str) -> tuple[str | None, str | None]:
    """Return the normalised URL of a repository's remote, or else the folder of this machine that it is."""
    path = os.path.join(common, "config")
    try:
        info = os.stat(path)
    except (OSError, ValueError):
        return None, None
    remote = normalise_remote(read_remote_url(path, info.st_mtime_ns, info.st_size, info.st_ino) or "")
    return (None, remote[5:]) if remote is not None and remote.startswith("file:") else (remote, None)


@lru_cache(maxsize=64)
def read_remote_url(path: str, _changed: int, _size: int, _inode: int) -> str | None:
    """Return the URL of the remote `origin` in a configuration, else of the first one, as it is written; by the file's state."""
    text = read_bounded(path, MAX_CONFIG)
    urls = {} if text is None else parse_remote_urls(text.decode("utf-8", "replace"))
    return urls.get("origin", next(iter(urls.values()), None))


def parse_remote_urls(text: str) -> dict[str, str]:
    """Parse the first URL of each remote from a configuration."""
    urls: dict[str, str] = {}
    for section, remote, key, value in iterate_config_values(text):
        if section == "remote" and remote and key == "url":
            urls.setdefault(remote, value)
    return {name: url for name, url in urls.items() if url}


def iterate_config_values(text: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield section, subsection, key and value of each setting of a configuration; section and key in small letters."""
    section = sub = ""
    for line in re.sub(r"\\\r?\n", "", text.removeprefix("\ufeff")).splitlines():
        rest = line.strip()
        heading = SECTION.match(rest)
        if heading is not None:
            section, _, dotted = heading["name"].partition(".")
            sub = dotted if heading["sub"] is None else re.sub(r"\\(.)", r"\1", heading["sub"])
            rest = rest[heading.end() :].strip()
        key, equals, value = rest.partition("=")
        if equals:
            yield section.lower(), sub, key.strip().lower(), parse_config_value(value)


def parse_config_value(text: str) -> str:
    """Parse what stands behind the equals sign: quotes, escapes and comments."""
    made, quoted, letters = [], False, iter(text.strip())
    for letter in letters:
        if letter == "\\":
            following = next(letters, "")
            made.append(ESCAPES.get(following, following))
        elif letter == '"':
            quoted = not quoted
        elif letter in "#;" and not quoted:
            break
        else:
            made.append(letter)
    return "".join(made).strip()


def normalise_remote(url: str) -> str | None:
    """Return `host/path` of a remote URL; `file:/path` for a local absolute path; None where it names neither.

    >>> normalise_remote("https://me:secret@GitHub.com:443/acme/shop.git/")
    'github.com/acme/shop'
    >>> normalise_remote("git@github.com:acme/shop.git")
    'github.com/acme/shop'
    """
    url = url.strip()
    if not url or len(url) > MAX_URL or not url.isprintable():
        return None
    parts = URL.fullmatch(url)
    if parts is not None:
        scheme, rest = parts["scheme"].lower(), parts["rest"]
        return to_local_remote(rest) if scheme == "file" else normalise_authority(scheme, rest)
    head, colon, _ = url.partition(":")
    if colon and "/" not in head and len(head) > 1:
        return normalise_scp_form(url)
    return to_local_remote(url)


def normalise_authority(scheme: str, rest: str) -> str | None:
    rest = re.split(r"[?#]", rest, maxsplit=1)[0]
    authority, _, path = rest.partition("/")
    host, port = split_port(authority.rpartition("@")[2])
    if "@" in path and "@" not in authority and (port or host is None):
        # A password with a slash in it: the host stands behind the last `@`.
        authority, _, path = rest.rpartition("@")[2].partition("/")
        host, port = split_port(authority)
    if host is None:
        return None
    suffix = "" if scheme in SSH_SCHEMES or port in ("", PORTS.get(scheme)) else f":{port}"
    return join_remote(host, suffix, path)


def normalise_scp_form(url: str) -> str | None:
    if "@" in url.partition("/")[0] and not url.startswith("["):
        head, _, tail = url.partition("/")
        url = head.rpartition("@")[2] + ("/" + tail if tail else "")
    elif "@" in url and not url.startswith("["):  # a password with a slash in it
        url = url.rpartition("@")[2]
    host, colon, path = url.partition(":")
    if url.startswith("["):
        host, colon, path = url[1:].partition("]:")
        host = host.rpartition("@")[2]
    return join_remote(host.lower(), "", path) if colon and host else None


def split_port(authority: str) -> tuple[str | None, str]:
    """Split `host:port`; the host is None where that is no authority."""
    parts = re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[^:\[\]@/\\]+)(?::(\d*))?", authority)
    return (None, "") if parts is None else (parts[1].strip("[]").rstrip(".").lower(), parts[2] or "")


def join_remote(host: str, port: str, path: str) -> str | None:
    host = SAME_HOSTS.get(host, host)
    path = "/".join(part for part in unquote(path).split("/") if part not in ("", "."))
    if path.lower().endswith(".git"):
        path = path[:-4].rstrip("/")
    if not host or not path or not path.isprintable():
        return None
    return f"{host}{port}/{path.lower() if host in CASELESS_HOSTS else path}"


def to_local_remote(path: str) -> str | None:
    """Return the normal form of a remote that is a folder of this machine; None for a relative one."""
    place = unquote(path) if "%" in path else path
    if not place.startswith("/"):
        return None
    place = "/" + "/".join(part for part in place.split("/") if part not in ("", "."))
    return f"file:{place.removesuffix('/.git').removesuffix('.git')}"


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
