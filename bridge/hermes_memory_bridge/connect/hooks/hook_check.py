"""Whether hooks stand as they should, can be run, are trusted, and were heard."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from hermes_memory_bridge.connect.hooks.capture_consent import find_consent, needs_tool_hooks
from hermes_memory_bridge.connect.hooks.codex_trust import CodexUnavailable, find_trust_entries, list_codex_hooks
from hermes_memory_bridge.connect.hooks.hook_edit import OwnHook, list_own_hooks, read_hook_document
from hermes_memory_bridge.connect.hooks.host_states import format_elapsed, format_heard
from hermes_memory_bridge.connect.hooks.installation_record import find_installations
from hermes_memory_bridge.connect.hooks.trust_tables import find_trusted_hashes
from hermes_memory_bridge.connect.host_config_files import HostFileError, read_host_config
from hermes_memory_bridge.connect.host_hooks import HOOKS, HookDocument, find_hook_program
from hermes_memory_bridge.connect.hosts import HOSTS, Host, HostEnvironment
from hermes_memory_bridge.connect.plugins.host_plugins import (
    SCRIPTS,
    find_plugin_problems,
    find_script_plugin,
    read_plugin_command,
)
from hermes_memory_bridge.hook_program.program import SILENT
from hermes_memory_store.clock import system_clock
from hermes_memory_store.errors import ArgumentError, StoreError
from hermes_memory_store.hosts.guards import load_guards
from hermes_memory_store.hosts.host_data import load_host
from hermes_memory_store.hosts.host_sessions import HostReport
from hermes_memory_store.store import Store
from hermes_memory_store.system.filesystem import default_store_path
from hermes_memory_store.system.own_process import to_isolated_environment

CHECK_EVENT = "check"
"""An event that no host has: the program says that it started, and neither the bridge nor the store hears of it."""

CHECK_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class HookFinding:
    host: str
    ok: bool
    detail: str
    """A sentence; of something that is wrong, with the command that mends it."""


@dataclass(frozen=True, slots=True)
class HeedingHost:
    """A host with hooks of ours, and what becomes of guards in it."""

    host: Host
    gives: bool
    """Whether its hooks give what is remembered."""
    is_installed: bool
    """Whether it calls us before a tool."""
    is_stale: bool
    """Whether it does so without a guard, or not although there is one."""

    def describe(self) -> str:
        from hermes_memory_bridge.hook_program.host_dialects import ASKING_FORMS  # here: who only examines needs it not

        form = load_host(self.host.name)["answers"]["forms"].get("guard")
        if form is None:
            return "cannot be asked before a tool; guards do nothing there"
        does = "asks" if form in ASKING_FORMS else "refuses, since it cannot ask"
        stale = f"; not as it should be: run hermes-memory-tui connect {self.host.name}" if self.is_stale else ""
        return f"{does}, installed{stale}" if self.is_installed else f"{does} once that is installed{stale}"


def list_heeding_hosts(place: HostEnvironment, store: Path) -> list[HeedingHost]:
    """Return the hosts in whose own files hooks of ours stand for this store."""
    is_guarded, heeding = bool(load_guards(store)), []
    for name in [*HOOKS, *SCRIPTS]:
        gives, natives = True, set()
        with contextlib.suppress(ValueError, HostFileError, ArgumentError):
            if name in SCRIPTS:
                file = find_script_plugin(name, place)
                words, is_installed = read_plugin_command(file), 'GUARDED = ["' in read_host_config(file)
            else:
                own = list_own_hooks(read_hook_document(read_host_config(HOOKS[name].file(place))))
                words, natives = [word for hook in own for word in hook.words], {hook.event for hook in own}
                gives = bool(natives & {line.native for line in HOOKS[name].lines if line.gives and not line.keeps})
                is_installed = "guard" in words
            named = dict(itertools.pairwise(words)).get("--db")
            if words and (Path(named) if named else default_store_path()).resolve() == store.resolve():
                can_ask = "guard" in load_host(name)["answers"]["forms"]
                is_stale = can_ask and is_installed is not is_guarded
                heeding.append(HeedingHost(HOSTS[name], gives, is_installed, is_stale))
    return heeding


def examine_hooks(place: HostEnvironment, store: Path, name: str | None = None) -> list[HookFinding]:
    """Examine the hooks of every host, or of one, without asking the host: no finding where none of ours stand.

    :param store: whose record says where hooks were installed besides
    """
    findings: list[HookFinding] = []
    for host, document in HOOKS.items():
        if name not in (None, host):
            continue
        try:
            files = dict.fromkeys([document.file(place), *find_installations(store, host)])
        except ArgumentError as error:
            findings.append(HookFinding(host, False, str(error)))
            continue
        for file in files:
            findings += examine_hooks_file(HOSTS[host], document, file, place, store)
    for host in SCRIPTS:
        if name in (None, host):
            findings += examine_script_plugins(host, place, store)
    return findings


def examine_script_plugins(host: str, place: HostEnvironment, store: Path) -> list[HookFinding]:
    findings = []
    usual, installed = find_script_plugin(host, place), find_installations(store, host)
    for file in dict.fromkeys([usual, *installed]):
        if not file.exists() and file not in installed:
            continue
        try:
            capture, hears = find_consent(store, host) is True, needs_tool_hooks(store, host)
            guards = bool(load_guards(store))
            problems = find_plugin_problems(
                host, file, find_hook_program(), capture=capture, hears=hears, guards=guards
            )
        except ArgumentError as error:
            problems = [str(error)]
        mended = to_mending_command(host, is_usual=file == usual)
        detail = f"{file}: {'; '.join(problems)}; {mended}" if problems else f"the plugin {file}"
        findings.append(HookFinding(host, not problems, detail))
    return findings


def to_mending_command(host: str, *, is_usual: bool) -> str:
    """Return what mends hooks, as the end of a sentence. :param is_usual: whether they stand in the person's own file"""
    return f"`hermes-memory-bridge connect {host}{'' if is_usual else ' --project'}` mends it"


