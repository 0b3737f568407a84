"""Whether a host's hooks may keep what is said, or hear what tools return: answers, shown and written with the rest."""

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


def change_consent(files: FileEdits, store: Path, host: str, answer: bool | None, *, of_tools: bool = False) -> None:
    """Note the answer for a host; None forgets it. A switch that then says nothing goes.

    :param of_tools: whether it is the one about what tools return
    :raises HostFileError: the file is damaged
    """
    file = Path(to_capture_path(store))
    text = files.read(file)
    try:
        switch = parse_capture_switch(text.encode()) if text.strip() else CaptureSwitch()
    except (ValueError, RecursionError) as error:
        mended = "`hermes-memory-tui capture off` or `capture on` writes it anew"
        raise HostFileError(f"{file} was left alone: it is damaged ({error}); {mended}", file) from error
    answers = switch.tools if of_tools else switch.hosts
    is_reading_ended = answer is None and not of_tools and switch.history.pop(host, None) is not None
    if answers.get(host) is answer and not is_reading_ended:
        return
    answers.pop(host, None)
    if answer is not None:
        answers[host] = answer
    document = switch.to_document()
    files.write(file, json.dumps(document, indent=2) + "\n" if any(document.values()) else None)


def find_consent(store: Path, host: str, *, of_tools: bool = False) -> bool | None:
    """Return what was answered for a host; None when nobody was asked, or the file is damaged. :param of_tools: as above"""
    switch = load_capture_switch(store)
    return (switch.tools if of_tools else switch.hosts).get(host)
