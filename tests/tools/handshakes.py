"""Write what a bridge of this version answers to handshakes and lists into the package: `python -m tests.tools.handshakes`.

The shim answers a host from it before any bridge runs. `test_early_answers.py` compares the file with a bridge.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from hermes_memory_bridge.version import __version__
from hermes_memory_bridge.wire.early_answers import HANDSHAKE_VERSIONS, LISTS, META, MODERN_VERSION, SHIPPED_FILE
from hermes_memory_bridge.wire.messages import ESSENTIAL, OWN_REQUEST
from hermes_memory_bridge.wire.paths import BridgePaths
from tests.bridge.running import bridge, dial

SELECTIONS = ("core", "all", ESSENTIAL)

INFO = {"name": "test", "version": "1"}


def render_handshakes(places: BridgePaths) -> str:
    """The lines of the file, as a running bridge answers."""
    versions: dict[tuple[str, str, str], list[str]] = {}
    for tools in SELECTIONS:
        for version in (*HANDSHAKE_VERSIONS, MODERN_VERSION):
            for method, result in read_answers(places, version, tools).items():
                versions.setdefault((tools, method, result), []).append(version)
    lines = [
        f"{__version__} {','.join(alike)} {tools} {method} {result}"
        for (tools, method, result), alike in versions.items()
    ]
    return "\n".join(lines) + "\n"


def read_answers(places: BridgePaths, version: str, tools: str) -> dict[str, str]:
    """What a bridge answers to one handshake and the lists after it, as far as it is always the same."""
    opening: dict[str, Any] = {"protocolVersion": version, "capabilities": {}, "clientInfo": INFO}
    method, params = "initialize", {}
    if version == MODERN_VERSION:
        envelope = {"protocolVersion": version, "clientInfo": INFO, "clientCapabilities": {}}
        opening = params = {"_meta": {META + name: value for name, value in envelope.items()}}
        method = "server/discover"
    asked = [(method, opening), *((name, params) for name in LISTS)]
    found = {}
    with dial(places) as line, line.makefile("rwb") as wire:
        wire.write(json.dumps({"hermes-memory": 1, "tools": tools}).encode() + b"\n")
        wire.flush()
        assert "error" not in json.loads(wire.readline())
        for number, (name, said) in enumerate(asked):
            request = {"jsonrpc": "2.0", "id": f"{OWN_REQUEST}{number}", "method": name, "params": said}
            wire.write(json.dumps(request).encode() + b"\n")
            wire.flush()
            stable = to_stable_result(name, json.loads(wire.readline())["result"])
            found[name] = json.dumps(stable, ensure_ascii=False, separators=(",", ":"))
    return found


def to_stable_result(method: str, result: dict[str, Any]) -> dict[str, Any]:
    """What of an answer is the same for every place and at every time: no instructions, no scopes."""
    stable = {name: value for name, value in result.items() if name not in ("instructions", "nextCursor")}
    if method == "resources/list":
        stable["resources"] = [resource for resource in result["resources"] if resource["uri"] == "memory://status"]
    return stable


def write_handshakes() -> None:
    """Write the file."""
    with tempfile.TemporaryDirectory() as folder, bridge(Path(folder) / "memory.db") as places:
        Path(SHIPPED_FILE).write_text(render_handshakes(places), encoding="utf-8")


if __name__ == "__main__":
    write_handshakes()
