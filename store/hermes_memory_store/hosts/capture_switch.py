"""Whether what is said may be kept: the answer for one host in one folder, at this moment.

`<store>.capture.json` says which hosts' hooks may bring what is said, whether capture is off or paused, and in which folders
nothing is kept. A file `.hermes-memory-off` in a folder says the same for it and all below it. Every writer of turns asks
here just before it writes. What cannot be read allows nothing. Standard library alone: the hook program imports this.
"""

from __future__ import annotations

import os
import time

from hermes_memory_store.compact_json import parse_whole_object
from hermes_memory_store.system.file_handles import open_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

OFF_FILE = ".hermes-memory-off"
"""The name of a file, or folder, that stops capture in its folder and below."""

KEPT_STOPS_MS = 8 * 86_400_000
"""How long it is known that capture was stopped: longer than a transcript may be read after it was written."""

UNTIL_RESUMED = -1
"""`paused_until` of a pause without an end."""

MOST_READ = 1 << 20
"""Bytes of the switch's file; a larger one is none of ours."""


class CaptureRuling:
    """Whether capture is allowed; if not, why, as words for people that follow `capture is `."""

    __slots__ = ("allowed", "why")

    def __init__(self, allowed: bool, reason: str = "") -> None:
        self.allowed = allowed
        self.why = reason


class CaptureSwitch:
    """What the file of a store says. Without a file: nobody was allowed, nothing is off."""

    __slots__ = (
        "actions", "folders", "history", "hosts", "notices", "off", "paused_until", "stops", "tools", "trouble",
    )  # fmt: skip

    def __init__(self, *, off: bool = False, trouble: str = "") -> None:
        self.hosts: dict[str, bool] = {}
        """Hosts whose person has answered, and what."""
        self.off = off
        self.tools: dict[str, bool] = {}
        """The same of what tools and pages returned in a host: whether it may be heard. Nothing of that is kept."""
        self.actions: bool | None = None
        """Whether what agents run, read and edit may be kept; None where nobody has answered, which means no."""
        self.notices: bool | None = None
        """Whether the person sees in the chat what an agent was given; None where nobody has answered, which means yes."""
        self.history: dict[str, int] = {}
        """Hosts whose person has answered whether later sessions on this disk are read: until when, UTC milliseconds; 0: no."""
        self.paused_until: int | None = None
        """UTC milliseconds, `UNTIL_RESUMED`, or None."""
        self.folders: list[str] = []
        """Absolute paths, links resolved: nothing is kept in them, nor below."""
        self.stops: list[list[int | None]] = []
        """When nothing at all might be kept: since when and until when, UTC milliseconds; None where nobody has ended it.

        What is read later, such as a transcript, is not read of these times. Those of more than `KEPT_STOPS_MS` ago are left out.
        """
        self.trouble = trouble
        """Why the file cannot be read; it then allows nothing."""

    def to_document(self) -> dict[str, Any]:
        """Return what `parse_capture_switch` reads."""
        document = {"hosts": self.hosts, "off": self.off, "paused_until": self.paused_until, "folders": self.folders}
        later = {name: getattr(self, name) for name in ("stops", "tools", "history", "actions", "notices")}
        return document | {name: value for name, value in later.items() if value or value is False}

    def is_paused(self, now: int) -> bool:
        return self.paused_until is not None and (self.paused_until == UNTIL_RESUMED or now < self.paused_until)

    def was_stopped(self, at: int) -> bool:
        """Check whether nothing at all might be kept at a moment of before. :param at: UTC milliseconds"""
        return any(begin <= at and (end is None or at < end) for begin, end in self.stops if begin is not None)

    def find_general_stop(self, now: int) -> str:
        """Return why nothing at all may be kept; empty when something may. :param now: UTC milliseconds"""
        if self.trouble:
            return self.trouble
        if self.off:
            return "off everywhere"
        return f"paused until {format_pause_end(self.paused_until, now)}" if self.is_paused(now) else ""


def may_capture(
    store_path: str, host: str, folder: str, *, of_tools: bool = False, of_actions: bool = False, now: int | None = None
) -> CaptureRuling:
    """Return whether what is said may be kept.

    :param host: the host whose hook brings it; empty for other ways, which need no permission of their own
    :param folder: where it is said, absolute; empty when nobody knows
    :param of_tools: whether it is what tools returned, which may be heard
    :param of_actions: whether it is what agents run, read and edit, which no yes of a host covers
    :param now: UTC milliseconds; the system's clock unless given
    """
    switch = load_capture_switch(store_path)
    stop = switch.find_general_stop(to_now(now)) or find_folder_stop(switch, folder)
    if not stop and host and (switch.tools if of_tools else switch.hosts).get(host) is not True:
        stop = f"not allowed to {host}"
    if not stop and of_actions and switch.actions is not True:
        stop = "not allowed of what agents run, read and edit"
    return CaptureRuling(not stop, stop)


