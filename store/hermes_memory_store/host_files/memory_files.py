"""MEMORY.md and USER.md, which a hermes-agent host puts before every turn: read, measure and replace them.

The host splits them at lines that hold only `§`, takes `flock(LOCK_EX)` on `MEMORY.md.lock` around every change,
and replaces them whole (`tools/memory_tool.py` of hermes-agent 0.19). A program that follows the same three rules
loses nothing.
"""

from __future__ import annotations

import errno
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from hermes_memory_store import errors
from hermes_memory_store.notation import token_estimate
from hermes_memory_store.system.file_locks import open_lock, try_lock
from hermes_memory_store.system.filesystem import atomic_write

DELIMITER = "\n§\n"
"""What stands between two entries."""

LOCK_TIMEOUT_S = 10.0
"""How long to wait for a host that holds the lock before giving up."""

LOCK_RETRY_S = 0.003
"""Between two tries; a host holds the lock for about a millisecond."""


class MemoryFileKind(StrEnum):
    """Which of the two files; the value is the host's own name for it."""

    MEMORY = "memory"
    USER = "user"


DEFAULT_LIMITS = {MemoryFileKind.MEMORY: 2_200, MemoryFileKind.USER: 1_375}
"""Characters the host allows where its configuration does not say otherwise."""


@dataclass(frozen=True, slots=True)
class MemoryFile:
    """One of the two files: its path, and how many characters the host allows in it."""

    kind: MemoryFileKind
    path: Path
    limit: int

    def pct(self, text: str) -> float:
        return 100.0 * count_entry_chars(parse_entries(text)) / self.limit


@dataclass(frozen=True, slots=True)
class FilePressure:
    """How full one file is, and its cost in every turn."""

    file: MemoryFile
    used: int
    """Characters, counted as the host counts them."""
    entries: int
    tokens: int
    """Estimated tokens of the whole file."""

    @property
    def pct(self) -> float:
        return 100.0 * self.used / self.file.limit


def hermes_home(environ: Mapping[str, str] | None = None) -> Path:
    """Return the host's profile folder: `$HERMES_HOME`, else the profile it is set to use, else `~/.hermes`.

    Hosts do not pass `$HERMES_HOME` to the servers they start; the default profile would be the wrong one then.
    """
    variables = os.environ if environ is None else environ
    named = variables.get("HERMES_HOME", "").strip()
    if named:
        return Path(named).expanduser()
    root = Path(variables.get("HOME") or Path.home()) / ".hermes"
    sticky = read_memory_bytes(root / "active_profile").decode("utf-8", "replace").strip()
    profile = root / "profiles" / sticky
    return profile if re.fullmatch(r"[a-z0-9][a-z0-9_-]*", sticky) and profile.is_dir() else root


def find_memory_files(home: Path) -> tuple[MemoryFile, MemoryFile]:
    """Return MEMORY.md and USER.md of a profile, with the limits from its `config.yaml`. They need not exist."""
    limits, folder = load_host_limits(home / "config.yaml"), home / "memories"
    memory, user = MemoryFileKind.MEMORY, MemoryFileKind.USER
    return (
        MemoryFile(memory, folder / "MEMORY.md", limits[memory]),
        MemoryFile(user, folder / "USER.md", limits[user]),
    )


def file_pressures(home: Path) -> list[FilePressure]:
    """Measure how full both files are; a missing file is empty. :raises ImportFileError: one of them is not UTF-8"""
    pressures = []
    for file in find_memory_files(home):
        entries = parse_entries(read_memory_text(file.path))
        text = join_entries(entries)
        pressures.append(FilePressure(file, len(text), len(entries), token_estimate.estimate_tokens(text)))
    return pressures


def parse_entries(text: str) -> list[str]:
    """Parse the entries of a file as the host does: stripped, without empty ones, each once."""
    stripped = (entry.strip() for entry in text.split(DELIMITER))
    return list(dict.fromkeys(entry for entry in stripped if entry))


def join_entries(entries: Iterable[str]) -> str:
    return DELIMITER.join(entries)


def is_round_trip_stable(entries: list[str]) -> bool:
    """Check whether entries survive being written and read: one that begins or ends with a line of § alone does not."""
    return parse_entries(join_entries(entries)) == entries


def count_entry_chars(entries: Iterable[str]) -> int:
    """Count the characters that the host counts against the limit: the entries and their separators."""
    return len(join_entries(entries))


