"""How a version stands that is not shown as it says: for which reason, where that is kept, and what ends it.

| standing | because | ends when |
| --- | --- | --- |
| held back (AHEAD) | its clock is ahead of the team's time | that comes, another replaces it, or the team has it no more |
| lost (CONCURRENT) | it was made at the same time as the winner | somebody decides, or what stands knows or says the same |
| out of place (OUTPLACED, shadow) | another fact stands in its place | the place is free, or somebody decides |
| behind (shadow) | what replaced it is not here | that comes |
| hidden (shadow) | it is malformed, or refused by the theme's policy | a later check finds nothing |
| quarantined (shadow) | it reads like an instruction | a person approves it |
| uncurated (shadow) | no curator made it hot or pinned it | a person warms it |
| masked (shadow, `sync_masked`) | it holds secrets | never: it is sent in clear, and shown masked |

A shadow is what a version says, in `sync_rows`, where facts and scopes show something else. The first three are set aside in
`sync_conflicts`, which `release` ends; showing what a shadow says (`apply.py`) ends the others.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable
from enum import StrEnum
from typing import Any, NamedTuple

from hermes_memory_store import uids
from hermes_memory_store.clock import DAY_MS
from hermes_memory_store.model import Tier
from hermes_memory_store.sync.wire_format import (
    LIVE,
    UNCHANGED,
    CheckedVersion,
    HiddenVersion,
    ReceivedVersion,
    SyncRow,
    VersionPayload,
    canonical_text_digest,
    comparable_content,
    validate_row_content,
)

UNCURATED = "uncurated"
"""What `cooled_by` says of a fact that is kept cold, since no curator made it hot: who may write to a theme may not decide for
everybody what reaches agents unasked. Whether a curator decided it is the server's word (`SyncRow.trusted`)."""

UNTOLD = b""
"""Stands in `other` of a losing version that no other machine has: it lost before it was sent."""

DIGEST = "sha256:"
"""Begins `clear` in `sync_masked`: the digest of the clear text follows, and the masked one with its white space."""


class AsideReason(StrEnum):
    """Why a version is set aside (`sync_conflicts.why`), and what stands in `other` then."""

    AHEAD = "ahead"
    """The server's sequence number of the version."""
    CONCURRENT = "concurrent"
    """`UNTOLD`, or nothing."""
    OUTPLACED = "two heads"
    """The fact that stands in its place."""


class SetAside(NamedTuple):
    row: SyncRow
    why: AsideReason
    at: int
    other: bytes | None
    checked: CheckedVersion

    @property
    def seq(self) -> int:
        """The sequence number of one that is held back."""
        return int.from_bytes(self.other or b"", "big")


SET_ASIDE = "INSERT OR {otherwise} INTO sync_conflicts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"

SELECT_ASIDE = """
    SELECT name, c.uid, hlc, node, ancestors, said, why, at, other FROM sync_conflicts c JOIN themes ON themes.id = theme_id
"""

HELD = f"{SELECT_ASIDE} WHERE why = 'ahead' AND (?1 IS NULL OR name = ?1) ORDER BY name, hlc"

UNDECIDED = f"""
    {SELECT_ASIDE} WHERE theme_id = ? AND why <> 'ahead' AND NOT EXISTS (
      SELECT 1 FROM sync_conflicts o, json_each(o.ancestors) made
      WHERE o.theme_id = c.theme_id AND o.uid = c.uid AND c.why = 'concurrent' AND o.why = 'concurrent' AND made.value = c.hlc
    ) ORDER BY at, c.uid, hlc
"""
"""A version from which another one was made that lost, too, is part of that."""

LOSING = "SELECT hlc, ancestors, said FROM sync_conflicts WHERE theme_id = ? AND uid = ? AND why = 'concurrent'"

RELEASE = """
    DELETE FROM sync_conflicts
    WHERE theme_id = ?1 AND uid = ?2 AND why = ?3 AND (?4 IS NULL OR hlc = ?4) AND (?5 IS NULL OR other <> ?5)
"""

HIDDEN = """
    SELECT name, uid, shadow ->> '$[0]', shadow ->> '$[4][2]' FROM sync_rows JOIN themes ON themes.id = theme_id
    WHERE shadow IS NOT NULL AND shadow ->> '$[4][2]' IS NOT NULL AND (?1 IS NULL OR name = ?1) ORDER BY name, hlc
"""

MASK = "INSERT OR REPLACE INTO sync_masked (theme_id, uid, shown, clear) VALUES (?, ?, ?, ?)"

