"""HTTP under pressure, on real sockets of a real bridge: half requests, slow ones, malformed ones, and too many of them."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import socket
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_memory_bridge.access.http_sessions import MOST_OF_A_TOKEN
from hermes_memory_bridge.access.loopback_peers import find_loopback_user
from hermes_memory_bridge.access.peer_connections import HttpConnection, PeerConnections
from hermes_memory_bridge.access.wrong_tokens import FREE_ATTEMPTS, LONGEST_S, compute_refusal_delay
from hermes_memory_bridge.daemon.control import ask_bridge
from hermes_memory_bridge.protocol.descriptors import RESERVED_DESCRIPTORS, WANTED_LIMIT, to_descriptor_shares
from hermes_memory_store.model import Rights
from hermes_memory_store.store import Store
from tests.bridge.access.test_gate import Door, answer_of, bearer, call, door
from tests.bridge.running import INITIALIZE, PATIENCE_S, Shim, bridge

HALF = b"POST /mcp HTTP/1.1\r\nhost: loc"

LEGACY = {"mcp_protocol_version": "2025-06-18"}

STRICT_BODY = 1024 * 1024

DOCS = Path(__file__).parents[3] / "docs"


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Door, dict[str, str], Path]]:
    """A bridge with the strict limits, whose deadlines are short, and two tokens."""
    db = tmp_path_factory.mktemp("pressure") / "memory.db"
    with Store.open(db) as store:
        tokens = {name: store.credentials.add(name, "marketing", Rights())[1] for name in ("one", "two")}
    with door(db, "--hardening-profile") as made:
        yield made, tokens, db


def head(secret: str, *lines: str) -> bytes:
    """The head of a POST with a token, without the empty line that ends it."""
    first = [
        "POST /mcp HTTP/1.1",
        "host: localhost",
        f"authorization: Bearer {secret}",
        "content-type: application/json",
    ]
    return "".join(f"{line}\r\n" for line in [*first, "accept: application/json, text/event-stream", *lines]).encode()


def log_of(db: Path) -> str:
    log = Path(f"{db}.bridge/bridge.log")
    return log.read_text(encoding="utf-8") if log.exists() else ""


@contextlib.contextmanager
def half_requests(made: Door, count: int, tcp: bool) -> Iterator[None]:
    """So many connections that never finish the head of a request."""
    with contextlib.ExitStack() as held:
        for _ in range(count):
            connection = held.enter_context(made.dial(tcp))
            with contextlib.suppress(ConnectionError):  # it was closed for a newer one
                connection.sendall(HALF)
        yield


@pytest.mark.parametrize("tcp", [True, False])
def test_half_requests_take_no_descriptor_from_local_agents(db: Path, tcp: bool) -> None:
    with Store.open(db) as store:
        _, secret = store.credentials.add("one", "marketing", Rights())
    with door(db, files=1024) as made, half_requests(made, 1_100, tcp):
        assert psutil.Process(int(Path(made.places.pid).read_text())).num_fds() < 1024 - RESERVED_DESCRIPTORS
        with Shim(db) as shim:
            shim.open()
            assert "stored" in shim.call("memory_write", content="D[cache]: redis")["result"]["content"][0]["text"]
            shim.close()
        assert made.ask(body=call("memory_status"), **bearer(secret))[0] == 200, "the port goes on"
        assert made.ask(body=call("memory_status"), tcp=False)[0] == 200, "so does the unix socket"
    assert "Traceback" not in log_of(db)


def test_the_soft_limit_on_descriptors_is_raised_to_the_hard_one(db: Path) -> None:
    with bridge(db, files=(256, 4096)) as places:
        status = ask_bridge(places, "status")
        assert status is not None
        limits = Path(f"/proc/{status['pid']}/limits").read_text() if sys.platform == "linux" else "files 4096"
        assert re.search(r"files\s+4096", limits)


@given(st.integers(16, 1 << 20))
def test_connections_of_both_kinds_leave_a_reserve_whatever_the_limit(limit: int) -> None:
    shares = to_descriptor_shares(limit)
    assert min(shares.http, shares.line) > 0
    assert shares.http + shares.line + min(RESERVED_DESCRIPTORS, limit // 2) <= limit
    assert limit < WANTED_LIMIT or shares == to_descriptor_shares(WANTED_LIMIT)


@pytest.mark.parametrize("tcp", [True, False])
def test_a_head_that_never_ends_is_answered_408_even_when_it_trickles(
    strict: tuple[Door, dict[str, str], Path], tcp: bool
) -> None:
    made, _, _ = strict
    with made.dial(tcp) as connection:
        connection.settimeout(0.5)
        connection.sendall(HALF)
        heard = b""
        deadline = time.monotonic() + PATIENCE_S
        while not heard and time.monotonic() < deadline:
            with contextlib.suppress(TimeoutError, ConnectionError):
                connection.sendall(b"x")
                heard = connection.recv(65_536)
        while b"}" not in heard and (more := connection.recv(65_536)):
            heard += more
        assert heard.startswith(b"HTTP/1.1 408 ")
        assert heard.lower().count(b"connection: close") == 1
        assert b'"head.slow"' in heard


def test_the_rest_of_a_refused_body_may_not_trickle_for_ever(strict: tuple[Door, dict[str, str], Path]) -> None:
    made, _, _ = strict
    with made.dial() as connection:
        connection.settimeout(0.5)
        connection.sendall(b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100000\r\n\r\n")
        ended = False
        deadline = time.monotonic() + PATIENCE_S
        while not ended and time.monotonic() < deadline:
            try:
                connection.sendall(b"x")
                ended = connection.recv(65_536) == b""
            except TimeoutError:
                continue
            except ConnectionError:
                ended = True
        assert ended


DOCUMENTED_LIMIT = {(): r"\| its body \| 30 s, (\d+) MiB", ("--hardening-profile",): r"bodies of (\d+) MiB"}
"""Where docs/bridge.md states how large a body may be, by the options of the bridge."""


@pytest.mark.parametrize("options", DOCUMENTED_LIMIT)
def test_a_chunked_body_has_the_documented_limit(db: Path, options: tuple[str, ...]) -> None:
    documented = re.search(DOCUMENTED_LIMIT[options], (DOCS / "bridge.md").read_text(encoding="utf-8"))
    assert documented
    limit = int(documented[1]) * 2**20
    with Store.open(db) as store:
        _, secret = store.credentials.add("one", "marketing", Rights())
    with door(db, *options) as made:
        for tcp in (True, False):
            search = call("memory_search", query="x")
            assert send_in_chunks(made, secret, search.ljust(limit), tcp)[0] == 200, "a body of the limit is read"
            for size in (limit + 1, 2 * limit):
                status, headers, body = send_in_chunks(made, secret, search.ljust(size), tcp)
                assert (status, headers["connection"]) == (413, "close")
                error = json.loads(body)["error"]
                assert (error["code"], str(limit) in error["message"]) == ("body.too_large", True)
    assert "Traceback" not in log_of(db)


def send_in_chunks(made: Door, secret: str, body: bytes, tcp: bool) -> tuple[int, dict[str, str], str]:
    """Send a tool call without saying how long it is, and return the answer."""
    lines = ("transfer-encoding: chunked", "mcp-protocol-version: 2026-07-28", "mcp-method: tools/call")
    with made.dial(tcp) as connection:
        connection.sendall(head(secret, *lines, "mcp-name: memory_search", "connection: close") + b"\r\n")
        for at in range(0, len(body), 65_536):
            piece = body[at : at + 65_536]
            connection.sendall(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        connection.sendall(b"0\r\n\r\n")
        return answer_of(connection)


def test_a_body_that_says_it_is_too_large_is_refused_before_it_is_sent(
    strict: tuple[Door, dict[str, str], Path],
) -> None:
    made, tokens, _ = strict
    with made.dial() as connection:
        connection.sendall(head(tokens["one"], f"content-length: {STRICT_BODY + 1}", "expect: 100-continue") + b"\r\n")
        assert answer_of(connection)[0] == 413
    with made.dial() as connection:
        connection.sendall(
            head(tokens["one"], f"content-length: {STRICT_BODY + 1}") + b"\r\n" + b" " * (STRICT_BODY + 1)
        )
        assert answer_of(connection)[0] == 413, "a client that sends it all the same reads why"


def test_a_body_of_just_the_limit_is_read(strict: tuple[Door, dict[str, str], Path]) -> None:
    made, tokens, _ = strict
    said = call("memory_search", query="x").ljust(STRICT_BODY)
    assert made.ask(body=said, **bearer(tokens["one"]))[0] == 200


STOPPED_BODIES = [
    (("content-length: 100",), b"{"),
    (("content-length: 100", "expect: 100-continue"), b""),
    (("transfer-encoding: chunked",), b"5\r\n{"),
    (("transfer-encoding: chunked",), b""),
]
"""Further lines of a head, and the part of the body that is sent."""


def test_a_body_that_stops_is_answered_408(strict: tuple[Door, dict[str, str], Path]) -> None:
    made, tokens, db = strict

    def answer_to(stopped: tuple[tuple[str, ...], bytes]) -> bytes:
        lines, begun = stopped
        with made.dial() as connection:
            connection.sendall(head(tokens["two"], *lines) + b"\r\n" + begun)
            return b"".join(iter(lambda: connection.recv(65_536), b""))

    with ThreadPoolExecutor(len(STOPPED_BODIES)) as pool:  # at once: each waits for the same time limit
        answers = list(pool.map(answer_to, STOPPED_BODIES))
    for heard in answers:
        final = heard.removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n").removeprefix(b"HTTP/1.1 100 \r\n\r\n")
        assert final.startswith(b"HTTP/1.1 408 ")
        assert b'"body.slow"' in final
    assert "Traceback" not in log_of(db)


@pytest.mark.parametrize(
    ("lines", "body", "status"),
    [
        (("content-length: 5", "content-length: 6"), b"hello", 400),
        (("content-length: 5", "transfer-encoding: chunked"), b"0\r\n\r\n", 400),
        (("content-length: -1",), b"", 400),
        (("content-length: 0x10",), b"", 400),
        ((f"content-length: {'9' * 5000}",), b"", 400),
        (("transfer-encoding: gzip",), b"", 501),
        (("transfer-encoding: chunked",), b"zz\r\n", 400),
        (("transfer-encoding: chunked",), b"5\r\nhellohello", 400),
        (("authorization: Bearer hmt_other", "content-length: 0"), b"", 400),
        ((f"x-long: {'x' * 20_000}", "content-length: 0"), b"", 431),
        ((f"x-long: {'x' * 200_000}", "content-length: 0"), b"", 431),
        ((*(f"x-{number}: 1" for number in range(200)), "content-length: 0"), b"", 431),
        ((" folded: 1", "content-length: 0"), b"", None),
        (("bad header", "content-length: 0"), b"", 400),
    ],
)
def test_what_is_no_request_is_refused_without_a_traceback(
    strict: tuple[Door, dict[str, str], Path], lines: tuple[str, ...], body: bytes, status: int | None
) -> None:
    made, tokens, db = strict
    with made.dial() as connection:
        with contextlib.suppress(ConnectionError):
            connection.sendall(head(tokens["one"], *lines, "connection: close") + b"\r\n" + body)
        try:
            answered = answer_of(connection)[0]
        except ConnectionResetError:  # while the client was still sending its head, which nobody reads to its end
            assert len("".join(lines)) > 100_000
            answered = 431
    assert answered == (status or answered)
    assert 400 <= answered < 600
    assert "Traceback" not in log_of(db)
    assert made.ask(body=call("memory_status"), **bearer(tokens["one"]))[0] == 200


def test_a_client_that_leaves_in_the_middle_of_its_body_leaves_no_trace(
    strict: tuple[Door, dict[str, str], Path],
) -> None:
    made, tokens, db = strict
    for lines, begun in ((("content-length: 100",), b"{"), (("transfer-encoding: chunked",), b"5\r\n{")):
        with made.dial() as connection:
            connection.sendall(head(tokens["one"], *lines) + b"\r\n" + begun)
    assert made.ask(body=call("memory_status"), **bearer(tokens["one"]))[0] == 200
    assert "Traceback" not in log_of(db)


def test_a_client_that_never_reads_its_answers_is_let_go(strict: tuple[Door, dict[str, str], Path]) -> None:
    made, _, _ = strict
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}).encode()
    with made.dial(tcp=False) as connection:
        session = initialize(made, tcp=False)[1]["mcp-session-id"]
        said = [
            "POST /mcp HTTP/1.1",
            "host: localhost",
            "content-type: application/json",
            "accept: application/json, text/event-stream",
            f"mcp-session-id: {session}",
            f"content-length: {len(body)}",
        ]
        request = "".join(f"{line}\r\n" for line in said).encode() + b"\r\n" + body
        connection.sendall(request * 100)
        ended = select.poll()
        ended.register(connection, 0)
        assert ended.poll(PATIENCE_S * 1000), "the bridge ends the connection"


def test_what_is_sent_while_a_request_is_served_does_not_pile_up(strict: tuple[Door, dict[str, str], Path]) -> None:
    made, _, _ = strict
    session = initialize(made, tcp=False)[1]["mcp-session-id"]
    stream = f"GET /mcp HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\nmcp-session-id: {session}\r\n\r\n"
    with made.dial(tcp=False) as connection:
        connection.sendall(stream.encode())
        assert connection.recv(65_536).startswith(b"HTTP/1.1 200 ")
        connection.settimeout(5)
        with pytest.raises((ConnectionError, TimeoutError)):  # it is ended, or no longer read
            connection.sendall(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n" * 100_000)


def initialize(made: Door, tcp: bool = True, **headers: str) -> tuple[int, dict[str, str], str]:
    """Open a session of the older revisions."""
    body = json.dumps({**INITIALIZE, "params": {**INITIALIZE["params"], "name": "x"}}).encode()  # type: ignore[dict-item]
    return made.ask(body=body, tcp=tcp, mcp_method="initialize", **LEGACY, **headers)


def test_one_token_cannot_take_the_sessions_of_the_others(db: Path) -> None:
    with Store.open(db) as store:
        one, two = (store.credentials.add(name, "marketing", Rights())[1] for name in ("one", "two"))
    with door(db) as made:
        opened = [initialize(made, **bearer(one)) for _ in range(MOST_OF_A_TOKEN)]
        assert {status for status, _, _ in opened} == {200}
        status, headers, body = initialize(made, **bearer(one))
        assert (status, json.loads(body)["error"]["code"]) == (429, "sessions.exceeded")
        assert 0 < int(headers["retry-after"]) <= 60
        with ThreadPoolExecutor(8) as many:
            rest = list(many.map(lambda _: initialize(made, **bearer(one))[0], range(100)))
        assert set(rest) == {429}
        assert initialize(made, **bearer(two))[0] == 200
        assert initialize(made, tcp=False)[0] == 200
        assert made.ask(body=call("memory_status"), **bearer(one))[0] == 200, "calls without a session go on"
        gone = made.ask("DELETE", mcp_session_id=opened[0][1]["mcp-session-id"], **LEGACY, **bearer(one))
        assert gone[0] == 200
        assert initialize(made, **bearer(one))[0] == 200, "who ends one may open another"


def test_the_session_that_was_quiet_longest_gives_way_to_a_new_one(db: Path) -> None:
    from hermes_memory_bridge.access.http_sessions import HttpSession, find_idlest_session
    from hermes_memory_bridge.access.request_identity import Identity

    now = time.monotonic()
    sessions = {
        "used": HttpSession(Identity("a"), requests=1, seen=now - 900),
        "old": HttpSession(Identity("a"), seen=now - 600),
        "new": HttpSession(Identity("a"), seen=now),
    }
    assert find_idlest_session(sessions, "") == "old"


def test_wrong_tokens_wait_longer_each_time_and_right_ones_never(db: Path) -> None:
    with Store.open(db) as store:
        _, secret = store.credentials.add("one", "marketing", Rights())
    with door(db) as made, ThreadPoolExecutor(3) as beside:
        for _ in range(FREE_ATTEMPTS + 3):
            assert made.ask(body=call("memory_status"), **bearer("hmt_wrong"))[0] == 401
        begun = time.monotonic()
        # The last of them waits for seconds, which a call takes on no machine, however busy.
        refused = [beside.submit(made.ask, body=call("memory_status"), **bearer("hmt_wrong")) for _ in range(3)]
        assert made.ask(body=call("memory_status"), **bearer(secret))[0] == 200
        assert not all(one.done() for one in refused), "the right token does not wait for the wrong ones"
        assert [one.result()[0] for one in refused] == [401] * 3
        assert time.monotonic() - begun >= compute_refusal_delay(FREE_ATTEMPTS + 6)


def test_the_delay_of_wrong_tokens_grows_and_is_bounded() -> None:
    delays = [compute_refusal_delay(count) for count in range(1, 200)]
    assert delays == sorted(delays)
    assert delays[:FREE_ATTEMPTS] == [0.0] * FREE_ATTEMPTS
    assert max(delays) == LONGEST_S


class Peers:
    """Connections of a model of the world: who closes whom."""

    def __init__(self, most: int) -> None:
        self.closed: list[HttpConnection] = []
        self.table = PeerConnections(most)

    def add(self, peer: str) -> HttpConnection:
        made = HttpConnection(peer, lambda: self.closed.append(made))
        self.table.add(made)
        return made


@given(st.lists(st.sampled_from("abcdefgh"), max_size=300), st.integers(4, 40))
def test_a_flood_closes_connections_of_whoever_has_most(peers: list[str], most: int) -> None:
    world = Peers(most)
    for peer in peers:
        world.add(peer)
    assert len(peers) - len(world.closed) <= most
    quiet = world.add("the quiet one")
    for _ in range(10 * most):
        world.add("the flood")
    assert quiet not in world.closed


def test_a_request_that_was_let_in_is_not_closed_for_another() -> None:
    world = Peers(8)
    served = world.add("user 1")
    with world.table.serve_request(served, "token 'one'"):
        for _ in range(100):
            world.add("user 1")
        assert len(world.closed) == 100 - 4
        assert served not in world.closed
    for _ in range(8):
        world.add("user 1")
    assert served in world.closed, "afterwards it waits like the others"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells whose a TCP connection is")
def test_the_system_tells_which_user_dialled_the_port() -> None:
    users = [os.getuid(), *([65_534] if os.getuid() == 0 else [])]
    with socket.create_server(("127.0.0.1", 0)) as listener:
        for user in users:
            child = os.fork()
            if child == 0:
                try:
                    os.setuid(user)
                    with socket.socket() as dialled:
                        dialled.connect(listener.getsockname())
                        dialled.recv(1)
                finally:
                    os._exit(0)  # the child is no second run of the tests
            accepted, _ = listener.accept()
            with accepted:
                assert find_loopback_user(accepted) == user
            os.waitpid(child, 0)
