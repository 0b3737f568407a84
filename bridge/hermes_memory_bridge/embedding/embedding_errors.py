"""Reasons for missing vectors, as messages a person can act on.

They stay in this package: recall continues by words.
"""

from __future__ import annotations


class EmbeddingError(Exception):
    """No vectors were returned.

    EmbeddingError
    ├── EmbeddingRejected    the endpoint rejects these texts, and would again
    └── EmbedderUnavailable  there is no source, until a person changes a setting or installs something
    """

    def __init__(self, said: str, retry_after_s: float | None = None) -> None:
        super().__init__(said)
        self.said = said
        self.retry_after_s = retry_after_s
        """How long the endpoint asked to be left alone."""


class EmbeddingRejected(EmbeddingError):
    """These texts are the cause: the others of their batch may succeed without them."""


class EmbedderUnavailable(EmbeddingError):
    """Retrying changes nothing."""
