"""What was opened with a token ends when the token is rotated, revoked or changed, or expires, on every face at once."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hermes_memory_store.model import FactFilter, Rights
from hermes_memory_store.store import Store
from tests.bridge.access.test_gate import META, Door, bearer, call, door
from tests.bridge.access.test_pressure import LEGACY, head, initialize
from tests.bridge.running import INITIALIZE, INITIALIZED, Shim, dial, until

SOON_S = 5.0
"""Generous: it takes a fifth of a second where the machine is at rest."""


def rotate(store: Store) -> None:
    store.credentials.rotate("old")


def revoke(store: Store) -> None:
    store.credentials.revoke("old")


def change(column: str, value: object) -> Callable[[Store], None]:
    """Change a token in the store's table, as a later version or an administrator may."""

    def changed(store: Store) -> None:
        with store.db.write_transaction() as conn:
            conn.execute(f"UPDATE credentials SET {column} = ? WHERE name = 'old'", (value,))

    return changed


ENDINGS = [
    pytest.param(rotate, id="rotated"),
    pytest.param(revoke, id="revoked"),
    pytest.param(change("expires_at", 1), id="expired"),
    pytest.param(change("rights", "read"), id="fewer rights"),
    pytest.param(change("theme", "other"), id="another theme"),
]


@contextmanager
def stream(made: Door, request: bytes, tcp: bool = True) -> Iterator[socket.socket]:
    """An open stream of events, whose head has arrived."""
    with made.dial(tcp) as connection:
        connection.sendall(request)
        heard = connection.recv(65_536)
        assert heard.startswith(b"HTTP/1.1 200 "), heard
        yield connection


def legacy_stream(secret: str, session: str) -> bytes:
    """The standing stream of a session of the older revisions."""
    said = f"accept: text/event-stream\r\nauthorization: Bearer {secret}\r\nmcp-session-id: {session}\r\n"
    return f"GET /mcp HTTP/1.1\r\nhost: localhost\r\n{said}\r\n".encode()


def modern_stream(secret: str) -> bytes:
    """Listening as of 2026-07-28."""
    params = {"notifications": {"resourcesListChanged": True}, "_meta": META}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params}).encode()
    lines = ("mcp-protocol-version: 2026-07-28", "mcp-method: subscriptions/listen", f"content-length: {len(body)}")
    return head(secret, *lines) + b"\r\n" + body


def ends(connection: socket.socket) -> bool:
    """Whether a stream comes to its end: the last chunk, or the end of the connection."""
    heard = b""
    connection.settimeout(SOON_S)
    while not heard.endswith(b"0\r\n\r\n"):
        try:
            more = connection.recv(65_536)
        except TimeoutError:
            return False
        except ConnectionError:
            return True
        if not more:
            return True
        heard += more
    return True


class Line:
    """A raw connection to the line socket with a token."""

    def __init__(self, made: Door, secret: str) -> None:
        self.socket = dial(made.places)
        self.file = self.socket.makefile("rwb")
        self.say({"hermes-memory": 1, "token": secret})
        self.greeting = json.loads(self.file.readline())

    def say(self, *messages: dict[str, object]) -> None:
        for message in messages:
            self.file.write(json.dumps(message).encode() + b"\n")
        self.file.flush()

    def call(self, tool: str, **arguments: object) -> str:
        params = {"name": tool, "arguments": arguments}
        self.say({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        return self.file.readline().decode()


@pytest.mark.parametrize("end", ENDINGS)
def test_every_face_ends_what_an_old_token_opened(db: Path, end: Callable[[Store], None]) -> None:
    with Store.open(db) as store, door(db) as made:
        old = store.credentials.add("old", "marketing", Rights())[1]
        other = store.credentials.add("other", "marketing", Rights())[1]
        lines = {name: Line(made, secret) for name, secret in (("old", old), ("other", other))}
        for line in lines.values():
            line.say(INITIALIZE)
            assert "result" in json.loads(line.file.readline())
            line.say(INITIALIZED)
            assert "cache" in line.call("memory_write", content="D[cache]: redis")
        sessions = {secret: initialize(made, **bearer(secret))[1]["mcp-session-id"] for secret in (old, other)}
        with (
            stream(made, legacy_stream(old, sessions[old])) as legacy,
            stream(made, modern_stream(old)) as modern,
            stream(made, modern_stream(old), tcp=False) as on_unix,
            stream(made, legacy_stream(other, sessions[other])) as others_legacy,
            stream(made, modern_stream(other)) as others_modern,
        ):
            end(store)
            refused = lines["old"].call("memory_write", content="D[theft]: of words")
            assert refused == "" or '"error"' in refused, "nothing is written once the token has ended"
            lines["old"].socket.settimeout(SOON_S)
            while lines["old"].file.readline():
                continue
            for each in (legacy, modern, on_unix):
                assert ends(each)
            assert "stored" in lines["other"].call("memory_write", content="D[queue]: nats")
            for each in (others_legacy, others_modern):
                assert is_still_a_stream(each)
        assert made.ask(body=call("memory_status"), **bearer(old))[0] in (200, 401)
        assert "theft" not in {fact.target for fact in store.facts.page(FactFilter()).facts}
        again = made.ask("GET", mcp_session_id=sessions[old], **LEGACY, **bearer(old))
        assert again[0] in (401, 404), "its session is gone"


def is_still_a_stream(connection: socket.socket) -> bool:
    """Whether a stream of events goes on: neither its last chunk nor the end of its connection has come."""
    connection.setblocking(False)
    try:
        heard = connection.recv(1 << 20)
    except BlockingIOError:
        return True
    return heard != b"" and not heard.endswith(b"0\r\n\r\n")


def test_the_new_token_works_and_does_not_go_on_with_the_old_ones_session(db: Path) -> None:
    with Store.open(db) as store, door(db) as made:
        old = store.credentials.add("old", "marketing", Rights())[1]
        session = initialize(made, **bearer(old))[1]["mcp-session-id"]
        new = store.credentials.rotate("old")
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"name": "x"}}).encode()
        taken = made.ask(body=body, mcp_session_id=session, mcp_method="tools/list", **LEGACY, **bearer(new))
        assert taken[0] == 404
        assert initialize(made, **bearer(new))[0] == 200
        assert made.ask(body=call("memory_status"), **bearer(new))[0] == 200
        with Shim(db, "--token", new) as shim:
            shim.open()
            assert "stored" in json.dumps(shim.call("memory_write", content="D[cache]: redis"))
            shim.close()


def test_a_shim_whose_token_was_rotated_says_so_and_writes_nothing(db: Path) -> None:
    with Store.open(db) as store, door(db):
        old = store.credentials.add("old", "marketing", Rights())[1]
        with Shim(db, "--token", old) as shim:
            shim.open()
            shim.call("memory_status")
            store.credentials.rotate("old")
            answers: list[dict[str, Any]] = []

            def is_told() -> bool:
                """Whether the shim, which was cut off and came back, says why it is not let in."""
                answers.append(shim.call("memory_write", content="D[theft]: of words"))
                return "this token is unknown, expired or revoked" in answers[-1].get("error", {}).get("message", "")

            until(is_told, "the reason")
            shim.close()
        assert not store.facts.count(FactFilter(theme="marketing"))
