"""What connecting a host changes, before anything is written: its MCP entry, its hooks, and what its person answered."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

from hermes_memory_bridge.connect.hooks.capture_consent import change_consent, edit_switch, find_consent
from hermes_memory_bridge.connect.hooks.codex_trust import to_codex_config
from hermes_memory_bridge.connect.hooks.hook_edit import (
    Hook,
    has_hooks,
    list_own_hooks,
    read_hook_document,
    to_hooked_config,
)
from hermes_memory_bridge.connect.hooks.installation_record import (
    ALLOWED,
    SAID,
    change_record,
    find_installations,
    note_installation,
    note_offer,
    to_record_path,
)
from hermes_memory_bridge.connect.host_config_files import (
    FileEdits,
    HostFileError,
    apply_file_changes,
    read_host_config,
    was_made_by_us,
)
from hermes_memory_bridge.connect.host_entries import (
    BRIDGE_PROGRAM,
    ConnectRequest,
    find_bridge_entry,
    find_host_config,
    find_store_path,
    to_changed_config,
    to_command_options,
    to_host_entry,
    to_standing_request,
)
from hermes_memory_bridge.connect.host_hooks import HOOKS, HookDocument
from hermes_memory_bridge.connect.host_permissions import PERMISSIONS, describe_permissions, lift_permissions
from hermes_memory_bridge.connect.hosts import HOSTS, Host, HostEnvironment, find_here, to_merged_entry
from hermes_memory_bridge.connect.plugins.host_plugins import (
    OWN_BEGINNING,
    SCRIPTS,
    can_hear,
    find_script_plugin,
    hears_events,
    plan_own_files,
)
from hermes_memory_bridge.wire.messages import ESSENTIAL
from hermes_memory_store.clock import system_clock
from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.hosts.guards import load_guards
from hermes_memory_store.hosts.host_data import load_host

TOOLS_VARIABLE = "HERMES_MEMORY_TOOLS"
"""By which a person's entry may choose tools, whatever its host calls the environment."""


@dataclass(frozen=True, slots=True)
class ConnectAnswers:
    gives: bool
    """Whether agents are given what is remembered, by hooks."""
    keeps: bool | None
    """Whether what is said is kept, by hooks; None leaves to each host what was answered for it before."""
    hears: bool | None = False
    """Whether what tools return is heard, by hooks; None as of `keeps`."""
    trusts: bool = True
    """Whether hooks are marked as trusted where a host wants that."""
    rules: bool = False
    """Whether a file with facts is written into each workspace, for hosts whose hooks give nothing."""
    actions: bool | None = None
    """Whether what agents run, read and edit is kept, which is one answer for all hosts; None leaves what was answered before."""
    allows: bool | None = False
    """Whether tools run without a question; None where that was never offered, without what was taken out since."""


