"""Doors for the conformance suite, which can send no token and speaks HTTP alone.

`TokenDoor` passes each request on to the bridge's port with a token. `LineDoor` speaks the line socket for it: a legacy
session is one connection, and since 2026-07-28 each request is.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from typing import Any

import httpx

from hermes_memory_bridge.access.http_refusal import Receive, Scope, Send

HOP = frozenset({b"connection", b"transfer-encoding", b"keep-alive"})
"""Headers of one connection, which are not passed on."""

MODERN = "2026-07-28"

METHOD_NOT_FOUND = -32601

Message = dict[str, Any]


async def read_body(receive: Receive) -> bytes:
    body, more = b"", True
    while more:
        part = await receive()
        body += part.get("body", b"")
        more = part.get("more_body", False)
    return body


async def wait_for_hangup(receive: Receive) -> None:
    """Return when the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def until_hangup(receive: Receive, work: Any) -> None:
    """Do the work until it is done or the client has gone."""
    tasks = [asyncio.ensure_future(work), asyncio.ensure_future(wait_for_hangup(receive))]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class TokenDoor:
    """Pass on requests to the port of a bridge, with a token."""

    def __init__(self, url: str, token: str) -> None:
        self.url = url
        self.token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(name, value) for name, value in scope["headers"] if name not in HOP]
        headers.append((b"authorization", f"Bearer {self.token}".encode()))
        body = await read_body(receive)

        async def forward() -> None:
            async with (
                httpx.AsyncClient(timeout=None) as http,
                http.stream(scope["method"], self.url + scope["path"], content=body, headers=headers) as answer,
            ):
                raw = [(name.lower(), value) for name, value in answer.headers.raw if name.lower() not in HOP]
                await send({"type": "http.response.start", "status": answer.status_code, "headers": raw})
                async for part in answer.aiter_raw():
                    await send({"type": "http.response.body", "body": part, "more_body": True})
                await send({"type": "http.response.body"})

        await until_hangup(receive, forward())


class EventStream:
    """An answer as a stream of events, or as one error whose HTTP status says what the error is."""

    def __init__(self, send: Send, headers: tuple[tuple[bytes, bytes], ...] = ()) -> None:
        self.send = send
        self.headers = [(b"content-type", b"text/event-stream"), *headers]
        self.ended = asyncio.Event()
        self.has_begun = False

    async def begin(self) -> None:
        self.has_begun = True
        await self.send({"type": "http.response.start", "status": 200, "headers": self.headers})

    async def tell(self, message: Message) -> None:
        if not self.has_begun and "error" in message:
            self.has_begun = True
            status = 404 if message["error"]["code"] == METHOD_NOT_FOUND else 400
            kind = (b"content-type", b"application/json")
            await self.send({"type": "http.response.start", "status": status, "headers": [kind]})
            await self.send({"type": "http.response.body", "body": json.dumps(message).encode(), "more_body": True})
            return
        if not self.has_begun:
            await self.begin()
        body = f"event: message\ndata: {json.dumps(message)}\n\n".encode()
        await self.send({"type": "http.response.body", "body": body, "more_body": True})

    async def end(self) -> None:
        await self.send({"type": "http.response.body"})
        self.ended.set()


class LineSession:
    """A connection to the line socket, and the streams that wait for what it says."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.waiting: dict[Any, EventStream] = {}
        """By the id of the request; what names no request goes to the newest of them."""
        self.standing: EventStream | None = None
        self.task = asyncio.create_task(self.listen())

    @classmethod
    async def dial(cls, path: str, token: str) -> LineSession:
        """Connect and greet."""
        reader, writer = await asyncio.open_unix_connection(path, limit=1 << 26)
        writer.write(json.dumps({"hermes-memory": 1, "token": token}).encode() + b"\n")
        hello = json.loads(await reader.readline())
        assert "session" in hello, hello
        return cls(reader, writer)

    def say(self, message: Message) -> None:
        self.writer.write(json.dumps(message).encode() + b"\n")

    async def listen(self) -> None:
        while line := await self.reader.readline():
            message = json.loads(line)
            stream = self.waiting.get(message.get("id")) if "method" not in message else None
            if stream is not None:
                del self.waiting[message["id"]]
                await stream.tell(message)
                await stream.end()
            elif self.waiting:
                await list(self.waiting.values())[-1].tell(message)
            elif self.standing is not None:
                await self.standing.tell(message)

    def close(self) -> None:
        self.task.cancel()
        self.writer.close()


class LineDoor:
    """Speak the line socket for a client of HTTP."""

    def __init__(self, path: str, token: str) -> None:
        self.path = path
        self.token = token
        self.sessions: dict[bytes, LineSession] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        name = headers.get(b"mcp-session-id", b"")
        body = await read_body(receive)
        message = json.loads(body) if scope["method"] == "POST" else {}
        if scope["method"] == "DELETE":
            self.sessions.pop(name).close()
            await self.answer_empty(send, 200)
        elif scope["method"] == "GET" and name in self.sessions:
            stream = self.sessions[name].standing = EventStream(send)
            await stream.begin()
            await until_hangup(receive, stream.ended.wait())
        elif headers.get(b"mcp-protocol-version") == MODERN.encode():
            session = await LineSession.dial(self.path, self.token)
            try:
                await self.ask(session, message, receive, EventStream(send))
            finally:
                session.close()
        elif message.get("method") == "initialize":
            name = uuid.uuid4().hex.encode()
            session = self.sessions[name] = await LineSession.dial(self.path, self.token)
            await self.ask(session, message, receive, EventStream(send, ((b"mcp-session-id", name),)))
        elif name not in self.sessions:
            await self.answer_empty(send, 404)
        elif "method" in message and "id" in message:
            await self.ask(self.sessions[name], message, receive, EventStream(send))
        else:
            self.sessions[name].say(message)
            await self.answer_empty(send, 202)

    async def ask(self, session: LineSession, message: Message, receive: Receive, stream: EventStream) -> None:
        """Put one request, and stream what comes until its answer."""
        session.waiting[message["id"]] = stream
        session.say(message)
        await until_hangup(receive, stream.ended.wait())
        session.waiting.pop(message["id"], None)

    async def answer_empty(self, send: Send, status: int) -> None:
        """Answer with a status alone."""
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body"})
