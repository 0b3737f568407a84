"""A model that says what a script tells it to, on loopback, in the protocols of the hosts' vendors, and records what it read.

It stands in for Anthropic Messages, OpenAI Responses and chat completions, and Gemini's generateContent, streamed or not. A
host is pointed at `url`; what it asked is in `requests`, whole, and on disk as JSONL. The script is a list of rules: the last
one whose words stand in what came since the model's last word decides. A summary, asked for when a host compacts, is a fixed
sentence, so that nothing which must survive a compaction survives by the model.

    python -m tests.hosts.stand_in_model --requests requests.jsonl --script rules.json     (prints its address)
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.hosts.protocols.anthropic_messages import message_events, parse_messages_request, to_message
from tests.hosts.protocols.conversation import ModelAnswer, ModelRequest, OfferedTool, server_sent_events
from tests.hosts.protocols.gemini_content import parse_content_request, to_content
from tests.hosts.protocols.openai_chat import completion_events, parse_chat_request, to_completion
from tests.hosts.protocols.openai_responses import parse_responses_request, response_events, to_response

SUMMARY = "<summary>The person and the model spoke about a shop. Nothing else is known.</summary>"
"""What the model says when it is asked for a summary: no fact and no decision stands in it."""

MODEL = "stand-in-model"


@dataclass(frozen=True)
class Rule:
    """What to say where `when` stands in the newest messages: a text, or first a call of a tool and then the text."""

    when: str = ""
    text: str = "Done."
    tool: str = ""
    """The end of the tool's name: hosts put a server's name before it, each in its own way."""
    arguments: dict[str, Any] = field(default_factory=dict)
    tokens: int = 0
    """The input tokens to report; 0 for an estimate. A large figure makes a host compact."""
    then: Rule | None = None
    """What to say once its tool has answered, instead of the text."""


class StandInModel:
    def __init__(self, rules: Sequence[Rule] = (), *, record: Path | None = None, port: int = 0) -> None:
        self.rules = list(rules)
        self.requests: list[ModelRequest] = []
        self.others: list[str] = []
        """Paths that were asked for and are no request of a model, such as telemetry."""
        self.record = record
        self._tokens = 0
        """As reported for the newest request of a conversation."""
        self._news = threading.Condition()
        self._server = ThreadingHTTPServer(("127.0.0.1", port), make_handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> StandInModel:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def serve(self) -> None:
        self._thread.start()
        self._thread.join()

    def wait_for_request(self, is_wanted: Callable[[ModelRequest], bool], seconds: float = 60) -> ModelRequest:
        """Return the first request that is wanted, once it is there; TimeoutError after so many seconds."""
        with self._news:
            if not self._news.wait_for(lambda: any(map(is_wanted, self.requests)), seconds):
                raise TimeoutError(f"none of {len(self.requests)} requests is the one that was waited for")
            return next(filter(is_wanted, self.requests))

    def take(self, request: ModelRequest) -> ModelAnswer:
        """Record a request and decide what is said to it."""
        with self._news:
            numbered = replace(request, number=len(self.requests) + 1)
            self.requests.append(numbered)
            if self.record is not None:
                with self.record.open("a") as file:
                    file.write(
                        json.dumps({"number": numbered.number, "path": request.path, "body": request.body}) + "\n"
                    )
            self._news.notify_all()
        return self.answer(numbered)

    def answer(self, request: ModelRequest) -> ModelAnswer:
        """Find the rule for a request; a call of a tool that is not offered, or has just answered, becomes the text."""
        if request.is_compaction:  # hosts reckon what the summary saves from what its request is said to have taken
            return ModelAnswer(SUMMARY, input_tokens=max(self._tokens, request.tokens), number=request.number)
        news = "\n".join(message.text for message in request.news if not message.is_tool_result)
        said = news if not request.is_after_tool else request.text
        rule = next((rule for rule in reversed(self.rules) if rule.when in said), Rule())
        self._tokens = rule.tokens or request.tokens
        answer = ModelAnswer(rule.text, input_tokens=self._tokens, number=request.number)
        for _ in range(request.count_results_since(rule.when)):
            rule = rule.then or Rule()
        tool, arguments = to_call(request, rule) if rule.tool else (None, {})
        return replace(answer, tool=tool, arguments=arguments)


def to_call(request: ModelRequest, rule: Rule) -> tuple[OfferedTool | None, dict[str, Any]]:
    """Return the tool whose name ends as the rule says, whatever the host put before it, and its arguments.

    A host that only names its tools in a text has one tool that calls them.
    """
    offered = {tool.name: tool for tool in request.tools}
    ending = (tool for name, tool in offered.items() if name.endswith(rule.tool))
    found = offered.get(rule.tool) or next(ending, None)  # `write` is a host's own tool, not `memory_write`
    named = re.search(rf"\b[\w-]+{rule.tool}\b", request.text)
    if found is None and named and "tool_call" in offered:
        return offered["tool_call"], {"name": named.group(), "arguments": rule.arguments}
    return found, rule.arguments


def make_handler(model: StandInModel) -> type[BaseHTTPRequestHandler]:
    class ModelHandler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            """Say nothing: what was asked is recorded."""

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            if path.endswith("/models"):
                self.send_json({"object": "list", "data": [{"id": MODEL, "object": "model"}], "models": []})
            else:
                self.refuse()

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            path = self.path.partition("?")[0]
            try:
                body = json.loads(raw or b"{}")
            except ValueError:
                return self.refuse()
            if path.endswith(("/count_tokens", ":countTokens")):
                tokens = len(raw) // 4
                return self.send_json({"input_tokens": tokens, "totalTokens": tokens})
            return self.speak(path, body)

        def speak(self, path: str, body: dict[str, Any]) -> None:
            is_streamed, name = bool(body.get("stream")), str(body.get("model", MODEL))
            if path.endswith("/messages"):
                answer = model.take(parse_messages_request(path, body))
                self.send(is_streamed, message_events(answer, name), to_message(answer, name))
            elif path.endswith("/responses"):
                answer = model.take(parse_responses_request(path, body))
                self.send(is_streamed, response_events(answer, name), to_response(answer, name))
            elif path.endswith("/chat/completions"):
                answer = model.take(parse_chat_request(path, body))
                self.send(
                    is_streamed, completion_events(answer, name), to_completion(answer, name), b"data: [DONE]\n\n"
                )
            elif path.endswith((":generateContent", ":streamGenerateContent")):
                answer = model.take(parse_content_request(path, body))
                settings = body.get("generationConfig") or {}
                whole = to_content(answer, is_json=settings.get("responseMimeType") == "application/json")
                self.send(path.endswith(":streamGenerateContent"), [("", whole)], whole)
            else:
                self.refuse()

        def send(self, is_streamed: bool, events: Any, whole: dict[str, Any], end: bytes = b"") -> None:
            if is_streamed:
                self.send_bytes(b"".join(server_sent_events(events)) + end, "text/event-stream")
            else:
                self.send_json(whole)

        def send_json(self, value: dict[str, Any]) -> None:
            self.send_bytes(json.dumps(value).encode(), "application/json")

        def send_bytes(self, content: bytes, kind: str, status: int = 200) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def refuse(self) -> None:
            model.others.append(self.path)
            self.send_bytes(
                b"{}",
                "application/json",
                404,
            )

    return ModelHandler


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--requests", type=Path, help="append each request to this file, one line of JSON each")
    parser.add_argument("--script", type=Path, help="a JSON list of rules: when, text, tool, arguments, tokens")
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    rules = [Rule(**rule) for rule in json.loads(options.script.read_text())] if options.script else []
    model = StandInModel(rules, record=options.requests, port=options.port)
    print(model.url, flush=True)
    model.serve()
    return 0


if __name__ == "__main__":
    sys.exit(main())
