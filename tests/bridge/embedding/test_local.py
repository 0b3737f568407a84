"""The model of this machine: its words are those it was trained on, and without it there are words."""

from __future__ import annotations

import importlib.util
import json
import math
import random
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from hermes_memory_bridge.embedding import local_model
from hermes_memory_bridge.embedding.embedder_protocol import EmbedderUnavailable
from hermes_memory_bridge.embedding.model_catalogue import MINILM
from hermes_memory_bridge.embedding.wordpiece import WordPieceTokenizer, split_wordpiece_words

numpy_there = pytest.mark.skipif(importlib.util.find_spec("numpy") is None, reason="the extra `local` is not installed")
weights_there = pytest.mark.skipif(
    not local_model.is_numpy_installed() or local_model.find_installed_folder(MINILM.name) is None,
    reason="the weights are not installed",
)

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "play", "##ing", "##s", "cafe", "a", ",", "漢", "字"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Playing a café, PLAYS", ["play", "##ing", "a", "cafe", ",", "play", "##s"]),
        ("漢字", ["漢", "字"]),
        ("zzz", ["[UNK]"]),
        ("play" * 40, ["[UNK]"]),
        ("a\u200b\x00a\u00a0a", ["[UNK]", "a"]),
        ("", []),
    ],
)
def test_texts_are_taken_apart_as_the_model_was_trained(tmp_path: Path, text: str, found: list[str]) -> None:
    (tmp_path / "vocab.txt").write_text("\n".join(PIECES) + "\n", encoding="utf-8")
    numbers = WordPieceTokenizer(tmp_path / "vocab.txt").token_ids(text, 64)
    assert [PIECES[number] for number in numbers] == ["[CLS]", *found, "[SEP]"]


def test_a_long_text_is_cut_between_its_marks(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("\n".join(PIECES) + "\n", encoding="utf-8")
    numbers = WordPieceTokenizer(tmp_path / "vocab.txt").token_ids("a " * 500, 8)
    assert [PIECES[number] for number in numbers] == ["[CLS]", *["a"] * 6, "[SEP]"]


def test_words_end_at_punctuation_and_ideographs() -> None:
    assert list(split_wordpiece_words("It's 5€ (naïve) 日本")) == ["it", "'", "s", "5€", "(", "naive", ")", "日", "本"]


def tiny(folder: Path, seed: int = 1) -> Path:
    """A model with the shape of the real one, and weights that mean nothing."""
    size, wide, chance = 8, 16, random.Random(seed)
    (folder / "vocab.txt").write_text("\n".join(PIECES) + "\n", encoding="utf-8")
    config = {
        "model_type": "bert",
        "hidden_act": "gelu",
        "hidden_size": size,
        "num_attention_heads": 2,
        "num_hidden_layers": 1,
        "layer_norm_eps": 1e-12,
    }
    (folder / "config.json").write_text(json.dumps(config))
    shapes = {
        "embeddings.word_embeddings.weight": [len(PIECES), size],
        "embeddings.position_embeddings.weight": [256, size],
        "embeddings.token_type_embeddings.weight": [2, size],
        "embeddings.LayerNorm.weight": [size],
        "embeddings.LayerNorm.bias": [size],
    }
    layer = "encoder.layer.0."
    for name, out, into in (
        ("attention.self.query", size, size),
        ("attention.self.key", size, size),
        ("attention.self.value", size, size),
        ("attention.output.dense", size, size),
        ("intermediate.dense", wide, size),
        ("output.dense", size, wide),
    ):
        shapes |= {f"{layer}{name}.weight": [out, into], f"{layer}{name}.bias": [out]}
    for name in ("attention.output.LayerNorm", "output.LayerNorm"):
        shapes |= {f"{layer}{name}.weight": [size], f"{layer}{name}.bias": [size]}
    header, body = {}, b""
    for name, shape in shapes.items():
        row = struct.pack(f"<{math.prod(shape)}f", *(chance.gauss(0, 1) for _ in range(math.prod(shape))))
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(body), len(body) + len(row)]}
        body += row
    head = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(len(head).to_bytes(8, "little") + head + body)
    return folder


