"""A store's side of sync, in memory: the contract and nothing else, for what a real store takes too long to show."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from hermes_memory_store.clock import Clock, system_clock
from hermes_memory_store.sync.hybrid_clock import AHEAD_MS
from hermes_memory_store.sync.wire_format import ApplyResult, PullCursor, PullListing, SyncRow
from hermes_memory_themes import Policies


class Side:
    """What `store.sync` promises, for one theme or several."""

    def __init__(self, *themes: str) -> None:
        self.node = str(uuid.uuid4())
        self.rows: dict[tuple[str, str], SyncRow] = {}
        self.unsent: dict[tuple[str, str], int] = {}
        self.cursors: dict[str, PullCursor] = {}
        self.refusals: list[tuple[str, str]] = []
        self.wanted = list(themes)
        self.whole: set[str] = set()
        self.hlc = 0
        self.offset = 0
        self.renewed = 0
        self.offered = 0
        self.outbox = self.inbox = self.standing = self

    def write(self, theme: str, content: str | None, uid: str | None = None, *, state: int = 0, at: int = 0) -> str:
        uid = uid or str(uuid.uuid4())
        before = self.rows.get((theme, uid))
        if before is not None and before.state == 2:
            return uid
        self.hlc = max(self.hlc + 1, at << 16, (before.hlc + 1) if before else 0)
        ancestors = (before.hlc, *before.ancestors)[:16] if before else ()
        attrs: dict[str, Any] = {"target": "a.b"} if state == 0 else {}
        self.rows[theme, uid] = SyncRow(theme, uid, "fact", content, attrs, state, self.hlc, self.node, ancestors)
        self.unsent[theme, uid] = self.hlc
        return uid

    def themes(self, carrier: object = None) -> list[str]:
        return self.wanted

    def team_names(self) -> dict[str, str]:
        return {}

    def pending_rows(self, theme: str, *, limit: int = 500) -> list[SyncRow]:
        return [self.rows[key] for key in list(self.unsent) if key[0] == theme][:limit]

    def pending_counts(self) -> dict[str, int]:
        return {theme: sum(key[0] == theme for key in self.unsent) for theme in self.wanted}

    def acknowledge(self, theme: str, sent: Sequence[tuple[str, int]], seqs: Sequence[int | None] = ()) -> None:
        for uid, hlc in sent:
            if self.unsent.get((theme, uid)) == hlc:
                del self.unsent[theme, uid]

    def mark_rejected(self, theme: str, uid: str, hlc: int, why: str) -> None:
        self.acknowledge(theme, [(uid, hlc)])
        self.refusals.append((uid, why))

    def rejected_rows(self, theme: str | None = None) -> list[Any]:
        return []

    def hidden_versions(self, theme: str | None = None) -> list[Any]:
        return []

    def quarantined_count(self) -> int:
        return 0

    def uncurated_count(self) -> int:
        return 0

    def recheck_hidden(self) -> int:
        return 0

    def conflicts(self, theme: str | None = None) -> list[Any]:
        return []

    def lost_versions(self, theme: str) -> list[SyncRow]:
        return []

    def apply_lost(self, theme: str, rows: Sequence[SyncRow]) -> int:
        return 0

    def cursor(self, theme: str) -> PullCursor:
        return self.cursors.get(theme, PullCursor())

    def fetched_themes(self) -> frozenset[str]:
        return frozenset(self.whole)

    def note_fetched(self, theme: str) -> None:
        self.whole.add(theme)

    def apply(
        self, theme: str, rows: Sequence[tuple[int, SyncRow]], *, cursor: PullCursor, listing: PullListing | None = None
    ) -> ApplyResult:
        for _, row in rows:
            self.hlc = max(self.hlc, row.hlc)
            mine = self.rows.get((theme, row.uid))
            if mine is None or row.rank > mine.rank:
                self.rows[theme, row.uid] = row
                self.unsent.pop((theme, row.uid), None)
        self.cursors[theme] = cursor
        return ApplyResult(len(rows))

    def mark_all_unsent(self, theme: str) -> int:
        self.offered += 1
        self.cursors[theme] = PullCursor()
        self.whole.discard(theme)
        self.unsent.update({key: row.hlc for key, row in self.rows.items() if key[0] == theme})
        return len(self.unsent)

    def forget_deleted(self, theme: str, upto: int) -> int:
        return 0

    def note_server_time(self, server_ms: int) -> int:
        self.server_ms = server_ms
        return 0

    def restamp_future(self) -> int:
        count = 0
        for key in self.unsent:
            if self.rows[key].hlc >> 16 > self.server_ms + AHEAD_MS:
                self.rows[key] = replace(self.rows[key], hlc=self.server_ms << 16)
                self.unsent[key] = self.rows[key].hlc
                count += 1
        return count

    def retry_rejected(self) -> int:
        return 0

    def admit_held(self) -> int:
        return 0

    def held_versions(self, theme: str | None = None) -> list[Any]:
        return []

    def renew_node(self) -> str:
        self.renewed += 1
        self.node = str(uuid.uuid4())
        for key in self.unsent:
            self.hlc += 1
            self.rows[key] = replace(self.rows[key], hlc=self.hlc, node=self.node)
            self.unsent[key] = self.hlc
        return self.node

    def digests(self, theme: str) -> dict[str, str]:
        return {uid: row.digest for (of, uid), row in self.rows.items() if of == theme}

    def digest(self, theme: str) -> str:
        return "|".join(sorted(self.digests(theme).values()))

    def try_lease(self, holder: str, ttl_ms: int) -> bool:
        return True

    def release_lease(self, holder: str) -> None:
        pass


class Silence:
    """What `store.shared_turns` promises, where no turn is shared."""

    def themes(self, synced: Sequence[str]) -> list[str]:
        return []

    def skipped_turns(self) -> list[Any]:
        return []

    def retry_rejected(self) -> int:
        return 0

    def rejected_turns(self) -> list[Any]:
        return []


def store_of(side: Side, clock: Clock = system_clock, policies: Policies | None = None) -> Any:
    """As much of a store as the exchange asks for."""
    return SimpleNamespace(
        sync=side,
        shared_turns=Silence(),
        clock=clock,
        policies=policies or Policies(Path("/no-policies.toml")),
        data_version=lambda: side.hlc % 2**31,
        close=lambda: None,
        intake=SimpleNamespace(vault=None),
        db=SimpleNamespace(has_lost_name=lambda: False),
        journal=SimpleNamespace(head=lambda: None, find_missing_heads=list),
        place_themes=SimpleNamespace(list_identities=lambda theme: None),
    )
