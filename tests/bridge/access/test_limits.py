"""Limits of the HTTP door, exactly: what stands on a limit is let in, one step beyond it is refused."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from hermes_memory_bridge.access.http_refusal import CLOSE, HttpRefused
from hermes_memory_bridge.access.rate_limits import TokenBuckets
from hermes_memory_bridge.access.request_body import BodyMemory, RequestBody, drain_body, send_http_refusal
from hermes_memory_bridge.access.wrong_tokens import WrongTokens, compute_refusal_delay

MIB = 1024 * 1024


class Line:
    """A client's side of a connection: pieces that it sends, then silence."""

    def __init__(self, *pieces: bytes, ended: bool = True) -> None:
        last = len(pieces) - 1
        self.left: Iterator[dict[str, Any]] = iter(
            {"type": "http.request", "body": piece, "more_body": place < last or not ended}
            for place, piece in enumerate(pieces)
        )
        self.heard: list[Any] = []

    async def receive(self) -> dict[str, Any]:
        piece = next(self.left, None)
        if piece is None:
            await asyncio.Event().wait()
            raise AssertionError("a client that is silent sends nothing")
        return piece

    async def gone(self) -> dict[str, Any]:
        return next(self.left, None) or {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        self.heard.append(message)


# Bodies


async def test_a_body_is_read_whole_and_handed_on_once() -> None:
    held, line = BodyMemory(), Line(b"abc", b"", b"de")
    with RequestBody(line.receive, 5, 5.0, held, "one") as body:
        assert await body.read()
        assert await body.replay() == {"type": "http.request", "body": b"abcde", "more_body": False}
        body.receive = line.gone
        assert await body.replay() == {"type": "http.disconnect"}
    assert not held._held, "what is answered takes no memory"


@pytest.mark.parametrize("pieces", [(b"abcdef",), (b"abc", b"def"), (b"abcde", b"f")])
async def test_a_body_of_one_byte_too_many_is_refused(pieces: tuple[bytes, ...]) -> None:
    held = BodyMemory()
    with RequestBody(Line(*pieces).receive, 5, 5.0, held, "one") as body:
        with pytest.raises(HttpRefused, match="at most 5 bytes") as refused:
            await body.read()
        assert len(body.whole) <= 5
    assert (refused.value.status, refused.value.code) == (413, "body.too_large")
    assert CLOSE in refused.value.headers
    assert not held._held


async def test_a_body_that_does_not_end_in_time_is_refused() -> None:
    body = RequestBody(Line(b"abc", ended=False).receive, 5, 0.01, BodyMemory(), "one")
    with body, pytest.raises(HttpRefused) as refused:
        await body.read()
    assert (refused.value.status, refused.value.code) == (408, "body.slow")
    assert CLOSE in refused.value.headers


async def test_a_client_that_goes_away_has_sent_no_body() -> None:
    with RequestBody(Line(b"abc", ended=False).gone, 5, 5.0, BodyMemory(), "one") as body:
        assert not await body.read()


def test_the_bodies_of_one_client_take_16_mib_and_of_all_64() -> None:
    held = BodyMemory()
    for client in "abcd":
        held.reserve(client, 15 * MIB)
        held.reserve(client, MIB)
        with pytest.raises(HttpRefused) as own:
            held.reserve(client, 1)
        assert (own.value.status, own.value.code) == (429, "rate.limited")
    with pytest.raises(HttpRefused) as everybody:
        held.reserve("e", 1)
    assert everybody.value.status == 503
    held.release("a", 1)
    held.reserve("e", 1)


async def test_a_refusal_that_ends_the_connection_lets_the_client_finish() -> None:
    line = Line(b"more", b"and more", ended=True)
    await send_http_refusal(HttpRefused(413, "body.too_large", "too large", (CLOSE,)), line.receive, line.send)
    assert [one["type"] for one in line.heard] == ["http.response.start", *["http.response.body"] * 2]
    assert [one.get("more_body", False) for one in line.heard[1:]] == [True, False]
    assert next(line.left, None) is None, "what it still sent was read"
    assert line.heard[0]["status"] == 413
    assert b"body.too_large" in line.heard[1]["body"]


async def test_any_other_refusal_is_answered_at_once() -> None:
    line = Line(b"more")
    await send_http_refusal(HttpRefused(403, "access.denied", "no"), line.receive, line.send)
    assert [one.get("more_body", False) for one in line.heard] == [False, False]
    assert next(line.left, None) is not None


async def test_what_is_drained_is_read_to_its_end_and_no_further() -> None:
    line = Line(b"a", b"b")
    await asyncio.wait_for(drain_body(line.receive), 5)
    assert next(line.left, None) is None
    await asyncio.wait_for(drain_body(Line(b"a", ended=False).gone), 5)


# Calls


def test_a_client_may_make_its_burst_at_once_and_then_one_call_a_pace() -> None:
    buckets = TokenBuckets(per_second=2.0, burst=3.0)
    assert [buckets.take("a", 10.0) for _ in range(4)] == [0.0, 0.0, 0.0, pytest.approx(0.5)]
    assert buckets.take("a", 10.25) == pytest.approx(0.25)
    assert buckets.take("a", 10.5) == 0.0
    assert buckets.take("a", 9.0) == pytest.approx(0.5), "a clock that goes back gives nothing and takes nothing"
    assert [buckets.take("a", 1_000.0) for _ in range(4)] == [0.0, 0.0, 0.0, pytest.approx(0.5)]


def test_of_ten_thousand_clients_those_who_have_paused_are_forgotten() -> None:
    buckets = TokenBuckets(per_second=2.0, burst=3.0)
    for number in range(10_000):
        buckets.take(f"client {number}", 0.0 if number else 1.0)
    buckets.take("client 0", 1.0)
    buckets.take("new", 1.6)
    assert set(buckets._by_client) == {"client 0", "new"}, "the others would begin anew with a full bucket"
    assert [buckets.take("client 0", 1.6) for _ in range(2)] == [0.0, 0.0]
    assert buckets.take("client 0", 1.6) > 0, "who was not forgotten has what it had left"


# Wrong tokens


def test_three_wrong_tokens_cost_nothing_and_then_each_costs_twice_as_long_up_to_five_seconds() -> None:
    assert [compute_refusal_delay(count) for count in range(1, 11)] == [0, 0, 0, 0.25, 0.5, 1, 2, 4, 5, 5]


def test_wrong_tokens_are_counted_by_peer_and_forgotten_after_a_minute() -> None:
    tokens = WrongTokens()
    assert [tokens._count("a", at).count for at in (1_000.0, 1_001.0, 1_060.9)] == [1, 2, 3]
    assert tokens._count("b", 1_061.0).count == 1
    assert tokens._count("a", 1_120.9).count == 1, "a whole minute without one"
    assert tokens._count("a", 1_180.8).count == 2


def test_of_a_thousand_peers_those_who_wait_or_were_wrong_lately_are_remembered() -> None:
    tokens = WrongTokens()
    for number in range(1_000):
        tokens._count(f"peer {number}", 1_000.0)
    tokens._by_peer["peer 1"].waiting = 1
    tokens._count("peer 2", 1_030.0)
    tokens._count("new", 1_060.0)
    assert set(tokens._by_peer) == {"peer 1", "peer 2", "new"}


async def test_more_than_32_refusals_of_one_peer_are_not_delayed_but_ended() -> None:
    tokens = WrongTokens()
    failures = tokens._count("a", asyncio.get_running_loop().time())
    failures.waiting = 31
    await tokens.slow_down("a")
    assert failures.waiting == 31
    failures.waiting = 32
    with pytest.raises(HttpRefused, match="too many wrong tokens") as refused:
        await tokens.slow_down("a")
    assert (refused.value.status, CLOSE in refused.value.headers) == (429, True)
    assert failures.waiting == 32
    await tokens.slow_down("b")
