"""Held versions: versions from the team whose clock is ahead of what the team's time allows.

Applied at once, such a version would win over every edit until that time has come. So it is kept beside the
current version, and applied once it is allowed; or it is dropped when another version replaces it in the team's
database. It shares a table with the versions that lost, under a reason of its own.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass, replace

from hermes_memory_store import uids
from hermes_memory_store.clock import DAY_MS
from hermes_memory_store.model import Uid
from hermes_memory_store.sync.wire_format import (
    COUNTER_BITS,
    CheckedVersion,
    HiddenVersion,
    ReceivedVersion,
    SyncRow,
    VersionPayload,
)

INSERT_HELD = "INSERT OR REPLACE INTO sync_conflicts VALUES (?, ?, ?, ?, 'ahead', ?, ?, ?, ?)"
"""`ahead` tells a version that is held back from one that lost; the server's sequence number stands in `other`."""

DELETE_HELD = "DELETE FROM sync_conflicts WHERE theme_id = ?1 AND uid = ?2 AND why = 'ahead'"

HAS_HELD = "SELECT 1 FROM sync_conflicts WHERE theme_id = ? AND why = 'ahead' LIMIT 1"

SELECT_HELD = """
    SELECT name, uid, hlc, node, ancestors, said, other FROM sync_conflicts JOIN themes ON themes.id = theme_id
    WHERE why = 'ahead' AND (?1 IS NULL OR name = ?1) ORDER BY name, hlc
"""


@dataclass(frozen=True, slots=True)
class HeldVersion:
    """A held version."""

    row: SyncRow
    seq: int
    """Its sequence number in the team's database."""
    checked: CheckedVersion

    def to_hidden_version(self, server_ms: int) -> HiddenVersion:
        """Convert to a hidden version for reports. :param server_ms: the server's time, UTC milliseconds"""
        ahead_ms = (self.row.hlc >> COUNTER_BITS) - server_ms
        why = (
            f"its clock is {format_time_span(ahead_ms)} ahead of the team's; "
            f"it is held back until that time has come, or until it "
            "comes with a clock that is right"
        )
        return HiddenVersion(self.row.theme, self.row.uid, self.row.kind, why)


def find_held_versions(conn: sqlite3.Connection, theme: str | None = None) -> list[HeldVersion]:
    """Find the held versions, oldest first."""
    found = []
    for name, uid, hlc, node, ancestors, text, seq in conn.execute(SELECT_HELD, (theme,)):
        payload = VersionPayload.from_json(text)
        row = SyncRow(
            theme=name,
            uid=uids.format_uid(uid),
            kind=payload.kind,  # type: ignore[arg-type]  # checked when it is applied
            content=payload.content,
            attrs=payload.attrs,
            state=payload.state,
            hlc=hlc,
            node=Uid(uids.format_uid(node)),
            ancestors=tuple(json.loads(ancestors)),
            trusted=not payload.checked.uncurated,
        )
        found.append(HeldVersion(row, int.from_bytes(seq, "big"), payload.checked))
    return found


def hold_version(
    conn: sqlite3.Connection, theme_id: int, received: ReceivedVersion, now: int, *, is_alone: bool = True
) -> None:
    """Hold a version.

    :param is_alone: it replaces any held version of the same thing: its carrier has one of each
    """
    seq, uid, row, checked = received
    if is_alone:
        conn.execute(DELETE_HELD, (theme_id, uid))
    digest = checked.clear_digest if checked.hidden_because is None else row.content_digest
    checked = replace(checked, quarantine_rule=None, uncurated=not row.trusted, clear_digest=digest)
    payload = VersionPayload(row.kind, row.content, row.attrs, row.state, checked).to_json()
    name = (theme_id, uid, row.hlc, uids.parse_uid(row.node))
    conn.execute(INSERT_HELD, (*name, now, seq.to_bytes(8, "big"), json.dumps(row.ancestors), payload))


def release_held_version(conn: sqlite3.Connection, theme_id: int, uid: bytes, hlc: int | None = None) -> None:
    """Delete the held versions of a thing, or the one with that clock."""
    conn.execute(f"{DELETE_HELD} AND (?3 IS NULL OR hlc = ?3)", (theme_id, uid, hlc))


def format_time_span(ms: int) -> str:
    """Format a duration for a person."""
    if ms >= DAY_MS:
        return f"{ms // DAY_MS} days"
    return f"{ms // 3_600_000} h" if ms >= 7_200_000 else f"{ms // 60_000} min"
