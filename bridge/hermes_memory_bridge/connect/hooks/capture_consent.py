"""Whether a host's hooks may keep what is said: the answer, as part of what is shown and written together."""

from __future__ import annotations

import json
from pathlib import Path

from hermes_memory_bridge.connect.host_config_files import FileEdits, HostFileError
from hermes_memory_store.hosts.capture_switch import (
    CaptureSwitch,
    load_capture_switch,
    parse_capture_switch,
    to_capture_path,
)


def change_consent(files: FileEdits, store: Path, host: str, answer: bool | None) -> None:
    """Note the answer for a host; None forgets it. A switch that then says nothing goes.

    :raises HostFileError: the file is damaged
    """
    file = Path(to_capture_path(store))
    text = files.read(file)
    try:
        switch = parse_capture_switch(text.encode()) if text.strip() else CaptureSwitch()
    except (ValueError, RecursionError) as error:
        mended = "`hermes-memory-tui capture off` or `capture on` writes it anew"
        raise HostFileError(f"{file} was left alone: it is damaged ({error}); {mended}", file) from error
    if switch.hosts.get(host) is answer:
        return
    switch.hosts.pop(host, None)
    if answer is not None:
        switch.hosts[host] = answer
    document = switch.to_document()
    files.write(file, json.dumps(document, indent=2) + "\n" if any(document.values()) else None)


def find_consent(store: Path, host: str) -> bool | None:
    """Return what was answered for a host; None when nobody was asked, or the file is damaged."""
    return load_capture_switch(store).hosts.get(host)
