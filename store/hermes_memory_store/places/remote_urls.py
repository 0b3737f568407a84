"""Remote URLs in one form, however a clone spells them: `github.com/acme/shop`. Never with a user or a password."""

from __future__ import annotations

import re
from urllib.parse import unquote

URL = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<rest>.*)", re.IGNORECASE)

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
    found = URL.fullmatch(url)
    if found is not None:
        scheme, rest = found["scheme"].lower(), found["rest"]
        return to_local_remote(rest) if scheme == "file" else normalise_authority(scheme, rest)
    head, colon, _ = url.partition(":")
    if colon and "/" not in head and len(head) > 1:
        return normalise_scp_form(url)
    return to_local_remote(url)


def normalise_authority(scheme: str, rest: str) -> str | None:
    """Return the normal form of what follows `scheme://`."""
    rest = re.split(r"[?#]", rest, maxsplit=1)[0]
    authority, _, path = rest.partition("/")
    host, port = split_port(authority.rpartition("@")[2])
    if "@" in path and "@" not in authority and (port or host is None):
        # A password with a slash in it: the host stands behind the last `@`.
        authority, _, path = rest.rpartition("@")[2].partition("/")
        host, port = split_port(authority)
    if host is None:
        return None
    kept = "" if scheme in SSH_SCHEMES or port in ("", PORTS.get(scheme)) else f":{port}"
    return join_remote(host, kept, path)


def normalise_scp_form(url: str) -> str | None:
    """Return the normal form of `user@host:path`."""
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
    found = re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[^:\[\]@/\\]+)(?::(\d*))?", authority)
    return (None, "") if found is None else (found[1].strip("[]").rstrip(".").lower(), found[2] or "")


def join_remote(host: str, port: str, path: str) -> str | None:
    """Join a host and a path in their normal forms."""
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


def remote_label(remote: str) -> str:
    """Return the last part of a normal form: what people call the project."""
    return remote.rpartition("/")[2]
