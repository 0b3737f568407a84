"""Nearest-neighbour search within one theme, on vectors stored as signed 8-bit integers, a quarter of the space.

With numpy some thousands are compared exactly; of more, those are whose signs agree most with the question's (see
`numpy_rows.py`). Without it a bounded number of the newest is compared exactly.
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
from typing import Protocol

from hermes_memory_store.find.vector_file import Vectors

MOST = 100_000
"""Vectors of a theme that are compared with numpy, the newest."""

MOST_WITHOUT_NUMPY = 2_000
"""Without it: some 100 ms."""

KEPT_BYTES = 200_000_000
"""Vectors kept in memory between questions, all themes together; the least recently asked go first. A theme of 100,000 facts and
as many turns fits, with the longest vectors of a local model."""

SLACK = 1.1
"""By which part a theme may pass its bound before the newest are read again: not at each write of a theme that is full."""

QUANTIZATION_STEPS = 127


class VectorRows(Protocol):
    """Vectors in memory."""

    width: int

    def __len__(self) -> int: ...

    @property
    def bytes_held(self) -> int: ...

    def put(self, ids: Sequence[int], scales: Sequence[float], rows: bytes) -> None:
        """Add vectors, one row after the other; each replaces the previous one of its id."""
        ...

    def nearest(
        self, vector: Sequence[float], limit: int, floor: float, besides: Collection[int]
    ) -> list[tuple[int, float]]:
        """Return ids and similarities as `VectorIndex.nearest` does."""
        ...


class PlainRows:
    """Vectors in memory without numpy, compared row by row."""

    def __init__(self, width: int) -> None:
        """:param width: numbers of a vector"""
        self.width = width
        self._ids: list[int] = []
        self._scales: list[float] = []
        self._rows = bytearray()
        """One byte a number, one row after the other."""

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def bytes_held(self) -> int:
        return len(self._rows)

    def put(self, ids: Sequence[int], scales: Sequence[float], rows: bytes) -> None:
        """Add vectors, one row after the other; each replaces the previous one of its id."""
        places = {key: place for place, key in enumerate(self._ids)}
        for number, key in enumerate(ids):
            row = rows[number * self.width : (number + 1) * self.width]
            place = places.get(key)
            if place is None:
                self._ids.append(key)
                self._scales.append(scales[number])
                self._rows += row
            else:
                self._scales[place] = scales[number]
                self._rows[place * self.width : (place + 1) * self.width] = row

    def nearest(
        self, vector: Sequence[float], limit: int, floor: float, besides: Collection[int]
    ) -> list[tuple[int, float]]:
        """Return ids and similarities as `VectorIndex.nearest` does."""
        length = len(vector)
        rows = memoryview(self._rows).cast("b")
        try:
            near = [
                scale * sum(map(mul, rows[start : start + length], vector))
                for scale, start in zip(self._scales, range(0, len(rows), length), strict=True)
            ]
        finally:
            rows.release()
        every = sorted(zip(self._ids, near, strict=True), key=lambda pair: (-pair[1], -pair[0]))
        return [pair for place, pair in enumerate(every) if (place < limit and pair[1] >= floor) or pair[0] in besides]


@dataclass(slots=True)
class VectorBlock:
    """The vectors of one kind and theme in memory."""

    seq: int
    erased: int
    rows: VectorRows


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
            if not len(block.rows) or block.rows.width != len(vector):
                return []
            return block.rows.nearest(vector, limit, floor, besides)

    def load(self, kind: str, model: str, span: tuple[int, int]) -> None:
        """Load the vectors of a theme into memory, where `nearest` finds them."""
        with self._lock:
            self._block(kind, model, span)

    def forget(self) -> None:
        with self._lock:
            self._blocks.clear()

    def _block(self, kind: str, model: str, span: tuple[int, int]) -> VectorBlock:
        key = (kind, model, span[0])
        seq, erased = self._vectors.change_counts()
        block = self._blocks.get(key)
        if block is None or block.erased != erased:
            block = VectorBlock(0, erased, self._make_rows(0))
        if block.seq != seq:
            self._read(block, kind, model, span)
            block.seq = seq
        self._blocks[key] = block
        self._blocks.move_to_end(key)
        while len(self._blocks) > 1 and sum(one.rows.bytes_held for one in self._blocks.values()) > KEPT_BYTES:
            self._blocks.popitem(last=False)
        return block

    def _read(self, block: VectorBlock, kind: str, model: str, span: tuple[int, int]) -> None:
        most = MOST if self._numpy else MOST_WITHOUT_NUMPY
        rows = self._vectors.in_id_range(kind, model, *span, since=block.seq, newest=most)
        if not rows:
            return
        if len(block.rows) + len(rows) > most * SLACK:
            rows = self._vectors.in_id_range(kind, model, *span, newest=most)
            block.rows = self._make_rows(0)
        if not len(block.rows):
            block.rows = self._make_rows(len(rows[0][2]))
        rows = [row for row in rows if len(row[2]) == block.rows.width]
        block.rows.put([row[0] for row in rows], [row[1] for row in rows], b"".join(row[2] for row in rows))

    def _make_rows(self, width: int) -> VectorRows:
        if not self._numpy:
            return PlainRows(width)
        from hermes_memory_bridge.embedding.numpy_rows import NumpyRows

        return NumpyRows(width)


def to_unit_vector(vector: Sequence[float]) -> list[float]:
    length = math.sqrt(sum(map(mul, vector, vector)))
    return [value / length for value in vector]


def pack_unit_vector(vector: Sequence[float]) -> tuple[float, bytes]:
    """Quantize a unit vector to integers; return their scale and the integers.

    The scale is such that the quantized vector has length one, too.
    """
    step = max(map(abs, vector)) / QUANTIZATION_STEPS
    row = array("b", [round(value / step) for value in vector])
    return 1 / math.sqrt(sum(map(mul, row, row))), row.tobytes()
