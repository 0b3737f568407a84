"""A repository never runs its code: whatever is started in it imports nothing that lies there."""

from __future__ import annotations

import functools
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Set
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from hermes_memory_bridge.connect.hooks.hook_edit import list_own_hooks, split_hook_command
from hermes_memory_bridge.provider.bridge_line import BridgeStarter
from hermes_memory_bridge.provider.provider_settings import load_provider_settings
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_store.system import own_process
from hermes_memory_tui.system import web_server
from tests.bridge.running import INITIALIZE, INITIALIZED, PATIENCE_S, until

PACKAGES = ("hermes_memory_themes", "hermes_memory_store", "hermes_memory_bridge", "hermes_memory_tui")

HOSTILE = """
import os
with open({mark!r}, "a") as file:
    file.write(__name__ + os.linesep)
raise ImportError("a repository was imported")
"""

CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "memory_status", "arguments": {}}}

CLIENT = """
from hermes_memory_bridge import MemoryClient
with MemoryClient() as client:
    print(client.status())
"""

HOOK_INPUT = {"session_id": "s", "hook_event_name": "SessionStart", "source": "startup"}


@functools.cache
def importable_names() -> frozenset[str]:
    """Every top-level name that a program of ours could import, our own packages with them."""
    return frozenset(
        (
            *(name for name in sys.stdlib_module_names if name not in sys.builtin_module_names),
            *(name for name in packages_distributions() if name.isidentifier()),
            *PACKAGES,
            "sitecustomize",
            "usercustomize",
        )
    )


class Repository:
    """A repository that holds a module of every name, and a home of a person who works in it."""

    def __init__(self, folder: Path, names: Set[str]) -> None:
        self.mark = folder / "ran"
        self.home = folder / "home"
        self.home.mkdir()
        self.folder = folder / "repository"
        self.folder.mkdir()
        text = HOSTILE.format(mark=str(self.mark))
        for name in names:
            if name in PACKAGES:
                (self.folder / name).mkdir()
                (self.folder / name / "__init__.py").write_text(text)
            else:
                (self.folder / f"{name}.py").write_text(text)
        self.store = self.home / "memory.db"

    @property
    def ran(self) -> list[str]:
        return self.mark.read_text().split() if self.mark.exists() else []

    def environ(self, path: str | None = None) -> dict[str, str]:
        """The environment of what is started there. :param path: its `PYTHONPATH`"""
        named = {"HOME": self.home, "HERMES_HOME": self.home, "HERMES_MEMORY_DB": self.store, "PIP_NO_INDEX": "1"}
        environ = os.environ | {name: str(value) for name, value in named.items()} | {"HERMES_MEMORY_LINGER": "0.1"}
        environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"
        environ.pop("PYTHONPATH", None)
        return environ if path is None else environ | {"PYTHONPATH": path}

    def run(self, *words: str, said: str = "", path: str | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words,
            input=said,
            cwd=self.folder,
            env=self.environ(path),
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    def program(self, name: str, *words: str) -> list[str]:
        """An installed program, isolated itself: what is tested is what it starts."""
        return [sys.executable, "-EP", str(Path(sys.executable).with_name(name)), *words]

    def ask_status(self, *command: str, path: str | None = None) -> str:
        """What an agent is told by a shim that a host starts in the repository."""
        with subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.folder,
            env=self.environ(path),
        ) as shim:
            assert shim.stdin is not None
            assert shim.stdout is not None
            assert shim.stderr is not None
            shim.stdin.write(b"".join(json.dumps(one).encode() + b"\n" for one in (INITIALIZE, INITIALIZED, CALL)))
            shim.stdin.flush()
            for line in shim.stdout:
                answer = json.loads(line)
                if answer.get("id") == CALL["id"]:
                    shim.stdin.close()
                    return str(answer["result"]["content"][0]["text"])
            raise AssertionError(shim.stderr.read().decode())


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Repository]:
    made = Repository(tmp_path, importable_names())
    yield made
    subprocess.run(made.program("hermes-memory-bridge", "stop"), env=made.environ(), capture_output=True, check=False)


PATHS = (None, ":", ".", "{folder}")
"""What `PYTHONPATH` may be where a host was started: shells leave empty entries, editors name the folder."""


