"""What the provider is told: by the installer in `installed.json` beside it, by a person in the profile's `provider.json`."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

NAME = "hermes-memory"

INSTALLED = "installed.json"
"""In this folder: which bridge this copy belongs to."""

CHOSEN = "provider.json"
"""In the profile's folder: what a person chose."""

WAIT_MS, MOST_WAIT_MS = 0.0, 1_000.0

SCHEMA: tuple[dict[str, Any], ...] = (
    {"key": "db", "description": "The store; empty for ~/.hermes/memory.db", "default": ""},
    {"key": "theme", "description": "Whose memory; empty for the session key, else the profile", "default": ""},
    {"key": "mirror", "description": "Mirror MEMORY.md and USER.md", "default": "true", "choices": ["true", "false"]},
    {"key": "capture", "description": "Keep what is said", "default": "true", "choices": ["true", "false"]},
    {"key": "recall", "description": "Recall before each turn", "default": "true", "choices": ["true", "false"]},
    {
        "key": "start",
        "description": "Start the bridge when there is none",
        "default": "true",
        "choices": ["true", "false"],
    },
    {"key": "wait_ms", "description": "How long a turn may wait for its recall, in milliseconds", "default": "0"},
)
"""The questions of `hermes memory setup`."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The provider's settings."""

    db: str
    """Path of the store, absolute."""
    theme: str | None = None
    themes: Mapping[str, str] = field(default_factory=dict)
    """Theme by profile or by session key, where a person wants another than its name gives."""
    mirror: bool = True
    capture: bool = True
    recall: bool = True
    wait_ms: float = WAIT_MS
    command: tuple[str, ...] = ()
    """Begins the command line of the bridge; empty when it cannot be started from here."""


def folder_of(home: str) -> str:
    """Where the provider keeps what it needs of a profile."""
    return os.path.join(home, NAME)


def host_home() -> str:
    """The profile's folder, when nobody says which."""
    return os.environ.get("HERMES_HOME", "").strip() or os.path.join(os.path.expanduser("~"), ".hermes")


def load(home: str) -> Settings:
    """The settings of a profile. A file that cannot be read counts as empty: memory must not stop an agent."""
    installed = read(os.path.join(os.path.dirname(os.path.abspath(__file__)), INSTALLED))
    chosen = read(os.path.join(folder_of(home), CHOSEN))
    both = {**installed, **{key: value for key, value in chosen.items() if value not in ("", None)}}
    db = text(both.get("db")) or text(os.environ.get("HERMES_MEMORY_DB")) or os.path.join("~", ".hermes", "memory.db")
    command = installed.get("command")
    if command is None and __name__.startswith(
        "hermes_memory_bridge."
    ):  # found by its entry point: the bridge is here too
        command = [sys.executable, "-m", "hermes_memory_bridge"]
    themes = both.get("themes")
    return Settings(
        db=os.path.realpath(os.path.expanduser(db)),
        theme=text(both.get("theme")) or os.environ.get("HERMES_MEMORY_THEME") or None,
        themes={str(key): str(value) for key, value in themes.items()} if isinstance(themes, dict) else {},
        mirror=truth(both.get("mirror")),
        capture=truth(both.get("capture")),
        recall=truth(both.get("recall")),
        wait_ms=milliseconds(both.get("wait_ms")),
        command=tuple(map(str, command)) if isinstance(command, list) and truth(both.get("start")) else (),
    )


def save(home: str, values: Mapping[str, Any]) -> str:
    """Keep what a person chose, beside what was chosen before; the file. :raises OSError:"""
    folder = folder_of(home)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    path = os.path.join(folder, CHOSEN)
    known = {str(one["key"]) for one in SCHEMA} | {"themes"}
    kept = {**read(path), **{key: value for key, value in values.items() if key in known}}
    write(path, json.dumps(kept, indent=1) + "\n")
    return path


def read(path: str) -> dict[str, Any]:
    """A JSON object from a file; empty when there is none."""
    try:
        held = json.loads(Path(path).read_bytes())
    except (OSError, ValueError):
        return {}
    return held if isinstance(held, dict) else {}


def write(path: str, text: str, mode: int = 0o600) -> None:
    """Put a text in a file's place, whole or not at all; by default for its owner alone. :raises OSError:"""
    handle, made = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".making-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            os.fchmod(handle, mode)
            file.write(text)
        os.replace(made, path)
    except BaseException:
        os.unlink(made)
        raise


def text(value: Any) -> str:
    """A text that says something, else an empty one."""
    return value.strip() if isinstance(value, str) else ""


def truth(value: Any) -> bool:
    """Yes unless it says no: setup writes texts, and `"false"` is not true."""
    return str(value).strip().lower() not in ("false", "no", "off", "0")


def milliseconds(value: Any) -> float:
    """How long to wait, as usual unless it says a number."""
    try:
        return max(0.0, min(float(value), MOST_WAIT_MS))
    except (TypeError, ValueError):
        return WAIT_MS
