"""What is near a question in a store that no bridge serves: by the vectors that are there, and a model on this machine.

For the command line, tests of a memory and measurements. No endpoint is asked, and nothing is waited for but the question's
own vector.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Self

from hermes_memory_bridge.embedding.embedder_protocol import EmbedderUnavailable, Floats
from hermes_memory_bridge.embedding.local_model import LocalModel, is_model_installed
from hermes_memory_bridge.embedding.query_vector import find_embeddable_words
from hermes_memory_bridge.embedding.vector_index import VectorIndex, pack_unit_vector, to_unit_vector
from hermes_memory_store.context.given import Nearest
from hermes_memory_store.database import driver
from hermes_memory_store.find.vector_file import KINDS, Vector, Vectors, vector_file_path

if TYPE_CHECKING:
    from hermes_memory_store.store import Store
    from hermes_memory_themes import EmbeddingSettings

log = logging.getLogger(__name__)

FILL_PAGE = 200
"""Facts or turns whose vectors are made at once."""


class LocalNearest:
    """Makes what finds the nearest to a question: call it with the question."""

    def __init__(self, store: Store, model: LocalModel, vectors: Vectors, floor: float) -> None:
        """:param floor: least similarity at which something counts as found by meaning"""
        self._store = store
        self._model = model
        self._vectors = vectors
        self._index = VectorIndex(vectors)
        self._floor = floor
        self._prepared: dict[str, Floats | None] = {}
        """Rows of questions that are about to be asked."""

    @property
    def ranked_by(self) -> str:
        """Describe the rankings, for `Recall.rank`."""
        return f"words and {self._model.name}"

    def prepare(self, questions: Iterable[str]) -> None:
        """Give many questions their vectors at once, which takes less than half as long as one by one."""
        phrases = (find_embeddable_words(question) for question in questions)
        words = [phrase for phrase in dict.fromkeys(phrases) if phrase is not None and phrase not in self._prepared]
        self._prepared |= zip(words, self._model.embed_batch(words), strict=True) if words else ()

    def __call__(self, question: str) -> Nearest | None:
        """Return what finds the nearest to a question.

        None where the question is meant literally, or cannot be given a vector.
        """
        words = find_embeddable_words(question)
        if words is None:
            return None
        row = self._prepared[words] if words in self._prepared else self._model.embed_batch([words])[0]
        if row is None:
            return None
        vector = to_unit_vector(row)

        def nearest(kind: str, theme: str, limit: int, besides: Collection[int]) -> list[tuple[int, float]]:
            span = self._store.embedding_inputs.id_range(theme)
            if span is None:
                return []
            try:
                return self._index.nearest(kind, self._model.key, span, vector, limit, self._floor, besides)
            except driver.Error as error:
                log.warning("vectors could not be read, recall goes on by words: %s", error)
                return []

        return nearest

    def fill(self) -> int:
        """Make the vectors that are missing, of a store of one's own that no bridge serves; return how many."""
        made = 0
        for kind in KINDS:
            after = 0
            while page := self._store.embedding_inputs.page(kind, after, FILL_PAGE):
                after = page[-1].id
                sources = self._vectors.find_sources(kind, [item.id for item in page])
                missing = [
                    item
                    for item in page
                    if (have := sources.get(item.id)) is None
                    or (have.uid, have.digest, have.model) != (item.uid, item.digest, self._model.key)
                ]
                rows = self._model.embed_batch([item.text for item in missing])
                vectors_made = [
                    Vector(
                        kind,
                        item.id,
                        item.uid,
                        item.digest,
                        self._model.key,
                        *pack_unit_vector(to_unit_vector(row)),
                    )
                    for item, row in zip(missing, rows, strict=True)
                    if row is not None
                ]
                self._vectors.save(vectors_made)
                made += len(vectors_made)
        return made

    def close(self) -> None:
        self._vectors.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_local_nearest(
    store: Store, settings: EmbeddingSettings | None = None, *, create: bool = False
) -> LocalNearest | None:
    """Open what finds the nearest to questions in a store, by the model on this machine that the settings choose.

    None where the settings choose none on this machine, none is installed, or the store has no vectors of it; then words
    answer.

    :param settings: those of the store's policies unless given
    :param create: open it without vectors, too, for `fill`
    """
    chosen = store.policies.embedding_settings() if settings is None else settings
    file = vector_file_path(Path(store.path))
    if chosen.speaks not in ("local", "auto") or not (create or file.exists()):
        return None
    if not (chosen.model or is_model_installed()):
        return None
    try:
        model = LocalModel.load(chosen.model)
        vectors = Vectors(Path(store.path))
        has_vectors = create or bool(vectors.total(model.key))
    except EmbedderUnavailable as error:
        log.warning("recall goes on by words: %s", error.said)
        return None
    except (OSError, driver.Error) as error:
        log.warning("vectors could not be read, recall goes on by words: %s", error)
        return None
    if not has_vectors:
        vectors.close()
        return None
    return LocalNearest(store, model, vectors, chosen.floor)
