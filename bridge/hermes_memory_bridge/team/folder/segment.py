"""Segments: encrypted files in which a machine gives others versions of facts and scopes, and captured turns.

A segment is never changed once it is written. It is `HEADER`, in clear and authenticated, and the compressed payload,
encrypted by AES-256-GCM-SIV under the key of the theme. Its name says what its header says, so that a copy under
another name is recognized as what it is.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import struct
import zlib
from collections.abc import Set
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from hermes_memory_bridge.team.database.team_states import TeamError
from hermes_memory_bridge.team.folder.folder_states import NO_CRYPTOGRAPHY
from hermes_memory_store.intake.intake import to_listed_name
from hermes_memory_store.model import Uid
from hermes_memory_store.sync.shared_turns import to_turn_row
from hermes_memory_store.sync.team_origins import UNKNOWN
from hermes_memory_store.sync.wire_format import PURGED, SyncRow, scope_sync_uid

MAGIC = b"HMSEG\r\n\x01"
"""The line break tells a file that was carried as text."""

HEADER = struct.Struct(">8s8s8sQ8s12sQ")
"""Magic, tag of the theme, tag of the machine, number, salt of the name, nonce, bytes of the ciphertext."""

TAG_BYTES = 16
"""What the cipher adds."""

MOST_BYTES = 64 << 20
"""Bytes of a file that is read at all. A segment of this program has a tenth of that at most."""

MOST_PAYLOAD_BYTES = 256 << 20
"""Bytes of a payload after its compression is undone."""

NAME = re.compile(r"([0-9a-f]{16})-(\d{8,})-([0-9a-f]{16})\.hms")

VERSION = 1

MOST_NAME = 100
"""Characters of a machine's name that are read."""

TEXT, NUMBER = {str}, {int}
"""Types of what a row says; a truth value is no number."""


class SegmentError(Exception):
    """A file is no segment of this theme; says why in words."""


class SegmentIncomplete(SegmentError):
    """A file is shorter than it says: it is still being copied, or was cut."""


@dataclass(frozen=True, slots=True)
class SegmentName:
    """Who wrote a segment, and which of his it is."""

    machine: str
    """Tag of the machine, 16 hexadecimal digits."""
    number: int
    salt: str
    """16 hexadecimal digits: a copy of a machine that goes on by itself overwrites nothing."""

    def __str__(self) -> str:
        return f"{self.machine}-{self.number:08d}-{self.salt}.hms"


@dataclass(frozen=True, slots=True)
class Segment:
    rows: list[SyncRow]
    turns: list[SyncRow]
    replaces: tuple[str, ...] = ()
    """Names of segments whose rows stand here, except those that were purged."""
    node: str = ""
    """Name of the store that wrote it."""
    author: str = ""
    """The machine's own name, for a person."""
    theme: str = ""
    """What the theme is called there."""


@dataclass(frozen=True, slots=True)
class ThemeKey:
    secret: bytes = field(repr=False)

    @property
    def tag(self) -> str:
        """Return the name of the theme's folder, 16 hexadecimal digits that tell nothing of the key."""
        return self._derive(b"theme").hex()

    def machine_tag(self, machine: bytes) -> str:
        """Return the name of a machine in file names, 16 hexadecimal digits."""
        return self._derive(b"machine " + machine).hex()

    def _derive(self, purpose: bytes) -> bytes:
        import hmac

        return hmac.digest(self.secret, b"hermes-memory " + purpose, "sha256")[:8]


def seal_segment(key: ThemeKey, name: SegmentName, segment: Segment) -> bytes:
    """Encrypt a segment. :raises TeamError: `cryptography` is missing"""
    payload = zlib.compress(format_payload(segment).encode(), 1)
    header = HEADER.pack(
        MAGIC,
        bytes.fromhex(key.tag),
        bytes.fromhex(name.machine),
        name.number,
        bytes.fromhex(name.salt),
        nonce := os.urandom(12),
        len(payload) + TAG_BYTES,
    )
    sealed: bytes = make_cipher(key).encrypt(nonce, payload, header)
    return header + sealed


def read_header(data: bytes) -> tuple[SegmentName, str]:
    """Return the name that a file has by its header, and the tag of its theme. :raises SegmentError: it is none"""
    if len(data) < HEADER.size:
        if MAGIC.startswith(data[: len(MAGIC)]):
            raise SegmentIncomplete("it is not complete yet")
        raise SegmentError("it is no segment")
    magic, theme, machine, number, salt, _, size = HEADER.unpack_from(data)
    if magic != MAGIC:
        raise SegmentError("it is no segment, or of another version of this program")
    if len(data) < HEADER.size + size:
        raise SegmentIncomplete("it is not complete yet")
    if len(data) > HEADER.size + size:
        raise SegmentError("something was added to it")
    return SegmentName(machine.hex(), number, salt.hex()), theme.hex()


def open_segment(key: ThemeKey, theme: str, data: bytes) -> tuple[SegmentName, Segment]:
    """Decrypt a segment, for a theme that is called so here.

    :raises SegmentError: it is none of this theme, incomplete, damaged or forged
    :raises TeamError: `cryptography` is missing
    """
    name, payload = decrypt_payload(key, data)
    try:
        return name, parse_payload(theme, payload)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise SegmentError("its content is malformed, or of a later version of this program") from None


