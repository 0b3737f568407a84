"""The answers to a host's handshake and lists that a shim gives by itself, before a bridge runs.

A host does not wait for a server without end: one that answers late is not in the model's first request. So the handshake and the
lists are answered from what is known of them; when the bridge answers, its answers are compared, and the host hears of lists that
differ.
"""

from __future__ import annotations

from hermes_memory_bridge.launcher import known_handshakes
from hermes_memory_bridge.launcher.instructions import read_facts, to_instructions
from hermes_memory_bridge.launcher.shim_messages import OWN_CLIENTS, OWN_REQUEST
from hermes_memory_store.compact_json import parse_wire_message, quote_text, to_id_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from hermes_memory_bridge.launcher.paths import BridgePaths

META = "io.modelcontextprotocol/"

OPENINGS = {"initialize": known_handshakes.HANDSHAKE_VERSIONS, "server/discover": (known_handshakes.MODERN_VERSION,)}

NOTICES = {
    "tools/list": ("notifications/tools/list_changed", "toolsListChanged"),
    "prompts/list": ("notifications/prompts/list_changed", "promptsListChanged"),
    "resources/list": ("notifications/resources/list_changed", "resourcesListChanged"),
    "resources/templates/list": ("notifications/resources/list_changed", "resourcesListChanged"),
}
"""What tells a host that a list has changed, and the name under which it asks to be told (2026-07-28)."""

LISTENED = frozenset(name for _, name in NOTICES.values())


class EarlyAnswers:
    """What one host was answered before its bridge was there."""

    def __init__(self, paths: BridgePaths, hello: Mapping[str, Any]) -> None:
        """:param hello: the greeting of the bridge: theme, token, tools, folder"""
        self.paths = paths
        self.hello = hello
        self.known: dict[str, str] = {}
        self.key: known_handshakes.HandshakeKey = ("", "", "")
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
        number = to_id_json(message.get("id"))
        if number is None or not isinstance(params, dict) or message.get("jsonrpc") != "2.0":
            return None
        if method in OPENINGS:
            result = self.open(message, params)
        elif self.opening is None:
            return None
        elif method in known_handshakes.LISTS and params.keys() <= {"_meta"} and self.is_of_this_era(params):
            self.lists.add(str(method))
            result = self.known[str(method)]
        elif method == "ping" and self.opening["method"] == "initialize":
            result = "{}"
        elif method == "subscriptions/listen" and self.is_of_this_era(params):
            return self.acknowledge_stream(message, params)
        else:
            return None
        return None if result is None else f'{{"jsonrpc":"2.0","id":{number},"result":{result}}}\n'

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
            if name.startswith(OWN_CLIENTS):
                return None  # its tools are not those of other hosts
            self.key = known_handshakes.to_handshake_key(
                version, self.hello.get("tools", ""), self.hello.get("token", "")
            )
            self.known = known_handshakes.load_known_answers(self.paths.handshakes, self.key)
            if method not in self.known:
                return None
            self.opening = message
            self.instructions = quote_text(self.read_instructions(name))
        return f'{self.known[method][:-1]},"instructions":{self.instructions}}}'

    def read_instructions(self, client: str) -> str:
        """Return the instructions for a host, and remember which facts are in them."""
        theme, token = self.hello.get("theme") or self.hello.get("profile") or "", self.hello.get("token", "")
        facts = read_facts(self.paths.store, self.hello.get("folder", ""), theme=theme, client=client, token=token)
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
        return version == known_handshakes.MODERN_VERSION and isinstance(meta.get(META + "clientCapabilities"), dict)

    def acknowledge_stream(self, message: dict[str, Any], params: dict[str, Any]) -> str | None:
        """Return the acknowledgement of a request for notices; the bridge is asked for them later."""
        wanted = params.get("notifications")
        if (
            not isinstance(wanted, dict)
            or not wanted.keys() <= LISTENED
            or not all(on is True for on in wanted.values())
        ):
            return None
        self.streams.append(message)
        names = ",".join(f'"{name}":true' for name in wanted)
        return (
            '{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"'
            f'{META}subscriptionId":{to_id_json(message["id"])}}},"notifications":{{{names}}}}}}}\n'
        )

    def to_comparison(self) -> list[dict[str, Any]]:
        """Return the requests that ask the bridge for what was answered here: the first repeats the host's own."""
        assert self.opening is not None
        meta = self.opening.get("params", {}).get("_meta")
        params = {} if self.opening["method"] == "initialize" else {"params": {"_meta": meta}}
        asked = [method for method in known_handshakes.LISTS if method != "resources/list" or method in self.lists]
        lists = [{"jsonrpc": "2.0", "id": OWN_REQUEST + method, "method": method, **params} for method in asked]
        return [{**self.opening, "id": OWN_REQUEST + str(self.opening["method"])}, *lists]


class AnswerComparison:
    """The bridge's answers beside those that the host was given."""

    def __init__(self, early: EarlyAnswers) -> None:
        self.early = early
        self.open = {request["id"] for request in early.to_comparison()}
        self.found: dict[str, str] = {}
        self.changed: set[str] = set()

    def take(self, message: dict[str, Any]) -> list[str]:
        """Take an answer of the bridge; return the notices that the host is to have, once all answers are there."""
        number = message["id"]
        self.open.discard(number)
        method, result = number.removeprefix(OWN_REQUEST), message.get("result")
        known = parse_wire_message(self.early.known[method].encode())
        if isinstance(result, dict) and known is not None:
            if method in self.early.lists and result != known:
                self.changed.add(method)
            stable = to_stable_result(method, result)
            if stable != known:
                self.found[method] = to_result_json(stable)
        if self.open:
            return []
        if self.found:
            self.save()
        return self.to_notices()

    def save(self) -> None:
        """Keep what the bridge says for the next time."""
        try:
            known_handshakes.save_answers(
                self.early.paths.handshakes, self.early.key, {**self.early.known, **self.found}
            )
        except OSError:
            return  # a full disk, or a folder that cannot be written: the next shim compares again

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
                    mark = f'{{"_meta":{{"{META}subscriptionId":{to_id_json(stream["id"])}}}}}'
                    notices.append(f'{{"jsonrpc":"2.0","method":"{method}","params":{mark}}}\n')
        return notices


def to_stable_result(method: str, result: dict[str, Any]) -> dict[str, Any]:
    """Return what of an answer is the same for every place and at every time: no instructions, no scopes."""
    stable = {name: value for name, value in result.items() if name not in ("instructions", "nextCursor")}
    if method == "resources/list" and isinstance(result.get("resources"), list):
        listed = [one for one in result["resources"] if isinstance(one, dict) and one.get("uri") == STATUS_URI]
        stable["resources"] = listed
    return stable


STATUS_URI = "memory://status"
"""The one resource that every theme has."""


def to_result_json(value: object) -> str:
    """Return a value as JSON on one line."""
    import json  # here, not above: nobody waits for it when it is called

    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
