"""Time-ordered UUIDs (RFC 9562, version 7), which name facts, scopes and sessions for sync and people."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from functools import lru_cache

from hermes_memory_store.model import Uid

DIGITS = 32
"""Hexadecimal digits of a whole uid."""

HEX_DIGITS = "0123456789abcdef"

Uids = str | Iterable[str]
"""What a method that takes uids is given: one, or many."""

SHORT_DIGITS = 8
"""Digits of the short form: 32 random bits, of which a million facts share one in 4,300."""

_lock = threading.Lock()
_last = 0


def new_uid(millis: int) -> bytes:
    """Create a UUIDv7 of 16 bytes for that time; later ones of one process sort later, even within a millisecond."""
    return new_uids(millis, 1)[0]


def new_uids(millis: int, count: int) -> list[bytes]:
    """Create several UUIDv7 in ascending order.

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


def format_uid(uid: bytes) -> Uid:
    text = uid.hex()
    return Uid(f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}")


def to_texts(raw_uids: Iterable[bytes]) -> list[Uid]:
    return [format_uid(uid) for uid in raw_uids]


@lru_cache(maxsize=4096)
def parse_uid(uid: str) -> bytes:
    """Return the 16 bytes of a full uid. :raises ValueError: when it is not one"""
    digits = uid.replace("-", "")
    if len(digits) != 32:
        raise ValueError(f"not a uid: {uid[:40]!r}")
    return bytes.fromhex(digits)


def short_uid(uid: str, digits: int = SHORT_DIGITS) -> str:
    """Return the end of a uid, by which people and agents refer to a fact: its beginning is the time."""
    return uid[-digits:]


def list_uids(wanted: Uids) -> list[str]:
    return [wanted] if isinstance(wanted, str) else list(wanted)


def parse_uid_digits(name: str) -> str | None:
    """Return the hexadecimal digits of a uid or part of one, in lower case, hyphens ignored; None for other text."""
    digits = name.strip().replace("-", "").lower()
    return digits if digits and len(digits) <= DIGITS and set(digits) <= set(HEX_DIGITS) else None


def has_uid_part(uid: str, digits: str) -> bool:
    """Check whether a uid begins or ends with these digits."""
    whole = uid.replace("-", "").lower()
    return whole.startswith(digits) or whole.endswith(digits)
