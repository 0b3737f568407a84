"""Read what a host says to its hook, in whatever shape, and make the event of it."""

from __future__ import annotations

import os

from hermes_memory_bridge.hook_program.hook_event import (
    MARK_ROOM,
    MOST_PIDS,
    MOST_TEXT,
    HookEvent,
    parse_hook_event,
    to_text,
)
from hermes_memory_bridge.hook_program.host_dialects import (
    CALL_KEYS,
    EVENT_NAME_KEYS,
    FIELDS,
    PAGE_KEYS,
    REPLACED_KEYS,
    RESULT_KEYS,
    SOURCE_WORDS,
    TEXT_KEYS,
)
from hermes_memory_bridge.wire.paths import find_working_folder
from hermes_memory_store.compact_json import parse_half_object, parse_whole_object
from hermes_memory_store.hosts.host_data import load_host

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

MOST_INPUT = 1 << 20
"""Bytes of standard input that are looked at."""

CHUNK = 1 << 16


class HostInput:
    """What a host says on standard input, as far as it was read: another process can go on where this one stopped."""

    __slots__ = ("handle", "said")

    def __init__(self, handle: int = 0) -> None:
        self.handle = handle
        self.said = bytearray()

    def read(self) -> dict[str, Any]:
        """Read an object; what is whole of half a one. Empty for a terminal, which no host is.

        The end of the input is not waited for once the object is whole: not every host closes the pipe.
        """
        try:
            if os.isatty(self.handle):
                return {}
            while len(self.said) < MOST_INPUT:
                chunk = os.read(self.handle, min(CHUNK, MOST_INPUT - len(self.said)))
                self.said += chunk
                if not chunk:
                    break
                if chunk.endswith((b"}", b"}\n")):
                    whole = parse_whole_object(to_characters(self.said))
                    if whole is not None:
                        return whole
        except OSError:
            pass  # what was read until then
        mark = f"\n[cut off: {len(self.said):,} bytes of the host's input were read]"
        return parse_half_object(to_characters(self.said), MOST_TEXT - MARK_ROOM, mark)

    def drain(self) -> None:
        """Read the rest of a long input and forget it, so that the host's write ends well."""
        try:
            while os.read(self.handle, CHUNK):
                pass
        except OSError:
            return


def to_characters(content: bytearray) -> str:
    """Decode UTF-8 whatever it holds, without a byte order mark."""
    return content.decode("utf-8", "replace").removeprefix("\ufeff")


def to_hook_event(
    host: str,
    event: str,
    payload: Mapping[str, Any],
    environ: Mapping[str, str],
    *,
    theme: str,
    at: int,
    pids: list[int],
) -> HookEvent:
    """Make the event of what a host said.

    :param host: the host that speaks
    :param event: as the command names it
    :param environ: the environment of this process
    :param at: when it happened, UTC milliseconds
    :param pids: ids of this process's ancestors, nearest first
    """
    answers = load_host(host)["answers"]
    own_fields, own_texts = answers.get("fields", {}), answers.get("texts", {})
    document: dict[str, Any] = {
        name: find_text(payload, (*own_fields.get(name, ()), *keys)) for name, keys in FIELDS.items()
    }
    for name, variables in answers.get("environ", {}).items():
        document[name] = document[name] or next(
            (value for variable in variables if (value := environ.get(variable))), ""
        )
    if not os.path.isabs(document["folder"]):
        document["folder"] = find_working_folder()
    word = document["source"] or find_text(payload, EVENT_NAME_KEYS)[:100]
    document["source"] = SOURCE_WORDS.get(word, word) if event == "start" else ""
    if event in ("tool", "guard"):
        from hermes_memory_bridge.hook_program.tool_acts import describe_act  # here, not above: other events need none

        call = find_call(payload)
        document |= describe_act(host, payload, document["tool"], call, document["transcript"])
        document |= {
            "call": gather_text(call, REPLACED_KEYS),
            "page": find_text(call, PAGE_KEYS) if isinstance(call, dict) else "",
        }
        text = next((text for key in RESULT_KEYS if (text := gather_text(payload.get(key)))), "")
    else:
        text = find_text(payload, (*own_texts.get(event, ()), *TEXT_KEYS.get(event, ())))
    document |= {"host": host, "event": event, "text": text, "theme": theme}
    return parse_hook_event({**document, "pids": pids, "at": at})


def find_text(payload: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    """Return the first text under one of these keys; of a list the texts of its parts."""
    for key in keys:
        value: Any = payload
        for name in key.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        if key in FIELDS["folder"]:
            text = to_text(value, "\0").partition("\0")[0]
        else:
            text = to_text(value, "\n").replace("\0", "")
        if text:
            return text
    return ""


def find_call(payload: Mapping[str, Any]) -> Any:
    """Return what a tool was called with, which Copilot CLI says as JSON in a text."""
    call = next((payload[key] for key in CALL_KEYS if payload.get(key)), None)
    return (parse_whole_object(call) or call) if isinstance(call, str) else call


def gather_text(value: Any, without: tuple[str, ...] = ()) -> str:
    """Return all texts of a value, be they deep in lists and objects. :param without: keys of what is left out"""
    texts, left = [], [value]
    while left:
        part = left.pop()
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, (list, dict)):
            parts = part if isinstance(part, list) else [part[key] for key in part if key not in without]
            left += reversed(parts)
    return "\n".join(texts).replace("\0", "")


def list_hook_ancestors() -> list[int]:
    """Return the ids of the processes above this one, nearest first; where the system does not tell, the nearest alone."""
    ancestors: list[int] = []
    pid = os.getppid()
    while pid > 1 and len(ancestors) < MOST_PIDS:
        ancestors.append(pid)
        try:
            handle = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
            try:
                content = os.read(handle, 1_024)
            finally:
                os.close(handle)
            pid = int(content.rpartition(b")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            break
    return ancestors
