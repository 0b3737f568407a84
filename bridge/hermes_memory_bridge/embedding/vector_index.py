"""Exact nearest-neighbour search within one theme: every vector of it is compared.

Vectors are stored as signed 8-bit integers, a quarter of the space. With numpy 100,000 of them are compared in
some 50 ms; without it a bounded number of the newest.
"""

from __future__ import annotations

import importlib.util
import math
import threading
from array import array
from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from operator import mul
from typing import Any

from hermes_memory_store.search.vector_file import Vectors

MOST = 100_000
"""Vectors of a theme that are compared with numpy, the newest."""

MOST_WITHOUT_NUMPY = 2_000
"""Without it: some 100 ms."""

KEPT_BYTES = 64_000_000
"""Vectors kept in memory between questions, all themes together; the least recently asked go first."""

SCAN_CHUNK = 4_096

QUANTIZATION_STEPS = 127


@dataclass(slots=True)
class VectorBlock:
    """The vectors of one kind and theme in memory."""

    seq: int
    erased: int
    ids: list[int]
    scales: list[float]
    rows: bytearray
    """One byte a number, one row after the other."""
    arrays: tuple[Any, Any, Any] | None = None
    """The same for numpy: ids, scales, matrix."""


class VectorIndex:
    """Find the nearest vectors. Thread-safe."""

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors
        self._lock = threading.Lock()
        self._blocks: OrderedDict[tuple[str, str, int], VectorBlock] = OrderedDict()
        self._numpy = importlib.util.find_spec("numpy") is not None

    def nearest(
        self,
        kind: str,
        model: str,
        span: tuple[int, int],
        vector: Sequence[float],
        limit: int,
        floor: float,
        besides: Collection[int] = (),
    ) -> list[tuple[int, float]]:
        """Return ids and cosine similarities of the nearest, best first, none below the floor.

        :param span: lowest and highest id of the theme
        :param vector: of length one
        :param besides: ids whose similarity is returned too, however low
        """
        with self._lock:
            block = self._block(kind, model, span)
            if not block.ids or len(block.rows) != len(block.ids) * len(vector):
                return []
            if self._numpy:
                return scan_with_numpy(block, vector, limit, floor, besides)
            return scan_without_numpy(block, vector, limit, floor, besides)

    def load(self, kind: str, model: str, span: tuple[int, int]) -> None:
        """Load the vectors of a theme into memory, where `nearest` finds them."""
        with self._lock:
            block = self._block(kind, model, span)
            if self._numpy and block.ids:
                to_numpy_arrays(block)

    def forget(self) -> None:
        """Drop everything from memory."""
        with self._lock:
            self._blocks.clear()

    def _block(self, kind: str, model: str, span: tuple[int, int]) -> VectorBlock:
        key = (kind, model, span[0])
        seq, erased = self._vectors.change_counts()
        block = self._blocks.get(key)
        if block is None or block.erased != erased:
            block = VectorBlock(0, erased, [], [], bytearray())
        if block.seq != seq:
            self._read(block, kind, model, span)
            block.seq = seq
        self._blocks[key] = block
        self._blocks.move_to_end(key)
        while len(self._blocks) > 1 and sum(len(one.rows) for one in self._blocks.values()) > KEPT_BYTES:
            self._blocks.popitem(last=False)
        return block

    def _read(self, block: VectorBlock, kind: str, model: str, span: tuple[int, int]) -> None:
        most = MOST if self._numpy else MOST_WITHOUT_NUMPY
        rows = self._vectors.in_id_range(kind, model, *span, since=block.seq, newest=most)
        if not rows:
            return
        if not set(block.ids).isdisjoint(row[0] for row in rows) or len(block.ids) + len(rows) > most:
            rows = self._vectors.in_id_range(kind, model, *span, newest=most)
            block.ids, block.scales, block.rows = [], [], bytearray()
        length = len(rows[0][2])
        rows = [row for row in rows if len(row[2]) == length]
        block.ids += [row[0] for row in rows]
        block.scales += [row[1] for row in rows]
        block.rows += b"".join(row[2] for row in rows)
        block.arrays = None


def scan_with_numpy(
    block: VectorBlock, vector: Sequence[float], limit: int, floor: float, besides: Collection[int]
) -> list[tuple[int, float]]:
    """Compare all rows, some thousands at a time."""
    import numpy as np

    ids, scales, matrix = to_numpy_arrays(block)
    asked = np.array(vector, np.float32)
    near = np.empty(len(ids), np.float32)
    for start in range(0, len(ids), SCAN_CHUNK):
        near[start : start + SCAN_CHUNK] = matrix[start : start + SCAN_CHUNK].astype(np.float32) @ asked
    near *= scales
    best = np.argpartition(-near, limit)[:limit] if limit < len(ids) else np.arange(len(ids))
    found = {int(ids[at]): float(near[at]) for at in best if near[at] >= floor}
    if besides:
        known = np.flatnonzero(np.isin(ids, np.fromiter(besides, np.int64, len(besides))))
        found.update((int(ids[at]), float(near[at])) for at in known)
    return sorted(found.items(), key=lambda one: (-one[1], -one[0]))


def to_numpy_arrays(block: VectorBlock) -> tuple[Any, Any, Any]:
    """Return the vectors of a block as numpy arrays, created on first use."""
    import numpy as np

    if block.arrays is None:
        matrix = np.frombuffer(bytes(block.rows), np.int8).reshape(len(block.ids), -1)
        block.arrays = np.array(block.ids, np.int64), np.array(block.scales, np.float32), matrix
    return block.arrays


def scan_without_numpy(
    block: VectorBlock, vector: Sequence[float], limit: int, floor: float, besides: Collection[int]
) -> list[tuple[int, float]]:
    """Compare row by row."""
    length = len(vector)
    rows = memoryview(block.rows).cast("b")
    try:
        near = [
            scale * sum(map(mul, rows[start : start + length], vector))
            for scale, start in zip(block.scales, range(0, len(rows), length), strict=True)
        ]
    finally:
        rows.release()
    every = sorted(zip(block.ids, near, strict=True), key=lambda one: (-one[1], -one[0]))
    return [one for place, one in enumerate(every) if (place < limit and one[1] >= floor) or one[0] in besides]


def to_unit_vector(vector: Sequence[float]) -> list[float]:
    """Return the vector scaled to length one."""
    length = math.sqrt(sum(map(mul, vector, vector)))
    return [one / length for one in vector]


def pack_unit_vector(vector: Sequence[float]) -> tuple[float, bytes]:
    """Quantize a unit vector to integers; return their scale and the integers.

    The scale is such that the quantized vector has length one, too.
    """
    step = max(map(abs, vector)) / QUANTIZATION_STEPS
    row = array("b", [round(one / step) for one in vector])
    return 1 / math.sqrt(sum(map(mul, row, row))), row.tobytes()