def decrypt_payload(key: ThemeKey, data: bytes) -> tuple[SegmentName, bytes]:
    """Return the name and the payload of a segment.

    :raises SegmentError: it is none of this theme, incomplete, damaged or forged
    :raises TeamError: `cryptography` is missing
    """
    name, theme = read_header(data)
    if theme != key.tag:
        raise SegmentError("it is of another theme")
    cipher = make_cipher(key)
    from cryptography.exceptions import InvalidTag

    header = data[: HEADER.size]
    try:
        packed = cipher.decrypt(HEADER.unpack(header)[5], data[HEADER.size :], header)
    except InvalidTag:
        raise SegmentError("it was changed, or not written with the key of this theme") from None
    unpacking = zlib.decompressobj()
    try:
        payload = unpacking.decompress(packed, MOST_PAYLOAD_BYTES)
    except zlib.error:
        raise SegmentError("its content is malformed") from None
    if not unpacking.eof:
        raise SegmentError("its content is larger than any segment's")
    return name, payload


def make_cipher(key: ThemeKey) -> Any:
    """Return the cipher of a key. :raises TeamError: `cryptography` is missing"""
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCMSIV
    except ImportError:
        raise TeamError(NO_CRYPTOGRAPHY) from None
    return AESGCMSIV(key.secret)


def format_payload(segment: Segment) -> str:
    document = {
        "version": VERSION,
        "theme": segment.theme,
        "node": segment.node,
        "author": segment.author,
        "replaces": segment.replaces,
        "rows": [
            [
                *(row.uid, row.kind, row.content, row.attrs, row.supersedes, row.state),
                *(row.hlc, row.node, row.ancestors, row.origin, row.teammate, row.worded_by, row.changed_by),
            ]
            for row in segment.rows
        ],
        "turns": [
            [
                *(turn.uid, turn.node, turn.state == PURGED, turn.attrs.get("role", ""), turn.content or ""),
                *(turn.attrs.get("session"), turn.attrs.get("said_at", 0), turn.origin, turn.teammate),
            ]
            for turn in segment.turns
        ],
    }
    return json.dumps(document, separators=(",", ":"))


def parse_payload(theme: str, payload: bytes) -> Segment:
    """Parse the payload of a segment. :raises ValueError: or another error of its types: it is malformed"""
    document = json.loads(payload)
    if document["version"] != VERSION:
        raise ValueError("of another version")
    node, author = str(document["node"]), str(document["author"])[:100]
    rows = [parse_segment_row(theme, node, author, *columns) for columns in document["rows"]]
    turns = [parse_segment_turn(theme, node, author, *columns) for columns in document["turns"]]
    replaces = tuple(str(name) for name in document["replaces"])
    return Segment(rows, turns, replaces, node, author, str(document["theme"]))


def parse_segment_row(
    theme: str,
    writer: str,
    author: str,
    uid: str,
    kind: Any,
    content: str | None,
    attrs: Any,
    supersedes: Any,
    state: int,
    hlc: int,
    node: str,
    ancestors: list[int],
    origin: Any,
    *names: Any,
) -> SyncRow:
    """Convert the columns of a row; a scope gets the uid that it has under the local name of its theme.

    :param names: who brought it, whose words it has, and who changed it last; rows of before have only the first
    """
    texts, numbers = {type(uid), type(node)}, {type(state), type(hlc), *map(type, ancestors)}
    if texts != TEXT or numbers != NUMBER or (content is not None and type(content) is not str):
        raise ValueError("a value of another type")
    role = find_author(author, writer, node)
    teammate, worded_by, changed_by = (
        to_machine_name(name if isinstance(name, str) else made)
        for name, made in itertools.zip_longest(names, (f"{role}/{node[:8]}", role, role))
    )
    own = scope_sync_uid(theme, content) if kind == "scope" and content is not None else Uid(uid)
    version = (theme, own, kind, content, attrs, state, hlc, Uid(node), tuple(ancestors), supersedes)
    return SyncRow(*version, origin=origin, teammate=teammate, worded_by=worded_by, changed_by=changed_by)


def find_author(author: str, writer: str, node: str) -> str:
    """Return whose a row is that does not say it: the machine's that wrote the segment, where it made the row, too."""
    return author if node == writer and author else UNKNOWN


@lru_cache(maxsize=4096)
def to_machine_name(text: str) -> str:
    """Return what a machine is called as it may be listed: it is what somebody with the key says."""
    return str(to_listed_name(text[:MOST_NAME]))


def parse_segment_turn(
    theme: str,
    writer: str,
    author: str,
    uid: str,
    node: str,
    erased: bool,
    role: str,
    content: str,
    session: str | None,
    at: int,
    origin: Any,
    teammate: str | None,
) -> SyncRow:
    if {type(uid), type(node), type(role), type(content)} != TEXT or type(erased) is not bool or type(at) is not int:
        raise ValueError("a value of another type")
    by = teammate if isinstance(teammate, str) else f"{find_author(author, writer, node)}/{node[:8]}"
    words: dict[str, Any] = {"role": role, "content": content, "session": session, "at": at}
    return to_turn_row(
        theme, Uid(uid), Uid(node), is_erased=erased, origin=origin, teammate=to_machine_name(by), **words
    )


def without_purged(segment: Segment, uids: Set[str]) -> Segment:
    """Return a segment without what these facts and turns say; that they were purged stays."""
    rows = [row for row in segment.rows if row.state == PURGED or row.uid not in uids]
    turns = [turn for turn in segment.turns if turn.state == PURGED or turn.uid not in uids]
    return replace(segment, rows=rows, turns=turns)
