"""Playing a history on real stores beside the plain model of undo."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from functools import partial
from typing import Any

from hermes_memory_store.errors import StoreError
from hermes_memory_store.model import UndoResult
from tests.store.team import Member
from tests.tools.histories.player import Player, play
from tests.tools.histories.shrinking import describe, find_failure, shrink
from tests.tools.histories.steps import (
    LABELS,
    OPERATIONS,
    SESSIONS,
    History,
    Step,
    make_exchange,
    make_operation,
)
from tests.tools.undo_histories.undo_model import Picture, UndoModel, is_fact

STEPS = (5, 45)

TEAMS = 0.25
"""How many histories are of two machines; the others can be unwound to nothing."""

FINAL = frozenset({"purge", "purge_scope"})
"""What no undo takes back: half of the histories go without."""

CROWD = {
    "write": 8,
    "move": 8,
    "restore": 6,
    "rename_scope": 3,
    "archive": 2,
    "merge_scopes": 1,
    "edit": 1,
    "close_scope": 1,
}
"""Steps of a crowded history, with their weights: its facts compete for few places."""

CROWDED_LINES = ("C[db]: #", "C[db]: #", "D[db]: #", "?[db]: #")

NAMED = re.compile(r"\bundo (\d+) first")
"""The change that a refusal names."""

UNDOS = {"undo_change": 10, "undo_and_redo": 4, "undo_last": 3, "undo_session": 4, "redo": 2}
"""Steps that are added, with their weights."""


def make_undo_history(seed: int, *, longest: bool = False) -> History:
    """The history of a seed. :param longest: with as many steps as any has"""
    chance = random.Random(seed)
    machines = 2 if chance.random() < TEAMS else 1
    without = FINAL if chance.random() < 0.5 else frozenset()
    steps: list[Step] = []
    while len(steps) < (STEPS[1] if longest else chance.randint(*STEPS)):
        machine = chance.randrange(machines)
        if chance.random() < 0.3:
            (name,) = chance.choices(tuple(UNDOS), list(UNDOS.values()))
            steps.append(Step(machine, name, OPERATIONS[name][1](chance)))
        elif machines > 1 and chance.random() < 0.2:
            steps += make_exchange(chance, list(range(machines)))
        else:
            step = make_operation(chance, machine)
            steps += [step] if step.name not in without else []
    return History(seed, machines, 0, tuple(steps), chance.choice((1_000, 10_000)))


def make_crowded_history(seed: int) -> History:
    """The history of a seed on one machine whose facts compete for few places, with many undos."""
    chance = random.Random(seed)
    steps: list[Step] = []
    for _ in range(chance.randint(*STEPS)):
        wanted = UNDOS if chance.random() < 0.3 else CROWD
        (name,) = chance.choices(tuple(wanted), list(wanted.values()))
        args = OPERATIONS[name][1](chance)
        if name == "write":
            args = (chance.choice(CROWDED_LINES), chance.choice(LABELS), chance.choice((None, *SESSIONS)))
        steps.append(Step(0, name, args))
    return History(seed, 1, 0, tuple(steps))


class UndoPlayer(Player):
    """Machines that do and undo, each beside its model."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.refusal = ""
        """What the newest refused undo said."""
        self.models = [UndoModel(member.store.db.conn) for member in self.members]

    def do(self, step: Step) -> None:
        super().do(step)
        for member, model in zip(self.members, self.models, strict=True):
            model._conn = member.store.db.conn
            model.observe()
            assert not (left := model.leftovers()), f"after {step}: scopes that nobody opened: {left}"

    def finish(self) -> None:
        """Everything that one machine did is undone, in any order, and nothing is left."""
        if len(self.members) > 1 or any(step.name in FINAL for step in self.history.steps):
            return
        chance = random.Random(self.history.seed)
        member, model = self.members[0], self.models[0]
        if chance.random() < 0.5 and (standing := model.standing_deeds()):
            self.undo_what_is_named(member, chance.choice(standing))
        while standing := model.standing_deeds():
            chance.shuffle(standing)
            done = [number for number in standing if not model.is_undone(number) and self.undo(member, number)]
            if not done:
                break
        rest = [thing for thing in model.now.values() if thing.get("label") != ""]
        rest = [thing for thing in rest if "withdrawn" not in (thing.get("tier"), thing.get("status"))]
        assert not rest, f"undone to the last, and {rest} is left; standing: {model.standing_deeds()}"

    def undo_what_is_named(self, member: Member, number: int) -> None:
        """Undo a change, and before it what its refusals name, and so on: it goes through in the end."""
        model, wanted, said = self.model_of(member), [number], ""
        for _ in range(10 * len(model.deeds)):
            if model.is_undone(wanted[-1]) or self.undo(member, wanted[-1]) is not None:
                wanted.pop()
                if not wanted:
                    return
                continue
            said = self.refusal
            found = NAMED.search(said)
            if found is None:
                assert is_void(model, wanted[-1], model.now), f"a refusal that names nothing to undo: {said}"
                wanted.pop()
                if not wanted:
                    return
                continue
            assert not model.is_undone(int(found[1])), f"a refusal names what is undone: {said}"
            wanted.append(int(found[1]))
        raise AssertionError(f"undo of {number} never goes through, whatever it names is undone: {said}")

    def model_of(self, member: Member) -> UndoModel:
        """The model of a machine."""
        return self.models[self.members.index(member)]

    def undo(self, member: Member, number: int) -> UndoResult | None:
        """Undo one change, and ask the model."""
        model = self.model_of(member)
        deed, before, last = model.deeds.get(number), model.now, member.store.journal.last_seq()
        try:
            done = member.store.undo.change(number)
        except StoreError as refused:
            self.refusal = refused.message
            assert member.store.journal.last_seq() == last, f"refused ({refused}), and something was changed"
            if deed is not None and deed.exact:
                why = model.blockers(number)
                if not why and "in the way of the other" in refused.message:
                    why = [f"{later} would wait for it" for later in model.related_later(number)]
                assert why or is_void(model, number, before), f"undo of {number} is refused: {refused}"
            return None
        self.check(model, done, before)
        return done

    def check(self, model: UndoModel, done: UndoResult, before: Picture) -> None:
        """An undo did what the model says, change by change."""
        made = model.observe()
        if len(made) != 1 or not (deed := model.deeds.get(made[0].undoes or 0)) or not deed.exact:
            return
        undone = made[0]
        # What was in the way just before it must be named.
        model.deeds.pop(undone.number)
        now, model.now = model.now, before
        blockers = model.blockers(deed.number)
        model.deeds[undone.number], model.now = undone, now
        assert not blockers, f"undo of {deed.number} went through: {blockers}; left: {done.left}"
        model.check_undo(deed.number, before, done.left)

    def undo_change(self, member: Member, pick: int) -> None:
        if (number := self.find_change(member, pick)) is not None:
            self.undo(member, number)

    def undo_and_redo(self, member: Member, pick: int) -> None:
        if (number := self.find_change(member, pick)) is None:
            return
        model = self.model_of(member)
        before = model.now
        done = self.undo(member, number)
        if done is None or member.store.journal.last_seq() > done.seqs[-1]:
            return  # what the team says came to stand where room was made
        assert self.undo(member, done.seqs[0]) is not None, f"undo of {number} cannot be undone"
        assert comparable(model.now) == comparable(before), f"undo and redo of {number} left something"

    def undo_session(self, member: Member, name: str, leaving: bool) -> None:
        model = self.model_of(member)
        name = f"{name}-{self.members.index(member)}"
        mine = [number for number in model.standing_deeds() if model.deeds[number].name == name]
        exact = [number for number in mine if model.deeds[number].exact]
        spared = {uid for number in exact for uid in model.touched_since(number)}
        before = model.now
        done: Any = self.attempt(member, member.store.undo.session, name, leaving=leaving)
        model.observe()
        if done is None:
            return
        # What the session did to a fact after that is undone all the same.
        spared -= {uid for number in mine if model.is_undone(number) for uid in model.deeds[number].touched}
        changed = [before[uid] for uid in spared if model.now[uid] != before[uid]]
        assert not changed, f"undone beneath others: {changed}"
        still = [number for number in mine if not model.is_undone(number)]
        for number in still:
            assert any(f"change {number} " in why for why in done.left), f"{number} is left without a word: {done.left}"


