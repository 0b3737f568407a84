"""`demo`: a home folder with something for every screen, a real bridge, agents, and nothing left of them."""

from __future__ import annotations

import itertools
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from hermes_memory_bridge.trust import Vault
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_store.errors import StoreError
from hermes_memory_store.host_files import memory_files
from hermes_memory_store.intake.intake import Intake
from hermes_memory_store.model import FactFilter, ScopeStatus, SessionStatus, Tier
from hermes_memory_store.notation import memory_spec
from hermes_memory_store.store import Store
from hermes_memory_themes import Policies
from hermes_memory_tui.demo import demo_day, demo_home, demo_jobs, second_machine
from tests.processes import PATIENCE_S
from tests.store.intake.suspicions import find_rule_suspicion
from tests.tui.commands.conftest import COMMAND, Ask

EVERYTHING = FactFilter(tiers=frozenset())

HEAVY = {"mcp", "httpx", "keyring", "pydantic", "psycopg", "anyio", "detect_secrets", "prometheus_client"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo") / "home"
    demo_home.make_demo_home(folder, facts=300)
    return folder


@pytest.fixture
def store(made: Path) -> Iterator[Store]:
    with Store.open(made / demo_home.STORE, read_only=True, clock=demo_day.DemoClock()) as opened:
        yield opened


def facts_of(store: Store) -> list[tuple[object, ...]]:
    facts = store.facts.by_ids(list(store.facts.ids(EVERYTHING)))
    return sorted((one.theme, one.scope or "", one.notation, one.tier, one.updated_at, one.pinned) for one in facts)


def test_the_demo_home_has_something_for_every_screen(store: Store, made: Path) -> None:
    facts = store.facts.by_ids(list(store.facts.ids(EVERYTHING)))

    assert {fact.tier for fact in facts} >= {Tier.HOT, Tier.COLD, Tier.ARCHIVED, Tier.SUPERSEDED, Tier.QUARANTINED}
    assert any(fact.pinned for fact in facts)
    assert sum(fact.theme == demo_home.FILLER for fact in facts) == 300
    assert any("‹secret:" in fact.content for fact in facts)
    closed = {scope.closed_by for scope in store.scopes.list() if scope.status is ScopeStatus.CLOSED}
    assert closed >= {"done", "person"}
    ended = {session.status for session in store.sessions.list()}
    assert ended >= {SessionStatus.CLOSED, SessionStatus.ORPHANED, SessionStatus.LIVE}
    for theme in demo_day.DAY:
        assert store.turns.list(theme)
        assert store.db.value(
            "SELECT count(*) FROM injections i JOIN themes t ON t.id = i.theme_id"
            " WHERE t.name = ? AND i.session_id IS NOT NULL AND i.kind = 'status'",
            (theme,),
        )
    assert all(90 < file.pct <= 100 for file in memory_files.file_pressures(made))
    assert (made / "memories" / "ARCHIVE.jsonl").read_text("utf-8").count("\n") == len(demo_home.EVICTED)


def test_some_facts_have_long_chains(store: Store) -> None:
    facts = store.facts.by_ids(list(store.facts.ids(EVERYTHING)))
    replaced = [fact.target for fact in facts if fact.tier is Tier.SUPERSEDED]
    assert max(map(replaced.count, replaced)) >= 2


def test_the_same_demo_is_made_every_time(store: Store, tmp_path: Path) -> None:
    demo_home.make_demo_home(tmp_path / "again", facts=300)

    with Store.open(tmp_path / "again" / demo_home.STORE, read_only=True) as again:
        assert facts_of(again) == facts_of(store)


def test_what_waits_in_quarantine_falls_under_the_rule_that_is_recorded() -> None:
    for *_, rule, line in demo_home.SUSPICIOUS:
        said = memory_spec.parse_notation(line)
        found = find_rule_suspicion(said.target, said.content)
        assert found is not None
        assert found.rule == rule
    attempt = memory_spec.parse_notation(demo_jobs.ATTEMPT)
    assert find_rule_suspicion(attempt.target, attempt.content) is not None


def test_nothing_else_of_the_demo_is_suspicious_or_secret(tmp_path: Path) -> None:
    intake = Intake(Policies.load(tmp_path / "none.toml"), lambda theme, source: None)
    intake.vault = Vault(tmp_path / "secrets.json", "file")
    lines = [line for rows in demo_day.DAY.values() for _, line in rows] + [line for *_, line in demo_home.BEFORE]
    lines += [
        arguments["content"]
        for theme, name in demo_jobs.CAST
        for tool, arguments in itertools.islice(demo_jobs.demo_calls(theme, name, 1), 3, 200)
        if tool == "memory_write"
    ]
    for line in lines:
        said = memory_spec.parse_notation(line)
        admission = intake.admit_record("demo", said)
        assert (admission.suspicion, admission.masked_names) == (None, ()), line


def test_the_secret_an_agent_writes_is_masked_into_the_fact_that_is_there(tmp_path: Path) -> None:
    _, theme, scope, masked = demo_home.MASKED
    first = next(
        arguments for tool, arguments in demo_jobs.demo_calls(theme, "watch-agent", 1) if tool == "memory_write"
    )
    intake = Intake(Policies.load(tmp_path / "none.toml"), lambda theme, source: None)
    intake.vault = Vault(tmp_path / "secrets.json", "file")
    said = memory_spec.parse_notation(first["content"])

    admission = intake.admit_record(theme, said)

    assert admission.masked_names == ("registry-token",)
    assert str(admission.facts[0].said) == masked
    assert first["scope"] == scope


def test_an_agent_does_the_same_for_the_same_seed() -> None:
    def begun(seed: int) -> list[demo_jobs.Call]:
        return list(itertools.islice(demo_jobs.demo_calls("frontend", "ui-agent", seed), 100))

    assert begun(1) == begun(1) != begun(2)
    tools = {tool for tool, _ in begun(1)}
    assert tools >= {
        "memory_status",
        "memory_tick",
        "memory_turn",
        "memory_write",
        "memory_search",
        "memory_close_scope",
    }


@pytest.mark.parametrize(
    ("module", "more"),
    [("simulated_agent", {"hermes_memory_store", "asyncio", "textual"}), ("demo_environment", set())],
)
def test_what_is_imported(module: str, more: set[str]) -> None:
    code = f"import json, sys, hermes_memory_tui.demo.{module}; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    loaded = {name.partition(".")[0] for name in json.loads(done.stdout)}
    assert loaded & (HEAVY | more) == set()


@pytest.fixture
def stage(home: Path) -> Path:
    return Path(tempfile.mkdtemp(prefix="hmd-"))


def until(true: Callable[[], Any], what: str) -> Any:
    deadline = time.monotonic() + PATIENCE_S
    while not (found := true()):
        assert time.monotonic() < deadline, f"never came: {what}"
        time.sleep(0.05)
    return found


def processes(stage: Path, word: str = "") -> list[psutil.Process]:
    """What runs on a demo made in that folder, but for the program that made it."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        line = " ".join(process.info["cmdline"] or ())
        if f"{stage}/" in line and word in line:
            found.append(process)
    return found


def gone(stage: Path) -> None:
    assert processes(stage) == []
    assert list(stage.iterdir()) == []
    stage.rmdir()


def environment(stage: Path) -> dict[str, str]:
    """Demos are made in that folder."""
    return os.environ | {"TMPDIR": str(stage), "TERM": "xterm-256color", "COLUMNS": "120", "LINES": "40"}


@pytest.mark.slow
def test_without_a_screen_it_says_what_is_called_and_leaves_nothing(stage: Path) -> None:
    command = [*COMMAND, "demo", "--no-inspector", "--agents", "2", "--seconds", "7", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=environment(stage))

    assert (done.returncode, done.stderr) == (0, "")
    said = json.loads(done.stdout)
    assert said["agents"] == 2
    assert said["calls"]["memory_status"] == 2
    assert said["calls"]["memory_write"] >= 1
    assert said["refused"] == 0
    gone(stage)


@pytest.mark.slow
def test_ctrl_c_says_how_much_was_called_and_leaves_nothing(stage: Path) -> None:
    running = subprocess.Popen(
        [*COMMAND, "demo", "--no-inspector", "--agents", "1"], stdout=subprocess.PIPE, text=True, env=environment(stage)
    )
    assert running.stdout is not None
    first = running.stdout.readline()
    running.send_signal(signal.SIGINT)
    rest, _ = running.communicate(timeout=PATIENCE_S)

    assert "memory_status" in first
    assert re.search(r"^\d+ calls? by 1 agent in ", rest, re.MULTILINE)
    assert running.returncode == 130
    gone(stage)


@pytest.mark.slow
def test_a_second_machine_shares_a_theme_and_contradicts_the_first(stage: Path) -> None:
    running = subprocess.Popen(
        [*COMMAND, "demo", "--no-inspector", "--agents", "1"], stdout=subprocess.DEVNULL, env=environment(stage)
    )

    def arrived() -> bool:
        with suppress(StoreError), Store.open(next(stage.glob("*/memory.db"), stage), read_only=True) as first:
            (met,) = first.sync.standing.conflicts(second_machine.THEME)
            later = first.facts.page(FactFilter(by=second_machine.MACHINE), limit=10).facts
            assert (met.theirs.content, met.mine.content) == second_machine.CONTESTED[1:]
            return [fact.target for fact in later[:1]] == ["booth.size"]  # its name is known by the conflict before
        return False

    until(lambda: is_true_soon(arrived), "a fact of the second machine")
    (shared,) = stage.glob("*/shared")
    assert b"booth" not in b"".join(path.read_bytes() for path in shared.rglob("*.hms"))
    running.send_signal(signal.SIGINT)
    assert running.wait(PATIENCE_S) == 130
    gone(stage)


def is_true_soon(true: Callable[[], bool]) -> bool:
    try:
        return true()
    except ValueError:  # no conflict so far
        return False


MISSING = """
import sys
from pathlib import Path
if any("second_machine" in word for word in sys.orig_argv):
    raise ModuleNotFoundError
sys.path.remove(str(Path(__file__).parent.parent))
del sys.modules["cryptography"]
import cryptography
"""
"""The package as the second machine lacks it; the bridge's own packages may need it."""


@pytest.mark.long
def test_without_cryptography_the_demo_goes_on_alone_and_says_so(stage: Path, tmp_path: Path) -> None:
    (tmp_path / "cryptography").mkdir()
    (tmp_path / "cryptography" / "__init__.py").write_text(MISSING)
    env = environment(stage) | {"PYTHONPATH": str(tmp_path)}
    running = subprocess.Popen(
        [*COMMAND, "demo", "--no-inspector", "--agents", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
    )
    until(lambda: list(stage.glob(f"*/{demo_home.NOTE}")), "the note")
    assert running.stdout is not None
    assert "memory_status" in running.stdout.readline()
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=PATIENCE_S)

    assert running.returncode == 130
    assert "without a second machine: cryptography is missing: " in said
    gone(stage)


@pytest.mark.long
def test_a_path_that_is_too_long_for_a_socket_leaves_nothing_either(stage: Path) -> None:
    long = stage / ("x" * 100)
    long.mkdir()
    command = [*COMMAND, "demo", "--no-inspector", "--agents", "1", "--seconds", "3"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment(long))
    assert running.stdout is not None
    running.stdout.readline()
    (home,) = long.iterdir()
    elsewhere = Path(BridgePaths.of(home / demo_home.STORE).folder)  # other tests have theirs beside it
    assert not elsewhere.is_relative_to(stage)
    assert elsewhere.is_dir()
    running.communicate(timeout=PATIENCE_S)

    assert running.returncode == 0
    assert not elsewhere.exists()
    long.rmdir()
    gone(stage)


@pytest.mark.slow
def test_a_bridge_that_never_comes_is_said(stage: Path) -> None:
    command = [*COMMAND, "demo", "--no-inspector", "--agents", "1"]
    running = subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment(stage)
    )
    (bridge,) = until(lambda: processes(stage, "serve"), "the bridge")
    bridge.kill()
    _, said = running.communicate(timeout=PATIENCE_S)

    assert running.returncode == 1
    assert "no agent reached the bridge" in said
    gone(stage)