def plan_connection(
    edits: FileEdits, host: Host, place: HostEnvironment, request: ConnectRequest, answers: ConnectAnswers
) -> list[str]:
    """Note the edits that connect a host, or with `remove` take it out; return what its person must know besides.

    :raises StoreError: a file cannot be changed safely
    """
    former = find_store_path(to_standing_request(host, place, replace(request, db=None)).db)
    request = to_standing_request(host, place, request)
    store = find_store_path(request.db)
    keeps = find_consent(store, host.name) is True if answers.keeps is None else answers.keeps
    hears = answers.hears
    if hears is None:
        hears = find_consent(store, host.name, of_tools=True) is True
    hears = hears and can_hear(host.name)
    is_told = False
    if can_hear(host.name) and not request.remove:
        with edit_switch(edits, store) as switch:
            switch.actions = switch.actions if answers.actions is None else answers.actions
        is_told = hears or switch.actions is True
    file = find_host_config(host, place, project=request.project)
    document = HOOKS.get(host.name)
    place_of_hooks = hooks_file = find_hooks_file(host, place, project=request.project)
    project = Path.cwd() if request.project else None
    permissions = lift_permissions(edits, former, host.name, place, request, answer=answers.allows)
    sharing = find_sharing_hosts(edits, host, place)
    keeps_any = keeps or any(find_consent(store, sharer.name) for sharer in sharing)
    hooks: list[Hook] = []
    guards = not request.remove and bool(load_guards(store))
    is_told_any = is_told or any(find_consent(store, sharer.name, of_tools=True) for sharer in sharing)
    if document is not None and not request.remove and (answers.gives or keeps_any or is_told_any):
        hooks = document.to_hooks(
            host.name,
            to_command_options(request),
            gives=answers.gives,
            keeps=keeps_any,
            hears=is_told_any,
            guards=guards,
            platform=place.platform,
            in_project=request.project,
        )
    if sharing and not hooks:
        hooks_file = None  # another host reads the same file
    if host.name in SCRIPTS:
        place_of_hooks = find_script_plugin(host.name, place, project)
    is_hooked = bool(hooks) or (host.name in SCRIPTS and (answers.gives or keeps or is_told))
    before = edits.read(file)
    notes = [] if request.remove else load_host(host.name).get("notes", [])[:]
    entry = None
    if not request.remove:
        with contextlib.suppress(ValueError):  # the edit says what is wrong
            entry = host.find_entry(before)
        # A project's entry is shared with others, whose hosts may have no hooks of ours.
        if is_hooked and not (request.project or request.tools or TOOLS_VARIABLE in str(entry)):
            request = replace(request, tools=ESSENTIAL)
        entry = to_merged_entry(to_host_entry(host, request), entry)
        if request.project and shutil.which(BRIDGE_PROGRAM, path=place.environ.get("PATH", "")) is None:
            notes.append(
                f"{BRIDGE_PROGRAM} is started by its name, and is not on your PATH; `pipx install` puts it there"
            )
    is_joint = hooks_file is not None and os.path.realpath(hooks_file) == os.path.realpath(file)
    present = "" if hooks_file is None else edits.read(hooks_file)
    if document is not None and hooks_file is not None and not is_joint:
        plan_hooks(edits, document, hooks_file, hooks)
    if is_joint:
        after = to_joint_config(host, file, before, entry, hooks)
    elif hooks_file is not None and host.name == "codex":
        texts = present, edits.read(hooks_file)
        after, untrusted = to_codex_config(host, file, before, entry, hooks_file, texts, place, trusts=answers.trusts)
        notes += untrusted
    else:
        after = to_changed_config(host, file, before, entry)
    is_emptied = request.remove and not after and after != before and was_made_by_us(file)
    if is_emptied and host.kind == "json" and not request.project:
        after = "{}\n"  # we made the file, and a host cannot read an empty one
    if after != before:
        edits.write(file, None if is_emptied and request.project else after)
    plan_own_files(
        edits,
        host.name,
        place,
        to_command_options(request),
        store,
        gives=answers.gives,
        keeps=keeps,
        hears=is_told,
        guards=guards,
        rules=answers.rules,
        project=project,
    )
    is_heard = host.name in SCRIPTS or not (request.project and hooks_file is None)
    if hears_events(host.name) and is_heard and not (request.project and request.remove):
        change_consent(edits, store, host.name, None if request.remove else keeps)
        if can_hear(host.name):
            change_consent(edits, store, host.name, None if request.remove else hears, of_tools=True)
    is_renewed = place_of_hooks is not None and edits.is_edited(place_of_hooks)
    if request.remove and not request.project:
        note_offer(edits, store, host.name, SAID, None)
    for permission in permissions:
        is_renewed &= place_of_hooks != permission.file or edits.read(permission.file) != permission.bare
        permission.put_back(edits, former, store)
        if len(permission.offer or []) > len(permission.own):
            where = f" in {permission.folder}" if permission.folder else ""
            notes.append(
                f"agents may write, search and tick without asking each time{where}; purge, edit and optimize stay asked."
                " `--no-allow` takes that back"
            )
    if place_of_hooks is not None and (request.remove or is_renewed):
        note_installation(edits, store, host.name, place_of_hooks, system_clock() if is_hooked else None)
    return notes