SHAPES: dict[str, Callable[[int], History]] = {
    "": make_undo_history,
    "crowded": make_crowded_history,
    "longest": partial(make_undo_history, longest=True),
}
"""What makes the history of a seed: one of all lengths, one whose facts compete for few places, one of many steps."""


def try_undo_seed(seed: int, seconds: float, shape: str = "") -> tuple[int, str | None]:
    """A seed, and how its history fails, made as small as can be found in that time."""
    found = find_failure(SHAPES[shape](seed), play_undo)
    module = "tests.tools.undo_histories" + (f" --shape {shape}" if shape else "")
    return seed, None if found is None else describe(shrink(found, seconds, play_undo), module)


def play_undo(history: History) -> None:
    """Play a history beside the model. :raises Failed:"""
    play(history, player=UndoPlayer)


def comparable(picture: Picture) -> Picture:
    """What stands, without what is gone."""
    return {uid: thing for uid, thing in picture.items() if "withdrawn" not in (thing.get("tier"), thing.get("status"))}


def is_void(model: UndoModel, number: int, before: Picture) -> bool:
    """Whether there is nothing of a change that could be undone: it holds no more, or only relief did it."""
    deed = model.deeds[number]
    left = [uid for uid in deed.touched if uid not in deed.by_relief and uid in before]
    gone = {uid for uid in left if is_fact(before[uid]) and model.is_uncreated(uid)}
    return all(before[uid] == deed.before.get(uid) or not is_fact(before[uid]) for uid in left if uid not in gone)
