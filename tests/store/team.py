"""A team database in memory with the server's rule of who wins, and stores that exchange through it, badly."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from hermes_memory_store.conversations.turn_rows import PortableTurn
from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.intake.intake import AdmittedTurn
from hermes_memory_store.model import Uid
from hermes_memory_store.store import Store
from hermes_memory_store.sync.content_checks import UNCHANGED, ContentCheck
from hermes_memory_store.sync.wire_format import DELETED, PURGED, CheckedVersion, PullCursor, SyncRow
from hermes_memory_themes import Policies

from .conftest import HandClock

THEME = "team"


@dataclass
class Server:
    """Rows by uid under one counter, as the team database keeps them."""

    rows: dict[Uid, tuple[int, SyncRow]] = field(default_factory=dict)
    seq: int = 0
    accepted: list[SyncRow] = field(default_factory=list)
    outdated: list[SyncRow] = field(default_factory=list)
    """What came after something newer, and was not kept."""

    def push(self, rows: list[SyncRow]) -> dict[tuple[Uid, int], int]:
        """Keep what wins; the sequence numbers of what was kept."""
        kept = {}
        for row in rows:
            row = replace(row, attrs=json.loads(json.dumps(row.attrs)), ancestors=tuple(row.ancestors))
            self.seq += 1
            there = self.rows.get(row.uid)
            if there is None or row.rank > there[1].rank:
                if there is not None and there[1].origin is not None:
                    row = replace(row, origin=there[1].origin)
                row = replace(row, origin=None if row.state == PURGED else row.origin)
                self.rows[row.uid] = self.seq, row
                self.accepted.append(row)
                kept[row.uid, row.hlc] = self.seq
            else:
                self.outdated.append(row)
        return kept

    def pull(self, after: int, limit: int = 500) -> list[tuple[int, SyncRow]]:
        """The next rows in the order of their sequence."""
        later = sorted((entry for entry in self.rows.values() if entry[0] > after), key=lambda entry: entry[0])
        return later[:limit]

    def collect(self) -> int:
        """Remove what was deleted; up to which sequence number."""
        gone = {uid for uid, (_, row) in self.rows.items() if row.state == DELETED}
        self.rows = {uid: kept for uid, kept in self.rows.items() if uid not in gone}
        self.accepted = [row for row in self.accepted if row.uid not in gone]
        return self.seq


class Strict:
    """A screen: commands wait, passwords are masked, and what must never be said is not shown at all."""

    def name(self, theme: str, what: str, name: str) -> None:
        if "obey" in name:
            raise ArgumentError(f"{what} reads like an instruction", name)

    def content(self, theme: str, target: str, content: str) -> CheckedVersion:
        if "unspeakable" in content:
            raise ArgumentError("it must not be said", content)
        masked = content.replace("hunter2", "‹secret:it›")
        return CheckedVersion(masked if masked != content else None, "command" if "obey" in content else None)

    def reveal(self, theme: str, masked: str) -> str:
        return masked.replace("‹secret:it›", "hunter2")

    def turn(self, theme: str, turn: PortableTurn) -> AdmittedTurn:
        if "unspeakable" in turn.content:
            raise ArgumentError("it must not be said", turn.content)
        return AdmittedTurn(turn.content.replace("hunter2", "‹secret:it›"))


class Open:
    """Checks nothing: for a team of machines whose policies let everything in."""

    def name(self, theme: str, what: str, name: str) -> None: ...

    def content(self, theme: str, target: str, content: str) -> CheckedVersion:
        return UNCHANGED

    def reveal(self, theme: str, masked: str) -> str:
        return masked

    def turn(self, theme: str, turn: PortableTurn) -> AdmittedTurn:
        return AdmittedTurn(turn.content)


OPEN = Open()


class Member:
    """One store of the team, which can be closed and opened again."""

    def __init__(self, path: Path, clock: HandClock, policies: Policies) -> None:
        self.path, self.clock, self.policies = path, clock, policies
        self.screen: ContentCheck = OPEN
        self.store = self._open()
        self.store.sync.themes()

    def _open(self) -> Store:
        store = Store.open(self.path, clock=self.clock, policies=self.policies)
        store.sync.content_check = self.screen
        return store

    def guard(self) -> None:
        """Screen what comes from the others, from now on."""
        self.screen = self.store.sync.content_check = Strict()

    def reopen(self) -> None:
        """As after a crash: nothing in memory is kept."""
        self.store.close()
        self.store = self._open()

    def push(self, server: Server, *, limit: int = 500, acknowledged: bool = True) -> int:
        """Send one batch; the acknowledgement may be lost on the way."""
        rows = self.store.sync.outbox.pending_rows(THEME, limit=limit)
        kept = server.push(rows)
        if acknowledged:
            sent = [(row.uid, row.hlc) for row in rows]
            self.store.sync.outbox.acknowledge(THEME, sent, [kept.get(name) for name in sent])
        return len(rows)

    def pull(self, server: Server, *, limit: int = 500) -> int:
        """Take one page in."""
        cursor = self.store.sync.inbox.cursor(THEME)
        page = server.pull(cursor.seq, limit)
        if page:
            self.store.sync.inbox.apply(THEME, page, cursor=PullCursor(page[-1][0]))
        return len(page)

    def exchange(self, server: Server, *, limit: int = 500) -> bool:
        """Send and take in until nothing is left; whether anything moved. :param limit: rows of a page"""
        moved = False
        while self.push(server, limit=limit) or self.pull(server, limit=limit):
            moved = True
        return moved


def converge(members: list[Member], server: Server, *, limit: int = 500) -> None:
    """Exchange until nothing moves any more. :param limit: rows of a page"""
    for _ in range(20):
        moved = [member.exchange(server, limit=limit) for member in members]
        if not any(moved):
            return
    raise AssertionError("the team does not come to rest")


def shown(store: Store) -> list[tuple[object, ...]]:
    """What a person sees of the theme, whichever ids and local moves lie beneath."""
    facts = store.db.rows(
        "SELECT hex(f.uid), s.label, f.type, f.target, f.content, f.tier, f.pinned, f.created_at, f.updated_at,"
        # A link to what is withdrawn leads nowhere a person can go: it may never have come to a machine that was away.
        " hex((SELECT uid FROM facts r WHERE r.uid = f.superseded_by AND r.tier <> 'withdrawn')), f.cooled_by"
        " FROM facts f JOIN scopes s ON s.id = f.scope_id"
        " WHERE f.tier NOT IN ('withdrawn', 'quarantined') ORDER BY f.uid"
    )
    scopes = store.db.rows(
        "SELECT label, iif(status = 'cooling', 'open', status), opened_at, closed_at, closed_by FROM scopes s"
        " WHERE label <> '' AND status <> 'withdrawn'"
        # What waits for a person keeps its scope, on one machine.
        " AND (EXISTS (SELECT 1 FROM facts WHERE scope_id = s.id AND tier NOT IN ('withdrawn', 'quarantined'))"
        " OR NOT EXISTS (SELECT 1 FROM facts WHERE scope_id = s.id AND tier = 'quarantined')"
        " OR NOT EXISTS (SELECT 1 FROM sync_rows WHERE label = s.label AND state = 1)) ORDER BY label"
    )
    return [*facts, *scopes]


def load_team_policies(folder: Path, settings: str = "") -> Policies:
    """Policies by which the theme is shared, from a file in this folder. :param settings: more lines of the theme"""
    file = folder / "memory-themes.toml"
    file.write_text(f"[themes.{THEME}]\nsync = true\n{settings}")
    return Policies.load(file)


@contextmanager
def joining_members(
    folder: Path, policies: Policies, *, begin: int = 1_790_000_000_000, apart_ms: int = 1
) -> Iterator[Callable[[], Member]]:
    """Yield a function that makes a member of the team, with a clock of its own; close all stores at the end."""
    made: list[Member] = []

    def member() -> Member:
        clock = HandClock(begin + apart_ms * len(made))
        made.append(Member(folder / f"{len(made)}.db", clock, policies))
        return made[-1]

    yield member
    for one in made:
        one.store.close()
