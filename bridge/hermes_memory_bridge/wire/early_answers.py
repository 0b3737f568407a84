"""The answers to a host's handshake and lists that a shim gives by itself, before a bridge runs.

A host does not wait for a server without end: one that answers late is not in the model's first request. What every bridge of
this version answers to a host without a token is shipped with the program. When a bridge runs, its lists are compared, and the
host hears of those that differ.
"""

from __future__ import annotations

import os

from hermes_memory_bridge.version import __version__
from hermes_memory_bridge.wire.instructions import read_facts, to_instructions
from hermes_memory_bridge.wire.messages import OWN_CLIENTS, OWN_REQUEST
from hermes_memory_store.compact_json import parse_wire_message, to_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from hermes_memory_bridge.wire.paths import BridgePaths

META = "io.modelcontextprotocol/"

SHIPPED_FILE = os.path.join(os.path.dirname(__file__), "handshakes.txt")
"""A line an answer, written by `python -m tests.tools.handshakes`: version of the program, revisions of the protocol, selection
of tools, method, and the result as JSON. No facts stand here."""

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Revisions of the protocol that begin with `initialize`, which is answered with the revision that it asks for."""

MODERN_VERSION = "2026-07-28"
"""The revision without a handshake: each request says who asks."""

OPENINGS = {"initialize": HANDSHAKE_VERSIONS, "server/discover": (MODERN_VERSION,)}

NOTICES = {
    "tools/list": ("notifications/tools/list_changed", "toolsListChanged"),
    "prompts/list": ("notifications/prompts/list_changed", "promptsListChanged"),
    "resources/list": ("notifications/resources/list_changed", "resourcesListChanged"),
    "resources/templates/list": ("notifications/resources/list_changed", "resourcesListChanged"),
}
"""What tells a host that a list has changed, and the name under which it asks to be told (2026-07-28)."""

LISTS = tuple(NOTICES)

LISTENED = frozenset(name for _, name in NOTICES.values())


class EarlyAnswers:
    """What one host was answered before its bridge was there."""

    def __init__(self, paths: BridgePaths, hello: Mapping[str, Any]) -> None:
        """:param hello: the greeting of the bridge: theme, token, tools, folder"""
        self.paths = paths
        self.hello = hello
        self.known: dict[str, str] = {}
        self.opening: dict[str, Any] | None = None
        """The request that was answered as the host's first."""
        self.instructions: str | None = None
        self.given: dict[str, Any] = {"uids": [], "tokens": 0}
        """The facts that went with it, for the record of what was given."""
        self.lists: set[str] = set()
        """Lists that were answered here."""
        self.streams: list[dict[str, Any]] = []
        """Requests for notices of changes, acknowledged here."""

    def find_answer(self, message: dict[str, Any]) -> str | None:
        """Return the answer to a request; None for what only a bridge can answer."""
        method, params = message.get("method"), message.get("params", {})
        number = message.get("id")
        if not is_request_id(number) or not isinstance(params, dict) or message.get("jsonrpc") != "2.0":
            return None
        if method in OPENINGS:
            result = self.open(message, params)
        elif self.opening is None:
            return None
        elif method in LISTS and params.keys() <= {"_meta"} and self.is_of_this_era(params):
            self.lists.add(str(method))
            result = self.known[str(method)]
        elif method == "ping" and self.opening["method"] == "initialize":
            result = "{}"
        elif method == "subscriptions/listen" and self.is_of_this_era(params):
            return self.acknowledge_stream(message, params)
        else:
            return None
        return None if result is None else f'{{"jsonrpc":"2.0","id":{to_json(number)},"result":{result}}}\n'

    def open(self, message: dict[str, Any], params: dict[str, Any]) -> str | None:
        """Return the result of a handshake, with the instructions for this host."""
        method = str(message["method"])
        if self.opening is not None and (method != "server/discover" or self.opening["method"] != method):
            return None
        meta = params.get("_meta")
        source = params if method == "initialize" else meta if isinstance(meta, dict) else {}
        head = "" if method == "initialize" else META
        version, info = source.get(head + "protocolVersion"), source.get(head + "clientInfo")
        info = info if isinstance(info, dict) else {}
        capabilities = source.get(head + ("capabilities" if method == "initialize" else "clientCapabilities"))
        name = info.get("name")
        if version not in OPENINGS[method] or not isinstance(name, str) or not isinstance(capabilities, dict):
            return None
        if method == "initialize" and not isinstance(info.get("version"), str):
            return None
        if self.opening is None:
            if name.startswith(OWN_CLIENTS) or self.hello.get("token"):
                return None  # their tools are not those of other hosts
            self.known = load_shipped_answers(version, self.hello.get("tools") or "core")
            if method not in self.known:
                return None
            self.opening = message
            self.instructions = to_json(self.read_instructions(name))
        return f'{self.known[method][:-1]},"instructions":{self.instructions}}}'

    def read_instructions(self, client: str) -> str:
        theme = self.hello.get("theme") or self.hello.get("profile") or ""
        facts = read_facts(self.paths.store, self.hello.get("folder", ""), theme=theme, client=client)
        if facts is not None:
            self.given = {"uids": facts.uids, "tokens": facts.tokens}
        return to_instructions(facts)

    def is_of_this_era(self, params: dict[str, Any]) -> bool:
        """Check whether a request belongs to the era of the first one."""
        assert self.opening is not None
        meta = params.get("_meta")
        meta = meta if isinstance(meta, dict) else {}
        version = meta.get(META + "protocolVersion")
        if self.opening["method"] == "initialize":
            return version is None
        return version == MODERN_VERSION and isinstance(meta.get(META + "clientCapabilities"), dict)

    def acknowledge_stream(self, message: dict[str, Any], params: dict[str, Any]) -> str | None:
        """Return the acknowledgement of a request for notices; the bridge is asked for them later."""
        notifications = params.get("notifications")
        if (
            not isinstance(notifications, dict)
            or not notifications.keys() <= LISTENED
            or not all(on is True for on in notifications.values())
        ):
            return None
        self.streams.append(message)
        names = ",".join(f'"{name}":true' for name in notifications)
        return (
            '{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"'
            f'{META}subscriptionId":{to_json(message["id"])}}},"notifications":{{{names}}}}}}}\n'
        )

    def to_comparison(self) -> list[dict[str, Any]]:
        """Return the requests that ask the bridge for what was answered here: the first repeats the host's own."""
        assert self.opening is not None
        meta = self.opening.get("params", {}).get("_meta")
        params = {} if self.opening["method"] == "initialize" else {"params": {"_meta": meta}}
        lists = [
            {"jsonrpc": "2.0", "id": OWN_REQUEST + method, "method": method, **params}
            for method in LISTS
            if method in self.lists
        ]
        return [{**self.opening, "id": OWN_REQUEST + str(self.opening["method"])}, *lists]


