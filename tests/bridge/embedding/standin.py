"""An endpoint that speaks OpenAI's and Ollama's form over HTTP, and fails on demand.

Its vectors count words, with a few taken for one another, so that tests can tell meaning from words. They are no semantics.
"""

from __future__ import annotations

import json
import re
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SAME = {"automobile": "car", "vehicle": "car", "wheels": "car", "physician": "doctor", "beverage": "tea"}
"""Of these the words alone know the first two, and nobody but a model the third."""

Fault = Callable[[list[str]], tuple[int, dict[str, str], bytes] | None]
"""What is answered instead, for these texts; None for what is right."""


def vector(text: str, dimensions: int) -> list[float]:
    """Words counted; no text is all zero."""
    found = [0.01] * dimensions
    for word in re.findall(r"[a-z]+", text.lower()):
        found[zlib.crc32(SAME.get(word, word).encode()) % dimensions] += 1.0
    return found


class StandIn:
    """What a test may set, and see."""

    def __init__(self) -> None:
        self.dimensions = 64
        self.fault: Fault | None = None
        self.asked: list[list[str]] = []
        self.keys: list[str | None] = []
        self.paths: list[str] = []
        self.slow = threading.Event()
        """Set while answers may come; cleared, the endpoint hangs."""
        self.slow.set()
        self.url = ""

    def answer(self, path: str, document: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        """What is said to one request."""
        texts = document["input"] if isinstance(document["input"], list) else [document["input"]]
        self.asked.append(texts)
        self.slow.wait(20)
        wrong = self.fault(texts) if self.fault else None
        if wrong is not None:
            return wrong
        rows = [vector(text, self.dimensions) for text in texts]
        if path == "/v1/embeddings":
            data = [{"object": "embedding", "index": at, "embedding": row} for at, row in enumerate(rows)]
            return 200, {}, said({"object": "list", "data": data[::-1], "model": document["model"]})
        if path == "/api/embed":
            return 200, {}, said({"model": document["model"], "embeddings": rows})
        return 404, {}, b"not found"


def said(document: Any) -> bytes:
    return json.dumps(document).encode()


@contextmanager
def standing_in() -> Iterator[StandIn]:
    stand_in = StandIn()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            stand_in.paths.append(self.path)
            stand_in.keys.append(self.headers.get("authorization"))
            body = self.rfile.read(int(self.headers["content-length"]))
            status, headers, answer = stand_in.answer(self.path, json.loads(body))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: Any) -> None:
            """Who asked has hung up."""

    server = Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    stand_in.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield stand_in
    finally:
        stand_in.slow.set()
        server.shutdown()
        server.server_close()
        thread.join()