@pytest.mark.parametrize("path", PATHS)
def test_a_shim_in_a_repository_starts_a_bridge_that_imports_nothing_of_it(
    repository: Repository, path: str | None
) -> None:
    path = path and path.format(folder=repository.folder)
    assert "MEMORY" in repository.ask_status(*repository.program("hermes-memory-bridge"), path=path)
    assert repository.ran == []


def test_a_bridge_that_an_agent_started_does_not_stay_in_its_folder(repository: Repository) -> None:
    repository.run(*repository.program("hermes-memory-bridge", "start"))
    process = int(Path(BridgePaths.of(repository.store).pid).read_text())
    assert os.path.samefile(f"/proc/{process}/cwd", BridgePaths.of(repository.store).folder)


@pytest.mark.parametrize("path", [None, ":"])
def test_commands_and_a_client_in_a_repository_import_nothing_of_it(
    repository: Repository, tmp_path: Path, path: str | None
) -> None:
    for words in (["start"], ["restart"], ["stop"]):
        ended = repository.run(*repository.program("hermes-memory-bridge", *words), path=path)
        assert ended.returncode == 0, ended.stderr
    script = tmp_path / "home" / "client.py"
    script.write_text(CLIENT)
    ended = repository.run(sys.executable, "-EP", str(script), path=path)
    assert "MEMORY" in ended.stdout, ended.stderr
    assert repository.ran == []


def test_a_hook_in_a_repository_starts_a_bridge_that_imports_nothing_of_it(repository: Repository) -> None:
    repository.run(*repository.program("hermes-memory-tui", "write", "V[port]: 5432"))
    said = json.dumps(HOOK_INPUT | {"cwd": str(repository.folder)})
    repository.run(*repository.program("hermes-memory-hook", "claude-code", "start"), said=said, path=":")
    until(lambda: Path(BridgePaths.of(repository.store).pid).exists(), "the bridge")
    assert "MEMORY" in repository.ask_status(*repository.program("hermes-memory-bridge"))
    assert repository.ran == []


def test_a_provider_in_a_repository_starts_a_bridge_that_imports_nothing_of_it(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in repository.environ(":").items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(repository.folder)
    starter = BridgeStarter(str(repository.store), load_provider_settings(str(repository.home)).command)
    assert starter.start()
    until(lambda: Path(BridgePaths.of(repository.store).pid).exists(), "the bridge")
    assert starter.process is not None
    starter.process.wait(PATIENCE_S)
    assert repository.ran == []


def test_pip_in_a_repository_imports_nothing_of_it(repository: Repository) -> None:
    ended = repository.run(
        *repository.program("hermes-memory-bridge", "embedding", "install", "all-MiniLM-L6-v2", "--yes"), path=":"
    )
    assert "could not be fetched (ERROR: Could not find a version" in ended.stdout + ended.stderr
    assert repository.ran == []


def test_a_page_of_the_inspector_in_a_repository_imports_nothing_of_it(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", ":")
    page = web_server.page_command(repository.store, None, False)
    ended = repository.run("sh", "-c", f"{page} write 'V[port]: 5432'", path=":")
    assert ended.returncode == 0, ended.stderr
    assert repository.ran == []


def test_the_demo_in_a_repository_imports_nothing_of_it(repository: Repository) -> None:
    words = ["demo", "--no-inspector", "--agents", "2", "--seconds", "1"]
    ended = repository.run(*repository.program("hermes-memory-tui", *words), path=":")
    assert "memory_" in ended.stdout, ended.stderr
    assert "second machine" not in ended.stderr
    assert repository.ran == []


def test_torture_in_a_repository_imports_nothing_of_it_and_passes(repository: Repository, tmp_path: Path) -> None:
    (tmp_path / "tried").mkdir()
    words = ["doctor", "--torture", str(tmp_path / "tried"), "--seconds", "1", "--json"]
    ended = repository.run(*repository.program("hermes-memory-tui", *words), path=":")
    assert json.loads(ended.stdout)["ok"], ended.stdout
    assert repository.ran == []


def test_torture_whose_writers_cannot_run_fails_and_prints_its_document(tmp_path: Path) -> None:
    (tmp_path / "libraries").mkdir()
    (tmp_path / "libraries" / "resource.py").write_text("raise ImportError('shadowed')")  # the writers alone import it
    (tmp_path / "tried").mkdir()
    command = [sys.executable, "-m", "hermes_memory_tui", "doctor", "--torture", str(tmp_path / "tried"), "--json"]
    environ = os.environ | {"HOME": str(tmp_path), "PYTHONPATH": str(tmp_path / "libraries")}
    ended = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "shadowed" in ended.stderr
    failed = [one["name"] for one in json.loads(ended.stdout)["tries"] if not one["ok"]]
    assert failed == ["kill -9", "power cut", "full disk", "lock storm"]
    assert list((tmp_path / "tried").iterdir()) == []


def test_an_entry_of_an_older_version_imports_nothing_of_a_repository_once_our_code_runs(tmp_path: Path) -> None:
    code = "import runpy, sys; print(*sys.modules)"
    first = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    repository = Repository(tmp_path, importable_names() - {"hermes_memory_bridge", *first})
    old = [sys.executable, "-m", "hermes_memory_bridge"]
    assert "MEMORY" in repository.ask_status(*old)
    assert repository.ran == []


def test_absolute_entries_by_which_the_package_may_be_found_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "repository" / "deep").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "repository" / "deep")
    own = Path(own_process.__file__).parent.parent
    inside = [tmp_path / "repository", tmp_path / "repository" / "deep" / "lib"]
    entries = ["", ".", "lib", *map(str, inside), str(tmp_path / "libraries"), str(own)]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(entries))
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", "cache")
    environ = own_process.to_isolated_environment()
    assert environ["PYTHONPATH"].split(os.pathsep) == [str(tmp_path / "libraries"), str(own)]
    assert "PYTHONPYCACHEPREFIX" not in environ
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert str(tmp_path / "libraries") in own_process.to_isolated_environment()["PYTHONPATH"]


