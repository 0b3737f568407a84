"""What is near is found exactly, with numpy and without, and in memory only as long as it is true."""

from __future__ import annotations

import importlib.util
import random
from pathlib import Path

import pytest

from hermes_memory_bridge.embedding import vector_index as module
from hermes_memory_bridge.embedding.vector_index import VectorIndex, pack_unit_vector, to_unit_vector
from hermes_memory_store.find.vector_file import Vector, Vectors

SPAN = (1, 1 << 40)

WAYS = [pytest.param(False, id="by hand")]
if importlib.util.find_spec("numpy") is not None:
    WAYS.append(pytest.param(True, id="numpy"))


def some(count: int, seed: int = 1) -> list[list[float]]:
    chance = random.Random(seed)
    return [to_unit_vector([chance.gauss(0, 1) for _ in range(32)]) for _ in range(count)]


def keep(vectors: Vectors, rows: list[list[float]], first: int = 1) -> None:
    vectors.save(
        [
            Vector("fact", first + at, bytes([at % 256, at // 256]), b"d", "m", *pack_unit_vector(row))
            for at, row in enumerate(rows)
        ]
    )


def finder(vectors: Vectors, numpy: bool) -> VectorIndex:
    made = VectorIndex(vectors)
    made._numpy = numpy
    return made


@pytest.mark.parametrize("numpy", WAYS)
def test_the_nearest_are_those_of_the_whole_numbers(tmp_path: Path, numpy: bool) -> None:
    rows = some(300)
    (asked,) = some(1, seed=2)
    with Vectors(tmp_path / "memory.db") as vectors:
        keep(vectors, rows)
        found = finder(vectors, numpy).nearest("fact", "m", SPAN, asked, 10, 0.1)
    true = sorted(((dot(row, asked), at + 1) for at, row in enumerate(rows)), reverse=True)
    assert [key for key, _ in found][:5] == [key for _, key in true][:5]
    assert all(abs(one - there) < 0.01 for (_, one), (there, _) in zip(found, true, strict=False))


def dot(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("numpy", WAYS)
def test_the_floor_and_the_walls_hold(tmp_path: Path, numpy: bool) -> None:
    rows = some(20)
    with Vectors(tmp_path / "memory.db") as vectors:
        keep(vectors, rows)
        near = finder(vectors, numpy)
        assert [key for key, _ in near.nearest("fact", "m", SPAN, rows[3], 20, 0.95)] == [4]
        assert near.nearest("fact", "m", (100, 200), rows[3], 20, 0.0) == []
        assert near.nearest("turn", "m", SPAN, rows[3], 20, 0.0) == []
        assert near.nearest("fact", "other", SPAN, rows[3], 20, 0.0) == []
        assert near.nearest("fact", "m", SPAN, [1.0, 0.0], 20, 0.0) == [], "a question of another length"


@pytest.mark.parametrize("numpy", WAYS)
def test_what_is_in_memory_follows_the_file(tmp_path: Path, numpy: bool) -> None:
    rows = some(4)
    with Vectors(tmp_path / "memory.db") as vectors, Vectors(tmp_path / "memory.db") as elsewhere:
        near = finder(vectors, numpy)

        def closest(row: list[float]) -> list[int]:
            return [key for key, _ in near.nearest("fact", "m", SPAN, row, 5, 0.95)]

        assert closest(rows[0]) == []
        keep(elsewhere, rows[:2])
        assert closest(rows[0]) == [1]
        keep(elsewhere, rows[2:3], first=3)
        assert closest(rows[2]) == [3]
        keep(elsewhere, rows[3:], first=1)
        assert (closest(rows[0]), closest(rows[3])) == ([], [1])
        elsewhere.erase_by_ids("fact", [1])
        assert closest(rows[3]) == []


@pytest.mark.parametrize("numpy", WAYS)
def test_a_vector_that_is_made_anew_takes_the_place_of_the_old_one(tmp_path: Path, numpy: bool) -> None:
    rows, changed = some(40), some(40, seed=3)
    with Vectors(tmp_path / "memory.db") as vectors:
        near = finder(vectors, numpy)
        keep(vectors, rows)
        assert near.nearest("fact", "m", SPAN, rows[7], 1, 0.95)
        keep(vectors, changed[:20], first=11)
        found = [near.nearest("fact", "m", SPAN, row, 1, 0.95)[0][0] for row in changed[:20] + rows[:10] + rows[30:]]
        assert found == [*range(11, 31), *range(1, 11), *range(31, 41)]
        assert near.nearest("fact", "m", SPAN, rows[15], 1, 0.95) == []
        assert len(near._blocks[("fact", "m", 1)].rows) == 40


def test_without_numpy_a_bounded_number_of_the_newest_is_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_WITHOUT_NUMPY", 10)
    rows = some(25)
    with Vectors(tmp_path / "memory.db") as vectors:
        near = finder(vectors, False)
        keep(vectors, rows[:20])
        assert [key for key, _ in near.nearest("fact", "m", SPAN, rows[19], 5, 0.95)] == [20]
        assert near.nearest("fact", "m", SPAN, rows[2], 5, 0.95) == []
        keep(vectors, rows[20:], first=21)
        assert [key for key, _ in near.nearest("fact", "m", SPAN, rows[24], 5, 0.95)] == [25]


def test_memory_is_bounded_over_all_themes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT_BYTES", 32 * 6)
    rows = some(4)
    with Vectors(tmp_path / "memory.db") as vectors:
        near = finder(vectors, False)
        for theme in range(1, 6):
            keep(vectors, rows, first=theme << 40)
            assert near.nearest("fact", "m", (theme << 40, (theme + 1 << 40) - 1), rows[0], 5, 0.95)
        assert len(near._blocks) == 1


@pytest.mark.parametrize("numpy", WAYS)
def test_what_was_found_by_words_is_compared_however_far_it_is(tmp_path: Path, numpy: bool) -> None:
    rows = some(20)
    with Vectors(tmp_path / "memory.db") as vectors:
        keep(vectors, rows)
        found = finder(vectors, numpy).nearest("fact", "m", SPAN, rows[3], 1, 0.95, [4, 9, 77])
    assert [key for key, _ in found] == [4, 9], "once each, and nothing for what has no vector"
    assert found[1][1] == pytest.approx(dot(rows[8], rows[3]), abs=0.01)


@pytest.mark.skipif(len(WAYS) == 1, reason="the extra `local` is not installed")
def test_of_many_those_with_the_signs_of_the_question_are_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hermes_memory_bridge.embedding import numpy_rows

    rows = some(3_000)
    asked = some(20, seed=2)
    with Vectors(tmp_path / "memory.db") as vectors:
        keep(vectors, rows[:2_900])
        near = finder(vectors, True)
        whole = [near.nearest("fact", "m", SPAN, one, 10, 0.0, [5, 2_999]) for one in asked]
        keep(vectors, rows[2_900:], first=2_901)
        monkeypatch.setattr(numpy_rows, "COMPARED_WHOLE", 100)
        monkeypatch.setattr(numpy_rows, "COMPARED_BY_SIGN", 600)
        some_of_them = [near.nearest("fact", "m", SPAN, one, 10, 0.0, [5, 2_999]) for one in asked]
        monkeypatch.setattr(numpy_rows, "COMPARED_WHOLE", 10_000)
        all_of_them = [near.nearest("fact", "m", SPAN, one, 10, 0.0, [5, 2_999]) for one in asked]
    assert all({5, 2_999} <= {key for key, _ in found} for found in all_of_them + some_of_them)
    assert all(2_999 not in {key for key, _ in found} for found in whole), "it came later"
    shared = sum(len(set(some) & set(every)) for some, every in zip(some_of_them, all_of_them, strict=True))
    assert shared >= 0.9 * sum(map(len, all_of_them))
