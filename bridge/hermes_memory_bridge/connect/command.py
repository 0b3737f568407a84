"""`connect [HOST]`: shows what would change in a host's configuration, asks, keeps a backup, and writes it."""

from __future__ import annotations

import difflib
import glob
import itertools
import os
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from hermes_memory_bridge.connect.checking import check
from hermes_memory_bridge.connect.hosts import HOSTS, NAME, Entry, Host, Place
from hermes_memory_bridge.prompt import confirm
from hermes_memory_store.errors import ArgumentError, StoreError


class HostFileError(StoreError):
    """A host's configuration that cannot be read or changed; it was left alone."""

    code = "host.unreadable"


@dataclass(frozen=True)
class ConnectRequest:
    """What `connect` was asked to do."""

    host: str | None = None
    db: str | None = None
    theme: str | None = None
    project: bool = False
    remove: bool = False
    check: bool = False
    dry_run: bool = False
    yes: bool = False
    provider: bool = False
    profiles: tuple[str, ...] = ()
    all_profiles: bool = False


def connect_host(request: ConnectRequest) -> int:
    """Carry it out. Exit code 0; 1 when a check failed or the answer was no. :raises StoreError:"""
    place = Place(Path.home(), sys.platform, dict(os.environ))
    if request.host is None:
        return check_all(place) if request.check else overview(place)
    host = host_named(request.host)
    if request.provider:
        from hermes_memory_bridge.connect import provider

        return provider.run(host, request)
    if request.profiles or request.all_profiles:
        raise ArgumentError("--profile and --all-profiles go with --provider", host.name)
    file = file_of(host, place, project=request.project)
    if request.check:
        return check_one(host, file)
    before = read(file)
    after = changed(host, file, before, None if request.remove else entry_of(host, request))
    if request.remove and not after and host.kind == "json" and is_ours_alone(host, file):
        after = "{}\n"  # we made the file, and a host cannot read an empty one
    if after == before:
        print(f"{host.title}: nothing to change in {file}")
        return 0
    sys.stdout.writelines(
        difflib.unified_diff(before.splitlines(keepends=True), after.splitlines(keepends=True), str(file), str(file))
    )
    if request.dry_run:
        return 0
    if not request.yes and not confirm(f"Write {file}?"):
        print("nothing was changed")
        return 1
    kept = write(file, after)
    print(
        f"{host.title}: {'taken out of' if request.remove else 'connected in'} {file}"
        + (f", as it was in {kept}" if kept else "")
    )
    if not request.remove:
        print(f"Restart {host.title}; `hermes-memory-bridge connect {host.name} --check` tries it.")
    return 0


def host_named(name: str) -> Host:
    """The host of that name. :raises ArgumentError: with the nearest that exists"""
    host = HOSTS.get(name.lower())
    if host is None:
        near = difflib.get_close_matches(name.lower(), HOSTS, n=1)
        meant = f", did you mean {near[0]}?" if near else ""
        raise ArgumentError(f"{name!r} is no host I know{meant}; choose from {', '.join(HOSTS)}", name)
    return host


def file_of(host: Host, place: Place, *, project: bool) -> Path:
    """The file to change. :raises ArgumentError: the host has none in a project"""
    if not project:
        return host.file(place)
    if host.project is None:
        raise ArgumentError(f"{host.title} has no configuration inside a project; leave --project out", host.name)
    return Path.cwd() / host.project


def entry_of(host: Host, request: ConnectRequest) -> Entry:
    """What stands in the host's file: this installation's own command, by its whole path."""
    words = own_command()
    for name in ("db", "theme"):
        value = getattr(request, name)
        if value:
            words += [f"--{name}", str(Path(value).expanduser().absolute()) if name == "db" else value]
    return host.entry(words[0], words[1:])


def own_command() -> list[str]:
    """The console script of this installation; hosts know no virtual environment."""
    script = Path(sys.executable).with_name("hermes-memory-bridge")
    return [str(script)] if script.exists() else [sys.executable, "-m", "hermes_memory_bridge"]


