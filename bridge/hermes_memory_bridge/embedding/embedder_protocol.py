"""The interface of every source of vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

Floats = Sequence[float]


class Embedder(Protocol):
    """A source of vectors."""

    name: str
    """Of the model, as answers say it."""
    batch: int
    """Texts that are best given at once in the background."""
    gentle: bool
    """Whether it computes on this machine, and should rest as long as it works."""

    async def embed(self, texts: Sequence[str], timeout_s: float) -> list[Floats | None]:
        """Embed each text; None where no vector came.

        :raises EmbeddingError: none came at all
        """
        ...

    async def close(self) -> None: ...