def to_old_entry(*command: str) -> str:
    return json.dumps(
        {"mcpServers": {"hermes-memory": {"command": command[0], "args": command[1:], "alwaysLoad": True}}}
    )


def test_an_old_entry_that_runs_a_repository_is_named_until_connect_mends_it(tmp_path: Path) -> None:
    repository = Repository(tmp_path, importable_names())
    file = repository.home / ".claude.json"
    file.write_text(to_old_entry(sys.executable, "-m", "hermes_memory_bridge", "--theme", "mine"))
    repository.ask_status(*repository.program("hermes-memory-bridge"))  # an agent was there, so `status` looks at hosts
    for words in (["status"], ["doctor"]):
        ended = repository.run(*repository.program("hermes-memory-tui", *words))
        assert f"the entry in {file} runs files of the folder" in " ".join(ended.stdout.split()), ended.stdout
        assert "`hermes-memory-bridge connect --all` mends it" in " ".join(ended.stdout.split())
    ended = repository.run(*repository.program("hermes-memory-bridge", "connect", "claude-code", "--check"))
    assert "does not work" not in ended.stdout.splitlines()[0], ended.stdout
    assert repository.ran == []
    repository.run(*repository.program("hermes-memory-bridge", "connect", "--all", "--yes"))
    entry = json.loads(file.read_text())["mcpServers"]["hermes-memory"]
    assert entry["args"][-2:] == ["--theme", "mine"]
    for path in (None, ":"):
        assert "MEMORY" in repository.ask_status(entry["command"], *entry["args"], path=path)
    ended = repository.run(*repository.program("hermes-memory-tui", "status", "--json"))
    assert json.loads(ended.stdout)["exposed_entries"] == []
    assert repository.ran == []


def test_an_old_entry_is_named_where_pythonpath_has_an_empty_entry(tmp_path: Path) -> None:
    repository = Repository(tmp_path, set())
    script = str(Path(sys.executable).with_name("hermes-memory-bridge"))
    (repository.home / ".claude.json").write_text(to_old_entry(script))
    repository.ask_status(script)
    for path, is_named in ((None, False), ("/usr/lib:", True)):
        ended = repository.run(sys.executable, "-m", "hermes_memory_tui", "status", "--json", path=path)
        assert bool(json.loads(ended.stdout)["exposed_entries"]) is is_named


