"""`connect [HOST]`: show the change to a host's configuration, ask for confirmation, back up the file, and write it."""

from __future__ import annotations

import difflib
import os
import sys
from pathlib import Path

from hermes_memory_bridge.connect.host_check import check_configured_command
from hermes_memory_bridge.connect.host_config_files import read_host_config, replace_host_config
from hermes_memory_bridge.connect.host_entries import (
    ConnectRequest,
    find_bridge_entry,
    find_host,
    find_host_config,
    is_created_by_us,
    to_changed_config,
    to_host_entry,
)
from hermes_memory_bridge.connect.hosts import HOSTS, NAME, Host, HostEnvironment
from hermes_memory_bridge.connect.terminal_prompt import confirm_on_terminal
from hermes_memory_store.errors import ArgumentError


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


def show_hosts(place: HostEnvironment) -> int:
    """Show for every host whether it is installed, and connected."""
    for host in HOSTS.values():
        file = host.file(place)
        entry = find_bridge_entry(host, file)
        there = file.exists() or file.parent.exists()
        said = "connected" if entry else "not connected" if there else "not found"
        print(f"{host.name:<15} {said:<14} {file}")
    return 0


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
    print(f"{host.title}: {'works' if outcome.ok else 'does not work'}: {outcome.output}")
    return 0 if outcome.ok else 1
