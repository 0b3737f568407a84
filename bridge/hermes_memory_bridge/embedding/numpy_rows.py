"""The vectors of one theme in memory for numpy: growing arrays, compared exactly, or of many only the promising ones.

Import it inside functions: numpy is an extra.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

COMPARED_WHOLE = 8_192
"""Vectors that are all compared in full; of more, those whose signs agree most with the question's."""

COMPARED_BY_SIGN = 4_096
"""Of many vectors as many are compared in full. Of 100,000 made from LoCoMo's first five conversations by MiniLM, .9999 of the
sixty nearest and all of the ten nearest were among them, over 300 questions; of half as many, .9997."""

WORD_BITS = 64


class NumpyRows:
    """Ids, scales and rows of signed 8-bit integers, with the sign of each number as one bit."""

    def __init__(self, width: int) -> None:
        """:param width: numbers of a vector"""
        self.width = width
        self._count = 0
        self._ids: NDArray[np.int64] = np.empty(0, np.int64)
        self._scales: NDArray[np.float32] = np.empty(0, np.float32)
        self._rows: NDArray[np.int8] = np.empty((0, width), np.int8)
        self._signs: NDArray[np.uint64] = np.empty((-(-width // WORD_BITS), 0), np.uint64)
        self._order: NDArray[np.int64] | None = None
        """Places by ascending id."""

    def __len__(self) -> int:
        return self._count

    @property
    def bytes_held(self) -> int:
        return self._count * self.width

    def put(self, ids: Sequence[int], scales: Sequence[float], rows: bytes) -> None:
        """Add vectors, one row after the other; each replaces the previous one of its id."""
        matrix = np.frombuffer(rows, np.int8).reshape(len(ids), self.width)
        places = self._find_places(ids)
        is_new = places < 0
        end = self._count + int(is_new.sum())
        self._reserve(end)
        places[is_new] = np.arange(self._count, end)
        self._ids[places], self._scales[places] = ids, scales
        self._rows[places], self._signs[:, places] = matrix, pack_signs(matrix)
        if end > self._count:
            self._count, self._order = end, None

    def nearest(
        self, vector: Sequence[float], limit: int, floor: float, besides: Collection[int]
    ) -> list[tuple[int, float]]:
        """Return ids and similarities as `VectorIndex.nearest` does."""
        query = np.array(vector, np.float32)
        places = self._promising_places(query, max(COMPARED_BY_SIGN, limit))
        near = self._compare(query, places)
        if limit < len(places):
            best = np.argpartition(-near, limit)[:limit]
            places, near = places[best], near[best]
        similarities = {
            int(key): float(pair) for key, pair in zip(self._ids[places], near, strict=True) if pair >= floor
        }
        places_besides = self._find_places(list(besides))
        places_besides = places_besides[places_besides >= 0]
        similarities.update(
            zip(self._ids[places_besides].tolist(), self._compare(query, places_besides).tolist(), strict=True)
        )
        return sorted(similarities.items(), key=lambda pair: (-pair[1], -pair[0]))

    def _promising_places(self, query: NDArray[np.float32], most: int) -> NDArray[np.int64]:
        if self._count <= max(COMPARED_WHOLE, most):
            return np.arange(self._count)
        differing = np.zeros(self._count, np.uint16)
        for signs, word in zip(self._signs, pack_signs(query[None])[:, 0], strict=True):
            differing += np.bitwise_count(signs[: self._count] ^ word)
        return np.argpartition(differing, most)[:most]

    def _compare(self, query: NDArray[np.float32], places: NDArray[np.int64]) -> NDArray[np.float32]:
        similarities: NDArray[np.float32] = (self._rows[places].astype(np.float32) @ query) * self._scales[places]
        return similarities

    def _find_places(self, ids: Sequence[int]) -> NDArray[np.int64]:
        """Return the place of each id; -1 where it is not there."""
        keys = np.array(ids, np.int64)
        if not self._count:
            return np.full(len(keys), -1)
        if self._order is None:
            self._order = np.argsort(self._ids[: self._count])
        at = np.searchsorted(self._ids[: self._count], keys, sorter=self._order)
        places = self._order[np.minimum(at, self._count - 1)]
        return np.where(self._ids[places] == keys, places, -1)

    def _reserve(self, count: int) -> None:
        """Make room for so many vectors; twice as many as there are, so that one by one costs no more."""
        if count <= len(self._ids):
            return
        room = max(count, 2 * self._count)
        self._ids = extend_array(self._ids, (room,))
        self._scales = extend_array(self._scales, (room,))
        self._rows = extend_array(self._rows, (room, self.width))
        signs = np.empty((len(self._signs), room), np.uint64)
        signs[:, : self._count] = self._signs[:, : self._count]
        self._signs = signs


def pack_signs(rows: NDArray[Any]) -> NDArray[np.uint64]:
    """Return the signs of rows as bits: words of 64 down, rows across."""
    bits = np.packbits(rows > 0, axis=1)
    filled = np.zeros((len(rows), -(-rows.shape[1] // WORD_BITS) * 8), np.uint8)
    filled[:, : bits.shape[1]] = bits
    return np.ascontiguousarray(filled.view(np.uint64).T)


def extend_array(array: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    larger = np.empty(shape, array.dtype)
    larger[: len(array)] = array
    return larger
