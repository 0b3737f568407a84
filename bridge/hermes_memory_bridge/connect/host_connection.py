"""`connect [HOST]`: show the change to a host's configuration, ask for confirmation, back up the file, and write it."""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hermes_memory_bridge.connect.connect_plan import (
    ConnectAnswers,
    find_hooks_file,
    find_sharing_hosts,
    has_own_hooks,
    plan_connection,
    plan_removal_elsewhere,
)
from hermes_memory_bridge.connect.hooks.capture_consent import change_consent, edit_switch, find_consent
from hermes_memory_bridge.connect.hooks.codex_trust import TRUST_QUESTION, CodexUnavailable, call_through_codex
from hermes_memory_bridge.connect.hooks.hook_check import check_hooks, find_given_events, list_heeding_hosts
from hermes_memory_bridge.connect.hooks.installation_record import find_installations, find_offers
from hermes_memory_bridge.connect.host_check import (
    HostCheckResult,
    check_configured_command,
    find_own_memory,
    probe_host,
)
from hermes_memory_bridge.connect.host_config_files import FileChange, FileEdits, HostFileError, apply_file_changes
from hermes_memory_bridge.connect.host_entries import (
    ConnectRequest,
    find_bridge_entry,
    find_host,
    find_host_config,
    find_own_command,
    find_store_path,
    to_command_options,
    to_host_entry,
    to_standing_request,
)
from hermes_memory_bridge.connect.host_permissions import (
    PermissionEdit,
    describe_permissions,
    find_permitted_uses,
    lift_permissions,
)
from hermes_memory_bridge.connect.hosts import HOSTS, NAME, Host, HostEnvironment, find_here, to_started_command
from hermes_memory_bridge.connect.lasting_command import require_lasting_command
from hermes_memory_bridge.connect.plugins.host_plugins import (
    SCRIPTS,
    can_hear,
    find_script_plugin,
    hears_events,
    read_plugin_command,
)
from hermes_memory_bridge.connect.plugins.plugin_folder import FORMS, fill_in, plan_plugin_folder
from hermes_memory_bridge.connect.provider_install import find_plugin_folder
from hermes_memory_bridge.connect.terminal_prompt import confirm_on_terminal
from hermes_memory_bridge.tools import select_tools
from hermes_memory_bridge.wire.messages import ESSENTIAL
from hermes_memory_store.errors import ArgumentError, StoreError, StoreMissing
from hermes_memory_store.hosts.capture_switch import load_capture_switch
from hermes_memory_store.hosts.host_data import find_hosts_with, load_host
from hermes_memory_store.hosts.rules_files import RULES_PLACES, may_write_rules
from hermes_memory_store.store import Store

PASTED = find_hosts_with("paste")
"""Hosts known by their documents alone: by the file, what a person may put into it."""

OWN_ENDINGS = (".capture.json", ".hooks.json", ".rules.json", "settings.local.json")
"""How the files end that get no backup: those beside a store, which nobody else writes, and one in projects."""


def connect_host(request: ConnectRequest) -> int:
    """Execute a request. Exit code 0; 1 when a check failed or the answer was no. :raises StoreError: it cannot be done"""
    place = find_here()
    if request.host is None and not request.every:
        if request.check:
            return to_exit_code(list_host_checks(request))
        for host in HOSTS.values():
            file = host.file(place)
            is_connected = find_bridge_entry(host, file) is not None
            state = "connected" if is_connected else "not connected" if host.is_there(place) else "not found"
            print(f"{host.name:<15} {state:<14} {file}")
        return 0
    if request.tools is not None:
        select_tools(request.tools)
    if request.every:
        if request.host is not None or request.provider or request.project:
            raise ArgumentError("--all connects every host that is there; leave HOST, --provider and --project out")
        return to_exit_code(list_host_checks(request)) if request.check else connect_every_host(place, request)
    assert request.host is not None
    if request.host in PASTED:
        return print_lines_to_paste(request.host, request)
    host = find_host(request.host)
    if request.provider:
        from hermes_memory_bridge.connect import provider_install

        return provider_install.run_provider_install(host, request)
    if request.profiles or request.all_profiles:
        raise ArgumentError("--profile and --all-profiles go with --provider", host.name)
    if request.plugin:
        return write_plugin_folder(host, place, request)
    request = to_standing_request(host, place, request)
    if request.check:
        return to_exit_code(list_host_checks(request))
    answers = ask_what_is_wanted(request, place, [host])
    edits = FileEdits()
    notes = plan_connection(edits, host, place, request, answers)
    return write_connections(request, [host], edits.to_changes(), place, notes)


