"""A real bridge, a real shim, a real endpoint."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from pathlib import Path

from hermes_memory_bridge.daemon.control import ask_bridge
from hermes_memory_store.find.vector_file import vector_file_path
from tests.bridge.embedding.standin import StandIn
from tests.bridge.running import Shim, bridge, environment, until

FACT = "V[family.car]: the car stands in the garage"


def test_a_bridge_recalls_by_meaning_and_says_so(tmp_path: Path, told: StandIn) -> None:
    db = tmp_path / "memory.db"
    with bridge(db) as places:
        shim = Shim(db)
        shim.open()
        shim.call("memory_write", content=FACT)
        until(lambda: "1 of 1" in str((ask_bridge(places, "status") or {}).get("recall")), "the vector")
        answer = shim.call("recall_memory", query="automobile")["result"]["structuredContent"]
        assert [one["content"] for one in answer["results"]] == [FACT]
        assert answer["ranked_by"] == "words and counting"
        said = subprocess.run(
            [sys.executable, "-m", "hermes_memory_bridge", "embedding", "--db", str(db)],
            env=environment(tmp_path),
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        assert said == "recall by words and counting (1 of 1 facts and turns have vectors)\n"
        assert stat.S_IMODE(vector_file_path(db).stat().st_mode) == 0o600
        shim.close()


def test_the_command_tries_what_is_configured_and_keeps_the_key(tmp_path: Path, told: StandIn) -> None:
    env = environment(tmp_path) | {"HERMES_MEMORY_SECRETS": "file"}

    def run(*words: str, typed: str = "") -> subprocess.CompletedProcess[str]:
        command = [
            sys.executable,
            "-m",
            "hermes_memory_bridge",
            "embedding",
            *words,
            "--db",
            str(tmp_path / "memory.db"),
        ]
        return subprocess.run(command, env=env, input=typed, capture_output=True, text=True, check=False)

    assert run("key", typed="sk-of-mine-123\n").returncode == 0
    tried = run("test")
    assert tried.returncode == 0, tried.stderr
    assert tried.stdout.startswith("counting: 64 dimensions")
    assert "sk-of-mine-123" not in tried.stdout + tried.stderr
    assert told.keys[-1] == "Bearer sk-of-mine-123"
    assert run("forget-key").returncode == 0
    told.fault = lambda _: (401, {}, json.dumps({"error": "no"}).encode())
    refused = run("test")
    assert (refused.returncode, told.keys[-1]) == (1, None)
    assert "the key is missing or wrong" in refused.stdout
