"""MEMORY.md and USER.md, the files a hermes-agent host puts before every turn: read, measured and replaced as it does.

The host splits them at lines that hold only `§`, takes `flock(LOCK_EX)` on `MEMORY.md.lock` around every change, and
replaces them whole (`tools/memory_tool.py` of hermes-agent 0.19). Whoever keeps to the same three rules loses nothing.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from hermes_memory_store import errors, tokens
from hermes_memory_store.filesystem import atomic_write

DELIMITER = "\n§\n"
"""What stands between two entries."""

LOCK_TIMEOUT_S = 10.0
"""How long to wait for a host that holds the lock before giving up."""

LOCK_RETRY_S = 0.003
"""Between two tries; a host holds the lock for about a millisecond."""


class Kind(StrEnum):
    """Which of the two files; the value is the host's own word for it."""

    MEMORY = "memory"
    USER = "user"


DEFAULT_LIMITS = {Kind.MEMORY: 2_200, Kind.USER: 1_375}
"""Characters the host allows where its configuration does not say otherwise."""


@dataclass(frozen=True, slots=True)
class MemoryFile:
    """One of the two files: where it is, and how many characters the host allows in it."""

    kind: Kind
    path: Path
    limit: int

    def pct(self, text: str) -> float:
        """How full the file is with that text, in percent of its limit."""
        return 100.0 * used(parse(text)) / self.limit


@dataclass(frozen=True, slots=True)
class FilePressure:
    """How full one file is and what it costs in every turn."""

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
    """The folder of the host's profile: `$HERMES_HOME`, else the profile it was told to use, else `~/.hermes`.

    Hosts do not hand `$HERMES_HOME` to the servers they start; the default profile would be the wrong one then.
    """
    variables = os.environ if environ is None else environ
    named = variables.get("HERMES_HOME", "").strip()
    if named:
        return Path(named).expanduser()
    root = Path(variables.get("HOME") or Path.home()) / ".hermes"
    sticky = read_bytes(root / "active_profile").decode("utf-8", "replace").strip()
    profile = root / "profiles" / sticky
    return profile if re.fullmatch(r"[a-z0-9][a-z0-9_-]*", sticky) and profile.is_dir() else root


def files(home: Path) -> tuple[MemoryFile, MemoryFile]:
    """MEMORY.md and USER.md of a profile, with the limits its `config.yaml` sets. They need not exist."""
    limits = configured_limits(home / "config.yaml")
    folder = home / "memories"
    return (
        MemoryFile(Kind.MEMORY, folder / "MEMORY.md", limits[Kind.MEMORY]),
        MemoryFile(Kind.USER, folder / "USER.md", limits[Kind.USER]),
    )


def pressure(home: Path) -> list[FilePressure]:
    """How full both files are; a file that does not exist is empty. Writes nothing.

    :raises ImportFileError: when one of them is not UTF-8
    """
    measured = []
    for file in files(home):
        entries = parse(read(file.path))
        measured.append(FilePressure(file, used(entries), len(entries), tokens.estimate(join(entries))))
    return measured


def parse(text: str) -> list[str]:
    """The entries of a file as the host loads them: stripped, without empty ones, each once."""
    stripped = (entry.strip() for entry in text.split(DELIMITER))
    return list(dict.fromkeys(entry for entry in stripped if entry))


def join(entries: Iterable[str]) -> str:
    """Entries as the host writes them."""
    return DELIMITER.join(entries)


def is_settled(entries: list[str]) -> bool:
    """Whether entries come back as they are when they are written and read.

    An entry that begins or ends with a line of nothing but § does not: the host itself would cut it in another place.
    """
    return parse(join(entries)) == entries


def used(entries: Iterable[str]) -> int:
    """Characters the host counts against the limit: the entries and what stands between them."""
    return len(join(entries))


def read(path: Path) -> str:
    """The text of a file, with line ends as the host sees them; empty when there is no file.

    :raises ImportFileError: when it is not UTF-8: a host reads it as empty then, without a word
    """
    return decoded(read_bytes(path), path)


def read_bytes(path: Path) -> bytes:
    """The content of a file, empty when there is none. :raises FileError: when it cannot be read"""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise errors.StoreUnreadable(f"{path} cannot be read: {error.strerror or error}", path) from error


def decoded(content: bytes, path: Path) -> str:
    """The content as text. :raises ImportFileError: names the byte and the line where it is not UTF-8"""
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
def locked(path: Path, *, timeout_s: float = LOCK_TIMEOUT_S) -> Iterator[None]:
    """Hold the host's own lock on a file. The lock file stays behind: removing it would let two hold the lock at once.

    :raises StoreLocked: when somebody else held it for longer than `timeout_s`
    """
    lock = path.with_name(path.name + ".lock")
    with saying_why(lock):
        handle = os.open(lock, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        deadline = time.monotonic() + timeout_s
        while not taken(handle):
            if time.monotonic() > deadline:
                raise errors.StoreLocked(
                    f"{path} has been locked by another process for {timeout_s:g} s; nothing was changed, try again",
                    path,
                )
            time.sleep(LOCK_RETRY_S)
        yield
    finally:
        os.close(handle)


def taken(handle: int) -> bool:
    """Whether the lock could be had at once."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def replace(path: Path, content: bytes, *, expected: bytes) -> None:
    """Put new content in the place of a file, whole or not at all, readable by its owner alone. Hold the lock for it.

    :param expected: what the file held when the new content was made from it
    :raises Conflict: when it holds something else by now, as after an editor that knows no lock; nothing was changed
    """

    def confirm() -> None:
        if read_bytes(path) != expected:
            raise errors.Conflict(f"{path} was changed by a program without a lock; it was left alone, try again", path)

    with saying_why(path), atomic_write(path, confirm=confirm) as file:
        file.write(content)


def create(path: Path, content: bytes) -> None:
    """Write a file whole or not at all, readable by its owner alone; on the disk when this returns."""
    with saying_why(path), atomic_write(path) as file:
        file.write(content)


@contextmanager
def saying_why(path: Path) -> Iterator[None]:
    """Turn the system's refusals into sentences about this file."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise errors.DiskFull(f"the disk of {path} is full; nothing was changed, free some space", path) from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise errors.StoreReadOnly(f"{path} cannot be written: {reason}; nothing was changed", path) from error
        raise errors.StoreUnreadable(f"{path} cannot be written: {reason}; nothing was changed", path) from error


def configured_limits(config: Path) -> dict[Kind, int]:
    """The limits in the host's `config.yaml`; its defaults where there is no such file or no such number in it."""
    limits = dict(DEFAULT_LIMITS)
    said = memory_section(read_bytes(config).decode("utf-8", "replace"))
    for kind in Kind:
        # Only what `int` of the host takes: 3000, '3000', 3_000.
        key, number = rf"""(["']?){kind}_char_limit\1""", r"""(["']?)(\d[\d_]*)\2"""
        found = re.search(rf"(?m)(?:^|[{{,\s]){key}\s*:\s*{number}\s*(?=[,}}#]|$)", said)
        if found and int(found[3]) > 0:
            limits[kind] = int(found[3])
    return limits


def memory_section(config: str) -> str:
    """What stands under the top-level key `memory` of a YAML text, in block or in flow style, without comments.

    Two numbers do not earn a YAML parser among the dependencies; whatever is not recognised leaves the defaults.
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
