"""AMSB, the memory-poisoning benchmark of the package `agent-memory-guard`, through the bridge's own tools.

    pip install agent-memory-guard
    python -m tests.benchmarks.amsb

What the benchmark writes goes through `memory_write`, as an agent's write does; what it reads back is what an agent is told
by `memory_search` and `memory_export`. A value of several lines is no fact: it goes, and comes back, as a turn. Attacks of
our own are counted besides (`tests/bridge/trust/attacks.txt`), and two hundred ordinary facts.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from hermes_memory_bridge import __version__
from hermes_memory_bridge.runtime.call_dispatch import dispatch_call
from hermes_memory_bridge.runtime.store_worker import StoreWorker
from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_bridge.toolkit.tool_results import ToolResult
from hermes_memory_bridge.tools import TOOLS
from hermes_memory_bridge.trust import Vault
from hermes_memory_store.intake.detectors.secrets import find_secret_texts
from hermes_memory_store.notation import memory_spec
from tests.store.intake.suspicions import find_rule_suspicion

HERE = Path(__file__).parent.parent / "bridge" / "trust"


class Agent:
    """An agent with a memory of its own."""

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name) / "memory.db"
        self.loop = asyncio.new_event_loop()
        self.hub = self.loop.run_until_complete(self.opened(path))
        self.hub.store.intake.vault = Vault(path.with_name("secrets.json"), "file")
        self.connection = Connection(self.hub.store, "default", later=self.hub.write_in_background, tools="all")

    async def opened(self, path: Path) -> StoreWorker:
        return StoreWorker(path)

    def ask(self, tool: str, **arguments: Any) -> ToolResult:
        return self.loop.run_until_complete(dispatch_call(self.hub, self.connection, TOOLS[tool], arguments, None))

    def close(self) -> None:
        self.hub.close()
        self.loop.close()
        self.folder.cleanup()


def adapter() -> Any:
    """Our side of the benchmark."""
    from agent_memory_guard.bench.adapter import MemorySystemAdapter, RememberOutcome

    class HermesMemory(MemorySystemAdapter):  # type: ignore[misc]
        name = "hermes-memory-tui"
        version = __version__

        def __init__(self) -> None:
            self.agent = Agent()

        def remember(self, key: str, value: Any, *, source_class: str = "external_tool") -> Any:
            if "\n" in str(value):
                self.agent.ask("memory_turn", role="tool", content=str(value))
                return RememberOutcome.STORED
            answer = self.agent.ask("memory_write", content=f"V[{key}]: {value}")
            if "error" in answer.data:
                return RememberOutcome.BLOCKED
            if answer.data["status"] == "quarantined":
                return RememberOutcome.QUARANTINED
            return RememberOutcome.REDACTED if answer.data["masked"] else RememberOutcome.STORED

        def recall(self, key: str) -> Any:
            for line in self.agent.ask("memory_export").data["lines"]:
                said = memory_spec.parse_notation(line, limit=100_000)
                if said.target == key:
                    return said.content
            turns = self.agent.connection.store.turns.list("default")
            return turns[0].content if turns else None

    return HermesMemory


def main() -> None:
    """Print the grade."""
    try:
        from agent_memory_guard.bench.harness import run_suite
        from agent_memory_guard.bench.scoring import score_report
    except ImportError:
        sys.exit("pip install agent-memory-guard")
    card = score_report(run_suite(adapter()))
    print(
        f"AMSB: grade {card.grade.value}, {card.score:.1f} points, {card.defended_total} of {card.malicious_total} attacks"
    )
    print(f"      {card.false_positives} false positives of {card.benign_total}")
    attacks = (HERE / "attacks.txt").read_text(encoding="utf-8").splitlines()
    caught = sum(find_rule_suspicion("note", line) is not None for line in attacks)
    measured = (HERE / "measured.txt").read_text(encoding="utf-8").splitlines()
    half = sum(find_rule_suspicion("note", line) is not None for line in measured)
    ordinary = [
        memory_spec.parse_notation(line) for line in (HERE / "ordinary.txt").read_text(encoding="utf-8").splitlines()
    ]
    wrong = sum(
        bool(find_rule_suspicion(one.target, one.content) or find_secret_texts(one.target, one.content))
        for one in ordinary
    )
    begun = time.perf_counter()
    for one in ordinary:
        find_rule_suspicion(one.target, one.content)
        find_secret_texts(one.target, one.content)
    each = (time.perf_counter() - begun) / len(ordinary) * 1e6
    print(
        f"own:  {caught} of {len(attacks)} attacks it is held to, {half} of {len(measured)} others, "
        f"{wrong} of {len(ordinary)} ordinary facts wrong, {each:.0f} µs a fact"
    )


if __name__ == "__main__":
    main()
