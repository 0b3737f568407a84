"""The multilingual encoder, with weights that mean nothing; and with the real ones where they are installed."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from hermes_memory_bridge.embedding import local_model
from hermes_memory_bridge.embedding.embedder_protocol import EmbedderUnavailable
from hermes_memory_bridge.embedding.model_catalogue import USE
from tests.bridge.embedding.test_local import tiny

pytestmark = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("numpy", "sentencepiece")),
    reason="the extra `local` is not installed",
)
weights_there = pytest.mark.skipif(not USE.is_there, reason="the weights are not installed")

PARTS, ROWS, SIZE, NEAR, HIDDEN = 3, 40, 8, 4, 6
SENTENCES = "the car is in the garage\nmy house has a big door\nle chat dort sur la chaise\n日本 は 島 です\n" * 20


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model with the shape of the real one."""
    import numpy as np
    import sentencepiece

    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES.splitlines()),
        model_prefix=str(tmp_path / "sp"),
        vocab_size=90,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    chance = np.random.default_rng(1)

    def some(*shape: int) -> Any:
        return chance.standard_normal(shape).astype(np.float32)

    weights = {f"q{number}": chance.integers(0, 64, (ROWS, SIZE)).astype(np.uint8) for number in range(1, PARTS + 1)}
    weights |= {"scale": np.full(PARTS, 0.1, np.float32), "lo": np.full(PARTS, -3.0, np.float32), "eps": np.array(1e-6)}
    for width in (2, 3, 5):
        weights |= {f"proj{width}": some(SIZE, NEAR), f"proj_b{width}": some(NEAR)}
        weights |= {f"ln_g{width}": some(NEAR), f"ln_b{width}": some(NEAR)}
        for step in (1, 2):
            weights |= {f"w{step}_{width}": some(NEAR * width, NEAR), f"b{step}_{width}": some(NEAR)}
    whole = SIZE + 3 * NEAR
    weights |= {"ln_g": some(whole), "ln_b": some(whole), "cnn_W": some(whole, SIZE), "cnn_b": some(SIZE)}
    weights |= {"d0": some(SIZE, HIDDEN), "p1": some(SIZE, HIDDEN), "d1": some(HIDDEN, HIDDEN)}
    weights |= {"d2": some(HIDDEN, SIZE), "p3": some(HIDDEN, SIZE), "d3": some(SIZE, SIZE)}
    np.savez_compressed(tmp_path / "weights.npz", **weights)
    return tmp_path


async def vectors_of(chosen: str, texts: Sequence[str]) -> list[Any]:
    model = local_model.LocalModel.load(chosen)
    try:
        return await model.embed(texts, 30)
    finally:
        await model.close()


async def test_a_text_has_the_same_vector_alone_and_among_others(folder: Path) -> None:
    texts = ["the car", "", "le chat dort " * 300, "日本", "😀 the door", "a"]
    together = await vectors_of(str(folder), texts)
    for text, here in zip(texts, together, strict=True):
        (alone,) = await vectors_of(str(folder), [text])
        assert here == pytest.approx(alone, abs=1e-5)
        assert sum(one * one for one in here) == pytest.approx(1, abs=1e-4)
    model = local_model.LocalModel.load(str(folder))
    assert model.name.startswith(folder.name + "-"), "weights of one's own are told from the published ones"
    assert model.key.endswith(":8")


async def test_two_encoders_make_one_vector_whose_similarity_is_their_mean(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    tiny(other)
    texts = ["play the car", "a door"]
    parts = [await vectors_of(str(one), texts) for one in (folder, other)]
    joined = await vectors_of(f"{folder}+{other}", texts)

    def similarity(rows: list[Any]) -> float:
        return sum(a * b for a, b in zip(*rows, strict=True))

    assert similarity(joined) == pytest.approx(sum(map(similarity, parts)) / 2, abs=1e-5)
    assert local_model.LocalModel.load(f"{folder}+{other}").name.count("+") == 1


@pytest.mark.parametrize("name", ["weights.npz", "sp.model"])
@pytest.mark.parametrize("part", [0.0, 0.5, 0.99])
def test_a_damaged_file_is_said_in_words(folder: Path, name: str, part: float) -> None:
    file = folder / name
    whole = file.read_bytes()
    file.write_bytes(whole[: int(len(whole) * part)])
    with pytest.raises(EmbedderUnavailable, match="no model that can be read"):
        local_model.LocalModel.load(str(folder))


def test_weights_that_do_not_fit_together_are_refused(folder: Path) -> None:
    import numpy as np

    with np.load(folder / "weights.npz") as file:
        weights = dict(file)
    for name, wrong in (("cnn_W", weights["cnn_W"][:-1]), ("q1", weights["q1"][:2]), ("d3", None)):
        changed = {key: value for key, value in (weights | {name: wrong}).items() if value is not None}
        np.savez_compressed(folder / "weights.npz", **changed)
        with pytest.raises(EmbedderUnavailable, match="no model that can be read"):
            local_model.LocalModel.load(str(folder))


def test_objects_in_the_weights_are_never_unpickled(folder: Path) -> None:
    import numpy as np

    np.savez(folder / "weights.npz", eps=np.array([print], dtype=object))
    with pytest.raises(EmbedderUnavailable, match="no model that can be read"):
        local_model.LocalModel.load(str(folder))


@weights_there
async def test_vectors_are_those_of_the_published_model() -> None:
    (row,) = await vectors_of(USE.name, ["Hello world"])
    assert list(row[:4]) == pytest.approx([0.077349, 0.019842, 0.026492, 0.043944], abs=1e-5)


@weights_there
async def test_a_question_in_another_language_is_near_its_answer() -> None:
    asked, answer, other = await vectors_of(
        USE.name, ["où est le serveur ?", "the server stands in Frankfurt", "the invoice is due on Friday"]
    )

    def alike(row: Sequence[float]) -> float:
        return sum(a * b for a, b in zip(asked, row, strict=True))

    assert alike(answer) > alike(other)
