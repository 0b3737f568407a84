"""A store that no bridge serves is asked by the vectors that are there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hermes_memory_bridge.embedding.local_model import LocalModel
from hermes_memory_bridge.embedding.local_nearest import LocalNearest, open_local_nearest
from hermes_memory_store.model import FactType, Notation
from hermes_memory_store.store import Store
from hermes_memory_themes import EmbeddingSettings
from tests.bridge.embedding.test_local import numpy_there, tiny

pytestmark = numpy_there


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "memory.db") as opened:
        for number, content in enumerate(("play a cafe", "plays", "a , a"), 1):
            opened.facts.write("ops", Notation(FactType.VALUE, f"part.{number}", content))
        yield opened


@pytest.fixture
def settings(tmp_path: Path) -> EmbeddingSettings:
    folder = tmp_path / "model"
    folder.mkdir()
    return EmbeddingSettings(provider="local", model=str(tiny(folder)), floor=0.0)


def filled(store: Store, settings: EmbeddingSettings) -> LocalNearest:
    found = open_local_nearest(store, settings, create=True)
    assert found is not None
    assert found.fill() == 3
    assert found.fill() == 0, "what has a vector keeps it"
    return found


def test_a_question_finds_what_has_vectors(store: Store, settings: EmbeddingSettings) -> None:
    with filled(store, settings) as finder:
        nearest = finder("plays")
        assert nearest is not None
        keys = [one.id for one in store.embedding_inputs.page("fact", 0, 10)]
        found = nearest("fact", "ops", 2, keys)
        assert {key for key, _ in found} == set(keys), "those asked for are compared however far they are"
        assert nearest("fact", "elsewhere", 2, ()) == []
        given = store.recall.rank(["ops"], "plays", nearest=nearest, ranked_by=finder.ranked_by)
    assert given.ranked_by.startswith("words and model-")
    assert len(given.items) == 3


def test_many_questions_are_given_their_vectors_at_once(
    store: Store, settings: EmbeddingSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with filled(store, settings) as finder:
        nearest = finder("plays")
        assert nearest is not None
        alone = nearest("fact", "ops", 3, ())
        batches: list[list[str]] = []
        embed = LocalModel.embed_batch
        monkeypatch.setattr(LocalModel, "embed_batch", lambda self, texts: batches.append(texts) or embed(self, texts))
        finder.prepare(["plays", "a cafe", "plays", '"literally"'])
        nearest = finder("plays")
        assert nearest is not None
        assert [key for key, _ in nearest("fact", "ops", 3, ())] == [key for key, _ in alone]
        assert finder('"literally"') is None
        assert batches == [["plays", "a cafe"]]


def test_a_question_that_is_meant_literally_has_no_vector(store: Store, settings: EmbeddingSettings) -> None:
    with filled(store, settings) as finder:
        assert finder('"plays"') is None
        assert finder("type:value") is None


def test_without_vectors_words_answer(store: Store, settings: EmbeddingSettings, tmp_path: Path) -> None:
    assert open_local_nearest(store, settings) is None
    assert not (tmp_path / "memory.db.vectors").exists(), "a look creates nothing"
    filled(store, settings).close()
    assert open_local_nearest(store, replace(settings, provider="off")) is None
    assert open_local_nearest(store, replace(settings, model=str(tmp_path / "none"))) is None
    with (again := open_local_nearest(store, settings)) or pytest.fail("it has vectors"):
        assert again("play") is not None


def test_vectors_of_another_model_are_not_compared(store: Store, settings: EmbeddingSettings, tmp_path: Path) -> None:
    filled(store, settings).close()
    other = tmp_path / "other"
    other.mkdir()
    tiny(other, seed=2)
    assert open_local_nearest(store, replace(settings, model=str(other))) is None
