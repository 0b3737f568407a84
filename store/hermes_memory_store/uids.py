"""Time-ordered UUIDs (RFC 9562, version 7): the names that sync and people use for facts, scopes and sessions."""

from __future__ import annotations

import os
import threading
from functools import lru_cache

from hermes_memory_store.model import Uid

_lock = threading.Lock()
_last = 0


def new_uid(millis: int) -> bytes:
    """A fresh UUIDv7 of 16 bytes for that moment; later ones of one process sort later, even within a millisecond."""
    return new_uids(millis, 1)[0]


def new_uids(millis: int, count: int) -> list[bytes]:
    """Several fresh UUIDv7 in ascending order.

    The 12 bits after the timestamp count up from the last one, as method 1 of RFC 9562 section 6.2 allows.
    """
    global _last
    with _lock:
        first = max(millis << 12, _last + 1)
        _last = first + count - 1
    noise = os.urandom(8 * count)
    made = []
    for n, stamp in enumerate(range(first, first + count)):
        head = ((stamp >> 12) << 16) | 0x7000 | (stamp & 0xFFF)
        tail = (int.from_bytes(noise[8 * n : 8 * n + 8], "big") & 0x3FFF_FFFF_FFFF_FFFF) | 0x8000_0000_0000_0000
        made.append(((head << 64) | tail).to_bytes(16, "big"))
    return made


def to_text(uid: bytes) -> Uid:
    """The canonical 36-character form."""
    text = uid.hex()
    return Uid(f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}")


@lru_cache(maxsize=4096)
def to_bytes(uid: str) -> bytes:
    """The 16 bytes of a full uid. :raises ValueError: when it is not one"""
    digits = uid.replace("-", "")
    if len(digits) != 32:
        raise ValueError(f"not a uid: {uid[:40]!r}")
    return bytes.fromhex(digits)


def short(uid: str) -> str:
    """The part of a uid that lists show: enough to tell facts apart that were not made in the same millisecond."""
    return uid[:13]


def prefix_range(prefix: str) -> tuple[bytes, bytes] | None:
    """The lowest and highest uid that begin with these hexadecimal characters (dashes do not count).

    None when the text cannot begin a uid.
    """
    digits = prefix.replace("-", "").lower()
    if not digits or len(digits) > 32 or not set(digits) <= set("0123456789abcdef"):
        return None
    return bytes.fromhex(digits.ljust(32, "0")), bytes.fromhex(digits.ljust(32, "f"))
