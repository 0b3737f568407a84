"""`connect [HOST]`: show the change to a host's configuration, ask for confirmation, back up the file, and write it."""

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

from hermes_memory_bridge.connect.host_check import check_configured_command
from hermes_memory_bridge.connect.hosts import HOSTS, NAME, Entry, Host, HostEnvironment
from hermes_memory_bridge.connect.terminal_prompt import confirm_on_terminal
from hermes_memory_store.errors import ArgumentError, StoreError


class HostFileError(StoreError):
    """A host's configuration file cannot be read or changed; it was left unchanged."""

    code = "host.unreadable"


@dataclass(frozen=True)
class ConnectRequest:
    """The request of a `connect` command."""

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
    """Execute a request. Exit code 0; 1 when a check failed or the answer was no.

    :raises StoreError: says why it cannot be done
    """
    place = HostEnvironment(Path.home(), sys.platform, dict(os.environ))
    if request.host is None:
        return check_connected_hosts(place) if request.check else show_hosts(place)
    host = find_host(request.host)
    if request.provider:
        from hermes_memory_bridge.connect import provider_install

        return provider_install.run_provider_install(host, request)
    if request.profiles or request.all_profiles:
        raise ArgumentError("--profile and --all-profiles go with --provider", host.name)
    file = find_host_config(host, place, project=request.project)
    if request.check:
        return check_connected_host(host, file)
    before = read_host_config(file)
    after = to_changed_config(host, file, before, None if request.remove else to_host_entry(host, request))
    if request.remove and not after and host.kind == "json" and is_created_by_us(host, file):
        after = "{}\n"  # we made the file, and a host cannot read an empty one
    if after == before:
        print(f"{host.title}: nothing to change in {file}")
        return 0
    sys.stdout.writelines(
        difflib.unified_diff(before.splitlines(keepends=True), after.splitlines(keepends=True), str(file), str(file))
    )
    if request.dry_run:
        return 0
    if not request.yes and not confirm_on_terminal(f"Write {file}?"):
        print("nothing was changed")
        return 1
    kept = replace_host_config(file, after)
    print(
        f"{host.title}: {'taken out of' if request.remove else 'connected in'} {file}"
        + (f", as it was in {kept}" if kept else "")
    )
    if not request.remove:
        print(f"Restart {host.title}; `hermes-memory-bridge connect {host.name} --check` tries it.")
    return 0


def find_host(name: str) -> Host:
    """Find a host by name.

    :raises ArgumentError: it is unknown; names the nearest match
    """
    host = HOSTS.get(name.lower())
    if host is None:
        near = difflib.get_close_matches(name.lower(), HOSTS, n=1)
        meant = f", did you mean {near[0]}?" if near else ""
        raise ArgumentError(f"{name!r} is no host I know{meant}; choose from {', '.join(HOSTS)}", name)
    return host


def find_host_config(host: Host, place: HostEnvironment, *, project: bool) -> Path:
    """Return the configuration file to change.

    :raises ArgumentError: the host has no configuration inside a project
    """
    if not project:
        return host.file(place)
    if host.project is None:
        raise ArgumentError(f"{host.title} has no configuration inside a project; leave --project out", host.name)
    return Path.cwd() / host.project


def to_host_entry(host: Host, request: ConnectRequest) -> Entry:
    """Return the entry for the host's file: this installation's own command, by its absolute path."""
    words = find_own_command()
    for name in ("db", "theme"):
        value = getattr(request, name)
        if value:
            words += [f"--{name}", str(Path(value).expanduser().absolute()) if name == "db" else value]
    return host.entry(words[0], words[1:])


def find_own_command() -> list[str]:
    """Return the command of this installation, by its path: hosts know no virtual environment."""
    script = Path(sys.executable).with_name("hermes-memory-bridge")
    return [str(script)] if script.exists() else [sys.executable, "-m", "hermes_memory_bridge"]


def to_changed_config(host: Host, file: Path, text: str, entry: Entry | None) -> str:
    """Return the text with the entry, or without any, verified by parsing it again.

    :raises HostFileError: the file cannot be changed safely
    """
    try:
        present = host.find_entry(text) if text.strip() else None
        if present == entry:
            return text
        after = (
            host.remove_entry(text) if entry is None else host.add_entry(find_config_base(host, text, present), entry)
        )
        if host.find_entry(after) != entry:
            raise ValueError("the change would not read back as it was meant")
    except ValueError as error:
        raise HostFileError(f"{file} was left alone: {error}", file) from error
    return after


def find_config_base(host: Host, text: str, present: Entry | None) -> str:
    """Return the text to add an entry to: without the current entry, if that is still as it was added.

    Removing the new entry then restores the same text as before the first one.
    """
    bare = text if present is None else host.remove_entry(text)
    return bare if present is None or host.add_entry(bare, present) == text else text


def read_host_config(file: Path) -> str:
    """Return the file's text; empty when there is none.

    :raises HostFileError: it cannot be read
    """
    try:
        return file.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise HostFileError(f"{file} cannot be read: {error}", file) from error


def replace_host_config(file: Path, text: str) -> Path | None:
    """Replace the file atomically, following links and keeping its mode; return the path of the backup."""
    target = file.resolve()
    kept = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        mode = 0o600
        if target.exists():
            mode = target.stat().st_mode & 0o777
            kept = back_up_host_config(target)
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


def back_up_host_config(file: Path) -> Path:
    """Copy a file beside itself under an unused name.

    :raises OSError: it cannot be copied
    """
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


def is_created_by_us(host: Host, file: Path) -> bool:
    """Check whether we created a file that would become empty: no backup predates the bridge's entry."""
    return all(
        find_bridge_entry(host, copy)
        for copy in file.resolve().parent.glob(f"{glob.escape(file.resolve().name)}.*.bak")
    )


def show_hosts(place: HostEnvironment) -> int:
    """Show for every host whether it is installed, and connected."""
    for host in HOSTS.values():
        file = host.file(place)
        entry = find_bridge_entry(host, file)
        there = file.exists() or file.parent.exists()
        said = "connected" if entry else "not connected" if there else "not found"
        print(f"{host.name:<15} {said:<14} {file}")
    return 0


def find_bridge_entry(host: Host, file: Path) -> Entry | None:
    """Return the bridge's entry in a host's file; None also when the file cannot be read."""
    try:
        return host.find_entry(read_host_config(file)) if file.exists() else None
    except (ValueError, HostFileError):
        return None


def check_connected_hosts(place: HostEnvironment) -> int:
    """Check every connected host."""
    found = [(host, host.file(place)) for host in HOSTS.values() if find_bridge_entry(host, host.file(place))]
    if not found:
        print("no host is connected; `hermes-memory-bridge connect HOST` connects one")
        return 1
    return max(check_connected_host(host, file) for host, file in found)


def check_connected_host(host: Host, file: Path) -> int:
    """Start the command a host has configured, as the host would."""
    entry = find_bridge_entry(host, file)
    if entry is None:
        print(f"{host.title}: {NAME} does not stand in {file}; `hermes-memory-bridge connect {host.name}` connects it")
        return 1
    command = [str(entry.get("command") or entry.get("cmd")), *map(str, entry.get("args", []))]
    outcome = check_configured_command(command, dict(entry.get("env") or entry.get("envs") or {}))
    print(f"{host.title}: {'works' if outcome.ok else 'does not work'}: {outcome.said}")
    return 0 if outcome.ok else 1