def examine_hooks_file(
    host: Host, document: HookDocument, file: Path, place: HostEnvironment, store: Path
) -> list[HookFinding]:
    mended = to_mending_command(host.name, is_usual=file == document.file(place))
    try:
        settings = read_hook_document(read_host_config(file))
    except (ValueError, HostFileError) as error:
        if file not in find_installations(store, host.name):
            return []
        return [HookFinding(host.name, False, f"{file} cannot be read ({error}); correct it, then {mended}")]
    own = list_own_hooks(settings)
    if not own:
        if file not in find_installations(store, host.name):
            return []
        return [HookFinding(host.name, False, f"the hooks were taken out of {file} by another program; {mended}")]
    problems = [
        *find_program_problems(own),
        *find_missing_events(
            document,
            own,
            keeps=find_consent(store, host.name) is True,
            hears=needs_tool_hooks(store, host.name),
            guards=bool(load_guards(store)),
        ),
        *find_switches(host, settings, place),
        *(find_trust_problems(file, place) if host.name == "codex" else ()),
    ]
    if problems:
        return [HookFinding(host.name, False, f"{file}: {'; '.join(problems)}; {mended}")]
    return [HookFinding(host.name, True, f"{len(own)} hooks in {file}")]


def find_program_problems(own: list[OwnHook]) -> list[str]:
    problems = []
    try:
        present = find_hook_program()
    except ArgumentError as error:
        return [str(error)]
    for program_name in dict.fromkeys(hook.words[0] for hook in own):
        program = Path(shutil.which(program_name) or program_name)
        if not program.is_absolute():
            problems.append(f"{program_name} is no whole path, so the host may not find it")
        elif not program.exists():
            problems.append(f"{program_name} is gone")
        elif not os.access(program, os.X_OK):
            problems.append(f"{program_name} cannot be run")
        elif program != present and not program.samefile(present):
            problems.append(f"{program_name} is of another installation than this one ({present})")
    return problems


