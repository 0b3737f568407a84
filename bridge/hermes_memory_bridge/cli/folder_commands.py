"""`folder share|join|leave|unlock`: themes that travel between machines as encrypted files, without a server.

A code is a key: it is shown on one machine and typed on the other, and never taken from a command line.
"""

from __future__ import annotations

import getpass
import sys
from pathlib import Path

import click

from hermes_memory_bridge.cli.bridge_options import BridgeGroup, answer_options, print_answer
from hermes_memory_bridge.daemon.control import ask_bridge
from hermes_memory_bridge.team.database.team_states import NOT_NAMED, TeamError
from hermes_memory_bridge.team.folder.folder_keys import FolderKeys, new_theme_key, parse_key_code, to_key_code
from hermes_memory_bridge.team.folder.folder_state import FolderSettings
from hermes_memory_bridge.team.folder.folder_states import NO_FOLDER
from hermes_memory_bridge.team.folder.segment import ThemeKey, make_cipher
from hermes_memory_bridge.team.folder.shared_folder import (
    KEPT_BY_CARRIER,
    KEPT_BY_GIT,
    SharedFolder,
    is_in_repository,
    mark_folder,
)
from hermes_memory_bridge.trust.system_keyring import VaultError
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_store.errors import ArgumentError
from hermes_memory_themes import Policies, SyncCarrier, normalise_theme


@click.group("folder", cls=BridgeGroup)
def folder_group() -> None:
    """Exchange themes through a shared folder."""


@folder_group.command("share")
@answer_options
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("theme")
def folder_share_command(db: str | None, as_json: bool, folder: Path, theme: str) -> None:
    """Share a theme through a folder that something else carries, and print its code.

    The code is the key of the theme: type it on the other machine, for `folder join`, and show it to nobody else.
    """
    paths, name, path = BridgePaths.of(db), normalise_theme(theme), folder.expanduser().absolute()
    paths.make_folder()
    keys = FolderKeys(paths)
    key = keys.find(name)
    mark_folder(path)
    if key is None:
        key = new_theme_key()
        keep_key(keys, name, key)
    notes = select_folder(paths, path, name)
    code = to_key_code(key)
    document = {"theme": name, "folder": str(path), "code": code, "notes": notes}
    print_answer(as_json, document, "\n".join([code, *notes]))


@folder_group.command("join")
@answer_options
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("theme")
def folder_join_command(db: str | None, as_json: bool, folder: Path, theme: str) -> None:
    """Join a theme that another machine shares; asks for its code, or reads it from standard input.

    THEME is what it is called here; it may have another name there.
    """
    paths, name, path = BridgePaths.of(db), normalise_theme(theme), folder.expanduser().absolute()
    paths.make_folder()
    shared = SharedFolder(path)
    keys = FolderKeys(paths)
    key = parse_key_code(ask_secretly("code of the theme: "))
    stored_key = keys.find(name)
    if stored_key is not None and stored_key != key:
        raise ArgumentError(f"{name} has another key on this machine; `folder leave {name}` forgets it", name)
    keep_key(keys, name, key)
    notes = select_folder(paths, path, name)
    if not shared.of_theme(key.tag).path.is_dir():
        notes.insert(
            0, "nothing of this theme is in the folder yet: it was not carried so far, or the code is of another"
        )
    document = {"theme": name, "folder": str(path), "notes": notes}
    print_answer(as_json, document, "\n".join([f"{name} is exchanged through {path}", *notes]))


@folder_group.command("leave")
@answer_options
@click.argument("theme")
def folder_leave_command(db: str | None, as_json: bool, theme: str) -> None:
    """Forget the key of a theme; nothing is removed, neither here nor in the folder."""
    paths, name = BridgePaths.of(db), normalise_theme(theme)
    if FolderSettings.load(paths) is None:
        raise TeamError(NO_FOLDER)
    was_joined = FolderKeys(paths).forget(name)
    if not was_joined:
        raise ArgumentError(f"this machine has no key of {name}", name)
    ask_bridge(paths, "sync", action="connect")
    print_answer(
        as_json, {"theme": name, "left": True}, f"the key of {name} is forgotten; the others go on without you"
    )


@folder_group.command("unlock")
@answer_options
def folder_unlock_command(db: str | None, as_json: bool) -> None:
    """Give the running bridge the passphrase of the keys, where no keyring has them."""
    paths = BridgePaths.of(db)
    answer = ask_bridge(paths, "sync", action="unlock", passphrase=ask_secretly("passphrase: "))
    if answer is None:
        raise TeamError(NOT_NAMED, "no bridge runs")
    if "error" in answer:
        raise ArgumentError(answer["error"]["message"], None)
    print_answer(as_json, {"unlocked": answer["unlocked"]}, f"{answer['unlocked']} keys are open until the bridge ends")


def keep_key(keys: FolderKeys, theme: str, key: ThemeKey) -> None:
    """Keep a key; ask for a passphrase where there is no keyring and somebody to ask.

    :raises VaultError: nothing may keep it
    """
    make_cipher(key)
    try:
        keys.keep(theme, key)
    except VaultError:
        if not sys.stdin.isatty():
            raise
        passphrase = getpass.getpass("no keyring can be reached; passphrase for the keys of shared folders: ")
        if not passphrase or getpass.getpass("once more: ") != passphrase:
            raise ArgumentError("the two differ, or are empty; nothing was changed", None) from None
        keys.unlock(passphrase)
        keys.keep(theme, key)


def select_folder(paths: BridgePaths, path: Path, theme: str) -> list[str]:
    """Note the folder, and tell a running bridge; return what a person should know."""
    before = FolderSettings.load(paths)
    FolderSettings(str(path), paused=before is not None and before.paused).save(paths)
    ask_bridge(paths, "sync", action="connect")
    notes = [KEPT_BY_GIT if is_in_repository(path) else KEPT_BY_CARRIER]
    if before is not None and before.path != str(path):
        notes.append(
            f"all themes of this memory are exchanged through {path} from now on, no longer through {before.path}"
        )
    policies = Policies.load()
    if policies.for_theme(theme).carrier is not SyncCarrier.FOLDER:
        notes.append(f'nothing is exchanged yet: write sync = "folder" below [themes.{theme}] in {policies.path}')
    return notes


def ask_secretly(prompt: str) -> str:
    """Return what is typed without echo, or the first line of standard input.

    :raises ArgumentError: there is nothing
    """
    answer = getpass.getpass(prompt) if sys.stdin.isatty() else sys.stdin.readline()
    if not answer.strip():
        raise ArgumentError(f"{prompt.rstrip(': ')} is needed", None)
    return answer.strip()
