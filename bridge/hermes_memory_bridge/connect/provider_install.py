"""`connect hermes-agent --provider`: install the memory provider into profiles of hermes-agent.

The host's interpreter is seldom ours, so nothing is installed into it: a profile gets a folder of dependency-free
files, `plugins/hermes-memory/`, and one line in its `config.yaml`.
"""

from __future__ import annotations

import difflib
import json
import re
import shutil
import sys
import tempfile
from pathlib import Path

from hermes_memory_bridge.connect import toml_yaml_edit
from hermes_memory_bridge.connect.hooks.capture_consent import change_consent, find_consent
from hermes_memory_bridge.connect.host_check import check_configured_command
from hermes_memory_bridge.connect.host_config_files import (
    FileChange,
    FileEdits,
    HostFileError,
    apply_file_changes,
    read_host_config,
    replace_host_config,
)
from hermes_memory_bridge.connect.host_entries import ConnectRequest, find_own_command, find_store_path
from hermes_memory_bridge.connect.hosts import Host, find_here
from hermes_memory_bridge.connect.lasting_command import require_lasting_command
from hermes_memory_bridge.connect.terminal_prompt import confirm_on_terminal
from hermes_memory_bridge.provider import provider_settings, theme_resolution
from hermes_memory_bridge.provider.cli import add_provider_line, remove_provider_line
from hermes_memory_bridge.version import __version__
from hermes_memory_bridge.wire import line, messages, paths, peers
from hermes_memory_store import compact_json
from hermes_memory_store.context import packing
from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.host_files.memory_files import hermes_home
from hermes_memory_store.hosts import capture_switch
from hermes_memory_store.safe_text import pluralise
from hermes_memory_store.system import file_handles
from hermes_memory_themes import theme_errors, theme_identity

NAME = provider_settings.NAME

PROVIDER_FOLDER = Path(provider_settings.__file__).parent

COPIED_SUFFIXES = (".py", ".yaml")

SHARED = {
    module.__name__: Path(str(module.__file__))
    for module in (
        *(line, messages, paths, peers),
        *(packing, capture_switch, compact_json, file_handles),
        *(theme_identity, theme_errors),
    )
}
"""Files of other packages, by their modules, which are copied beside the provider's own."""

SHARED_IMPORT = re.compile(rb"from (%s) import" % b"|".join(re.escape(name.encode()) for name in SHARED))
"""An import of one of these, which a copy imports from its own folder."""


def run_provider_install(host: Host, request: ConnectRequest) -> int:
    """Install, remove or check the provider in the selected profiles. Exit code 1 when any of them failed."""
    if host.name != "hermes-agent":
        raise ArgumentError(f"{host.title} has no memory providers; --provider is for hermes-agent", host.name)
    if request.project:
        raise ArgumentError("hermes-agent has no configuration inside a project; leave --project out", host.name)
    homes = find_profiles(list(request.profiles), every=request.all_profiles)
    if request.check:
        return max(check_provider_profile(home) for home in homes)
    if not request.remove:
        keep_capture_answer(request)
    return max(change_provider_profile(home, request) for home in homes)


def keep_capture_answer(request: ConnectRequest) -> None:
    """Ask whether conversations may be kept, unless an option says it, and keep the answer; without one nothing changes."""
    store, answer, edits = find_store_path(request.db), request.capture, FileEdits()
    if answer is None and not (request.yes or request.dry_run) and sys.stdin.isatty():
        answer = confirm_on_terminal(
            "Keep what is said? What you and Hermes Agent say is then stored in your memory, on this machine.",
            default=find_consent(store, provider_settings.HOST) is True,
        )
    if answer is not None and not request.dry_run:
        change_consent(edits, store, provider_settings.HOST, answer)
        changes = edits.to_changes()
        apply_file_changes(changes, without_backup={change.path for change in changes})


