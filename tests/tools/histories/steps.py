"""A history as data: how many machines, and what each does in which order. The same seed makes the same history.

A step names facts and changes by a number that is taken modulo what is there when it is played, so that a history stays
playable when steps are left out.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

LABELS = (None, "speed", "pace")
SCOPES = ("speed", "pace", "drive")
TARGETS = ("db", "cache", "Cache")
SESSIONS = ("one", "two")

LONG = "# " + 12 * "and more "
"""A content of which a few fill a small hot tier."""

OPERATIONS_BEFORE_EXCHANGE = (3, 12)
"""Fewest and most operations of a machine before each exchange."""

ROUNDS = (1, 3)
"""Fewest and most rounds in which every machine works and then exchanges."""

LONELY_OPERATIONS = (10, 60)
"""The same, of a machine that is alone."""

MACHINES = (2, 5)

COLLECTING = 0.2
"""How often what was deleted leaves the server before an exchange."""

PAGE = 3
"""Rows of a page: so few that what belongs together comes apart."""


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that one machine does."""

    machine: int
    name: str
    """A method of `player.Player`."""
    args: tuple[Any, ...] = ()

    def __str__(self) -> str:
        return f"machine {self.machine}: {self.name}{self.args}"


@dataclass(frozen=True, slots=True)
class History:
    """What one seed makes."""

    seed: int
    machines: int
    guarded: int
    """How many of the machines, counted from the last, check the content of what comes from the others."""
    steps: tuple[Step, ...]
    hot_chars: int = 10_000
    """Characters of the hot tier; a small one makes relief part of every write."""


BROUGHT_BACK = History(
    1,
    2,
    0,
    (
        Step(1, "write", ("D[cache]: #", "speed", None)),
        Step(1, "push", (PAGE, True)),
        Step(0, "pull", (PAGE,)),
        Step(0, "undo_change", (1,)),
        Step(1, "close_scope", ("speed",)),
        Step(1, "move", (0, "pace")),
    ),
)
"""A scope that one machine has undone comes back closed, together with its only fact, which is elsewhere by then."""


def make_lonely_history(seed: int) -> History:
    """The history of a seed on one machine that nobody else knows."""
    chance = random.Random(seed)
    steps = tuple(make_operation(chance, 0) for _ in range(chance.randint(*LONELY_OPERATIONS)))
    return History(seed, 1, 0, steps, chance.choice((1_000, 10_000)))


def make_history(seed: int) -> History:
    """The history of a seed."""
    chance = random.Random(seed)
    machines = chance.randint(*MACHINES)
    guarded = chance.choice((0, 0, 1, 2)) if machines > 2 else chance.choice((0, 0, 1))
    steps: list[Step] = []
    for _ in range(chance.randint(*ROUNDS)):
        order = list(range(machines))
        chance.shuffle(order)
        for machine in order:
            steps += (make_operation(chance, machine) for _ in range(chance.randint(*OPERATIONS_BEFORE_EXCHANGE)))
        steps += make_exchange(chance, order)
    return History(seed, machines, guarded, tuple(steps))


def make_operation(chance: random.Random, machine: int) -> Step:
    """Something that a person or an agent does on a machine."""
    (name,) = chance.choices(tuple(OPERATIONS), [weight for weight, _ in OPERATIONS.values()])
    return Step(machine, name, OPERATIONS[name][1](chance))


def make_exchange(chance: random.Random, order: list[int]) -> list[Step]:
    """What the machines send and take in, in pages, with what goes wrong on the way. Some do not come to it."""
    steps = [Step(0, "collect")] if chance.random() < COLLECTING else []
    for machine in chance.sample(order, len(order)):
        for _ in range(chance.choice((0, 2, 6, 12))):
            (name,) = chance.choices(tuple(EXCHANGES), [weight for weight, _ in EXCHANGES.values()])
            steps.append(Step(machine, name, EXCHANGES[name][1](chance)))
    return steps


Args = Callable[[random.Random], tuple[Any, ...]]


def pick(chance: random.Random) -> int:
    """A number that names a fact or a change by its place."""
    return chance.randrange(1000)


def line(chance: random.Random) -> str:
    """A notation, which often meets another of its kind."""
    words = (
        "redis",
        "valkey",
        "sqlite",
        "a longer one, which says more",
        "obey me",
        "hunter2",
        "unspeakable",
        "#",
        "#",
        "#",
        LONG,
    )
    return f"{chance.choice('CDDV?~✓')}[{chance.choice(TARGETS)}]: {chance.choice(words)}"


OPERATIONS: dict[str, tuple[int, Args]] = {
    "write": (12, lambda chance: (line(chance), chance.choice(LABELS), chance.choice((None, None, *SESSIONS)))),
    "edit": (5, lambda chance: (pick(chance), chance.choice(("edited", "redis", "#", "#")))),
    "archive": (2, lambda chance: (pick(chance),)),
    "restore": (5, lambda chance: (pick(chance),)),
    "cool": (2, lambda chance: (pick(chance),)),
    "pin": (4, lambda chance: (pick(chance),)),
    "unpin": (1, lambda chance: (pick(chance),)),
    "move": (5, lambda chance: (pick(chance), chance.choice((*LABELS, "drive")))),
    "close_scope": (2, lambda chance: (chance.choice(SCOPES),)),
    "reopen_scope": (1, lambda chance: (chance.choice(SCOPES),)),
    "rename_scope": (2, lambda chance: tuple(chance.sample(SCOPES, 2))),
    "merge_scopes": (2, lambda chance: tuple(chance.sample(SCOPES, 2))),
    "undo_last": (4, lambda chance: (chance.choice((1, 1, 1, 2, 4)),)),
    "undo_change": (8, lambda chance: (pick(chance),)),
    "undo_session": (2, lambda chance: (chance.choice(SESSIONS), chance.random() < 0.7)),
    "redo": (2, lambda chance: ()),
    "undo_and_redo": (3, lambda chance: (pick(chance),)),
    "purge": (4, lambda chance: (pick(chance),)),
    "purge_scope": (1, lambda chance: (chance.choice(SCOPES),)),
    "suspect": (1, lambda chance: (line(chance), chance.choice(LABELS))),
    "approve": (1, lambda chance: (pick(chance),)),
    "refuse": (1, lambda chance: (pick(chance),)),
    "hold": (1, lambda chance: ()),
    "decide": (3, lambda chance: (pick(chance), chance.choice(("mine", "theirs", "both")))),
    "renew_node": (1, lambda chance: ()),
}
"""Operations with their weights, and what makes their arguments."""

EXCHANGES: dict[str, tuple[int, Args]] = {
    "push": (8, lambda chance: (chance.choice((1, PAGE, PAGE)), chance.random() < 0.8)),
    "pull": (8, lambda chance: (chance.choice((1, PAGE, PAGE)),)),
    "deliver_again": (2, lambda chance: (tuple(pick(chance) for _ in range(chance.randint(1, 5))),)),
    "crash": (1, lambda chance: (chance.randint(0, 5),)),
    "lose_cursor": (1, lambda chance: ()),
    "offer_everything": (1, lambda chance: ()),
}
"""Parts of an exchange, and what goes wrong with it."""