def print_lines_to_paste(host: str, request: ConnectRequest) -> int:
    """Print what a person may put into the files of a host that this program was never run with; write nothing."""
    if request.check or request.remove or request.provider or request.plugin or request.project:
        raise ArgumentError(f"nothing is written for {host}: `connect {host}` prints lines to paste", host)
    words = [*require_lasting_command(find_own_command()), *to_command_options(request)]
    entry = {"command": words[0], "args": words[1:]}
    print(f"{load_host(host)['title']}: by its documents alone, not tried; nothing was written. Paste this into:")
    for place, document in fill_in(PASTED[host], {"ENTRY": entry}).items():
        print(f"\n{place}:\n{document if isinstance(document, str) else json.dumps(document, indent=2)}")
    return 0


def list_host_checks(request: ConnectRequest) -> list[ConnectedHost]:
    """Check a host, or every connected one, and print what is found. :raises StoreError: as `connect_host`"""
    place = find_here()
    if request.host is None:
        return check_connected_hosts(place, request)
    return [check_connected_host(find_host(request.host), place, request)]


def to_exit_code(checks: Sequence[ConnectedHost]) -> int:
    return 0 if checks and all(check.ok for check in checks) else 1


def connect_every_host(place: HostEnvironment, request: ConnectRequest) -> int:
    """Connect every host that is there, or take the memory out of every one. A file that must be left alone stops no other."""
    hosts = [host for host in HOSTS.values() if is_concerned(host, place, request)]
    if not hosts and request.remove:
        print("no host is connected")
        return 0
    if not hosts:
        print("no host was found; `hermes-memory-bridge connect` lists those known")
        return 1
    answers = ask_what_is_wanted(request, place, hosts)
    edits, notes, planned = FileEdits(), [], []
    for host in hosts:
        attempt = edits.copy()
        try:
            remarks = plan_connection(attempt, host, place, request, answers)
            if request.remove and not find_sharing_hosts(attempt, host, place):
                plan_removal_elsewhere(attempt, host, place, request)
        except StoreError as error:
            print(f"{host.title}: {error}", file=sys.stderr)
            continue
        edits = attempt
        notes += [f"{host.title}: {note}" for note in remarks]
        planned.append(host)
    if not planned:
        return 1
    code = write_connections(request, planned, edits.to_changes(), place, notes)
    return code if len(planned) == len(hosts) else 1


def is_concerned(host: Host, place: HostEnvironment, request: ConnectRequest) -> bool:
    """Check whether `--all` means a host: it is there, or with `remove` anything of ours stands in its files."""
    if request.remove:
        hooks_file = find_hooks_file(host, place, project=False)
        has_hooks = hooks_file is not None and has_own_hooks(hooks_file)
        is_sharing = bool(find_sharing_hosts(FileEdits(), host, place))
        store = find_store_path(request.db)
        if find_offers(FileEdits(), store, host.name) or (find_installations(store, host.name) and not is_sharing):
            return True
        has_plugin = host.name in SCRIPTS and bool(read_plugin_command(find_script_plugin(host.name, place)))
        return find_bridge_entry(host, host.file(place)) is not None or has_plugin or (has_hooks and not is_sharing)
    # hermes-agent may have the memory as its provider
    is_provided = host.name == "hermes-agent" and find_plugin_folder(host.file(place).parent).exists()
    return not is_provided and host.is_there(place)


