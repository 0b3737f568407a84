"""`connect HOST --plugin DIR`: hooks and MCP server as a plugin of Claude Code or Codex, or an extension of Gemini CLI.

The three differ in their manifests alone. What runs comes from the same data as the entries that `connect` writes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hermes_memory_bridge.connect.host_config_files import FileChange, to_file_change
from hermes_memory_bridge.connect.host_hooks import HOOKS
from hermes_memory_bridge.connect.hosts import NAME, Entry, HostEnvironment
from hermes_memory_bridge.version import __version__
from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.hosts.host_data import find_hosts_with

DESCRIPTION = "Local memory: gives the agent the facts that matter, from one file on this machine."

MANIFEST = {"name": NAME, "version": __version__, "description": DESCRIPTION}

OF_THIS_MACHINE = "by their paths. Write it again after moving that installation."

NAMED = "that stands on the PATH:\nrun `pipx install hermes-memory-tui` first."

FORMS: dict[str, dict[str, Any]] = find_hosts_with("plugin")
"""By the host's name: `commands`, what a person installs a plugin with, and `documents`, those in it by path, the one that says
whose it is first. VERSION, DESCRIPTION and ENTRY stand for those of this installation."""


def plan_plugin_folder(
    host: str,
    folder: Path,
    place: HostEnvironment,
    entry: Entry,
    options: Sequence[str],
    *,
    keeps: bool,
    hears: bool,
    in_project: bool = False,
) -> list[FileChange]:
    """Return the files to write.

    :param options: what follows host and event in the hooks' commands
    :param in_project: whether programs are named without paths, for others to install
    :raises ArgumentError: the host has no plugins of this kind, or the folder holds something else
    """
    form = FORMS.get(host)
    if form is None:
        raise ArgumentError(f"--plugin writes a folder for {', '.join(FORMS)}; {host} takes none", host)
    hooks: dict[str, list[Any]] = {}
    own_hooks = HOOKS[host].to_hooks(
        host, options, gives=True, keeps=keeps, hears=hears, platform=place.platform, in_project=in_project
    )
    for event, element in own_hooks:
        hooks.setdefault(event, []).append(element)
    documents = fill_in(form["documents"], {"VERSION": __version__, "DESCRIPTION": DESCRIPTION, "ENTRY": entry})
    refuse_foreign_folder(folder, next(iter(documents)))
    documents["hooks/hooks.json"] = {"description": DESCRIPTION, "hooks": hooks}
    contents = {path: (json.dumps(document, indent=2) + "\n").encode() for path, document in documents.items()}
    shown = "PATH-OF-THIS-FOLDER" if in_project else folder
    commands = "\n".join(f"    {command.format(folder=shown)}" for command in form["commands"])
    readme = Path(__file__).with_name("plugin_readme.md").read_text(encoding="utf-8")
    contents["skills/distil/SKILL.md"] = (Path(__file__).parents[2] / "surface" / "distil.md").read_bytes()
    contents["README.md"] = readme.format(
        description=DESCRIPTION, host=host, commands=commands, programs=NAMED if in_project else OF_THIS_MACHINE
    ).encode()
    return [to_file_change(folder / path, content) for path, content in sorted(contents.items())]


def fill_in(document: Any, values: dict[str, Any]) -> Any:
    """Return a document with values in the place of words that stand for them."""
    if isinstance(document, dict):
        return {key: fill_in(value, values) for key, value in document.items()}
    if isinstance(document, list):
        return [fill_in(element, values) for element in document]
    return values.get(document, document)


def refuse_foreign_folder(folder: Path, manifest: str) -> None:
    """Refuse a folder that holds files but no plugin of ours. :raises ArgumentError: it is one"""
    if not folder.exists():
        return
    try:
        document = json.loads((folder / manifest).read_bytes())
        is_ours = isinstance(document, dict) and document.get("name") == NAME
    except (OSError, ValueError):
        is_ours = folder.is_dir() and not any(folder.iterdir())
    if not is_ours:
        raise ArgumentError(f"{folder} holds something else; name a folder that is empty or not there yet", folder)
