"""Rules files: hot facts as a file in a workspace, for hosts whose hooks give the model nothing.

A person says for each host whether he wants them, in `<store>.rules.json`. Such a file says itself whose it is: a marker with a
digest of the rest. One without the marker is somebody else's, one whose digest differs was changed by somebody. Where a fact is
purged, quarantined, withdrawn or changed, triggers mark the files stale, and they are erased before that is committed; the
host's next event writes them anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hermes_memory_store.clock import Clock
from hermes_memory_store.database.db import Db
from hermes_memory_store.frozen import dataclass
from hermes_memory_store.hosts.host_data import find_hosts_with
from hermes_memory_store.hosts.waiting_records import erase
from hermes_memory_store.items.name_keys import Names
from hermes_memory_store.model import Millis
from hermes_memory_store.system.file_handles import open_regular
from hermes_memory_store.system.filesystem import atomic_write

RULES_FILES: dict[str, dict[str, Any]] = find_hosts_with("rules_file")

RULES_PLACES = {host: tuple(file["path"]) for host, file in RULES_FILES.items()}
"""By the host's name, where its file stands in a workspace."""

MARKER = "<!-- hermes-memory wrote this file and will write it again; digest {digest} -->\n"

MARKED = re.compile(MARKER.replace("{digest}", "([0-9a-f]{64})").encode())

FENCED = b"| "

MAX_FILE = 1 << 20

INCLUSION = re.compile(r"(?<!\S)@")
"""Begins the name of a file that Goose would read into its hints."""

FILES = "SELECT r.path, r.host, t.name, r.written_at FROM rules_files r LEFT JOIN themes t ON t.id = r.theme_id"


@dataclass(frozen=True, slots=True)
class RulesFile:
    path: Path
    host: str
    theme: str | None
    written_at: Millis


class RulesFiles:
    def __init__(self, db: Db, names: Names, clock: Clock) -> None:
        self._db = db
        self._names = names
        self._clock = clock

    def list(self) -> Sequence[RulesFile]:
        """Return the files that were written and not erased since."""
        return [
            RulesFile(Path(path), host, theme, Millis(at))
            for path, host, theme, at in self._db.rows(f"{FILES} ORDER BY 1")
        ]

    def is_current(self, path: Path, host: str, text: str) -> bool:
        """Check whether a file was written by this store and holds just these facts."""
        current = self._db.value("SELECT 1 FROM rules_files WHERE path = ? AND stale = 0", (os.fspath(path),))
        return current is not None and read_rules_file(path) == format_rules_file(host, text)

    def write(self, path: Path, host: str, theme: str, text: str) -> None:
        """Write a file within the transaction that reads its facts, so that no purge passes between.

        :param text: the fenced facts
        :raises OSError: it cannot be written
        """
        content = format_rules_file(host, text)
        with self._db.write_transaction() as conn:
            if read_rules_file(path) != content:
                path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
                with atomic_write(path, durable=False) as file:
                    file.write(content)
            row = (os.fspath(path), host, self._names.theme_or_none(theme), self._clock())
            conn.execute(
                "INSERT OR REPLACE INTO rules_files (path, host, theme_id, written_at) VALUES (?, ?, ?, ?)", row
            )

    def erase(self, path: Path) -> bool:
        """Erase a file that was written, and forget it; return whether nothing of it is left."""
        with self._db.write_transaction() as conn:
            is_gone = erase_rules_file(path)
            if is_gone:
                conn.execute("DELETE FROM rules_files WHERE path = ?", (os.fspath(path),))
        return is_gone

    def disown(self) -> None:
        """Forget all files and leave them as they are: in a copy, what changes must not erase those of the store."""
        with self._db.write_transaction() as conn:
            conn.execute("DELETE FROM rules_files")


def erase_stale_files(conn: sqlite3.Connection) -> None:
    """Erase the files that hold what no longer may be given, within the transaction that made them stale.

    One that cannot be reached stays on the list, and is tried again by the next write.
    """
    for (path,) in conn.execute("SELECT path FROM rules_files WHERE stale = 1").fetchall():
        if erase_rules_file(Path(path)):
            conn.execute("DELETE FROM rules_files WHERE path = ?", (path,))


def find_stale_files(db: Db) -> list[Path]:
    """Return the files that should have been erased and could not be reached."""
    return [Path(path) for (path,) in db.rows("SELECT path FROM rules_files WHERE stale = 1")]


def format_rules_file(host: str, text: str) -> bytes:
    if RULES_FILES[host].get("includes_files"):
        text = INCLUSION.sub("(at)", text)
    body = f"{text}\n"
    head: str = RULES_FILES[host].get("head", "")
    return (head + MARKER.format(digest=hashlib.sha256((head + body).encode()).hexdigest()) + body).encode()


def is_own_rules_file(content: bytes) -> bool:
    """Check whether a file was written by us and by nobody since."""
    match = MARKED.search(content)
    if match is None:
        return False
    return match[1].decode() == hashlib.sha256(content[: match.start()] + content[match.end() :]).hexdigest()


def read_rules_file(path: Path) -> bytes | None:
    """Return the content of a regular file of moderate size; None where there is none."""
    try:
        handle = open_regular(path, follow_links=False)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file, contextlib.suppress(OSError):
        return file.read(MAX_FILE)
    return None


def erase_rules_file(path: Path) -> bool:
    """Erase a file of ours, and the folders it leaves empty; of one that somebody changed, our facts alone.

    Returns whether nothing of ours is left; also where it is somebody else's by now, or was never there.
    """
    content = read_rules_file(path)
    if content is None:
        return not path.is_file()
    if not MARKED.search(content):
        return True
    if not is_own_rules_file(content):  # somebody changed it: the fenced lines and the marker go
        lines = MARKED.sub(b"", content).splitlines(keepends=True)
        try:
            with atomic_write(path, mode=path.stat().st_mode & 0o777) as file:
                file.write(b"".join(line for line in lines if not line.startswith(FENCED)))
        except OSError:
            return False
        return True
    if not erase(os.fspath(path)):
        return False
    places = [place for place in RULES_PLACES.values() if path.parts[-len(place) :] == place]
    for folder in path.parents[: len(places[0]) - 1 if places else 0]:
        try:
            folder.rmdir()
        except OSError:
            break
    return True


def find_rules_consent_file(store_path: str | os.PathLike[str]) -> Path:
    store = Path(store_path).expanduser().resolve()
    return store.with_name(f"{store.name}.rules.json")


def may_write_rules(store_path: str | os.PathLike[str], host: str) -> bool:
    """Check whether a person said yes for this host; a damaged file is a no."""
    try:
        return host in parse_rules_consent(find_rules_consent_file(store_path).read_bytes())
    except (OSError, ValueError):
        return False


def parse_rules_consent(content: bytes | None) -> list[str]:
    """Return the hosts for which a person said yes. :raises ValueError: the content is something else"""
    document = json.loads(content) if content and content.strip() else {}
    hosts = document.get("hosts", []) if isinstance(document, dict) else None
    if not isinstance(hosts, list):
        raise ValueError("it holds no answers")
    return [host for host in hosts if isinstance(host, str)]


def to_rules_consent(content: bytes | None, host: str, *, answer: bool) -> bytes | None:
    """Return the file's content with an answer for a host; None where no yes is left.

    :raises ValueError: the content is something else
    """
    hosts = [agreed for agreed in parse_rules_consent(content) if agreed != host] + [host] * answer
    return (json.dumps({"hosts": hosts}) + "\n").encode() if hosts else None
