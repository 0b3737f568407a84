"""The memory files that hosts read beside ours, for a folder and its user: where they lie, who reads them, what is in them.

A host's data has a member `memory_files`: `home`, its folder, which shows that it is here; `files`, each with its `level` and
either a `path` as those of `entry` or, `up`, one in each folder from the project's root down to the working one (`above`: from
the file system's root). `only` the `root` or the working `folder`, `first` of several names in a folder, `hidden_by` a file
beside it, `unless` another is anywhere, `form`, `on_demand`, `lines` and `bytes` say what is read of it. `names` (`more` names,
or those of a `renamed` file), `excludes` and `most` are keys of the host's settings: names, patterns of paths that it leaves
out, bytes that it reads of all. Everything is read as text, and nothing is run.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hermes_memory_store.host_files.memory_entries import FENCE, SECTIONS, FileEntry, split_entries, split_text_lines
from hermes_memory_store.host_files.memory_files import MemoryFileKind, hermes_home, load_host_limits
from hermes_memory_store.hosts.host_data import find_hosts_with, load_host
from hermes_memory_store.notation.token_estimate import estimate_tokens
from hermes_memory_store.places.git_files import find_repository
from hermes_memory_store.system.file_handles import open_regular

MOST_BYTES, MOST_FILES, MOST_DEPTH, MOST_IMPORTED = 1 << 20, 200, 5, 5
"""Bytes of a file that is looked at, files of a pattern, folders below it, and imports of imports."""

ABSENT = "not on this machine"

IMPORTED = re.compile(r"(?<![\w`@])@((?:~/|\.{0,2}/)?[\w./~-]*[\w-])")
CODE_SPAN = re.compile(r"`[^`\n]*`")


@dataclass(frozen=True, slots=True)
class HostPlaces:
    """What of this machine the places of memory files depend on."""

    folder: Path
    """The working folder, absolute and without links."""
    home: Path
    environ: Mapping[str, str]
    find_path: Callable[[str], Path]
    """Returns a path of a host's data."""
    read_setting: Callable[[str, str], Any]
    """Returns what a host's settings say for a key; None where they say nothing."""
    is_memory_on: Callable[[str], bool]
    """Whether the memory that a host writes itself is on."""


@dataclass(frozen=True, slots=True)
class HostReading:
    """Whether a host reads a file, and why not."""

    host: str
    title: str
    problem: str = ""
    """Why it does not read it; empty where it does."""
    note: str = ""
    """When it reads it, where not at each start."""
    most_lines: int = 0
    """Lines that it reads; 0 for all."""


@dataclass(frozen=True, slots=True)
class HostFile:
    path: Path
    label: str
    """The path as a person writes it: from the project's root, or from `~`."""
    level: str
    """`managed`, `user`, `project`, `local` or `auto`, which a host wrote itself."""
    form: str
    readings: tuple[HostReading, ...]
    content: bytes = b""
    entries: tuple[FileEntry, ...] = ()
    problem: str = ""
    """Why it was not looked into."""

    @property
    def text(self) -> str:
        return self.content.decode("utf-8")

    @property
    def tokens(self) -> int:
        return estimate_tokens(self.content.decode("utf-8", "replace"))

    @property
    def is_read(self) -> bool:
        return any(not reading.problem for reading in self.readings)