def read_memory_text(path: Path) -> str:
    """Return the text of a file with the host's line ends; empty when there is none. :raises ImportFileError: not UTF-8"""
    return decode_memory_text(read_memory_bytes(path), path)


def read_memory_bytes(path: Path) -> bytes:
    """Return the content of a file, empty when there is none. :raises FileError: when it cannot be read"""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise errors.StoreUnreadable(f"{path} cannot be read: {error.strerror or error}", path) from error


def decode_memory_text(content: bytes, path: Path) -> str:
    """Decode the content as text. :raises ImportFileError: names the byte and the line that is not UTF-8"""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise errors.ImportFileError(
            f"{path} is not UTF-8: byte 0x{content[error.start]:02x} in line {line}; nothing was touched, repair it "
            "in an editor (until then the host runs with an empty memory)",
            path,
        ) from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


@contextmanager
def host_file_lock(path: Path, *, timeout_s: float = LOCK_TIMEOUT_S) -> Iterator[None]:
    """Hold the host's own lock on a file. The lock file is kept: removing it would let two hold the lock at once.

    :raises StoreLocked: when another process held it for longer than `timeout_s`
    """
    lock = path.with_name(path.name + ".lock")
    with translate_file_errors(lock):
        handle = open_lock(lock)
    try:
        deadline = time.monotonic() + timeout_s
        while not try_lock(handle):
            if time.monotonic() > deadline:
                raise errors.StoreLocked(
                    f"{path} has been locked by another process for {timeout_s:g} s; nothing was changed, try again",
                    path,
                )
            time.sleep(LOCK_RETRY_S)
        yield
    finally:
        os.close(handle)


def replace_memory_file(path: Path, content: bytes, *, expected: bytes) -> None:
    """Replace the content of a file, whole or not at all, readable by its owner alone. Hold the lock for it.

    :param expected: the content from which the new one was made
    :raises Conflict: when it holds something else by now, as after an editor without locking; nothing was changed
    """

    def confirm() -> None:
        if read_memory_bytes(path) != expected:
            raise errors.Conflict(f"{path} was changed by a program without a lock; it was left alone, try again", path)

    with translate_file_errors(path), atomic_write(path, confirm=confirm) as file:
        file.write(content)


@contextmanager
def translate_file_errors(path: Path) -> Iterator[None]:
    """Translate the system's errors into the store's errors about this file."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise errors.DiskFull(f"the disk of {path} is full; nothing was changed, free some space", path) from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise errors.StoreReadOnly(f"{path} cannot be written: {reason}; nothing was changed", path) from error
        raise errors.StoreUnreadable(f"{path} cannot be written: {reason}; nothing was changed", path) from error


def load_host_limits(config: Path) -> dict[MemoryFileKind, int]:
    """Load the limits from the host's `config.yaml`; defaults where the file or a number is missing."""
    limits = dict(DEFAULT_LIMITS)
    section = find_memory_section(read_memory_bytes(config).decode("utf-8", "replace"))
    for kind in MemoryFileKind:
        # Only what `int` of the host takes: 3000, '3000', 3_000.
        key, number = rf"""(["']?){kind}_char_limit\1""", r"""(["']?)(\d[\d_]*)\2"""
        match = re.search(rf"(?m)(?:^|[{{,\s]){key}\s*:\s*{number}\s*(?=[,}}#]|$)", section)
        if match and int(match[3]) > 0:
            limits[kind] = int(match[3])
    return limits


def find_memory_section(config: str) -> str:
    """Find the content of the top-level key `memory` of a YAML text, in block or flow style, without comments.

    Two numbers do not justify a YAML parser among the dependencies; anything not recognised leaves the defaults.
    """
    section: list[str] = []
    inside = False
    depth: int | None = None
    for line in config.splitlines():
        bare = re.sub(r"(^|\s)#.*", "", line).rstrip()
        if not bare:
            continue
        indent = len(bare) - len(bare.lstrip())
        if indent == 0:
            head = re.fullmatch(r"""(["']?)memory\1\s*:(.*)""", bare)
            inside, depth = head is not None, None
            if head:
                section.append(head[2])
        elif inside:
            depth = indent if depth is None else depth
            if indent == depth:
                section.append(bare)
    return "\n".join(section)