def write_plugin_folder(host: Host, place: HostEnvironment, request: ConnectRequest) -> int:
    """Write hooks and entry as a plugin or an extension into a folder, and tell how it is installed."""
    folder = Path(str(request.plugin)).expanduser().absolute()
    options = to_command_options(request)
    before = find_consent(find_store_path(request.db), host.name)
    keeps = before is True if request.capture is None else request.capture  # an answer of before stands
    heard = find_consent(find_store_path(request.db), host.name, of_tools=True)
    hears = heard is True if request.hear is None else request.hear
    entry, edits = to_host_entry(host, replace(request, tools=request.tools or ESSENTIAL)), FileEdits()
    with edit_switch(edits, find_store_path(request.db)) as switch:
        if request.actions is not None and not request.project:
            switch.actions = request.actions
    changes = plan_plugin_folder(
        *(host.name, folder, place, entry, options),
        keeps=keeps,
        hears=hears or (switch.actions is True and not request.project),
        in_project=request.project,
    )
    if not request.project:  # what is for others answers for nobody
        change_consent(edits, find_store_path(request.db), host.name, keeps)
        change_consent(edits, find_store_path(request.db), host.name, hears, of_tools=True)
    changes = [change for change in (*changes, *edits.to_changes()) if change.is_needed]
    written = write_connections(request, [], changes, place, [])
    if changes and written == 0 and not request.dry_run:
        print(
            "\n  ".join(
                ["Install it with:", *(command.format(folder=folder) for command in FORMS[host.name]["commands"])]
            )
        )
    return written


def ask_what_is_wanted(request: ConnectRequest, place: HostEnvironment, hosts: Sequence[Host]) -> ConnectAnswers:
    """Return what the person wants: as options say, else as he answers. Nothing is kept without an answer."""
    heard_hosts = [host for host in hosts if hears_events(host.name)]
    if request.remove or not heard_hosts:
        return ConnectAnswers(False, False)
    titles = " and ".join(host.title for host in heard_hosts)
    is_silent = request.yes or request.dry_run
    if not is_silent:
        print(f"Enter at a question takes the answer in capitals; at every one it connects {titles}.")
    gives, keeps, hears = request.hooks, request.capture, request.hear
    if gives is None:
        gives = is_silent or confirm_on_terminal(
            f"Give your agents what is remembered? Hooks of {titles} hand over the facts that matter.", default=True
        )
    if keeps is None and not is_silent:
        store = find_store_path(request.db)
        keeps = confirm_on_terminal(
            f"Keep what is said? What you and {titles} say is then stored in your memory, on this machine.",
            default=all(find_consent(store, host.name) for host in heard_hosts),
        )
    hearing_hosts = [host for host in heard_hosts if can_hear(host.name)]
    if hears is None and hearing_hosts and not is_silent:
        store = find_store_path(request.db)
        hears = confirm_on_terminal(
            "May it hear what tools and pages returned, to tell their words from yours?"
            f" ({', '.join(host.title for host in hearing_hosts)}; digests in memory alone, nothing of it is kept.)",
            default=all(find_consent(store, host.name, of_tools=True) for host in hearing_hosts),
        )
    actions = request.actions
    if actions is None and hearing_hosts and not is_silent:
        actions = confirm_on_terminal(
            "Keep what is done? What your agents run, read and edit, how it ended, and the ends of errors, in your memory on this"
            " machine, for 90 days.",
            default=load_capture_switch(find_store_path(request.db)).actions is True,
        )
    allows = request.allow
    if allows is None and not is_silent:
        allows = ask_for_permissions(request, place, heard_hosts)
    trusts = True
    if (gives or keeps or hears or actions) and not is_silent and any(host.name == "codex" for host in heard_hosts):
        trusts = confirm_on_terminal(TRUST_QUESTION, default=True)
    rules = gives and wants_rules_files(request, heard_hosts)
    return ConnectAnswers(gives, keeps, hears, trusts, rules, actions, allows)


def ask_for_permissions(request: ConnectRequest, place: HostEnvironment, hosts: Sequence[Host]) -> bool | None:
    """Return what the person answers to the question whether tools run unasked, as `ConnectAnswers.allows` has it."""
    store, files = find_store_path(request.db), FileEdits()
    edits: list[PermissionEdit] = []
    for host in hosts:
        with contextlib.suppress(HostFileError):  # connecting it says why
            edits += lift_permissions(files, store, host.name, place, request, answer=None)
    edits = [edit for edit in edits if edit.offer is not None]
    if not edits:
        return None
    was_refused = not any(edit.offer for edit in edits)
    where = "".join(f" {HOSTS[edit.host].title}: in {edit.folder} alone." for edit in edits if edit.folder)
    is_yes = confirm_on_terminal(
        "May your agents write, search and tick without asking each time? Purge, edit and optimize stay asked"
        f" ({', '.join(HOSTS[edit.host].title for edit in edits)}).{where}",
        default=not was_refused,
    )
    return (True if was_refused else None) if is_yes else False


