"""What a client says that is no ordinary line: each request in it is answered under its own id, so that nobody waits."""

from __future__ import annotations

import json
import math
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from hermes_memory_bridge.protocol.framing import MAX_LINE
from tests.bridge.running import INITIALIZE, INITIALIZED, Shim, bridge

INVALID, REFUSED, PARAMS = -32700, -32600, -32602


class Talk:
    """Lines to a bridge and back, through a shim or over the socket itself."""

    def __init__(self, say: Any, hear: Any) -> None:
        self._say, self._hear = say, hear

    def open(self, revision: str) -> None:
        params = {**INITIALIZE["params"], "protocolVersion": revision}  # type: ignore[dict-item]
        self.answer(json.dumps({**INITIALIZE, "params": params}).encode())
        self._say(json.dumps(INITIALIZED).encode() + b"\n")

    def answer(self, line: bytes) -> Any:
        self._say(line + b"\n")
        return json.loads(self._hear())


@pytest.fixture(params=["shim", "socket"])
def talk(request: pytest.FixtureRequest, db: Path) -> Iterator[Talk]:
    with bridge(db) as places:
        if request.param == "socket":
            with closing(socket.socket(socket.AF_UNIX)) as client:
                client.connect(places.line)
                file = client.makefile("rb")
                client.sendall(b'{"hermes-memory":1}\n')
                file.readline()
                yield Talk(client.sendall, file.readline)
            return
        with Shim(db) as shim:
            stdin, stdout = shim.process.stdin, shim.process.stdout
            assert stdin is not None
            assert stdout is not None
            yield Talk(lambda line: (stdin.write(line), stdin.flush()), stdout.readline)


def write(number: int, content: bytes) -> bytes:
    return (
        b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"memory_write","arguments":{"content":"%s"}}}'
        % (number, content)
    )


def ask(number: object, method: str = "ping", **params: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def test_a_line_that_cannot_be_read_is_answered_under_its_own_id(talk: Talk) -> None:
    talk.open("2025-06-18")
    lines = {
        2: write(2, b"V[a.b]: caf\xe9"),
        3: b'{"jsonrpc":"2.0","id":3,"method":"pi\xffng"}',
        4: b'{"jsonrpc":"2.0","id":4,"method":"ping"',
        5: write(5, b"V[a.b]: a\x00b"),
        6.5: b'{"jsonrpc":"2.0","id":6.5,"method":"ping"}',
        7: write(7, b"x" * (MAX_LINE + 10)),
    }
    answers = {number: talk.answer(line) for number, line in lines.items()}

    assert {number: answer["id"] for number, answer in answers.items()} == {number: number for number in lines}
    assert all("error" in answer for answer in answers.values())
    assert "byte 0xe9" in answers[2]["error"]["message"]
    surrogate = rb'{"jsonrpc":"2.0","id":9,"method":"prompts/get","params":{"name":"\ud800"}}'
    refusals = [b"garbage", b'{"jsonrpc": "2.0", "id": 7, "method": 5}', surrogate]
    codes = [(answer["id"], answer["error"]["code"]) for answer in map(talk.answer, refusals)]
    assert codes == [(None, INVALID), (7, REFUSED), (9, REFUSED)]
    assert talk.answer(json.dumps(ask(8)).encode())["result"] == {}, "nothing of them is left in the line's way"


def test_a_byte_order_mark_before_a_message_is_no_mistake(talk: Talk) -> None:
    talk.open("2025-06-18")
    assert "result" in talk.answer(b"\xef\xbb\xbf" + write(2, b"V[a.b]: caf\xc3\xa9"))


def test_a_batch_is_answered_as_one_in_the_revision_that_has_batches(talk: Talk) -> None:
    talk.open("2025-03-26")
    batch = [ask(2), json.loads(write(3, b"V[a.b]: c")), INITIALIZED, 1, ask("four", "tools/list"), ask(5, "no/such")]
    answers = {answer["id"]: answer for answer in talk.answer(json.dumps(batch).encode())}
    assert answers.keys() == {2, 3, None, "four", 5}
    assert answers[3]["result"]["structuredContent"]["status"] == "created"
    assert {number for number, answer in answers.items() if "error" in answer} == {None, 5}
    assert [answer["id"] for answer in talk.answer(json.dumps([ask(6), ask(6)]).encode())] == [6, 6]
    assert talk.answer(b"[]")["error"]["code"] == REFUSED


def test_a_batch_waits_for_no_answer_that_nobody_gives(talk: Talk) -> None:
    talk.open("2025-03-26")
    response = {"jsonrpc": "2.0", "id": 2, "result": {}}
    answers = talk.answer(json.dumps([response, ask(True), ask([3]), ask(math.nan), ask(4)]).encode())
    assert sorted(str(answer["id"]) for answer in answers) == ["4", "None", "None", "None"]


def test_an_id_that_is_no_number_of_json_is_not_repeated(talk: Talk) -> None:
    talk.open("2025-06-18")
    assert talk.answer(b'{"jsonrpc":"2.0","id":1e999,"method":"ping"}')["id"] is None


def test_each_request_of_a_batch_is_refused_in_a_revision_without(talk: Talk) -> None:
    talk.open("2025-06-18")
    first = talk.answer(json.dumps([ask(2), INITIALIZED, ask(3)]).encode())
    second = talk.answer(json.dumps(ask(4)).encode())
    assert (first["id"], first["error"]["code"], second["id"]) == (2, REFUSED, 3)
    assert "send each message on its own" in first["error"]["message"]


@pytest.mark.parametrize("cursor", ["nope", "", 5])
def test_a_cursor_that_no_list_gave_is_refused(talk: Talk, cursor: object) -> None:
    talk.open("2025-06-18")
    for method in ("tools/list", "prompts/list", "resources/list", "resources/templates/list"):
        assert talk.answer(json.dumps(ask(method, method, cursor=cursor)).encode())["error"]["code"] == PARAMS, method


@pytest.mark.parametrize("revision", ["2025-03-26", "2025-06-18"])
def test_a_batch_over_http_is_refused_as_a_whole(db: Path, revision: str) -> None:
    accepted = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    with bridge(db) as places, httpx.Client(transport=httpx.HTTPTransport(uds=places.http), headers=accepted) as client:
        opening = {**INITIALIZE, "params": {**INITIALIZE["params"], "protocolVersion": revision}}  # type: ignore[dict-item]
        marked = b"\xef\xbb\xbf" + json.dumps(opening).encode()
        session = client.post("http://localhost/mcp", content=marked).headers["mcp-session-id"]
        client.headers.update({"mcp-session-id": session, "mcp-protocol-version": revision})
        client.post("http://localhost/mcp", json=INITIALIZED)
        answer = client.post("http://localhost/mcp", json=[ask(2), INITIALIZED, json.loads(write(3, b"V[a.b]: c"))])
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, PARAMS)
