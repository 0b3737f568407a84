"""Scopes of sessions that have ended: the turns of later sessions count for them, and nothing else cools them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes_memory_store.model import ScopeStatus, Session, Tier
from hermes_memory_store.store import Store
from hermes_memory_themes import Policies
from tests.store.conftest import HandClock

THEME = "default"


def status_of(store: Store, label: str) -> ScopeStatus:
    return store.scopes.get(THEME, label).status


def end_by_lapse(store: Store, clock: HandClock, session: Session) -> None:
    clock.forward(3 * session.lease_ms)
    store.sessions.sweep()


ENDINGS: dict[str, Callable[[Store, HandClock, Session], None]] = {
    "closed": lambda store, clock, session: store.sessions.close(session),
    "orphaned": end_by_lapse,
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_six_turns_of_a_later_session_close_the_scope_of_one_that_ended(
    store: Store, clock: HandClock, ending: str
) -> None:
    first = store.sessions.open(THEME, "first")
    fact = store.facts.write(THEME, "D[a]: 1", scope="login", session=first).fact
    ENDINGS[ending](store, clock, first)
    assert status_of(store, "login") is ScopeStatus.OPEN, "the end of a session alone cools nothing"
    assert store.facts.get(fact.uid).tier is Tier.HOT

    later = store.sessions.open(THEME, "later")
    seen = [store.sessions.tick(later, turn) for turn in range(1, 7)]

    assert [tick.cooling for tick in seen] == [(), (), ("login",), (), (), ()]
    assert [tick.closed for tick in seen] == [(), (), (), (), (), ("login",)]
    assert store.scopes.get(THEME, "login").closed_by == "silence"
    assert store.facts.get(fact.uid).tier is Tier.COLD


def test_turns_of_several_later_sessions_add_up(store: Store) -> None:
    first = store.sessions.open(THEME, "first")
    store.facts.write(THEME, "D[a]: 1", scope="login", session=first)
    store.sessions.close(first)
    for number in range(3):
        later = store.sessions.open(THEME, f"later-{number}")
        for turn in (1, 2):
            assert status_of(store, "login") is not ScopeStatus.CLOSED
            store.sessions.tick(later, turn)
        store.sessions.close(later)
    assert status_of(store, "login") is ScopeStatus.CLOSED


def test_a_number_that_jumps_or_comes_twice_is_one_turn(store: Store) -> None:
    first = store.sessions.open(THEME, "first")
    store.facts.write(THEME, "D[a]: 1", scope="login", session=first)
    store.sessions.close(first)
    later = store.sessions.open(THEME, "later")
    for turn in (400, 400, 400, 500, 500):
        store.sessions.tick(later, turn)
    assert store.scopes.get(THEME, "login").silence == 2


def test_a_scope_that_a_running_session_uses_is_not_touched(store: Store) -> None:
    first, second = store.sessions.open(THEME, "first"), store.sessions.open(THEME, "second")
    for session in (first, second):
        store.facts.write(THEME, f"D[{session.name}]: 1", scope="login", session=session)
    store.sessions.close(first)
    busy = store.sessions.open(THEME, "busy")
    for turn in range(1, 20):
        store.sessions.tick(busy, turn)
    assert status_of(store, "login") is ScopeStatus.OPEN


def test_what_a_later_session_refers_to_is_its_own_from_then_on(store: Store) -> None:
    first = store.sessions.open(THEME, "first")
    store.facts.write(THEME, "D[a]: 1", scope="login", session=first)
    store.sessions.close(first)
    later = store.sessions.open(THEME, "later")
    for turn in range(1, 6):
        store.sessions.tick(later, turn)
    assert status_of(store, "login") is ScopeStatus.COOLING

    store.sessions.tick(later, 6, "back to the login page")

    assert status_of(store, "login") is ScopeStatus.OPEN
    other = store.sessions.open(THEME, "other")
    for turn in range(1, 20):
        store.sessions.tick(other, turn)
    assert status_of(store, "login") is ScopeStatus.OPEN


def test_turns_of_another_theme_do_not_count(store: Store) -> None:
    first = store.sessions.open(THEME, "first")
    store.facts.write(THEME, "D[a]: 1", scope="login", session=first)
    store.sessions.close(first)
    later = store.sessions.open("other", "later")
    for turn in range(1, 20):
        store.sessions.tick(later, turn)
    assert status_of(store, "login") is ScopeStatus.OPEN


def test_a_scope_that_no_session_wrote_to_stays(store: Store) -> None:
    store.facts.write(THEME, "D[a]: 1", scope="login")
    later = store.sessions.open(THEME, "later")
    for turn in range(1, 20):
        store.sessions.tick(later, turn)
    assert status_of(store, "login") is ScopeStatus.OPEN


SESSIONS = ("one", "two", "three")

LABELS = ("login", "billing")


@dataclass
class Model:
    """Which session has which scope in mind, and for how many turns it was not referred to."""

    silence: dict[tuple[str, str], int] = field(default_factory=dict)
    running: set[str] = field(default_factory=set)
    status: dict[str, str] = field(default_factory=dict)

    def refer(self, name: str, label: str) -> None:
        self.silence[name, label] = 0
        if self.status[label] == "cooling":
            self.status[label] = "open"

    def tick(self, name: str, mentioned: str | None) -> None:
        for key in self.silence:
            self.silence[key] += key[0] == name
        if mentioned is not None and self.status.get(mentioned) in ("open", "cooling"):
            self.refer(name, mentioned)
        for label in [label for who, label in self.silence if who == name]:
            others = any(who in self.running for who, one in self.silence if one == label and who != name)
            if self.silence[name, label] >= 6:
                del self.silence[name, label]
            self.judge(label, self.silence.get((name, label), 6), kept=others)
        for label in LABELS:
            users = [who for who, one in self.silence if one == label]
            if users and not self.running.intersection(users):
                for who in users:
                    self.silence[who, label] += 1
                self.judge(label, min(self.silence[who, label] for who in users), kept=False)

    def judge(self, label: str, silence: int, *, kept: bool) -> None:
        if kept or self.status[label] == "closed":
            return
        if silence >= 6:
            self.status[label] = "closed"
            self.silence = {key: turns for key, turns in self.silence.items() if key[1] != label}
        elif silence >= 3:
            self.status[label] = "cooling"


STEPS = st.lists(
    st.tuples(st.sampled_from(SESSIONS), st.sampled_from(("tick", "tick", "tick", "login", "billing", "end", "write"))),
    max_size=40,
)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_scopes_close_as_a_plain_model_says(
    steps: list[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder: Path = tmp_path_factory.mktemp("scopes")
    with Store.open(folder / "memory.db", clock=HandClock(), policies=Policies.load(folder / "t.toml")) as store:
        store.db.conn.execute("PRAGMA synchronous = OFF")
        model, sessions, turns = Model(), {}, dict.fromkeys(SESSIONS, 0)
        for name, step in steps:
            if step == "end":
                if name in model.running:
                    store.sessions.close(sessions[name])
                model.running.discard(name)
                continue
            if name not in model.running:
                sessions[name] = store.sessions.open(THEME, name)
                model.running.add(name)
            if step == "write":
                if turns[name] == 0:  # later it would be a shift, which has tests of its own
                    for label in LABELS:
                        store.facts.write(THEME, f"D[{name}]: 1", scope=label, session=sessions[name])
                        model.status[label] = "open"
                        model.refer(name, label)
                continue
            turns[name] += 1
            mentioned = None if step == "tick" else step
            store.sessions.tick(sessions[name], turns[name], f"and the {step} page" if mentioned else "hm")
            model.tick(name, mentioned)
            assert {scope.label: scope.status.value for scope in store.scopes.list(THEME)} == model.status
