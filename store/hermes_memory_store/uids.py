"""Time-ordered UUIDs (RFC 9562, version 7): the names that sync and people use for facts, scopes and sessions."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from functools import lru_cache

from hermes_memory_store.model import Uid

DIGITS = 32
"""Hexadecimal digits of a whole uid."""

SHORT_DIGITS = 8
"""Digits of the short form: 32 random bits, of which a million facts share one in 4,300."""

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


def to_texts(wanted: Iterable[bytes]) -> list[Uid]:
    """The canonical form of several."""
    return [to_text(uid) for uid in wanted]


@lru_cache(maxsize=4096)
def to_bytes(uid: str) -> bytes:
    """The 16 bytes of a full uid. :raises ValueError: when it is not one"""
    digits = uid.replace("-", "")
    if len(digits) != 32:
        raise ValueError(f"not a uid: {uid[:40]!r}")
    return bytes.fromhex(digits)


def short(uid: str, digits: int = SHORT_DIGITS) -> str:
    """The end of a uid, by which people and agents call a fact: its beginning is the time, which facts of one minute share."""
    return uid[-digits:]


def parse_digits(name: str) -> str | None:
    """The hexadecimal digits of a uid or of a part of it, in lower case; hyphens do not count. None when it is none."""
    digits = name.strip().replace("-", "").lower()
    return digits if digits and len(digits) <= DIGITS and set(digits) <= set("0123456789abcdef") else None


def prefix_range(digits: str) -> tuple[bytes, bytes]:
    """The lowest and highest uid that begin with these digits, as `parse_digits` gives them."""
    return bytes.fromhex(digits.ljust(DIGITS, "0")), bytes.fromhex(digits.ljust(DIGITS, "f"))


def byte_ends(digits: str) -> list[bytes]:
    """The last bytes of every uid that ends with these digits: one end, or 16 for an odd number of digits."""
    return [bytes.fromhex(half + digits) for half in ("0123456789abcdef" if len(digits) % 2 else ("",))]


def begins_or_ends(uid: str, digits: str) -> bool:
    """Whether a uid begins or ends with these digits."""
    whole = uid.replace("-", "").lower()
    return whole.startswith(digits) or whole.endswith(digits)
