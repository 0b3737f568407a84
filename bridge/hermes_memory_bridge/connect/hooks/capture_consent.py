"""Whether a host's hooks may keep what is said or done, or hear what tools return: answers, shown and written with the rest."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hermes_memory_bridge.connect.host_config_files import FileEdits, HostFileError
from hermes_memory_store.hosts.capture_switch import (
    CaptureSwitch,
    load_capture_switch,
    parse_capture_switch,
    to_capture_path,
)


@contextmanager
def edit_switch(files: FileEdits, store: Path) -> Iterator[CaptureSwitch]:
    """Lend the switch of a store to be changed, and note what it then says. One that says nothing goes.

    :raises HostFileError: the file is damaged
    """
    file = Path(to_capture_path(store))
    text = files.read(file)
    try:
        switch = parse_capture_switch(text.encode()) if text.strip() else CaptureSwitch()
    except (ValueError, RecursionError) as error:
        mended = "`hermes-memory-tui capture off` or `capture on` writes it anew"
        raise HostFileError(f"{file} was left alone: it is damaged ({error}); {mended}", file) from error
    before = json.dumps(switch.to_document())
    yield switch
    document = switch.to_document()
    if json.dumps(document) != before:
        is_empty = not any(document.values()) and switch.actions is None
        files.write(file, None if is_empty else json.dumps(document, indent=2) + "\n")


def change_consent(files: FileEdits, store: Path, host: str, answer: bool | None, *, of_tools: bool = False) -> None:
    """Note the answer for a host; None forgets it.

    :param of_tools: whether it is the one about what tools return
    :raises HostFileError: the file is damaged
    """
    with edit_switch(files, store) as switch:
        answers = switch.tools if of_tools else switch.hosts
        if answer is not None:
            answers[host] = answer
            return
        answers.pop(host, None)
        if not of_tools:
            switch.history.pop(host, None)


def needs_tool_hooks(store: Path, host: str) -> bool:
    """Check whether what a host's tools return may be heard, or what they do be kept."""
    return find_consent(store, host, of_tools=True) is True or load_capture_switch(store).actions is True


def find_consent(store: Path, host: str, *, of_tools: bool = False) -> bool | None:
    """Return what was answered for a host; None when nobody was asked, or the file is damaged. :param of_tools: as above"""
    switch = load_capture_switch(store)
    return (switch.tools if of_tools else switch.hosts).get(host)
