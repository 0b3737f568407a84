"""The provider's settings.

They come from the installer in `installed.json` beside it, and from a person in the profile's `provider.json`.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from hermes_memory_bridge.wire.paths import find_working_folder
from hermes_memory_store.hosts.capture_switch import may_capture

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

NAME = "hermes-memory"

HOST = "hermes-agent"

SYNC_TURNS = re.compile(
    r"(?im)^([ \t]*)[\"']?(?:memory|hermes-memory)[\"']?[ \t]*:[ \t]*(?:#.*)?\n"
    r"(?:\1[ \t]+[^\s#].*\n|[ \t]*(?:#.*)?\n)*?"
    r"\1[ \t]+[\"']?sync_turns[\"']?[ \t]*:[ \t]*[\"']?(?:true|yes|on)\b"
)
"""In the host's own section or ours: another provider's consent is not one to this."""

UNASKED = (
    "conversations are not kept, since nobody was asked whether they may be; to keep them, run: hermes-memory-bridge connect "
    "hermes-agent --provider --capture (--no-capture says no)"
)

INSTALLED_FILE = "installed.json"
"""In this folder: which bridge this copy belongs to."""

CHOSEN_FILE = "provider.json"
"""In the profile's folder: what a person chose."""

WAIT_MS, MOST_WAIT_MS = 0.0, 1_000.0

YES_NO = ["true", "false"]

SCHEMA: tuple[dict[str, Any], ...] = (
    {"key": "db", "description": "The store; empty for ~/.hermes/memory.db", "default": ""},
    {"key": "theme", "description": "Whose memory; empty for the session key, else the profile", "default": ""},
    {"key": "mirror", "description": "Mirror MEMORY.md and USER.md", "default": "true", "choices": YES_NO},
    {"key": "capture", "description": "Keep what is said", "default": "false", "choices": YES_NO},
    {"key": "recall", "description": "Recall before each turn", "default": "true", "choices": YES_NO},
    {"key": "start", "description": "Start the bridge when there is none", "default": "true", "choices": YES_NO},
    {"key": "wait_ms", "description": "How long a turn may wait for its recall, in milliseconds", "default": "0"},
)
"""The questions of `hermes memory setup`."""


@dataclass(frozen=True, slots=True)
class ProviderSettings:
    db: str
    """Path of the store, absolute."""
    theme: str | None = None
    themes: Mapping[str, str] = field(default_factory=dict)
    """Theme by profile or by session key, where a person wants another than its name gives."""
    mirror: bool = True
    capture: bool | None = None
    """Whether what is said may be kept; None where nobody was asked, and nothing is."""
    recall: bool = True
    wait_ms: float = WAIT_MS
    command: tuple[str, ...] = ()
    """Begins the command line of the bridge; empty when it cannot be started from here."""


def find_provider_folder(home: str) -> str:
    """Return the folder in a profile where the provider keeps its data."""
    return os.path.join(home, NAME)


def find_hermes_home() -> str:
    """Return the profile's folder when none is specified."""
    return os.environ.get("HERMES_HOME", "").strip() or os.path.join(os.path.expanduser("~"), ".hermes")


def load_provider_settings(home: str, folder: str = "") -> ProviderSettings:
    """Load the settings of a profile. An unreadable file counts as empty: memory must not stop an agent.

    :param folder: where the provider is installed; this file's own unless given
    """
    installed = load_json_object(os.path.join(folder or os.path.dirname(os.path.abspath(__file__)), INSTALLED_FILE))
    chosen = load_json_object(os.path.join(find_provider_folder(home), CHOSEN_FILE))
    both = {**installed, **{key: value for key, value in chosen.items() if value not in ("", None)}}
    named = to_setting_text(both.get("db")) or to_setting_text(os.environ.get("HERMES_MEMORY_DB"))
    db = os.path.realpath(os.path.expanduser(named or os.path.join("~", ".hermes", "memory.db")))
    command = installed.get("command")
    if command is None and __name__.startswith("hermes_memory_bridge."):
        # Found by its entry point: the bridge is here too.
        command = [sys.executable, "-P", "-m", "hermes_memory_bridge"]
    themes = both.get("themes")
    return ProviderSettings(
        db=db,
        theme=to_setting_text(both.get("theme")) or os.environ.get("HERMES_MEMORY_THEME") or None,
        themes={str(key): str(value) for key, value in themes.items()} if isinstance(themes, dict) else {},
        mirror=to_setting_flag(both.get("mirror")),
        capture=find_capture_answer(home, db),
        recall=to_setting_flag(both.get("recall")),
        wait_ms=to_wait_ms(both.get("wait_ms")),
        command=tuple(map(str, command)) if isinstance(command, list) and to_setting_flag(both.get("start")) else (),
    )


def find_capture_answer(home: str, db: str) -> bool | None:
    """Return whether conversations may be kept; None where nobody was asked.

    The profile's settings say so, what `connect` was answered for this store, and `sync_turns: true` in the host's
    configuration; one no is enough.
    """
    chosen = load_json_object(os.path.join(find_provider_folder(home), CHOSEN_FILE))
    hosts = load_json_object(db + ".capture.json").get("hosts")
    values = [chosen.get("capture"), chosen.get("sync_turns"), hosts.get(HOST) if isinstance(hosts, dict) else None]
    with suppress(OSError):
        if SYNC_TURNS.search(Path(home, "config.yaml").read_text(encoding="utf-8", errors="replace")):
            values.append(True)
    answers = [to_setting_flag(value) for value in values if value not in (None, "")]
    return all(answers) if answers else None


def save_provider_settings(home: str, values: Mapping[str, Any]) -> str:
    """Save a person's settings, merged with the earlier ones; return the file.

    :raises OSError: it cannot be written
    """
    folder = find_provider_folder(home)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    path = os.path.join(folder, CHOSEN_FILE)
    keys = {str(question["key"]) for question in SCHEMA} | {"themes"}
    saved = {**load_json_object(path), **{key: value for key, value in values.items() if key in keys}}
    write_private_file(path, json.dumps(saved, indent=1) + "\n")
    return path


def load_json_object(path: str) -> dict[str, Any]:
    """Load a JSON object from a file; empty when there is none."""
    try:
        document = json.loads(Path(path).read_bytes())
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


def is_capture_stopped(db: str) -> bool:
    """Check whether the person has stopped capture everywhere, for now, or in the working folder.

    The bridge asks the same before it captures a message; this keeps what is said meanwhile out of the queue.

    :param db: the store's file
    """
    return not may_capture(db, "", find_working_folder()).allowed


def write_private_file(path: str, text: str, mode: int = 0o600) -> None:
    """Write a file atomically; by default readable by its owner alone. :raises OSError: it cannot be written"""
    handle, made = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".making-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            os.fchmod(handle, mode)
            file.write(text)
        os.replace(made, path)
    except BaseException:
        os.unlink(made)
        raise


def to_setting_text(value: Any) -> str:
    """Return a text that is not blank, else an empty one."""
    return value.strip() if isinstance(value, str) else ""


def to_setting_flag(value: Any) -> bool:
    """Interpret a value as true unless it says no: setup writes texts, and `"false"` is not true."""
    return str(value).strip().lower() not in ("false", "no", "off", "0")


def to_wait_ms(value: Any) -> float:
    """Return a wait in milliseconds, the default unless the value is a number."""
    try:
        return max(0.0, min(float(value), MOST_WAIT_MS))
    except (TypeError, ValueError):
        return WAIT_MS
