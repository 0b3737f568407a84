"""The interface of every source of vectors, and why there may be none: messages a person can act on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

Floats = Sequence[float]


class Embedder(Protocol):
    name: str
    """Of the model, as answers say it."""
    batch: int
    """Texts that are best given at once in the background."""
    gentle: bool
    """Whether it computes on this machine, and should rest as long as it works."""

    async def embed(self, texts: Sequence[str], timeout_s: float) -> list[Floats | None]:
        """Embed each text; None where no vector came. :raises EmbeddingError: none came at all"""
        ...

    async def close(self) -> None: ...


class EmbeddingError(Exception):
    """No vectors were returned.

    EmbeddingError
    ├── EmbeddingRejected    the endpoint rejects these texts, and would again
    └── EmbedderUnavailable  there is no source, until a person changes a setting or installs something
    """

    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.said = message
        self.retry_after_s = retry_after_s
        """How long the endpoint asked to be left alone."""


class EmbeddingRejected(EmbeddingError):
    """These texts are the cause: the others of their batch may succeed without them."""


class EmbedderUnavailable(EmbeddingError):
    """Retrying changes nothing."""
