"""Programs of two versions side by side: 0.4.1, as its tag has it, with what is here.

What is updated first differs from machine to machine: a host's shim, its hook and its copy of the provider are started anew when
the host is, the bridge when nobody uses it, a teammate's machine weeks later.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from hermes_memory_bridge.wire.paths import BridgePaths
from tests.bridge.running import until
from tests.bridge.team import conftest as team_fixtures
from tests.processes import PATIENCE_S
from tests.tools.structure import ROOT

pytestmark = pytest.mark.long

postgres, template, database = team_fixtures.postgres, team_fixtures.template, team_fixtures.database

RELEASE = "dc2e2263728f36bfb172718f3a1eea986b7a51fc"
"""The last commit of 0.4.1: a clone has commits where it has no tags."""
ROOMS = ("themes", "store", "bridge", "tui")
THEME = "ours"


@dataclass(frozen=True)
class Version:
    """A tree, and its programs as processes."""

    name: str
    tree: Path

    def environment(self, home: Path, **more: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("HERMES_")}
        paths = os.pathsep.join([*(str(self.tree / room) for room in ROOMS), str(self.tree)])
        named = {"HOME": str(home), "HERMES_HOME": str(home), "HERMES_MEMORY_SECRETS": "file", "PYTHONPATH": paths}
        return kept | named | {"HERMES_MEMORY_LINGER": "60"} | more

    def run(self, home: Path, *words: str, given: str | None = None, **more: str) -> str:
        """What a Python program of this version prints."""
        command = [sys.executable, *words]
        environment = self.environment(home, **more)
        done = subprocess.run(
            command, input=given, capture_output=True, text=True, timeout=120, cwd=home, env=environment
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def list_contents(self, home: Path, theme: str = "default") -> set[str]:
        """What stands, as the command line of this version says."""
        words = ("-m", "hermes_memory_tui", "facts", "--json", "--theme", theme, "--db", str(home / "memory.db"))
        return {fact["content"] for fact in json.loads(self.run(home, *words))["facts"]}

    @contextlib.contextmanager
    def serve(self, home: Path, **more: str) -> Iterator[Path]:
        db = home / "memory.db"
        bridge = subprocess.Popen(
            [sys.executable, "-m", "hermes_memory_bridge", "serve", "--db", str(db)],
            env=self.environment(home, **more),
            cwd=home,
        )
        try:
            until(lambda: os.path.exists(BridgePaths.of(db).line), "the bridge")
            yield db
        finally:
            bridge.terminate()
            bridge.wait(PATIENCE_S)


HERE = Version("here", ROOT)


@pytest.fixture(scope="session")
def old(tmp_path_factory: pytest.TempPathFactory) -> Version:
    """Version 0.4.1, out of this repository."""
    packed = subprocess.run(["git", "-C", str(ROOT), "archive", RELEASE, *ROOMS, "tests"], capture_output=True)
    if packed.returncode:
        pytest.skip(f"the last commit of 0.4.1 is not in this clone: {packed.stderr.decode().strip()}")
    tree = tmp_path_factory.mktemp("v0.4.1")
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        archive.extractall(tree, filter="data")
    return Version("0.4.1", tree)


@pytest.fixture(params=["old bridge", "new bridge"])
def pair(request: pytest.FixtureRequest, old: Version) -> tuple[Version, Version]:
    """The version of the bridge, and that of everybody else."""
    return (old, HERE) if request.param == "old bridge" else (HERE, old)


SHIM = """
import json, sys
from pathlib import Path
from tests.bridge.running import Shim
with Shim(Path(sys.argv[1]), "--tools", "all") as shim:
    shim.open("claude-code")
    shim.request("tools/list")
    tools = [tool["name"] for tool in shim.hear()["result"]["tools"]]
    calls = [shim.call("memory_write", content="D[cache]: redis by shim", scope="speed")]
    calls += [shim.call("memory_search", query="redis"), shim.call("memory_status")]
    print(json.dumps([len(tools), *(call["result"]["isError"] for call in calls), calls[1]["result"]["content"][0]["text"]]))
    assert shim.close() == 0
"""

CLIENT = """
import sys
from hermes_memory_bridge.client import MemoryClient
with MemoryClient(f"unix://{sys.argv[1]}") as memory:
    written = memory.write("D[queue]: kafka by client", scope="speed")
    memory.tick(1)
    memory.turn("user", "we spoke of kafka")
    memory.edit(written.data["uid"], "kafka by client, edited")
    print(written.data["status"], memory.recall("kafka").data["count"], len(memory.history(written.data["uid"]).data["changes"]))