COPY_MASK = """
    INSERT OR REPLACE INTO sync_masked (theme_id, uid, shown, clear)
    SELECT theme_id, ?1, shown, clear FROM sync_masked WHERE theme_id = ?2 AND uid = ?3 AND shown = ?4
"""
"""A fact with the content of another is masked alike, and sent in clear."""

CHECKED_SHADOWS = """
    SELECT theme_id, uid, shadow FROM sync_rows WHERE shadow IS NOT NULL AND (
      shadow ->> '$[4][2]' IS NOT NULL OR (shadow ->> '$[4][0]' IS NOT NULL AND shadow ->> '$[4][4]' IS NULL)
    )
"""
"""Versions that are hidden, and masked ones as earlier versions stored them."""

CLEAR_MASKS = f"SELECT theme_id, uid, shown, clear FROM sync_masked WHERE clear NOT LIKE '{DIGEST}%'"

UPDATE_SHADOW = "UPDATE sync_rows SET shadow = ? WHERE theme_id = ? AND uid = ?"
"""What is on its way, or has arrived, stays so."""


def set_aside(
    conn: sqlite3.Connection,
    theme_id: int,
    row: SyncRow,
    why: AsideReason,
    at: int,
    *,
    other: bytes | None = None,
    checked: CheckedVersion = UNCHANGED,
) -> int:
    """Set a version aside; return 1 unless it is already. One that is held back replaces itself."""
    sql = SET_ASIDE.format(otherwise="REPLACE" if why is AsideReason.AHEAD else "IGNORE")
    payload = VersionPayload(row.kind, row.content, row.attrs, row.state, checked).to_json()
    name = (theme_id, uids.parse_uid(row.uid), row.hlc, uids.parse_uid(row.node), why.value)
    return conn.execute(sql, (*name, at, other, json.dumps(row.ancestors), payload)).rowcount


def release(
    conn: sqlite3.Connection,
    theme_id: int,
    things: Iterable[bytes],
    *reasons: AsideReason,
    hlc: int | None = None,
    unless_by: bytes | None = None,
) -> None:
    """Release the versions of things that are set aside for these reasons.

    :param hlc: only the one with this clock
    :param unless_by: none that this fact took the place of
    """
    names = [(theme_id, uid, why.value, hlc, unless_by) for uid in things for why in reasons]
    conn.executemany(RELEASE, names)


def parse_set_aside(row: Iterable[Any]) -> SetAside:
    theme, uid, hlc, node, ancestors, text, why, at, other = row
    payload = VersionPayload.from_json(text)
    return SetAside(payload.to_row(theme, uid, hlc, node, ancestors), AsideReason(why), at, other, payload.checked)


def find_held(conn: sqlite3.Connection, theme: str | None = None) -> list[SetAside]:
    """Find the versions that are held back, oldest first."""
    return [parse_set_aside(row) for row in conn.execute(HELD, (theme,))]


def hold(conn: sqlite3.Connection, theme_id: int, received: ReceivedVersion, now: int, *, is_alone: bool) -> None:
    """Hold a version back: applied at once, it would win over every edit until its time has come.

    :param is_alone: it replaces any held version of the same thing: its carrier has one of each
    """
    seq, uid, row, checked = received
    if is_alone:
        release(conn, theme_id, [uid], AsideReason.AHEAD)
    digest = checked.clear_digest if checked.hidden_because is None else row.content_digest
    checked = checked._replace(quarantine_rule=None, uncurated=not row.trusted, clear_digest=digest)
    set_aside(conn, theme_id, row, AsideReason.AHEAD, now, other=seq.to_bytes(8, "big"), checked=checked)


def format_time_span(ms: int) -> str:
    if ms >= DAY_MS:
        return f"{ms // DAY_MS} days"
    return f"{ms // 3_600_000} h" if ms >= 7_200_000 else f"{ms // 60_000} min"


def find_undecided(conn: sqlite3.Connection, theme_id: int) -> list[SetAside]:
    """Find the versions that a person has to decide about, oldest first; of those of one thing that say the same the newest."""
    rows = [parse_set_aside(row) for row in conn.execute(UNDECIDED, (theme_id,))]
    names = [(lost.row.uid, lost.why, lost.other or b"", comparable_content(lost.row)) for lost in rows]
    newest: dict[tuple[Any, ...], SetAside] = {}
    for name, lost in zip(names, rows, strict=True):
        newest[name] = max(newest.get(name, lost), lost, key=lambda version: (version.row.hlc, version.row.node))
    return [lost for name, lost in zip(names, rows, strict=True) if newest[name] is lost]