@dataclass(slots=True)
class HostFileScan:
    """Find the files, each once, with the hosts that read it."""

    places: HostPlaces
    root: Path = field(init=False)
    files: dict[Path, HostFile] = field(default_factory=dict)

    def __post_init__(self) -> None:
        repository = find_repository(os.fspath(self.places.folder))
        self.root = self.places.folder if repository is None else Path(repository.root)

    def scan(self) -> list[HostFile]:
        for host, table in find_hosts_with("memory_files").items():
            self._scan_host(host, table)
        order = ("managed", "user", "project", "local", "auto")
        return sorted(self.files.values(), key=lambda file: (order.index(file.level), file.path.parts))

    def _scan_host(self, host: str, table: dict[str, Any]) -> None:
        read_setting = self.places.read_setting
        home = self._expand(table["home"])
        absence = "" if home.is_dir() else ABSENT
        excludes = read_setting(host, table["excludes"]) if "excludes" in table else ()
        names = read_setting(host, table["names"]) if "names" in table else ()
        named = [names] if isinstance(names, str) else [name for name in names or () if isinstance(name, str)]
        most = read_setting(host, table["most"]) if "most" in table else None
        left = most if isinstance(most, int) else table.get("bytes_of_all", 0)
        taken: list[Path] = []
        for place in table["files"]:
            for path, hidden_by in self._find_paths(place, named):
                problem = absence or (f"{hidden_by} is read in its place" if hidden_by else "")
                if place["level"] == "auto" and not problem and not self.places.is_memory_on(host):
                    problem = "its own memory is switched off"
                if unless := next((name for name in place.get("unless", ()) if self._has_above(name)), ""):
                    problem = problem or f"{unless} is read in its place"
                if any(
                    fnmatch.fnmatch(os.fspath(path), pattern) for pattern in excludes or () if isinstance(pattern, str)
                ):
                    problem = problem or "excluded by its settings"
                file = self._load(path, place)
                if left and "up" in place and not problem and file.content:
                    left -= len(file.content)
                    problem = "over the bytes that it reads of all such files" if left <= 0 else ""
                self._add(file, host, place, problem)
                taken += [file.path]
        if table.get("imports"):
            for path in taken:
                self._follow_imports(host, self.files[path], frozenset(taken))

    def _expand(self, path: str) -> Path:
        if path.startswith("{hermes}"):
            return hermes_home(self.places.environ) / path.removeprefix("{hermes}").lstrip("/")
        return Path(path) if path.startswith("/") else self.places.find_path(path)

    def _find_paths(self, place: dict[str, Any], named: list[str]) -> Iterator[tuple[Path, str]]:
        """Yield the files of one place that are there, each with the name of the one that is read instead of it."""
        if "path" in place:
            for slug in self._slugs() if "{slug}" in place["path"] else ("",):
                pattern = self._expand(place["path"].replace("{slug}", slug))
                hiding = place.get("hidden_by", "")
                hidden_by = hiding if hiding and (pattern.parent / hiding).is_file() else ""
                yield from ((path, hidden_by) for path in find_matching(pattern))
            return
        folders = [
            folder for folder in (self.places.folder, *self.places.folder.parents) if self._is_looked_at(folder, place)
        ]
        names = place["up"] if isinstance(place["up"], list) else [place["up"]]
        names = named if place.get("renamed") and named else [*names, *(named if place.get("more") else ())]
        for folder in reversed(folders):
            present = ""
            for name in names:
                for path in find_matching(folder / name):
                    yield path, present if place.get("first") else ""
                    present = present or (name if path.stat().st_size else "")

    def _is_looked_at(self, folder: Path, place: dict[str, Any]) -> bool:
        if "only" in place:
            return folder == (self.root if place["only"] == "root" else self.places.folder)
        return folder.is_relative_to(self.root) or (bool(place.get("above")) and folder != Path(folder.anchor))

    def _has_above(self, name: str) -> bool:
        folders = (self.places.folder, *self.places.folder.parents)
        return any((folder / name).is_file() for folder in folders if folder != Path(folder.anchor))

    def _slugs(self) -> list[str]:
        """Return what Claude Code calls the folder: each character but letters and digits is a hyphen."""
        repository = find_repository(os.fspath(self.places.folder))
        folders = [self.places.folder, self.root]
        if repository is not None:
            folders.append(Path(repository.common).parent)
        return list(dict.fromkeys(re.sub(r"[^A-Za-z0-9]", "-", os.fspath(folder)) for folder in folders))

    def _load(self, path: Path, place: dict[str, Any]) -> HostFile:
        """Read a file, unless another host's data named it already."""
        level = place["level"]
        present = self.files.get(path)
        if present is not None:
            return present
        label = self.label(path)
        real = Path(os.path.realpath(path))
        allowed = (
            [self.root]
            if level in ("project", "local") and path.is_relative_to(self.root)
            else [self.places.home, path.parent]
        )
        if not any(real.is_relative_to(folder) for folder in allowed):
            return HostFile(path, label, level, "", (), problem="a link that leads out; not looked at")
        form = place.get("form", "")
        content, problem = read_text_file(path)
        entries = split_entries(content.decode("utf-8"), form) if not problem else ()
        return HostFile(path, label, level, form, (), content, entries, problem)

    def label(self, path: Path) -> str:
        for base, before in ((self.root, ""), (self.places.home, "~/")):
            if path.is_relative_to(base):
                return before + path.relative_to(base).as_posix()
        return os.fspath(path)

    def _add(self, file: HostFile, host: str, place: dict[str, Any], problem: str) -> None:
        note = "read on demand" if place.get("on_demand") else ""
        most_lines = 0
        if not problem and not file.problem:
            front = read_front_matter(file.text)
            patterns = next((front[key] for key in ("paths", "applyTo", "globs") if front.get(key)), "")
            if patterns and patterns.strip("\"'") not in ("**", "**/*") and front.get("alwaysApply") != "true":
                note = f"for {patterns}"
            elif front.get("alwaysApply") == "false":
                note = "when its description fits" if front.get("description") else "when it is named"
            most_lines = self._find_most_lines(file, place)
        if file.form == SECTIONS and not problem:
            note = self._find_overflow(file) or note
        reading = HostReading(host, load_host(host)["title"], problem, note, most_lines)
        if all(reading.host != other.host for other in file.readings):
            file = replace(file, readings=(*file.readings, reading))
        self.files[file.path] = file

    def _find_most_lines(self, file: HostFile, place: dict[str, Any]) -> int:
        most, size = place.get("lines", 0), 0
        for n, (line, end) in enumerate(split_text_lines(file.text)):
            size += len((line + end).encode())
            if (most and n >= most) or (place.get("bytes") and size > place["bytes"]):
                return n
        return 0

    def _find_overflow(self, file: HostFile) -> str:
        limits = load_host_limits(hermes_home(self.places.environ) / "config.yaml")
        kind = MemoryFileKind.USER if file.path.name == "USER.md" else MemoryFileKind.MEMORY
        used = sum(len(entry.text) + 3 for entry in file.entries) - 3
        return f"{used} of {limits[kind]} characters: it refuses to add to it" if used > limits[kind] else ""

    def _follow_imports(self, host: str, file: HostFile, seen: frozenset[Path], depth: int = 1) -> None:
        """Add the files that a file imports by `@path`; what lies out of the project or the home is named and not read."""
        for path in find_imports(file):
            if path in seen or depth > MOST_IMPORTED:
                continue
            inside = path.is_relative_to(self.root) or (
                file.level not in ("project", "local") and path.is_relative_to(self.places.home)
            )
            if not inside:
                imported = HostFile(
                    path, self.label(path), file.level, "", (), problem="out of the project; not looked at"
                )
            elif not path.is_file():
                continue
            else:
                imported = self._load(path, {"level": file.level})
            reader = next((reading for reading in file.readings if reading.host == host), None)
            self._add(imported, host, {"level": file.level}, "" if reader is None else reader.problem)
            self._follow_imports(host, self.files[path], seen | {path}, depth + 1)


