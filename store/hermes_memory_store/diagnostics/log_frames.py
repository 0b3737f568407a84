"""Read the write-ahead log frame by frame: SQLite itself passes over whatever follows a frame that does not fit.

That is right after a crash, which leaves at most the frames of one unfinished transaction. Frames of later, committed
transactions behind a frame that does not fit are no crash: something altered the log.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import NamedTuple

from hermes_memory_store.database.write_ahead_log import log_path

HEADER = struct.Struct(">8I")

FRAME = struct.Struct(">6I")

MAGIC = {0x377F0682: "<", 0x377F0683: ">"}
"""Byte order of the checksums, by the first number of a log (https://sqlite.org/fileformat2.html, section 4.1)."""


class LogScan(NamedTuple):
    """What stands in a log."""

    frames: int
    """Frames that fit, up to the first that does not."""
    lost: int
    """Committed transactions behind the one it belongs to, all of which SQLite passes over."""
    is_header_damaged: bool


def describe_log_damage(db: Path) -> str | None:
    """Return the sentence about a damaged log, None when a crash explains all that is in it."""
    scan = scan_log(log_path(db))
    if scan.is_header_damaged:
        return "the header of the write-ahead log is damaged: SQLite passes over all that the log held"
    if scan.lost:
        return (
            f"frame {scan.frames + 1} of the write-ahead log is damaged: "
            f"{scan.lost + 1} committed transactions from there on are passed over"
        )
    return None


def scan_log(path: Path) -> LogScan:
    """Scan a log; one that is not there, or is empty, is sound."""
    while True:
        try:
            content = path.read_bytes()
            with path.open("rb") as again:
                if again.read(HEADER.size) != content[: HEADER.size]:
                    continue  # a writer began the log anew meanwhile
        except FileNotFoundError:
            return LogScan(0, 0, False)
        return scan_frames(content)


def scan_frames(content: bytes) -> LogScan:
    """Scan the content of a log."""
    if len(content) < HEADER.size:
        return LogScan(0, 0, False)
    magic, _, page_size, _, salt, salt2, *check = HEADER.unpack_from(content)
    order = MAGIC.get(magic)
    size = FRAME.size + (page_size or 4096)
    if order is None or checksum(order, content[:24], (0, 0)) != tuple(check):
        return LogScan(0, 0, content[: HEADER.size].strip(b"\0") != b"" or len(content) > size)
    link, frames, place = (check[0], check[1]), 0, HEADER.size
    while place + size <= len(content):
        _, _, *salts, first, second = FRAME.unpack_from(content, place)
        if salts != [salt, salt2]:
            break
        link = checksum(order, content[place : place + 8], link)
        link = checksum(order, content[place + FRAME.size : place + size], link)
        if link != (first, second):
            break
        frames, place = frames + 1, place + size
    ends = 0
    for behind in range(place, len(content) - size + 1, size):
        _, pages, *salts, _, _ = FRAME.unpack_from(content, behind)
        ends += bool(pages) and salts == [salt, salt2]
    # The transaction of the frame that does not fit may be the one that a power cut left unfinished.
    return LogScan(frames, max(0, ends - 1), False)


def checksum(order: str, content: bytes, link: tuple[int, int]) -> tuple[int, int]:
    """Return the running checksum of a log after these bytes (https://sqlite.org/fileformat2.html, section 4.2)."""
    first, second = link
    numbers = struct.unpack(f"{order}{len(content) // 4}I", content)
    for even, odd in zip(numbers[::2], numbers[1::2], strict=True):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return first, second