def test_old_hooks_are_named_where_pythonpath_has_a_relative_entry_until_connect_mends_them(tmp_path: Path) -> None:
    repository = Repository(tmp_path, set())
    repository.run(*repository.program("hermes-memory-bridge", "connect", "claude-code", "--yes"))
    file = repository.home / ".claude" / "settings.json"
    settings = json.loads(file.read_text())
    for handler in find_handlers(settings["hooks"]):
        words = shlex.split(str(handler["command"]))
        handler |= {"command": words[2], "args": words[3:]}
    file.write_text(json.dumps(settings))
    repository.ask_status(*repository.program("hermes-memory-bridge"))
    status = [sys.executable, "-m", "hermes_memory_tui", "status", "--json"]
    assert json.loads(repository.run(*status).stdout)["exposed_entries"] == []
    assert (
        f"the hooks in {file} run files" in json.loads(repository.run(*status, path=".").stdout)["exposed_entries"][0]
    )
    repository.run(*repository.program("hermes-memory-bridge", "connect", "claude-code", "--yes"))
    assert json.loads(repository.run(*status, path=".").stdout)["exposed_entries"] == []


def test_every_command_that_connect_writes_imports_nothing_of_a_repository(repository: Repository) -> None:
    for name in (".codex", ".gemini", ".qwen", ".copilot", ".cursor", ".factory", ".config/opencode"):
        (repository.home / name).mkdir(parents=True)
    ended = repository.run(*repository.program("hermes-memory-bridge", "connect", "--all", "--yes"))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    unit = repository.run(*repository.program("hermes-memory-bridge", "install-service", "--print"))
    assert "-EP" in unit.stdout
    documents = [json.loads(file.read_text()) for file in sorted(repository.home.rglob("*.json"))]
    handlers = {tuple(split_hook_command(handler)) for document in documents for handler in find_handlers(document)}
    assert len({words[0] for words in handlers}) == 1
    assert len(handlers) > 10
    for words in sorted(handlers):
        said = json.dumps({"session_id": "s", "cwd": str(repository.folder), "prompt": "which port?"})
        assert repository.run(*words, said=said).returncode == 0
    assert repository.ran == []


@pytest.mark.parametrize("host", ["claude-code", "gemini", "codex"])
def test_a_hook_that_connect_writes_imports_nothing_of_a_repository_that_pythonpath_names(
    repository: Repository, host: str
) -> None:
    folder = repository.home / {"claude-code": ".claude", "gemini": ".gemini", "codex": ".codex"}[host]
    folder.mkdir(exist_ok=True)
    ended = repository.run(*repository.program("hermes-memory-bridge", "connect", host, "--yes"))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    file = next(file for file in folder.glob("*.json") if "hermes-memory-hook" in file.read_text())
    handler = next(find_handlers(json.loads(file.read_text())))
    command = (
        [str(handler["command"]), *handler["args"]] if "args" in handler else ["sh", "-c", str(handler["command"])]
    )  # type: ignore[misc]
    said = json.dumps(HOOK_INPUT | {"cwd": str(repository.folder)})
    for path in (".", ":/nowhere"):
        ended = repository.run(*command, said=said, path=path)
        assert ended.returncode == 0
        assert ended.stderr == ""
    assert repository.ran == []
    assert {Path(own.words[0]).name for own in list_own_hooks(json.loads(file.read_text()))} == {"hermes-memory-hook"}


def test_a_hook_imports_nothing_of_a_repository_that_pythonpath_names_once_our_code_runs(tmp_path: Path) -> None:
    code = "import runpy, re, sys; print(*sys.modules)"
    first = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    before = {"hermes_memory_bridge", "sitecustomize", "usercustomize", *first}
    repository = Repository(tmp_path, importable_names() - before)
    program = str(Path(sys.executable).with_name("hermes-memory-hook"))
    said = json.dumps(HOOK_INPUT | {"cwd": str(repository.folder)})
    for path in (":", "."):
        assert repository.run(program, "claude-code", "start", said=said, path=path).returncode == 0
    assert repository.ran == []


def find_handlers(document: object) -> Iterator[dict[str, object]]:
    """Every hook that a document of a host names."""
    if isinstance(document, dict):
        if any("hermes-memory-hook" in str(document.get(key)) for key in ("command", "bash", "args")):
            yield document
        document = list(document.values())
    for one in document if isinstance(document, list) else []:
        yield from find_handlers(one)