def find_host_memory(places: HostPlaces) -> list[HostFile]:
    """Return the memory files of every host for the working folder and the user: managed, user, project, local, auto."""
    return HostFileScan(places).scan()


def find_matching(pattern: Path) -> Iterator[Path]:
    """Yield the files of a path in which a `**` or the name has a `*`, sorted; links to folders are not followed."""
    if not any("*" in part for part in pattern.parts):
        if os.path.lexists(pattern) and not pattern.is_dir():
            yield pattern
        return
    base = Path(*pattern.parts[: next(n for n, part in enumerate(pattern.parts) if "*" in part)])
    found = 0
    for folder, folders, names in os.walk(base):
        depth = len(Path(folder).relative_to(base).parts)
        folders[:] = sorted(folders) if "**" in pattern.parts and depth < MOST_DEPTH else []
        for name in sorted(fnmatch.filter(names, pattern.name)):
            found += 1
            if found > MOST_FILES:
                return
            yield Path(folder) / name


def read_text_file(path: Path) -> tuple[bytes, str]:
    """Return the content of a file, or why it cannot be looked into."""
    try:
        handle = open_regular(path)
        with os.fdopen(handle, "rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        return b"", f"cannot be read: {error.strerror or error}"
    if len(content) > MOST_BYTES:
        return b"", "larger than 1 MB; not looked at"
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        return b"", f"not UTF-8, in line {line}"
    return content, "binary" if b"\0" in content else ""


def read_front_matter(text: str) -> dict[str, str]:
    """Return the simple members of a front matter; a list is joined by commas."""
    lines = [line.rstrip() for line, _ in split_text_lines(text.removeprefix("\ufeff"))]
    members: dict[str, str] = {}
    key = ""
    if lines[0] != "---" or not {"---", "..."} & {*lines[1:]}:
        return members
    for line in lines[1:]:
        if line in ("---", "..."):
            break
        match = re.match(r"([A-Za-z][\w-]*)\s*:\s*(.*)", line)
        if match:
            key = match[1]
            members[key] = match[2].strip().strip("[]")
        elif key and (listed := re.match(r"\s*-\s+(.*)", line)):
            members[key] = ", ".join(filter(None, (members[key], listed[1].strip().strip("\"'"))))
    return members


def find_imports(file: HostFile) -> Iterator[Path]:
    """Yield the paths that a file imports, out of code."""
    base = Path(os.path.realpath(file.path)).parent
    for entry in file.entries:
        if entry.kind == "code" or FENCE.search(entry.text):
            continue
        for match in IMPORTED.finditer(CODE_SPAN.sub("", entry.text)):
            named = Path(match[1]).expanduser() if match[1].startswith("~/") else base / match[1]
            if match[1].startswith(("~/", "/", "./", "../")) or named.is_file():
                yield Path(os.path.normpath(named))
