"""Hosts with the provider installed, over real bridge processes."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from hermes_memory_bridge.daemon.control import ask_bridge
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_store.model import Fact, FactFilter, Tier
from hermes_memory_store.store import Store
from tests.bridge.bridge_forks import fork_bridge
from tests.bridge.running import run_command, until
from tests.processes import is_alive

HOST = Path(__file__).with_name("host.py")

STANDING = (Tier.HOT, Tier.COLD)


class Profile:
    """A profile of a host with the provider in it, and the store behind it."""

    def __init__(self, home: Path, python: str) -> None:
        self.home = home
        self.python = python
        self.db = home / "m.db"
        self.places = BridgePaths.of(self.db)
        home.mkdir(exist_ok=True)
        connected(home, "--provider", "--yes", "--capture", "--db", str(self.db))

    def file(self, kind: str = "memory") -> Path:
        folder = self.home / "memories"
        folder.mkdir(exist_ok=True)
        return folder / {"memory": "MEMORY.md", "user": "USER.md"}[kind]

    def facts(self, theme: str = "default", tiers: tuple[Tier, ...] = STANDING) -> list[Fact]:
        if not self.db.exists():
            return []
        with Store.open(self.db) as store:
            if theme not in store.names.all_themes():
                return []
            return store.facts.page(FactFilter(theme=theme, tiers=frozenset(tiers)), limit=200).facts

    def contents(self, theme: str = "default", tiers: tuple[Tier, ...] = STANDING) -> set[str]:
        return {fact.content for fact in self.facts(theme, tiers)}

    def turns(self, theme: str = "default") -> list[str]:
        if not self.db.exists():
            return []
        with Store.open(self.db) as store:
            found = store.turns.list(theme, limit=1000) if theme in store.names.all_themes() else []
        return [turn.content for turn in found][::-1]

    def holds(self, *contents: str, theme: str = "default") -> None:
        """Wait until the facts that stand are exactly these."""
        until(lambda: self.contents(theme) == set(contents), f"{contents}, not {self.contents(theme)}")

    def running(self) -> int | None:
        answer = ask_bridge(self.places, "status")
        return None if answer is None else int(answer["pid"])

    def kill_bridge(self) -> None:
        """`kill -9`, and nobody may start another before `mend`."""
        self.break_bridge()
        pid = self.running()
        if pid is not None:
            process = psutil.Process(pid)
            process.kill()
            until(lambda: not is_alive(process), "its end")

    def break_bridge(self) -> None:
        """The command that starts a bridge is gone."""
        file = self.home / "plugins" / "hermes-memory" / "installed.json"
        installed = json.loads(file.read_text())
        if installed["command"]:
            self.kept = installed["command"]
        file.write_text(json.dumps({**installed, "command": []}))

    @contextlib.contextmanager
    def bridge(self) -> Iterator[None]:
        env = os.environ | {"HOME": str(self.home), "HERMES_HOME": str(self.home)}
        process = fork_bridge(["serve", "--db", str(self.db)], env)
        try:
            until(self.running, "the bridge")
            yield
        finally:
            process.kill()
            process.join()
            process.close()


class Host:
    def __init__(self, profile: Profile, *, cwd: Path | str = "/", **identity: Any) -> None:
        self.profile = profile
        env = {name: value for name, value in os.environ.items() if not name.startswith(("HERMES_", "PYTHON"))}
        env |= {"HOME": str(profile.home), "HERMES_HOME": str(profile.home), "HERMES_MEMORY_LINGER": "0.5"}
        self.process = subprocess.Popen(
            [profile.python, str(HOST)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, text=True, cwd=cwd
        )
        self("initialize_all", args=["s1"], kwargs={"platform": "cli", "agent_identity": "default"} | identity)

    def __call__(self, do: str, **given: Any) -> Any:
        """Have a command carried out; its result."""
        return self.timed(do, **given)[0]

    def timed(self, do: str, **given: Any) -> tuple[Any, float]:
        """The result, and the milliseconds of the hook."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"do": do, "with": given}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        assert "error" not in answer, answer
        return answer["result"], answer["ms"]

    def memory(self, action: str, content: str | None = None, old: str | None = None, target: str = "memory") -> None:
        """The model calls the host's own memory tool."""
        given = {"action": action, "target": target, "content": content, "old_text": old}
        result = self("memory", **{name: value for name, value in given.items() if value is not None})
        assert result["success"], result

    def settled(self) -> None:
        """Wait until everything is delivered."""
        until(lambda: not self("waiting"), "an empty outbox")

    def end(self) -> None:
        self("on_session_end", args=[[]])
        self("shutdown_all")
        self.close()

    def kill(self) -> None:
        self.process.kill()
        self.close()

    def close(self) -> None:
        """Nothing is left of it."""
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        self.process.wait(15)


def connected(home: Path, *words: str) -> None:
    """`connect hermes-agent`, in a home of its own."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("HERMES_")]:
            patch.delenv(name)
        done = run_command("connect", "hermes-agent", *words, HOME=str(home), HERMES_HOME=str(home))
    assert done.returncode == 0, done.stderr + done.stdout


@pytest.fixture(params=["stand-in", "hermes-agent"])
def profile(request: pytest.FixtureRequest, tmp_path: Path) -> Profile:
    """A profile of the stand-in, and one of hermes-agent where `$HERMES_AGENT_PYTHON` names an interpreter that has it."""
    if request.param == "stand-in":
        return Profile(tmp_path / "h", sys.executable)
    python = os.environ.get("HERMES_AGENT_PYTHON")
    if not python:
        pytest.skip("$HERMES_AGENT_PYTHON names no interpreter with hermes-agent")
    return Profile(tmp_path / "h", python)


@pytest.fixture
def served(profile: Profile) -> Iterator[None]:
    """A bridge runs before the first host: `test_without_a_bridge.py` tests that a host starts one."""
    with profile.bridge():
        yield


@pytest.fixture
def begin(profile: Profile, served: None) -> Iterator[Callable[..., Host]]:
    """Starts hosts on the profile; whatever is left of them ends with the test."""
    begun: list[Host] = []

    def made(**identity: Any) -> Host:
        begun.append(Host(profile, **identity))
        return begun[-1]

    yield made
    for host in begun:
        if host.process.poll() is None:
            host.kill()
    pid = profile.running()
    if pid is not None:
        with contextlib.suppress(psutil.NoSuchProcess):
            psutil.Process(pid).terminate()


def soon(true: Callable[[], Any], seconds: float) -> bool:
    """Whether something comes true within so many seconds."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if true():
            return True
        time.sleep(0.02)
    return False
