"""`connect hermes-agent --provider`: copies the memory provider into profiles of the host, and makes it theirs.

The host's interpreter is seldom ours, so nothing is installed into it: a profile gets a folder of plain files that need
nothing, `plugins/hermes-memory/`, and one line in its `config.yaml`.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

from hermes_memory_bridge import peers
from hermes_memory_bridge.connect import blocks, command
from hermes_memory_bridge.connect.checking import check
from hermes_memory_bridge.connect.hosts import Host, Place
from hermes_memory_bridge.prompt import confirm
from hermes_memory_bridge.provider import settings
from hermes_memory_bridge.provider.cli import with_provider, without_provider
from hermes_memory_bridge.version import __version__
from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.memory_files import hermes_home

NAME = settings.NAME

SOURCE = Path(settings.__file__).parent

COPIED = (".py", ".yaml")

SHARED = (Path(peers.__file__),)
"""Files of the launcher. Each is copied in the place of the provider's module of that name, which only imports it."""


def run(host: Host, request: command.ConnectRequest) -> int:
    """Install, remove or check the provider in the profiles asked for. Exit code 1 when one of them said no."""
    if host.name != "hermes-agent":
        raise ArgumentError(f"{host.title} has no memory providers; --provider is for hermes-agent", host.name)
    if request.project:
        raise ArgumentError("hermes-agent has no configuration inside a project; leave --project out", host.name)
    homes = profiles(list(request.profiles), every=request.all_profiles)
    if request.check:
        return max(check_one(home) for home in homes)
    return max(take_out(home, request) if request.remove else put_in(home, request) for home in homes)