def test_without_a_terminal_nothing_is_made(stage: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "demo"], capture_output=True, text=True, check=False, timeout=60, env=environment(stage)
    )

    assert done.returncode == 1
    assert "needs a terminal" in done.stderr
    gone(stage)


@pytest.mark.parametrize("args", [["--db", "x.db", "demo"], ["demo", "--json"], ["demo", "--agents", "0"]])
def test_what_makes_no_sense_is_refused(ask: Ask, args: list[str]) -> None:
    assert ask(*args).code == 2


class Terminal:
    """A program on a terminal of its own."""

    def __init__(self, *args: str, env: dict[str, str]) -> None:
        self.pid, self.handle = pty.fork()
        if not self.pid:
            os.execvpe(COMMAND[0], [*COMMAND, *args], env)
        import fcntl
        import struct
        import termios

        fcntl.ioctl(self.handle, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self.written = b""
        self.code: int | None = None

    def read(self, wait_s: float) -> None:
        if self.handle < 0:
            time.sleep(wait_s)
        elif select.select([self.handle], [], [], wait_s)[0]:
            try:
                self.written += os.read(self.handle, 65_536)
            except OSError:
                time.sleep(wait_s)  # it has closed the terminal

    def shows(self, text: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while text.encode() not in self.written:
            assert time.monotonic() < deadline, f"{text!r} is not in {self.written[-2000:]!r}"
            self.read(0.05)

    def ends(self) -> int:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
                return self.code
            assert time.monotonic() < deadline, self.written[-2000:]
            self.read(0.05)

    def close(self) -> None:
        if self.handle >= 0:
            os.close(self.handle)
            self.handle = -1


@contextmanager
def on_a_terminal(stage: Path, *args: str, at_work: bool = True) -> Iterator[Terminal]:
    """A demo in the inspector, seen to run, with an agent at work unless that takes too long."""
    terminal = Terminal("demo", *args, env=environment(stage))
    try:
        terminal.shows("intraday-sre")
        if at_work:
            until(lambda: terminal.read(0.05) or processes(stage, "--tools"), "an agent at the bridge")
        yield terminal
    finally:
        terminal.close()
        if terminal.code is None:
            os.kill(terminal.pid, signal.SIGKILL)
            os.waitpid(terminal.pid, 0)


@pytest.mark.slow
def test_the_inspector_shows_what_agents_write_and_leaves_nothing(stage: Path, home: Path) -> None:
    (home / ".hermes").mkdir()
    (home / ".hermes" / "inspector.toml").write_text("reduced_motion = true\n")
    with on_a_terminal(stage, "--agents", "2") as terminal:
        terminal.shows("claude-code")
        terminal.shows(
            "~/memory.db"
        )  # it takes the demo's home for the person's, whose hosts and files it must not touch
        assert [wishes.read_text() for wishes in stage.glob("*/inspector.toml")] == ["reduced_motion = true\n"]
        store = next(stage.glob("*/memory.db"))
        with Store.open(store, read_only=True) as seen:
            known = seen.db.value("SELECT count(*) FROM turns")
            until(lambda: terminal.read(0.05) or seen.db.value("SELECT count(*) FROM turns") > known, "a turn")
        os.write(terminal.handle, b"q")
        assert terminal.ends() == 0
        assert b"\x1b[?1049l" in terminal.written
    gone(stage)
    assert [file.name for file in home.rglob("*")] == [".hermes", "inspector.toml"]


@pytest.mark.slow
def test_it_ends_by_itself_after_so_long(stage: Path) -> None:
    with on_a_terminal(stage, "--agents", "1", "--seconds", "3", at_work=False) as terminal:
        assert terminal.ends() == 0
    gone(stage)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGHUP, marks=pytest.mark.long), signal.SIGINT])