def changed(host: Host, file: Path, text: str, entry: Entry | None) -> str:
    """The text with the entry, or without any; read back to be sure of it.

    :raises HostFileError: the file is not one that can be changed safely
    """
    try:
        present = host.present(text) if text.strip() else None
        if present == entry:
            return text
        after = host.taken_out(text) if entry is None else host.added(base_of(host, text, present), entry)
        if host.present(after) != entry:
            raise ValueError("the change would not read back as it was meant")
    except ValueError as error:
        raise HostFileError(f"{file} was left alone: {error}", file) from error
    return after


def base_of(host: Host, text: str, present: Entry | None) -> str:
    """What an entry is put into: the text without the one it has, where that stands as it was put in.

    So what takes the new entry out finds the same text as before the first one.
    """
    bare = text if present is None else host.taken_out(text)
    return bare if present is None or host.added(bare, present) == text else text


def read(file: Path) -> str:
    """The file's text; empty when there is none. :raises HostFileError:"""
    try:
        return file.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise HostFileError(f"{file} cannot be read: {error}", file) from error


def write(file: Path, text: str) -> Path | None:
    """Put the text in the file's place at once, links followed and its mode kept; where the old one was put."""
    target = file.resolve()
    kept = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        mode = 0o600
        if target.exists():
            mode = target.stat().st_mode & 0o777
            kept = back_up(target)
        handle, made = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        with os.fdopen(handle, "wb") as new:
            new.write(text.encode())
            new.flush()
            os.fsync(new.fileno())
        Path(made).chmod(mode)
        Path(made).replace(target)
    except OSError as error:
        raise HostFileError(f"{target} cannot be written: {error.strerror or error}", target) from error
    return kept


def back_up(file: Path) -> Path:
    """Copy a file beside itself, under a name that no other copy has. :raises OSError:"""
    stamp = time.strftime("%Y%m%dT%H%M%S")
    for number in itertools.count(1):
        kept = file.with_name(f"{file.name}.{stamp}{'' if number == 1 else f'-{number}'}.bak")
        try:
            handle = os.open(kept, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            continue
        with os.fdopen(handle, "wb") as copy:
            copy.write(file.read_bytes())
        shutil.copystat(file, kept)
        return kept
    raise AssertionError


def is_ours_alone(host: Host, file: Path) -> bool:
    """Whether a file that would be empty was made by us: no copy of it is from before the bridge stood in it."""
    return all(
        connected(host, copy) for copy in file.resolve().parent.glob(f"{glob.escape(file.resolve().name)}.*.bak")
    )


def overview(place: Place) -> int:
    """Every host: whether it is there, and connected."""
    for host in HOSTS.values():
        file = host.file(place)
        entry = connected(host, file)
        there = file.exists() or file.parent.exists()
        said = "connected" if entry else "not connected" if there else "not found"
        print(f"{host.name:<15} {said:<14} {file}")
    return 0


def connected(host: Host, file: Path) -> Entry | None:
    """What a host's file says of the bridge; None too when it cannot be read."""
    try:
        return host.present(read(file)) if file.exists() else None
    except (ValueError, HostFileError):
        return None


def check_all(place: Place) -> int:
    """Try every connected host."""
    found = [(host, host.file(place)) for host in HOSTS.values() if connected(host, host.file(place))]
    if not found:
        print("no host is connected; `hermes-memory-bridge connect HOST` connects one")
        return 1
    return max(check_one(host, file) for host, file in found)


def check_one(host: Host, file: Path) -> int:
    """Start what a host has configured, as it would."""
    entry = connected(host, file)
    if entry is None:
        print(f"{host.title}: {NAME} does not stand in {file}; `hermes-memory-bridge connect {host.name}` connects it")
        return 1
    command = [str(entry.get("command") or entry.get("cmd")), *map(str, entry.get("args", []))]
    outcome = check(command, dict(entry.get("env") or entry.get("envs") or {}))
    print(f"{host.title}: {'works' if outcome.ok else 'does not work'}: {outcome.said}")
    return 0 if outcome.ok else 1