def plan_removal_elsewhere(edits: FileEdits, host: Host, place: HostEnvironment, request: ConnectRequest) -> None:
    """Note the removal of a host's hooks from every file that the record knows of, those of projects included."""
    store = find_store_path(request.db)
    for permission in lift_permissions(edits, store, host.name, place, request, answer=False):
        permission.put_back(edits, store, store)
    for file in find_installations(store, host.name):
        if host.name in HOOKS and edits.read(file):
            plan_hooks(edits, HOOKS[host.name], file, [])
        elif edits.read(file).startswith(OWN_BEGINNING):
            edits.write(file, None)
        note_installation(edits, store, host.name, file, None)


def list_unpermitted_hosts(store: Path, hosts: Collection[str]) -> list[str]:
    """Return the hosts of these that are connected and ask before each writing, and note that they were returned."""
    place = find_here()
    unpermitted = []
    for host in filter(PERMISSIONS.__contains__, hosts):
        with contextlib.suppress(ArgumentError):  # a variable of the host is wrong, which `connect` says
            entry = find_bridge_entry(HOSTS[host], HOSTS[host].file(place))
            if entry and "--allow" in describe_permissions(host, place, entry):
                unpermitted.append(host)
    edits = FileEdits()
    with contextlib.suppress(HostFileError):  # then they are returned again
        change_record(edits, store, ALLOWED, {host: {SAID: True} for host in hosts})
        apply_file_changes(edits.to_changes(), without_backup=[to_record_path(store)])
    return unpermitted


def to_joint_config(host: Host, file: Path, text: str, entry: dict[str, object] | None, hooks: list[Hook]) -> str:
    """Return the text of a file that holds both the entry and the hooks. What was added last is taken out first."""
    with contextlib.suppress(ValueError):  # the edit says what is wrong
        if host.find_entry(text) == entry and has_hooks(read_hook_document(text), hooks):
            return text
    bare = to_hooked_config(file, text, [])
    return to_hooked_config(file, to_changed_config(host, file, bare, entry), hooks)


def plan_hooks(edits: FileEdits, document: HookDocument, file: Path, hooks: list[Hook]) -> None:
    """Note the edit of a file that holds hooks and no entry; one that we made goes when nothing is left in it."""
    before = edits.read(file)
    after = to_hooked_config(file, before, hooks, version=document.version)
    if after != before:
        edits.write(file, None if not hooks and not after.strip() and was_made_by_us(file) else after)


def find_sharing_hosts(edits: FileEdits, host: Host, place: HostEnvironment) -> list[Host]:
    """Return the other connected hosts that read the file in which a host's hooks stand."""
    hooks_file = find_hooks_file(host, place, project=False)
    sharing: list[Host] = []
    for name, other in HOOKS.items():
        if hooks_file is None or name == host.name or other.file(place) != hooks_file:
            continue
        with contextlib.suppress(ValueError, HostFileError):  # a host that cannot read its file is none
            if HOSTS[name].find_entry(edits.read(HOSTS[name].file(place))) is not None:
                sharing.append(HOSTS[name])
    return sharing


def find_hooks_file(host: Host, place: HostEnvironment, *, project: bool) -> Path | None:
    """Return the file for a host's hooks; None where it has none."""
    document = HOOKS.get(host.name)
    if document is None or (project and document.project is None):
        return None
    return Path.cwd() / str(document.project) if project else document.file(place)


def has_own_hooks(file: Path) -> bool:
    """Check whether a file holds hooks of ours; false also when it cannot be read."""
    try:
        return bool(list_own_hooks(read_hook_document(read_host_config(file))))
    except (ValueError, HostFileError):
        return False