def find_missing_events(
    document: HookDocument, own: list[OwnHook], *, keeps: bool, hears: bool, guards: bool
) -> list[str]:
    """Return what stands there in part: the events without which giving, keeping, hearing, or guarding, does not work."""
    present = {hook.event for hook in own}
    gives = bool(present & {line.native for line in document.lines if line.gives and not (line.keeps or line.hears)})
    natives = [
        line.native
        for line in document.lines
        if (line.gives and gives) or (line.keeps and keeps) or (line.hears and hears) or (line.guards and guards)
    ]
    missing = [event for event in natives if event not in present]
    idle = [line.native for line in document.lines if line.guards and not guards and line.native in present]
    problems = [f"no hook at {', '.join(missing)}"] if missing else []
    return [*problems, *(f"a hook at {event} without a guard" for event in idle)]


def find_switches(host: Host, settings: dict[str, object], place: HostEnvironment) -> list[str]:
    """Return the settings that switch all hooks off: the person's, and those of the project in the working folder."""
    problems = list_switches(settings, "")
    for name in host.switches:
        file = Path.cwd() / name
        with contextlib.suppress(ValueError, HostFileError):  # a host that cannot read it heeds nothing of it
            problems += list_switches(read_hook_document(read_host_config(file)), f" in {file}")
    if host.name == "codex":
        from hermes_memory_bridge.connect.toml_yaml_edit import UneditableConfig, parse_toml

        try:
            features = parse_toml(read_host_config(host.file(place))).get("features")
        except (UneditableConfig, HostFileError) as error:
            return [f"{host.file(place)} cannot be read ({error})"]
        if isinstance(features, dict) and features.get("hooks") is False:
            problems.append("`features.hooks` is false in config.toml, so Codex runs none; set it to true")
    return problems


def list_switches(settings: dict[str, object], where: str) -> list[str]:
    """Return the settings of one file that switch hooks off, in the words of Claude Code, Qwen Code and Gemini CLI."""
    problems = []
    if settings.get("disableAllHooks") is True:
        problems.append(f"`disableAllHooks` is true{where}, so the host runs none; set it to false")
    config = settings.get("hooksConfig")
    if isinstance(config, dict) and config.get("enabled") is False:
        problems.append(f"`hooksConfig.enabled` is false{where}, so the host runs none; set it to true")
    disabled = config.get("disabled") if isinstance(config, dict) else None
    if isinstance(disabled, list) and "hermes-memory" in disabled:
        problems.append(f"`hooksConfig.disabled`{where} names hermes-memory; take it out")
    return problems


def find_trust_problems(file: Path, place: HostEnvironment) -> list[str]:
    """Return whether Codex trusts the hooks in a file; nothing where Codex is not there to be asked."""
    config = HOSTS["codex"].file(place)
    try:
        entries = find_trust_entries(read_host_config(file), file, place)
        state = find_trusted_hashes(read_host_config(config))
    except CodexUnavailable:
        return []
    except (ValueError, HostFileError) as error:
        return [str(error)]
    untrusted = [key for key, trusted_hash in entries.items() if state.get(key, {}).get("trusted_hash") != trusted_hash]
    disabled = [key for key in entries if state.get(key, {}).get("enabled") is False]
    counts = (
        (untrusted, "are not trusted, so Codex does not run them"),
        (disabled, "are switched off in Codex (/hooks)"),
    )
    return [f"{len(keys)} of {len(entries)} hooks {problem}" for keys, problem in counts if keys]


def find_given_events(host: Host, place: HostEnvironment) -> set[str]:
    """Return the events of ours at which the person's hooks, or a plugin, hand facts to a host that lets them."""
    answered = set(load_host(host.name).get("answers", {}).get("forms", {}))
    if host.name in SCRIPTS:
        return answered if read_plugin_command(find_script_plugin(host.name, place)) else set()
    document = HOOKS.get(host.name)
    events: set[str] = set()
    with contextlib.suppress(ValueError, HostFileError):
        if document is not None:
            own = list_own_hooks(read_hook_document(read_host_config(document.file(place))))
            events = {hook.event for hook in own if SILENT not in hook.words}
    return {
        line.event for line in (document.lines if document else ()) if line.gives and line.native in events
    } & answered


