"""When the hooks of each host were installed, and where: `<store>.hooks.json`, beside the store they serve.

A hook that was never heard since is one that the host does not run. The file holds names, paths and times.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hermes_memory_bridge.connect.file_change import TextFiles


def to_record_path(store: Path) -> Path:
    """Return the file beside a store."""
    store = store.expanduser().resolve()
    return store.with_name(f"{store.name}.hooks.json")


def note_installation(files: TextFiles, store: Path, host: str, file: Path, now: int | None) -> None:
    """Note that a host's hooks were written to a file; None forgets it. A record without any goes.

    :param now: UTC milliseconds
    """
    path = to_record_path(store)
    text = files.read(path)
    record = parse_installations(text)
    held = {place: at for place, at in record.get(host, {}).items() if place != str(file)}
    if now is not None:
        held[str(file)] = now
    changed = {**{name: places for name, places in record.items() if name != host}, **({host: held} if held else {})}
    if changed != record:
        files.write(path, json.dumps(changed, indent=2, ensure_ascii=False) + "\n" if changed else None)


def find_installations(store: Path, host: str) -> dict[Path, int]:
    """Return the files that hold a host's hooks, with the time of each installation in UTC milliseconds."""
    return read_installations(store).get(host, {})


def read_installations(store: Path) -> dict[str, dict[Path, int]]:
    """Return the files that hold our hooks, with the time of each installation in UTC milliseconds, by host."""
    text = ""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        text = to_record_path(store).read_text(encoding="utf-8")
    found = parse_installations(text)
    return {host: {Path(place): at for place, at in places.items()} for host, places in found.items()}


def parse_installations(text: str) -> dict[str, dict[str, int]]:
    """Parse the record; a damaged one holds nothing, and the next installation writes it anew."""
    document: Any = None
    with contextlib.suppress(ValueError, RecursionError):
        document = json.loads(text)
    if not isinstance(document, dict):
        return {}
    return {
        host: {place: at for place, at in places.items() if isinstance(at, int)}
        for host, places in document.items()
        if isinstance(places, dict)
    }