def profiles(names: list[str], *, every: bool) -> list[Path]:
    """The folders of profiles: those named, every one there is, or the one the host uses.

    :raises ArgumentError: there is no such profile, or `$HERMES_HOME` is a relative path
    """
    Place(Path.home(), sys.platform, dict(os.environ)).named("HERMES_HOME", Path.home())  # refuses a relative one
    present = hermes_home()
    root = present.parent.parent if present.parent.name == "profiles" else present
    folder = root / "profiles"
    others = sorted(path for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
    if every:
        return [root, *others]
    if not names:
        return [present]
    known = {"default": root, **{path.name: path for path in others}}
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            meant = f", did you mean {near[0]}?" if near else f"; there are {', '.join(known)}"
            raise ArgumentError(f"hermes-agent has no profile {name[:60]!r}{meant}", name)
    return [known[name] for name in dict.fromkeys(names)]


def put_in(home: Path, request: command.ConnectRequest) -> int:
    """Copy the folder and name the provider in a profile."""
    folder, config = folder_of(home), home / "config.yaml"
    wanted = files(request)
    before = command.read(config)
    after = named(config, before)
    same = held(folder) == wanted
    if same and after == before:
        print(f"{home}: nothing to change")
        return 0
    if not same:
        print(f"{folder}: {'renewed' if folder.exists() else 'new'}, {len(wanted)} files, version {__version__}")
    show(config, before, after)
    if request.dry_run:
        return 0
    if not request.yes and not confirm(f"Write to {home}?"):
        print("nothing was changed")
        return 1
    kept = None
    try:
        if not same:
            place(folder, wanted)
        kept = command.write(config, after) if after != before else None
    except OSError as error:
        raise command.HostFileError(f"{folder} cannot be written: {error.strerror or error}", folder) from error
    print(f"{home}: the memory provider is {NAME}" + (f"; {config.name} as it was is in {kept}" if kept else ""))
    print("Restart hermes-agent; `hermes memory status` shows it.")
    return 0


def take_out(home: Path, request: command.ConnectRequest) -> int:
    """Remove the folder and its name from a profile. What the memory holds stays."""
    folder, config = folder_of(home), home / "config.yaml"
    before = command.read(config)
    after = without_provider(before, NAME)
    if not folder.exists() and after == before:
        print(f"{home}: nothing to change")
        return 0
    if folder.exists():
        print(f"{folder}: removed")
    show(config, before, after)
    if request.dry_run:
        return 0
    if not request.yes and not confirm(f"Remove it from {home}?"):
        print("nothing was changed")
        return 1
    if after != before:
        blocks.yaml_read(after)
        command.write(config, after)
    try:
        if folder.exists():
            shutil.rmtree(folder)
    except OSError as error:
        raise command.HostFileError(f"{folder} cannot be removed: {error.strerror or error}", folder) from error
    return 0


def check_one(home: Path) -> int:
    """Whether a profile has the provider, as it is here, and the bridge it talks to answers."""
    folder = folder_of(home)
    known = settings.read(str(folder / settings.INSTALLED))
    missing = [name for name in source() if (folder / name).exists() is False]
    old = [name for name, held in source().items() if name not in missing and (folder / name).read_bytes() != held]
    chosen = (blocks.yaml_read(command.read(home / "config.yaml")).get("memory") or {}).get("provider")
    if missing or not known:
        print(f"{home}: not installed; `hermes-memory-bridge connect hermes-agent --provider` installs it")
        return 1
    said = []
    if old:
        said.append(f"{len(old)} files are of another version; connect again")
    if chosen != NAME:
        said.append(f"config.yaml names {chosen!r} as memory.provider")
    db = known.get("db")
    outcome = check([*map(str, known["command"]), *(["--db", str(db)] if db else [])], {"HERMES_HOME": str(home)})
    if not outcome.ok:
        said.append(outcome.said)
    print(f"{home}: {'does not work: ' + '; '.join(said) if said else 'works: ' + outcome.said}")
    return 1 if said else 0


def folder_of(home: Path) -> Path:
    """Where a profile has the provider; the host knows it by the folder's name."""
    return home / "plugins" / NAME


def source() -> dict[str, bytes]:
    """The files that are copied."""
    own = sorted(path for path in SOURCE.iterdir() if path.suffix in COPIED)
    return {path.name: path.read_bytes() for path in (*own, *SHARED)}


def files(request: command.ConnectRequest) -> dict[str, bytes]:
    """Everything that shall be in the folder: the provider, and which bridge it belongs to."""
    installed = {"version": __version__, "command": command.own_command()}
    if request.db:
        installed["db"] = str(Path(request.db).expanduser().absolute())
    if request.theme:
        installed["theme"] = request.theme
    return {**source(), settings.INSTALLED: json.dumps(installed, indent=1).encode() + b"\n"}


def held(folder: Path) -> dict[str, bytes]:
    """What is in the folder now, without what interpreters leave there."""
    if not folder.is_dir():
        return {}
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


def place(folder: Path, wanted: dict[str, bytes]) -> None:
    """Put the folder in its place as a whole: a host that starts meanwhile finds the old one or the new one."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{NAME}-"))
    try:
        for name, content in wanted.items():
            (made / name).write_bytes(content)
        old = made.with_name(made.name + "-old")
        if folder.exists():
            folder.rename(old)
        made.rename(folder)
        shutil.rmtree(old, ignore_errors=True)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise


def named(config: Path, text: str) -> str:
    """The host's file with the provider named, read back to be sure. :raises HostFileError: it was left alone"""
    try:
        before = blocks.yaml_read(text)
        if (before.get("memory") or {}).get("provider") == NAME:
            return text
        after = with_provider(text, NAME)
        if after is None:
            raise ValueError("its memory section is written on one line; write it as a block and try again")
        read = blocks.yaml_read(after)
        memory = {**(before.get("memory") or {}), "provider": NAME}
        if read != {**before, "memory": memory}:
            raise ValueError("the change would not read back as it was meant")
    except (ValueError, AttributeError, re.error) as error:
        raise command.HostFileError(f"{config} was left alone: {error}", config) from error
    return after


def show(config: Path, before: str, after: str) -> None:
    """The change of the host's file."""
    sys.stdout.writelines(
        difflib.unified_diff(
            before.splitlines(keepends=True), after.splitlines(keepends=True), str(config), str(config)
        )
    )
