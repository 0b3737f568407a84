"""Stores that write, purge, close and rename at random, and exchange badly, come to say the same and lose nothing."""

from __future__ import annotations

import json
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from hermes_memory_store import uids, versions
from hermes_memory_store.doctor import examine
from hermes_memory_store.errors import StoreError
from hermes_memory_store.model import Actor, FactFilter, Tier
from hermes_memory_store.receiving import gist
from hermes_memory_store.sync import Cursor, SyncRow
from hermes_memory_themes import Policies

from .conftest import HandClock
from .team import THEME, Member, Server, converge, shown

members = st.integers(0, 4)
picks = st.integers(0, 1000)
lines = st.builds(
    "{}[{}]: {}".format,
    st.sampled_from("CDV?~✓"),
    st.sampled_from(["db", "cache", "Cache"]),
    st.sampled_from(
        ["redis", "valkey", "sqlite", "a longer one, which says more", "obey me", "hunter2", "unspeakable"]
    ),
)
labels = st.sampled_from([None, "speed", "pace"])


class Team(RuleBasedStateMachine):
    """Two to five stores and one server; some of the stores screen what comes from the others."""

    @initialize(count=st.integers(2, 5), screens=st.integers(0, 2))
    def begin(self, count: int, screens: int) -> None:
        self.folder = tempfile.TemporaryDirectory()
        home = Path(self.folder.name)
        (home / "themes.toml").write_text("[themes.team]\nsync = true\n")
        policies = Policies.load(home / "themes.toml")
        self.server = Server()
        self.delivered: list[tuple[int, SyncRow]] = []
        self.made: dict[tuple[str, int], SyncRow] = {}
        self.purged: set[str] = set()
        self.members = [Member(home / f"{n}.db", HandClock(1_790_000_000_000 + 7 * n), policies) for n in range(count)]
        for member in self.members[max(1, count - screens) :] if screens else []:
            member.guard()

    def teardown(self) -> None:
        if not hasattr(self, "members"):
            return
        try:
            self.come_to_rest()
        finally:
            for member in self.members:
                member.store.close()
            self.folder.cleanup()

    def member(self, n: int) -> Member:
        member = self.members[n % len(self.members)]
        member.clock.forward(1 + n * 3)
        return member

    def uid(self, member: Member, pick: int) -> str | None:
        wanted = FactFilter(theme=THEME, tiers=frozenset(Tier) - {Tier.WITHDRAWN})
        facts = member.store.facts.page(wanted, limit=100).facts if member.store.names.theme_or_none(THEME) else []
        return sorted(fact.uid for fact in facts)[pick % len(facts)] if facts else None

    def attempt(self, what: Any, *args: Any, **more: Any) -> None:
        with suppress(StoreError):  # refused by the store's rules: nothing was changed
            what(*args, **more)

    @rule(n=members, line=lines, label=labels)
    def write(self, n: int, line: str, label: str | None) -> None:
        self.attempt(self.member(n).store.facts.write, THEME, line, scope=label)

    @rule(n=members, pick=picks, content=st.sampled_from(["edited", "edited otherwise", "redis"]))
    def edit(self, n: int, pick: int, content: str) -> None:
        member = self.member(n)
        if uid := self.uid(member, pick):
            self.attempt(member.store.facts.edit, uid, content)

    @rule(n=members, pick=picks, how=st.sampled_from(["archive", "restore", "cool", "pin"]))
    def change(self, n: int, pick: int, how: str) -> None:
        member = self.member(n)
        if uid := self.uid(member, pick):
            self.attempt(getattr(member.store.facts, how), [uid])

    @rule(n=members, pick=picks, label=labels)
    def move(self, n: int, pick: int, label: str | None) -> None:
        member = self.member(n)
        if uid := self.uid(member, pick):
            self.attempt(member.store.facts.move, [uid], label)

    @rule(n=members, label=st.sampled_from(["speed", "pace"]), how=st.sampled_from(["close", "reopen"]))
    def scope(self, n: int, label: str, how: str) -> None:
        self.attempt(getattr(self.member(n).store.scopes, how), THEME, label)

    @rule(n=members, names=st.permutations(["speed", "pace", "drive"]), how=st.sampled_from(["rename", "merge"]))
    def rename(self, n: int, names: list[str], how: str) -> None:
        self.attempt(getattr(self.member(n).store.scopes, how), THEME, *names[:2])

    @rule(n=members)
    def undo(self, n: int) -> None:
        member = self.member(n)
        self.attempt(member.store.undo.last)

    @rule(n=members, pick=picks)
    def purge(self, n: int, pick: int) -> None:
        member = self.member(n)
        if uid := self.uid(member, pick):
            member.store.purge.facts([uids.to_bytes(uid)])
            self.purged.add(uid)

    @rule(n=members, line=lines)
    def suspect(self, n: int, line: str) -> None:
        self.attempt(self.member(n).store.facts.quarantine, THEME, line, why="a test")

    @rule(n=members, pick=picks, how=st.sampled_from(["approve", "refuse"]))
    def judge(self, n: int, pick: int, how: str) -> None:
        member = self.member(n)
        if member.store.names.theme_or_none(THEME) and (waiting := member.store.facts.waiting(THEME)):
            self.attempt(getattr(member.store.facts, how), [waiting[pick % len(waiting)].fact.uid])

    @rule(n=members)
    def hold(self, n: int) -> None:
        """What an agent's purge does: it leaves every list, and undo brings it back."""
        member = self.member(n)
        self.attempt(member.store.purge.hold, THEME, actor=Actor("session", "agent"))

    @rule(n=members)
    def renew(self, n: int) -> None:
        self.member(n).store.sync.renew_node()

    @rule(n=members, pick=picks, keep=st.sampled_from(["mine", "theirs", "both"]))
    def decide(self, n: int, pick: int, keep: Any) -> None:
        member = self.member(n)
        met = member.store.sync.conflicts(THEME)
        if met:
            member.store.sync.resolve(met[pick % len(met)].uid, keep)

    @rule(n=members, limit=st.integers(1, 4), acknowledged=st.booleans())
    def push(self, n: int, limit: int, acknowledged: bool) -> None:
        self.member(n).push(self.server, limit=limit, acknowledged=acknowledged)

    @rule(n=members, limit=st.integers(1, 4))
    def pull(self, n: int, limit: int) -> None:
        member = self.member(n)
        self.delivered += self.server.pull(member.store.sync.cursor(THEME).seq, limit)
        member.pull(self.server, limit=limit)

    @rule(n=members, picked=st.lists(picks, max_size=5))
    def deliver_again(self, n: int, picked: list[int]) -> None:
        """Pages that come twice and out of their order."""
        member = self.member(n)
        page = [self.delivered[pick % len(self.delivered)] for pick in picked if self.delivered]
        member.store.sync.apply(THEME, page, cursor=member.store.sync.cursor(THEME))

    @rule(n=members, back=st.integers(0, 5))
    def crash(self, n: int, back: int) -> None:
        """The cursor and the outbox are what the disk says; a clock may be set back meanwhile."""
        member = self.member(n)
        member.reopen()
        member.clock.forward(-1000 * back)

    @rule(n=members, sure=st.sampled_from([False, False, True]))
    def lose_the_cursor(self, n: int, sure: bool) -> None:
        if sure:
            self.member(n).store.sync.apply(THEME, [], cursor=Cursor())

    @rule(n=members)
    def offer_everything(self, n: int) -> None:
        self.member(n).store.sync.offer_everything(THEME)

    @invariant()
    def nothing_purged_is_back(self) -> None:
        for member in getattr(self, "members", []):
            gone = {row[0].hex() for row in member.store.db.rows("SELECT uid FROM tombstones")}
            there = {row[0].hex() for row in member.store.db.rows("SELECT uid FROM facts")}
            assert not gone & there

    @invariant()
    def what_was_made_is_remembered(self) -> None:
        """Also what lost before anybody was sent it."""
        for member in getattr(self, "members", []):
            store = member.store
            if not (theme_id := store.names.theme_or_none(THEME)):
                continue
            found = [
                versions.Version(*row) for row in store.db.rows(f"{versions.KNOWN} WHERE theme_id = ?", (theme_id,))
            ]
            new = [one for one in found if (uids.to_text(one.uid), one.hlc) not in self.made]
            self.made |= {(row.uid, row.hlc): row for row in versions.rows_of(store.db.conn, theme_id, THEME, new)}

    def come_to_rest(self) -> None:
        converge(self.members, self.server)
        first = self.members[0].store
        for member in self.members:
            store = member.store
            assert store.sync.digests(THEME) == first.sync.digests(THEME)
            assert store.sync.digest(THEME) == first.sync.digest(THEME)
            if member.screen is self.members[0].screen:  # with screens everybody is shown something else
                assert shown(store) == shown(first)
            bad = [check for check in examine(store) if not check.ok and check.name != "team"]
            assert not bad
            there = {fact.uid for fact in store.facts.page(FactFilter(theme=THEME, tiers=frozenset(Tier))).facts}
            assert not there & self.purged
        server = {uid: row.digest for uid, (_, row) in self.server.rows.items()}
        assert server == first.sync.digests(THEME)
        self.nothing_is_lost()

    def nothing_is_lost(self) -> None:
        """What the server ever accepted still stands, was known to what stands, is kept as a conflict, or was decided."""
        clocks: dict[str, set[int]] = {}
        for member in self.members:
            for uid, ancestors, hlc in member.store.db.rows("SELECT uid, ancestors, hlc FROM sync_rows"):
                clocks.setdefault(uids.to_text(uid), set()).update({hlc, *json.loads(ancestors)})
            for met in member.store.sync.conflicts(THEME):
                clocks[met.uid] |= {met.theirs.hlc, *met.theirs.ancestors}
        stands = {uid: row for uid, (_, row) in self.server.rows.items()}
        # Of two that say the same, knowing one is knowing both, and what it was made from.
        known = {(row.uid, gist(row)) for row in self.server.accepted if row.hlc in clocks[row.uid]}
        for row in self.made.values():
            if (row.uid, gist(row)) in known:
                clocks.setdefault(row.uid, set()).update({row.hlc, *row.ancestors})
        for row in self.server.accepted:
            if stands[row.uid].state != 2 and len(stands[row.uid].ancestors) < 16:
                assert row.hlc in clocks[row.uid] or (row.uid, gist(row)) in known, (row, stands[row.uid])


Team.TestCase.settings = settings(
    max_examples=20,
    stateful_step_count=40,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    report_multiple_bugs=False,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
TestTeam = Team.TestCase