def wants_rules_files(request: ConnectRequest, hosts: Sequence[Host]) -> bool:
    """Return whether the person wants files with facts in his workspaces. Without an answer none are written."""
    rules_hosts = [host for host in hosts if host.name in RULES_PLACES]
    if not rules_hosts or request.rules is not None:
        return bool(rules_hosts and request.rules)
    store = find_store_path(request.db)
    before = all(may_write_rules(store, host.name) for host in rules_hosts)
    if request.yes or request.dry_run:
        return before
    files = " and ".join("/".join(RULES_PLACES[host.name]) for host in rules_hosts)
    return confirm_on_terminal(
        f"Write a file with your facts into each workspace? {' and '.join(host.title for host in rules_hosts)} tell the model"
        f" nothing that hooks say, so facts reach it by {files}. Git is told to ignore it, and a purge removes it.",
        default=before,
    )


def write_connections(
    request: ConnectRequest,
    hosts: Sequence[Host],
    changes: Sequence[FileChange],
    place: HostEnvironment,
    notes: Sequence[str],
) -> int:
    """Show the changes, ask once, and write all of them or none.

    :param notes: what the person must know besides, a sentence each
    """
    titles = ", ".join(host.title for host in hosts) or "plugin"
    if not changes:
        files = " and ".join(str(find_host_config(host, place, project=request.project)) for host in hosts) or "it"
        print(f"{titles}: nothing to change in {files}")
        return 0
    for change in changes:
        change.show()
    for note in notes:
        print(note)
    if request.dry_run:
        return 0
    files = ", ".join(str(change.path) for change in changes)
    if not request.yes and not confirm_on_terminal(f"Write {files}?", default=True):
        print("nothing was changed")
        return 1
    store = find_store_path(request.db)
    without_backup = {change.path for change in changes if request.project or change.path.name.endswith(OWN_ENDINGS)}
    backups = apply_file_changes(changes, without_backup=without_backup)
    prefix = f"{titles}: " if len(hosts) == 1 else ""
    for change in changes:
        backup = backups.get(change.path)
        action = "removed" if change.after is None else "taken out of" if request.remove else "connected in"
        print(f"{prefix}{action} {change.path}" + (f", as it was in {backup}" if backup else ""))
    if not request.remove:
        for host in hosts:
            print(f"Restart {host.title}; `hermes-memory-bridge connect {host.name} --check` tries it.")
        offer_project_themes(store, is_silent=request.yes)
    return 0


def offer_project_themes(path: Path, *, is_silent: bool) -> None:
    """Ask the person of a store that was there before whether each project gets a memory of its own.

    :param is_silent: say only how that is chosen
    """
    try:
        with Store.open(path, create=False) as store:
            if not store.place_themes.is_undecided:
                return
            if is_silent:
                print("Every project shares the theme default; `hermes-memory-tui theme adopt` gives each its own.")
            elif confirm_on_terminal(
                "Give each project a memory of its own? What is there is still given where it was."
            ):
                store.place_themes.adopt()
                print("Each project has a theme of its own; `hermes-memory-tui undo` takes it back.")
            else:
                store.place_themes.keep_default()
                print("Every project shares the theme default; `hermes-memory-tui theme adopt` changes that.")
    except StoreMissing:
        return  # `status` asks once there is one
    except StoreError as error:
        print(f"hermes-memory-bridge: {error}", file=sys.stderr)  # the host is connected all the same


@dataclass(slots=True)
class ConnectedHost:
    """What a check finds of a host and its model; None where it cannot be told."""

    host: str
    ok: bool
    works: bool
    """Whether the command of its entry answers this program."""
    called: bool | None = None
    """Whether the host itself reaches the memory, as far as it shows that without its model."""
    given: bool = False
    reads: bool | None = None
    writes: bool | None = None
    """Whether its model may in the working folder, without a question."""
    after_tools: bool = False
    own_memory: bool | None = None


