"""Facts, scopes, tiers, sessions and undo, driven at random against a plain model in memory.

The model is written from the rules, not from the code. A second machine has a hot tier so small that relief runs all the
time; it knows no model, only what must hold whatever happens.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule

from hermes_memory_store import errors
from hermes_memory_store.diagnostics.doctor import examine_store
from hermes_memory_store.model import FactFilter, ScopeStatus, Session
from hermes_memory_store.store import Store
from hermes_memory_themes import Policies
from tests.examples import example_count
from tests.store.conftest import HandClock

THEME = "default"
SCOPES = st.sampled_from([None, "login", "billing"])
TARGETS = st.sampled_from(["auth", "db.id", "Auth"])
CONTENTS = st.sampled_from(["one", "two", "three"])
STANDING = ("hot", "cold", "archived")


@dataclass
class Belief:
    """A fact as the rules say it should be."""

    uid: str
    scope: str | None
    type: str
    target: str
    content: str
    tier: str = "hot"
    pinned: bool = False
    superseded_by: str | None = None
    cooled_by_closing: bool = False


class Model:
    """The rules of the memory in the plainest words."""

    def __init__(self) -> None:
        self.facts: dict[str, Belief] = {}
        self.closed: dict[str, bool] = {}

    def standing(self, scope: str | None, kind: str, target: str) -> Belief | None:
        for fact in self.facts.values():
            if (fact.scope, fact.type, fact.target.lower()) == (scope, kind, target.lower()) and fact.tier in STANDING:
                return fact
        return None

    def write(self, uid: str, scope: str | None, kind: str, target: str, content: str) -> None:
        if kind != "✓" and scope is not None and self.closed.get(scope):
            self.reopen(scope)
        if scope is not None:
            self.closed.setdefault(scope, False)
        old = self.standing(scope, kind, target)
        closed = kind == "✓" and scope is not None and self.closed[scope]
        settled = []
        if kind in "CDV":
            settled = [self.standing(scope, each, target) for each in "?~"]
        elif kind == "~":
            settled = [self.standing(scope, each, target) for each in "CDV?"]
        for fact in settled:
            if fact is not None:
                fact.tier, fact.superseded_by = "superseded", uid
        if old is not None and old.content == content:
            assert old.uid == uid
            if old.tier != "hot":
                old.tier, old.cooled_by_closing = ("cold", True) if closed else ("hot", False)
        else:
            if old is not None:
                old.tier, old.superseded_by = "superseded", uid
            self.facts[uid] = Belief(uid, scope, kind, target, content)
            if closed:
                self.facts[uid].tier, self.facts[uid].cooled_by_closing = "cold", True
        if kind == "✓" and scope is not None:
            self.close(scope)

    def close(self, scope: str) -> None:
        if self.closed[scope]:
            return
        self.closed[scope] = True
        for fact in self.facts.values():
            if fact.scope == scope and fact.tier == "hot" and not fact.pinned:
                fact.tier, fact.cooled_by_closing = "cold", True

    def reopen(self, scope: str) -> None:
        if not self.closed[scope]:
            return
        self.closed[scope] = False
        for fact in self.facts.values():
            if fact.scope == scope and fact.tier == "cold" and fact.cooled_by_closing:
                fact.tier, fact.cooled_by_closing = "hot", False


class MemoryMachine(RuleBasedStateMachine):
    """Every step is done to the store and to the model."""

    uids = Bundle("uids")

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.clock = HandClock()
        home = Path(self.folder.name)
        self.store = Store.open(home / "memory.db", clock=self.clock, policies=Policies.load(home / "none.toml"))
        # Only the disk's own safety is given up, for speed.
        self.store.db.conn.execute("PRAGMA synchronous = OFF")
        self.model = Model()
        self.session: Session | None = None

    @initialize()
    def open_session(self) -> None:
        self.session = self.store.sessions.open(THEME, "s1")

    @rule(
        target=uids,
        scope=SCOPES,
        kind=st.sampled_from("CDV?✓~"),
        about=TARGETS,
        content=CONTENTS,
        by_session=st.booleans(),
    )
    def write(self, scope: str | None, kind: str, about: str, content: str, by_session: bool) -> object:
        self.clock.forward(1_000)
        by_session = by_session and scope is not None
        session = self.session if by_session else None
        result = self.store.facts.write(THEME, f"{kind}[{about}]: {content}", scope=scope, session=session)
        known = result.fact.uid in self.model.facts
        self.model.write(result.fact.uid, scope, kind, about, content)
        assert result.created is not known
        return multiple() if known else result.fact.uid

    @rule(uid=uids, content=CONTENTS)
    def edit(self, uid: str, content: str) -> None:
        self.store.facts.edit(uid, content)
        self.model.facts[uid].content = content

    @rule(uid=uids)
    def archive(self, uid: str) -> None:
        fact = self.model.facts[uid]
        if fact.tier not in STANDING:
            with pytest.raises(errors.FactConflict):
                self.store.facts.archive([uid])
            return
        self.store.facts.archive([uid])
        if fact.tier != "archived":
            fact.tier, fact.pinned, fact.cooled_by_closing = "archived", False, False

    @rule(uid=uids, pinned=st.booleans())
    def pin(self, uid: str, pinned: bool) -> None:
        fact = self.model.facts[uid]
        if fact.tier not in STANDING:
            return
        self.store.facts.pin([uid], pinned)
        if pinned and not fact.pinned:
            fact.tier, fact.cooled_by_closing = "hot", False
        fact.pinned = pinned

    @rule(uid=uids)
    def restore(self, uid: str) -> None:
        self.store.facts.restore([uid])
        fact = self.model.facts[uid]
        if fact.tier == "hot":
            return
        rival = self.model.standing(fact.scope, fact.type, fact.target)
        if rival is not None and rival is not fact:
            rival.tier, rival.superseded_by, rival.pinned = "superseded", uid, False
        fact.tier, fact.superseded_by, fact.cooled_by_closing = "hot", None, False

    @rule(uid=uids, scope=SCOPES)
    def move(self, uid: str, scope: str | None) -> None:
        fact = self.model.facts[uid]
        rival = self.model.standing(scope, fact.type, fact.target)
        if scope != fact.scope and rival is not None and fact.tier in STANDING:
            with pytest.raises(errors.FactConflict):
                self.store.facts.move([uid], scope)
            return
        self.store.facts.move([uid], scope)
        fact.scope = scope
        if scope is not None:
            self.model.closed.setdefault(scope, False)

    @rule(scope=st.sampled_from(["login", "billing"]), closing=st.booleans())
    def close_or_reopen(self, scope: str, closing: bool) -> None:
        act = self.store.scopes.close if closing else self.store.scopes.reopen
        if scope not in self.model.closed:
            with pytest.raises(errors.UnknownScope):
                act(THEME, scope)
            return
        act(THEME, scope)
        (self.model.close if closing else self.model.reopen)(scope)

    @rule()
    def undo_and_redo(self) -> None:
        """Taking the newest change back and bringing it back again is as if nothing had happened."""
        try:
            self.store.undo.last(1)
        except errors.NothingToUndo:
            return
        self.store.undo.redo()

    @invariant()
    def store_and_model_agree(self) -> None:
        stored = {
            fact.uid: (
                fact.scope,
                fact.type.value,
                fact.target,
                fact.content,
                fact.tier.value,
                fact.pinned,
                fact.superseded_by,
            )
            for fact in self.store.facts.page(FactFilter(tiers=frozenset()), limit=1000).facts
        }
        believed = {
            fact.uid: (fact.scope, fact.type, fact.target, fact.content, fact.tier, fact.pinned, fact.superseded_by)
            for fact in self.model.facts.values()
        }
        assert stored == believed
        status = {scope.label: scope.status is ScopeStatus.CLOSED for scope in self.store.scopes.list(THEME)}
        assert status == self.model.closed

    @invariant()
    def gauge_equals_the_models(self) -> None:
        hot = [fact for fact in self.model.facts.values() if fact.tier == "hot"]
        gauge = self.store.tiers.gauge(THEME)
        assert gauge.used == sum(len(f"{fact.type}[{fact.target}]: {fact.content}") for fact in hot)
        assert gauge.facts == len(hot)

    @invariant()
    def live_facts_are_found(self) -> None:
        found = {fact.uid for fact in self.store.search.find(THEME, "one two three auth db", limit=1000).facts}
        found |= {fact.uid for word in ("one", "two", "three") for fact in self.store.search.find(THEME, word).facts}
        assert {fact.uid for fact in self.model.facts.values() if fact.tier in ("hot", "cold")} <= found

    def teardown(self) -> None:
        undo_everything(self.store)
        self.store.close()
        self.folder.cleanup()


class PressureMachine(RuleBasedStateMachine):
    """A hot tier of a thousand characters: relief in nearly every step."""

    uids = Bundle("uids")

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        home = Path(self.folder.name)
        (home / "themes.toml").write_text("[defaults]\nhot_chars = 1000\n")
        self.clock = HandClock()
        self.store = Store.open(home / "memory.db", clock=self.clock, policies=Policies.load(home / "themes.toml"))
        self.store.db.conn.execute("PRAGMA synchronous = OFF")
        self.session = self.store.sessions.open(THEME, "s1")
        self.turn = 0

    @rule(target=uids, scope=SCOPES, kind=st.sampled_from("CDV?✓~"), n=st.integers(0, 30), size=st.integers(10, 200))
    def write(self, scope: str | None, kind: str, n: int, size: int) -> object:
        self.clock.forward(60_000)
        line = f"{kind}[n{n}]: {'x' * size}"
        try:
            result = self.store.facts.write(THEME, line, scope=scope, session=self.session)
        except errors.MemoryFull:
            gauge = self.store.tiers.gauge(THEME)
            assert gauge.pinned + len(line) > gauge.budget
            return multiple()
        return result.fact.uid

    @rule(uid=uids, pinned=st.booleans())
    def pin(self, uid: str, pinned: bool) -> None:
        try:
            self.store.facts.pin([uid], pinned)
        except (errors.FactConflict, errors.UnknownFact, errors.MemoryFull):
            return

    @rule(uid=consumes(uids))
    def restore(self, uid: str) -> None:
        try:
            self.store.facts.restore([uid])
        except (errors.UnknownFact, errors.MemoryFull):
            return

    @rule(message=st.sampled_from([None, "and the login?", "billing next", "it's merged"]), skipped=st.integers(1, 3))
    def tick(self, message: str | None, skipped: int) -> None:
        self.turn += skipped
        self.store.sessions.tick(self.session, self.turn, message)

    @rule()
    def a_day_passes(self) -> None:
        self.clock.forward(25 * 3_600_000)

    @rule()
    def undo(self) -> None:
        try:
            self.store.undo.last(1)
        except (errors.NothingToUndo, errors.UndoConflict):
            return

    @invariant()
    def the_hot_tier_never_exceeds_its_budget(self) -> None:
        gauge = self.store.tiers.gauge(THEME)
        assert gauge.used <= gauge.budget
        assert self.store.context.status(THEME).fact_tokens <= 180

    @invariant()
    def gauges_equal_a_recount(self) -> None:
        row = self.store.db.row(
            "SELECT coalesce(sum(chars), 0), coalesce(sum(tokens), 0), count(*), coalesce(sum(chars * pinned), 0)"
            " FROM facts WHERE tier = 'hot'"
        )
        gauge = self.store.tiers.gauge(THEME)
        assert row == (gauge.used, gauge.tokens, gauge.facts, gauge.pinned)

    def teardown(self) -> None:
        assert [check for check in examine_store(self.store) if not check.ok] == []
        undo_everything(self.store)
        self.store.close()
        self.folder.cleanup()


def undo_everything(store: Store) -> None:
    """Newest first, every change that is neither an undo nor undone; what remains is the first state."""
    changes = [
        row[0]
        for row in store.db.rows(
            "SELECT DISTINCT change FROM journal WHERE undoes IS NULL AND entity <> 'session' ORDER BY change DESC"
        )
    ]
    for change in changes:
        if not store.undo.is_undone(change):
            store.undo.change(change)
    assert store.facts.count(FactFilter(tiers=frozenset())) == 0
    assert store.scopes.list() == []
    assert store.tiers.gauge(THEME).used == 0
    assert store.journal.verify().ok


LIMITS = settings(
    max_examples=example_count(40),
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)

TestMemory = MemoryMachine.TestCase
TestMemory.settings = LIMITS
TestPressure = PressureMachine.TestCase
TestPressure.settings = LIMITS
