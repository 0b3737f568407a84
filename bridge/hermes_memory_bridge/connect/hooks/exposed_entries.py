"""What hosts start with files of their working folder on the path: entries and hooks of earlier versions."""

from __future__ import annotations

import contextlib
import os

from hermes_memory_bridge.connect.hooks.hook_edit import list_own_hooks, read_hook_document
from hermes_memory_bridge.connect.host_config_files import HostFileError, read_host_config
from hermes_memory_bridge.connect.host_entries import find_bridge_entry
from hermes_memory_bridge.connect.host_hooks import HOOKS, ISOLATED
from hermes_memory_bridge.connect.hosts import HOSTS, find_here, to_started_command
from hermes_memory_store.errors import ArgumentError


def find_exposed_entries() -> list[str]:
    """Return a sentence for each entry by which a host runs files of its working folder before our code can prevent it."""
    place = find_here()
    path = (place.environ.get("PYTHONPATH") or os.sep).split(os.pathsep)
    exposed = ["-m"] if all(map(os.path.isabs, path)) else ["-m", "--db", "--theme", None]
    warnings = []
    for host in HOSTS.values():
        with contextlib.suppress(ArgumentError, OSError):  # a variable that names no whole path, or no file
            file = host.file(place)
            if exposed[1:] or b"hermes_memory_bridge" in file.read_bytes():  # parsing them all would take long
                words = [*to_started_command(find_bridge_entry(host, file) or {}), None]
                if words[0] and words[1] in exposed:
                    warnings.append(
                        f"{host.title}: the entry in {file} runs files of the folder that it is started in;"
                        " `hermes-memory-bridge connect --all` mends it"
                    )
    for name, document in HOOKS.items() if exposed[1:] else ():
        with contextlib.suppress(ArgumentError, OSError, ValueError, HostFileError):  # no file, or one of another form
            file = document.file(place)
            own = list_own_hooks(read_hook_document(read_host_config(file)))
            if any(ISOLATED not in str(hook.handler) for hook in own):
                warnings.append(
                    f"{HOSTS[name].title}: the hooks in {file} run files of the folder that they are started in;"
                    f" `hermes-memory-bridge connect {name}` mends it"
                )
    return warnings
