"""Versions side by side: a newer program takes over from an older bridge, never the other way round."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_memory_bridge.daemon.control import ask_bridge
from hermes_memory_bridge.version import __version__
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_bridge.wire.version_order import is_older
from hermes_memory_store.database.schema import STORE_VERSION
from hermes_memory_store.store import Store
from hermes_memory_tui.app import open_memory
from hermes_memory_tui.system.bridge_client import replace_older_bridge
from tests.bridge.running import Shim, bridge, environment, until
from tests.processes import PATIENCE_S

HERE = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("0.1.1", "0.2.0", True),
        ("0.2.0", "0.1.1", False),
        ("0.9.0", "0.10.0", True),
        ("0.2.0", "0.2.0", False),
        ("0.2", "0.2.0", False),
        ("0.2.0", "0.2", False),
        ("0.2.0rc1", "0.2.0", True),
        ("0.2.0", "0.2.0rc1", False),
        ("0.2.0.dev3", "0.2.0", True),
        ("0.2.0", "0.2.0+local", False),
        ("0.2.0.post1", "0.2.0", False),
        (None, "0.2.0", False),
        ("", "0.2.0", False),
        ("unknown", "0.2.0", False),
        ("0.2.0", "unknown", False),
    ],
)
def test_which_version_is_older(one: str | None, other: str, expected: bool) -> None:
    assert is_older(one, other) is expected


@given(
    *[
        st.builds(
            lambda numbers, rest: ".".join(map(str, numbers)) + rest,
            st.lists(st.integers(0, 30), min_size=1, max_size=4),
            st.sampled_from(["", "rc1", ".dev2", "+local", ".post1"]),
        )
    ]
    * 3
)
def test_versions_have_one_order(one: str, two: str, three: str) -> None:
    assert not (is_older(one, two) and is_older(two, one))
    assert not is_older(one, one)
    if is_older(one, two) and is_older(two, three):
        assert is_older(one, three)


def program(folder: Path, version: str) -> dict[str, str]:
    """The program in another version, as the environment that runs it."""
    shutil.copytree(HERE / "bridge" / "hermes_memory_bridge", folder / "hermes_memory_bridge")
    (folder / "hermes_memory_bridge" / "version.py").write_text(f'"""A version."""\n\n__version__ = "{version}"\n')
    return environment(folder.parent) | {"PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}


@contextmanager
def serving(db: Path, env: dict[str, str], *options: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-m", "hermes_memory_bridge", "serve", "--db", str(db), *options],
        env=env,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            until(lambda: process.poll() is not None or ask_bridge(BridgePaths.of(db), "status"), "the bridge")
            yield process
        finally:
            process.kill()


def running_version(db: Path) -> str | None:
    found = ask_bridge(BridgePaths.of(db), "status")
    return None if found is None or found["stopping"] else str(found["version"])


@pytest.mark.crash
def test_a_newer_shim_takes_over_from_an_older_bridge_whose_agents_notice_nothing(db: Path, tmp_path: Path) -> None:
    older = program(tmp_path / "older", "0.0.9")
    with serving(db, older, "--heartbeat", "7", "--timeout", "21") as bridge_before, ExitStack() as shims:
        assert running_version(db) == "0.0.9"
        with OldShim(db, older) as agent:
            agent.open()
            agent.call("memory_write", content="D[before]: kept")
            assert running_version(db) == "0.0.9"
            newer = shims.enter_context(Shim(db))  # which dials by itself soon after its start
            newer.open()
            assert bridge_before.wait(PATIENCE_S) == 0
            until(lambda: running_version(db) == __version__, "the bridge that takes over")
            status = ask_bridge(BridgePaths.of(db), "status")
            assert status is not None
            assert status["serve"] == {"heartbeat": 7.0, "timeout": 21.0}, "options of the one before, which stays"
            answer = agent.call("memory_search", query="kept")
            assert "D[before]: kept" in answer["result"]["content"][0]["text"]
            agent.call("memory_write", content="D[after]: kept")
            assert running_version(db) == __version__
            with Store.open(db) as store:
                assert len(store.sessions.list()) == 1, "the agent's session goes on"
                assert store.search.find("default", "kept").total == 2
            agent.close()
        newer.close()
        stop(db)


class OldShim(Shim):
    """A shim of another program."""

    def __init__(self, db: Path, env: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "hermes_memory_bridge", "--db", str(db)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=db.parent,
            env=env,
        )
        self.number = 0


def stop(db: Path) -> None:
    ask_bridge(BridgePaths.of(db), "stop")
    until(lambda: ask_bridge(BridgePaths.of(db), "status") is None, "the end of the bridge")


@pytest.mark.crash
def test_an_older_program_never_takes_over_from_a_newer_bridge_and_says_what_to_do(db: Path, tmp_path: Path) -> None:
    older = program(tmp_path / "older", "0.0.9")
    with bridge(db), serving(db, older) as second:
        assert second.wait(PATIENCE_S) == 0
        assert second.stderr is not None
        assert "pip install -U ." in second.stderr.read()
        assert running_version(db) == __version__
        with OldShim(db, older) as agent:
            agent.open()
            assert "stored:" in agent.call("memory_write", content="D[a]: b")["result"]["content"][0]["text"]
            agent.close()
        restarted = subprocess.run(
            [sys.executable, "-m", "hermes_memory_bridge", "restart", "--db", str(db)],
            env=older,
            capture_output=True,
            text=True,
            check=False,
        )
        assert restarted.returncode == 1
        assert "newer than this program" in restarted.stderr
        assert running_version(db) == __version__


def test_a_bridge_whose_store_was_raised_reads_on_and_refuses_writes_with_a_sentence(db: Path) -> None:
    with bridge(db), Shim(db) as shim:
        shim.open()
        shim.call("memory_write", content="D[cache]: redis")
        with closing(sqlite3.connect(db)) as conn:
            conn.execute("PRAGMA user_version = 999")
        for _ in range(2):
            refused = shim.call("memory_write", content="D[lost]: refused")["result"]
            assert refused["structuredContent"]["error"]["code"] == "store.too_new"
            assert "pip install -U" in refused["content"][0]["text"]
        assert "redis" in shim.call("memory_search", query="redis")["result"]["content"][0]["text"]
        shim.close()


@pytest.mark.crash
def test_the_inspector_and_a_command_that_raises_the_store_have_the_older_bridge_replaced(
    db: Path, tmp_path: Path
) -> None:
    older = program(tmp_path / "older", "0.0.9")
    Store.open(db).close()
    with serving(db, older, "--linger", "30") as before:
        open_memory(db, read_only=True).close()
        assert running_version(db) == "0.0.9", "who only looks ends nothing"
        open_memory(db, read_only=False).close()
        assert running_version(db) == __version__
        assert before.wait(PATIENCE_S) == 0
    stop(db)
    with serving(db, older) as before:
        with closing(sqlite3.connect(db)) as conn:  # as if the older program had made it
            conn.execute(f"PRAGMA user_version = {STORE_VERSION - 1}")
            conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        replace_older_bridge(db)
        assert running_version(db) == __version__
        assert before.wait(PATIENCE_S) == 0
    stop(db)
    with Store.open(db) as store:
        assert store.db.value("PRAGMA user_version") == STORE_VERSION


@pytest.mark.crash
def test_a_bridge_whose_store_was_raised_gives_way_once_the_newer_program_is_installed(
    db: Path, tmp_path: Path
) -> None:
    older = program(tmp_path / "older", "0.0.9")  # the installed version is this one's
    with serving(db, older) as before, OldShim(db, older) as agent:
        agent.open()
        agent.call("memory_status")
        with closing(sqlite3.connect(db)) as conn:
            conn.execute("PRAGMA user_version = 999")
        refused = agent.call("memory_write", content="D[lost]: refused")["result"]
        assert refused["structuredContent"]["error"]["code"] == "store.too_new"
        assert before.wait(PATIENCE_S) == 0
        unserved = agent.call("memory_write", content="D[lost]: refused")
        assert "was written by a newer version" in unserved["error"]["message"], "whatever is installed is too old"
        agent.close()
