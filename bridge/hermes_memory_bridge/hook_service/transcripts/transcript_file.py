"""A piece of a host's transcript, from a byte offset on: whole lines of a file that is really one, and this user's own."""

from __future__ import annotations

import json
import logging
import os
import stat
from typing import Any

from hermes_memory_bridge.hook_service.transcripts.transcript_formats import PARSERS, TranscriptMessage
from hermes_memory_store.frozen import dataclass

log = logging.getLogger(__name__)

MOST_BYTES = 1 << 20
"""Read at a time: beside other work, a longer pause of this process would be felt."""

MOST_LINE_BYTES = 1 << 24
"""Of one line, whatever is read at a time."""


class TranscriptRefused(OSError):
    """A path that is no transcript: a link, a device, a folder, another user's file."""


@dataclass(frozen=True, slots=True)
class TranscriptPiece:
    messages: tuple[TranscriptMessage, ...]
    offset: int
    """Where to read on: behind the last whole line."""
    is_last: bool
    """Whether the file ends there, but for half a line, or what follows is too new."""


def read_transcript(path: str, host: str, offset: int, until: int) -> TranscriptPiece:
    """Read at most `MOST_BYTES` of a transcript, or one line. One above `MOST_LINE_BYTES` is passed over, which is logged.

    :param offset: bytes that were read; a shorter file is read from its beginning
    :param until: UTC milliseconds; the piece ends before the first message that is newer
    :raises TranscriptRefused: the path is none
    :raises OSError: it cannot be read
    """
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.getuid():
            raise TranscriptRefused(f"{path} is no file of this user's own")
        start = offset if offset <= found.st_size else 0
        file.seek(start)
        data = file.read(MOST_BYTES)
        if len(data) == MOST_BYTES and b"\n" not in data:
            data += file.readline(MOST_LINE_BYTES - MOST_BYTES)
    end = data.rfind(b"\n") + 1
    if not end and len(data) == MOST_LINE_BYTES:
        log.warning("%d bytes of a line of %s were not read: it is longer than any message", len(data), path)
        return TranscriptPiece((), start + len(data), False)
    messages: list[TranscriptMessage] = []
    at = start
    for line in data[:end].splitlines(keepends=True):
        message = parse_line(host, line)
        if message is not None and message.at is not None and message.at > until:
            return TranscriptPiece(tuple(join_messages(messages)), at, True)
        at += len(line)
        messages += [message] if message is not None else []
    return TranscriptPiece(tuple(join_messages(messages)), at, not end or len(data) < MOST_BYTES)


def parse_line(host: str, line: bytes) -> TranscriptMessage | None:
    """Parse a line of a host's transcript; None for one that holds no message."""
    parser = PARSERS.get(host)
    if parser is None or not line.startswith(b"{"):
        return None
    try:
        said: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return parser(said) if isinstance(said, dict) else None


def join_messages(messages: list[TranscriptMessage]) -> list[TranscriptMessage]:
    """Return messages of which a host writes each part on a line of its own in one piece."""
    joined: list[TranscriptMessage] = []
    for message in messages:
        last = joined[-1] if joined else None
        if last is not None and message.name and (last.name, last.role) == (message.name, message.role):
            joined[-1] = TranscriptMessage(last.role, f"{last.text}\n{message.text}", last.at, last.name, last.agent)
        else:
            joined.append(message)
    return joined