def test_a_signal_leaves_nothing_and_the_terminal_as_it_was(stage: Path, number: signal.Signals) -> None:
    with on_a_terminal(stage, "--agents", "1") as terminal:
        os.kill(terminal.pid, number)
        assert terminal.ends() == 128 + number
        assert b"\x1b[?1049l" in terminal.written
    gone(stage)


@pytest.mark.slow
def test_a_terminal_that_is_closed_leaves_nothing(stage: Path) -> None:
    with on_a_terminal(stage, "--agents", "1") as terminal:
        terminal.close()
        terminal.ends()
    gone(stage)


@pytest.mark.crash
@pytest.mark.slow
def test_children_that_are_killed_are_no_hindrance(stage: Path) -> None:
    with on_a_terminal(stage, "--agents", "3") as terminal:
        until(lambda: terminal.read(0.05) or len(processes(stage, "--tools")) == 3, "three agents at the bridge")
        for word in ("serve", "ui-agent", "--theme marketing"):
            for victim in processes(stage, word):
                with suppress(psutil.NoSuchProcess):  # those below it may have ended with it
                    victim.kill()
        until(lambda: terminal.read(0.05) or processes(stage, "serve"), "another bridge")
        os.write(terminal.handle, b"q")
        assert terminal.ends() == 0
    gone(stage)


@pytest.mark.crash
@pytest.mark.slow
def test_even_a_kill_leaves_no_process(stage: Path) -> None:
    with on_a_terminal(stage, "--agents", "2") as terminal:
        os.kill(terminal.pid, signal.SIGKILL)
        terminal.ends()
        until(lambda: not processes(stage), "the end of all processes")
    shutil.rmtree(stage)
