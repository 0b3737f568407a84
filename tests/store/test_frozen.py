"""Our own `dataclass` does what the standard library's does."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from dataclasses import field
from typing import Any

import pytest

from hermes_memory_store import frozen


def made(decorate: Any) -> Any:
    """The same class, made by one of the two."""

    @decorate(frozen=True, slots=True)
    class Point:
        x: int
        y: int = 2
        seen: list[str] = field(default_factory=list, compare=False)

        def __post_init__(self) -> None:
            if self.x < 0:
                raise ValueError("left of the edge")

    return Point


OURS, THEIRS = made(frozen.dataclass), made(dataclasses.dataclass)


@pytest.mark.parametrize("args", [(1,), (1, 3), (1, 3, ["a"])])
def test_values_are_equal_and_written_alike(args: tuple[Any, ...]) -> None:
    ours, theirs = OURS(*args), THEIRS(*args)
    assert repr(ours) == repr(theirs)
    assert ours == OURS(*args)
    assert ours != OURS(9)
    assert ours != theirs
    assert hash(ours) == hash(OURS(*args))
    assert dataclasses.asdict(ours) == dataclasses.asdict(theirs)
    assert dataclasses.replace(ours, y=7) == OURS(ours.x, 7)
    assert copy.deepcopy(ours) == ours


def test_nothing_of_it_can_be_changed() -> None:
    point = OURS(1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        point.x = 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        del point.x
    with pytest.raises(dataclasses.FrozenInstanceError):
        point.z = 2
    assert not hasattr(point, "__dict__")


def test_what_is_missing_too_much_or_wrong_is_refused_each_time() -> None:
    fresh = made(frozen.dataclass)
    for _ in range(2):
        with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
            fresh()
        with pytest.raises(TypeError, match="takes from 2 to 4 positional arguments"):
            fresh(1, 2, [], 4)
        with pytest.raises(ValueError, match="left of the edge"):
            fresh(-1)


def test_lists_are_not_shared() -> None:
    OURS(1).seen.append("a")
    assert OURS(1).seen == []


def test_facts_can_be_pickled() -> None:
    from hermes_memory_store.model import Actor

    actor = Actor("person", "ada")
    assert pickle.loads(pickle.dumps(actor)) == actor


def test_a_class_can_be_matched() -> None:
    match OURS(1, 5):
        case OURS(x, y):
            assert (x, y) == (1, 5)


def test_fields_keep_the_names_of_their_types() -> None:
    assert [(one.name, one.type) for one in dataclasses.fields(OURS)] == [
        (one.name, one.type) for one in dataclasses.fields(THEIRS)
    ]
    assert OURS.__annotations__ == THEIRS.__annotations__