"""

HOOK = "from hermes_memory_bridge.hook_program.program import main; main()"

INSPECTOR = """
import asyncio, sys
from pathlib import Path
from tests.tui.inspector.driving import inspecting, screen_text, until
async def look():
    async with inspecting(Path(sys.argv[1]), "default") as pilot:
        await until(pilot, lambda: "redis" in screen_text(pilot))
        print(screen_text(pilot))
        await pilot.press("7")
        await pilot.pause()
asyncio.run(look())
"""


def test_shim_client_hook_and_inspector_of_one_version_use_the_bridge_of_the_other(
    pair: tuple[Version, Version], tmp_path: Path
) -> None:
    bridge, others = pair
    with bridge.serve(tmp_path) as db:
        tools, *failed, found = json.loads(others.run(tmp_path, "-c", SHIM, str(db)))
        assert (tools, failed) == (20, [False] * 3)
        assert "D[cache]: redis by shim" in found

        assert others.run(tmp_path, "-c", CLIENT, BridgePaths.of(db).http).split() == ["created", "1", "2"]
        assert bridge.list_contents(tmp_path) == {"redis by shim", "kafka by client, edited"}
        # Who opens the file itself must know all of it: a purge by 0.4.1 would not reach what agents ran.
        opens = contextlib.nullcontext() if others is HERE else pytest.raises(AssertionError, match=r"store\.too_new")
        with opens:
            assert others.list_contents(tmp_path) == {"redis by shim", "kafka by client, edited"}

        payload = {"session_id": "c-1", "cwd": str(tmp_path), "hook_event_name": "SessionStart", "source": "startup"}
        words = ("-c", HOOK, "claude-code", "start", "--db", str(db))
        given = until(lambda: others.run(tmp_path, *words, given=json.dumps(payload)), "the hook's answer")
        assert "redis by shim" in json.loads(given)["hookSpecificOutput"]["additionalContext"]

        if others is HERE:
            assert "redis by shim" in others.run(tmp_path, "-c", INSPECTOR, str(db))
        status = others.run(tmp_path, "-m", "hermes_memory_bridge", "status", "--json", "--db", str(db))
        assert json.loads(status)["running"] is True


def test_a_providers_copy_of_one_version_uses_the_bridge_of_the_other(
    pair: tuple[Version, Version], tmp_path: Path
) -> None:
    bridge, others = pair
    db = tmp_path / "memory.db"
    connect = ("-m", "hermes_memory_bridge", "connect", "hermes-agent", "--provider", "--yes", "--capture")
    others.run(tmp_path, *connect, "--db", str(db), given="")
    assert list((tmp_path / "plugins" / "hermes-memory").glob("*.py"))
    (tmp_path / "host").mkdir()
    host = shutil.copy(others.tree / "tests" / "bridge" / "provider" / "host.py", tmp_path / "host" / "host.py")
    commands = [
        {"do": "initialize_all", "with": {"args": ["s1"], "kwargs": {"platform": "cli"}}},
        {"do": "memory", "with": {"action": "add", "content": "We deploy on Fridays"}},
        {"do": "turn", "with": {"turn": 1, "user": "when do we deploy?", "assistant": "on Fridays"}},
        {"do": "handle_tool_call", "with": {"args": ["memory_write", {"content": "D[port]: 5432 by provider"}]}},
        {"do": "shutdown_all"},
    ]
    lines = "".join(json.dumps(command) + "\n" for command in commands)
    with bridge.serve(tmp_path):
        answers = [json.loads(line) for line in others.run(tmp_path, str(host), given=lines, STAND_IN="1").splitlines()]
        assert [answer for answer in answers if "error" in answer] == []
        wanted = {"We deploy on Fridays", "5432 by provider"}
        until(lambda: wanted <= bridge.list_contents(tmp_path), lambda: str(bridge.list_contents(tmp_path)))


def homes(folder: Path, policy: str) -> tuple[Path, Path]:
    """Two machines whose policies say how the theme is shared."""
    made = folder / "first", folder / "second"
    for home in made:
        home.mkdir()
        (home / "memory-themes.toml").write_text(f"[themes.{THEME}]\n{policy}\nsync_turns = true\n")
    return made


WRITE = """
import sys
from hermes_memory_store import Store
with Store.open(sys.argv[1]) as store:
    session = store.sessions.open("ours", sys.argv[2], client="my-agent")
    store.turns.add("ours", "user", f"captured by {sys.argv[2]}", session=session)
    for number in range(3):
        store.facts.write("ours", f"V[{sys.argv[2]}.{number}]: {number} by {sys.argv[2]}", scope="shared", session=session)
    store.facts.write("ours", f"D[both]: {sys.argv[2]} decided", scope="shared", session=session)
    store.facts.pin(store.facts.write("ours", f"C[pinned.{sys.argv[2]}]: by {sys.argv[2]}").fact.uid)
