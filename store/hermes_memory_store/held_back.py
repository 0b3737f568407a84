"""Versions from the team that are held back: their clock is ahead of what the team's time allows.

Taken in, such a version would win over every edit until that time has come. So it is kept beside what stands, and taken in once
it is allowed; or it goes when another version takes its place in the team's database. It shares a table with the versions that
lost, under a reason of its own.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass

from hermes_memory_store import uids
from hermes_memory_store.clock import DAY_MS
from hermes_memory_store.model import Uid
from hermes_memory_store.travelling import COUNTER_BITS, Aside, Payload, SyncRow

HELD = "ahead"
"""The reason by which a version that is held back is told from one that lost (`sync_conflicts.why`)."""

HOLD = "INSERT OR REPLACE INTO sync_conflicts VALUES (?, ?, ?, ?, 'ahead', ?, ?, ?, ?)"
"""The server's sequence number of the version stands in `other`."""

LET_GO = "DELETE FROM sync_conflicts WHERE theme_id = ? AND uid = ? AND why = 'ahead'"

FIND = """
    SELECT name, uid, hlc, node, ancestors, said, other FROM sync_conflicts JOIN themes ON themes.id = theme_id
    WHERE why = 'ahead' AND (?1 IS NULL OR name = ?1) ORDER BY name, hlc
"""


@dataclass(frozen=True, slots=True)
class HeldBack:
    """A version that is held back."""

    row: SyncRow
    seq: int
    """Its sequence number in the team's database."""

    def aside(self, server_ms: int) -> Aside:
        """How it is told of. :param server_ms: the server's time, UTC milliseconds"""
        ahead_ms = (self.row.hlc >> COUNTER_BITS) - server_ms
        why = (
            f"its clock is {span(ahead_ms)} ahead of the team's; it is held back until that time has come, or until it "
            "comes with a clock that is right"
        )
        return Aside(self.row.theme, self.row.uid, self.row.kind, why)


def held_back(conn: sqlite3.Connection, theme: str | None = None) -> list[HeldBack]:
    """What is held back, the oldest first."""
    found = []
    for name, uid, hlc, node, ancestors, said, seq in conn.execute(FIND, (theme,)):
        said = Payload.loaded(said)
        row = SyncRow(
            theme=name,
            uid=uids.to_text(uid),
            kind=said.kind,  # type: ignore[arg-type]  # whatever it says is looked at when it is taken in
            content=said.content,
            attrs=said.attrs,
            state=said.state,
            hlc=hlc,
            node=Uid(uids.to_text(node)),
            ancestors=tuple(json.loads(ancestors)),
        )
        found.append(HeldBack(row, int.from_bytes(seq, "big")))
    return found


def hold_back(conn: sqlite3.Connection, theme_id: int, row: SyncRow, seq: int, now: int) -> None:
    """Keep a version in the place of one of the same thing that is held back."""
    uid = uids.to_bytes(row.uid)
    conn.execute(LET_GO, (theme_id, uid))
    said = Payload(row.kind, row.content, row.attrs, row.state).dumped()
    name = (theme_id, uid, row.hlc, uids.to_bytes(row.node))
    conn.execute(HOLD, (*name, now, seq.to_bytes(8, "big"), json.dumps(row.ancestors), said))


def let_go(conn: sqlite3.Connection, theme_id: int, uid: bytes) -> None:
    """A version is held back no more."""
    conn.execute(LET_GO, (theme_id, uid))


def span(ms: int) -> str:
    """A time as a person says it."""
    if ms >= DAY_MS:
        return f"{ms // DAY_MS} days"
    return f"{ms // 3_600_000} h" if ms >= 7_200_000 else f"{ms // 60_000} min"