@numpy_there
async def test_a_text_has_the_same_vector_alone_and_among_others(tmp_path: Path) -> None:
    model = local_model.LocalModel.load(str(tiny(tmp_path)))
    texts = ["play", "a cafe, playing", "", "plays a play " * 20]
    together = await model.embed(texts, 30)
    alone = [(await model.embed([text], 30))[0] for text in texts]
    await model.close()
    for here, there in zip(together, alone, strict=True):
        assert here is not None
        assert there is not None
        assert here == pytest.approx(there, abs=1e-5)
        assert sum(one * one for one in here) == pytest.approx(1)
    assert model.name.startswith(tmp_path.name + "-"), "weights of one's own are told from the published ones"


@numpy_there
async def test_the_folder_says_what_stands_for_the_whole_text(tmp_path: Path) -> None:
    pooling = tiny(tmp_path) / "1_Pooling" / "config.json"
    pooling.parent.mkdir()

    async def vector(**ways: bool) -> Sequence[float] | None:
        pooling.write_text(json.dumps({"word_embedding_dimension": 8} | ways))
        (found,) = await local_model.LocalModel.load(str(tmp_path)).embed(["play a"], 10)
        return found

    mean = await vector(pooling_mode_cls_token=False, pooling_mode_mean_tokens=True)
    first = await vector(pooling_mode_cls_token=True, pooling_mode_mean_tokens=False)
    pooling.unlink()
    assert (await local_model.LocalModel.load(str(tmp_path)).embed(["play a"], 10)) == [mean]
    assert first is not None
    assert first != mean
    assert math.isclose(sum(one * one for one in first), 1.0, rel_tol=1e-5)
    with pytest.raises(EmbedderUnavailable, match="max_tokens"):
        await vector(pooling_mode_max_tokens=True)


@numpy_there
@pytest.mark.parametrize("spoil", ["model.safetensors", "vocab.txt", "config.json"])
def test_a_folder_without_a_model_is_said_in_words(tmp_path: Path, spoil: str) -> None:
    (tiny(tmp_path) / spoil).write_bytes(b"")
    with pytest.raises(EmbedderUnavailable, match="no model that can be read"):
        local_model.LocalModel.load(str(tmp_path))


def test_without_the_weights_it_is_said_how_to_install_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERMES_HOME", str(tmp_path))
    monkeypatch.setattr(local_model, "PACKAGE", "no_such_package")
    assert not local_model.is_model_installed()
    with pytest.raises(EmbedderUnavailable, match=r"install .*numpy"):
        local_model.LocalModel.load()


def test_nothing_heavy_is_imported_before_a_model_is_meant() -> None:
    said = "import sys, hermes_memory_bridge.daemon.daemon; print({'numpy', 'httpx'} & set(sys.modules) - {'httpx'})"
    out = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "set()"


@weights_there
async def test_what_means_the_same_is_nearer_than_what_shares_words() -> None:
    model = local_model.LocalModel.load(MINILM.name)
    assert model.name == "all-MiniLM-L6-v2"
    one, like, unlike = await model.embed(
        ["The car is in the garage.", "An automobile stands inside.", "The carpet is in the cupboard."], 60
    )
    await model.close()
    assert one is not None
    assert like is not None
    assert unlike is not None

    def alike(other: Sequence[float]) -> float:
        return sum(a * b for a, b in zip(one, other, strict=True))

    assert alike(like) > alike(unlike)


@weights_there
async def test_vectors_are_those_that_sentence_transformers_makes() -> None:
    model = local_model.LocalModel.load(MINILM.name)
    (row,) = await model.embed(["This is an example sentence"], 60)
    await model.close()
    assert row is not None
    assert list(row[:4]) == pytest.approx([0.0676569, 0.0634960, 0.0487131, 0.0793050], abs=1e-5)