"""


def list_turns(version: Version, home: Path) -> set[str]:
    words = ("-m", "hermes_memory_tui", "turns", "--json", "--theme", THEME, "--db", str(home / "memory.db"))
    return {turn["content"] for turn in json.loads(version.run(home, *words))["turns"]}


def exchange(versions: tuple[Version, Version], places: tuple[Path, Path], **more: str) -> None:
    """Write on both machines, and wait until both say the same."""
    for version, home in zip(versions, places, strict=True):
        version.run(home, "-c", WRITE, str(home / "memory.db"), home.name)

    def have_met() -> bool:
        for version, home in zip(versions, places, strict=True):
            sync = ("-m", "hermes_memory_bridge", "sync", "now", "--db", str(home / "memory.db"))
            try:
                version.run(home, *sync, **more)
            except AssertionError as refusal:
                if "another process exchanges" not in str(refusal):
                    raise
                return False  # its bridge does at this moment
        first, second = (version.list_contents(home, THEME) for version, home in zip(versions, places, strict=True))
        turns = [list_turns(version, home) for version, home in zip(versions, places, strict=True)]
        return first == second and len(first) == 9 and turns == [{"captured by first", "captured by second"}] * 2

    until(have_met, "the same facts and messages on both machines")
    for version, home in zip(versions, places, strict=True):
        doctor = ("-m", "hermes_memory_tui", "doctor", "--json", "--db", str(home / "memory.db"))
        assert json.loads(version.run(home, *doctor))["ok"]


def test_a_team_has_a_member_of_the_other_version(
    old: Version, database: team_fixtures.Database, tmp_path: Path
) -> None:
    places, dsn = homes(tmp_path, "sync = true"), database.runtime
    named = {"HERMES_MEMORY_TEAM_DSN": dsn}
    with old.serve(places[0], **named), HERE.serve(places[1], **named):
        exchange((old, HERE), places, **named)


CITE = """
import sys
from hermes_memory_store.model import FactFilter
from hermes_memory_store.places.citations import cite_other
from hermes_memory_store.store import Store
with Store.open(sys.argv[1]) as store:
    fact = store.facts.page(FactFilter(theme=sys.argv[2])).facts[0]
    store.citations.add(fact.uid, [cite_other("url", "https://example.org/a")])
    print(fact.uid)
"""

CITED = """
import sys
from hermes_memory_store.store import Store
with Store.open(sys.argv[1], read_only=True) as store:
    print(*(check.fact.uid for check in store.citations.check_newest()))
"""


def test_a_folder_is_shared_with_the_other_version(old: Version, tmp_path: Path) -> None:
    places, folder = homes(tmp_path, 'sync = "folder"'), tmp_path / "shared"
    folder.mkdir()
    versions = (old, HERE)
    with old.serve(places[0]), HERE.serve(places[1]):
        share = ("-m", "hermes_memory_bridge", "folder")
        shown = old.run(places[0], *share, "share", str(folder), THEME, "--db", str(places[0] / "memory.db"), "--json")
        code = json.loads(shown)["code"]
        HERE.run(places[1], *share, "join", str(folder), THEME, "--db", str(places[1] / "memory.db"), given=code + "\n")
        exchange(versions, places)
        cited = HERE.run(places[1], "-c", CITE, str(places[1] / "memory.db"), THEME).strip()
        log = ("-m", "hermes_memory_tui", "log", "--json", "--db", str(places[0] / "memory.db"))
        before = (old.list_contents(places[0], THEME), old.run(places[0], *log).count('"entity":"fact"'))
        for version, home in zip(versions, places, strict=True):
            for _ in range(2):
                version.run(home, "-m", "hermes_memory_bridge", "sync", "now", "--db", str(home / "memory.db"))
        after = (old.list_contents(places[0], THEME), old.run(places[0], *log).count('"entity":"fact"'))
        assert after == before, "a member of 0.4.1 sees no change of the fact"
        assert cited in HERE.run(places[1], "-c", CITED, str(places[1] / "memory.db"), THEME)