def check_connected_hosts(place: HostEnvironment, request: ConnectRequest) -> list[ConnectedHost]:
    connected = [host for host in HOSTS.values() if find_bridge_entry(host, host.file(place))]
    if not connected:
        print("no host is connected; `hermes-memory-bridge connect HOST` connects one")
    return [check_connected_host(host, place, request) for host in connected]


def check_connected_host(host: Host, place: HostEnvironment, request: ConnectRequest) -> ConnectedHost:
    """Start the command a host has configured, ask the host, and check its hooks: that they can run, and did."""
    file = find_host_config(host, place, project=request.project)
    entry = find_bridge_entry(host, file)
    if entry is None:
        print(f"{host.title}: {NAME} does not stand in {file}; `hermes-memory-bridge connect {host.name}` connects it")
        return ConnectedHost(host.name, ok=False, works=False)
    outcome = check_configured_command(to_started_command(entry), dict(entry.get("env") or entry.get("envs") or {}))
    print(f"{host.title}: {'works' if outcome.ok else 'does not work'}: {outcome.output}")
    answer = None if request.project else call_through_host(host.name, place)
    unasked = "was not asked itself: only its model could show that it reaches the memory, or it is not on the PATH"
    print(
        f"{host.title}: {unasked if answer is None else answer.output if answer.ok else f'does not work: {answer.output}'}"
    )
    permissions = describe_permissions(host.name, place, entry)
    if permissions:
        print(f"{host.title}: {permissions}")
    findings = check_hooks(host, place, find_store_path(request.db)) if hears_events(host.name) else []
    for finding in findings:
        print(f"{host.title}: {finding.detail if finding.ok else f'does not work: {finding.detail}'}")
    if can_hear(host.name) and findings:
        is_heard = find_consent(find_store_path(request.db), host.name, of_tools=True)
        changed = "--no-hear" if is_heard else "--hear"
        state = "heard, to tell their words from yours" if is_heard else "not heard"
        print(f"{host.title}: what tools and pages return is {state}; `connect {host.name} {changed}` changes it")
    if hears_events(host.name) and not findings:
        print(f"{host.title}: no hooks; its model is given what is remembered only when it asks for it")
    are_sound = all(finding.ok for finding in findings)
    checked = ConnectedHost(host.name, ok=outcome.ok and are_sound and (answer is None or answer.ok), works=outcome.ok)
    checked.called = None if answer is None else answer.ok
    events = find_given_events(host, place) if findings else set()
    checked.given, checked.after_tools = bool(events) and are_sound, "tool" in events and are_sound
    if events:
        print(f"{host.title}: its model is {'also' if 'tool' in events else 'not'} given facts after tools")
    with contextlib.suppress(ValueError, HostFileError):  # the permissions say it above
        checked.reads, checked.writes = find_permitted_uses(host.name, place, entry) or (None, None)
    own = find_own_memory(host, place)
    if own is not None:
        checked.own_memory, switch = own
        state = "on, and may tell its model otherwise" if checked.own_memory else "off"
        print(f"{host.title}: its own memory is {state} ({switch})")
    return checked


def call_through_host(host: str, place: HostEnvironment) -> HostCheckResult | None:
    """Have a host reach the memory without its model, as far as it can; None where it cannot be asked."""
    if host != "codex" or shutil.which("codex", path=place.environ.get("PATH", "")) is None:
        return probe_host(host, place)
    try:
        theme = call_through_codex(place)
    except CodexUnavailable as error:
        return HostCheckResult(False, str(error))
    return HostCheckResult(
        True, f"itself called memory_status, theme {theme}, by `codex app-server`; no model was asked"
    )


def renew_guard_hooks(store: Path, *, yes: bool) -> None:
    """Have connected hosts ask before tools if there is a guard, and no more if there is none: after a question."""
    place, edits, notes = find_here(), FileEdits(), []
    request, stale = (
        ConnectRequest(yes=yes),
        [heeding for heeding in list_heeding_hosts(place, store) if heeding.is_stale],
    )
    for heeding in stale:
        rules = may_write_rules(store, heeding.host.name)
        answers = ConnectAnswers(heeding.gives, None, None, rules=rules, allows=None)
        notes += plan_connection(edits, heeding.host, place, request, answers)
    if stale:
        write_connections(request, [heeding.host for heeding in stale], edits.to_changes(), place, notes)
