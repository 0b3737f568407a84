"""What comes back from an endpoint is believed only as far as it can be checked."""

from __future__ import annotations

import logging
from email.utils import formatdate
from time import time

import pytest

from hermes_memory_bridge.embedding.embedder import KEY_NAME, KEY_THEME, build_embedder
from hermes_memory_bridge.embedding.embedder_protocol import EmbedderUnavailable, EmbeddingError, EmbeddingRejected
from hermes_memory_bridge.embedding.embedding_endpoint import EmbeddingEndpoint, to_endpoint_url
from hermes_memory_bridge.trust import Vault
from hermes_memory_themes import EmbeddingSettings
from tests.bridge.embedding.standin import StandIn, said, vector

KEY = "sk-embed-0123456789"


def endpoint(stand_in: StandIn, provider: str = "openai", key: str | None = None) -> EmbeddingEndpoint:
    return EmbeddingEndpoint(EmbeddingSettings(provider=provider, url=stand_in.url, model="counting"), key)


@pytest.mark.parametrize(("provider", "path"), [("openai", "/v1/embeddings"), ("ollama", "/api/embed")])
async def test_vectors_come_in_the_order_of_their_texts(stand_in: StandIn, provider: str, path: str) -> None:
    made = endpoint(stand_in, provider)
    assert await made.embed(["tea", "a car", "rain"], 5) == [vector(text, 64) for text in ("tea", "a car", "rain")]
    assert stand_in.paths == [path]
    await made.close()


@pytest.mark.parametrize(
    ("url", "openai", "whole"),
    [
        ("http://h:1", True, "http://h:1/v1/embeddings"),
        ("http://h:1/v1/", True, "http://h:1/v1/embeddings"),
        ("https://h/openai/v1/embeddings?version=2", True, "https://h/openai/v1/embeddings?version=2"),
        ("http://h:11434", False, "http://h:11434/api/embed"),
        ("http://h:11434/api", False, "http://h:11434/api/embed"),
        ("http://h/api/embed", False, "http://h/api/embed"),
    ],
)
def test_any_part_of_an_address_is_enough(url: str, openai: bool, whole: str) -> None:
    assert to_endpoint_url(url, openai=openai) == whole


@pytest.mark.parametrize(
    ("url", "speaks"),
    [
        ("http://h:11434", "ollama"),
        ("http://h/api/embed", "ollama"),
        ("http://h:11434/v1", "openai"),
        ("http://h", "openai"),
    ],
)
def test_the_form_follows_from_the_address(url: str, speaks: str) -> None:
    assert EmbeddingSettings(url=url).speaks == speaks


@pytest.mark.parametrize(
    ("status", "body", "what"),
    [
        (429, b"", "too many requests"),
        (401, b"", "the key is missing or wrong"),
        (404, b"", "no such model or address"),
        (500, b"boom", "HTTP 500"),
        (200, b"<html>", "no list of vectors"),
        (200, b"[" * 100_000, "no list of vectors"),
        (200, said({"data": []}), "no list of vectors"),
        (200, said({"data": [{"index": 0, "embedding": [1, 2]}, {"index": 0, "embedding": [1, 2]}]}), "no list"),
        (200, said({"data": [{"index": 7, "embedding": [1, 2]}]}), "no list of vectors"),
        (200, said({"data": [{"embedding": [1, 2]}, {"embedding": [1, 2, 3]}]}), "no list of vectors"),
        (200, said({"data": [{"embedding": ["a", "b"]}, {"embedding": [0, 0]}]}), "no list of vectors"),
        (200, said({"embeddings": [[1, 2]]}), "no list of vectors"),
        (200, b"x" * 1_000_000, "more than any vectors"),
    ],
)
async def test_what_is_no_list_of_vectors_is_said_in_words(
    stand_in: StandIn, status: int, body: bytes, what: str
) -> None:
    stand_in.fault = lambda _: (status, {}, body)
    made = endpoint(stand_in)
    with pytest.raises(EmbeddingError, match=what):
        await made.embed(["tea", "rain"], 5)
    await made.close()


async def test_half_a_batch_is_taken(stand_in: StandIn) -> None:
    stand_in.fault = lambda texts: (200, {}, said({"data": [{"index": 1, "embedding": [3.0, 4.0]}]}))
    made = endpoint(stand_in)
    assert await made.embed(["tea", "rain"], 5) == [None, [3.0, 4.0]]
    await made.close()