class AnswerComparison:
    """The bridge's answers beside those that the host was given."""

    def __init__(self, early: EarlyAnswers) -> None:
        self.early = early
        self.open = {request["id"] for request in early.to_comparison()}
        self.changed: set[str] = set()

    def take(self, message: dict[str, Any]) -> list[str]:
        """Take an answer of the bridge; return the notices that the host is to have, once all answers are there."""
        self.open.discard(message["id"])
        method, result = message["id"].removeprefix(OWN_REQUEST), message.get("result")
        if (
            method in self.early.lists
            and isinstance(result, dict)
            and result != parse_wire_message(self.early.known[method].encode())
        ):
            self.changed.add(method)
        return [] if self.open else self.to_notices()

    def to_notices(self) -> list[str]:
        """Return a notice for each kind of list that the host was given otherwise than the bridge has it."""
        notices: list[str] = []
        for method, name in dict.fromkeys(NOTICES[method] for method in NOTICES if method in self.changed):
            assert self.early.opening is not None
            if self.early.opening["method"] == "initialize":
                notices.append(f'{{"jsonrpc":"2.0","method":"{method}"}}\n')
                continue
            for stream in self.early.streams:
                if name in stream["params"]["notifications"]:
                    mark = f'{{"_meta":{{"{META}subscriptionId":{to_json(stream["id"])}}}}}'
                    notices.append(f'{{"jsonrpc":"2.0","method":"{method}","params":{mark}}}\n')
        return notices


def load_shipped_answers(version: str, tools: str) -> dict[str, str]:
    """Return the results, as JSON, by their methods; empty for a revision or a selection of tools that is not shipped."""
    try:
        with open(SHIPPED_FILE, encoding="utf-8") as file:
            lines = [line.rstrip("\n").split(" ", 4) for line in file]
    except OSError:
        return {}
    return {
        words[3]: words[4]
        for words in lines
        if words[0] == __version__ and words[2] == tools and version in words[1].split(",")
    }


def is_request_id(number: object) -> bool:
    return isinstance(number, str | int) and not isinstance(number, bool)
