"""`connect HOST --plugin DIR`: hooks and MCP server as a plugin of Claude Code or Codex, or an extension of Gemini CLI.

The three differ in their manifests alone. What runs comes from the same data as the entries that `connect` writes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hermes_memory_bridge.connect.host_config_files import FileChange, to_file_change
from hermes_memory_bridge.connect.host_hooks import HOOKS
from hermes_memory_bridge.connect.hosts import NAME, Entry, HostEnvironment
from hermes_memory_bridge.version import __version__
from hermes_memory_store.errors import ArgumentError

DESCRIPTION = "Local memory: gives the agent the facts that matter, from one file on this machine."

AUTHOR = {"name": "The hermes-memory-tui contributors"}

MANIFEST = {"name": NAME, "version": __version__, "description": DESCRIPTION}

PUBLISHED = {**MANIFEST, "author": AUTHOR, "license": "MIT"}

README = """# hermes-memory

{description}

This folder was written by `hermes-memory-bridge connect {host} --plugin DIR` for this machine: its hooks and its MCP server
start the programs of one installation of hermes-memory-tui by their paths. Write it again after moving that installation.
Nothing that is said is kept unless you allowed that when the folder was written; `hermes-memory-tui capture status` tells.

Install it with:

{commands}
"""


@dataclass(frozen=True, slots=True)
class PluginForm:
    """What is particular to the plugins of one host."""

    manifests: Callable[[Entry], dict[str, dict[str, Any]]]
    """Documents by path."""
    commands: tuple[str, ...]
    """How a person installs the folder."""


def to_claude_manifests(entry: Entry) -> dict[str, dict[str, Any]]:
    """Return the documents of a plugin of Claude Code, which is a marketplace of its own as well."""
    listed = {"name": NAME, "source": "./", "description": DESCRIPTION}
    return {
        ".claude-plugin/plugin.json": PUBLISHED,
        ".claude-plugin/marketplace.json": {
            "name": NAME,
            "description": DESCRIPTION,
            "owner": AUTHOR,
            "plugins": [listed],
        },
        ".mcp.json": {"mcpServers": {NAME: entry}},
    }


def to_codex_manifests(entry: Entry) -> dict[str, dict[str, Any]]:
    """Return the documents of a plugin of Codex, which is a marketplace of its own as well."""
    files = {"hooks": "./hooks/hooks.json", "mcpServers": "./.mcp.json"}
    listed = {"name": NAME, "source": {"source": "local", "path": "./"}}
    return {
        ".codex-plugin/plugin.json": {**PUBLISHED, **files},
        ".agents/plugins/marketplace.json": {"name": NAME, "plugins": [listed]},
        ".mcp.json": {"mcpServers": {NAME: entry}},
    }


def to_gemini_manifests(entry: Entry) -> dict[str, dict[str, Any]]:
    return {"gemini-extension.json": {**MANIFEST, "mcpServers": {NAME: entry}}}


FORMS = {
    "claude-code": PluginForm(
        to_claude_manifests,
        ("claude plugin marketplace add {folder}", f"claude plugin install {NAME}@{NAME}"),
    ),
    "codex": PluginForm(
        to_codex_manifests,
        ("codex plugin marketplace add {folder}", f"codex plugin add {NAME}@{NAME}"),
    ),
    "gemini": PluginForm(to_gemini_manifests, ("gemini extensions install {folder}",)),
}


def plan_plugin_folder(
    host: str, folder: Path, place: HostEnvironment, entry: Entry, options: Sequence[str], *, keeps: bool
) -> list[FileChange]:
    """Return the files to write.

    :param options: what follows host and event in the hooks' commands
    :raises ArgumentError: the host has no plugins of this kind, or the folder holds something else
    """
    form = FORMS.get(host)
    if form is None:
        raise ArgumentError(f"--plugin writes a folder for {', '.join(FORMS)}; {host} takes none", host)
    hooks: dict[str, list[Any]] = {}
    for event, element in HOOKS[host].to_hooks(host, options, gives=True, keeps=keeps, platform=place.platform):
        hooks.setdefault(event, []).append(element)
    documents = form.manifests(entry) | {"hooks/hooks.json": {"description": DESCRIPTION, "hooks": hooks}}
    wanted = {path: (json.dumps(document, indent=2) + "\n").encode() for path, document in documents.items()}
    commands = "\n".join(f"    {command.format(folder=folder)}" for command in form.commands)
    wanted["README.md"] = README.format(description=DESCRIPTION, host=host, commands=commands).encode()
    refuse_foreign_folder(folder, next(iter(wanted)))
    return [to_file_change(folder / path, content) for path, content in sorted(wanted.items())]


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