async def test_a_vector_that_is_none_spoils_no_other(stand_in: StandIn) -> None:
    stand_in.fault = lambda texts: (200, {}, b'{"data": [{"embedding": [NaN, 1.0]}, {"embedding": [3.0, 4.0]}]}')
    made = endpoint(stand_in)
    assert await made.embed(["tea", "rain"], 5) == [None, [3.0, 4.0]]
    await made.close()


async def test_a_text_that_is_too_long_is_told_from_trouble(stand_in: StandIn) -> None:
    stand_in.fault = lambda _: (400, {}, b"")
    made = endpoint(stand_in)
    with pytest.raises(EmbeddingRejected):
        await made.embed(["tea"], 5)
    await made.close()


@pytest.mark.parametrize(
    ("said_so", "least", "most"),
    [("7", 7, 7), ("999999", 3600, 3600), ("-5", None, None), ("soon", None, None), ("DATE", 20, 40)],
)
async def test_retry_after_is_heard(stand_in: StandIn, said_so: str, least: float | None, most: float) -> None:
    header = formatdate(time() + 30, usegmt=True) if said_so == "DATE" else said_so
    stand_in.fault = lambda _: (429, {"Retry-After": header}, b"")
    made = endpoint(stand_in)
    with pytest.raises(EmbeddingError) as caught:
        await made.embed(["tea"], 5)
    rest = caught.value.retry_after_s
    assert rest is None if least is None else rest is not None and least <= rest <= most
    await made.close()


async def test_an_endpoint_that_hangs_is_left_after_the_time_it_had(stand_in: StandIn) -> None:
    stand_in.slow.clear()
    made = endpoint(stand_in)
    with pytest.raises(EmbeddingError, match=r"within 0\.1 s"):
        await made.embed(["tea"], 0.1)
    await made.close()


async def test_nobody_there_is_said_in_words() -> None:
    made = EmbeddingEndpoint(EmbeddingSettings(provider="openai", url="http://127.0.0.1:9", model="m"), None)
    with pytest.raises(EmbeddingError, match="cannot be reached"):
        await made.embed(["tea"], 5)
    await made.close()


async def test_the_key_is_sent_and_never_said(stand_in: StandIn, caplog: pytest.LogCaptureFixture) -> None:
    stand_in.fault = lambda _: (401, {}, KEY.encode())
    made = endpoint(stand_in, key=KEY)
    with caplog.at_level(logging.DEBUG), pytest.raises(EmbeddingError) as caught:
        await made.embed(["the secret text"], 5)
    await made.close()
    assert stand_in.keys == [f"Bearer {KEY}"]
    assert KEY not in caplog.text + caught.value.said
    assert "the secret text" not in caplog.text + caught.value.said


def test_a_key_does_not_travel_in_the_clear() -> None:
    with pytest.raises(EmbedderUnavailable, match="in the clear"):
        EmbeddingEndpoint(EmbeddingSettings(provider="openai", url="http://example.org", model="m"), KEY)


async def test_the_key_comes_from_the_environment_else_from_the_vault(stand_in: StandIn, tmp_path: object) -> None:
    vault = Vault(tmp_path / "secrets.json", "file")  # type: ignore[operator]
    vault.keep(KEY_THEME, KEY_NAME, KEY)
    settings = EmbeddingSettings(provider="openai", url=stand_in.url, model="counting")
    for environ in ({}, {"HERMES_MEMORY_EMBED_KEY": "sk-other"}):
        made = build_embedder(settings, vault, environ)
        assert made is not None
        await made.embed(["tea"], 5)
        await made.close()
    assert stand_in.keys == [f"Bearer {KEY}", "Bearer sk-other"]


@pytest.mark.parametrize(
    "settings",
    [
        EmbeddingSettings(provider="openai"),
        EmbeddingSettings(url="http://127.0.0.1:1"),
        EmbeddingSettings(provider="ollama"),
    ],
)
def test_half_a_setting_is_said_in_words(settings: EmbeddingSettings) -> None:
    with pytest.raises(EmbedderUnavailable):
        build_embedder(settings, None, {})


def test_off_means_none() -> None:
    assert build_embedder(EmbeddingSettings(provider="off", url="http://127.0.0.1:1"), None, {}) is None
