"""Vectors from an endpoint: OpenAI's API (`/v1/embeddings`, which most servers use) or Ollama's (`/api/embed`).

Responses are trusted only as far as they can be checked: as many vectors as texts, finite numbers, all of one
length. No text sent, no key and no response body is ever logged or shown.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import httpx

from hermes_memory_bridge.embedding.embedder_protocol import (
    EmbedderUnavailable,
    EmbeddingError,
    EmbeddingRejected,
    Floats,
)
from hermes_memory_themes import EmbeddingSettings

MOST_BYTES = 200_000
"""Of an answer, for each text: a vector of 4,096 numbers in full takes 90 KB."""

MOST_NUMBERS = 8_192
"""Dimensions of a vector at most."""

LONGEST_RETRY_AFTER_S = 3_600.0
"""However long an endpoint asks to be left alone, it is tried again after this."""

TEXTS_AT_FAULT = frozenset({400, 413, 422})
"""Answers that mean the texts: too long, or not what it takes."""

ADVICE = {
    401: ": the key is missing or wrong",
    403: ": the key is missing or wrong",
    404: ": no such model or address",
    429: ": too many requests",
}

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class EmbeddingEndpoint:
    """An endpoint and one of its models."""

    gentle = False

    def __init__(
        self, settings: EmbeddingSettings, key: str | None, transport: httpx.AsyncBaseTransport | None = None
    ) -> None:
        """Configure an endpoint. :raises EmbedderUnavailable: a key would be sent unencrypted"""
        self.name = settings.model
        self.batch = settings.batch
        self._openai = settings.speaks == "openai"
        self.url = to_endpoint_url(settings.url, openai=self._openai)
        parts = urlsplit(self.url)
        self.where = parts.netloc
        local = parts.hostname in LOOPBACK
        if key and parts.scheme == "http" and not local:
            raise EmbedderUnavailable(f"the key would travel to {self.where} in the clear; use https://, or no key")
        headers = {"authorization": f"Bearer {key}"} if key else {}
        # A proxy of the environment is for the world outside.
        self._client = httpx.AsyncClient(headers=headers, trust_env=not local, transport=transport)

    async def embed(self, texts: Sequence[str], timeout_s: float) -> list[Floats | None]:
        request: dict[str, Any] = {"model": self.name, "input": list(texts)}
        if self._openai:
            request["encoding_format"] = "float"
        status, headers, body = await self._answer(request, timeout_s, MOST_BYTES * (len(texts) + 1))
        if status in TEXTS_AT_FAULT:
            raise EmbeddingRejected(f"{self.where} refuses a text (HTTP {status})")
        if status != 200:
            raise EmbeddingError(
                f"{self.where} answers HTTP {status}{ADVICE.get(status, '')}", parse_retry_after(headers)
            )
        try:
            document = json.loads(body)
            rows = order_by_index(document["data"], len(texts)) if self._openai else document["embeddings"]
            vectors = check_vectors(rows, len(texts))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise EmbeddingError(f"{self.where} answers what is no list of vectors") from None
        if vectors == [None]:
            raise EmbeddingRejected(f"{self.where} gives no vector for a text")
        return vectors

    async def close(self) -> None:
        await self._client.aclose()

    async def _answer(self, request: dict[str, Any], timeout_s: float, most: int) -> tuple[int, httpx.Headers, bytes]:
        try:
            async with self._client.stream("POST", self.url, json=request, timeout=timeout_s) as answer:
                body = bytearray()
                async for part in answer.aiter_bytes():
                    body += part
                    if len(body) > most:
                        raise EmbeddingError(f"{self.where} answers more than any vectors could be")
                return answer.status_code, answer.headers, bytes(body)
        except httpx.TimeoutException:
            raise EmbeddingError(f"{self.where} does not answer within {timeout_s:g} s") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise EmbeddingError(f"{self.where} cannot be reached ({type(error).__name__})") from None


def to_endpoint_url(url: str, *, openai: bool) -> str:
    """Return the complete URL, whichever part of it was given."""
    parts = urlsplit(url)
    path = parts.path.rstrip("/")
    if openai and not path.endswith("/embeddings"):
        path = f"{path or '/v1'}/embeddings"
    elif not openai and not path.endswith("/embed"):
        path = f"{path.removesuffix('/api')}/api/embed"
    return urlunsplit(parts._replace(path=path, fragment=""))


def order_by_index(data: Any, texts: int) -> list[Any]:
    """Order vectors as their texts; None where one is missing. :raises ValueError: two for one text"""
    rows: list[Any] = [None] * texts
    for at, entry in enumerate(data):
        index = entry.get("index", at)
        if type(index) is not int or not 0 <= index < texts or rows[index] is not None:
            raise ValueError("index")
        rows[index] = entry["embedding"]
    return rows


def check_vectors(rows: Any, texts: int) -> list[Floats | None]:
    """Return a vector for each text, None where none came or it is invalid: the model could not embed one text.

    :raises ValueError: too many, none at all, or differing lengths
    """
    if not isinstance(rows, list) or len(rows) > texts:
        raise ValueError("rows")
    vectors: list[Floats | None] = []
    for row in [*rows, *[None] * (texts - len(rows))]:
        try:
            vectors.append(parse_vector(row))
        except (ValueError, TypeError):
            vectors.append(None)
    lengths = {len(vector) for vector in vectors if vector is not None}
    if len(lengths) > 1 or (texts > 1 and not lengths):
        raise ValueError("lengths")
    return vectors


def parse_vector(row: Any) -> list[float]:
    if not isinstance(row, list) or not 2 <= len(row) <= MOST_NUMBERS:
        raise ValueError("vector")
    if any(type(number) not in (int, float) for number in row):
        raise TypeError("number")
    vector = [float(number) for number in row]
    if not all(map(math.isfinite, vector)) or not any(vector):
        raise ValueError("number")
    return vector


def parse_retry_after(headers: httpx.Headers) -> float | None:
    """Return the seconds that `Retry-After` requests, given as a number or a date."""
    header = headers.get("retry-after")
    if header is None:
        return None
    try:
        rest = float(header) if header.strip().isdigit() else parsedate_to_datetime(header).timestamp() - time.time()
    except (ValueError, TypeError, OverflowError):
        return None
    return min(max(rest, 0.0), LONGEST_RETRY_AFTER_S)