def describe_capture(store_path: str, folder: str, *, now: int | None = None) -> str:
    """Return what screens show while capture is stopped: `capture is paused until 14:02`; empty when it is not."""
    ruling = may_capture(store_path, "", folder, now=now)
    return "" if ruling.allowed else f"capture is {ruling.why}"


def to_capture_path(store_path: str | os.PathLike[str]) -> str:
    return os.path.realpath(os.path.expanduser(os.fspath(store_path))) + ".capture.json"


def load_capture_switch(store_path: str | os.PathLike[str]) -> CaptureSwitch:
    """Load the switch of a store. What cannot be read becomes a switch with `trouble`."""
    path = to_capture_path(store_path)
    try:
        with open(open_regular(path), "rb") as file:
            content = file.read(MOST_READ + 1)
    except (FileNotFoundError, NotADirectoryError):
        return CaptureSwitch()
    except (OSError, ValueError) as error:
        return CaptureSwitch(trouble=f"off, since {path} cannot be read: {getattr(error, 'strerror', None) or error}")
    try:
        return parse_capture_switch(content)
    except ValueError:
        mended = "`hermes-memory-tui capture off` or `capture on` writes it anew"
        return CaptureSwitch(trouble=f"off, since {path} is damaged; {mended}")


def parse_capture_switch(content: bytes) -> CaptureSwitch:
    """Parse the file's content. :raises ValueError: it is not what this program writes"""
    document: Any = parse_whole_object(content.decode("utf-8")) if len(content) <= MOST_READ else None
    if document is None:
        raise ValueError("no object")
    hosts, tools, off = document.get("hosts", {}), document.get("tools", {}), document.get("off", False)
    paused_until, folders, stops = document.get("paused_until"), document.get("folders", []), document.get("stops", [])
    history, actions, notices = document.get("history", {}), document.get("actions"), document.get("notices")
    if not isinstance(hosts, dict) or not isinstance(tools, dict) or not isinstance(history, dict):
        raise ValueError("other types")
    if not isinstance(off, bool) or not isinstance(folders, list):
        raise ValueError("other types")
    if type(paused_until) not in (int, type(None)):
        raise ValueError("no time")
    if not all(isinstance(folder, str) for folder in folders):
        raise ValueError("no path")
    if not isinstance(stops, list) or not all(is_stop(stop) for stop in stops):
        raise ValueError("no times")
    switch = CaptureSwitch(off=off)
    switch.hosts = {name: answer for name, answer in hosts.items() if isinstance(answer, bool)}
    switch.actions = actions if isinstance(actions, bool) else None
    switch.notices = notices if isinstance(notices, bool) else None
    switch.tools = {name: answer for name, answer in tools.items() if isinstance(answer, bool)}
    switch.history = {name: until for name, until in history.items() if type(until) is int}
    switch.paused_until, switch.folders, switch.stops = paused_until, folders, stops
    return switch


def is_stop(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and type(value[0]) is int and type(value[1]) in (int, type(None))


def find_folder_stop(switch: CaptureSwitch, folder: str) -> str:
    """Return why nothing is kept in a folder; empty when something may be."""
    if not folder:
        return ""
    try:
        places = dict.fromkeys((os.path.realpath(folder), os.path.abspath(folder)))
        for place in places:
            for off in switch.folders:
                if place == off or place.startswith(off.rstrip("/") + "/"):
                    return f"off in {off}"
            below = ""
            while place != below:
                marker = os.path.join(place, OFF_FILE)
                if is_entry(marker):
                    return f"off here, since {marker} exists"
                place, below = os.path.dirname(place), place
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        return f"off here, since nobody can tell whether {OFF_FILE} exists: {reason}"
    return ""


def is_entry(path: str) -> bool:
    """Check whether anything has this name, be it a link that leads nowhere. :raises OSError: that cannot be told"""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def format_pause_end(until: int | None, now: int) -> str:
    """Format the end of a pause by the local clock: `14:02`, with the date when that is another day."""
    if until is None or until == UNTIL_RESUMED:
        return "resumed"
    try:
        end, today = time.localtime(until / 1000), time.localtime(now / 1000)
    except (OverflowError, ValueError, OSError):
        return "resumed"
    form = "%H:%M" if end[:3] == today[:3] else "%Y-%m-%d %H:%M"
    return time.strftime(form, end)


def to_now(now: int | None) -> int:
    return time.time_ns() // 1_000_000 if now is None else now
