"""Why there are no vectors, in a sentence a person can act on. It never leaves this room: recall goes on by words."""

from __future__ import annotations


class EmbeddingError(Exception):
    """No vectors came.

    EmbeddingError
    ├── Refused      the endpoint will not take these texts, and would not the next time
    └── Unavailable  there is nothing to ask, until a person changes a setting or installs something
    """

    def __init__(self, said: str, retry_after_s: float | None = None) -> None:
        super().__init__(said)
        self.said = said
        self.retry_after_s = retry_after_s
        """How long the endpoint asked to be left alone."""


class Refused(EmbeddingError):
    """These texts are the trouble: the others of their batch may pass without them."""


class Unavailable(EmbeddingError):
    """Trying again changes nothing."""