def find_profiles(names: list[str], *, every: bool) -> list[Path]:
    """Return the folders of profiles: those named, all that exist, or the one the host uses.

    :raises ArgumentError: there is no such profile, or `$HERMES_HOME` is a relative path
    """
    find_here().find_folder("HERMES_HOME", Path.home())  # refuses a relative one
    present = hermes_home()
    root = present.parent.parent if present.parent.name == "profiles" else present
    folder = root / "profiles"
    profile_folders = sorted(path for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
    if every:
        return [root, *profile_folders]
    if not names:
        return [present]
    profiles = {"default": root, **{path.name: path for path in profile_folders}}
    for name in names:
        if name not in profiles:
            near = difflib.get_close_matches(name, profiles, n=1)
            meant = f", did you mean {near[0]}?" if near else f"; there are {', '.join(profiles)}"
            raise ArgumentError(f"hermes-agent has no profile {name[:60]!r}{meant}", name)
    return [profiles[name] for name in dict.fromkeys(names)]


def change_provider_profile(home: Path, request: ConnectRequest) -> int:
    """Copy the plugin folder into a profile and name the provider in its configuration, or with `remove` take both out.

    The memory itself stays.
    """
    folder, config = find_plugin_folder(home), home / "config.yaml"
    files = {} if request.remove else load_plugin_files(request)
    before = read_host_config(config)
    after = remove_provider_line(before, NAME) if request.remove else name_provider_in_config(config, before)
    is_current = not folder.exists() if request.remove else load_installed_files(folder) == files
    if is_current and after == before:
        print(f"{home}: nothing to change")
        return 0
    if not is_current:
        installed = f"{'renewed' if folder.exists() else 'new'}, {len(files)} files, version {__version__}"
        print(f"{folder}: {'removed' if request.remove else installed}")
    FileChange(config, before.encode(), after.encode()).show()
    if request.dry_run:
        return 0
    question = f"Remove it from {home}?" if request.remove else f"Write to {home}?"
    if not request.yes and not confirm_on_terminal(question, default=True):
        print("nothing was changed")
        return 1
    if request.remove and after != before:
        toml_yaml_edit.parse_yaml(after)
        replace_host_config(config, after)
    try:
        if request.remove and not is_current:
            shutil.rmtree(folder)
        elif not is_current:
            replace_plugin_folder(folder, files)
    except OSError as error:
        how = "removed" if request.remove else "written"
        raise HostFileError(f"{folder} cannot be {how}: {error.strerror or error}", folder) from error
    if not request.remove:
        backup = replace_host_config(config, after) if after != before else None
        print(
            f"{home}: the memory provider is {NAME}" + (f"; {config.name} as it was is in {backup}" if backup else "")
        )
        print("Restart hermes-agent; `hermes memory status` shows it.")
    return 0


def check_provider_profile(home: Path) -> int:
    folder = find_plugin_folder(home)
    record = provider_settings.load_json_object(str(folder / provider_settings.INSTALLED_FILE))
    files, installed = load_provider_files(), load_installed_files(folder)
    chosen = (toml_yaml_edit.parse_yaml(read_host_config(home / "config.yaml")).get("memory") or {}).get("provider")
    if not record or not files.keys() <= installed.keys():
        print(f"{home}: not installed; `hermes-memory-bridge connect hermes-agent --provider` installs it")
        return 1
    problems = []
    old = [name for name, content in files.items() if installed[name] != content]
    if old:
        problems.append(f"{pluralise(len(old), 'file')} of another version; connect again")
    if chosen != NAME:
        problems.append(f"config.yaml names {chosen!r} as memory.provider")
    settings = provider_settings.load_provider_settings(str(home), str(folder))
    profile = home.name if home.parent.name == "profiles" else ""
    theme = theme_resolution.find_profile_theme(settings.theme, settings.themes, profile)
    outcome = check_configured_command(
        [*map(str, record["command"]), "--db", settings.db, "--theme", theme], {"HERMES_HOME": str(home)}
    )
    if not outcome.ok:
        problems.append(outcome.output)
    unasked = " until somebody was asked: --capture or --no-capture" if settings.capture is None else ""
    works = f"works: {outcome.output}; conversations are {'' if settings.capture else 'not '}kept{unasked}"
    print(f"{home}: {'does not work: ' + '; '.join(problems) if problems else works}")
    return 1 if problems else 0


def find_plugin_folder(home: Path) -> Path:
    """Return the plugin folder of a profile; the host identifies a plugin by the folder's name."""
    return home / "plugins" / NAME


def load_provider_files() -> dict[str, bytes]:
    own = sorted(path for path in PROVIDER_FOLDER.iterdir() if path.suffix in COPIED_SUFFIXES)
    files = {path.name: path.read_bytes() for path in (*own, *SHARED.values())}
    return {
        name: SHARED_IMPORT.sub(lambda match: b"from ." + match[1].rpartition(b".")[2] + b" import", content)
        for name, content in files.items()
    }


def load_plugin_files(request: ConnectRequest) -> dict[str, bytes]:
    installed = {"version": __version__, "command": require_lasting_command(find_own_command())}
    if request.db:
        installed["db"] = str(Path(request.db).expanduser().absolute())
    if request.theme:
        installed["theme"] = request.theme
    return {**load_provider_files(), provider_settings.INSTALLED_FILE: json.dumps(installed, indent=1).encode() + b"\n"}


def load_installed_files(folder: Path) -> dict[str, bytes]:
    """Load the current files of the folder, ignoring what interpreters leave there."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} if folder.is_dir() else {}


def replace_plugin_folder(folder: Path, files: dict[str, bytes]) -> None:
    """Replace the folder as a whole: a host that starts meanwhile finds either the old one or the new one."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{NAME}-"))
    try:
        for name, content in files.items():
            (made / name).write_bytes(content)
        old = made.with_name(made.name + "-old")
        if folder.exists():
            folder.rename(old)
        made.rename(folder)
        shutil.rmtree(old, ignore_errors=True)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise


def name_provider_in_config(config: Path, text: str) -> str:
    """Name the provider in the host's file, and verify the result. :raises HostFileError: the file was left unchanged"""
    try:
        before = toml_yaml_edit.parse_yaml(text)
        if (before.get("memory") or {}).get("provider") == NAME:
            return text
        after = add_provider_line(text, NAME)
        if after is None:
            raise ValueError("its memory section is written on one line; write it as a block and try again")
        read = toml_yaml_edit.parse_yaml(after)
        memory = {**(before.get("memory") or {}), "provider": NAME}
        if read != {**before, "memory": memory}:
            raise ValueError("the change would not read back as it was meant")
    except (ValueError, AttributeError, re.error) as error:
        raise HostFileError(f"{config} was left alone: {error}", config) from error
    return after
