"""Change whether what is said may be kept. `capture_switch.py` reads what this writes.

Each change returns what holds then. :raises FileError: the switch cannot be written
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from hermes_memory_store import errors
from hermes_memory_store.hosts.capture_switch import (
    KEPT_STOPS_MS,
    UNTIL_RESUMED,
    CaptureSwitch,
    load_capture_switch,
    to_capture_path,
    to_now,
)
from hermes_memory_store.system.file_locks import exclusive_folder_lock
from hermes_memory_store.system.filesystem import atomic_write


def allow_capture(
    store_path: str | os.PathLike[str], host: str, allowed: bool, *, of_tools: bool = False
) -> CaptureSwitch:
    """Say whether the hooks of a host may bring what is said, or be heard about what tools returned."""
    with open_capture_switch(store_path) as switch:
        (switch.tools if of_tools else switch.hosts)[host] = allowed
        if not allowed and not of_tools and host in switch.history:
            switch.history[host] = 0
    return switch


def switch_capture(store_path: str | os.PathLike[str], *, off: bool) -> CaptureSwitch:
    """Stop capture everywhere, or end that."""
    with open_capture_switch(store_path) as switch:
        switch.off = off
        if off:
            switch.history = dict.fromkeys(switch.history, 0)
        else:
            switch.paused_until = None
    return switch


def keep_history(store_path: str | os.PathLike[str], hosts: Iterable[str], until: int) -> CaptureSwitch:
    """Say whether later sessions that hosts keep on this disk are read. :param until: those of before were, or 0 for no"""
    with open_capture_switch(store_path) as switch:
        switch.history |= dict.fromkeys(hosts, until)
    return switch


def switch_capture_in_folder(
    store_path: str | os.PathLike[str], folder: str | os.PathLike[str], *, off: bool
) -> CaptureSwitch:
    """Stop capture in a folder and below it, or end that."""
    place = os.path.realpath(folder)
    with open_capture_switch(store_path) as switch:
        switch.folders = [entry for entry in switch.folders if entry != place] + [place] * off
    return switch


def pause_capture(
    store_path: str | os.PathLike[str], duration_ms: int | None = None, *, now: int | None = None
) -> CaptureSwitch:
    """Stop capture for a while.

    :param duration_ms: for how long; until it is resumed unless given
    :param now: UTC milliseconds; the system's clock unless given
    """
    with open_capture_switch(store_path, now) as switch:
        switch.paused_until = UNTIL_RESUMED if duration_ms is None else to_now(now) + duration_ms
    return switch


def resume_capture(store_path: str | os.PathLike[str], *, now: int | None = None) -> CaptureSwitch:
    """End a pause. :param now: as of `pause_capture`"""
    with open_capture_switch(store_path, now) as switch:
        switch.paused_until = None
    return switch


@contextmanager
def open_capture_switch(store_path: str | os.PathLike[str], now: int | None = None) -> Iterator[CaptureSwitch]:
    """Lend the switch of a store to be changed in one step, however many programs do so, and write it.

    A damaged file may have said that capture is off, so what replaces it says so, unless the change ends that.
    """
    path = Path(to_capture_path(store_path))
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with exclusive_folder_lock(path.parent):
            switch = load_capture_switch(store_path)
            if switch.trouble:
                switch = CaptureSwitch(off=True)
            at = to_now(now)
            was_stopped = switch.off or switch.is_paused(at)
            yield switch
            note_stop(switch, at, was_stopped)
            with atomic_write(path, encoding="utf-8", encoding_errors="surrogateescape") as file:
                json.dump(switch.to_document(), file, indent=2)
                file.write("\n")
    except OSError as error:
        raise errors.FileError(f"{path} cannot be written: {error.strerror or error}", path) from error


def note_stop(switch: CaptureSwitch, at: int, was_stopped: bool) -> None:
    """Note in a switch that was just changed when nothing may be kept. :param at: UTC milliseconds"""
    stops = [stop for stop in switch.stops if stop[1] is None or stop[1] > at - KEPT_STOPS_MS]
    end = None if switch.off or switch.paused_until == UNTIL_RESUMED else switch.paused_until
    is_stopped = switch.off or switch.is_paused(at)
    if was_stopped and stops:
        stops[-1][1] = end if is_stopped else at
    elif is_stopped:
        stops.append([at, end])
    switch.stops = stops