def settle_losing_versions(
    conn: sqlite3.Connection,
    theme_id: int,
    uid: bytes,
    clocks: Iterable[int],
    winner: SyncRow | VersionPayload | None = None,
) -> set[int]:
    """Release the losing versions of a thing that nobody has to decide about any more; return the clocks that are known then.

    Of versions that say the same, knowing one is knowing all, and what they were made from.

    :param clocks: of versions that somebody knew
    :param winner: what says the same needs no decision, either
    """
    learned, contents = set(clocks), [] if winner is None else [comparable_content(winner)]
    lost = [
        (hlc, json.loads(ancestors), comparable_content(VersionPayload.from_json(text)))
        for hlc, ancestors, text in conn.execute(LOSING, (theme_id, uid))
    ]
    while settled := [version for version in lost if version[0] in learned or version[2] in contents]:
        lost = [version for version in lost if version not in settled]
        for hlc, ancestors, content in settled:
            learned |= {hlc, *ancestors}
            contents.append(content)
            release(conn, theme_id, [uid], AsideReason.CONCURRENT, hlc=hlc)
    return learned


def find_hidden(conn: sqlite3.Connection, theme: str | None = None) -> list[HiddenVersion]:
    """Find the versions of which nothing is shown, with the reason."""
    return [
        HiddenVersion(name, uids.format_uid(uid), kind, reason)
        for name, uid, kind, reason in conn.execute(HIDDEN, (theme,))
    ]


def is_uncurated(row: SyncRow) -> bool:
    """Check whether a version asks to be given unasked, now or when its scope is warmed, and may not."""
    if row.trusted or row.kind != "fact" or row.state != LIVE:
        return False
    attrs: Any = row.attrs  # of a malformed row anything
    if not isinstance(attrs, dict):
        return True
    return attrs.get("tier") == Tier.HOT or bool(attrs.get("pinned")) or attrs.get("cooled_by") is not None


def to_kept_cold(attrs: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes with which such a fact is shown."""
    tier = Tier.COLD.value if attrs["tier"] == Tier.HOT else attrs["tier"]
    return attrs | {"tier": tier, "pinned": False, "cooled_by": UNCURATED}


def remember_mask(conn: sqlite3.Connection, theme_id: int, uid: bytes, checked: CheckedVersion) -> None:
    """Note by which mask a content is shown, if it is, before another replaces it: the clear text is known by its digest."""
    if (masked := checked.masked_content) is not None:
        conn.execute(MASK, (theme_id, uid, validate_row_content(masked), f"{DIGEST}{checked.clear_digest} {masked}"))


def find_masks(
    conn: sqlite3.Connection, theme_id: int, things: Collection[bytes]
) -> dict[tuple[bytes, str | None], CheckedVersion]:
    """Find the masks of what facts said, by their uids and by their shown content."""
    sql = f"SELECT uid, shown, clear FROM sync_masked WHERE theme_id = ? AND uid IN ({', '.join('?' * len(things))})"
    rows = conn.execute(sql, (theme_id, *things)) if things else ()
    return {(uid, shown): parse_mask(shown, clear) for uid, shown, clear in rows}


def parse_mask(shown: str, clear: str) -> CheckedVersion:
    """Return the mask of a row of `sync_masked`; earlier versions kept the clear text there."""
    if not clear.startswith(DIGEST):
        return CheckedVersion(masked_content=shown, clear_digest=canonical_text_digest(clear))
    digest, _, masked = clear.removeprefix(DIGEST).partition(" ")
    return CheckedVersion(masked_content=masked, clear_digest=digest)


def mask_stored_versions(conn: sqlite3.Connection, tables: Collection[str], *, is_trial: bool = False) -> int:
    """Take out the clear texts that earlier versions stored beside masked ones, here or in a backup; return how many.

    :param is_trial: only count them
    """
    checked = conn.execute(CHECKED_SHADOWS).fetchall() if "sync_rows" in tables else []
    shadows = [(VersionPayload.from_json(shadow).to_json(), shadow, name) for *name, shadow in checked]
    changed = [(masked, *name) for masked, shadow, name in shadows if masked != shadow]
    masks = conn.execute(CLEAR_MASKS).fetchall() if "sync_masked" in tables else []
    if not is_trial:
        conn.executemany(UPDATE_SHADOW, changed)
        for theme_id, uid, *mask in masks:
            remember_mask(conn, theme_id, uid, parse_mask(*mask))
    return len(changed) + len(masks)
