"""A sentence encoder of the MiniLM family with numpy alone: no endpoint, no torch, nothing loaded from a hub.

It reads a folder as sentence-transformers saves it (`model.safetensors`, `vocab.txt`, `config.json`, and
`1_Pooling/config.json` if present). The weights are memory-mapped: what no text needs is never loaded. See
`local_model.py` for where the folder comes from.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hermes_memory_bridge.embedding.wordpiece import WordPieceTokenizer

Matrix: TypeAlias = NDArray[np.float32]

LENGTH = 256
"""Pieces of a text that count, as the model was made for."""

TOKENS_PER_BATCH = 512
"""Pieces computed at once: more no longer makes better use of a core, and would only take memory."""


class MiniLmEncoder:
    """The encoder: texts in, unit vectors out."""

    def __init__(self, folder: Path) -> None:
        """Load the model of a folder.

        :raises OSError: a file is missing
        :raises ValueError: it is no model of this family
        :raises KeyError: it is no model of this family
        """
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        if config.get("model_type") != "bert" or config.get("hidden_act") != "gelu":
            raise ValueError(f"{folder} holds a {config.get('model_type')} model; only BERT encoders are known")
        self.dimensions = int(config["hidden_size"])
        self._heads = int(config["num_attention_heads"])
        self._small = float(config["layer_norm_eps"])
        self._by_first = is_cls_pooled(folder)
        self._pieces = WordPieceTokenizer(folder / "vocab.txt")
        weights = load_safetensors(folder / "model.safetensors")
        self._words = weights["embeddings.word_embeddings.weight"]
        self._places = (
            weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][0]
        )
        self._norm = find_layer_norm(weights, "embeddings.LayerNorm")
        self._layers = [
            TransformerLayer(weights, number, self._heads, self._small) for number in range(config["num_hidden_layers"])
        ]

    def embed(self, texts: Sequence[str]) -> Matrix:
        numbered = [self._pieces.token_ids(text, LENGTH) for text in texts]
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        batch: list[int] = []
        for at in sorted(range(len(texts)), key=lambda number: len(numbered[number])):
            # Those of like length together: what is added to make them equal is computed for nothing.
            if batch and len(numbered[at]) * (len(batch) + 1) > TOKENS_PER_BATCH:
                vectors[batch] = self._encode_batch([numbered[number] for number in batch])
                batch = []
            batch.append(at)
        if batch:
            vectors[batch] = self._encode_batch([numbered[number] for number in batch])
        return vectors

    def _encode_batch(self, batch: list[list[int]]) -> Matrix:
        longest = max(map(len, batch))
        numbers = np.zeros((len(batch), longest), np.int64)
        real = np.zeros((len(batch), longest), np.float32)
        for row, tokens in enumerate(batch):
            numbers[row, : len(tokens)] = tokens
            real[row, : len(tokens)] = 1
        state = normalize_layer(self._words[numbers] + self._places[:longest], self._norm, self._small)
        unseen = None if real.all() else ((1 - real) * -1e9)[:, None, None, :]
        for layer in self._layers:
            state = layer.apply(state, unseen)
        whole = state[:, 0] if self._by_first else (state * real[:, :, None]).sum(1) / real.sum(1, keepdims=True)
        unit: Matrix = whole / np.linalg.norm(whole, axis=1, keepdims=True)
        return unit


class TransformerLayer:
    """A transformer layer: attention, then feed-forward, each added to its input and normalized."""

    def __init__(self, weights: dict[str, Matrix], number: int, heads: int, small: float) -> None:
        at = f"encoder.layer.{number}."
        self._heads, self._small = heads, small
        parts = [at + f"attention.self.{name}" for name in ("query", "key", "value")]
        # One product instead of three; transposed once, here.
        self._asks = np.concatenate([weights[part + ".weight"] for part in parts]).T.copy()
        self._asks_bias = np.concatenate([weights[part + ".bias"] for part in parts])
        self._out = np.array(weights[at + "attention.output.dense.weight"].T, order="C")
        self._out_bias = weights[at + "attention.output.dense.bias"]
        self._out_norm = find_layer_norm(weights, at + "attention.output.LayerNorm")
        self._wide = np.array(weights[at + "intermediate.dense.weight"].T, order="C")
        self._wide_bias = weights[at + "intermediate.dense.bias"]
        self._narrow = np.array(weights[at + "output.dense.weight"].T, order="C")
        self._narrow_bias = weights[at + "output.dense.bias"]
        self._norm = find_layer_norm(weights, at + "output.LayerNorm")

    def apply(self, state: Matrix, unseen: Matrix | None) -> Matrix:
        rows, length, size = state.shape
        each = size // self._heads
        flat = state.reshape(rows * length, size)
        queries = (
            (flat @ self._asks + self._asks_bias).reshape(rows, length, 3, self._heads, each).transpose(2, 0, 3, 1, 4)
        )
        weight = queries[0] @ queries[1].swapaxes(2, 3) / math.sqrt(each)
        if unseen is not None:
            weight += unseen
        weight = np.exp(weight - weight.max(-1, keepdims=True))
        weight /= weight.sum(-1, keepdims=True)
        seen = (weight @ queries[2]).transpose(0, 2, 1, 3).reshape(rows * length, size)
        flat = normalize_layer(flat + seen @ self._out + self._out_bias, self._out_norm, self._small)
        wide = compute_gelu(flat @ self._wide + self._wide_bias)
        flat = normalize_layer(flat + wide @ self._narrow + self._narrow_bias, self._norm, self._small)
        return flat.reshape(rows, length, size)


def is_cls_pooled(folder: Path) -> bool:
    """Check whether the first token stands for the whole text instead of the mean of all.

    Models of the BGE family work so.

    :raises ValueError: the folder asks for neither
    """
    try:
        config = json.loads((folder / "1_Pooling" / "config.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return False
    ways = {
        name.removeprefix("pooling_mode_") for name, on in config.items() if name.startswith("pooling_") and on is True
    }
    if ways not in ({"cls_token"}, {"mean_tokens"}):
        raise ValueError(f"{folder} makes one vector of a text by {', '.join(sorted(ways)) or 'nothing'}")
    return ways == {"cls_token"}


def normalize_layer(state: Matrix, norm: tuple[Matrix, Matrix], small: float) -> Matrix:
    state = state - state.mean(-1, keepdims=True)
    state /= np.sqrt(np.square(state).mean(-1, keepdims=True) + small)
    normalized: Matrix = state * norm[0] + norm[1]
    return normalized


def compute_gelu(x: Matrix) -> Matrix:
    """Compute the Gaussian error linear unit with erf by Abramowitz and Stegun 7.1.26 (error at most 1.5e-7).

    numpy has no erf.
    """
    y = np.abs(x) * np.float32(1 / math.sqrt(2))
    t = 1 / (1 + np.float32(0.3275911) * y)
    tail = np.float32(1.061405429) * t
    for factor in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        tail = (tail + np.float32(factor)) * t
    tail *= np.exp(-y * y)
    activated: Matrix = x * np.where(x >= 0, 1 - tail / 2, tail / 2)
    return activated


def find_layer_norm(weights: dict[str, Matrix], name: str) -> tuple[Matrix, Matrix]:
    return weights[name + ".weight"], weights[name + ".bias"]


def load_safetensors(file: Path) -> dict[str, Matrix]:
    """Memory-map the matrices of a safetensors file. :raises ValueError: it is none, or holds no 32-bit floats"""
    with file.open("rb") as handle:
        size = int.from_bytes(handle.read(8), "little")
        if not 0 < size < 10_000_000:
            raise ValueError(f"{file} is no safetensors file")
        header: dict[str, Any] = json.loads(handle.read(size))
    whole = np.memmap(file, np.uint8, "r")
    matrices: dict[str, Matrix] = {}
    for name, tensor in header.items():
        if name == "__metadata__" or tensor["dtype"] != "F32":
            continue
        low, high = (8 + size + offset for offset in tensor["data_offsets"])
        matrices[name.removeprefix("bert.")] = whole[low:high].view("<f4").reshape(tensor["shape"])
    return matrices
