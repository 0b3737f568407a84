"""What finds by meaning for one command: the vectors that are there, and a model on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hermes_memory_store.context.given import MakeNearest
from hermes_memory_store.find.vector_file import vector_file_path
from hermes_memory_store.store import Store


@contextmanager
def find_by_meaning(store: Store, *, by_words: bool = False) -> Iterator[MakeNearest | None]:
    """Yield what finds by meaning with the vectors that are there and a model on this machine; None where words answer."""
    if by_words or not vector_file_path(store.path).exists():
        yield None
        return
    from hermes_memory_bridge.embedding.local_nearest import (
        open_local_nearest,  # here, not above: it imports asyncio, and most stores have no vectors
    )

    near = open_local_nearest(store)
    if near is None:
        yield None
        return
    with near:
        yield near