def check_hooks(host: Host, place: HostEnvironment, store: Path) -> list[HookFinding]:
    """Check that a host's hooks can run, and that they did: what they are, a dry run, and what was heard of the host."""
    findings = examine_hooks(place, store, host.name)
    if not findings:
        return []
    programs: list[str] = []
    if host.name in SCRIPTS:
        programs = read_plugin_command(find_script_plugin(host.name, place))[:1]
    else:
        with contextlib.suppress(ValueError, HostFileError):
            settings = read_hook_document(read_host_config(HOOKS[host.name].file(place)))
            programs = list(dict.fromkeys(hook.words[0] for hook in list_own_hooks(settings)))
    findings += [try_hook_program(host.name, program) for program in programs]
    if host.name == "codex":
        findings += check_codex_trust(place)
    return [*findings, describe_heard(host, store)]


def try_hook_program(host: str, program: str) -> HookFinding:
    """Run a program once, with an event that nobody hears of."""
    began = time.monotonic()
    try:
        ended = subprocess.run(
            [program, host, CHECK_EVENT],
            input=b"{}",
            capture_output=True,
            timeout=CHECK_TIMEOUT_S,
            env=to_isolated_environment() | {"HERMES_MEMORY_HOOK_DEBUG": "1"},
            check=False,
        )
    except OSError as error:
        return HookFinding(host, False, f"{program} cannot be started: {error.strerror or error}; connect again")
    except subprocess.TimeoutExpired:
        return HookFinding(host, False, f"{program} did not end within {CHECK_TIMEOUT_S:.0f} s; install it again")
    took = (time.monotonic() - began) * 1000
    if ended.returncode or b"hermes-memory-hook:" not in ended.stderr:
        errors = ended.stderr.decode(errors="replace").strip().splitlines()[-1:]
        return HookFinding(
            host, False, f"{program} does not start ({', '.join(errors)}); install it again, then connect"
        )
    return HookFinding(host, True, f"{program} starts, {took:.0f} ms")


def check_codex_trust(place: HostEnvironment) -> list[HookFinding]:
    """Ask Codex, as it is configured, whether it will run our hooks."""
    try:
        listed = [hook for hook in list_codex_hooks(place) if "hermes-memory-hook" in hook.command]
    except CodexUnavailable as error:
        return [HookFinding("codex", False, f"{error}; start Codex and look at /hooks")]
    trusted = sum(hook.is_trusted for hook in listed)
    if listed and trusted == len(listed):
        return [HookFinding("codex", True, f"Codex trusts {trusted} of {len(listed)} hooks")]
    problem = f"Codex lists {len(listed)} hooks of ours and runs {trusted}"
    mended = "`hermes-memory-bridge connect codex` trusts them, or /hooks in Codex"
    return [HookFinding("codex", False, f"{problem}; {mended}")]


def describe_heard(host: Host, store: Path) -> HookFinding:
    """Say when a host's hooks were last heard, and what they gave. Not at all since they were installed is a fault."""
    reports: list[HostReport] = []
    with contextlib.suppress(StoreError), Store.open(store, read_only=True) as opened:
        reports = opened.host_sessions.list_hosts()
    report = next((report for report in reports if report.host == host.name), None)
    installed = max(find_installations(store, host.name).values(), default=None)
    now = system_clock()
    if report is None or (installed is not None and report.heard_at < installed):
        since = "" if installed is None else f" since they were installed {format_elapsed(now - installed)} ago"
        before = "" if report is None else f"; before that, {format_elapsed(now - report.heard_at)} ago"
        mended = f"restart {host.title}, send it a message, and check again"
        return HookFinding(host.name, False, f"the hooks were never heard{since}{before}; {mended}")
    return HookFinding(host.name, True, format_heard(report, now))
